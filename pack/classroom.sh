#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the starter repository of a homework for GitHub Classroom: `make classroom HW=h2` calls it.
#
#   pack/classroom.sh HANDOUT HOMEWORK FOLDER
#
# - HANDOUT is a folder of handout.sh. FOLDER is made anew; its files become a template repository.
# - In it: the sheet and the starter's files, student.txt, .commlab/ (kit.tar.gz, which grades, and the scripts of
#   pack/classroom/), .github/workflows/classroom.yml, and .github/classroom/autograding.json for classes that still use
#   the older form.
# - No salt: students can change what runs in their own repository, so these points are for practice. `commlab class` or
#   Gradescope gives those that count.
# - Tests and points are those that `commlab grade` prints for the starter.
# - Sources: github.com/classroom-resources/autograding-grading-reporter (which takes a base64 result per test), and
#   .github/classroom/autograding.json of github.com/education/autograding.
set -u
cd "$(dirname "$0")/.." || exit 1
. pack/grading_kit.sh
[ $# = 3 ] || { sed -n '5s/^# *//p' "$0" >&2; exit 2; }
handout=$1 homework=$2 to=$3
check_homework "$homework"
command -v jq >/dev/null || die 'there is no jq: apt-get install jq, then again'
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

pack_kit() {
    copy_kit "$handout" "$scratch/kit" && chmod -R u=rwX,go=rX "$scratch/kit" &&
        tar -C "$scratch/kit" --sort=name --mtime="@$(pack_time)" --owner=0 --group=0 --numeric-owner -cf - . |
        gzip -n >"$to/.commlab/kit.tar.gz"
}

copy_starter() {
    local page="$handout/labs/homework/$homework/$homework.md"
    cp "$handout/labs/homework/$homework"/starter/* "$to/" && chmod 644 "$to"/* &&
        # Its links lead to pages of the handout, which are not in this repository.
        perl -0pe 's/\[([^][]*)\]\((?!https?:)[^)]*\)/$1/g' "$page" >"$to/$homework.md" &&
        sed "s/@HOMEWORK@/$homework/g" pack/classroom/README.md >"$to/README.md" &&
        printf '# Write the ID that your teacher uses for you into the next line, and push.\n' >"$to/student.txt" &&
        sed "s/@HOMEWORK@/$homework/" pack/classroom/grade >"$to/.commlab/grade" &&
        cp pack/classroom/passes "$to/.commlab/passes" && chmod 755 "$to/.commlab/grade" "$to/.commlab/passes"
}

# What the starter is graded with: its tests, in this order.
list_tests() {
    "$handout/commlab" grade "$homework" "$handout/labs/homework/$homework/starter" --student nobody \
        --gradescope "$scratch/results.json" >"$scratch/log" 2>&1
    jq -e '.tests | length > 0' "$scratch/results.json" >/dev/null 2>&1 || { cat "$scratch/log" >&2; die "the starter of $homework can not be graded"; }
}

write_workflow() {
    local n i
    n=$(jq '.tests | length' "$scratch/results.json")
    sed "s/@HOMEWORK@/$homework/g" pack/classroom/classroom.yml
    for ((i = 1; i <= n; i++)); do
        printf '          TEST-%d_RESULTS: "${{ steps.grade.outputs.test-%d }}"\n' $i $i
    done
    printf '        with:\n          runners: %s\n' "$(seq -s, -f 'test-%g' "$n")"
}

write_older_form() {
    jq '{tests: [.tests | to_entries[] | {name: .value.name, setup: (if .key == 0 then ".commlab/grade results.json" else "" end),
            run: ".commlab/passes results.json \(.key + 1)", input: "", output: "", comparison: "included", timeout: 5,
            points: (.value.max_score // 0)}]}' "$scratch/results.json"
}

rm -rf "$to" && mkdir -p "$to/.commlab" "$to/.github/workflows" "$to/.github/classroom" && list_tests && copy_starter && pack_kit &&
    write_workflow >"$to/.github/workflows/classroom.yml" && write_older_form >"$to/.github/classroom/autograding.json" &&
    printf '/work/\n/results.json\n' >"$to/.gitignore" || die "$to: this failed"
