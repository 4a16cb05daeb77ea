#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab tune` as its users meet it.
# Usage: test_tune.sh [BUILD].

. tests/cases.sh
subject=("$commlab" tune)
machine=(--model --gpus 8 --nodes 4 --channels 8 --intra-bw 48 --inter-bw 48)

# What `commlab nccl` says of 1 MiB and 1 GiB is in the rows for them; sizes have no gap.
agrees_with_commlab_nccl() {
    run 0 "${machine[@]}" allreduce -o "$scratch/tune.csv" || return 1
    why=$(cat "$scratch/tune.csv")
    awk -F, '/^#/ { next }
        NF != 11 || $1 != "allreduce" || $2 != next_size || $7 != 4 || $8 != 32 { exit 1 } { next_size = $3 + 1 }
        $2 <= 1048576 && 1048576 <= $3 { middle = $4 " " $5 } $2 <= 1073741824 && 1073741824 <= $3 { large = $4 " " $5 }
        END { exit middle != "tree ll128" || large != "ring simple" }' "$scratch/tune.csv"
}
times() { # times FILE USEC: as nccl-tests print them
    printf '%s\n' '# Collective test starting: all_reduce_perf' '#  Rank  0 Group  0 Pid  7 on h device  0 [07] X' \
        '#  Rank  1 Group  0 Pid  7 on h device  1 [07] X' \
        '#  size  count  type  redop  root  time  algbw  busbw #wrong' \
        "  1024  256  float  sum  -1  $2  1  1  0" >"$scratch/$1"
}
finds_what_is_faster_in_files() {
    times own 20 && times ring 10 && times tree 12 || return 1
    writes ' 2.00 ' --from "$scratch/own" --from "ring/ll=$scratch/ring" --from "tree/ll=$scratch/tree" \
        --csv "$scratch/tune.csv" || return 1
    why=$(cat "$scratch/tune.csv")
    grep -qx 'allreduce,0,2047,ring,ll,-1,1,2,-1,-1,2.000' <<<"$why"
}
# As mpirun --tag-output, mpiexec -l and srun -l print them.
reads_rows_behind_a_launcherS_labels() {
    times own 20 && times ring 10 || return 1
    sed -i 's/^/[1,0]<stdout>:/' "$scratch/own" && sed 's/^/[0] /' "$scratch/ring" >"$scratch/hydra" && sed 's/^/ 0: /' "$scratch/ring" >"$scratch/srun"
    writes ' 2.00 ' --from "$scratch/own" --from "ring/ll=$scratch/hydra" && writes ' 2.00 ' --from "$scratch/own" --from "ring/ll=$scratch/srun"
}
# Each run has its own test, by the command above it, and its own ranks.
reads_several_runs_of_a_log() {
    times own 20 && { echo './build/all_gather_perf -b 8' && sed '1s/.*/# nThread 1 nGpus 2/' "$scratch/own" && echo './reduce_perf -b 8' &&
        sed '1s/.*/# nThread 1 nGpus 1/; s/Rank  1/Rank  3/' "$scratch/own"; } >"$scratch/runs"
    run 0 --from "$scratch/runs" || return 1
    why=$(cat "$scratch/out")
    grep -qE '^ +allgather +2 +1 ' <<<"$why" && grep -qE '^ +reduce +4 +1 ' <<<"$why"
}
leaves_to_nccl_what_it_does_as_well() {
    times own 20 && times ring 19.9 || return 1
    writes "NCCL's own: as good as any, to 3 %: no row" --from "$scratch/own" --from "ring/ll=$scratch/ring" || return 1
    writes 'Ring LL' --gain 0 --from "$scratch/own" --from "ring/ll=$scratch/ring"
}
# A table without rows is one that the plugin refuses.
writes_no_table_without_a_row() {
    times own 20 && times ring 30 || return 1
    writes "no row, so nothing is written to $scratch/none.csv" --from "$scratch/own" --from "ring/ll=$scratch/ring" \
        -o "$scratch/none.csv" || return 1
    why="it has written $(cat "$scratch/none.csv" 2>/dev/null)"
    [ ! -e "$scratch/none.csv" ] || return 1
    echo earlier >"$scratch/none.csv"
    writes "$scratch/none.csv is as it was: remove it, or NCCL_TUNER_CONFIG_FILE still chooses by it" \
        --from "$scratch/own" --from "ring/ll=$scratch/ring" -o "$scratch/none.csv" || return 1
    why="it says $(cat "$scratch/err"), and none.csv has $(cat "$scratch/none.csv")"
    ! grep -q 'will be replaced' "$scratch/err" && [ "$(cat "$scratch/none.csv")" = earlier ]
}
# Where there is a row, the earlier table is announced before it goes.
announces_a_table_that_it_replaces() {
    times own 20 && times ring 10 || return 1
    echo earlier >"$scratch/old.csv"
    run 0 --from "$scratch/own" --from "ring/ll=$scratch/ring" -o "$scratch/old.csv" || return 1
    why="it says $(cat "$scratch/err")"
    grep -q 'old.csv of .* will be replaced' "$scratch/err" && grep -q '^allreduce,' "$scratch/old.csv"
}
prints_a_table_of_at_most_120_columns() {
    run 0 "${machine[@]}" || return 1
    why=$(awk 'length > 120' "$scratch/out")
    [ -z "$why" ]
}
# NCCL without a GPU, or no NCCL: one line, and not 0.
says_in_a_line_that_nothing_can_be_measured() {
    "$commlab" tune -n 2 -o "$scratch/refused" >"$scratch/out" 2>"$scratch/err" </dev/null
    local status=$?
    why="status $status: $(cat "$scratch/out" "$scratch/err")"
    [ $status -ne 0 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ] && [ ! -s "$scratch/out" ] && [ ! -e "$scratch/refused" ]
}


