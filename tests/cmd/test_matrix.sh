#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab bench --matrix`: its flags, a run that is killed and goes on, raw samples from which an outside script
# recomputes each row, cells that do not fit the machine, and one clear line for each mistake.
# Usage: test_matrix.sh [BUILD].

. tests/cases.sh
subject=("$commlab" bench --matrix)
export CLAB_PROFILE="$scratch/none" # a machine that has none
unset CUDA_VISIBLE_DEVICES CLAB_FAKE_GPUS
sockets=,gloo
lacks gloo && sockets=
header=collective,algorithm,backend,ranks,bytes,count,type,op,root,inplace,mode,usec,usec_low,usec_high,algbw_GBps,
header+=busbw_GBps,wrong,bytes_sent_per_rank,predicted_usec,residual_pct,calls,line_nsec,fresh_psB,call_nsec,
header+=device,machine,num_warmup,num_iters,oversubscribed,sim_usec,status,reason
virtual=(--backend sim --net 10gbe --num-processes 2 8 --data-sizes 8K 0.1 --num-iters 6 --seed 7)

# rows FILE: its lines without manifest and column names; keys FILE: what was measured in them.
rows() { grep -v '^#' "$1" | tail -n +2; }
keys() { rows "$1" | cut -d, -f1,3-11; }

# starts FILE N WORDS...: --matrix WORDS in the background, as $pid, until FILE has N rows.
starts() {
    local file=$1 n=$2 i
    shift 2
    "${subject[@]}" "$@" --output "$file" >"$scratch/out" 2>"$scratch/err" </dev/null &
    pid=$!
    for ((i = 0; i < 3000; i++)); do
        [ -e "$file" ] && [ "$(rows "$file" | wc -l)" -ge "$n" ] && break
        sleep 0.02
    done
    why="no $n rows came: $(cat "$scratch/err")"
    kill -0 $pid
}

