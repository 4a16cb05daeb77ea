# SPDX-License-Identifier: MIT
# Steps of gpu-check: a rank that dies, and one that stands still, amid an allreduce.

# process_of FILE RANK: by what that rank said of itself, `rank 1, process 123, has ended 20 calls`.
process_of() { sed -n "s/^rank $2, process \([0-9]*\), .*/\1/p" "$1"; }

# await SECONDS COMMAND...: true as soon as the command is.
await() {
    local end=$(($(date +%s%N) + $1 * 1000000000))
    shift
    until "$@"; do
        [ "$(date +%s%N)" -lt $end ] || return 1
        sleep 0.05
    done
}
all_are_at_it() { [ "$(grep -c ', has ended ' "$1")" -eq "$2" ] || ! kill -0 "$job" 2>/dev/null; }
survivors_are_through() { [ "$(grep -c ', its call failed' "$1")" -ge "$2" ]; }
is_gone() { ! grep -q '^State:[[:space:]]*[^ZX]' "/proc/$1/status" 2>/dev/null; }

# fault SIGNAL RANKS DEADLINE: rank 1 gets the signal; the others' calls must fail within DEADLINE s and 5 s for NCCL's
# abort, and a line must say what became of rank 1. Leaves that line in `named`, and in `took` the seconds.
fault() {
    local signal=$1 n=$2 deadline=$3 file=$log/$step-$1.txt victim begun rank pids left= pid
    env $(sharing "$n") CLAB_TIMEOUT="${deadline}s" "$commlab" run -n "$n" --backend nccl --keep-going -- \
        "$build/tests/gpu/calls" "$limit" >"$file" 2>&1 </dev/null &
    job=$!
    await $((limit / 2)) all_are_at_it "$file" "$n"
    victim=$(process_of "$file" 1)
    [ "$(grep -c ', has ended ' "$file")" -eq "$n" ] || { cat "$file"; end_job; fail "$signal: the ranks did not start: $(last_words "$file")"; }
    pids=$(sed -n 's/^rank [0-9]*, process \([0-9]*\), has ended .*/\1/p' "$file")
    begun=$EPOCHREALTIME
    kill "-$signal" "$victim"
    await $((deadline + 5)) survivors_are_through "$file" $((n - 1))
    took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    # Who is stopped would keep the job's launcher waiting.
    kill -KILL "$victim" 2>/dev/null
    await 6 is_gone "$job"
    for pid in $pids $job; do
        is_gone "$pid" || left="$left $pid"
    done
    [ -z "$left" ] || end_job $left
    echo "== $signal, after $took s:"
    cat "$file"
    for ((rank = 0; rank < n; rank++)); do
        [ $rank != 1 ] || continue
        grep -q "^rank $rank, .*, its call failed" "$file" ||
            fail "$signal: rank $rank was still waiting $((deadline + 5)) s after rank 1 had it, of a deadline of $deadline s"
    done
    [ -z "$left" ] || fail "$signal: processes were left:$left"
    named=$(grep -m1 -oE 'rank 1 (has ended|is stopped)[^:]*' "$file") ||
        fail "$signal: no line says what became of rank 1: $(grep -m1 'commlab: error' "$file")"
}

# The job and its ranks, where they have not ended by themselves.
end_job() {
    kill -KILL $(process_of "$file" '[0-9]*') "$job" "$@" 2>/dev/null
}

step_faults() {
    local n=3 deadline took job named line
    deadline=$(full 5 2)
    needs_plugin
    needs_gpus 1
    [ -x "$build/tests/gpu/calls" ] || not_run "$build/tests/gpu/calls is not built (make gpu-tools)"
    fault KILL $n 10
    line="killed: $((n - 1)) survivors through after $took s, \"$named\""
    fault STOP $n "$deadline"
    say "$line; stopped: after $took s of a deadline of $deadline s, \"$named\"; no process is left"
}
