#!/bin/bash
# SPDX-License-Identifier: MIT
# commlab netmon: CSV in a pipe, a page on a terminal that is left as it was, and what is refused.
# Usage: test_netmon.sh [BUILD].

. tests/cases.sh
subject=("$commlab" netmon)
printf 'leak:libfabric.so\n' >"$scratch/leaks" # theirs, seen where we are built with sanitizers
export LSAN_OPTIONS=suppressions=$scratch/leaks:print_suppressions=0

# await WORDS FILE: until the file has them, 20 s at most: a busy machine starts programs late.
await() {
    local i
    for ((i = 0; i < 1000; i++)); do
        ! grep -q -- "$1" "$2" 2>/dev/null || return 0
        sleep 0.02
    done
}

is_csv_in_a_pipe() {
    writes 'Timestamp,RX_Mbps,TX_Mbps,RX_Packets,TX_Packets' -i lo --count 3 --interval 50ms || return 1
    why="not three samples of five numbers: $(cat "$scratch/out")"
    [ "$(grep -cE '^[0-9.]+(,[0-9.]+){4}$' "$scratch/out")" = 3 ] || return 1
    why="no summary: $(cat "$scratch/err")"
    grep -qE '^# lo: RX [0-9.]+ Mbit/s on average, [0-9.]+ to [0-9.]+; TX .*; 3 samples of 0.05 s$' "$scratch/err" &&
        grep -qE '^# TCP: [0-9]+ sockets with a connection, [0-9]+ B backlog, [0-9]+ segments resent in all$' "$scratch/err"
}
ends_after_its_seconds() {
    local start=$EPOCHREALTIME
    run 0 -i lo --seconds 0.3s --interval 100ms || return 1
    why="$(cat "$scratch/out")"
    # Who is kept from the core takes fewer samples than three.
    [[ $(wc -l <"$scratch/out") == [2-4] ]] && awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { exit !(b - a < 20) }'
}
# While a job exchanges messages over the loopback, the samples show them.
sees_what_is_sent() {
    "$commlab" netmon -i lo --interval 200ms >"$scratch/rates" 2>/dev/null &
    local monitor=$!
    "$commlab" run -n 2 --backend ofi -- "$commlab" bench allreduce -b 1M -e 1M --seconds 0.5s >"$scratch/job" 2>&1
    local status=$? lines i
    lines=$(wc -l <"$scratch/rates")
    for ((i = 0; i < 1000 && $(wc -l <"$scratch/rates") <= lines; i++)); do sleep 0.02; done # the job's last sample
    kill -TERM $monitor
    wait $monitor
    why="status $status: $(cat "$scratch/rates" "$scratch/job")"
    [ $status = 0 ] && awk -F, 'NR > 1 { sum += $2; packets += $5 } END { exit !(sum > 1 && packets > 10) }' "$scratch/rates"
}
# q ends it, and the terminal's settings are those of before; without colours, and never wider than 80 columns.
is_a_page_on_a_terminal() {
    command -v script >/dev/null || { why='script (util-linux) is not there'; return 1; }
    : >"$scratch/page"
    { await 'sample 2' "$scratch/page"; printf q; await 'ended ' "$scratch/page"; } | timeout 60 script -qec "stty cols 80 rows 24; stty -g >'$scratch/before'
        '$commlab' netmon -i lo --interval 100ms; echo ended \$?; stty -g >'$scratch/after'" /dev/null >"$scratch/page"
    why="$(tail -n 12 "$scratch/page")"
    cmp -s "$scratch/before" "$scratch/after" && grep -q 'ended 0' "$scratch/page" && grep -q 'sample 2' "$scratch/page" &&
        grep -q 'lo  *RX [#-]\{24\} ' "$scratch/page" && grep -q $'\033\[?25h' "$scratch/page" || return 1
    ! grep -q $'\033\[[0-9;]*m' "$scratch/page" &&
        sed $'s/\033\[[?0-9;]*[A-Za-z]//g; s/\r//g' "$scratch/page" | awk 'length > 80 { exit 1 }'
}
ends_by_a_signal() {
    : >"$scratch/out" # not the case's before this one
    "$commlab" netmon -i lo --interval 100ms >"$scratch/out" 2>"$scratch/err" </dev/null &
    local monitor=$!
    await '^[0-9]' "$scratch/out"
    kill -TERM $monitor
    wait $monitor
    local status=$?
    why="status $status: $(cat "$scratch/err")"
    [ $status = 0 ] && grep -q '^# lo: ' "$scratch/err"
}
# Stopped for six intervals, it does not take six samples at once, whose rates would be those of next to no time.
catches_no_samples_up() {
    "$commlab" netmon -i lo --interval 100ms --count 5 >"$scratch/out" 2>"$scratch/err" </dev/null &
    local monitor=$!
    sleep 0.25
    kill -STOP $monitor && sleep 0.6 && kill -CONT $monitor
    wait $monitor
    why="$(cat "$scratch/out" "$scratch/err")"
    awk -F, 'NR > 2 { ok += $1 - last > 0.04 } { last = $1 } END { exit !(NR == 6 && ok == 4) }' "$scratch/out"
}
# The rates of an interface that came later are of its own samples.
counts_samples_of_each_interface() {
    timeout 60 unshare -n bash -c 'ip link set lo up; : >"$2"; "$0" netmon --interval 100ms >"$2" 2>"$1" & monitor=$!
        for more in 12 13; do
            most=$(($(wc -l <"$2") + more))
            for ((i = 0; i < 500 && $(wc -l <"$2") < most; i++)); do sleep 0.02; done
            [ $more = 13 ] || ip link add v0 type veth peer name v1
        done
        kill -TERM $monitor; wait $monitor' "$commlab" "$scratch/late" "$scratch/out"
    why="$(cat "$scratch/late")"
    samples() { sed -n "s/^# $1: .*; \([0-9]*\) samples* of 0.1 s$/\1/p" "$scratch/late"; }
    [ "$(samples lo)" -ge 2 ] && [ "$(samples lo)" -le 14 ] && [ "$(samples v0)" -ge 2 ] && [ "$(samples v0)" -le 14 ]
}
refuses_what_is_not_there() {
    refuses 2 "--interface 'loo': this host has none of that name (did you mean 'lo'?)" -i loo &&
        refuses 2 '--job no-such-job: no job of that name runs here' --job no-such-job &&
        refuses 2 "--interval '0s'" --interval 0s &&
        refuses 2 '--job 4194303: no process of yours has that number' --job 4194303
}

check_each is_csv_in_a_pipe ends_after_its_seconds catches_no_samples_up ends_by_a_signal is_a_page_on_a_terminal refuses_what_is_not_there
if [ "$(id -u)" = 0 ] && unshare -n ip link add v0 type veth peer name v1 2>/dev/null; then
    check counts_samples_of_each_interface
else
    skip 'no interface can be made here: root, and ip of iproute2' counts_samples_of_each_interface
fi
check_with libfabric sees_what_is_sent
exit $failed
