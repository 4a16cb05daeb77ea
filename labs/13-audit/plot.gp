# SPDX-License-Identifier: MIT
# Lab 13: the time of a ring divided by that of a tree, as published and as measured here; the published times beside their
# floors are in the words above.
load "plots/lab.gp"
height = is_bare ? 480 : 560
size(program) = x(program, "speedup/tree/")
cell_of(program, quantity, n) = value_of(program, quantity, n)

# ---- what was found --------------------------------------------------------------------------------------------------
claims = ""
stats csv using (starts_with(strcol(6), "possible/claim/") && strcol(2) eq "after" ? (claims = add(part(strcol(6), 3), claims), 0) : 0) every ::1 nooutput
possible = 0
do for [c in claims] { possible = possible + cell_of("after", "possible/claim/".c, 8) }
stats csv using (size("after")) nooutput name "SIZE"
stats csv using (size("after") > 0 ? $8 : NaN) nooutput name "MEASURED"
published = cell_of("before", sprintf("speedup/tree/%d", SIZE_max), 8)
finding = sprintf("%d of %d published times are possible; a tree is %.2f to %.2f times as fast as a ring, not %.2f at every size", \
    possible, words(claims), MEASURED_min, MEASURED_max, published)
subject = sprintf("allreduce of float32, %d ranks, backend %s%s; %s", ranks, first(3), \
    is_virtual ? " on ".manifest("net") : "", is_virtual ? "virtual time, exact" : measured_text)
eval describe(finding, "The time of a ring divided by the time of a tree against the size of the buffer: as published, measured, and predicted.")
lowest = least_with(MEASURED_min, "after", "speedup/tree/")
highest = most_with(MEASURED_max > published ? MEASURED_max : published, "after", "speedup/tree/")

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set tmargin at screen 0.85
    set bmargin at screen (is_bare ? 0.18 : 0.14)
    set lmargin at screen 0.10
    set rmargin at screen 0.74
    set logscale x 2
    unset logscale y
    set xtics ("64 B" 64, "4 KiB" 4096, "64 KiB" 65536, "1 MiB" 1048576, "4 MiB" 4194304)
    set xrange [SIZE_min / 2.3 : SIZE_max * 2.3]
    set yrange [0 : 1.2 * highest]
    set ytics auto
    set ylabel "time of a ring / time of a tree" offset label_offset
    set xlabel "bytes of the buffer"
    set key at screen 0.755, screen 0.85 left top
    plot 1 with lines linestyle 98 title "above: the tree is faster", \
         csv using (size("before")):8 with lines linestyle 12 dashtype (16, 5) title "before: as published", \
         csv using (size("after")):8:9:10 with yerrorbars linestyle 11 title "after: ".measured_title, \
         csv using (size("after")):11 with lines linestyle 1 title "predicted", \
         for [once = 1:has_yours("after", "speedup/tree/")] yours using (mine("after", "speedup/tree/", size("after"))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:has_yours("after", "speedup/tree/")] 1/0 with points linestyle 30 title your_title
    set output
    unset label
}
