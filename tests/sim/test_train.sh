#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab sim train` as its users meet it: a step, a curve, its files, and one clear line for each mistake.
# Usage: test_train.sh [BUILD].

. tests/cases.sh
draw_small
subject=("$commlab" sim train)
header=model,net,ranks,batch,accumulate,bucket_bytes,buckets,overlap,compress,algorithm,seconds,mean,p95,p99,computation
header+=,communication,exposed,update,hidden_pct,efficiency_pct,samples_per_s,bytes_sent,clocks

curve() {
    rm -f "$scratch/curve.csv" && run 0 --net dgx-h100 --model resnet50 --csv "$scratch/curve.csv" "$@"
}

# column NAME: of all rows of the curve.
column() {
    awk -F, -v name="$1" '/^#/ { next } !at { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' \
        "$scratch/curve.csv"
}

describes_a_step() {
    writes "8 ranks, 5 buckets of 25 MiB, overlap bucket, compress none: a step takes" --net dgx-h100 || return 1
    why=$(cat "$scratch/out")
    grep -q 'clocks: all ranks begin together' "$scratch/out" && grep -q 'stage4.others.2.conv3' "$scratch/out"
}

writes_the_documented_columns() {
    curve --ranks 1-64 --overlap all || return 1
    why=$(grep -v '^#' "$scratch/curve.csv" | head -n 1)
    [ "$why" = "$header" ] && [ "$(column ranks | wc -l)" -eq 21 ]
}

parts_add_up_to_the_step() {
    curve --ranks 2-64 --overlap all --compress none,fp16,int8,powersgd:4 || return 1
    why=$(paste -d ' ' <(column seconds) <(column computation) <(column exposed) <(column update) |
        awk '{ if (($1 - $2 - $3 - $4) ^ 2 > ($1 * 1e-9) ^ 2) print }')
    [ -z "$why" ] && [ "$(column seconds | wc -l)" -eq 72 ]
}

overlaps_are_no_slower_than_none() {
    curve --ranks 64 --overlap all || return 1
    why=$(column seconds)
    [ "$(column seconds | sort -gr)" = "$why" ]
}

goes_from_one_rank_to_131072() {
    curve --ranks 1,8,1024,131072 --algo ring || return 1
    why=$(column efficiency_pct)
    [ "$(column ranks | tail -n 1)" -eq 131072 ] && [ "$(column efficiency_pct | head -n 1)" = 100 ] &&
        [ "$(column efficiency_pct | sort -gr)" = "$why" ]
}

fits_120_columns() {
    curve --ranks 8,131072 --algo tree --overlap all --compress powersgd:16 || return 1
    why=$(awk 'length > 120' "$scratch/out")
    [ -z "$why" ] && run 0 --net dgx-h100 --timeline || return 1
    why=$(awk 'length > 120' "$scratch/out")
    grep -q 'stage4.others.1.conv1 .. stage4.first.conv2' "$scratch/out" && [ -z "$why" ]
}

says_which_clocks_it_used() {
    curve --ranks 4,2048 --jitter lognormal:5% --steps 20 || return 1
    why=$(column clocks)
    [ "$(column clocks | tr '\n' ' ')" = "own bound " ] &&
        grep -q 'clocks, 2048 to 2048 ranks: a bound: all ranks begin' "$scratch/out"
}

repeats_itself() {
    curve --ranks 16 --jitter pareto:3:10% --straggler 3=1.5 --straggler 10%=2 || return 1
    cp "$scratch/out" "$scratch/first"
    curve --ranks 16 --jitter pareto:3:10% --straggler 3=1.5 --straggler 10%=2 || return 1
    why=$(diff "$scratch/first" "$scratch/out") || return 1
    curve --ranks 16 --jitter pareto:3:10% --straggler 3=1.5 --straggler 10%=2 --seed 2 || return 1
    why="another seed gives the same"
    ! cmp -s "$scratch/first" "$scratch/out"
}

names_the_buckets_that_can_be_seen() {
    writes "bucket 5, the last, ends after the backward pass" --net dgx-h100 || return 1
    writes "buckets 1 to 5 end after the backward pass" --net dgx-h100 --overlap none
}

wants_a_rate_or_a_time() {
    grep -v -e '^f[0-9]' -e '^tf' -e '^memory' -e '^.compute' sim/nets/10gbe.net >"$scratch/plain.net"
    refuses 2 "give --compute TIME" --net "$scratch/plain.net" || return 1
    writes "update and compression cost nothing" --net "$scratch/plain.net" --compute 1s --compress fp16
}

takes_a_measured_time() {
    writes "a step takes 120 ms" --net 10gbe --ranks 1 --compute 120ms --optimizer sgd --model 8x8
}

prints_json() {
    run 0 --net dgx-h100 --ranks 2,4 --json || return 1
    why=$(cat "$scratch/out")
    [ "$(grep -c '"clocks": "together"' "$scratch/out")" -eq 2 ] && grep -q '"timeline"' "$scratch/out"
}

