#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab bench` as its users meet it: the table, the files, right results of all types, and one clear
# line for each mistake.
# Usage: test_bench.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$commlab" bench)
export CLAB_PROFILE="$scratch/none" # a machine that has none
quick="--seconds 0 --iters 1 -w 1"
header=collective,algorithm,backend,ranks,bytes,count,type,op,root,inplace,mode,usec,usec_low,usec_high,algbw_GBps,
header+=busbw_GBps,wrong,bytes_sent_per_rank,predicted_usec,residual_pct,calls,line_nsec,fresh_psB,call_nsec,host_usec,kernel_usec,
header+=nccl_algorithm,nccl_protocol,nccl_channels

# bench_refuses STATUS WORDS ARGS...: also with a file to write, which is not written.
bench_refuses() { refuses "$@" --csv "$scratch/refused"; }

# rows FILE: its lines without manifest and column names.
rows() {
    grep -v '^#' "$1" | tail -n +2
}

# are FIELD VALUE: all rows of the CSV file have that value there, and there are some.
are() {
    why="field $1 is not always $2: $(rows "$scratch/csv" | cut -d, -f"$1" | sort | uniq -c | tr '\n' ';')"
    [ "$(rows "$scratch/csv" | cut -d, -f"$1" | sort -u)" = "$2" ]
}

