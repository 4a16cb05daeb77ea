# SPDX-License-Identifier: MIT
# Lab 02: what a step is made of, before and after: computation, and communication that nothing hides; predicted beside
# measured, and the limits that no overlap passes.
load "plots/lab.gp"
height = 540
cell(program, quantity, n) = value_of(program, quantity, n)
has_predictions = cell("after", "step_time", 11) > 0

# ---- what was found --------------------------------------------------------------------------------------------------
array programs[2] = ["before", "after"]
array steps[2]; array lows[2]; array highs[2]; array hidden[2]; array exposed[2]; array foreseen[2]; array foreseen_exposed[2]
do for [p = 1:2] {
    steps[p] = 1e3 * cell(programs[p], "step_time", 8)
    lows[p] = 1e3 * cell(programs[p], "step_time", 9)
    highs[p] = 1e3 * cell(programs[p], "step_time", 10)
    exposed[p] = 1e3 * cell(programs[p], "exposed_comm", 8)
    foreseen[p] = 1e3 * cell(programs[p], "step_time", 11)
    foreseen_exposed[p] = 1e3 * cell(programs[p], "exposed_comm", 11)
}
comm = 1e3 * cell("after", "comm", 8)
overlap = cell("after", "overlap", 8)
ratio = cell("after/before", "ratio", 8); ratio_low = cell("after/before", "ratio", 9); ratio_high = cell("after/before", "ratio", 10)
# Both compute alike: where that took longer in one of them, steps differ for another reason than overlap.
parted(quantity) = cell("before", quantity, 9) > cell("after", quantity, 10) || cell("after", quantity, 9) > cell("before", quantity, 10)
compute(program) = 1e3 * (cell(program, "forward", 8) + cell(program, "backward", 8))
is_alone = manifest("progress")[1:6] eq "manual"
finding = ratio_low > 1 && ratio_low > compute("before") / compute("after") \
    ? sprintf("Overlap makes the step %.2f times faster, and hides %.0f %% of the communication", ratio, overlap) \
    : parted("forward") || parted("backward") \
    ? sprintf("Computation alone took %.3g ms before and %.3g ms after: these runs cannot show overlap", compute("before"), compute("after")) \
    : is_alone ? sprintf("No measurable gain by overlap (%.2f times as fast): both cores compute, and none is free to move gradients", ratio) \
    : ratio_low > 1 ? sprintf("The step is %.2f times as fast (%.3g to %.3g), and computation alone %.2f times: these runs cannot show overlap", \
        ratio, ratio_low, ratio_high, compute("before") / compute("after")) \
    : sprintf("No measurable gain by overlap: %.2f times as fast, 95 %% interval %.3g to %.3g", ratio, ratio_low, ratio_high)
net = manifest("net") eq "none" ? "" : sprintf(", network %s", manifest("net"))
subject = sprintf("a training step of %d ranks, backend %s%s%s", \
                  ranks, first(3), net, \
                  is_virtual ? ", in virtual time" : "; ".measured_text)
eval describe(finding, \
    "Horizontal bars of a training step before and after, measured and predicted, each of computation and of exposed " \
    ."communication; dashed lines at the computation alone and at the communication alone.")
computation = steps[2] - exposed[2]
longest = 1e3 * most_with(most_with(most_with((highs[1] > highs[2] ? highs[1] : highs[2]) / 1e3, "before", "step_time"), \
    "after", "step_time"), "before", "comm")

on_axes = has_yours("before", "step_time") || has_yours("after", "step_time") || has_yours("before", "comm")

# ---- the figure ------------------------------------------------------------------------------------------------------
# Bars from the top: before measured, predicted; after measured, predicted.
row(p, predicted) = 5.2 - 2.4 * (p - 1) - 0.9 * predicted
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set lmargin at screen 0.17
    set rmargin at screen 0.97
    set tmargin at screen 0.75 # below a legend of three rows
    set bmargin at screen 0.2
    set xrange [0 : 1.12 * longest]
    set yrange [1.4 : 5.9]
    set xlabel "time per step (ms)"
    set ytics ("before, measured" row(1, 0), "after, measured" row(2, 0))
    if (has_predictions) { set ytics add ("predicted" row(1, 1), " predicted" row(2, 1)) }
    set key at screen 0.97, screen 0.88 right top horizontal
    set style fill solid 0.85 border rgb "#ffffff"
    set grid noytics
    plot for [p = 1:2] '+' using ((steps[p] - exposed[p]) / 2):(row(p, 0)):((steps[p] - exposed[p]) / 2):(0.36) \
             every ::0::0 with boxxyerror linecolor rgb colours[1] title (p == 1 ? "computation" : ""), \
         for [p = 1:2] '+' using (steps[p] - exposed[p] / 2):(row(p, 0)):(exposed[p] / 2):(0.36) \
             every ::0::0 with boxxyerror linecolor rgb colours[2] title (p == 1 ? "exposed communication" : ""), \
         for [p = 1:2] '+' using (steps[p]):(row(p, 0)):(lows[p]):(highs[p]) every ::0::0 with xerrorbars linestyle 17 pointsize 0.2 notitle, \
         for [p = 1:has_predictions ? 2 : 0] '+' using ((foreseen[p] - foreseen_exposed[p]) / 2):(row(p, 1)):((foreseen[p] - foreseen_exposed[p]) / 2):(0.2) \
             every ::0::0 with boxxyerror fillstyle solid 0.35 linecolor rgb colours[1] notitle, \
         for [p = 1:has_predictions ? 2 : 0] '+' using (foreseen[p] - foreseen_exposed[p] / 2):(row(p, 1)):(foreseen_exposed[p] / 2):(0.2) \
             every ::0::0 with boxxyerror fillstyle solid 0.35 linecolor rgb colours[2] notitle, \
         '+' using (computation):(1.4):(0):(4.5) every ::0::0 with vectors nohead linestyle 98 title "limit: computation alone", \
         '+' using (comm):(1.4):(0):(4.5) every ::0::0 with vectors nohead linestyle 97 title "limit: communication alone", \
         for [p = 1:2] for [once = 1:has_yours(programs[p], "step_time")] '+' using (1e3 * yours_of(programs[p], "step_time", 8)):(row(p, 0.58)):(1e3 * yours_of(programs[p], "step_time", 9)) \
             :(1e3 * yours_of(programs[p], "step_time", 10)) every ::0::0 with xerrorbars linestyle 30 notitle, \
         for [once = 1:has_yours("before", "comm")] '+' using (1e3 * yours_of("before", "comm", 8)):(3.6):(1e3 * yours_of("before", "comm", 9)):(1e3 * yours_of("before", "comm", 10)) \
             every ::0::0 with xerrorbars linestyle 30 notitle, \
         for [once = 1:on_axes] 1/0 with points linestyle 30 title your_title
    unset xlabel
    set output
}
