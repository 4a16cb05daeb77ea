# SPDX-License-Identifier: MIT
# Lab 01: what an iteration costs against the number of iterations; where its time goes; and what a communicator costs
# against the number of ranks.
load "plots/lab.gp"
height = 860
iterations(program) = x(program, "iteration/")
# Loops of one length: those of other numbers of ranks, or the run's longest.
longest = swept = ""
take_loop(quantity, n) = starts_with(quantity, "iteration/") ? (n == ranks ? (longest = quantity, 0) : (swept = quantity, 0)) : 0
stats csv using (take_loop(strcol(6), int($5))) every ::1 nooutput
swept = swept eq "" ? longest : swept
is_row(program, quantity) = strcol(2) eq program && strcol(6) eq quantity
here(program, quantity) = is_row(program, quantity) && int($5) == ranks

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (iterations("before")) nooutput name "K"
stats csv using (is_row("after/before", "ratio") ? $8 : NaN) nooutput name "R"
stats csv using (is_row("after/before", "ratio") ? $9 : NaN) nooutput name "R_LOW"
stats csv using (is_row("after/before", "ratio") ? $10 : NaN) nooutput name "R_HIGH"
# A title gives an interval that is wide.
between(low, high) = high > 1.5 * low ? sprintf(" (%s to %s)", factor_text(low), factor_text(high)) : ""
if (K_max > 1) {
    stats csv using (here("after", "break_even") ? $8 : NaN) nooutput name "EVEN"
    stats csv using (here("after", "op") ? $8 * K_max / (K_max - 1) : NaN) nooutput name "OP"
    stats csv using (here("after", "break_even") ? $9 : NaN) nooutput name "EVEN_LOW"
    stats csv using (here("after", "break_even") ? $10 : NaN) nooutput name "EVEN_HIGH"
    pays_off = EVEN_max < 1 ? "from the first operation on" \
        : sprintf("after %.0f%s operations", EVEN_max, between(EVEN_LOW_max, EVEN_HIGH_max))
    finding = sprintf("One communicator for all pays off %s; a loop of %d is %s times%s faster", \
                      pays_off, K_max, factor_text(R_max), between(R_LOW_max, R_HIGH_max))
} else {
    stats csv using (here("after", "first_op") ? $8 : NaN) nooutput name "OP"
    finding = "In a single iteration, one communicator for all saves nothing"
}
subject = sprintf("allreduce of %s, %d ranks, backend %s; %s", \
                  size_text(real(manifest("bytes"))), ranks, first(3), measured_text)
eval describe(finding, \
    "Three panels. Above: time of an iteration against the number of iterations, for a communicator made " \
    ."in each and one made once. Below left: the phases of an iteration, stacked. Below right: what a " \
    ."communicator costs against the number of ranks.")

# The operation's time is the simulator's: without a profile of the machine there is none.
predicted_after = ""
if (manifest("net") ne "none") { predicted_after = ", csv using (iterations('after')):11 with lines linestyle 1 title 'predicted: after'" }

array phases[5] = ["rendezvous", "connect", "first_op", "op", "destroy"]
array phase_titles[5] = ["rendezvous", "connect", "first operation", "later operations", "destroy"]
array values[10]
do for [p = 1:2] {
    do for [i = 1:5] {
        stats csv using (here(p == 1 ? "before" : "after", phases[i]) ? $8 : 0) nooutput name "V"
        values[5 * (p - 1) + i] = V_max
    }
}

# What the axes have to hold: measured, predicted, and the student's.
stats csv using (starts_with(strcol(6), "iteration/") && int($5) == ranks ? $10 : NaN) nooutput name "TOP"
stats csv using (starts_with(strcol(6), "iteration/") && int($5) == ranks ? $11 : NaN) nooutput name "FORESEEN"
highest = FORESEEN_records > 0 && FORESEEN_max > TOP_max ? FORESEEN_max : TOP_max
stats csv using (is_row("before", swept) ? $9 : NaN) nooutput name "LOW"
stats csv using (is_row("before", swept) ? $10 : NaN) nooutput name "HIGH"
stats csv using (is_row("before", swept) ? $11 : NaN) nooutput name "CURVE"
lowest_swept = CURVE_records > 0 && CURVE_min < LOW_min ? CURVE_min : LOW_min
highest_swept = CURVE_records > 0 && CURVE_max > HIGH_max ? CURVE_max : HIGH_max

