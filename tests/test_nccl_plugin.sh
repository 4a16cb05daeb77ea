#!/bin/bash
# SPDX-License-Identifier: MIT
# The nccl backend where there is no GPU: it says what is missing. Usage: test_nccl_plugin.sh [BUILD].

. tests/cases.sh
subject=("$commlab" bench)

lacks() { refuses 3 "$1" allreduce --backend nccl -e 8 --csv "$scratch/refused" "${@:2}"; }
says_what_is_missing_for_a_gpu() { lacks 'or use another backend' -n 2 && lacks 'or use another backend' -n 1; }

if grep -q '^✗ nccl: ' "$build/probes.txt"; then
    skip 'built without nccl' all
    exit
fi
if [ -e /proc/driver/nvidia/version ]; then
    skip 'this machine has a driver for GPUs' says_what_is_missing_for_a_gpu
else
    check says_what_is_missing_for_a_gpu
fi
exit $failed
