#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab accuracy` as its users meet it: the closing lines, files that are judged again, and what it refuses.
# Usage: test_accuracy.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$commlab" accuracy)
number='-?[0-9]+\.[0-9]'

# The last four lines are what a script reads.
has_its_closing_lines() {
    local lines
    lines=$(tail -n 4 "$scratch/out")
    why=$lines
    sed -n 1p <<<"$lines" | grep -qE "^held-out algorithms: median $number %, p95 $number %\$" &&
        sed -n 2p <<<"$lines" | grep -qE "^held-out sizes: median $number %, p95 $number %\$" &&
        sed -n 3p <<<"$lines" | grep -qE "^choice: right $number %, mean regret $number %\$" &&
        sed -n 4p <<<"$lines" | grep -qE "^noise floor: $number %\$"
}

measures_predicts_and_ends_with_four_lines() {
    run 0 -e $(is_full && echo 16 || echo 8) --seconds 0 --net 1gbe --no-plot && has_its_closing_lines
}
judges_files_again() {
    for round in 1 2; do
        "$commlab" bench broadcast scatter --algo all -n 2 -b 8 -e 64 -f 2 --seconds 0 --iters 1 -w 1 --net 1gbe \
            --csv "$scratch/$round.csv" >"$scratch/out" 2>&1 || return 1
    done
    run 0 --net 1gbe --no-plot "$scratch/1.csv" "$scratch/2.csv" && has_its_closing_lines &&
        grep -qE '^broadcast +64 ' "$scratch/out" && # 4 algorithms, 4 sizes, 2 placements, 2 rounds
        grep -qE "^  of held-out sizes +64 +$number %" "$scratch/out" # three sizes of broadcast, two of scatter
}
says_what_is_not_known_of_rows_that_were_measured_once() {
    run 0 --net 1gbe --no-plot "$scratch/1.csv" && why=$(tail -n 2 "$scratch/out") &&
        grep -qx 'noise floor: -' "$scratch/out"
}
refuses_files_without_a_network() { refuses 2 "say by --net what predicts the rows of these files" "$scratch/none.csv"; }
refuses_what_is_no_bench() {
    printf 'a,b\n1,2\n' >"$scratch/other.csv"
    refuses 2 "other.csv: not a result of" --net 1gbe --no-plot "$scratch/other.csv"
}
# One core is too few to fit shared memory by: as of a backend that the machine lacks, 3, which `make accuracy` goes on
# from.
lacks_what_its_fit_lacks() {
    local core
    core=$(taskset -cp $$ | sed 's/.*: *//; s/[,-].*//')
    subject=(taskset -c "$core" "$commlab")
    run 3 fit -o "$scratch/refused" && run 3 accuracy -e 16 --seconds 0 --no-plot
    local status=$?
    subject=("$commlab" accuracy)
    [ $status -eq 0 ] || return 1
    why="not one line on stderr: $(cat "$scratch/err")"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q '^commlab: error: fit: two ranks need two cores' "$scratch/err"
}
refuses_a_backend_that_nobody_has() { refuses 2 "there is no 'x'" --backend x; }
refuses_a_network_that_nobody_has() { refuses 2 "no network 'x'" --net x -e 8 --no-plot; }
# Once, before ranks are started.
fit_refuses_what_it_can_not_do() {
    subject=("$commlab" fit)
    refuses 2 "there is no 'x'" --backend x -o "$scratch/refused" &&
        refuses 1 "$scratch/none/x: can not be written" -o "$scratch/none/x" &&
        refuses 1 "$scratch/none/y: can not be written" -o "$scratch/refused" --samples "$scratch/none/y"
    local status=$?
    subject=("$commlab" accuracy)
    return $status
}
says_what_it_will_do_on_a_network() {
    run 0 -e 8 --seconds 0 --net 1gbe --no-plot && ! grep -q '^# fits' "$scratch/out"
}
refuses_one_rank() { refuses 2 "-n '1'" -n 1; }

check_with inih measures_predicts_and_ends_with_four_lines judges_files_again \
    says_what_is_not_known_of_rows_that_were_measured_once lacks_what_its_fit_lacks \
    refuses_a_backend_that_nobody_has refuses_a_network_that_nobody_has \
    refuses_what_is_no_bench
is_full && check_with inih says_what_it_will_do_on_a_network || leave_out 1
check_each fit_refuses_what_it_can_not_do refuses_files_without_a_network refuses_one_rank
exit $failed
