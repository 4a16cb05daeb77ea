# SPDX-License-Identifier: MIT
# Lab 05: of which the memory is full, step by step, in both programs; what registering takes against the bytes, and
# what share of a step it is.
load "plots/lab.gp"
height = 860
found(program, quantity) = value_of(program, quantity, 8)
memory = real(manifest("bytes")) / 1024 # KiB
asked_steps = found("after", "steps")
failed = found("before", "steps")
request = found("before", "asked")
step(program, name) = x(program, name."/")
has_registration = found("before", "registering") > 0

# ---- what was found --------------------------------------------------------------------------------------------------
finding = failed < asked_steps ? sprintf("One heap fails at step %.0f with %.0f %% of the memory free; the arena does not fail", \
                                         failed + 1, 100 * found("before", "free") / memory) \
                               : sprintf("With this seed, neither the heap nor the arena fails in %.0f steps", asked_steps)
subject = sprintf("%s of memory per rank, %d ranks, backend %s; %s", \
                  size_text(1024 * memory), ranks, first(3), measured_text)
eval describe(finding, \
    "Panels above: for each program the free memory and its largest piece against the step, with the " \
    ."size that each step asks for. Panels below: the time to register and to let go against the bytes, " \
    ."measured and predicted, and the time of a step with the part that registering takes.")

array part[4] = [found("before", "step_time"), found("before", "registering"), found("after", "step_time"), found("after", "registering")]
array foreseen[2] = [value_of("before", "step_time", 11), value_of("after", "step_time", 11)]

# The ratio is drawn as after's step: before's measured one, divided by it.
from_ratio(n) = 1e3 * part[1] / yours_of("after/before", "ratio/step_time", n)

# Without a profile steps are not predicted, and where nothing was registered in a probe, neither is that.
predicted_steps = predicted_registering = ""
if (foreseen[1] > 0 || foreseen[2] > 0) {
    predicted_steps = ", '+' using (int($0) + 1):(foreseen[int($0) + 1] > 0 ? foreseen[int($0) + 1] * 1e3 : NaN) every ::0::1 " \
        ."with points linestyle 17 pointtype 6 pointsize 1.6 title 'step, predicted'"
}
if (value_of("before", "registering", 11) > 0) {
    predicted_registering = ", csv using (step('before', 'register')):11 with lines linestyle 1 title 'predicted'" \
        .", csv using (step('before', 'unregister')):11 with lines linestyle 3 notitle"
}

# ---- the figure ------------------------------------------------------------------------------------------------------
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(place)
    set multiplot
    unset logscale
    set xtics auto
    set ytics auto

    # free against the largest piece
    set xrange [0 : asked_steps + 1]
    set yrange [0 : 1.05 * most_with(memory, "before", "asked") / 1024]
    set tmargin at screen 0.87
    set bmargin at screen 0.52
    set xlabel "step, at the request for its flat buffer" offset 0, 0.4
    do for [p = 1:2] {
        program = p == 1 ? "before" : "after"
        set lmargin at screen p == 1 ? 0.1 : 0.46
        set rmargin at screen p == 1 ? 0.42 : 0.79
        set title (p == 1 ? "before: one heap" : "after: an arena") offset 0, -0.5
        set ylabel (p == 1 ? "memory per rank (MiB)" : "") offset label_offset
        if (p == 2) { set key at screen 0.80, screen 0.87 left top } else { unset key }
        if (p == 1 && failed < asked_steps) {
            set arrow 1 from failed + 1, 0 to failed + 1, graph 1 nohead linestyle 98
            set label 1 "fails here" at failed + 1, graph 0.06 offset -0.6, 0 right font (is_bare ? "" : ",11") textcolor rgb "#606060"
        }
        plot csv using (step(program, "reserved")):((memory - $8) / 1024) smooth unique with lines linestyle 11 linewidth 4 title "free", \
             csv using (step(program, "hole")):($8 / 1024) smooth unique with linespoints linestyle 12 pointsize 0.4 title "its largest piece", \
             csv using (step(program, "hole")):($11 / 1024) smooth unique with lines linestyle 2 linecolor rgb "#000000" title "predicted", \
             request / 1024 with lines linestyle 97 title "requested", \
             for [once = 1:has_yours(program, "asked")] '+' using (1):(yours_of(program, "asked", 8) / 1024):(yours_of(program, "asked", 9) / 1024) \
                 :(yours_of(program, "asked", 10) / 1024) every ::0::0 with yerrorbars linestyle 30 linecolor rgb colours[7] notitle, \
             for [once = 1:p == 2 && has_yours("before", "asked")] 1/0 with points linestyle 30 title your_title
        unset arrow 1
        unset label # the heading, too: it is drawn with each panel
    }
    unset title

    # registration
    if (has_registration) {
        set lmargin at screen 0.1
        set rmargin at screen 0.42
        set tmargin at screen 0.41
        set bmargin at screen 0.10
        set logscale x 2
        set xtics ("64 KiB" 65536, "256 KiB" 262144, "1 MiB" 1048576, "4 MiB" 4194304)
        set xrange [32768 : 8388608]
        eval time_axis
        set yrange [*:*]
        set xlabel "bytes registered at once" offset 0, 0.4
        set ylabel "time per call" offset label_offset
        set key at screen 0.12, screen 0.40 left top
        plot csv using (step("before", "register")):8:9:10 with yerrorbars linestyle 11 title "register", \
             csv using (step("before", "unregister")):8:9:10 with yerrorbars linestyle 13 title "deregister" \
             @predicted_registering
        unset logscale
    } else {
        set label 2 "No registration here: the\ndescription of this network has no\ncost of it, or this process may\nnot lock its memory." \
            at screen 0.10, screen 0.30 left font ",12" textcolor rgb "#606060"
    }

    # a step
    set lmargin at screen 0.51
    set rmargin at screen 0.79
    set tmargin at screen 0.41
    set bmargin at screen 0.10
    set xrange [0.4 : 2.6]
    set xtics ("before" 1, "after" 2)
    set yrange [0 : *]
    set ytics auto
    set xlabel "mean of the first 12 steps" offset 0, 0.4
    set ylabel "time per step (ms)" offset label_offset
    set key at screen 0.80, screen 0.41 left top
    set style fill solid 1 border rgb "#ffffff"
    plot '+' using (int($0) + 1):(part[2 * int($0) + 1] * 1e3):(0.6) every ::0::1 with boxes linecolor rgb colours[1] title "summing", \
         '+' using (int($0) + 1):(part[2 * int($0) + 2] * 1e3):(0.6) every ::0::1 with boxes linecolor rgb colours[5] title "registering" \
         @predicted_steps, \
         for [once = 1:has_yours("after/before", "ratio/step_time")] '+' using (2):(from_ratio(8)):(from_ratio(10)):(from_ratio(9)) every ::0::0 \
             with yerrorbars linestyle 30 title your_title
    unset multiplot
    unset label 2
    unset xlabel
    set output
}
