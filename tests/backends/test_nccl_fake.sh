#!/bin/bash
# SPDX-License-Identifier: MIT
# The nccl backend over the fakes (tests/fakes), with up to 8 ranks: it conforms, computes what is right, chooses
# devices, and ends in time when something goes wrong. Usage: test_nccl_fake.sh [BUILD]. Takes long.

. tests/cases.sh
export CLAB_PROFILE="$scratch/none" # a machine that has none
quick="--backend nccl --seconds 0 --iters 1 -w 0"

if grep -q '^✗ nccl: ' "$build/probes.txt"; then
    skip 'built without nccl' all
    exit
fi
LD_LIBRARY_PATH=$(realpath "$build/fakes") || exit 1
export LD_LIBRARY_PATH

bench() { run 0 "$commlab" bench "$@" $quick; }
fails() { run "$1" timeout 20 "$commlab" bench "${@:2}" $quick; }
# says TEXT [HOW]: stderr has it, in so many lines.
says() {
    why="not $2 x '$1': $(cat "$scratch/err")"
    [ "$(grep -cF -- "$1" "$scratch/err")" -eq "${2:-1}" ]
}

# Programs of the suite that speak TAP themselves; their lines are ours.
is_right_by() { CMOCKA_MESSAGE_OUTPUT=TAP CLAB_BACKEND=nccl "$build/tests/$1" "${@:2}" || failed=1; }

# Results, not times: bench fails if an element is wrong, and shows 0 of them where it has looked.
rows() { grep -cE "^ +[0-9]+ .*$1" "$scratch/out"; }
computes_with() {
    bench all -n $1 --algo all -b 4000 -e 4000 && why="$(cat "$scratch/out")" && [ "$(rows native)" -ge 8 ] &&
        [ "$(rows ring)" -ge 3 ] && [ "$(rows double_tree)" -ge 1 ]
}
computes_with_2() { computes_with 2; }
computes_with_8() { computes_with 8; }
# Those of NCCL's own, and those of a schedule's stages.
times_kernels_apart_from_the_host() {
    local line='^#   (out of|in) place: kernels take [0-9.]+ us per call by the GPU.s clock'
    bench allreduce -n 2 --algo native,ring -b 4000 -e 4000 && why="$(cat "$scratch/out")" &&
        [ "$(grep -cE "$line" "$scratch/out")" -eq 4 ]
}
# Algorithms that connect at their first use: each native may wait for peers, and goes to a thread.
computes_with_late_connections() { NCCL_RUNTIME_CONNECT=1 computes_with 3; }
refuses_communicators_that_do_not_block() {
    NCCL_COMM_BLOCKING=0 fails 2 barrier -n 2 && says "NCCL_COMM_BLOCKING=0: this backend's communicators block"
}
computes_averages_of_all_types() {
    bench allreduce -n 4 -d all -o avg,prod -b 1K -e 1K && why="$(cat "$scratch/out")" && [ "$(rows native)" -eq 16 ]
}
checks_before_calls() { CLAB_CHECK=1 bench allreduce -n 3 --algo auto,ring -b 1K -e 1K; }
takes_memory_of_malloc() { bench allreduce -n 2 --algo auto,ring -b 4 -e 64K -f 16 --memory malloc; }

names_its_libraries_and_keeps_nothing() {
    bench barrier -n 2 && grep -q '^# library: NCCL 2.*fakes for tests' "$scratch/out" &&
        run 2 "$commlab" bench barrier -n 2 --csv "$scratch/refused" $quick && says 'this is no measurement' &&
        [ ! -e "$scratch/refused" ]
}
# Of several backends, too, and names no file that nobody has asked for.
compares_nothing_with_fakes() {
    run 2 "$commlab" bench allreduce -n 2 -b 8 -e 8 --backend shm,nccl --seconds 0 --iters 1 -w 0 &&
        says 'this is no measurement, so no file is written: leave --csv and --json out, name this backend alone' &&
        why="it names a file: $(cat "$scratch/err")" && ! grep -q /tmp/ "$scratch/err"
}

