#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab sim sweep` as its users meet it: its table, its CSV, its figure, and one clear line for each mistake.
# Usage: test_sweep.sh [BUILD].

. tests/cases.sh
draw_small
subject=("$commlab" sim sweep)

sweeps() {
    run 0 allreduce --net dgx-h100 --ranks 2-64 --bytes 8-1G --csv "$scratch/a.csv" --no-plot "$@"
}

writes_the_documented_columns() {
    sweeps || return 1
    why=$(grep -v '^#' "$scratch/a.csv" | head -n 1)
    [ "$why" = collective,algorithm,net,ranks,bytes,seconds,latency,bandwidth,reduce,wait,engine,best ]
}

marks_one_best_which_is_fastest() {
    sweeps || return 1
    why=$(awk -F, '
        !/^#/ && $1 == "allreduce" { k = $4 " " $5; if (!(k in least) || $6 < least[k]) least[k] = $6
            n[k] += $12
            if ($12) best[k] = $6 }
        END { for (k in n) if (n[k] != 1 || best[k] > least[k] * 1.000002) print k, n[k], best[k], least[k] }' \
        "$scratch/a.csv")
    [ -z "$why" ]
}

# Of all lines but those that name a network, whose title is as long as it is.
fits_120_columns() {
    sweeps --net gcp-a3 || return 1
    why=$(grep -v '^# allreduce of' "$scratch/out" | awk 'length > 120')
    grep -q 'naive/leaders/+1' "$scratch/out" && [ -z "$why" ] || return 1
    why=$("$commlab" nets | awk 'length > 120')
    [ "$("$commlab" nets | grep -c .)" -gt 15 ] && [ -z "$why" ]
}

lists_the_network_that_is_told() {
    why=$("$commlab" nets)
    grep -q '^  flat  *any .* --alpha  *--beta ' <<<"$why"
}

# Bandwidth and time per byte are two columns' words, not one.
nets_shows_one_network_and_its_time_per_byte() {
    why=$("$commlab" nets 1gbe) || return 1
    grep -q '^  1gbe .* 30 us *117.6 MB/s ' <<<"$why" && grep -q ' alpha *bandwidth ' <<<"$why" &&
        grep -q '^between nodes: alpha 30 us per message; beta 8.502 ns per byte = 1 / (117.6 MB/s)$' <<<"$why" &&
        ! grep -q 10gbe <<<"$why" || return 1
    why=$("$commlab" nets 1gb 2>&1) && return 1
    grep -q "did you mean '1gbe'" <<<"$why"
}

prices_what_sim_prices() {
    sweeps --algo ring || return 1
    "$commlab" sim allreduce --algo ring --net dgx-h100 --ranks 64 --bytes 1M --json >"$scratch/one"
    why="$(grep -E ',64,1048576,' "$scratch/a.csv") is not $(cat "$scratch/one")"
    [ "$(awk -F, '$4 == 64 && $5 == 1048576 { printf "%.9g", $6 }' "$scratch/a.csv")" = \
        "$(awk '/"seconds"/ { printf "%.9g", $2 }' "$scratch/one")" ]
}

says_what_it_leaves_out() {
    sweeps --algo ring,tree --ranks 131072 --bytes 8 --most 1000000 || return 1
    why=$(cat "$scratch/out")
    grep -q '^left out: allreduce ring on dgx-h100, 131072 ranks, 1 sizes from 8 B to 8 B: 3.4e+10 messages' \
        "$scratch/out" &&
        grep -q '^# left out: allreduce ring' "$scratch/a.csv" && grep -q '^allreduce,tree,' "$scratch/a.csv"
}

leaves_out_ranks_without_room() {
    writes "left out: allreduce on pcie4, 16 ranks: the network has no room for so many" \
        --net pcie4 --ranks 8,16 --bytes 1K --csv "$scratch/b.csv" --no-plot
}

