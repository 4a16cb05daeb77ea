#!/bin/bash
# SPDX-License-Identifier: MIT
# Ranks find each other under any launcher that is installed: Open MPI's mpirun, MPICH's hydra, srun in each of its ways
# (under a Slurm of our own), torchrun (one that sets its variables), and a loop in a shell. Right results, output once;
# when a rank dies, the launcher ends, and nothing of ours is left. Usage: test_launchers.sh [BUILD]. Takes long.
#
# Without CLAB_TEST_FULL=1, one launcher of each kind: variables by hand, PMI (hydra), PMIx (srun).

. tests/cases.sh
. tests/slurm.sh
trap 'slurm_stop; rm -rf "$scratch"' EXIT

bound=30 # seconds that a launch may last
export XDG_CONFIG_HOME=$scratch/config TMPDIR=$scratch/tmp CLAB_TIMEOUT=10s
mkdir "$XDG_CONFIG_HOME" "$TMPDIR"
printf 'leak:%s\n' libpmix.so libfabric.so >"$scratch/leaks" # theirs, seen where we are built with sanitizers
export LSAN_OPTIONS=suppressions=$scratch/leaks:print_suppressions=0
unset CLAB_TOKEN CLAB_BACKEND MASTER_ADDR MASTER_PORT RANK WORLD_SIZE

# ---- launchers ----------------------------------------------------------------------------------------------------

# Each is `LAUNCHER N PROGRAM...`: N processes; its status is 0 if all of theirs are.
open_mpi() {
    local as_root=()
    [ "$(id -u)" != 0 ] || as_root=(--allow-run-as-root)
    timeout --kill-after=2 $bound mpirun.openmpi "${as_root[@]}" --oversubscribe -n "$@"
}
hydra() { timeout --kill-after=2 $bound mpiexec.hydra -n "$@"; }
srun_none() { timeout --kill-after=2 $bound srun --quiet --mpi=none -n "$@"; }
srun_pmi2() { timeout --kill-after=2 $bound srun --quiet --mpi=pmi2 -n "$@"; }
srun_pmix() { timeout --kill-after=2 $bound srun --quiet --mpi=pmix -n "$@"; }

# A port that nobody has, below those that systems give out by themselves.
free_port() {
    local port
    while port=$((20000 + RANDOM % 12000)) && (: <>/dev/tcp/127.0.0.1/$port) 2>/dev/null; do :; done
    echo $port
}

cat >"$scratch/by_hand" <<'END'
n=$1 status=0 pids=()
shift
for ((rank = 0; rank < n; rank++)); do
    RANK=$rank WORLD_SIZE=$n "$@" &
    pids+=($!)
done
for pid in "${pids[@]}"; do
    wait "$pid" || status=$?
done
exit $status
END
by_hand() { MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port) timeout --kill-after=2 $bound bash "$scratch/by_hand" "$@"; }

# What torchrun does, as far as its processes can tell: its own store listens at MASTER_PORT, and a worker that fails
# takes the others with it.
cat >"$scratch/torchrun" <<'END'
import os, socket, subprocess, sys, time
n, program = int(sys.argv[1]), sys.argv[2:]
agent = socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"])))
def worker(rank):
    return subprocess.Popen(program, env=dict(
        os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(n), LOCAL_WORLD_SIZE=str(n),
        GROUP_RANK="0", TORCHELASTIC_RUN_ID="none", TORCHELASTIC_USE_AGENT_STORE="True",
        TORCHELASTIC_RESTART_COUNT="0"))
workers = [worker(rank) for rank in range(n)]
while any(w.poll() is None for w in workers) and not any(w.poll() for w in workers):
    time.sleep(0.02)
for w in workers:
    w.terminate()
sys.exit(1 if any([w.wait() for w in workers]) else 0)
END
torchrun() {
    MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port) timeout --kill-after=2 $bound python3 "$scratch/torchrun" "$@"
}

# ---- what each must do --------------------------------------------------------------------------------------------

lab01() { "$@" "$build/labs/01-reinit-comm/after" --backend "$backend" 4096 1 2; }
lab07() { "$@" "$build/labs/07-ring-vs-tree/after" --backend "$backend" 8 4096; }

# lab LAB BACKEND LAUNCHER: it ends well, and its checksums are those of a run by commlab itself, each once.
lab() {
    local expected=$scratch/$1.expected backend=shm
    [ -e "$expected" ] || $1 "$commlab" run -n 3 | grep checksum >"$expected"
    backend=$2
    run 0 $1 $3 3 || return 1
    why="other checksums: $(cat "$scratch/out" "$scratch/err")"
    [ -s "$expected" ] && [ "$(grep checksum "$scratch/out")" = "$(cat "$expected")" ]
}

# The processes of the launch called $launch, by its mark in their environment.
left() { grep -lzs "^LAUNCH=$launch\$" /proc/[0-9]*/environ; }

