#!/bin/bash
# SPDX-License-Identifier: MIT
# Each lab on the backend nccl, over the fakes of CUDA and NCCL: with the same files it finds what it finds on shm. How
# long anything takes there says nothing.
# Usage: test_labs_nccl.sh [BUILD].

. tests/cases.sh
. tests/labs.sh
export CLAB_PROFILE="$scratch/none" # a machine that has none
export LD_LIBRARY_PATH=$build/fakes${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

if lacks nccl; then
    skip 'built without nccl' measures_nothing_on_fakes says_once_that_there_is_no_gpu labs_say_the_same
    exit
fi
lab_refuses() {
    subject=("$commlab" lab)
    refuses 3 "$@" --results "$scratch/refused"
}
measures_nothing_on_fakes() { lab_refuses 'this is no measurement, and nothing is run' 01 --backend nccl; }
says_once_that_there_is_no_gpu() { CLAB_FAKE_GPUS=0 lab_refuses '--backend nccl: ' all --backend nccl; }
check_each measures_nothing_on_fakes says_once_that_there_is_no_gpu
for lab in 00 01 02 03 04 05 06 07 08; do
    for program in before after; do
        check lab_${lab}_${program}_says_the_same says_as_on_shm nccl $lab $program
    done
done
exit $failed
