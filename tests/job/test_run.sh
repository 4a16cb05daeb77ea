#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab run` as its users meet it: statuses, output, input, and one clear line for each mistake.
# Usage: test_run.sh [BUILD].

. tests/cases.sh
subject=("$commlab" run)

runs_two_ranks_unless_told() { run 0 echo hello && has out 'hello\nhello\n'; }
tells_ranks_who_they_are() { run 0 -n 3 -- sh -c 'echo $RANK of $WORLD_SIZE' && has out '0 of 3\n1 of 3\n2 of 3\n'; }
prefixes_lines_by_rank() { run 0 -n 2 -l -- sh -c 'echo a; printf b' && has out '[0] a\n[0] b\n[1] a\n[1] b\n'; }
leaves_options_to_the_program() { run 0 -n 1 echo -n 7 --prefix && has out '7 --prefix'; }
ends_with_the_status_of_a_rank() { run 3 -n 3 -- sh -c '[ $RANK = 1 ] && exit 3; sleep 60'; }
ends_with_the_signal_of_a_rank() { run 143 -n 2 -- sh -c '[ $RANK = 1 ] && kill -TERM $$; sleep 60'; }
names_the_rank_that_failed() {
    ends_with_the_status_of_a_rank && why="$(cat "$scratch/err")" &&
        [ "$(grep -c '^commlab: error: rank 1 (pid [0-9]*) exited with status 3$' "$scratch/err")" -eq 1 ]
}
gives_rank_0_our_input() {
    why="$(echo input | "$commlab" run -n 2 -l cat 2>&1)"
    [ "$why" = '[0] input' ]
}
hands_on_timeout() { run 0 -n 1 --timeout 5s -- sh -c 'echo $CLAB_TIMEOUT' && has out '5s\n'; }

# unread ARGS...: commlab with ARGS writes to a pipe that nobody reads any more, ends as programs do there, and says
# nothing.
unread() {
    local status
    rm -f "$scratch/pipe"
    mkfifo "$scratch/pipe"
    exec 3<>"$scratch/pipe" 4>"$scratch/pipe" 3>&-
    env --default-signal=PIPE "$commlab" "$@" >&4 2>"$scratch/err" </dev/null 4>&-
    status=$?
    exec 4>&-
    why="$*: status $status: $(cat "$scratch/err")"
    [ $status -eq 141 ] && [ ! -s "$scratch/err" ]
}
is_quiet_where_nobody_reads() {
    unread run -n 2 yes && unread run -n 2 -l yes && unread run -n 2 -- sh -c '[ $RANK = 1 ] && exec yes; exec sleep 60'
}
blames_nobody_for_a_rank_that_nobody_reads() {
    unread bench allreduce -n 2 -b 8 -e 1K --seconds 0.1s
}
names_who_wrote_elsewhere() {
    run 141 -n 2 -- sh -c '[ $RANK = 1 ] && kill -PIPE $$; exec sleep 60' &&
        grep -q '^commlab: error: rank 1 (pid [0-9]*) was killed by signal 13 ' "$scratch/err"
}

# left SIGNAL-HANDLER: a rank that ends well leaves a process with that handler of SIGTERM, whose number is in
# $scratch/left.
left() {
    rm -f "$scratch/left"
    run 0 -n 1 -- sh -c '(trap "$1" TERM; echo $(exec sh -c "echo \$PPID") >"$0.tmp"; mv "$0.tmp" "$0"
            while :; do sleep 0.02; done) &
        until [ -e "$0" ]; do sleep 0.02; done' "$scratch/left" "$1"
}
lets_what_ranks_leave_tidy_up() {
    left "sleep 0.2; echo tidied >'$scratch/tidied'; exit" && why='it was killed before' && [ -e "$scratch/tidied" ]
}
ends_what_does_not_listen() {
    local start=$SECONDS
    left '' && why="$((SECONDS - start)) s, or process $(cat "$scratch/left") is left" &&
        [ $((SECONDS - start)) -le 15 ] && ! kill -0 "$(cat "$scratch/left")" 2>/dev/null
}

refuses_no_program() { refuses 2 'no program given' -n 2; }
refuses_no_ranks() { refuses 2 "-n '0'" -n 0 true && refuses 2 "-n '-1'" -n -1 true; }
refuses_too_many_ranks() { refuses 2 "-n '1025'" -n 1025 true; }
refuses_ranks_that_are_no_number() { refuses 2 "-n '2x'" -n 2x true; }
refuses_unknown_backends() { refuses 2 "'pigeon'" --backend pigeon true; }
refuses_bad_timeouts() { refuses 2 "'5'" --timeout 5 true && refuses 2 "'0s'" --timeout 0s true; }
refuses_missing_programs() { refuses 127 "'no-such-program'" no-such-program; }
refuses_files_that_can_not_be_run() { refuses 127 'is not an executable file' "$scratch/err"; }
refuses_unknown_options() { run 2 --no-such-option true; }

# By ranks, when they join: one line for all.
program=$build/labs/07-ring-vs-tree/after
says_once_what_all_ranks_lack() {
    export CLAB_EMULATE=moon
    refuses 1 "no network 'moon'" -n 4 "$program" 8 4K
    local result=$?
    unset CLAB_EMULATE
    return $result
}
says_once_what_is_wrong_on_their_command_line() {
    refuses 2 'no flag --bogus' -n 4 "$program" --bogus 4K && refuses 2 "'x': give BYTES" -n 4 "$program" x &&
        refuses 2 "uses shm: put it before" -n 4 "$program" --backend sim 4K
}
says_once_what_all_ranks_are_told_wrong() {
    export CLAB_PROGRESS=moon
    refuses 2 "CLAB_PROGRESS is 'moon'" -n 4 "$program" 8 4K
    local result=$?
    unset CLAB_PROGRESS
    return $result
}

check_each runs_two_ranks_unless_told tells_ranks_who_they_are prefixes_lines_by_rank leaves_options_to_the_program \
    ends_with_the_status_of_a_rank ends_with_the_signal_of_a_rank names_the_rank_that_failed gives_rank_0_our_input \
    hands_on_timeout is_quiet_where_nobody_reads blames_nobody_for_a_rank_that_nobody_reads \
    names_who_wrote_elsewhere lets_what_ranks_leave_tidy_up ends_what_does_not_listen refuses_no_program refuses_no_ranks \
    refuses_too_many_ranks refuses_ranks_that_are_no_number refuses_unknown_backends refuses_bad_timeouts \
    refuses_missing_programs refuses_files_that_can_not_be_run refuses_unknown_options says_once_what_all_ranks_lack \
    says_once_what_is_wrong_on_their_command_line says_once_what_all_ranks_are_told_wrong
exit $failed
