# SPDX-License-Identifier: MIT
# The time of a call against the size, a line per setting.
load "plots/benchmark.gp"
eval describe(finding, sprintf("Time of a call against the size of the buffer, both axes logarithmic, for %d settings: %s.", N, subject))

do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    eval own_size_axis
    eval time_axis
    set lmargin at screen 0.09
    set rmargin at screen 0.74
    set tmargin at screen 0.87
    set bmargin at screen 0.16
    set xrange [smallest / 1.6 : greatest * 1.6]
    set ylabel "time of a call" offset label_offset
    set xlabel "bytes of the buffer" offset 0, 0.4
    set key at screen 0.755, screen 0.87 left top
    plot for [i = 1:N] csv using (bytes(i) * dodge(i)):($3 * 1e-6) with lines linestyle 10 + i linewidth 1 notitle, \
         for [i = 1:N] csv using (bytes(i) * dodge(i)):(1e-6 * $3):(1e-6 * low(3)):(1e-6 * high(3)) \
             with yerrorbars linestyle 10 + i title name(i)
    unset label
    unset xlabel
    set output
}
