#!/bin/bash
# SPDX-License-Identifier: MIT
# Puts what students pushed into the folders that `commlab class` grades:
#
#   pack/collect.sh CLONES CLASS
#
# - CLONES has a folder per student, as `gh classroom clone student-repos` or a download of Moodle makes it: each with the ID
#   in student.txt.
# - CLASS gets a folder per ID, with the plain files of the top folder, but not those that the starter's repository brought.
# - Who has no ID, one that is none, or another student's, is named and left out; then the exit status is 1.
set -u
[ $# = 2 ] && [ -d "$1" ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
clones=$1 class=$2 status=0
[ ! -e "$class" ] || { echo "collect.sh: $class is there already: name a new folder, or remove it" >&2; exit 2; }
mkdir -p "$class" || exit 1

leave_out() { echo "collect.sh: $folder: $1: it is left out" >&2; status=1; }

for folder in "$clones"/*/; do
    folder=${folder%/}
    student=
    [ ! -f "$folder/student.txt" ] || [ -L "$folder/student.txt" ] ||
        student=$(head -c 4096 "$folder/student.txt" | tr -d '\0' | sed 's/#.*//' | tr -d ' \t\r' | grep -m 1 .)
    if [ -z "$student" ]; then
        leave_out 'student.txt has no ID'
    elif ! [[ $student =~ ^[A-Za-z0-9_@][A-Za-z0-9._@-]{0,63}$ ]]; then
        leave_out "student.txt has no ID, which has letters, digits, '.', '_', '-' and '@'"
    elif [ -e "$class/$student" ]; then
        leave_out "another folder has the ID $student, too"
    else
        mkdir "$class/$student" && find "$folder" -maxdepth 1 -type f -not -name '.*' -not -name README.md -not -name 'h[0-9].md' \
            -not -name student.txt -not -name results.json -exec cp {} "$class/$student/" \;
    fi
done
echo "collect.sh: $(find "$class" -mindepth 1 -maxdepth 1 | wc -l) students are in $class"
exit $status
