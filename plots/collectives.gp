# SPDX-License-Identifier: MIT
# Each collective by its fastest algorithm: time against size, measured and predicted, a panel a collective.
load "plots/bench.gp"
height = 860
N = words(sized) > 9 ? 9 : words(sized)

# ---- what was found --------------------------------------------------------------------------------------------------
slowest = fastest_one = ""
slowest_time = 0; fastest_time = least = 1e9 # µs
do for [c in sized] {
    t = best_usec[last_at(c)]
    if (t > slowest_time) { slowest_time = t; slowest = c }
    if (t > 0 && t < fastest_time) { fastest_time = t; fastest_one = c }
    t = best_usec[first_at(c)]
    if (t > 0 && t < least) { least = t }
}
largest = bytes_at(last_at(slowest))
smallest = bytes_at(first_at(slowest))
bytes(i) = is_fastest(word(sized, i)) ? number(strcol(5)) : NaN
finding = sprintf("At %s, %s takes %s times as long as %s", size_text(largest), nice(slowest), factor_text(slowest_time / fastest_time), nice(fastest_one))
subject = sprintf("%d ranks, backend %s, the fastest algorithm at each size", ranks, backend)
eval describe(finding, \
    "A panel for each collective: the time of a call by its fastest algorithm against the size, measured " \
    ."and predicted, with the time of a copy in cache as the limit.")
predicted_times = ""
if (is_predicted) { predicted_times = ", csv using (bytes(i)):($19 * 1e-6) smooth unique with lines linestyle 1 notitle" }

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    eval size_axis
    set xtics ("8 B" 8, "4 KiB" 4096, "2 MiB" 2097152)
    set xrange [smallest / 2 : largest * 2]
    set yrange [0.5e-6 * least : 3e-6 * slowest_time]
    set multiplot
    do for [i = 1:N] {
        column = (i - 1) % 3
        row = (i - 1) / 3
        set lmargin at screen 0.1 + 0.305 * column
        set rmargin at screen 0.1 + 0.305 * column + 0.27
        set tmargin at screen 0.88 - 0.265 * row
        set bmargin at screen 0.88 - 0.265 * row - 0.182
        set title nice(word(sized, i)) offset 0, -0.4
        set ylabel (column == 0 ? "time of a call" : "") offset label_offset
        set xlabel (i + 3 > N ? "bytes" : "") offset 0, 0.4
        eval column == 0 ? time_axis : unlabelled_time_axis
        if (i == 1) { set key at screen 0.98, screen 0.09 right top } else { unset key }
        plot csv using (bytes(i)):($12 * 1e-6):($13 * 1e-6):($14 * 1e-6) with yerrorbars linestyle 11 title "measured", \
             1 / 0 with lines linestyle 1 title is_predicted ? "predicted" : "not predicted", \
             csv using (bytes(i)):(1e-6 * $12 * $16 / limit_rate) smooth unique with lines linestyle 98 title limit_title @predicted_times
        unset label
    }
    unset multiplot
    unset title
    unset xlabel
    unset ylabel
    set output
}
