#!/bin/bash
# SPDX-License-Identifier: MIT
# `make gpu-check OUT=dir`: all that only a machine with a GPU can show, in under eight minutes, on a bare one.
#
#   tests/gpu_check.sh BUILD OUT
#
# - Needs bash, make, gcc, nvcc and NCCL (in a toolkit, the system or Python's packages). No root, no network. Its first
#   step says which of these are here.
# - The steps are in tests/gpu/steps/. What is rarest comes first. Each has a limit of its own, and is begun only if
#   half of that is left of the whole, 460 s. A step that hangs is ended, and so are the processes that it leaves.
# - OUT has three files at the end: summary.txt and summary.csv, a line for each step: pass, fail, or not run, and why;
#   and gpu.tar.gz: both, and the folder log/ with what each step wrote, its figures as CSV, NCCL's logs, traces, and
#   the machine (doctor.txt, manifest.txt, nvidia-smi.txt, ldd.txt). Ended by SIGTERM or SIGINT it packs what it has so
#   far.
# - Results of ranks that share a GPU are right or wrong, and no measure of speed.
# - Ends with 0 if nothing failed, 1 if something did, 2 for wrong usage, 3 where nothing failed, but there is no GPU
#   and so nothing was checked.
#
# From the environment:
#   GPU_CHECK_ONLY='tuner model'   these steps, after what they need: tools, build and doctor
#   GPU_CHECK_FAKE=1               rehearse it over the fakes (build/fakes), with one GPU (CLAB_FAKE_GPUS=1): each line
#                                  says so, and no bar is judged
#   GPU_CHECK_QUICK=1              less of everything
#   GPU_CHECK_BUILD=0              leave the build as it is
#   GPU_CHECK_SECONDS=N            of the whole, instead of 460
#   GPU_CHECK_LIMIT=N              seconds that no step's limit is above
set -u
cd "$(dirname "$0")/.." || exit 1

# The name, its limit in s, and what is checked.
steps='
tools              30 make, gcc and nvcc are here
build             150 the kit is built with what is here
doctor             30 the machine is described
device             30 every kernel of the GPU against the processor
conformance-1      30 conformance, 1 rank
kernels            25 kernels against the copy measured here
overhead-1         20 bench against a bare loop, 1 GPU
short-calls        15 the time of a short call: one by one, enqueued, in a CUDA graph; 1 GPU
enqueue-1          20 bench against a bare loop, calls enqueued as nccl-tests does, 1 GPU
stream             20 a stream of the program orders a communicator'\''s work
tuner              30 NCCL loads our tuner, and obeys its table
profiler           30 NCCL loads our profiler
model              30 NCCL'\''s tuning table against our model of it
faults             40 a rank is killed, and one stopped, amid an allreduce
conformance-2      90 conformance, 2 ranks; where they share a GPU, this is no measure of speed
conformance-lazy   90 conformance, 2 ranks that connect at the first call
lab-05             25 lab 05, fragmentation
lab-01             20 lab 01, a communicator in every iteration or one
sanitizer          30 kernels under compute-sanitizer
conformance-3      90 conformance, 3 ranks
shm                60 shared memory, 2 to 16 ranks
natives            60 the library'\''s own collectives
registration       40 memory registered with NCCL, and in symmetric windows, a rank a GPU
conformance-all    60 conformance, a rank a GPU
overhead-all       60 bench against a bare loop, a rank a GPU
enqueue-all        60 bench against a bare loop, calls enqueued, a rank a GPU
'
whole=${GPU_CHECK_SECONDS:-460} # seconds of all steps together

