#!/bin/bash
# SPDX-License-Identifier: MIT
# Hands random input to the fuzzing targets, which check what comes of it.
#
#   tests/fuzz/run.sh BUILD SECONDS [SEED [NAME...]]    BUILD/tests/fuzz/fuzz_NAME each; all there are; SECONDS in all
#
# - Input is made from what the kit has of the kind (seeds.sh), from tests/fuzz/corpus/NAME/: what has gone wrong once,
#   and from what failed the last time. By libFuzzer, if the targets were built with it, which keeps what led to new
#   code for the next time in BUILD/tests/fuzz/NAME/found; else by drive.c.
# - A line for each target; of one that fails also what it said, where its input is, and how to repeat it. Exits with 1
#   if any fails.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/fuzz/seeds.sh

build=${1:?usage: tests/fuzz/run.sh BUILD SECONDS [SEED [NAME...]]}
seconds=${2:?SECONDS is missing}
seed=${3:-$(((RANDOM << 15 | RANDOM) + 1))}
names=("${@:4}")
if [ ${#names[@]} = 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=${source##*/fuzz_}
        names+=("${name%.c}")
    done
fi
each=$(awk "BEGIN { print $seconds / ${#names[@]} }")
grep -q fuzzer "$build/flags" && each=$(awk "BEGIN { print int($each + 0.999) }") # whole ones only, and 0 is for ever

# fuzz NAME: its exit status is the target's.
fuzz() {
    local name=$1 target=$build/tests/fuzz/fuzz_$1 work=$build/tests/fuzz/$1 seeds=$build/tests/fuzz/$1/seeds status
    rm -rf "$seeds" && mkdir -p "$work/found" "$seeds" && seeds "$name" || return 1
    mv "$work"/failed-* "$seeds" 2>/dev/null
    # No target needs a minute; the limit is for one that neither ends nor heeds its own.
    {
        timeout --kill-after=5 $((${each%.*} + 60)) "$target" -seed="$seed" -max_total_time="$each" -timeout=10 \
            -artifact_prefix="$work/failed-" -print_final_stats=1 \
            "$work/found" "$seeds" </dev/null >"$work/log" 2>&1
    } 2>/dev/null # a shell that reports how it died would say so twice
    status=$?
    if [ $status = 0 ]; then
        echo "✓ $name: $(sed -n 's/^stat::number_of_exec[a-z_]*: *\(.*\)/\1 inputs/p; /^[0-9]* inputs,/p' "$work/log")"
        return
    fi
    echo "✗ $name: exit status $status; again: $target $(ls "$work"/failed-* 2>/dev/null | tail -n 1)"
    grep -E '^(tests/|.*(ERROR|runtime error|SUMMARY):)' "$work/log" | head -n 5 | sed 's/^/    /'
    echo "    its output is in $work/log"
    return 1
}

failed=0
echo "seed $seed, $each s each"
for name in "${names[@]}"; do
    fuzz "$name" || failed=1
done
exit $failed
