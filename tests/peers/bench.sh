#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench-peers`: our collectives beside those of Open MPI and MPICH, on this machine, in one run.
#
#   tests/peers/bench.sh [BUILD]
#   PEERS_RANKS="2 4"     sizes of job             PEERS_BACKEND=shm     what moves our bytes
#   PEERS_ROUNDS=5        rounds: each runs every program once, in an order that turns
#   PEERS_LARGEST=2097152 the largest size, bytes  PEERS_MEMORY="alloc malloc"
#
# - BUILD/peers/samples.csv has each program's median of each round; cells.csv a line per cell; peers.svg the ratios.
# - A hypervisor may move our two cores apart at any time, which makes small messages three times slower. Only times of the
#   same distance are compared, by line_nsec: the way of a cache line between the two cores and back.
# - A cell is slower, or faster, if the whole range of its rounds' ratios is on that side of 1.
# - Run nothing else meanwhile: the head says the load.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build} ranks=${PEERS_RANKS:-2} rounds=${PEERS_ROUNDS:-5} backend=${PEERS_BACKEND:-shm}
largest=${PEERS_LARGEST:-2097152} memories=${PEERS_MEMORY:-alloc malloc} factor=8
folder=$build/peers
export CLAB_PACKETS=${CLAB_PACKETS:-auto} # as programs have it; bench would set it to off
collectives='allreduce broadcast reduce allgather reduce_scatter alltoall gather scatter'

die() { echo "bench-peers: $*" >&2; exit "${2:-1}"; }
as_root=
[ "$(id -u)" -ne 0 ] || as_root=--allow-run-as-root
# Over ofi bytes go by TCP: so must those of the peers, whose collectives may know shared memory, too.
openmpi_tcp= mpich_tcp=
[ "$backend" = shm ] || { openmpi_tcp='--mca pml ob1 --mca btl self,tcp --mca coll ^sm,han,xhc'; mpich_tcp='-env MPIR_CVAR_NOLOCAL 1 -env UCX_TLS tcp,self'; }

# build_peers: sets peers to those that this machine has.
build_peers() {
    local name
    peers=()
    for name in openmpi mpich; do
        if "mpicc.$name" -O3 -o "$folder/mpi-$name" tests/peers/mpi.c 2>"$folder/err"; then
            peers+=("$name")
        else
            echo "bench-peers: without $name: $(head -n 1 "$folder/err") (apt-get install lib$name-dev)" >&2
        fi
    done
    [ ${#peers[@]} -gt 0 ] || { echo 'bench-peers: neither Open MPI nor MPICH is installed' >&2; exit 3; }
}

# run_ours MEMORY RANKS IN_PLACE COLLECTIVE...: the same rows of ours.
run_ours() {
    local memory=$1 ranks=$2 in_place=$3
    shift 3
    "$build/commlab" bench "$@" --backend "$backend" -n "$ranks" -b 8 -e "$largest" -f $factor --check 0 --in-place "$in_place" \
        --memory "$memory" --seconds 0.02s --csv "$folder/ours.csv" >"$folder/ours.txt" || return 1
    awk -F, -v name="commlab-$memory" '/^collective,/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        !/^#/ && ("usec" in at) { print name "," $at["collective"] "," $at["bytes"] "," $at["usec"] "," $at["line_nsec"] }' \
        "$folder/ours.csv"
}

# run_one NAME RANKS: rows NAME,collective,bytes,usec,line_nsec.
run_one() {
    local memory=${1#commlab-}
    case $1 in
    openmpi) mpirun.openmpi $as_root --oversubscribe $openmpi_tcp -n "$2" "$folder/mpi-openmpi" openmpi $factor "$largest" ;;
    mpich) mpiexec.hydra $mpich_tcp -n "$2" "$folder/mpi-mpich" mpich $factor "$largest" ;;
    *)
        run_ours "$memory" "$2" 1 broadcast && run_ours "$memory" "$2" 0 ${collectives/broadcast/} # MPI_Bcast is in place
        ;;
    esac
}

# order ROUND NAME...: the names, turned by ROUND.
order() {
    local round=$1 i
    shift
    for ((i = 0; i < $#; i++)); do echo "${@:(i + round) % $# + 1:1}"; done
}

# rows RANKS ROUND FILE: what a program wrote, with its ranks and its round; all its cells, or it has failed.
rows() {
    local wanted
    wanted=$(($(wc -w <<<"$collectives") * $(awk -v e="$largest" -v f=$factor 'BEGIN { for (b = 8; b <= e; b *= f) n++; print n }')))
    [ "$(wc -l <"$3")" -eq $wanted ] || return 1
    sed "s/^\([^,]*\),/\1,$1,$2,/" "$3"
}

mkdir -p "$folder" && build_peers || exit 1
programs=("${peers[@]}")
for memory in $memories; do programs+=("commlab-$memory"); done
{
    echo '# SPDX-License-Identifier: CC-BY-4.0'
    echo "# machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores; load before: $(cut -d' ' -f1 /proc/loadavg)"
    echo "# backend: $backend; $rounds rounds; peers: ${peers[*]}"
    echo 'program,ranks,round,collective,bytes,usec,line_nsec'
} >"$folder/samples.csv"
for n in $ranks; do
    for ((round = 0; round < rounds; round++)); do
        for program in $(order "$round" "${programs[@]}"); do
            [ ! -t 2 ] || printf '\rbench-peers: %s ranks, round %s of %s: %-16s' "$n" $((round + 1)) "$rounds" "$program" >&2
            run_one "$program" "$n" >"$folder/rows" 2>"$folder/err" && rows "$n" "$round" "$folder/rows" >>"$folder/samples.csv" ||
                die "$program with $n ranks failed: $(tail -n 1 "$folder/err")"
        done
    done
done
[ ! -t 2 ] || printf '\r%60s\r' '' >&2

limits=$(awk '/^# memory copy:/ { for (i = 1; i < NF; i++) if ($(i + 1) == "GB/s") rate = $i > rate ? $i : rate }
              /^# cache line:/ { line = $4 } END { printf "%g %g", line / 2e3, rate * 1e3 }' "$folder/ours.txt")
awk -F, -f tests/peers/compare.awk -v least_usec="${limits% *}" -v bytes_per_usec="${limits#* }" -v cells="$folder/cells.csv" \
    "$folder/samples.csv" || exit 1
! command -v gnuplot >/dev/null || gnuplot -c tests/peers/ratios.gp "$folder" || exit 1
