# SPDX-License-Identifier: MIT
# The common look of all figures. A script sets `csv` and `out` (commlab does), loads this, and draws in both terminals:
#
#   do for [terminal in terminals] { eval begin(terminal) ; plot ... }
#
# - measured: a marker with an interval bar; predicted: a line of the same colour; a physical limit: dashed and grey.
# - Colours are Okabe and Ito's, told apart by most colour-blind readers; markers and dashes differ, too, so that
#   colour never carries meaning alone.
# - A title says what was found, computed from the data; the machine stands below in small print.
# Source of the palette: Okabe and Ito 2008, Color Universal Design.

set encoding utf8
set datafile separator comma
set datafile missing NaN
set datafile commentschars "#"

width = 1000
height = 600
terminals = "svg png"
if (!exists("png_scale")) png_scale = 2 # pixels of the PNG per unit of width and height. Tests take few: they cost most
# A slide is read from far away, and has a title and a line on its data of its own.
if (!exists("letters")) letters = 13 # of an SVG: their height
if (!exists("is_bare")) is_bare = 0  # 1: neither headline nor small print
begin(terminal) = terminal eq "svg" \
    ? sprintf("set terminal svg noenhanced size %d,%d font 'DejaVu Sans,%d' background '#ffffff'; label_offset = %g; " \
              ."set output out.'.svg'", width, height, letters, letters > 13 ? 1.5 : 0.7) \
    : sprintf("set terminal pngcairo noenhanced size %d,%d font 'DejaVu Sans,14' fontscale %g linewidth %g pointscale %g " \
              ."background '#ffffff'; label_offset = 0.5; set output out.'.png'", \
              png_scale * width, png_scale * height, 0.75 * png_scale, png_scale, png_scale)

# ---- one look for each series --------------------------------------------------------------------------------------
# Series 8 to 10 share a colour with 1 to 3, and differ in their markers. Line styles 1 to 10 are dashed apart, for what
# is predicted; 11 to 20 are solid, for what was measured.
array colours[10] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#0072b2", "#d55e00", "#009e73"]
array markers[10] = [7, 5, 9, 13, 11, 15, 6, 4, 2, 8]
do for [i = 1:10] {
    eval sprintf("set style line %d linecolor rgb '%s' pointtype %d pointsize 0.9 linewidth 1.6 dashtype %d", \
                 i, colours[i], markers[i], 1 + (i - 1) % 5)
    eval sprintf("set style line %d linecolor rgb '%s' pointtype %d pointsize 0.9 linewidth 1.4 dashtype 1", \
                 10 + i, colours[i], markers[i])
}
set style line 30 linecolor rgb "#000000" pointtype 12 pointsize 2.4 linewidth 2 dashtype 1 # a student's own prediction
set style line 98 linecolor rgb "#707070" linewidth 1.6 dashtype (2, 3) # a physical limit
set style line 97 linecolor rgb "#707070" linewidth 1.6 dashtype (8, 4) # another one
set style line 99 linecolor rgb "#d8d8d8" linewidth 0.8                 # the grid

# ---- axes ----------------------------------------------------------------------------------------------------------
set border 3 linecolor rgb "#404040"
set tics nomirror out textcolor rgb "#303030"
set grid xtics ytics linestyle 99
set key outside right top vertical noinvert Left reverse samplen 2.5 spacing 1.15 width -1
set bars 0.5

# Sizes by powers of 8 from 8 B: "8 B", "4 KiB", "2 MiB". Durations by decades: "10 µs". Set once, for all figures.
size_text(bytes) = bytes >= 2**30 ? sprintf("%.4g GiB", bytes / 2.0**30) : bytes >= 2**20 ? sprintf("%.4g MiB", bytes / 2.0**20) \
    : bytes >= 1024 ? sprintf("%.4g KiB", bytes / 1024.0) : sprintf("%g B", bytes)
time_text(s) = s >= 1000 ? sprintf("%.0f s", s) : s >= 1 ? sprintf("%.3g s", s) : s >= 1e-3 ? sprintf("%.3g ms", 1e3 * s) \
    : s >= 1e-6 ? sprintf("%.3g µs", 1e6 * s) : sprintf("%.3g ns", 1e9 * s)
