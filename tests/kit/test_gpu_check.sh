#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make gpu-check` says of checks that pass, fail, hang and can not be run: over a build that is not there, whose
# programs do as a case wants, and as a rehearsal over the fakes.
# Usage: test_gpu_check.sh [BUILD]. Takes long. Only in a full run: 38 cases.
# - `only STEP...` runs these alone, and what they need: tools, build, doctor.

. tests/cases.sh
unset MAKEFLAGS MFLAGS MAKELEVEL ${!GPU_CHECK_*} ${!NCCL_*} ${!CLAB_NCCL_*}
out=$scratch/checks
subject=(env GPU_CHECK_BUILD=0)
all_steps='tools build doctor device conformance-1 kernels overhead-1 short-calls enqueue-1 stream tuner profiler model faults conformance-2
    conformance-lazy lab-05 lab-01 sanitizer conformance-3 shm natives registration conformance-all overhead-all enqueue-all'

# gpu_check STATUS BUILD [SETTING...]; log/ of what it has packed is in $out/log then.
gpu_check() {
    run "$1" env "${@:3}" tests/gpu_check.sh "$2" "$out"
    local status=$?
    tar -C "$out" -xzf "$out/gpu.tar.gz" log 2>/dev/null
    return $status
}
only() { echo "GPU_CHECK_ONLY=$*"; }

# lines TEXT...: the summary has each.
lines() {
    local text
    for text; do
        why="no '$text' in: $(cat "$out/summary.txt")"
        grep -qF -- "$text" "$out/summary.txt" || return 1
    done
}

# ---- a build that is not there ---------------------------------------------------------------------------------

# stand_in 'BASH': a build whose commlab does that; doctor sees one GPU, and `nccl` is the real one's.
stand_in() {
    rm -rf "$scratch/stand-in" "$out"
    mkdir -p "$scratch/stand-in/backends" "$scratch/stand-in/labs" "$scratch/stand-in/tests"
    touch "$scratch/stand-in/backends/nccl.so" "$scratch/stand-in/backends/libnccl-tuner-commlab.so"
    printf '%s\n' '✓ cmocka: the tests' '✓ nccl: CUDA of nowhere' >"$scratch/stand-in/probes.txt"
    cat >"$scratch/stand-in/commlab" <<STAND_IN
#!/bin/bash
[ "\$1" != doctor ] || { echo '  ok       CUDA devices: 1'; exit; }
[ "\$1" != --help ] || exit 0
[ "\$1" != nccl ] || exec "$commlab" "\$@"
[ "\$1" != bench ] || for bytes in 8 262144 1048576 268435456; do
    echo "    \$bytes   262144    float   sum   -1  24.19"
done
log() { echo "h:1:1 [0] NCCL INFO \$*" >>"\${NCCL_DEBUG_FILE/\\%p/1}"; }
$1
STAND_IN
    chmod +x "$scratch/stand-in/commlab"
}
talks='log "TUNER/Plugin: Using commlab (v5)"'
lines_of_three_rows='log "AllReduce: 1024 Bytes -> Algo TREE proto LL channel{Lo..Hi}={0..1}"
log "AllReduce: 65536 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}"
log "AllReduce: 4194304 Bytes -> Algo 1 proto 2 time 3.4"'

