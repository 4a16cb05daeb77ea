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

# ---- a student's own claims --------------------------------------------------------------------------------------
mkdir -p "$scratch/own"
cp labs/13-audit/after.c "$scratch/own/mine.c"
write_claims() {
    cat >"$scratch/own/my-claims.txt" <<'END'
[card]
source = data sheet of an adapter, page 2
says = A port of 100 Gb/s moves 11.9 GB/s
rule = bound
value = moved
at_most = port
moved = 11.9 GB/s
port = 100 Gb/s
measure = send large messages between two hosts
[library]
source = README of a library
says = 4 ranks sum 256 MB in 4 ms on 400 Gb/s
rule = bound
value = 4 ms
at_least = 2 * (n - 1) / n * bytes / link
n = 4
bytes = 256 MB
link = 400 Gb/s
[variable]
source = a blog
says = LIBRARY_FAST=1 makes it fast
rule = setting
setting = LIBRARY_FAST
known = LIBRARY_DEBUG, LIBRARY_PORT
END
}
# judges STATUS WORDS [SED...]: what the check says of these claims, changed so.
judges() {
    write_claims
    [ $# -lt 3 ] || sed -i "${@:3}" "$scratch/own/my-claims.txt"
    subject=()
    run "$1" "$commlab" check 13 --source "$scratch/own/mine.c" --case 4 || return 1
    why="no '$2' in: $(cat "$scratch/out")"
    tr -s ' \n' ' ' <"$scratch/out" | sed 's/ -> / /g' | grep -qF -- "$2"
}
takes_three_claims_that_are_computed() { judges 0 '1 of 1 cases pass.'; }
says_what_is_wrong_with_a_claim() {
    judges 1 'got 2 claims, expected 3' '/^\[variable/,$d' && judges 1 'Say where the claim stands' '/^source = a blog/d' &&
        judges 1 "That is the form's example" 's/^says = 4 ranks.*/says = 8 GPUs with 400 Gb\/s each, a node apart, sum 1 GB in 20 ms/' || return 1
    judges 1 'That is one of the 38 claims' 's/^says = 4 ranks.*/says = 45 GB\/s is 45 % of a 100 Gb\/s link/' &&
        judges 1 'Two sections say the same' 's/^says = 4 ranks.*/says = A port of 100 Gb\/s moves 11.9 GB\/s/' &&
        judges 1 'my-claims.txt:15: [library] at_least: ' 's/^link = .*/link = 400 ms/' &&
        judges 1 'Say what you would measure' '/^measure/d' && judges 1 'None of your claims passes' 's/^moved = .*/moved = 119 GB\/s/'
}
wants_verdicts_that_follow_from_numbers() {
    judges 1 'got no number with a name, expected one' 's/^at_least = .*/at_least = 8 ms/; /^n = /d; /^bytes = /d; /^link = /d' &&
        judges 1 'nodes = 2, in line 19: nothing depends on it' 's/^link = .*/&\nnodes = 2/' &&
        judges 1 'got 1, expected 2 at least' '/^\[library/,$ { s/^rule = bound/rule = agree/; s/^value = 4 ms/values = 4 ms, 5 ms/; /^at_least/d; /^n = /d; /^bytes = /d; /^link = /d }'
}
wants_a_file_of_the_student_alone() {
    rm -f "$scratch/own/my-claims.txt"
    subject=()
    run 2 "$commlab" check 13 --source "$scratch/own/mine.c" --case 4 && grep -q 'unit 13 has 3 cases' "$scratch/err"
}
check_each before_believes after_computes_and_measures refuses_a_claim_of_three_numbers
check_with inih takes_three_claims_that_are_computed says_what_is_wrong_with_a_claim wants_verdicts_that_follow_from_numbers \
    wants_a_file_of_the_student_alone
exit $failed
