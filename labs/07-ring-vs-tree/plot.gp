# SPDX-License-Identifier: MIT
# Lab 07: seconds a call against its size, and how many times faster than by hand each algorithm is. A column of two
# panels for each number of ranks.
load "plots/lab.gp"
height = 860
crowds = ""
stats csv using (crowds = add(strcol(5), crowds), 0) every ::1 nooutput # the run's number of ranks, then the sweep's
columns = words(crowds) > 2 ? 2 : words(crowds)
is_time(program, quantity) = program eq "after" && starts_with(quantity, "time/")
algorithms = ""
stats csv using (algorithms = is_time(strcol(2), strcol(6)) ? add(part(strcol(6), 2), algorithms) : algorithms, 0) every ::1 nooutput
N = words(algorithms)

ranks = int(word(crowds, 1)) # that the functions below look at
name(i) = word(algorithms, i) eq "halving_doubling" ? "halving-doubling" : word(algorithms, i)
size_by_hand(dodge) = x("before", "time/by_hand/") * dodge
size(i) = x("after", "time/".word(algorithms, i)."/")
size_of_ratio(i) = x("after/before", "ratio/time/".word(algorithms, i)."/")
dodge(i) = 2 ** (columns * 0.16 * (i - (N + 1) / 2.0)) # markers side by side, the middle one where it belongs

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (size_by_hand(1)) nooutput name "SIZE"
stats csv using (strcol(6) eq "quantity" || !starts_with(strcol(6), "time/") ? NaN : $9) nooutput name "TIME"
stats csv using (starts_with(strcol(6), "ratio/time/") ? $9 : NaN) nooutput name "RATIO"
lowest = RATIO_min
stats csv using (starts_with(strcol(6), "ratio/time/") ? $10 : NaN) nooutput name "RATIO"
RATIO_min = lowest
if (manifest("net") ne "none") {
    stats csv using (starts_with(strcol(6), "ratio/time/") ? $11 : NaN) nooutput name "FORESEEN"
    RATIO_max = FORESEEN_max > RATIO_max ? FORESEEN_max : RATIO_max
    RATIO_min = FORESEEN_min < RATIO_min ? FORESEEN_min : RATIO_min
}
best = 1; best_ratio = 0
do for [i = 1:N] {
    stats csv using (size_of_ratio(i) == SIZE_max ? $8 : 0) nooutput name "R"
    if (R_max > best_ratio) { best = i; best_ratio = R_max }
}
stats csv using (size_of_ratio(best) == SIZE_max ? $9 : NaN) nooutput name "SURE"
stats csv using (size_of_ratio(best) == SIZE_max ? $10 : NaN) nooutput name "MOST"
# The title gives a wide interval, and says that another algorithm may be as fast.
unsure = best_ratio > 1 && MOST_max > 1.5 * SURE_max ? sprintf(" (%s to %s)", factor_text(SURE_max), factor_text(MOST_max)) : ""
others = 0
do for [i = 1:N] {
    stats csv using (size_of_ratio(i) == SIZE_max ? $10 : 0) nooutput name "R"
    others = others + (i != best && R_max > SURE_max)
}
rivals = others && unsure ne "" ? sprintf("; %s may be as fast", others == 1 ? "another algorithm" : sprintf("%d others", others)) : ""
stats csv using (size_of_ratio(best) > 0 && $10 < 1 ? size_of_ratio(best) : 0) nooutput name "SLOWER" # 0: nowhere
finding = best_ratio <= 1 ? sprintf("No algorithm beats everyone-to-everyone here, not even at %s", size_text(SIZE_max)) \
    : sprintf("%s is %s times%s faster than everyone-to-everyone at %s%s%s", name(best), factor_text(best_ratio), unsure, \
              size_text(SIZE_max), rivals, SLOWER_max > 0 ? "; slower up to ".size_text(SLOWER_max) : "")
subject = sprintf("allreduce of float32, %d ranks, backend %s; %s", ranks, first(3), measured_text)
cost = number(manifest("limit_seconds_per_byte"))
core_text(r) = sprintf(cores == 0 ? "%d ranks" : r > cores ? "%d ranks on %d cores" : "%d ranks, a core per rank", r, cores)
eval describe(finding, \
    "For each number of ranks two panels against the size of the buffer. Above: the time of an allreduce " \
    ."by hand and by each algorithm, measured and predicted. Below: the time by hand divided by the time " \
    ."of each algorithm.")