takes_a_log_that_obeys_the_table() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; $lines_of_three_rows; }"
    gpu_check 0 "$scratch/stand-in" "$(only tuner)" &&
        lines 'pass     tuner ' 'TUNER/Plugin: Using commlab (v5); 3 sizes took algorithm and protocol of our table'
}
# As NCCL 2.27 and older write it.
takes_a_log_of_an_older_nccl() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { log 'TUNER/Plugin: Using tuner plugin commlab'; $lines_of_three_rows; }"
    gpu_check 0 "$scratch/stand-in" "$(only tuner)" && lines 'TUNER/Plugin: Using tuner plugin commlab; 3 sizes took'
}
fails_where_another_tuner_is_loaded() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { log 'TUNER/Plugin: Using tuner plugin another'; $lines_of_three_rows; }"
    gpu_check 1 "$scratch/stand-in" "$(only tuner)" && lines 'fail     tuner ' "NCCL's log does not name our tuner"
}
fails_where_nccl_takes_something_else() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; ${lines_of_three_rows/TREE/RING}; }"
    gpu_check 1 "$scratch/stand-in" "$(only tuner)" && lines 'fail     tuner ' '1024 B took ring ll, not tree ll;' ', 1 failed, '
}
fails_where_a_row_was_never_asked_for() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; log 'AllReduce: 1024 Bytes -> Algo TREE proto LL channel'; }"
    gpu_check 1 "$scratch/stand-in" "$(only tuner)" && lines 'the tuner was loaded, but 1 of 3 rows were seen'
}
fails_where_nothing_was_timed() {
    stand_in ''
    sed -i 's/echo .*262144.*/:/' "$scratch/stand-in/commlab"
    gpu_check 1 "$scratch/stand-in" "$(only natives)" && lines 'fail     natives ' 'bench ended well, but has timed nothing'
}
fails_where_the_log_does_not_name_the_tuner() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || log 'TUNER/Plugin: Could not find: x'"
    gpu_check 1 "$scratch/stand-in" "$(only tuner)" &&
        lines "fail     tuner " "NCCL's log does not name our tuner: h:1:1 [0] NCCL INFO TUNER/Plugin: Could not"
}
says_the_error_of_a_check_that_fails() {
    stand_in '[ "$2" != all ] || { echo "commlab: error: rank 0: allreduce: the result is wrong" >&2; exit 1; }'
    gpu_check 1 "$scratch/stand-in" "$(only natives)" &&
        lines 'fail     natives ' 'commlab: error: rank 0: allreduce: the result is wrong'
}
# The first that calls bench with 1 MiB hangs; who started it is not waited for, and the other steps go on.
hangs='[ "$1" != bench ] || [[ "$*" != *alltoall* ]] || { echo $$ >>"'"$scratch"'/hangs"; trap "" TERM; sleep 1000; }'
nothing_hangs() {
    local pid
    for pid in $(cat "$scratch/hangs"); do
        why="what hung is left: $(ps -o pid,stat,args -p "$pid")"
        ! grep -q '^State:\s[^Z]' "/proc/$pid/status" 2>/dev/null || return 1 # nobody may have reaped it yet
    done
    why='nothing has hung'
    [ -s "$scratch/hangs" ]
}
ends_what_hangs_and_goes_on() {
    rm -f "$scratch/hangs"
    stand_in "$hangs"
    gpu_check 1 "$scratch/stand-in" "$(only short-calls natives shm)" GPU_CHECK_LIMIT=5 &&
        lines 'fail     short-calls ' 'it did not end within 5 s, see log/short-calls.log' 'pass     natives ' \
            'pass     shm ' && nothing_hangs
}
# A process that has left the step's group is found, too.
ends_what_a_check_leaves() {
    rm -f "$scratch/hangs"
    stand_in '[ "$2" != all ] || { setsid sh -c '"'echo \$\$ >$scratch/hangs; exec sleep 1000' & }"
    gpu_check 0 "$scratch/stand-in" "$(only natives)" &&
        lines 'pass     natives ' '(1 of its processes were left, and were ended)' && nothing_hangs
}
begins_nothing_that_has_no_time() {
    rm -f "$scratch/hangs"
    stand_in "$hangs"
    gpu_check 1 "$scratch/stand-in" "$(only short-calls natives)" GPU_CHECK_SECONDS=4 \
        GPU_CHECK_LIMIT=6 &&
        lines 'it did not end within ' 's, all that was left; its limit is 6 s' \
            'not run  natives          because: of 4 s 0 are left, and its limit is 6 s' && nothing_hangs
}
# end_amid COMMAND...: SIGTERM as soon as a step hangs; its status is left in `status`.
end_amid() {
    local pid i
    "$@" >"$scratch/out" 2>"$scratch/err" &
    pid=$!
    for ((i = 0; i < 1500; i++)); do
        [ ! -s "$scratch/hangs" ] || break
        sleep 0.02
    done
    kill -TERM $pid
    wait $pid
    status=$?
    why="status $status: $(cat "$scratch/out" "$scratch/err")"
}
# Summary and tar are there, as far as it got.
packs_what_it_has_when_it_is_ended() {
    local status
    rm -f "$scratch/hangs"
    stand_in "$hangs"
    end_amid env GPU_CHECK_BUILD=0 "$(only short-calls natives)" tests/gpu_check.sh "$scratch/stand-in" "$out"
    [ $status = 143 ] && lines 'pass     doctor ' \
        'not run  short-calls      because: the check was ended by SIGTERM meanwhile' '2 passed, 0 failed' || return 1
    why="packed: $(tar -tzf "$out/gpu.tar.gz" 2>&1)"
    tar -tzf "$out/gpu.tar.gz" | grep -qx log/short-calls.log && tar -xzOf "$out/gpu.tar.gz" summary.txt |
        grep -q '^not run  short-calls ' && nothing_hangs
}
# What a killed job has left goes; what another job, begun meanwhile, has mapped does not.
sweeps_only_what_no_job_has_mapped() {
    local left=/dev/shm/nccl-left-$$ mapped=/dev/shm/nccl-mapped-$$ pid status
    stand_in '[ "$2" != all ] || { echo x >'"$left; echo x >$mapped; while [ ! -e $scratch/maps ]; do sleep 0.01; done; }"
    rm -f "$scratch/maps"
    python3 - "$mapped" "$scratch/maps" <<'PY' &
import mmap, os, sys, time
path, told = sys.argv[1:]
end = time.time() + 60
while not os.path.exists(path) or not os.path.getsize(path):
    if time.time() > end: sys.exit(1)
    time.sleep(0.01)
with open(path, "r+b") as file:
    memory = mmap.mmap(file.fileno(), 0)
open(told, "w").close()
time.sleep(60)
PY
    pid=$!
    gpu_check 0 "$scratch/stand-in" "$(only natives)"
    status=$?
    [ $status != 0 ] || why="left: $(ls /dev/shm | grep ^nccl-), and one is mapped"
    [ $status = 0 ] && [ ! -e "$left" ] && [ -e "$mapped" ]
    status=$?
    kill $pid && wait $pid 2>/dev/null
    rm -f "$left" "$mapped"
    return $status
}
# make hands the signal on, and does not end before all is packed.
packs_what_it_has_when_make_is_ended() {
    local status name off=()
    rm -f "$scratch/hangs"
    stand_in ''
    sed -i 's/^\[ "$1" != doctor \].*/echo $$ >'"${scratch//\//\\/}"'\/hangs; sleep 1000/' "$scratch/stand-in/commlab"
    for name in $(./probe.sh --list); do
        off+=("NO_$name=1")
    done
    end_amid env GPU_CHECK_BUILD=0 make B="$scratch/stand-in" OUT="$out" "${off[@]}" gpu-check
    [ $status != 0 ] && lines 'not run  doctor           because: the check was ended by SIGTERM' || return 1
    [ -s "$out/gpu.tar.gz" ] && nothing_hangs
}
holds_kernels_against_the_copy() {
    local rows='echo "copy  byte  256 MiB  1 1 1  4000.0  -  100.0"; echo "fill  float 256 MiB 1 1 1 2000.0 - 50.2"
        echo "reduce float 256 MiB 1 1 1 3600.0 - 91.0"; echo "sgd float 256 MiB 1 1 1 3500.0 - SGD"'
    stand_in "[ \"\$1\" != --help ] || echo '  device   times'; [ \"\$1\" != device ] || { ${rows/SGD/87.5}; }; [ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; $lines_of_three_rows; }"
    sed -i '/--help \] || exit/d' "$scratch/stand-in/commlab"
    gpu_check 0 "$scratch/stand-in" "$(only kernels)" &&
        lines "pass     kernels " "of the copy's bandwidth: fill 50 %, reduce 91 %, sgd 88 % (bar of reduce and sgd 85 %)" || return 1
    sed -i 's/87\.5/84.9/' "$scratch/stand-in/commlab"
    gpu_check 1 "$scratch/stand-in" "$(only kernels)" && lines "fail     kernels " "sgd 85 %, and 85 % is the bar of reduce and sgd"
}
# What the loop takes for 1 MiB and 256 MiB; bench takes 24.19 us for either.
loop_of() {
    mkdir -p "$scratch/stand-in/tests/gpu"
    printf '#!/bin/sh\necho usec 1048576 %s 9\necho usec 268435456 %s 9\n' "$1" "$2" >"$scratch/stand-in/tests/gpu/nccl_loop"
    chmod +x "$scratch/stand-in/tests/gpu/nccl_loop"
}
# The bar is 2 %, or 0.5 us where that is more.
holds_bench_against_a_bare_loop() {
    stand_in ''
    loop_of 23.70 24.00
    gpu_check 0 "$scratch/stand-in" "$(only overhead-1)" &&
        lines 'pass     overhead-1 ' '1 MiB: bench 24.19 us, a bare loop 23.70 us: 0.49 us or 2.07 % more (bar 0.50 us)' \
            '256 MiB: bench 24.19 us, a bare loop 24.00 us: 0.19 us or 0.79 % more (bar 0.50 us); 5 pairs' || return 1
    loop_of 24.00 23.50
    gpu_check 1 "$scratch/stand-in" "$(only overhead-1)" &&
        lines 'fail     overhead-1 ' '256 MiB: bench 24.19 us, a bare loop 23.50 us: 0.69 us or 2.94 % more (bar 0.50 us)'
}
says_where_bench_is_faster_than_a_bare_loop() {
    stand_in ''
    loop_of 25.00 24.00
    gpu_check 0 "$scratch/stand-in" "$(only overhead-1)" &&
        lines 'a bare loop 25.00 us: a negative overhead, 0.81 us or 3.24 % less (bar 0.50 us)'
}
says_what_a_short_call_takes() {
    stand_in ''
    gpu_check 0 "$scratch/stand-in" "$(only short-calls)" &&
        lines '8 B: 24.19 us one by one, 24.19 us enqueued, 24.19 us in a graph; 262144 B: 24.19 us one by one, '
}
# sanitizing TEXT STATUS: a compute-sanitizer that says that, and ends so.
sanitizing() {
    conforming '' 0
    mv "$scratch/stand-in/tests/test_conformance" "$scratch/stand-in/tests/test_device"
    mkdir -p "$scratch/bin"
    printf '#!/bin/sh\necho "========= COMPUTE-SANITIZER"\nprintf "%%s\\n" %s\nexit %s\n' "$1" "$2" >"$scratch/bin/compute-sanitizer"
    chmod +x "$scratch/bin/compute-sanitizer"
}
# A summary for each process; a virtual machine may refuse the tool its GPU.
tells_errors_from_a_sanitizer_that_can_not_be_used() {
    local none="'========= ERROR SUMMARY: 0 errors'" two="'========= ERROR SUMMARY: 2 errors'" path="PATH=$scratch/bin:$PATH"
    local invalid="'========= Invalid __global__ write of size 4 bytes'"
    sanitizing "$none $none" 0
    gpu_check 0 "$scratch/stand-in" "$(only sanitizer)" "$path" && lines 'pass     sanitizer ' ': ERROR SUMMARY: 0 errors' || return 1
    sanitizing "$none $invalid $two" 99
    gpu_check 1 "$scratch/stand-in" "$(only sanitizer)" "$path" &&
        lines 'fail     sanitizer ' '========= Invalid __global__ write of size 4 bytes; ========= ERROR SUMMARY: 2 errors' || return 1
    sanitizing "$none" 1
    gpu_check 1 "$scratch/stand-in" "$(only sanitizer)" "$path" &&
        lines 'fail     sanitizer ' ': test_device ended with 1 under it; ========= ERROR SUMMARY: 0 errors' || return 1
    sanitizing "'========= Error: Device not supported. Please refer to the documentation' '========= Program hit error 999' $two" 99
    gpu_check 0 "$scratch/stand-in" "$(only sanitizer)" "$path" &&
        lines 'not run  sanitizer ' 'compute-sanitizer can not use this GPU: ========= Error: Device not supported'
}
# NCCL's log of two or three nodes with a GPU each: `table RING_SIMPLE`, that cell of it.
table() {
    cat <<LOG
[ -z "\$NCCL_DEBUG_FILE" ] || {
    log 'Pattern 4, crossNic 0, nChannels 2, bw 1.200000/1.200000, type LOC/SYS, sameChannels 1'
    log 'Pattern 1, crossNic 0, nChannels 2, bw 1.200000/1.200000, type LOC/SYS, sameChannels 1'
    log '  Algorithm   |                Ring                |'
    log '    AllReduce |    16.6/   1.2 |     0.0/   0.0 | $1 |'
    log 'AllReduce: 4194304 Bytes -> Algo RING proto SIMPLE channel{Lo..Hi}={0..1}'
}
[ "\$1" != bench ] || echo '# library: NCCL 2.30.7, CUDA 13.0'
LOG
}
# conforming TEXT STATUS: a build whose conformance suite says that, and ends so.
conforming() {
    stand_in ''
    mkdir -p "$scratch/stand-in/tests"
    printf '#!/bin/sh\necho "$CLAB_CONFORMANCE_SECONDS" >%s/seconds\n%s\nexit %s\n' "$scratch" "$1" "$2" \
        >"$scratch/stand-in/tests/test_conformance"
    chmod +x "$scratch/stand-in/tests/test_conformance"
}
# Ranks that share a GPU may be slow: what was right so far counts, and the summary says what was left out.
says_where_conformance_ran_out_of_time() {
    local left='parts checked; no time for gather by ring, nor for what comes after it'
    conforming "echo 'conformance: 41 $left'; echo 'ok 1 - nccl'" 0
    gpu_check 0 "$scratch/stand-in" "$(only conformance-3)" &&
        lines 'pass     conformance-3 ' "3 ranks: as far as it came in 75 s: 41 $left; #wrong 0" || return 1
    why="the limit: $(cat "$scratch/seconds")"
    [ "$(cat "$scratch/seconds")" = 75 ] || return 1
    conforming "echo 'conformance: 0 $left'; echo 'ok 1 - nccl'" 0
    gpu_check 0 "$scratch/stand-in" "$(only conformance-3)" && lines 'not run  conformance-3 ' "in 75 s: 0 $left"
}
holds_the_tuning_table_against_the_model() {
    stand_in "$(table '99.9/   2.4')"
    gpu_check 0 "$scratch/stand-in" "$(only model)" &&
        lines 'pass     model ' "NCCL's table against commlab nccl: " 'us apart at most (' \
            ' allreduce Ring Simple: 99.9 and ' '; 2 of 2 choices alike' || return 1
    why=$(cat "$out/log/model.csv")
    grep -qE '^2,allreduce,Ring,LL,16.6,16.6,1.2,1.2$' "$out/log/model.csv" &&
        grep -qE '^3,allreduce,Ring,Simple,99.9,[0-9.]+,2.4,[0-9.]+$' "$out/log/model.csv" || return 1
    stand_in '[ -z "$NCCL_DEBUG_FILE" ] || log nothing'
    gpu_check 1 "$scratch/stand-in" "$(only model)" && lines 'fail     model ' 'nothing could be compared'
}
# NCCL 2.27 has it in small letters.
takes_a_profiler_that_is_loaded() {
    local log
    for log in 'PROFILER/Plugin: loaded commlab' 'PROFILER/Plugin: Loaded commlab (v5)'; do
        stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { log '$log'; for r in 0 1; do echo x >\${CLAB_NCCL_TRACE/.json/-\$r.json}; done; }"
        touch "$scratch/stand-in/backends/libnccl-profiler-commlab.so"
        gpu_check 0 "$scratch/stand-in" "$(only profiler)" && lines 'pass     profiler ' "$log; both ranks" || return 1
    done
}
# What can not be run says why, and is never counted as passed.
says_why_a_check_is_not_run() {
    stand_in "$(table '36.4/   2.4')"
    rm "$scratch/stand-in/backends/libnccl-tuner-commlab.so"
    gpu_check 0 "$scratch/stand-in" || return 1
    lines 'not run  conformance-1    because: ' 'test_conformance is not built (make gpu-tools)' \
        'not run  device           because: ' 'not run  faults           because: ' \
        'not run  tuner            because: this build has no tuner plugin' \
        'not run  overhead-all     because: it needs 2 GPUs, and here is 1' || return 1
    why="$(cat "$out/summary.csv")"
    awk -F, 'NR > 1 { n[$2]++ } END { exit !(n["not run"] + n["pass"] == 26 && n["pass"] <= 6) }' "$out/summary.csv" &&
        has_steps $all_steps
}
# has_steps NAME...: a line for each, in that order.
has_steps() {
    local seen
    seen=$(tail -n +2 "$out/summary.csv" | cut -d, -f1 | paste -sd' ')
    why="steps: $seen, not $*"
    [ "$seen" = "$*" ]
}
# From any folder, and where a copy has lost the bit that lets it be run.
runs_from_any_folder() {
    local kit=$scratch/kit
    stand_in ''
    mkdir -p "$kit" && cp -r tests probe.sh Makefile "$kit" 2>/dev/null
    chmod -x "$kit/tests/gpu_check.sh"
    (cd "$kit/tests" && GPU_CHECK_BUILD=0 GPU_CHECK_ONLY=natives bash ./gpu_check.sh "$(realpath "$scratch/stand-in")" "$out") \
        >"$scratch/out" 2>"$scratch/err"
    why="$(cat "$scratch/out" "$scratch/err")"
    lines 'pass     doctor ' 'pass     natives '
}
refuses_a_third_word() { run 2 tests/gpu_check.sh build out more; }
# Once to who looks, and in the summary on each step's own line.
says_of_each_step_that_there_is_no_gpu() {
    stand_in ''
    sed -i 's/.*CUDA devices: 1.*/[ "$1" != doctor ] || { echo "  missing  CUDA devices: none: there is no driver"; exit; }/' "$scratch/stand-in/commlab"
    gpu_check 3 "$scratch/stand-in" || return 1
    why=$(cat "$scratch/err")
    [ "$(wc -l <"$scratch/err")" = 1 ] &&
        grep -q 'no GPU can be used here (none: there is no driver), so nothing was checked' "$scratch/err" &&
        has_steps $all_steps || return 1
    why=$(cat "$out/summary.txt")
    [ "$(grep -c '^not run .* because: no GPU can be used here (none: there is no driver); ' "$out/summary.txt")" = 23 ]
}
# The driver's own program counts GPUs, too: a doctor that hangs is one check that fails.
goes_on_where_the_doctor_hangs() {
    rm -f "$scratch/hangs"
    stand_in ''
    sed -i 's/^\[ "$1" != doctor \].*/[ "$1" != doctor ] || { echo $$ >'"${scratch//\//\\/}"'\/hangs; sleep 1000; }/' "$scratch/stand-in/commlab"
    mkdir -p "$scratch/bin"
    printf '#!/bin/sh\necho "GPU 0: NVIDIA H200 (UUID: GPU-0)"\n' >"$scratch/bin/nvidia-smi"
    chmod +x "$scratch/bin/nvidia-smi"
    gpu_check 1 "$scratch/stand-in" PATH="$scratch/bin:$PATH" GPU_CHECK_LIMIT=5 "$(only natives)" &&
        lines 'fail     doctor ' 'it did not end within 5 s' 'pass     natives ' && nothing_hangs
}
# A build that was cut short leaves a commlab, but no fakes: that is not a machine without a GPU.
says_that_there_are_no_fakes() {
    stand_in ''
    gpu_check 1 "$scratch/stand-in" GPU_CHECK_FAKE=1 GPU_CHECK_BUILD=1 MAKE=false NO_NCCL=1 "$(only natives)" &&
        lines 'fail     build ' 'not run  natives          because: the kit, or its fakes, could not be built;'
}
# Failures count, too, where there is no GPU.
fails_where_the_build_fails_and_no_gpu_is() {
    stand_in ''
    sed -i 's/.*CUDA devices: 1.*/[ "$1" != doctor ] || { echo "  missing  CUDA devices: none: there is no driver"; exit; }/' "$scratch/stand-in/commlab"
    gpu_check 1 "$scratch/stand-in" GPU_CHECK_BUILD=1 MAKE=false NO_NCCL=1 "$(only natives)" &&
        lines 'fail     build ' 'not run  natives          because: no GPU can be used here (none: there is no driver)'
}
# A copy on a lent machine has no git: the manifest names the sources all the same.
names_the_sources_that_it_checks() {
    stand_in ''
    local sum
    sum=$(find Makefile probe.sh backends cmd core labs sim tests -type f | LC_ALL=C sort | xargs sha256sum | sha256sum)
    gpu_check 0 "$scratch/stand-in" "$(only natives)" || return 1
    why="$(cat "$out/log/manifest.txt")"
    grep -qx "sources: ${sum:0:16} (SHA-256)" "$out/log/manifest.txt"
}
refuses_a_step_that_there_is_not() { run 2 env "$(only tuner bench)" tests/gpu_check.sh build "$out"; }
# The compiler of CUDA is found where the build finds it; PATH has nothing of CUDA.
finds_nvcc_outside_path() {
    stand_in ''
    run 0 env GPU_CHECK_BUILD=1 MAKE=true "$(only doctor)" PATH=/usr/bin:/bin bash tests/gpu_check.sh "$scratch/stand-in" \
        "$out" && lines 'pass     tools ' 'GNU Make' 'no nvcc on PATH, CUDA 1' 'nvcc, NCCL 2.'
}
says_that_there_is_no_nvcc() {
    stand_in ''
    sed -i 's/^✓ nccl: .*/✗ nccl: no nccl backend for GPUs: there is no nvcc/' "$scratch/stand-in/probes.txt"
    gpu_check 1 "$scratch/stand-in" "$(only doctor)" && lines 'fail     tools ' 'no nccl backend for GPUs: there is no nvcc'
}

