#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs in virtual time: what they print is the same each time, with many ranks and on a machine that is busy; the
# bench meets its prediction; labs run as they are.
# Usage: test_virtual_run.sh [BUILD].

. tests/cases.sh
ring=$build/labs/07-ring-vs-tree/after

# same N COMMAND...: N runs of it print the same bytes.
same() {
    local n=$1 i
    shift
    for ((i = 0; i < n; i++)); do
        run 0 "$@" || return 1
        [ $i -eq 0 ] && cp "$scratch/out" "$scratch/first"
        why="run $i differs: $(diff "$scratch/first" "$scratch/out" | head -n 4)"
        cmp -s "$scratch/first" "$scratch/out" || return 1
    done
    why='it printed nothing'
    [ -s "$scratch/first" ]
}

twenty_runs_under_load_print_the_same() {
    timeout 60 sh -c 'while :; do :; done' &
    local load=$!
    same 20 "$ring" -n 16 --backend sim --net dgx-h100 8 4096
    local status=$?
    kill $load
    wait $load 2>/dev/null
    return $status
}

sixty_four_ranks_print_the_same() { same 2 "$ring" -n 64 --backend sim --net superpod-h100 64 4100; }
run_starts_them_as_well() { same 2 "$commlab" run -n 12 --backend sim --net 10gbe --straggle 3=2 -- "$ring" 64; }
has_no_need_of_a_network() { writes 'time/ring/8' "$ring" -n 2 --backend sim 8; }
names_networks_that_there_are() {
    run 1 "$ring" -n 2 --backend sim --net no-such && grep -q 'commlab nets' "$scratch/err"
}

is_asked_for_with_a_network() { run 2 "$ring" -n 2 --net 10gbe 8 && grep -q -- '--backend sim' "$scratch/err"; }
is_not_fitted() { refuses 2 'nothing to measure' "$commlab" fit --backend sim; }

bench_meets_its_prediction() {
    same 2 "$commlab" bench all -n 16 --backend sim --net dgx-h100 -b 4K -e 64K -f 16 || return 1
    why="$(tail -n 1 "$scratch/out")"
    grep -q '^prediction: median |error| 0.0 %' "$scratch/out"
}

# Twice the same, all but what it says of the machine; the first call lasts as long as is predicted; nothing is
# measured.
trace_is_of_virtual_time() {
    local i dur predicted
    for i in 1 2; do
        run 0 "$ring" -n 4 --backend sim --net dgx-h100 --trace "$scratch/t.json" 8 4096 || return 1
        sed 's/"otherData".*//' "$scratch/t.json" >"$scratch/t$i"
        why="run 2 differs: $(cmp "$scratch/t1" "$scratch/t$i")"
        cmp -s "$scratch/t1" "$scratch/t$i" || return 1
    done
    dur=$(grep -o '"name":"allreduce (ring)","ts":0[.0-9]*,"dur":[0-9.]*' "$scratch/t.json" | sed -n '1s/.*://p')
    run 0 "$commlab" sim allreduce --algo ring --ranks 4 --bytes 8 --net dgx-h100 --json || return 1
    predicted=$(sed -n 's/.*"seconds": \([-0-9.e]*\).*/\1/p' "$scratch/out" | head -n 1)
    why="the first call lasts $dur us, predicted are $predicted s"
    awk -v a="$dur" -v b="$predicted" 'BEGIN { exit !(a > 999e3 * b && a < 1001e3 * b) }' || return 1
    run 0 "$commlab" trace "$scratch/t.json" || return 1
    why="$(cat "$scratch/out")"
    grep -q 'rank 3 (simulated)' "$scratch/out" && ! grep -q measured "$scratch/out" &&
        grep -q '"clocks":"virtual time, on dgx-h100"' "$scratch/t.json"
}

# Each quantity of the lab whose CSV file this is was predicted to within 2 %: the clock is exact, and the pattern
# known.
is_predicted() {
    why="$(awk -F, '/^#/ { next } !residual { for (i = 1; i <= NF; i++) if ($i == "residual_pct") residual = i; next }
        $residual != "" { n++; if ($residual > 2 || $residual < -2) print $2, $6, $residual "% off" }
        END { if (n < 8) print n + 0 " predictions" }' "$1")"
    [ -z "$why" ]
}

# Twice the same, all but the command and the date.
lab_of_64_ranks_prints_the_same() {
    same 2 "$commlab" lab 07 --backend sim --net dgx-h100 -n 64 --sizes 8,4096 --no-sweep --no-plot \
        --results "$scratch" && is_predicted "$scratch/07-sim-dgx-h100-64.csv"
}
lab_01_runs() {
    same 2 "$commlab" lab 01 --backend sim --net dgx-h100 -n 16 --iterations 1,4 --no-sweep --no-plot \
        --results "$scratch" && is_predicted "$scratch/01-sim-dgx-h100-16.csv"
}

# The monitored barrier, in a node and on eight: the straggler comes while rank 0 still hears others, and after.
lab_06_is_predicted() {
    local ranks
    for ranks in 8 64; do
        run 0 "$commlab" lab 06 --backend sim --net dgx-h100 -n $ranks --iterations 1600,6400 --no-sweep --no-plot \
            --results "$scratch" && is_predicted "$scratch/06-sim-dgx-h100-$ranks.csv" || return 1
    done
}

check_with inih twenty_runs_under_load_print_the_same sixty_four_ranks_print_the_same run_starts_them_as_well \
    has_no_need_of_a_network is_asked_for_with_a_network is_not_fitted names_networks_that_there_are \
    bench_meets_its_prediction lab_of_64_ranks_prints_the_same lab_01_runs lab_06_is_predicted
check_with 'inih jansson' trace_is_of_virtual_time

exit $failed