# Every collective, in a graph that is launched again and again; and what a graph can not hold.
computes_in_graphs() {
    bench all -n 3 --algo native -b 4000 -e 4000 -G 3 --iters 2 && why="$(cat "$scratch/out")" &&
        grep -q '^# mode: enqueue' "$scratch/out" && grep -q 'launched 3 times' "$scratch/out" && [ "$(rows native)" -eq 9 ] || return 1
    bench allreduce alltoall -n 2 --algo native -b 4000 -e 4000 -G 2 --iters 2 -R 2
}
says_what_no_graph_holds() {
    fails 2 allreduce -n 2 --algo ring -b 4 -e 4 -G 1 &&
        says "-G 1: a graph holds NCCL's own collectives alone, and allreduce would run by ring" || return 1
    fails 2 allreduce -n 2 -o avg -b 4 -e 4 -G 1 && says 'a graph can not hold an average' || return 1
    fails 2 allreduce -n 2 -b 4 -e 4 -G 1 --mode local && says 'graphs are of --mode enqueue, not of local' || return 1
    run 2 "$commlab" bench allreduce -n 2 -G 1 --backend shm && says '-G 1 is of nccl, and --backend is shm'
}

orders_its_work_by_a_stream_of_the_program() {
    run 0 timeout 20 "$build/tests/gpu/stream" -n 3 --backend nccl && why="$(cat "$scratch/out")" &&
        [ "$(grep -c '^rank [0-2]: right$' "$scratch/out")" -eq 3 ]
}

# Each range that begins ends, of collectives and of stages.
shows_what_is_under_way_to_profilers() {
    NVTX_INJECTION64_PATH=$(realpath "$build/fakes/nvtx_tool.so") bench allreduce -n 2 --algo native,ring -b 4000 -e 4000 ||
        return 1
    why="$(grep -c '^nvtx commlab: ' "$scratch/err") ranges"
    grep -q '^nvtx commlab: begin allreduce$' "$scratch/err" && grep -q '^nvtx commlab: begin lane 0$' "$scratch/err" &&
        [ "$(grep -c '^nvtx commlab: begin ' "$scratch/err")" -eq "$(grep -c '^nvtx commlab: end ' "$scratch/err")" ]
}

# Our profiler tells the bench, if NCCL loads it.
says_what_nccl_ran() {
    NCCL_PROFILER_PLUGIN=$(realpath "$build/backends/libnccl-profiler-commlab.so") \
        bench allreduce alltoall -n 2 --algo native -b 4000 -e 400000 -f 100 || says 'times were refused' || return 1
    why="$(cat "$scratch/out")"
    grep -q '^#   in place: NCCL ran TREE LL on 2 channels$' "$scratch/out" &&
        grep -q '^#   in place: NCCL ran RING SIMPLE on 4 channels$' "$scratch/out" &&
        grep -q '^#   out of place: NCCL ran P2P on 1 channel$' "$scratch/out" || return 1
    bench allreduce -n 2 --algo native -b 4000 -e 4000 && why="$(cat "$scratch/out")" && ! grep -q 'NCCL ran' "$scratch/out"
}

# ---- devices -------------------------------------------------------------------------------------------------

refuses_more_ranks_than_gpus() {
    CLAB_FAKE_GPUS=2 fails 3 barrier -n 3 &&
        says '3 ranks on this host, but 2 GPUs: start 2 (-n 2), or set CLAB_NCCL_SHARE=1'
}
shares_a_gpu_if_asked_to() {
    CLAB_FAKE_GPUS=1 CLAB_NCCL_SHARE=1 bench allreduce -n 3 --algo auto,ring -b 1K -e 1K &&
        why="$(cat "$scratch/out")" && grep -q 'shared by ranks: no measure of speed' "$scratch/out"
}
refuses_to_guess_whether_to_share() {
    CLAB_NCCL_SHARE=maybe fails 2 barrier -n 2 && says 'CLAB_NCCL_SHARE=maybe: it is 1 (ranks may share a GPU) or 0'
}
sees_what_is_visible() {
    CUDA_VISIBLE_DEVICES=5 fails 3 barrier -n 2 && says '2 ranks on this host, but 1 GPU in CUDA_VISIBLE_DEVICES=5'
}
says_that_there_is_no_gpu() { CLAB_FAKE_GPUS=0 fails 3 barrier -n 2 && says 'no GPU can be seen (CUDA 100'; }
says_that_there_is_no_driver() { CLAB_FAKE_GPUS=none fails 3 barrier -n 2 && says 'no driver for NVIDIA'"'"'s GPUs'; }

# ---- faults: who is left ends in time, and says why ----------------------------------------------------------

# Another test's files (test_gpu_check.sh) go some seconds later.
nothing_is_left() {
    local left file i
    left=$(pgrep -f -- "--seed $mine ")
    why="left: $left"
    [ -z "$left" ] || return 1
    for file in $(find /dev/shm /tmp -maxdepth 1 -newer "$scratch/err" -name '*nccl*' 2>/dev/null); do
        for ((i = 0; i < 1000; i++)); do
            [ -e "$file" ] || continue 2
            sleep 0.02
        done
        why="left: $file"
        return 1
    done
}

