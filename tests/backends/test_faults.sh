#!/bin/bash
# SPDX-License-Identifier: MIT
# A few faults of each kind (without CLAB_TEST_FULL=1 over ofi four kinds), by `make faults` there are hundreds.
# Usage: test_faults.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$build/tests/faults/faults")
export CLAB_FLIGHT=0

# detects BACKEND COUNT [ARGS...]: every survivor of every fault returns the right error in time, and nothing is left. The seed is in
# the output.
detects() {
    timeout 120 "$build/tests/faults/faults" --backend "$1" --count "$2" "${@:3}" >"$scratch/out" 2>"$scratch/err"
    local status=$?
    why="status $status: $(cat "$scratch/out" "$scratch/err")"
    [ $status = 0 ] && grep -q "\b$2 faults, 0 not as they should, 0 hangs, 0 left processes" "$scratch/out"
}

# A rank that closes its sockets alone is found by the timeout, for which the others wait on the cores.
detects_each_on_ofi() {
    local kind
    for kind in kill stop leave count; do
        detects ofi 1 --only $kind || return 1
    done
}

check detects_faults_on_shm detects shm 12
if "$commlab" run -n 1 --backend ofi true 2>/dev/null; then
    leave_out 8
    if is_full; then check detects_faults_on_ofi detects ofi 12; else check detects_each_on_ofi; fi
else
    skip detects_faults_on_ofi 'built without libfabric'
fi
check names_a_kind_that_is_none refuses 2 "no kind 'x'" --only x

exit $failed
