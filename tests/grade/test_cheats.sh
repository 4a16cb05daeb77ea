#!/bin/bash
# SPDX-License-Identifier: MIT
# Cheats against homework h2, and some against h3 and h4: each of tests/cheats/*.c has no points that it did not earn, says why, and costs nobody else
# anything. Odd but honest solutions, tests/cheats/honest/*.c behind the reference, have all points.
# Usage: test_cheats.sh [BUILD]. Waits long.
#
# Without CLAB_TEST_FULL=1, of each kind of cheat those in `quick`. Those in `waiting` are stopped after a time limit; they are
# graded beside the others; in a quick run what is endless waits instead of computing.

. tests/cases.sh
subject=("$commlab" grade h2)
rm -f /tmp/commlab-cheat-was-here

idle=
is_full || idle='s/for (volatile int i = 0;; i++)/for (;; pause())/'

# submission FILE: one file, as a student hands it in.
submission() {
    sed -e '/#include "cheat.h"/ {' -e 'r tests/cheats/cheat.h' -e 'd' -e '}' "$1" |
        sed -e 's/^#pragma once$//' -e "s|@KIT@|$PWD|" -e "s|@SCRATCH@|$scratch|" -e "$idle"
}

# score: the points of the last grading.
score() { sed -n 's/^\([0-9.]*\) of 80 points by the machine.*/\1/p' "$scratch/out"; }

# A cheat may earn a share by what is right in it: the schedule for two ranks is.
is_caught() {
    local name=$1 says points
    says=$(sed -n 's|^// says: ||p' "tests/cheats/$name.c")
    points=$(sed -n 's|^// points: ||p' "tests/cheats/$name.c")
    submission "tests/cheats/$name.c" >"$scratch/$name.c"
    run 0 "$scratch/$name.c" --student ada || return 1
    why="$(score) points: $(cat "$scratch/out")"
    [[ $says == *compiled* || $says == multiple* ]] || ! grep -q 'can not be compiled' "$scratch/out" || return 1
    [ -n "$says" ] && [ "$(score)" = "${points:-0.00}" ] && grep -qE -- "$says" "$scratch/out" && ! grep -q 'GOT IT' "$scratch/out"
}
all=$(cd tests/cheats && echo *.c | sed 's/\.c\b//g')
quick='connection exit_early fork_bomb forged includes_reference link_result memory reads_reference write_outside'
waiting=' endless flood_of_warnings macro_bomb '
if is_full; then quick=$all; fi
for name in $all; do
    eval "catches_$name() { is_caught $name; }"
done

# beside NAME: check it in the background, in a folder of its own. Its lines are printed by wait_for_those_beside.
beside() {
    local -r folder=$scratch/$1
    mkdir "$folder" "$folder/private" && chmod 711 "$folder" && chmod 777 "$folder/private" || exit 1
    (scratch=$folder TMPDIR=$folder/private && check "$1" >"$folder/lines"; exit $failed) &
    aside[$!]=$folder/lines
}
aside=()
wait_for_those_beside() {
    local pid
    for pid in "${!aside[@]}"; do
        wait $pid || failed=1
        cat "${aside[pid]}"
    done
}

