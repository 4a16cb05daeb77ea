#!/bin/bash
# SPDX-License-Identifier: MIT
# Lab 11 in virtual time: a table of short rows is not used, one of whole rows is, and a short row is refused by its line.
# Usage: test_lab_tuner.sh [BUILD].

. tests/cases.sh
. tests/labs.sh
programs=$build/labs/11-tuner

# value FILE QUANTITY
value() { awk -F, -v q="$2" '$1 == q { print $5 }' "$1"; }
runs() { # runs PROGRAM WORDS...: results in $scratch/PROGRAM
    rm -f "$scratch/$1"
    subject=()
    CLAB_RESULTS=$scratch/$1 run 0 timeout 60 "$programs/$1" -n 16 --backend sim "${@:2}"
}
a_table_of_short_rows_leaves_the_default() {
    runs before measured 8 512K && why=$(cat "$scratch/before") || return 1
    [ "$(value "$scratch/before" rows/kept/table)" = 0 ] &&
        awk -v r="$(value "$scratch/before" regret/chosen/524288)" 'BEGIN { exit !(r > 10 && r < 12) }'
}
a_measured_table_takes_the_best() {
    runs after measured 8 512K && why=$(cat "$scratch/after") || return 1
    [ "$(value "$scratch/after" rows/kept/table)" = 2 ] && [ "$(value "$scratch/after" regret/chosen/all)" = 1 ]
}
a_short_row_is_refused_with_its_line() {
    subject=()
    run 1 "$programs/after" -n 2 '# a table;allreduce,0,-1,ring,-1,-1' 8
    grep -q 'table, line 2: 6 fields, not 8' "$scratch/err"
}
a_table_that_is_not_there_is_refused() {
    subject=()
    run 2 "$programs/after" -n 2 none.csv 8
    grep -q 'none.csv: there is no such table; give a table' "$scratch/err"
}
check_each a_table_of_short_rows_leaves_the_default a_measured_table_takes_the_best a_short_row_is_refused_with_its_line \
    a_table_that_is_not_there_is_refused
exit $failed
