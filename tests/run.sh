#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the tests and counts their cases.
#
#   tests/run.sh BUILD [NAME]    all of BUILD/tests/test_* and tests/*/test_*.sh, or those with NAME in their name, but
#                                those whose name is in CLAB_TEST_EXCEPT ("gloo mpi"), which are named at the end;
#                                names of no test are refused
#
# - A test is a program that speaks TAP on its standard output: cmocka's do when asked; scripts print `ok NAME` or
#   `not ok NAME: WHY` themselves. What says nothing, crashes, hits the limit or stops short of its plan has failed.
# - A case that cannot run here prints `skip: REASON` and skips. A skip without a reason is a failure.
# - A program that is older than its source or the library would test what is no longer there: it has failed.
# - Each test has BUILD in CLAB_BUILD (scripts also in $1) and CLAB_TEST_LIMIT seconds (240 unless told); what it
#   started is killed when they are over.
# - With CLAB_TEST_FULL=1, as `make test-full` and continuous integration have it, a test takes all of its settings, and
#   else the quick ones: a line `left out: N` says how many cases, settings or files it has not tried. They are summed up
#   at the end. A test whose first lines say `Only in a full run: N cases.` is all left out, unless NAME asks for it.
# - CLAB_TEST_JOBS tests run at a time: two per core, but at least 3 and at most 6.
#   What a test says in its first lines decides when it starts:
#   `Waits long`: first, all at once, and beside the others, since these compute little;
#   `Takes long`: next, so that none is left over at the end; then those that say nothing;
#   `Runs late`: after all others, six at a time (one at a time on one core). These judge how long something takes, and
#   mostly wait. Of them `Runs late and long` come first;
#   `Runs alone`: at the end, one by one.
# - Prints a line a test, with what failed in it and why things were skipped; at the end what failed once more; the
#   last line is `N passed, N failed`, and `, N skipped` if any were. Exits with 1 unless something passed and nothing
#   failed.
set -u
cd "$(dirname "$0")/.." || exit 1

build=${1:?usage: tests/run.sh BUILD [NAME]}
name=${2-}
limit=${CLAB_TEST_LIMIT:-240}
export CLAB_BUILD=$build CMOCKA_MESSAGE_OUTPUT=TAP
cores=$(nproc)
jobs=${CLAB_TEST_JOBS:-$((cores < 2 ? 3 : cores < 3 ? 4 : 6))}
passed=0 failed=0 skipped=0 left_out=0
failures= # what is said of tests that failed
declare -A running=() # by log: the process
declare -A beside=()  # those of them that wait long

# Tests that are running die with us.
trap '[ ${#running[@]} = 0 ] || kill "${running[@]}" 2>/dev/null; wait; exit 130' INT TERM

