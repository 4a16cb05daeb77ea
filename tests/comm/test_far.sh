#!/bin/bash
# SPDX-License-Identifier: MIT
# Memory of clab_alloc that the program can not touch, as a GPU's: what runs on the backend far (far/far.c) says *p
# nowhere.
# Usage: test_far.sh [BUILD]. Takes long.

. tests/cases.sh
. tests/labs.sh
export CLAB_BACKENDS=$scratch/backends
export CLAB_PROFILE="$scratch/none" # a machine that has none

conforms() { run 0 "$build/tests/test_conformance" far; }
refuses_to_emulate_a_network_over_it() {
    subject=("$(ls -d "$build"/labs/01-*)/before")
    run 2 -n 2 --backend far --emulate 1gbe || return 1
    why="no remedy: $(cat "$scratch/err")"
    grep -q 'emulate 1gbe: the backend far moves a device.s memory, not this host.s: take another backend' \
        "$scratch/err"
}
fits_no_model_to_it() {
    subject=("$commlab" fit)
    run 3 --backend far -o "$scratch/refused" || return 1 # lacking, as of bench and lab
    why="no line: $(cat "$scratch/err")"
    grep -q "fit: far moves a GPU's memory, for which there is no model to fit" "$scratch/err" &&
        [ ! -e "$scratch/refused" ]
}

why=$(tests/far/build.sh "$CLAB_BACKENDS" 2>&1) || { echo "not ok builds"; echo "$why" | sed 's/^/# /'; exit 1; }
leave_out 3 # numbers of ranks (test_conformance.c)
check_each conforms refuses_to_emulate_a_network_over_it fits_no_model_to_it
# With nvcc the fakes show it of every lab (test_labs_nccl.sh): two are enough then.
labs='03 06'
lacks nccl && labs='00 01 02 03 04 05 06 07 08'
for lab in $labs; do
    for program in before after; do
        check lab_${lab}_${program}_says_the_same says_as_on_shm far $lab $program
    done
done
exit $failed
