#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab report` on benchmarks of several machines and tools: what it merges, what it concludes from made-up numbers,
# what it finds wrong with a sweep, and which files it refuses. No figures: those are test_report_page.sh's.
# Usage: test_report_benchmarks.sh [BUILD].

. tests/cases.sh
take_kit_of_claims 6

columns=collective,algorithm,backend,ranks,bytes,count,type,op,root,inplace,mode,usec,usec_low,usec_high,algbw_GBps,busbw_GBps,wrong
more=device,machine,num_warmup,oversubscribed,status,reason

# row BACKEND RANKS BYTES USEC LOW HIGH [ALGORITHM [COLLECTIVE]]: of an allreduce, out of place.
row() {
    awk -v b="$1" -v n="$2" -v s="$3" -v u="$4" -v l="$5" -v h="$6" -v a="${7-ring}" -v c="${8-allreduce}" 'BEGIN {
        printf "%s,%s,%s,%d,%d,%d,float,sum,-1,0,throughput,%s,%s,%s,%.9g,%.9g,0\n", c, a, b, n, s, s / 4, u, l, h, s / u / 1e3,
            s / u / 1e3 * 2 * (n - 1) / n }'
}
# file NAME MACHINE [REMARKS...]: a bench's file in $results, whose rows come from standard input.
file() {
    { printf '# machine: %s\n' "$2" && [ $# -eq 2 ] || printf '# %s\n' "${@:3}"; echo $columns; cat; } >"$results/$1"
}
begin() { results=$scratch/$1 page=$scratch/$1-page && mkdir -p "$results"; }
report() { run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$page" && why=$(cat "$page/analysis.txt"); }
# says WORDS: analysis.txt has them.
says() {
    why="no '$1' in: $(cat "$page/analysis.txt")"
    grep -qF -- "$1" "$page/analysis.txt"
}

nccl_tests() {
    cat <<'END'
# nThread 1 nGpus 2 minBytes 8 maxBytes 100000000 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1887 on   worker-1 device  0 [0x8d] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1888 on   worker-1 device  1 [0x91] NVIDIA H100 80GB HBM3
worker-1:1887:1887 [0] NCCL INFO Bootstrap : Using eth0
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
2025-01-01 10:00:00 INFO the job has begun
           8             2     float     sum      -1    15.50    0.00    0.00      0    14.79    0.00    0.00    N/A
   100000000      25000000     float     sum      -1   500.00  200.00  200.00      0   510.00  196.08  196.08      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 100.0
END
}

# ---- merging -------------------------------------------------------------------------------------------------

# A matrix of this machine, a bench of another one, and the text of nccl-tests: each row with its file and machine.
merges_files_of_machines_and_tools() {
    begin merged
    { printf '# machine: here, 2 cores\n%s,%s\n' $columns $more
      echo "$(row gloo 2 100000000 9000 8900 9100),cpu,here,5,0,ok,"
      echo "$(row gloo 4 100000000 22000 21000 23000),cpu,here,5,1,noisy,"
      echo "allreduce,,gloo,6,100000000,,float,sum,-1,0,throughput,,,,,,,cpu,here,5,1,skipped,\"memory: 6 ranks need 2.4 GB\""
    } >"$results/gloo_cpu_benchmark.csv"
    row shm 2 100000000 3000 2900 3100 | file other.csv 'there, 64 cores'
    nccl_tests >"$results/all_reduce_perf.txt"
    report || return 1
    why=$(cat "$page/combined_benchmark.csv")
    [ "$(grep -cE '^(gloo|other|all_red)' <<<"$why")" -eq 8 ] &&
        grep -q '^other.csv,3,"there, 64 cores",cpu,allreduce,ring,shm,2,100000000,' <<<"$why" &&
        grep -q '^all_reduce_perf.txt,12,"worker-1, NVIDIA H100 80GB HBM3",cuda,allreduce,native,nccl,2,100000000,25000000,float,sum,-1,0,throughput,500,,,200,200,0,' <<<"$why" &&
        grep -q '^gloo_cpu_benchmark.csv,5,"here, 2 cores",cpu,.*,1,skipped,memory: 6 ranks need 2.4 GB$' <<<"$why"
}
says_which_file_was_replaced() {
    report || return 1
    why=$(cat "$scratch/out")
    [ "$(grep -c '(replaced)$' "$scratch/out")" -eq 5 ]
}
tells_why_a_setting_was_skipped() { says 'gloo, 6 ranks: skipped: memory: 6 ranks need 2.4 GB (gloo_cpu_benchmark.csv:5).'; }
# 9000 / 3000; 8900 / 3100 and 9100 / 2900.
compares_backends_at_100_MB() {
    says 'Allreduce of 100 MB between 2 ranks: nccl (cuda, machine A) takes 500 us' &&
        says 'gloo (cpu, machine B) 9 ms (8.9 ms to 9.1 ms); not both have an interval, so the data do not say'
}
concludes_nothing_from_single_values() { ! grep 'nccl' "$page/analysis.txt" | grep -q 'times'; }
has_tables_for_people() {
    why=$(cat "$page/full_results.md" "$page/summary_by_config.md")
    grep -qF '| allreduce | shm | cpu | ring | 2 | 100 MB | out of place | 3 ms | 2.9 ms | 3.1 ms | 33.33 GB/s |' "$page/full_results.md" &&
        grep -qF '## allreduce, gloo on cpu, 4 ranks (more ranks than cores)' "$page/summary_by_config.md"
}

# ---- findings ------------------------------------------------------------------------------------------------

finds_differences_where_intervals_do_not_overlap() {
    begin found
    { row shm 2 1000000 100 90 110; row ofi 2 1000000 300 280 320; row mpi 2 1000000 105 95 115
      row shm 4 1000000 210 200 220; row shm 2 1000000 150 140 160 tree; } | file b.csv 'here, 2 cores'
    report || return 1
    says 'between 2 ranks: shm takes 100 us (90 us to 110 us), ofi 300 us (280 us to 320 us): ofi takes 3 times (2.55 to 3.56) as long.' &&
        says 'shm takes 100 us (90 us to 110 us), mpi 105 us (95 us to 115 us): no measurable difference' &&
        says 'over shm: 2 ranks take 100 us (90 us to 110 us), 4 ranks (more than cores) 210 us (200 us to 220 us): 4 ranks (more than cores) take 2.1 times' &&
        says 'between 2 ranks over shm: ring takes 100 us (90 us to 110 us), tree 150 us (140 us to 160 us): tree takes 1.5 times' &&
        says '[b.csv:3, b.csv:4]'
}
# A matrix measures in place, a bench both ways: a file's rows in place count where it has no others.
compares_like_with_like() {
    begin placed
    { row shm 2 1000000 100 90 110; row shm 2 1000000 50 45 55 | sed 's/,-1,0,/,-1,1,/'; row ofi 2 1000000 300 280 320; } |
        file bench.csv 'here, 2 cores'
    { row shm 2 1000000 60 55 65; row gloo 2 1000000 600 580 620; } | sed 's/,-1,0,/,-1,1,/' | file matrix.csv 'here, 2 cores'
    report && says 'Allreduce of 1 MB, in place, between 2 ranks: shm takes 60 us (55 us to 65 us), gloo 600 us' &&
        says 'Allreduce of 1 MB between 2 ranks: shm takes 100 us (90 us to 110 us), ofi 300 us'
}
# Rows of one backend with and without delays are two series, of a bench and of a matrix.
tells_emulated_wires_apart() {
    begin wires
    row shm 2 1000000 100 90 110 | file b.csv 'here, 2 cores'
    row shm 2 1000000 9000 8900 9100 | file wire.csv 'here, 2 cores' 'job: 2 ranks on 2 cores, delayed as on 1gbe; x'
    row shm 2 1000000 90000 89000 91000 | file matrix.csv 'here, 2 cores' 'plan: allreduce; delayed as on 100mbit'
    report && says 'shm (not delayed) takes 100 us (90 us to 110 us), shm (delayed as on 1gbe) 9 ms' &&
        says 'shm (delayed as on 100mbit) 90 ms' && why=$(cat "$page"/benchmark-*.csv | grep 'shm as') &&
        grep -q '^shm as 1gbe,' <<<"$why"
}
# Two runs that differ: neither the faster one nor the later one is taken. Of each number the page names both cells.
takes_the_median_of_runs() {
    begin runs
    { row shm 2 1000000 100 95 105; row shm 2 4000000 400 390 410; } | file a.csv 'here, 2 cores'
    { row shm 2 1000000 140 135 145; row shm 2 4000000 410 400 420; } | file b.csv 'here, 2 cores'
    row ofi 2 1000000 110 108 112 | file c.csv 'here, 2 cores'
    report || return 1
    says 'between 2 ranks over shm: 2 runs by ring. a.csv:3 takes 100 us (95 us to 105 us), b.csv:3 140 us (135 us to 145 us): b.csv:3 takes 1.4 times (1.29 to 1.53) as long. The median of runs counts' &&
        says 'Of 2 sizes, 2 have several runs; here they are furthest apart. [a.csv:3, b.csv:3]' &&
        says 'ofi takes 110 us (108 us to 112 us), shm 120 us (95 us to 145 us): no measurable difference' || return 1
    why=$(cat "$page/benchmark-time-allreduce-cpu.csv" "$page/summary_by_config.md" "$page/index.html")
    grep -q '^shm,1000000,120,95,145,.*,a.csv;b.csv,3;3,2$' <<<"$why" &&
        grep -qF '| 1 MB | ring | 2 (1.4 times apart) | 120 us | 95 us | 145 us | 8.333 GB/s |' <<<"$why" &&
        grep -qF 'Of 3 settings and sizes, 2 were measured several times, up to 2 times.' <<<"$why" &&
        grep -qF 'In 1 of them, the runs differ measurably' <<<"$why" &&
        grep -qF 'data-from="a.csv:3:usec b.csv:3:usec">120<' <<<"$why" &&
        says '120 us (95 us to 145 us) is known to ±21 % only' && says 'cause: Its 2 runs differ by more than their own intervals.' ||
        return 1
    row shm 2 1000000 150 144 156 | file d.csv 'here, 2 cores'
    report && says '3 runs by ring. a.csv:3 takes 100 us (95 us to 105 us), d.csv:3 150 us' && why=$(cat "$page/benchmark-time-allreduce-cpu.csv") &&
        grep -q '^shm,1000000,140,95,156,.*,a.csv;b.csv;d.csv,3;3;3,3$' <<<"$why"
}
# A file that was copied, and one that holds the rows of others, measured nothing anew.
takes_no_copy_for_a_run() {
    begin copied
    row shm 2 1000000 100 95 105 | file a.csv 'here, 2 cores'
    { row shm 2 1000000 100 95 105; row ofi 2 1000000 300 290 310; } | file b.csv 'here, 2 cores'
    report && says 'ofi takes 3 times' && why=$(cat "$page/analysis.txt") && ! grep -q ' runs by ' <<<"$why"
}
# Other lanes, buffers or a root: what differs is said, and no median is made of it.
tells_settings_apart() {
    begin settings
    row shm 2 1000000 100 95 105 | file a.csv 'here, 2 cores'
    row shm 2 1000000 200 190 210 | file b.csv 'here, 2 cores' 'lanes: 4 of each algorithm'
    row shm 2 1000000 300 290 310 | file c.csv 'here, 2 cores' 'data: random of seed 1, in buffers of malloc'
    row shm 2 1000000 400 390 410 | file d.csv 'here, 2 cores' 'environment: CLAB_LOG=info; CLAB_CHECK=1'
    row shm 2 1000000 500 490 510 ring broadcast | sed 's/,-1,0,/,0,0,/' | file e.csv 'here, 2 cores'
    row shm 2 1000000 600 590 610 ring broadcast | sed 's/,-1,0,/,1,0,/' | file f.csv 'here, 2 cores'
    report || return 1
    says 'shm (usual settings) takes 100 us (95 us to 105 us), shm (4 lanes) 200 us' && says 'shm (buffers of malloc) 300 us' &&
        says 'shm (CLAB_CHECK=1) 400 us' && why=$(cat "$page/analysis.txt" "$page/summary_by_config.md") &&
        ! grep -q ' runs by ' <<<"$why" && [ "$(grep -c '^## broadcast' "$page/summary_by_config.md")" -eq 2 ] || return 1
    begin graphs
    nccl_tests >"$results/all_reduce_perf.txt"
    nccl_tests | sed 's/graph: 0/graph: 1/; s/ 500.00/ 400.00/; s/200.00  200.00/250.00  250.00/' >"$results/all_reduce_graph.txt"
    report && says 'nccl (in a CUDA graph) takes 400 us, nccl (usual settings) 500 us'
}
# The file of a bench says what the two above are told apart by.
says_its_settings() {
    run 0 "$commlab" bench allreduce -n 2 -b 1M -e 1M --seconds 1ms --lanes 2 --memory malloc --csv "$scratch/said.csv" || return 1
    begin said
    cp "$scratch/said.csv" "$results" && report && why=$(cat "$page/summary_by_config.md") &&
        grep -qF 'settings: buffers of malloc, 2 lanes.' "$page/summary_by_config.md"
}
# chart NAME ROWS WORDS: its data have so many rows, and a finding of their own.
chart() {
    why="benchmark-$1.csv is: $(cat "$page/benchmark-$1.csv")"
    [ "$(grep -vc '^#' "$page/benchmark-$1.csv")" -eq $(($2 + 1)) ] && grep -q "^# finding: .*$3" "$page/benchmark-$1.csv"
}
# Each collective and device, and what is in place: with a finding, and on the page with its rows.
draws_each_collective_and_device() {
    begin charts
    { row shm 2 1000000 100 90 110; row shm 2 2000000 180 170 190; row gloo 2 1000000 300 280 320; row shm 2 1000000 70 69 71 ring broadcast | sed 's/,-1,0,/,0,0,/'
      row gloo 2 1000000 210 209 211 ring broadcast | sed 's/,-1,0,/,0,0,/'; row shm 2 1000000 90 89 91 | sed 's/,float,/,double,/'; } | file b.csv 'here, 2 cores'
    nccl_tests >"$results/all_reduce_perf.txt"
    row shm 2 1000000 60 55 65 | sed 's/,-1,0,/,-1,1,/' | file matrix.csv 'here, 2 cores'
    report || return 1
    chart time-allreduce-cpu 3 'A call of allreduce (on cpu) takes from 100 us (shm, 1 MB) to 300 us (gloo, 1 MB)' &&
        chart bandwidth-allreduce-cpu 3 'bus bandwidth of allreduce (on cpu) is highest over shm, at 2 MB' &&
        chart time-allreduce-cuda 2 'A call of allreduce (on cuda) takes from 15.5 us (nccl, 8 B) to 500 us' &&
        chart time-allreduce-cpu-in-place 1 'A call of allreduce (in place, on cpu)' &&
        chart time-broadcast-cpu 2 'A call of broadcast takes' && chart bandwidth-broadcast-cpu 2 'broadcast is highest over shm' &&
        chart backends-allreduce 2 'gloo takes 3 times' && chart backends-broadcast 2 'gloo takes 3 times' || return 1
    why=$(head -n 3 "$page/benchmark-time-allreduce-cpu.csv")
    grep -q 'allreduce (on cpu), float; .*; of other types, operations or roots 1 row is not drawn' <<<"$why" || return 1
    why=$(grep -n 'Figures of' "$page/index.html")
    [ "$(grep -c '<summary>Figures of \(allreduce\|broadcast\)</summary>' "$page/index.html")" -eq 2 ]
}
# Devices may have any names: a page has 24 charts at most, and files have plain names.
draws_few_of_many_devices() {
    begin devices
    { printf '# machine: here, 2 cores\n%s,device\n' $columns
      for i in {1..30}; do row shm 2 1000000 100 90 110 | sed "s|\$|,../x $i|"; done; } >"$results/b.csv"
    report || return 1
    why=$(ls "$page" "$scratch")
    [ "$(ls "$page"/benchmark-time-*.csv | wc -l)" -eq 24 ] && [ -e "$page/benchmark-time-allreduce-device3.csv" ] || return 1
    why=$(grep 'have no figure of their own' "$page/index.html")
    [[ $why == *'6 more collectives, devices'* ]]
}
# An interval of no width is a single sample.
takes_one_sample_for_no_interval() {
    begin single
    { row shm 2 1000000 100 100 100; row ofi 2 1000000 300 280 320; } | file b.csv 'here, 2 cores'
    report && says 'not both have an interval'
}

# ---- what is wrong -------------------------------------------------------------------------------------------

limits='plain TCP: 10 us half a round trip of 8 B, 2 GB/s each way while 1 MiB go both ways (cubic)'
sweep() { # TIMES...: of 1, 4, 16, 64 MiB in us, each known to 1 %
    local bytes=1048576 t
    for t; do
        row ofi "${ranks-2}" $bytes "$t" "$(awk "BEGIN { print $t * 0.99 }")" "$(awk "BEGIN { print $t * 1.01 }")"
        bytes=$((4 * bytes))
    done
}
sized() { # BYTES TIME...: the same of any sizes
    while [ $# -ge 2 ]; do
        row ofi 2 "$1" "$2" 0 0 | awk -F, -v OFS=, '{ $13 = 0.99 * $12; $14 = 1.01 * $12; print }'
        shift 2
    done
}
# 64 MiB in 67 ms is 1 GB/s: half of 2 GB/s.
finds_a_sweep_below_its_limit() {
    begin slow
    sweep 1048 4194 16777 67108 | file b.csv 'here, 4 cores' "$limits" && report || return 1
    says 'Allreduce of 64 MiB between 2 ranks over ofi: 1 GB/s is 50 % of the limit, 2 GB/s (plain TCP).' &&
        says 'next:  ./commlab bench allreduce -n 2 --backend ofi -b 67108864 --algo all --lanes 4 -e 67108864'
}
# Eight ranks on four cores, and on some number that the file does not say.
finds_a_crowded_sweep() {
    begin crowded
    ranks=8 sweep 2000 8000 33000 134217 | file b.csv 'here, 4 cores' "$limits" && report || return 1
    says 'cause: 8 ranks share 4 cores, so they wait' &&
        says 'next:  ./commlab bench allreduce -n 4 --backend ofi -b 67108864 -e 67108864' || return 1
    begin unsaid
    { printf '# machine: here\n# %s\n%s,oversubscribed\n' "$limits" $columns; sweep 1048 4194 16777 67108 | sed 's/$/,1/'; } \
        >"$results/b.csv" && report && says 'cause: 2 ranks share fewer cores, so they wait'
}
# From 512 MiB to 1 GiB the time doubles: bytes are what takes it. If it stays the same, larger sizes tell more.
knows_latency_by_how_time_grows() {
    begin grown
    sized 536870912 536870 1073741824 1073741 | file b.csv 'here, 4 cores' "$limits" && report &&
        says 'More lanes or another algorithm may fill it.' || return 1
    begin flat
    sized 536870912 1073700 1073741824 1073741 | file b.csv 'here, 4 cores' "$limits" && report &&
        says 'still take mostly latency' && says '-b 1073741824 -e 2147483648'
}
finds_a_wide_interval() {
    begin noisy
    { row ofi 2 1048576 600 400 900; row ofi 2 4194304 2300 2290 2310; } |
        file b.csv 'here, 4 cores' 'warning: the machine was busy in the last minute (load 4)' && report || return 1
    says '600 us (400 us to 900 us) is known to ±42 % only. Of 2 sizes, 1 vary by more than ±10 %.' &&
        says 'cause: The file warns that the machine was busy' && says 'next:  ./commlab doctor'
}
# 1.9 GB/s, 1 GB/s, 1.9 GB/s; where the algorithm does not change, and where it does.
finds_a_drop_at_one_size() {
    begin dropped
    sweep 552 4194 8830 35320 | file b.csv 'here, 4 cores' "$limits" && report || return 1
    says 'Allreduce of 4 MiB between 2 ranks over ofi: a drop to 1 GB/s, between 1.9 GB/s at 1 MiB and 1.9 GB/s at 16 MiB.' &&
        says 'next:  ./commlab bench allreduce -n 2 --backend ofi -b 4194304 --seconds 1s -e 4194304' || return 1
    sweep 552 4194 8830 35320 | sed '2s/,ring,/,tree,/' | file b.csv 'here, 4 cores' "$limits" && report &&
        says 'The algorithm changes here: ring, tree, ring.'
}
finds_nothing_wrong_with_a_good_sweep() {
    begin healthy
    sweep 552 2208 8830 35320 | file b.csv 'here, 4 cores' "$limits" && report &&
        says 'Nothing: no sweep is below 80 % of its limit'
}
# What it says to type next is a command that the kit takes: here with sizes 10,000 times smaller, over shared memory.
says_commands_that_exist() {
    local line n=0
    while read -r line; do
        why="$line"
        [[ $line == ./commlab\ * ]] || return 1
        line=$(sed -E 's/(-[be] [0-9]+)[0-9]{4}\b/\1/g; s/--backend ofi/--backend shm/; s/--seconds [0-9]s//' <<<"$line")
        [[ $line == *' bench '* ]] && line+=' --seconds 1ms' || line+=' --help'
        run 0 ${line/.\/commlab/$commlab} || return 1
        n=$((n + 1))
    done < <(sed -n 's/^  next:  //p' "$scratch"/{slow,noisy,dropped,crowded,grown,flat}-page/analysis.txt)
    why="$n commands"
    [ $n -ge 6 ]
}

# ---- files of others -----------------------------------------------------------------------------------------

# refused FILE WORDS: one line names it and has the words; of its rows none is taken.
refused() {
    why="not one line of $1 with '$2': $(grep -F "/$1:" "$scratch/err"), or a row of it: $(grep "^$1" "$page/combined_benchmark.csv")"
    [ "$(grep -cF "/$1:" "$scratch/err")" -eq 1 ] && grep -F "/$1:" "$scratch/err" | grep -qF -- "$2" && ! grep -q "^$1" "$page/combined_benchmark.csv"
}
# Beside a good file, which is reported on.
refuses_impossible_cells() {
    begin bad
    row shm 2 1000000 100 90 110 | file good.csv 'here, 2 cores'
    row shm 2 8 nan 1 2 | file nan.csv x
    row shm 2 8 -1 1 2 | file negative.csv x
    row shm 2 8 5 6 7 | file outside.csv x
    row shm 0 8 5 4 7 | file ranks.csv x
    row shm 2 8 5 4 7 ring allmend | file collective.csv x
    printf 'collective,backend,ranks,bytes\nallreduce,shm,2,8\n' >"$results/column.csv"
    printf '%s,status\n%s,perfect\n' $columns "$(row shm 2 8 5 4 7)" >"$results/status.csv"
    nccl_tests | sed 's/ 500.00 / nan /' >"$results/time.txt"
    nccl_tests | sed '12s/ 200.00//' >"$results/columns.txt"
    nccl_tests | grep -v Rank >"$results/ranks.txt"
    nccl_tests >"$results/which.txt"
    nccl_tests | head -n 10 >"$results/rows.txt"
    report && refused nan.csv "nan.csv:3: column \`usec\`: 'nan' is no number" && refused negative.csv ':3: column `usec`' &&
        refused outside.csv ':3: column `usec`: 5 us is not within its interval' && refused ranks.csv ':3: column `ranks`' &&
        refused collective.csv "'allmend' is no collective" && refused column.csv 'column.csv:1: no column `usec`' &&
        refused status.csv "'perfect' is none of ok" && refused time.txt "time.txt:12: column 6, time: 'nan'" &&
        refused columns.txt ':12: 12 columns, but the line above names 13' && refused ranks.txt 'no line names ranks' &&
        refused which.txt 'it does not say which collective' && refused rows.txt 'no row of sizes and times' || return 1
    why="the page does not say which files are left out, or names the folder"
    [ "$(grep -A 20 'Files and rows that are left out' "$page/index.html" | grep -c '^<li>[a-z]*\.')" -eq 12 ] && says good.csv
}
# contradicts FILE LINE WORDS: one line names the row and has the words; the row is marked, and in no finding or figure.
contradicts() {
    why="not one line of $1:$2 with '$3': $(cat "$scratch/err")"
    [ "$(grep -cF "/$1:$2:" "$scratch/err")" -eq 1 ] && grep -F "/$1:$2:" "$scratch/err" | grep -qF -- "$3" || return 1
    why="$1:$2 is not marked: $(grep "^$1,$2," "$page/combined_benchmark.csv")"
    grep -qE "^$1,$2,.*,failed,\"?[a-z]*bw contradicts time" "$page/combined_benchmark.csv" || return 1
    why="$1:$2 is compared: $(cat "$page"/benchmark-*.csv)"
    ! grep -h "$1" "$page"/benchmark-*.csv | cut -d, -f9 | grep -qx "$2"
}
# Rates of another size, of twice the time, of a factor of another number of ranks. Rounded ones are none.
marks_rows_that_contradict_themselves() {
    begin contradicting
    { row shm 2 1000000 100 90 110; row ofi 2 1000000 300 280 320 | sed 's/,3.33333333,0$/,33.3,0/'
      row mpi 2 1000000 200 190 210 | sed 's/,5,5,0$/,10,10,0/'; row gloo 4 1000000 400 380 420 | sed 's/,3.75,0$/,2.5,0/'
      row shm 4 1000000 333 320 340 ring broadcast | sed 's/,3.003003[0-9]*,4.5[0-9]*,0$/,3.00,3.01,0/'; } | file b.csv 'here, 4 cores'
    nccl_tests | sed '12s/ 200.00  200.00/ 200.00  300.00/' >"$results/all_reduce_perf.txt"
    { row shm 2 1000000 100 90 110; row ofi 2 1000000 300 280 320; } | file fine.csv 'elsewhere, 4 cores'
    report || return 1
    contradicts b.csv 4 'busbw is 33.3 GB/s, but 1 MB in 300 us between 2 ranks come to 3.333 GB/s' &&
        contradicts b.csv 5 'algbw is 10 GB/s, but 1 MB in 200 us between 2 ranks come to 5 GB/s' &&
        contradicts b.csv 6 'busbw is 2.5 GB/s, but 1 MB in 400 us between 4 ranks come to 3.75 GB/s' &&
        contradicts all_reduce_perf.txt 12 'busbw is 300 GB/s, but 100 MB in 500 us between 2 ranks come to 200 GB/s' || return 1
    why=$(cat "$scratch/err")
    [ "$(grep -c 'come to' "$scratch/err")" -eq 4 ] && says 'failed: busbw contradicts time, size and ranks (b.csv:4)' &&
        [ "$(grep -A 20 'Files and rows that are left out' "$page/index.html" | grep -c '^<li>[a-z_]*\.[a-z]*:[0-9]*: [ab]')" -eq 4 ]
}
# A file of nothing else fills no screen.
names_few_of_many_contradictions() {
    begin many
    for bytes in 1000000 2000000 3000000 4000000 5000000; do row shm 2 $bytes 100 90 110 | sed 's/,0$/9,0/; s/,\([0-9]*\),\([0-9]*\),0$/,\1,90,0/'; done |
        file b.csv 'here, 4 cores'
    report && why=$(cat "$scratch/err") && [ "$(grep -c 'busbw is 90 GB/s' "$scratch/err")" -eq 3 ] &&
        grep -q 'b.csv: 2 more rows contradict themselves' "$scratch/err"
}
compares_no_wrong_results() {
    begin wrong
    nccl_tests | sed '12s/200.00      0 /200.00      7 /' >"$results/all_reduce_perf.txt"
    report && says '- 7 elements are wrong in allreduce of 100 MB by 2 ranks' && says '[all_reduce_perf.txt:12]' || return 1
    why=$(grep -E '^(all_reduce_perf.txt,12|source)' "$page/combined_benchmark.csv")
    grep -q '100000000,.*,500,.*,7,.*,failed,' <<<"$why" || return 1
    why='the table by setting has rows of other lengths than its head'
    awk -F'|' '/^\| size/ { n = NF } /^\|/ && NF != n { exit 1 }' "$page/summary_by_config.md"
}
# A copy of the table alone has no first line: its rows are taken if the devices are named, and else it is said why not.
says_that_nothing_could_be_read() {
    begin milk
    echo 'buy milk' >"$results/notes.txt"
    run 1 "$commlab" report "$results" --output "$page" || return 1
    grep -qF "report: nothing in $results could be read: the lines above say why" "$scratch/err"
}
names_texts_that_it_can_not_read() {
    begin texts
    row shm 2 1000000 100 90 110 | file good.csv 'here, 2 cores'
    nccl_tests | sed 1d >"$results/all_reduce_perf.txt"
    nccl_tests | sed 1,8d >"$results/all_reduce_bare.txt"
    nccl_tests | grep '^ ' >"$results/all_reduce_rows.log"
    echo 'buy milk' >"$results/notes.txt"
    echo '{"rows": []}' >"$results/bench.json"
    report || return 1
    why=$(cat "$page/combined_benchmark.csv" "$scratch/err")
    [ "$(grep -c '^all_reduce_perf.txt' "$page/combined_benchmark.csv")" -eq 4 ] && [ "$(wc -l <"$scratch/err")" -eq 5 ] || return 1
    refused all_reduce_bare.txt 'no line names ranks' || return 1
    for file in all_reduce_rows.log notes.txt bench.json; do
        why="not one line of $file: $(cat "$scratch/err")"
        [ "$(grep -c "/$file: \(no line of it is one of nccl-tests\|it is no trace\)" "$scratch/err")" -eq 1 ] &&
            grep -q "<li>$file: " "$page/index.html" || return 1
    done
}
# Four ranks: busbw is 1.5 times algbw, which no other collective has.
knows_an_allreduce_by_its_factor() {
    begin factor
    nccl_tests | sed -n '1,5p; s/Rank  1/Rank  3/p; 9,12p' | sed 's/ 200.00  200.00/ 200.00  300.00/' >"$results/run.log"
    report && why=$(cat "$page/combined_benchmark.csv") &&
        [ "$(grep -c '^run.log,.*,allreduce,native,nccl,4,' "$page/combined_benchmark.csv")" -eq 4 ]
}
shows_names_of_others_as_text() {
    begin names
    row '<script>alert(1)</script>' 2 1000000 100 90 110 'x"><b>' | file 'a<b>.csv' '<img src=x onerror=alert(1)>'
    row shm 2 1000000 300 280 320 | file b.csv 'here, 2 cores'
    report || return 1
    why=$(grep -noE '<script|<b>|<img src=x' "$page/index.html" | head -n 3)
    [ -z "$why" ] || return 1
    why="no data-from of that file: $(grep -o 'data-from="[^"]*"' "$page/index.html" | head -n 3)"
    grep -q 'data-from="a%3Cb%3E.csv:3:usec"' "$page/index.html"
}
puts_no_words_of_others_into_commands() {
    begin injected
    sweep 1048 4194 16777 67108 | sed 's/,ofi,/,$(reboot),/' | file b.csv 'here, 4 cores' "$limits" \
        'job: 2 ranks on 4 cores, x, delayed as on ;reboot' && report || return 1
    why=$(grep next: "$page/analysis.txt")
    ! grep next: "$page/analysis.txt" | grep -q reboot
}

# Its text says which backend and algorithm it was, and that no GPU took part.
reads_our_bench_in_that_form() {
    begin own
    "$commlab" bench -n 2 -b 1K -e 1K --algo ring --seconds 0.02s --format nccl-tests >"$results/mine.txt" || return 1
    report && why=$(cat "$page/combined_benchmark.csv" "$results/mine.txt")
    [ "$(grep -c '^mine.txt,[0-9]*,.*,cpu,allreduce,ring,shm,2,1024,256,float,sum,-1,[01],throughput,' "$page/combined_benchmark.csv")" -eq 2 ]
}
# Version 1.0 has times in ms, 2.0 the largest error of an element, and the ranks' lines are lost. mpirun has labelled x.log.
reads_old_logs_by_options() {
    begin old
    printf '%s\n' '#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res' \
        '     1000000        250000   float     sum    0.500   2.00   3.00    1e-06    0.500   2.00   3.00    1e-06' >"$results/all_reduce_1.txt"
    printf '%s\n' '#       size         count    type    root     time   algbw   busbw  error     time   algbw   busbw  error' \
        '     1000000        250000   float       1    400.0    2.50    2.50  0e+00    400.0    2.50    2.50  0e+00' | sed 's/^/[1,0]<stdout>:/' >"$results/x.log"
    run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$page" --log-ranks 4 --log-collective broadcast || return 1
    why=$(cat "$page/combined_benchmark.csv")
    grep -q '^all_reduce_1.txt,2,unknown machine,cuda,allreduce,native,nccl,4,1000000,250000,float,sum,-1,0,throughput,500,,,2,3,,' <<<"$why" &&
        grep -q '^x.log,2,unknown machine,cuda,broadcast,native,nccl,4,1000000,250000,float,none,1,0,throughput,400,,,2.5,2.5,,' <<<"$why"
}
# Each run has its own test, by the command above it, and its own ranks.
reads_several_runs_of_a_log() {
    begin runs
    { echo 'Linking  all_gather.o > build/all_gather_perf' && echo './build/reduce_scatter_perf -b 8 -e 100M'
      nccl_tests | sed 's/ 200.00  200.00/ 200.00  100.00/; s/ 196.08  196.08/ 196.08   98.04/'
      echo 'mpirun -n 1 ./all_reduce_perf -b 8' && nccl_tests | sed '/Rank  1/d; s/ 200.00  200.00/ 200.00    0.00/; s/ 196.08  196.08/ 196.08    0.00/'
    } >"$results/runs.log"
    run 0 env PATH="$scratch/nothing" "$commlab" report "$results" --output "$page" || return 1
    why=$(cat "$page/combined_benchmark.csv")
    [ "$(grep -c '^runs.log,.*,reduce_scatter,native,nccl,2,' <<<"$why")" -eq 4 ] &&
        [ "$(grep -c '^runs.log,.*,allreduce,native,nccl,1,' <<<"$why")" -eq 4 ]
}

check_each merges_files_of_machines_and_tools says_which_file_was_replaced tells_why_a_setting_was_skipped \
    compares_backends_at_100_MB concludes_nothing_from_single_values has_tables_for_people \
    finds_differences_where_intervals_do_not_overlap compares_like_with_like takes_the_median_of_runs \
    takes_no_copy_for_a_run tells_settings_apart says_its_settings draws_each_collective_and_device draws_few_of_many_devices takes_one_sample_for_no_interval finds_a_sweep_below_its_limit \
    finds_a_crowded_sweep knows_latency_by_how_time_grows tells_emulated_wires_apart finds_a_wide_interval \
    finds_a_drop_at_one_size finds_nothing_wrong_with_a_good_sweep says_commands_that_exist \
    refuses_impossible_cells marks_rows_that_contradict_themselves names_few_of_many_contradictions says_that_nothing_could_be_read names_texts_that_it_can_not_read knows_an_allreduce_by_its_factor compares_no_wrong_results \
    shows_names_of_others_as_text puts_no_words_of_others_into_commands \
    reads_our_bench_in_that_form reads_old_logs_by_options reads_several_runs_of_a_log
exit $failed