mine=1$$ # to know our processes by
fault() { CLAB_FAKE_FAULT=$1 CLAB_TIMEOUT=2s fails "${@:2}" -b 4000 -e 4000 --seed $mine; }
# An abort is waited for 5 s; the rest is for a busy machine.
in_time() {
    local start=$SECONDS
    "$@" || return 1
    why="it took $((SECONDS - start)) s"
    [ $((SECONDS - start)) -le 15 ]
}
ends_when_a_rank_dies() {
    fault abort@1:9 134 allreduce -n 4 --algo ring && says 'rank 1 has ended: a peer is dead' 3 && nothing_is_left
}
ends_when_nccl_fails() {
    fault async@1:9 1 allreduce -n 4 --algo ring && says 'unhandled system error' && nothing_is_left
}
ends_when_a_call_hangs() { fault hang@2:9 1 allreduce -n 4 && says 'CLAB_TIMEOUT' && nothing_is_left; }
ends_when_a_stage_hangs() { fault hang@0:9 1 allreduce -n 2 --algo tree && says 'CLAB_TIMEOUT' && nothing_is_left; }
ends_when_an_abort_hangs() {
    in_time fault stuck@0:3 1 allreduce -n 1 --algo native && says 'ncclCommAbort has not come to an end within 5 s' &&
        nothing_is_left
}
ends_when_an_abort_hangs_beside_another_rank() {
    in_time fault stuck@1:3 1 allreduce -n 2 --algo native && says 'rank 1: allreduce (native)' && nothing_is_left
}
# The communicator that NCCL gives all the same is ended, not left.
ends_when_a_communicator_can_not_begin() {
    NCCL_DEBUG=INFO in_time fault init@1:1 1 allreduce -n 2 &&
        says 'error: rank 1: NCCL: ncclCommInitRankConfig: unhandled system error' && says 'rank 1: Abort COMPLETE' &&
        nothing_is_left
}
# Calls that wait in the caller's thread: the watchdog aborts, or else ends the process.
ends_when_a_call_waits() { in_time fault wait@1:9 1 allreduce -n 3 --algo native && says 'CLAB_TIMEOUT' && nothing_is_left; }
ends_when_a_call_never_returns() {
    in_time fault jam@0:3 1 allreduce -n 1 --algo native &&
        says 'a call of NCCL has lasted 7 s, also after ncclCommAbort: this process ends' && nothing_is_left
}

ends_when_a_graph_hangs() {
    in_time fault hang@1:40 1 allreduce -n 2 --algo native -G 50 --iters 2 && says 'CLAB_TIMEOUT' && nothing_is_left
}

# ---- registered memory: the same at all ranks, or none --------------------------------------------------------

