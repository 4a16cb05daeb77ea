#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab audit` as its users meet it: the verdicts of the 38 claims, all of them computed; true claims pass.
# Usage: test_audit.sh [BUILD].

. tests/cases.sh
subject=("$commlab" audit)
claims=labs/13-audit/claims.txt

# verdicts FILE: "1 unit error", a line per claim.
verdicts() {
    run 0 "$1" --csv "$scratch/audit.csv" || return 1
    awk -F, '!/^#/ && $1 != "id" { print $1, $NF }' "$scratch/audit.csv"
}
# As the design of the lab has them.
expected='1 unit error;2 unit error;3 impossible;4 inconsistent;5 wrong;6 impossible;7 wrong;8 impossible;9 pass;10 unreproducible
11 no single fit;12 impossible;13 unit error;14 unverified;15 approximate;16 contradiction;17 wrong;18 incomplete;19 wrong
20 category;21 too low;22 reversed;23 mixed;24 wrong;25 incorrect;26 incorrect;27 contradiction;28 no effect;29 ABI;30 no effect
31 invalid;32 contradiction;33 too low;34 unit error;35 impossible;36 impossible;37 copied;38 too low'
finds_the_verdict_of_each_claim() {
    verdicts $claims >"$scratch/found" || return 1
    why=$(diff <(tr ';' '\n' <<<"$expected") "$scratch/found")
    [ -z "$why" ]
}
# set CLAIM NAME VALUE: in $scratch/true.
set_to() {
    awk -v claim="[$1]" -v name="$2" -v value="$3" '/^\[/ { here = $0 == claim }
        here && $1 == name { print name " = " value; done = 1; next } { print } END { exit !done }' \
        "$scratch/true" >"$scratch/next" && mv "$scratch/next" "$scratch/true"
}
# One number or word changed in each, and all are true: no verdict is written anywhere.
passes_all_once_they_are_true() {
    local claim name value
    cp $claims "$scratch/true"
    while read -r claim name value; do
        why="claim $claim has no $name"
        set_to "$claim" "$name" "$value" || return 1
    done <<'END'
1 claimed 360 %
2 rate 10.25 GB/s
3 value 2
4 after 76.5 GB/s
5 time 2092 us
6 time 2400 us
7 claimed 219.3 GB/s
8 link 3200 Gb/s
10 claimed 31.98 GB/s
11 time 10 us, 31 us, 345 us, 2694 us, 21485 us
12 algbw 171 GB/s
13 claimed rate
14 calls 42
15 claimed 2 * (n - 1) / n
16 values 200 Gb/s, 25 GB/s
17 n 4
18 values 3, 3
19 parameters 3.75e9
20 variable bytes of the message
21 claimed 3.92 s, 4.41 s
22 right 200 Gb/s, 400 Gb/s
23 values 600 GB/s, 600 GB/s
24 with 2 B
25 high 127
26 order start, wait, step
27 values 12 MiB, 12582912 B
28 row allreduce, 0, 98304, tree, ll, -1, -1, -1
29 has context, collType, nBytes, numPipeOps, collCostTable, numAlgo, numProto, nChannels
30 setting NCCL_IB_TIMEOUT, NCCL_COLLNET_ENABLE
31 value 64
32 low 10, 5, 10, 12
33 last 0 s
34 adapter 6400 Gb/s
35 nodes 2
36 time 9.4 ms
37 fields 95.2 %, 93.1 GB/s, 91 %, 88.5 %
38 rate 1.05 GB/s
END
    set_to 32 high '1e9, 20, 100, 12' && set_to 19 width '2 B' || return 1
    verdicts "$scratch/true" >"$scratch/found" || return 1
    why=$(grep -v ' pass$' "$scratch/found")
    [ -z "$why" ] && grep -qx '# 38 of 38 claims pass' "$scratch/out"
}
says_the_right_value() {
    writes 'right: 219.3 GB/s; claimed is 0.233 times that' --claim 7 --full && writes 'at least 14 ms' --claim 8 --full &&
        writes 'overflows after 42 of 110 calls' --claim 14 --full
}
fits_120_columns() {
    run 0 || return 1
    why=$(awk 'length > 120' "$scratch/out")
    [ -z "$why" ]
}
reads_the_form_for_claims_of_ones_own() {
    writes '# 0 of 1 claims pass' labs/13-audit/my-claims.txt && writes '20 ms; at least 35 ms' labs/13-audit/my-claims.txt
}
# refuses_claim WORDS LINES...: a claim of these lines.
refuses_claim() {
    printf '%s\n' '[a]' 'says = x' "${@:2}" >"$scratch/bad.txt"
    refuses 2 "$1" "$scratch/bad.txt"
}

