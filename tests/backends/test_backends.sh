#!/bin/bash
# SPDX-License-Identifier: MIT
# Backends that are plugins: found, loaded, refused in one line; and what the bench makes of several backends.
# Usage: test_backends.sh [BUILD]. Takes long.
#
# - The plugins here are made on the spot, from shm, which a plugin finds in the program that loads it.

. tests/cases.sh
cc=${CC:-gcc}
quick="-n 2 -b 8 -e 8 --seconds 0 --iters 1 -w 1"
export CLAB_PROFILE="$scratch/none" # a machine that has none
mkdir "$scratch/backends"

# plugin NAME: compile the plugin on standard input to NAME.so in the folder of backends.
plugin() {
    cat >"$scratch/$1.c"
    why=$($cc -std=c11 -I. -fPIC -shared -o "$scratch/backends/$1.so" "$scratch/$1.c" 2>&1)
}

# Another name for shm.
clone() {
    plugin "$1" <<'C'
#include "core/transport/plugin.h"
#include "backends/shm/shm.h"
static struct clab_backend clone;
static __attribute__((constructor)) void fill(void) { clone = clab_backend_shm; clone.name = "clone"; }
CLAB_PLUGIN("clone", &clone);
C
}
with_plugins() { CLAB_BACKENDS=$scratch/backends "$@"; }
bench() { with_plugins run 0 bench $quick "$@"; }
bench_refuses() { with_plugins refuses 2 "$1" bench $quick --csv "$scratch/refused" "${@:2}"; }

