# SPDX-License-Identifier: MIT
# What the figures of all benchmarks together share (cmd/report/findings/figures.c writes their data):
#
# series,bytes,usec,usec_low,usec_high,busbw_GBps,crowded,source,line,runs
#
# Rows of a series follow one another, sizes rising. The finding and the subject are lines `# key: value`.
load "plots/style.gp"

series = sizes = ""
take_row(name, bytes) = (series = add(name, series), sizes = add_number(bytes, sizes), 0)
stats csv using (strcol(1) eq "series" ? 0 : take_row(strcol(1), strcol(2))) nooutput
N = words(series) > 10 ? 10 : words(series)
spaced(name) = strstrt(name, "_") ? head_of(name, "_")." ".spaced(tail_of(name, "_")) : name
name(i) = spaced(word(series, i))
is_of(i) = strcol(1) eq word(series, i)
bytes(i) = is_of(i) ? number(strcol(2)) : NaN
dodge(i) = 2 ** (0.10 * (i - (N + 1) / 2.0))
# An interval that the row does not have is the point itself.
low(c) = strcol(4) eq "" ? column(c) : column(4)
high(c) = strcol(5) eq "" ? column(c) : column(5)
finding = manifest("finding")
subject = manifest("subject")
smallest = number(word(sizes, 1))
greatest = largest(sizes)
# Sizes of the sweep, at most eight of them named.
every_nth = (words(sizes) + 7) / 8
decimal_text(b) = b >= 1e9 && b == 1e9 * floor(b / 1e9) ? sprintf("%g GB", b / 1e9) : b >= 1e6 && b == 1e6 * floor(b / 1e6) ? sprintf("%g MB", b / 1e6) \
    : b >= 1e3 && b == 1e3 * floor(b / 1e3) ? sprintf("%g kB", b / 1e3) : size_text(b)
own_size_axis = "set logscale x 2; set xtics ("
do for [i = 1:words(sizes)] {
    if ((i - 1) % every_nth == 0) { own_size_axis = own_size_axis.sprintf("%s'%s' %.0f", i > 1 ? ", " : "", decimal_text(number(word(sizes, i))), number(word(sizes, i))) }
}
own_size_axis = own_size_axis.")"
