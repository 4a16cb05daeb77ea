#!/bin/bash
# SPDX-License-Identifier: MIT
# What `make gpu-check` says of checks that pass, fail, hang and can not be run: over a build that is not there, whose
# programs do as a case wants, and as a rehearsal over the fakes.
# Usage: test_gpu_check.sh [BUILD]. Takes long.

. tests/cases.sh
unset MAKEFLAGS MFLAGS MAKELEVEL ${!GPU_CHECK_*} ${!NCCL_*} ${!CLAB_NCCL_*}
out=$scratch/checks
subject=(env GPU_CHECK_BUILD=0)

# gpu_check STATUS BUILD
gpu_check() { run "$1" tests/gpu_check.sh "$2" "$out"; }

# lines TEXT...: the summary has each.
lines() {
    local text
    for text; do
        why="no '$text' in: $(cat "$out/summary.txt")"
        grep -qF -- "$text" "$out/summary.txt" || return 1
    done
}

# ---- a build that is not there ---------------------------------------------------------------------------------

# stand_in 'BASH': a build whose commlab does that; doctor sees one GPU.
stand_in() {
    rm -rf "$scratch/stand-in" "$out"
    mkdir -p "$scratch/stand-in/backends" "$scratch/stand-in/labs" "$scratch/stand-in/tests"
    touch "$scratch/stand-in/backends/nccl.so" "$scratch/stand-in/backends/libnccl-tuner-commlab.so"
    echo '✓ cmocka: the tests' >"$scratch/stand-in/probes.txt"
    cat >"$scratch/stand-in/commlab" <<STAND_IN
#!/bin/bash
[ "\$1" != doctor ] || { echo '  ok       CUDA devices: 1'; exit; }
[ "\$1" != --help ] || exit 0
[ "\$1" != bench ] || echo '    1048576   262144    float   sum   -1  24.19'
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
    gpu_check 0 "$scratch/stand-in" &&
        lines 'pass     tuner ' 'TUNER/Plugin: Using commlab (v5); 3 sizes took algorithm and protocol of our table'
}
# As NCCL 2.27 and older write it.
takes_a_log_of_an_older_nccl() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { log 'TUNER/Plugin: Using tuner plugin commlab'; $lines_of_three_rows; }"
    gpu_check 0 "$scratch/stand-in" && lines 'TUNER/Plugin: Using tuner plugin commlab; 3 sizes took'
}
fails_where_another_tuner_is_loaded() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { log 'TUNER/Plugin: Using tuner plugin another'; $lines_of_three_rows; }"
    gpu_check 1 "$scratch/stand-in" && lines 'fail     tuner ' "NCCL's log does not name our tuner"
}
fails_where_nccl_takes_something_else() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; ${lines_of_three_rows/TREE/RING}; }"
    gpu_check 1 "$scratch/stand-in" && lines 'fail     tuner ' '1024 B took ring ll, not tree ll;' ', 1 failed, '
}
fails_where_a_row_was_never_asked_for() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; log 'AllReduce: 1024 Bytes -> Algo TREE proto LL channel'; }"
    gpu_check 1 "$scratch/stand-in" && lines 'the tuner was loaded, but 1 of 3 rows were seen'
}
fails_where_nothing_was_timed() {
    stand_in ''
    sed -i '/1048576   262144/d' "$scratch/stand-in/commlab"
    gpu_check 1 "$scratch/stand-in" && lines 'fail     natives ' 'bench ended well, but has timed nothing'
}
fails_where_the_log_does_not_name_the_tuner() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || log 'TUNER/Plugin: Could not find: x'"
    gpu_check 1 "$scratch/stand-in" &&
        lines "fail     tuner " "NCCL's log does not name our tuner: h:1:1 [0] NCCL INFO TUNER/Plugin: Could not"
}
says_the_error_of_a_check_that_fails() {
    stand_in '[ "$2" != all ] || { echo "commlab: error: rank 0: allreduce: the result is wrong" >&2; exit 1; }'
    gpu_check 1 "$scratch/stand-in" &&
        lines 'fail     natives ' 'commlab: error: rank 0: allreduce: the result is wrong'
}
ends_what_hangs_and_says_so() {
    stand_in '[ "$2" != all ] || { echo $$ >"'"$scratch"'/hangs"; sleep 1000; }'
    subject=(env GPU_CHECK_BUILD=0 GPU_CHECK_SECONDS=16) # what comes before may take its time
    gpu_check 1 "$scratch/stand-in"
    local status=$?
    subject=(env GPU_CHECK_BUILD=0)
    [ $status = 0 ] && lines 'fail     natives ' 'it did not end within ' \
        'not run  shm              because: 16 s are over' || return 1
    why="what hung is left: $(ps -o pid,stat,args -p "$(cat "$scratch/hangs")")"
    ! grep -q '^State:\s[^Z]' "/proc/$(cat "$scratch/hangs")/status" 2>/dev/null # nobody may have reaped it yet
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
    run 1 env CLAB_TIMEOUT=5s tests/gpu_check.sh "$scratch/stand-in" "$out" # no log of NCCL: the tuner fails
    status=$?
    [ $status != 0 ] || why="left: $(ls /dev/shm | grep ^nccl-), and one is mapped"
    [ $status = 0 ] && [ ! -e "$left" ] && [ -e "$mapped" ]
    status=$?
    kill $pid && wait $pid 2>/dev/null
    rm -f "$left" "$mapped"
    return $status
}
# What can not be run says why, and is never counted as passed.
holds_kernels_against_the_copy() {
    local rows='echo "copy  byte  256 MiB  1 1 1  4000.0  -  100.0"; echo "fill  float 256 MiB 1 1 1 3800.0 - 95.2"
        echo "reduce float 256 MiB 1 1 1 3600.0 - 91.0"; echo "sgd float 256 MiB 1 1 1 3500.0 - SGD"'
    stand_in "[ \"\$1\" != --help ] || echo '  device   times'; [ \"\$1\" != device ] || { ${rows/SGD/87.5}; }; [ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; $lines_of_three_rows; }"
    sed -i '/--help \] || exit/d' "$scratch/stand-in/commlab"
    gpu_check 0 "$scratch/stand-in" &&
        lines "pass     kernels " "of the copy's bandwidth: fill 95 %, reduce 91 %, sgd 88 % (bar 85 %)" || return 1
    sed -i 's/87\.5/84.9/' "$scratch/stand-in/commlab"
    gpu_check 1 "$scratch/stand-in" && lines "fail     kernels " "sgd 85 %, and 85 % is the bar"
}
holds_bench_against_a_bare_loop() {
    stand_in "[ -z \"\$NCCL_DEBUG_FILE\" ] || { $talks; $lines_of_three_rows; }"
    mkdir -p "$scratch/stand-in/tests/gpu"
    printf '#!/bin/sh\necho usec 24.00 9\n' >"$scratch/stand-in/tests/gpu/nccl_loop"
    chmod +x "$scratch/stand-in/tests/gpu/nccl_loop"
    gpu_check 0 "$scratch/stand-in" &&
        lines 'pass     overhead-1 ' 'bench takes 24.19 us for 1 MiB, a bare loop 24.00 us: 0.79 % more (bar 2 %)' ||
        return 1
    sed -i 's/24.00/23.50/' "$scratch/stand-in/tests/gpu/nccl_loop"
    gpu_check 1 "$scratch/stand-in" && lines 'fail     overhead-1 ' '2.94 % more, and 2 % is the bar'
}
says_why_a_check_is_not_run() {
    stand_in '[ -z "$NCCL_DEBUG_FILE" ] || exit 1'
    rm "$scratch/stand-in/backends/libnccl-tuner-commlab.so"
    gpu_check 0 "$scratch/stand-in" || return 1
    lines 'not run  conformance-1    because: ' 'test_conformance is not built (make gpu-tools)' \
        'not run  tuner            because: this build has no tuner plugin' \
        'not run  lab-09           because: there is no ' \
        'not run  overhead-all     because: it needs 2 GPUs, and here is 1' || return 1
    why="$(cat "$out/summary.csv")"
    awk -F, 'NR > 1 { n[$2]++ } END { exit !(n["not run"] + n["pass"] == 16 && n["pass"] <= 4) }' "$out/summary.csv"
}
refuses_a_third_word() { run 2 tests/gpu_check.sh build out more; }
says_in_one_line_that_there_is_no_gpu() {
    stand_in ''
    sed -i 's/.*CUDA devices: 1.*/[ "$1" != doctor ] || { echo "  missing  CUDA devices: none: there is no driver"; exit; }/' "$scratch/stand-in/commlab"
    gpu_check 3 "$scratch/stand-in" || return 1
    why=$(cat "$scratch/err")
    [ "$(wc -l <"$scratch/err")" = 1 ] &&
        grep -q 'no GPU can be used here (none: there is no driver), so nothing was checked' "$scratch/err" || return 1
    why=$(cat "$out/summary.txt" "$out/summary.csv")
    grep -qx 'not run  others           because: no GPU can be used here (none: there is no driver)' "$out/summary.txt" &&
        grep -q '^others,not run,0,' "$out/summary.csv"
}

