#!/bin/bash
# SPDX-License-Identifier: MIT
# Jobs over ofi between hosts that are joined by wires of a known rate (netns.sh). Usage: test_netns.sh [BUILD].

. tests/cases.sh
. tests/netns.sh

# A sum over all hosts is right, and comes no faster than the wire allows: 256 KiB each way at 100 Mbit/s take 21 ms.
sums_at_the_rate_of_the_wire() {
    net_start 2 100mbit && net_job 2 --backend ofi -- "$commlab" bench allreduce --algo doubling -b 256K -e 256K \
        --seconds 0.3s --in-place 0 --csv "$scratch/rate.csv" || return 1
    why="no sum of 256 KiB in 20 to 40 ms: $(grep -v '^#' "$scratch/rate.csv")"
    awk -F, '$1 == "allreduce" && $12 > 20000 && $12 < 40000 && $17 == 0 { found = 1 } END { exit !found }' \
        "$scratch/rate.csv"
}

sums_over_four_hosts() {
    net_start 4 100mbit && net_job 4 --backend ofi -- "$commlab" bench allreduce --algo ring,doubling -b 64K -e 64K \
        --seconds 0.1s --in-place 0
}

# Who sees it first differs: each host must end, and one rank must be named with the peer it waited for.
ends_when_a_host_is_cut_off() {
    local start=$EPOCHSECONDS cutter
    net_start 2 100mbit || return 1
    (sleep 3 && net_cut 1) &
    cutter=$!
    ! net_job 2 --backend ofi -- "$commlab" bench all --algo all -e 64K --seconds 20s && wait $cutter || return 1
    why="it took $((EPOCHSECONDS - start)) s, or nobody was named: $why"
    [ $((EPOCHSECONDS - start)) -le 15 ] && grep -qE 'rank [01].*rank [01]' "$scratch"/err.[01]
}

leaves_nothing() {
    local holders="${net_holders[*]}"
    net_stop
    why="one of $holders is left"
    [ -n "$holders" ] && ! kill -0 $holders 2>/dev/null
}

cases=(sums_at_the_rate_of_the_wire sums_over_four_hosts ends_when_a_host_is_cut_off leaves_nothing)
missing=$(net_missing)
if [ -n "$missing" ]; then
    skip "$missing" "${cases[@]}"
else
    check_with libfabric "${cases[@]}"
fi
exit $failed
