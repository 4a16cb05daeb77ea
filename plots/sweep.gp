# SPDX-License-Identifier: MIT
# `commlab sim sweep`: which algorithm is best as a map of ranks against bytes, and the times for one number of ranks.
#
# collective,algorithm,net,ranks,bytes,seconds,latency,bandwidth,reduce,wait,engine,best
#
# - Of one collective on one net: the map, and below it the times. Of several: a map each, six at most. A barrier has no
#   bytes, and is left out.
# - Colour never tells alone: regions have names, in the map or below it, and each line markers of its own.
load "plots/style.gp"

# In a `using`: whether this row has a size; whether its algorithm is the best.
is_sized(bytes) = bytes ne "bytes" && bytes ne "0"
is_best(bytes) = is_sized(bytes) && number(strcol(12)) == 1

# ---- what there is ---------------------------------------------------------------------------------------------------
# A map is one collective on one network, "allreduce/10gbe"; six are drawn. Ranks and sizes are in order.
maps = ranks = sizes = winners = ""
map_of(c, net) = c."/".net
take_row(map, crowd, bytes) = (maps = add(map, maps), ranks = add_number(crowd, ranks), sizes = add_number(bytes, sizes), 0)
stats csv using (is_sized(strcol(5)) ? take_row(map_of(strcol(1), strcol(3)), strcol(4), strcol(5)) : 0) nooutput
stats csv using (winners = is_best(strcol(5)) ? add(strcol(2), winners) : winners, 0) nooutput
N = words(maps)
shown = N > 6 ? 6 : N
R = words(ranks)
S = words(sizes)
first_bytes = number(word(sizes, 1))
last_bytes = number(word(sizes, S))
collective_of(i) = head_of(word(maps, i), "/")
net_of(i) = tail_of(word(maps, i), "/")
style_of(name) = sum [i = 1:words(winners)] (word(winners, i) eq name ? i : 0)
colour_of(name) = style_of(name) > 0 ? colours[1 + (style_of(name) - 1) % 10] : "#a0a0a0"
number_of(name) = int(real("0x".colour_of(name)[2:7]))
# Those that are nowhere the best are grey. Markers are at every fourth size, of neighbours not at the same.
shade_of(k) = colour_of(word(everyone, k))
dash_of(k) = style_of(word(everyone, k)) > 0 ? 1 : 2
array shapes[12] = [7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 2]
shape_of(k) = shapes[1 + (k - 1) % 12]
drawn = int(number(head_of(manifest("times of"), " ")))
drawn = drawn > 0 ? drawn : int(number(word(ranks, R)))

# ---- where which one is best -----------------------------------------------------------------------------------------
# A cell for each map, number of ranks and size: the best one, and its time. The best of each map, as a list.
array best_names[shown * R * S]; array best_seconds[shown * R * S]; array winner_lists[shown]
do for [k = 1:shown * R * S] { best_names[k] = ""; best_seconds[k] = 0 }
do for [i = 1:shown] { winner_lists[i] = "" }
cell_of(i, crowd, bytes) = ((i - 1) * R + place_of(crowd, ranks) - 1) * S + place_of(bytes, sizes)
take_best(i, k) = i > shown ? 0 \
    : (best_names[k] = strcol(2), best_seconds[k] = number(strcol(6)), winner_lists[i] = add(strcol(2), winner_lists[i]), 0)
take(i) = take_best(i, cell_of(i, strcol(4), strcol(5)))
stats csv using (is_best(strcol(5)) ? take(place_of(map_of(strcol(1), strcol(3)), maps)) : 0) nooutput
map_at(k) = 1 + (k - 1) / (R * S)
row_at(k) = 1 + (k - 1) / S % R
bytes_at(k) = number(word(sizes, 1 + (k - 1) % S))
# Intervals of sizes over which one algorithm is best: begins where the name changes, ends where the next one begins.
is_same(j, k) = j > 0 ? (j - 1) / S == (k - 1) / S && best_names[j] eq best_names[k] : 0
earlier(k) = k > 1 ? (best_names[k - 1] eq "" ? earlier(k - 1) : k - 1) : 0
begins(k) = best_names[k] ne "" && !is_same(earlier(k), k)
nintervals = int(sum [k = 1:shown * R * S] begins(k))
array froms[nintervals ? nintervals : 1]; array ends[nintervals ? nintervals : 1] # cells
froms[1] = ends[1] = 1
nintervals = 0
open_at(k) = (nintervals = nintervals + 1, froms[nintervals] = k, ends[nintervals] = k, 0)
reach(k) = (nintervals > 0 && (froms[nintervals] - 1) / S == (k - 1) / S ? (ends[nintervals] = k, 0) : 0, 0)
visit(k) = best_names[k] eq "" ? 0 : (reach(k), begins(k) ? open_at(k) : 0, 0)
visited = sum [k = 1:shown * R * S] visit(k)
from(n) = bytes_at(froms[n])
to(n) = bytes_at(ends[n])
crowd(n) = row_at(froms[n])
name_of(n) = best_names[froms[n]]
is_in(i, n) = n <= nintervals ? map_at(froms[n]) == i : 0