is_graded_in_full() {
    cat tests/homework/h2/reference.c "tests/cheats/honest/$1.c" >"$scratch/honest.c"
    run 0 "$scratch/honest.c" --student ada && why="$(score) points: $(cat "$scratch/out")" && [ "$(score)" = 80.00 ]
}
for honest in tests/cheats/honest/*.c; do
    name=$(basename "$honest" .c)
    eval "grades_what_${name}_in_full() { is_graded_in_full $name; }"
done

# Where nothing guards the grader but limits, a guest of the same user reaches no memory of ours.
keeps_its_memory_without_walls() {
    local subject=(setpriv --reuid=61000 --regid=61000 --clear-groups "$commlab" grade h2)
    submission tests/cheats/reads_grader.c >"$scratch/reads_grader.c"
    TMPDIR=/tmp run 0 "$scratch/reads_grader.c" --student ada --without-walls || return 1
    why=$(cat "$scratch/out")
    grep -q 'no memory' "$scratch/out" && ! grep -q 'GOT IT' "$scratch/out"
}
# Nothing that has its name runs on, also where there is no filter of calls and nothing but limits.
ends_what_runs_on_without_walls() {
    submission tests/cheats/background.c >"$scratch/background.c"
    run 0 "$scratch/background.c" --student ada --without-walls || return 1
    why=$(cat "$scratch/out")
    grep -q 'it crashed with signal' "$scratch/out" || return 1
    why="it runs: $(find /proc -maxdepth 2 -name exe -lname "$private/*" 2>/dev/null)"
    rm -f /tmp/commlab-cheat-was-here # nothing kept it from that
    [ "$why" = 'it runs: ' ]
}

# more HW SAYS POINTS: the reference of HW with the lines of stdin behind it, run with the headers that they need.
more() {
    local subject=("$commlab" grade "$1") points
    { cat "tests/homework/$1/reference.c"; printf '#include <dirent.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n'; cat; } >"$scratch/more.c"
    run 0 "$scratch/more.c" --student ada || return 1
    why="$(cat "$scratch/out")"
    grep -qE -- "$2" "$scratch/out" && grep -q "^$3 of 80 points by the machine" "$scratch/out"
}
catches_what_asks_h4_for_more_ranks_than_allowed() {
    more h4 'question 0 of your plan .*256 ranks' 0.00 <<'END'
__attribute__((constructor)) static void forge(void)
{
    FILE *file = access("answers", R_OK) ? fopen("questions", "w") : NULL;
    for (int i = -1; file && i < 24; i++)
        fprintf(file, i < 0 ? "24\n" : "0 256 67108864\n");
    if (file)
        fclose(file), _exit(0);
}
END
}
catches_what_leaves_h4_no_numbers() {
    more h4 'you foresee -?nan s, which is no time' 10.00 <<'END'
__attribute__((constructor)) static void forge(void)
{
    FILE *file = access("answers", R_OK) ? NULL : fopen("times", "w");
    for (int i = 0; file && i < 48; i++)
        fprintf(file, "%s\n", i % 3 == 0 ? "nan" : i % 3 == 1 ? "inf" : "1e-320");
    if (file)
        fclose(file), _exit(0);
}
END
}
catches_what_puts_another_program_in_place_of_its_own() {
    more h4 'the program left 0 of 48 times' 10.00 <<'END'
__attribute__((constructor)) static void replace(void)
{
    if (unlink("program") == 0 && symlink("/bin/true", "program") == 0)
        return;
}
END
}
catches_what_forges_actions_of_h3() {
    more h3 'step_reduce.s, 0, 1000000000.: there are parameters|can not be read' 0.00 <<'END'
__attribute__((destructor)) static void spoil(void)
{
    DIR *folder = opendir(".");
    for (struct dirent *entry; (entry = readdir(folder));) {
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(entry->d_name, "r+");
        if (file)
            fputs("rank 0 0\nstep\nreduce 0 1000000000\nscale 0 4 nan\nwait -5\nend\n", file), fclose(file);
    }
}
END
}
# A factor that is no number compares with nothing.
catches_means_of_h3_that_are_no_numbers() {
    local subject=("$commlab" grade h3)
    sed 's|1.0 / step_facts(s)->ranks)|0.0 / 0.0)|' tests/homework/h3/reference.c >"$scratch/nan.c"
    ! cmp -s "$scratch/nan.c" tests/homework/h3/reference.c && run 0 "$scratch/nan.c" --student ada || return 1
    why="$(cat "$scratch/out")"
    grep -q 'was multiplied by -*nan' "$scratch/out" && grep -q '^0.00 of 80 points' "$scratch/out"
}
# It says why, also if no result is there.
catches_what_bombs_in_h3() {
    more h3 'started more processes than it may|was stopped|without an end' 0.00 <<'END'
__attribute__((constructor)) static void bomb(void)
{
    for (;;)
        fork();
}
END
}

leaves_nothing_behind() {
    why=$(ls -d /tmp/commlab-cheat-was-here 2>&1) && return 1
    why="left: $(shopt -s nullglob; find "$private" "$scratch"/*/private -mindepth 1)" && [ "$why" = 'left: ' ]
}

if lacks inih || lacks sodium; then
    skip "homework needs libinih and libsodium" catches_cheats
elif lacks seccomp; then
    skip "this build has no walls but limits" catches_cheats
else
    private=$scratch/private
    mkdir -p "$private" && chmod 777 "$private" && chmod 711 "$scratch" && export TMPDIR=$private
    mkdir -p "$scratch/a #name \$\$ of all" && cp tests/homework/h2/reference.c "$scratch/a #name \$\$ of all/"
    leave_out $(($(wc -w <<<"$all") - $(wc -w <<<"$quick")))
    for name in $quick; do
        [[ $waiting != *" $name "* ]] || beside "catches_$name"
    done
    for name in $quick; do
        [[ $waiting == *" $name "* ]] || check "catches_$name"
    done
    honest=(tests/cheats/honest/*.c)
    is_full || { leave_out $((${#honest[@]} - 2)) && honest=("${honest[@]::2}"); }
    for honest in "${honest[@]}"; do
        check "grades_what_$(basename "$honest" .c)_in_full"
    done
    if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        check keeps_its_memory_without_walls
    else
        skip 'only root can be another user' keeps_its_memory_without_walls
    fi
    check ends_what_runs_on_without_walls
    check_each catches_what_asks_h4_for_more_ranks_than_allowed catches_what_leaves_h4_no_numbers \
        catches_what_puts_another_program_in_place_of_its_own catches_what_forges_actions_of_h3 \
        catches_means_of_h3_that_are_no_numbers catches_what_bombs_in_h3
    wait_for_those_beside
    check leaves_nothing_behind
fi
exit $failed
