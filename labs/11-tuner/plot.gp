# SPDX-License-Identifier: MIT
# Lab 11: seconds per call by the default and by the measured table against the size; below, the time against the lanes.
load "plots/lab.gp"
height = 820
size(program) = x(program, "time/chosen/")
lanes(program) = x(program, "time/lanes/")
cell_of(program, quantity, n) = value_of(program, quantity, n)

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (size("before")) nooutput name "SIZE"
stats csv using (starts_with(strcol(6), "time/chosen/") && strcol(2) ne "after/before" ? $8 : NaN) nooutput name "TIME"
stats csv using (lanes("after") > 0 ? $8 : NaN) nooutput name "LANES"
stats csv using (lanes("after") > 0 && $8 == LANES_min ? lanes("after") : NaN) nooutput name "BEST"
sizes = ""
stats csv using (size("before") > 0 ? (sizes = add_number(sprintf("%d", size("before")), sizes), 0) : 0) nooutput
default = cell_of("before", "regret/chosen/all", 8)
table = cell_of("after", "regret/chosen/all", 8)
of_table = table < 1.005 ? "a measured table takes the best at each size" : sprintf("a measured table %.2f times", table)
finding = default > 1.05 * table ? sprintf("Over %d sizes, the default takes %.1f times as long as the best on average; %s", words(sizes), default, of_table) \
    : sprintf("The default is as good as a measured table here: %.2f and %.2f times the best", default, table)
subject = sprintf("allreduce of float32, %d ranks, backend %s%s; mean over sizes is geometric; %s", ranks, first(3), \
    is_virtual ? " on ".manifest("net") : "", is_virtual ? "virtual time, exact" : measured_text)
eval describe(finding, \
    "Above: the time of an allreduce against its size, by the default choice and by the measured table, with predictions. " \
    ."Below: the time of the largest by a pair of trees, against the number of lanes.")

lowest = TIME_min; highest = TIME_max
do for [program in "before after"] {
    lowest = least_with(lowest, program, "time/chosen/")
    highest = most_with(highest, program, "time/chosen/")
}
high_lanes = most_with(LANES_max, "after", "time/lanes/")
tick = 10 ** floor(log10(high_lanes / 2))
tick = high_lanes / tick > 8 ? 2 * tick : tick

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.765

    set tmargin at screen 0.90
    set bmargin at screen 0.53
    set logscale x 2
    set xtics ()
    do for [s in sizes] { set xtics add (size_text(real(s)) real(s)) }
    set xrange [SIZE_min / 2.3 : SIZE_max * 2.3]
    eval fine_time_axis
    set yrange [0.5 * lowest : 2 * highest]
    set ylabel "time per call" offset label_offset
    set xlabel "bytes of the buffer" offset 0, 0.4
    set key at screen 0.785, screen 0.90 left top
    plot csv using (size("before")):8:9:10 with yerrorbars linestyle 12 title "before: the default", \
         csv using (size("after")):8:9:10 with yerrorbars linestyle 11 title "after: the table", \
         csv using (size("before")):11 with lines linestyle 2 title "lines: predicted", \
         csv using (size("after")):11 with lines linestyle 1 notitle, \
         for [once = 1:has_yours("before", "time/chosen/")] yours using (mine("before", "time/chosen/", size("before"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[2] notitle, \
         for [once = 1:has_yours("after", "time/chosen/")] yours using (mine("after", "time/chosen/", size("after"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:any_yours("before", "time/chosen/") || any_yours("after", "time/chosen/")] 1/0 with points linestyle 30 \
             title your_title

    set tmargin at screen (is_bare ? 0.37 : 0.40)
    set bmargin at screen 0.11
    set title sprintf("%s by a pair of trees: the time is least with %g lanes", size_text(SIZE_max), BEST_min) offset 0, -0.4
    set xtics ("2" 2, "4" 4, "8" 8, "16" 16)
    set xrange [1.6 : 20]
    unset logscale y
    unset mytics
    set yrange [0 : 1.15 * high_lanes]
    set xlabel "lanes" offset 0, 0.4
    set ytics ()
    do for [i = 0:20] { set ytics add ((i ? time_text(i * tick) : "0") i * tick) }
    set key at screen 0.785, screen (is_bare ? 0.37 : 0.40) left top
    plot csv using (lanes("after")):8:9:10 with yerrorbars linestyle 13 title measured_title, \
         csv using (lanes("after")):11 with lines linestyle 3 title "predicted", \
         for [once = 1:has_yours("least", "time/lanes")] yours using (mine("least", "time/lanes", \
             strcol(2) eq "least" && strcol(6) eq "time/lanes" ? $8 : NaN)):(LANES_min):9:10 \
             with xerrorbars linestyle 30 linecolor rgb colours[3] notitle, \
         for [once = 1:has_yours("least", "time/lanes")] 1/0 with points linestyle 30 title your_title
    unset multiplot
    unset title
    unset xlabel
    set output
}