# On a busy machine a time of 2 MiB may be refused, as one below what its copies take.
registers_nothing_unless_asked_to() {
    CLAB_FAKE_FAULT=register@1:1 CLAB_TIMEOUT=2s bench allreduce -n 2 --algo native -b 2M -e 2M ||
        says 'times were refused' && [ "$(rows native)" -eq 1 ]
}
registers_at_all_ranks_if_asked_to() {
    CLAB_NCCL_REGISTER=1 NCCL_DEBUG=INFO bench all -n 3 --algo native -b 4 -e 4000 -f 1000 --seed $mine || return 1
    why="$(cat "$scratch/err")"
    grep -q 'rank 0: registered' "$scratch/err" && grep -q 'rank 2: registered' "$scratch/err"
}
makes_windows_that_all_ranks_register() {
    run 0 env NCCL_DEBUG=INFO "$commlab" bench all -n 3 --algo native -b 4 -e 4000 -f 1000 --seed $mine -R 2 $quick || return 1
    why="$(cat "$scratch/err" "$scratch/out")"
    grep -q 'rank 0: a window of' "$scratch/err" && grep -q 'rank 2: a window of' "$scratch/err" &&
        grep -q '^# library: .*memory in symmetric windows' "$scratch/out"
}
ends_when_a_rank_makes_no_window() {
    in_time fault register@1:1 1 allreduce -n 2 --algo native -R 2 &&
        says 'error: rank 1: NCCL: allreduce: unhandled system error' && nothing_is_left
}
registers_by_a_flag_of_bench_too() {
    NCCL_DEBUG=INFO bench allreduce -n 2 -b 4 -e 4 -R 1 && why="$(cat "$scratch/err")" &&
        grep -q 'rank 1: registered' "$scratch/err" && ! grep -q 'a window' "$scratch/err" || return 1
    run 2 "$commlab" bench allreduce -n 2 -R 1 --backend shm && says '-R 1 is of nccl, and --backend is shm' || return 1
    run 2 "$commlab" bench allreduce -n 2 -R 1 --backend shm,nccl && says '-R 1 is of nccl, and --backend is shm,nccl'
}
ends_when_a_rank_can_not_register() {
    CLAB_NCCL_REGISTER=1 in_time fault register@1:1 1 allreduce -n 2 --algo native &&
        says 'error: rank 1: NCCL: ncclCommRegister: unhandled system error' && nothing_is_left
}
# Two processes that are started by themselves, and so have settings of their own.
refuses_ranks_that_differ_in_registration() {
    local port=$((32000 + $$ % 700)) first status # no other test's, nor one that systems give out
    export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port CLAB_TIMEOUT=5s
    RANK=0 timeout 20 "$commlab" bench barrier $quick >"$scratch/first" 2>&1 </dev/null &
    first=$!
    RANK=1 CLAB_NCCL_REGISTER=1 fails 2 barrier
    status=$?
    wait "$first"
    unset WORLD_SIZE MASTER_ADDR MASTER_PORT CLAB_TIMEOUT
    [ $status -eq 0 ] && says 'rank 1: CLAB_NCCL_REGISTER is 1 here, and 0 at rank 0: set it alike at all ranks'
}
refuses_to_guess_whether_to_register() {
    CLAB_NCCL_REGISTER=yes fails 2 barrier -n 2 && says 'CLAB_NCCL_REGISTER=yes: it is 1 ('
}
# A schedule receives what it reduces in memory of its own, which is not registered.
registers_for_natives_alone() {
    CLAB_NCCL_REGISTER=1 CLAB_TIMEOUT=2s fails 1 allreduce -n 2 --algo ring -b 4000 -e 4000 &&
        says 'CLAB_NCCL_REGISTER=1 is for' 2
}
connects_when_a_communicator_begins() {
    NCCL_DEBUG=INFO bench barrier -n 2 && says 'NCCL_RUNTIME_CONNECT set by environment to 0.' 4
}
leaves_to_the_user_when_to_connect() {
    NCCL_RUNTIME_CONNECT=1 NCCL_DEBUG=INFO bench barrier -n 2 && says 'NCCL_RUNTIME_CONNECT set by environment to 1.' 4
}
# NCCL calls CUDA in a thread of its own, whose last error is not ours.
ends_when_nccl_finds_no_memory() {
    fault full@0:9 1 allreduce -n 2 --algo ring && says "Cuda failure 'out of memory'" && says ': out of memory' 2 &&
        nothing_is_left
}
ends_when_memory_is_full() {
    CLAB_FAKE_MEMORY=1M fails 1 allreduce -n 2 -b 16M -e 16M --seed $mine && says 'no memory for ' 2 && nothing_is_left
}

check_each computes_with_2 times_kernels_apart_from_the_host refuses_communicators_that_do_not_block \
    checks_before_calls takes_memory_of_malloc computes_in_graphs says_what_no_graph_holds \
    orders_its_work_by_a_stream_of_the_program shows_what_is_under_way_to_profilers says_what_nccl_ran \
    names_its_libraries_and_keeps_nothing compares_nothing_with_fakes refuses_more_ranks_than_gpus \
    shares_a_gpu_if_asked_to refuses_to_guess_whether_to_share sees_what_is_visible says_that_there_is_no_gpu \
    says_that_there_is_no_driver ends_when_a_rank_dies ends_when_nccl_fails ends_when_a_call_hangs \
    ends_when_a_stage_hangs ends_when_an_abort_hangs ends_when_nccl_finds_no_memory ends_when_memory_is_full \
    ends_when_an_abort_hangs_beside_another_rank ends_when_a_communicator_can_not_begin ends_when_a_graph_hangs \
    ends_when_a_call_waits ends_when_a_call_never_returns registers_nothing_unless_asked_to \
    makes_windows_that_all_ranks_register ends_when_a_rank_makes_no_window registers_by_a_flag_of_bench_too \
    ends_when_a_rank_can_not_register refuses_ranks_that_differ_in_registration refuses_to_guess_whether_to_register \
    registers_for_natives_alone connects_when_a_communicator_begins
check_full computes_with_8 computes_with_late_connections computes_averages_of_all_types \
    registers_at_all_ranks_if_asked_to leaves_to_the_user_when_to_connect
# With 1 and 2 ranks: the rehearsal of test_gpu_check.sh.
leave_out 1 # 4 ranks
is_right_by test_conformance nccl:3 $(is_full && echo nccl:4)
is_right_by test_shrink
is_right_by test_nccl_waits
is_right_by test_nccl_stream
exit $failed