# ---- the times among `drawn` ranks, of the first map -----------------------------------------------------------------
is_drawn(bytes) = is_sized(bytes) && strcol(1) eq collective_of(1) && strcol(3) eq net_of(1) ? number(strcol(4)) == drawn : 0
everyone = drawn_sizes = ""
take_drawn(bytes) = (everyone = add(strcol(2), everyone), drawn_sizes = add_number(bytes, drawn_sizes), 0)
stats csv using (is_drawn(strcol(5)) ? take_drawn(strcol(5)) : 0) nooutput
bytes(k) = is_drawn(strcol(5)) && strcol(2) eq word(everyone, k) ? number(strcol(5)) : NaN
marked_bytes(k) = (place_of(strcol(5), drawn_sizes) - 1) % 4 == k % 4 ? bytes(k) : NaN
# The sizes from which another algorithm is best, as cells.
first_drawn = cell_of(1, sprintf("%d", drawn), word(sizes, 1))
is_crossing(k) = begins(k) && earlier(k) >= first_drawn
changes = int(sum [k = first_drawn:first_drawn + S - 1] is_crossing(k))
array crossings[changes + 1]
ncrossings = 0
take_crossing(k) = is_crossing(k) ? (ncrossings = ncrossings + 1, crossings[ncrossings] = k, 0) : 0
visited = sum [k = first_drawn:first_drawn + S - 1] take_crossing(k)
crossing_bytes(n) = n <= changes ? bytes_at(crossings[n]) : NaN
crossing_seconds(n) = n <= changes ? best_seconds[crossings[n]] : NaN

# ---- what was found --------------------------------------------------------------------------------------------------
smallest = dashed(best_names[first_drawn])
finding = N > 1 ? sprintf("The best algorithm of %d collectives and networks, by ranks and bytes", N) \
    : changes > 0 ? sprintf("Among %d ranks of %s, %s by %s is best up to %s, by %s from %s on", drawn, net_of(1), dashed(collective_of(1)), smallest, \
        size_text(crossing_bytes(1)), dashed(best_names[crossings[changes]]), size_text(crossing_bytes(changes))) \
    : sprintf("Among %d ranks of %s, %s by %s is best at every size", drawn, net_of(1), dashed(collective_of(1)), smallest)
subject = "simulated; a crossover is the least size at which the next algorithm is faster"
eval describe(finding, "A map of ranks against bytes, whose regions are named for the algorithm that is fastest there" \
    .(N > 1 ? "; one for each collective and network." : ", and below it the time of each algorithm over bytes, crossovers marked."))

# A region's name where there is room for it, which is measured in octaves.
octaves = log(last_bytes / first_bytes) / log(2)
room = octaves * (N > 1 ? 0.16 : 0.075)
fits(n) = log(to(n) / from(n)) / log(2) > room * strlen(name_of(n)) / 10.0

# Winners of map i whose name fits nowhere in it: they stand below it, beside their colour.
winner(i, k) = word(winner_lists[i], k)
is_named(i, name) = sum [n = 1:nintervals] (is_in(i, n) && name_of(n) eq name && fits(n)) > 0
unnamed(i) = sum [k = 1:words(winner_lists[i])] (!is_named(i, winner(i, k)))

# Crossovers and their sizes, of neighbours on two sides, since they may be close to each other: right below, left above.
set style textbox opaque noborder fillcolor rgb "#ffffff" margins 0.3, 0.2
marks = changes == 0 ? "" : ", crossings using (crossing_bytes(int($1))):(crossing_seconds(int($1))) with points pointtype 3 pointsize 1.4 " \
    ."linewidth 2.2 linecolor rgb '#000000' title 'crossover'"
do for [i = 0:(changes > 1 ? 1 : changes - 1)] {
    marks = marks.sprintf(", crossings using (int($1) %% 2 == %d ? crossing_bytes(int($1)) : NaN):(crossing_seconds(int($1)))" \
        .":(size_text(crossing_bytes(int($1)))) with labels boxed %s font ',10' notitle", \
        1 - i, i ? "right offset -1.0, 0.9" : "left offset 1.0, -0.9")
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
    do for [i = 1:shown] {
        column = N > 1 ? (i - 1) % 2 : 0
        row = N > 1 ? (i - 1) / 2 : 0
        set lmargin at screen 0.1 + 0.47 * column
        set rmargin at screen N > 1 ? 0.1 + 0.47 * column + 0.39 : 0.79
        set tmargin at screen N > 1 ? 1 - (95.0 + 310 * row) / height : 0.91
        set bmargin at screen N > 1 ? 1 - (95.0 + 310 * row + 205) / height : 0.56
        if (N > 1) { set title sprintf("%s on %s", dashed(collective_of(i)), net_of(i)) offset 0, -0.4 }
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
        plot froms using (is_in(i, $1) ? sqrt(from(int($1)) * to(int($1))) : NaN):(crowd(int($1))):(from(int($1))):(to(int($1))) \
                 :(crowd(int($1)) - 0.47):(crowd(int($1)) + 0.47):(number_of(name_of(int($1)))) with boxxyerror linecolor rgb variable notitle, \
             froms using (is_in(i, $1) && fits(int($1)) ? sqrt(from(int($1)) * to(int($1))) : NaN):(crowd(int($1))):(dashed(name_of(int($1)))) \
                 with labels font ',10' notitle, \
             for [k = 1:unnamed(i) > 0 ? words(winner_lists[i]) : 0] NaN with boxes \
                 linecolor rgb colour_of(winner(i, k)) title is_named(i, winner(i, k)) ? "" : dashed(winner(i, k))
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
        plot for [k = 1:words(everyone)] csv using (bytes(k)):6 smooth unique with lines linecolor rgb shade_of(k) \
                 dashtype dash_of(k) linewidth 2 notitle, \
             for [k = 1:words(everyone)] csv using (marked_bytes(k)):6 with points linecolor rgb shade_of(k) \
                 pointtype shape_of(k) pointsize 1 notitle, \
             for [k = 1:words(everyone)] NaN with linespoints linecolor rgb shade_of(k) dashtype dash_of(k) linewidth 2 \
                 pointtype shape_of(k) pointsize 1 title dashed(word(everyone, k)) @marks
    }
    unset multiplot
    unset xlabel
    unset ylabel
    set output
}
