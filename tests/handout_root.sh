#!/bin/bash
# SPDX-License-Identifier: MIT
# The handout in a bare Debian that has a compiler and make, and nothing else: as a student unpacks it. As root, by hand:
#
#   make handout && tests/handout_root.sh [BUILD [ROOT]]
#
# - ROOT is a folder with a Debian, as debootstrap makes it; without it, this makes one of bookworm (half a minute, 300 MB, from
#   the network), and removes it at the end. Who is not root, or has no debootstrap, gets a line that says so, and exit status 0.
# - The student is no root there. /proc and /dev/shm are mounted in a namespace of their own, and go with it.
set -u
build=${1:-build} root=${2-}
tar=$(ls "$build"/handout/commlab-handout-*.tar.gz 2>/dev/null | tail -n 1)
[ -n "$tar" ] || { echo "tests/handout_root.sh: no $build/handout/*.tar.gz: run make handout" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo 'skip: only root can change to another root'; exit 0; }
scratch=
if [ -z "$root" ]; then
    command -v debootstrap >/dev/null || { echo 'skip: there is no debootstrap'; exit 0; }
    scratch=$(mktemp -d) root=$scratch/root
    trap 'rm -rf "$scratch"' EXIT
    debootstrap --variant=minbase --include=gcc,libc6-dev,make bookworm "$root" >"$scratch/log" 2>&1 ||
        { tail -n 5 "$scratch/log" >&2; echo 'tests/handout_root.sh: debootstrap failed' >&2; exit 1; }
fi
home=$root/home/student
rm -rf "$home" && mkdir -p "$home" && tar -C "$home" -xf "$tar" && cp -r tests/handout_student.sh labs/primer/p1-hello/after.c "$home" &&
    chown -R 1000:1000 "$home" || exit 1
# shellcheck disable=SC2016
unshare --mount --pid --fork sh -c '
    mount --make-rprivate / && mount -t proc proc "$1/proc" && mkdir -p "$1/dev/shm" && mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm" &&
        exec chroot --userspec=1000:1000 "$1" env -i HOME=/home/student PATH=/usr/bin:/bin bash /home/student/handout_student.sh' - "$root"
status=$?
rm -rf "$home"
exit $status
