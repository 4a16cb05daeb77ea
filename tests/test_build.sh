#!/bin/bash
# SPDX-License-Identifier: MIT
# The build's own promises: each probe says yes where its thing is and no where it is not, switches are obeyed, and the
# code builds with none of it. Usage: test_build.sh [BUILD].
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
libraries='jansson inih cmocka libfabric'

# probes VARIABLE=VALUE...: run all of them so. Their lines are left in `why`, the answers for make in mk.
probes() {
    rm -f "$scratch/mk"
    why=$(env "$@" ./probe.sh "$scratch/mk" "$scratch/txt" 2>&1)
}
said() { grep -qF -- "$1" <<<"$why"; }

# Only $1 was missed: whatever else this machine has was found.
missed_only() { said "✗ $1: " && [ "$(grep -c '✗' <<<"$why")" = $((absent + 1)) ]; }

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
    gloo | mpi) echo "probed_plugins += $1" ;;
    *) echo "+= -l$1" ;;
    esac
}
given() { [ -n "$(answer $1)" ] && grep -qF -- "$(answer $1)" "$scratch/mk"; }
finds() { probes && said "✓ $1: " && { [ -z "$(answer $1)" ] || given $1; }; }

misses_without_header() {
    local file=$1.h status
    [ $1 != gloo ] || { misses_with_broken_header; return; }
    [ $1 != inih ] || file=ini.h
    [ $1 != libfabric ] || file=rdma # a folder
    mv "$scratch/include/$file" "$scratch"
    probes FLAGS="$headers"
    status=$?
    mv "$scratch/$file" "$scratch/include"
    [ $status = 0 ] && missed_only $1 && ! given $1
}

# C++ does without -nostdinc; a header before the others is as good.
misses_with_broken_header() {
    mkdir -p "$scratch/broken/gloo"
    echo '#error there is none' >"$scratch/broken/gloo/allreduce.h"
    probes CXXFLAGS="-I$scratch/broken" && missed_only gloo && ! given gloo
}

misses_a_compiler_of_no_mpi() { probes MPICC="$cc" && missed_only mpi && ! given mpi; }
misses_an_mpi_s_compiler_that_is_not_there() { probes MPICC=no-such-mpicc && missed_only mpi && ! given mpi; }

misses_without_functions() {
    local archive=lib${1#lib}.a status
    ar rcs "$scratch/lib/$archive"
    probes LDFLAGS="-L$scratch/lib"
    status=$?
    rm "$scratch/lib/$archive"
    [ $status = 0 ] && missed_only $1 && ! given $1
}

# Without the programs whose names begin with $2.
misses_from_path() {
    local status
    mkdir "$scratch/away" && mv "$scratch/bin/$2"* "$scratch/away"
    probes PATH="$scratch/bin"
    status=$?
    mv "$scratch/away"/* "$scratch/bin" && rmdir "$scratch/away"
    [ $status = 0 ] && missed_only $1
}

is_turned_off() {
    probes NO_${1^^}=1 && missed_only $1 && said "turned off by NO_${1^^}=1" && ! given $1
}

must_be_there_if_asked_for() {
    ! probes NO_${1^^}=1 WITH_${1^^}=1 && said "WITH_${1^^}=1 asks for it" && [ ! -e "$scratch/mk" ] &&
        probes WITH_${1^^}=1
}

names_a_missing_compiler() { ! probes CC=no-such-compiler && said 'no-such-compiler: nothing can be built'; }

bare=$(for name in $(./probe.sh --list); do printf 'NO_%s=1 ' "$name"; done)
build_bare() { why=$(make B="$scratch/build" CFLAGS=-O0 WERROR=1 $bare "$@" 2>&1); }

builds_with_nothing() {
    build_bare && "$scratch/build/commlab" --help >/dev/null &&
        ! ldd "$scratch/build/commlab" | grep -E 'jansson|inih'
}
remakes_nothing_needlessly() { build_bare && ! said '  CC' && ! said '  LINK' && ! said '  AR'; }
remakes_what_a_header_changes() { build_bare -n -W cmd/command.h && said ' cmd/run.c' && ! said ' core/base/err.c'; }
remakes_all_when_flags_change() { build_bare -n CPPFLAGS=-DANOTHER && said ' cmd/run.c' && said ' core/base/err.c'; }

link_machine
probes
here=$why
missing=$(grep -c '✗' <<<"$here")
for name in $libraries gloo mpi gnuplot libfuzzer; do
    # C++ takes its time, and so does libFuzzer: but for their own cases, they are left out.
    unset NO_GLOO NO_LIBFUZZER
    absent=$missing
    for slow in gloo libfuzzer; do
        if [ $name != $slow ] && ! grep -q "✗ $slow: " <<<"$here"; then
            export NO_${slow^^}=1
            absent=$((absent + 1))
        fi
    done
    if missed=$(grep "✗ $name: " <<<"$here"); then
        skip "${missed#✗ }" finds_$name
        continue
    fi
    check finds_$name finds $name
    case $name in
    gnuplot) check misses_from_path_$name misses_from_path $name gnuplot ;;
    libfuzzer) check misses_from_path_$name misses_from_path $name clang ;;
    mpi) check_each misses_a_compiler_of_no_mpi misses_an_mpi_s_compiler_that_is_not_there ;;
    *)
        check misses_without_header_$name misses_without_header $name
        check misses_without_functions_$name misses_without_functions $name
        ;;
    esac
    check is_turned_off_$name is_turned_off $name
    check must_be_there_if_asked_for_$name must_be_there_if_asked_for $name
done
unset NO_GLOO NO_LIBFUZZER
check names_a_missing_compiler
check builds_with_nothing
check remakes_nothing_needlessly
check remakes_what_a_header_changes
check remakes_all_when_flags_change
exit $failed