# ---- conformance without cmocka --------------------------------------------------------------------------------

conforms_by_the_stand_in_for_cmocka() {
    "$build/tests/gpu/test_conformance" shm:2 >"$scratch/out" 2>&1
    local status=$?
    why="status $status: $(tail -n 4 "$scratch/out")"
    [ $status = 0 ] && grep -qx 'ok 1 - shm_conforms_with_2_ranks' "$scratch/out"
}
computes_by_the_stand_in_for_cmocka() {
    local program
    for program in test_device test_device_data; do
        LD_LIBRARY_PATH=$build/fakes "$build/tests/gpu/$program" --backend nccl -n 1 >"$scratch/out" 2>&1
        local status=$?
        why="$program, status $status: $(tail -n 4 "$scratch/out")"
        [ $status = 0 ] && grep -qx 'ok 10 - test_.*' "$scratch/out" && ! grep -q '^not ok' "$scratch/out" || return 1
    done
}
# Time ends between two parts, at the same one for all ranks; none is waited for by another.
# Time is doubled until a part was checked, since a busy machine starts its ranks late.
leaves_out_what_there_is_no_time_for() {
    local seconds status
    for seconds in 0 0.01 0.02 0.04 0.08 0.16 0.32 0.64; do
        CLAB_CONFORMANCE_SECONDS=$seconds "$build/tests/gpu/test_conformance" shm:3 >"$scratch/out" 2>&1
        status=$?
        why="$seconds s: status $status: $(tail -n 4 "$scratch/out")"
        [ $status = 0 ] && grep -qx 'ok 1 - shm_conforms_with_3_ranks' "$scratch/out" &&
            [ "$(grep -cxE 'conformance: [0-9]+ parts checked; no time for .+, nor for what comes after it' \
                "$scratch/out")" = 1 ] || return 1
        grep -q '^conformance: 0 parts' "$scratch/out" || return 0
    done
    return 1
}
# A backend that there is not: the assertion that no rank can open its job.
fails_by_the_stand_in_for_cmocka() {
    CLAB_OFI_REGISTER= CLAB_TIMEOUT=never "$build/tests/gpu/test_conformance" shm:2 >"$scratch/out" 2>&1
    local status=$?
    why="status $status: $(tail -n 4 "$scratch/out")"
    [ $status = 1 ] && grep -qx 'not ok 1 - shm_conforms_with_2_ranks' "$scratch/out" &&
        grep -q '^# .*test_conformance.c:' "$scratch/out"
}

