# SPDX-License-Identifier: MIT
# Lab 12: a step of each job as it was found, with the guessed remedy, and with the remedy of the fault that was named.
load "plots/lab.gp"
height = is_bare ? 480 : 560
seed_of(program, quantity) = x(program, quantity."/")
is_found(program, quantity) = program eq "after" && starts_with(quantity, "faulty/")
seeds = ""
stats csv using (seeds = is_found(strcol(2), strcol(6)) ? add(part(strcol(6), 2), seeds) : seeds, 0) every ::1 nooutput
n = words(seeds)
place_of(seed) = int(sum [k = 1:n] (word(seeds, k) eq sprintf("%.0f", seed) ? k : 0))
at_job(program, quantity, shift) = (seed_now = seed_of(program, quantity), seed_now >= 0 ? place_of(seed_now) + shift : NaN)
fault_words = "interface straggler buffers binding retransmits copy first-rank buckets none"
named_of(seed) = word(fault_words, 1 + int(value_of("after", "named/".seed, 8)))

# ---- what was found --------------------------------------------------------------------------------------------------
is_mended(program, seed) = value_of(program, "time/".seed, 8) < 0.97 * value_of(program, "faulty/".seed, 8)
guessed = named = 0
most = 0; ratio = 1; least = 2**62
do for [s in seeds] {
    guessed = guessed + (is_mended("before", s) ? 1 : 0)
    named = named + (is_mended("after", s) ? 1 : 0)
    do for [shown in "after:faulty before:time after:time"] {
        most = value_of(shown[:strstrt(shown, ":") - 1], shown[strstrt(shown, ":") + 1:]."/".s, 8) > most ? \
            value_of(shown[:strstrt(shown, ":") - 1], shown[strstrt(shown, ":") + 1:]."/".s, 8) : most
    }
    ratio = value_of("after", "faulty/".s, 8) / value_of("after", "time/".s, 8) > ratio ? \
        value_of("after", "faulty/".s, 8) / value_of("after", "time/".s, 8) : ratio
}
finding = sprintf("Of %d jobs, the guess makes %d faster, the named remedy %d, by up to %.1f times", n, guessed, named, ratio)
if (named == 0) { finding = sprintf("Of %d jobs, the guess makes %d faster, the named remedy none", n, guessed) }
if (named + guessed == 0) { finding = sprintf("No measurable difference between the guess and the named remedy in %d jobs", n) }
subject = sprintf("data parallel training with hidden faults, %d ranks, backend %s%s; %s", ranks, first(3), \
    is_virtual ? " on ".manifest("net") : (manifest("emulate") eq "" ? "" : ", network ".manifest("emulate")), measured_text)
eval describe(finding, "The time of a step of each job: as it was found, with the guessed remedy, and with the remedy of the fault that was " \
    ."named, whose name stands below; the lines are the model's predictions.")
predicted = is_virtual ? ", csv using (at_job('after', 'faulty', 0)):11 with points pointtype 6 pointsize 2.4 linewidth 1.6 linecolor rgb '#d55e00' title 'predicted, as found'" : ""
predicted = predicted.(is_virtual ? ", csv using (at_job('after', 'time', 0.25)):11 with points pointtype 6 pointsize 2.4 linewidth 1.6 linecolor rgb '#0072b2' title 'predicted, named'" : "")
on_axes = has_yours("after", "time/")
top = most_with(most, "after", "time/")

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set xtics ()
    do for [k = 1:n] { set xtics add (sprintf("job %s\n%s", word(seeds, k), named_of(word(seeds, k))) k) }
    tick = 10 ** floor(log10(top / 3))
    tick = top / tick > 12 ? 5 * tick : top / tick > 6 ? 2 * tick : tick
    set ytics ()
    do for [i = 0:20] { set ytics add ((i ? time_text(i * tick) : "0") i * tick) }
    set tmargin at screen 0.86
    set bmargin at screen (is_bare ? 0.23 : 0.19)
    set lmargin at screen 0.09
    set rmargin at screen 0.78
    set xrange [0.4 : n + 0.6]
    set yrange [0 : 1.08 * top]
    set xlabel "job, and the fault that after.c named" offset 0, -1.1
    set ylabel "time per step" offset label_offset
    set key at screen 0.79, screen 0.86 left top
    plot csv using (at_job("after", "faulty", 0)):8:9:10 with yerrorbars linestyle 12 title "as found", \
         csv using (at_job("before", "time", -0.25)):8:9:10 with yerrorbars linestyle 13 title "guessed (before)", \
         csv using (at_job("after", "time", 0.25)):8:9:10 with yerrorbars linestyle 11 title "named (after)" \
         @predicted, \
         for [once = 1:has_yours("after", "time/")] \
             yours using (mine("after", "time/", at_job("after", "time", 0.25))):8:9:10 \
             with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
         for [once = 1:on_axes] 1/0 with points linestyle 30 title your_title
    set output
    unset label
    unset xlabel
}
