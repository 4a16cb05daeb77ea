#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab device: the rows, their units, and what it refuses. Usage: test_device.sh [BUILD].

. tests/cases.sh
subject=("$commlab" device --bytes 256K --seconds 1ms)

# Every time lies in its interval and is above 0; rates are bytes or operations over times.
prints_a_row_for_every_operation() {
    run 0 --csv "$scratch/rows.csv" || return 1
    why=$(grep -v '^#' "$scratch/rows.csv" | awk -F, '
        NR == 1 && $0 != "operation,type,size,usec,usec_low,usec_high,GBps,Tflops,percent" { print "columns: " $0 }
        NR == 1 { next }
        !($4 > 0 && $5 <= $4 && $4 <= $6 && $9 > 0) { print "row: " $0 }
        $1 == "gemm" && ($7 != "" || !($8 > 0)) || $1 != "gemm" && ($8 != "" || !($7 > 0)) { print "rate: " $0 }
        $1 == "copy" && $9 != 100 { print "copy: " $0 }
        $1 == "sgd" && ($7 * $4 * 1000 / (3 * 262144) - 1) ^ 2 > 1e-6 { print "bytes: " $0 }
        { seen[$1]++ }
        END { if (length(seen) != 11 || NR != 16) print NR - 1 " rows of " length(seen) " operations" }')
    [ -z "$why" ] && why=$(cat "$scratch/out") && grep -q '(Tflop/s)' "$scratch/out" &&
        grep -q '^# device: cpu' "$scratch/out"
}
refuses_what_is_no_size_or_time() {
    run 2 --bytes 1K && grep -q "bytes '1K' is not a size of 4K or more" "$scratch/err" &&
        run 2 --seconds 5 && grep -q "seconds '5' is not a time from 0s to 3600s with its unit" "$scratch/err" &&
        refuses 2 "there is no 'abacus'" --backend abacus --csv "$scratch/refused"
}
# Before anything is measured: nothing is printed.
refuses_a_file_that_can_not_be_written() { refuses 1 'can not be written' --csv "$scratch/none/rows.csv"; }
refuses_to_measure_within_a_job() {
    subject=("$commlab" run -n 2 "$commlab" device --bytes 256K)
    ! run 0 && why=$(cat "$scratch/err") && grep -q 'the job that this rank belongs to has 2 ranks' "$scratch/err"
}
explains_itself() { run 0 --help && grep -q 'Example: commlab device' "$scratch/out"; }

check prints_a_row_for_every_operation
check refuses_what_is_no_size_or_time
check refuses_a_file_that_can_not_be_written
check refuses_to_measure_within_a_job
check explains_itself
exit $failed
