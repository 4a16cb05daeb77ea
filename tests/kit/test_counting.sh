#!/bin/bash
# SPDX-License-Identifier: MIT
# Whether tests/run.sh counts what tests say, and counts as failed what they leave unsaid. Usage: test_counting.sh.

unset CLAB_TEST_EXCEPT # of who runs us
. tests/cases.sh
mkdir -p "$scratch/tests/kit" && cp tests/run.sh "$scratch/tests" || exit 1

# sums STATUS LINE PROGRAM: run.sh ends with that status and last line when PROGRAM, of bash, is the only test, with
# `limit` seconds: a busy machine starts programs late.
limit=60
sums() {
    printf '#!/bin/bash\n%s\n' "$3" >"$scratch/tests/kit/test_it.sh"
    chmod +x "$scratch/tests/kit/test_it.sh"
    why=$(CLAB_TEST_LIMIT=$limit "$scratch/tests/run.sh" build 2>&1)
    local status=$?
    [ $status = "$1" ] && [ "$(tail -n 1 <<<"$why")" = "$2" ]
}

# No process $1, or one that is dead and has a parent that does not care.
gone() { ! state=$(grep '^State:' "/proc/$1/status" 2>/dev/null) || [[ $state == *zombie* ]]; }

counts_cases_not_programs() { sums 0 '2 passed, 0 failed' 'printf "1..2\nok 1 - a\nok 2 - b\n"'; }
counts_cases_without_numbers() { sums 0 '2 passed, 0 failed' 'printf "ok a\nnoise\nok b\n"'; }
counts_failures() { sums 1 '1 passed, 1 failed' 'printf "1..2\nok 1 - a\nnot ok 2 - b\n"; exit 1'; }
counts_skips_with_a_reason() {
    sums 0 '1 passed, 0 failed, 1 skipped' 'printf "1..2\nok 1 - a\nskip: no\nnot ok 2 # SKIP b\n"'
}
fails_skips_without_one() { sums 1 '1 passed, 1 failed' 'printf "1..2\nok 1 - a\nnot ok 2 # SKIP b\n"'; }
does_not_carry_a_reason_over() {
    sums 1 '1 passed, 1 failed' 'printf "1..2\nskip: no\nok 1 - a\nnot ok 2 # SKIP b\n"'
}
fails_unfinished_plans() { sums 1 '1 passed, 1 failed' 'printf "1..2\nok 1 - a\n"'; }
fails_unfinished_first_plans() { sums 1 '2 passed, 1 failed' 'printf "1..2\nok 1 - a\n1..1\nok 1 - c\n"'; }
fails_silence() { sums 1 '0 passed, 1 failed' ':'; }
fails_bad_statuses() { sums 1 '1 passed, 1 failed' 'echo ok a; exit 3'; }
fails_crashes() { sums 1 '1 passed, 1 failed' 'echo ok a; kill -SEGV $$'; }
counts_copies_of_output_once() { sums 0 '1 passed, 0 failed' 'printf "1..1\nok 1 - a\nok 1 - a\n"'; }
tells_the_reasons() {
    sums 1 '0 passed, 1 failed, 1 skipped' \
        'printf "skip: no such wire\nok 1 # SKIP a\nnot ok 2 - b\n# 1 != 2\n"; exit 1' &&
        grep -q 'a: skipped, no such wire' <<<"$why" && grep -q '# 1 != 2' <<<"$why"
}
ends_what_hangs_and_its_children() {
    limit=3 sums 1 '1 passed, 1 failed' 'echo ok a; sleep 60 & echo $! >child; wait' &&
        gone "$(cat "$scratch/child")"
}
leaves_out_what_is_excepted() {
    printf '#!/bin/bash\necho not ok\n' >"$scratch/tests/kit/test_other.sh"
    CLAB_TEST_EXCEPT=other sums 0 '1 passed, 0 failed' 'echo ok a' && rm "$scratch/tests/kit/test_other.sh"
}
# Two that are late wait for the other, and for each other to begin, where there are two cores; who is alone, for both.
lets_those_alone_that_say_so() {
    local i others
    printf '#!/bin/bash\nsleep 0.3\necho ok b\ntouch %s\n' "$scratch/over" >"$scratch/tests/kit/test_other.sh"
    for i in 1 2; do
        others="[ $(nproc) -lt 2 ] || until [ -e $scratch/begun$((3 - i)) ]; do sleep 0.01; done"
        printf '#!/bin/bash\n# Runs late.\n[ -e %s ] || exit\ntouch %s\n%s\nsleep 0.1\ntouch %s\necho ok c\n' \
            "$scratch/over" "$scratch/begun$i" "$others" "$scratch/over$i" >"$scratch/tests/kit/test_late_$i.sh"
    done
    chmod +x "$scratch"/tests/kit/test_{other,late_?}.sh
    CLAB_TEST_JOBS=2 sums 0 '4 passed, 0 failed' "# Runs alone.
        [ -e $scratch/over ] && [ -e $scratch/over1 ] && [ -e $scratch/over2 ] && echo ok a" &&
        rm "$scratch"/tests/kit/test_{other,late_?}.sh
}
# With one at a time, they run beside it: each sees the other.
starts_those_first_that_wait_long() {
    local sees='for i in {1..2000}; do [ ! -e %s ] || { echo ok a; break; }; sleep 0.01; done\n'
    printf "#!/bin/bash\n# Takes long.\ntouch $scratch/computing\n$sees" "$scratch/waiting" >"$scratch/tests/kit/test_an_early_one.sh"
    chmod +x "$scratch/tests/kit/test_an_early_one.sh"
    CLAB_TEST_JOBS=1 sums 0 '2 passed, 0 failed' "# Waits long.
        touch $scratch/waiting; $(printf "$sees" "$scratch/computing")" && rm "$scratch/tests/kit/test_an_early_one.sh"
}
starts_those_first_that_take_long() {
    printf '#!/bin/bash\n[ -e %s ] && echo ok a\n' "$scratch/begun" >"$scratch/tests/kit/test_an_early_one.sh"
    chmod +x "$scratch/tests/kit/test_an_early_one.sh"
    CLAB_TEST_JOBS=1 sums 0 '2 passed, 0 failed' "# Takes long.
        echo ok b; touch $scratch/begun" && rm "$scratch/tests/kit/test_an_early_one.sh"
}
# The program says ok, and is older than its source; then, a script of the same name has a log of its own.
fails_what_is_older_than_its_source() {
    mkdir -p "$scratch/build/tests" && printf '#!/bin/bash\necho ok a\n' >"$scratch/build/tests/test_it" &&
        chmod +x "$scratch/build/tests/test_it" || return 1
    touch "$scratch/tests/kit/test_it.c"
    touch -d '1 minute ago' "$scratch/build/tests/test_it"
    sums 1 '1 passed, 1 failed' 'echo ok b' && grep -q 'test_it is older than .*: make tests' <<<"$why" || return 1
    touch "$scratch/build/tests/test_it"
    sums 0 '2 passed, 0 failed' 'echo ok b' && [ -e "$scratch/build/tests/test_it.sh.log" ] &&
        touch -d '1 minute' "$scratch/build/libcommlab.a" && sums 1 '1 passed, 1 failed' 'echo ok b' &&
        rm -r "$scratch/tests/kit/test_it.c" "$scratch/build"
}
says_how_much_a_quick_run_leaves_out() {
    sums 0 '1 passed, 0 failed' 'echo "left out: 3"; echo ok a; echo "left out: 4"' && grep -q '^left out.* 7 cases.*make test-full' <<<"$why" &&
        sums 0 '1 passed, 0 failed' 'echo ok a' && ! grep -q '^left out' <<<"$why"
}
leaves_out_what_only_a_full_run_has() {
    local program='# Only in a full run: 3 cases.
        echo ok a'
    CLAB_TEST_FULL='' sums 1 '0 passed, 0 failed' "$program" && grep -q '^left out.* 3 cases' <<<"$why" &&
        CLAB_TEST_FULL=1 sums 0 '1 passed, 0 failed' "$program"
}
refuses_to_leave_out_what_is_not_there() {
    ! why=$(CLAB_TEST_EXCEPT=ohter "$scratch/tests/run.sh" build 2>&1) &&
        grep -q "there is no tests/\*/test_ohter" <<<"$why"
}
fails_if_there_is_nothing() {
    rm "$scratch/tests/kit/test_it.sh"
    ! why=$("$scratch/tests/run.sh" build) && [ "$why" = '0 passed, 0 failed' ]
}

check_each counts_cases_not_programs counts_cases_without_numbers counts_failures counts_skips_with_a_reason \
    fails_skips_without_one does_not_carry_a_reason_over fails_unfinished_plans fails_unfinished_first_plans \
    fails_silence fails_bad_statuses fails_crashes counts_copies_of_output_once tells_the_reasons \
    ends_what_hangs_and_its_children leaves_out_what_is_excepted \
    lets_those_alone_that_say_so starts_those_first_that_wait_long starts_those_first_that_take_long fails_what_is_older_than_its_source \
    says_how_much_a_quick_run_leaves_out leaves_out_what_only_a_full_run_has refuses_to_leave_out_what_is_not_there \
    fails_if_there_is_nothing
exit $failed
