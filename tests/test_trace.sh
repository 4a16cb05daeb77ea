#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab sim --why` and traces, as their users meet them.
# Usage: test_trace.sh [BUILD].

. tests/cases.sh
subject=("$commlab")
sim=(sim allreduce --algo ring --ranks 8 --bytes 4M --net dgx-h100)

# The rows' times, in us, are the time that the first line says.
rows_add_up() {
    run 0 "${sim[@]}" --ranks 16 --delay 3=50us --why || return 1
    why="$(cat "$scratch/out")"
    local whole sum
    whole=$(sed -n 's/^# why: .* add up to \([0-9.]*\) us$/\1/p' "$scratch/out")
    sum=$(awk '/^  (latency|bandwidth|reduce|wait) +[a-z].* [0-9]+ +[0-9.]+ +[0-9.]+ [0-9]/ { s += $(NF - 2) }
        END { print s }' "$scratch/out")
    why="$why
rows: $sum, whole: $whole"
    [ -n "$whole" ] && awk -v a="$sum" -v b="$whole" 'BEGIN { exit !(a > 0.999 * b && a < 1.001 * b) }'
}

check rows_add_up_to_the_time rows_add_up
check a_straggler_is_named writes 'begins late' "${sim[@]}" --delay 3=5ms --why
check what_helps_is_said writes 'halving the beta of intra would save' "${sim[@]}" --bytes 1G --why
check the_fastest_of_all_is_explained writes 'critical path of' sim allreduce --ranks 8 --net dgx-h100 --why
check folded_paths_say_so writes 'stand for all 4096' "${sim[@]}" --ranks 4096 --why
check refuses_the_closed_form refuses 1 'closed form has no messages' "${sim[@]}" --algo ring --engine closed --why \
    --json
if "$commlab" "${sim[@]}" --json >/dev/null 2>&1; then
    check why_is_in_json writes '"remedy": "halving' "${sim[@]}" --why --json
    check a_simulated_trace_is_written run 0 "${sim[@]}" --trace "$scratch/sim.json"
    check a_trace_that_can_not_be_written_is_said refuses 1 "$scratch/no/sim.json" "${sim[@]}" --json \
        --trace "$scratch/no/sim.json"
else
    skip why_is_in_json 'built without jansson'
    skip a_simulated_trace_is_written 'built without jansson'
    check without_jansson_a_trace_is_refused run 1 "${sim[@]}" --trace "$scratch/sim.json"
fi

exit $failed
