#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab grade`: the same submission gets the same bytes ten times, idle, busy and without walls; its files have the
# form that others read; one clear line for each mistake.
# Usage: test_grade.sh [BUILD]. Takes long.
#
# Without CLAB_TEST_FULL=1, one grading stands for five, a class of 5 for one of 21, two homeworks for five, and
# one cheat for six.

. tests/cases.sh
subject=("$commlab" grade)
reference=tests/homework/h2/reference.c
echo 'a salt for tests alone' >"$scratch/salt"
again=5 half=10 asked='ann bob cid' of='h1 h2 h3 h4 h5' hostile='fork_bomb signal_all write_outside background forged memory'
if ! is_full; then
    leave_out $((2 * 4 + 3 * 16 + 11 + 2 * 5)) # gradings: alone, of a class, of each homework, of cheats
    again=1 half=2 asked='ann bob' of='h4 h5' hostile=fork_bomb
fi

# grades NAME WORDS...: into $scratch/NAME.* files.
grades() {
    local name=$scratch/$1
    shift
    run 0 h2 "$@" --student ada --csv "$name.csv" --json "$name.json" --junit "$name.xml" --gradescope "$name.results"
}
is_same() {
    local kind
    for kind in csv json xml results; do
        why="$1.$kind: $(diff "$scratch/first.$kind" "$scratch/$1.$kind")"
        [ -z "${why#*: }" ] || return 1
    done
}
grades_in_full() { grades first $reference --salt "$scratch/salt" && writes_score 80.00; }
writes_score() { why=$(cat "$scratch/out") && grep -q "^$1 of 80 points by the machine" "$scratch/out"; }
gives_the_same_bytes_each_time() {
    local i
    for ((i = 0; i < again; i++)); do
        grades again $reference --salt "$scratch/salt" && is_same again || return 1
    done
}
gives_the_same_bytes_on_a_busy_machine() {
    local i pids=() failed=
    for ((i = 0; i < $(nproc); i++)); do
        (exec timeout 60 sh -c 'while :; do :; done') &
        pids+=($!)
    done
    for ((i = 0; i < again; i++)); do
        grades again $reference --salt "$scratch/salt" && is_same again || failed=1
    done
    kill "${pids[@]}"
    wait "${pids[@]}" 2>/dev/null
    [ -z "$failed" ]
}
gives_the_same_bytes_without_walls() {
    grades again $reference --salt "$scratch/salt" --without-walls && is_same again
}
hides_other_tests_without_the_salt() {
    grades practice $reference && why=$(cat "$scratch/out") && grep -q '^Practice' "$scratch/out" &&
        ! cmp -s "$scratch/first.csv" "$scratch/practice.csv"
}
takes_a_folder() {
    mkdir -p "$scratch/work" && cp $reference "$scratch/work/mine.c" && grades again "$scratch/work" --salt "$scratch/salt" &&
        is_same again
}

