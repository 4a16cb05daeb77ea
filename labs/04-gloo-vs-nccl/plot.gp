# SPDX-License-Identifier: MIT
# Lab 04: seconds a call against its size on both backends, and how many times faster after is; a column of two panels
# for each number of ranks, two at most.
load "plots/lab.gp"
height = 860
crowds = ""
stats csv using (crowds = add(strcol(5), crowds), 0) every ::1 nooutput # the run's number of ranks, then the sweep's
columns = words(crowds) > 2 ? 2 : words(crowds)
crowd(c) = int(word(crowds, c == 1 ? 1 : words(crowds)))
cores = int(number_before(" cores", manifest("machine")))
array backends[2]; array nets[2] # of before, of after
stats csv using (strcol(2) eq "before" ? (backends[1] = strcol(3), nets[1] = strcol(4), 0) : 0) every ::1 nooutput
stats csv using (strcol(2) eq "after" ? (backends[2] = strcol(3), nets[2] = strcol(4), 0) : 0) every ::1 nooutput
named(program) = nets[1] eq nets[2] ? backends[program eq "before" ? 1 : 2] : nets[program eq "before" ? 1 : 2]

array programs[2] = ["before", "after"]
ranks = crowd(1) # that the functions below look at
size(program) = x(program, "time/")
size_of_ratio(dodge) = x("after/before", "ratio/time/") * dodge

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (size("before")) nooutput name "SIZE"
stats csv using (strcol(6) eq "quantity" || !starts_with(strcol(6), "time/") ? NaN : $9) nooutput name "TIME"
stats csv using (size_of_ratio(1) > 0 ? $8 : NaN) nooutput name "RATIO"
stats csv using (starts_with(strcol(6), "ratio/time/") ? $8 : NaN) nooutput name "ANY"
stats csv using (size_of_ratio(1) > 0 && $8 < 1 ? size_of_ratio(1) : 1e30) nooutput name "SLOWER"
stats csv using (size_of_ratio(1) > 0 && $8 >= 1 ? size_of_ratio(1) : 0) nooutput name "FASTER" # the largest such
stats csv using (size_of_ratio(1) > 0 && $8 >= 1 ? size_of_ratio(1) : 1e30) nooutput name "FIRST"
between = sprintf("%s to %s times", factor_text(RATIO_min), factor_text(RATIO_max))
finding = RATIO_min >= 1 ? sprintf("%s is %s faster than %s, depending on the size", named("after"), between, named("before")) \
    : RATIO_max < 1 ? sprintf("%s is slower here at all sizes", named("after")) \
    : sprintf("%s is faster up to %s, %s beyond: no backend is best for all sizes", named("after"), size_text(FASTER_max), named("before"))
if (RATIO_min < 1 && RATIO_max >= 1 && SLOWER_min < FASTER_max) {
    finding = sprintf("%s is faster from %s on, %s below: no backend is best for all sizes", named("after"), size_text(FIRST_min), named("before"))
}
subject = sprintf("allreduce of float32%s; %s", columns > 1 ? "" : sprintf(", %d ranks", ranks), \
                  is_virtual ? "virtual time, exact" : measured_text)
core_text(r) = sprintf(cores == 0 ? "%d ranks" : r > cores ? "%d ranks on %d cores" : "%d ranks, a core per rank", r, cores)
eval describe(finding, \
    "For each number of ranks two panels against the size of the buffer. Above: the time of an allreduce " \
    ."on both backends, measured and predicted. Below: the time on before's backend divided by that on after's.")

