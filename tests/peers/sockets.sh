#!/bin/bash
# SPDX-License-Identifier: MIT
# `make bench-sockets`: our collectives over ofi where ranks share cores, beside a plain program of sockets that sends
# the same messages (sockets.c), in the same run. Exits with 1 if ours takes more than 1.2 times as long.
#
#   tests/peers/sockets.sh [BUILD]
#   SOCKETS_RANKS=6          SOCKETS_ROUNDS=5   rounds: each runs both programs, in an order that turns
#   SOCKETS_LARGEST=786432   the largest size, bytes; the smallest is 4 B a rank, the factor 32
#   SOCKETS_BAR=1.2          SOCKETS_YIELDS=0   times that the plain program gives its core away before it sleeps in poll(2)
#   SOCKETS_COLLECTIVES="allreduce ..."
#
# - The plain program plays the schedules of the algorithms that ours has chosen, and sums what they sum.
# - A cell's ratio is that of the medians; its interval is that of its rounds' ratios. It is over the bar if all of them
#   are. So is the whole if the geometric mean of all cells is.
# - BUILD/peers/sockets.csv (or in SOCKETS_FOLDER) has a line per cell. Run nothing else meanwhile.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build} ranks=${SOCKETS_RANKS:-6} rounds=${SOCKETS_ROUNDS:-5} largest=${SOCKETS_LARGEST:-786432}
bar=${SOCKETS_BAR:-1.2} yields=${SOCKETS_YIELDS:-0}
export CLAB_PACKETS=${CLAB_PACKETS:-auto} # as programs have it; bench would set it to off
collectives=${SOCKETS_COLLECTIVES:-allreduce broadcast reduce allgather reduce_scatter alltoall gather scatter}
home=${SOCKETS_FOLDER:-$build/peers} folder=${SOCKETS_FOLDER:-$build/peers}/sockets-$ranks cores=$(nproc)

die() { echo "bench-sockets: $*" >&2; exit "${2:-1}"; }

# run_ours ROUND IN_PLACE COLLECTIVE...: rows ours,ROUND,CELL,usec; and what was chosen: lines CELL ALGORITHM in `chosen`.
run_ours() {
    local round=$1 in_place=$2
    shift 2
    [ $# -gt 0 ] || return 0
    "$build/commlab" bench "$@" --backend ofi -n "$ranks" -b $((4 * ranks)) -e "$largest" -f 32 --check 0 --in-place "$in_place" \
        --seconds 0.05s --csv "$folder/ours.csv" >"$folder/ours.txt" 2>"$folder/err" || return 1
    awk -F, -v round="$round" -v chosen="$folder/chosen" '/^collective,/ { for (i = 1; i <= NF; i++) at[$i] = i; next }
        !/^#/ && ("usec" in at) { cell = $at["collective"] "-" $at["bytes"]; print cell, $at["algorithm"] >>chosen
                                  print "ours," round "," cell "," $at["usec"] }' "$folder/ours.csv"
}

# ours ROUND: the rows of all. The plain program's broadcast copies nothing at the root: so ours is in place.
ours() {
    : >"$folder/chosen"
    run_ours "$1" 1 $(grep -ow broadcast <<<"$collectives") && run_ours "$1" 0 ${collectives/broadcast/}
}

# write_schedules: a file CELL.goal for each line of `chosen`. `leaders` has a leader per core.
write_schedules() {
    local cell algorithm group=$((ranks % cores || ranks <= cores ? ranks : ranks / cores))
    while read -r cell algorithm; do
        "$build/commlab" show -c "${cell%-*}" "$algorithm" --ranks "$ranks" --group "$group" --lanes 1 --format goal \
            --bytes "${cell#*-}" --reduce 1ns/B -o "$folder/$cell.goal" >/dev/null || return 1
    done <"$folder/chosen"
}

# plain ROUND: rows plain,ROUND,CELL,usec.
plain() {
    (cd "$folder" && ./sockets "$yields" ./*.goal) 2>"$folder/err" | sed "s/^\.\/\(.*\)\.goal,/plain,$1,\1,/"
    return "${PIPESTATUS[0]}"
}

# step PROGRAM ROUND: its rows go to the samples; all its cells, or it has failed.
step() {
    "$1" "$2" >"$folder/rows" && [ "$(wc -l <"$folder/rows")" -eq "$(wc -l <"$folder/chosen")" ] ||
        die "$1 with $ranks ranks failed: $(tail -n 1 "$folder/err")"
    cat "$folder/rows" >>"$folder/samples"
}

rm -rf "$folder" && mkdir -p "$folder" || exit 1
${CC:-cc} -O3 -o "$folder/sockets" tests/peers/sockets.c -lpthread || die 'sockets.c can not be compiled' 3
ours 0 >/dev/null || die "commlab with $ranks ranks failed: $(tail -n 1 "$folder/err")" 3
write_schedules || die 'a schedule can not be written'
for ((round = 0; round < rounds; round++)); do
    [ ! -t 2 ] || printf '\rbench-sockets: round %s of %s' $((round + 1)) "$rounds" >&2
    order=(ours plain)
    ((round % 2)) && order=(plain ours)
    for program in "${order[@]}"; do step "$program" "$round"; done
done
[ ! -t 2 ] || printf '\r%40s\r' '' >&2

echo "# machine: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores cores; $ranks ranks, $rounds rounds; load: $(cut -d' ' -f1 /proc/loadavg)"
awk -F, -v bar="$bar" -v ranks="$ranks" -v cells="$home/sockets.csv" '
function sort(values, n,  i, j, x) {
    for (i = 2; i <= n; i++) {
        x = values[i]
        for (j = i - 1; j >= 1 && values[j] > x; j--) values[j + 1] = values[j]
        values[j + 1] = x
    }
}
function median_of(program, cell,  r, n, values) {
    for (r = 0; r < rounds; r++) values[++n] = usec[program, r, cell]
    sort(values, n)
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
{ usec[$1, $2, $3] = $4; if ($2 >= rounds) rounds = $2 + 1; if (!($3 in known)) { known[$3] = 1; order[++n] = $3 } }
END {
    print "# SPDX-License-Identifier: CC-BY-4.0" >cells
    print "collective,bytes,usec,plain_usec,ratio,ratio_low,ratio_high" >cells
    for (i = 1; i <= n; i++) {
        cell = order[i]
        a = median_of("ours", cell); b = median_of("plain", cell)
        low = high = usec["ours", 0, cell] / usec["plain", 0, cell]
        for (r = 1; r < rounds; r++) {
            x = usec["ours", r, cell] / usec["plain", r, cell]
            if (x < low) low = x
            if (x > high) high = x
        }
        split(cell, part, "-")
        over += (low > bar)
        sum += log(a / b)
        printf "%-15s %8d B  %9.1f us, plain %9.1f us: %.2f (%.2f to %.2f)%s\n", part[1], part[2], a, b, a / b, low, high, (low > bar ? "  over" : "")
        printf "%s,%s,%.4g,%.4g,%.4g,%.4g,%.4g\n", part[1], part[2], a, b, a / b, low, high >cells
    }
    mean = exp(sum / n)
    printf "%d ranks: %.2f of the plain program (geometric mean of %d cells); over %s times: %d\n", ranks, mean, n, bar, over
    print "cells: " cells
    exit over > 0 || mean > bar
}' "$folder/samples"
