# SPDX-License-Identifier: MIT
# Steps of gpu-check: a rank that dies, and one that stands still, amid an allreduce.

# Of a fault: file, the output of its job; job, the launcher's process; n, the ranks; deadline, s.

# process_of RANK: by what that rank has said of itself, `rank 1, process 123, has ended 20 calls`.
process_of() { sed -n "s/^rank $1, process \([0-9]*\), has ended .*/\1/p" "$file"; }

# await SECONDS COMMAND...: true as soon as the command is.
await() {
    local end=$(($(date +%s%N) + $1 * 1000000000))
    shift
    until "$@"; do
        [ "$(date +%s%N)" -lt $end ] || return 1
        sleep 0.05
    done
}
all_are_at_it() { [ "$(grep -c ', has ended ' "$file")" -eq "$n" ]; }
all_are_at_it_or_ended() { all_are_at_it || is_gone "$job"; }
survivors_are_through() { [ "$(grep -c ', its call failed' "$file")" -ge $((n - 1)) ]; }
is_gone() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null; }

start_ranks() {
    env $(sharing "$n") CLAB_TIMEOUT="${deadline}s" "$commlab" run -n "$n" --backend nccl --keep-going -- \
        "$build/tests/gpu/calls" "$limit" >"$file" 2>&1 </dev/null &
    job=$!
    await $((limit / 2)) all_are_at_it_or_ended
    all_are_at_it && return
    cat "$file"
    fail "$signal: the ranks did not start: $(last_words "$file")"
}

# Which of the job's processes are left, 6 s after all of them could have ended. They are ended then.
end_ranks() {
    local pid left=
    await 6 is_gone "$job"
    for pid in $(process_of '[0-9]*') $job; do
        is_gone "$pid" || left="$left $pid"
    done
    [ -z "$left" ] || kill -KILL $left 2>/dev/null
    echo "$left"
}

# fault SIGNAL RANKS DEADLINE: rank 1 gets the signal; the others' calls must fail within DEADLINE s and 5 s for NCCL's
# abort, and a line must say what became of rank 1. Leaves that line in `named`, and in `took` the seconds.
fault() {
    local signal=$1 n=$2 deadline=$3 file=$log/$step-$1.txt job begun rank left
    start_ranks
    begun=$EPOCHREALTIME
    kill "-$signal" "$(process_of 1)"
    await $((deadline + 5)) survivors_are_through
    took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    kill -KILL "$(process_of 1)" 2>/dev/null # who is stopped keeps the launcher waiting
    left=$(end_ranks)
    echo "== $signal, after $took s:"
    cat "$file"
    for ((rank = 0; rank < n; rank++)); do
        [ $rank = 1 ] || grep -q "^rank $rank, .*, its call failed" "$file" ||
            fail "$signal: rank $rank was still waiting after $took s, of a deadline of $deadline s"
    done
    [ -z "$left" ] || fail "$signal: processes were left:$left"
    named=$(grep -m1 -oE 'rank 1 (has ended|is stopped)[^:]*' "$file") ||
        fail "$signal: no line says what became of rank 1: $(grep -m1 'commlab: error' "$file")"
}

step_faults() {
    local took named line deadline
    deadline=$(full 8 2 5) # s, in which NCCL must begin, too
    needs_plugin
    needs_gpus 1
    [ -x "$build/tests/gpu/calls" ] || not_run "$build/tests/gpu/calls is not built (make gpu-tools)"
    fault KILL 3 10
    line="killed: 2 survivors through after $took s, \"$named\""
    fault STOP 3 "$deadline"
    say "$line; stopped: after $took s of a deadline of $deadline s, \"$named\"; no process is left"
}
