#!/bin/bash
# SPDX-License-Identifier: MIT
# Placement, links and copies: `commlab sim --order`, `sim links`, `sim paths`, in_network, and the networks of lab 10.
# Each number is worked out here, by awk, from the figures that the networks' files state.
# Usage: test_topology.sh [BUILD].

. tests/cases.sh
subject=("$commlab" sim)

# seconds ARGS...: of the one answer.
seconds() { "$commlab" sim allreduce --json "$@" 2>&1 | sed -n 's/.*"seconds": *\([0-9.e+-]*\).*/\1/p' | head -n 1; }

# is SECONDS FORMULA: within a part in a thousand of what awk makes of the formula.
is() {
    why="$1 s, worked out: $(awk "BEGIN { print $2 }") s = $2"
    awk "BEGIN { worked = $2; exit !($1 > 0.999 * worked && $1 < 1.001 * worked) }"
}

# 32 ranks on 4 hosts of 8, which share an adapter; 62 steps of 16 KiB, and 31 sums.
scattered_ranks_share_the_adapter() {
    local args=(--algo ring --ranks 32 --bytes 512K --net cluster-25gbe)
    is "$(seconds "${args[@]}")" '62 * (8e-6 + 16384 * 8 / 24.75e9) + 31 * 16384 / 10e9' &&
        is "$(seconds "${args[@]}" --order scattered)" '62 * (8e-6 + 8 * 16384 * 8 / 24.75e9) + 31 * 16384 / 10e9'
}

# With an adapter per rank, a ring takes as long in any order.
order_is_nothing_with_an_adapter_per_rank() {
    local args=(--algo ring --ranks 32 --bytes 512K --net dgx-h100)
    is "$(seconds "${args[@]}" --order scattered)" "$(seconds "${args[@]}")"
}

two_levels_share_the_adapter_at_the_same_time() {
    is "$(seconds --algo hierarchical --ranks 32 --bytes 512K --net cluster-25gbe)" \
        '14 * (1e-6 + 65536 / 10e9) + 7 * 65536 / 10e9 + 6 * (8e-6 + 131072 * 8 / 24.75e9) + 3 * 16384 / 10e9'
}

why_names_the_shared_adapter() {
    writes 'giving each rank an adapter of its own would save' allreduce --algo ring --ranks 32 --bytes 512K \
        --net cluster-25gbe --order scattered --why &&
        writes 'others share the link' allreduce --algo ring --ranks 32 --bytes 512K --net cluster-25gbe --order scattered --why &&
        writes 'wait 0.0 %' allreduce --algo ring --ranks 32 --bytes 512K --net cluster-25gbe --why
}

# A message to another rack is on its way for 150 us, but keeps a port busy for 8 us.
a_rack_further_costs_once_per_lap() {
    local near far
    near=$(seconds --algo ring --ranks 32 --bytes 8K --net cluster-25gbe)
    far=$(seconds --algo ring --ranks 64 --bytes 8K --net cluster-25gbe)
    why="32 ranks: $near s, 64 ranks in two racks: $far s"
    awk "BEGIN { exit !($far > 2 * $near && $far < 126 * 20e-6) }"
}

in_network_is_priced_beside_others_and_is_the_model_only() {
    local rows
    writes '# in_network: the model only; no program of this kit can run it' allreduce --ranks 72 --bytes 64M --net nvl72 || return 1
    rows=$(awk '$1 ~ /^(in_network|ring|tree|hierarchical)$/ { n++ } END { print n }' "$scratch/out")
    why="$rows rows of in_network, ring, tree, hierarchical: $(cat "$scratch/out")"
    [ "$rows" = 4 ] || return 1
    # alpha 3.4 us, up and down through one switch of 10.8 us, 74 % of 900 GB/s
    is "$(seconds --algo in_network --ranks 72 --bytes 64M --net nvl72)" '3.4e-6 + 2 * 10.8e-6 + 67108864 / 666e9' &&
        is "$(seconds --algo in_network --ranks 1024 --bytes 64M --net superpod-h100)" '14e-6 + 4 * 4.25e-6 + 67108864 / 48e9' &&
        run 0 allreduce --ranks 8 --bytes 1M --net dgx-h100 && ! grep -q in_network "$scratch/out"
}

nets_prints_the_tiers_of_a_network() {
    why=$("$commlab" nets gcp-a3) || return 1
    grep -q '^between nodes of different groups of 8 (zone): alpha 150 us per message; beta 0.08 ns per byte' <<<"$why" &&
        grep -q '^between nodes of different groups of 128 (cross-zone): alpha 750 us ' <<<"$why" &&
        grep -q '^between nodes of different groups of 1024 (cross-region): alpha 10 ms ' <<<"$why"
}

