#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs in virtual time: what they print is the same each time, with many ranks and on a machine that is busy; the
# bench meets its prediction; labs run as they are, the same twice, and as recorded. Takes long.
# Usage: test_virtual_run.sh [BUILD].
#
# Without CLAB_TEST_FULL=1, without the labs that take longest, and with four runs under load for ten.

. tests/cases.sh
. tests/labs.sh
ring=$build/labs/07-ring-vs-tree/after

# same N COMMAND...: N runs of it print the same bytes.
same() {
    local n=$1 i
    shift
    for ((i = 0; i < n; i++)); do
        run 0 "$@" || return 1
        [ $i -eq 0 ] && cp "$scratch/out" "$scratch/first"
        why="run $i differs: $(diff "$scratch/first" "$scratch/out" | head -n 4)"
        cmp -s "$scratch/first" "$scratch/out" || return 1
    done
    why='it printed nothing'
    [ -s "$scratch/first" ]
}

runs_under_load_print_the_same() {
    timeout 60 sh -c 'while :; do :; done' &
    local load=$!
    same $(is_full && echo 10 || echo 4) "$ring" -n 16 --backend sim --net dgx-h100 8 4096
    local status=$?
    kill $load
    wait $load 2>/dev/null
    return $status
}

sixty_four_ranks_print_the_same() { same 2 "$ring" -n 64 --backend sim --net superpod-h100 64 4100; }
run_starts_them_as_well() { same 2 "$commlab" run -n 12 --backend sim --net 10gbe --straggle 3=2 -- "$ring" 64; }
has_no_need_of_a_network() { writes 'time/ring/8' "$ring" -n 2 --backend sim 8; }
names_networks_that_there_are() {
    run 1 "$ring" -n 2 --backend sim --net no-such && grep -q 'commlab nets' "$scratch/err"
}

is_asked_for_with_a_network() { run 2 "$ring" -n 2 --net 10gbe 8 && grep -q -- '--backend sim' "$scratch/err"; }
is_not_fitted() { refuses 2 'nothing to measure' "$commlab" fit --backend sim; }

bench_meets_its_prediction() {
    same 2 "$commlab" bench all -n 16 --backend sim --net dgx-h100 -b 4K -e 64K -f 16 || return 1
    why="$(tail -n 1 "$scratch/out")"
    grep -q '^prediction: median |error| 0.0 %' "$scratch/out"
}

# Twice the same, all but what it says of the machine; the first call lasts as long as is predicted; nothing is
# measured.
trace_is_of_virtual_time() {
    local i dur predicted
    for i in 1 2; do
        run 0 "$ring" -n 4 --backend sim --net dgx-h100 --trace "$scratch/t.json" 8 4096 || return 1
        sed 's/"otherData".*//' "$scratch/t.json" >"$scratch/t$i"
        why="run 2 differs: $(cmp "$scratch/t1" "$scratch/t$i")"
        cmp -s "$scratch/t1" "$scratch/t$i" || return 1
    done
    dur=$(grep -o '"name":"allreduce (ring)","ts":[.0-9]*,"dur":[0-9.]*' "$scratch/t.json" | sed -n '1s/.*://p')
    run 0 "$commlab" sim allreduce --algo ring --ranks 4 --bytes 8 --net dgx-h100 --json || return 1
    predicted=$(sed -n 's/.*"seconds": \([-0-9.e]*\).*/\1/p' "$scratch/out" | head -n 1)
    why="the first call lasts $dur us, predicted are $predicted s"
    awk -v a="$dur" -v b="$predicted" 'BEGIN { exit !(a > 999e3 * b && a < 1001e3 * b) }' || return 1
    run 0 "$commlab" trace "$scratch/t.json" || return 1
    why="$(cat "$scratch/out")"
    grep -q 'rank 3 (simulated)' "$scratch/out" && ! grep -q measured "$scratch/out" &&
        grep -q '"clocks":"virtual time, on dgx-h100"' "$scratch/t.json"
}

