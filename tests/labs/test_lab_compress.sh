#!/bin/bash
# SPDX-License-Identifier: MIT
# Lab 09: what it promises, on real training. Times are virtual, so they are the same on every machine.
# Usage: test_lab_compress.sh [BUILD]

. tests/cases.sh

# lab ARGS...: its CSV file is left in `csv`.
lab() {
    rm -rf "$scratch/results"
    run 0 "$commlab" lab 09 --no-plot --results "$scratch/results" "$@" || return 1
    csv=$(ls "$scratch"/results/*.csv)
}
# value PROGRAM QUANTITY [COLUMN]: of that row.
value() { awk -F, -v p="$1" -v q="$2" -v c="${3:-8}" '$2 == p && $6 == q { print $c; exit }' "$csv"; }

# holds EXPRESSION: of awk, with values in it. Without one of them it has a hole, and is wrong.
holds() {
    why="not so: $1"
    awk "BEGIN { exit !($1) }" 2>/dev/null
}

per_rank_scales_fail_on_real_training_and_ours_do_not() {
    local ranks
    for ranks in 2 8; do
        lab --backend sim --net 100mbit -n $ranks || return 1
        holds "$(value after saved/int8/loss) < 1.005 * $(value before saved/fp32/loss)" &&
            holds "$(value after saved/own_scales/loss) > 1.5 * $(value before saved/fp32/loss)" &&
            holds "$(value after error/own_scales/step) > 4 * $(value after error/int8/step)" &&
            holds "$(value after apart/own_scales/end) > 10 && $(value after apart/int8/end) == 0" || return 1
    done
    holds "$(value after error/narrow_sums/step) > 4 * $(value after error/int8/step)" &&
        holds "$(value after saved/narrow_sums/loss) > 1.05 * $(value before saved/fp32/loss)" # 8 ranks overflow
}

# Values of 16 bits, and methods that keep what they do not send, learn what float32 learns.
every_way_learns() {
    lab --backend sim --net 100mbit -n 2 || return 1
    local whole
    whole=$(value before saved/fp32/loss)
    holds "$(value after saved/fp16/loss) < 1.001 * $whole" && holds "$(value after saved/bf16/loss) < 1.001 * $whole" &&
        holds "$(value after saved/powersgd/loss) < 1.05 * $whole" && holds "$(value after saved/topk/loss) < 1.3 * $whole" &&
        holds "$(value after steps/int8/loss) == $(value before steps/fp32/loss)"
}

wins_on_100mbit_as_predicted() {
    local way
    lab --backend sim --net 100mbit -n 2 || return 1
    holds "$(value after/before ratio/time/int8/step) > 1.5" || return 1
    for way in int8 fp16 bf16 powersgd topk own_scales narrow_sums; do
        holds "($(value after time/$way/step 12)) ^ 2 < 100 && $(value after bytes/$way/step 12) == 0" || return 1
    done
}

# The quantiser is part of the step: float32's step, less what is saved, would be shorter by just its work.
a_step_has_the_quantiser_in_it() {
    lab --backend sim --net 100mbit -n 2 || return 1
    local beta=8.5016e-8 alpha=70e-6 got
    got="$(value after time/int8/step) - $(value before compute/fp32/step) - $(value after work/int8/step)"
    holds "$(value after work/int8/step) > 15e-6" && # 12480 gradients, at least 18 bytes each, at 15 GB/s
        holds "($got - 4 * $alpha - 12480 * $beta) ^ 2 < (1e-6) ^ 2"
}

# net BANDWIDTH(GB/s): 10gbe with another one, in `net`.
net() {
    net=$scratch/other.net
    sed "s|^beta = .*|beta = $1 GB/s|" sim/nets/10gbe.net >"$net"
    why="10gbe.net has no beta" && grep -q "^beta = $1 GB/s" "$net"
}

# Predicted from one network, found on others.
int8_pays_below_the_break_even_bandwidth_and_not_above() {
    local pays below above
    lab --backend sim --net 10gbe -n 2 || return 1
    pays=$(value after pays/int8/below 11)
    below=$(awk "BEGIN { print 0.93 * $pays }") above=$(awk "BEGIN { print 1.07 * $pays }")
    net "$below" && lab --backend sim --net "$net" -n 2 && holds "$(value after/before ratio) > 1" &&
        net "$above" && lab --backend sim --net "$net" -n 2 && holds "$(value after/before ratio) < 1"
}

# By counts: there it sends fewer bytes, and still the table must be able to say that it loses.
says_on_the_plain_laptop_why_it_loses() {
    lab --emulate none --pairs 1 && grep -q 'memory moves bytes faster than a core' "$scratch/out" &&
        holds "$(value after bytes/int8/step) * 3.9 < $(value before bytes/fp32/step)"
}

runs_over_an_emulated_wire_and_on_ofi() {
    lab --pairs 1 --iterations 12 && [[ $csv == */09-shm-100mbit-2.csv ]] || return 1
    grep -q '✓ libfabric' "$build/probes.txt" || return 0
    leave_out 1
    ! is_full || lab --backend ofi --emulate none --pairs 1 --iterations 12
}

# The time to a loss is told as the figure draws it: steps before that one, by the time of a step; ten are float32's.
a_loss_is_reached_when_its_step_begins() {
    local way early before
    lab --backend sim --net 100mbit -n 2 || return 1
    near() { holds "$1 > 0 && ($1 - ($2)) ^ 2 < (1e-6 * ($2)) ^ 2"; }
    near "$(value before until/fp32/loss)" "($(value before steps/fp32/loss) - 1) * $(value before time/fp32/step)" &&
        near "$(value after until/int8/loss)" "($(value after steps/int8/loss) - 1) * $(value after time/int8/step)" || return 1
    for way in powersgd topk; do
        early=$(value after early/$way/step)
        near "$early" "$(value before time/fp32/step)" &&
            before=$(($(value after steps/$way/loss) - 1)) &&
            near "$(value after until/$way/loss)" \
                "$((before < 10 ? before : 10)) * $early + $((before < 10 ? 0 : before - 10)) * $(value after time/$way/step)" || return 1
    done
}

says_which_arguments_it_wants() {
    run 2 "$build/labs/09-compression/before" -n 1 3 64 && grep -q 'give LAYERS WIDTH ROWS REPEAT STEPS' "$scratch/err"
}

if grep -q '✗ inih' "$build/probes.txt"; then
    skip 'built without inih, so lab.conf can not be read' all
    exit 0
fi
check_each per_rank_scales_fail_on_real_training_and_ours_do_not every_way_learns wins_on_100mbit_as_predicted \
    a_step_has_the_quantiser_in_it int8_pays_below_the_break_even_bandwidth_and_not_above \
    says_on_the_plain_laptop_why_it_loses runs_over_an_emulated_wire_and_on_ofi \
    a_loss_is_reached_when_its_step_begins says_which_arguments_it_wants
exit $failed
