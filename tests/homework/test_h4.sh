#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab grade h4 in the sandbox: all points for the reference, the same bytes whatever the machine does, and its own harm
# for code that harms. Usage: test_h4.sh [BUILD]. Takes long.
#
# Without CLAB_TEST_FULL=1, three students for twenty; test_grade.sh grades h2 on a busy machine, and test_h2.c ends what is
# endless.

. tests/cases.sh
subject=("$commlab" grade h4)
reference=tests/homework/h4/reference.c
starter=labs/homework/h4/starter/mine.c
for i in 1 2 3; do
    echo "the secret of class $i" >"$scratch/salt$i" && chmod 600 "$scratch/salt$i" || exit 1
done

students=20
is_full || { students=3 && leave_out 17; }

# points NUMBER FILE OPTIONS...: it has so many.
points() {
    local number=$1
    shift
    run 0 "$@" && why="not $number points: $(cat "$scratch/out")" && grep -q "^$number of 80 points" "$scratch/out"
}

# wrong SED: a submission that is the reference with that change.
wrong() {
    sed "$1" "$reference" >"$scratch/mine.c"
    why="nothing is changed by $1"
    ! cmp -s "$reference" "$scratch/mine.c"
}

gives_the_reference_all_points_of_each_student() {
    local student
    for ((student = 1; student <= students; student++)); do
        points 80.00 "$reference" --student "s$student" --salt "$scratch/salt$((student % 3 + 1))" || return 1
    done
}

says_what_the_starter_lacks() {
    points 10.00 "$starter" --student ada && why=$(cat "$scratch/out") && grep -q 'as if all ranks were on one host' "$scratch/out" &&
        grep -q 'your plan asks nothing above 2 ranks' "$scratch/out" && grep -q 'largest error is [0-9]\{4\} %' "$scratch/out"
}

hides_other_machines_with_another_salt() {
    run 0 "$starter" --student ada --salt "$scratch/salt1" && cp "$scratch/out" "$scratch/first" &&
        run 0 "$starter" --student ada --salt "$scratch/salt2" || return 1
    why='two salts, the same machines'
    ! cmp -s "$scratch/first" "$scratch/out"
}

ends_what_does_not_end() {
    wrong 's/^    (void)n;$/    for (;;) n++;/' && points 10.00 "$scratch/mine.c" --student ada && why=$(cat "$scratch/out") &&
        grep -q 'h4_foresee: .*longer' "$scratch/out"
}
counts_what_came_before_a_crash() {
    wrong 's/^    (void)n;$/    *(volatile int *)8 = n;/' && points 10.00 "$scratch/mine.c" --student ada
}

# It crashes on all machines but the first: these have no times, and not those of the first.
takes_no_times_of_the_machine_before() {
    wrong 's/^    (void)n;$/    if (fabs(answers[0].seconds - 1.1316e-6) > 1e-9) __builtin_trap(); (void)n;/' &&
        points 20.00 "$scratch/mine.c" --student sample
}

gives_the_same_bytes_idle_and_busy_with_and_without_walls() {
    local spinners=() i good
    wrong 's/return f;/f.handshake = 0; return f;/' || return 1
    run 0 "$scratch/mine.c" --student ada --salt "$scratch/salt1" --json "$scratch/idle" || return 1
    for i in 1 2 3 4; do
        (while :; do :; done) &
        spinners+=($!)
    done
    run 0 "$scratch/mine.c" --student ada --salt "$scratch/salt1" --json "$scratch/busy" &&
        run 0 "$scratch/mine.c" --student ada --salt "$scratch/salt1" --without-walls --json "$scratch/bare"
    good=$?
    kill "${spinners[@]}" && wait "${spinners[@]}" 2>/dev/null
    [ $good -eq 0 ] || return 1
    why="they differ: $(diff "$scratch/idle" "$scratch/busy"; diff "$scratch/idle" "$scratch/bare")"
    cmp -s "$scratch/idle" "$scratch/busy" && cmp -s "$scratch/idle" "$scratch/bare"
}

check_with 'sodium jansson' gives_the_reference_all_points_of_each_student says_what_the_starter_lacks \
    hides_other_machines_with_another_salt counts_what_came_before_a_crash takes_no_times_of_the_machine_before
if is_full; then
    check_with 'sodium jansson' ends_what_does_not_end gives_the_same_bytes_idle_and_busy_with_and_without_walls
else
    leave_out 2
fi
exit $failed
