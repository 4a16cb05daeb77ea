#!/bin/bash
# SPDX-License-Identifier: MIT
# Jobs of several nodes: two launchers on this machine, and, for root, two network namespaces as two hosts.
# Usage: test_nodes.sh [BUILD]. Waits long.

. tests/cases.sh
export XDG_CONFIG_HOME=$scratch # the user's token
port=$((30000 + $$ % 2000))     # one a case: below those that systems give out by themselves
program=$build/labs/07-ring-vs-tree/after

# node K ARGS...: start the launcher of node K in the background; what it writes goes to out.K and err.K.
master=127.0.0.1
node() {
    local k=$1
    shift
    "${host[@]:k*hostwords:hostwords}" "$commlab" run --nodes 2 --node-rank "$k" --master "$master:$port" "$@" \
        >"$scratch/out.$k" 2>"$scratch/err.$k" </dev/null &
    pids[k]=$!
}
host=() hostwords=0 # a command for each node, before the launcher

# ended LIMIT S0 S1: within LIMIT seconds, node 0 ends with status S0, and node 1 with S1. A busy machine is given 5 s
# more: what waits for the wrong thing takes 20 s or 60 s.
ended() {
    local start=$EPOCHREALTIME statuses=() k
    for k in 0 1; do
        wait "${pids[k]}"
        statuses[k]=$?
    done
    local ms=$(((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}) / 1000))
    local of="statuses ${statuses[*]} after $ms ms: $(tail -n 5 "$scratch"/out.? "$scratch"/err.?)"
    why="not the statuses $2 $3: $of" && [ "${statuses[*]}" = "$2 $3" ] || return 1
    why="not within $1 s: $of" && [ $ms -lt $((($1 + 5) * 1000)) ]
}

# What ranks do that are to be ended: other tests' sleep for other times.
nap="sleep 60.$$"

# Processes that do: by /proc, since pgrep is not everywhere.
sleepers() {
    local file program seconds n=0
    for file in /proc/[0-9]*/cmdline; do
        { read -rd '' program && read -rd '' seconds; } 2>/dev/null <"$file" || continue
        [ "$program $seconds" != "$nap" ] || ((n++))
    done
    echo $n
}

# Until so many ranks that sleep are there.
have_started() {
    local end=$((SECONDS + 30))
    while [ "$(sleepers)" -lt "$1" ]; do
        why="$1 ranks have not started in 30 s: $(cat "$scratch"/err.*)"
        [ $SECONDS -lt $end ] || return 1
        sleep 0.02
    done
}

