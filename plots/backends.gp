# SPDX-License-Identifier: MIT
# Several backends: the time of an allreduce against the size, and how many times the best backend's it is.
load "plots/bench.gp"
height = 860
collective = word(collectives_of("$5 > 0"), 1)
backends = system(sprintf("awk -F, '!/^#/ && $1 == \"%s\" && $12 != \"\" && !seen[$3]++ { printf \"%%s \", $3 }' '%s'", collective, csv))
N = words(backends)
# At each size, the fastest row of all for which the awk expression `filter` holds.
best_of(filter) = awk(sprintf( \
    "&& $1 == \"%s\" && %s { if (!($5 in best) || $12 + 0 < best[$5]) { best[$5] = $12; row[$5] = $0 } }" \
    ." END { for (b in row) print row[b] }", collective, filter))
of(i) = best_of(sprintf("$3 == \"%s\"", word(backends, i)))
# size,factor: the time of backend i over the best one's
factors(i) = awk(sprintf( \
    "&& $1 == \"%s\" { if (!($5 in best) || $12 + 0 < best[$5]) best[$5] = $12;" \
    ." if ($3 == \"%s\" && (!($5 in own) || $12 + 0 < own[$5])) own[$5] = $12 }" \
    ." END { for (b in own) print b \",,,,\" b \",\" own[b] / best[b] }", collective, word(backends, i)))
dodge(i) = 2 ** (0.12 * (i - (N + 1) / 2.0))

# ---- what was found --------------------------------------------------------------------------------------------------
best = best_of("1")
first = best." | head -n 1"
last = best." | tail -n 1"
at(row) = sprintf("%s at %s", time_text(1e-6 * number(field(row, 12))), size_text(number(field(row, 5))))
finding = sprintf("Between %d ranks, %s is fastest over %s", ranks, nice(collective), field(first, 3)) \
    .(words(system(sprintf("%s | cut -d, -f3 | sort -u", substr(best, 3, strlen(best))))) == 1 \
        ? sprintf(" at every size: %s, %s", at(first), at(last)) : sprintf(": %s; over %s: %s", at(first), field(last, 3), at(last)))
subject = "out of place, each backend by its own choice of algorithm; medians with 95 % intervals, backends measured in turns"
eval describe(finding, \
    "Two panels against the size of the buffer, a line a backend: above the time of a call, below how many times " \
    ."the best backend's time that is.")
worst = 2
do for [i = 1:N] {
    stats factors(i) using 6 nooutput name "F"
    worst = F_max > worst ? F_max : worst
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
    set rmargin at screen 0.83
    set xrange [number(field(first, 5)) / 1.6 : number(field(last, 5)) * 1.6]

    set tmargin at screen 0.91
    set bmargin at screen 0.47
    set ylabel "time of a call" offset label_offset
    set yrange [0.5e-6 * number(field(first, 12)) : *]
    set key at screen 0.845, screen 0.91 left top
    plot for [i = 1:N] of(i) using ($5 * dodge(i)):($12 * 1e-6) with lines linestyle 10 + i linewidth 1 notitle, \
         for [i = 1:N] of(i) using ($5 * dodge(i)):($12 * 1e-6):($13 * 1e-6):($14 * 1e-6) with yerrorbars linestyle 10 + i title word(backends, i)

    unset label
    set tmargin at screen 0.40
    set bmargin at screen 0.10
    set logscale y 10
    set ytics ("1×" 1, "2×" 2, "5×" 5, "10×" 10, "100×" 100, "1000×" 1000, "10⁴×" 1e4)
    set yrange [0.8 : 1.5 * worst]
    set ylabel "times the best" offset label_offset - 1
    set xlabel "bytes of the buffer"
    unset key
    plot for [i = 1:N] factors(i) using ($5 * dodge(i)):6 with linespoints linestyle 10 + i notitle
    unset multiplot
    unset xlabel
    unset ylabel
    set output
}
