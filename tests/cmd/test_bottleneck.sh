#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab bottleneck: its table adds up, it reads a trace as it runs a program, and says what is missing.
# Usage: test_bottleneck.sh [BUILD].

. tests/cases.sh
subject=("$commlab" bottleneck)
job=("$build/labs/12-bottleneck/after" -n 4 --backend sim --net 25gbe 128 job)

classes_add_up() {
    run 0 -- "${job[@]}" 4 || return 1
    why="$(cat "$scratch/out")"
    awk '/ percent/ { table = !table && !seen; seen = 1; next } /^$/ { table = 0 }
        table { ms += $2; percent += $3; n++ } /steps of/ { step = $6 }
        END { exit !(n == 6 && percent > 99.7 && percent < 100.3 && ms > 0.999 * step && ms < 1.001 * step) }' "$scratch/out"
}
# Communication of more than 30 % is the bottleneck, and only then are the five remedies printed.
knows_the_rule_of_30_percent() {
    writes 'it is the bottleneck' -- "${job[@]}" 1 && grep -q 'accumulate gradients over several batches; larger batches per rank; compress' "$scratch/out" &&
        writes 'it is not the bottleneck' -- "${job[@]}" 8 && ! grep -q 'accumulate gradients' "$scratch/out" &&
        grep -q 'Scaling efficiency: 9[0-9.]* % (target: above 90 %, reached). Overhead: [0-4][0-9.]* % (target: below 5 %, reached).' "$scratch/out"
}
# The gain that it foresees is the one that the remedy gives, to 5 % of the step.
its_gain_comes_true() {
    local seed word before after
    for seed in 1 3 4; do
        run 0 -- "${job[@]}" $seed || return 1
        word=$(sed -n 's/^Likely cause: \([a-z-]*\).*/\1/p' "$scratch/out")
        before=$(sed -n 's/.*It would save \([0-9.]*\) ms of a step of \([0-9.]*\) ms.*/\1 \2/p' "$scratch/out")
        run 0 -- "${job[@]}" $seed "$word" || return 1
        after=$(sed -n 's/.* steps of \([0-9.]*\) ms.*/\1/p' "$scratch/out")
        why="seed $seed, $word: saves and step $before, then $after"
        awk -v b="$before" -v a="$after" 'BEGIN { split(b, x, " "); d = x[2] - x[1] - a; exit !(d < 0.05 * x[2] && d > -0.05 * x[2]) }' || return 1
    done
}
reads_the_trace_of_a_run() {
    CLAB_TRACE=$scratch/trace.json "${job[@]}" 7 >/dev/null 2>"$scratch/err" || { why=$(cat "$scratch/err"); return 1; }
    writes 'Likely cause: copy' "$scratch/trace.json"
    cp "$scratch/out" "$scratch/of_trace"
    run 0 -- "${job[@]}" 7 && why="$(diff "$scratch/of_trace" "$scratch/out")" && cmp -s "$scratch/of_trace" "$scratch/out"
}
# Counts say how much is computed, and no more; those of real time not even that.
reads_the_counts_of_a_run() {
    local computed
    CLAB_COUNTS=$scratch/counts.csv "${job[@]}" 4 >/dev/null 2>"$scratch/err" || { why=$(cat "$scratch/err"); return 1; }
    writes '4 ranks, 9 steps of 4.9' "$scratch/counts.csv" || return 1
    computed=$(awk '$1 == "compute" { print $3 + 0 }' "$scratch/out")
    writes '4 ranks, 9 steps of 4.9' -- "${job[@]}" 4 || return 1
    why="by counts $computed % are computed, by the trace: $(grep -E '^(compute|memory)' "$scratch/out")"
    awk -v c="$computed" '$1 == "compute" || $1 == "memory" { sum += $3 } END { exit !(sum > c - 0.2 && sum < c + 0.2) }' "$scratch/out" ||
        return 1
    CLAB_COUNTS=$scratch/real.csv "$build/labs/07-ring-vs-tree/after" -n 2 4096 >/dev/null 2>&1
    refuses 2 'its counts do not say what was computed' "$scratch/real.csv"
}
# Real time, another program: no span of steps, and no profile of this machine.
takes_any_program() {
    CLAB_PROFILE=$scratch/none.net writes '2 ranks, 1 step of ' -- "$build/labs/07-ring-vs-tree/after" -n 2 4096 &&
        grep -q 'measured time; expected network: ' "$scratch/out"
}
# In shared memory no message is lost, and no interface is slow: a busy machine must not look so.
blames_no_network_where_there_is_none() {
    run 0 -- "$build/labs/12-bottleneck/after" -n 2 --backend shm 64 job 8 || return 1
    why="$(cat "$scratch/out")"
    grep -q '^Likely cause: ' "$scratch/out" && ! grep -qE '^Likely cause: (interface|buffers|retransmits)' "$scratch/out"
}
# Ranks that may all use one core only, in real time: the job really binds them so. One core has no other.
sees_ranks_that_share_a_core() {
    [ "$(nproc)" -gt 1 ] || return 0
    run 0 -- "$build/labs/12-bottleneck/after" -n 2 --backend shm 512 job 2 || return 1
    why="$(cat "$scratch/out")"
    grep -q '^Likely cause: binding: ' "$scratch/out" && grep -q 'Seen: 2 ranks may use one and the same core only' "$scratch/out"
}
# steps_of KEPT RANK0 RANK1: a trace of ten steps of two ranks, in real time. What a rank computes in a step, and how much
# of that others had its core, in us, are awk's expressions of the step s: "10000" or "10000 + 5000 * (s % 2)". Then
# comes an allreduce. KEPT is the part of all time in which others had the cores, as text.
steps_of() {
    awk -v kept="$1" -v compute=8320 '
        function slice(rank, row, name, begin, duration, more) {
            printf "%s{\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"ts\":%d,\"dur\":%d,\"args\":{%s}}",
                mark, 2 * rank + 1, row + 1, name, begin, duration, more
            mark = ","
        }
        BEGIN {
            printf "{\"traceEvents\":["
            for (s = at = 0; s < 10; s++) {
                own[0] = '"$2"'; own[1] = '"$3"'
                waits[0] = '"${4:-0}"'; waits[1] = '"${5:-0}"'
                most = own[0] > own[1] ? own[0] : own[1]
                for (r = 0; r < 2; r++) {
                    slice(r, compute, "iteration", at, most + 20, "\"kept\":" waits[r])
                    slice(r, compute, "backward", at, own[r], "\"kept\":" waits[r])
                    slice(r, 0, "allreduce (ring)", at + own[r], most + 10 - own[r],
                        "\"algorithm\":\"ring\",\"count\":1024,\"bytes\":4096,\"sequence\":" s)
                }
                at += most + 20
            }
            printf "],\"otherData\":{\"kind\":\"measured\",\"backend\":\"shm\",\"kept\":\"%s %%\",", kept
            print "\"load\":\"1\",\"machine\":\"one, 2 cores (2 physical)\"}}"
        }'
}
# Ten steps in which rank 1 computes twice as long; in five of them; in which others had its core.
names_what_the_steps_agree_on() {
    steps_of 0.0 10000 20000 >"$scratch/steps.json" && writes 'Likely cause: straggler: ' "$scratch/steps.json" &&
        grep -q 'Seen: the others wait for rank 1' "$scratch/out" || return 1
    steps_of 0.0 10000 10000 >"$scratch/steps.json" && writes 'Likely cause: none: no fault found' "$scratch/steps.json" || return 1
    steps_of 0.0 10000 '10000 + 10000 * (s % 2)' >"$scratch/steps.json" &&
        writes 'Likely cause: unknown: this machine is too busy to tell: these measurements vary by 67 %' "$scratch/steps.json"
}
knows_who_had_the_core() {
    steps_of 25.0 10000 20000 0 10000 >"$scratch/steps.json" &&
        writes 'Likely cause: unknown: this machine is too busy to tell: these measurements vary by 0 %, and ranks waited for a core for 25 %' \
            "$scratch/steps.json" || return 1
    steps_of 25.0 10000 40000 0 20000 >"$scratch/steps.json" && writes 'Likely cause: straggler: ' "$scratch/steps.json"
}
# Both cores are busy, and the job is well: in shared memory, and over a slow network. Loops are ours alone, and end by pid.
accuses_no_job_that_is_well_on_a_busy_machine() {
    local loops=() i wire accused=0
    for i in 1 2; do
        while :; do :; done &
        loops+=($!)
    done
    for wire in '' '' '--emulate=1gbe' '--emulate=1gbe'; do
        run 0 -- "$build/labs/12-bottleneck/after" -n 2 --backend shm ${wire/=/ } 128 job 8 || { accused=1; break; }
        why="$(cat "$scratch/out")"
        grep -qE '^Likely cause: (none|unknown): ' "$scratch/out" || { accused=1; break; }
    done
    kill "${loops[@]}"
    wait "${loops[@]}" 2>/dev/null
    [ $accused = 0 ]
}
# What comes before the ranks' first collective is the program's start: loading, finding each other, filling arrays.
leaves_out_the_program_s_start() {
    printf '{"traceEvents":[%s,%s,%s,%s],"otherData":{"kind":"measured","backend":"shm"}}\n' \
        '{"ph":"X","pid":1,"tid":8321,"name":"memory","ts":0,"dur":500,"args":{"bytes":8}}' \
        '{"ph":"X","pid":1,"tid":1,"name":"allreduce (ring)","ts":1000,"dur":29010,"args":{"algorithm":"ring","count":2,"bytes":8}}' \
        '{"ph":"X","pid":3,"tid":8321,"name":"memory","ts":25000,"dur":500,"args":{"bytes":8}}' \
        '{"ph":"X","pid":3,"tid":1,"name":"allreduce (ring)","ts":30000,"dur":10,"args":{"algorithm":"ring","count":2,"bytes":8}}' \
        >"$scratch/start.json"
    writes '2 ranks, 1 step of 0.010 ms' "$scratch/start.json" &&
        grep -q '^# Left out: the first 30.000 ms, in which the program starts' "$scratch/out"
}
# of_counts COUNT...: a trace of two ranks with an allreduce of each count.
of_counts() {
    local rank i=0 count mark=
    printf '{"traceEvents":['
    for rank in 0 1; do
        for count; do
            printf '%s{"ph":"X","pid":%d,"tid":%d,"name":"allreduce (ring)","ts":%d,"dur":5,"args":{"algorithm":"ring","count":%s,"bytes":8}}' \
                "$mark" $((rank + 1)) $row $((10 * ++i)) "$count"
            mark=,
        done
    done
    printf ']}\n'
}
refuses_counts_that_can_not_be() {
    local count row
    row=$(python3 - "$scratch/trace.json" <<'PY'
import json, sys
print(next(e["tid"] for e in json.load(open(sys.argv[1]))["traceEvents"] if e.get("name", "").startswith("allreduce")))
PY
    ) || return 1
    for count in -1 1e300 1e15; do
        of_counts 2 $count >"$scratch/counts.json"
        refuses 2 "count ${count/e/e+}" "$scratch/counts.json" || return 1
    done
    of_counts $(seq 1 1100) >"$scratch/counts.json"
    refuses 2 'more than 1024 kinds of collectives' "$scratch/counts.json"
}
# A program that does not end when it is told to is made to, some seconds later.
ends_a_program_that_does_not_want_to() {
    local pid i status
    "$commlab" bottleneck -- sh -c "trap '' TERM INT; : >'$scratch/ready'; exec sleep 30" >/dev/null 2>&1 &
    pid=$!
    for ((i = 0; i < 3000; i++)); do
        [ ! -e "$scratch/ready" ] || break
        sleep 0.01
    done
    local start=$EPOCHREALTIME
    kill -TERM $pid
    wait $pid 2>/dev/null
    status=$?
    why="status $status after $(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }') s"
    [ $status = 143 ] && awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { exit !(b - a < 20) }'
}
refuses_what_it_can_not_judge() {
    refuses 2 'no program and no trace given' && refuses 2 "$scratch/none.json: No such file" "$scratch/none.json" &&
        refuses 2 "no network 'nonet'" --net nonet "$scratch/trace.json"
    run 2 -- "$scratch/no-program" && grep -q "can not run '$scratch/no-program'" "$scratch/err" || return 1
    run 1 -- false
    why="$(cat "$scratch/err")"
    grep -q "'false' has failed (exit status 1)" "$scratch/err"
}

if lacks jansson || lacks inih; then
    skip 'built without jansson or inih' classes_add_up
else
    check_each classes_add_up knows_the_rule_of_30_percent its_gain_comes_true reads_the_trace_of_a_run reads_the_counts_of_a_run takes_any_program \
        blames_no_network_where_there_is_none sees_ranks_that_share_a_core \
        names_what_the_steps_agree_on knows_who_had_the_core leaves_out_the_program_s_start \
        refuses_what_it_can_not_judge ends_a_program_that_does_not_want_to
    check_full accuses_no_job_that_is_well_on_a_busy_machine # test_bottleneck.c tells such a trace from others
    check_having python3 refuses_counts_that_can_not_be
fi
exit $failed
