#!/bin/bash
# SPDX-License-Identifier: MIT
# `make gpu-check OUT=dir`: all that only a machine with a GPU can show, in under eight minutes, on a bare one.
#
#   tests/gpu_check.sh BUILD OUT
#
# - Needs bash, make, gcc, nvcc and NCCL (in a toolkit, the system or Python's packages). No root, no network.
# - Each check has a deadline of its own, within the eight minutes of all; what hangs is ended and said. Nothing that a
#   check has started is left.
# - OUT has summary.txt and summary.csv, a line a check: pass, fail, or not run, and why; NAME.log, what each check
#   wrote; its figures as CSV; doctor.txt and manifest.txt, the machine. Results of ranks that share a GPU are right or
#   wrong, and no measure of speed.
# - Ends with 0 if nothing failed, 1 if something did, 2 for wrong usage, 3 where there is no GPU and so nothing was
#   checked.
# - GPU_CHECK_FAKE=1 rehearses it over the fakes (build/fakes), GPU_CHECK_QUICK=1 with less of everything: each line
#   says that it is no measurement, and no bar is judged. GPU_CHECK_BUILD=0 leaves the build as it is, GPU_CHECK_SECONDS
#   is another end than the eight minutes.
set -u
cd "$(dirname "$0")/.." || exit 1

