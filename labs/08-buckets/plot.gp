# SPDX-License-Identifier: MIT
# Lab 08: the time of a step against the cap of a bucket, between one collective per parameter and one for all.
load "plots/lab.gp"
height = is_bare ? 480 : 560
is_bucket(program, quantity) = program eq "after" && starts_with(quantity, "time/bucket/")
caps = ""
stats csv using (caps = is_bucket(strcol(2), strcol(6)) ? add(part(strcol(6), 3), caps) : caps, 0) every ::1 nooutput
least = 2**62; most = 1
do for [c in caps] { least = number(c) > 1 && number(c) < least ? number(c) : least; most = number(c) > most ? number(c) : most }
at(cap) = cap == 1 ? least / 4 : cap # one a parameter stands on the left
has_net = manifest("net") ne "none"
is(program, quantity) = strcol(2) eq program && strcol(6) eq quantity && int(column(5)) == ranks
cell_of(program, quantity, n) = value_of(program, quantity, n)
each = cell_of("before", "time/each/parameter", 8)
whole = cell_of("before", "time/whole/flat", 8)
alone = cell_of("before", "time/nothing/none", 8)

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (x("after", "time/bucket/") > 0 ? $8 : NaN) nooutput name "BUCKET"
# Of what each run found to be the best cap and measured once more: the least of many is partly luck. It has a name where all
# runs found the same.
best(n) = cell_of("after", "collectives/best/parameter", n)
name = "The best bucket"
do for [c in caps] {
    if (best(9) == best(10) && cell_of("after", "collectives/bucket/".c, 8) == best(8)) {
        name = number(c) == 1 ? "One call per parameter, during the backward pass" : "Buckets of ".size_text(number(c))
    }
}
times(f) = sprintf(f >= 10 ? "%.0f" : f >= 2 ? "%.1f" : "%.2f", f)
ratio(way, n) = cell_of("after/before", "ratio/time/best/".way, n)
is_apart(way) = ratio(way, 9) > 1 || ratio(way, 10) < 1
against(way, text) = is_apart(way) ? sprintf("%s times as fast as %s", times(ratio(way, 8)), text) : sprintf("no measurable difference from %s", text)
finding = sprintf("%s: %s per step; %s", name, time_text(cell_of("after", "time/best/parameter", 8)), \
    is_apart("parameter") || is_apart("flat") ? against("parameter", "one call per parameter").", ".against("flat", "one call for all") \
    : "no measurable difference between buckets, one call per parameter, and one call for all")
subject = sprintf("data parallel training, %d ranks, backend %s%s", ranks, first(3), \
    is_virtual ? " on ".manifest("net") : (manifest("emulate") eq "" ? "" : ", network ".manifest("emulate"))."; ".measured_text)
eval describe(finding, "The time of a step against the cap of a bucket: measured with intervals, and predicted; horizontal lines are " \
    ."the step with one collective per parameter, with one for all, and without communication.")
predicted = has_net ? ", csv using (at(x('after', 'time/bucket/'))):11 with lines linestyle 1 title 'predicted'" : ""
# Where all of it lies close together, an axis that is not logarithmic has more labels.
largest = each > BUCKET_max ? each : BUCKET_max
smallest = alone < BUCKET_min ? alone : BUCKET_min
largest = most_with(most_with(largest, "before", "time/"), "after", "time/bucket/")
smallest = least_with(least_with(smallest, "before", "time/"), "after", "time/bucket/")
tick = 10 ** floor(log10(largest / 4))
tick = largest / tick > 20 ? 5 * tick : largest / tick > 8 ? 2 * tick : tick
is_linear = largest < 8 * smallest
# Intervals are seen up to twice the largest time: what is cut is said.
stats csv using (x("after", "time/bucket/") > 0 ? $10 : NaN) nooutput name "HIGH"
top = HIGH_max > 2 * largest ? 2 * largest : HIGH_max > largest ? HIGH_max : largest
subject = subject.(HIGH_max > top ? sprintf(", cut at %s", time_text(top)) : "")

on_axes = has_yours("after", "time/bucket/") || has_yours("before", "time/") || has_yours("least", "time/bucket")

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set logscale x 2
    set xtics ()
    do for [c in caps] { set xtics add ((number(c) == 1 ? "one per parameter" : size_text(number(c))) at(number(c))) }
    if (is_linear) {
        unset logscale y
        set ytics ()
        do for [i = 0:20] { set ytics add ((i ? time_text(i * tick) : "0") i * tick) }
    } else {
        eval fine_time_axis
    }
    set tmargin at screen 0.86
    set bmargin at screen (is_bare ? 0.18 : 0.14)
    set lmargin at screen 0.10
    set rmargin at screen 0.72
    left = at(1) < least ? least / 6 : least / 1.5
    set xrange [least_with(1.5 * left, "least", "time/bucket") / 1.5 : 1.5 * most_with(most, "least", "time/bucket")]
    set yrange [is_linear ? 0 : 0.8 * smallest : HIGH_max > top ? top : is_linear ? 1.05 * top : 1.2 * top]
    set xlabel "cap of a bucket"
    set ylabel "time per step" offset label_offset - (is_bare ? 0.8 : 0)
    set key at screen 0.735, screen 0.86 left top
    plot each with lines linestyle 12 dashtype (16, 5) title "one per parameter (before)", \
         whole with lines linestyle 13 dashtype (4, 4) title "one for all (before)", \
         csv using (at(x("after", "time/bucket/"))):8:9:10 with yerrorbars linestyle 11 title "buckets (after)" \
         @predicted, \
         alone with lines linestyle 98 title "without communication", \
         for [once = 1:has_yours("after", "time/bucket/")] \
             yours using (mine("after", "time/bucket/", at(x("after", "time/bucket/")))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:has_yours("before", "time/each/parameter")] \
             yours using (mine("before", "time/each/parameter", is("before", "time/each/parameter") ? at(1) : NaN)):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[2] notitle, \
         for [once = 1:has_yours("before", "time/whole/flat")] \
             yours using (mine("before", "time/whole/flat", is("before", "time/whole/flat") ? most : NaN)):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[3] notitle, \
         for [once = 1:has_yours("least", "time/bucket")] \
             yours using (mine("least", "time/bucket", is("least", "time/bucket") ? $8 : NaN)):(cell_of("after", "time/best/parameter", 8)):9:10 \
             with xerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:on_axes] 1/0 with points linestyle 30 title your_title
    set output
    unset label
}