loads_a_plugin() {
    clone clone && bench --backend clone --csv "$scratch/csv" && why=$(cut -d, -f3 "$scratch/csv") &&
        grep -qx clone <<<"$why"
}
# Whoever finds it first says it for all; the launcher, which sees statuses only, adds nothing.
says_once_that_no_rank_can_join() {
    plugin lame <<'C' || return 1
#include "core/transport/plugin.h"
#include "core/base/log.h"
#include "backends/shm/shm.h"
static struct clab_backend lame;
static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    (void)boot, (void)domain_p;
    clab_error("--backend lame: there is no leg here");
    return CLAB_EUNSUPPORTED;
}
static __attribute__((constructor)) void fill(void)
{
    lame = clab_backend_shm;
    lame.name = "lame";
    lame.attach = attach;
}
CLAB_PLUGIN("lame", &lame);
C
    with_plugins refuses 3 ': --backend lame: there is no leg' bench $quick --backend lame
}
loads_a_plugin_into_a_lab() {
    local lab
    lab=$(ls -d "$build"/labs/01-*)/after
    clone clone && subject=("$lab") && with_plugins run 0 -n 2 --backend clone
    local status=$?
    subject=("$commlab")
    return $status
}
# symbols HOW FILE: those of ours in it, sorted.
symbols() { nm -D "--$1-only" "$2" | grep -o '\<clab_[a-z0-9_]*$' | sort -u; }
exports_to_plugins_what_they_need() { # each plugin of this build, from each lab
    local file lab
    for file in "$build"/backends/*.so; do
        [ ! -e "$file" ] || symbols undefined "$file"
    done | sort -u >"$scratch/needed"
    for lab in "$build"/labs/*/before "$build"/labs/*/after "$build/commlab"; do
        why="$lab lacks what a plugin needs: $(symbols defined "$lab" | comm -23 "$scratch/needed" -)"
        [[ $why == *': ' ]] || return 1
    done
}
names_plugins_among_what_there_is() {
    clone clone && bench_refuses "there is: shm" --backend smoke && grep -q ' clone' "$scratch/err"
}
says_how_to_get_a_plugin_that_is_missing() {
    bench_refuses "gloo is not in this build: it needs Gloo (libgloo-dev)" --backend gloo &&
        bench_refuses "mpi is not in this build: it needs an MPI (libopenmpi-dev or libmpich-dev)" --backend mpi &&
        bench_refuses "nccl is not in this build: it needs NVIDIA's CUDA toolkit and NCCL" --backend nccl
}
refuses_a_plugin_of_another_version() {
    plugin old <<'C' && bench_refuses "old.so was built for another version of commlab" --backend old
#include "core/transport/plugin.h"
static const struct clab_backend old = {.name = "old"};
__attribute__((visibility("default")))
const struct clab_plugin clab_plugin = {CLAB_PLUGIN_VERSION - 1, sizeof old, "old", &old};
C
}
refuses_a_plugin_by_another_name() {
    clone other && bench_refuses "other.so holds the backend clone" --backend other
}
refuses_what_is_no_plugin() {
    plugin empty <<<'int nothing;' && bench_refuses "empty.so is no plugin of commlab" --backend empty &&
        echo text >"$scratch/backends/text.so" && bench_refuses "backend text can not be loaded here" --backend text
}
refuses_a_plugin_whose_library_is_missing() {
    plugin lost <<<'extern int gone(void); int lost(void) { return gone(); }' &&
        bench_refuses "backend lost can not be loaded here" --backend lost
}
looks_for_plugins_in_its_folder_only() {
    cp "$scratch/backends/clone.so" "$scratch/clone.so"
    bench_refuses "there is no '../clone'" --backend ../clone
}

puts_several_backends_into_one_table() {
    clone clone && bench allreduce broadcast --backend shm,clone --csv "$scratch/csv" || return 1
    why="backends $(grep -v '^#' "$scratch/csv" | tail -n +2 | cut -d, -f3 | sort | uniq -c | tr '\n' ' ')
$(cat "$scratch/out")"
    [ "$(grep -cE '^(allreduce|broadcast),.*,(shm|clone),2,8,' "$scratch/csv")" = 8 ] &&
        [ "$(grep -c '^# allreduce, float, sum' "$scratch/out")" = 2 ] &&
        grep -qE '1\.0x .*\| (shm|clone)$' "$scratch/out" &&
        [ "$(awk 'length > 100 && !/^# [a-z]+: /' "$scratch/out" | wc -l)" = 0 ]
}
leaves_out_a_backend_that_is_missing() {
    bench --backend shm,smoke --csv "$scratch/csv" || return 1
    why="$(cat "$scratch/err")"
    [ "$(grep -vc '^commlab bench: round [123] of 3: shm$' "$scratch/err")" = 1 ] &&
        grep -q "no 'smoke'" "$scratch/err" && grep -q ',shm,2,8,' "$scratch/csv"
}
leaves_no_folder_when_it_is_ended() {
    with_plugins leaves_no_folder "$commlab" bench -n 2 -b 8 -e 8 --seconds 20s --backend shm,clone
}
# As under nohup.
goes_on_after_a_hangup_that_is_ignored() {
    local pid folder=$scratch/hangup i
    mkdir "$folder"
    (trap '' HUP && CLAB_BACKENDS=$scratch/backends TMPDIR=$folder exec "$commlab" bench $quick --backend shm,clone) \
        >"$scratch/out" 2>"$scratch/err" </dev/null &
    pid=$!
    for ((i = 0; i < 3000; i++)); do
        [ -z "$(ls "$folder")" ] || break
        sleep 0.01
    done
    kill -HUP $pid
    { wait $pid; } 2>/dev/null
    why="status $?: $(cat "$scratch/err")"
    [[ $why == 'status 0:'* ]] && grep -q '^# allreduce' "$scratch/out" && rmdir "$folder"
}
names_the_folder_that_it_can_not_use() {
    local long
    long=/tmp/$(printf 'x%.0s' {1..5000})
    TMPDIR=$scratch/none with_plugins refuses 1 "can not make a folder in $scratch/none: No such file" bench $quick \
        --backend shm,clone && TMPDIR=$long with_plugins refuses 1 "5005 bytes: it is too long" bench $quick \
        --backend shm,clone
}
fails_where_no_backend_is_there() {
    with_plugins run 3 bench $quick --backend smoke,fog && bench_refuses 'has 0 names' --backend , &&
        with_plugins run 2 bench $quick --backend shm,clone --algo rings
}

subject=("$commlab")
check_each puts_several_backends_into_one_table leaves_out_a_backend_that_is_missing fails_where_no_backend_is_there \
    leaves_no_folder_when_it_is_ended goes_on_after_a_hangup_that_is_ignored names_the_folder_that_it_can_not_use
check_each loads_a_plugin says_once_that_no_rank_can_join loads_a_plugin_into_a_lab exports_to_plugins_what_they_need \
    names_plugins_among_what_there_is says_how_to_get_a_plugin_that_is_missing refuses_a_plugin_of_another_version \
    refuses_a_plugin_by_another_name refuses_what_is_no_plugin refuses_a_plugin_whose_library_is_missing \
    looks_for_plugins_in_its_folder_only
exit $failed
