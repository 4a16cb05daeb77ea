# SPDX-License-Identifier: MIT
# Steps of gpu-check: what the machine has, and the build.

# What probe.sh says of CUDA and NCCL, with all other libraries turned off: it finds nvcc outside PATH, too.
probe_nccl() {
    local name off=()
    [ "${GPU_CHECK_BUILD:-1}" != 0 ] || { grep ' nccl: ' "$build/probes.txt"; return; }
    for name in $(./probe.sh --list); do
        [ "$name" = NCCL ] || off+=("NO_$name=1")
    done
    env "${off[@]}" ./probe.sh "$log/.probes.mk" "$log/.probes.txt" >/dev/null
    grep ' nccl: ' "$log/.probes.txt"
}

step_tools() {
    local tool found= lacking= line
    for tool in make gcc; do
        if command -v $tool >/dev/null; then
            line=$($tool --version | head -n 1)
            found="$found${found:+, }$line"
        else
            lacking="$lacking${lacking:+ and no }$tool"
        fi
    done
    command -v nvcc >/dev/null || found="$found, no nvcc on PATH"
    line=$(probe_nccl) || line='✗ nccl: probe.sh says nothing of it'
    echo "$found"
    echo "$line"
    [ -z "$lacking" ] || fail "there is no $lacking on PATH; $line"
    [[ $line == ✓* ]] || fail "$found; ${line#✗ nccl: }"
    say "$found, ${line#✓ nccl: the nccl backend for GPUs, a plugin: }"
}

step_build() {
    [ "${GPU_CHECK_BUILD:-1}" != 0 ] || not_run 'GPU_CHECK_BUILD=0 says so'
    ${MAKE:-make} B="$build" all gpu-tools ${fake:+fakes} || fail "make failed: $(last_words "$log/build.log" 2)"
    local lacking
    lacking=$(sed -n 's/^✗ \([a-z]*\):.*/\1/p' "$build/probes.txt" | paste -sd' ')
    say "$(grep -c '^✓' "$build/probes.txt") of $(wc -l <"$build/probes.txt") optional libraries${lacking:+, without $lacking}"
}

# The sources by one sum, for a copy without git, which has no commit.
sum_of_sources() {
    find Makefile probe.sh backends cmd core labs sim tests -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum |
        sha256sum | cut -c1-16
}

# What the machine says of itself, without us.
ask_machine() {
    timeout 8 nvidia-smi -q >"$log/nvidia-smi.txt" 2>&1 || echo "nvidia-smi ended with $?" >>"$log/nvidia-smi.txt"
    ldd "$build/backends/nccl.so" >"$log/ldd.txt" 2>&1
    {
        echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
        sed -n 's/^  ok  *\(commlab\|cores\|memory\|hypervisor\|driver\|GPU [0-9]*\|CUDA runtime\|the backend nccl\): /\1: /p' "$log/doctor.txt"
        echo "sources: $(sum_of_sources) (SHA-256)"
        uname -srm
        "$(nvcc_of_build)" --version 2>/dev/null | tail -n 2
    } >"$log/manifest.txt"
}

step_doctor() {
    local status libraries n
    # Should the doctor hang, all others can be run all the same.
    n=$(timeout 5 nvidia-smi -L 2>/dev/null | grep -c '^GPU ') && echo "$n" >"$log/.gpus"
    "$commlab" doctor --all >"$log/doctor.txt"
    status=$?
    cat "$log/doctor.txt"
    sed -n 's/.* CUDA devices: \([0-9][0-9]*\)\(, all of them fakes\)\{0,1\}$/\1/p' "$log/doctor.txt" >"$log/.gpus"
    [ -s "$log/.gpus" ] || echo 0 >"$log/.gpus"
    ask_machine
    [ $status = 0 ] || fail "$(grep -m1 '^  broken' "$log/doctor.txt")"
    libraries=$(sed -nE 's/.*lib(nccl|cudart)\.so[^ ]* => ([^ ]*).*/\2/p' "$log/ldd.txt" | paste -sd' ')
    say "$(in_words "$(gpus)")$(
        sed -n 's/^  ok  *GPU 0: /; the first: /p' "$log/doctor.txt" | cut -c1-120
    )${libraries:+; nccl.so takes $libraries}"
}

step_shm() {
    local n ran=
    for n in 2 4 8 16; do
        [ $n -le "$(nproc)" ] || break
        [ -z "$quick" ] || [ $n = 2 ] || break
        "$commlab" bench allreduce -n $n --algo all --in-place 0 -b 8 -e "$(full 16M 64K 1M)" -f 8 --seconds $(full 30ms 1ms) \
            $([ -n "$fake" ] || echo --csv "$log/shm-$n.csv") ||
            fail "with $n ranks: $(reason)"
        ran="$ran $n"
    done
    [ -n "$ran" ] || not_run "it needs 2 cores, and here is $(nproc)"
    [ "$(rows)" -gt 0 ] || fail 'bench ended well, but has timed nothing'
    say "allreduce by every algorithm, #wrong 0, with ranks:$ran$([ $n -le "$(nproc)" ] || echo "; no cores for $n")"
}
