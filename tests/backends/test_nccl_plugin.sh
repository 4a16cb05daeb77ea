#!/bin/bash
# SPDX-License-Identifier: MIT
# The nccl backend where there is no GPU: it says what is missing. Usage: test_nccl_plugin.sh [BUILD].

. tests/cases.sh
subject=("$commlab" bench)

lacks() { refuses 3 "$1" allreduce --backend nccl -e 8 --csv "$scratch/refused" "${@:2}"; }
# Machine code of the A100 and the H200; PTX of the oldest that nvcc knows, for older ones, and of the H200, for later.
is_built_for_gpus_of_all_ages() {
    local targets
    targets=$(grep '^probed_cuda_targets' "$build/probes.mk")
    why=$targets
    grep -qF 'arch=compute_90,code=sm_90' <<<"$targets" && grep -qF 'arch=compute_90,code=compute_90' <<<"$targets" &&
        grep -qE 'arch=compute_(70|75|80),code=compute_(70|75|80)' <<<"$targets"
}
says_what_is_missing_for_a_gpu() { lacks 'or use another backend' -n 2 && lacks 'or use another backend' -n 1; }

if grep -q '^✗ nccl: ' "$build/probes.txt"; then
    skip 'built without nccl' all
    exit
fi
if grep -q 'arch=compute_90' "$build/probes.mk"; then
    check is_built_for_gpus_of_all_ages
else
    skip 'this nvcc compiles for no H200' is_built_for_gpus_of_all_ages
fi
if [ -e /proc/driver/nvidia/version ]; then
    skip 'this machine has a driver for GPUs' says_what_is_missing_for_a_gpu
else
    check says_what_is_missing_for_a_gpu
fi
exit $failed
