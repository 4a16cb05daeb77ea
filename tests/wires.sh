#!/bin/bash
# SPDX-License-Identifier: MIT
# How well predictions hold over wires of a known rate: hosts are network namespaces (netns.sh).
# Usage: wires.sh [BUILD].
#
#   WIRES="100mbit 1000mbit"   the wires, as tc has them; 10mbit and more, or fit does not end in its time
#   HOSTS="2"                  a rank each, one number or several; beyond the cores of this machine, hosts share them
#
# For each wire and number of hosts: fit, from messages between two hosts alone, then all collectives by all algorithms,
# predicted and measured. A line says how far off predictions are; the table is in BUILD/wires/RATE-HOSTS.csv.

. tests/cases.sh
. tests/netns.sh

folder=$build/wires

# Half a second a row, or so; of more hosts less, which have more to send.
largest() {
    case $1/$2 in
    *1000mbit/2 | *gbit/2) echo 4M ;;
    10mbit/2) echo 64K ;;
    */2) echo 512K ;;
    *1000mbit/* | *gbit/*) echo 256K ;;
    *) echo 32K ;;
    esac
}

# predict RATE HOSTS: the last lines of bench.
predict() {
    local net=$folder/$1.net csv=$folder/$1-$2.csv
    net_start 2 "$1" && net_job 2 --backend ofi -- "$commlab" fit --output "$net" && net_stop || return 1
    net_start "$2" "$1" && net_job "$2" --backend ofi -- "$commlab" bench all --algo all --net "$net" -b 8 \
        -e "$(largest "$1" "$2")" -f 8 --seconds 0.1s --in-place 0 --csv "$csv" || return 1
    echo "$1, $2 hosts: $(grep -E '^prediction:|^other programs' "$scratch/out.0" | tac | paste -sd' ')"
}

missing=$(net_missing)
[ -z "$missing" ] || { echo "wires.sh: $missing" >&2; exit 3; }
mkdir -p "$folder" || exit 1
for rate in ${WIRES:-100mbit 1000mbit}; do
    for hosts in ${HOSTS:-2}; do
        predict "$rate" "$hosts" || { echo "wires.sh: $rate, $hosts hosts: $why" >&2; exit 1; }
    done
done
