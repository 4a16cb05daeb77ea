# SPDX-License-Identifier: MIT
# Lab 10: the time of a call against its size; the same of the largest size against the number of ranks; and the bytes that
# leave a host.
load "plots/lab.gp"
height = 860
array ways[3] = ["scattered", "compact", "two_level"]
array way_titles[3] = ["scattered (before)", "compact", "two levels"]
program(i) = i == 1 ? "before" : "after"
prefix(quantity, i) = quantity."/".ways[i]."/"
size(i) = x(program(i), prefix("time", i))
crowds = ""
stats csv using (crowds = add_number(strcol(5), crowds), 0) every ::1 nooutput

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (size(1)) nooutput name "SIZE"
largest_size = sprintf("%d", SIZE_max)
is_largest(i) = strcol(2) eq program(i) && strcol(6) eq prefix("time", i).largest_size
array times[3]
array low_times[3]
array high_times[3]
array across[3]
do for [i = 1:3] {
    times[i] = value_of(program(i), prefix("time", i).largest_size, 8)
    low_times[i] = value_of(program(i), prefix("time", i).largest_size, 9)
    high_times[i] = value_of(program(i), prefix("time", i).largest_size, 10)
    across[i] = value_of(program(i), prefix("across", i).largest_size, 8)
}
gain(i) = times[1] / times[i]
surely_faster = high_times[3] < low_times[1] && gain(3) > 1.02
same = abs(gain(2) - 1) < 0.02 || (low_times[2] <= high_times[1] && high_times[2] >= low_times[1])
one_host = across[1] == 0
order_text = same ? "order alone changes nothing" : sprintf("order alone makes the ring %s times faster", factor_text(gain(2)))
finding = one_host && !surely_faster ? sprintf("On one host, placement makes no measurable difference at %s", size_text(SIZE_max)) \
    : surely_faster ? sprintf("Two levels are %s times faster than scattered ranks at %s; %s", factor_text(gain(3)), size_text(SIZE_max), order_text) \
    : sprintf("Two levels are not faster than scattered ranks at %s; %s", size_text(SIZE_max), order_text)
subject = sprintf("allreduce of float32, %d ranks, backend %s; %s", ranks, first(3), measured_text)
eval describe(finding, \
    "Three panels. Above: the time of an allreduce against the size of the buffer, for a ring of scattered ranks, a ring in " \
    ."order, and two levels. Below left: the same of the largest size against the number of ranks. Below right: the bytes " \
    ."that the busiest host sends to others.")