has_the_columns_of_the_csv() {
    run 0 -n 2 -b 8 -e 32 $quick --csv "$scratch/csv" || return 1
    why=$(grep -v '^#' "$scratch/csv" | head -n 1)
    [ "$why" = "$header" ] && why="$(wc -l <"$scratch/csv") lines" && [ "$(rows "$scratch/csv" | wc -l)" -eq 4 ] &&
        grep -q '^# machine: ' "$scratch/csv" && grep -q '^# data: random of seed [0-9]' "$scratch/csv"
}
has_no_wrong_element_of_any_type_and_op() {
    run 0 allreduce reduce reduce_scatter -n 3 -d all -o all -b 8 -e 520 -f 64 $quick --csv "$scratch/csv" &&
        are 17 0 && why="$(rows "$scratch/csv" | wc -l) rows" && [ "$(rows "$scratch/csv" | wc -l)" -ge 480 ]
}
has_no_wrong_element_of_any_algorithm_and_root() {
    run 0 all -n 4 --algo all -r all -b 1000 -e 1000 $quick --csv "$scratch/csv" || return 1
    why=$(rows "$scratch/csv" | cut -d, -f1,17 | sort | uniq -c)
    ! rows "$scratch/csv" | cut -d, -f1,17 | grep -v '^barrier,$' | grep -qv ',0$' &&
        [ "$(rows "$scratch/csv" | cut -d, -f1 | sort -u | wc -l)" -eq 10 ]
}
has_no_wrong_element_beyond_the_caches() { # where outputs are streamed, in pieces that end within a line
    run 0 allreduce allgather broadcast -n 2 --algo all -b 40000024 -e 40000024 $quick --csv "$scratch/csv" &&
        are 17 0 && why="$(rows "$scratch/csv" | wc -l) rows" && [ "$(rows "$scratch/csv" | wc -l)" -ge 20 ]
}
works_in_ordinary_memory_and_in_every_mode() {
    for mode in throughput latency local enqueue; do
        run 0 -n 2 -b 64 -e 64K -f 1024 --memory malloc --mode $mode $quick --csv "$scratch/csv" &&
            are 17 0 && are 11 $mode || return 1
    done
}
# The host starts calls before it waits for one; in other modes it waits for each.
says_how_long_the_host_takes_to_start_a_call() {
    run 0 -n 2 -b 64 -e 64 --in-place 0 --mode enqueue -a 3 --seconds 0 --iters 300 -w 1 --csv "$scratch/csv" &&
        are 21 256 && why="$(cat "$scratch/out" "$scratch/csv")" &&
        grep -q '^#   out of place: the host takes .* us to start a call' "$scratch/out" &&
        rows "$scratch/csv" | awk -F, '!($25 > 0 && $25 <= 1.001 * $12) { bad = 1 } END { exit bad }' || return 1
    run 0 -n 2 -b 64 -e 64 $quick --csv "$scratch/csv" && are 25 ''
}
takes_the_time_of_some_ranks() {
    local a
    for a in 0 1 2 3; do
        run 0 -n 3 -b 64 -e 64 --mode enqueue -a $a $quick --csv "$scratch/csv" || return 1
        why=$(grep '^# mode' "$scratch/csv")
        case $a in
        0) [[ $why == *', of rank 0' ]] ;;
        1) [[ $why == *', the mean over ranks' ]] ;;
        2) [[ $why == *', of the fastest rank' ]] ;;
        3) [[ $why == *', of the slowest rank' ]] ;;
        esac || return 1
    done
    bench_refuses 2 '-a 1 is of modes throughput and enqueue' -n 2 --mode local -a 1
}
counts_the_bytes_that_a_rank_sends() { # a ring of four sends 2 (P-1)/P of the buffer
    run 0 allreduce --algo ring -n 4 -b 4K -e 4K $quick --csv "$scratch/csv" && are 18 6144
}
keeps_one_placement_of_two() {
    run 0 -n 2 -b 8 -e 8 --in-place 1 $quick --csv "$scratch/csv" && are 10 1 &&
        run 0 -n 2 -b 8 -e 8 --in-place 0 $quick --csv "$scratch/csv" && are 10 0
}
leaves_unchecked_what_is_not_to_be_checked() { run 0 -n 2 -b 8 -e 8 -c 0 $quick --csv "$scratch/csv" && are 17 ''; }
repeats_a_seed() {
    run 0 -n 2 -b 8 -e 8 --seed 77 $quick && why=$(cat "$scratch/out") && grep -q 'seed 77,' "$scratch/out"
}
fits_a_wide_terminal_and_is_silent_in_a_pipe() {
    run 0 allreduce broadcast -n 2 --algo all -e 64K -f 16 $quick || return 1
    why=$(grep -v '^# [a-z+]' "$scratch/out" | awk 'length > 160; END { print NR " lines" }')
    [ "$(echo "$why" | wc -l)" -eq 1 ] && why=$(cat "$scratch/err") && [ -z "$why" ]
}
fits_120_columns_with_one_placement() {
    local placement
    for placement in 0 1; do
        run 0 allreduce allgather -n 2 --algo all -e 64K -f 16 --in-place $placement $quick || return 1
        why="$placement: $(awk '!/^# [a-z+]/ && length > 120' "$scratch/out")"
        [ "$why" = "$placement: " ] || return 1
        why="$placement: $(grep place "$scratch/out")"
        [ "$(grep -cE '^# +out-of-place *$' "$scratch/out")" = $((1 - placement)) ] &&
            [ "$(grep -cE '^# +in-place *$' "$scratch/out")" = $placement ] || return 1
    done
}
says_what_a_prediction_needs() {
    run 0 -n 2 -b 8 -e 8 $quick && why=$(tail -n 1 "$scratch/out") &&
        [ "$why" = 'no prediction: run ./commlab fit first' ]
}
says_which_fit_a_prediction_over_ofi_needs() {
    run 0 -n 2 -b 8 -e 8 --backend ofi $quick && why=$(tail -n 1 "$scratch/out") &&
        [ "$why" = 'no prediction: run ./commlab fit --backend ofi first' ]
}
# fit's last word may be broken: that stops nothing but predictions, and is asked for by its name refused.
goes_on_without_a_broken_profile() {
    sed '/^fresh/a [link intra]\nalpha = inf ns' >"$scratch/machine.net" <<<'[net]
title = x
gamma = 1 ps/B
[profile]
machine = x
date = x
fresh = 1 ps/B'
    CLAB_PROFILE=$scratch/machine.net run 0 -n 2 -b 8 -e 8 $quick || return 1
    why=$(tail -n 1 "$scratch/out")
    [[ $why == 'no prediction: '*machine.net:9:*'run ./commlab fit' ]] && [ ! -s "$scratch/err" ] || return 1
    CLAB_PROFILE=$scratch/machine.net bench_refuses 2 'run ./commlab fit' --net machine || return 1
    subject=("$commlab")
    CLAB_PROFILE=$scratch/machine.net run 1 nets
    local result=$?
    subject=("$commlab" bench)
    [ $result -eq 0 ] && grep -q '^ *10gbe ' "$scratch/out" && [ "$(grep -c 'machine.net:9:' "$scratch/err")" -eq 1 ]
}
ends_with_how_far_predictions_were_off() {
    run 0 -n 2 -b 8 -e 2K --algo all --net sim/nets/10gbe.net $quick --csv "$scratch/csv" &&
        why=$(tail -n 1 "$scratch/out") &&
        echo "$why" | grep -qE '^prediction: median \|error\| [0-9.]+ %, p95 [0-9.]+ %, noise floor [0-9.]+ %$' &&
        ! rows "$scratch/csv" | cut -d, -f19 | grep -qvE '^[0-9.]+$'
}
writes_json_that_is_read() {
    run 0 -n 2 -b 8 -e 8 $quick --json "$scratch/json" && why=$(python3 - "$scratch/json" "$header" <<'END' 2>&1
import json, sys
result = json.load(open(sys.argv[1]))
assert [list(row) for row in result["rows"]] == [sys.argv[2].split(",")] * 2, result["rows"]
assert all(row["wrong"] == 0 and row["usec"] > 0 and row["predicted_usec"] is None for row in result["rows"])
assert result["manifest"]["machine"]
END
    )
}
# Both formats say what the CSV of the same run says: 13 columns to their digits, JSON to all of them.
writes_what_readers_of_nccl_tests_parse() {
    run 0 allreduce -n 3 --algo ring -b 8 -e 512K -f 16 $quick --format nccl-tests --csv "$scratch/csv" --json "$scratch/json" \
        --json-format nccl-tests || return 1
    why=$(python3 - "$scratch/out" "$scratch/csv" "$scratch/json" <<'END' 2>&1
import csv, json, re, sys
text = open(sys.argv[1]).read()
rows = [line.split() for line in text.splitlines() if line and line[0] != "#"]
data = list(csv.DictReader(line for line in open(sys.argv[2]) if line[0] != "#"))
theirs = json.load(open(sys.argv[3]))
assert all(len(row) == 13 for row in rows) and len(data) == 2 * len(rows) == 2 * len(theirs["results"]), rows
for row, out, into, result in zip(rows, data[::2], data[1::2], theirs["results"]):
    assert row[:5] == [out[name] for name in ("bytes", "count", "type", "op", "root")], (row, out)
    assert [result["size"], result["count"]] == [int(out["bytes"]), int(out["count"])]
    for at, of, key in ((5, out, "out_of_place"), (9, into, "in_place")):
        for cell, name, exact in zip(row[at:], ("usec", "algbw_GBps", "busbw_GBps"), ("time", "alg_bw", "bus_bw")):
            digits = len(cell.partition(".")[2])
            assert abs(float(cell) - float(of[name])) <= 0.51 * 10 ** -digits, (cell, of[name])
            assert abs(result[key][exact] / float(of[name]) - 1) < 1e-4, (result[key], of)
        assert row[at + 3] == of["wrong"] == str(result[key]["nwrong"]) == "0"
        per_iter = result[key + "_per_iter"]
        ranks = per_iter["per_process_max_times_us"]
        assert len(ranks) == 3 and per_iter["times_us"] == [max(times) for times in zip(*ranks)]
        assert per_iter["min_us"] == min(per_iter["times_us"]) and per_iter["max_us"] == max(per_iter["times_us"])
mean = sum(float(of["busbw_GBps"]) for of in data) / len(data)
said = float(re.search(r"^# Avg bus bandwidth +: ([-+.e0-9]+) *$", text, re.M)[1])
assert abs(said / mean - 1) < 1e-3 and abs(theirs["average_bus_bandwidth"]["bandwidth"] / mean - 1) < 1e-3, (said, mean)
assert re.search(r"^# Out of bounds values +: 0 OK$", text, re.M) and theirs["out_of_bounds"]["okay"] == "true"
assert len(re.findall(r"^#  Rank +\d+ Group +0 Pid +\d+ on ", text, re.M)) == len(theirs["config"]["devices"]) == 3
END
    )
}
# The rules by which the parsers of SuperBench, of AWS's samples and of NVIDIA's cloudai find values in that text: rows
# are those between `out-of-place` and `Out of bounds values`, columns are counted from the end of the line that has
# `time` and `busbw`, all numbers are without exponent, and the line of the mean has one, too.
has_what_other_parsers_of_nccl_tests_look_for() {
    run 0 allreduce -n 2 --algo ring -b 8 -e 128K -f 128 $quick --format nccl-tests --csv "$scratch/csv" || return 1
    why=$(python3 - "$scratch/out" "$scratch/csv" <<'END' 2>&1
import csv, re, sys
text = open(sys.argv[1]).read()
data = list(csv.DictReader(line for line in open(sys.argv[2]) if line[0] != "#"))
lines = text.splitlines()
first = max(i for i, line in enumerate(lines) if "out-of-place" in line)
last = max(i for i, line in enumerate(lines) if "Out of bounds values" in line)
table = lines[first + 1:last]
names = next(line for line in table if "time" in line and "busbw" in line)[1:].split()
number = r"\d+\.?\d*"
placement = rf"\s+({number})\s+({number})\s+({number})\s+(?:\d+|N/A)"
row = re.compile(rf"\s*(\d+)\s+(\d+)\s+(?:float|double|int|half)\s+(?:sum|prod|max|min|none)\s+-?\d+{placement}{placement}$")
rows = [row.match(line) for line in table if re.match(r"\s+\d", line)]
assert len(rows) == 3 and all(rows), table
for found, out, into in zip(rows, data[::2], data[1::2]):
    words = found[0].split()
    assert len(words) == len(names) == 13 and int(found[1]) == int(out["bytes"]) and found[0][0] == " "
    for name, of, back in (("time", out, 8), ("busbw", out, 6), ("time", into, 4), ("busbw", into, 2)):
        assert names[len(names) - back] == name, (names, back)
        value, exact = float(words[len(words) - back]), float(of["usec" if name == "time" else "busbw_GBps"])
        assert abs(value - exact) <= 0.006 + 1e-3 * exact, (name, words, exact)
assert re.search(rf"# Avg bus bandwidth\s*:\s*({number}) *$", text, re.M)
assert len(re.findall(r"^#  Rank .* on\s+([\w.-]+)\s+device\s+(\d+)", text, re.M)) == 2
END
    )
}
says_where_nccl_tests_has_no_cell() {
    run 0 alltoall -n 2 -b 1K -e 1K $quick --format nccl-tests --check 0 && why=$(cat "$scratch/out") &&
        [ "$(grep -v '^#' "$scratch/out" | awk '{ print NF, $9, $10, $13 }')" = '13 N/A N/A N/A' ]
}
refuses_what_nccl_tests_has_no_column_for() {
    bench_refuses 2 'no column for the collective or the algorithm' all --format nccl-tests || return 1
    bench_refuses 2 'no column for the collective or the algorithm' --algo ring,doubling --format nccl-tests || return 1
    bench_refuses 2 'no column for the backend' --backend shm,ofi --format nccl-tests || return 1
    bench_refuses 2 'has no program for a barrier' barrier --format nccl-tests || return 1
    bench_refuses 2 'add --json FILE' --json-format nccl-tests
}
joins_a_job_that_is_there() {
    rm -f "$scratch/csv"
    "$commlab" run -n 3 -- "$commlab" bench -b 8 -e 8 $quick --csv "$scratch/csv" \
        >"$scratch/out" 2>"$scratch/err" </dev/null
    why="status $?: $(cat "$scratch/err")"
    [ ! -s "$scratch/err" ] && are 4 3 && are 17 0
}
leaves_a_file_as_it_was_when_it_cannot_start() {
    echo kept >"$scratch/kept"
    run 2 -n 0 --csv "$scratch/kept" && why=$(cat "$scratch/kept") && [ "$why" = kept ]
}

