#!/bin/bash
# SPDX-License-Identifier: MIT
# The student's path: start, next, status, hint and reset, and work/progress.txt, in a kit of its own.
# Usage: test_path.sh [BUILD].

. tests/cases.sh
kit=$scratch/kit
mkdir -p "$kit"/{build,labs/primer} && cp -r plots "$kit/" && cp "$commlab" "$kit/build/" &&
    cp -r labs/0[78]-* "$kit/labs/" && cp -r labs/primer/p[12]-* "$kit/labs/primer/" &&
    ln -s build/commlab "$kit/commlab" && cd "$kit" || exit 1
commlab=./commlab
subject=("$commlab")
export CLAB_PROFILE=$kit/build/machine.net
for folder in labs/*/ labs/primer/*/; do [ $folder = labs/primer/ ] || touch "$folder/check.c"; done
touch "$CLAB_PROFILE" # as if `fit` had run: only next asks whether it is there

# Each case begins as a student does, with an empty work/.
anew() { rm -rf work; }

# did UNIT EVENT [DETAIL]: as if it had been done at this minute of an hour
did() {
    mkdir -p work && printf '2026-01-02T03:%02d:00Z  %-4s %-9s  %s\n' "${minute:-0}" "$1" "$2" "${3-}" >>work/progress.txt
}

# The command that `next` says: the only line that is indented.
says_next() {
    run 0 next "${@:2}" || return 1
    why="next says: $(cat "$scratch/out")"
    [ "$(grep '^    ' "$scratch/out")" = "    ./commlab $1" ]
}

# ---- start, reset ---------------------------------------------------------------------------------------------------

start_gives_a_copy_and_says_what_to_do() {
    anew
    writes 'Your file:      work/p1/mine.c' start p1 && cmp -s work/p1/mine.c labs/primer/p1-hello/before.c &&
        grep -q '^Next: edit work/p1/mine.c; .* ./commlab check p1$' "$scratch/out" && says_next 'check p1' || return 1
    why="not 3 to 6 lines of the task between the first empty line and the one before the file: $(cat "$scratch/out")"
    local lines
    lines=$(sed -n '2,/^The whole task/p' "$scratch/out" | grep -vc '^$\|^The whole')
    [ "$lines" -ge 3 ] && [ "$lines" -le 6 ]
}
# A table is one thing: all of its rows, below each other, without its rule of dashes and bars.
start_cuts_no_table() {
    anew
    cp labs/08-buckets/lab.md "$scratch/lab.md"
    { printf '# Lab 08 · x\n\n## Task\n\nUse these:\n\n| call | what it does |\n|---|---|\n'
        for i in 1 2 3 4 5 6 7 8 9; do printf '| [`f%d(µ)`](x.md) | it is **%d** |\n' $i $i; done
        printf '\nNot this.\n\n    ./commlab check 08\n'; } >labs/08-buckets/lab.md
    run 0 start 8
    local status=$?
    mv "$scratch/lab.md" labs/08-buckets/lab.md
    why="$(cat "$scratch/out")"
    [ $status = 0 ] && grep -qx '`f1(µ)`  it is 1' "$scratch/out" && grep -qx '`f9(µ)`  it is 9' "$scratch/out" &&
        grep -qx 'call     what it does' "$scratch/out" && ! grep -q '^|' "$scratch/out"
}
start_never_overwrites() {
    anew
    run 0 start p1 && echo '// mine' >work/p1/mine.c && refuses 2 'work/p1/mine.c is there already' start p1 &&
        grep -q './commlab reset p1' "$scratch/err" && [ "$(cat work/p1/mine.c)" = '// mine' ]
}
reset_keeps_what_was_there() {
    anew
    run 0 start 7 || return 1
    for i in 1 2; do
        echo "// try $i" >work/07/mine.c
        writes "kept in work/07/mine.$i.c" reset 7 && grep -q '^work/07/mine.c is a fresh copy' "$scratch/out" || return 1
    done
    why="not kept: $(head work/07/*)"
    [ "$(cat work/07/mine.1.c work/07/mine.2.c)" = $'// try 1\n// try 2' ] &&
        cmp -s work/07/mine.c labs/07-ring-vs-tree/before.c
}
reset_needs_a_start() {
    anew
    refuses 2 'there is no work/p2/mine.c yet; type ./commlab start p2' reset p2
}

