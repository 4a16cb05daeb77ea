# SPDX-License-Identifier: MIT
# Backends at one size: the time of a call, a bar each, fastest first.
load "plots/benchmark.gp"
height = 175 + 55 * N
eval describe(finding, sprintf("A bar per backend, %d in all: the time of a call with its interval, the fastest at the top. %s.", N, subject))
worst = 0
take_worst(usec) = (worst = usec > worst ? usec : worst, 0)
stats csv using (strcol(1) eq "series" ? 0 : take_worst(high(3))) nooutput

do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    set lmargin at screen 0.22
    set rmargin at screen 0.88
    set tmargin at screen 1 - 75.0 / height
    set bmargin at screen 80.0 / height
    set yrange [N + 0.6 : 0.4]
    set xrange [0 : 1.18 * worst * 1e-6]
    set ytics ()
    do for [i = 1:N] { set ytics add (name(i) i) }
    unset key
    set grid noytics xtics
    scale = worst >= 1e6 ? 1 : worst >= 1e3 ? 1e3 : 1e6
    set xtics auto
    set format x "%g"
    set xrange [0 : 1.18 * worst * 1e-6 * scale]
    set xlabel scale == 1 ? "time of a call, s" : scale == 1e3 ? "time of a call, ms" : "time of a call, µs"
    set xlabel offset 0, 0.4
    t(usec) = usec * 1e-6 * scale
    plot for [i = 1:N] csv using (is_of(i) ? t($3) / 2 : NaN):(i):(t($3) / 2):(0.28) \
             with boxxyerror fill solid 0.35 linestyle 10 + i notitle, \
         for [i = 1:N] csv using (is_of(i) ? t($3) : NaN):(i):(t(low(3))):(t(high(3))) \
             with xerrorbars linestyle 10 + i notitle, \
         for [i = 1:N] csv using (is_of(i) ? t(high(3)) : NaN):(i):(time_text(1e-6 * $3)) \
             with labels left offset 1, 0 noenhanced notitle
    unset label
    unset xlabel
    set output
}
