#!/bin/bash
# SPDX-License-Identifier: MIT
# The short form of `make bench-sockets`: one size, and a bar of 4 instead of 1.2. Where other
# programs run, a rank that gives its core away gets it back late; a rank that sleeps too early takes 10 times as long.
# Usage: test_sockets.sh [BUILD]. It judges times. Runs alone. Only in a full run: 2 cases.

. tests/cases.sh

# sockets STATUS VARIABLE...: the comparison of two collectives ends so.
sockets() {
    local expected=$1 status
    shift
    env SOCKETS_COLLECTIVES='allgather broadcast' SOCKETS_LARGEST=24 SOCKETS_FOLDER="$scratch" "$@" tests/peers/sockets.sh "$build" \
        >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    why="status $status, not $expected: $(cat "$scratch/out" "$scratch/err")"
    [ $status -eq "$expected" ]
}

keeps_up_with_a_plain_program() {
    sockets 0 SOCKETS_ROUNDS=5 SOCKETS_BAR=4 && why=$(cat "$scratch/sockets.csv") &&
        [ "$(grep -c '^\(allgather\|broadcast\),24,' "$scratch/sockets.csv")" -eq 2 ]
}

says_what_is_over_the_bar() {
    sockets 1 SOCKETS_ROUNDS=1 SOCKETS_BAR=0.01 && grep -q 'allgather .* over$' "$scratch/out"
}

check_with libfabric keeps_up_with_a_plain_program says_what_is_over_the_bar
exit $failed
