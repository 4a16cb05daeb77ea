#!/bin/bash
# SPDX-License-Identifier: MIT
# GOAL at the command line: `sim --goal` of programs that are no schedules, the network loggp, and what wants stages.
# Usage: test_goal.sh [BUILD].

. tests/cases.sh
subject=("$commlab")

# Rank 1's second receive does not wait for its first, and rank 0 computes beside: no stages.
printf '%s\n' 'num_ranks 2' 'rank 1 {' 'b requires a' 'a: recv 1001b from 0 tag 1' 'b: calc 5000' 'recv 1001b from -1 tag 2' '}' \
    'rank 0 {' 'l1: send 1001b to 1 tag 2' 'l2: calc 70000 cpu 1' 'l3: send 1001b to 1 tag 1' 'l3 irequires l2' '}' \
    >"$scratch/free.goal"

loggp=(--net loggp --L 3us --o 1us --g 2us --G 1ns/B)
# takes SECONDS ARGS...: sim says so.
takes() {
    local wanted=$1
    shift
    run 0 sim "$@" --json || return 1
    why="not $wanted s: $(grep seconds "$scratch/out")"
    awk -v wanted="$wanted" -F '[:,]' '/"seconds"/ { found = $2 } END { exit !(found / wanted < 1.000001 && found / wanted > 0.999999) }' \
        "$scratch/out"
}

runs_operations_as_they_are() {
    takes 70e-6 --goal "$scratch/free.goal" "${loggp[@]}" && # the computation, which is the longest
        sed 's/calc 70000/calc 0/' "$scratch/free.goal" >"$scratch/short.goal" &&
        takes 14e-6 --goal "$scratch/short.goal" "${loggp[@]}" || return 1 # 3 us between the sends, 6 of one, 5 of the calc
    writes 'engine events (operations one by one): 2 ranks, 2 messages' sim --goal "$scratch/free.goal" "${loggp[@]}"
}
reads_goal_from_a_pipe() {
    run 0 sim --goal <(cat "$scratch/free.goal") "${loggp[@]}"
}
prices_schedules_on_loggp() { # a ring of 4: 6 rounds of o + L + 1023 G + o
    takes 36.138e-6 allreduce --algo ring --ranks 4 --bytes 4K "${loggp[@]}" --receiver core &&
        writes 'LogGP: operations one by one' sim allreduce --algo ring --ranks 4 --net loggp
}
stages_and_operations_cost_the_same() {
    local seconds
    run 0 show doubling -n 8 --bytes 64K -f goal -o "$scratch/a.goal" &&
        run 0 sim --goal "$scratch/a.goal" --net 10gbe --engine full --json || return 1
    seconds=$(sed -n 's/.*"seconds": *\([0-9.e+-]*\).*/\1/p' "$scratch/out" | head -n 1)
    takes "$seconds" --goal "$scratch/a.goal" --net 10gbe
}
what_wants_stages_says_so() {
    local why_not="$scratch/free.goal:10: a schedule of stages has one cpu and one nic per rank, both 0; "
    refuses 2 "$why_not" verify --goal "$scratch/free.goal" && refuses 2 "$why_not" show --goal "$scratch/free.goal" &&
        refuses 2 "$why_not" sim --goal "$scratch/free.goal" --why --net 10gbe &&
        refuses 2 "$why_not" sim --goal "$scratch/free.goal" --calls 3 --net 10gbe &&
        refuses 2 "--why and --trace need stages, which network 'loggp'" sim allreduce --algo ring "${loggp[@]}" --why &&
        refuses 2 "engine full has no such ports" sim allreduce --algo ring "${loggp[@]}" --engine full
}
proves_stages_of_goal() {
    run 0 show ring -n 5 -f goal -o "$scratch/ring.goal" && writes 'all proved' verify --goal "$scratch/ring.goal"
}
figures_belong_to_their_network() {
    refuses 2 "--L, --o, --g, --G and --receiver describe --net loggp, not '10gbe'" sim allreduce --net 10gbe --L 1us &&
        refuses 2 "--alpha, --beta and --gamma describe --net flat, not 'loggp'" sim allreduce --net loggp --alpha 1us &&
        refuses 2 "there is no 'both'; there are: adapter core" sim allreduce --net loggp --receiver both
}
# The file is not kept: 600 ranks write 13 MB.
writes_goal_of_many_ranks() {
    run 0 show doubling -n 600 -f goal -o "$scratch/many.goal" || return 1
    why="last rank: $(grep -c '^rank 599 {' "$scratch/many.goal")"
    grep -q '^num_ranks 600' "$scratch/many.goal" && grep -q '^rank 599 {' "$scratch/many.goal" || return 1
    refuses 2 'more than 512 ranks are written by --format goal only' show doubling -n 600
}

check_with "inih jansson" runs_operations_as_they_are prices_schedules_on_loggp stages_and_operations_cost_the_same
check_with inih reads_goal_from_a_pipe what_wants_stages_says_so figures_belong_to_their_network
check proves_stages_of_goal
check writes_goal_of_many_ranks

exit $failed
