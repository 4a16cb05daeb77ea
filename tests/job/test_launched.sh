#!/bin/bash
# SPDX-License-Identifier: MIT
# Ranks that nobody of ours has launched find each other over a store, share their host's memory, and leave nothing.
# Usage: test_launched.sh [BUILD].

. tests/cases.sh
export XDG_CONFIG_HOME=$scratch # the user's token
program=$build/labs/07-ring-vs-tree/after
port=$((20000 + $$ % 10000)) # one a case: below those that systems give out by themselves

# Start `ranks` copies of the command by hand; what rank R writes goes to out.R and err.R, its status to statuses[R].
launch() {
    local rank pids=()
    ((port++))
    for ((rank = ranks - 1; rank >= 0; rank--)); do
        env RANK=$rank WORLD_SIZE=$ranks MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$@" \
            >"$scratch/out.$rank" 2>"$scratch/err.$rank" </dev/null &
        pids[rank]=$!
    done
    statuses=()
    for ((rank = 0; rank < ranks; rank++)); do
        { wait "${pids[rank]}"; } 2>/dev/null # a shell would say how it died
        statuses[rank]=$?
    done
    why="statuses ${statuses[*]}: $(head -n 5 "$scratch"/out.* "$scratch"/err.*)"
}

# Nobody listens at the port a moment later.
leaves_nothing() {
    local i
    for ((i = 0; i < 50; i++)); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 0
        sleep 0.02
    done
    why="port $port is still served"
    return 1
}

# Until somebody listens at the port, 20 s at most.
await_port() {
    local i hex
    hex=$(printf '%04X' "$port")
    for ((i = 0; i < 1000; i++)); do
        ! grep -qsE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F]+:0000 0A" /proc/net/tcp || return 0
        sleep 0.02
    done
}

all_have() {
    local status
    for status in "${statuses[@]}"; do [ "$status" = "$1" ] || return 1; done
}

runs_a_lab_over_shared_memory() {
    ranks=4 launch "$program" 8 4K && all_have 0 && grep -q '^checksum' "$scratch/out.0" && [ ! -s "$scratch/out.1" ] &&
        [ ! -s "$scratch/err.1" ] && leaves_nothing
}
runs_the_bench() {
    ranks=2 launch "$commlab" bench allreduce -e 4K --seconds 0.02s
    all_have 0 && grep -q '#wrong' "$scratch/out.0" && [ ! -s "$scratch/out.1" ] && leaves_nothing
}
refuses_another_number_of_ranks() {
    ranks=2 launch "$program" -n 3
    all_have 2 && grep -q -- '-n 3, but the job that this rank belongs to has 2 ranks' "$scratch/err.1"
}
refuses_another_token() {
    ranks=2 launch sh -c '[ $RANK = 0 ] || export CLAB_TOKEN=00112233445566778899aabbccddeeff; exec "$@"' - \
        env CLAB_TIMEOUT=500ms "$program"
    [ "${statuses[*]}" = '1 2' ] && leaves_nothing &&
        grep -q 'rank 1: the job at 127.0.0.1:[0-9]* refuses our token: let CLAB_TOKEN, or else' "$scratch/err.1" &&
        grep -q 'rank 1 of 2 did not arrive within 0.5 s' "$scratch/err.0"
}
names_a_port_in_use() {
    local first
    ((port++))
    export RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port
    CLAB_TIMEOUT=60s "$program" >/dev/null 2>&1 &
    first=$!
    await_port
    run 1 "$program"
    unset RANK WORLD_SIZE MASTER_ADDR MASTER_PORT
    kill $first
    wait $first 2>/dev/null
    grep -q "port $port of 127.0.0.1 is in use .* choose another with MASTER_PORT" "$scratch/err" && leaves_nothing
}
names_an_address_that_is_not_ours() {
    RANK=0 WORLD_SIZE=2 MASTER_ADDR=192.0.2.1 MASTER_PORT=$port run 2 "$program" &&
        why="$(cat "$scratch/err")" && grep -q '192.0.2.1 is not an address of this machine' "$scratch/err"
}
hears_of_a_killed_rank() {
    rm -f "$scratch/out.0" # which rank 0 begins when all are in the job
    ranks=3 launch sh -c '[ $RANK != 1 ] || (until [ -s "$0" ]; do sleep 0.1; done; kill -9 $$) & exec "$@"' \
        "$scratch/out.0" "$commlab" bench allreduce --seconds 20s
    [ "${statuses[*]}" = '1 137 1' ] && grep -q 'rank 1 has ended' "$scratch/err.0" &&
        grep -q 'rank 1 has ended' "$scratch/err.2" && leaves_nothing
}
# A launcher that leaves the others alone, as srun does: its ranks are children of one shell, and rank 1 goes away. The
# lowest rank that is left names it long before its time is up.
names_a_rank_that_went_away() {
    ((port++))
    run 1 env CLAB_TIMEOUT=20s SLURM_JOB_ID=$((port % 1000)) SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_STEP_NUM_NODES=1 \
        sh -c 'for rank in 0 1 2; do
            SLURM_PROCID=$rank SLURM_LOCALID=$rank sh -c "[ \$SLURM_PROCID != 1 ] || { sleep 0.5; exit; }; exec \"\$0\"" "$0" &
        done
        status=0
        for job in %1 %2 %3; do wait $job || status=1; done
        exit $status' "$program"
    local status=$?
    why="after it: $(cat "$scratch/err")"
    [ $status = 0 ] && [ "$(grep -c 'rank 1 of 3 has ended before it joined the job' "$scratch/err")" = 1 ] &&
        grep -q 'rank 0.*rank 1 of 3 has ended' "$scratch/err"
}
# Each rank runs one bench after another; rank 0 prints one table.
benches_several_backends() {
    ranks=2 launch "$commlab" bench allreduce -b 8 -e 8 --seconds 0.02s --backend shm,sim
    all_have 0 && grep -q '^ *8 B | .* shm$\|^ *8 B | .* sim$' "$scratch/out.0" && [ ! -s "$scratch/out.1" ] &&
        [ ! -s "$scratch/err.1" ] && leaves_nothing
}
reports_those_who_never_come() {
    ranks=2 launch sh -c '[ $RANK = 0 ] || exit 0; exec "$@"' - env CLAB_TIMEOUT=300ms "$program"
    [ "${statuses[*]}" = '1 0' ] && grep -q 'rank 1 of 2 did not arrive within 0.3 s' "$scratch/err.0" && leaves_nothing
}

if lacks sodium; then
    skip 'built without sodium' all
    exit
fi
check_each runs_a_lab_over_shared_memory runs_the_bench refuses_another_number_of_ranks refuses_another_token \
    names_a_port_in_use names_an_address_that_is_not_ours hears_of_a_killed_rank reports_those_who_never_come names_a_rank_that_went_away benches_several_backends
exit $failed