# A student's ratio is drawn where it says that `after` is: the time of before / the ratio. Of other quantities than a
# time per iteration there is no mark.
your_ratio = "ratio/iteration/"
time_before(quantity) = value_of("before", tail_of(quantity, "/"), 8)
after_by(ratio) = has_yours("after/before", your_ratio) == 0 ? 1 : time_before(strcol(6)) > 0 ? time_before(strcol(6)) / ratio : NaN
stats csv using (iterations("before") > 0 ? $9 : NaN) nooutput name "BEFORE"
lowest = lesser(OP_max, BEFORE_min / most_with(1, "after/before", your_ratio))

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set multiplot

    # the cost of an iteration
    set lmargin at screen 0.1
    set rmargin at screen 0.70
    set tmargin at screen 0.91
    set bmargin at screen 0.53
    set logscale x 2
    set xtics 4
    set xrange [K_min / 1.5 : 1.5 * K_max]
    set xlabel "iterations of the loop" offset 0, 0.4
    eval fine_time_axis
    set yrange [0.5 * least_with(lowest, "after", "iteration/") : 2 * most_with(highest, "before", "iteration/")]
    set ylabel "time per iteration" offset label_offset
    set key at screen 0.715, screen 0.91 left top
    plot csv using (iterations("before") * 1.05):8:9:10 with yerrorbars linestyle 12 title "before: one in every iteration", \
         csv using (iterations("after") / 1.05):8:9:10 with yerrorbars linestyle 11 title "after: one for all", \
         csv using (iterations("before")):11 with lines linestyle 2 title "predicted: before" \
         @predicted_after, \
         OP_max with lines linestyle 98 title "limit: the operation alone", \
         for [program in "before after"] for [once = 1:has_yours(program, "iteration/")] \
             yours using (mine(program, "iteration/", x(program, "iteration/"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[program eq "after" ? 1 : 2] notitle, \
         for [once = 1:has_yours("after/before", your_ratio)] \
             yours using (mine("after/before", your_ratio, x("after/before", your_ratio))):(after_by($8)):(after_by($10)):(after_by($9)) \
             with yerrorbars linestyle 30 linecolor rgb colours[1] title your_title.": before / ratio", \
         for [once = 1:any_yours("before", "iteration/") || any_yours("after", "iteration/")] 1/0 with points linestyle 30 title your_title
    unset label

    # where the time goes
    set lmargin at screen 0.1
    set rmargin at screen 0.38
    set tmargin at screen 0.40
    set bmargin at screen 0.10
    unset logscale
    set xrange [0.4 : 2.6]
    set yrange [0 : *]
    set xtics ("before" 1, "after" 2)
    set xlabel sprintf("phases of an iteration, in a loop of %d", K_max) offset 0, 0.4
    set ylabel "µs per iteration" offset label_offset
    set ytics auto
    set key at screen 0.39, screen 0.40 left top
    set style fill solid 1 border rgb "#ffffff"
    plot for [i = 5:1:-1] '+' using (int($0) + 1):(sum [j = 1:i] values[5 * int($0) + j] * 1e6):(0.6) every ::0::1 \
             with boxes linecolor rgb colours[i] title phase_titles[i]

    # a communicator against ranks
    set lmargin at screen 0.68
    set rmargin at screen 0.97
    set xlabel "ranks" offset 0, 0.4
    set xtics auto
    set xtics 1
    set xrange [1.5 : 8.5]
    set ylabel "time per iteration, before" offset label_offset
    eval fine_time_axis
    set yrange [0.5 * lowest_swept : 2 * highest_swept]
    set key at screen 0.69, screen (is_bare ? 0.40 : 0.455) left top
    if (cores > 0) {
        set arrow 1 from cores + 0.5, graph 0 to cores + 0.5, graph 1 nohead linestyle 98
        set label 1 "more ranks than cores" at cores + 0.6, graph 0.05 left font ",11" textcolor rgb "#606060"
    }
    plot csv using (is_row("before", swept) ? $5 : NaN):8:9:10 with yerrorbars linestyle 12 title "measured", \
         csv using (is_row("before", swept) ? $5 : NaN):11 smooth unique with lines linestyle 2 title is_virtual ? "predicted" : "predicted from 2 and 4"
    unset multiplot
    unset arrow
    unset label
    unset xlabel
    set output
}