# The names and types that Gradescope documents for results.json.
writes_what_gradescope_reads() {
    why=$(python3 - "$scratch/first.results" <<'END' 2>&1
import json, sys
seen = json.load(open(sys.argv[1]))
number = (int, float)
top = {"score": number, "execution_time": number, "output": str, "output_format": str, "test_output_format": str,
       "test_name_format": str, "visibility": str, "stdout_visibility": str, "extra_data": dict, "tests": list,
       "leaderboard": list}
of_test = {"score": number, "max_score": number, "status": str, "name": str, "name_format": str, "number": str,
           "output": str, "output_format": str, "tags": list, "visibility": str, "extra_data": dict}
of_row = {"name": str, "value": (int, float, str), "order": str}
shown = {"hidden", "after_due_date", "after_published", "visible"}
def hold(what, fields):
    for key, value in what.items():
        assert key in fields and isinstance(value, fields[key]), (key, value)
    assert what.get("visibility", "visible") in shown and what.get("stdout_visibility", "visible") in shown
hold(seen, top)
for test in seen["tests"]:
    hold(test, of_test)
    assert test["status"] in ("passed", "failed") and 0 <= test["score"] <= test["max_score"]
for row in seen.get("leaderboard", []):
    hold(row, of_row)
    assert row["order"] in ("asc", "desc")
assert abs(sum(test["score"] for test in seen["tests"]) - seen["score"]) < 1e-9 and seen["score"] == 80
END
    )
}
writes_junit_that_parses() {
    why=$(python3 - "$scratch/first.xml" <<'END' 2>&1
import sys, xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
assert suite.tag == "testsuite" and len(suite) == int(suite.get("tests")) == 4 and suite.get("failures") == "0"
END
    )
}
grades_homework_h3() {
    run 0 h3 tests/homework/h3/reference.c --student ada && writes_score 80.00
}
# Its program runs several times, maybe as another user each time.
grades_homework_h4() {
    run 0 h4 tests/homework/h4/reference.c --student ada && writes_score 80.00 && grep -q '^Walls here, .*: Landlock' "$scratch/out"
}
grades_what_complains_in_any_bytes() {
    sed 's/^static int lanes(.*/#include <stdio.h>\n#include <stdlib.h>\n&/; s/^    return 1;/    fputs("\\377\\303 no text\\n", stderr);\n    abort();/' \
        labs/homework/h2/starter/mine.c >"$scratch/bytes.c"
    grades bytes "$scratch/bytes.c" && why=$(cat "$scratch/out") && grep -q 'no text' "$scratch/bytes.results"
}
# A compiler's and a linker's complaints name folders; those of ours have other names in each run.
complains_in_the_same_bytes_each_time() {
    local name
    cp $reference "$scratch/link-error.c" && echo 'int main(void) { return undefined_here(); }' >>"$scratch/link-error.c"
    sed 's/^#include.*h2.h"$/&\nstatic int wrong = h2;/' $reference >"$scratch/compile-error.c"
    for name in link-error compile-error; do
        grades one "$scratch/$name.c" && cp "$scratch/one.csv" "$scratch/two.csv" && grades one "$scratch/$name.c" || return 1
        why="$name: $(diff "$scratch/one.csv" "$scratch/two.csv"; cat "$scratch/one.csv")"
        cmp -s "$scratch/one.csv" "$scratch/two.csv" && grep -q 'can not be compiled' "$scratch/one.csv" &&
            ! grep -qE "commlab-|$PWD" "$scratch/one.csv" || return 1
    done
}
refuses_wrong_words() {
    refuses 2 "there is no homework 'h9'" h9 $reference --student ada && refuses 2 'a homework and a file are missing' &&
        refuses 2 'the file of h2 is missing: type, for example: ./commlab grade h2 work/h2 --student mira' h2 --student mira && refuses 2 'the homework is missing before' $reference &&
        refuses 2 '--student ID is missing' h2 $reference && refuses 2 'an ID has' h2 $reference --student ../x &&
        refuses 2 'there is no such file' h2 "$scratch/none.c" --student ada &&
        ln -sf "$(realpath $reference)" "$scratch/link.c" && refuses 2 'is a link' h2 "$scratch/link.c" --student ada &&
        refuses 2 'at least 8 characters' h2 $reference --student ada --salt <(echo x)
}
says_whose_it_is() {
    mkdir -p "$scratch/owned" && cp labs/homework/h2/starter/mine.c "$scratch/owned/" && echo ada >"$scratch/owned/student.txt" &&
        run 0 h2 "$scratch/owned" --student bob || return 1
    why="$(cat "$scratch/err")"
    grep -q "was begun with the ID 'ada'.*type --student ada" "$scratch/err" && [ "$(wc -l <"$scratch/err")" -eq 1 ] &&
        why="below the total: $(cat "$scratch/out")" && tail -1 "$scratch/out" | grep -q "task of 'bob', and student.txt names 'ada'.*--student ada" &&
        run 0 h2 "$scratch/owned/mine.c" --student ada && why="$(cat "$scratch/err")" && [ -z "$why" ]
}
# In practice student.txt says whose it is, and where points count the command line does.
takes_the_id_of_the_folder() {
    mkdir -p "$scratch/owned" && cp labs/homework/h2/starter/mine.c "$scratch/owned/" && echo mira >"$scratch/owned/student.txt" &&
        run 0 h2 "$scratch/owned" && why="$(cat "$scratch/out")" && grep -q '^h2 .* mira$' "$scratch/out" &&
        refuses 2 "--student ID is missing: type, for example: ./commlab grade h2 $scratch/owned --student mira" h2 "$scratch/owned" --salt "$scratch/salt"
}
# The message of a compiler stands below one test, not below all.
says_a_compile_error_once() {
    sed 's/^#include.*h2.h"$/&\nstatic int wrong = h2;/' $reference >"$scratch/compile-error.c"
    run 0 h2 "$scratch/compile-error.c" --student ada && why="$(cat "$scratch/out")" &&
        [ "$(grep -c 'can not be compiled' "$scratch/out")" -eq 1 ] && [ "$(grep -c 'the same as above' "$scratch/out")" -eq 3 ]
}
# A crash at 16 ranks, or a loop there: the time on the own cluster stays. What was not asked says so.
judges_the_own_cluster_behind_a_crash() {
    sed 's/\.lanes = one_lane/.lanes = crashes/; /^const struct h2_algorithm/i static int crashes(const struct h2_problem *p) { return p->nranks >= MOST ? __builtin_trap(), 1 : 1; }' \
        $reference >"$scratch/crash.c"
    sed 's/MOST/16/' "$scratch/crash.c" >"$scratch/crash16.c"
    run 0 h2 "$scratch/crash16.c" --student ada && why="$(cat "$scratch/out")" && grep -q 'proved for 15 of 16 .*with 16 ranks.*crashed with signal' "$scratch/out" &&
        grep -q '20.00 of  20 ' "$scratch/out" && grep -q '15.00 of  15  simulated time on a cluster' "$scratch/out" || return 1
    sed 's/MOST/4/' "$scratch/crash.c" >"$scratch/crash4.c"
    run 0 h2 "$scratch/crash4.c" --student ada && why="$(cat "$scratch/out")" && grep -q 'not asked, since your code did not come back from an earlier one, [0-9]* ranks on hosts' "$scratch/out"
}
# A student per ID; a result that a student forged in the own folder is none.
graded_class() {
    local subject=("$commlab" class)
    run 0 "$@"
}
grades_a_class() {
    local i class=$scratch/class seconds=$SECONDS
    for i in $(seq -f %02g 1 $half); do
        mkdir -p "$class/right$i" "$class/starts$i"
        cp $reference "$class/right$i/mine.c"
        cp labs/homework/h2/starter/mine.c "$class/starts$i/mine.c"
    done
    mkdir -p "$class/eve" && cp tests/cheats/includes_reference.c "$class/eve/mine.c"
    printf 'student,homework,test,title,score,max_score,status,message\neve,h2,proof,x,80,80,passed,x\n' >"$class/eve/h2.csv"
    graded_class "$class" --homework h2 --salt "$scratch/salt" || return 1
    why="took $((SECONDS - seconds)) s: $(cat "$class/h2.csv")"
    [ "$(head -n 1 "$class/h2.results/right01.txt")" = 'h2 · An allreduce for your own cluster · right01' ] &&
        [ "$(grep -c '^right[01][0-9],h2,80,graded,80,30,15,20,15,$' "$class/h2.csv")" -eq $half ] &&
        grep -q '^eve,h2,0,rejected,80,0,0,0,0,"mine.c includes .*reference.c' "$class/h2.csv" &&
        [ "$(grep -c '^starts[01][0-9],h2,0,graded,' "$class/h2.csv")" -eq $half ] && [ $((SECONDS - seconds)) -lt 120 ]
}
makes_a_page_of_a_class() {
    local class=$scratch/class
    why="$(head -c 3000 "$class/h2.html")"
    grep -q '<h2>Rejected: .*(1)' "$class/h2.html" && grep -q 'mine.c includes .*reference.c' "$class/h2.html" &&
        [ "$(grep -c '<td class="id">starts[01][0-9]</td>' "$class/h2.html")" -eq $half ] && ! grep -q '<script' "$class/h2.html" || return 1
    why="no message that $half have: $(grep -A 9 'stumbled' "$class/h2.html")"
    grep -q '<td class="n">'$half'</td><td class="id">proof</td><td>No rank receives anything' "$class/h2.html"
}
# Two each, with answers, and not the same for all.
asks_each_student_two_questions() {
    local questions=$scratch/class/h2.questions.csv
    why="$(head -3 "$questions")"
    [ "$(grep -c '^right[01][0-9],' "$questions")" -eq $((2 * half)) ] && [ "$(cut -d, -f2- "$questions" | sort -u | wc -l)" -gt $((3 * half)) ] &&
        ! grep -q ',$' "$questions"
}
# Each homework, from what its starter is: two questions for each student, not all the same.
asks_of_each_homework() {
    local id class=$scratch/asked student n
    n=$(wc -w <<<"$asked")
    for id in $of; do
        for student in $asked; do
            mkdir -p "$class/$id/$student" && cp labs/homework/$id/starter/* "$class/$id/$student/" || return 1
        done
        graded_class "$class/$id" --homework $id || return 1
        why="$id: $(cat "$class/$id/$id.questions.csv")"
        [ "$(wc -l <"$class/$id/$id.questions.csv")" -eq $((2 * n + 1)) ] && ! grep -qE ',$|nan|-inf' "$class/$id/$id.questions.csv" &&
            [ "$(cut -d, -f2- "$class/$id/$id.questions.csv" | sort -u | wc -l)" -gt $((n + 1)) ] || return 1
        why="$id: $(find "$class/$id/$id.jplag" -type f)"
        [ "$(find "$class/$id/$id.jplag" -type f | wc -l)" -eq $((n + 1)) ] && grep -q "$id.jplag/submissions" "$class/$id/$id.html" || return 1
    done
}
makes_folders_for_jplag() {
    why="$(find "$scratch/class/h2.jplag" | head)"
    [ "$(ls "$scratch/class/h2.jplag/submissions" | wc -l)" -eq $((2 * half + 1)) ] && cmp -s "$scratch/class/h2.jplag/submissions/right01/mine.c" $reference &&
        cmp -s "$scratch/class/h2.jplag/base/mine.c" labs/homework/h2/starter/mine.c
}
# Names that are no ID, links, pipes and folders without a file cost nobody else a row.
goes_on_behind_what_can_not_be_graded() {
    local class=$scratch/odd
    mkdir -p "$class/my notes" "$class/"$'new\nline' "$class/\$(touch $scratch/refused)" "$class/empty" "$class/pipe" "$class/zoe"
    mkfifo "$class/pipe/mine.c" && ln -s zoe "$class/link" && echo roster >"$class/list.txt" && cp $reference "$class/zoe/mine.c" &&
        graded_class "$class" --homework h2 || return 1
    why="$(cat "$class/h2.csv")"
    [ ! -e "$scratch/refused" ] && [ "$(wc -l <"$class/h2.csv")" -eq 8 ] && grep -q '^my notes,h2,,not graded,.*is no ID' "$class/h2.csv" &&
        grep -q '^new?line,h2,,not graded' "$class/h2.csv" && grep -q '^link,h2,,not graded,.*it is a link' "$class/h2.csv" &&
        grep -q '^empty,h2,,not graded,.*there is no such file' "$class/h2.csv" && grep -q '^pipe,h2,,not graded,.*is no plain file' "$class/h2.csv" &&
        grep -q '^zoe,h2,80,graded' "$class/h2.csv" && grep -q '<h2>Not graded: .*(6)' "$class/h2.html"
}
# IDs of any length, in one column; a file of another student's; the form that a person fills in, and the sums.
adds_the_points_of_a_person() {
    local class=$scratch/summed long words
    long=$(printf 'student-%032d@university.example' 7) words=$(printf '%01100d' 7)
    mkdir -p "$class/$long" "$class/bob" "$class/cid" && for id in "$long" bob cid; do cp $reference "$class/$id/mine.c" || return 1; done
    echo dan >"$class/cid/student.txt"
    graded_class "$class" --homework h2 --salt "$scratch/salt" || return 1
    why="$(cat "$scratch/out")"
    [ "$(grep -oE '^.* h2 ' "$scratch/out" | awk '{ print length }' | sort -u | wc -l)" -eq 1 ] &&
        grep -q "missing for 3 students: bob, cid, $long\\. Write" "$scratch/out" && grep -qx "Equal byte for byte: bob, cid, $long: ask who wrote it" "$scratch/out" &&
        grep -q "<td>bob, cid, $long</td>" "$class/h2.html" || return 1
    why="$(cat "$class/h2.person.csv" "$class/h2.grades.csv" "$class/h2.csv")"
    grep -qx 'student,points,off,comment' "$class/h2.person.csv" && grep -qx 'bob,,,' "$class/h2.person.csv" && grep -qx 'bob,,100,' "$class/h2.grades.csv" &&
        grep -q "^cid,h2,80,graded,.*its student.txt names 'dan'" "$class/h2.csv" && grep -q '<h2>Graded, maybe for the wrong student (1)' "$class/h2.html" || return 1
    sed -i "s/^bob,,,/bob,12.5,5,\"late, by a day\"/; s/^cid,,,/cid,0,,/" "$class/h2.person.csv"
    graded_class "$class" --homework h2 --salt "$scratch/salt" || return 1
    why="$(cat "$class/h2.grades.csv")"
    grep -qx 'bob,87.5,100,"80 of 80 by the machine, 12.5 of 20 by a person, 5 taken off: late, by a day"' "$class/h2.grades.csv" &&
        grep -qx 'cid,80,100,"80 of 80 by the machine, 0 of 20 by a person"' "$class/h2.grades.csv" && grep -qx "$long,,100," "$class/h2.grades.csv" || return 1
    cp "$class/h2.person.csv" "$scratch/form" && mkdir -p "$class/dan" && echo 'dan,,,' >>"$scratch/form" &&
        sed 's/^#include.*h2.h"$/&\nstatic int wrong = h2;/' $reference >"$class/dan/mine.c" && graded_class "$class" --homework h2 --salt "$scratch/salt" || return 1
    why="$(cat "$scratch/out"; diff "$scratch/form" "$class/h2.person.csv"; grep dan "$class/h2.csv")"
    cmp -s "$scratch/form" "$class/h2.person.csv" && grep -q 'h2.person.csv has a new row: dan$' "$scratch/out" && grep -q '^1 submission can not be compiled: dan$' "$scratch/out" &&
        grep -qE '^dan,h2,0,graded,80,0,0,0,0,"?it can not be compiled: mine.c:[0-9:]* error: .*h2.* undeclared' "$class/h2.csv" && grep -q '<h2>Graded, but it can not be compiled (1)' "$class/h2.html" || return 1
    # Who has left the class, as long as nobody has written points for them.
    rm -r "$class/dan" && graded_class "$class" --homework h2 --salt "$scratch/salt" && ! grep -q dan "$class/h2.grades.csv" || return 1
    # A spreadsheet's form: its line ends, columns of its own, many words, and no end of the last line.
    printf 'note,student,points,off,comment\r\nread,bob,1,,%s' "$words" >"$class/h2.person.csv" && graded_class "$class" --homework h2 --salt "$scratch/salt" || return 1
    why="$(cat -A "$class/h2.person.csv" "$class/h2.grades.csv")"
    [ "$(sed -n 2,3p "$class/h2.person.csv")" = "read,bob,1,,$words"$'\r\n,cid,,,\r' ] && grep -q "by a person: $words\"*$" "$class/h2.grades.csv" && graded_class "$class" --homework h2 --salt "$scratch/salt" &&
        ! grep -q 'new row' "$scratch/out" && cp "$scratch/form" "$class/h2.person.csv" || return 1
    local subject=("$commlab" class)
    sed -i 's/^bob,12.5/bob,21/' "$class/h2.person.csv" && run 2 "$class" --homework h2 --salt "$scratch/salt"
    why="$(cat "$scratch/err")"
    grep -q "h2.person.csv:[0-9]*: column .points.: '21' is no number from 0 to 20" "$scratch/err" || return 1
    sed -i 's/^bob,21/eve,20/' "$class/h2.person.csv" && run 2 "$class" --homework h2 --salt "$scratch/salt"
    why="$(cat "$scratch/err")"
    grep -q "'eve' is no student of this class" "$scratch/err"
}
# A wrong salt, homework or folder, and practice in the place of grades: one line, and nothing is written.
refuses_a_wrong_class() {
    local subject=("$commlab" class) class=$scratch/class
    mkdir -p "$scratch/term/h3/ada" "$scratch/term/h1" && find "$scratch/term" "$class" -type f -exec cat {} + | cksum >"$scratch/before" || return 1
    refuses 2 'none' "$class" --homework h2 --salt "$scratch/none" && refuses 2 'at least 8 characters' "$class" --homework h2 --salt <(echo x) &&
        refuses 2 'add --salt FILE' "$class" --homework h2 && refuses 2 '--homework says h3' "$class" --homework h3 --salt "$scratch/salt" &&
        refuses 2 'is the folder of a homework' "$scratch/term" --homework h3 && refuses 2 'type --homework h3' "$scratch/term/h3/" --homework h2 &&
        refuses 2 'there is no such folder' "$scratch/nowhere" --homework h2 || return 1
    why="$(ls -R "$scratch/term" "$scratch/nowhere" 2>&1)"
    [ ! -e "$scratch/nowhere" ] && [ "$(find "$scratch/term" | wc -l)" -eq 4 ] &&
        find "$scratch/term" "$class" -type f -exec cat {} + | cksum | cmp -s - "$scratch/before"
}
# Cheats beside honest ones: in the same folder, and in turns.
costs_nobody_else_anything() {
    local class=$scratch/cheats name
    mkdir -p "$class"
    for name in $hostile; do
        mkdir -p "$class/${name}_1" "$class/${name}_2"
        sed -e '/#include "cheat.h"/ {' -e 'r tests/cheats/cheat.h' -e 'd' -e '}' tests/cheats/$name.c | sed 's/^#pragma once$//' >"$class/${name}_1/mine.c"
        cp $reference "$class/${name}_2/mine.c"
    done
    graded_class "$class" --homework h2 || return 1
    why="$(cat "$class/h2.csv")"
    [ "$(grep -c '_2,h2,80,graded,' "$class/h2.csv")" -eq "$(wc -w <<<"$hostile")" ] && [ "$(grep -c '_1,h2,0,graded,' "$class/h2.csv")" -eq "$(wc -w <<<"$hostile")" ]
}
# One that is killed goes on, and comes to the same table.
goes_on_where_it_was_killed() {
    local class=$scratch/class pid i
    cp "$class/h2.csv" "$scratch/whole.csv" && rm "$class"/h2.results/*.key "$class/h2.csv" && subject=() || return 1
    "$commlab" class "$class" --homework h2 --salt "$scratch/salt" >"$scratch/killed" 2>&1 &
    pid=$!
    for ((i = 0; i < 3000 && $(ls "$class"/h2.results/*.key 2>/dev/null | wc -l) < 3; i++)); do sleep 0.02; done
    kill -KILL $pid
    wait $pid 2>/dev/null
    why="a table, or no result: $(ls "$class" "$class/h2.results")"
    [ ! -e "$class/h2.csv" ] && [ "$(ls "$class"/h2.results/*.key | wc -l)" -ge 3 ] || return 1
    touch "$scratch/mark" && graded_class "$class" --homework h2 --salt "$scratch/salt" || return 1
    why="$(diff "$scratch/whole.csv" "$class/h2.csv")"
    [ -z "$why" ] || return 1
    why="all were graded again"
    [ -n "$(find "$class/h2.results" -name '*.key' -not -newer "$scratch/mark")" ]
}
grades_none_again_that_has_not_changed() {
    # An archive brings the old time of a file, so that tells nothing.
    cp "$scratch/class/h2.csv" "$scratch/before" && echo '# mine' >>"$scratch/class/h2.results/right01.csv" &&
        cp -p $reference "$scratch/class/starts01/mine.c" && graded_class "$scratch/class" --homework h2 \
        --salt "$scratch/salt" && why=$(diff "$scratch/before" "$scratch/class/h2.csv" | grep '^>') &&
        [ "$why" = '> starts01,h2,80,graded,80,30,15,20,15,' ] && grep -q '^# mine' "$scratch/class/h2.results/right01.csv"
}
grades_all_again_with_another_salt() { # one student is all
    echo 'another salt for tests' >"$scratch/salt2"
    rm -r "$scratch"/class/{eve,starts*,right0[2-9],right10,h2.person.csv} 2>/dev/null
    graded_class "$scratch/class" --homework h2 --salt "$scratch/salt2" && why="right01 was not graded again" &&
        ! grep -q '^# mine' "$scratch/class/h2.results/right01.csv"
}
leaves_nothing_behind() { why="left: $(ls -A "$private")" && [ -z "$(ls -A "$private")" ]; }

if lacks inih || lacks sodium || lacks jansson; then
    skip "homework needs libinih, libsodium and libjansson" grades_in_full
else
    private=$scratch/private
    mkdir -p "$private" && chmod 777 "$private" && chmod 711 "$scratch" && export TMPDIR=$private
    for name in grades_in_full gives_the_same_bytes_each_time gives_the_same_bytes_on_a_busy_machine \
        gives_the_same_bytes_without_walls hides_other_tests_without_the_salt takes_a_folder writes_what_gradescope_reads \
        writes_junit_that_parses grades_homework_h3 grades_homework_h4 grades_what_complains_in_any_bytes \
        complains_in_the_same_bytes_each_time says_a_compile_error_once says_whose_it_is takes_the_id_of_the_folder refuses_wrong_words judges_the_own_cluster_behind_a_crash \
        grades_a_class \
        makes_a_page_of_a_class asks_each_student_two_questions asks_of_each_homework \
        makes_folders_for_jplag goes_on_where_it_was_killed \
        grades_none_again_that_has_not_changed grades_all_again_with_another_salt goes_on_behind_what_can_not_be_graded \
        refuses_a_wrong_class adds_the_points_of_a_person costs_nobody_else_anything leaves_nothing_behind; do
        check $name
    done
fi
exit $failed
