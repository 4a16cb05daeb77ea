#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab explain`: right on the logs of tests/fixtures/logs, silent on healthy ones, NCCL's summary, hostile logs.
# Usage: test_explain.sh [BUILD].

. tests/cases.sh
subject=("$commlab" explain)
logs=tests/fixtures/logs

# of LOG: "NAME:LINE NAME:LINE ..." by the table that people read.
found() {
    awk '/^[0-9]+\. / { match($0, /\[[a-z0-9-]+\]/); name = substr($0, RSTART + 1, RLENGTH - 2) }
        name && match($0, /line [0-9]+/) { printf "%s%s:%s", n++ ? " " : "", name, substr($0, RSTART + 5, RLENGTH - 5); name = "" }
        END { print "" }' "$scratch/out"
}
finds_the_cause_in_each_log() {
    local name expected status n=0
    while IFS=: read -r name expected; do
        [[ $name != \#* ]] || continue
        expected=${expected# }
        [ -n "$expected" ] && status=0 || status=4
        run $status "$logs/$name.log" || return 1
        why="$name: found '$(found)', expected '$expected'"
        [ "$(found)" = "$expected" ] || return 1
        [ -n "$expected" ] || grep -q ': nothing known in ' "$scratch/out" || return 1
        n=$((n + 1))
    done <"$logs/expected.txt"
    why="$n logs"
    [ $n -eq "$(ls "$logs"/*.log | wc -l)" ] && [ $n -ge 25 ]
}
# Each entry's first pattern, its stars filled, is a line that the entry has, or one above it that is more special.
each_error_can_be_found() {
    local name pattern
    awk '/^\[/ { name = substr($0, 2, length($0) - 2) } /^match = / { sub(/^match = /, ""); sub(/ \|\| .*/, ""); gsub(/\*/, " x "); print name "\t" $0 }' \
        cmd/explain/errors.conf >"$scratch/patterns"
    why='no patterns'
    [ "$(wc -l <"$scratch/patterns")" -ge 60 ] || return 1
    while IFS=$'\t' read -r name pattern; do
        "$commlab" explain <<<"some words, $pattern and others" >"$scratch/out"
        why="[$name] is not found by '$pattern': $(cat "$scratch/out")"
        grep -qF "[$name]" "$scratch/out" || return 1
    done <"$scratch/patterns"
}
reads_standard_input_and_upper_case() {
    "$commlab" explain <<<'RuntimeError: CONNECTION REFUSED' >"$scratch/out"
    local status=$?
    why="status $status: $(cat "$scratch/out")"
    [ $status = 0 ] && grep -q '^standard input: 1 known thing in 1 line$' "$scratch/out" && grep -q '\[refused\]' "$scratch/out"
}
# NCCL says it in other words since 2.30.
knows_newer_words_for_two_ranks_on_one_gpu() {
    "$commlab" explain <<<'node1:4100:4171 [0] init.cc:1057 NCCL WARN Multiple Ranks are using the same GPU/Partition.' >"$scratch/out"
    why=$(cat "$scratch/out")
    grep -qF '[duplicate-gpu]' "$scratch/out"
}
# Jobs of the kit that fail now, not recorded ones.
knows_what_our_own_jobs_say() {
    CLAB_TIMEOUT=300ms "$build/labs/primer/p3-stuck/before" -n 2 >"$scratch/log" 2>&1
    run 0 "$scratch/log" || return 1
    why="$(cat "$scratch/log") gives $(cat "$scratch/out")"
    grep -q '^1\. first sign: .*\[clab-deadline\]' "$scratch/out" || return 1
    "$commlab" run -n 2 -- sh -c '[ $RANK = 0 ] || kill -KILL $$; exec sleep 5' >"$scratch/log" 2>&1
    run 0 "$scratch/log" || return 1
    why="$(cat "$scratch/log") gives $(cat "$scratch/out")"
    grep -q '^1\. likely cause: .*\[clab-killed\]' "$scratch/out" || return 1
    "$commlab" run -n 2 -- sh -c '[ $RANK = 0 ] || kill -SEGV $$; exec sleep 5' >"$scratch/log" 2>&1
    run 0 "$scratch/log" || return 1
    why="$(cat "$scratch/log") gives $(cat "$scratch/out")"
    grep -q '^1\. likely cause: .*\[segfault\]' "$scratch/out"
}
sums_up_nccl_log() {
    run 4 "$logs/healthy-2-nccl-two-nodes.log" || return 1
    why=$(cat "$scratch/out")
    grep -qE '^  version +2\.21\.5\+cuda12\.4$' <<<"$why" && grep -qE '^  ranks +4 on 2 nodes; 4 of them became ready$' <<<"$why" &&
        grep -qE '^  interface +eth0:10\.4\.0\.11, eth0:10\.4\.0\.12$' <<<"$why" && grep -qE '^  network +IB$' <<<"$why" &&
        grep -qE '^  channels +4 for collectives, ' <<<"$why" &&
        grep -qE '^  transports +P2P/CUMEM/read: 8 connections, channels 0-3$' <<<"$why" &&
        grep -qE '^ +NET/IB/GDRDMA: 8 connections, channels 0-3$' <<<"$why" &&
        grep -qE '^  rings +0 1 2 3 \(channels 0-3\)$' <<<"$why" &&
        grep -qE '^  trees +a tree of 4 ranks from rank 0, 3 deep \(channels 0-3\)$' <<<"$why" && grep -q 'NCCL_IB_TIMEOUT=22' <<<"$why"
}
# Of four ranks the log has two in one channel, and a root alone in another.
draws_no_tree_of_a_root_alone() {
    printf 'h:1:2 [0] NCCL INFO %s\n' 'comm 0x1 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0' \
        'Trees [0] 1/-1/-1->0->-1 [1] 1/2/-1->0->-1' 'Trees [0] -1/-1/-1->1->0' >"$scratch/log"
    run 4 "$scratch/log" || return 1
    why=$(cat "$scratch/out")
    grep -qE '^  trees +a tree of 2 of the 4 ranks from rank 0, 1 deep \(channels 0\)$' <<<"$why" && [ "$(grep -c 'a tree of' <<<"$why")" -eq 1 ]
}
says_json() {
    run 0 --json "$logs/05-out-of-memory-then-timeout.log" || return 1
    why=$(python3 - "$scratch/out" 2>&1 <<'PY'
import json, sys
all = json.load(open(sys.argv[1]))
first = all["found"][0]
assert (first["name"], first["role"], first["line"], first["count"]) == ("gpu-memory", "likely cause", 3, 1), first
assert [f["role"] for f in all["found"][1:]] == ["follows from it"] * 2, all["found"]
assert len(first["do"]) == 3 and first["why"] and first["source"], first
PY
    )
}
says_json_of_nccl() {
    run 4 --json "$logs/healthy-1-nccl-node.log" || return 1
    why=$(python3 - "$scratch/out" 2>&1 <<'PY'
import json, sys
n = json.load(open(sys.argv[1]))["nccl"]
assert (n["ranks"], n["nodes"], n["ranks_ready"], n["coll_channels"]) == (4, 1, 4, 4), n
assert n["transports"] == [{"name": "P2P/CUMEM/read", "connections": 16, "channels": "0-3"}], n
assert n["rings"] == [{"order": "0 1 2 3", "channels": "0-3"}] and n["trees"][0]["depth"] == 3, n
PY
    )
}

# ---- logs that mean harm ---------------------------------------------------------------------------------------

takes_out_what_steers_a_terminal() {
    printf '\e]0;title\a\e[31mConnection refused\e[0m \e[2J\xc2\x9b31m\xe2\x80\xae \x01\xff end\nx\r\rBroken pipe\n' >"$scratch/log"
    run 0 "$scratch/log" --all || return 1
    why=$(cat -v "$scratch/out")
    ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$scratch/out" && ! grep -q title "$scratch/out" &&
        grep -q '\[refused\]' "$scratch/out" && grep -q 'line 2' "$scratch/out"
}
# 300 MB of one line without an end, in 64 MiB of address space above its own.
stands_a_line_without_end() {
    (ulimit -v 400000
        { echo 'Connection refused'; head -c 300M /dev/zero | tr '\0' a; } | "$commlab" explain >"$scratch/out" 2>"$scratch/err")
    local status=$?
    why="status $status: $(head -c 500 "$scratch/out" "$scratch/err")"
    [ $status = 0 ] && grep -q '1 line is longer than 4096 bytes' "$scratch/out"
}
stands_bytes_of_all_kinds() {
    local i
    for i in 1 2 3; do
        head -c 3000000 /dev/urandom >"$scratch/log"
        "$commlab" explain "$scratch/log" >"$scratch/out" 2>"$scratch/err"
        why="status $?: $(cat -v "$scratch/err" | head -c 300)"
        [[ $why =~ ^status\ [04]: ]] && [ ! -s "$scratch/err" ] || return 1
    done
    "$commlab" explain "$commlab" >"$scratch/out" 2>"$scratch/err"
    [[ $? =~ ^[04]$ ]]
}
refuses_what_is_no_log() {
    refuses 2 "$scratch: Is a directory" "$scratch" && refuses 2 '/none: No such file' /none && refuses 2 'one log' a b
}
names_the_line_of_a_wrong_entry() {
    printf '[x]\nkind = cause\nmatch = abc || de\n' >"$scratch/known"
    refuses 2 "known:3: [x]: a pattern has three letters" --known "$scratch/known" "$logs/09-port-in-use.log" || return 1
    printf '[x]\nmatch = listen on *network\nwhat = ours\n' >"$scratch/known"
    refuses 2 "[x] lacks 'do'" --known "$scratch/known" "$logs/09-port-in-use.log" || return 1
    printf '[x]\nmatch = listen on *network\nwhat = ours\nwhy = we said so\ndo = this\n' >"$scratch/known"
    writes 'ours [x]' --known "$scratch/known" "$logs/09-port-in-use.log"
}
# Also where the entry's name is one that the kit has.
keeps_the_words_of_ones_own_entry() {
    printf '[port-in-use]\nkind = slow\nmatch = listen on *network\nwhat = ours\nwhy = we said so\ndo = this\n' >"$scratch/known"
    grep -q '^\[port-in-use\]' cmd/explain/errors.conf || { why='errors.conf has no [port-in-use]'; return 1; }
    writes 'makes the job slower: ours [port-in-use]' --known "$scratch/known" "$logs/09-port-in-use.log" || return 1
    why=$(cat "$scratch/out")
    grep -q 'why: we said so' <<<"$why" && grep -qE 'do: +- this' <<<"$why"
}
# One table: that of cmd/doctor/README.md is made from it.
is_the_table_of_the_page() {
    run 0 --table || return 1
    why=$(diff "$scratch/out" <(sed -n '/^| you see /,/^$/p' cmd/doctor/README.md | sed '/^$/d') && echo same)
    [ "$why" = same ] && return
    why="cmd/doctor/README.md differs from \`commlab explain --table\`: $why"
    return 1
}
lists_what_it_knows() {
    run 0 --list || return 1
    why=$(cat "$scratch/out")
    [ "$(wc -l <"$scratch/out")" -ge 60 ] && grep -qE '^duplicate-gpu +cause +two ranks use the same GPU$' "$scratch/out"
}

if lacks inih; then
    skip 'built without inih' all
    exit
fi
check_each finds_the_cause_in_each_log each_error_can_be_found knows_what_our_own_jobs_say reads_standard_input_and_upper_case knows_newer_words_for_two_ranks_on_one_gpu sums_up_nccl_log draws_no_tree_of_a_root_alone
if command -v python3 >/dev/null; then
    check_with jansson says_json says_json_of_nccl
else
    skip 'there is no python3' says_json says_json_of_nccl
fi
if [[ $build == *san-* ]]; then
    skip 'sanitizers reserve more addresses than it allows' stands_a_line_without_end
else
    check stands_a_line_without_end
fi
check_each takes_out_what_steers_a_terminal stands_bytes_of_all_kinds refuses_what_is_no_log \
    names_the_line_of_a_wrong_entry keeps_the_words_of_ones_own_entry is_the_table_of_the_page lists_what_it_knows

exit $failed
