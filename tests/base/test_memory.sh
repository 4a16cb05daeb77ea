#!/bin/bash
# SPDX-License-Identifier: MIT
# Where memory ends: a line that says so, and an end, never a hang or a death without a word.
# Usage: test_memory.sh [BUILD].

. tests/cases.sh

# limited OPTION VALUE COMMAND...: the command, where `ulimit` limits something.
limited() {
    ulimit "$1" "$2" && shift 2 && "$@"
}

says_that_files_are_limited() {
    (limited -f 1000 refuses 1 'ulimit -f limits it' "$commlab" run -n 2 -- true && echo right) >"$scratch/case" 2>&1
    why="$(cat "$scratch/case") $(cat "$scratch/err")"
    grep -q right "$scratch/case"
}

says_that_addresses_are_limited() {
    why="$(ulimit -v 2000000 && timeout 20 "$commlab" bench allreduce -n 2 -b 8 -e 8 2>&1)" && return 1
    grep -q 'ulimit -v' <<<"$why"
}

# Where only the last to know of it says so.
says_so_of_a_command_alone() {
    why="$(ulimit -v 60000 && timeout 20 "$commlab" sim alltoall --algo pairwise --ranks 512 --net 10gbe --engine full \
        --trace "$scratch/t.json" 2>&1)" && return 1
    grep -q 'ulimit -v' <<<"$why"
}

group=/sys/fs/cgroup/memory/commlab-test-$$ # of version 1
limit=memory.limit_in_bytes
[ -d /sys/fs/cgroup/memory ] || group=/sys/fs/cgroup/commlab-test-$$ limit=memory.max

# 300 MB for ranks that take ever more. What is more than the group's from the start, the kit refuses by itself.
says_what_the_group_has_left() {
    why="$(
        echo $BASHPID >"$group/cgroup.procs"
        timeout 60 "$commlab" bench allreduce -n 2 -b 256M -e 256M --seconds 1s 2>&1
    )" && return 1
    grep -qE 'need 1 GiB, and [0-9.]+ MiB of memory are available: choose smaller sizes' <<<"$why"
}
says_that_the_system_has_killed() {
    why="$(
        echo $BASHPID >"$group/cgroup.procs"
        timeout 60 "$commlab" run -n 2 -- tail /dev/zero 2>&1
    )" && return 1
    grep -q 'was killed by signal 9 (Killed): the system has ended a process for lack of memory' <<<"$why"
}

check_each says_that_files_are_limited says_that_addresses_are_limited
check_with inih says_so_of_a_command_alone
if mkdir "$group" 2>/dev/null && echo 300M 2>/dev/null >"$group/$limit"; then
    check_each says_what_the_group_has_left says_that_the_system_has_killed
    sleep 0.2
    rmdir "$group"
else
    rmdir "$group" 2>/dev/null
    skip "no group of processes can be given a limit here (cgroups, root)" \
        says_what_the_group_has_left says_that_the_system_has_killed
fi
exit $failed
