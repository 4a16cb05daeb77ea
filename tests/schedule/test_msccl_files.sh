#!/bin/bash
# SPDX-License-Identifier: MIT
# MSCCL's files of other tools, by small ones with the same features (tests/fixtures/msccl): each is proved, run on
# shared memory with its results checked, priced and drawn; what is wrong is refused by its line.
# Usage: test_msccl_files.sh [BUILD].

. tests/cases.sh
subject=("$commlab")
files=tests/fixtures/msccl
if lacks expat; then
    skip "built without expat" msccl_files
    exit 0
fi

# proved FILE ALGORITHM: verify says so in one row.
proved() {
    writes "all proved" verify --msccl "$files/$1.xml" || return 1
    why="not '$2' in: $(cat "$scratch/out")"
    grep -qE "^ *$2 +$1 " "$scratch/out"
}

# No row has a wrong element, and each row was checked.
benched() {
    run 0 bench --msccl "$files/$1.xml" -b 8 -e 64K -f 16 --seconds 0 --iters 1 -w 0 -d float,int32 --csv "$scratch/$1.csv" ||
        return 1
    why="wrong, or not checked: $(cat "$scratch/$1.csv")"
    awk -F, '!/^#/ && !at { for (i = 1; i <= NF; i++) if ($i == "wrong") at = i; next }
        !/^#/ { rows++; bad += $at != "0" } END { exit !(rows > 0 && bad == 0) }' "$scratch/$1.csv"
}

priced() {
    writes "simulated in" sim --msccl "$files/$1.xml" --bytes 1M --net dgx-h100 &&
        writes "simulated in" sim --msccl "$files/$1.xml" --bytes 1M --alpha 5us --beta 10GB/s --gamma 1ns/B
}

drawn() {
    writes "$2" show --msccl "$files/$1.xml" && writes "</svg>" show --msccl "$files/$1.xml" -f svg &&
        writes "</html>" show --msccl "$files/$1.xml" -f html
}

# What is written of it is read, with and without the stages that only the kit reads.
written_again() {
    run 0 show --msccl "$files/$1.xml" -f msccl -o "$scratch/a.xml" &&
        run 0 show --msccl "$scratch/a.xml" -f msccl -o "$scratch/b.xml" || return 1
    why="$(diff "$scratch/a.xml" "$scratch/b.xml" | head -n 5)"
    cmp -s "$scratch/a.xml" "$scratch/b.xml" || return 1
    sed 's/ stage="[0-9]*"//; s/ at="[0-9]*"//' "$scratch/a.xml" >"$scratch/c.xml"
    writes "all proved" verify --msccl "$scratch/c.xml"
}

# file NAME COLLECTIVE DRAWN: all of it.
file() {
    check "proves_$1" proved "$1" "$2"
    check "runs_$1" benched "$1"
    check "prices_$1" priced "$1"
    check "draws_$1" drawn "$1" "$3"
    check "writes_$1" written_again "$1"
}

file circle allgather "3 rounds, each sends ≤ 0.75 buffers"
file channels allreduce "2 rounds, each sends ≤ 1 buffers"
file reduce_here allreduce "3 rounds, each sends ≤ 2 buffers"
file pass_on allreduce "4 rounds, each sends ≤ 1.333 buffers"
file out_of_place allgather "1 round, each sends ≤ 0.5 buffers"
file overwritten broadcast "3 rounds, each sends ≤ 1 buffers"
file both allreduce "1 round, each sends ≤ 1 buffers"

