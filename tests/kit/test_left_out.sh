#!/bin/bash
# SPDX-License-Identifier: MIT
# Each case of tests/left_out.txt is one of its test's. Usage: test_left_out.sh [BUILD].

. tests/cases.sh

# strangers FILE: the lines of such a table that name no test, or a word that is not in it.
strangers() {
    local test name ms file
    grep -vE '^(#|$)' "$1" | while read -r test name ms; do
        file=$(echo tests/*/"$test")
        [[ $ms =~ ^[0-9]+$ ]] && grep -qw -- "$name" "$file" 2>/dev/null || echo "$test $name $ms"
    done
}
names_cases_that_there_are() {
    why="tests/left_out.txt has $(strangers tests/left_out.txt)"
    [ "$why" = 'tests/left_out.txt has ' ]
}
would_find_a_name_that_is_none() {
    printf '%s\n' '# a remark' 'test_left_out.sh no_such' 'test_none.sh check 10' 'test_left_out.sh strangers 10' >"$scratch/table"
    why=$(strangers "$scratch/table")
    [ "$why" = $'test_left_out.sh no_such \ntest_none.sh check 10' ]
}

check_each names_cases_that_there_are would_find_a_name_that_is_none
exit $failed
