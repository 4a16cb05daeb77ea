# SPDX-License-Identifier: MIT
# Lab 03: bytes in and out of a rank, and the time of a step, against the number of ranks; at the largest width.
load "plots/lab.gp"
height = is_bare ? 480 : 560
widths = ""
stats csv using (widths = starts_with(strcol(6), "time/") ? add(part(strcol(6), 3), widths) : widths, 0) every ::1 nooutput
width_shown = word(widths, words(widths))
P(program, quantity) = strcol(2) eq program && starts_with(strcol(6), quantity) && strcol(6)[strlen(strcol(6)) - strlen(width_shown):] eq "/".width_shown \
    ? number(strcol(5)) : NaN
has_net = manifest("net") ne "none"

# ---- what was found --------------------------------------------------------------------------------------------------
has(program, quantity) = P(program, quantity) > 0
stats csv using (P("before", "time/")) nooutput name "RANKS"
stats csv using (has("before", "bytes_of_zero/") ? $8 : NaN) nooutput name "BEFORE"
stats csv using (has("after", "bytes_of_zero/") ? $8 : NaN) nooutput name "AFTER"
is_time = 'has("before", "time/") || has("after", "time/")'
stats csv using (@is_time ? $9 : NaN) nooutput name "LOW"
stats csv using (@is_time ? $10 : NaN) nooutput name "HIGH"
ratio = value_of("after/before", "ratio", 8); ratio_low = value_of("after/before", "ratio", 9); ratio_high = value_of("after/before", "ratio", 10)
bytes_of(program, way) = value_of(program, "bytes_of_zero/".way."/".width_shown, 8)
more_bytes = bytes_of("before", "through_zero") / bytes_of("after", "replicas")
text = more_bytes < 1.1 ? "rank 0 moves as many bytes as a replica" : sprintf("rank 0 moves %.2g times the bytes of a replica", more_bytes)
finding = ratio_low > 1 ? sprintf("Replicas train %.2g times as fast as through rank 0 on %d ranks: %s", ratio, ranks, text) \
    : ratio_high >= 1 ? sprintf("No measurable difference in time on %d ranks, where %s", ranks, text) \
    : sprintf("Through rank 0 is %.2g times as fast as replicas on %d ranks, where %s", 1 / ratio, ranks, text)
subject = sprintf("data parallel training, four layers %s wide, backend %s%s", width_shown, first(3), \
    is_virtual ? " on ".manifest("net") : (manifest("emulate") eq "" ? "" : ", network ".manifest("emulate"))."; ".measured_text)
eval describe(finding, "Two panels against the number of ranks. Left: bytes in and out of rank 0, and of the busiest other rank, when " \
    ."everything goes through rank 0, and of a replica's rank. Right: the time of a step of both.")

mib(b) = b >= 2**20 ? sprintf("%.4g MiB", b / 2.0**20) : sprintf("%.4g KiB", b / 1024.0)
bytes_axis = "set logscale y 2; set ytics ("
do for [i = 10:36] { bytes_axis = bytes_axis.sprintf("%s'%s' 2.0**%d", i > 10 ? ", " : "", size_text(2.0**i), i) }
bytes_axis = bytes_axis.")"
ranks_axis = "set logscale x 2; set xtics ("
do for [i = 0:10] { ranks_axis = ranks_axis.sprintf("%s'%d' %d", i > 0 ? ", " : "", 2**i, 2**i) }
ranks_axis = ranks_axis.")"
predicted_times = ""
if (has_net) {
    predicted_times = ", csv using (P('before', 'time/')):11 smooth unique with lines linestyle 2 notitle" \
        .", csv using (P('after', 'time/')):11 smooth unique with lines linestyle 1 notitle"
}

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    eval ranks_axis
    set multiplot
    set xrange [RANKS_min / 1.3 : RANKS_max * 1.3]
    set xlabel "ranks"
    set tmargin at screen 0.82
    set bmargin at screen 0.16
    set lmargin at screen 0.11
    set rmargin at screen 0.47
    set title "bytes in and out per rank and step" offset 0, -0.4
    eval bytes_axis
    set yrange [least_with(AFTER_min, "after", "bytes_of") / 2 : 12 * most_with(BEFORE_max, "before", "bytes_of")]
    set key inside left top vertical samplen 2
    plot csv using (P("before", "bytes_of_zero/")):8 with points linestyle 12 title "rank 0 (before)", \
         csv using (P("before", "bytes_of_other/")):8 with points linestyle 13 title "another rank (before)", \
         csv using (P("after", "bytes_of_zero/")):8 with points linestyle 11 title "a replica (after)", \
         csv using (P("before", "bytes_of_zero/")):11 smooth unique with lines linestyle 2 title "lines: predicted", \
         csv using (P("before", "bytes_of_other/")):11 smooth unique with lines linestyle 3 notitle, \
         csv using (P("after", "bytes_of_zero/")):11 smooth unique with lines linestyle 1 notitle, \
         for [once = 1:any_yours("before", "bytes_of_zero/")] \
             yours using (any_yours("before", "bytes_of_zero/") ? P("before", "bytes_of_zero/") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[2] notitle, \
         for [once = 1:any_yours("before", "bytes_of_other/")] \
             yours using (any_yours("before", "bytes_of_other/") ? P("before", "bytes_of_other/") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[3] notitle, \
         for [once = 1:any_yours("after", "bytes_of_zero/")] \
             yours using (any_yours("after", "bytes_of_zero/") ? P("after", "bytes_of_zero/") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:any_yours("before", "bytes_of") || any_yours("after", "bytes_of")] 1/0 with points linestyle 30 title your_title
    unset label
    set lmargin at screen 0.6
    set rmargin at screen 0.97
    set title "time per step" offset 0, -0.4
    eval fine_time_axis
    set yrange [0.7 * least_with(least_with(LOW_min, "before", "time/"), "after", "time/") \
        : 5 * most_with(most_with(HIGH_max, "before", "time/"), "after", "time/")]
    set key inside left top vertical samplen 2
    plot csv using (P("before", "time/") * 0.98):8:9:10 with yerrorbars linestyle 12 title "through rank 0 (before)", \
         csv using (P("after", "time/") * 1.02):8:9:10 with yerrorbars linestyle 11 title "replicas (after)" \
         @predicted_times, \
         for [once = 1:any_yours("before", "time/")] \
             yours using (any_yours("before", "time/") ? P("before", "time/") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[2] notitle, \
         for [once = 1:any_yours("after", "time/")] \
             yours using (any_yours("after", "time/") ? P("after", "time/") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle
    unset multiplot
    set output
}