draws_curves() {
    curve --ranks 1-64 --overlap all --plot "$scratch/ranks.svg" || return 1
    why=$(cat "$scratch/err")
    [ ! -s "$scratch/err" ] || return 1
    curve --ranks 64 --buckets 1M-64M --jitter exp:2% --steps 20 --plot "$scratch/buckets" || return 1
    why="$(ls "$scratch") $(cat "$scratch/err")"
    [ ! -s "$scratch/err" ] && [ -s "$scratch/ranks.svg" ] && [ -s "$scratch/buckets.png" ] &&
        grep -q '^title: resnet50 on 64 ranks of dgx-h100 is fastest with buckets of' "$scratch/buckets.txt"
}

# The bandwidth in the line of that compression, in B/s.
break_even_of() { sed -n "s/^break-even: .*: $1 pays if links between nodes carry less than \([0-9.]* [kMG]*B\/s\);.*/\1/p" "$scratch/out" |
    awk '{ print $1 * ($2 == "GB/s" ? 1e9 : $2 == "MB/s" ? 1e6 : 1e3) }'; }
# step NET CODEC: seconds, from CSV
step_on() {
    run 0 --net "$1" --ranks 8 --compress "$2" --csv "$scratch/step.csv" &&
        awk -F, '/^#/ { next } !c { for (i = 1; i <= NF; i++) if ($i == "seconds") c = i; next } { print $c }' "$scratch/step.csv"
}

# On networks with links that are 5 % slower or faster, it does and does not pay.
finds_the_break_even_bandwidth() {
    local rate name with without
    run 0 --net 10gbe --ranks 8 --compress int8,powersgd:4 --break-even || return 1
    for name in int8 powersgd:4; do
        run 0 --net 10gbe --ranks 8 --compress $name --break-even
        rate=$(break_even_of $name)
        why="no rate of $name: $(cat "$scratch/out")"
        [ -n "$rate" ] || return 1
        for part in 0.95 1.05; do
            sed "s|^beta = .*|beta = $(awk "BEGIN { printf \"%.6g\", $part * $rate / 1e9 }") GB/s|" sim/nets/10gbe.net >"$scratch/near.net"
            with=$(step_on "$scratch/near.net" $name) without=$(step_on "$scratch/near.net" none)
            why="$name at $part of $rate B/s: $with s, without it $without s"
            awk "BEGIN { exit !($part < 1 ? $with < $without : $with >= $without * (1 - 1e-9)) }" || return 1
        done
    done
}
refuses_a_break_even_of_nothing() { refuses 2 "name some, as in --compress fp16" --net 10gbe --break-even; }

names_the_line_of_a_malformed_model() {
    printf '[model]\ntitle = x\nbatch = 1\n[block a]\nb = 3x\n' >"$scratch/bad.model"
    refuses 2 "bad.model:5: [block a] b = '3x': expected an operation" --net 10gbe --model "$scratch/bad.model"
}

refuses_an_unknown_algorithm() { refuses 2 "no algorithm 'rong'" --net 10gbe --algo rong; }
refuses_stragglers_that_are_not_there() { refuses 2 "--straggler 8: there is no such rank among 8 ranks" --net 10gbe --straggler 8=2; }
refuses_more_ranks_than_fit() { refuses 2 "fewer than the 16 ranks" --net pcie4 --ranks 16; }

check_with inih describes_a_step writes_the_documented_columns parts_add_up_to_the_step \
    overlaps_are_no_slower_than_none goes_from_one_rank_to_131072 says_which_clocks_it_used fits_120_columns \
    repeats_itself takes_a_measured_time names_the_buckets_that_can_be_seen wants_a_rate_or_a_time \
    names_the_line_of_a_malformed_model refuses_an_unknown_algorithm refuses_stragglers_that_are_not_there \
    refuses_more_ranks_than_fit finds_the_break_even_bandwidth refuses_a_break_even_of_nothing
check_with 'inih jansson' prints_json
check_with 'inih gnuplot' draws_curves
check refuses_an_unknown_model refuses 2 "there is: bert-large gpt2-small" --model x --net 10gbe
check names_the_nearest_model refuses 2 "no model 'gpt2-smal' (did you mean 'gpt2-small'?); in " --model gpt2-smal --net 10gbe
check refuses_half_a_perceptron refuses 2 "'784x': a perceptron" --model 784x --net 10gbe
check refuses_an_unknown_overlap refuses 2 "--overlap: there is no 'some'" --overlap some
check refuses_powersgd_without_rank refuses 2 "powersgd:RANK" --compress powersgd
check refuses_codecs_that_do_not_shrink refuses 2 "gradients of type half no smaller" \
    --net 10gbe --type half --compress bf16
check refuses_jitter_without_unit refuses 2 "'5' is not a percentage" --jitter normal:5
check refuses_a_tail_without_mean refuses 2 "shape above 1" --jitter pareto:1:5%
check refuses_buckets_without_unit refuses 2 "a bucket of 25 B is below 1K: say the unit, as in 25M" --net 10gbe \
    --buckets 25
check refuses_a_curve_of_one_point refuses 2 "--plot draws a curve" --net 10gbe --plot "$scratch/refused"

exit $failed