predicted = ""
if (manifest("net") ne "none") { predicted = ", for [i = 1:3] csv using (size(i)):11 with lines linestyle i title i == 1 ? 'lines: predicted' : ''" }
predicted_ranks = ""
if (manifest("net") ne "none") { predicted_ranks = ", for [i = 1:3] csv using (is_largest(i) ? $5 : NaN):11 smooth unique with lines linestyle i notitle" }
stats csv using (starts_with(strcol(6), "time/") && int($5) == ranks ? $9 : NaN) nooutput name "LOW"
stats csv using (starts_with(strcol(6), "time/") && int($5) == ranks ? $10 : NaN) nooutput name "HIGH"
lowest = LOW_min
if (manifest("net") ne "none") {
    stats csv using (starts_with(strcol(6), "time/") && int($5) == ranks ? $11 : NaN) nooutput name "FORESEEN"
    lowest = FORESEEN_records > 0 ? lesser(LOW_min, FORESEEN_min) : LOW_min
}
lowest = least_with(least_with(lowest, "before", "time/"), "after", "time/")
highest = most_with(most_with(HIGH_max, "before", "time/"), "after", "time/")
has_guess(i) = has_yours(program(i), prefix("across", i).largest_size)
guess(i) = has_guess(i) ? yours_of(program(i), prefix("across", i).largest_size, 8) : 0
most_across = most_with(most_with(across[1], "before", "across/"), "after", "across/")
byte_tick = 1024.0 * 1024
while (most_across / byte_tick > 6) { byte_tick = 2 * byte_tick }
while (most_across > 0 && most_across / byte_tick < 3) { byte_tick = byte_tick / 2 }
# A student's ratio is drawn, if there is no time of the same, where it says that `after` is: the time of before / the ratio.
time_before(quantity) = value_of("before", "time/scattered/".part(quantity, 4), 8)
after_by(i, ratio) = has_yours("after/before", "ratio/".prefix("time", i)) == 0 ? 1 \
    : time_before("ratio/time/x/".part(strcol(6), 4)) > 0 ? time_before("ratio/time/x/".part(strcol(6), 4)) / ratio : NaN

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set multiplot
    set lmargin at screen 0.1
    set rmargin at screen 0.74
    set tmargin at screen 0.91
    set bmargin at screen 0.53
    eval size_axis
    set xtics ()
    stats csv using (size(1) > 0 ? (sizes_seen = exists("sizes_seen") ? add_number(sprintf("%d", size(1)), sizes_seen) : sprintf("%d", size(1)), 0) : 0) nooutput
    do for [s in sizes_seen] { set xtics add (size_text(real(s)) real(s)) }
    set xrange [SIZE_min / 2 : 2 * SIZE_max]
    set xlabel "bytes per rank" offset 0, 0.4
    eval fine_time_axis
    set yrange [0.6 * lowest : 1.7 * highest]
    set ylabel "time per call" offset label_offset
    set key at screen 0.755, screen 0.91 left top
    plot for [i = 1:3] csv using (size(i)):8:9:10 with yerrorbars linestyle 10 + i title way_titles[i] \
         @predicted, \
         for [i = 1:3] for [once = 1:has_yours(program(i), prefix("time", i))] \
             yours using (mine(program(i), prefix("time", i), size(i))):8:9:10 with yerrorbars linestyle 30 linecolor rgb colours[i] notitle, \
         for [i = 2:3] for [once = 1:(has_yours(program(i), prefix("time", i)) ? 0 : has_yours("after/before", "ratio/".prefix("time", i)))] \
             yours using (mine("after/before", "ratio/".prefix("time", i), x("after/before", "ratio/".prefix("time", i)))):(after_by(i, $8)):(after_by(i, $10)):(after_by(i, $9)) \
             with yerrorbars linestyle 30 linecolor rgb colours[i] notitle, \
         for [once = 1:any_yours("before", "time/") || any_yours("after", "time/") || any_yours("after/before", "ratio/time/")] 1/0 with points linestyle 30 title your_title

    # the largest size against ranks
    set lmargin at screen 0.1
    set rmargin at screen 0.44
    set tmargin at screen (is_bare ? 0.36 : 0.42)
    set bmargin at screen 0.10
    set title sprintf("%s: time against ranks", size_text(SIZE_max)) offset 0, -0.6
    set xtics ()
    do for [n in crowds] { set xtics add (n real(n)) }
    set xrange [number(word(crowds, 1)) / 1.6 : 1.6 * largest(crowds)]
    set xlabel "ranks" offset 0, 0.4
    eval fine_time_axis
    set yrange [*:*]
    unset key
    plot for [i = 1:3] csv using (is_largest(i) ? $5 : NaN):8:9:10 with yerrorbars linestyle 10 + i title way_titles[i] \
         @predicted_ranks

    # the bytes that leave a host
    set lmargin at screen 0.56
    set rmargin at screen 0.97
    unset logscale
    set title sprintf("%s, %d ranks: bytes that leave the busiest host", size_text(SIZE_max), ranks) offset 0, -0.6
    set xrange [0.4 : 3.6]
    set yrange [0 : (most_across > 0 ? 1.2 * most_across : 1)]
    set xtics ("scattered" 1, "compact" 2, "two levels" 3)
    set xlabel " "
    set ytics ()
    do for [k = 0:8] { set ytics add ((k ? size_text(k * byte_tick) : "0") k * byte_tick) }
    set ylabel "sent per call" offset label_offset
    set style fill solid 1 border rgb "#ffffff"
    plot for [i = 1:3] '+' using (i):(across[i]):(0.6) every ::0::0 with boxes linecolor rgb colours[i] notitle, \
         for [i = 1:3] '+' using (i):(larger(across[i], guess(i))):(size_text(across[i])) every ::0::0 with labels offset 0, 1 notitle, \
         for [i = 1:3] for [once = 1:has_guess(i)] '+' using (i):(guess(i)) every ::0::0 with points linestyle 30 notitle
    unset multiplot
    unset title
    unset xlabel
    set output
}
