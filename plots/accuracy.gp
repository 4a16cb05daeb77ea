# SPDX-License-Identifier: MIT
# The errors of predictions against size: each row of `commlab accuracy`, and how far the row is from itself, measured twice.
#
# collective,algorithm,ranks,bytes,inplace,round,usec,predicted_usec,error_pct,noise_pct,held_out,
# disturbed,line_nsec,fresh_psB,call_nsec
load "plots/style.gp"
height = 760

# In a `using`: whether this is a row of a size, and not the one of names.
is_sized(bytes) = bytes ne "bytes" && bytes ne "0"
collectives = sizes = ""
ranks = 0
take_row(c, bytes) = (collectives = add(c, collectives), sizes = add_number(bytes, sizes), ranks = ranks ? ranks : int(strcol(3)), 0)
stats csv using (is_sized(strcol(4)) ? take_row(strcol(1), strcol(4)) : 0) nooutput
N = words(collectives)
nice(c) = c eq "reduce_scatter" ? "reduce-scatter" : c eq "sendrecv" ? "send and receive" : c
bytes(i) = is_sized(strcol(4)) && strcol(1) eq word(collectives, i) ? number(strcol(4)) : NaN

# At each size the median error, and the median noise.
S = words(sizes)
size_of(k) = number(word(sizes, int(k)))
array middle_errors[S]; array middle_noises[S]
do for [k = 1:S] {
    bytes = word(sizes, k)
    twice = 0
    stats csv using (strcol(4) eq bytes ? abs($9) : NaN) nooutput name "E"
    stats csv using (twice = twice + (strcol(4) eq bytes && number(strcol(10)) > 0), 0) every ::1 nooutput
    if (twice) { stats csv using (strcol(4) eq bytes ? $10 : NaN) nooutput name "N" }
    middle_errors[k] = E_median
    middle_noises[k] = twice ? N_median : NaN
}

# ---- what was found --------------------------------------------------------------------------------------------------
stats csv using (abs($9)) every ::1 nooutput name "ERROR"
stats csv using 10 every ::1 nooutput name "NOISE"
stats csv using (is_sized(strcol(4)) ? $4 : NaN) nooutput name "SIZE"
finding = sprintf("Half of the predictions are within %.1f %%, and the same row measured twice is %.1f %% apart", \
                  ERROR_median, NOISE_median)
limit = 60 # percent
beyond = 0
stats csv using (beyond = beyond + (is_sized(strcol(4)) && abs($9) > limit), 0) every ::1 nooutput
subject = sprintf("predicted / measured - 1 of %d rows, %d ranks; no parameter is fitted to a collective%s", \
                  ERROR_records, ranks, beyond ? sprintf("; %d lie beyond the edge", beyond) : "")
eval describe(finding, \
    "Error of the prediction against size, a point for each measured row, coloured by collective. A grey band is the noise: " \
    ."how far the same row is from itself, measured twice. A line is the median size of the error.")

# ---- the figure ------------------------------------------------------------------------------------------------------
clipped(y) = y > limit ? limit : y < -limit ? -limit : y
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("machine"))
    eval size_axis
    set tmargin at screen 0.9
    set lmargin at screen 0.1
    set xrange [SIZE_min / 1.6 : SIZE_max * 1.6]
    set yrange [-limit - 4 : limit + 4]
    set ytics 20
    set format y "%+.0f %%"
    set xlabel "size of the whole buffer"
    set ylabel "error: above 0, the prediction is slower than the measurement" offset label_offset - 1
    plot middle_noises using (size_of($1)):(-middle_noises[int($1)]):(middle_noises[int($1)]) with filledcurves linecolor rgb "#c8c8c8" fillstyle solid 0.7 noborder title "noise: measured twice", \
         0 with lines linestyle 97 notitle, \
         for [i = 1:N] csv using (bytes(i) * 2 ** (0.06 * (i - (N + 1) / 2.0))):(clipped($9)) with points linestyle 10 + i pointsize 0.45 \
             title nice(word(collectives, i)), \
         middle_errors using (size_of($1)):(middle_errors[int($1)]) with lines linewidth 2.2 linecolor rgb "#000000" title "median |error|"
    set output
}
