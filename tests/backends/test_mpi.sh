#!/bin/bash
# SPDX-License-Identifier: MIT
# The mpi backend: its ranks are started by us or by its user, it is timed as a library whose collectives are its own,
# and what goes wrong is said; it conforms with MPICH, too, where that is another. (Else: test_mpi_conforms.sh.)
# Usage: test_mpi.sh [BUILD]. Takes long.

. tests/cases.sh
export XDG_CONFIG_HOME=$scratch     # the user's token
export CLAB_PROFILE="$scratch/none" # a machine that has none
quick="-b 8 -e 4K --seconds 0 --iters 1 -w 1"

# cells FIELD: of all rows, each once.
cells() { grep -v '^#' "$scratch/csv" | tail -n +2 | cut -d, -f"$1" | sort -u | paste -sd' '; }

# P ranks of the conformance suite, each in a process that the MPI has started.
conforms_with_ranks() {
    local large=40003
    [ $1 -gt 3 ] || large=$(((1 << 20) / 4 + 3))
    : >"$scratch/entered"
    run 0 run -n $1 --backend mpi -- "$build/tests/test_conformance" --rank "$scratch/entered" $large
}

times_what_is_the_library_s_own() {
    run 0 bench all -n 2 --backend mpi $quick --csv "$scratch/csv" || return 1
    why="algorithms $(cells 2), wrong $(cells 17)"
    [ "$(cells 2)" = 'native shift' ] && [ "$(cells 17)" = ' 0' ]
}
runs_a_lab() {
    local status
    subject=("$build/labs/07-ring-vs-tree/after")
    run 0 -n 3 --backend mpi && why="no checksum: $(cat "$scratch/out")" && grep -q '^checksum' "$scratch/out"
    status=$?
    subject=("$commlab")
    return $status
}
is_started_by_its_user_s_mpirun() {
    subject=($mpirun $many -n 3 "$commlab")
    run 0 bench allreduce --backend mpi $quick --csv "$scratch/csv"
    local status=$?
    subject=("$commlab")
    why="$why; backend $(cells 3), ranks $(cells 4)"
    [ $status = 0 ] && [ "$(cells 3) $(cells 4)" = 'mpi 3' ]
}
# All that ranks may disagree on, in calls of the library's own.
finds_ranks_that_disagree() {
    local name ranks
    while read -r name ranks; do
        : >"$scratch/told"
        "$commlab" run -n "$ranks" --backend mpi -- "$build/tests/test_mismatch" --rank "$scratch/told" "$name" \
            >"$scratch/out" 2>"$scratch/err" </dev/null
        why="$name: $(cat "$scratch/out" "$scratch/err")"
        grep -q "^$ranks of $ranks answer: " "$scratch/out" || return 1
    done < <("$build/tests/test_mismatch" --names)
    why="there are no calls: $("$build/tests/test_mismatch" --names 2>&1)"
    [ -s "$scratch/out" ]
}
# Each says it: they may have been started in terminals of their own.
says_what_it_needs_of_ranks_that_no_mpirun_started() {
    local rank
    for rank in 1 0; do
        RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) \
            "$commlab" bench --backend mpi $quick >/dev/null 2>"$scratch/err.$rank" </dev/null &
    done
    wait
    for rank in 0 1; do
        why="rank $rank: $(cat "$scratch/err.$rank")"
        grep -q 'MPI knows of 1 ranks, and the job has 2: start them by the mpirun of this MPI' "$scratch/err.$rank" ||
            return 1
    done
}
# One rank needs no mpirun: its library may start a daemon that keeps files, and tidies up when the rank has ended.
leaves_no_files_of_a_rank_alone() {
    mkdir "$scratch/temporary" || return 1
    TMPDIR=$scratch/temporary run 0 bench barrier -n 1 --backend mpi --seconds 0 --iters 1 -w 0 || return 1
    why="left: $(find "$scratch/temporary" -mindepth 1)"
    [ "$why" = 'left: ' ]
}
ends_with_the_status_of_a_rank() {
    run 3 run -n 2 --backend mpi -- sh -c 'exit 3'
}

if grep -q '^✗ mpi: ' "$build/probes.txt"; then
    skip 'built without mpi' all
    exit
fi
if lacks sodium; then
    skip 'built without sodium' all
    exit
fi
mpirun=$(sed -n 's/^probed_mpirun := //p' "$build/probes.mk")
many=$("$mpirun" --version | grep -qE 'Open MPI|OpenRTE|open-mpi' && echo --oversubscribe --allow-run-as-root)
subject=("$commlab")
check_each times_what_is_the_library_s_own runs_a_lab finds_ranks_that_disagree is_started_by_its_user_s_mpirun \
    says_what_it_needs_of_ranks_that_no_mpirun_started leaves_no_files_of_a_rank_alone ends_with_the_status_of_a_rank

# The same with the other MPI, if it is there: the plugin alone is built anew.
if [ -z "$many" ] || ! command -v mpicc.mpich >/dev/null; then
    skip 'there is no MPICH beside the MPI of this build' conforms_with_mpich
else
    why=$(env -u MAKEFLAGS -u MAKELEVEL make B="$scratch/mpich" MPICC=mpicc.mpich "$scratch/mpich/backends/mpi.so" 2>&1)
    export CLAB_BACKENDS=$scratch/mpich/backends
    check conforms_with_mpich_and_3 conforms_with_ranks 3
fi
exit $failed
