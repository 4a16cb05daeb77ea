#!/bin/bash
# SPDX-License-Identifier: MIT
# Every parser stands random input for a moment (make fuzz: for longer), and what makes it up finds a fault that
# is there. Usage: test_fuzz.sh [BUILD]. Takes long. Only in a full run: 31 cases.

. tests/cases.sh

planted=$build/tests/fuzz/planted
settings="conf net lab model" # what is nothing without inih

# fuzz STATUS SECONDS FILE...: planted, on these; what is left of its input is in $scratch/input.
fuzz() {
    local expected=$1 seconds=$2 status
    shift 2
    rm -f "$scratch/input"
    timeout 30 "$planted" -seed=7 -max_total_time="$seconds" -timeout=1 -artifact_prefix="$scratch/" "$@" \
        >"$scratch/out" 2>&1
    status=$?
    why="status $status: $(cat "$scratch/out")"
    [ $status = "$expected" ]
}
text() { printf %s "$2" >"$scratch/$1"; }

# Neither holds the fault, which is one change away.
finds_a_fault_and_leaves_its_input() {
    text a 'this is wron'
    text b 'gear'
    fuzz 134 20 "$scratch/a" "$scratch/b" && grep -q 'planted.c:.*does not hold' "$scratch/out" &&
        grep -q wrong "$scratch/input" && cp "$scratch/input" "$scratch/again" && fuzz 134 0 "$scratch/again"
}
ends_what_does_not_end() {
    text endless endless
    fuzz 142 0 "$scratch/endless" && [ "$(cat "$scratch/input")" = endless ]
}
leaves_nothing_where_there_is_no_fault() {
    text right right
    fuzz 0 0 "$scratch/right" && [ ! -e "$scratch/input" ]
}
runs() {
    why=$(tests/fuzz/run.sh "$build" $(is_full && echo 0.5 || echo 0.2) '' "$1" 2>&1)
}

check_each finds_a_fault_and_leaves_its_input ends_what_does_not_end leaves_nothing_where_there_is_no_fault
for source in tests/fuzz/fuzz_*.c; do
    name=${source##*/fuzz_}
    name=${name%.c}
    if [[ " $settings " == *" $name "* ]] && lacks inih; then
        skip 'built without inih' "stands_$name"
    elif [[ $name == @(store|introduce) ]] && lacks sodium; then
        skip 'built without sodium' "stands_$name"
    elif [ "$name" = trace ] && lacks jansson; then
        skip 'built without jansson' "stands_$name"
    elif [ "$name" = msccl ] && lacks expat; then
        skip 'built without expat' "stands_$name"
    else
        check "stands_$name" runs "$name"
    fi
done
exit $failed