# Two digits that count, never as 1.1e+03: "5.3", "58", "530", "1,100".
grouped(n) = n < 1000 ? sprintf("%.0f", n) : grouped(floor(n / 1000)).sprintf(",%03.0f", n - 1000 * floor(n / 1000))
decade(v) = 10.0 ** (floor(log10(v)) - 1)
two_digits(v) = v < 99.5 ? sprintf("%.2g", v) : grouped(decade(v) * floor(v / decade(v) + 0.5))
factor_text(f) = sprintf(f >= 10 ? "%.0f" : "%.1f", f)
size_axis = "set logscale x 2; set xtics ("
do for [i = 1:11] { size_axis = size_axis.sprintf("%s'%s' %d", i > 1 ? ", " : "", size_text(8**i), 8**i) }
size_axis = size_axis.")"
time_axis = "set logscale y 10; set ytics ("
do for [i = -9:6] {
    time_axis = time_axis.sprintf("%s'%s' 1e%d", i > -9 ? ", " : "", time_text(10.0**i * 1.0000001), i)
    do for [j = 2:9] { time_axis = time_axis.sprintf(", '' %de%d 1", j, i) }
}
time_axis = time_axis.")"
# The same with more labels, for a decade or two: "2 µs", "5 µs", "10 µs".
fine_time_axis = "set logscale y 10; set ytics ("
do for [i = -9:2] {
    do for [j = 1:9] { fine_time_axis = fine_time_axis.sprintf("%s'%s' %de%d %d", i > -9 || j > 1 ? ", " : "", \
        j == 1 || j == 2 || j == 5 ? time_text(j * 10.0**i * 1.0000001) : "", j, i, !(j == 1 || j == 2 || j == 5)) }
}
fine_time_axis = fine_time_axis.")"
# The same for the other axis, and without labels, for panels side by side.
time_axis_x = "set logscale x 10; set xtics (".substr(time_axis, strstrt(time_axis, "(") + 1, strlen(time_axis))
unlabelled_time_axis = "set logscale y 10; set ytics ("
do for [i = -9:6] { unlabelled_time_axis = unlabelled_time_axis.sprintf("%s'' 1e%d", i > -9 ? ", " : "", i) }
unlabelled_time_axis = unlabelled_time_axis.")"

# An array is drawn by `plot A using (x_of($1)):(A[int($1)])`: $1 counts its elements; of a file with commas it has no $2.

# ---- text ------------------------------------------------------------------------------------------------------------
# Words of a file are compared, counted and shown. They never become a command: eval, system(), a pipe and names of files
# get our own words only, since a results file may come from anyone.

# The number that a text is, 0 of an empty one. (real() refuses "2e-06", which has no point.)
with_point(text) = strstrt(text, "e") && !strstrt(text, ".") ? head_of(text, "e").".0e".tail_of(text, "e") : text
number(text) = text eq "" ? 0 : real(with_point(text))
starts_with(text, prefix) = strlen(text) > strlen(prefix) && substr(text, 1, strlen(prefix)) eq prefix
# The piece before the first `mark` (all of it where there is none), and what follows that mark.
head_of(text, mark) = strstrt(text, mark) ? substr(text, 1, strstrt(text, mark) - 1) : text
tail_of(text, mark) = strstrt(text, mark) ? substr(text, strstrt(text, mark) + strlen(mark), strlen(text)) : ""
part(text, n) = n <= 1 ? head_of(text, "/") : part(tail_of(text, "/"), n - 1) # part("time/ring/8", 2): "ring"
dashed(name) = strstrt(name, "_") ? head_of(name, "_")."-".dashed(tail_of(name, "_")) : name
# Lists of words: where `w` stands, from 1 (0: nowhere); the list with `w`, once; the same of numbers, in order.
within(w, list) = strstrt(" ".list." ", " ".w." ")
place_of(w, list) = within(w, list) ? words(substr(" ".list, 1, within(w, list))) + 1 : 0
add(w, list) = within(w, list) ? list : list.(list eq "" ? "" : " ").w
largest(list) = number(word(list, words(list)))
add_number(w, list) = within(w, list) ? list : list eq "" ? w : number(w) > largest(list) ? list." ".w : insert(w, list)
insert(w, list) = number(w) < number(word(list, 1)) ? w." ".list : word(list, 1)." ".insert(w, tail_of(list, " "))

