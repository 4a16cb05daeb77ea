#!/bin/bash
# SPDX-License-Identifier: MIT
# The build's own promises: each probe says yes where its thing is and no where it is not, switches are obeyed, and the
# code builds with none of it. Usage: test_build.sh [BUILD]. Takes long.
#
# CLAB_BARE: a folder that holds a build with none of it already, with WERROR=1 and CFLAGS=$CLAB_BARE_CFLAGS (.ci/run).
# It is brought up to date, not made anew. Without it, objects that no switch changes are $build's.
#
# Without CLAB_TEST_FULL=1, of the C libraries that are linked, one is tried, and what all of them must obey is tried with
# that one.
#
# A probe's no is real: the compiler is given a tree of headers that lacks the one, or a library that lacks the
# functions; a program is not on the path.

. tests/cases.sh
if [ "$build" != build ]; then
    skip 'it is about the Makefile, and says it of build/' all
    exit
fi
cc=${CC:-gcc}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ${!NO_*} ${!WITH_*}
libraries='jansson inih sodium seccomp cmocka libfabric'

# probes VARIABLE=VALUE...: run all of them so. Their lines are left in `why`, the answers for make in mk.
probes() {
    rm -f "$scratch/mk"
    why=$(env "$@" ./probe.sh "$scratch/mk" "$scratch/txt" 2>&1)
}
said() { grep -qF -- "$1" <<<"$why"; }

missed() { said "✗ $1: " && ! said "turned off by NO_${1^^}="; }

# Probes take their time, C++ and libFuzzer most of it.
all=$(./probe.sh --list)
slow='GLOO NCCL LIBFUZZER'

# From now on, those named are turned off, and no other.
turn_off() {
    unset ${!NO_*}
    for off in "$@"; do export NO_$off=1; done
}

# The headers and the programs of this machine, as links that can be taken away.
link_machine() {
    mkdir "$scratch/include" "$scratch/bin" "$scratch/lib"
    ln -s /usr/include/* /usr/local/include/* "$scratch/include" 2>/dev/null
    ln -s /bin/* /usr/bin/* /usr/local/bin/* "$scratch/bin" 2>/dev/null
    headers="-nostdinc -isystem $($cc -print-file-name=include) -isystem $scratch/include"
    headers="$headers -isystem /usr/include/$($cc -print-multiarch 2>/dev/null)" # Debian's second place
}

# What the answers for make hold where $1 is there; gnuplot's are none.
answer() {
    case $1 in
    gnuplot) ;;
    libfuzzer) echo 'probed_fuzz := CC=clang' ;;
    libfabric) echo 'probed_backends += ofi' ;; # it is loaded, not linked
    gloo | mpi | nccl) echo "probed_plugins += $1" ;;
    *) echo "+= -l$1" ;;
    esac
}
given() { [ -n "$(answer $1)" ] && grep -qF -- "$(answer $1)" "$scratch/mk"; }
# Also with WITH_X=1, which asks for it: no answer depends on that.
finds() { probes WITH_${1^^}=1 && said "✓ $1: " && { [ -z "$(answer $1)" ] || given $1; }; }

misses_without_header() {
    local file=$1.h status
    [ $1 != gloo ] || { misses_with_broken_header; return; }
    [ $1 != inih ] || file=ini.h
    [ $1 != libfabric ] || file=rdma # a folder
    mv "$scratch/include/$file" "$scratch"
    probes FLAGS="$headers"
    status=$?
    mv "$scratch/$file" "$scratch/include"
    [ $status = 0 ] && missed $1 && ! given $1
}

# C++ does without -nostdinc; a header before the others is as good.
misses_with_broken_header() {
    mkdir -p "$scratch/broken/gloo"
    echo '#error there is none' >"$scratch/broken/gloo/allreduce.h"
    probes CXXFLAGS="-I$scratch/broken" && missed gloo && ! given gloo
}

misses_a_compiler_of_no_mpi() { probes MPICC="$cc" && missed mpi && ! given mpi; }
misses_an_mpi_s_compiler_that_is_not_there() { probes MPICC=no-such-mpicc && missed mpi && ! given mpi; }
misses_an_nvcc_that_is_not_there() {
    probes NVCC=no-such-nvcc && missed nccl && said 'there is no nvcc' && ! given nccl
}
misses_a_compiler_that_nvcc_can_use() { probes CXX=false && said 'there is no C++ compiler that' && ! given nccl; }

misses_without_functions() {
    local archive=lib${1#lib}.a status
    ar rcs "$scratch/lib/$archive"
    probes LDFLAGS="-L$scratch/lib"
    status=$?
    rm "$scratch/lib/$archive"
    [ $status = 0 ] && missed $1 && ! given $1
}

# Without the programs whose names begin with $2.
misses_from_path() {
    local status
    mkdir "$scratch/away" && mv "$scratch/bin/$2"* "$scratch/away"
    probes PATH="$scratch/bin"
    status=$?
    mv "$scratch/away"/* "$scratch/bin" && rmdir "$scratch/away"
    [ $status = 0 ] && missed $1
}

# ... and nothing else: whatever else this machine has is found.
is_turned_off() {
    local expected
    expected=$({ grep '✗' <<<"$here" | cut -d' ' -f2; printf '%s:\n' ${slow,,} $1; } | sort -u)
    turn_off $slow ${1^^}
    probes && said "turned off by NO_${1^^}=1" && ! given $1 &&
        [ "$(grep '✗' <<<"$why" | cut -d' ' -f2 | sort)" = "$expected" ]
}

must_be_there_if_asked_for() {
    turn_off ${all/${1^^}/}
    ! probes NO_${1^^}=1 WITH_${1^^}=1 && said "WITH_${1^^}=1 asks for it" && [ ! -e "$scratch/mk" ]
}

names_a_missing_compiler() { ! probes CC=no-such-compiler && said 'no-such-compiler: nothing can be built'; }

bare=$(for name in $all; do printf 'NO_%s=1 ' "$name"; done)
bare_build=${CLAB_BARE:-$scratch/build}
# Without CLAB_TEST_FULL=1, the program and a lab: the other labs' objects are borrowed, and linked in the same way.
goals=()
is_full || { goals=("$bare_build"/{commlab,labs/07-ring-vs-tree/after}) && leave_out $(($(ls labs/{,primer/}*/{before,after}.c | wc -l) - 1)); }
build_bare() { why=$(make B="$bare_build" CFLAGS="${CLAB_BARE_CFLAGS:--O0}" WERROR=1 $bare "$@" 2>&1); }

