#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab grade h3: in the sandbox and without its walls, idle and busy, the same bytes; what a student's code does to itself
# costs its own points alone. Usage: test_h3.sh [BUILD].

. tests/cases.sh
subject=("$commlab" grade h3)
wrong=tests/homework/h3/wrong
echo "a class's secret" >"$scratch/salt" && echo "another class's secret" >"$scratch/salt2" && chmod 600 "$scratch"/salt* || exit 1

# points NUMBER FILE OPTIONS...: it has so many, and $scratch/json says why.
points() {
    local number=$1
    shift
    run 0 "$@" --student ada --json "$scratch/json" && why="not $number points: $(tail -n 4 "$scratch/out")" &&
        grep -q "^$number of 80 points" "$scratch/out"
}

gives_the_reference_all_points_with_any_salt() {
    points 80.00 tests/homework/h3/reference.c && points 80.00 tests/homework/h3/reference.c --salt "$scratch/salt" || return 1
    cp "$scratch/out" "$scratch/first"
    points 80.00 tests/homework/h3/reference.c --salt "$scratch/salt2" || return 1
    why='two salts, the same networks'
    ! cmp -s "$scratch/first" "$scratch/out"
}
says_what_the_starter_lacks() {
    points 0.00 labs/homework/h3/starter/mine.c && grep -q 'finish: no gradient is reduced' "$scratch/out"
}
names_a_mistake_in_the_sandbox() {
    run 0 "$wrong/arrival-order.c" --student ada && grep -q 'ranks start collectives in different order' "$scratch/out" &&
        run 0 "$wrong/wait-at-once.c" --student ada && grep -q 'you wait during the backward pass' "$scratch/out"
}
ends_what_does_not_end() {
    points 0.00 "$wrong/never-ends.c" && grep -q 'computes here without an end' "$scratch/out" &&
        points 0.00 "$wrong/crashes.c" && grep -q 'your program crashes here' "$scratch/out"
}
gives_the_same_bytes_idle_and_busy_with_and_without_walls() {
    local spinners=() i
    run 0 tests/homework/h3/fixed.c --student ada --salt "$scratch/salt" --json "$scratch/idle" || return 1
    for i in 1 2 3 4; do
        (while :; do :; done) &
        spinners+=($!)
    done
    run 0 tests/homework/h3/fixed.c --student ada --salt "$scratch/salt" --json "$scratch/busy" &&
        run 0 tests/homework/h3/fixed.c --student ada --salt "$scratch/salt" --without-walls --json "$scratch/bare"
    local good=$?
    kill "${spinners[@]}" && wait "${spinners[@]}" 2>/dev/null
    [ $good -eq 0 ] || return 1
    why="they differ: $(diff "$scratch/idle" "$scratch/busy"; diff "$scratch/idle" "$scratch/bare")"
    cmp -s "$scratch/idle" "$scratch/busy" && cmp -s "$scratch/idle" "$scratch/bare"
}

check_with 'sodium jansson' gives_the_reference_all_points_with_any_salt says_what_the_starter_lacks names_a_mistake_in_the_sandbox \
    ends_what_does_not_end gives_the_same_bytes_idle_and_busy_with_and_without_walls
exit $failed