# ---- what the data says of itself ------------------------------------------------------------------------------------
# Lines `# key: value`. stats looks at every line: the commas in front of its 0 do our work.
set datafile separator "\t"
set datafile commentschars ""
is_key(line) = line[1:2] eq "# " && strstrt(line, ": ") > 3
nkeys = 0
stats csv using (nkeys = nkeys + is_key(strcol(1)), 0) nooutput
array keys[nkeys + 1]
array key_values[nkeys + 1]
nkeys = 0
take_key(line) = (nkeys = nkeys + 1, keys[nkeys] = head_of(line[3:*], ": "), key_values[nkeys] = tail_of(line, ": "), 0)
stats csv using (is_key(strcol(1)) ? take_key(strcol(1)) : 0) nooutput
set datafile separator comma
set datafile commentschars "#"
# The value of `key`, "" if there is none.
key_at(key) = int(sum [k = 1:nkeys] (keys[k] eq key ? k : 0))
manifest(key) = key_at(key) ? key_values[key_at(key)] : ""
# The number that stands before `mark` in a text, 0 where there is none: 2 before " cores" in "AMD EPYC, 2 cores".
last_word(text) = words(text) ? word(text, words(text)) : ""
number_before(mark, text) = strstrt(text, mark) ? number(last_word(head_of(text, mark))) : 0

# ---- headline and small print ----------------------------------------------------------------------------------------
# Each puts the text into a variable, and gives a command that names that variable.
small_print(text) = is_bare ? "" : (small_text = text, \
    sprintf("set label 99 small_text at screen 0.012, screen %.4f left noenhanced font ',10' textcolor rgb '#606060'", 9.0 / height))
# At the top: the headline, smaller where it would not fit, and below it what is drawn.
headline_size(finding) = strlen(finding) > 100 ? 1700.0 / strlen(finding) : 17
headline(finding, subject) = is_bare ? "" : (head_text = finding, subject_text = subject, \
    sprintf("set label 97 head_text at screen 0.012, screen %.4f left noenhanced font ',%.3g'; ", 1 - 26.0 / height, headline_size(finding)) \
    .sprintf("set label 98 subject_text at screen 0.012, screen %.4f left noenhanced font ',12' textcolor rgb '#404040'", 1 - 50.0 / height))
# For those who can not see the figure, and for the report: OUT.txt.
describe(finding, alt) = (head_text = finding, alt_text = alt, \
    "set print out.'.txt'; print 'title: '.head_text; print 'alt: '.alt_text; set print")

# Where a lab ran, for the small print: in virtual time this machine does not matter, and has no cores that ranks would share.
is_virtual = manifest("time") ne ""
cores = is_virtual ? 0 : int(number_before(" cores", manifest("machine")))
place = is_virtual ? sprintf("virtual time on %s: the same on every machine", manifest("net")) : manifest("machine") \
    .(manifest("emulate") eq "" ? "" : sprintf("; emulated network: %s", manifest("emulate")))
# Of fewer than six pairs low..high is their range: no interval covers with 95 % (core/base/stats.h).
npairs = int(number(manifest("pairs")))
nswept = int(number(manifest("sweep_pairs")))
pairs_text(n) = n == 1 ? "single values" : sprintf("ranges of %d", n)
measured_title = is_virtual && is_bare ? "simulated" : "measured"
measured_text = is_virtual ? "exact" : npairs > 1 && npairs < 6 ? sprintf("medians of %d pairs of runs with ranges, not 95 %% intervals", npairs) \
    : npairs == 1 ? "one pair of runs, so no intervals" : "medians of pairs of runs with 95 % intervals" \
      .(nswept > 0 && nswept < 6 ? sprintf(" (other numbers of ranks: %s)", pairs_text(nswept)) : "")

# ---- rows of a lab's CSV ---------------------------------------------------------------------------------------------
# lab,program,backend,net,ranks,quantity,unit,value,low,high,predicted,residual_pct
# x(program, prefix): the number behind `prefix` in the quantity ("time/ring/8"), NaN in rows of others.
x(program, prefix) = strcol(2) eq program && starts_with(strcol(6), prefix) && int(column(5)) == ranks \
    ? number(substr(strcol(6), strlen(prefix) + 1, strlen(strcol(6)))) : NaN