# Each quantity of the lab whose CSV file this is was predicted to within 2 %: within a node, ranks leave a barrier at
# the same time, and the closed forms hold.
is_predicted() {
    why="$(awk -F, '/^#/ { next } !residual { for (i = 1; i <= NF; i++) if ($i == "residual_pct") residual = i; next }
        $residual != "" { n++; if ($residual > 2 || $residual < -2) print $2, $6, $residual "% off" }
        END { if (n < 8) print n + 0 " predictions" }' "$1")"
    [ -z "$why" ]
}

# Of the table in $scratch/out, every value is within the tolerance of lab.conf: among nodes, ranks leave a barrier one
# after another, which the closed forms do not have.
keeps_its_tolerances() {
    why=$(sed -nE 's/^# (.*): ([0-9]+) of ([0-9]+) predictions are (off by at most|exact).*/\2 \3 \1/p' "$scratch/out" |
        awk '{ n++ } $1 != $2 { print $3 ": " $1 " of " $2 " within its tolerance" } END { if (!n) print "no predictions" }')
    [ -z "$why" ]
}

# lab_on_sim NN RANKS ...: without its sweep.
lab_on_sim() {
    run 0 "$commlab" lab "$1" --backend sim --net dgx-h100 -n "$2" --no-sweep --no-plot --results "$scratch" "${@:3}"
}

# Twice the same, all but the command and the date.
lab_of_64_ranks_prints_the_same() {
    same 2 "$commlab" lab 07 --backend sim --net dgx-h100 -n 64 --sizes 8,4096 --no-sweep --no-plot \
        --results "$scratch" && keeps_its_tolerances &&
        lab_on_sim 07 8 --sizes 8,4096 && is_predicted "$scratch/07-sim-dgx-h100-8.csv"
}
lab_01_runs() {
    same 2 "$commlab" lab 01 --backend sim --net dgx-h100 -n 16 --iterations 1,4 --no-sweep --no-plot \
        --results "$scratch" && lab_on_sim 01 8 --iterations 1,4 && is_predicted "$scratch/01-sim-dgx-h100-8.csv"
}

# The monitored barrier, in a node and on eight: the straggler comes after rank 0 has heard the others, and before. (Of
# its time on eight nodes most is real work, so that one amount is enough there.)
lab_06_is_predicted() {
    lab_on_sim 06 8 --iterations 1600,6400 && is_predicted "$scratch/06-sim-dgx-h100-8.csv" &&
        lab_on_sim 06 64 --iterations 1600 && keeps_its_tolerances
}

# ---- every lab -----------------------------------------------------------------------------------------------------

