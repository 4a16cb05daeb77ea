#!/bin/bash
# SPDX-License-Identifier: MIT
# The gloo backend: it conforms, tells of what goes wrong, and is timed as a library whose collectives are its own.
# Usage: test_gloo.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$commlab" bench)
quick="-n 2 --seconds 0 --iters 1 -w 1"
export CLAB_PROFILE="$scratch/none" # a machine that has none

# cells FIELD: of all rows, each once.
cells() { grep -v '^#' "$scratch/csv" | tail -n +2 | cut -d, -f"$1" | sort -u | paste -sd' '; }

times_what_is_gloo_s_own_without_a_prediction() {
    run 0 allreduce barrier --backend gloo -b 8 -e 1M $quick --net sim/nets/10gbe.net --csv "$scratch/csv" || return 1
    why="algorithms $(cells 2), sent $(cells 18), predicted $(cells 19)"
    [ "$(cells 2)" = native ] && [ -z "$(cells 18)$(cells 19)" ]
}
runs_schedules_as_well() {
    run 0 allreduce --algo all --backend gloo -n 3 -b 4000 -e 4000 $quick --csv "$scratch/csv" &&
        why="algorithms $(cells 2), wrong $(cells 17)" && [[ $(cells 2) == *native*ring* ]] && [ "$(cells 17)" = 0 ]
}
does_by_a_schedule_what_gloo_lacks() {
    run 0 reduce_scatter --backend gloo -b 64 -e 64 $quick --csv "$scratch/csv" && why="algorithm $(cells 2)" &&
        [ "$(cells 2)" = halving ] &&
        refuses 2 'the backend has none of its own' reduce_scatter --algo native --backend gloo
}
takes_an_interface_by_name_or_address() {
    CLAB_INTERFACE=lo run 0 --backend gloo -b 8 -e 8 $quick &&
        CLAB_INTERFACE=127.0.0.1 run 0 --backend gloo -b 8 -e 8 $quick
}
names_an_interface_that_is_not_there() {
    CLAB_INTERFACE=lo7 run 1 --backend gloo -b 8 -e 8 $quick
    why="$(cat "$scratch/err")"
    grep -q "gloo: 'lo7' is no interface and no address here; CLAB_INTERFACE" "$scratch/err"
}

# Pinned, a rank and the threads that work for it would wait for each other's slices of one core: eight times as long.
leaves_ranks_all_cores() {
    local mine
    mine=$(grep Cpus_allowed_list /proc/self/status)
    subject=()
    run 0 "$commlab" run -n 2 --backend gloo -- grep Cpus_allowed_list /proc/self/status
    local result=$?
    subject=("$commlab" bench)
    why="$(cat "$scratch/out"), not $mine"
    [ $result -eq 0 ] && [ "$(grep -c "${mine##*:}\$" "$scratch/out")" -eq 2 ]
}

# Programs of the suite that speak TAP themselves; their lines are ours.
conform() {
    local jobs=gloo
    is_full || { jobs=gloo:2 && leave_out 3; } # without 1, 3 and 4 ranks
    CMOCKA_MESSAGE_OUTPUT=TAP "$build/tests/test_conformance" $jobs || failed=1
}

if grep -q '^✗ gloo: ' "$build/probes.txt"; then
    skip 'built without gloo' all
    exit
fi
check_with inih times_what_is_gloo_s_own_without_a_prediction
check_each runs_schedules_as_well does_by_a_schedule_what_gloo_lacks takes_an_interface_by_name_or_address \
    names_an_interface_that_is_not_there leaves_ranks_all_cores
conform
exit $failed