# recomputes FILE: each row's median, interval, bandwidths and counts, from the samples alone.
recomputes() {
    why=$(python3 - "$1" "${1%.csv}_samples.csv" <<'END' 2>&1
import csv, math, sys
def load(path):
    return list(csv.DictReader(line for line in open(path) if not line.startswith("#")))
def interval(v): # the order statistics between which the median lies with at least 95 %
    n, covered, k = len(v), 1.0, 0
    if n < 6:
        return v[0], v[-1]
    while covered - 2 * math.comb(n, k) / 2.0**n >= 0.95:
        covered -= 2 * math.comb(n, k) / 2.0**n
        k += 1
    return v[k - 1], v[n - k]
def near(name, row, value):
    assert abs(float(row[name]) / value - 1) < 1e-9, (name, row, value)
key = lambda row: tuple(row[c] for c in ("collective", "algorithm", "backend", "ranks", "bytes", "inplace"))
rows, samples = load(sys.argv[1]), load(sys.argv[2])
assert rows and {key(row) for row in rows} == {key(row) for row in samples}
for row in rows:
    calls = {}
    for sample in (s for s in samples if key(s) == key(row)):
        calls.setdefault(int(sample["batch"]), []).append((float(sample["usec"]), sample["kept"], int(sample["rank"])))
    assert sorted(calls) == list(range(int(row["num_iters"]))), row
    assert all(sorted(s[2] for s in ranks) == list(range(int(row["ranks"]))) for ranks in calls.values())
    slowest = sorted(max(s[0] for s in ranks) for ranks in calls.values() if ranks[0][1] == "1")
    n, p = len(slowest), int(row["ranks"])
    median = (slowest[(n - 1) // 2] + slowest[n // 2]) / 2
    low, high = interval(slowest)
    near("usec", row, median), near("usec_low", row, low), near("usec_high", row, high)
    near("algbw_GBps", row, int(row["bytes"]) / median / 1e3)
    near("busbw_GBps", row, int(row["bytes"]) / median / 1e3 * 2 * (p - 1) / p)
    assert row["status"] == ("noisy" if n < 6 or high - low > 0.1 * median else "ok"), row
    assert row["wrong"] == "0" and row["machine"] and row["device"] == "cpu" and row["num_warmup"] == "1", row
print(len(rows), "rows,", len(samples), "samples")
END
    ) && why="$(tail -n 1 <<<"$why")" && [[ $why == *' rows, '*' samples' ]]
}

# ---- a run -----------------------------------------------------------------------------------------------------

# What continuous integration runs whole (40 s of one core), and a student's `make test` with two ranks alone.
ranks=2
[ -z "${CLAB_TEST_FULL-}" ] || ranks=2,4,6
backends=shm$sockets
sizes='10 100' # MB
is_full || sizes='1 3'
whole=(--num-processes "$ranks" --data-sizes $sizes --num-warmup 1 --num-iters 6 --device cpu --backend "$backends")

# B2's flags at 10 and 100 MB: killed after the first row, its file torn, and started again.
goes_on_after_a_kill() {
    local file=$scratch/killed.csv words=("${whole[@]}" --master-port 29501 --budget 10min)
    local cells=$(($(tr , '\n' <<<"$ranks" | wc -l) * 2 * $(tr , '\n' <<<"$backends" | wc -l)))
    starts "$file" 1 "${words[@]}" || return 1
    kill -KILL $pid
    wait $pid 2>/dev/null
    rows "$file" >"$scratch/before"
    why="killed with $(wc -l <"$scratch/before") rows of $cells"
    [ "$(wc -l <"$scratch/before")" -lt $cells ] || return 1
    printf 'allreduce,ring,shm,2,1000' >>"$file"
    printf 'allreduce,ring,shm,2,1000' >>"${file%.csv}_samples.csv"
    run 0 "${words[@]}" --output "$file" || return 1
    why="the rows are $(keys "$file")"
    [ "$(keys "$file" | sort -u | wc -l)" -eq $cells ] && [ "$(rows "$file" | wc -l)" -eq $cells ] || return 1
    why="rows changed or went: $(rows "$file" | grep -cxFf "$scratch/before") of $(wc -l <"$scratch/before") are left"
    [ "$(rows "$file" | grep -cxFf "$scratch/before")" -eq "$(wc -l <"$scratch/before")" ] || return 1
    why="$(grep -v '^#' "$file" | head -n 1)" && [ "$why" = "$header" ] || return 1
    why="left: $(find "$scratch" -name '.*')"
    [ "$why" = 'left: ' ] || return 1
    why=$(cat "$scratch/out") && grep -q -- '--master-port 29501 is not needed' "$scratch/out" &&
        grep -q 'an earlier run measured' "$scratch/out" && grep -q 'of a budget of 10 min' "$scratch/out"
}
recomputes_each_row_from_the_samples() { recomputes "$scratch/killed.csv"; }
measures_nothing_twice() {
    cp "$scratch/killed.csv" "$scratch/whole"
    run 0 "${whole[@]}" --output "$scratch/killed.csv" && why=$(diff <(rows "$scratch/whole") <(rows "$scratch/killed.csv"))
}
has_a_file_per_backend() {
    run 0 "${virtual[@]}" --results "$scratch/results" &&
        why=$(cd "$scratch/results" && echo *) && [ "$why" = 'sim_cpu_benchmark.csv sim_cpu_benchmark_samples.csv' ]
}
# By virtual time, all is the same: a run that is cut in its second row, and goes on, ends as the first did.
gives_the_same_bytes_by_virtual_time() {
    local file=$scratch/results/sim_cpu_benchmark.csv
    cp "$file" "$scratch/first" && cp "${file%.csv}_samples.csv" "$scratch/first_samples"
    why=$(cat "$file") && [ "$(rows "$file" | wc -l)" -eq 4 ] && [ "$(rows "$file" | cut -d, -f12 | sort -u | wc -l)" -eq 4 ] &&
        head -c -300 "$scratch/first" >"$file" && run 0 "${virtual[@]}" --results "$scratch/results" || return 1
    why=$(diff <(rows "$scratch/first") <(rows "$file") && diff "$scratch/first_samples" "${file%.csv}_samples.csv")
}
# Calls times ranks would be 1 times 8 again if they were counted in 32 bits.
measures_anew_what_has_impossible_calls() {
    local file=$scratch/results/sim_cpu_benchmark.csv
    sed -i '/,sim,8,/s/,5,1,0,/,5,536870913,0,/' "$file"
    why=$(cat "$file") && [ "$(grep -c ',536870913,' "$file")" -eq 2 ] &&
        run 0 "${virtual[@]}" --results "$scratch/results" && why=$(diff <(rows "$scratch/first") <(rows "$file"))
}
ends_by_a_signal_and_leaves_its_rows() {
    local status
    starts "$scratch/ended.csv" 1 "${virtual[@]}" --data-sizes 8K 1 2 3 4 5 || return 1
    kill -TERM $pid
    wait $pid 2>/dev/null
    status=$?
    why="status $status, left: $(find "$scratch" -name '.*'): $(cat "$scratch/err")"
    [ $status -eq 143 ] && [ -z "$(find "$scratch" -name '.*')" ] && grep -q 'the same command goes on' "$scratch/err" &&
        [ "$(rows "$scratch/ended.csv" | wc -l)" -ge 1 ]
}
predicts_an_emulated_wire() { # whose time is the prediction's, on any machine that is not too busy: here its sign
    run 0 --emulate 100mbit --num-processes 2 --data-sizes 0.1 --num-iters 6 --num-warmup 1 --backend shm \
        --output "$scratch/wire.csv" && why=$(rows "$scratch/wire.csv") &&
        [ "$(cut -d, -f19 <<<"$why")" = "$(rev <<<"$why" | cut -d, -f3 | rev)" ] &&
        [ "$(cut -d, -f12,19 <<<"$why" | awk -F, '{ print ($1 > 0.9 * $2 && $2 > 8000) }')" -eq 1 ] || return 1
    refuses 2 'holds another plan' --num-processes 2 --data-sizes 0.1 --num-iters 6 --num-warmup 1 --backend shm \
        --output "$scratch/wire.csv"
}
measures_other_collectives_and_few_bytes() {
    run 0 --backend sim --net 10gbe --num-processes 3 --data-sizes 0.001 barrier alltoall --num-iters 1 \
        --output "$scratch/others.csv" && why=$(keys "$scratch/others.csv" | cut -d, -f1-5,9 | tr '\n' ' ') &&
        [ "$why" = 'alltoall,sim,3,996,83,0 barrier,sim,3,0,0,0 ' ]
}
keeps_a_budget_that_is_over() {
    run 1 --budget 0.001 --backend shm --output "$scratch/late.csv" && why=$(rows "$scratch/late.csv") &&
        [ "$(rows "$scratch/late.csv" | grep -c ',skipped,.*did not fit the budget of 0.001 s')" -eq 12 ] &&
        ! rows "$scratch/late.csv" | grep -v ',skipped,'
}

# ---- what does not fit -----------------------------------------------------------------------------------------

# A machine with 3 GB of memory, of which a control group leaves 64 MiB; two GPUs; no /dev/shm.
root=$scratch/root
mkdir -p "$root"/{proc/self,proc/sys/kernel,sys/fs/cgroup/small,dev}
printf 'MemTotal: 3000000 kB\nMemAvailable: 2900000 kB\nSwapFree: 0 kB\n' >"$root/proc/meminfo"
echo 0::/small >"$root/proc/self/cgroup"
echo 67108864 >"$root/sys/fs/cgroup/small/memory.max"
echo 6.6.87.2-microsoft-standard-WSL2 >"$root/proc/sys/kernel/osrelease"
touch "$root/dev/nvidia0" "$root/dev/nvidia1" "$root/dev/nvidiactl"

skips_what_a_control_group_has_no_memory_for() {
    run 3 --backend shm --num-processes 2 4 --data-sizes 100 --root "$root" --output "$scratch/small.csv" || return 1
    why=$(rows "$scratch/small.csv")
    [ "$(grep -c '^allreduce,,shm,[24],100000000,25000000,float,sum,-1,1,throughput,,,,,,,.*,skipped,"needs .* of memory, and 64 MiB are available"$' \
        <<<"$why")" -eq 2 ]
}
skips_what_has_too_few_gpus() {
    run 0 --device cuda --num-processes 4 --root "$root" --dry-run && why=$(cat "$scratch/out") &&
        grep -q '^# skipped: nccl, 4 ranks, 1 MB, allreduce, and 3 more cells: 4 ranks need a GPU each, and there are 2$' \
            "$scratch/out" && [ ! -e "$scratch/results/nccl_gpu_benchmark.csv" ]
}
skips_mpi_without_shared_memory() {
    writes 'mpi needs /dev/shm, and there is none' --backend mpi --data-sizes 1 --root "$root" --dry-run
}
notices_wsl2() { writes ', WSL2' --backend mpi --data-sizes 1 --root "$root" --dry-run; }
# As Python's argparse takes them, with commas, and with both; nothing fits, so that nothing runs.
takes_lists_in_each_form() {
    local bare=$scratch/bare form
    mkdir -p "$bare"/{proc/self,sys/fs/cgroup/small}
    echo 0::/small >"$bare/proc/self/cgroup"
    echo 4096 >"$bare/sys/fs/cgroup/small/memory.max"
    cp "$root/proc/meminfo" "$bare/proc"
    for form in '--num-processes 2 4 6 --data-sizes 1 .5 8K --backend shm gloo' \
        '--num-processes 2,4,6 --data-sizes 1,0.5,8K --backend shm,gloo' \
        '--num-processes=2, 4, 6 --data-sizes=1 0.5,8K --backend gloo shm' 'allreduce --num-processes 2 4 6 2 --data-sizes
        1MB 500KB 8KiB --backend=shm gloo'; do
        run 0 $form --root "$bare" --dry-run && why="$form: $(cat "$scratch/out")" &&
            grep -q '^# allreduce over gloo, shm; 2, 4, 6 ranks; 1 MB, 500 kB, 8 KiB ' "$scratch/out" &&
            grep -q '^# 18 cells; ' "$scratch/out" || return 1
    done
}
takes_defaults_that_are_documented() {
    writes 'allreduce over gloo; 2, 4, 6 ranks; 1 MB, 10 MB, 100 MB, 1 GB (1 MB = 1,000,000 B)' --root "$scratch/bare" \
        --fresh --dry-run && grep -q 'calls to warm up: 5, timed: 50' "$scratch/out" && grep -q 'budget of 5 min' "$scratch/out" &&
        grep -qE '[ /]results/gloo_cpu_benchmark.csv,' "$scratch/out"
}
tries_again_what_was_skipped() {
    cp "$scratch/small.csv" "$scratch/grown.csv"
    writes 'needs ' --backend shm --num-processes 2 4 --data-sizes 100 --root "$root" --output "$scratch/grown.csv" \
        --dry-run && ! grep -q 'earlier run' "$scratch/out"
}
says_which_backend_is_missing() {
    mkdir -p "$scratch/other/dev/shm" && touch "$scratch/other/dev/nvidia0" "$scratch/other/dev/nvidia1"
    run 3 --backend nccl --num-processes 2 --data-sizes 1 --root "$scratch/other" --output "$scratch/missing.csv" &&
        why=$(rows "$scratch/missing.csv") && grep -q ',skipped,.*--backend' <<<"$why"
}

# ---- mistakes --------------------------------------------------------------------------------------------------

refuses_another_plan() {
    cp "$scratch/killed.csv" "$scratch/kept"
    refuses 2 'holds another plan' --num-processes 4 --data-sizes 10 --output "$scratch/killed.csv" &&
        why='the file changed' && cmp -s "$scratch/kept" "$scratch/killed.csv"
}
# Its last line has no end, as a kill leaves it: nobody else's line is cut. The same of a file in the samples' place.
refuses_a_file_of_another_kind() {
    printf 'a,b\n1,2\n3,4' >"$scratch/foreign.csv"
    refuses 2 'is no file of bench --matrix' --output "$scratch/foreign.csv" || return 1
    why=$(cat "$scratch/foreign.csv") && [ "$why" = $'a,b\n1,2\n3,4' ] || return 1
    printf 'a,b\n1,2\n3,4' >"$scratch/place_samples.csv"
    refuses 2 'has no samples of bench --matrix' --output "$scratch/place.csv" &&
        why=$(cat "$scratch/place_samples.csv") && [ "$why" = $'a,b\n1,2\n3,4' ]
}
# What is torn stays until a run that measures.
plans_without_a_change() {
    local file=$scratch/planned.csv
    cp "$scratch/killed.csv" "$file"
    sed 's/killed.csv/planned.csv/' "$scratch/killed_samples.csv" >"${file%.csv}_samples.csv"
    printf 'allreduce,ring,shm,2,1000' | tee -a "$file" >>"${file%.csv}_samples.csv"
    cp "$file" "$scratch/torn" && cp "${file%.csv}_samples.csv" "$scratch/torn_samples"
    run 0 "${whole[@]}" --output "$file" --dry-run || return 1
    why="a file changed, or earlier rows are not known: $(cat "$scratch/out")"
    cmp -s "$file" "$scratch/torn" && cmp -s "${file%.csv}_samples.csv" "$scratch/torn_samples" &&
        grep -q 'an earlier run measured' "$scratch/out"
}
# Plans that differ behind a thousand letters are two plans.
knows_long_plans_apart() {
    local sizes=({936..999}000) words
    words=(--backend shm --num-processes {100..139} --data-sizes "${sizes[@]}" --root "$scratch/bare" --output "$scratch/long.csv")
    run 3 "${words[@]}" --num-iters 6 && refuses 2 'holds another plan' "${words[@]}" --num-iters 7
}
replaces_it_if_told_and_says_so() {
    echo x >"$scratch/foreign_samples.csv"
    run 3 --fresh --backend shm --num-processes 2 --data-sizes 100 --root "$root" --output "$scratch/foreign.csv" &&
        why=$(cat "$scratch/err") && [[ $why == *foreign.csv*'will be replaced'*foreign_samples.csv*'will be replaced'* ]] &&
        why=$(rows "$scratch/foreign.csv") && [ "$(wc -l <<<"$why")" -eq 1 ]
}
refuses_two_at_once() {
    mkdir -p "$scratch/locked"
    why="$(flock "$scratch/locked" "${subject[@]}" --results "$scratch/locked" 2>&1)"
    [[ $why == *'another bench --matrix writes there now'* ]]
}
refuses_wrong_values() {
    local output=(--output "$scratch/refused.csv")
    refuses 2 "--num-processes '0'" --num-processes 2 0 "${output[@]}" &&
        refuses 2 "--data-sizes 'x' is not a size in MB" --data-sizes x "${output[@]}" &&
        refuses 2 "--data-sizes '5q' is not" --data-sizes 1 5q "${output[@]}" &&
        refuses 2 "there is no 'tpu'" --device tpu "${output[@]}" &&
        refuses 2 "there is no 'smoke'" --backend smoke "${output[@]}" &&
        refuses 2 'gloo moves the memory of the processor only' --device cuda --backend gloo "${output[@]}" &&
        refuses 2 'nccl moves the memory of GPUs only' --device cpu --backend nccl "${output[@]}" &&
        refuses 2 "--budget '0min'" --budget 0min "${output[@]}" &&
        refuses 2 "--num-iters '0'" --num-iters 0 "${output[@]}" &&
        refuses 2 "--master-port '0'" --master-port 0 "${output[@]}" &&
        refuses 2 "there is no 'allreduces' (did you mean 'allreduce'?)" allreduces "${output[@]}" &&
        refuses 2 '--backend sim needs the network' --backend sim "${output[@]}" &&
        refuses 2 "no network 'smoke'" --net smoke "${output[@]}" &&
        refuses 2 'must end in .csv' --output "$scratch/refused" &&
        refuses 2 'there is no flag --num-proceses' --num-proceses 2 "${output[@]}" &&
        why='refused.csv is there' && [ ! -e "$scratch/refused.csv" ]
}

check_each goes_on_after_a_kill
check_having python3 recomputes_each_row_from_the_samples
check_each measures_nothing_twice skips_what_a_control_group_has_no_memory_for skips_what_has_too_few_gpus \
    skips_mpi_without_shared_memory notices_wsl2 takes_lists_in_each_form takes_defaults_that_are_documented tries_again_what_was_skipped refuses_another_plan \
    refuses_a_file_of_another_kind plans_without_a_change \
    knows_long_plans_apart replaces_it_if_told_and_says_so keeps_a_budget_that_is_over
check_having flock refuses_two_at_once
check_with inih has_a_file_per_backend gives_the_same_bytes_by_virtual_time \
    measures_anew_what_has_impossible_calls ends_by_a_signal_and_leaves_its_rows \
    measures_other_collectives_and_few_bytes predicts_an_emulated_wire refuses_wrong_values
if [ -e /dev/nvidia0 ]; then
    skip 'this machine has a GPU' says_which_backend_is_missing
else
    check_each says_which_backend_is_missing
fi
exit $failed