# ---- the rehearsal ---------------------------------------------------------------------------------------------

rehearses_over_the_fakes() {
    rm -rf "$out"
    gpu_check 0 "$build" GPU_CHECK_FAKE=1 GPU_CHECK_QUICK=1 CLAB_FAKE_GPUS=1 REHEARSAL=$$ ||
        { why="$why $(grep ^fail "$out/summary.txt")"; return 1; }
    has_steps $all_steps || return 1
    lines 'pass     tools ' 'pass     device           every kernel of the GPU against the processor: 21 cases' \
        'pass     conformance-1 ' 'pass     short-calls ' 'pass     conformance-2 ' 'pass     natives ' 'pass     lab-01 ' \
        'pass     overhead-1 ' 'pass     enqueue-1 ' 'pass     stream ' '"rank 1 has ended' '"rank 1 is stopped in number ' || return 1
    why="a line that does not say so: $(grep -v 'rehearsal over fakes, no measurement' "$out/summary.txt")"
    ! grep -qv 'rehearsal over fakes, no measurement' "$out/summary.txt" || return 1
    why="figures of the fakes: $(ls "$out/log")"
    [ -z "$(ls "$out/log" | grep -E '^(overhead|enqueue|short-calls|natives|kernels|lab).*csv')" ] || return 1
    why="left: $(left_of_rehearsal | xargs -r ps -o pid=,args= -p)"
    [ -z "$(left_of_rehearsal)" ] || return 1
    packs_all_in_three_files
}
# Processes of the rehearsal, by a word in their environment.
left_of_rehearsal() { grep -lsz "^REHEARSAL=$$\$" /proc/[0-9]*/environ | sed 's|/proc/\([0-9]*\)/.*|\1|'; }
packs_all_in_three_files() {
    rm -rf "$out/log"
    why="results: $(ls -A "$out") of $(tar -tzf "$out/gpu.tar.gz")"
    [ "$(ls -A "$out" | paste -sd' ')" = 'gpu.tar.gz summary.csv summary.txt' ] || return 1
    local file
    for file in summary.txt summary.csv log/doctor.txt log/manifest.txt log/ldd.txt log/nvidia-smi.txt log/device.log \
        log/faults-KILL.txt log/faults-STOP.txt log/natives.log; do
        tar -tzf "$out/gpu.tar.gz" "$file" >/dev/null 2>&1 || { why="no $file in $why"; return 1; }
    done
}

