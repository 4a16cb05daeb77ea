#!/bin/bash
# SPDX-License-Identifier: MIT
# Homework h5 as a student has it: the sheet's command line gives the grader's time, and the samples' figures are of
# today's simulator. Usage: test_h5_kit.sh [BUILD].

. tests/cases.sh
subject=("$commlab")
root=$PWD

# A copy of the kit's links, so that work/ is the test's own.
make_kit() {
    mkdir -p "$scratch/kit/build" && cp -r labs plots "$scratch/kit" && cp "$build/commlab" "$scratch/kit/build" &&
        ln -s build/commlab "$scratch/kit/commlab" && ln -s "$root/sim" "$scratch/kit/sim"
}

gives_its_files() {
    make_kit && subject=("$scratch/kit/commlab") && run 0 start h5 --student sample && ls "$scratch/kit/work/h5" >"$scratch/out" &&
        has out 'plan.ini\njob.ini\njob.model\ncluster.net\nstudent.txt\n'
}

# The command line of the sheet, on this student's files.
gives_the_graders_time_by_sim_train() {
    local line step
    line=$(sed -n '/sim train --model/,/--timeline/p' labs/homework/h5/h5.md | tr -d '\\\n' | sed 's/.*commlab //')
    (cd "$scratch/kit" && ./commlab $line) >"$scratch/train" 2>&1
    step=$(sed -n 's/.*a step takes //p' "$scratch/train")
    run 0 grade h5 "$scratch/kit/work/h5" --student sample
    why="'$step' of sim train, and $(cat "$scratch/train" "$scratch/out" | head -30)"
    [ -n "$step" ] && grep -q "^ *$step per step; as the job runs now $step," "$scratch/out"
}

# plan NAME HOSTS ADAPTERS RATE PLACEMENT MICRO OVERLAP BUCKET FIRST COMPRESS ALGORITHM
plan() {
    printf '[plan]\nhosts = %s\ngpus_per_host = 8\nadapters = %s\nrate = %s\nplacement = %s\nmicro_batch = %s\noverlap = %s
bucket = %s\nfirst_bucket = %s\ncompress = %s\nleaderboard = no\n[algorithms]\n64 KiB = leaders\nany = %s\n' "${@:2}" >"$scratch/$1.ini"
}

# Each line that the sample quotes of the first test is what the grader says of the plan.
is_graded_as_in() {
    run 0 grade h5 "$scratch/$1.ini" --student sample || return 1
    sed -n '/^## What the machine says/,/^ *links/p' "labs/homework/h5/sample-$1.md" | grep -E 'per step|computation|credits per hour$' |
        sed 's/^ *//; s/^own *[0-9.]*\/35 *//' >"$scratch/quoted"
    while read -r line; do
        why="no '$line' in: $(cat "$scratch/out")"
        grep -qF -- "$line" "$scratch/out" || return 1
    done <"$scratch/quoted"
    why="$(wc -l <"$scratch/quoted") lines quoted" && [ "$(wc -l <"$scratch/quoted")" -ge 3 ] || return 1
    why="not $2 of 35: $(cat "$scratch/out")" && grep -q "$2 of  35" "$scratch/out" && grep -q "own *$2/35" "labs/homework/h5/sample-$1.md"
}
sample_A_is_of_today() {
    plan A 8 2 fast packed 4 full '512 MiB' '256 MiB' powersgd:256 hierarchical && is_graded_as_in A 35.00
}
sample_C_is_of_today() {
    plan C 8 1 fast packed 4 full '64 MiB' '1 MiB' bf16 hierarchical && is_graded_as_in C 21.35
}

if lacks inih || lacks sodium; then
    skip "homework needs libinih and libsodium" gives_its_files
else
    check gives_its_files
    check gives_the_graders_time_by_sim_train
    check sample_A_is_of_today
    check sample_C_is_of_today
fi
exit $failed
