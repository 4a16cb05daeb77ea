#!/bin/bash
# SPDX-License-Identifier: MIT
# Lab 02: in virtual time it follows the closed form of its lab.md, and its traces have both lanes; it says who makes
# progress.
# Usage: test_overlap.sh [BUILD]. Takes long.

. tests/cases.sh
folder=labs/02-no-overlap
csv=02-sim-dgx-h100-8.csv

lab() {
    local where=$1
    shift
    run 0 "$commlab" lab 02 --results "$scratch/$where" --no-plot "$@"
}

rows() { grep -v '^#' "$1"; }

runs_in_virtual_time() { lab one --backend sim --net dgx-h100 -n 8 && [ -s "$scratch/one/$csv" ]; }

# What the lab's text derives, out of what the programs report of their parts: measured and predicted within 2 % of it.
follows_the_closed_form() {
    why=$(rows "$scratch/one/$csv" | awk -F, '
        { v[$2, $6] = $8; p[$2, $6] = $11 }
        function off(what, got, expected) {
            if (!(got > 0) || (got / expected - 1) ^ 2 > 0.02 ^ 2) printf "%s is %g, not %g; ", what, got, expected
        }
        END {
            L = 8; F = v["after", "forward"]; B = v["after", "backward"]
            U = v["after", "update"]; M = v["after", "comm"]
            before = F + B + M + U
            last = F + B + M / L; wire = F + B / (2 * L - 1) + M
            after = (last > wire ? last : wire) + U
            off("before", v["before", "step_time"], before); off("before predicted", p["before", "step_time"], before)
            off("after", v["after", "step_time"], after); off("after predicted", p["after", "step_time"], after)
            exposed = after - F - B - U
            off("exposed", v["after", "exposed_comm"], exposed)
            off("exposed predicted", p["after", "exposed_comm"], exposed)
            off("overlap", v["after", "overlap"], 100 * (1 - exposed / M))
            off("ratio", v["after/before", "ratio"], before / after)
        }')
    [ -z "$why" ]
}

# A trace of computation and communication: some of it is hidden in after, none in before.
traces_have_both_lanes() {
    local program overlap
    for program in before after; do
        run 0 "$build/$folder/$program" -n 4 --backend sim --net dgx-h100 --trace "$scratch/$program.json" 3000 &&
            run 0 "$commlab" trace "$scratch/$program.json" || return 1
        overlap=$(awk '/rank 0 \(simulated\)/ { print $NF }' "$scratch/out")
        why="$program: overlap '$overlap'"
        [ -n "$overlap" ] || return 1
        awk -v o="$overlap" -v p=$program 'BEGIN { exit !(p == "before" ? o == 0 : o > 5) }' || return 1
    done
}

says_who_makes_progress() {
    lab wire --emulate 1gbe --no-sweep --pairs 1 --options 2000 || return 1
    why=$(cat "$scratch/out")
    grep -q '^# progress beside computation: thread (the wire is emulated' "$scratch/out" &&
        grep -q '^# progress: thread' "$scratch/wire/02-shm-1gbe-2.csv" || return 1
    CLAB_PROGRESS=manual lab plain --emulate none --no-sweep --pairs 1 --options 2000 || return 1
    why=$(cat "$scratch/out")
    grep -q 'manual (CLAB_PROGRESS says so), so expect little overlap or none' "$scratch/out"
}

lab none --backend sim --net dgx-h100 -n 2
if grep -q 'without inih' "$scratch/err"; then
    skip 'built without inih, so lab.conf can not be read' all
    exit 0
fi
check_each runs_in_virtual_time follows_the_closed_form traces_have_both_lanes says_who_makes_progress
exit $failed