# ---- next -----------------------------------------------------------------------------------------------------------

next_begins_with_the_primer() {
    anew
    says_next 'start p1' && grep -q 'read labs/primer/p1-hello/lab.md' "$scratch/out"
}
next_goes_from_unit_to_unit() {
    anew
    did p1 passed && says_next 'start p2' && grep -q '^You have passed p1. Compare work/p1/mine.c' "$scratch/out" || return 1
    did p2 passed && says_next card || return 1
    echo >work/card.txt && says_next 'predict 07' || return 1
    did 07 predicted && says_next 'lab 07' || return 1
    did 07 ran && says_next 'start 07' || return 1
    run 0 start 07 && says_next 'check 07' && grep -q 'work/07/mine.c' "$scratch/out" || return 1
    did 07 failed 'case 3' && says_next 'check 07' && grep -q '(case 3); type ./commlab hint 07' "$scratch/out" || return 1
    did 07 passed && says_next 'predict 08' && grep -q '^You have passed 07' "$scratch/out" || return 1
    for event in predicted ran passed; do did 08 $event; done
    says_next report
}
next_measures_the_machine_before_the_first_lab() {
    anew
    did p1 passed && did p2 passed && CLAB_PROFILE=$scratch/none says_next fit
}
next_takes_a_unit() {
    anew
    echo >card.txt && mkdir work && mv card.txt work/ && says_next 'predict 08' 8 && says_next 'start p2' pair
}

next_says_that_a_unit_has_passed() {
    anew
    did 07 passed && says_next 'start p1' 07 && grep -q '^Lab 07 has passed. The first unit that is open is p1.$' "$scratch/out"
}

# ---- hint, status ---------------------------------------------------------------------------------------------------

hint_reveals_one_more_each_time() {
    local words=('' 'hint 1 of 3. The next one: ' 'hint 2 of 3. The next one: ' 'the last of 3 hints. Read ')
    anew
    for i in 1 2 3; do
        run 0 hint 07 || return 1
        why="hint $i: $(cat "$scratch/out")"
        [ "$(grep -c '^# Hint' "$scratch/out")" = $i ] && grep -q "^That was ${words[i]}" "$scratch/out" &&
            ! grep -q 'SPDX' "$scratch/out" || return 1
    done
    run 0 hint 07 && grep -q '^That was the last of 3 hints. Read labs/07-ring-vs-tree/lab.md' "$scratch/out" || return 1
    why="noted: $(cat work/progress.txt)"
    [ "$(grep -c ' hinted ' work/progress.txt)" = 3 ]
}
status_says_where_one_is() {
    anew
    minute=1 did p1 started && minute=3 did p1 failed 'case 2' && run 0 hint p1 && writes 'failed: case 2' status || return 1
    why="not 1 check and 1 hint: $(cat "$scratch/out")"
    grep -qE '^ *p1 .* 1 1 of 3 ' "$scratch/out" && grep -qE '^ *p2 +not begun +0 0 of 3 +- ' "$scratch/out" || return 1
    minute=9 did p1 passed && minute=30 did p1 reset && run 0 status || return 1
    why="not passed after 8 minutes, or no next: $(cat "$scratch/out")"
    minute=1 did p2 started && grep -qE '^ *p1 +passed +2 ' "$scratch/out" && tail -n 1 "$scratch/out" | grep -q '^Next: .*commlab start p2$'
}
status_counts_minutes_to_the_pass() {
    anew
    minute=1 did p1 started && minute=9 did p1 passed && minute=30 did p1 reset && run 0 status || return 1
    why="not 8 minutes: $(cat "$scratch/out")"
    grep -qE '^ *p1 +passed +1 0 of 3 +8 ' "$scratch/out"
}

# ---- what can go wrong ----------------------------------------------------------------------------------------------

