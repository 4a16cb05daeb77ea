# SPDX-License-Identifier: MIT
# FOLDER/peers.svg: our time over the best peer's, by size, a line per collective. Usage: gnuplot -c ratios.gp FOLDER
folder = ARG1
set terminal svg noenhanced size 900,560 font "DejaVu Sans,13" background "white"
set output folder . "/peers.svg"
set datafile separator ","
set logscale x 2
set logscale y
set xlabel "bytes of the whole buffer"
set ylabel "our time / the best peer's"
set xtics ("8" 8, "64" 64, "512" 512, "4 KiB" 4096, "32 KiB" 32768, "256 KiB" 262144, "2 MiB" 2097152)
set title system("sed -n 's/^# machine: //p' " . folder . "/samples.csv")
set key outside right
set grid
programs = system("awk -F, 'NR > 2 && !seen[$1 FS $2]++ { print $1 \"@\" $2 }' " . folder . "/cells.csv")
of(program, collective) = sprintf("< awk -F, '$1 \"@\" $2 == \"%s\" && $3 == \"%s\"' %s/cells.csv", program, collective, folder)
say(p) = p[1:strstrt(p, "@") - 1] . ", " . p[strstrt(p, "@") + 1:*] . " ranks"
collectives = "allreduce broadcast reduce allgather reduce_scatter alltoall gather scatter"
set arrow from graph 0, first 1 to graph 1, first 1 nohead lw 2 lc rgb "#888888"
plot for [p = 1:words(programs)] for [c = 1:words(collectives)] of(word(programs, p), word(collectives, c)) \
    using 4:6 with linespoints lc c pt c dt p title word(collectives, c) . ", " . say(word(programs, p))
