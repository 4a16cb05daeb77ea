#!/bin/bash
# SPDX-License-Identifier: MIT
# Exit statuses, and output that can not be written: the same of every command.
# Usage: test_status.sh [BUILD].

. tests/cases.sh
subject=("$commlab")

# tells_of_a_full_disk ARGS...: it fails, and says why in its last line.
tells_of_a_full_disk() {
    "$commlab" "$@" >/dev/full 2>"$scratch/err" </dev/null
    local status=$?
    why="$*: status $status: $(cat "$scratch/err")"
    [ $status -eq 1 ] && grep -q 'standard output can not be written: ' "$scratch/err"
}

model=(--channels 8 --intra-bw 48)
says_what_can_not_be_written() {
    tells_of_a_full_disk show ring && tells_of_a_full_disk verify ring --ranks 1-3 &&
        tells_of_a_full_disk nccl "${model[@]}" && tells_of_a_full_disk tune --model "${model[@]}" &&
        tells_of_a_full_disk --help && tells_of_a_full_disk sim --help
}
says_so_of_networks_too() {
    tells_of_a_full_disk nets && tells_of_a_full_disk sim allreduce --net 10gbe &&
        tells_of_a_full_disk sim train --net 10gbe --model 8x8 &&
        tells_of_a_full_disk sim sweep allreduce --net 10gbe --ranks 2 --csv "$scratch/sweep.csv" --no-plot
}
a_rank_says_so_for_its_job() {
    tells_of_a_full_disk bench allreduce -n 2 -b 8 -e 8 --seconds 0.02s
}
# What is opened next must not take the place of what the shell has closed.
a_closed_output_is_noticed() {
    "$commlab" bench allreduce -n 2 -b 8 -e 8 --seconds 0.02s 2>"$scratch/err" </dev/null >&-
    local status=$?
    why="status $status: $(cat "$scratch/err")"
    [ $status -eq 1 ] && grep -q 'standard output can not be written: Bad file descriptor' "$scratch/err"
}

net=(--net dgx-h100)
asking_for_what_is_not_there_is_wrong_usage() {
    refuses 2 '--delay 99: there are ranks 0 to 1' sim allreduce "${net[@]}" --algo ring --delay 99=1us &&
        refuses 2 'sim: --why and --trace need messages, which the closed form does not have: say --engine full' sim allreduce "${net[@]}" --algo ring --engine closed --why &&
        refuses 2 "sim: --why and --trace need ranks' steps, which in_network does not have" sim allreduce "${net[@]}" --algo in_network --why &&
        refuses 2 '/none.goal: No such file' sim "${net[@]}" --goal "$scratch/none.goal" &&
        refuses 2 '/none.goal: No such file' show --goal "$scratch/none.goal" &&
        refuses 2 "at most 100%" sim train "${net[@]}" --efficiency 400% &&
        refuses 2 'a factor above 0' sim train "${net[@]}" --straggler 3=0
}
a_broken_network_is_wrong_usage() {
    printf '[net]\ntitle = x\n' >"$scratch/broken.net"
    local broken=$scratch/broken.net
    refuses 2 'broken.net:2: [net]: a required key' sim allreduce --net "$broken" &&
        refuses 2 'broken.net:2: [net]: a required key' bench --net "$broken" &&
        refuses 2 'broken.net:2: [net]: a required key' lab 06 --net "$broken" &&
        refuses 2 'broken.net:2: [net]: a required key' lab 06 --emulate "$broken" &&
        refuses 2 'broken.net:2: [net]: a required key' lab 06 --backend sim --net "$broken"
}
refuses_more_backends_than_a_table_has() {
    refuses 2 "--backend 'a,b,c,d,e,f,g,h,i' has 9 names: give 1 to 8" bench --backend a,b,c,d,e,f,g,h,i &&
        refuses 2 "--backend ',,' has 0 names" bench --backend ,,
}
a_trace_that_is_not_there_has_no_line() {
    refuses 2 "$scratch/none.json: No such file" trace "$scratch/none.json" &&
        refuses 2 "$scratch: Is a directory" trace "$scratch"
}

# Each command takes flags by a table (core/base/options.h), and answers a mistyped one with the nearest.
a_mistyped_word_is_answered_with_the_nearest() {
    local command
    refuses 2 "unknown command 'bnech' (did you mean 'bench'?)" bnech || return 1
    for command in next status start hint reset doctor explain run bench verify show sim 'sim sweep' 'sim train' lab report nets fit device accuracy nccl tune trace bottleneck netmon; do
        # shellcheck disable=SC2086
        refuses 2 "$command: there is no flag --hepl (did you mean '--help'?)" $command --hepl || return 1
    done
    refuses 2 "there is no 'smh' in this build (did you mean 'shm'?)" bench --backend smh &&
        refuses 2 "there is no lab 'bukets' (did you mean 'buckets'?)" lab bukets
}

check_each says_what_can_not_be_written a_mistyped_word_is_answered_with_the_nearest a_rank_says_so_for_its_job a_closed_output_is_noticed \
    refuses_more_backends_than_a_table_has
check_with inih says_so_of_networks_too asking_for_what_is_not_there_is_wrong_usage a_broken_network_is_wrong_usage
check_with jansson a_trace_that_is_not_there_has_no_line
exit $failed
