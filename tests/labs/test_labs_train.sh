#!/bin/bash
# SPDX-License-Identifier: MIT
# Labs 03 and 08 as a student runs them, on all that they run on: counted bytes, equal results, and predictions in
# virtual time. (That they give the same twice there, and what is recorded, is test_virtual_run.sh's.)
# Usage: test_labs_train.sh [BUILD]. Takes long.

. tests/cases.sh

lab() {
    local id=$1
    shift
    run 0 "$commlab" lab "$id" --no-plot --results "$scratch/results" "$@"
}
rows() { grep -v '^#' "$scratch/results/$1" | tail -n +2; }

# value FILE PROGRAM QUANTITY RANKS [COLUMN]: of that row.
value() {
    rows "$1" | awk -F, -v p="$2" -v q="$3" -v n="$4" -v c="${5:-8}" '$2 == p && $6 == q && $5 == n { print $c; exit }'
}


# On any machine: S and X of a network of four layers 16 wide, by hand: 4 * 17 * 16 * 4 B and 16 * 16 * 4 B.
counts_bytes_through_rank_0() {
    local csv=03-shm-1gbe-2.csv
    lab 03 --pairs 1 --sizes 16 -n 2 || return 1
    [ "$(value "$csv" before bytes_of_zero/through_zero/16 2)" = 11776 ] &&
        [ "$(value "$csv" before bytes_of_zero/through_zero/16 4)" = 35328 ] &&
        [ "$(value "$csv" before bytes_of_other/through_zero/16 4)" = 11776 ] &&
        [ "$(value "$csv" after bytes_of_zero/replicas/16 2)" = 8704 ] &&
        [ "$(value "$csv" after bytes_of_zero/replicas/16 4)" = 13056 ]
}

runs_on() { # BACKEND: both labs, small; unless CLAB_TEST_FULL is set, lab 03
    lab 03 --backend "$1" --emulate none --pairs 1 --sizes 16 -n 2 --no-sweep || return 1
    ! is_full ||
        lab 08 --backend "$1" --emulate none --pairs 1 --options '4 16 4 2' --sizes 1,4096 -n 2
}
runs_on_ofi() { runs_on ofi; }
runs_over_an_emulated_wire() {
    lab 03 --emulate 10gbe --pairs 1 --sizes 16 -n 2 --no-sweep &&
        lab 08 --emulate 10gbe --pairs 1 --options '4 16 4 2' --sizes 1,4096 -n 2
}

# A program's times in virtual time are what was predicted, to where ranks leave a barrier one after another.
lab_03_predicts_what_sim_measures() {
    lab 03 --backend sim --net dgx-h100 -n 8 --no-sweep || return 1
    why="off: $(rows 03-sim-dgx-h100-8.csv | awk -F, '$6 ~ /^time/ && $2 != "after/before" && $12 ^ 2 > 4')"
    [ "$why" = 'off: ' ]
}
lab_08_predicts_what_sim_measures() {
    lab 08 --backend sim --net dgx-h100 -n 8 || return 1
    why="off: $(rows 08-sim-dgx-h100-8.csv |
        awk -F, '$6 ~ /^time/ && $2 != "after/before" && $11 != "" && $12 ^ 2 > 16')"
    [ "$why" = 'off: ' ]
}

says_which_arguments_it_wants() {
    run 2 "$build/labs/08-buckets/before" -n 1 4 16 && grep -q 'give LAYERS WIDTH ROWS REPEAT' "$scratch/err"
}
# too_much WORDS ARGS...: one line of all ranks, beside the launcher's that says which one ended first.
too_much() {
    local words=$1
    shift
    run 2 "$@" || return 1
    why="not one line with '$words': $(cat "$scratch/err")"
    sed -i '/exited with status 2$/d' "$scratch/err"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -qF -- "$words" "$scratch/err"
}
says_how_much_is_too_much() {
    local program
    for program in before after; do
        too_much "'300': give LAYERS" "$build/labs/08-buckets/$program" -n 2 300 64 1 1 &&
            too_much "'5000': give BYTES" "$build/labs/05-fragmentation/$program" -n 2 8M 5000 || return 1
    done
}

if grep -q '✗ inih' "$build/probes.txt"; then
    skip 'built without inih, so lab.conf can not be read' all
    exit 0
fi
check_each counts_bytes_through_rank_0
if grep -q '✓ libfabric' "$build/probes.txt"; then
    leave_out 1
    check runs_on_ofi
else
    skip 'this build has no backend ofi' runs_on_ofi
fi
check_each runs_over_an_emulated_wire lab_03_predicts_what_sim_measures lab_08_predicts_what_sim_measures \
    says_which_arguments_it_wants says_how_much_is_too_much
exit $failed
