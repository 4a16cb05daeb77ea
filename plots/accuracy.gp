# SPDX-License-Identifier: MIT
# How good predictions were, against size: every row of `commlab accuracy`, over the noise of measuring it twice.
#
# collective,algorithm,ranks,bytes,inplace,round,usec,predicted_usec,corrected_usec,error_pct,noise_pct,held_out,
# disturbed,line_nsec,fresh_psB,call_nsec
load "plots/style.gp"
height = 760

having(filter) = sprintf("< awk -F, '!/^#/ && $1 != \"collective\" && (%s)' '%s' | sort -t, -k4,4n", filter, csv)
collectives = system(sprintf("awk -F, '!/^#/ && $1 != \"collective\" && $4 > 0 && !seen[$1]++ { print $1 }' '%s'", csv))
N = words(collectives)
nice(c) = c eq "reduce_scatter" ? "reduce-scatter" : c eq "sendrecv" ? "send and receive" : c
of(i) = having(sprintf("$4 > 0 && $1 == \"%s\"", word(collectives, i)))

# At each size the median error, and the median noise: size, error, noise.
by_size = sprintf("< awk -F, '!/^#/ && $1 != \"collective\" && $4 > 0 { n = ++count[$4]; error[$4, n] = $10 < 0 ? -$10 : $10 + 0; if ($11 != \"\" && $11 != \"NaN\") noise[$4, ++twice[$4]] = $11 + 0 } " \
    ."function middle(a, s, n,   i, j, t, v) { for (i = 1; i <= n; i++) v[i] = a[s, i]; " \
    ."for (i = 2; i <= n; i++) { t = v[i]; for (j = i - 1; j > 0 && v[j] > t; j--) v[j + 1] = v[j]; v[j + 1] = t } return v[int((n + 1) / 2)] } " \
    ."END { for (s in count) print s \",\" middle(error, s, count[s]) \",\" (twice[s] ? middle(noise, s, twice[s]) : \"NaN\") }' '%s' | sort -t, -k1,1n", csv)

# ---- what was found --------------------------------------------------------------------------------------------------
stats having("1") using (abs($10)) nooutput name "ERROR"
stats having("$11 != \"\"") using 11 nooutput name "NOISE"
stats having("$4 > 0") using 4 nooutput name "SIZE"
ranks = int(system(sprintf("awk -F, '!/^#/ && $1 != \"collective\" { print $3; exit }' '%s'", csv)))
finding = sprintf("Half of the predictions are within %.1f %%, and the same row measured twice is %.1f %% apart", \
                  ERROR_median, NOISE_median)
limit = 60 # percent
beyond = int(system(sprintf("awk -F, '!/^#/ && $1 != \"collective\" && $4 > 0 && ($10 > %d || $10 < -%d) { n++ } END { print n + 0 }' '%s'", limit, limit, csv)))
subject = sprintf("predicted / measured - 1 of %d rows: %d ranks, all collectives, algorithms and placements, none of them fitted%s", \
                  ERROR_records, ranks, beyond ? sprintf("; %d stand at the edge, and lie beyond", beyond) : "")
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
    set ylabel "error: above 0 it was promised slower than it is" offset label_offset - 1
    plot by_size using 1:(-$3):3 with filledcurves linecolor rgb "#c8c8c8" fillstyle solid 0.7 noborder title "noise: measured twice", \
         0 with lines linestyle 97 notitle, \
         for [i = 1:N] of(i) using ($4 * 2 ** (0.06 * (i - (N + 1) / 2.0))):(clipped($10)) with points linestyle 10 + i pointsize 0.45 \
             title nice(word(collectives, i)), \
         by_size using 1:2 with lines linewidth 2.2 linecolor rgb "#000000" title "median |error|"
    set output
}