# Switches reach a source as HAVE_... macros and in no other way. An object that is made of no file with that word is
# the same with none of them: it is taken from $build. The others are compiled, and all is linked.
borrow_objects() {
    local list=$scratch/switched made object
    grep -rlE 'HAVE_[A-Z]' --include='*.[ch]' core cmd sim backends labs >"$list"
    for made in $(find "$build/obj" "$build/alone" -name '*.d' -exec grep -LFwf "$list" {} + | grep -v "^$build/obj/tests/"); do
        object=${made#"$build"/} object=$bare_build/${object%.d}
        [ -e "${made%.d}.o" ] && mkdir -p "${object%/*}" && cp "${made%.d}.o" "$object.o" &&
            sed "s,\(^\| \)$build/,\1$bare_build/,g" "$made" >"$object.d" || return 1
    done
    why="nothing in $build/obj is made without, or nothing with a switch: $(wc -l <"$list") files"
    [ -e "$bare_build/obj/core/base/err.o" ] && [ ! -e "$bare_build/obj/core/base/files/conf.o" ]
}

builds_with_nothing() {
    [ -n "${CLAB_BARE-}" ] || { build_bare "$bare_build/flags" && borrow_objects; } || return 1
    build_bare "${goals[@]}" && "$bare_build/commlab" --help >/dev/null &&
        ! ldd "$bare_build/commlab" | grep -E 'jansson|inih|sodium|seccomp'
}
# Each says so once, wherever it would have met the others; ranks of one node need none.
says_what_jobs_over_several_nodes_need() {
    local nodes=(run --backend shm -n 2 --nodes 2 --master 127.0.0.1:29999 --node-rank) what='run ./setup.sh, then make'
    subject=("$bare_build/commlab")
    refuses 1 "$what" "${nodes[@]}" 0 -- true && refuses 1 "$what" "${nodes[@]}" 1 -- true &&
        RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29999 XDG_CONFIG_HOME=$scratch \
            refuses 3 "$what" bench barrier && run 0 run -n 2 -- true
}
remakes_nothing_needlessly() { build_bare "${goals[@]}" && ! said '  CC' && ! said '  LINK' && ! said '  AR'; }
remakes_what_a_header_changes() { build_bare -n -W cmd/command.h && said ' cmd/run/run.c' && ! said ' core/base/err.c'; }
remakes_all_when_flags_change() { build_bare -n CPPFLAGS=-DANOTHER && said ' cmd/run/run.c' && said ' core/base/err.c'; }
# The program writes it where CLAB_PROFILE says, and looks for it there.
fits_a_machine_once() {
    local -x CLAB_PROFILE=$scratch/profile.net
    rm -f "$CLAB_PROFILE"
    build_bare -n profile && grep -qx "$bare_build/commlab fit" <<<"$why" || return 1
    touch "$CLAB_PROFILE"
    build_bare -n profile && said '--net machine' && ! grep -qx "$bare_build/commlab fit" <<<"$why"
}

# What this machine has: as the build was told, if all was asked for then.
link_machine
here=$(cat "$build/probes.txt")
if grep -q '; turned off by ' <<<"$here"; then
    probes
    here=$why
fi
is_full || { leave_out $((5 * ($(wc -w <<<"$libraries") - 2))) && libraries='jansson libfabric'; }
for name in $libraries gloo mpi nccl gnuplot libfuzzer; do
    turn_off ${all/${name^^}/}
    if missed=$(grep "✗ $name: " <<<"$here"); then
        skip "${missed#✗ }" finds_$name
        continue
    fi
    check finds_$name finds $name
    case $name in
    gnuplot) check misses_from_path_$name misses_from_path $name gnuplot ;;
    libfuzzer) check misses_from_path_$name misses_from_path $name clang ;;
    nccl) check_each misses_an_nvcc_that_is_not_there misses_a_compiler_that_nvcc_can_use ;;
    mpi) check_each misses_a_compiler_of_no_mpi misses_an_mpi_s_compiler_that_is_not_there ;;
    *)
        check misses_without_header_$name misses_without_header $name
        if is_full || [ $name != gloo ]; then check misses_without_functions_$name misses_without_functions $name; else leave_out 1; fi
        ;;
    esac
    if is_full || [ $name = jansson ]; then check is_turned_off_$name is_turned_off $name; else leave_out 1; fi
    check must_be_there_if_asked_for_$name must_be_there_if_asked_for $name
done
turn_off
check names_a_missing_compiler
check builds_with_nothing
check says_what_jobs_over_several_nodes_need
check remakes_nothing_needlessly
check remakes_what_a_header_changes
check remakes_all_when_flags_change
check fits_a_machine_once
exit $failed
