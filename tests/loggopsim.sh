#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs GOAL programs by LogGOPSim and by the kit, side by side: the export of every algorithm among 4, 7, 16 and 64 ranks,
# and what Schedgen generates. It needs LogGOPSim and txt2bin on the PATH (github.com/spcl/LogGOPSim, src/LogGOPSim:
# make), and for the second part schedgen (src/Schedgen).
#
#   tests/loggopsim.sh [BUILD]    exits with 1 if an export is off by 0.5 %, or a file of Schedgen's by 1 %
#
# - Both have L 3 us, o = g = 1 us, G 1 ns/B, no rendezvous, and a core that is busy while bytes come in.
# - A file that LogGOPSim itself does not run to its end is named, and not compared: it sorts operations that begin
#   together in no stable order, and so may receive messages in another order than the file's.
set -u
commlab=${1:-build}/commlab
for program in LogGOPSim txt2bin; do
    command -v $program >/dev/null && continue
    echo "skip: there is no $program on the PATH; build it from github.com/spcl/LogGOPSim; nothing is compared"
    exit 0
done
work=$(mktemp -d /tmp/commlab-test-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
file=$work/a.goal failed=0 compared=0 most=0

theirs() { # ns, or nothing
    txt2bin -i "$file" -o "$work/a.bin" >"$work/log" 2>&1 &&
        timeout 120 LogGOPSim -f "$work/a.bin" -L 3000 -o 1000 -g 1000 -G 1 -S 1000000000 -b 2>"$work/log" |
        sed -n 's/^Maximum finishing.*: \([0-9]*\) (.*/\1/p'
}
ours() { # ns, or nothing
    "$commlab" sim --goal "$file" --net loggp --L 3us --o 1us --g 1us --G 1ns/B --receiver core --json 2>"$work/refused" |
        awk -F '[:,]' '/"seconds"/ { printf "%.0f", 1e9 * $2 }'
}

# compare NAME PERCENT: a line.
compare() {
    local t o apart
    t=$(theirs) o=$(ours)
    if [ -z "$t" ] || [ -z "$o" ]; then
        printf '%-36s %14s %14s\n' "$1" "${t:-none}" "${o:-none}"
        [ -z "$o" ] && sed "s|$work/||" "$work/refused"
        [ -z "$t" ] || failed=1
        return
    fi
    apart=$(awk -v t="$t" -v o="$o" 'BEGIN { d = 100 * (o - t) / t; printf "%.3f", d < 0 ? -d : d }')
    printf '%-36s %14s %14s %9s\n' "$1" "$t" "$o" "$apart"
    compared=$((compared + 1))
    awk -v a="$apart" -v limit="$2" 'BEGIN { exit a <= limit }' && failed=1
    most=$(awk -v a="$apart" -v m="$most" 'BEGIN { print (a > m ? a : m) }')
}

printf '%-36s %14s %14s %9s\n' file LogGOPSim,ns commlab,ns apart,%
while read -r collective algorithm; do
    for ranks in 4 7 16 64; do
        "$commlab" show "$algorithm" -c "$collective" -n $ranks -f goal --bytes 1M --reduce 1ns/B -o "$file" \
            2>"$work/log" && compare "$collective $algorithm, $ranks ranks" 0.5
    done
done < <("$commlab" show | awk '/^[^ ]/ { c = $1; print c, $2; next } { print c, $1 }')

patterns='binomialtreereduce binarytreebcast binomialtreebcast nwaydissemination pipelinedring pipelinedringdep doublering
 gather scatter linbarrier dissemination random_bisect random_bisect_fd_sym linear_alltoall linear_alltoallv
 allreduce_recdoub allreduce_ring resnet chained_dissem' # the last one sends to rank 9999999, which is not there
command -v schedgen >/dev/null || { echo 'skip: there is no schedgen on the PATH; its files are not compared' && patterns=; }
for pattern in $patterns; do
    for ranks in 8 64; do
        schedgen -p $pattern -s $ranks -d 4096 --segmentsize 512 --nway 3 -o "$file" >"$work/log" 2>&1 &&
            compare "schedgen $pattern, $ranks ranks" 1
    done
done
for pattern in ${patterns:+dissemination linear_alltoall binomialtreebcast}; do
    schedgen -p $pattern -s 16 -d 4096 --nb 100000 --nb-poll 10000 --cpu 1 -o "$file" >"$work/log" 2>&1 &&
        compare "schedgen $pattern, 16 ranks, computing" 1
done
echo "$compared compared, $most % apart at most"
exit $failed
