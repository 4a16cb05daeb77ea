#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs the tests and counts their cases.
#
#   tests/run.sh BUILD [NAME]    all of BUILD/tests/test_* and tests/test_*.sh, or those with NAME in their name, but
#                                those whose name is in CLAB_TEST_EXCEPT ("gloo mpi"), which are named at the end
#
# - A test is a program that speaks TAP on its standard output: cmocka's do when asked; scripts print `ok NAME` or
#   `not ok NAME: WHY` themselves. What says nothing, crashes, hits the limit or stops short of its plan has failed.
# - A case that cannot run here prints `skip: REASON` and skips. A skip without a reason is a failure.
# - Each test has BUILD in CLAB_BUILD (scripts also in $1) and CLAB_TEST_LIMIT seconds (120 unless told); what it
#   started is killed when they are over.
# - Prints a line a test, then what failed and why things were skipped; the last line is `N passed, N failed`, and
#   `, N skipped` if any were. Exits with 1 unless something passed and nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 1

build=${1:?usage: tests/run.sh BUILD [NAME]}
name=${2-}
limit=${CLAB_TEST_LIMIT:-120}
export CLAB_BUILD=$build CMOCKA_MESSAGE_OUTPUT=TAP
passed=0 failed=0 skipped=0 child=

# A test that is running dies with us.
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; exit 130' INT TERM

# Count the TAP on standard input: "passed failed skipped", then a line to show for each case that did not pass.
# `status` is the program's. Numbers that come twice are a forked child's copy of its parent's output.
count() {
    awk -v status="$1" -v limit="$limit" '
        function close_plan() {
            if (planned > seen)
                fail(planned - seen " of " planned " cases did not report")
        }
        function fail(why) { failed++; shown[++lines] = "✗ " why }
        /^1\.\.[0-9]+/ { close_plan(); planned = substr($1, 4) + 0; seen = 0; reason = ""; last = 0; next }
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
            print passed + 0, failed + 0, skipped + 0
            for (i = 1; i <= lines; i++)
                print shown[i]
        }'
}

# Run the test $2 with its arguments, its output to the log $1, and add to the sums.
run() {
    local log=$1
    shift
    local start=$EPOCHREALTIME status p f s
    timeout --kill-after=5 "$limit" "$@" >"$log" 2>&1 </dev/null &
    child=$!
    { wait "$child"; } 2>/dev/null # a shell that reports how it died would say so twice
    status=$?
    child=
    local ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
    {
        read -r p f s
        local mark=✓ more=
        [ "$f" = 0 ] || mark=✗ more=", $f failed"
        [ "$s" = 0 ] || more="$more, $s skipped"
        printf '%s %-28s %4d passed%s %6d.%03d s\n' $mark "$(basename "$1")" "$p" "$more" $((ms / 1000)) $((ms % 1000))
        sed 's/^/    /'
    } < <(count "$status" <"$log")
    [ "$f" = 0 ] || echo "    its output is in $log"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

mkdir -p "$build/tests" || exit 1
for source in tests/test_*"$name"*.c tests/test_*"$name"*.sh; do
    [ -e "$source" ] || continue
    base=$(basename "${source%.*}")
    case " ${CLAB_TEST_EXCEPT-} " in *" ${base#test_} "*) continue ;; esac
    case $source in
    *.c) run "$build/tests/$base.log" "$build/tests/$base" ;;
    *) run "$build/tests/$base.log" "$source" "$build" ;;
    esac
done

[ -z "${CLAB_TEST_EXCEPT-}" ] || echo "not run, as CLAB_TEST_EXCEPT says: $CLAB_TEST_EXCEPT"
summary="$passed passed, $failed failed"
[ $skipped = 0 ] || summary="$summary, $skipped skipped"
echo "$summary"
[ $failed = 0 ] && [ $passed -gt 0 ]
