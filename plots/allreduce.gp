# SPDX-License-Identifier: MIT
# Allreduce by algorithm: time and bus bandwidth against size, measured and predicted.
load "plots/bench.gp"
height = 860
# Five at most can be told apart: these, as far as they were measured, or else the first of those that were.
measured = system(sprintf("awk -F, '$1 == \"allreduce\" && $12 != \"\" && !seen[$2]++ { printf \"%%s \", $2 }' '%s'", csv))
is_measured(a) = strstrt(" ".measured, " ".a." ") > 0
algorithms = ""
do for [a in "ring tree doubling halving_doubling naive"] { if (is_measured(a)) { algorithms = algorithms.a." " } }
if (algorithms eq "") { algorithms = measured }
N = words(algorithms) > 5 ? 5 : words(algorithms)
nice(a) = system(sprintf("echo '%s' | tr _ -", a))
name(i) = nice(word(algorithms, i))
of(i) = rows(sprintf("$1 == \"allreduce\" && $2 == \"%s\"", word(algorithms, i)))
style(i) = word(algorithms, i) eq "naive" ? 7 : i
dodge(i) = 2 ** (0.16 * (i - (N + 1) / 2.0))

# ---- what was found --------------------------------------------------------------------------------------------------
best = fastest("allreduce")
first = best." | head -n 1"
last = best." | tail -n 1"
wins(row) = nice(field(row, 2)).(alike("allreduce", row) > 1 ? " is among the fastest" : " wins")
finding = sprintf("Allreduce of %d ranks: %s at %s (%s)%s at %s (%.3g GB/s)", ranks, \
    wins(first), size_text(number(field(first, 5))), time_text(1e-6 * number(field(first, 12))), \
    wins(first) eq wins(last) ? " and" : ", ".wins(last), size_text(number(field(last, 5))), number(field(last, 16)))
subject = sprintf("%s, float32 sum, out of place; medians with 95 %% intervals", backend)
eval describe(finding, \
    "Two panels against the size of the buffer, for five algorithms: above the time of a call, below the " \
    ."bus bandwidth, measured and predicted.")

# Of the buffer's bytes, what a rank takes in from others at least; where memory is shared, what it writes.
least_taken = plain_tcp > 0 ? 2.0 * (ranks - 1) / ranks : 1

predicted_times = predicted_rates = ""
if (is_predicted) {
    predicted_times = ", for [i = 1:N] of(i) using 5:($19 * 1e-6) with lines linestyle style(i) notitle"
    predicted_rates = ", for [i = 1:N] of(i) using 5:($16 * $12 / $19) with lines linestyle style(i) notitle"
}

# The axis is for what was measured: a limit far above it is a number in the legend.
do for [i = 1:N] {
    stats of(i) using 16 nooutput name "RATE"
    most = i == 1 || RATE_max > most ? RATE_max : most
}
top = limit_rate > 0 && limit_rate < 2 * most ? 1.1 * limit_rate : 1.25 * (copy_memory > most && plain_tcp == 0 ? copy_memory : most)
rate_title = limit_rate > top ? sprintf("above: cache, %.3g", limit_rate) : limit_title

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
    set xrange [number(field(first, 5)) / 1.6 : number(field(last, 5)) * 1.6]

    set tmargin at screen 0.91
    set bmargin at screen 0.51
    set ylabel "time of a call" offset label_offset
    set yrange [0.5e-6 * number(field(first, 12)) : *]
    set key at screen 0.78, screen 0.91 left top
    plot for [i = 1:N] of(i) using ($5 * dodge(i)):($12 * 1e-6):($13 * 1e-6):($14 * 1e-6) with yerrorbars linestyle 10 + style(i) title name(i), \
         1 / 0 with lines linestyle 7 dashtype 1 title is_predicted ? "lines: predicted" : "not predicted", \
         least_taken * x / (limit_rate * 1e9) with lines linestyle 98 title limit_title @predicted_times

    unset label
    set tmargin at screen 0.45
    set bmargin at screen 0.10
    unset logscale y
    set yrange [0 : top]
    set ytics auto
    set ylabel "bus bandwidth, GB/s" offset label_offset
    set xlabel "bytes of the buffer"
    set key at screen 0.78, screen 0.45 left top
    plot for [i = 1:N] of(i) using ($5 * dodge(i)):16:($16 * $12 / $14):($16 * $12 / $13) with yerrorbars linestyle 10 + style(i) title name(i), \
         limit_rate with lines linestyle 98 title rate_title, \
         plain_tcp > 0 ? NaN : copy_memory with lines linestyle 97 title plain_tcp > 0 ? "" : "limit: copy in memory" @predicted_rates
    unset multiplot
    unset xlabel
    set output
}
