# SPDX-License-Identifier: MIT
# The bus bandwidth against the size, a line per setting.
load "plots/benchmark.gp"
eval describe(finding, sprintf("Bus bandwidth against the size of the buffer for %d settings: %s.", N, subject))
rate(usec) = column(6) * column(3) / usec

do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    eval own_size_axis
    set lmargin at screen 0.09
    set rmargin at screen 0.74
    set tmargin at screen 0.87
    set bmargin at screen 0.16
    set xrange [smallest / 1.6 : greatest * 1.6]
    set yrange [0 : *]
    set ytics auto
    set ylabel "bus bandwidth, GB/s" offset label_offset
    set xlabel "bytes of the buffer" offset 0, 0.4
    set key at screen 0.755, screen 0.87 left top
    plot for [i = 1:N] csv using (bytes(i) * dodge(i)):($6) with lines linestyle 10 + i linewidth 1 notitle, \
         for [i = 1:N] csv using (bytes(i) * dodge(i)):($6):(rate(high(3))):(rate(low(3))) \
             with yerrorbars linestyle 10 + i title name(i)
    unset label
    unset xlabel
    set output
}