# Gloo has a collective of its own, and shm has none.
leaves_a_file_as_it_was_when_one_of_its_backends_fails() {
    echo kept >"$scratch/kept"
    run 2 allreduce -n 2 --backend gloo,shm --algo native --in-place 0 -b 8 -e 8 $quick --json "$scratch/kept" &&
        why=$(head -c 300 "$scratch/kept") && [ "$why" = kept ]
}

# Batches of the warm-up count, too, but not more of them than were asked for. Five have no 95 % interval.
times_as_many_batches_as_asked_for_and_marks_too_few() {
    run 0 -n 2 -b 64 -e 64 --in-place 0 --batches 5 --seconds 0.1 --samples "$scratch/samples" &&
        why="$(rows "$scratch/samples")" && [ "$(rows "$scratch/samples" | cut -d, -f11 | sort -u | tr '\n' ' ')" = '0 1 2 3 4 ' ] &&
        why="$(cat "$scratch/out")" && grep -q '^ *64 .*[0-9]! ' "$scratch/out"
}

refuses_an_unknown_collective() {
    bench_refuses 2 "there is no 'allreduces' (did you mean 'allreduce'?); there are: allreduce broadcast" allreduces
}
refuses_an_unknown_algorithm() {
    bench_refuses 2 "there is no algorithm 'rings' (did you mean 'ring'?); there are auto, all, native, and: allreduce has naive" --algo rings
}
refuses_an_unknown_type() { bench_refuses 2 "there is no 'f33'; there are: float double" -d f33; }
refuses_an_unknown_operation() { bench_refuses 2 "there is no 'xor'; there are: sum prod" -o xor; }
refuses_an_unknown_mode() { bench_refuses 2 "there is no 'fast'; there are: throughput" --mode fast; }
refuses_an_unknown_backend() { bench_refuses 2 "no 'smoke'" --backend smoke; }
refuses_an_unknown_network() { bench_refuses 2 "no network 'smoke'" --net smoke; }
refuses_a_provider_of_another_backend() {
    bench_refuses 2 '--provider is of ofi, and --backend is shm: add --backend ofi' --provider tcp
}
refuses_no_ranks() { bench_refuses 2 "-n '0' is not a number" -n 0; }
refuses_no_bytes() { bench_refuses 2 "-b '0' is not a size above 0" -b 0; }
refuses_more_than_memory() { bench_refuses 2 "memory are available" -e 9000G; }
refuses_sizes_that_shrink() { bench_refuses 2 "is larger than -e" -b 1M -e 1K; }
refuses_two_ways_to_grow() { bench_refuses 2 "not by both" -f 2 -i 8; }
refuses_a_root_that_is_no_rank() { bench_refuses 2 "the ranks are 0 to 1" -r 2 -n 2; }
refuses_in_place_where_there_is_none() { bench_refuses 2 "alltoall" alltoall --in-place 1; }
refuses_a_file_it_cannot_write() { bench_refuses 1 "/nonexistent/x" --json /nonexistent/x; }
refuses_a_malformed_network() {
    printf '[net]\nalpha\n\n' >"$scratch/broken.net"
    bench_refuses 2 "broken.net:2" --net "$scratch/broken.net"
}