check refuses_a_file_that_is_not_there refuses 2 'none.txt' "$scratch/none.txt"
if lacks inih; then
    skip 'built without inih' all
    exit $failed
fi
check_each finds_the_verdict_of_each_claim passes_all_once_they_are_true says_the_right_value fits_120_columns \
    reads_the_form_for_claims_of_ones_own
check refuses_unknown_rule refuses_claim "bad.txt:3: [a] rule: there is no rule 'bonud' (did you mean 'bound'?)" 'rule = bonud'
check refuses_a_missing_rule refuses_claim "bad.txt:2: [a] has no 'rule ='" 'source = y'
check refuses_a_missing_line refuses_claim 'the rule equal wants a line right = ...' 'rule = equal' 'claimed = 1'
check refuses_unknown_unit refuses_claim "bad.txt:4: [a] claimed: there is no unit 'GBps'" 'rule = equal' 'claimed = 1 GBps' 'right = 1'
check refuses_unlike_units refuses_claim 'bad.txt:5: [a] right: it counts something else' 'rule = equal' 'claimed = 1 GB' 'right = 1 s'
check refuses_a_sum_of_unlike_units refuses_claim "bad.txt:5: [a] right: '+' of different things" 'rule = equal' 'claimed = 1' 'right = 1 GB + 1 s'
check refuses_unknown_name refuses_claim "nothing says what 'n' is: add a line n = ..." 'rule = equal' 'claimed = n' 'right = 1'
check refuses_a_circle refuses_claim "'n' is said by itself" 'rule = equal' 'claimed = n' 'right = 1' 'n = 2 * n'
# Each name is the sum of ten of the next: 10^15 steps, if nobody counts them.
refuses_names_that_take_for_ever() {
    local lines=() i
    for ((i = 0; i < 15; i++)); do
        lines+=("n$i = $(printf "n$((i + 1)) + %.0s" 1 2 3 4 5 6 7 8 9)n$((i + 1))")
    done
    refuses_claim 'this takes more than 10000 steps' 'rule = equal' 'claimed = n0' 'right = 1' "${lines[@]}" 'n15 = 1'
}
# judges VERDICT LINES...: a claim of these lines.
judges() {
    printf '%s\n' '[a]' 'says = x' "${@:2}" >"$scratch/one.txt"
    run 0 "$scratch/one.txt" --csv "$scratch/one.csv" || return 1
    why="not '$1': $(cat "$scratch/one.csv")"
    grep -q ",$1\$" "$scratch/one.csv" && ! grep -qE '\bnan\b' "$scratch/one.csv"
}
finds_no_line_where_there_is_none() {
    judges 'no single fit' 'rule = line' 'bytes = 8 B, 8 B, 8 B' 'time = 1 us, 2 us, 3 us' &&
        judges 'no single fit' 'rule = line' 'bytes = 8 B, 16 B, 24 B' 'time = 0 s, 0 s, 0 s' &&
        judges 'no single fit' 'rule = line' 'bytes = 1 MB, 2 MB, 3 MB' 'time = 100 us, 99 us, 98 us' &&
        judges pass 'rule = line' 'bytes = 1 MB, 2 MB, 3 MB' 'time = 100 us, 200 us, 300 us'
}
announces_files_that_it_replaces() {
    run 0 --claim 1 --csv "$scratch/said.csv" --json "$scratch/said.json" && [ ! -s "$scratch/err" ] || return 1
    run 0 --claim 1 --csv "$scratch/said.csv" --json "$scratch/said.json" || return 1
    why=$(cat "$scratch/err")
    grep -q 'said.csv of .* will be replaced' <<<"$why" && grep -q 'said.json of .* will be replaced' <<<"$why"
}
check_each refuses_names_that_take_for_ever finds_no_line_where_there_is_none announces_files_that_it_replaces
check refuses_a_field_that_is_no_number refuses_claim "bad.txt:4: [a] fields: 'n/a' does not begin with a number" 'rule = copied' 'fields = n/a, n/a, n/a'
check refuses_times_0 refuses_claim 'bad.txt:5: [a] right: it is 0' 'rule = estimate' 'claimed = 0' 'right = 0'
check refuses_division_by_0 refuses_claim 'is something divided by 0?' 'rule = equal' 'claimed = 1 / 0' 'right = 1'
check refuses_unlike_lengths refuses_claim 'have different lengths' 'rule = equal' 'claimed = 1, 2' 'right = 1, 2, 3'
check refuses_unknown_claim refuses 2 'has no such claim' --claim 99
exit $failed
