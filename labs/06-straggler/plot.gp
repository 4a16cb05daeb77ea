# SPDX-License-Identifier: MIT
# Lab 06: who waits how long in a plain barrier, how late the monitored one says the straggler was, and what is lost.
load "plots/lab.gp"
height = 860
extra(program, quantity) = x(program, quantity."/")
extras = ""
is_lateness(program, quantity) = program eq "after" && starts_with(quantity, "lateness/")
stats csv using (extras = is_lateness(strcol(2), strcol(6)) ? add(part(strcol(6), 2), extras) : extras, 0) every ::1 nooutput
# What the panels show: UP the upper one, DOWN the lower one. Gnuplot itself would stretch their y axes to rows that have no
# place on the x axis, too.
is_up(program, quantity) = starts_with(quantity, "lateness/") || program eq "before" && starts_with(quantity, "wait_") \
    || program eq "after" && starts_with(quantity, "injected/")
is_down(program, quantity) = starts_with(quantity, "lost/")
positive(v) = v > 0 ? v : NaN
up(column) = is_up(strcol(2), strcol(6)) ? positive(column(column)) : NaN
down(column) = is_down(strcol(2), strcol(6)) ? positive(column(column)) : NaN
low_end(v) = least_with(least_with(least_with(v, "before", "wait_"), "before", "lateness/"), "after", "lateness/")
high_end(v) = most_with(most_with(most_with(v, "before", "wait_"), "before", "lateness/"), "after", "lateness/")
at_most(program, quantity) = extra(program, quantity) == E_max

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (extra("after", "lateness")) nooutput name "E"
stats csv using (up(9)) nooutput name "UP_LOW"
stats csv using (up(10)) nooutput name "UP_HIGH"
stats csv using (down(9)) nooutput name "DOWN_LOW"
stats csv using (down(10)) nooutput name "DOWN_HIGH"
UP_MODEL_min = UP_LOW_min; UP_MODEL_max = UP_HIGH_max
if (manifest("net") ne "none") { stats csv using (up(11)) nooutput name "UP_MODEL" }
stats csv using (at_most("after", "lateness") ? $8 : NaN) nooutput name "LATE"
stats csv using (at_most("after", "injected") ? $8 : NaN) nooutput name "INJECTED"
stats csv using (at_most("after", "named") ? $8 : NaN) nooutput name "NAMED"
stats csv using (at_most("before", "lateness") ? $8 : NaN) nooutput name "BY_STEPS"
finding = sprintf("The barrier names rank %.0f, %s late after %s of extra work", NAMED_max, time_text(LATE_max), time_text(INJECTED_max))
if (BY_STEPS_max == 0) { finding = finding."; all step times of before are equal" }
if (BY_STEPS_max > 0 && BY_STEPS_max < 0.1 * LATE_max) { finding = sprintf("%s; step times of before differ by %s", finding, time_text(BY_STEPS_max)) }
differ = BY_STEPS_max > 0
foreseen = manifest("net") ne "none"
subject = sprintf("%d ranks, backend %s, the last one with extra work; %s", ranks, first(3), measured_text)
eval describe(finding, \
    "Two panels against the straggler's extra work. Above: the time that it and the others wait in a plain barrier, by how much " \
    ."the ranks' step times differ, the extra work, and the lateness that a monitored barrier reports. Below: what all " \
    ."ranks together lost.")

predicted_lines = predicted_lost = ""
if (manifest("net") ne "none") {
    predicted_lines = ", csv using (extra('before', 'wait_straggler')):11 with lines linestyle 2 notitle"
}

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.66
    set logscale x 2
    set xtics ()
    do for [e in extras] { set xtics add (e int(e)) }
    set xrange [E_min / 1.5 : E_max * 1.5]

    set tmargin at screen 0.91
    set bmargin at screen 0.45
    eval time_axis
    set yrange [low_end(lesser(UP_LOW_min, UP_MODEL_min)) / 1.5 : high_end(larger(UP_HIGH_max, UP_MODEL_max)) * 1.5]
    set ylabel "time" offset label_offset
    if (is_bare) { set xlabel "extra work of the straggler, percent of the work of a rank" }
    set key at screen 0.675, screen 0.91 left top
    plot csv using (extra("before", "wait_others") * 1.06):8:9:10 with yerrorbars linestyle 13 title "before: others wait", \
         csv using (extra("before", "wait_straggler")):8:9:10 with yerrorbars linestyle 12 title "before: the straggler waits", \
         for [once = 1:differ] \
             csv using (extra("before", "lateness")):8:9:10 with yerrorbars linestyle 14 title "before: step times differ by", \
         csv using (extra("after", "injected") / 1.06):8:9:10 with yerrorbars linestyle 16 title "extra work, timed by the straggler", \
         csv using (extra("after", "lateness")):8:9:10 with yerrorbars linestyle 11 title "after: reported lateness", \
         for [once = 1:foreseen] \
             csv using (extra("after", "lateness")):11 with lines linestyle 1 title "lines: predicted" \
         @predicted_lines, \
         for [once = 1:has_yours("before", "wait_others/")] \
             yours using (mine("before", "wait_others/", extra("before", "wait_others"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[3] notitle, \
         for [once = 1:has_yours("before", "lateness/")] \
             yours using (mine("before", "lateness/", extra("before", "lateness"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[4] notitle, \
         for [once = 1:has_yours("after", "lateness/")] \
             yours using (mine("after", "lateness/", extra("after", "lateness"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:has_yours("before", "wait_others/") || has_yours("before", "lateness/") || has_yours("after", "lateness/")] 1/0 with points linestyle 30 title your_title

    unset label
    set yrange [least_with(DOWN_LOW_min, "after", "lost/") / 1.5 : most_with(DOWN_HIGH_max, "after", "lost/") * 1.5]
    set tmargin at screen (is_bare ? 0.32 : 0.37)
    set bmargin at screen 0.12
    set xlabel "extra work of the straggler, percent of the work of a rank"
    set ylabel "time lost by all ranks" offset label_offset
    set key at screen 0.675, screen (is_bare ? 0.32 : 0.37) left top
    plot for [once = 1:differ] \
             csv using (extra("before", "lost") * 1.04):8:9:10 with yerrorbars linestyle 12 title "before: by step times", \
         csv using (extra("after", "lost") / 1.04):8:9:10 with yerrorbars linestyle 11 title "after: by lateness", \
         for [once = 1:foreseen] \
             csv using (extra("after", "lost")):11 with lines linestyle 1 title "predicted: (P − 1) × extra", \
         for [once = 1:has_yours("after", "lost/")] \
             yours using (mine("after", "lost/", extra("after", "lost"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle
    unset multiplot
    unset xlabel
    set output
}
