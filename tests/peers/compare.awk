# SPDX-License-Identifier: MIT
# Compares our times with the best peer's, cell by cell. Input: samples.csv of tests/peers/bench.sh.
# Variables: least_usec (half a round trip of a cache line), bytes_per_usec (the fastest copy of one core), cells (the file).
#
# - A ratio is ours over the best peer's of the same round. A cell's is the median of its rounds; its range is all of them.
# - Peers of a round whose cores were at another distance do not count in it; a round without peers does not count.
# - limit: no program can be faster than half a round trip and the copy of what one rank receives.

# Sorts values[1..n].
function sort(values, n,  i, j, x) {
    for (i = 2; i <= n; i++) {
        x = values[i]
        for (j = i - 1; j >= 1 && values[j] > x; j--)
            values[j + 1] = values[j]
        values[j + 1] = x
    }
}

function median(values, n) {
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}

# The bytes that the rank receives that receives most.
function received(collective, bytes, ranks) {
    return collective ~ /^(allgather|reduce_scatter|alltoall|gather)$/ ? bytes * (ranks - 1) / ranks : \
           collective == "scatter" ? bytes / ranks : bytes
}

# Whether the two cores were about as far from each other for both programs, as far as that is known. (Near and far differ
# by a factor of four here; what programs measure of the same distance, by less than two.)
function is_as_far(ours, peer, key, round,  a, b) {
    a = line[ours, key, round]
    b = line[peer, key, round]
    return !(a > 0 && b > 0) || (a < 2 * b && b < 2 * a)
}

# The cell of `ours` and the key ranks,collective,bytes: a line of cells.csv, and its ratio for the sums.
function compare(ours, key,  part, n, round, ratio, best, values, times, limit, peer) {
    split(key, part, SUBSEP)
    n = 0
    for (round = 0; round < rounds; round++) {
        best = 0
        for (peer in is_peer)
            if (usec[peer, key, round] > 0 && is_as_far(ours, peer, key, round) && (!best || usec[peer, key, round] < usec[best, key, round]))
                best = peer
        if (!best || !(usec[ours, key, round] > 0))
            continue
        values[++n] = usec[ours, key, round] / usec[best, key, round]
        times[n] = usec[ours, key, round]
    }
    if (!n)
        return
    sort(values, n)
    sort(times, n)
    ratio = median(values, n)
    limit = least_usec + received(part[2], part[3], part[1]) / bytes_per_usec
    printf "%s,%s,%s,%s,%.4g,%.4g,%.4g,%.4g,%.4g\n", ours, part[1], part[2], part[3], median(times, n), ratio, values[1], values[n], limit >cells
    at = ++count[ours, part[1]]
    logs[ours, part[1]] += log(ratio)
    slower[ours, part[1]] += values[1] > 1
    faster[ours, part[1]] += values[n] < 1
    name[ours, part[1], at] = sprintf("%s of %d B: %.2f (%.2f to %.2f)", part[2], part[3], ratio, values[1], values[n])
    order[ours, part[1], at] = ratio
}

function print_worst(ours, ranks,  i, worst, shown, k) {
    for (k = 0; k < 5; k++) {
        worst = 0
        for (i = 1; i <= count[ours, ranks]; i++)
            if (!((ours, ranks, i) in shown) && (!worst || order[ours, ranks, i] > order[ours, ranks, worst]))
                worst = i
        if (!worst)
            return
        shown[ours, ranks, worst] = 1
        print "  " name[ours, ranks, worst]
    }
}

/^#/ { print; next }
/^program,/ { next }
{
    usec[$1, $2, $4, $5, $3] = $6
    line[$1, $2, $4, $5, $3] = $7
    key = $2 SUBSEP $4 SUBSEP $5
    if (!(key in known)) {
        known[key] = 1
        keys[++nkeys] = key
    }
    if ($3 >= rounds)
        rounds = $3 + 1
    if ($1 ~ /^commlab/)
        is_ours[$1] = 1
    else
        is_peer[$1] = 1
    sizes[$2] = 1
}
END {
    print "# SPDX-License-Identifier: CC-BY-4.0" >cells
    print "program,ranks,collective,bytes,usec,ratio,ratio_low,ratio_high,limit_usec" >cells
    for (ours in is_ours)
        for (i = 1; i <= nkeys; i++)
            compare(ours, keys[i])
    for (ours in is_ours)
        for (ranks in sizes) {
            n = count[ours, ranks]
            if (!n)
                continue
            printf "%s, %d ranks: %.2f of the best peer's time (geometric mean of %d cells); faster in %d, slower in %d; the others do not differ\n", \
                   ours, ranks, exp(logs[ours, ranks] / n), n, faster[ours, ranks], slower[ours, ranks]
            print_worst(ours, ranks)
        }
    print "cells: " cells
}
