# SPDX-License-Identifier: MIT
# What test scripts share: they begin with `. tests/cases.sh` (bash, at the top of the kit) and end with `exit $failed`.
#
# - A case is a command that is true when the case passes, and leaves in `why` what was seen. check runs it, and prints
#   a line of TAP, `ok NAME` or `not ok NAME`, with the last lines of `why` below the latter; tests/run.sh counts them.
# - A case that can not be run here is said by skip, with the reason.
# - $scratch is a folder that goes with the script, or with `make clean` if that was killed; $build is the script's
#   argument, build/ unless told.
# - With CLAB_TEST_TIMES=1, a line `# core-ms: N NAME` says what each case has computed.
# - run puts the words of `subject` before every command: subject=("$commlab" bench). None unless set.

build=${1:-build}
commlab=$build/commlab
mkdir -p "$build/tests" && scratch=$(mktemp -d "$(realpath "$build/tests")/scratch-XXXXXX") || exit 1
trap 'rm -rf "$scratch" "$scratch.times"' EXIT
failed=0 why=
subject=()

# run STATUS ARGS...: what the subject with ARGS writes is left in out and err. False: it ended with another status.
run() {
    local expected=$1 status
    shift
    "${subject[@]}" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    why="status $status, not $expected: $(tail -n 3 "$scratch/out")
$(cat "$scratch/err")"
    [ $status -eq "$expected" ]
}

# refuses STATUS WORDS ARGS...: one line on stderr that holds the words, nothing else, and nothing at $scratch/refused.
refuses() {
    local expected=$1 words=$2
    shift 2
    run "$expected" "$@" || return 1
    why="not one line with '$words': $(cat "$scratch/out" "$scratch/err")"
    [ ! -s "$scratch/out" ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -qF -- "$words" "$scratch/err" || return 1
    why="it wrote $(find "$scratch/refused" 2>/dev/null)"
    [ ! -e "$scratch/refused" ]
}

# writes WORDS ARGS...: it succeeds, and its output holds the words.
writes() {
    local words=$1
    shift
    run 0 "$@" || return 1
    why="no '$words' in: $(head -c 2000 "$scratch/out")"
    grep -qF -- "$words" "$scratch/out"
}

# has FILE TEXT: out or err is that text, lines in any order.
has() {
    why="$1 is '$(cat "$scratch/$1")'"
    [ "$(sort "$scratch/$1")" = "$(printf "$2" | sort)" ]
}

# From now on, PNG files are small: at full size they take six times as long as all else of a figure.
draw_small() {
    local gnuplot
    gnuplot=$(command -v gnuplot) && mkdir -p "$scratch/gnuplot" || return 0
    printf '#!/bin/sh\nexec "%s" -e "png_scale = 0.25" "$@"\n' "$gnuplot" >"$scratch/gnuplot/gnuplot"
    chmod +x "$scratch/gnuplot/gnuplot"
    PATH=$scratch/gnuplot:$PATH
}

# From now on, commlab is the program of a kit of its own that has only these claims: to compute what all claims are by the
# model takes longer than the rest of a report (test_report.sh has all of them). take_kit_of_claims ID...
take_kit_of_claims() {
    local kit=$scratch/claims-$* IFS='|'
    mkdir -p "$kit/build" && cp -r labs plots sim "$kit/" && cp "$commlab" "$build/probes.txt" "$kit/build/" &&
        ln -s build/commlab "$kit/commlab" && rm "$kit/labs/claims.csv" &&
        grep -E "^(#|id,|($*),)" labs/claims.csv >"$kit/labs/claims.csv" || exit 1
    commlab=$kit/build/commlab
}

# leaves_no_folder COMMAND...: ended as soon as it has made a folder in TMPDIR, it dies of that signal, and the folder
# is gone.
leaves_no_folder() {
    local pid status folder=$scratch/temporary i
    mkdir -p "$folder"
    TMPDIR=$folder "$@" >"$scratch/out" 2>"$scratch/err" </dev/null &
    pid=$!
    for ((i = 0; i < 3000; i++)); do
        [ -z "$(ls "$folder")" ] || break
        sleep 0.01
    done
    why="it has made no folder in TMPDIR: $(cat "$scratch/err")"
    [ -n "$(ls "$folder")" ] || return 1
    kill -TERM "$pid"
    wait "$pid" 2>/dev/null
    status=$?
    why="status $status, and $(find "$folder" -mindepth 1) is left: $(cat "$scratch/err")"
    [ $status -eq 143 ] && rmdir "$folder"
}

# take_time: what the commands of this script have computed until now, in ms, is left in `spent`.
take_time() {
    local user sys part
    times >"$scratch.times"
    { read -r _ && read -r user sys; } <"$scratch.times"
    spent=0
    for part in ${user%s} ${sys%s}; do
        part=${part/./} spent=$((spent + ${part%m*} * 60000 + 10#${part#*m}))
    done
}

# Of tests/left_out.txt, those of this script.
left_out=" $(sed -n "s|^${0##*/} \([a-z_0-9]*\) .*|\1|p" tests/left_out.txt | tr '\n' ' ')"

# check NAME [COMMAND...]: the case NAME, which is the command, or else the function NAME.
check() {
    local checked=$1 # a name that no case uses
    if ! is_full && [[ $left_out == *" $checked "* ]]; then
        leave_out 1
        return
    fi
    [ $# -eq 1 ] || shift
    local ms_before its_status
    [ -z "$told_times" ] || { take_time && ms_before=$spent; }
    "$@"
    its_status=$?
    [ -z "$told_times" ] || { take_time && echo "# core-ms: $((spent - ms_before)) $checked"; }
    if [ $its_status = 0 ]; then
        echo "ok $checked"
    else
        echo "not ok $checked"
        tail -n 30 <<<"$why" | sed 's/^/# /'
        failed=1
    fi
}

# check_each NAME...: the cases of these functions.
check_each() {
    local case
    for case; do
        check "$case"
    done
}

# skip REASON NAME...: these cases can not be run.
skip() {
    local reason=$1 case
    shift
    for case; do
        echo "skip: $reason"
        echo "ok $case # SKIP"
    done
}

# lacks LIBRARY: true where the build does.
lacks() { grep -q "^✗ $1: " "$build/probes.txt"; }

# check_with LIBRARIES NAME...: cases that can not be where the build lacks one of the libraries, as in "inih jansson".
check_with() {
    local libraries=$1 library
    shift
    for library in $libraries; do
        if lacks "$library"; then
            skip "built without $library" "$@"
            return
        fi
    done
    check_each "$@"
}

# is_full: true where a test takes all of its settings (CLAB_TEST_FULL=1, `make test-full`).
# What was told when the script began: some unset CLAB_... .
told_full=${CLAB_TEST_FULL-} told_times=${CLAB_TEST_TIMES-}
is_full() { [ -n "$told_full" ]; }

# leave_out N: what a quick run does not do is said, so that tests/run.sh can sum it up.
leave_out() { is_full || [ "$1" = 0 ] || echo "left out: $1"; }

# check_full NAME...: cases of a full run. Each kind of them has a case in a quick one, too.
check_full() { if is_full; then check_each "$@"; else leave_out $#; fi; }

# check_having PROGRAM NAME...: cases that can not be where the machine lacks the program.
check_having() {
    local program=$1
    shift
    if command -v "$program" >/dev/null; then
        check_each "$@"
    else
        skip "there is no $program" "$@"
    fi
}
