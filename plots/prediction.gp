# SPDX-License-Identifier: MIT
# How good the predictions were: measured against predicted, all rows; and the error by collective.
load "plots/bench.gp"
height = 860
is_foreseen(c) = counts(c) && strcol(19) ne ""
foreseen = ""
stats csv using (foreseen = is_foreseen(strcol(1)) ? add(strcol(1), foreseen) : foreseen, 0) nooutput
N = words(foreseen)
of(i) = is_foreseen(word(foreseen, i))
style(i) = i

# ---- what was found --------------------------------------------------------------------------------------------------
array medians_of[N]
do for [i = 1:N] {
    stats csv using (of(i) ? abs($20) : NaN) nooutput name "E"
    medians_of[i] = E_median
}
stats csv using (is_foreseen(strcol(1)) ? abs($20) : NaN) nooutput name "ERROR"
stats csv using (is_foreseen(strcol(1)) ? $12 * 1e-6 : NaN) nooutput name "TIME"
stats csv using (is_foreseen(strcol(1)) ? 100 * ($14 - $13) / 2 / $12 : NaN) nooutput name "NOISE"
finding = sprintf("Half of %d predictions are within %.0f %% of what was measured, three quarters within %.0f %%", \
                  ERROR_records, ERROR_median, ERROR_up_quartile)
subject = sprintf("%d ranks, backend %s, all algorithms and sizes; the median measurement is itself known to %.1f %%", ranks, backend, NOISE_median)
eval describe(finding, \
    "Two panels. Above: measured time against predicted time of every row of the bench, on the diagonal " \
    ."where they agree. Below: the error of each row by collective, and its median.")

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    eval time_axis
    eval time_axis_x
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.765
    set tmargin at screen 0.91
    set bmargin at screen 0.45
    set xrange [TIME_min / 2 : TIME_max * 2]
    set yrange [TIME_min / 2 : TIME_max * 2]
    set xlabel "predicted time" offset 0, 0.3
    set ylabel "measured time" offset label_offset
    set key at screen 0.78, screen 0.91 left top
    plot for [i = 1:N] csv using (of(i) ? $19 * 1e-6 : NaN):($12 * 1e-6) with points linestyle 10 + style(i) title nice(word(foreseen, i)), \
         x with lines linestyle 97 title "as predicted", \
         1.15 * x with lines linestyle 98 title "15 % off", x / 1.15 with lines linestyle 98 notitle

    unset label
    unset logscale
    set tmargin at screen 0.36
    set bmargin at screen 0.12
    set xrange [0.4 : N + 0.6]
    set yrange [0 : ERROR_max < 60 ? 60 : ERROR_max < 120 ? 120 : 200]
    set xtics ()
    do for [i = 1:N] { set xtics add (nice(word(foreseen, i)) i) }
    set xtics rotate by -25 left
    set ytics auto
    set xlabel
    set ylabel "|error|, %" offset label_offset
    set key at screen 0.78, screen 0.36 left top
    plot for [i = 1:N] csv using (of(i) ? i + 0.5 * (rand(0) - 0.5) : NaN):(abs($20)) with points linestyle 10 + style(i) pointsize 0.6 notitle, \
         '+' using (int($0) + 0.7):(medians_of[int($0) + 1]):(0.6):(0) every ::0::N - 1 with vectors nohead \
             linewidth 2.5 linecolor rgb "#000000" title "median", \
         15 with lines linestyle 98 title "15 %"
    unset multiplot
    set xtics norotate center
    unset xlabel
    set output
}