# wait_until SECONDS COMMAND...: until it is true.
wait_until() {
    local end=$((SECONDS + $1 + 1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}
nothing_left() { [ -z "$(left)" ]; }
has_joined() { [ "$(cat "$scratch/ranks" | wc -l)" = 3 ] && grep -qs 'memfd:commlab' "/proc/$(victim)/maps"; }
victim() { sed -n 's/^1 //p' "$scratch/ranks"; }

cat >"$scratch/rank" <<'END'
#!/bin/sh
echo "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-$RANK}}} $$" >>"$1"
shift
exec "$@"
END
chmod +x "$scratch/rank"

# death BACKEND LAUNCHER: rank 1 of three is killed at work; the launcher fails, and takes all with it.
death() {
    launch=$scratch-$2-$1
    local status=0
    : >"$scratch/ranks"
    LAUNCH=$launch "$2" 3 "$scratch/rank" "$scratch/ranks" "$commlab" bench --backend "$1" -b 1M -e 1M --seconds 60s \
        >"$scratch/out" 2>&1 </dev/null &
    local launcher=$!
    # Only from the kill on it is timed: a launcher itself may take long to start where cores are busy.
    wait_until 30 has_joined && kill -9 "$(victim)" || {
        why="the ranks have not joined: $(cat "$scratch/ranks" "$scratch/out")"
        kill $launcher
        wait $launcher
        return 1
    }
    local start=$SECONDS
    wait $launcher || status=$?
    why="status $status after $((SECONDS - start)) s: $(tail -n 5 "$scratch/out")"
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $((SECONDS - start)) -le 5 ] || return 1
    wait_until 3 nothing_left
    why="left: $(for file in $(left); do tr '\0' ' ' <"${file%environ}cmdline"; echo; done)"
    why="$why $(ls /dev/shm | grep commlab)"
    nothing_left && ! ls ./*.btr 2>/dev/null && ! ls /dev/shm | grep -E "commlab|$(sed 's/.* //' "$scratch/ranks" | paste -sd'|')"
}

# absence LAUNCHER: rank 1 ends before it joins; the launcher fails, and somebody says so long before CLAB_TIMEOUT. By
# hand, nobody knows when a rank is to come.
absence() {
    local status=0 start=$SECONDS timeout=20s
    [ "$1" != by_hand ] || timeout=1s
    CLAB_TIMEOUT=$timeout "$1" 3 sh -c '[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-$RANK}}}" != 1 ] || exit 3
        exec "$0" bench' "$commlab" >"$scratch/out" 2>&1 </dev/null || status=$?
    why="status $status after $((SECONDS - start)) s: $(tail -n 5 "$scratch/out")"
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $((SECONDS - start)) -le 5 ] &&
        grep -q 'rank 1\|all ranks' "$scratch/out"
}

# late_absence LAUNCHER: likewise, but rank 1 ends well, so that no launcher cares, and after the others have begun to wait.
late_absence() {
    local status=0 start=$SECONDS
    CLAB_TIMEOUT=20s "$1" 3 sh -c '[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-$RANK}}}" != 1 ] || { sleep 0.6; exit 0; }
        exec "$0" bench' "$commlab" >"$scratch/out" 2>&1 </dev/null || status=$?
    why="status $status after $((SECONDS - start)) s: $(tail -n 5 "$scratch/out")"
    [ $status -ne 0 ] && [ $status -ne 124 ] && [ $((SECONDS - start)) -le 6 ] &&
        grep -q 'rank 1 of 3 has ended before it joined the job' "$scratch/out"
}

# several LAUNCHER: one table of two backends, printed once; mpi, whose library would start ranks, is refused first.
several() {
    run 0 "$1" 2 "$commlab" bench -b 8 -e 8 --seconds 0.02s --backend shm,ofi --csv "$scratch/several.csv" || return 1
    why=$(cat "$scratch/out" "$scratch/err" "$scratch/several.csv")
    [ "$(grep -c '^ *8 B | .* | .* | ' "$scratch/out")" = 2 ] && [ "$(grep -c '^allreduce,' "$scratch/several.csv")" -ge 4 ] ||
        return 1
    [ -n "$of_mpi" ] || return 0
    run 1 "$1" 2 sh -c '"$0" bench -b 8 -e 8 --backend shm,mpi || exit 1' "$commlab" || return 1
    why=$(cat "$scratch/out" "$scratch/err")
    grep -q 'the library of mpi starts the ranks itself' <<<"$why" && ! grep -q 'round 1' <<<"$why"
}

runs_where_master_says() {
    MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port) lab lab01 shm "$1"
}

# The option decides, not what happens to be in the environment.
takes_the_backend_from_the_option() {
    local backend=pigeon
    CLAB_BACKEND=shm lab01 by_hand 2 >"$scratch/out" 2>&1 </dev/null
    why=$(cat "$scratch/out")
    grep -q "no 'pigeon'" "$scratch/out" && ! grep -q checksum "$scratch/out"
}

says_that_pmix_is_missing() {
    run 1 open_mpi 2 "$build/labs/01-reinit-comm/after" 4096 1 2 || return 1
    why="no remedy: $(cat "$scratch/err")"
    grep -q 'install libpmix-dev' "$scratch/err"
}

runs_without_pmix_where_master_says() { runs_where_master_says open_mpi; }

# A shell of salloc is no rank of a job of four: the lab starts its own two.
starts_ranks_in_an_allocation() {
    run 0 timeout $bound salloc --quiet -n 4 "$build/labs/01-reinit-comm/after" -n 3 4096 1 2 || return 1
    why="no checksum: $(cat "$scratch/out" "$scratch/err")"
    [ "$(grep checksum "$scratch/out")" = "$(cat "$scratch/lab01.expected")" ]
}

# ---- all of them --------------------------------------------------------------------------------------------------

backends=shm
if "$commlab" run -n 1 --backend ofi true 2>/dev/null; then
    backends+=' ofi'
else
    skip 'this build has no backend ofi' runs_on_ofi_under_any_launcher
fi

# The launchers that the library of the mpi plugin knows: MPI_Init must find its own after our ranks have used it.
case $(ldd "$build/backends/mpi.so" 2>/dev/null) in
*libmpich*) of_mpi='hydra srun_pmi2' ;;
*libmpi.so*) of_mpi='open_mpi srun_pmix' ;;
*) of_mpi= && skip 'this build has no backend mpi' runs_on_mpi_under_its_launchers ;;
esac

# cases LAUNCHER: their names and commands, one a line.
cases() {
    local backend
    for backend in $backends; do
        echo "runs_lab_01_on_${backend}_under_$1 lab lab01 $backend $1"
        [ $backend != shm ] || echo "runs_lab_07_on_${backend}_under_$1 lab lab07 $backend $1"
        echo "ends_when_a_rank_dies_on_${backend}_under_$1 death $backend $1"
    done
    [[ " $of_mpi " != *" $1 "* ]] || echo "runs_lab_01_on_mpi_under_$1 lab lab01 mpi $1"
    [ $1 = torchrun ] || { ! is_full && [ $1 = hydra ]; } || echo "ends_when_a_rank_does_not_come_under_$1 absence $1"
    case $1 in hydra | srun_* | open_mpi) echo "names_a_rank_that_goes_away_under_$1 late_absence $1" ;; esac
    case $1 in hydra | srun_* | open_mpi)
        [[ $backends != *ofi* ]] || ! { is_full || [ $1 = srun_pmix ]; } || echo "benches_several_backends_under_$1 several $1" ;;
    esac
    case $1 in open_mpi | hydra | srun_pmi2) echo "runs_where_master_says_under_$1 runs_where_master_says $1" ;; esac
    case $1 in srun_none) echo starts_ranks_in_an_allocation starts_ranks_in_an_allocation ;; esac
}

quick='by_hand hydra'
check_launcher() {
    local case
    if ! is_full && [[ " $quick " != *" $1 "* ]]; then
        leave_out "$(cases "$1" | wc -l)"
        return
    fi
    while read -ra case; do
        check "${case[@]}"
    done < <(cases "$1")
    [ $1 != hydra ] || leave_out 1 # a rank that does not come: its proxies poll for two seconds
}

# skip_launcher REASON LAUNCHER
skip_launcher() {
    local name command
    while read -r name command; do
        skip "$1" "$name"
    done < <(cases "$2")
}

# check_launcher_having PROGRAM LAUNCHER
check_launcher_having() {
    if command -v "$1" >/dev/null; then check_launcher "$2"; else skip_launcher "there is no $1" "$2"; fi
}

check_srun() {
    local reason type
    if ! reason=$(slurm_lacks) && ! slurm_start; then
        check starts_slurm false
        return
    fi
    for type in none pmi2 pmix; do
        if [ -n "$reason" ]; then
            skip_launcher "$reason" srun_$type
        elif ! slurm_has $type; then
            skip_launcher "this Slurm has no mpi/$type" srun_$type
        else
            check_launcher srun_$type
        fi
    done
    slurm_stop
    why="left: $(slurm_left)"
    [ -z "$reason" ] && check ends_with_its_slurm test -z "$(slurm_left)"
}

if lacks sodium; then
    skip 'built without sodium' all
    exit
fi
check_launcher by_hand
check takes_the_backend_from_the_option
check_launcher_having python3 torchrun
check_launcher_having mpiexec.hydra hydra
if grep -q '^✓ pmix' "$build/probes.txt"; then
    check_launcher_having mpirun.openmpi open_mpi
else
    skip_launcher 'built without pmix' open_mpi
    check_having mpirun.openmpi says_that_pmix_is_missing runs_without_pmix_where_master_says
fi
# To start a Slurm takes longer than what runs in it.
if is_full; then
    check_srun
else
    for type in none pmi2 pmix; do check_launcher srun_$type; done
fi
exit $failed
