# SPDX-License-Identifier: MIT
# Lab 00: the interval of the ratio of two identical programs against the number of pairs, and the difference of two
# single timings.
load "plots/lab.gp"
if (is_bare) { height = 480 }
is_row(program, quantity) = strcol(2) eq program && strcol(6) eq quantity && int($5) == ranks
pairs(program) = x(program, "interval/")
positive(v) = v > 0 ? v : 1e-3 # an axis of powers of ten has no 0: below the figure

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (pairs("after")) nooutput name "N"
stats csv using (pairs("after") > 0 ? $8 : NaN) nooutput name "I"
stats csv using (is_row("before", "difference") ? $8 : NaN) nooutput name "ONE"
stats csv using (is_row("before", "difference") ? $10 : NaN) nooutput name "ONE_HIGH"
# Runs of older programs have no such row: then 1.
aa(n) = value_of("after", "b_over_a", n) > 0 ? value_of("after", "b_over_a", n) : 1
# The fewest measured pairs from which on every interval is below 5 %; 0: there are none.
stats csv using (pairs("after") > 0 && $8 >= 5 ? pairs("after") : 0) nooutput name "WIDE"
stats csv using (pairs("after") > WIDE_max ? pairs("after") : 1e9) nooutput name "NARROW"
# The title gives an interval that is wide.
stats csv using (is_row("before", "difference") ? $9 : NaN) nooutput name "ONE_LOW"
between = ONE_HIGH_max > 1.5 * ONE_LOW_max ? sprintf(" (%s to %s)", two_digits(ONE_LOW_max), two_digits(ONE_HIGH_max)) : ""
enough = NARROW_min < 1e9 ? int(NARROW_min) : 0
finding = I_max == 0 ? "In virtual time all runs of one program are equal: one timing is enough" \
    : sprintf("Two single timings of the same program differ by %s %%%s; ", two_digits(ONE_max), between) \
      .(enough ? sprintf("%d pairs are enough to see 5 %%", enough) : sprintf("%.0f pairs are too few to see 5 %%", N_max))
# The A/A test itself: B / A of the same call, and whether its interval holds what is true.
holds_one = aa(9) <= 1 && aa(10) >= 1
ratio_text = I_max == 0 ? "B / A is 1" : sprintf("B / A %.4f, %.4f to %.4f", aa(8), aa(9), aa(10)) \
    .(holds_one ? "" : ", without 1: by chance in 1 of 20 runs, or one of the two is favoured")
subject = sprintf("allreduce of %s against itself, %d ranks, backend %s: %s; %s", \
                  size_text(real(manifest("bytes"))), ranks, first(3), ratio_text, measured_text)
eval describe(finding, \
    "The interval of the ratio of two identical programs against the number of pairs, measured and predicted, with the 5 " \
    ."percent to see, and the difference of two single timings.")

on_axes = has_yours("before", "difference") || has_yours("after", "interval/")

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set tmargin at screen 0.86
    set bmargin at screen 0.15
    set lmargin at screen 0.1
    set rmargin at screen 0.68
    set key at screen 0.695, screen 0.86 left top
    set xlabel "pairs of timings"
    set ylabel "half of the 95 % interval (%)" offset label_offset
    set logscale x 2
    set xtics (1, 2, 6, 12, 25, 50, 100, 200, 400, 800)
    set xrange [0.7 : 1.6 * most_with(N_max, "after", "pairs_for_5pct")]
    if (I_max > 0) {
        set logscale y 10
        set ytics ("0.01" 0.01, "0.02" 0.02, "0.05" 0.05, "0.1" 0.1, "0.2" 0.2, "0.5" 0.5, "1" 1, "2" 2, "5" 5, "10" 10, "20" 20, "50" 50, "100" 100, "1,000" 1e3, "10,000" 1e4, "100,000" 1e5)
        most = I_max > 5 ? I_max : 5
        most = most_with(most_with(ONE_HIGH_max > most ? ONE_HIGH_max : most, "before", "difference"), "after", "interval/")
        set yrange [0.5 * least_with(least_with(I_min, "before", "difference"), "after", "interval/") : 2 * most]
    } else {
        set ytics auto
        set yrange [-0.3 : 6]
    }
    plot csv using (is_row("before", "difference") ? 1 : NaN):(I_max > 0 ? positive($8) : $8):(I_max > 0 ? positive($9) : $9):10 with yerrorbars linestyle 12 \
             title "before: difference of two timings", \
         csv using (pairs("after")):8:(I_max > 0 ? positive($9) : $9):10 with yerrorbars linestyle 11 title "after: interval of the A/A test", \
         csv using (pairs("after")):11 with lines linestyle 1 title "predicted: 1/√pairs", \
         5 with lines linestyle 98 title "5 %: the difference to see", \
         for [once = 1:has_yours("before", "difference")] \
             yours using (mine("before", "difference", is_row("before", "difference") ? 1 : NaN)):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[2] notitle, \
         for [once = 1:has_yours("after", "interval/")] \
             yours using (mine("after", "interval/", pairs("after"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:has_yours("after", "pairs_for_5pct")] \
             yours using (mine("after", "pairs_for_5pct", is_row("after", "pairs_for_5pct") ? $8 : NaN)):(5):9:10 \
             with xerrorbars linestyle 30 linecolor rgb colours[1] title your_title.": pairs for 5 %", \
         for [once = 1:on_axes] 1/0 with points linestyle 30 title your_title
    set output
}
