#!/bin/bash
# SPDX-License-Identifier: MIT
# Records runs of labs as what is to be expected of them: labs/NN-name/expected/ gets the CSV of each, which names the
# machine, and the table and the figure of one. For a quiet machine with a fresh profile (make fit).
#
#   labs/record.sh NN...                  again all that is recorded: each CSV says by which command. Of a lab without
#                                         any: this machine, and 8 ranks in virtual time, which
#                                         test_virtual_run.sh holds.
#   labs/record.sh NN -- --emulate 1gbe   one more variant, or that one again; the others stay.
#
# run.txt is the table of the run whose CSV it names (`# data:`), or else of the first; figure.svg is that run's figure.
set -eu
cd "$(dirname "$0")/.."
usage() { echo 'usage: labs/record.sh NN... [-- OPTIONS OF commlab lab]' >&2; exit 2; }

labs=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    labs+=("$1")
    shift
done
[ ${#labs[@]} -gt 0 ] || usage
[ $# -eq 0 ] || { shift && [ $# -gt 0 ] && [ ${#labs[@]} -eq 1 ]; } || usage

licence='# SPDX-License-Identifier: CC-BY-4.0'
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT

# options_of LAB FOLDER: of each run that is recorded, a line each.
options_of() {
    local file
    for file in "$2"/*.csv; do
        [ -e "$file" ] || { printf '%s\n' '' '--backend sim --net dgx-h100 -n 8 --no-plot'; return; }
        sed -n "s/^# command: .*commlab lab $1 *//p" "$file" | head -n 1
    done
}

# record LAB FOLDER OPTIONS...: into $fresh. run.txt is that of the CSV that FOLDER's run.txt names, or else the first.
record() {
    local output csv name
    output=$(./commlab lab "$1" "${@:3}")
    csv=$(sed -n 's/^# data: //p' <<<"$output")
    name=$(basename "$csv")
    { echo "$licence"; cat "$csv"; } >"$fresh/$name"
    echo "$name: $(grep -c '^# warning' <<<"$output" || true) warnings"
    if [ ! -e "$2/run.txt" ] && [ ! -e "$fresh/run.txt" ] || grep -qs "^# data: .*/$name$" "$2/run.txt"; then
        { echo "$licence"; echo "$output"; } >"$fresh/run.txt"
        figure=$(sed -n 's/^# figure: \(.*\.svg\).*/\1/p' <<<"$output")
        [ -z "$figure" ] || sed '1a <!-- SPDX-License-Identifier: CC-BY-4.0 -->' "$figure" >"$fresh/figure.svg"
    fi
}

for lab in "${labs[@]}"; do
    folder=$(echo labs/"$lab"-*)/expected
    [ -d "${folder%/expected}" ] || usage
    rm -f "$fresh"/*
    if [ $# -gt 0 ]; then
        record "$lab" "$folder" "$@"
        mkdir -p "$folder"
    else
        options_of "$lab" "$folder" >"$fresh/options"
        while read -ra options <&3; do
            record "$lab" "$folder" "${options[@]}"
        done 3<"$fresh/options"
        rm "$fresh/options"
        mkdir -p "$folder"
        rm -f "$folder"/*.csv # of other names than now
    fi
    cp "$fresh"/* "$folder"/
done
