# SPDX-License-Identifier: MIT
# What the steps of gpu-check share. tests/gpu_check.sh sources this and tests/gpu/steps/*.sh in a process of its own
# for each step, and calls step_NAME there.
#
# - A step returns 0 if it passed, and leaves with `fail` or `not_run` otherwise. `say` sets its text in the summary.
# - Set for it: step (its name), limit (seconds), build, log (the folder of its files), commlab, fake and quick (1 or
#   empty). Its output goes to $log/$step.log.
# - Figures of the fakes are written nowhere, and no bar is judged by them.

say() { printf '%s' "$*" >"$log/.detail"; }
not_run() { say "$*"; exit 77; }
fail() { say "$*"; exit 1; }
last_words() { grep -v '^ *$' "$1" | tail -n "${2:-1}" | cut -c1-200 | paste -sd' '; }
# The first error in the log of this step, or else its last line.
reason() {
    grep -m1 -oE 'commlab: error: .*|nccl_loop: .*' "$log/$step.log" | cut -c1-300 || last_words "$log/$step.log"
}

# full WHOLE QUICK [FAKE]: the value for a whole run, for a quick one, and for a whole one over the fakes.
full() {
    if [ -n "$quick" ]; then echo "$2"; elif [ -n "$fake" ]; then echo "${3-$1}"; else echo "$1"; fi
}

gpus() { cat "$log/.gpus" 2>/dev/null || echo 0; }
gpus_up_to() { echo $(($(gpus) < $1 ? $(gpus) : $1)); }
in_words() { echo "$1 GPU$([ "$1" = 1 ] || echo s)"; }
needs_gpus() { [ "$(gpus)" -ge "$1" ] || not_run "it needs $(in_words "$1"), and here is $(gpus)"; }
needs_plugin() {
    [ -e "$build/backends/nccl.so" ] ||
        not_run "this build has no nccl backend: $(grep -m1 '^✗ nccl' "$build/probes.txt")"
}
needs_whole_run() { [ -z "$quick" ] || not_run 'GPU_CHECK_QUICK says so'; }

# The nvcc that the build takes, on PATH or not.
nvcc_of_build() { sed -n 's/^probed_nvcc := //p' "$build/probes.mk" 2>/dev/null; }

# sharing RANKS: the setting for env that lets ranks share a GPU, where there are fewer GPUs than ranks.
sharing() { [ "$(gpus)" -ge "$1" ] || echo CLAB_NCCL_SHARE=1; }

# bench ARGS...: over the backend nccl. It refuses to write files of the fakes.
bench() {
    "$commlab" bench "$@" --backend nccl $([ -n "$fake" ] || echo --csv "$log/$step.csv")
}
# ended_well STATUS: of a bench. Over the fakes, on a busy machine, a time may be below the floor that bench has
# measured just before; nobody looks at times there.
ended_well() {
    [ "$1" = 0 ] || { [ -n "$fake" ] && grep -q 'error: .* times were refused' "$log/$step.log" &&
        ! grep -qE 'error: .* wrong' "$log/$step.log"; }
}
# How many rows of bench's tables are in the log.
rows() { grep -cE '^ +[0-9]+ +[0-9]+ ' "$log/$step.log"; }
# time_of BYTES FILE: the time in us that bench's table in FILE gives for that size.
time_of() { awk -v bytes="$1" '$1 == bytes && $4 ~ /^[a-z]/ { print $6; exit }' "$2"; }

# tested PROGRAM: build/tests/PROGRAM, or where cmocka is lacking build/tests/gpu/PROGRAM, which has a stand-in for it;
# `by` then says so.
tested() {
    program=$build/tests/$1 by=
    grep -q '^✓ cmocka' "$build/probes.txt" ||
        program=$build/tests/gpu/$1 by=' (cmocka is lacking: by a stand-in)'
    [ -x "$program" ] || not_run "$program is not built (make gpu-tools)"
}
