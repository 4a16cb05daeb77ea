#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab start h1 and grade h1: what a student types, with a small matrix of this machine. Usage: test_h1.sh [BUILD].

. tests/cases.sh
subject=("$commlab")
root=$PWD

# A copy of the kit's links, so that work/ is the test's own: an installed kit puts a student's files into the current
# folder, a kit of one's own beside itself.
make_kit() {
    mkdir -p "$scratch/kit/build" && cp -r labs plots "$scratch/kit" && cp "$build/commlab" "$scratch/kit/build" &&
        ln -s build/commlab "$scratch/kit/commlab" && ln -s "$root/sim" "$scratch/kit/sim"
}

gives_a_script_with_the_students_seed() {
    make_kit && subject=("$scratch/kit/commlab") && run 0 start h1 --student ada && why=$(cat "$scratch/out" "$scratch/err") &&
        [ -s "$scratch/kit/work/h1/measure.sh" ] && [ -s "$scratch/kit/work/h1/claims.csv" ] || return 1
    sh -n "$scratch/kit/work/h1/measure.sh" || return 1
    seed=$(sed -n 's/.*--seed \([0-9]*\).*/\1/p' "$scratch/kit/work/h1/measure.sh")
    rm -r "$scratch/kit/work" && run 0 start h1 --student bob
    why="ada and bob have the same seed, $seed"
    [ -n "$seed" ] && ! grep -q -- "--seed $seed " "$scratch/kit/work/h1/measure.sh"
}

grades_what_was_measured_with_that_seed() {
    local folder=$scratch/h1
    mkdir -p "$folder" && cp labs/homework/h1/starter/* "$folder" && subject=("$commlab") &&
        run 0 bench --matrix --backend shm --num-processes 2 --data-sizes 8B 1 --num-iters 8 --budget 10s --seed "$seed" \
            --output "$folder/matrix.csv" || return 1
    value=$(awk -F, '$3 == "shm" && $5 == 8 { printf "%.4g", $12 }' <(grep -v '^#' "$folder/matrix.csv"))
    printf 'quantity,of,against,value,unit\ntime,shm/2/8,,%s,us\n' "$value" >"$folder/claims.csv"
    run 0 grade h1 "$folder" --student ada && why=$(cat "$scratch/out") && grep -q 'shm has 2 of 15 cells' "$scratch/out" &&
        grep -q '2 of 2 rows agree with their samples' "$scratch/out" &&
        grep -q '2 of 2 rows are measurements of their own' "$scratch/out" && grep -q '1 of 5 claims count' "$scratch/out"
}

sees_that_the_data_are_anothers() {
    run 0 grade h1 "$scratch/h1" --student bob && why=$(cat "$scratch/out") && grep -q 'another seed than yours' "$scratch/out"
}

says_what_the_starter_lacks() {
    run 0 grade h1 labs/homework/h1/starter --student ada && why=$(cat "$scratch/out") &&
        grep -q 'there is no matrix.csv in what you hand in' "$scratch/out"
}

check_with sodium gives_a_script_with_the_students_seed grades_what_was_measured_with_that_seed \
    sees_that_the_data_are_anothers says_what_the_starter_lacks
exit $failed
