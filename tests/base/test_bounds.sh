#!/bin/bash
# SPDX-License-Identifier: MIT
# Numbers, files and names at and beyond their bounds: each is refused at once, in one line that says the bound, and no
# failure to write is passed over.
# Usage: test_bounds.sh [BUILD]. Takes long.

. tests/cases.sh
export CLAB_PROFILE="$scratch/none" # a machine that has none
bench=("$commlab" bench allreduce -n 2 -b 8 -e 8 --iters 1 -w 1)

# at_once COMMAND...: it ends within 20 seconds, however busy the machine is.
at_once() {
    local begin=$SECONDS
    "$@" || return 1
    why="it took $((SECONDS - begin)) s"
    [ $((SECONDS - begin)) -le 20 ]
}

# ---- times ---------------------------------------------------------------------------------------------------

refuses_times_that_never_end() {
    local text
    for text in 1e300 1e300s 3601s -1 nan; do
        at_once refuses 2 "--seconds '$text' is not a time from 0 to 3600s" timeout 30 "${bench[@]}" \
            --seconds "$text" || return 1
    done
    at_once refuses 2 "--seconds '1e300' is not a time from 0 to 3600s" timeout 30 "$commlab" accuracy -e 8 --seconds 1e300 &&
        at_once refuses 2 "'1e300s' is not a time from 0s to 3600s with its unit" timeout 30 "$commlab" device --seconds 1e300s &&
        at_once refuses 2 "'1e300s' is not a time from 1s to 60s with its unit" timeout 30 "$commlab" fit --seconds 1e300s &&
        at_once refuses 2 "--seconds '1e300' is not a time from 0 to 3600s" timeout 30 "$commlab" tune -n 2 --seconds 1e300
}
# It writes a profile, by which one can predict, or says that a busy machine has given it too little.
fits_for_no_longer_than_told() {
    local status
    timeout 60 "$commlab" fit --seconds 1s -o "$scratch/machine.net" >"$scratch/out" 2>"$scratch/err"
    status=$?
    why="status $status: $(cat "$scratch/out" "$scratch/err")"
    if [ $status = 0 ]; then
        CLAB_PROFILE=$scratch/machine.net run 0 "$commlab" sim allreduce --ranks 2 --bytes 1M --net machine &&
            why="no time in: $(cat "$scratch/out")" && grep -qE '^ +[a-z_]+ +1 +[0-9.]+ ' "$scratch/out"
    else
        [ ! -e "$scratch/machine.net" ] && fits_refusal $status
    fi
}
# On a busy machine: too few rounds, or samples that contradict each other.
fits_refusal() {
    case $1 in
    1) grep -q "too busy to measure: 1 s were up after" "$scratch/err" ;;
    2) grep -q "too busy to measure: .*Close other programs.* no profile is written, since it would be refused" "$scratch/err" ;;
    *) false ;;
    esac
}
fits_at_once() { at_once fits_for_no_longer_than_told; }
refuses_timeouts_beyond_a_month() {
    local range='a duration above 0 and up to 2592000s (30 days), such as 30s or 500ms'
    refuses 2 "--timeout '1e300s' is not $range" "$commlab" run -n 1 --timeout 1e300s -- true &&
        refuses 2 "--timeout '2592001s' is not $range" "$commlab" run -n 1 --timeout 2592001s -- true &&
        run 0 "$commlab" run -n 1 --timeout 2592000s -- true &&
        refuses 2 "CLAB_TIMEOUT is '1e300s', not $range" env CLAB_TIMEOUT=1e300s "${bench[@]}" --seconds 0
}
refuses_costs_of_no_machine() {
    local sim=("$commlab" sim allreduce --ranks 4 --bytes 8)
    refuses 2 "--alpha '1e300s' is not a time from 0s to 3600s with its unit" "${sim[@]}" --alpha 1e300s &&
        refuses 2 "--beta '1e300ns/B' is not a cost or rate with its unit, up to 1s/B" "${sim[@]}" --beta 1e300ns/B &&
        refuses 2 "--gamma '1e-300B/s' is not a cost or rate with its unit, up to 1s/B" "${sim[@]}" --gamma 1e-300B/s &&
        run 0 "${sim[@]}" --alpha 3600s --beta 1s/B
}

# ---- files that are written ----------------------------------------------------------------------------------

