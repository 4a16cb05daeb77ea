#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab version`: it is that of CITATION.cff, and the same wherever a reader meets it.
# Usage: test_version.sh [BUILD].

. tests/cases.sh
version=$(sed -n 's/^version: *//p' CITATION.cff)

says_which_kit_it_is() {
    run 0 "$commlab" --version || return 1
    why=$(cat "$scratch/out")
    grep -qx "commlab $version, commit [0-9a-z.-]*" "$scratch/out" &&
        grep -q '^compiler: .*, -O' "$scratch/out" || return 1
    [ ! -d .git ] || grep -q "commit .*$(git rev-parse --short=12 HEAD)" "$scratch/out"
}
# Each library of the build is in one of two lists.
names_libraries_and_those_it_lacks() {
    local mark name line
    while read -r mark name line; do
        why="$mark $name in $(cat "$scratch/out")"
        grep "^$([ "$mark" = ✓ ] && echo libraries || echo not in this build): " "$scratch/out" | grep -qw "${name%:}" || return 1
    done <"$build/probes.txt"
}
answers_version_and_its_flag_alike() {
    cp "$scratch/out" "$scratch/flag"
    run 0 "$commlab" version && why=$(diff "$scratch/out" "$scratch/flag")
}
is_in_json() {
    run 0 "$commlab" doctor --json || return 1
    why=$(head -n 3 "$scratch/out")
    grep -q "^  \"version\": \"$version\",\$" "$scratch/out" && grep -q '^  "commit": "' "$scratch/out"
}
is_in_results() {
    run 0 "$commlab" bench barrier -n 2 --seconds 1ms --csv "$scratch/b.csv" || return 1
    why=$(grep '^#' "$scratch/b.csv")
    grep -qx "# version: $version" "$scratch/b.csv"
}
takes_no_words() { refuses 2 'it takes flags only' "$commlab" version now; }

check_each says_which_kit_it_is names_libraries_and_those_it_lacks answers_version_and_its_flag_alike
check_with jansson is_in_json
check_each is_in_results takes_no_words
exit $failed
