# SPDX-License-Identifier: MIT
# Lab 09: the time of a step by how gradients travel, and the loss against the time that it takes to get there.
load "plots/lab.gp"
height = is_bare ? 480 : 560
ways = "fp32 int8 fp16 bf16 powersgd topk"
names = "float32 int8 fp16 bf16 PowerSGD top-k"
program_of(way) = way eq "fp32" ? "before" : "after"
time_of(way, n) = value_of(program_of(way), "time/".way."/step", n)
saved(way) = value_of(program_of(way), "saved/".way."/loss", 8)
has_net = manifest("net") ne "none"
# The place of a row on the left axis, if it is a time of a way that is shown.
x(program) = strcol(2) eq program && starts_with(strcol(6), "time/") && place_of(part(strcol(6), 2), ways) > 0 ? place_of(part(strcol(6), 2), ways) : NaN

# ---- what was found --------------------------------------------------------------------------------------------------
times(f) = sprintf(f >= 10 ? "%.0f" : f >= 2 ? "%.1f" : "%.2f", f)
ratio = value_of("after/before", "ratio", 8); ratio_low = value_of("after/before", "ratio", 9); ratio_high = value_of("after/before", "ratio", 10)
speed = ratio_low > 1 ? sprintf("int8 is %s times as fast per step as float32", times(ratio)) \
    : ratio_high < 1 ? sprintf("int8 takes %s times as long per step as float32", times(1 / ratio)) \
    : "No measurable difference in time between int8 and float32"
same = saved("int8") < 1.01 * saved("fp32") ? "at the same loss" : sprintf("at %s times its loss", times(saved("int8") / saved("fp32")))
finding = speed.", ".same.sprintf("; with one scale per rank, the loss is %s times as high", times(saved("own_scales") / saved("fp32")))
subject = sprintf("data parallel training, %d ranks, backend %s%s", ranks, first(3), \
    is_virtual ? " on ".manifest("net") : (manifest("emulate") eq "" ? "" : ", network ".manifest("emulate"))."; ".measured_text)
eval describe(finding, "Two panels. Left: the time of a step for six ways in which gradients travel, measured with intervals, and " \
    ."predicted. Right: the loss against time for float32, int8, PowerSGD, top-k, and int8 with a scale per rank, whose saved model is a single point.")

# ---- the loss against time -------------------------------------------------------------------------------------------
# t(way, s): when step s begins, in ms, as the programs compute `until` (begin_of_step in training.h). The first ten steps
# travel whole with PowerSGD and top-k.
early(way) = value_of(program_of(way), "early/".way."/step", 8)
t(way, s) = 1e3 * (early(way) > 0 && s > 11 ? 10 * early(way) + (s - 11) * time_of(way, 8) : (s - 1) * (early(way) > 0 ? early(way) : time_of(way, 8)))
is_loss(way) = strcol(2) eq program_of(way) && starts_with(strcol(6), "loss/".way."/")
loss_x(way) = is_loss(way) ? t(way, number(part(strcol(6), 3))) : NaN
last_step = 1
stats csv using (last_step = is_loss("fp32") && number(part(strcol(6), 3)) > last_step ? number(part(strcol(6), 3)) : last_step, 0) every ::1 nooutput
longest = 0
do for [way in "fp32 int8 powersgd topk"] { longest = t(way, last_step) > longest ? t(way, last_step) : longest }
own_end = 1e3 * last_step * value_of("after", "time/own_scales/step", 8)
longest = own_end > longest ? own_end : longest
stats csv using (x("before") > 0 || x("after") > 0 ? $9 : NaN) nooutput name "LOW"
stats csv using (x("before") > 0 || x("after") > 0 ? $10 : NaN) nooutput name "HIGH"
bottom = least_with(least_with(LOW_min, "before", "time/"), "after", "time/")
top = most_with(most_with(HIGH_max, "before", "time/"), "after", "time/")
any = any_yours("before", "time/") || any_yours("after", "time/")
predicted = has_net ? ", csv using (x('before') - 0.3):11:(0.6):(0) with vectors nohead linestyle 1 linecolor rgb '#000000' title 'predicted'" \
    .", csv using (x('after') - 0.3):11:(0.6):(0) with vectors nohead linestyle 1 linecolor rgb '#000000' notitle" : ""

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set multiplot
    set tmargin at screen 0.82
    set bmargin at screen (is_bare ? 0.19 : 0.13)
    set lmargin at screen 0.08
    set rmargin at screen 0.485
    set title "time per step" offset 0, -0.4
    set xrange [0.4 : words(ways) + 0.6]
    set xtics ()
    do for [k = 1:words(ways)] { set xtics add ((is_bare && word(ways, k) eq "powersgd" ? "Power\nSGD" : word(names, k)) k) }
    eval fine_time_axis
    set yrange [0.7 * bottom : 3 * top]
    set key inside right top vertical samplen 2
    plot csv using (x("before")):8:9:10 with yerrorbars linestyle 12 title "float32 (before)", \
         csv using (x("after")):8:9:10 with yerrorbars linestyle 11 title "compressed (after)" \
         @predicted, \
         for [once = 1:any_yours("before", "time/")] \
             yours using (any_yours("before", "time/") ? x("before") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[2] notitle, \
         for [once = 1:any_yours("after", "time/")] \
             yours using (any_yours("after", "time/") ? x("after") : 1):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:any] 1/0 with points linestyle 30 title your_title
    unset label
    set lmargin at screen 0.55
    set rmargin at screen 0.97
    set title "loss against time" offset 0, -0.4
    unset logscale
    set xtics auto
    set ytics auto
    set xrange [0 : 1.05 * longest]
    set yrange [0 : *]
    if (is_bare) { set yrange [0 : 2.1] } # below a legend of larger letters
    set xlabel "time since training began (ms)"
    set key inside right top vertical samplen 2
    plot csv using (loss_x("fp32")):8 with linespoints linestyle 12 title "float32 (before)", \
         csv using (loss_x("int8")):8 with linespoints linestyle 11 title "int8 (after)", \
         csv using (loss_x("powersgd")):8 with linespoints linestyle 13 title "PowerSGD from step 11 on", \
         csv using (loss_x("topk")):8 with linespoints linestyle 14 title "top-k from step 11 on", \
         csv using (strcol(6) eq "saved/own_scales/loss" ? own_end : NaN):8 \
             with points linestyle 15 pointsize 2 title "model of rank 0, scale per rank"
    unset multiplot
    unset xlabel
    set output
}
