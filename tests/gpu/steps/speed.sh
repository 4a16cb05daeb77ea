# SPDX-License-Identifier: MIT
# Steps of gpu-check: times, each against something that was measured beside it.

# fill writes only, so what it reaches of a copy is reported, and judged by nobody.
step_kernels() {
    needs_plugin
    needs_gpus 1
    "$commlab" --help | grep -q '^  device ' || not_run 'this version has no command that measures kernels'
    "$commlab" device --backend nccl --bytes $(full 256M 256K 4M) --seconds $(full 0.1s 1ms 10ms) \
        $([ -n "$fake" ] || echo --csv "$log/kernels.csv") ||
        fail "$(reason)"
    # The last column is the part of what a copy reaches, in %.
    local seen least
    seen=$(awk '$2 == "float" && $1 ~ /^(fill|reduce|sgd)$/ { printf "%s%s %.0f %%", n++ ? ", " : "", $1, $NF }
        END { exit n != 3 }' "$log/$step.log") ||
        fail "it has no rows of fill, reduce and sgd, but: ${seen:-none}"
    [ -z "$fake" ] || { say 'fill, reduce and sgd have run; figures of fakes are none'; return; }
    least=$(awk '$2 == "float" && $1 ~ /^(reduce|sgd)$/ && (!n++ || $NF < least) { least = $NF }
        END { print least }' "$log/$step.log")
    awk -v least="$least" 'BEGIN { exit !(least >= 85) }' ||
        fail "of the copy's bandwidth: $seen, and 85 % is the bar of reduce and sgd"
    say "of the copy's bandwidth: $seen (bar of reduce and sgd 85 %)"
}

# bench_times GPUS [FLAGS]: what bench takes for each of $sizes, in $log/.bench.
bench_times() {
    "$commlab" bench allreduce -n "$1" --backend nccl --algo native -b "${sizes%% *}" -e "${sizes##* }" \
        -f $((${sizes##* } / ${sizes%% *})) --in-place 0 --seconds ${seconds}s ${@:2} >"$log/.bench"
    local status=$?
    cat "$log/.bench"
    ended_well $status
}

# judge FILE BYTES: the medians of the pairs in FILE, of that size: "WORD TEXT", where WORD is fail, less or pass.
judge() {
    awk -F, -v bytes="$2" '
        function median(v, n, i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && v[j] < v[j - 1]; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
            return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
        }
        $2 == bytes { a[++n] = $3; b[n] = $4 }
        END {
            bare = median(a, n); bench = median(b, n); more = bench - bare
            bar = bare * 0.02 > 0.5 ? bare * 0.02 : 0.5 # us: 2 %, or what one look at a clock and a queue may vary by
            word = more > bar ? "fail" : more < 0 ? "less" : "pass"
            printf "%s %s MiB: bench %.2f us, a bare loop %.2f us: ", word, bytes / 1048576, bench, bare
            if (more < 0) printf "a negative overhead, %.2f us or %.2f %% less", -more, -100 * more / bare
            else printf "%.2f us or %.2f %% more", more, 100 * more / bare
            printf " (bar %.2f us)\n", bar
        }' "$1"
}

# keep_pair NUMBER: a row for each size, of what the loop and bench have just written.
keep_pair() {
    local bytes bare measured
    for bytes in $sizes; do
        bare=$(awk -v bytes="$bytes" '$1 == "usec" && $2 == bytes { print $3 }' "$log/.loop")
        measured=$(time_of "$bytes" "$log/.bench")
        [ -n "$bare" ] || fail "the loop has no time of $bytes B: $(reason)"
        [ -n "$measured" ] || fail "bench has no time of $bytes B: $(reason)"
        echo "$1,$bytes,$bare,$measured" >>"$log/$step.csv"
    done
}

# overhead GPUS [enqueue]: bench and a bare loop of the same NCCL calls, one after the other, in as many pairs as there
# is time for; medians. Each call is waited for, or all of a batch once.
# - Both take their memory of NCCL, and neither registers it. The communicators of both block.
overhead() {
    local n=$1 mode=${2-throughput} queue=${2:+-q} most=5 seconds=0.3 i pairs=0 loop=$build/tests/gpu/nccl_loop verdicts text
    local sizes="1048576 $(full 268435456 4194304 16777216)"
    needs_plugin
    needs_gpus "$n"
    [ -x "$loop" ] || not_run "$loop is not built (make gpu-tools)"
    [ -z "$quick" ] || most=1 seconds=0.1
    echo 'pair,bytes,bare_us,bench_us' >"$log/$step.csv"
    for ((i = 1; i <= most && SECONDS <= limit / 2; i++)); do
        "$loop" $queue $seconds "$n" $sizes >"$log/.loop" || fail "$(reason)"
        cat "$log/.loop"
        bench_times "$n" --mode $mode || fail "$(reason)"
        [ -n "$fake" ] || keep_pair "$i"
        pairs=$i
    done
    [ -z "$fake" ] || { rm -f "$log/$step.csv"; say 'both ran; figures of fakes are none'; return; }
    verdicts=$(for bytes in $sizes; do judge "$log/$step.csv" "$bytes"; done)
    echo "$verdicts"
    text=$(cut -d' ' -f2- <<<"$verdicts" | awk '{ printf "%s; ", $0 }')
    ! grep -q '^fail ' <<<"$verdicts" || fail "$text$pairs pairs"
    say "$text$pairs pairs"
}
step_overhead-1() { overhead 1; }
step_overhead-all() {
    needs_gpus 2
    overhead "$(gpus_up_to 8)"
}

step_enqueue-1() { overhead 1 enqueue; }
step_enqueue-all() {
    needs_gpus 2
    overhead "$(gpus_up_to 8)" enqueue
}

# NCCL sends to its own rank by a kernel, where an allreduce of one rank is a copy: so one GPU shows what a short call
# takes.
step_short-calls() {
    local bytes how flags line=
    needs_plugin
    needs_gpus 1
    for how in 'one by one' enqueued 'in a graph'; do
        case $how in one*) flags=() ;; enq*) flags=(--mode enqueue) ;; *) flags=(-G 4) ;; esac
        echo "== $how"
        "$commlab" bench alltoall -n 1 --backend nccl --algo native -b 8 -e 1M -f 8 --in-place 0 ${flags[@]} \
            --seconds $(full 0.1s 10ms) $([ -n "$fake" ] || echo --csv "$log/$step-${how// /-}.csv") >"$log/.bench-$how"
        local status=$?
        cat "$log/.bench-$how"
        ended_well $status || fail "$how: $(reason)"
    done
    [ -z "$fake" ] || { say 'all ran; figures of fakes are none'; return; }
    for bytes in 8 262144; do
        line="$line${line:+; }$bytes B:"
        for how in 'one by one' enqueued 'in a graph'; do
            [ -n "$(time_of $bytes "$log/.bench-$how")" ] || fail "bench has no time of $bytes B: $(reason)"
            line="$line $(time_of $bytes "$log/.bench-$how") us $how,"
        done
        line=${line%,}
    done
    say "$line"
}

# Each way of registering memory, beside none.
step_registration() {
    local n how sizes='1048576 67108864' seconds=$(full 0.3 0.1) line=
    needs_plugin
    needs_gpus 2
    n=$(gpus_up_to 8)
    for how in 0 1 2; do
        echo "== -R $how"
        bench_times "$n" --mode enqueue -R $how || fail "-R $how: $(reason)"
        line="$line${line:+; }-R $how: $(time_of 1048576 "$log/.bench") us for 1 MiB, $(time_of 67108864 "$log/.bench") us for 64 MiB"
    done
    [ -z "$fake" ] || line='all ran; figures of fakes are none'
    say "$line"
}