# same_rows EXPECTED GOT: the same rows, and numbers that differ by rounding at most.
same_rows() {
    why=$(awk -F, '
        function is_near(a, b) { return a + 0 == a && b + 0 == b && (a - b) ^ 2 <= 1e-12 * (a ^ 2 + b ^ 2) + 1e-18 }
        function differ(a, b) { return a != b && !is_near(a, b) }
        /^#/ { next }
        FNR == NR { rows[++n] = $0; next }
        { if (split(rows[++i], e, ",") != NF) { print "row " i " is " $0 ", not " rows[i]; exit }
          for (c = 1; c <= NF; c++)
              if (c != 12 && differ(e[c], $c)) { print "row " i " is " $0 ", not " rows[i]; exit } }
        END { if (i != n) print i " rows, not " n }' "$1" "$2")
    [ -z "$why" ]
}

# rows_of RANKS FILE: those of a lab's CSV that are of so many ranks.
rows_of() { awk -F, -v ranks="$1" '!/^#/ && $5 == ranks' "$2"; }

# lab_is_the_same_on_sim FOLDER: the same rows twice, and what its expected/ says, with the ranks that those have. Where
# no byte differs from what was recorded, that was the first time. If some do, by rounding, it is run once more, without
# its sweep: a row in a lab's own number of ranks depends on none of another.
lab_is_the_same_on_sim() {
    local id=${1#labs/} expected ranks csv on_sim
    id=${id%%-*}
    expected=$(ls "$1"/expected/"$id"-sim-dgx-h100-*.csv 2>/dev/null | sort -V | head -n 1)
    why="$1 has no recorded run on sim: labs/record.sh $id"
    [ -n "$expected" ] || return 1
    ranks=${expected##*-}
    ranks=${ranks%.csv}
    csv=$scratch/sim/$id-sim-dgx-h100-$ranks.csv
    on_sim=("$commlab" lab "$id" --backend sim --net dgx-h100 -n "$ranks" --no-plot --results)
    run 0 "${on_sim[@]}" "$scratch/sim" && fits_120_columns && same_rows "$expected" "$csv" || return 1
    ! cmp -s <(grep -v '^#' "$expected") <(grep -v '^#' "$csv") || return 0
    run 0 "${on_sim[@]}" "$scratch/again" --no-sweep || return 1
    rows_of "$ranks" "$csv" >"$scratch/run1" && rows_of "$ranks" "$scratch/again/${csv##*/}" >"$scratch/run2"
    why="two runs differ: $(diff "$scratch/run1" "$scratch/run2" | head -n 4)"
    cmp -s "$scratch/run1" "$scratch/run2" && [ -s "$scratch/run1" ]
}

# The whole file, with its headers and its sweep, of a lab that takes little time: the same bytes, when it is run once
# more.
is_the_same_file_twice_on_sim() {
    local csv=$scratch/sim/07-sim-dgx-h100-8.csv
    cp "$csv" "$scratch/run1" || return 1
    run 0 "$commlab" lab 07 --backend sim --net dgx-h100 -n 8 --no-plot --results "$scratch/sim" || return 1
    why="two runs differ: $(diff "$scratch/run1" "$csv" | head -n 4)"
    cmp -s "$scratch/run1" "$csv"
}

# Lab 06, of eight ranks of one node: rank 7 is named, and late by what it was given; before blames another.
names_the_straggler_exactly_on_sim() {
    local csv=$scratch/sim/06-sim-dgx-h100-8.csv
    counts 0 "$csv" '$2 == "after" && $6 ~ "^named/" && $8 != $5 - 1' &&
        counts 0 "$csv" '$2 == "before" && $6 ~ "^named/" && $8 == $5 - 1' || return 1
    why=$(awk -F, '$2 == "after" && $6 ~ "^injected/" { given[$5 substr($6, 10)] = $8 }
        $2 == "after" && $6 ~ "^lateness/" { late[$5 substr($6, 10)] = $8; n += $5 <= 8 }
        $2 == "after" && $6 ~ "^lost/" && $5 <= 8 { lost[$5 substr($6, 6)] = $8 / ($5 - 1) }
        END { for (key in late) if ((late[key] / given[key] - 1) ^ 2 > 0.05 ^ 2) print key ": late by " late[key]
              for (key in lost) if ((lost[key] / given[key] - 1) ^ 2 > 1e-12) print key ": each lost " lost[key]
              if (n < 2) print "few rows" }' "$csv")
    [ -z "$why" ]
}
# Lab 00: nothing differs from itself there.
is_exact_on_sim() {
    counts 0 "$scratch/sim/00-sim-dgx-h100-8.csv" '$7 == "%" && $8 != 0 || $6 == "pairs_for_5pct" && $8 != 1'
}

check_with inih runs_under_load_print_the_same sixty_four_ranks_print_the_same run_starts_them_as_well \
    has_no_need_of_a_network is_asked_for_with_a_network is_not_fitted names_networks_that_there_are \
    bench_meets_its_prediction lab_of_64_ranks_prints_the_same lab_01_runs lab_06_is_predicted
check_with 'inih jansson' trace_is_of_virtual_time
if lacks inih; then
    skip 'built without inih, so lab.conf can not be read' labs_are_the_same_on_sim
else
    for folder in labs/[0-9][0-9]-*; do
        if ! is_full && [[ $folder == labs/@(02|03|04|05|06|08|10|11|12)-* ]]; then
            leave_out 1
            continue
        fi
        check "${folder#labs/} is the same twice in virtual time, and as recorded" lab_is_the_same_on_sim "$folder"
    done
    check_each is_the_same_file_twice_on_sim is_exact_on_sim
    check_full names_the_straggler_exactly_on_sim # by lab 06
fi

exit $failed
