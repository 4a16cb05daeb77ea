# SPDX-License-Identifier: MIT
# Allreduce by algorithm: time and bus bandwidth against size, measured and predicted.
load "plots/bench.gp"
height = 860
# Five at most can be told apart: these, as far as they were measured, or else the first of those that were.
measured = algorithms = ""
stats csv using (measured = counts("allreduce") ? add(strcol(2), measured) : measured, 0) nooutput
do for [a in "ring tree doubling halving_doubling naive"] { if (place_of(a, measured)) { algorithms = add(a, algorithms) } }
if (algorithms eq "") { algorithms = measured }
N = words(algorithms) > 5 ? 5 : words(algorithms)
name(i) = dashed(word(algorithms, i))
bytes(i) = counts("allreduce") && strcol(2) eq word(algorithms, i) ? number(strcol(5)) : NaN
style(i) = word(algorithms, i) eq "naive" ? 7 : i
dodge(i) = 2 ** (0.16 * (i - (N + 1) / 2.0))

# ---- what was found --------------------------------------------------------------------------------------------------
first = first_at("allreduce")
last = last_at("allreduce")
wins(k) = dashed(best_name[k]).(best_alike[k] > 1 ? " is among the fastest" : " wins")
finding = sprintf("Allreduce of %d ranks: %s at %s (%s)%s at %s (%.3g GB/s)", ranks, \
    wins(first), size_text(bytes_at(first)), time_text(1e-6 * best_usec[first]), \
    wins(first) eq wins(last) ? " and" : ", ".wins(last), size_text(bytes_at(last)), best_rate[last])
subject = sprintf("%s, float32 sum, out of place; medians with 95 %% intervals", backend)
eval describe(finding, \
    "Two panels against the size of the buffer, for five algorithms: above the time of a call, below the " \
    ."bus bandwidth, measured and predicted.")

# Of the buffer's bytes, what a rank takes in from others at least; where memory is shared, what it writes.
least_taken = plain_tcp > 0 ? 2.0 * (ranks - 1) / ranks : 1

predicted_times = predicted_rates = ""
if (is_predicted) {
    predicted_times = ", for [i = 1:N] csv using (bytes(i)):($19 * 1e-6) smooth unique with lines linestyle style(i) notitle"
    predicted_rates = ", for [i = 1:N] csv using (bytes(i)):($16 * $12 / $19) smooth unique with lines linestyle style(i) notitle"
}

# The axis is for what was measured: a limit far above it is a number in the legend.
do for [i = 1:N] {
    stats csv using (bytes(i) >= 0 ? $16 : NaN) nooutput name "RATE"
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
    set xrange [bytes_at(first) / 1.6 : bytes_at(last) * 1.6]

    set tmargin at screen 0.91
    set bmargin at screen 0.51
    set ylabel "time of a call" offset label_offset
    set yrange [0.5e-6 * best_usec[first] : *]
    set key at screen 0.78, screen 0.91 left top
    plot for [i = 1:N] csv using (bytes(i) * dodge(i)):($12 * 1e-6):($13 * 1e-6):($14 * 1e-6) with yerrorbars linestyle 10 + style(i) title name(i), \
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
    plot for [i = 1:N] csv using (bytes(i) * dodge(i)):16:($16 * $12 / $14):($16 * $12 / $13) with yerrorbars linestyle 10 + style(i) title name(i), \
         limit_rate with lines linestyle 98 title rate_title, \
         plain_tcp > 0 ? NaN : copy_memory with lines linestyle 97 title plain_tcp > 0 ? "" : "limit: copy in memory" @predicted_rates
    unset multiplot
    unset xlabel
    set output
}
