# SPDX-License-Identifier: MIT
# Steps of gpu-check: what NCCL's own log says of our plugins, and of our model of its choices.

# talk_to_nccl RANKS SUBSYSTEMS [SETTING...]: the ranks run allreduce with these settings; $log/$step.nccl is what NCCL
# wrote, rank 0's part first, which has the tuning table.
talk_to_nccl() {
    local n=$1 subsystems=$2 first
    shift 2
    rm -f "$log/$step".nccl*
    env $(sharing "$n") NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS="$subsystems" NCCL_DEBUG_FILE="$log/$step.nccl.%p" "$@" \
        "$commlab" bench allreduce -n "$n" --backend nccl --algo native -b 1K -e 4M -f 4 --in-place 0 --seconds 20ms \
        --iters 2 -w 1
    ended_well $? || fail "$(reason)"
    first=$(grep -lE 'AllReduce +\|' "$log/$step".nccl.* 2>/dev/null | head -n 1)
    cat $first $(ls "$log/$step".nccl.* 2>/dev/null | grep -vxF "${first:-none}") >"$log/$step.nccl" 2>/dev/null </dev/null
    rm -f "$log/$step".nccl.*
    [ -s "$log/$step.nccl" ] ||
        { [ -n "$fake" ] && not_run 'the fakes have no log of NCCL'; fail 'NCCL wrote no log'; }
}

step_tuner() {
    local plugin=$build/backends/libnccl-tuner-commlab.so seen
    [ -e "$plugin" ] || not_run 'this build has no tuner plugin'
    needs_plugin
    needs_gpus 1
    cat >"$log/tuner.csv" <<'CSV'
allreduce,0,16383,tree,ll,-1,-1,-1,-1,-1
allreduce,16384,1048575,ring,ll,-1,-1,-1,-1,-1
allreduce,1048576,4294967295,ring,simple,-1,-1,-1,-1,-1
CSV
    talk_to_nccl 2 INIT,TUNING,ENV NCCL_TUNER_PLUGIN="$plugin" NCCL_TUNER_CONFIG_FILE="$log/tuner.csv"
    # NCCL 2.28 writes `Using commlab (v5)`, versions up to 2.27 `Using tuner plugin commlab`.
    grep -qE 'TUNER/Plugin: Using (tuner plugin )?commlab' "$log/tuner.nccl" ||
        fail "NCCL's log does not name our tuner: $(grep -m1 TUNER "$log/tuner.nccl")"
    # Older versions write numbers for names: 0 Tree, 1 Ring; 0 LL, 1 LL128, 2 Simple.
    seen=$(choices_in "$log/tuner.nccl" | awk '
        {
            wanted = $1 < 16384 ? "tree ll" : $1 < 1048576 ? "ring ll" : "ring simple"
            rows[wanted] = 1
            if ($2 " " $3 != wanted)
                bad = bad sprintf(" %d B took %s %s, not %s;", $1, $2, $3, wanted)
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
    say "$(grep -m1 -oE 'TUNER/Plugin: Using .*' "$log/tuner.nccl"); $seen"
}

# choices_in LOG: `BYTES ALGORITHM PROTOCOL`, in small letters, of each size of allreduce that NCCL has chosen for.
choices_in() {
    sed -nE 's/.*AllReduce: +([0-9]+) Bytes -> Algo ([A-Za-z0-9_]+) proto ([A-Za-z0-9]+).*/\1 \2 \3/p' "$1" |
        sort -un | awk '
        {
            algorithm = tolower($2); protocol = tolower($3)
            sub(/^0$/, "tree", algorithm); sub(/^1$/, "ring", algorithm)
            sub(/^0$/, "ll", protocol); sub(/^1$/, "ll128", protocol); sub(/^2$/, "simple", protocol)
            print $1, algorithm, protocol
        }'
}

# Whether NCCL's log names it: `PROFILER/Plugin: loaded` in 2.27, `Loaded` from 2.28 on.
step_profiler() {
    local plugin=$build/backends/libnccl-profiler-commlab.so traces
    [ -e "$plugin" ] || not_run 'this build has no profiler plugin'
    needs_plugin
    needs_gpus 1
    talk_to_nccl 2 INIT,TUNING,ENV NCCL_PROFILER_PLUGIN="$plugin" CLAB_NCCL_TRACE="$log/profiler.json"
    grep -qi 'PROFILER/Plugin: Loaded' "$log/profiler.nccl" ||
        fail "NCCL's log does not name our profiler: $(grep -m1 PROFILER "$log/profiler.nccl")"
    traces=$(find "$log" -maxdepth 1 -name 'profiler-*.json' -size +0 | wc -l)
    [ "$traces" = 2 ] || fail "NCCL loaded our profiler, but $traces of 2 ranks have written a trace"
    say "$(grep -m1 -oiE 'PROFILER/Plugin: Loaded.*' "$log/profiler.nccl"); both ranks have written a trace"
}

# ---- NCCL's own table against our model of it -------------------------------------------------------------------

# The version of the model's constants for the NCCL that bench has named: the newest that is not newer than it.
nccl_constants() {
    local here known
    here=$(sed -n 's/^# library: NCCL \([0-9.]*\).*/\1/p' "$log/$step.log" | head -n 1)
    known=$("$commlab" nccl --nccl 0 2>&1 | sed -n 's/.*there are those of://p' | tr ' ' '\n' | grep . | sort -V)
    printf '%s\n' $known | awk -v here="${here:-0}" '
        function number(version, part) { split(version, part, "."); return (part[1] * 1000 + part[2]) * 1000 + part[3] }
        NR == 1 || number($1) <= number(here) { newest = $1 }
        END { print newest }'
}

# What the flags of `commlab nccl` call this machine's GPUs and processor.
gpu_kind() {
    tr -s ' \n' ' ' <"$log/doctor.txt" | grep -oE 'compute capability [0-9]+\.[0-9]+' | head -n 1 |
        awk '{ kind = ($3 >= 10) ? "blackwell" : ($3 >= 9) ? "hopper" : ($3 >= 8) ? "ampere" : "volta" }
            END { print kind ? kind : "hopper" }'
}
cpu_kind() {
    case $(sed -n 's/^vendor_id.*: //p' /proc/cpuinfo | head -n 1) in
    GenuineIntel) echo intel ;;
    AuthenticAMD) echo amd ;;
    *) echo other ;;
    esac
}

