#!/bin/bash
# SPDX-License-Identifier: MIT
# Code that others could have put there is not run: plugins, gnuplot's scripts, programs of labs. What would be run here
# leaves $scratch/ran. Usage: test_trust.sh [BUILD].

. tests/cases.sh
cc=${CC:-gcc}
umask 022
chmod 755 "$scratch"
quick="bench barrier -n 2 --seconds 0 --iters 1 -w 1"
export CLAB_PROFILE="$scratch/none"
kit=$scratch/kit # a copy, whose files may be anybody's
mkdir -p "$kit/build/backends" "$kit/build/plots" "$kit/results"
cp "$commlab" "$kit/build"
cp -r plots "$kit"

# Another name for shm, which says that it is here.
cat >"$scratch/twin.c" <<C
#include <fcntl.h>
#include "core/transport/plugin.h"
#include "backends/shm/shm.h"
static struct clab_backend twin;
static __attribute__((constructor)) void fill(void)
{
    open("$scratch/ran", O_CREAT | O_WRONLY, 0666);
    twin = clab_backend_shm;
    twin.name = "twin";
}
CLAB_PLUGIN("twin", &twin);
C
why=$($cc -std=c11 -I. -fPIC -shared -o "$scratch/twin.so" "$scratch/twin.c" 2>&1) ||
    { echo "not ok compiles"; echo "$why" | sed 's/^/# /'; exit 1; }

plugin=$kit/build/backends/twin.so
subject=("$kit/build/commlab")

# fresh MODE FOLDER_MODE [OWNER]: the plugin so, in its folder so.
fresh() {
    rm -rf "$scratch/ran" "$kit/build/backends"
    mkdir "$kit/build/backends"
    cp "$scratch/twin.so" "$plugin"
    [ -z "${3-}" ] || chown "$3" "$plugin"
    chmod "$1" "$plugin" && chmod "$2" "$kit/build/backends"
}
runs_it() { run 0 $quick --backend twin && why='it was not run' && [ -e "$scratch/ran" ]; }
# One line with the words, and nothing was run.
refuses_it() {
    local status=$1 words=$2
    shift 2
    rm -f "$scratch/ran"
    refuses "$status" "$words" "$@" && why='it was run' && [ ! -e "$scratch/ran" ]
}
refuses_plugin() { refuses_it 2 "$1" $quick --backend twin; }

runs_what_is_its_user_s() { fresh 755 755 && runs_it; }
runs_what_is_its_user_s_own_group_s() { fresh 775 775 && runs_it; }
refuses_a_plugin_that_others_may_write() {
    fresh 666 755 && refuses_plugin "twin.so can be changed by others (mode 0666)" &&
        grep -qF "type: chmod -R go-w '$kit/build/backends'" "$scratch/err"
}
refuses_a_plugin_in_a_folder_that_others_may_write() {
    fresh 755 777 && refuses_plugin "$kit/build/backends can be changed by others (mode 0777)"
}
refuses_a_link_to_what_others_may_write() {
    fresh 755 755 && mkdir -p "$scratch/open" && chmod 1777 "$scratch/open" && mv "$plugin" "$scratch/open" &&
        ln -s "$scratch/open/twin.so" "$plugin" && refuses_plugin "$scratch/open can be changed by others (mode 1777)"
}
refuses_a_link_that_others_may_change() {
    fresh 755 777 && mv "$plugin" "$scratch/linked.so" && ln -s "$scratch/linked.so" "$plugin" &&
        refuses_plugin "$kit/build/backends can be changed by others (mode 0777)"
}
obeys_the_rule_where_it_is_told_to_look() {
    local subject=("$commlab")
    fresh 777 755 && CLAB_BACKENDS=$kit/build/backends refuses_plugin 'can be changed by others'
}
# Two folders above the program, where a copy of it would have looked.
looks_in_no_parent_folder() {
    local above=$scratch/above subject=("$scratch/above/a/b/commlab")
    mkdir -p "$above/a/b" "$above/backends" && cp "$commlab" "$above/a/b" && cp "$scratch/twin.so" "$above/backends" &&
        refuses_it 2 "there is no 'twin' in this build" $quick --backend twin
}
refuses_a_plugin_of_another_user() {
    fresh 755 755 nobody && refuses_plugin "twin.so belongs to user nobody, who is neither you nor root" &&
        grep -qF "chown root" "$scratch/err"
}
refuses_a_plugin_of_a_group() {
    fresh 775 755 :daemon && refuses_plugin "can be changed by group daemon (mode 0775)"
}
# As git and make leave a clone where each user has a group of the same name, and umask 002.
runs_a_clone_of_umask_002() {
    local subject=(setpriv --reuid=daemon --regid=daemon --clear-groups "$kit/build/commlab")
    fresh 775 775 && chown daemon:daemon "$plugin" "$kit/build/backends" "$kit/build/commlab" && chmod 777 "$scratch" &&
        runs_it
    local status=$?
    chmod 755 "$scratch"
    return $status
}
# A class shares the build of who teaches it.
runs_what_belongs_to_the_program_s_owner() {
    fresh 755 755 && chown daemon "$plugin" "$kit/build/backends" "$kit/build/commlab" && runs_it
    local status=$?
    chown "$(id -u)" "$kit/build/commlab"
    return $status
}