check_each takes_a_log_that_obeys_the_table fails_where_nccl_takes_something_else \
    fails_where_the_log_does_not_name_the_tuner takes_a_profiler_that_is_loaded says_the_error_of_a_check_that_fails \
    ends_what_hangs_and_goes_on ends_what_a_check_leaves begins_nothing_that_has_no_time \
    packs_what_it_has_when_it_is_ended holds_kernels_against_the_copy holds_bench_against_a_bare_loop \
    says_why_a_check_is_not_run refuses_a_third_word refuses_a_step_that_there_is_not goes_on_where_the_doctor_hangs \
    says_of_each_step_that_there_is_no_gpu says_that_there_is_no_nvcc conforms_by_the_stand_in_for_cmocka \
    fails_by_the_stand_in_for_cmocka leaves_out_what_there_is_no_time_for says_that_there_are_no_fakes \
    fails_where_the_build_fails_and_no_gpu_is names_the_sources_that_it_checks runs_from_any_folder
# Others of the same kinds.
check_full takes_a_log_of_an_older_nccl fails_where_another_tuner_is_loaded fails_where_a_row_was_never_asked_for \
    says_where_bench_is_faster_than_a_bare_loop tells_errors_from_a_sanitizer_that_can_not_be_used \
    packs_what_it_has_when_make_is_ended says_where_conformance_ran_out_of_time says_what_a_short_call_takes \
    holds_the_tuning_table_against_the_model fails_where_nothing_was_timed
check_having python3 sweeps_only_what_no_job_has_mapped
if [ -n "$(ls "$build"/fakes/libnccl.so.* 2>/dev/null)" ] && [ -e "$build/backends/nccl.so" ]; then
    check computes_by_the_stand_in_for_cmocka
    check_full rehearses_over_the_fakes # a quarter of all that the test takes
    if [ -e /usr/bin/nvcc ]; then
        skip 'nvcc is in /usr/bin' finds_nvcc_outside_path
    else
        check_full finds_nvcc_outside_path
    fi
else
    skip 'built without the nccl backend and its fakes' finds_nvcc_outside_path computes_by_the_stand_in_for_cmocka \
        rehearses_over_the_fakes
fi

exit $failed
