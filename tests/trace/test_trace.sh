#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab sim --why` and traces, as their users meet them.
# Usage: test_trace.sh [BUILD].

. tests/cases.sh
subject=("$commlab")
sim=(sim allreduce --algo ring --ranks 8 --bytes 4M --net dgx-h100)

# The rows' times, in us, are the time that the first line says.
rows_add_up_to_the_time() {
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

a_straggler_is_named() { writes 'begins late' "${sim[@]}" --delay 3=5ms --why; }
what_helps_is_said() { writes 'halving the beta of intra would save' "${sim[@]}" --bytes 1G --why; }
the_fastest_of_all_is_explained() { writes 'critical path of' sim allreduce --ranks 8 --net dgx-h100 --why; }
folded_paths_say_so() { writes 'stand for all 4096' "${sim[@]}" --ranks 4096 --why; }
refuses_the_closed_form() { refuses 2 'sim: --why and --trace need messages, which the closed form does not have: say --engine full' "${sim[@]}" --engine closed --why --json; }
why_is_in_json() { writes '"remedy": "halving' "${sim[@]}" --why --json; }

# The parts of a rank and those of the path differ: one of them at a time.
the_path_s_parts_stand_alone() {
    local algorithm
    run 0 "${sim[@]}" && grep -q 'fixed costs of messages' "$scratch/out" || return 1
    for algorithm in ring all; do
        run 0 "${sim[@]}" --algo $algorithm --why || return 1
        why="$(cat "$scratch/out")"
        grep -q '^on this path: latency' "$scratch/out" &&
            ! grep -qE 'fixed costs of|latency +bandwidth' "$scratch/out" ||
            return 1
    done
}

many=(sim allreduce --algo ring --ranks 100000 --bytes 64M --net dgx-h100)
force_simulates_all_the_same() {
    timeout 1 "$commlab" "${many[@]}" --engine full --force >"$scratch/out" 2>"$scratch/err"
    local status=$?
    why="status $status: $(cat "$scratch/err")"
    [ $status -eq 124 ] && [ ! -s "$scratch/err" ]
}

refuses_what_would_take_an_hour() {
    refuses 2 '(chosen by --engine), in about 67 min; --engine auto looks for a shorter way, --force' "${many[@]}" --engine full
}
refuses_that_of_auto_too() { refuses 2 '2.0e+10 messages would be simulated one by one' "${many[@]}"; }

measured_and_simulated_lie_in_one_file() {
    run 0 bench allreduce -n 2 --algo ring -b 4K -e 4K --seconds 0.02s --trace "$scratch/measured.json" || return 1
    run 0 "${sim[@]}" --ranks 2 --bytes 4K --trace "$scratch/simulated.json" || return 1
    run 0 trace "$scratch/measured.json" "$scratch/simulated.json" -o "$scratch/both.json" || return 1
    why="otherData: $(grep -o '"otherData".*' "$scratch/both.json")"
    [ "$(grep -o '"kind":"[a-z]*"' "$scratch/both.json" | paste -sd,)" = '"kind":"measured","kind":"simulated"' ] &&
        grep -q '"otherData":{"files":\[{' "$scratch/both.json" || return 1
    run 0 trace "$scratch/both.json" || return 1
    why="$(cat "$scratch/out")"
    [ "$(grep -o 'rank [01] ([a-z]*)' "$scratch/out" | paste -sd,)" = \
        'rank 0 (measured),rank 0 (simulated),rank 1 (measured),rank 1 (simulated)' ] &&
        grep -qE 'rank 1 \(simulated\) +1 +2 +2 ' "$scratch/out"
}

# Every kind of port and link, and several calls: nothing overlaps, each arrow has two ends.
all_simulated_traces_are_sound() {
    local net algorithm
    for net in dgx-h100 pcie4 nvlink-pairs gcp-a2 100mbit; do
        for algorithm in ring doubling hierarchical; do
            run 0 sim allreduce --algo $algorithm --net $net --ranks 8 --bytes 48K --calls 3 --delay 2=9us \
                --compute 5us --lanes 2 --trace "$scratch/sim.json" || return 1
            run 0 trace "$scratch/sim.json" || return 1
            why="$net $algorithm: $(cat "$scratch/out")"
            [ "$(grep -c 'rank [0-9]* (simulated) *3 ' "$scratch/out")" -eq 8 ] || return 1
        done
    done
}

# A slice that ends before it begins, and one that overlaps the one before.
bad_traces_are_refused() {
    local slice='{"ph":"X","pid":1,"tid":1,"name":"a","ts":0,"dur":5}'
    echo '{"traceEvents":[{"ph":"X","pid":1,"tid":1,"name":"a","ts":0,"dur":-1}]}' >"$scratch/bad.json"
    refuses 2 'event 0 has no time, or a negative duration' trace "$scratch/bad.json" || return 1
    echo '{"traceEvents":['"$slice,${slice/\"ts\":0/\"ts\":3}"']}' >"$scratch/bad.json"
    refuses 2 'event 1 overlaps another slice of its row' trace "$scratch/bad.json" || return 1
    echo '{"traceEvents":['"$slice"',{"ph":"s","pid":1,"tid":1,"name":"a","ts":0,"id":"1"}]}' >"$scratch/bad.json"
    refuses 2 'event 1 is an arrow without its other end' trace "$scratch/bad.json" || return 1
    echo '{"traceEvents":[' >"$scratch/bad.json"
    refuses 2 "$scratch/bad.json:" trace "$scratch/bad.json"
}

a_program_of_the_kit_takes_trace() {
    local subject=()
    run 0 "$build/labs/07-ring-vs-tree/before" -n 2 --trace "$scratch/lab.json" 4K || return 1
    run 0 "$commlab" trace "$scratch/lab.json" && grep -q 'rank 1 (measured)' "$scratch/out"
}

# What other readers want of a trace: tests/trace/trace_event.py.
traces_fit_the_format_of_other_readers() {
    local subject=()
    run 0 "$build/labs/07-ring-vs-tree/before" -n 3 --trace "$scratch/messages.json" 4K || return 1
    run 0 "$commlab" bench allreduce -n 4 --algo ring --lanes 2 -b 4K -e 4K --seconds 0.005s --trace "$scratch/m.json" || return 1
    run 0 "$commlab" "${sim[@]}" --delay 3=50us --calls 3 --trace "$scratch/s.json" || return 1
    run 0 "$commlab" trace "$scratch/m.json" "$scratch/s.json" -o "$scratch/both.json" || return 1
    run 0 "$commlab" trace "$scratch/m.json" "$scratch/messages.json" -o "$scratch/two.json" || return 1
    run 0 "$commlab" trace "$scratch"/{m,s,messages,s}.json -o "$scratch/four.json" || return 1
    run 0 "$commlab" trace "$scratch/four.json" "$scratch/m.json" -o "$scratch/five.json" || return 1
    run 0 "$commlab" trace "$scratch/five.json" || return 1
    why=$(python3 tests/trace/trace_event.py "$scratch"/{messages,m,s,both,two,four,five}.json 2>&1)
}

a_trace_that_can_not_be_written_is_said() {
    refuses 1 "$scratch/no/sim.json" "${sim[@]}" --json --trace "$scratch/no/sim.json"
}

check refuses_no_file refuses 2 'no file given' trace
check refuses_traces_of_several_backends refuses 2 'name one --backend' bench allreduce --backend shm,ofi \
    --trace "$scratch/refused"
check_with inih rows_add_up_to_the_time a_straggler_is_named what_helps_is_said the_fastest_of_all_is_explained \
    folded_paths_say_so the_path_s_parts_stand_alone refuses_what_would_take_an_hour refuses_that_of_auto_too \
    force_simulates_all_the_same
check_with 'inih jansson' why_is_in_json refuses_the_closed_form measured_and_simulated_lie_in_one_file \
    all_simulated_traces_are_sound \
    a_trace_that_can_not_be_written_is_said
check_with jansson bad_traces_are_refused a_program_of_the_kit_takes_trace
if ! lacks inih && ! lacks jansson; then
    check_having python3 traces_fit_the_format_of_other_readers
fi
! lacks jansson || check without_jansson_it_says_so refuses 3 'install libjansson-dev' trace "$scratch/none.json"

exit $failed
