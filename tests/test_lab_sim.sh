#!/bin/bash
# SPDX-License-Identifier: MIT
# Labs in virtual time give the rows that were recorded, on any machine: labs/NN-name/expected/NN-sim-NET-RANKS.csv. Where
# a change is meant, `labs/record.sh --sim NN` records them anew.
# Usage: test_lab_sim.sh [BUILD].

. tests/cases.sh

# gives_what_was_recorded FILE
gives_what_was_recorded() {
    local name lab net ranks
    name=$(basename "$1" .csv)
    IFS=- read -r lab _ net <<<"$name"
    ranks=${net##*-}
    net=${net%-*}
    rm -rf "$scratch/results"
    run 0 "$commlab" lab "$lab" --backend sim --net "$net" -n "$ranks" --no-plot --results "$scratch/results" || return 1
    why=$(diff <(grep -v '^#' "$1") <(grep -v '^#' "$scratch/results/$name.csv") | head -n 4 | tr '\n' ' ')
    [ -z "$why" ] && [ "$(grep -vc '^#' "$1")" -gt 1 ]
}

run 0 "$commlab" lab 05 --backend sim -n 1 --pairs 1 --no-plot --results "$scratch/results"
if grep -q 'without inih' "$scratch/err"; then
    skip 'built without inih, so lab.conf can not be read' all
    exit 0
fi
for file in labs/*/expected/*-sim-*.csv; do
    check "$(basename "$file" .csv)" gives_what_was_recorded "$file"
done
exit $failed
