#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab report --training`: every field is measured or says why not; in virtual time the measured and the predicted
# values agree; a real run's fields fit together.
# Usage: test_report_training.sh [BUILD].

. tests/cases.sh
take_kit_of_claims 6
results=$scratch/results page=$scratch/page

train() { run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --training --output "$page" "$@"; }
# of FILE FIELD COLUMN: a cell. (Values and numbers hold no commas; `how` comes last, and may.)
of() { awk -F, -v field="$2" -v column="$3" '/^#/ { next } !n { n = split($0, names, ","); next }
    $2 == field { for (i = 1; i <= n; i++) if (names[i] == column) print $i; exit }' "$1"; }

fields='number_of_ranks number_of_nodes communication_backend model_size all_reduce_time broadcast_time barrier_time
communication_efficiency node_to_node_latency inter_node_bandwidth network_utilization communication_overhead
barrier_synchronization collective_operations process_coordination synchronization_efficiency NCCL_backend Gloo_backend
UCX_backend backend_efficiency training_throughput compute_utilization scaling_efficiency'

# has_all_fields FILE: each has a value with a unit, or the reason.
has_all_fields() {
    local field
    for field in $fields; do
        why="$field: $(grep ",$field," "$1")"
        grep -q ",$field," "$1" || return 1
        [ -n "$(of "$1" "$field" value)" ] || grep -q ",$field,,.*not measured, because ." "$1" || return 1
    done
}
# agree FILE PERCENT FIELDS...: measured and predicted.
agree() {
    local field
    for field in "${@:3}"; do
        why="$field: measured $(of "$1" $field value), predicted $(of "$1" $field predicted)"
        awk -v a="$(of "$1" $field value)" -v b="$(of "$1" $field predicted)" -v p="$2" \
            'BEGIN { d = a - b; exit !(a > 0 && b > 0 && d <= a * p / 100 && -d <= a * p / 100) }' || return 1
    done
}

measures_what_it_predicts_in_virtual_time() {
    train --backend sim --net dgx-h100 -n 2 && has_all_fields "$results/training-sim-dgx-h100-2.csv" &&
        agree "$results/training-sim-dgx-h100-2.csv" 1 all_reduce_time broadcast_time barrier_time step_time \
            exposed_communication collective_operations training_throughput scaling_efficiency communication_overhead
}
# A value per run: the bytes that a rank has sent, at the rate of the network's messages, by the time of its step.
gives_the_use_of_the_network_by_run() {
    local file=$results/training-sim-1gbe-2.csv
    why=$(grep "^[^#].*network_utilization" "$file") || return 1
    local how='of each run, its bytes per step and rank at the rate of 1gbe, by its step; by run: '
    grep -qF "$how" <<<"$why" && awk -v u="$(of "$file" network_utilization value)" -v by="${why##*by run: }" 'BEGIN {
        n = split(by, run, /, | /); exit !(n >= 1 && u > 0 && u <= 100 && run[1] / u > 0.99 && run[1] / u < 1.01) }'
}
# Two ranks of one node; with a network of one rank per node there are two.
knows_nodes_by_the_network() {
    why=$(grep node_to "$results/training-sim-dgx-h100-2.csv")
    grep -q 'node_to_node_latency,,s,,,,"\?not measured, because all ranks are in one node' "$results/training-sim-dgx-h100-2.csv" || return 1
    train --backend sim --net 1gbe -n 2 && why=$(grep node "$results/training-sim-1gbe-2.csv") &&
        [ "$(of "$results/training-sim-1gbe-2.csv" number_of_nodes value)" = 2 ] &&
        agree "$results/training-sim-1gbe-2.csv" 1 node_to_node_latency inter_node_bandwidth
}
# The same values again, and the older files are still there.
keeps_what_an_earlier_run_wrote() {
    local file=$results/training-sim-1gbe-2.csv
    cp "$file" "$scratch/first.csv" && cp "${file%.csv}.txt" "$scratch/first.txt" && train --backend sim --net 1gbe -n 2 || return 1
    why="$(ls "$results"), $(diff "$file" "$scratch/first.csv")"
    grep -q 'kept: .*training-sim-1gbe-2.csv.1, which an earlier run wrote' "$scratch/out" &&
        cmp -s "$file.1" "$scratch/first.csv" && cmp -s "${file%.csv}.txt.1" "$scratch/first.txt" &&
        { lacks jansson || [ -s "${file%.csv}.trace.json.1" ]; } && cmp -s <(grep -v '^#' "$file") <(grep -v '^#' "$scratch/first.csv")
}
is_on_the_page() {
    why="not on the page"
    grep -q '<h2>A training run: training-sim-dgx-h100-2</h2>' "$page/index.html" &&
        grep -q 'data-from="training-sim-dgx-h100-2.csv:[0-9]*:value"' "$page/index.html" &&
        grep -q 'not measured, because the run is in virtual time' "$page/index.html" || return 1
    lacks jansson || grep -q 'training-sim-dgx-h100-2.trace.json</a>' "$page/index.html"
}

# Two processes: real steps over shared memory. Parts of a step add up, whatever the machine does.
trains_for_real() {
    local file=$results/training-shm-none-2.csv
    train --pairs 1 && file=$(ls "$results"/training-shm-*-2.csv) && has_all_fields "$file" || return 1
    why=$(cat "$file")
    grep -qE "network_utilization,[0-9.]+,.* at the rate of (its own message of the same run|this machine's profile), by its step; by run: [0-9.]+ %" "$file" || return 1
    awk -v e="$(of "$file" communication_efficiency value)" -v o="$(of "$file" communication_overhead value)" \
        -v s="$(of "$file" step_time value)" -v t="$(of "$file" training_throughput value)" \
        -v x="$(of "$file" exposed_communication value)" -v b="$(of "$file" batch value)" 'BEGIN {
            near = 1e-6
            exit !(e + o > 100 - near && e + o < 100 + near && s > 0 && x > 0 && x <= s &&
                   t * s > 2 * b * (1 - near) && t * s < 2 * b * (1 + near)) }' &&
        grep -q 'UCX_backend,,B/s,,,,.*not measured, because the kit has no backend of UCX' "$file" &&
        [ -n "$(of "$file" shm_backend value)" ]
}
# Six layers of 256 x 256 and 256.
counts_the_model() {
    local file
    file=$(ls "$results"/training-shm-*-2.csv)
    why=$(grep model_size "$file")
    [ "$(of "$file" model_size value)" = 394752 ] && [ "$(of "$file" gradients value)" = 1579008 ]
}

check refuses_flags_without_a_run refuses 2 'add --training' "$commlab" report -n 2
check refuses_a_network_twice refuses 2 '--emulate 1gbe: the backend sim has a network of its own' "$commlab" report \
    "$results" --training --backend sim --emulate 1gbe
check refuses_a_network_of_sim refuses 2 '--net 1gbe is for the backend sim' "$commlab" report "$results" --training --net 1gbe
check refuses_an_unknown_backend refuses 2 "smh" "$commlab" report "$results" --training --backend smh
check refuses_two_folders refuses 2 'name one folder' "$commlab" report a b
check_with inih measures_what_it_predicts_in_virtual_time knows_nodes_by_the_network gives_the_use_of_the_network_by_run keeps_what_an_earlier_run_wrote is_on_the_page \
    trains_for_real counts_the_model
exit $failed
