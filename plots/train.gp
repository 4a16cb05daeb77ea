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

rows(program) = sprintf("awk -F, '!/^#/ && $1 != \"model\" %s' '%s'", program, csv)
list(program) = system(rows(program))
distinct(column) = words(list(sprintf("&& !seen[$%d]++ { print $%d }", column, column)))
by_ranks = distinct(3) > 1
over = by_ranks ? 3 : 6
rest = by_ranks ? 6 : 3
series = list(sprintf("{ k = $8 \"|\" $9 \"|\" $%d; if (!seen[k]++) print k }", rest))
N = words(series) > 6 ? 6 : words(series)
part(i, n) = system(sprintf("echo '%s' | cut -d'|' -f%d", word(series, i), n))
of(i) = "< ".rows(sprintf("&& $8 == \"%s\" && $9 == \"%s\" && $%d == %s", part(i, 1), part(i, 2), rest, part(i, 3)))." | sort -t, -k".over.",".over."n"
name(i) = (distinct(8) > 1 || (distinct(9) == 1 && distinct(rest) == 1) ? "overlap ".part(i, 1) : "") \
    .(distinct(9) > 1 ? (distinct(8) > 1 ? ", " : "").(part(i, 2) eq "none" ? "whole" : part(i, 2)) : "") \
    .(distinct(rest) > 1 ? (distinct(8) > 1 || distinct(9) > 1 ? ", " : "").(by_ranks ? size_text(number(part(i, 3))) : part(i, 3)." ranks") : "")
varies = int(number(system(rows("&& $13 > 1.0000001 * $11 { n++ } END { print n + 0 }")))) > 0
field(command, n) = system(sprintf("%s | cut -d, -f%d", command, n))
low = number(system(rows(sprintf("{ print $%d }", over))." | sort -n | sed -n 1p"))
high = number(system(rows(sprintf("{ print $%d }", over))." | sort -n | tail -n 1"))

# ---- what was found --------------------------------------------------------------------------------------------------
model = list("{ print $1; exit }")
net = list("{ print $2; exit }")
best = rows(sprintf("%s", by_ranks ? sprintf("&& $3 == %.0f", high) : ""))." | sort -t, -k11,11g | sed -n 1p"
worst = rows(sprintf("%s", by_ranks ? sprintf("&& $3 == %.0f", high) : ""))." | sort -t, -k11,11gr | sed -n 1p"
overlap_text(o) = o eq "none" ? "no overlap" : "overlap ".o
compress_text(c) = c eq "none" ? "whole gradients" : c
label(command) = (distinct(8) > 1 ? overlap_text(field(command, 8)) : "").(distinct(8) > 1 && distinct(9) > 1 ? " and " : "") \
    .(distinct(9) > 1 ? compress_text(field(command, 9)) : "") \
    .(distinct(8) == 1 && distinct(9) == 1 ? "buckets of ".size_text(number(field(command, 6))) : "")
finding = by_ranks \
    ? (N > 1 ? sprintf("%s on %.0f ranks of %s scales to %s %% with %s, to %s %% with %s", model, high, net, \
            sprintf("%.0f", number(field(best, 20))), label(best), sprintf("%.0f", number(field(worst, 20))), label(worst)) \
        : sprintf("%s on %.0f ranks of %s scales to %.0f %%: a step takes %s", model, high, net, number(field(best, 20)), time_text(number(field(best, 11))))) \
    : sprintf("%s on %s ranks of %s is fastest with buckets of %s: %s a step", model, field(best, 3), net, \
        size_text(number(field(best, 6))), time_text(number(field(best, 11))))
subject = sprintf("simulated; %s %ss a rank%s%s", list("{ print $4; exit }"), manifest("sample"), \
    by_ranks && distinct(6) == 1 ? ", buckets of ".size_text(number(list("{ print $6; exit }"))) : "", \
    varies ? ", jitter ".manifest("jitter")."; bars to the 95th percentile" : "")
eval describe(finding, sprintf("Two panels against the %s: above the time of a step, below %s.", by_ranks ? "number of ranks" : "size of buckets", \
    by_ranks ? "the scaling efficiency" : "the communication that nothing hides"))

# ---- the figure ------------------------------------------------------------------------------------------------------
dodge(i) = varies ? 2 ** (0.1 * (i - (N + 1) / 2.0)) : 1
bars = varies ? ", for [i = 1:N] of(i) using (column(over) * dodge(i)):(unit * $11):(unit * $11):(unit * $13) with yerrorbars linestyle 10 + i notitle" : ""
stats "< ".rows("") using 11 nooutput name "STEP"
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
    plot for [i = 1:N] of(i) using (column(over) * dodge(i)):(unit * $11) with linespoints linestyle 10 + i title name(i), \
         of(1) using (column(over)):(unit * ($15 + $18)) with lines linestyle 98 title "computes and updates" @bars

    unset label
    set tmargin at screen 0.45
    set bmargin at screen 0.10
    unset logscale y
    set ytics auto
    if (by_ranks) { set yrange [0 : 105] } else { set yrange [0 : *] }
    set ylabel (by_ranks ? "scaling efficiency, %" : "exposed communication, ms") offset label_offset
    set xlabel (by_ranks ? "ranks" : "bytes of a bucket")
    unset key
    plot for [i = 1:N] of(i) using (column(over) * dodge(i)):(by_ranks ? $20 : 1e3 * $17) with linespoints linestyle 10 + i notitle
    unset multiplot
    unset xlabel
    unset ylabel
    set output
}