# fails WORDS COMMAND...: it ends with 1, and says so.
fails() {
    local words=$1
    shift
    run 1 "$@" || return 1
    grep -qF -- "$words" "$scratch/err"
}
fails_where_the_disk_is_full() {
    fails "the trace '/dev/full' is not written" "${bench[@]}" --seconds 0 --trace /dev/full &&
        fails '/dev/full: can not be written: No space left' "${bench[@]}" --seconds 0 --csv /dev/full &&
        fails '/dev/full: can not be written: ' "$commlab" sim allreduce --ranks 4 --algo ring --bytes 8 \
            --alpha 1us --beta 1ns/B --trace /dev/full
}
# A file system of 64 KiB, which no trace fits in.
fails_on_a_full_disk() {
    local full=(unshare --map-root-user --mount bash -c
        'mount -t tmpfs -o size=64k none "$1" && shift && "$@"' --)
    fails "is not written" "${full[@]}" "$scratch/disk" "$commlab" bench allreduce -n 2 -b 8 -e 1M --seconds 0.05 \
        --trace "$scratch/disk/trace.json"
}
a_full_disk_can_be_made() {
    mkdir -p "$scratch/disk" && unshare --map-root-user --mount mount -t tmpfs none "$scratch/disk" 2>/dev/null
}
# Bytes that no text is: the names would be in the files.
refuses_names_that_are_no_text() {
    local name=$scratch/$'refused\xff' option
    for option in --csv --json --trace; do
        refuses 1 'its name is not UTF-8' "${bench[@]}" --seconds 0 $option "$name" || return 1
    done
    refuses 1 'its name is not UTF-8' "$commlab" fit -o "$name"
}
# Names that are read may be any bytes, and are in the manifest, too.
writes_what_is_no_text_as_question_marks() {
    local net=$scratch/$'\xff.net'
    cp sim/nets/10gbe.net "$net"
    run 0 "${bench[@]}" --seconds 0 --net "$net" --json "$scratch/rows.json" --trace "$scratch/trace.json" || return 1
    why=$(grep command "$scratch/rows.json")
    grep -qF '?.net' "$scratch/rows.json" && grep -qF '?.net' "$scratch/trace.json"
}
refuses_unwritable_names_first() {
    local option
    for option in --csv --json --trace; do
        refuses 1 'can not be written' "${bench[@]}" --seconds 0 $option "$scratch/none/refused" || return 1
    done
}

# ---- files that are read -------------------------------------------------------------------------------------

sim=("$commlab" sim barrier --ranks 2)
# Every reader, at a device that never ends.
refuses_devices() {
    local what='/dev/zero: it is a device, not a file'
    at_once refuses 2 "$what" timeout 30 "${bench[@]}" --seconds 0 --emulate /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "${bench[@]}" --seconds 0 --net /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "${sim[@]}" --net /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "$commlab" sim train --model /dev/zero --net 10gbe --ranks 2 &&
        at_once refuses 2 "$what" timeout 30 "$commlab" show --goal /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "$commlab" show --msccl /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "$commlab" nccl --log /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "$commlab" tune --from /dev/zero -o "$scratch/refused" &&
        at_once refuses 2 "$what" timeout 30 "$commlab" trace /dev/zero &&
        at_once refuses 2 "$what" timeout 30 "$commlab" accuracy --net 10gbe /dev/zero
}
# huge NAME: a sparse file of a gigabyte.
huge() { truncate -s 1G "$scratch/$1" && echo "$scratch/$1"; }
refuses_files_beyond_their_bound() {
    local file
    file=$(huge file.net)
    at_once refuses 2 "$file: larger than 1 MiB, the most that is read of a file of settings: " timeout 30 "${sim[@]}" \
        --net "$file" &&
        at_once refuses 2 "$file: larger than 256 MiB, the most that is read of a schedule: " timeout 30 "$commlab" show \
            --msccl "$file" &&
        at_once refuses 2 "$file:1: '' where there should be num_ranks or rank" timeout 30 "$commlab" show \
            --goal "$file" &&
        at_once refuses 2 "$file: larger than 64 MiB, the most that is read of a log: " timeout 30 "$commlab" nccl \
            --log "$file" &&
        at_once refuses 2 "$file: larger than 64 MiB, the most that is read of a table: " timeout 30 "$commlab" tune \
            --from "$file" -o "$scratch/refused" &&
        at_once refuses 2 "$file: larger than 256 MiB, the most that is read of a trace: " timeout 30 "$commlab" trace \
            "$file"
}
reads_pipes() {
    run 0 "${sim[@]}" --net <(cat sim/nets/10gbe.net)
}
reads_standard_input() {
    "${sim[@]}" --net /dev/stdin <sim/nets/10gbe.net >"$scratch/out" 2>"$scratch/err" || return 1
    cat sim/nets/10gbe.net | "${sim[@]}" --net /dev/stdin >"$scratch/out" 2>"$scratch/err"
}
# An endless one is refused, too.
refuses_standard_input_beyond_the_bound() {
    at_once timeout 30 "${sim[@]}" --net /dev/stdin </dev/zero >"$scratch/out" 2>"$scratch/err"
    why="status $?: $(cat "$scratch/err")"
    grep -qF '/dev/stdin: larger than 1 MiB' "$scratch/err"
}

