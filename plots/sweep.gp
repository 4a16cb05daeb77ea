# SPDX-License-Identifier: MIT
# `commlab sim sweep`: which algorithm is best as a map of ranks against bytes, and the times for one number of ranks.
#
# collective,algorithm,net,ranks,bytes,seconds,latency,bandwidth,reduce,wait,engine,best
#
# - Of one collective on one net: the map, and below it the times. Of several: a map each, six at most. A barrier has no
#   bytes, and is left out.
# - Colour never tells alone: regions have names, in the map or below it, and each line markers of its own.
load "plots/style.gp"

rows(program) = sprintf("awk -F, '!/^#/ && $5 + 0 > 0 %s' '%s'", program, csv)
list(program) = system(rows(program))
field(command, n) = system(sprintf("%s | cut -d, -f%d", command, n))

# ---- what there is ---------------------------------------------------------------------------------------------------
maps = list("&& !seen[$1 \",\" $3]++ { print $1 \",\" $3 }")
ranks = list("{ seen[$4] = 1 } END { for (r in seen) print r | \"sort -n\" }")
winners = list("&& $12 && !seen[$2]++ { print $2 }")
N = words(maps)
R = words(ranks)
first_bytes = number(system(rows("{ print $5 }")." | sort -n | sed -n 1p"))
last_bytes = number(system(rows("{ print $5 }")." | sort -n | tail -n 1"))
nice(name) = system(sprintf("echo '%s' | tr _ -", name))
collective_of(i) = system(sprintf("echo '%s' | cut -d, -f1", word(maps, i)))
net_of(i) = system(sprintf("echo '%s' | cut -d, -f2", word(maps, i)))
style_of(name) = sum [i = 1:words(winners)] (word(winners, i) eq name ? i : 0)
colour_of(name) = style_of(name) > 0 ? colours[1 + (style_of(name) - 1) % 10] : "#a0a0a0"
number_of(name) = int(real("0x".colour_of(name)[2:7]))
# Those that are nowhere the best are grey. Markers are at every fourth size, of neighbours not at the same.
shade_of(k) = colour_of(word(everyone, k))
dash_of(k) = style_of(word(everyone, k)) > 0 ? 1 : 2
array shapes[12] = [7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 2]
shape_of(k) = shapes[1 + (k - 1) % 12]
drawn = int(number(system(sprintf("sed -n 's/^# times of: \\([0-9]*\\).*/\\1/p' '%s'", csv))))
drawn = drawn > 0 ? drawn : int(number(word(ranks, R)))

# Intervals of sizes over which one algorithm is best: y, from, to, name; y counts the ranks from 1.
intervals(i) = sprintf("< awk -F, '!/^#/ && $1 == \"%s\" && $3 == \"%s\" && $12 == 1 { print $4 \",\" $5 \",\" $2 }' '%s' | sort -t, -k1,1n -k2,2n" \
    ." | awk -F, 'BEGIN { n = split(\"%s\", r, \" \"); for (k = 1; k <= n; k++) y[r[k]] = k }" \
    ." $1 == rank && $3 == name { to = $2; next }" \
    ." { if (NR > 1) print y[rank] \",\" from \",\" ($1 == rank ? $2 : to) \",\" name; rank = $1; from = to = $2; name = $3 }" \
    ." END { print y[rank] \",\" from \",\" to \",\" name }'", \
    collective_of(i), net_of(i), csv, system(sprintf("echo '%s' | tr '\\n' ' '", ranks)))
# The times of one algorithm among `drawn` ranks.
times(name) = sprintf("< awk -F, '!/^#/ && $1 == \"%s\" && $3 == \"%s\" && $2 == \"%s\" && $4 == %d' '%s' | sort -t, -k5,5n", \
    collective_of(1), net_of(1), name, drawn, csv)
of_drawn = sprintf("&& $1 == \"%s\" && $3 == \"%s\" && $4 == %d", collective_of(1), net_of(1), drawn)
everyone = list(of_drawn." && !seen[$2]++ { print $2 }")
# bytes,seconds,name: the size from which another algorithm is best, its time, and its name.
best_of_drawn = rows(of_drawn." && $12 == 1")." | sort -t, -k5,5n"
crossings = best_of_drawn." | awk -F, 'NR > 1 && $2 != name { print $5 \",\" $6 \",\" $2 } { name = $2 }'"

# ---- what was found --------------------------------------------------------------------------------------------------
changes = int(number(system(crossings." | wc -l")))
smallest = nice(field(best_of_drawn." | sed -n 1p", 2))
finding = N > 1 ? sprintf("The best algorithm of %d collectives and networks, by ranks and bytes", N) \
    : changes > 0 ? sprintf("Among %d ranks of %s, %s by %s is best up to %s, by %s from %s on", drawn, net_of(1), nice(collective_of(1)), smallest, \
        size_text(number(field(crossings." | sed -n 1p", 1))), nice(field(crossings." | tail -n 1", 3)), size_text(number(field(crossings." | tail -n 1", 1)))) \
    : sprintf("Among %d ranks of %s, %s by %s is best at every size", drawn, net_of(1), nice(collective_of(1)), smallest)
subject = "simulated; a crossover is the least size at which the next algorithm is faster"
eval describe(finding, "A map of ranks against bytes, whose regions are named for the algorithm that is fastest there" \
    .(N > 1 ? "; one for each collective and network." : ", and below it the time of each algorithm over bytes, crossovers marked."))

# A region's name where there is room for it, which is measured in octaves.
octaves = log(last_bytes / first_bytes) / log(2)
room = octaves * (N > 1 ? 0.16 : 0.075)
fits(from, to, name) = log(real(to) / from) / log(2) > room * strlen(name) / 10.0

