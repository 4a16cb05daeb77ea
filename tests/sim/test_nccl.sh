#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab nccl` as its users meet it.
# Usage: test_nccl.sh [BUILD].

. tests/cases.sh
subject=("$commlab" nccl)

machine=(--collective allreduce --gpus 8 --nodes 4 --arch hopper --cpu intel --channels 8 --intra-bw 48 --inter-bw 48
    --net-latency 0)

cat >"$scratch/log" <<'LOG'
h:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 1
h:1:2 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 8, bw 48.000000/48.000000, type NVL/PIX, sameChannels 1
LOG

chooses_the_same_from_a_log() {
    run 0 "${machine[@]}" --bytes 1M || return 1
    grep '^choice' "$scratch/out" >"$scratch/by_flags"
    run 0 --nodes 4 --log "$scratch/log" --bytes 1M || return 1
    why="$(cat "$scratch/by_flags") but $(grep '^choice' "$scratch/out")"
    [ -s "$scratch/by_flags" ] && grep '^choice' "$scratch/out" | cmp -s - "$scratch/by_flags"
}

# matches PATTERN ARGS...: it succeeds, and a line of its output matches.
matches() {
    local pattern=$1
    shift
    run 0 "$@" || return 1
    why="no '$pattern' in: $(cat "$scratch/out")"
    grep -qE -- "$pattern" "$scratch/out"
}

check takes_trees_at_middle_sizes writes 'choice: Tree LL128' "${machine[@]}" --bytes 1M
check takes_rings_at_large_sizes writes 'choice: Ring Simple' "${machine[@]}" --bytes 1G
writes_json() { writes '"algorithm": "Tree"' "${machine[@]}" --bytes 1M --json; }
check_with jansson writes_json
# Sizes without a gap, ten fields in the heading and in a row, and at 1 MiB what the table says.
writes_a_table_for_the_tuner() {
    run 0 "${machine[@]}" --csv "$scratch/tuner.csv" || return 1
    why=$(cat "$scratch/tuner.csv")
    awk -F, '/^#/ && NF == 10 { next } NF != 10 || $2 != next_size { exit 1 } { next_size = $3 + 1 }
        $2 <= 1048576 && 1048576 <= $3 { at = $4 " " $5 } END { exit at != "tree ll128" }' "$scratch/tuner.csv"
}
check writes_a_table_for_the_tuner
check chooses_the_same_from_a_log
check names_no_network_of_one_node writes 'ring: 8 channels, each 48 GB/s within a node by NVLink; NCCL makes 16' \
    --channels 8 --intra-bw 48
# 0.92 * 2 * 24 GB/s = 44.16; the simple tree has 0.85 of it, and half of that for a reduction and a broadcast: 18.768.
for nodes in 2 4 8 16 32; do
    check "lowers_the_simple_tree_on_${nodes}_nodes" matches '^ *Tree +Simple +[0-9.]+ +18.8 ' --nccl 2.27.5 \
        --nodes "$nodes" --gpus 1 --channels 2 --intra-bw 24 --inter-bw 24
done
check names_no_links_of_one_gpu writes 'ring: 2 channels, each 24 GB/s between nodes; NCCL makes 4' \
    --nodes 2 --gpus 1 --channels 2 --intra-bw 24 --inter-bw 24
check says_what_bypasses_it writes 'collectives on symmetric windows' --channels 8 --intra-bw 48
check offers_collnet_with_a_switch matches 'CollNetDirect +Simple +[0-9.]+' --nodes 2 --channels 8 --intra-bw 48 \
    --inter-bw 48 --collnet --nvswitch
check misses_the_switch matches 'CollNetDirect +Simple +- +- +- no NVLink switch' --nodes 2 --channels 8 --intra-bw 48 \
    --inter-bw 48 --collnet
check refuses_unknown_collective refuses 2 "no 'alltoall'" --collective alltoall
check refuses_no_bytes refuses 2 "--bytes '0'" --bytes 0
check refuses_unknown_architecture refuses 2 "--arch: there is no 'kepler'" --arch kepler
check refuses_one_gpu refuses 2 '--nodes 1 --gpus 1: a collective needs at least two GPUs' --gpus 1 --channels 1 --intra-bw 1
check asks_for_channels refuses 2 'still needed: --channels N; or --log FILE' --intra-bw 1
check asks_for_all_at_once refuses 2 'needed: --channels N, --intra-bw GB/s, --inter-bw GB/s; or --log' --nodes 2
check asks_for_the_network refuses 2 'still needed: --inter-bw GB/s' --channels 8 --intra-bw 48 --nodes 2
check refuses_a_bandwidth_that_is_none refuses 2 "--intra-bw 'x'" --channels 8 --intra-bw x
check takes_a_bandwidth_with_its_unit matches 'ring: 8 channels, each 50 GB/s within a node' --channels 8 --intra-bw 400Gb/s
printf 'NCCL version 2.5.6\nh:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels many\n' >"$scratch/broken"
check names_a_log_and_its_line refuses 2 "$scratch/broken:2: a graph without its channels" --log "$scratch/broken"
sed 's/nChannels many/nChannels 4, bw 24\/24, type NVL\/PIX, sameChannels 0/' "$scratch/broken" >"$scratch/rings"
check names_what_a_log_has_no_graph_of matches 'Tree +Simple +- +- +- the log has no graph of it' --log "$scratch/rings"
check refuses_an_unknown_version refuses 2 "no constants of '1.0'" --nccl 1.0
check refuses_a_log_that_is_not_there refuses 2 'No such file' --log "$scratch/none"
check refuses_a_log_of_something_else refuses 2 "has nothing of NCCL's" --log Makefile