a_damaged_line_is_named_and_the_rest_counts() {
    local wrong
    for wrong in 'p1 passed' '2026-01-02T03:04:05Z p1 sang' 'yesterday p1 started' $'\x01\xff' '2026-99-02T03:04:05Z p1 ran'; do
        anew
        did p1 passed && echo "$wrong" >>work/progress.txt && did p2 passed && run 0 status || return 1
        why="'$wrong': $(cat "$scratch/err" "$scratch/out")"
        [ "$(grep -c '^commlab: warn: work/progress.txt:2: .*this line does not count' "$scratch/err")" = 1 ] &&
            [ "$(wc -l <"$scratch/err")" = 1 ] && [ "$(grep -c ' passed ' "$scratch/out")" = 2 ] || return 1
    done
}
a_line_that_was_cut_harms_no_other() {
    anew
    mkdir work && printf '2026-01-02T03:04' >work/progress.txt && run 0 hint p1 && run 0 status || return 1
    why="$(cat work/progress.txt "$scratch/err")"
    grep -q 'progress.txt:1: ' "$scratch/err" && grep -qE '^ *p1 .* 1 of 3 ' "$scratch/out"
}
two_at_a_time_lose_nothing() {
    anew
    run 0 start p1 && echo '// mine' >work/p1/mine.c || return 1
    for i in {1..20}; do ./commlab reset p1 >/dev/null 2>>"$scratch/both"; done &
    for i in {1..20}; do ./commlab reset p1 >/dev/null 2>>"$scratch/both"; done
    wait
    run 0 status
    why="$(cat "$scratch/both" "$scratch/err"; ls work/p1; cat work/progress.txt)"
    [ ! -s "$scratch/both" ] && [ ! -s "$scratch/err" ] && [ "$(grep -c ' reset$' work/progress.txt)" = 40 ] &&
        [ "$(ls work/p1 | wc -l)" = 41 ] && [ "$(cat work/p1/mine.1.c)" = '// mine' ] &&
        cmp -s work/p1/mine.c labs/primer/p1-hello/before.c
}
names_what_is_odd() {
    anew
    refuses 2 "start: there is no unit 'bukets' (did you mean 'buckets'?); there are: p1 p2 07 08" start bukets &&
        refuses 2 "hint: there is no unit 'p3' (did you mean 'p1'?)" hint p3 &&
        refuses 2 'reset: which unit? There are: p1 p2 07 08' reset && refuses 2 'which unit?' hint &&
        refuses 2 "start: 'p1' and 'p2': give one unit" start p1 p2 && refuses 2 "next: there is no unit '9'" next 9 &&
        refuses 2 "status" status p1 && refuses 2 '--hepl' next --hepl && [ ! -e work ]
}
says_what_can_not_be_written() {
    anew
    echo >work && refuses 1 'work/p1 can not be made: Not a directory; copy the kit to a folder of your own' start p1 && run 1 hint p1 &&
        grep -q 'work can not be made' "$scratch/err" && [ "$(wc -l <"$scratch/err")" = 1 ]
    local result=$?
    rm work
    return $result || return 1
}
names_a_file_that_is_missing() {
    anew
    mv labs/08-buckets/before.c "$scratch/" && refuses 2 '08-buckets/before.c: No such file' start 8
    local result=$?
    mv "$scratch/before.c" labs/08-buckets/
    [ $result = 0 ] && [ ! -e work/08 ]
}
have_help() {
    local name
    for name in next status start hint reset; do
        writes "Usage: commlab $name " "$name" --help || return 1
    done
}
write_in_work_alone() {
    anew
    local left
    touch "$scratch/begun" && run 0 start p1 && run 0 reset p1 && run 0 hint p1 && run 0 next && run 0 status || return 1
    left=$(find "$kit" -newer "$scratch/begun" -not -path "$kit/work*" -not -path "$kit")
    why="also changed: $left"
    [ -z "$left" ]
}

check_each start_gives_a_copy_and_says_what_to_do start_cuts_no_table start_never_overwrites reset_keeps_what_was_there reset_needs_a_start \
    next_begins_with_the_primer next_goes_from_unit_to_unit next_measures_the_machine_before_the_first_lab \
    next_takes_a_unit next_says_that_a_unit_has_passed hint_reveals_one_more_each_time status_says_where_one_is status_counts_minutes_to_the_pass \
    a_damaged_line_is_named_and_the_rest_counts a_line_that_was_cut_harms_no_other two_at_a_time_lose_nothing \
    names_what_is_odd says_what_can_not_be_written names_a_file_that_is_missing have_help write_in_work_alone
exit $failed