links_keep_bits_and_ways_apart() {
    run 0 links --ranks 8 --csv "$scratch/links.csv" || return 1
    why=$(awk -F, '!/^#/ && !/^link,/ { n++
            if ($3 <= 0 || ($4 - $3 / 8) ^ 2 > 1e-9 * $4 ^ 2 || ($5 - 2 * $4) ^ 2 > 1e-9 * $5 ^ 2) print "row", $0 }
        END { if (n < 20) print n, "rows" }' "$scratch/links.csv")
    [ -z "$why" ] || return 1
    # resnet50 has 25,557,032 parameters of 4 bytes; 7/4 of them at 12.5 GB/s
    why=$(awk -F, '$1 == "100 Gb/s Ethernet" { got = $6 } END { want = 1e3 * 1.75 * 25557032 * 4 / 12.5e9
            if ((got - want) ^ 2 > 1e-6 * want ^ 2) print got, "ms, expected", want }' "$scratch/links.csv")
    [ -z "$why" ]
}

# What the audit of published figures needs: claims 16, 22 and 23.
links_hold_what_published_figures_mixed_up() {
    run 0 links --csv "$scratch/links.csv" || return 1
    why=$(cat "$scratch/links.csv")
    grep -q '^InfiniBand HDR,between,200,25,50,' <<<"$why" && grep -q '^InfiniBand HDR100,between,100,12.5,25,' <<<"$why" &&
        grep -q '^GCP A3 Mega 8g,all adapters,1800,' <<<"$why" && grep -q '^GCP A3 High 8g,all adapters,1000,' <<<"$why" &&
        grep -q '^NVLink 3 (A100),inside,2400,300,600,' <<<"$why" && grep -q '^PCIe 4.0 x16,inside,252.062,31.5' <<<"$why"
}

# copies of a path: by a core, by DMA, and passes over host memory.
copies() { awk -F, -v path="$1" '$1 == path { print $3, $4, $5 }' "$scratch/paths.csv"; }

paths_count_the_copies() {
    run 0 paths --csv "$scratch/paths.csv" || return 1
    why=$(cat "$scratch/paths.csv")
    [ "$(copies TCP)" = '2 2 6' ] && [ "$(copies RDMA)" = '0 2 2' ] && [ "$(copies 'TCP staged')" = '2 4 8' ] &&
        [ "$(copies 'RDMA staged')" = '0 4 4' ] && [ "$(copies 'RDMA GPUDirect')" = '0 2 0' ] &&
        [ "$(copies 'staged whole')" = '0 2 2' ] && [ "$(copies 'P2P over PCIe')" = '0 1 0' ]
}

# time PATH: s of 100 MB.
time_of() { awk -F, -v path="$1" '$1 == path { print 1e-3 * $9 }' "$scratch/paths.csv"; }

paths_cost_the_first_piece_and_the_slowest_move() {
    run 0 paths --csv "$scratch/paths.csv" || return 1
    is "$(time_of RDMA)" '1.5e-6 + 65536 * (2 / 27e9 + 1 / 12.125e9) + (1e8 - 65536) / 12.125e9' &&
        is "$(time_of TCP)" '1.5e-6 + 65536 * (2 / 27e9 + 1 / 12.125e9 + 2 / 7.5e9) + (1e8 - 65536) / 7.5e9' &&
        is "$(time_of 'staged whole')" '2 * 1e8 / 27e9' && is "$(time_of 'P2P over NVLink')" '3.4e-6 + 1e8 / 300e9'
}

lab_10_has_this_table() {
    run 0 paths --csv "$scratch/paths.csv" || return 1
    why=$(diff <(grep -v '^#' labs/10-topology/paths.csv) <(grep -v '^#' "$scratch/paths.csv"))
    [ -z "$why" ]
}

refuses_what_has_no_order() {
    refuses 2 'an order: compact or scattered' allreduce --net dgx-h100 --order random &&
        refuses 2 '--order scattered: the closed form knows one link' allreduce --net dgx-h100 --order scattered --engine closed &&
        refuses 2 '--host one with [link pair]' paths --host dgx-h100
}

tables_that_are_replaced_are_announced() {
    local name
    for name in links paths; do
        echo earlier >"$scratch/$name.csv"
        "$commlab" sim $name --csv "$scratch/$name.csv" >/dev/null 2>"$scratch/err"
        why="sim $name: status $?: $(cat "$scratch/err")"
        [[ $why == *'status 0: '*"$name.csv of "*' will be replaced' ]] || return 1
    done
}
measures_numa_nodes_or_says_why_not() {
    why=$("$commlab" device --numa --bytes 1M --seconds 1ms 2>&1) || return 1
    grep -qE '^NUMA: not measured, because this machine has |GB/s: memory of the row' <<<"$why"
}

check_with "inih jansson" scattered_ranks_share_the_adapter order_is_nothing_with_an_adapter_per_rank \
    two_levels_share_the_adapter_at_the_same_time why_names_the_shared_adapter a_rack_further_costs_once_per_lap \
    in_network_is_priced_beside_others_and_is_the_model_only nets_prints_the_tiers_of_a_network links_keep_bits_and_ways_apart \
    links_hold_what_published_figures_mixed_up paths_count_the_copies paths_cost_the_first_piece_and_the_slowest_move \
    lab_10_has_this_table tables_that_are_replaced_are_announced refuses_what_has_no_order
check measures_numa_nodes_or_says_why_not

exit $failed