# Count the TAP on standard input: "passed failed skipped left-out", then a line to show for each case that did not pass.
# `status` is the program's. Numbers that come twice are a forked child's copy of its parent's output.
count() {
    awk -v status="$1" -v limit="$limit" '
        function close_plan() {
            if (planned > seen)
                fail(planned - seen " of " planned " cases did not report")
        }
        function fail(why) { failed++; shown[++lines] = "✗ " why }
        /^1\.\.[0-9]+/ { close_plan(); planned = substr($1, 4) + 0; seen = 0; reason = ""; last = 0; next }
        /^left out: [0-9]+$/ { left += $3; next }
        /^skip: / { reason = substr($0, 7); next }
        /^(not )?ok / {
            number = $1 == "not" ? $3 : $2
            last = 0
            if (number ~ /^[0-9]+$/ && number <= seen)
                next
            seen = number ~ /^[0-9]+$/ ? number + 0 : seen + 1
            title = $0
            sub(/^(not )?ok ([0-9]+ )?/, "", title)
            sub(/^(- )?(# SKIP )?/, "", title)
            sub(/ # SKIP.*/, "", title)
            if (/# SKIP/ && reason != "") { skipped++; shown[++lines] = "- " title ": skipped, " reason }
            else if (/# SKIP/) fail(title ": skipped without a reason")
            else if ($1 == "not") { fail(title); last = 1 }
            else passed++
            reason = ""
            cases++
            next
        }
        /^#/ && last { shown[++lines] = "    " $0 } # of the failed case before it
        END {
            close_plan()
            if (!cases) fail("no case was run")
            if (status == 124 || status == 137) fail("stopped after " limit " s, the limit")
            else if (status > 128) fail("died of signal " status - 128)
            else if (status && !failed) fail("exit status " status)
            print passed + 0, failed + 0, skipped + 0, left + 0
            for (i = 1; i <= lines; i++)
                print shown[i]
        }'
}

# Run the test $2 with its arguments, its output to the log $1, and leave its status and milliseconds in $1.end.
run() {
    local log=$1 start=$EPOCHREALTIME child status
    shift
    timeout --kill-after=5 "$limit" "$@" >"$log" 2>&1 </dev/null &
    child=$!
    trap 'kill $child 2>/dev/null; exit 130' TERM
    { wait "$child"; } 2>/dev/null # a shell that reports how it died would say so twice
    status=$?
    echo "$status $(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))" >"$log.ending"
    mv "$log.ending" "$log.end" # who finds it finds all of it
}

# Say what came of the test whose log is $1, and add to the sums.
report() {
    local log=$1 status ms p f s l text mark=✓ more=
    read -r status ms 2>/dev/null <"$log.end" || status=137 ms=0 # its shell was killed
    rm -f "$log.end" "$log.ending"
    text=$(count "$status" <"$log")
    read -r p f s l <<<"$text"
    [ "$f" = 0 ] || mark=✗ more=", $f failed"
    [ "$s" = 0 ] || more="$more, $s skipped"
    text=$(
        printf '%s %-28s %4d passed%s %6d.%03d s\n' $mark "$(basename "$log" .log)" "$p" "$more" \
            $((ms / 1000)) $((ms % 1000))
        tail -n +2 <<<"$text" | sed 's/^/    /'
        [ "$f" = 0 ] || echo "    its output is in $log"
    )
    echo "$text"
    [ "$f" = 0 ] || failures+=$text$'\n'
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) left_out=$((left_out + l))
}

# Wait until fewer than $1 tests run that are not beside the others, and report those that have ended.
settle() {
    local log
    while [ $((${#running[@]} - ${#beside[@]})) -ge "$1" ]; do
        wait -n 2>/dev/null
        for log in "${!running[@]}"; do
            [ ! -e "$log.end" ] && kill -0 "${running[$log]}" 2>/dev/null && continue
            report "$log"
            unset "running[$log]" "beside[$log]"
        done
    done
}

for except in ${CLAB_TEST_EXCEPT-}; do
    compgen -G "tests/*/test_$except.*" >/dev/null && continue
    echo "tests/run.sh: CLAB_TEST_EXCEPT names '$except', but there is no tests/*/test_$except.c or .sh" >&2
    exit 1
done
# Start the test whose source is $1 when fewer than $2 run.
start() {
    local base log test
    base=$(basename "${1%.c}") # of a script with its .sh: a program may have the same name
    log=$build/tests/$base.log test=("$build/tests/$base")
    if [[ $1 != *.c ]]; then
        test=("$1" "$build")
    elif [ "${test[0]}" -ot "$1" ] || [ "${test[0]}" -ot "$build/libcommlab.a" ]; then
        test=(echo "not ok is_built: ${test[0]} is older than $1 or the library, or not there: make tests")
    fi
    settle "$2"
    run "$log" "${test[@]}" &
    running[$log]=$! log_of=$log
}

mkdir -p "$build/tests" || exit 1
is_left_out() { [ -z "${CLAB_TEST_FULL-}" ] && [ -z "$name" ] && [[ $1 =~ 'Only in a full run: '([0-9]+)' cases' ]]; }

waiting=() long=() short=() late=() alone=()
for source in tests/*/test_*"$name"*.c tests/*/test_*"$name"*.sh; do
    [ -e "$source" ] || continue
    base=$(basename "${source%.*}")
    case " ${CLAB_TEST_EXCEPT-} " in *" ${base#test_} "*) continue ;; esac
    about=$(head -n 12 "$source")
    if is_left_out "$about"; then
        left_out=$((left_out + BASH_REMATCH[1]))
        continue
    fi
    case $about in
    *'Runs alone'*) alone+=("$source") ;;
    *'Runs late and long'*) late=("$source" "${late[@]}") ;;
    *'Runs late'*) late+=("$source") ;;
    *'Waits long'*) waiting+=("$source") ;;
    *'Takes long'*) long+=("$source") ;;
    *) short+=("$source") ;;
    esac
done
for source in "${waiting[@]}"; do
    start "$source" "$jobs"
    beside[$log_of]=1
done
for source in "${long[@]}" "${short[@]}"; do
    start "$source" "$jobs"
done
beside=()
settle 1
for source in "${late[@]}"; do
    start "$source" $((cores < 2 ? 1 : 6))
done
for source in "${alone[@]}"; do
    start "$source" 1
done
settle 1

[ -z "${CLAB_TEST_EXCEPT-}" ] || echo "not run, as CLAB_TEST_EXCEPT says: $CLAB_TEST_EXCEPT"
[ $left_out = 0 ] || echo "left out, since they take long: $left_out cases and settings; make test-full tries all of them"
# Once more, where who reads the end of a long log finds it.
[ -z "$failures" ] || printf 'What failed:\n%s' "$failures"
summary="$passed passed, $failed failed"
[ $skipped = 0 ] || summary="$summary, $skipped skipped"
echo "$summary"
[ $failed = 0 ] && [ $passed -gt 0 ]
