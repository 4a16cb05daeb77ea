#!/bin/bash
# SPDX-License-Identifier: MIT
# The fake CUDA and NCCL (tests/fakes/README.md): programs that are linked against the real ones run over them.

. tests/cases.sh

fakes=$build/fakes

# Each says its cases itself, as cmocka has it.
try() {
    LD_LIBRARY_PATH=$fakes${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} timeout 100 "$build/tests/fakes/try_$1" || failed=1
}

# What needs no device of the real ones finds the fakes by their names, and says so.
every_version_says_fake() {
    local library
    for library in libcudart libnccl libcublas; do
        why="$library does not say that it is fake"
        strings -a "$fakes/$library".so.* | grep -q '^fake .* of commlab' || return 1
    done
}

what_nccl_logs_says_fake() {
    LD_LIBRARY_PATH=$fakes NCCL_DEBUG=VERSION timeout 100 "$build/tests/fakes/try_nccl" >"$scratch/out" 2>"$scratch/err"
    why=$(cat "$scratch/err")
    grep -q '^fake NCCL version 2\.' "$scratch/err" && ! grep -v '^fake' "$scratch/err" | grep NCCL
}

if lacks nccl; then
    skip 'built without nccl' every_version_says_fake what_nccl_logs_says_fake
    exit $failed
fi
check_having strings every_version_says_fake
check what_nccl_logs_says_fake
for program in cudart stream cublas nccl comm comm_ends; do
    try $program
done
exit $failed
