#!/bin/bash
# SPDX-License-Identifier: MIT
# Takes long. `commlab check` of all units: after.c passes; before.c and each half-mend (tests/halfway/UNIT/*.c)
# fail, and the check says what its file promises: a line `// before: TEXT` in check.c, `// expects: TEXT` in the
# half-mend. Two units at a time. Usage: test_check.sh BUILD
#
# Without CLAB_TEST_FULL=1, half-mends are the last by name of each unit of the primer, and those that `also` names. Of a
# unit in `only`, whose cases take long, after.c runs one case, and there is no before.c and no half-mend.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/course/test_check.sh BUILD}
commlab=$build/commlab
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

also=' 07/ring-all-send-first 07/one-variable 05/never-hit ' # ranks that wait for each other, or for nobody; results that are right
declare -A only=([02]=1 [05]=1 [06]=1 [08]=1 [09]=1 [10]=3 [11]=3 [12]=1) # unit: case
[ -z "${CLAB_TEST_FULL-}" ] || only=()

# check UNIT SOURCE STATUS TEXT NAME [ARGS...]: the exit status, and a text that is printed. Line breaks of the text do not count.
check() {
    local log=$scratch/$1.log status words
    timeout 100 "$commlab" check "$1" --source "$2" "${@:6}" >"$log" 2>&1
    status=$?
    words=$(sed 's/^ *-> //' "$log" | tr -s ' \n' ' ')
    if [ "$status" = "$3" ] && [ -n "$4" ] && [[ $words == *"$4"* ]]; then
        echo "ok $5"
    else
        echo "not ok $5: status $status, expected $3 and: ${4:-its file promises no text}"
        sed 's/^/# /' "$log"
    fi
}

# promise WORD FILE: the text behind `// WORD: ` in the file.
promise() { sed -n "s,^// $1: ,,p" "$2" | head -n 1; }

# half_mends UNIT: the names of those that are checked. How many are not is left in $scratch/UNIT.left.
half_mends() {
    local half left=0 all=() last=
    for half in tests/halfway/"$1"/*.c; do [ ! -e "$half" ] || all+=("$(basename "$half" .c)"); done
    [ -n "${only[$1]-}" ] || [[ $1 != p? ]] || last=${all[@]: -1}
    for half in "${all[@]}"; do
        if [ -n "${CLAB_TEST_FULL-}" ] || [[ "$also $1/$last " == *" $1/$half "* ]]; then echo "$half"; else ((left++)); fi
    done
    [ $left = 0 ] || echo $left >"$scratch/$1.left"
}

# check_unit UNIT FOLDER: all programs that the unit has.
check_unit() {
    local half
    check "$1" "$2/after.c" 0 ' cases pass.' "after_passes_$1" ${only[$1]:+--case ${only[$1]}}
    if [ -z "${only[$1]-}" ]; then # the others compute for longer
        check "$1" "$2/before.c" 1 "$(promise before "$2/check.c")" "before_fails_$1"
    else
        echo 'left out: 1'
    fi
    for half in $(half_mends "$1"); do
        check "$1" "tests/halfway/$1/$half.c" 1 "$(promise expects "tests/halfway/$1/$half.c")" "fails_$1_$half"
    done
}

for file in labs/*/check.c labs/primer/*/check.c; do
    folder=${file%/check.c} name=$(basename "${file%/check.c}")
    [ "$(jobs -pr | wc -l)" -lt 2 ] || wait -n
    check_unit "${name%%-*}" "$folder" >"$scratch/${name%%-*}" &
done
wait
cat "$scratch"/p? "$scratch"/[0-9][0-9]
left=$(cat "$scratch"/*.left 2>/dev/null | paste -sd+)
[ -z "$left" ] || echo "left out: $((left))"
