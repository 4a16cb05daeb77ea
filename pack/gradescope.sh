#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the autograder of a homework for Gradescope: `make gradescope HW=h2 SALT=FILE` calls it.
#
#   pack/gradescope.sh HANDOUT HOMEWORK SALT ZIP
#
# - HANDOUT is a folder of handout.sh; ZIP is what an instructor uploads. It holds the salt: keep it from students.
# - In it: setup.sh, run_autograder (pack/gradescope/), homework (its ID), salt, kit/ (what `commlab grade` needs, prebuilt).
# - Gradescope's form: gradescope-autograders.readthedocs.io, "Autograder Specifications" and "Submission Metadata".
set -u
cd "$(dirname "$0")/.." || exit 1
. pack/grading_kit.sh
[ $# = 4 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
handout=$1 homework=$2 salt=$3 zip=$4
check_homework "$homework"
check_salt "$salt"
command -v zip >/dev/null || die 'there is no zip: apt-get install zip, then again'
mkdir -p "$(dirname "$zip")" && folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT

install -m 755 pack/gradescope/setup.sh pack/gradescope/run_autograder "$folder/" && echo "$homework" >"$folder/homework" &&
    install -m 600 "$salt" "$folder/salt" && copy_kit "$handout" "$folder/kit" || die "$handout can not be copied: run make handout"
chmod -R u=rwX,go=rX "$folder/kit"
find "$folder" -exec touch -h -d "@$(pack_time)" {} +
rm -f "$zip"
# Sorted, in UTC and without the owner's number: the same bytes whoever makes it.
(cd "$folder" && find . -not -type d | sed 's|^\./||' | LC_ALL=C sort | TZ=UTC zip -X -y -q -@ packed.zip) &&
    mv "$folder/packed.zip" "$zip" || die "$zip can not be written"
