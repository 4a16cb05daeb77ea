#!/bin/bash
# SPDX-License-Identifier: MIT
# A few faults of each kind, by `make faults` there are hundreds.
# Usage: test_faults.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$build/tests/faults/faults")
export CLAB_FLIGHT=0

# detects BACKEND: every survivor of every fault returns the right error in time, and nothing is left. The seed is in
# the output.
detects() {
    timeout 120 "$build/tests/faults/faults" --backend "$1" --count 12 >"$scratch/out" 2>"$scratch/err"
    local status=$?
    why="status $status: $(cat "$scratch/out" "$scratch/err")"
    [ $status = 0 ] && grep -q '12 faults, 0 not as they should, 0 hangs, 0 left processes' "$scratch/out"
}

check detects_faults_on_shm detects shm
if "$commlab" run -n 1 --backend ofi true 2>/dev/null; then
    check detects_faults_on_ofi detects ofi
else
    skip detects_faults_on_ofi 'built without libfabric'
fi
check names_a_kind_that_is_none refuses 2 "no kind 'x'" --only x

exit $failed