whole=${GPU_CHECK_SECONDS:-460} # of all checks together
step= # within a step: its name
[ "${1-}" != --step ] || { step=$2 && shift 2; }
[ $# = 2 ] || { echo 'usage: tests/gpu_check.sh BUILD OUT (make gpu-check OUT=dir)' >&2; exit 2; }
build=$1 out=$2
[[ $build == /* ]] || build=$PWD/$build
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)
commlab=$build/commlab fake=${GPU_CHECK_FAKE:+1} quick=${GPU_CHECK_QUICK:+1}
[ -z "$fake" ] || export LD_LIBRARY_PATH=$build/fakes${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export CMOCKA_MESSAGE_OUTPUT=TAP CLAB_TIMEOUT=${CLAB_TIMEOUT:-30s}

# ---- what a step says: its last word is its result -------------------------------------------------------------

say() { printf '%s' "$*" >"$out/.detail"; } # of the line in the summary
not_run() { say "$*"; exit 77; }
fail() { say "$*"; exit 1; }
last_words() { grep -v '^ *$' "$1" | tail -n "${2:-1}" | cut -c1-200 | paste -sd' '; }
# The first error that was logged, or else the last line.
reason() {
    grep -m1 -oE 'commlab: error: .*|nccl_loop: .*' "$out/$step.log" | cut -c1-300 || last_words "$out/$step.log"
}

# What a whole run takes, or a quick one.
full() { if [ -z "$quick" ]; then echo "$1"; else echo "$2"; fi; }

gpus() { cat "$out/.gpus" 2>/dev/null || echo 0; }
needs_gpus() { [ "$(gpus)" -ge "$1" ] || not_run "it needs $1 GPUs, and here is $(gpus)"; }
needs_plugin() {
    [ -e "$build/backends/nccl.so" ] ||
        not_run "this build has no nccl backend: $(grep -m1 '^✗ nccl' "$build/probes.txt")"
}

# Two ranks or more, on GPUs of their own, or else on one that they share: settings for env.
sharing() { [ "$(gpus)" -ge "$1" ] || echo CLAB_NCCL_SHARE=1; }

# ---- the steps ---------------------------------------------------------------------------------------------------

step_build() {
    [ "${GPU_CHECK_BUILD:-1}" != 0 ] || not_run 'GPU_CHECK_BUILD=0 says so'
    ${MAKE:-make} B="$build" all gpu-tools ${fake:+fakes} || fail "make failed: $(last_words "$out/build.log" 2)"
    local lacking
    lacking=$(sed -n 's/^✗ \([a-z]*\):.*/\1/p' "$build/probes.txt" | paste -sd' ')
    say "$(grep -c '^✓' "$build/probes.txt") of $(wc -l <"$build/probes.txt") optional libraries${lacking:+, without $lacking}"
}

step_doctor() {
    "$commlab" doctor >"$out/doctor.txt"
    local status=$?
    cat "$out/doctor.txt"
    sed -n 's/.* CUDA devices: \([0-9][0-9]*\)\(, all of them fakes\)\{0,1\}$/\1/p' "$out/doctor.txt" >"$out/.gpus"
    [ -s "$out/.gpus" ] || echo 0 >"$out/.gpus"
    {
        echo "date: $(date -u +%Y-%m-%dT%H:%M:%SZ)"
        sed -n 's/^  ok  *\(commlab\|cores\|memory\|hypervisor\|driver\|GPU [0-9]*\|CUDA runtime\|the backend nccl\): /\1: /p' "$out/doctor.txt"
        uname -srm
        ${NVCC:-nvcc} --version 2>/dev/null | tail -n 2
    } >"$out/manifest.txt"
    [ $status = 0 ] || fail "$(grep -m1 '^  broken' "$out/doctor.txt")"
    say "$(gpus) GPU$([ "$(gpus)" = 1 ] || echo s)$(
        sed -n 's/^  ok  *GPU 0: /; the first: /p' "$out/doctor.txt" | cut -c1-120
    )"
}

# conformance BACKEND:RANKS
conformance() {
    local program=$build/tests/test_conformance by=
    grep -q '^✓ cmocka' "$build/probes.txt" ||
        program=$build/tests/gpu/conformance by=' (cmocka is lacking: by a stand-in)'
    [ -x "$program" ] || not_run "$program is not built (make gpu-tools)"
    env $(sharing "${1#*:}") "$program" "$1"
    local status=$? wrong
    grep -q '# SKIP' "$out/$step.log" && fail "the backend can not be used: $(reason)"
    wrong=$(grep -cE '^rank [0-9]+ of ' "$out/$step.log")
    [ "$wrong" = 0 ] || fail "$wrong cases are wrong, the first: $(grep -m1 -E '^rank [0-9]+ of ' "$out/$step.log")"
    [ $status = 0 ] && grep -q '^ok 1 ' "$out/$step.log" || fail "it ended with $status: $(reason)"
    say "every collective, algorithm, type and operation, #wrong 0$by"
}
step_conformance-1() { needs_plugin; needs_gpus 1; conformance nccl:1; }
step_conformance-2() { needs_plugin; needs_gpus 1; conformance nccl:2; }
step_conformance-3() {
    [ -z "$quick" ] || not_run 'GPU_CHECK_QUICK says so'
    needs_plugin
    needs_gpus 1
    conformance nccl:3
}
step_conformance-all() {
    [ -z "$quick" ] || not_run 'GPU_CHECK_QUICK says so'
    needs_plugin
    needs_gpus 4
    conformance nccl:$(($(gpus) < 8 ? $(gpus) : 8))
}

# bench ARGS...: over the backend nccl; files of it are not written over the fakes, which bench refuses.
bench() {
    "$commlab" bench "$@" --backend nccl $([ -n "$fake" ] || echo --csv "$out/$step.csv")
}
# Rows of bench's tables in the log.
rows() { grep -cE '^ +[0-9]+ +[0-9]+ ' "$out/$step.log"; }
step_natives() {
    needs_plugin
    needs_gpus 1
    local n=$(($(gpus) < 8 ? $(gpus) : 8)) types=all
    [ -z "$quick" ] || n=$((n < 2 ? n : 2)) types=float,bfloat16
    bench all -n $n --algo native -d $types -o all -b 64K -e 64K --seconds 5ms --iters 1 -w 1 || fail "$(reason)"
    [ "$(rows)" -gt 0 ] || fail 'bench ended well, but has timed nothing'
    say "$(rows) rows on $n GPU$([ $n = 1 ] || echo s), every type and operation, #wrong 0"
}

# Two ranks run allreduce with these settings of NCCL; its log is $out/$step.nccl.
talk_to_nccl() {
    needs_plugin
    needs_gpus 1
    rm -f "$out/$step".nccl.*
    env "$@" $(sharing 2) NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,TUNING,ENV NCCL_DEBUG_FILE="$out/$step.nccl.%p" \
        "$commlab" bench allreduce -n 2 --backend nccl --algo native -b 1K -e 4M -f 4 --in-place 0 --seconds 20ms \
        --iters 2 -w 1 ||
        fail "$(reason)"
    cat "$out/$step".nccl.* >"$out/$step.nccl" 2>/dev/null && rm -f "$out/$step".nccl.*
    [ -s "$out/$step.nccl" ] ||
        { [ -n "$fake" ] && not_run 'the fakes have no log of NCCL and load no plugin'; fail 'NCCL wrote no log'; }
}
step_tuner() {
    local plugin=$build/backends/libnccl-tuner-commlab.so seen
    [ -e "$plugin" ] || not_run 'this build has no tuner plugin'
    cat >"$out/tuner.csv" <<'CSV'
allreduce,0,16383,tree,ll,-1,-1,-1,-1,-1
allreduce,16384,1048575,ring,ll,-1,-1,-1,-1,-1
allreduce,1048576,4294967295,ring,simple,-1,-1,-1,-1,-1
CSV
    talk_to_nccl NCCL_TUNER_PLUGIN="$plugin" NCCL_TUNER_CONFIG_FILE="$out/tuner.csv"
    # NCCL 2.28 writes `Using commlab (v5)`, versions up to 2.27 `Using tuner plugin commlab`.
    grep -qE 'TUNER/Plugin: Using (tuner plugin )?commlab' "$out/tuner.nccl" ||
        fail "NCCL's log does not name our tuner: $(grep -m1 TUNER "$out/tuner.nccl")"
    # Older versions write numbers for names: 0 Tree, 1 Ring; 0 LL, 1 LL128, 2 Simple.
    seen=$(sed -nE 's/.*AllReduce: +([0-9]+) Bytes -> Algo ([A-Za-z0-9_]+) proto ([A-Za-z0-9]+).*/\1 \2 \3/p' \
        "$out/tuner.nccl" | sort -un | awk '
        {
            algorithm = tolower($2); protocol = tolower($3)
            sub(/^0$/, "tree", algorithm); sub(/^1$/, "ring", algorithm)
            sub(/^0$/, "ll", protocol); sub(/^2$/, "simple", protocol)
            wanted = $1 < 16384 ? "tree ll" : $1 < 1048576 ? "ring ll" : "ring simple"
            rows[wanted] = 1
            if (algorithm " " protocol != wanted)
                bad = bad sprintf(" %d B took %s %s, not %s;", $1, algorithm, protocol, wanted)
            n++
        }
        END {
            for (r in rows) k++
            if (bad) print "wrong:" bad
            else if (k < 3) print "wrong: " k + 0 " of 3 rows were seen in the log"
            else print n " sizes took algorithm and protocol of our table"
        }')
    echo "$seen"
    case $seen in wrong*) fail "the tuner was loaded, but ${seen#wrong: }" ;; esac
    say "$(grep -m1 -oE 'TUNER/Plugin: Using .*' "$out/tuner.nccl"); $seen"
}
step_profiler() {
    local plugin=$build/backends/libnccl-profiler-commlab.so
    [ -e "$plugin" ] || not_run 'this build has no profiler plugin'
    talk_to_nccl NCCL_PROFILER_PLUGIN="$plugin" CLAB_NCCL_TRACE="$out/profiler.json"
    grep -q 'PROFILER/Plugin: Loaded' "$out/profiler.nccl" || fail "NCCL's log does not name our profiler"
    local traces
    traces=$(find "$out" -maxdepth 1 -name 'profiler-*.json' -size +0 | wc -l)
    [ "$traces" = 2 ] || fail "NCCL loaded our profiler, but $traces of 2 ranks have written a trace"
    say "$(grep -m1 -oE 'PROFILER/Plugin: Loaded .*' "$out/profiler.nccl"); both ranks have written a trace"
}

# lab FOLDER ARGS...: before and after, in interleaved pairs; they check their results themselves.
lab() {
    local folder=$1 pair version n results=()
    [ -n "$fake" ] || results=(CLAB_RESULTS="$out/$step")
    shift
    needs_plugin
    needs_gpus 1
    n=$(($(gpus) < 2 ? 1 : 2))
    for version in before after; do
        [ -x "$build/labs/$folder/$version" ] || not_run "there is no $build/labs/$folder/$version"
        rm -f "$out/$step-$version.csv"
    done
    for pair in 1 2 3; do
        for version in before after; do
            echo "== $version $pair"
            # Of fakes no results are kept.
            env -u CLAB_RESULTS "${results[@]/%/-$version.csv}" "$build/labs/$folder/$version" -n $n --backend nccl \
                "$@" ||
                fail "$version: $(reason)"
        done
        [ -z "$quick" ] || break
    done
    say "before and after on $n GPU$([ $n = 1 ] || echo s), $(full '3 pairs' '1 pair'), results as they should be"
}
step_lab-01() { lab 01-reinit-comm 65536 $(full "1 4 16 64" 1); }
step_lab-05() { lab 05-fragmentation 8388608 $(full 96 8); }
step_lab-09() { lab 09-compression; }

step_kernels() {
    needs_plugin
    needs_gpus 1
    "$commlab" --help | grep -q '^  device ' || not_run 'this version has no command that measures kernels'
    "$commlab" device --backend nccl --bytes $(full 256M 256K) --seconds $(full 0.1s 1ms) \
        $([ -n "$fake" ] || echo --csv "$out/kernels.csv") ||
        fail "$(reason)"
    # The last column is the part of what a copy reaches, in %.
    local seen least
    seen=$(awk '$2 == "float" && $1 ~ /^(fill|reduce|sgd)$/ { printf "%s%s %.0f %%", n++ ? ", " : "", $1, $NF }
        END { exit n != 3 }' "$out/$step.log") ||
        fail "it has no rows of fill, reduce and sgd, but: ${seen:-none}"
    [ -z "$fake" ] || { say 'fill, reduce and sgd have run; figures of fakes are none'; return; }
    least=$(awk '$2 == "float" && $1 ~ /^(fill|reduce|sgd)$/ && (!n++ || $NF < least) { least = $NF }
        END { print least }' "$out/$step.log")
    awk -v least="$least" 'BEGIN { exit !(least >= 85) }' || fail "of the copy's bandwidth: $seen, and 85 % is the bar"
    say "of the copy's bandwidth: $seen (bar 85 %)"
}

# one_mib GPUS [SETTING]: bench's time of 1 MiB in us, with that setting in the environment.
one_mib() {
    env ${2-} "$commlab" bench allreduce -n "$1" --backend nccl --algo native -b 1M -e 1M --in-place 0 \
        --seconds ${seconds}s >"$out/.bench" ||
        { cat "$out/.bench" >&2; return 1; }
    cat "$out/.bench" >&2
    awk '$1 == 1048576 { print $6 }' "$out/.bench"
}

# overhead GPUS: bench and a bare loop of the same NCCL calls, one after the other, five times; medians. Calls of the
# loop wait until NCCL has begun. Bench's do so, too, with NCCL_COMM_BLOCKING=1; without, each goes by a thread that
# NCCL starts for it, which takes a part of a short call and is said beside. A single GPU takes a short cut around that.
overhead() {
    local n=$1 pairs=5 seconds=0.5 i loop=$build/tests/gpu/nccl_loop alike= beside=
    needs_plugin
    needs_gpus "$n"
    [ -x "$loop" ] || not_run "$loop is not built (make gpu-tools)"
    [ -z "$quick" ] || pairs=1 seconds=0.1
    [ "$n" = 1 ] || alike=NCCL_COMM_BLOCKING=1
    echo 'pair,bare_us,bench_us' >"$out/$step.csv"
    for ((i = 1; i <= pairs; i++)); do
        local bare measured
        bare=$("$loop" 1048576 $seconds "$n" | awk '/^usec/ { print $2 }') || bare=
        measured=$(one_mib "$n" $alike) || fail "$(reason)"
        [ -n "$bare" ] && [ -n "$measured" ] || fail "no time of ${bare:+bench}${bare:-the loop}: $(reason)"
        echo "$i,$bare,$measured" >>"$out/$step.csv"
    done
    [ -z "$alike" ] || beside=$(one_mib "$n") || fail "$(reason)"
    local line
    line=$(tail -n +2 "$out/$step.csv" | awk -F, '
        function median(v, n, i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
            return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        }
        { a[NR] = $2; b[NR] = $3 }
        END { x = median(a, NR); y = median(b, NR); printf "%.2f %.2f %.2f", x, y, 100 * (y / x - 1) }')
    set -- $line
    [ -z "$fake" ] || { rm -f "$out/$step.csv"; say "both ran; figures of fakes are none"; return; }
    awk -v over="$3" 'BEGIN { exit over > 2 }' ||
        fail "bench takes $2 us for 1 MiB, a bare loop $1 us: $3 % more, and 2 % is the bar"
    say "bench takes $2 us for 1 MiB, a bare loop $1 us: $3 % more (bar 2 %)${beside:+, with $alike; without, $beside us}"
}
step_overhead-1() { overhead 1; }
step_overhead-all() {
    needs_gpus 2
    overhead $(($(gpus) < 8 ? $(gpus) : 8))
}

step_shm() {
    local n ran=
    for n in 2 4 8 16; do
        [ $n -le "$(nproc)" ] || break
        [ -z "$quick" ] || [ $n = 2 ] || break
        "$commlab" bench allreduce -n $n --algo all --in-place 0 -b 8 -e "$(full 16M 64K)" -f 8 --seconds 30ms \
            $([ -n "$fake" ] || echo --csv "$out/shm-$n.csv") ||
            fail "with $n ranks: $(reason)"
        ran="$ran $n"
    done
    [ -n "$ran" ] || not_run "it needs 2 cores, and here is $(nproc)"
    [ "$(rows)" -gt 0 ] || fail 'bench ended well, but has timed nothing'
    say "allreduce by every algorithm, #wrong 0, with ranks:$ran$([ $n -le "$(nproc)" ] || echo "; no cores for $n")"
}

# ---- one step, as a child ----------------------------------------------------------------------------------------

if [ -n "$step" ]; then
    "step_$step"
    exit
fi

# ---- all of them -------------------------------------------------------------------------------------------------

# The name, its deadline in s, and what is checked.
steps='
build             240 the kit is built with what is here
doctor             60 the machine is described
conformance-1      60 conformance, 1 rank
conformance-2     100 conformance, 2 ranks (sharing a GPU where there is one: right or wrong, no speed)
conformance-3     100 conformance, 3 ranks (likewise)
conformance-all    60 conformance, a rank a GPU
natives            60 the library'\''s own collectives
tuner              60 NCCL loads our tuner, and obeys its table
profiler           40 NCCL loads our profiler
lab-01             60 lab 01, a communicator in every iteration or one
lab-05             60 lab 05, fragmentation
lab-09             60 lab 09, compression
kernels            60 kernels against the copy measured here
overhead-1         60 bench against a bare loop, 1 GPU
overhead-all       90 bench against a bare loop, a rank a GPU
shm                60 shared memory, 2 to 16 ranks
'

rm -f "$out"/summary.* "$out"/.gpus
start=$SECONDS failures=0 passes=0 others=0
kind=measured tag=
[ -z "$fake" ] || kind=rehearsal tag=' (rehearsal over fakes, no measurement)'
echo 'check,result,seconds,kind,detail' >"$out/summary.csv"

# record NAME RESULT SECONDS DETAIL
record() {
    local detail=${4//\"/\'}
    case $2 in pass) passes=$((passes + 1)) ;; fail) failures=$((failures + 1)) ;; *) others=$((others + 1)) ;; esac
    printf '%-8s %-16s %s%s\n' "$2" "$1" "$4" "$tag" | tee -a "$out/summary.txt"
    printf '%s,%s,%d,%s,"%s"\n' "$1" "$2" "$3" $kind "$detail" >>"$out/summary.csv"
}

# What a killed job of NCCL's leaves in /dev/shm: of this run, and not what another job has still mapped.
sweep() {
    local file
    while read -r file; do
        grep -qsF "$file" /proc/[0-9]*/maps || rm -f "$file"
    done < <(find /dev/shm -maxdepth 1 -name 'nccl-*' -user "$(id -u)" -newer "$out/.start" 2>/dev/null)
}

# run NAME LIMIT WHAT
run() {
    local name=$1 limit=$2 left=$((whole - (SECONDS - start))) began=$SECONDS status detail
    [ "$left" -ge 5 ] || { record "$name" 'not run' 0 "because: $whole s are over; $3"; return; }
    [ "$limit" -le "$left" ] || limit=$left
    rm -f "$out/.detail" "$out/$name".{log,csv,nccl} "$out/$name"-[0-9].json # of an earlier run
    timeout --kill-after=5 "$limit" "$0" --step "$name" "$build" "$out" >"$out/$name.log" 2>&1 </dev/null
    status=$?
    detail=$(cat "$out/.detail" 2>/dev/null)
    sweep
    case $status in
    0) record "$name" pass $((SECONDS - began)) "$3: ${detail:-done}" ;;
    77) record "$name" 'not run' $((SECONDS - began)) "because: $detail" ;;
    124 | 137) record "$name" fail $((SECONDS - began)) "$3: it did not end within $limit s, see $name.log" ;;
    *) record "$name" fail $((SECONDS - began)) "$3: ${detail:-status $status, see $name.log}" ;;
    esac
}

touch "$out/.start"
trap 'rm -f "$out"/.detail "$out"/.gpus "$out"/.bench "$out"/.start' EXIT
mapfile -t lines <<<"$steps"
for line in "${lines[@]}"; do
    read -r name limit what <<<"$line"
    [ -n "$name" ] || continue
    run "$name" "$limit" "$what"
    # Nothing to check, and nothing that stands in.
    if [ "$name" = doctor ] && [ "$(gpus)" = 0 ]; then
        why=$(sed -n 's/^  [a-z]*  *CUDA devices: //p; s/^  missing  *CUDA runtime: //p' "$out/doctor.txt" | head -n 1)
        why=${why:-see $out/doctor.txt}
        record others 'not run' 0 "because: no GPU can be used here ($why)"
        echo "gpu-check: no GPU can be used here ($why), so nothing was checked; GPU_CHECK_FAKE=1 rehearses it over the fakes" >&2
        exit 3
    fi
    if [ "$name" = build ] && [ ! -x "$commlab" ]; then
        break
    fi
done

echo "$passes passed, $failures failed, $others not run, in $((SECONDS - start)) s$tag" | tee -a "$out/summary.txt"
[ $failures = 0 ]