draws_the_map() {
    "$commlab" sim sweep allreduce --net dgx-h100,10gbe --ranks 2-8 --bytes 8-1M --csv "$scratch/c.csv" \
        --plot "$scratch/maps" >"$scratch/out" 2>"$scratch/err" || return 1
    rm -f "$scratch/a.csv"
    run 0 allreduce --net dgx-h100 --ranks 2-8 --bytes 8-1G --csv "$scratch/a.csv" --plot "$scratch/map.svg" || return 1
    why="$(ls "$scratch"; cat "$scratch/err")"
    [ ! -s "$scratch/err" ] && [ -s "$scratch/map.svg" ] && [ -s "$scratch/map.png" ] && [ -s "$scratch/maps.svg" ] &&
        grep -q '^title: Among 8 ranks of dgx-h100, allreduce by doubling is best up to' "$scratch/map.txt"
}

# One line, with the date.
says_that_it_replaces_a_file() {
    touch -d '2026-01-02 03:04:05' "$scratch/again.csv" && echo old >"$scratch/again.csv" &&
        touch -d '2026-01-02 03:04:05' "$scratch/again.csv"
    run 0 allreduce --net 10gbe --ranks 2 --bytes 8 --csv "$scratch/again.csv" --no-plot || return 1
    why=$(cat "$scratch/err")
    [ "$(grep -c 'again.csv of 2026-01-02 03:04:05 will be replaced' "$scratch/err")" = 1 ] && [ "$(wc -l <"$scratch/err")" = 1 ]
}

# `sim --algo auto` prices what `bench --algo auto` runs, and says what that is.
chooses_as_the_bench_does() {
    local bytes chosen said
    "$commlab" bench -n 4 --backend sim --net dgx-h100 allreduce allgather --in-place 0 -b 1K -e 16M -f 128 \
        --csv "$scratch/auto.csv" >"$scratch/out" 2>&1 || return 1
    for bytes in 1024 131072 16777216; do
        for collective in allreduce allgather; do
            chosen=$(awk -F, -v c=$collective -v b=$bytes '/^#/ { next }
                !n { for (n = 1; n <= NF; n++) at[$n] = n; next }
                $at["collective"] == c && $at["bytes"] == b { print $at["algorithm"] }' "$scratch/auto.csv")
            said=$("$commlab" sim $collective --net dgx-h100 --algo auto --ranks 4 --bytes $bytes |
                sed -n 's/^# auto: \([a-z_]*\), the library.s choice$/\1/p')
            why="$collective of $bytes B: '$said', and the bench takes '$chosen'"
            [ -n "$said" ] && [ "$said" = "$chosen" ] || return 1
        done
    done
}

check_with inih chooses_as_the_bench_does
check_with inih writes_the_documented_columns marks_one_best_which_is_fastest says_what_it_leaves_out \
    fits_120_columns leaves_out_ranks_without_room lists_the_network_that_is_told nets_shows_one_network_and_its_time_per_byte
check_with 'inih jansson' prices_what_sim_prices
check_with inih says_that_it_replaces_a_file
check_with 'inih gnuplot' draws_the_map
check refuses_an_unknown_algorithm refuses 2 "no algorithm 'rong' (did you mean 'ring'?)" --algo rong --net 10gbe --csv "$scratch/refused"
check refuses_a_range_backwards refuses 2 "--ranks '8-2'" --ranks 8-2 --net 10gbe --csv "$scratch/refused"
check refuses_half_a_range refuses 2 "--bytes '' is not a size" --bytes 8- --net 10gbe --csv "$scratch/refused"
check refuses_a_mistyped_network refuses 2 "no network '10gbee' (did you mean '10gbe'?)" --net 10gbee --csv "$scratch/refused"
check refuses_an_unknown_network refuses 2 "no network 'x'" --net x --csv "$scratch/refused"
check refuses_an_unknown_collective refuses 2 "no 'x'" x --net 10gbe --csv "$scratch/refused"
subject=("$commlab" sim)
# A network that can not be read ends both with one status.
refuses_a_broken_network_as_sim_does() {
    printf '[net]\nx = 1\n' >"$scratch/broken.net"
    refuses 2 broken.net: allreduce --net "$scratch/broken.net" &&
        refuses 2 broken.net: sweep --net "$scratch/broken.net" --csv "$scratch/refused"
}
check_with inih refuses_a_broken_network_as_sim_does
check sim_refuses_a_flat_network_without_costs refuses 2 \
    "sim: --net flat needs costs: say --alpha" allreduce --net flat
check sim_takes_a_flat_network_with_one writes "every pair of ranks alpha and beta apart" allreduce --net flat \
    --alpha 5us

exit $failed