# ---- gnuplot's scripts, and labs' programs -------------------------------------------------------------------------

cp -r labs sim "$kit"
"$commlab" bench allreduce -n 2 -b 8 -e 64 --seconds 0 --iters 1 -w 1 --csv "$kit/results/b.csv" >"$scratch/out" 2>&1
report() { "$@" report "$kit/results" --output "$kit/page"; }
touches="system \"touch '$scratch/ran'\""
prepare_script() {
    rm -rf "$scratch/ran" "$kit/plots" && cp -r plots "$kit"
}
refuses_a_script_that_others_may_write() {
    prepare_script && echo "$touches" >>"$kit/plots/style.gp" && chmod 666 "$kit/plots/style.gp" &&
        report refuses_it 1 "plots/style.gp can be changed by others (mode 0666)"
}
refuses_a_folder_of_scripts_that_others_may_write() {
    prepare_script && echo "$touches" >>"$kit/plots/style.gp" && chmod 777 "$kit/plots" &&
        report refuses_it 1 "plots can be changed by others (mode 0777)"
}
refuses_a_script_that_another_loads() {
    prepare_script && echo "$touches" >>"$kit/plots/bench.gp" && chmod 666 "$kit/plots/bench.gp" &&
        report refuses_it 1 'plots/bench.gp can be changed by others (mode 0666)'
}
looks_for_scripts_in_no_folder_far_above() {
    local subject=("$kit/a/b/c/commlab")
    prepare_script && echo "$touches" >>"$kit/plots/style.gp" && mkdir -p "$kit/a/b/c" &&
        cp "$commlab" "$kit/a/b/c" && report refuses_it 1 'no plots/style.gp above this program'
}
refuses_a_lab_s_program_that_others_may_write() {
    local program=$kit/build/labs/01-reinit-comm/before
    prepare_script && mkdir -p "${program%/*}" && cp "$build"/labs/01-*/after "${program%/*}" &&
        printf '#!/bin/sh\ntouch %s/ran\n' "$scratch" >"$program" && chmod 777 "$program" || return 1
    rm -f "$scratch/ran"
    run 1 lab 01 --no-plot --pairs 1
    why="it was run, or not refused: $(cat "$scratch/err")"
    [ ! -e "$scratch/ran" ] && grep -q 'before can be changed by others (mode 0777)' "$scratch/err"
}

check_each runs_what_is_its_user_s refuses_a_plugin_that_others_may_write \
    refuses_a_plugin_in_a_folder_that_others_may_write refuses_a_link_to_what_others_may_write \
    refuses_a_link_that_others_may_change obeys_the_rule_where_it_is_told_to_look looks_in_no_parent_folder
if [ "$(id -gn)" = "$(id -un)" ]; then
    check runs_what_is_its_user_s_own_group_s
else
    skip 'this user has no group of their own' runs_what_is_its_user_s_own_group_s
fi
owners=(refuses_a_plugin_of_another_user refuses_a_plugin_of_a_group runs_what_belongs_to_the_program_s_owner)
if [ "$(id -u)" = 0 ] && getent passwd daemon nobody >/dev/null; then
    check_each "${owners[@]}"
    check_having setpriv runs_a_clone_of_umask_002
else
    skip 'only root may give files to others' "${owners[@]}" runs_a_clone_of_umask_002
fi
check_with gnuplot refuses_a_script_that_others_may_write refuses_a_folder_of_scripts_that_others_may_write \
    refuses_a_script_that_another_loads looks_for_scripts_in_no_folder_far_above
check_with inih refuses_a_lab_s_program_that_others_may_write
exit $failed