file custom custom "1 round, each sends ≤ 1 buffers"
says_what_custom_makes() {
    run 0 verify --msccl "$files/custom.xml" || return 1
    why=$(cat "$scratch/out")
    grep -qx '#   rank 1, chunks 0 to 1: chunks 0 to 1 of rank 0' "$scratch/out" &&
        grep -qx '#   rank 2, chunks 0 to 1: chunks 0 to 1 of rank 1' "$scratch/out" &&
        ! grep -q 'rank 0, chunk' "$scratch/out"
}
# Nobody knows what a collective of one's own must carry: its bus bandwidth is the other one, in each format.
custom_has_one_bandwidth() {
    run 0 bench --msccl "$files/custom.xml" -b 1M -e 1M --seconds 0.02s --in-place 0 --format nccl-tests \
        --json "$scratch/custom.json" --json-format nccl-tests || return 1
    why="$(cat "$scratch/out") $(cat "$scratch/custom.json")"
    awk '/^ *1048576 / { ok = $7 == $8 } END { exit !ok }' "$scratch/out" &&
        [ "$(grep -o '_bw": *[0-9.e+]*' "$scratch/custom.json" | sed 's/.* //' | sort -u | wc -l)" -eq 1 ]
}
check says_what_custom_makes
check_with jansson custom_has_one_bandwidth
check refuses_average_of_custom refuses 2 "has no average" bench --msccl "$files/custom.xml" -o avg

# wrong NAME LINE WORDS STATUS
wrong() { refuses "$4" "$files/wrong/$1.xml:$2: $3" verify --msccl "$files/wrong/$1.xml"; }
check refuses_a_race wrong race 10 "thread block 1 of gpu 0 reads a chunk that its thread block 0 writes in line 7" 1
check refuses_a_deadlock wrong deadlock 6 "thread blocks wait for each other: here block 0 of gpu 0 waits for a message from block 0 of gpu 1, which in line 13" 1
check refuses_too_many_on_their_way wrong no_room 8 "thread blocks wait for each other: here block 0 of gpu 0 waits for room" 1
check refuses_other_channel wrong no_receiver 5 "gpu 0 sends to gpu 1 on channel 0, but no thread block of gpu 1 receives there" 2
check refuses_wrong_result wrong not_added 6 "contribution missing at the end" 1

check refuses_other_ranks refuses 2 "is a schedule of 4 ranks, and there are 3: use -n 4" \
    bench --msccl "$files/circle.xml" -n 3
# changed SED STATUS WORDS: a file with one change is refused by its line.
changed() {
    sed "$1" "$files/${4:-circle}.xml" >"$scratch/changed.xml"
    why="no change: $1"
    ! cmp -s "$files/${4:-circle}.xml" "$scratch/changed.xml" &&
        refuses "$2" "$scratch/changed.xml:$3" verify --msccl "$scratch/changed.xml"
}

# TACCL and TE-CCL write where a GPU's input is in its output; MSCCL passes over it.
passes_over_copies() {
    sed 's/^\( *<gpu id="\(.\)".*\)/\1<copy i_off="0" o_off="\2"\/>/' "$files/circle.xml" >"$scratch/copies.xml"
    [ "$(grep -c '<copy ' "$scratch/copies.xml")" -eq 4 ] && writes "all proved" verify --msccl "$scratch/copies.xml"
}
check passes_over_copies
check refuses_copy_elsewhere changed 's/<step s="1"/<copy i_off="0" o_off="0"\/><step s="1"/' 2 \
    '7: <copy> where there should be <step>'
check refuses_scratch_that_nothing_was_put_into changed '6s/srcbuf="i"/srcbuf="s"/' 1 \
    '6: chunk used that the rank does not have: rank 0, lane 0, stage 0: reads a chunk of scratch that nothing was put into (chunk 0)' reduce_here
check refuses_more_chunks_than_steps_use changed \
    's/nchunksperloop="4"/nchunksperloop="1000000"/' 2 '4: nchunksperloop="1000000", but the steps of gpu 0 use no more than'
check refuses_absurd_chunks changed 's/nchunksperloop="4"/nchunksperloop="1000000000"/' 2 \
    '3: nchunksperloop="1000000000" is not a number from 1 to'
check refuses_scratch_that_no_step_uses changed \
    's/s_chunks="1"/s_chunks="1000000"/; s/"s" dstoff="0"/"s" dstoff="999999"/' 2 \
    '4: 1000000 chunks of '"'s'"', but all steps together use' overwritten
check refuses_custom_with_unused_chunks changed 's/nchunksperloop="2"/nchunksperloop="1000000"/' 2 \
    '3: nchunksperloop="1000000", but all steps together use' custom
check refuses_long_message changed 's/cnt="1"/cnt="72"/' 2 '6: cnt="72" is not a number from 1 to 71'
check refuses_chunk_outside changed 's/srcoff="3"/srcoff="4"/' 2 "30: chunks 4 to 4 of 'o', which has 4"
check refuses_missing_gpu changed 's/ngpus="4"/ngpus="5"/' 2 '3: there is no gpu 4, of ngpus="5"'
check refuses_wait_for_no_step changed 's/depid="-1" deps="-1"/depid="7" deps="0"/' 2 \
    '6: it waits for step 0 of thread block 7 (deps, depid), which the gpu does not have'
check refuses_wait_for_silent_step changed '7s/hasdep="1"/hasdep="0"/' 2 \
    '11: it waits for step 1 of thread block 0 (line 7), but neither that nor a later one has hasdep="1"' both
check refuses_unknown_step changed 's/type="rcs"/type="ra"/' 2 '7: type="ra" is not s, r, rcs, rrs, rrc, rrcs, cpy, re or nop'
check refuses_unknown_protocol changed 's/proto="LL"/proto="TCP"/' 2 '3: proto="TCP" is not Simple, LL or LL128'
check refuses_write_to_input changed 's/type="r" srcbuf="o" srcoff="[0-9]*" dstbuf="o" dstoff="[0-9]*"/type="r" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0"/' 2 \
    "7: it writes 'i', the caller's input, in a call that is not in place" out_of_place

# Each rank of a running job reads the file by itself; here the last of two reads another.
refuses_files_that_differ() {
    printf 'file=%s\n[ "$LOCAL_RANK" = 1 ] && file=%s\nexec %s bench --msccl "$file" -b 64 -e 64 --seconds 0.02\n' \
        "$files/both.xml" "$files/channels.xml" "$commlab" >"$scratch/rank.sh"
    run 2 run -n 2 bash "$scratch/rank.sh" || return 1
    why=$(cat "$scratch/err")
    grep -q "rank 1 has read another schedule there than rank 0" "$scratch/err"
}
check refuses_files_that_differ
check refuses_algorithm_beside_file refuses 2 "the file says which collective" \
    bench allreduce --msccl "$files/circle.xml"
check refuses_in_place refuses 2 "it is not defined in place" \
    bench --msccl "$files/out_of_place.xml" --in-place 1
check refuses_verifying_two refuses 2 "name no other" verify ring --msccl "$files/circle.xml"
check refuses_no_file refuses 2 "none.xml" verify --msccl "$scratch/none.xml"

exit $failed
