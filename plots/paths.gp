# SPDX-License-Identifier: MIT
# `commlab sim paths --csv FILE`: what each path from memory to memory carries, and how often it copies. For paths.md of
# lab 10: gnuplot -e "csv='labs/10-topology/paths.csv'; out='labs/10-topology/paths'" plots/paths.gp
load "plots/style.gp"
height = 520
stats csv using (0) every ::1 nooutput
n = int(STATS_records)
rate(ms) = 0.1 / (1e-3 * ms) # GB/s of 100 MB
stats csv using (strcol(1) eq "TCP" ? rate($9) : NaN) nooutput name "TCP"
stats csv using (strcol(1) eq "RDMA" ? rate($9) : NaN) nooutput name "RDMA"
stats csv using (strcol(1) eq "staged whole" ? rate($9) : NaN) nooutput name "STAGED"
stats csv using (strcol(1) eq "P2P over PCIe" ? rate($9) : NaN) nooutput name "P2P"
finding = sprintf("RDMA carries %s times what TCP does on the same wire; a direct copy %s times a staged one", \
                  factor_text(RDMA_max / TCP_max), factor_text(P2P_max / STAGED_max))
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, "100 MB from memory to memory, computed by commlab sim paths, not measured; orange: a core copies")
    set lmargin at screen 0.36
    set rmargin at screen 0.96
    set tmargin at screen 0.88
    set bmargin at screen 0.12
    set logscale x 10
    set xrange [4 : 6000]
    set yrange [n + 0.5 : 0.5]
    set xlabel "GB/s, one way (logarithmic)"
    unset ytics
    set grid noytics
    set style fill solid 1 border rgb "#ffffff"
    unset key
    plot csv using (4):($0 + 1):(4):(rate($9)):($0 + 0.68):($0 + 1.32) every ::1 with boxxyerror linecolor rgb colours[1] notitle, \
         csv using ($3 > 0 ? 4 : NaN):($0 + 1):(4):(rate($9)):($0 + 0.68):($0 + 1.32) every ::1 with boxxyerror linecolor rgb colours[2] notitle, \
         csv using (4):($0 + 1):(sprintf("%s (%s)", strcol(1), strcol(2))) every ::1 with labels right offset -0.8, 0 font ",11" notitle, \
         csv using (rate($9) * 1.08):($0 + 1):(sprintf("%.3g GB/s, copies: %d by a core, %d by DMA", rate($9), $3, $4)) every ::1 \
             with labels left font ",10" notitle
    set output
}
