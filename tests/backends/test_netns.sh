#!/bin/bash
# SPDX-License-Identifier: MIT
# Jobs over ofi between hosts that are joined by wires of a known rate (netns.sh). Usage: test_netns.sh [BUILD].
# A host that is silent for two seconds is lost: with others on its cores, that is no matter of the wire. Runs alone.

. tests/cases.sh
. tests/netns.sh

# sums_at RATE BYTES MS: a sum of so many bytes each way is right, and takes MS, as the wire allows, to twice that. A
# machine whose cores others have is given five tries to be so fast, and none to be faster than the wire.
sums_at() {
    local try
    net_start 2 "$1" || return 1
    for try in 1 2 3 4 5; do
        net_job 2 --backend ofi -- "$commlab" bench allreduce --algo doubling -b "$2" -e "$2" --seconds 0.3s --in-place 0 \
            --csv "$scratch/rate.csv" || return 1
        why="try $try: no sum of $2 in $3 to $((2 * $3)) ms: $(grep -v '^#' "$scratch/rate.csv")"
        awk -F, -v ms="$3" '$1 == "allreduce" && $12 > 1e3 * ms && $17 == 0 { found = 1 } END { exit !found }' \
            "$scratch/rate.csv" || return 1
        ! awk -F, -v ms="$3" '$1 == "allreduce" && $12 < 2e3 * ms { found = 1 } END { exit !found }' "$scratch/rate.csv" ||
            return 0
    done
    return 1
}
sums_at_10_mbit() { sums_at 10mbit 32K 26; }
sums_at_100_mbit() { sums_at 100mbit 256K 21; }
sums_at_1000_mbit() { sums_at 1000mbit 2M 16; }

sums_over_four_hosts() {
    net_start 4 100mbit && net_job 4 --backend ofi -- "$commlab" bench allreduce --algo ring,doubling -b 64K -e 64K \
        --seconds 0.1s --in-place 0
}

# TCP sends again what is lost, and no host counts as lost for that: neither among messages nor while all wait.
lives_with_a_tenth_of_all_packets_lost() {
    net_start 2 free && net_lose 0 10 && net_lose 1 10 &&
        net_job 2 --backend ofi -- "$commlab" bench allreduce --algo ring -b 64 -e 64 --seconds 0.3s --in-place 0 &&
        net_job 2 --backend shm -- sleep 3
}
lives_on_a_wire_that_is_full() {
    net_start 2 10mbit &&
        net_job 4 --backend ofi -- "$commlab" bench allreduce --algo ring -b 512K -e 512K --seconds 0.5s --in-place 0
}

# Who sees it first differs: each host must end, and one rank must be named with the peer it waited for.
ends_when_a_host_is_cut_off() {
    local start cutter i
    net_start 2 100mbit || return 1
    : >"$scratch/out.0"
    # When the bench has begun to print, the hosts have met; the net is cut amid its work.
    (for ((i = 0; i < 1500; i++)); do [ ! -s "$scratch/out.0" ] || break; sleep 0.02; done; sleep 2; net_cut 1
        echo $EPOCHSECONDS >"$scratch/cut") &
    cutter=$!
    ! net_job 2 --backend ofi -- "$commlab" bench all --algo all -e 64K --seconds 20s && wait $cutter || return 1
    start=$(cat "$scratch/cut")
    why="it took $((EPOCHSECONDS - start)) s, or nobody was named: $why"
    [ $((EPOCHSECONDS - start)) -le 15 ] && grep -qE 'rank [01].*rank [01]' "$scratch"/err.[01]
}

# Another script, which is killed: no trap runs.
leaves_nothing_when_killed() {
    local script i word="sleep 98.$$" left
    bash -c ". tests/cases.sh; . tests/netns.sh; net_port=$net_port; net_start 2 free; net_job 2 --backend shm $word" \
        - "$build" &
    script=$!
    why='its job did not start'
    for ((i = 0; $(pgrep -cfx "$word") < 2; i++)); do
        [ $i -lt 1000 ] || return 1
        sleep 0.02
    done
    left=$(pgrep -P $script) # holders and launchers
    { kill -9 $script && wait $script; } 2>/dev/null
    for ((i = 0; i < 1000; i++)); do
        kill -0 $left 2>/dev/null || pgrep -fx "$word" >/dev/null || return 0
        sleep 0.02
    done
    why="left: $(pgrep -fa "$word") $left"
    return 1
}
leaves_nothing() {
    local holders="${net_holders[*]}"
    net_stop
    why="one of $holders is left"
    [ -n "$holders" ] && ! kill -0 $holders 2>/dev/null
}

# check_unless LACK NAME...: without what is lacking.
check_unless() {
    if [ -n "$1" ]; then
        skip "$@"
    else
        check_with libfabric "${@:2}"
    fi
}
check_unless "$(net_missing)" sums_at_10_mbit sums_at_100_mbit sums_at_1000_mbit sums_over_four_hosts \
    lives_on_a_wire_that_is_full
check_unless "$(net_missing nft:nftables)" lives_with_a_tenth_of_all_packets_lost ends_when_a_host_is_cut_off
check_unless "$(net_missing)" leaves_nothing_when_killed leaves_nothing
exit $failed
