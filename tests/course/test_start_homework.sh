#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab start hN --student ID: a starter and a student's own files, in a kit of its own. Usage: test_start_homework.sh
# [BUILD].

. tests/cases.sh
build=$(realpath "$build")
kit=$scratch/kit
mkdir -p "$kit"/{build,labs/homework} && cp -r plots "$kit/" && cp "$commlab" "$kit/build/" &&
    cp -r labs/07-* "$kit/labs/" && cp -r labs/homework/h2 "$kit/labs/homework/" && ln -s build/commlab "$kit/commlab" || exit 1
is_linked() { "$commlab" grade --help >/dev/null 2>&1; } # only then are there students' own files
is_linked && with_grader=yes || with_grader=
cd "$kit" || exit 1
commlab=./commlab
subject=("$commlab")

anew() { rm -rf work; }

gives_the_starter_and_says_what_to_do() {
    anew
    writes './commlab grade h2 work/h2 --student ada' start h2 --student ada &&
        grep -q 'labs/homework/h2/h2.md' "$scratch/out" && cmp -s work/h2/mine.c labs/homework/h2/starter/mine.c
}
never_overwrites() {
    anew
    run 0 start h2 --student ada && echo '// mine' >work/h2/mine.c &&
        writes 'mine.c (was there already, and stays as it is)' start h2 --student ada &&
        [ "$(cat work/h2/mine.c)" = '// mine' ]
}
refuses_other_homeworks() {
    anew
    refuses 2 'no homework h9; type ls' start h9 --student ada && refuses 2 'give one homework' start h2 h3 --student ada &&
        [ ! -e work ]
}
refuses_what_is_no_id() {
    anew
    local id
    refuses 2 'whose homework? Type ./commlab start h2 --student ID' start h2 || return 1
    for id in '' ../x a/b 'a b' .a -a $'a\nb' ä "$(printf '%065d' 0)"; do
        refuses 2 'an ID has 1 to 64 letters' start h2 "--student=$id" || return 1
    done
    [ ! -e work ] && run 0 start h2 --student "$(printf '%064d' 0)" && anew && run 0 start h2 --student 'Ada.L-1_x@uni.example'
}
# The folder is ada's: another ID would get another task in it.
keeps_the_id() {
    anew
    run 0 start h2 --student ada && cp -r work "$scratch/adas" || return 1
    refuses 2 "work/h2 was begun with the ID 'ada'" start h2 --student bob && grep -q 'start h2 --student ada, or rename work/h2' "$scratch/err" || return 1
    why="changed: $(diff -r "$scratch/adas" work)"
    [ -z "${why#*: }" ] && run 0 start h2 --student ada || return 1
    mv work/h2 work/h2-ada && run 0 start h2 --student bob && grep -qx bob work/h2/student.txt
}
# Comments and blanks around it are none of it; a link is no such file.
reads_the_id_as_people_write_it() {
    anew
    mkdir -p work/h2 && printf '# mine:\n\n  ada \r\n' >work/h2/student.txt && refuses 2 "with the ID 'ada'" start h2 --student bob &&
        mv work/h2/student.txt work/elsewhere && ln -s ../elsewhere work/h2/student.txt && run 0 start h2 --student bob
}
says_what_to_type_for_a_homework() {
    anew
    local command
    for command in hint check next; do
        refuses 2 'h2 is a homework, not a unit: type ./commlab start h2 --student ID' $command h2 || return 1
    done
    mkdir -p work/h2
    for command in hint check next; do
        refuses 2 './commlab grade h2 work/h2 --student ID checks it' $command h2 || return 1
    done
    refuses 2 "there is no unit 'h9'" hint h9
}
says_what_is_begun() {
    anew
    run 0 status && ! grep -q Homework "$scratch/out" && run 0 next && ! grep -q Homework "$scratch/out" && run 0 start h2 --student ada || return 1
    local words='Homework h2 is begun (labs/homework/h2/h2.md). Its points: ./commlab grade h2 work/h2'
    writes "$words" status && writes "$words" next && rm work/h2/student.txt && writes "$words --student ID" next
}
says_how_to_begin_anew() {
    anew
    refuses 2 'type ./commlab start h2 --student ID' reset h2 && mkdir -p work/h2 && refuses 2 'mv work/h2/mine.c work/h2/mine.1.c; then ./commlab start h2' reset h2
}
writes_each_student_a_network_of_their_own() {
    anew
    run 0 start h2 --student ada && cp work/h2/network.net "$scratch/ada.net" && run 0 start h2 --student ada || return 1
    why="another network for the same student: $(diff "$scratch/ada.net" work/h2/network.net)"
    cmp -s "$scratch/ada.net" work/h2/network.net && anew && run 0 start h2 --student bob || return 1
    why="ada's and bob's are alike: $(diff "$scratch/ada.net" work/h2/network.net)"
    [ "$(sed 1d "$scratch/ada.net")" != "$(sed 1d work/h2/network.net)" ] &&
        writes 'GB/s' sim allreduce --algo ring --ranks 4 --net work/h2/network.net && grep -q "the reference, your teacher's solution: [0-9]" work/h2/network.net
}

if lacks sodium; then
    check_each refuses_other_homeworks
else
    check_each gives_the_starter_and_says_what_to_do never_overwrites refuses_other_homeworks refuses_what_is_no_id keeps_the_id \
        reads_the_id_as_people_write_it
fi
lacks sodium || check says_what_is_begun
check_each says_what_to_type_for_a_homework says_how_to_begin_anew
if [ "$with_grader" ]; then
    check_with 'inih sodium' writes_each_student_a_network_of_their_own
else
    skip 'there is no grader in this build' writes_each_student_a_network_of_their_own
fi
exit $failed
