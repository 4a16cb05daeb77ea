#!/bin/bash
# SPDX-License-Identifier: MIT
# What tests/handout_root.sh does in the bare Debian: a student's first hour, in the folder beside this script.
# Prints a line of TAP per step; exit status 1 if any failed.
set -u
cd "$(dirname "$0")"/commlab-handout-*/ || exit 1
failed=0

# step TITLE STATUS WORDS COMMAND...: it ends so, and its output holds the words.
step() {
    local title=$1 expected=$2 words=$3 status
    shift 3
    "$@" >/tmp/out.$$ 2>&1 </dev/null
    status=$?
    if [ $status -eq "$expected" ] && { [ -z "$words" ] || grep -qF -- "$words" /tmp/out.$$; }; then
        echo "ok $title"
    else
        echo "not ok $title: status $status, not $expected, or no '$words' in:"
        tail -n 15 /tmp/out.$$ | sed 's/^/# /'
        failed=1
    fi
    rm -f /tmp/out.$$
}

step 'only the C library is asked for' 1 '' sh -c 'ldd build/commlab build/labs/*/* | grep -E "=>" | grep -vE "lib(c|m|dl)\.so"'
step 'version' 0 ', commit ' ./commlab version
step 'next' 0 './commlab start p1' ./commlab next
step 'start p1' 0 './commlab check p1' ./commlab start p1
step 'check p1 names the mistake' 1 'Every rank adds all the numbers' ./commlab check p1
cp ../after.c work/p1/mine.c
step 'check p1 passes' 0 'What comes next' ./commlab check p1
step 'fit' 0 'alpha' ./commlab fit --seconds 60s
step 'card' 0 'alpha' ./commlab card
step 'make' 0 'Nothing to be done' make
step 'make after a change' 0 'labcc' sh -c 'touch labs/*/before.c && make'
for lab in labs/[0-9]*; do
    id=$(basename "$lab" | cut -d- -f1)
    step "lab $id in virtual time" 0 'results/' ./commlab lab "$id" --backend sim -n 4 --no-sweep --no-plot
    step "start $id" 0 'Its check' ./commlab start "$id"
    step "check $id: before.c fails" 1 '->' ./commlab check "$id"
    step "before of $id compiles" 0 '' build/labcc -I"$lab" -o /tmp/mine "$lab/before.c"
done
step 'lab 07 measured' 0 'results/07-shm' ./commlab lab 07 --pairs 2 --no-sweep --no-plot
step 'bench' 0 'allreduce' ./commlab bench allreduce -n 2 -b 1K -e 1K --seconds 0.01s
step 'sim' 0 'ring' ./commlab sim allreduce --algo all --ranks 8 --bytes 1M --net dgx-h100
step 'show' 0 'allgather' ./commlab show ring --ranks 4
step 'audit' 0 '' ./commlab audit
step 'doctor' 0 'the kit works here' ./commlab doctor
for folder in labs/homework/h[0-9]; do
    [ -d "$folder" ] || continue
    id=$(basename "$folder")
    step "start $id" 0 'Your files' ./commlab start "$id" --student ada
    step "grade $id" 0 "/" ./commlab grade "$id" "work/$id" --student ada
done
exit $failed