# Files within their bound that took minutes: one attribute, labels of one rank, keys of one file, remarks of a table.
reads_long_attributes_in_time() {
    { printf '<algo name="' && head -c 100M /dev/zero | tr '\0' x && printf '"/>'; } >"$scratch/long.xml"
    at_once refuses 2 "$scratch/long.xml:1: coll" timeout 60 "$commlab" show --msccl "$scratch/long.xml"
}
reads_many_labels_in_time() {
    { printf 'num_ranks 1\nrank 0 {\n' && seq -f 'l%.0f: calc 1' 1 2000000 && echo '}'; } >"$scratch/many.goal"
    at_once refuses 2 'more than 64 independent sequences' timeout 60 "$commlab" show --goal "$scratch/many.goal"
}
reads_many_keys_in_time() {
    { printf '[model]\ntitle = x\nbatch = 1\n[block b]\n' && seq -f 'a%.0f = 1x1' 1 75000; } >"$scratch/many.model"
    at_once run 0 timeout 60 "$commlab" sim train --model "$scratch/many.model" --net 10gbe --ranks 2
}
refuses_many_remarks() {
    { yes '# a: b' | head -n 5000000 && printf 'a,b\n1,2\n'; } >"$scratch/many.csv"
    at_once refuses 2 'more than 512 lines that begin with #' timeout 60 "$commlab" accuracy --net 10gbe "$scratch/many.csv"
}

# A row that would have the simulator work for ever.
refuses_rows_of_too_many_ranks() {
    at_once refuses 2 'many_ranks:2: column `ranks`: ' timeout 60 "$commlab" accuracy --net 10gbe \
        tests/fuzz/corpus/accuracy/many_ranks
}

# What is no collective is none, not the first that there is.
leaves_out_unknown_collectives() {
    sed 's/^allreduce/allsum/; s/2000000000/4/' tests/fuzz/corpus/accuracy/many_ranks >"$scratch/unknown.csv"
    sed 's/2000000000/4/' tests/fuzz/corpus/accuracy/many_ranks >"$scratch/known.csv"
    run 0 "$commlab" accuracy --net 10gbe --no-plot "$scratch/known.csv" && grep -q allreduce "$scratch/out" || return 1
    "$commlab" accuracy --net 10gbe --no-plot "$scratch/unknown.csv" >"$scratch/out" 2>"$scratch/err"
    why=$(cat "$scratch/out" "$scratch/err")
    ! grep -q allreduce "$scratch/out"
}

check_each refuses_times_that_never_end refuses_timeouts_beyond_a_month refuses_costs_of_no_machine
if [ "$(nproc)" -lt 2 ]; then
    skip 'two ranks need two cores' fits_at_once
else
    check_with inih fits_at_once
fi
check_with jansson fails_where_the_disk_is_full refuses_names_that_are_no_text \
    writes_what_is_no_text_as_question_marks refuses_unwritable_names_first
check_with 'inih jansson expat' refuses_devices refuses_files_beyond_their_bound
check_with inih reads_pipes reads_standard_input refuses_standard_input_beyond_the_bound reads_many_keys_in_time
check_with inih refuses_many_remarks refuses_rows_of_too_many_ranks leaves_out_unknown_collectives
check_with expat reads_long_attributes_in_time
check reads_many_labels_in_time
if a_full_disk_can_be_made; then
    check_with jansson fails_on_a_full_disk
else
    skip 'no file system can be mounted here' fails_on_a_full_disk
fi
exit $failed
