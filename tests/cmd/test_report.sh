#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab report`: what it says of each claim, by results that are made up, and what it calls them.
# Usage: test_report.sh [BUILD]. Takes long.

. tests/cases.sh
draw_small
columns=lab,program,backend,net,ranks,quantity,unit,value,low,high,predicted,residual_pct

# verdict ID: the verdict on that claim, which is the last cell of its row.
verdict() { grep "^$1," "$scratch/page/claims.csv" | sed 's/.*,//'; }

# judges PROGRAM CLAIMS VERDICT SECONDS RING: of results that are made up, in which an iteration with its communicator takes SECONDS,
# and the ring RING times as long as the tree.
judges() {
    local results=$scratch/claimed
    mkdir -p "$results"
    printf '%s\n' '# emulate: 1gbe' $columns "01,before,shm,1gbe,2,iteration/16,s,$4,,,," \
        01,before,shm,1gbe,4,iteration/16,s,99,,,, >"$results/01-shm-1gbe-2.csv"
    printf '%s\n' $columns 07,after,shm,none,4,time/ring/8,s,9,,,, "07,after,shm,none,4,time/ring/64,s,$5,,,," \
        07,after,shm,none,4,time/tree/64,s,1,,,, >"$results/07-shm-none-4.csv"
    run 0 env PATH="$scratch/nothing" "$1" report "$results" --output "$scratch/page" || return 1
    why=$(cat "$scratch/page/claims.csv")
    [ "$(grep -c '^[0-9]' <<<"$why")" -eq "$2" ] && [[ $(verdict 5) == "here $3; by the model"* ]] &&
        [[ $(verdict 7) == "here $3; by the model"* ]] && grep -q '(2 ranks, shm, wire 1gbe)' <<<"$why" &&
        [[ $(verdict 8) == 'here not measured; by the model '* ]] &&
        grep -q 'not measured, because no switch' <<<"$why" &&
        grep -q '<h2>Published claims</h2>' "$scratch/page/index.html"
}
judges_claims_by_numbers() {
    local three
    three=$(take_kit_of_claims 5 7 8 && echo "$commlab") && judges "$three" 3 'less than claimed' 0.5 1.1 &&
        judges "$commlab" 11 'as claimed' 3 2
}
# 64 A100 on 100 Gb/s: each claim of time that the simulator prices has a number, and the hardware it is of.
models_each_claim_but_that_on_memory() {
    why=$(cat "$scratch/page/claims.csv")
    [ "$(grep -c 'not modelled' <<<"$why")" -eq 1 ] && ! grep -q 'the simulator failed' <<<"$why" &&
        [ "$(grep -cE '"[0-9.]+( [mu]?s)?: [^"]*\([a-z0-9-]+\)|,[0-9.]+: [^,]*\([a-z0-9-]+\)' <<<"$why")" -eq 10 ]
}

# An interval that reaches from below the claim into it; and a lab that compares two backends.
says_perhaps_where_an_interval_allows_more() {
    local results=$scratch/perhaps commlab=$commlab
    take_kit_of_claims 1 3
    mkdir -p "$results"
    printf '%s\n' $columns 02,after/before,shm,none,2,ratio,1,1.1,1.0,1.3,, >"$results/02-shm-none-2.csv"
    printf '%s\n' $columns 04,before,gloo,none,2,time/8,s,8,,,, 04,after,shm,none,2,time/8,s,1,,,, \
        04,after/before,shm,none,2,ratio,1,8,7,9,, >"$results/04-shm-none-2.csv"
    run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$scratch/page" || return 1
    why=$(cat "$scratch/page/claims.csv")
    [[ $(verdict 1) == 'here perhaps less than claimed; by the model'* ]] &&
        grep -q '"1.1, 1 to 1.3 (2 ranks, shm)"' <<<"$why" &&
        [[ $(verdict 3) == 'here less than claimed; by the model'* ]] &&
        grep -q '"8, 7 to 9 (2 ranks, gloo against shm)"' <<<"$why"
}

# Spreadsheets put a mark of three bytes before a file that they save as UTF-8.
reads_what_a_spreadsheet_has_saved() {
    local results=$scratch/marked
    mkdir -p "$results"
    printf '\xef\xbb\xbf# machine: one\r\n%s\r\n%s\r\n' collective,algorithm,backend,ranks,bytes,usec \
        allreduce,ring,shm,2,8,1 >"$results/m.csv"
    run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$scratch/page3" || return 1
    why=$(cat "$scratch/err")
    grep -q 'Machine: one<' "$scratch/page3/index.html"
}

# Of several backends: what is alike once.
names_backends_once() {
    local results=$scratch/several
    mkdir -p "$results"
    printf '%s\n' '# job: 2 ranks on 2 cores, shm' '# job: 2 ranks on 2 cores, ofi' \
        collective,algorithm,backend,ranks,bytes,usec allreduce,ring,shm,2,8,1 allreduce,ring,ofi,2,8,9 \
        >"$results/b.csv"
    run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$scratch/page2" || return 1
    why=$(grep '<h2>Collectives' "$scratch/page2/index.html")
    [ "$why" = '<h2>Collectives: 2 ranks on 2 cores, shm, ofi</h2>' ]
}

# The report itself stays one file without scripts.
writes_pages_that_play_lab_07() {
    local results=$scratch/played name
    mkdir -p "$results"
    printf '%s\n' collective,algorithm,backend,ranks,bytes,usec allreduce,ring,shm,2,8,1 >"$results/p.csv"
    run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$scratch/page4" || return 1
    for name in naive ring tree doubling halving_doubling; do
        why="no link to stepper-$name-4.html, or not that page"
        grep -q "<a href=\"stepper-$name-4.html\">" "$scratch/page4/index.html" &&
            "$commlab" show $name --ranks 4 --format html | cmp -s - "$scratch/page4/stepper-$name-4.html" || return 1
    done
    why="index.html has a script"
    ! grep -q '<script' "$scratch/page4/index.html"
}

check_with inih judges_claims_by_numbers models_each_claim_but_that_on_memory says_perhaps_where_an_interval_allows_more
take_kit_of_claims 6
check_each reads_what_a_spreadsheet_has_saved names_backends_once writes_pages_that_play_lab_07
exit $failed
