#!/bin/bash
# SPDX-License-Identifier: MIT
# Lab 13's programs: before believes published times, after computes what links allow; wrong claims are refused in a line.
# Usage: test_lab_audit.sh [BUILD].

. tests/cases.sh
programs=$build/labs/13-audit

value() { awk -F, -v q="$1" '$1 == q { print $5 }' "$scratch/found"; }
runs() { # runs PROGRAM WORDS...
    rm -f "$scratch/found"
    subject=()
    CLAB_RESULTS=$scratch/found run 0 timeout 60 "$programs/$1" -n 8 --backend sim "${@:2}"
}
claims=8:100000000:2450:100,8:1073741824:22450.12:2400
before_believes() {
    runs before $claims 64 && why=$(cat "$scratch/found") || return 1
    [ "$(value floor/claim/1) $(value possible/claim/1) $(value speedup/tree/64 | cut -c 1-5)" = '0 1 1.985' ]
}
after_computes_and_measures() {
    runs after $claims 64 && why=$(cat "$scratch/found") || return 1
    [ "$(value floor/claim/1) $(value possible/claim/1) $(value possible/claim/2)" = '0.014 0 1' ] &&
        awk -v s="$(value speedup/tree/64)" 'BEGIN { exit !(s > 1.74 && s < 1.76) }' # 14 messages against 8
}
refuses_a_claim_of_three_numbers() {
    subject=()
    run 2 "$programs/after" -n 2 8:100:2450 64
    grep -q 'give claims n:BYTES:MICROSECONDS:GBITS' "$scratch/err"
}
check_each before_believes after_computes_and_measures refuses_a_claim_of_three_numbers
exit $failed