step= limit=
[ "${1-}" != --step ] || { step=$2 limit=$3 && shift 3; }
[ $# = 2 ] || { echo 'usage: tests/gpu_check.sh BUILD OUT (make gpu-check OUT=dir)' >&2; exit 2; }
build=$1 out=$2
[[ $build == /* ]] || build=$PWD/$build
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
log=$out/log commlab=$build/commlab fake=${GPU_CHECK_FAKE:+1} quick=${GPU_CHECK_QUICK:+1}
[ -z "$fake" ] || export LD_LIBRARY_PATH=$build/fakes${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CLAB_FAKE_GPUS=${CLAB_FAKE_GPUS:-1}
export CMOCKA_MESSAGE_OUTPUT=TAP CLAB_TIMEOUT=${CLAB_TIMEOUT:-15s}

. tests/gpu/words.sh
for file in tests/gpu/steps/*.sh; do
    . "$file"
done

# One step, in a process of its own.
if [ -n "$step" ]; then
    "step_$step"
    exit
fi

# ---- the summary -------------------------------------------------------------------------------------------------

start=$SECONDS failures=0 passes=0 others=0
kind=measured tag=
[ -z "$fake" ] || kind=rehearsal tag=' (rehearsal over fakes, no measurement)'

# record NAME RESULT SECONDS DETAIL
record() {
    local detail=${4//\"/\'}
    case $2 in pass) passes=$((passes + 1)) ;; fail) failures=$((failures + 1)) ;; *) others=$((others + 1)) ;; esac
    printf '%-8s %-16s %s%s\n' "$2" "$1" "$4" "$tag" | tee -a "$out/summary.txt"
    printf '%s,%s,%d,%s,"%s"\n' "$1" "$2" "$3" $kind "$detail" >>"$out/summary.csv"
}

# Text of more than 4 MiB loses its middle: a result that is fetched may have 16 MiB.
shorten() {
    local file most=4194304
    find "$log" -type f \( -name '*.log' -o -name '*.nccl' -o -name '*.txt' \) -size +${most}c |
        while read -r file; do
            { head -c $((most / 2)) "$file" && printf '\n... gpu-check has left out the middle ...\n' &&
                tail -c $((most / 2)) "$file"; } >"$file.short" && mv "$file.short" "$file"
        done
}

# Only what has been packed is removed.
pack() {
    rm -rf "$log"/.[!.]*
    shorten
    tar -C "$out" -czf "$out/.gpu.tar.gz" summary.txt summary.csv log && mv "$out/.gpu.tar.gz" "$out/gpu.tar.gz" &&
        rm -rf "$log"
}

finish() {
    trap - EXIT
    trap '' TERM INT HUP
    echo "$passes passed, $failures failed, $others not run, in $((SECONDS - start)) s$tag" | tee -a "$out/summary.txt"
    pack
}

# ---- one step ----------------------------------------------------------------------------------------------------

child= name= began=0

# The processes of the step, whichever groups and sessions they have made: by a word in their environment. To read that
# of a process which is stuck in the driver may take for ever.
marked() { timeout -k 1 5 grep -lsz "^GPU_CHECK_MARK=$$-$name\$" /proc/[0-9]*/environ | sed 's|/proc/\([0-9]*\)/.*|\1|'; }
# Wait until none of them is left, N looks at most; those that are.
await_end() { # N
    local i left
    for ((i = 0; i < $1; i++)); do
        left=$(marked)
        [ -n "$left" ] || return
        sleep 0.1
    done
    echo "$left"
}
# End what the step has left; how many there were.
end_left() {
    local left
    left=$(await_end 10) # they may be about to end
    [ -n "$left" ] || { echo 0; return; }
    kill -KILL $left 2>/dev/null
    await_end 30 >/dev/null # a busy machine ends them later
    wc -w <<<"$left"
}

# What a killed job of NCCL's leaves in /dev/shm: of this run, and not what another job has still mapped.
sweep() {
    local file
    while read -r file; do
        timeout -k 1 5 grep -qsF "$file" /proc/[0-9]*/maps
        case $? in 1 | 2) rm -f "$file" ;; esac # 124: nobody knows
    done < <(find /dev/shm -maxdepth 1 -name 'nccl-*' -user "$(id -u)" -newer "$log/.start" 2>/dev/null)
}

# run NAME LIMIT WHAT
run() {
    local whole_limit=$2 limit=$2 left=$((whole - (SECONDS - start))) status detail remain cut=
    name=$1 began=$SECONDS
    [ "$limit" -le "${GPU_CHECK_LIMIT:-$limit}" ] || limit=$GPU_CHECK_LIMIT whole_limit=$limit
    [ $((2 * left)) -ge "$limit" ] && [ $left -gt 0 ] ||
        { record "$name" 'not run' 0 "because: of $whole s $((left > 0 ? left : 0)) are left, and its limit is $limit s; $3"; return; }
    [ "$limit" -le "$left" ] || limit=$left cut=", all that was left; its limit is $whole_limit s"
    rm -f "$log/.detail"
    GPU_CHECK_MARK=$$-$name timeout --kill-after=3 "$limit" bash tests/gpu_check.sh --step "$name" "$limit" "$build" "$out" \
        >"$log/$name.log" 2>&1 </dev/null &
    child=$!
    wait $child
    status=$?
    child=
    remain=$(end_left)
    [ "$remain" = 0 ] || remain=" ($remain of its processes were left, and were ended)"
    detail=$(cat "$log/.detail" 2>/dev/null)${remain#0}
    sweep
    case $status in
    0) record "$name" pass $((SECONDS - began)) "$3: ${detail:-done}" ;;
    77) record "$name" 'not run' $((SECONDS - began)) "because: $detail" ;;
    124 | 137) record "$name" fail $((SECONDS - began)) "$3: it did not end within $limit s$cut, see log/$name.log${remain#0}" ;;
    *) record "$name" fail $((SECONDS - began)) "$3: ${detail:-status $status, see log/$name.log}" ;;
    esac
}

