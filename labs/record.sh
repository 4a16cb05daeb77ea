#!/bin/bash
# SPDX-License-Identifier: MIT
# Records a run of a lab as what is to be expected of one: labs/NN-name/expected/ gets its table and its CSV, which
# names the machine, and the CSV of 8 ranks in virtual time, which test_lab.sh holds. For a quiet machine with a fresh
# profile (make fit).
#
#   labs/record.sh NN...
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo 'usage: labs/record.sh NN...' >&2; exit 2; }

licence='# SPDX-License-Identifier: CC-BY-4.0'
for lab; do
    output=$(./commlab lab "$lab")
    csv=$(sed -n 's/^# data: //p' <<<"$output")
    virtual=$(./commlab lab "$lab" --backend sim --net dgx-h100 -n 8 --no-plot | sed -n 's/^# data: //p')
    folder=$(echo labs/"$lab"-*)/expected
    mkdir -p "$folder"
    rm -f "$folder"/*
    { echo "$licence"; echo "$output"; } >"$folder/run.txt"
    for file in "$csv" "$virtual"; do
        { echo "$licence"; cat "$file"; } >"$folder/$(basename "$file")"
    done
    echo "$folder: $(grep -c '^# warning' <<<"$output" || true) warnings"
done
