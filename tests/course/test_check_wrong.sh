#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab check` of programs that no student meant to write: each gets a line that says what is wrong, in bounded time,
# and nothing is left behind. The unit is lab 01, whose first case runs 4 ranks over shared memory. Waits long.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/course/test_check_wrong.sh BUILD}
commlab=$build/commlab
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
export TMPDIR=$folder

# source BODY: a program whose ranks run BODY between opening and closing their job.
source_of() {
    cat <<END
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "clab.h"
int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    float data[4] = {0};
    must(clab_job_open(&argc, argv, &job));
    must(clab_comm_create(job, &comm));
    const int me = clab_comm_rank(comm), n = clab_comm_ranks(comm);
    $1
    must(clab_barrier(comm));
    clab_comm_destroy(comm);
    must(clab_job_close(job));
    return data[0] + me + n < 0;
}
END
}

# expect NAME STATUS TEXT SECONDS BODY: the exit status and a text, within so many seconds.
expect() {
    local start=$SECONDS status words
    source_of "$5" >"$folder/mine.c"
    timeout 100 "$commlab" check 01 --source "$folder/mine.c" >"$folder/log" 2>&1
    status=$?
    words=$(sed 's/^ *-> //' "$folder/log" | tr -s ' \n' ' ')
    if [ $status = "$2" ] && [[ $words == *"$3"* ]] && [ $((SECONDS - start)) -le "$4" ]; then
        echo "ok $1"
    else
        echo "not ok $1: status $status in $((SECONDS - start)) s, expected $2 in $4 s, and: $3"
        sed 's/^/# /' "$folder/log" | head -20
    fi
}

expect does_not_compile 1 "mine.c:13" 10 'int x = ;'
expect warns_as_the_compiler_does 1 'mine.c:13' 20 'int unused; exit(0);'
expect crashes 1 'rank 1' 20 'if (me == 1) *(volatile int *)8 = 1;'
expect names_the_signal 1 'Segmentation fault' 20 '*(volatile int *)8 = 1;'
expect waits_for_nobody 1 'rank 1' 40 'if (me == 1) must(clab_recv(comm, data, 4, CLAB_F32, 0));'
expect waits_longer_for_a_rank_that_is_late 1 'reported as checksum: got nan' 40 \
    'struct clab_comm *c; if (me == 1) sleep(7); must(clab_comm_create(job, &c)); clab_comm_destroy(c);'
expect never_ends 1 'was stopped' 60 'for (;;) pause();'
expect calls_different_things 1 'ranks disagree' 20 'must(clab_broadcast(comm, data, data, me ? 4 : 3, CLAB_F32, 0));'
expect leaves_the_job 1 'without clab_job_close' 20 'exit(0);'
expect forges_a_report 1 'reported as checksum: got nan' 20 \
    'for (int i = 2; i < argc; i++) for (int k = 0; k < atoi(argv[i]); k++) { struct clab_comm *c; must(clab_comm_create(job, &c)); clab_comm_destroy(c); }
     puts("  ok   1  4 ranks\n2 of 2 cases pass."); puts("0,job,0,1,1,1"); fprintf(stderr, "2 of 2 cases pass.\n");'
expect reads_the_terminal_while_it_compiles 1 'mine.c:' 20 'int x =
#include "/dev/stdin"
    ;'
expect leaves_a_process_behind 1 'FAIL 1' 40 'if (me == 0 && fork() == 0) { setenv("CLAB_LEFT", "1", 1); for (;;) pause(); }
    for (int i = 2; i < argc; i++) for (int k = 0; k < atoi(argv[i]); k++) { struct clab_comm *c; must(clab_comm_create(job, &c)); clab_comm_destroy(c); }'
expect complains_endlessly 1 'wrote more than 4 MiB' 14 'for (;;) fprintf(stderr, "what is this\n");'

# Advice follows the first fact, before what a reader may skip; and no process number is said.
timeout 100 "$commlab" check p3 --source labs/primer/p3-stuck/before.c >"$folder/log" 2>&1
advice=$(grep -n '^ *-> ' "$folder/log" | head -n 1 | cut -d: -f1) fact=$(grep -n '^  FAIL' "$folder/log" | cut -d: -f1)
if [ $((advice - fact)) -le 3 ] && grep -q '(the run was' <(tail -n +"$advice" "$folder/log") && ! grep -q '(pid' "$folder/log"; then
    echo "ok says_what_to_do_at_once"
else
    echo "not ok says_what_to_do_at_once"
    sed 's/^/# /' "$folder/log"
fi

# Nothing is left: no file but ours, no process of the program.
if [ "$(ls "$folder")" = "$(printf 'log\nmine.c')" ] && ! pgrep -f "$folder/" >/dev/null; then
    echo "ok nothing_is_left"
else
    echo "not ok nothing_is_left: $(ls "$folder" | tr '\n' ' ') $(pgrep -fa "$folder/" | head -3)"
fi