# Ended from outside: the step under way is, too, and what there is so far is packed.
stop() {
    trap '' TERM INT HUP
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null
        end_left >/dev/null
        wait "$child" 2>/dev/null
        sweep
        record "$name" 'not run' $((SECONDS - began)) "because: the check was ended by SIG$1 meanwhile, and all steps after it"
    fi
    exit $((128 + $2))
}

# Why no step can be run after a build that has failed. A build that was cut short may have left some of it.
without_build() {
    [ -x "$commlab" ] || { echo 'the kit could not be built'; return; }
    [ -z "$fake" ] || ls "$build"/fakes/libcudart.so.* >/dev/null 2>&1 || echo 'the kit, or its fakes, could not be built'
}

# ---- all of them -------------------------------------------------------------------------------------------------

mapfile -t lines < <(grep . <<<"$steps")
for wanted in ${GPU_CHECK_ONLY-}; do
    grep -q "^$wanted " <<<"$steps" ||
        { echo "GPU_CHECK_ONLY: there is no step '$wanted'; there is:" $(awk '{ print $1 }' <<<"$steps") >&2; exit 2; }
done
rm -rf "$log" "$out"/summary.* "$out/gpu.tar.gz"
mkdir -p "$log" || exit 2
touch "$log/.start" "$out/summary.txt"
echo 'check,result,seconds,kind,detail' >"$out/summary.csv"
trap finish EXIT
trap 'stop TERM 15' TERM
trap 'stop INT 2' INT
trap 'stop HUP 1' HUP

none= # why no step can be run from here on
for line in "${lines[@]}"; do
    read -r name limit what <<<"$line"
    case " ${GPU_CHECK_ONLY-$name} tools build doctor " in *" $name "*) ;; *) continue ;; esac
    [ -z "$none" ] || { record "$name" 'not run' 0 "because: $none; $what"; continue; }
    run "$name" "$limit" "$what"
    if [ "$name" = build ]; then
        none=$(without_build)
    elif [ "$name" = doctor ] && [ -e "$log/.gpus" ] && [ "$(gpus)" = 0 ]; then
        no_gpu=$(sed -n 's/^  [a-z]*  *CUDA devices: //p; s/^  missing  *CUDA runtime: //p' "$log/doctor.txt" | head -n 1)
        none="no GPU can be used here (${no_gpu:-see log/doctor.txt})"
    fi
done

if [ -n "${no_gpu+x}" ] && [ $failures = 0 ]; then
    echo "gpu-check: $none, so nothing was checked; GPU_CHECK_FAKE=1 rehearses it over the fakes" >&2
    exit 3
fi
[ $failures = 0 ]
