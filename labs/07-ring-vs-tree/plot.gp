# SPDX-License-Identifier: MIT
# Lab 07: seconds a call against its size, and how many times faster than everyone-to-everyone each algorithm is.
load "plots/style.gp"
height = 860
lab_column(n) = system(sprintf("sed -n '/^07,/{p;q}' '%s' | cut -d, -f%d", csv, n))
ranks = int(lab_column(5))
algorithms = system(sprintf("awk -F, '$2 == \"after\" && $6 ~ \"^time/\" { split($6, q, \"/\"); if (!seen[q[2]]++) print q[2] }' '%s'", csv))
N = words(algorithms)
name(i) = word(algorithms, i) eq "halving_doubling" ? "halving-doubling" : word(algorithms, i)
size_by_hand(dodge) = x("before", "time/by_hand/") * dodge
size(i) = x("after", "time/".word(algorithms, i)."/")
size_of_ratio(i) = x("after/before", "ratio/time/".word(algorithms, i)."/")
dodge(i) = 2 ** (0.16 * (i - (N + 1) / 2.0)) # markers side by side, the middle one where it belongs

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (size_by_hand(1)) nooutput name "SIZE"
stats csv using (strcol(6) eq "quantity" || !starts_with(strcol(6), "time/") ? NaN : $9) nooutput name "TIME"
best = 1; best_ratio = 0
do for [i = 1:N] {
    stats csv using (size_of_ratio(i) == SIZE_max ? $8 : NaN) nooutput name "R"
    if (R_records && R_max > best_ratio) { best = i; best_ratio = R_max }
}
stats csv using (size_of_ratio(best) > 0 && $8 < 1 ? size_of_ratio(best) : NaN) nooutput name "SLOWER"
finding = best_ratio <= 1 ? sprintf("No algorithm beats everyone-to-everyone here, not even at %s", size_text(SIZE_max)) \
    : sprintf("%s: %s times faster than everyone-to-everyone at %s%s", name(best), factor_text(best_ratio), size_text(SIZE_max), \
              SLOWER_records ? ", slower up to ".size_text(SLOWER_max) : "")
subject = sprintf("allreduce of float32, %d ranks, backend %s; medians of pairs of runs with 95 %% intervals", ranks, lab_column(3))
cost = number(manifest("limit_seconds_per_byte"))
eval describe(finding, "Two panels against the size of the buffer. Above: the time of an allreduce by hand and by each algorithm, measured and predicted. Below: the time by hand divided by the time of each algorithm.")

# Without a profile of the machine there are no predictions, and no limit.
predicted_times = predicted_ratios = ""
if (manifest("net") ne "none") {
    predicted_times = ", csv using (size_by_hand(1)):11 with lines linestyle 7 title 'lines: predicted'" \
        .", for [i = 1:N] csv using (size(i)):11 with lines linestyle i notitle" \
        .", cost * x with lines linestyle 98 title 'limit: one copy'"
    predicted_ratios = ", for [i = 1:N] csv using (size_of_ratio(i)):11 with lines linestyle i notitle"
}

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    eval size_axis
    eval time_axis
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.765
    set xrange [SIZE_min / 1.6 : SIZE_max * 1.6]

    set tmargin at screen 0.91
    set bmargin at screen 0.47
    set yrange [0.5 * TIME_min : *]
    set ylabel "time of a call" offset label_offset
    set key at screen 0.78, screen 0.91 left top
    plot csv using (size_by_hand(2 ** 0.48)):8:9:10 with yerrorbars linestyle 17 title "by hand (before)", \
         for [i = 1:N] csv using (size(i) * dodge(i)):8:9:10 with yerrorbars linestyle 10 + i title name(i) \
         @predicted_times

    unset label
    set tmargin at screen 0.41
    set bmargin at screen 0.10
    set logscale y 2
    set yrange [*:*]
    set ytics ("1/16" 0.0625, "1/8" 0.125, "1/4" 0.25, "1/2" 0.5, "1" 1, "2" 2, "4" 4, "8" 8, "16" 16, "32" 32, "64" 64)
    set ylabel "time by hand / time" offset label_offset
    set xlabel "bytes a rank contributes"
    set key at screen 0.78, screen 0.41 left top
    plot 1 with lines linestyle 98 title "above: faster", \
         for [i = 1:N] csv using (size_of_ratio(i) * dodge(i)):8:9:10 with yerrorbars linestyle 10 + i title name(i) \
         @predicted_ratios
    unset multiplot
    unset xlabel
    set output
}
