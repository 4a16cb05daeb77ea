#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab verify` and `commlab show` as their users meet them: what is proved and drawn, and one clear line
# for each mistake.
# Usage: test_show.sh [BUILD].

. tests/cases.sh
subject=("$commlab")

# ---- verify --------------------------------------------------------------------------------------------------

proves_all_up_to_64_ranks() {
    writes "all proved" verify || return 1
    why="rows not proved for 1-64: $(grep -v '^#' "$scratch/out" | grep -v ' 1-64 ')"
    [ "$(grep -c ' 1-64 ' "$scratch/out")" -eq "$("$commlab" show | wc -l)" ] &&
        ! grep -v '^#' "$scratch/out" | grep -qv ' 1-64 '
}

# Sanitizers make it several times slower.
takes_less_than_5_seconds() {
    why=$(tail -n 1 "$scratch/out")
    case $build in
    *san-*) limit=60 ;;
    *) limit=5 ;;
    esac
    echo "$why" | awk -v limit=$limit '{ for (i = 2; i <= NF; i++) if ($i == "s:") found = $(i - 1) < limit }
        END { exit !found }'
}

proves_what_is_named() {
    writes "all proved" verify bruck ring --collective allgather --ranks 3-9 || return 1
    why=$(cat "$scratch/out")
    [ "$(grep -c ' 3-9 ' "$scratch/out")" -eq 2 ]
}

check proves_all_up_to_64_ranks
check takes_less_than_5_seconds
check proves_what_is_named
check refuses_to_verify_unknown_algorithm refuses 2 "no algorithm 'rong'" verify rong
check refuses_to_verify_algorithm_of_another_collective \
    refuses 2 "no algorithm 'ring' of alltoall" verify ring -c alltoall
check refuses_to_verify_unknown_collective refuses 2 "there is no 'x'; there are: allreduce broadcast" verify -c x
check refuses_to_verify_no_ranks refuses 2 "--ranks '0' is not a number or a range such as 1-64, within 1 and 512" verify --ranks 0
check refuses_to_verify_range_backwards refuses 2 "--ranks '9-3'" verify --ranks 9-3
check refuses_to_verify_half_a_range refuses 2 "--ranks '9-'" verify --ranks 9-

# ---- show ----------------------------------------------------------------------------------------------------

draws_svg_to_a_file() {
    run 0 show doubling -n 8 -f svg -o "$scratch/a.svg" || return 1
    why="out: $(cat "$scratch/out"), file: $(head -c 200 "$scratch/a.svg")"
    [ ! -s "$scratch/out" ] && grep -q '^<svg ' "$scratch/a.svg" && [ "$(tail -n 1 "$scratch/a.svg")" = "</svg>" ]
}

leaves_a_file_alone_if_refused() {
    echo precious >"$scratch/kept"
    refuses 2 "root 7" show binomial -c reduce --root 7 -o "$scratch/kept" || return 1
    why="the file was touched"
    [ "$(cat "$scratch/kept")" = precious ]
}

# explains ALGORITHM COLLECTIVE: the legend of the drawing says what its signs are, and names no others.
explains() {
    run 0 show "$1" -c "$2" -n 4 || return 1
    why=$(cat "$scratch/out")
    grep -q "^$3" <<<"$why" && { [ -z "$4" ] || ! grep -q -- "$4" <<<"$why"; }
}
check legend_of_a_shift explains shift sendrecv 'Below: .* of the result. #: it is there' 'and add'
check legend_of_an_alltoall explains pairwise alltoall 'i0: chunk 0 of what the rank had before' 'of all'
check legend_of_a_sum explains ring allreduce 't: round. .*; +3: receive, and add' '^i0'
check legend_of_a_barrier explains dissemination barrier 'Below: of how many ranks it knows' chunk

check lists_algorithms writes "halving_doubling" show
check draws_allreduce_by_default writes "allreduce ring, 5 ranks: 8 rounds" show ring --ranks 5
check draws_the_only_one_of_its_name writes "broadcast chain, 4 ranks, root 2, 8 lanes: 10 rounds" show chain -r 2
check draws_one_rank writes "reduce flat, 1 rank, root 0: 0 rounds" show flat -c reduce -n 1
check draws_many_ranks writes "allreduce doubling, 200 ranks: 9 rounds" show doubling -n 200
check draws_svg_to_a_file
check writes_goal writes "l1: send 6b to 1 tag 0" show ring -n 2 -f goal --bytes 12
reads_back() { # FORMAT: what is written of a file that was read is that file
    run 0 show ring -n 5 -f "$1" -o "$scratch/a" && run 0 show "--$1" "$scratch/a" -f "$1" -o "$scratch/b" || return 1
    why="$(diff "$scratch/a" "$scratch/b" | head -n 5)"
    cmp -s "$scratch/a" "$scratch/b"
}
reads_goal_back() { reads_back goal; }
reads_msccl_back() { reads_back msccl; }
refuses_goal_by_its_line() {
    printf 'num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\n}\n' >"$scratch/c"
    refuses 2 "$scratch/c:3: rank 0: this message is never received" show --goal "$scratch/c"
}
check reads_goal_back
check_with expat reads_msccl_back
check refuses_goal_by_its_line
check leaves_a_file_alone_if_refused
check refuses_ambiguous_name refuses 2 "allgather, alltoall: choose one with --collective" show bruck
check refuses_unknown_algorithm refuses 2 "no algorithm 'rong'" show rong
check refuses_two_algorithms refuses 2 "one algorithm at a time" show ring tree
check refuses_algorithm_of_another_collective refuses 2 "allreduce, barrier have" show tree -c allgather
check refuses_unknown_format refuses 2 "-f: there is no 'png'; there are: text svg slide html goal msccl" show ring -f png
check refuses_no_ranks refuses 2 "-n '0' is not a number from 1 to 1048576" show ring -n 0
check refuses_too_many_ranks_for_a_picture refuses 2 "use --format text" show ring -n 65 -f svg
check refuses_too_many_ranks_for_a_slide refuses 2 "a slide shows at most 16 ranks; use --format svg" show ring -n 17 -f slide
check refuses_more_than_fits refuses 2 "too many to draw" show ring -n 512 --lanes 64
check refuses_bad_bytes refuses 2 "--bytes '1x'" show ring --bytes 1x
check refuses_bad_rate refuses 2 "--reduce '5'" show ring --reduce 5
check refuses_unwritable_output refuses 1 "$scratch/none/x" show ring -o "$scratch/none/x"

warns_of_more_steps_than_azure_takes() {
    run 0 show ring --ranks 18 -f msccl-azure && why=$(cat "$scratch/err") &&
        grep -q 'takes 64 steps in a thread block, and this has 68: build it by make MSCCL_MAX_NUM_STEPS=256' "$scratch/err" || return 1
    run 0 show ring --ranks 17 -f msccl-azure && why=$(cat "$scratch/err") && [ ! -s "$scratch/err" ]
}
check warns_of_more_steps_than_azure_takes

exit $failed