lowest = TIME_min; highest = TIME_max
do for [p = 1:2] {
    lowest = least_with(least_with(lowest, programs[p], "time/"), programs[p], "alpha")
    highest = most_with(most_with(highest, programs[p], "time/"), programs[p], "alpha")
}

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set logscale x 2
    set xtics ("8 B" 8, "128 B" 128, "2 KiB" 2048, "32 KiB" 32768, "512 KiB" 524288, "8 MiB" 8388608)
    if (columns > 1) { set xtics ("8 B" 8, "2 KiB" 2048, "512 KiB" 524288) }
    set multiplot
    set xrange [SIZE_min / 2.3 : SIZE_max * 2.3]
    do for [c = 1:columns] {
        ranks = crowd(c)
        set lmargin at screen c == 1 ? 0.1 : 0.455
        set rmargin at screen columns == 1 ? 0.765 : c == 1 ? 0.415 : 0.77

        set tmargin at screen 0.88
        set bmargin at screen 0.47
        set title core_text(ranks) offset 0, -0.5
        eval c == 1 ? time_axis : unlabelled_time_axis
        set yrange [0.5 * lowest : 2 * highest]
        set ylabel (c == 1 ? "time per call" : "") offset label_offset
        set xlabel (is_bare ? "bytes per rank" : "")
        if (c == columns) { set key at screen 0.785, screen 0.88 left top } else { unset key }
        plot csv using (size("before")):8:9:10 with yerrorbars linestyle 12 title "before: ".named("before"), \
             csv using (size("after")):8:9:10 with yerrorbars linestyle 11 title "after: ".named("after"), \
             csv using (size("before")):11 with lines linestyle 2 title "lines: predicted", \
             csv using (size("after")):11 with lines linestyle 1 notitle, \
             for [p = 1:2] for [once = 1:has_yours(programs[p], "time/")] \
                 yours using (mine(programs[p], "time/", size(programs[p]))):8:9:10 \
                 with yerrorbars linestyle 30 linecolor rgb colours[3 - p] notitle, \
             for [p = 1:2] for [once = 1:has_yours(programs[p], "alpha")] '+' using (SIZE_min):(yours_of(programs[p], "alpha", 8)):(yours_of(programs[p], "alpha", 9)) \
                 :(yours_of(programs[p], "alpha", 10)) every ::0::0 with yerrorbars linestyle 30 linecolor rgb colours[3 - p] notitle, \
             for [once = 1:any_yours("before", "time/") || any_yours("after", "time/") || any_yours("before", "alpha") || any_yours("after", "alpha")] 1/0 with points linestyle 30 title your_title
        unset label

        set tmargin at screen (is_bare ? 0.36 : 0.41)
        set bmargin at screen 0.10
        unset title
        set logscale y 10
        set yrange [0.5 * least_with(ANY_min < 1 ? ANY_min : 1, "after/before", "ratio/time/") : 3 * most_with(ANY_max, "after/before", "ratio/time/")]
        if (c == 1) {
            set ytics ("0.01" 0.01, "0.1" 0.1, "1" 1, "10" 10, "100" 100, "1,000" 1000, "10,000" 10000, "100,000" 100000)
        } else {
            set ytics ("" 0.01, "" 0.1, "" 1, "" 10, "" 100, "" 1000, "" 10000, "" 100000)
        }
        set ylabel (c == 1 ? "time before / time after" : "") offset label_offset
        set xlabel "bytes per rank"
        if (c == columns) { set key at screen 0.785, screen (is_bare ? 0.36 : 0.41) left top } else { unset key }
        plot 1 with lines linestyle 98 title "above: after is faster", \
             csv using (size_of_ratio(1)):8:9:10 with yerrorbars linestyle 13 title "measured", \
             csv using (size_of_ratio(1)):11 with lines linestyle 3 title "predicted", \
             for [once = 1:has_yours("after/before", "ratio/time/")] \
                 yours using (mine("after/before", "ratio/time/", size_of_ratio(1))):8:9:10 \
                 with yerrorbars linestyle 30 linecolor rgb colours[3] notitle, \
             for [once = 1:any_yours("after/before", "ratio/time/")] 1/0 with points linestyle 30 title your_title
    }
    unset multiplot
    unset xlabel
    set output
    ranks = crowd(1)
}
