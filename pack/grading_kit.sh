# SPDX-License-Identifier: MIT
# What gradescope.sh and classroom.sh share; they begin with `. pack/grading_kit.sh` (bash, at the top of the kit).

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# check_homework ID: what `make` was told.
check_homework() {
    local there
    there=$(cd labs/homework 2>/dev/null && ls -d h[0-9] | tr '\n' ' ')
    [[ $1 =~ ^h[0-9]$ ]] && [ -e "labs/homework/$1/$1.md" ] || die "HW='$1': no homework is called so; type HW=ID with one of: $there"
}

# check_salt FILE: the class's secret, long enough that nobody guesses it.
check_salt() {
    local how="make one by: head -c 24 /dev/urandom | base64 > salt, and keep it to yourself"
    [ -n "$1" ] || die "SALT: which file has the secret of your class? Type SALT=FILE; $how"
    [ -r "$1" ] || die "SALT=$1 can not be read; $how"
    [ "$(wc -c <"$1")" -ge 16 ] || die "SALT=$1 has fewer than 16 characters, and can be guessed; $how"
}

# copy_kit HANDOUT FOLDER: of a handout (handout.sh), what `build/commlab grade` needs; no links, which some unpack as text.
copy_kit() {
    mkdir -p "$2/build" "$2/labs" &&
        cp -a "$1"/{core,sim,plots,LICENSE,licences} "$2/" &&
        cp -a "$1"/build/{commlab,labcc,libcommlab.a,lib,probes.txt} "$2/build/" &&
        cp -a "$1"/labs/{lab.h,homework} "$2/labs/"
}

# The time that all packed files get, so that the same sources give the same bytes.
pack_time() { echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 946684800)}"; }
