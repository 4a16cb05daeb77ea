# SPDX-License-Identifier: MIT
# `commlab sim train`: the time of a step over the number of ranks, or over the size of buckets, and what it is made of.
#
# model,net,ranks,batch,accumulate,bucket_bytes,buckets,overlap,compress,algorithm,seconds,mean,p95,p99,computation,
# communication,exposed,update,hidden_pct,efficiency_pct,samples_per_s,bytes_sent,clocks
#
# - Over ranks where there are several, and a line for each overlap, compression and size of buckets; else over buckets.
# - Above the step, with the 95th percentile where steps vary; below how well it scales, or what can be seen of communication.
load "plots/style.gp"
height = 860

# ---- what there is ---------------------------------------------------------------------------------------------------
# What differs between rows, in the file's order.
crowds = buckets = overlaps = compressions = ""
take_row(i) = (crowds = add_number(strcol(3), crowds), buckets = add_number(strcol(6), buckets), \
    overlaps = add(strcol(8), overlaps), compressions = add(strcol(9), compressions), 0)
stats csv using (take_row(0)) every ::1 nooutput
by_ranks = words(crowds) > 1
over = by_ranks ? 3 : 6
rest = by_ranks ? 6 : 3
nrest = words(by_ranks ? buckets : crowds)
series_of(overlap, compress, other) = overlap."/".compress."/".other
series = ""
stats csv using (series = add(series_of(strcol(8), strcol(9), strcol(rest)), series), 0) every ::1 nooutput
N = words(series) > 6 ? 6 : words(series)
piece(i, n) = part(word(series, i), n)
of(i) = strcol(1) ne "model" && series_of(strcol(8), strcol(9), strcol(rest)) eq word(series, i) ? number(strcol(over)) : NaN
name(i) = (words(overlaps) > 1 || (words(compressions) == 1 && nrest == 1) ? "overlap ".piece(i, 1) : "") \
    .(words(compressions) > 1 ? (words(overlaps) > 1 ? ", " : "").(piece(i, 2) eq "none" ? "whole" : piece(i, 2)) : "") \
    .(nrest > 1 ? (words(overlaps) > 1 || words(compressions) > 1 ? ", " : "").(by_ranks ? size_text(number(piece(i, 3))) : piece(i, 3)." ranks") : "")
varies = 0
stats csv using (varies = varies || number(strcol(13)) > 1.0000001 * number(strcol(11)), 0) every ::1 nooutput
steps_over = by_ranks ? crowds : buckets
low = number(word(steps_over, 1))
high = number(word(steps_over, words(steps_over)))

# The rows of the shortest and of the longest step: of the most ranks, where there are several numbers of them.
array best[20]; array worst[20]
is_judged(crowd) = !by_ranks || number(crowd) == high
stats csv using (is_judged(strcol(3)) ? $11 : NaN) every ::1 nooutput name "JUDGED"
is_row(crowd, seconds, wanted) = is_judged(crowd) && number(seconds) == wanted
do for [n = 1:20] {
    best[n] = worst[n] = ""
    stats csv using (is_row(strcol(3), strcol(11), JUDGED_min) ? (best[n] = strcol(n), 0) : 0) every ::1 nooutput
    stats csv using (is_row(strcol(3), strcol(11), JUDGED_max) ? (worst[n] = strcol(n), 0) : 0) every ::1 nooutput
}

# ---- what was found --------------------------------------------------------------------------------------------------
model = best[1]
net = best[2]
overlap_text(o) = o eq "none" ? "no overlap" : "overlap ".o
compress_text(c) = c eq "none" ? "whole gradients" : c
label(overlap, compress, bucket) = (words(overlaps) > 1 ? overlap_text(overlap) : "").(words(overlaps) > 1 && words(compressions) > 1 ? " and " : "") \
    .(words(compressions) > 1 ? compress_text(compress) : "") \
    .(words(overlaps) == 1 && words(compressions) == 1 ? "buckets of ".size_text(number(bucket)) : "")
finding = by_ranks \
    ? (N > 1 ? sprintf("%s on %.0f ranks of %s scales to %.0f %% with %s, to %.0f %% with %s", model, high, net, \
            number(best[20]), label(best[8], best[9], best[6]), number(worst[20]), label(worst[8], worst[9], worst[6])) \
        : sprintf("%s on %.0f ranks of %s scales to %.0f %%: a step takes %s", model, high, net, number(best[20]), time_text(number(best[11])))) \
    : sprintf("%s on %s ranks of %s is fastest with buckets of %s: %s a step", model, best[3], net, \
        size_text(number(best[6])), time_text(number(best[11])))
subject = sprintf("simulated; %s %ss a rank%s%s", best[4], manifest("sample"), \
    by_ranks && words(buckets) == 1 ? ", buckets of ".size_text(number(best[6])) : "", \
    varies ? ", jitter ".manifest("jitter")."; bars to the 95th percentile" : "")
eval describe(finding, sprintf("Two panels against the %s: above the time of a step, below %s.", by_ranks ? "number of ranks" : "size of buckets", \
    by_ranks ? "the scaling efficiency" : "the communication that nothing hides"))

# ---- the figure ------------------------------------------------------------------------------------------------------
dodge(i) = varies ? 2 ** (0.1 * (i - (N + 1) / 2.0)) : 1
bars = varies ? ", for [i = 1:N] csv using (of(i) * dodge(i)):(unit * $11):(unit * $11):(unit * $13) with yerrorbars linestyle 10 + i notitle" : ""
stats csv using 11 every ::1 nooutput name "STEP"
is_log = STEP_max > 20 * STEP_min
unit = is_log ? 1 : 1e3
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("network"))
    if (by_ranks) {
        set logscale x 2
        set xtics ()
        step = log(high / low) / log(2) > 10 ? 4 : 2
        do for [k = 0:int(log(high) / log(step) + 1e-9)] { set xtics add (sprintf("%.0f", step**k) step**k) }
    } else {
        eval size_axis
        if (high / low < 1e4) {
            set xtics ()
            do for [k = 0:40] { set xtics add (size_text(2.0**k) 2.0**k) }
        }
    }
    if (is_log) { eval time_axis } else { unset logscale y; set ytics auto }
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.765
    set xrange [low / 1.15 : high * 1.15]
    set tmargin at screen 0.91
    set bmargin at screen 0.51
    if (is_log) { set yrange [0.9 * STEP_min : *] } else { set yrange [0 : *] }
    set ylabel (is_log ? "time of a step" : "time of a step, ms") offset label_offset
    set key at screen 0.78, screen 0.91 left top
    plot for [i = 1:N] csv using (of(i) * dodge(i)):(unit * $11) smooth unique with linespoints linestyle 10 + i title name(i), \
         csv using (of(1)):(unit * ($15 + $18)) smooth unique with lines linestyle 98 title "computes and updates" @bars

    unset label
    set tmargin at screen 0.45
    set bmargin at screen 0.10
    unset logscale y
    set ytics auto
    if (by_ranks) { set yrange [0 : 105] } else { set yrange [0 : *] }
    set ylabel (by_ranks ? "scaling efficiency, %" : "exposed communication, ms") offset label_offset
    set xlabel (by_ranks ? "ranks" : "bytes of a bucket")
    unset key
    plot for [i = 1:N] csv using (of(i) * dodge(i)):(by_ranks ? $20 : 1e3 * $17) smooth unique with linespoints linestyle 10 + i notitle
    unset multiplot
    unset xlabel
    unset ylabel
    set output
}
