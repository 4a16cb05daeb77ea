#!/bin/bash
# SPDX-License-Identifier: MIT
# How well predictions hold over wires of a known rate: hosts are network namespaces (netns.sh).
# Usage: wires.sh [BUILD].
#
#   WIRES="100mbit 1000mbit"   the wires, as tc has them
#   HOSTS=2                    a rank each
#
# For each wire: fit, from messages between two hosts alone, then all collectives by all algorithms, predicted and
# measured. What is said last is the median over all of them; the table is in BUILD/wires/RATE-HOSTS.csv.

. tests/cases.sh
. tests/netns.sh

folder=$build/wires
largest() { case $1 in *1000mbit | *gbit) echo 4M ;; *) echo 512K ;; esac; } # half a second a row, or so

# predict RATE HOSTS: the last lines of bench.
predict() {
    local net=$folder/$1.net csv=$folder/$1-$2.csv
    net_start 2 "$1" && net_job 2 --backend ofi -- "$commlab" fit --output "$net" && net_stop || return 1
    net_start "$2" "$1" && net_job "$2" --backend ofi -- "$commlab" bench all --algo all --net "$net" -b 8 \
        -e "$(largest "$1")" -f 8 --seconds 0.1s --in-place 0 --csv "$csv" || return 1
    echo "$1, $2 hosts: $(grep '^prediction:' "$scratch/out.0")"
}

missing=$(net_missing)
[ -z "$missing" ] || { echo "wires.sh: $missing" >&2; exit 3; }
mkdir -p "$folder" || exit 1
for rate in ${WIRES:-100mbit 1000mbit}; do
    predict "$rate" "${HOSTS:-2}" || { echo "wires.sh: $rate: $why" >&2; exit 1; }
done