# cells COLLECTIVE LOG: `ALGORITHM PROTOCOL LATENCY BANDWIDTH` by `commlab nccl`; - - where there is none.
cells() {
    "$commlab" nccl $machine --collective "$1" --log "$2" |
        awk '$1 !~ /^#/ && $2 ~ /^(LL|LL128|Simple)$/ { print $1, $2, $3, $4 }'
}

# hold_against_model RANKS: adds rows of NCCL's table and the model's to $log/model.csv.
# - Ranks that share a GPU are a node each.
# - The model is given the graphs of NCCL's log: rings and trees are searched for by NCCL alone.
hold_against_model() {
    local n=$1 collective machine="--nodes 1 --gpus $1 --arch $(gpu_kind) --cpu $(cpu_kind)"
    [ -z "$(sharing "$n")" ] || machine="${machine/--nodes 1 --gpus $n/--nodes $n --gpus 1}"
    machine="$machine --nccl $(nccl_constants)"
    echo "== commlab nccl $machine"
    grep 'Pattern ' "$log/model.nccl" >"$log/model.graphs"
    for collective in allreduce broadcast reduce allgather reduce_scatter; do
        paste -d' ' <(cells $collective "$log/model.nccl") <(cells $collective "$log/model.graphs") |
            awk -v n="$n" -v collective=$collective -v OFS=, '
                NF == 8 && ($4 != "-" || $8 != "-") { print n, collective, $1, $2, $3, $7, $4, $8 }' >>"$log/model.csv"
    done
    compare_choices "$n"
}

# What NCCL took for each size of allreduce, and what the model takes.
compare_choices() {
    local bytes taken model
    while read -r bytes taken; do
        model=$("$commlab" nccl $machine --log "$log/model.graphs" -b "$bytes" | sed -n 's/^choice: \([^,]*\),.*/\1/p')
        echo "$1,$bytes,$taken,${model,,}" >>"$log/model-choices.csv"
    done < <(choices_in "$log/model.nccl")
}

# How many cells agree to what NCCL's log shows, one decimal; the largest differences, and where.
differences() {
    awk -F, '
        function far(a, b, d) { d = b - a; return d < 0 ? -d : d }
        NR == 1 { next }
        { where = $1 " ranks, " $2 " " $3 " " $4; n++ }
        $7 == "-" || $8 == "-" { alone++; if (!first) first = where " (" ($7 == "-" ? "the model" : "NCCL") " has it)"; next }
        far($5, $6) <= 0.1001 && far($7, $8) <= 0.1001 { alike++ }
        far($5, $6) > most_us { most_us = far($5, $6); at_us = where ": " $5 " and " $6 }
        far($7, $8) > most_gb { most_gb = far($7, $8); at_gb = where ": " $7 " and " $8 }
        END {
            printf "%d of %d cells alike", alike, n
            if (alone) printf "; %d in one of the two only, the first: %s", alone, first
            if (most_us > 0.1001) printf "; latency %.1f us apart at most (%s us)", most_us, at_us
            if (most_gb > 0.1001) printf "; bandwidth %.1f GB/s apart at most (%s GB/s)", most_gb, at_gb
        }' "$log/model.csv"
}

step_model() {
    local n choices
    needs_plugin
    needs_gpus 1
    echo 'ranks,collective,algorithm,protocol,nccl_us,model_us,nccl_GBps,model_GBps' >"$log/model.csv"
    echo 'ranks,bytes,nccl,model' >"$log/model-choices.csv"
    for n in 2 3; do
        talk_to_nccl $n TUNING,GRAPH
        hold_against_model $n
        mv "$log/model.nccl" "$log/model-$n.nccl"
    done
    cat "$log/model.csv" "$log/model-choices.csv"
    [ "$(wc -l <"$log/model.csv")" -gt 1 ] || fail "nothing could be compared: $(reason)"
    choices=$(awk -F, 'NR > 1 { n++; same += $3 == $4 } END { if (n) print "; " same + 0 " of " n " choices alike" }' \
        "$log/model-choices.csv")
    say "NCCL's table against commlab nccl: $(differences)$choices"
}
