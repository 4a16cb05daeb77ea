#!/bin/bash
# SPDX-License-Identifier: MIT
# Takes long. `commlab check` of all units: after.c passes; before.c and each half-mend (tests/halfway/UNIT-*.c) fail,
# and the check says what its file promises: a line `// before: TEXT` in check.c, `// expects: TEXT` in the half-mend.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:?usage: tests/course/test_check.sh BUILD}
commlab=$build/commlab
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT

# check UNIT SOURCE STATUS TEXT NAME: the exit status, and a text that is printed. Line breaks of the text do not count.
check() {
    timeout 100 "$commlab" check "$1" --source "$2" >"$log" 2>&1
    local status=$? words
    words=$(sed 's/^ *-> //' "$log" | tr -s ' \n' ' ')
    if [ "$status" = "$3" ] && [[ $words == *"$4"* ]]; then
        echo "ok $5"
    else
        echo "not ok $5: status $status, expected $3 and: $4"
        sed 's/^/# /' "$log"
    fi
}

# promise WORD FILE: the text behind `// WORD: ` in the file.
promise() { sed -n "s,^// $1: ,,p" "$2" | head -n 1; }

for file in labs/*/check.c labs/primer/*/check.c; do
    [ -e "$file" ] || continue
    folder=${file%/check.c} name=${file%/check.c}
    name=${name##*/} unit=${name%%-*}
    check "$unit" "$folder/after.c" 0 ' cases pass.' "after_passes_$unit"
    text=$(promise before "$file")
    check "$unit" "$folder/before.c" 1 "${text:?$file has no line // before: TEXT}" "before_fails_$unit"
    for half in tests/halfway/"$unit"-*.c; do
        [ -e "$half" ] || continue
        text=$(promise expects "$half")
        check "$unit" "$half" 1 "${text:?$half has no line // expects: TEXT}" "fails_$(basename "$half" .c)"
    done
done
