#!/bin/bash
# SPDX-License-Identifier: MIT
# A few faults of each kind (over ofi three without CLAB_TEST_FULL=1), by `make faults` there are hundreds.
# Usage: test_faults.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$build/tests/faults/faults")
export CLAB_FLIGHT=0

# detects BACKEND COUNT: every survivor of every fault returns the right error in time, and nothing is left. The seed is in
# the output.
detects() {
    timeout 120 "$build/tests/faults/faults" --backend "$1" --count "$2" >"$scratch/out" 2>"$scratch/err"
    local status=$?
    why="status $status: $(cat "$scratch/out" "$scratch/err")"
    [ $status = 0 ] && grep -q "\b$2 faults, 0 not as they should, 0 hangs, 0 left processes" "$scratch/out"
}

check detects_faults_on_shm detects shm 12
if "$commlab" run -n 1 --backend ofi true 2>/dev/null; then
    is_full && faults=12 || faults=3
    leave_out $((12 - faults))
    check detects_faults_on_ofi detects ofi $faults
else
    skip detects_faults_on_ofi 'built without libfabric'
fi
check names_a_kind_that_is_none refuses 2 "no kind 'x'" --only x

exit $failed