# ---- conformance without cmocka --------------------------------------------------------------------------------

conforms_by_the_stand_in_for_cmocka() {
    "$build/tests/gpu/conformance" shm:2 >"$scratch/out" 2>&1
    local status=$?
    why="status $status: $(tail -n 4 "$scratch/out")"
    [ $status = 0 ] && grep -qx 'ok 1 - shm_conforms_with_2_ranks' "$scratch/out"
}
# A backend that there is not: the assertion that no rank can open its job.
fails_by_the_stand_in_for_cmocka() {
    CLAB_OFI_REGISTER= CLAB_SHM_NO_READV= CLAB_TIMEOUT=never "$build/tests/gpu/conformance" shm:2 >"$scratch/out" 2>&1
    local status=$?
    why="status $status: $(tail -n 4 "$scratch/out")"
    [ $status = 1 ] && grep -qx 'not ok 1 - shm_conforms_with_2_ranks' "$scratch/out" &&
        grep -q '^# .*test_conformance.c:' "$scratch/out"
}

# ---- the rehearsal ---------------------------------------------------------------------------------------------

rehearses_over_the_fakes() {
    rm -rf "$out"
    subject=(env GPU_CHECK_BUILD=0 GPU_CHECK_FAKE=1 GPU_CHECK_QUICK=1 CLAB_FAKE_GPUS=1)
    gpu_check 0 "$build" || { why="$why $(grep ^fail "$out/summary.txt")"; return 1; }
    lines 'pass     conformance-1 ' 'pass     conformance-2 ' 'pass     natives ' 'pass     lab-01 ' \
        'pass     overhead-1 ' || return 1
    why="a line that does not say so: $(grep -v 'rehearsal over fakes, no measurement' "$out/summary.txt")"
    ! grep -qv 'rehearsal over fakes, no measurement' "$out/summary.txt" || return 1
    why="figures of the fakes: $(ls "$out")"
    [ -z "$(cd "$out" && ls | grep -E '^(overhead|natives|kernels|lab).*csv')" ]
}

check_each takes_a_log_that_obeys_the_table takes_a_log_of_an_older_nccl fails_where_another_tuner_is_loaded \
    fails_where_nccl_takes_something_else fails_where_a_row_was_never_asked_for fails_where_nothing_was_timed \
    fails_where_the_log_does_not_name_the_tuner says_the_error_of_a_check_that_fails ends_what_hangs_and_says_so \
    holds_kernels_against_the_copy holds_bench_against_a_bare_loop says_why_a_check_is_not_run refuses_a_third_word \
    says_in_one_line_that_there_is_no_gpu conforms_by_the_stand_in_for_cmocka fails_by_the_stand_in_for_cmocka
check_having python3 sweeps_only_what_no_job_has_mapped
if [ -n "$(ls "$build"/fakes/libnccl.so.* 2>/dev/null)" ] && [ -e "$build/backends/nccl.so" ]; then
    check_each rehearses_over_the_fakes
else
    skip 'built without the nccl backend and its fakes' rehearses_over_the_fakes
fi

exit $failed