# Without a profile of the machine there are no predictions, and no limit.
predicted_times = predicted_ratios = ""
if (manifest("net") ne "none") {
    predicted_times = ", csv using (size_by_hand(1)):11 with lines linestyle 7 title 'lines: predicted'" \
        .", for [i = 1:N] csv using (size(i)):11 with lines linestyle i notitle" \
        .", cost * x with lines linestyle 98 title 'limit: one copy'"
    predicted_ratios = ", for [i = 1:N] csv using (size_of_ratio(i)):11 with lines linestyle i notitle"
}

# From which size on an algorithm is faster: there its ratio is 1.
crossing(i) = "time/by_hand:time/".word(algorithms, i)

lowest = least_with(least_with(TIME_min, "before", "time/"), "after", "time/")
highest = most_with(most_with(TIME_max, "before", "time/"), "after", "time/")
RATIO_min = least_with(RATIO_min, "after/before", "ratio/time/")
RATIO_max = most_with(RATIO_max, "after/before", "ratio/time/")

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place."; markers of one size stand side by side")
    eval size_axis
    if (columns > 1) { set xtics ("8 B" 8, "512 B" 512, "32 KiB" 32768, "2 MiB" 2097152) }
    set multiplot
    set xrange [least_with(SIZE_min, "crossover", "time/") / 2.3 : 2.3 * most_with(SIZE_max, "crossover", "time/")]
    do for [c = 1:columns] {
        ranks = int(word(crowds, c))
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
        plot csv using (size_by_hand(2 ** (0.48 * columns))):8:9:10 with yerrorbars linestyle 17 title "by hand (before)", \
             for [i = 1:N] csv using (size(i) * dodge(i)):8:9:10 with yerrorbars linestyle 10 + i title name(i) \
             @predicted_times, \
             for [once = 1:has_yours("before", "time/by_hand/")] \
                 yours using (mine("before", "time/by_hand/", size_by_hand(2 ** (0.48 * columns)))):8:9:10 \
                 with yerrorbars linestyle 30 linecolor rgb colours[7] notitle, \
             for [i = 1:N] for [once = 1:has_yours("after", "time/".word(algorithms, i)."/")] \
                 yours using (mine("after", "time/".word(algorithms, i)."/", size(i) * dodge(i))):8:9:10 \
                 with yerrorbars linestyle 30 linecolor rgb colours[i] notitle, \
             for [once = 1:any_yours("before", "time/") || any_yours("after", "time/")] 1/0 with points linestyle 30 title your_title
        unset label

        set tmargin at screen (is_bare ? 0.36 : 0.41)
        set bmargin at screen 0.10
        unset title
        set logscale y 2
        set yrange [0.6 * RATIO_min : 1.6 * RATIO_max]
        if (c == 1) {
            set ytics ("1/16" 0.0625, "1/8" 0.125, "1/4" 0.25, "1/2" 0.5, "1" 1, "2" 2, "4" 4, "8" 8, "16" 16, "32" 32, "64" 64)
        } else {
            set ytics ("" 0.0625, "" 0.125, "" 0.25, "" 0.5, "" 1, "" 2, "" 4, "" 8, "" 16, "" 32, "" 64)
        }
        set ylabel (c == 1 ? "time by hand / time" : "") offset label_offset
        set xlabel "bytes per rank"
        if (c == columns) { set key at screen 0.785, screen (is_bare ? 0.36 : 0.41) left top } else { unset key }
        plot 1 with lines linestyle 98 title "1: as fast as by hand", \
             for [i = 1:N] csv using (size_of_ratio(i) * dodge(i)):8:9:10 with yerrorbars linestyle 10 + i title name(i) \
             @predicted_ratios, \
             for [i = 1:N] for [once = 1:has_yours("after/before", "ratio/time/".word(algorithms, i)."/")] \
                 yours using (mine("after/before", "ratio/time/".word(algorithms, i)."/", size_of_ratio(i) * dodge(i))):8:9:10 \
                 with yerrorbars linestyle 30 linecolor rgb colours[i] notitle, \
             for [i = 1:N] for [once = 1:has_yours("crossover", crossing(i))] '+' using (yours_of("crossover", crossing(i), 8)):(1) \
                 :(yours_of("crossover", crossing(i), 9)):(yours_of("crossover", crossing(i), 10)) every ::0::0 with xerrorbars linestyle 30 linecolor rgb colours[i] notitle, \
             for [once = 1:any_yours("after/before", "ratio/time/") || any_yours("crossover", "time/")] 1/0 with points linestyle 30 title your_title
    }
    unset multiplot
    unset xlabel
    set output
    ranks = int(word(crowds, 1))
}
