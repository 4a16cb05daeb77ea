# SPDX-License-Identifier: MIT
# Steps of gpu-check: whether results are right.

# The kernels of one rank's GPU, by the tests that hold the processor's to the same bits.
step_device() {
    local program by name cases=0 wrong
    needs_plugin
    needs_gpus 1
    for name in test_device test_device_data; do
        tested $name
        echo "== $name"
        "$program" --backend nccl -n 1
        local status=$?
        wrong=$(grep -m1 '^not ok ' "$log/$step.log")
        [ -z "$wrong" ] || fail "$name: $wrong: $(grep -m1 -E '^# .*\.[ch]:[0-9]+' "$log/$step.log")"
        [ $status = 0 ] || fail "$name ended with $status: $(reason)"
    done
    cases=$(grep -c '^ok ' "$log/$step.log")
    [ "$cases" -gt 0 ] || fail 'no case was run'
    say "$cases cases, all as on the processor$by"
}

# compute-sanitizer, on PATH, or in the toolkit of the build's nvcc.
sanitizer() {
    local folder
    folder=$(dirname "$(nvcc_of_build)")
    PATH=$PATH:$folder:$folder/../compute-sanitizer command -v compute-sanitizer
}

# It sees what kernels do out of bounds, and writes a summary for each process. It may not be able to use the GPU of a
# virtual machine.
step_sanitizer() {
    local program by tool status seconds=$((limit - 5)) errors refused
    needs_plugin
    needs_gpus 1
    [ -z "$fake" ] || not_run 'compute-sanitizer sees nothing of the fakes, which run on the processor'
    tool=$(sanitizer) || not_run 'there is no compute-sanitizer, on PATH or beside nvcc'
    tested test_device
    timeout --kill-after=2 $seconds "$tool" --tool memcheck --target-processes all --error-exitcode 99 \
        "$program" --backend nccl -n 1
    status=$?
    errors=$(grep 'ERROR SUMMARY' "$log/$step.log" | sort -t: -k2 -n | tail -n 1)
    refused=$(grep -m1 -iE '= Error: .*(not supported|unable to)' "$log/$step.log")
    [ -z "$refused" ] || not_run "compute-sanitizer can not use this GPU: $refused"
    [ $status != 124 ] && [ $status != 137 ] || not_run "compute-sanitizer did not come to an end within $seconds s"
    grep -q 'COMPUTE-SANITIZER' "$log/$step.log" && [ -n "$errors" ] ||
        not_run "compute-sanitizer did not start: $(last_words "$log/$step.log")"
    [ $status = 0 ] || fail "$(grep -m1 -E '========= (Invalid|Program hit|Uninitialized|Error)' "$log/$step.log" ||
        echo "test_device ended with $status under it"); $errors"
    say "$(sed 's/=* *//' <<<"$errors")$by"
}

# conformance RANKS [SETTING...]: with the settings in the environment.
# Ranks that share a GPU take turns of some milliseconds on it, in each of thousands of calls: the suite ends by itself
# before its limit, and what it has checked by then counts.
conformance() {
    local program by n=$1 status wrong seconds=$((limit * 5 / 6)) cut what='every collective, algorithm, type and operation,'
    shift
    needs_plugin
    needs_gpus 1
    tested test_conformance
    env CLAB_CONFORMANCE_SECONDS=$seconds $(sharing "$n") "$@" "$program" "nccl:$n"
    status=$?
    grep -q '# SKIP' "$log/$step.log" && fail "the backend can not be used: $(reason)"
    wrong=$(grep -cE '^rank [0-9]+ of ' "$log/$step.log")
    [ "$wrong" = 0 ] || fail "$wrong cases are wrong, the first: $(grep -m1 -E '^rank [0-9]+ of ' "$log/$step.log")"
    [ $status = 0 ] && grep -q '^ok 1 ' "$log/$step.log" || fail "it ended with $status: $(reason)"
    cut=$(sed -n 's/^conformance: //p' "$log/$step.log" | head -n 1)
    [[ $cut != '0 parts'* ]] || not_run "in $seconds s: $cut"
    [ -z "$cut" ] || what="as far as it came in $seconds s: $cut;"
    say "$what #wrong 0$by"
}
step_conformance-1() { conformance 1; }
# Connections are made before the first call, or at it: then beside kernels that run.
step_conformance-2() { conformance 2 NCCL_RUNTIME_CONNECT=0; }
step_conformance-lazy() {
    needs_whole_run
    conformance 2 NCCL_RUNTIME_CONNECT=1
}
step_conformance-3() {
    needs_whole_run
    conformance 3
}
step_conformance-all() {
    needs_whole_run
    needs_plugin
    needs_gpus 4
    conformance "$(gpus_up_to 8)"
}

# The ranks check what they get, and what comes when.
step_stream() {
    local n
    needs_plugin
    needs_gpus 1
    [ -x "$build/tests/gpu/stream" ] || not_run "$build/tests/gpu/stream is not built (make gpu-tools)"
    for n in 1 2; do
        env $(sharing $n) "$build/tests/gpu/stream" -n $n --backend nccl ||
            fail "$(in_words $n): $(grep -m1 ': wrong: ' "$log/$step.log" || reason)"
    done
    say 'collectives, averages, schedules and messages come between what the program puts into its stream'
}

step_natives() {
    needs_plugin
    needs_gpus 1
    local n types=all
    n=$(gpus_up_to 8)
    [ -z "$quick" ] || n=$((n < 2 ? n : 2)) types=float,bfloat16
    bench all -n "$n" --algo native -d $types -o all -b 64K -e 64K --seconds 5ms --iters 1 -w 1
    ended_well $? || fail "$(reason)"
    [ "$(rows)" -gt 0 ] || fail 'bench ended well, but has timed nothing'
    say "$(rows) rows on $(in_words "$n"), every type and operation, #wrong 0"
}