# have_gone PID: within 20 s.
have_gone() {
    local i
    for ((i = 0; i < 1000; i++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.02
    done
    return 1
}

# both ARGS...: a launcher on each node.
both() {
    ((port++))
    node 0 "$@"
    node 1 "$@"
}

says() { why="no '$2' in $1: $(cat "$scratch/$1")" && grep -q -- "$2" "$scratch/$1"; }
lines() { why="$1 has not $2 lines: $(cat "$scratch/$1")" && [ "$(wc -l <"$scratch/$1")" -eq "$2" ]; }

# No process that was told this port, and no listener at it, a moment later.
leaves_nothing() {
    local i left hex
    hex=$(printf '%04X' "$port")
    for ((i = 0; i < 100; i++)); do
        # Not by the very words: grep's own command line has them.
        left=$(grep -lszx -- "${master/./[.]}:$port" /proc/[0-9]*/cmdline
            grep -sE "^ *[0-9]+: [0-9A-F]+:$hex [0-9A-F]+:0000 0A" /proc/net/tcp /proc/net/tcp6)
        [ -n "$left" ] || return 0
        sleep 0.02
    done
    why="left: $left"
    return 1
}

# ---- two launchers on one machine ----------------------------------------------------------------------------

divides_ranks_among_nodes() {
    both -n 5 --backend shm -- sh -c \
        'echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $GROUP_RANK/$GROUP_WORLD_SIZE $MASTER_ADDR'
    ended 5 0 0 || return 1
    cat "$scratch"/out.[01] >"$scratch/out"
    has out "$(printf '%s 127.0.0.1\\n' '0/5 0/3 0/2' '1/5 1/3 0/2' '2/5 2/3 0/2' '3/5 0/2 1/2' '4/5 1/2 1/2')" &&
        leaves_nothing
}
tells_all_ranks_one_port_of_their_own() {
    both -n 4 --backend shm -- sh -c 'echo $MASTER_PORT'
    ended 5 0 0 || return 1
    why="not one port: $(cat "$scratch"/out.[01])"
    [ "$(sort -u "$scratch"/out.[01] | wc -l)" -eq 1 ] && ! grep -qx "$port" "$scratch/out.0"
}
prefixes_lines_by_rank() {
    both -n 3 --backend shm -l -- echo hello
    ended 5 0 0 && cp "$scratch/out.1" "$scratch/out" && has out '[2] hello\n'
}
runs_a_lab_whose_ranks_meet() {
    both -n 4 --backend shm "$program" 8 4K
    ended 30 0 0 && says out.0 '^checksum' && lines out.1 0 && lines err.0 0 && lines err.1 0 && leaves_nothing
}
starts_in_any_order() {
    ((port++))
    node 1 -n 2 --backend shm true
    sleep 0.3 # most likely it waits by now
    node 0 -n 2 --backend shm true
    ended 5 0 0
}
ends_all_with_the_status_of_a_rank_of_node() {
    both -n 4 --backend shm -- sh -c "[ \$RANK = $((3 * $1)) ] && exit 7; $nap"
    ended 3 7 7 && says "err.$1" "rank $((3 * $1)) (pid [0-9]*) exited with status 7" &&
        says "err.$((1 - $1))" "rank $((3 * $1)) of node $1 has failed with status 7" &&
        lines err.0 1 && lines err.1 1 && leaves_nothing
}
ends_all_when_a_rank_of_node_0_fails() { ends_all_with_the_status_of_a_rank_of_node 0; }
ends_all_when_a_rank_of_node_1_fails() { ends_all_with_the_status_of_a_rank_of_node 1; }
waits_for_the_slower_node() {
    both -n 2 --backend shm -- sh -c '[ $RANK = 0 ] || { sleep 0.5; exit 4; }'
    ended 3 4 4 && says err.0 'rank 1 of node 1 has failed with status 4'
}
tells_survivors_of_a_killed_rank() {
    # Rank 3 dies when rank 0 has begun to print: all are in the job then. It is timed from rank 3's end on.
    local mark=$scratch/killed
    rm -f "$scratch/out.0" "$mark"
    both -n 4 --backend shm -- sh -c '[ $RANK != 3 ] ||
            { until [ -s "$0" ]; do sleep 0.1; done; : >"${0%/*}/killed"; kill -9 $$; } & exec "$@"' \
        "$scratch/out.0" "$commlab" bench allreduce -n 4 --seconds 20s
    until [ -e "$mark" ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
    ended 5 137 137 && says err.0 'rank 0: .*rank 3 has ended' &&
        says err.0 'rank 3 of node 1 has failed with status 137' && leaves_nothing
}
ends_all_when_the_launcher_is_killed_of_node() {
    both -n 4 --backend shm -- $nap
    have_started 4 || return 1
    kill -9 "${pids[$1]}"
    [ "$1" = 0 ] && set -- 0 137 1 || set -- 1 1 137
    ended 2 "$2" "$3" && says "err.$((1 - $1))" "node $1 is lost: its launcher has ended" && leaves_nothing
}
ends_all_when_the_launcher_of_node_0_is_killed() { ends_all_when_the_launcher_is_killed_of_node 0; }
ends_all_when_the_launcher_of_node_1_is_killed() { ends_all_when_the_launcher_is_killed_of_node 1; }
ends_all_when_the_store_is_killed() {
    local store
    both -n 2 --backend shm -- $nap
    have_started 2 || return 1
    store=$(ss -ltnpH "sport = :$port" | grep -o 'pid=[0-9]*' | cut -d= -f2)
    kill -9 "$store"
    ended 2 1 1 && says err.1 "the connection to the job's store at 127.0.0.1:$port has ended" && leaves_nothing
}
# The store, stopped, hears of all at once: of rank 2's end, and of those that have failed of it since.
names_who_has_died_when_the_store_is_late() {
    local store
    rm -f "$scratch/out.0"
    both -n 3 --backend shm --timeout 2s -- sh -c 'echo $$ >"${0%/*}/pid.$RANK"; exec "$@"' \
        "$scratch/out.0" "$commlab" bench allreduce -n 3 --seconds 20s
    until [ -s "$scratch/out.0" ] || ! kill -0 "${pids[0]}" 2>/dev/null; do sleep 0.02; done
    store=$(ss -ltnpH "sport = :$port" | grep -o 'pid=[0-9]*' | cut -d= -f2)
    kill -STOP "$store"
    kill -9 "$(cat "$scratch/pid.2")"
    why="rank 0 does not fail" && have_gone "$(cat "$scratch/pid.0")" && have_gone "$(cat "$scratch/pid.1")"
    local gone=$?
    kill -CONT "$store"
    ended 5 137 137 && [ $gone -eq 0 ] && says err.0 'rank 2 of node 1 has failed with status 137' && leaves_nothing
}
ends_all_when_one_launcher_is_told_to_end() {
    both -n 4 --backend shm -- $nap
    have_started 4 || return 1
    kill "${pids[1]}"
    ended 2 143 143 && leaves_nothing
}
# Its rank ends well of the first signal, so that the supervisor waits for the other node; of the second it does not.
ends_a_node_that_waits_when_told_again() {
    local rank supervisor
    rm -f "$scratch/out.0"
    both -n 2 --backend shm -- sh -c \
        '[ $RANK = 0 ] || exec $0; trap "exit 0" TERM; echo $$ $PPID; $0 & wait' "$nap"
    have_started 2 || return 1 # each rank's, of which rank 0's begins when it has told who it is
    read -r rank supervisor <"$scratch/out.0"
    kill "${pids[0]}"
    why="rank 0 does not end" && have_gone "$rank" || return 1
    why="node 0 has ended by the first signal" && kill -0 "$supervisor" || return 1
    kill "${pids[0]}"
    why="node 0 waits still" && have_gone "$supervisor" || return 1
    kill "${pids[1]}"
    ended 3 143 143 && lines err.0 0 && leaves_nothing
}

# ---- what is refused -----------------------------------------------------------------------------------------

refuses_another_token() {
    ((port++))
    node 0 -n 2 --backend shm --timeout 1s true
    CLAB_TOKEN=00112233445566778899aabbccddeeff node 1 -n 2 --backend shm true
    ended 3 1 2 && lines err.1 1 &&
        says err.1 'refuses our token: let CLAB_TOKEN, or else ~/.config/commlab/token, be the same on all' &&
        says err.0 'node 1 of 2 did not arrive within 1 s' && lines err.0 2 && leaves_nothing &&
        says err.0 'a process from 127.0.0.1 was refused: its token is another: let CLAB_TOKEN, or else ~/.config'
}
names_a_port_in_use() {
    ((port++))
    node 0 -n 2 --backend shm --timeout 2s true
    sleep 0.4
    run 1 "$commlab" run --nodes 2 --node-rank 0 --master "$master:$port" -n 2 --backend shm true || return 1
    cp "$scratch/err" "$scratch/err.1"
    says err.1 "port $port of 127.0.0.1 is in use .*: choose another with --master HOST:PORT" && lines err.1 1 &&
        node 1 -n 2 --backend shm true && ended 4 0 0 && leaves_nothing
}
names_the_node_that_does_not_come() {
    run 1 "$commlab" run --nodes 2 --node-rank 0 --master "127.0.0.1:$((++port))" --backend shm --timeout 300ms true &&
        says err 'node 1 of 2 did not arrive within 0.3 s' && lines err 1 && leaves_nothing
}
says_whom_it_waits_for() {
    local at=127.0.0.1 # a launcher whose store is not there, and one, at another port, that others do not come to
    ((port++))
    node 1 -n 2 --backend shm --timeout 3500ms true
    ((port++))
    node 0 -n 2 --backend shm --timeout 3500ms true
    ended 6 1 1 && says err.1 "waiting for node 0 at $at:$((port - 1))\$" && lines err.1 2 &&
        says err.0 "waiting for node 1 of 2 at $at:$port\$" && lines err.0 2 && leaves_nothing
}
says_that_node_0_can_not_be_reached() {
    run 1 "$commlab" run --nodes 2 --node-rank 1 --master "127.0.0.1:$((++port))" --backend shm --timeout 300ms true &&
        says err "no job answers at 127.0.0.1:$port within 0.3 s (Connection refused)" && lines err 1
}
refuses_nodes_that_disagree() {
    ((port++))
    node 0 -n 4 --backend shm --timeout 1s true
    node 1 -n 6 --backend shm true
    ended 3 1 2 && says err.1 'has 4 ranks, not 6' && lines err.1 1 && lines err.0 2 &&
        says err.0 'it has another number of ranks: start all nodes with the same -n'
}
says_once_what_all_ranks_lack() {
    export CLAB_EMULATE=moon
    both -n 4 --backend shm "$program" 8 4K
    unset CLAB_EMULATE
    ended 3 1 1 || return 1
    why="not one line of the ranks: $(cat "$scratch"/err.[01])"
    [ "$(cat "$scratch"/err.[01] | grep -c "no network 'moon'")" -eq 1 ]
}
refuses_bad_options() {
    subject=("$commlab" run --backend shm)
    refuses 2 '--nodes 2 needs --node-rank K' --nodes 2 --master a:1 true &&
        refuses 2 '--nodes 2 needs --node-rank K' --nodes 2 --node-rank 2 --master a:1 true &&
        refuses 2 '--nodes 2 needs --master HOST:PORT' --nodes 2 --node-rank 0 true &&
        refuses 2 "--master 'here' is not HOST:PORT" --nodes 2 --node-rank 0 --master here true &&
        refuses 2 "--master '::1:70' is not HOST:PORT" --nodes 2 --node-rank 0 --master ::1:70 true &&
        refuses 2 "--master 'a:0' is not HOST:PORT" --nodes 2 --node-rank 0 --master a:0 true &&
        refuses 2 'each of the 3 nodes needs at least one' --nodes 3 --node-rank 0 --master a:1 -n 2 true &&
        refuses 2 "--nodes 'two'" --nodes two true &&
        refuses 2 '192.0.2.1 is not an address' --nodes 2 --node-rank 0 --master 192.0.2.1:29999 true
    local result=$?
    subject=()
    return $result
}
hands_on_provider_and_interface() {
    run 0 "$commlab" run -n 1 --provider udp --interface=eth7 -- sh -c 'echo $CLAB_PROVIDER $CLAB_INTERFACE' &&
        has out 'udp eth7\n'
}

# ---- two network namespaces as two hosts ---------------------------------------------------------------------

make_hosts() {
    local k
    spaces=("clab-$$-0" "clab-$$-1")
    trap 'unmake_hosts; rm -rf "$scratch"' EXIT
    for k in 0 1; do ip netns add "${spaces[k]}" || return 1; done
    ip -n "${spaces[0]}" link add veth0 type veth peer name veth0 netns "${spaces[1]}" || return 1
    for k in 0 1; do
        ip -n "${spaces[k]}" address add "10.77.0.$((k + 1))/24" dev veth0 && ip -n "${spaces[k]}" link set veth0 up &&
            ip -n "${spaces[k]}" link set lo up || return 1
    done
    await_hosts
    host=(ip netns exec "${spaces[0]}" ip netns exec "${spaces[1]}") hostwords=4 master=10.77.0.1
}
# The kernel says a moment after `link set up` that an interface runs; libfabric offers none before.
await_hosts() {
    local space tries
    for space in "${spaces[@]}"; do
        for ((tries = 0; tries < 500; tries++)); do
            ip -n "$space" -br link show veth0 | grep -q ' UP ' && break
            sleep 0.01
        done
    done
}
unmake_hosts() {
    local space
    for space in "${spaces[@]}"; do ip netns delete "$space" 2>/dev/null; done
}

runs_on_two_hosts() {
    both -n 4 --backend shm -- sh -c 'echo $RANK $MASTER_ADDR'
    ended 10 0 0 || return 1
    cat "$scratch"/out.[01] >"$scratch/out"
    has out '0 10.77.0.1\n1 10.77.0.1\n2 10.77.0.1\n3 10.77.0.1\n'
}
refuses_to_share_memory_between_hosts() {
    both -n 4 --backend shm "$program"
    ended 10 1 1 && says err.0 "shm: the job's 4 ranks are on 2 hosts, .*: use --backend ofi"
}
# cut_off ARGS...: once the job has printed something, host 1's cable is pulled; each launcher notices within three
# seconds.
cut_off() {
    local status=0 tries
    : >"$scratch/out.0" # not the case's before this one
    both "$@"
    for ((tries = 0; tries < 3000; tries++)); do # a busy machine starts ranks late
        [ -s "$scratch/out.0" ] && break
        sleep 0.01
    done
    sleep 0.5 # for the ranks to be at work on both hosts
    ip -n "${spaces[1]}" link set veth0 down
    ended 4 1 1 || status=1
    ip -n "${spaces[1]}" link set veth0 up
    await_hosts
    return $status
}
notices_a_lost_host() {
    cut_off -n 4 --backend shm -- sh -c "echo at work; exec $nap" &&
        says err.0 'node 1 is lost: its launcher has ended, or its host does not answer' && lines err.0 1 &&
        says err.1 "the connection to the job's store at 10.77.0.1:$port has ended (its host does not answer)" &&
        lines err.1 1
}
tells_ranks_of_a_lost_host() {
    cut_off -n 2 --backend ofi --interface veth0 -- "$commlab" bench allreduce -n 2 --seconds 20s &&
        says err.0 'rank 0: .*rank 1 has ended' && says err.0 'node 1 is lost'
}
runs_a_lab_on_two_hosts() {
    both -n 3 --backend ofi --interface veth0 "$program" 8 4K
    ended 30 0 0 && says out.0 '^checksum' && lines err.0 0 && lines err.1 0
}

if lacks sodium; then
    skip 'built without sodium' all
    exit
fi
check_each divides_ranks_among_nodes tells_all_ranks_one_port_of_their_own prefixes_lines_by_rank \
    runs_a_lab_whose_ranks_meet starts_in_any_order ends_all_when_a_rank_of_node_0_fails \
    ends_all_when_a_rank_of_node_1_fails waits_for_the_slower_node tells_survivors_of_a_killed_rank \
    ends_all_when_the_launcher_of_node_0_is_killed ends_all_when_the_launcher_of_node_1_is_killed \
    ends_all_when_one_launcher_is_told_to_end ends_a_node_that_waits_when_told_again refuses_another_token \
    names_a_port_in_use names_the_node_that_does_not_come says_whom_it_waits_for \
    says_that_node_0_can_not_be_reached refuses_nodes_that_disagree says_once_what_all_ranks_lack \
    refuses_bad_options hands_on_provider_and_interface
check_having ss ends_all_when_the_store_is_killed names_who_has_died_when_the_store_is_late

on_hosts=(runs_on_two_hosts refuses_to_share_memory_between_hosts notices_a_lost_host)
over_ofi=(runs_a_lab_on_two_hosts tells_ranks_of_a_lost_host)
if [ "$(id -u)" != 0 ]; then
    skip 'only root may make network namespaces' "${on_hosts[@]}" "${over_ofi[@]}"
elif ! make_hosts 2>"$scratch/err"; then
    skip "no network namespaces can be made: $(head -n 1 "$scratch/err")" "${on_hosts[@]}" "${over_ofi[@]}"
else
    check_each "${on_hosts[@]}"
    if "$commlab" run -n 1 --backend ofi true 2>/dev/null; then
        check_each "${over_ofi[@]}"
    else
        skip 'this build has no backend ofi' "${over_ofi[@]}"
    fi
fi
exit $failed
