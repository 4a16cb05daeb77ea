#!/bin/bash
# SPDX-License-Identifier: MIT
# Hands random input to the fuzzing targets, which check what comes of it.
#
#   tests/fuzz/run.sh BUILD SECONDS [SEED [NAME...]]    BUILD/tests/fuzz/fuzz_NAME each; all there are; SECONDS in all
#
# - Input is made from what the kit has of the kind (seeds, below), and from tests/fuzz/corpus/NAME/: what has gone
#   wrong once, and from what failed the last time. By libFuzzer, if the targets were built with it, which keeps what led to new code for the next time in
#   BUILD/tests/fuzz/NAME/found; else by drive.c.
# - A line for each target; of one that fails also what it said, where its input is, and how to repeat it. Exits with 1
#   if any fails.
set -u
cd "$(dirname "$0")/../.." || exit 1

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
each=$(((seconds + ${#names[@]} - 1) / ${#names[@]}))
[ "$each" -gt 0 ] || each=1 # 0 is for ever, to libFuzzer

# lines NAME: each line of standard input as a seed of its own.
lines() { split --lines=1 --suffix-length=4 - "$work/seeds/$1-"; }

# seeds NAME: what the kit has for it, as files in $work/seeds.
seeds() {
    case $1 in
    units) sed -n 's/^[a-z_]* *= *\([0-9.]*\) *\([^ ;]*\).*/\1\2/p' sim/nets/*.net | sort -u | lines value ;;
    conf) cp sim/nets/*.net "$work/seeds" && cat labs/*/lab.conf >"$work/seeds/labs" ;;
    net) cp sim/nets/*.net "$work/seeds" && cp "$build"/*.net "$work/seeds" 2>/dev/null ;;
    lab) for folder in labs/[0-9]*; do cp "$folder/lab.conf" "$work/seeds/${folder##*/}"; done ;;
    *) echo "tests/fuzz/run.sh: no seeds are named for $1" >&2 && return 1 ;;
    esac
    cp -r "tests/fuzz/corpus/$1/." "$work/seeds" 2>/dev/null
    mv "$work"/failed-* "$work/seeds" 2>/dev/null # the last time's, first
    return 0
}

# fuzz NAME: its exit status is the target's.
fuzz() {
    local name=$1 target=$build/tests/fuzz/fuzz_$1 work=$build/tests/fuzz/$1 status
    rm -rf "$work/seeds" && mkdir -p "$work/found" "$work/seeds" && seeds "$name" || return 1
    # No target needs a minute; the limit is for one that neither ends nor heeds its own.
    {
        timeout --kill-after=5 $((each + 60)) "$target" -seed="$seed" -max_total_time="$each" -timeout=10 \
            -artifact_prefix="$work/failed-" -print_final_stats=1 "$work/found" "$work/seeds" >"$work/log" 2>&1 </dev/null
    } 2>/dev/null # a shell that reports how it died would say so twice
    status=$?
    if [ $status = 0 ]; then
        echo "✓ $name: $(sed -n 's/^stat::number_of_executed_units: *\(.*\)/\1 inputs/p; /^[0-9]* inputs,/p' "$work/log")"
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
