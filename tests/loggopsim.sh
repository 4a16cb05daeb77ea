#!/bin/bash
# SPDX-License-Identifier: MIT
# Replays the GOAL export of every algorithm at 64 ranks by LogGOPSim, beside the kit's price of it, where LogGOPSim and
# its txt2bin are on the PATH (github.com/spcl/LogGOPSim, src/LogGOPSim: make).
#
#   tests/loggopsim.sh [BUILD]    exits with 1 if an algorithm in which a rank has one message at a time is off by 0.3 %
set -u
commlab=${1:-build}/commlab
for program in LogGOPSim txt2bin; do
    command -v $program >/dev/null && continue
    echo "skip: there is no $program on the PATH; build it from github.com/spcl/LogGOPSim; nothing is compared"
    exit 0
done
work=$(mktemp -d /tmp/commlab-test-XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT

# LogGP with L 3 us, o = g = 1 us, G 1 ns/B: the sender's core is free after o, and bytes flow through.
cat >"$work/loggp.net" <<'NET'
[net]
title = LogGP
gamma = 1 ns/B
[link inter]
alpha = 5 us
beta = 1 ns/B
[segment inter loggp]
up_to = any
o_send = 1 us
gap_send = 1 ns/B
latency = 3 us
o_recv = 1 us
gap_recv = 1 ns/B
buffers = yes
NET

# Several messages come to a rank at once: LogGOPSim's core is busy for their bytes, an adapter's is not.
several=' allreduce/star allreduce/tree allreduce/double_tree broadcast/flat broadcast/chain broadcast/scatter_allgather
 reduce/flat allgather/bruck gather/flat scatter/flat '

failed=0
printf '%-16s %-18s %14s %14s %9s\n' collective algorithm LogGOPSim,ns commlab,ns apart,%
while read -r collective algorithm; do
    "$commlab" show "$algorithm" -c "$collective" -n 64 -f goal --bytes 1M --reduce 1ns/B -o "$work/a.goal" &&
        txt2bin -i "$work/a.goal" -o "$work/a.bin" >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
    theirs=$(timeout 60 LogGOPSim -f "$work/a.bin" -L 3000 -o 1000 -g 1000 -G 1 -S 1000000000 -b |
        sed -n 's/^Maximum finishing.*: \([0-9]*\) (.*/\1/p')
    ours=$("$commlab" sim --goal "$work/a.goal" --net "$work/loggp.net" --engine full --json |
        sed -n 's/.*"seconds": \([0-9.e-]*\).*/\1/p' | head -n 1)
    awk -v c="$collective" -v a="$algorithm" -v t="${theirs:-0}" -v o="${ours:-0}" -v several="$several" 'BEGIN {
        apart = t > 0 ? 100 * (1e9 * o - t) / t : 100
        printf "%-16s %-18s %14.0f %14.0f %9.3f\n", c, a, t, 1e9 * o, apart
        exit (apart < 0 ? -apart : apart) > 0.3 && !index(several, c "/" a) }' || failed=1
done < <("$commlab" show | awk '/^[^ ]/ { c = $1; print c, $2; next } { print c, $1 }')
exit $failed
