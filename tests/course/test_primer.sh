#!/bin/bash
# SPDX-License-Identifier: MIT
# The primer's pages say what its programs print, and its programs are as small as promised. (What `commlab check` says
# of them, test_check.sh holds.)
# Usage: test_primer.sh [BUILD].

. tests/cases.sh
programs=$build/labs/primer
sim=(--backend sim --net 1gbe)
unset CLAB_RESULTS CLAB_BACKEND CLAB_NET CLAB_EMULATE

# code FILE: lines that are neither empty nor a comment.
code() { grep -cvE '^ *(//.*)?$' "$1"; }

# says PAGE TEXT: the page of a unit has these words.
says() {
    why="labs/primer/$1/lab.md does not say: $2"
    grep -qF -- "$2" "labs/primer/$1/lab.md"
}

# prints QUANTITY VALUE: the output has that row.
prints() {
    why="'$1' is not '$2' in: $(cat "$scratch/out")"
    [ "$(sed -n "s,^$1  *,,p" "$scratch/out")" = "$2" ]
}

each_unit_has_its_files() {
    local unit file
    for unit in labs/primer/p?-*; do
        for file in lab.md before.c after.c check.c hints/1.md hints/2.md hints/3.md; do
            why="there is no $unit/$file"
            [ -s "$unit/$file" ] || return 1
        done
        why="labs/primer/README.md does not name ${unit##*/}"
        grep -qF "(${unit##*/}/lab.md)" labs/primer/README.md || return 1
    done
}

programs_have_forty_lines_at_most_and_one_hole() {
    local file
    for file in labs/primer/p?-*/before.c labs/primer/p?-*/after.c; do
        why="$file: $(code "$file") lines, $(grep -c TODO "$file") TODO"
        [ "$(code "$file")" -le 40 ] && [ "$(grep -c TODO "$file")" -eq "$([[ $file == *before* ]] && echo 1 || echo 0)" ] ||
            return 1
    done
}

p1_says_what_it_adds_up() {
    run 0 "$programs/p1-hello/before" -n 4 && prints sum 20200 && says p1-hello 20200 &&
        run 0 "$programs/p1-hello/before" -n 4 2000 && prints sum 8004000 &&
        run 0 "$programs/p1-hello/after" -n 4 && prints sum 5050 && prints most_added 25 && says p1-hello 'each adds 25' &&
        run 0 "$programs/p1-hello/after" -n 3 && prints most_added 34 && says p1-hello 'one adds 34'
}

p2_says_the_times_of_1gbe() {
    run 0 "$programs/p2-pair/after" "${sim[@]}" && prints time/1000 '38.5 us' && says p2-pair '| 1,000 | 38.5 µs |' &&
        prints time/10000 '115 us' && says p2-pair '| 10,000 | 115 µs |' &&
        prints time/100000 '880.2 us' && says p2-pair '| 100,000 | 880.2 µs |' &&
        prints time/1000000 '8.532 ms' && says p2-pair '| 1,000,000 | 8,532 µs |' &&
        prints bytes_0 84 && says p2-pair '84'
}

p3_is_stuck_from_4096_numbers_on_and_names_both_ranks() {
    run 0 env CLAB_TIMEOUT=5s "$programs/p3-stuck/before" -n 2 4095 && says p3-stuck 'a run with 4095 works' &&
        run 1 env CLAB_TIMEOUT=0.5s "$programs/p3-stuck/before" -n 2 4096 &&
        grep -q 'rank 0: .*in send of 4096 double to rank 1: has waited' "$scratch/err" &&
        grep -q 'rank 1: .*in send of 4096 double to rank 0: has waited' "$scratch/err" || return 1
    local line='before.c:26: clab_send(comm, mine, count, CLAB_F64, right)'
    says p3-stuck "$line" && why="no '$line' in: $(cat "$scratch/err")" && grep -qF "$line" "$scratch/err"
}

# p4_row WAY MESSAGES BYTES TIME TEXT: of 4 ranks.
p4_row() {
    prints "messages/$1" "$2" && prints "bytes_sent/$1" "$3" && prints "time/$1" "$4" && says p4-sum "| $2 | $3 = $5 | $4 |"
}
p4_says_messages_bytes_and_times() {
    run 0 "$programs/p4-sum/after" -n 4 "${sim[@]}" && p4_row rank_0 3 '192 KiB' '3.523 ms' '3 S' &&
        p4_row ring 3 '192 KiB' '1.761 ms' '3 S' && p4_row library 6 '96 KiB' '1.021 ms' '1.5 S'
}
p4_says_which_way_is_fast_for_few_bytes() {
    run 0 "$programs/p4-sum/after" -n 8 "${sim[@]}" 8 && prints time/rank_0 '421 us' && prints time/ring '210.5 us' &&
        prints time/library '420.5 us' && says p4-sum '7 · 30 µs = 210 µs' && says p4-sum '14 · 30 µs = 420 µs'
}

# Who swaps the pointers in place of copying has a right solution, too; so has `sum.h` afterwards.
p4_lets_a_way_swap_its_arrays() {
    sed 's/copy(s->pass, s->other, s->count);/float *t = s->pass; s->pass = s->other; s->other = t;/' \
        labs/primer/p4-sum/after.c >"$scratch/swap.c"
    grep -q 's->other = t' "$scratch/swap.c" && run 0 "$commlab" check p4 --source "$scratch/swap.c"
}

p5_names_each_task_that_is_wrong() {
    local task
    run 1 "$programs/p5-which-one/before" -n 3 "${sim[@]}" && prints wrong 9 || return 1
    for task in 1 2 3 4 5 6 7 8; do
        grep -q "^rank [0-2], index [0-9]*: got nothing, expected [1-9][0-9]* (task $task)$" "$scratch/err" || return 1
    done
    grep -q '^commlab: error: rank 0 went on .* before the last rank had come (task 9)' "$scratch/err"
}

# Wrong answers alone: no rank takes another one for dead because that one has failed before.
p5_ends_in_order() {
    local i
    for i in 1 2 3 4 5 6 7 8; do
        run 1 "$programs/p5-which-one/before" -n 4 || return 1
        why="run $i: $(cat "$scratch/err")"
        ! grep -q -e 'dead or gone' -e '^commlab: flight' "$scratch/err" || return 1
        [ "$(grep -c '^commlab: error: rank [0-9]* (pid' "$scratch/err")" = 1 ] || return 1
    done
}

# Of a run of one case, too.
check_says_how_to_run_the_failed_case_again() {
    run 1 "$commlab" check p5 --source labs/primer/p5-which-one/before.c --case 3
    why="$(cat "$scratch/out" "$scratch/err")"
    grep -q 'FAIL 3 ' "$scratch/out" && grep -q -- '--case 3$' "$scratch/out"
}

check_each each_unit_has_its_files programs_have_forty_lines_at_most_and_one_hole p1_says_what_it_adds_up \
    p3_is_stuck_from_4096_numbers_on_and_names_both_ranks p5_ends_in_order \
    check_says_how_to_run_the_failed_case_again
check_with inih p2_says_the_times_of_1gbe p4_says_messages_bytes_and_times p4_says_which_way_is_fast_for_few_bytes p4_lets_a_way_swap_its_arrays \
    p5_names_each_task_that_is_wrong
exit $failed