check_each has_the_columns_of_the_csv has_no_wrong_element_of_any_type_and_op \
    has_no_wrong_element_of_any_algorithm_and_root \
    works_in_ordinary_memory_and_in_every_mode says_how_long_the_host_takes_to_start_a_call \
    takes_the_time_of_some_ranks counts_the_bytes_that_a_rank_sends keeps_one_placement_of_two \
    leaves_unchecked_what_is_not_to_be_checked repeats_a_seed fits_a_wide_terminal_and_is_silent_in_a_pipe \
    fits_120_columns_with_one_placement says_what_a_prediction_needs joins_a_job_that_is_there \
    times_as_many_batches_as_asked_for_and_marks_too_few \
    leaves_a_file_as_it_was_when_it_cannot_start refuses_an_unknown_collective refuses_an_unknown_algorithm \
    refuses_an_unknown_type refuses_an_unknown_operation refuses_an_unknown_mode refuses_an_unknown_backend \
    refuses_an_unknown_network refuses_a_provider_of_another_backend refuses_no_ranks refuses_no_bytes \
    refuses_more_than_memory refuses_sizes_that_shrink refuses_two_ways_to_grow refuses_a_root_that_is_no_rank \
    refuses_in_place_where_there_is_none says_where_nccl_tests_has_no_cell refuses_what_nccl_tests_has_no_column_for
check_full has_no_wrong_element_beyond_the_caches # test_half.c and test_copies.c have streamed outputs alone
check_with inih goes_on_without_a_broken_profile ends_with_how_far_predictions_were_off refuses_a_malformed_network
check_with jansson refuses_a_file_it_cannot_write
check_with libfabric says_which_fit_a_prediction_over_ofi_needs
check_with "gloo jansson" leaves_a_file_as_it_was_when_one_of_its_backends_fails
if command -v python3 >/dev/null; then
    check_with jansson writes_json_that_is_read writes_what_readers_of_nccl_tests_parse
    check has_what_other_parsers_of_nccl_tests_look_for
else
    skip 'there is no python3 to read JSON with' writes_json_that_is_read
fi
exit $failed