# ---- the kit's own algorithms, measured on any backend ----------------------------------------------------------------
sim=(--backend sim --net dgx-h100 -n 16 -b 8 -e 256K -f 32768 allreduce)

# On dgx-h100 the default is best at 8 B and a ring at 256 KiB, which is far from the best: all times are exact.
measures_on_a_simulated_cluster() {
    run 0 "${sim[@]}" -o "$scratch/ours.csv" || return 1
    why=$(cat "$scratch/out" "$scratch/ours.csv")
    grep -qE ' 8 B doubling +1\.00 - +- \(default\) +1\.00$' <<<"$why" &&
        grep -qE ' 256 KiB ring +[0-9.]+ - +- doubling +1\.00$' <<<"$why" &&
        grep -qE '^allreduce,262144,524287,doubling,-1,-1,-1,16,-1,-1,[0-9.]+$' <<<"$why"
}
# The regret that it prints is the ratio of the times that the simulator says.
prints_regrets_that_the_simulator_confirms() {
    local algorithm seconds=()
    for algorithm in ring doubling; do
        "$commlab" sim sweep allreduce --algo $algorithm --ranks 16 --bytes 256K --net dgx-h100 --no-plot \
            --csv "$scratch/sweep.csv" >/dev/null || return 1
        seconds+=("$(grep -v '^#' "$scratch/sweep.csv" | tail -n 1 | cut -d, -f 6)")
    done
    run 0 "${sim[@]}" || return 1
    why="$(cat "$scratch/out"): ${seconds[*]}"
    grep -qE " 256 KiB ring +$(printf '%s %s\n' "${seconds[@]}" | awk '{ printf "%.2f", $1 / $2 }') " "$scratch/out"
}
# auto takes the table's choice where a row fits, and the default elsewhere.
auto_reads_the_table() {
    CLAB_TUNER=$scratch/ours.csv "$commlab" bench "${sim[@]}" --in-place 0 >"$scratch/out" 2>&1
    why=$(cat "$scratch/out")
    grep -qE '^ +8 .* doubling *$' <<<"$why" && grep -qE '^ +262144 .* doubling *$' <<<"$why" || return 1
    CLAB_TUNER=$scratch/ours.csv "$commlab" bench "${sim[@]/16/8}" --in-place 0 >"$scratch/out" 2>&1
    why=$(cat "$scratch/out")
    grep -qE '^ +262144 .* ring *$' <<<"$why"
}
sets_ncclS_model_beside_it() {
    run 0 "${sim[@]}" --nodes 2 --gpus 8 --channels 16 --intra-bw 20 --inter-bw 20 || return 1
    why=$(cat "$scratch/out")
    grep -qE ' ring +13\.[0-9]+ double_tree +3\.[0-9]+ doubling' <<<"$why" &&
        ! awk 'length > 120 { long = 1 } END { exit !long }' <<<"$why"
}
# How many, and about how long; on a terminal and elsewhere it says where it is. 2 rounds of all algorithms and the
# default at two sizes of 0.01 s.
announces_how_much_it_measures() {
    local algorithms
    algorithms=$("$commlab" bench allreduce -n 2 -b 8 -e 8 --algo all --seconds 0.01s | grep -cE '^ +8 |^# skipped')
    run 0 --backend shm -n 2 -b 8 -e 32 --seconds 0.01s --rounds 2 allreduce || return 1
    why="$(cat "$scratch/out" "$scratch/err"), $algorithms algorithms"
    grep -qE "^# plan: 2 rounds of each algorithm and the default at each size: $((2 * 2 * (algorithms + 1))) measurements at most, of 10 ms; about [0-9]+ s$" "$scratch/out" &&
        grep -qx 'commlab tune: round 2 of 2' "$scratch/err" || return 1
    run 0 "${sim[@]}" && why=$(cat "$scratch/out") && grep -q '^# plan: 1 round of .*: [0-9]* measurements at most, in virtual time$' <<<"$why"
}
# A log of nccl-tests 2.0, whose lines name neither the test nor ranks.
reads_a_log_that_needs_options() {
    local columns='#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error'
    printf '%s\n' "$columns" '        1024           256   float     sum     20.0    0.05    0.05  1e-07     20.0    0.05    0.05  1e-07' >"$scratch/old-own"
    printf '%s\n' "$columns" '        1024           256   float     sum     10.0    0.10    0.10  1e-07     10.0    0.10    0.10  1e-07' >"$scratch/old-ring"
    refuses 2 'old-own:2: of which collective? Name it behind the options' --from "$scratch/old-own" || return 1
    refuses 2 'old-own:2: of how many ranks? Add -n RANKS' --from "$scratch/old-own" allreduce || return 1
    run 0 -n 4 --from "$scratch/old-own" --from "ring/ll=$scratch/old-ring" -o "$scratch/old.csv" allreduce || return 1
    why=$(cat "$scratch/old.csv")
    grep -qx 'allreduce,0,2047,ring,ll,-1,1,4,-1,-1,2.000' <<<"$why"
}
takes_all_collectives() {
    run 0 --backend sim -n 4 -b 8 -e 8 all || return 1
    why=$(cat "$scratch/out")
    [ "$(grep -c ' all  *[0-9]' <<<"$why")" = 10 ]
}
is_refused_with_its_line() {
    printf '%s\n' '# a table' 'allreduce,0,-1,trees,-1,-1,-1,-1' >"$scratch/bad.csv"
    CLAB_TUNER=$scratch/bad.csv "$commlab" bench -n 2 >"$scratch/out" 2>&1
    why="status $?: $(cat "$scratch/out")"
    [ "${why%%:*}" = 'status 2' ] && grep -q "bad.csv:2: allreduce has no algorithm 'trees'; it has: naive" <<<"$why"
}
check_with inih measures_on_a_simulated_cluster prints_regrets_that_the_simulator_confirms auto_reads_the_table \
    sets_ncclS_model_beside_it announces_how_much_it_measures takes_all_collectives \
    is_refused_with_its_line