# A log of two hosts with two ranks each. $1: the version, and more lines from standard input.
write_log() {
    local rank
    echo "a:1:1 [0] NCCL INFO NCCL version $1+cuda12.2"
    for rank in 0 1 2 3; do
        printf '%s:1%d:2 [%d] NCCL INFO comm 0x1%d rank %d nranks 4 cudaDev %d busId 10 - Init COMPLETE\n' \
            "$([ $rank -lt 2 ] && echo a || echo b)" $rank $((rank % 2)) $rank $rank $((rank % 2))
    done
    cat
}
says_what_the_log_says() {
    write_log 2.18.3 >"$scratch/full" <<'LOG'
a:10:2 [0] NCCL INFO CPU/0 (1/2/-1)
a:10:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 24.000000/24.000000, type NVL/PIX, sameChannels 1
a:10:2 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 2, bw 24.000000/24.000000, type NVL/PIX, sameChannels 1
a:10:2 [0] NCCL INFO 1073741824 Bytes -> Algo 1 proto 2 time 9000.5
a:10:2 [0] NCCL INFO 1073741824 Bytes -> Algo 1 proto 2 time 9000.5
a:10:2 [0] NCCL INFO 8 Bytes -> Algo 1 proto 2 time 20.5
LOG
    run 0 --log "$scratch/full" || return 1
    why=$(cat "$scratch/out")
    grep -qF "the log $scratch/full: NCCL 2.18.3, 4 ranks on 2 nodes; graphs, no table of costs, 3 choices" <<<"$why" &&
        grep -qx '# neither in the log nor given, so defaults: Hopper (--arch)' <<<"$why" &&
        grep -qx '# the constants are those of NCCL 2.27.5: there are none of 2.18.3' <<<"$why" &&
        grep -q 'on 2 nodes of 2 Hopper GPUs, AMD CPUs$' <<<"$why" &&
        grep -qE '^ +1 GiB +2 +Ring +Simple +Ring Simple$' <<<"$why" &&
        grep -qE '^ +8 B +1 +Ring +Simple +(Tree|Ring) LL +\(differs\)$' <<<"$why"
}
# Without all ranks' lines, nobody knows how many nodes there are; without graphs, what NCCL costs.
guesses_nothing() {
    write_log 2.4.8 </dev/null | grep -v '^b:' >"$scratch/part"
    run 2 --log "$scratch/part" || return 1
    why=$(cat "$scratch/out" "$scratch/err")
    grep -qF 'NCCL 2.4.8, 4 ranks on nodes that it does not count; no graphs, no table of costs, 0 choices' "$scratch/out" &&
        grep -qF 'the log has neither graphs nor a table of these costs: still needed: --channels N, --intra-bw GB/s' "$scratch/err" || return 1
    run 0 --log "$scratch/part" --nodes 1 --channels 2 --intra-bw 20 && why=$(cat "$scratch/out") &&
        grep -qx '# neither in the log nor given, so defaults: Hopper (--arch), Intel (--cpu)' <<<"$why" &&
        grep -q 'on 1 node of 4 Hopper GPUs' <<<"$why" || return 1
    # Behind mpirun's marks; a ring names all ranks, and choices stand alone where there are no costs.
    printf '%s\n' '[1,0]<stdout>:a:10:2 [0] NCCL INFO Channel 00/02 :    0   1   2' '[0] a:10:2 [0] NCCL INFO 64 Bytes -> Algo 0 proto 1 time 2' \
        '# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22102' >"$scratch/marks"
    run 2 --log "$scratch/marks" && why=$(cat "$scratch/out") && grep -qF 'NCCL 2.21.2, 3 ranks on nodes' <<<"$why" &&
        grep -qE '^ +64 B +1 +Tree +LL128 +-$' <<<"$why" && ! grep -q defaults <<<"$why"
}
lets_flags_go_before_the_log() {
    run 0 --log "$scratch/full" --nodes 1 --gpus 8 --arch volta --nccl 2.28.9 && why=$(cat "$scratch/out") &&
        grep -q '2.28.9.*on 1 node of 8 Volta GPUs, AMD CPUs$' <<<"$why" && ! grep -q defaults <<<"$why"
}
# A table that NCCL itself printed needs no constants.
takes_the_costs_of_an_old_table() {
    write_log 2.8.4 >"$scratch/table" <<'LOG'
a:10:2 [0] NCCL INFO Latency/AlgBw |    Tree/    LL |    Tree/ LL128 |    Tree/Simple |    Ring/    LL |    Ring/ LL128 |    Ring/Simple |
a:10:2 [0] NCCL INFO     AllReduce |    14.4/   1.5 |    21.4/   0.0 |    56.0/   5.0 |    10.8/   1.7 |    21.0/   0.0 |    35.4/   6.0 |
LOG
    run 0 --log "$scratch/table" --bytes 1G && why=$(cat "$scratch/out") &&
        grep -q '^choice: Ring Simple' <<<"$why" && ! grep -q 'defaults\|constants are' <<<"$why"
}
check_each says_what_the_log_says guesses_nothing lets_flags_go_before_the_log takes_the_costs_of_an_old_table

exit $failed
