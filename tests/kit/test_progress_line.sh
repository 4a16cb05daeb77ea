#!/bin/bash
# SPDX-License-Identifier: MIT
# What takes over two seconds shows a line on a terminal, and nothing of it elsewhere. Usage: test_progress_line.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$commlab")

# shows WORDS ARGS...: on a terminal they are in a line that is taken away again; without one there is none.
shows() {
    local words=$1
    shift
    why=$(script -qec "$commlab $*" /dev/null </dev/null)
    grep -qF -- "$words" <<<"$why" && grep -qF -- $'\e[K' <<<"$why" || return 1
    run 0 "$@" || return 1
    why="without a terminal: $(cat "$scratch/out" "$scratch/err")"
    ! grep -qF -- $'\e[K' "$scratch/out" "$scratch/err"
}

a_lab_says_which_pair_runs() {
    shows 'lab 07: 8 ranks, pair 1 of 1' lab 07 --backend sim --net dgx-h100 -n 8 --sizes 8 --no-plot --results "$scratch/r"
}
a_check_says_which_case_runs() { shows '  case 1: ' check 01 --source labs/01-reinit-comm/after.c; }
a_sweep_says_that_it_computes() {
    shows 'computing times' sim sweep --net 10gbe --ranks 2 --bytes 8 --csv "$scratch/s.csv" --no-plot
}
a_device_says_what_is_timed() { shows 'device: copy' device --bytes 1M --seconds 0.001s; }
doctor_says_that_it_looks() { shows 'doctor: looking at' doctor; }
fit_says_how_far_it_is() {
    CLAB_PROFILE=$scratch/profile why=$(CLAB_PROFILE=$scratch/profile script -qec "$commlab fit --seconds 1s" /dev/null </dev/null)
    grep -qE 'fit: +[0-9]+ %' <<<"$why"
}
a_proof_says_how_far_it_is() { shows 'verify: allreduce ring, 16 of 20 ranks' verify ring --ranks 1-20; }
a_figure_says_that_it_is_drawn() {
    shows 'drawing 07-' report labs/07-ring-vs-tree/expected --output "$scratch/report"
}

if ! command -v script >/dev/null; then
    skip 'there is no script, which makes a terminal' all
    exit 0
fi
check_each a_device_says_what_is_timed a_proof_says_how_far_it_is doctor_says_that_it_looks fit_says_how_far_it_is
check_with inih a_lab_says_which_pair_runs a_check_says_which_case_runs a_sweep_says_that_it_computes
check_having gnuplot a_figure_says_that_it_is_drawn
exit $failed