# Winners of map i whose name fits nowhere in it: they stand below it, beside their colour.
winners_of(i) = list(sprintf("&& $1 == \"%s\" && $3 == \"%s\" && $12 == 1 && !seen[$2]++ { print $2 }", collective_of(i), net_of(i)))
widest(i, name) = number(system(sprintf("%s | awk -F, '$4 == \"%s\" { w = log($3 / $2) / log(2); if (w > most) most = w } END { print most + 0 }'", \
    substr(intervals(i), 3, strlen(intervals(i))), name)))
is_named(i, name) = widest(i, name) > room * strlen(name) / 10.0
unnamed(i) = sum [k = 1:words(winners_of(i))] (!is_named(i, word(winners_of(i), k)))

# Crossovers and their sizes, of neighbours on two sides, since they may be close to each other: right below, left above.
set style textbox opaque noborder fillcolor rgb "#ffffff" margins 0.3, 0.2
marks = changes == 0 ? "" : ", '< '.crossings using 1:2 with points pointtype 3 pointsize 1.4 linewidth 2.2 linecolor rgb '#000000' title 'crossover'"
do for [i = 0:(changes > 1 ? 1 : changes - 1)] {
    marks = marks.sprintf(", '< '.crossings using 1:2:(size_text($1)) every 2::%d with labels boxed %s font ',10' notitle", \
        i, i ? "right offset -1.0, 0.9" : "left offset 1.0, -0.9")
}

# ---- the figure ------------------------------------------------------------------------------------------------------
height = N > 1 ? 130 + 310 * (((N > 6 ? 6 : N) + 1) / 2) : 900
is_flat = first_bytes == last_bytes
do for [terminal in terminals] {
    eval begin(terminal)
    eval headline(finding, subject)
    eval small_print(manifest("network"))
    eval size_axis
    set style fill solid 0.45 border rgb "#ffffff"
    if (N > 1) { set xtics ("8 B" 8, "4 KiB" 4096, "2 MiB" 2097152, "1 GiB" 1073741824) }
    set multiplot
    unset logscale y
    set xrange [first_bytes : (is_flat ? 2 : 1.001) * last_bytes] # the last size has its tick
    set yrange [0.5 : R + 0.5]
    set ytics ()
    do for [k = 1:R] { if (R <= 20 || k % 2) { set ytics add (word(ranks, k) k) } }
    unset grid
    unset key
    shown = N > 6 ? 6 : N
    do for [i = 1:shown] {
        column = N > 1 ? (i - 1) % 2 : 0
        row = N > 1 ? (i - 1) / 2 : 0
        set lmargin at screen 0.1 + 0.47 * column
        set rmargin at screen N > 1 ? 0.1 + 0.47 * column + 0.39 : 0.79
        set tmargin at screen N > 1 ? 1 - (95.0 + 310 * row) / height : 0.91
        set bmargin at screen N > 1 ? 1 - (95.0 + 310 * row + 205) / height : 0.56
        if (N > 1) { set title sprintf("%s on %s", nice(collective_of(i)), net_of(i)) offset 0, -0.4 }
        set ylabel (column == 0 ? "ranks" : "") offset label_offset
        set xlabel (i + 1 < shown && N > 1 ? "" : "bytes of the buffer") offset 0, 0.3
        # Below the map, or beside it where the times are below.
        if (unnamed(i) > 0) {
            set key noreverse font ",10" samplen 1.2 width 0
            if (N > 1) {
                set key at screen 0.1 + 0.47 * column, screen 1 - (95.0 + 310 * row + 205 + (i + 1 < shown ? 32 : 58)) / height left top horizontal
            } else {
                set key at screen 0.80, screen 0.91 left top vertical
            }
            set key Left reverse
        }
        plot intervals(i) using (sqrt($2 * $3)):1:2:3:($1 - 0.47):($1 + 0.47):(number_of(strcol(4))) with boxxyerror \
                 linecolor rgb variable notitle, \
             intervals(i) using (fits($2, $3, strcol(4)) ? sqrt($2 * $3) : NaN):1:(nice(strcol(4))) with labels font ',10' notitle, \
             for [k = 1:unnamed(i) > 0 ? words(winners_of(i)) : 0] NaN with boxes \
                 linecolor rgb colour_of(word(winners_of(i), k)) title is_named(i, word(winners_of(i), k)) ? "" : nice(word(winners_of(i), k))
        unset label
        unset key
        set key font ",13" samplen 2.5 width -1
        unset key
    }
    if (N == 1) {
        unset title
        set grid xtics ytics linestyle 99
        set tmargin at screen 0.47
        set bmargin at screen 0.10
        set rmargin at screen 0.79
        unset yrange
        set yrange [* : *]
        eval time_axis
        set ylabel sprintf("time among %d ranks", drawn) offset label_offset
        set xlabel "bytes of the buffer" offset 0, 0.3
        set key at screen 0.80, screen 0.47 left top
        plot for [k = 1:words(everyone)] times(word(everyone, k)) using 5:6 with lines linecolor rgb shade_of(k) \
                 dashtype dash_of(k) linewidth 2 notitle, \
             for [k = 1:words(everyone)] times(word(everyone, k)) using 5:6 every 4::k % 4 with points linecolor rgb shade_of(k) \
                 pointtype shape_of(k) pointsize 1 notitle, \
             for [k = 1:words(everyone)] NaN with linespoints linecolor rgb shade_of(k) dashtype dash_of(k) linewidth 2 \
                 pointtype shape_of(k) pointsize 1 title nice(word(everyone, k)) @marks
    }
    unset multiplot
    unset xlabel
    unset ylabel
    set output
}