check_each agrees_with_commlab_nccl finds_what_is_faster_in_files reads_rows_behind_a_launcherS_labels reads_several_runs_of_a_log \
    reads_a_log_that_needs_options leaves_to_nccl_what_it_does_as_well \
    writes_no_table_without_a_row announces_a_table_that_it_replaces prints_a_table_of_at_most_120_columns
measures_nothing_on_fakes() {
    LD_LIBRARY_PATH=$build/fakes refuses 3 'this is no measurement' -n 2 -o "$scratch/refused"
}
if [ -e "$build/backends/nccl.so" ] && [ -e "$build/fakes/libnccl.so.2" ]; then
    check measures_nothing_on_fakes
else
    skip 'built without the nccl backend' measures_nothing_on_fakes
fi
if [ -e /dev/nvidiactl ]; then
    skip 'this machine has a GPU, so it would be measured' says_in_a_line_that_nothing_can_be_measured
else
    check says_in_a_line_that_nothing_can_be_measured
fi
check refuses_unknown_collective refuses 2 "there is no 'alltoall'; there are: broadcast reduce allgather reduce_scatter allreduce" alltoall -o "$scratch/refused"
check refuses_two_sources refuses 2 'one or the other' --model --from x -o "$scratch/refused"
check refuses_ranks_of_a_model refuses 2 '--model has --nodes and --gpus' --model -n 8
check refuses_a_network_for_nccl refuses 2 'add --backend sim or shm' --net dgx-h100
check refuses_an_unknown_backend refuses 2 "there is no 'smh' in this build" --backend smh
check refuses_a_model_of_other_ranks refuses 2 'are 8 GPUs, but there are 4 ranks' --backend sim -n 4 --channels 8 \
    --intra-bw 20
check refuses_a_wrong_label refuses 2 "'rings/ll' is not ALGORITHM/PROTOCOL" --from "rings/ll=$scratch/own" \
    -o "$scratch/refused"
check refuses_a_file_that_is_not_there refuses 2 'No such file' --from "$scratch/none" -o "$scratch/refused"
check refuses_a_gain_that_is_none refuses 2 "--gain 'x'" --gain x --model
check refuses_one_rank refuses 2 "-n '1' is not a number of ranks from 2 on" -n 1
check asks_for_the_machine refuses 2 'still needed: --channels N, --intra-bw GB/s' --model -o "$scratch/refused"
check refuses_a_folder_as_output refuses 1 '' --model --channels 8 --intra-bw 48 -o "$scratch"

exit $failed
