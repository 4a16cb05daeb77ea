# SPDX-License-Identifier: MIT
# Several backends: the time of an allreduce against the size, and how many times the best backend's it is.
load "plots/bench.gp"
height = 860
collective = word(sized, 1)
backends = ""
stats csv using (backends = counts(collective) ? add(strcol(3), backends) : backends, 0) nooutput
N = words(backends)
# At each size the time of the fastest row of each backend, in us.
S = words(sizes)
array own_usec[N * S]
do for [k = 1:N * S] { own_usec[k] = 0 }
own_at(backend, bytes) = (place_of(backend, backends) - 1) * S + place_of(bytes, sizes)
take_own(k, usec) = (own_usec[k] = own_usec[k] > 0 && own_usec[k] <= usec ? own_usec[k] : usec, 0)
stats csv using (counts(collective) ? take_own(own_at(strcol(3), strcol(5)), number(strcol(12))) : 0) nooutput
is_own(i) = counts(collective) && strcol(3) eq word(backends, i) ? number(strcol(12)) == own_usec[own_at(strcol(3), strcol(5))] : 0
bytes(i) = is_own(i) ? number(strcol(5)) : NaN
# the time of backend i over the best one's
factor(i) = is_own(i) ? number(strcol(12)) / best_usec[at(collective, strcol(5))] : NaN
dodge(i) = 2 ** (0.12 * (i - (N + 1) / 2.0))

# ---- what was found --------------------------------------------------------------------------------------------------
first = first_at(collective)
last = last_at(collective)
cost(k) = sprintf("%s at %s", time_text(1e-6 * best_usec[k]), size_text(bytes_at(k)))
others = sum [k = first:last] (best_usec[k] > 0 && best_backend[k] ne best_backend[first])
finding = sprintf("Between %d ranks, %s is fastest over %s", ranks, nice(collective), best_backend[first]) \
    .(others == 0 ? sprintf(" at every size: %s, %s", cost(first), cost(last)) \
                  : sprintf(": %s; over %s: %s", cost(first), best_backend[last], cost(last)))
subject = "out of place, each backend by its own choice of algorithm; medians with 95 % intervals, backends measured in turns"
eval describe(finding, \
    "Two panels against the size of the buffer, a line a backend: above the time of a call, below how many times " \
    ."the best backend's time that is.")
worst = 2
do for [i = 1:N] {
    stats csv using (factor(i)) nooutput name "F"
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
    set xrange [bytes_at(first) / 1.6 : bytes_at(last) * 1.6]

    set tmargin at screen 0.91
    set bmargin at screen 0.47
    set ylabel "time of a call" offset label_offset
    set yrange [0.5e-6 * best_usec[first] : *]
    set key at screen 0.845, screen 0.91 left top
    plot for [i = 1:N] csv using (bytes(i) * dodge(i)):($12 * 1e-6) smooth unique with lines linestyle 10 + i linewidth 1 notitle, \
         for [i = 1:N] csv using (bytes(i) * dodge(i)):($12 * 1e-6):($13 * 1e-6):($14 * 1e-6) with yerrorbars linestyle 10 + i title word(backends, i)

    unset label
    set tmargin at screen 0.40
    set bmargin at screen 0.10
    set logscale y 10
    set ytics ("1×" 1, "2×" 2, "5×" 5, "10×" 10, "100×" 100, "1000×" 1000, "10⁴×" 1e4)
    set yrange [0.8 : 1.5 * worst]
    set ylabel "times the best" offset label_offset - 1
    set xlabel "bytes of the buffer"
    unset key
    plot for [i = 1:N] csv using (bytes(i) * dodge(i)):(factor(i)) smooth unique with linespoints linestyle 10 + i notitle
    unset multiplot
    unset xlabel
    unset ylabel
    set output
}
