#!/bin/bash
# SPDX-License-Identifier: MIT
# The CUDA device, over fakes that run its kernels on the processor and keep its memory from the program, held to what
# the processor's is: test_device.c and test_device_data.c. Usage: test_device_cuda.sh [BUILD].

. tests/cases.sh

if grep -q '^✗ nccl: ' "$build/probes.txt"; then
    skip 'built without nccl' all
    exit
fi
export LD_LIBRARY_PATH=$build/fakes
subject=(timeout 60)

# Every test of the program, none left out.
conforms() {
    run 0 "$build/tests/$1" --backend nccl -n 1 || return 1
    why="not all of its tests passed: $(cat "$scratch/err" "$scratch/out")"
    grep -q 'test_[a-z]' "$scratch/out" "$scratch/err" && ! grep -qiE 'skip|failed|not ok' "$scratch/out" "$scratch/err"
}

# Its table is printed, and said to be of fakes; no file is written.
is_timed() {
    subject=(timeout 60 "$commlab" device --backend nccl --bytes 256K --seconds 1ms)
    run 0 && grep -q '^# device: cuda, .*fake' "$scratch/out" && [ "$(grep -c '^  ' "$scratch/out")" -eq 15 ] ||
        return 1
    run 2 --csv "$scratch/refused" && grep -q 'this is no measurement, so nothing is written' "$scratch/err" &&
        [ ! -e "$scratch/refused" ]
}

check computes_a_training_step conforms test_device
check fills_checks_reduces_and_converts conforms test_device_data
check times_the_kernels_of_collectives conforms test_time_calls
check is_timed
exit $failed
