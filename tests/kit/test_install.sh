#!/bin/bash
# SPDX-License-Identifier: MIT
# `make install`: what it puts below PREFIX and DESTDIR works from an empty folder, without the source tree, and goes
# away again. Usage: test_install.sh [BUILD].

. tests/cases.sh
if [ "$build" != build ] || [ ! -e build/libcommlab.a ]; then
    skip 'make install installs build/' all
    exit
fi
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ${!CLAB_*}
prefix=$scratch/prefix here=$scratch/here
mkdir -p "$here" "$scratch/home"
libraries=$(awk -F' / ' '{ print $3 }' build/flags)

# What `make install` does when all is built.
printf '%s\n' "$libraries" >build/libraries
why=$(./install.sh build "$prefix" 2>&1) || { echo "not ok install: $why"; exit 1; }
installed=$prefix/bin/commlab

# there STATUS COMMAND...: in the empty folder, as somebody else's computer would see it.
there() {
    local expected=$1 status
    shift
    (cd "$here" && env -i HOME="$scratch/home" PATH="$PATH" "$@") >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    why="status $status, not $expected: $(tail -n 5 "$scratch/out") $(tail -n 5 "$scratch/err")"
    [ $status -eq "$expected" ]
}

simulates_and_draws_schedules() {
    there 0 "$installed" sim allreduce --net dgx-h100 --ranks 8 --bytes 1M && there 0 "$installed" nets &&
        there 0 "$installed" show ring --ranks 4 && there 0 "$installed" verify --ranks 4
}
runs_a_bench_and_a_job() {
    there 0 "$installed" bench allreduce -n 2 -b 1K -e 1K --seconds 0.01s || return 1
    there 0 "$installed" run -n 2 -- "$prefix/lib/commlab/build/labs/primer/p1-hello/after"
}
# A lab in virtual time: its data and figure lie below the folder where the user stands, and nothing in PREFIX.
runs_a_lab_where_the_user_stands() {
    touch "$scratch/before"
    there 0 "$installed" lab 07 --backend sim --net dgx-h100 -n 4 --sizes 1024 --no-sweep --no-plot || return 1
    why="no results in $(find "$here")"
    ls "$here"/results/07-sim-*.csv >/dev/null 2>&1 || return 1
    why="written below PREFIX: $(find "$prefix" -newer "$scratch/before" -type f)"
    [ -z "$(find "$prefix" -newer "$scratch/before" -type f)" ]
}
checks_a_students_program() {
    there 0 "$installed" start p1 || return 1
    why="no work/p1/mine.c in $(find "$here")"
    [ -e "$here/work/p1/mine.c" ] || return 1
    cp labs/primer/p1-hello/after.c "$here/work/p1/mine.c"
    there 0 "$installed" check p1
}
explains_and_looks_around() {
    there 0 "$installed" doctor && there 0 "$installed" next || return 1
    echo 'Connection refused' >"$here/log" && there 0 "$installed" explain log
}
# What an installed kit says can be typed: it is called commlab, and has neither make's targets nor setup.sh.
says_nothing_that_is_not_there() {
    local said=$scratch/said command
    there 0 env PATH="$prefix/bin:$PATH" commlab start p2 || return 1
    : >"$said"
    for command in next status 'start p2' 'check p2' 'hint p2' 'predict 00' doctor 'doctor --all' 'doctor --json' explain 'explain log' 'explain --table' \
        'report none' 'sim allreduce --ranks 2 --bytes 1M --net machine' 'bench --backend none' 'bench --help' 'bench --matrix --help' \
        'bench --matrix --backend shm --num-processes 2 --data-sizes 0.1 --budget 20s' 'explain --help' 'card --help' report; do
        echo "\$ commlab $command" >>"$said"
        (cd "$here" && env -i HOME="$scratch/home" PATH="$prefix/bin:$PATH" sh -c "commlab $command") >>"$said" 2>&1 </dev/null
    done
    cat "$here/build/report/index.html" "$prefix"/share/man/man1/*.1 >>"$said"
    why=$(grep -nE '\./commlab|make (test|plot|lab|report)|run make|then make$|\./setup' "$said" | grep -v "in the kit's sources" | head -5)
    [ -z "$why" ] || return 1
    why="no advice in: $(head -c 1000 "$said")"
    grep -qx '    commlab check p2' "$said" && grep -q 'commlab doctor --all' "$said" && grep -q 'run commlab fit\|commlab fit --backend' "$said"
}
# Not in PATH, it is the path that it was called by.
says_the_path_that_it_was_called_by() {
    there 0 "$installed" next || return 1
    why=$(cat "$scratch/out")
    grep -qx "    $installed check p2" "$scratch/out"
}
# The kit that it was installed from lies above it, and may have been measured.
knows_no_profile_but_its_own() {
    : >"$scratch/machine.net"
    there 2 "$installed" sim allreduce --ranks 2 --bytes 1M --net machine || return 1
    why="$(cat "$scratch/err")"
    grep -q 'not measured yet.*commlab fit' "$scratch/err"
}
compiles_a_program_by_pkg_config() {
    cat >"$here/small.c" <<'END'
#include <stdio.h>
#include <clab.h>
int main(int argc, char **argv)
{
    struct clab_job *job;
    struct clab_comm *comm;
    float mine = 1, sum = 0;
    if (clab_job_open(&argc, argv, &job) || clab_comm_create(job, &comm) || clab_allreduce(comm, &mine, &sum, 1, CLAB_F32, CLAB_SUM))
        return 1;
    printf("the sum is %g\n", sum);
    clab_comm_destroy(comm);
    clab_job_close(job);
    return sum != 3;
}
END
    there 0 env PKG_CONFIG_PATH="$prefix/lib/pkgconfig" sh -c \
        "${CC:-gcc} -Wall -Werror -o small small.c \$(pkg-config --cflags --libs commlab)" || return 1
    there 0 "$installed" run -n 3 -- ./small || return 1
    why=$(cat "$scratch/out")
    [ "$(grep -c 'the sum is 3' "$scratch/out")" = 3 ]
}
# From --help: each flag of a command is in its page, each command in the completion.
# complete WORD...: what the last of them can become.
complete() {
    bash -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _commlab; echo "${COMPREPLY[*]}"' - \
        "$prefix/share/bash-completion/completions/commlab" "$@"
}
has_pages_and_completion() {
    local command flag page mode modes=
    for command in $("$commlab" --help | sed -n 's/^  \([a-z]*\)  *[A-Za-z].*/\1/p'); do
        page=$prefix/share/man/man1/commlab-$command.1
        why="no page of $command"
        [ -s "$page" ] && grep -q "^\.SH OPTIONS" "$page" || return 1
        for flag in $("$commlab" "$command" --help | grep -oE '^ +(-[A-Za-z?], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
            why="$page lacks $flag"
            grep -qF -- "${flag//-/\\-}" "$page" || return 1
        done
    done
    # A mode has a --help of its own, which its command's names: `commlab bench --matrix --help`, or: commlab sim sweep.
    while read -r command mode; do
        page=$prefix/share/man/man1/commlab-$command.1
        for flag in $("$commlab" "$command" "$mode" --help | grep -oE '^ +(-[A-Za-z?], )?--[a-z-]+' | grep -oE -- '--[a-z-]+'); do
            why="$page lacks $flag of $mode, or the completion does"
            grep -qF -- "${flag//-/\\-}" "$page" && complete commlab "$command" "$mode" "$flag" | grep -qw -- "$flag" || return 1
        done
        modes+=" $mode"
    done < <(for command in $("$commlab" --help | sed -n 's/^  \([a-z]*\)  *[A-Za-z].*/\1/p'); do
        "$commlab" "$command" --help | tr '\n' ' ' | grep -oE "$command (--)?[a-z0-9]+ +--help|commlab $command \[OPTION...\] [a-z]+" |
            grep -v "$command --help" | sed -E "s/^commlab //; s/ +--help//; s/ \[OPTION...\]//"
    done)
    why="modes:$modes"
    [ "$(wc -w <<<"$modes")" -ge 6 ] || return 1
    why='completion of --root'
    [ "$(complete commlab doctor --ro)" = --root ] || return 1
    why='completion of bench'
    [ "$(complete commlab benc)" = bench ] || return 1
    why="a flag of --matrix where it is not given: $(complete commlab bench --data)"
    [ "$(complete commlab bench --data)" = --datatype ] && [ "$(complete commlab bench --matrix --data)" = --data-sizes ]
}
pages_can_be_laid_out() {
    why=$(for page in "$prefix"/share/man/man1/*.1; do groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null | grep -v 'line$'; done | head -5)
    [ -z "$why" ]
}
# A package is built below DESTDIR, and used at PREFIX.
takes_a_destdir() {
    why=$(./install.sh build /opt/kit "$scratch/stage" 2>&1) || return 1
    why=$(cat "$scratch/stage/opt/kit/lib/pkgconfig/commlab.pc")
    grep -qx 'prefix=/opt/kit' <<<"$why" || return 1
    there 0 "$scratch/stage/opt/kit/bin/commlab" show ring --ranks 3 || return 1
    why="left: $(grep -rlI "$scratch" "$scratch/stage" | head -3)"
    [ "$why" = 'left: ' ]
}
refuses_a_prefix_that_is_none() {
    subject=()
    run 2 ./install.sh build local || return 1
    why=$(cat "$scratch/err")
    grep -q "PREFIX is a whole path" "$scratch/err" && run 1 ./install.sh --uninstall "$scratch/none" &&
        grep -q 'has no commlab' "$scratch/err"
}
# The last case: others' files stay.
goes_away_again() {
    touch "$prefix/bin/other" "$prefix/share/man/man1/other.1"
    ./install.sh --uninstall "$prefix"
    why="left: $(find "$prefix" -not -type d)"
    [ "$(find "$prefix" -not -type d | wc -l)" = 2 ]
}

check_with inih simulates_and_draws_schedules runs_a_lab_where_the_user_stands
check_each runs_a_bench_and_a_job checks_a_students_program explains_and_looks_around says_nothing_that_is_not_there \
    says_the_path_that_it_was_called_by knows_no_profile_but_its_own
check_having pkg-config compiles_a_program_by_pkg_config
check has_pages_and_completion
check_having groff pages_can_be_laid_out
check_each takes_a_destdir refuses_a_prefix_that_is_none goes_away_again

exit $failed
