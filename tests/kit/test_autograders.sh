#!/bin/bash
# SPDX-License-Identifier: MIT
# `make gradescope` and `make classroom`: what they make grades in copies of those platforms' folders, with and without
# namespaces. Usage: test_autograders.sh [BUILD]. Takes long.

. tests/cases.sh
if [ "$build" != build ] || [ ! -e build/objects ]; then
    skip 'make gradescope and make classroom pack build/' all
    exit
fi
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ${!CLAB_*}
if ! "$commlab" --help | grep -q '^  grade '; then
    skip 'this build has no commlab grade' all
    exit
fi
for program in jq zip unzip; do
    command -v "$program" >/dev/null || { skip "there is no $program" all; exit; }
done
if lacks sodium; then
    skip 'built without sodium' all
    exit
fi
handout=$scratch/commlab-handout-test salt=$scratch/salt
head -c 24 /dev/urandom | base64 >"$salt"
why=$(LABS=none LINK=$(awk -F' / ' '{ print $2 }' build/flags) LIBRARIES=$(awk -F' / ' '{ print $3 }' build/flags) \
    pack/handout.sh build "$handout" 2>&1) || { echo "not ok pack: $why"; exit 1; }

# ---- Gradescope ------------------------------------------------------------------------------------------------

zip=$scratch/h2.zip base=$scratch/autograder
makes_the_same_zip_twice() {
    subject=()
    run 0 pack/gradescope.sh "$handout" h2 "$salt" "$zip" && run 0 pack/gradescope.sh "$handout" h2 "$salt" "$scratch/again.zip" || return 1
    why="$(cmp "$zip" "$scratch/again.zip")"
    [ -z "$why" ]
}
has_what_gradescope_needs_and_no_solution() {
    why="$(unzip -Z1 "$zip")"
    [ "$(grep -cxE 'setup.sh|run_autograder|homework|salt' <<<"$why")" = 4 ] &&
        ! grep -qE 'after\.c|grade\.c|reference|key\.md|wrong/' <<<"$why"
}
refuses_no_homework_and_no_salt() {
    subject=(pack/gradescope.sh "$handout")
    refuses 1 'type HW=ID with one of: h' '' "$salt" "$scratch/refused" && refuses 1 "type HW=ID" h9 "$salt" "$scratch/refused" &&
        refuses 1 'Type SALT=FILE' h2 '' "$scratch/refused" && refuses 1 'can not be read' h2 "$scratch/none" "$scratch/refused" || return 1
    echo short >"$scratch/short"
    refuses 1 'can be guessed' h2 "$scratch/short" "$scratch/refused"
}

# A wrong word costs no build, and no path of a handout looks like the result.
make_refuses_before_it_packs() {
    local words
    for words in 'gradescope HW=h9 SALT=x' 'gradescope HW=h2 SALT=none' 'classroom HW=h9'; do
        why="make $words: $(make -s $words 2>&1)" && return 1
        ! grep -q 'commlab-handout' <<<"$why" && grep -qE 'type HW=ID|can not be read' <<<"$why" || return 1
    done
}

# lay_out FILE...: the folders of Gradescope's image, after it has copied the zip and a student's files there.
lay_out() {
    rm -rf "$base"
    mkdir -p "$base/source" "$base/submission" "$base/results" && unzip -q "$zip" -d "$base/source" &&
        cp "$base/source/run_autograder" "$base/" && { [ $# = 0 ] || cp "$@" "$base/submission/"; } && chmod 755 "$scratch" &&
        metadata '[{"email": "Ada.L+test@Example.edu", "id": 7, "name": "Ada \"L\""}]'
}
# As documented, of one submission by these users.
metadata() {
    printf '{"id": 1, "created_at": "2018-07-01T14:22:32.365935-07:00", "assignment": {"id": 2, "course_id": 3, "title": "h2",
        "total_points": "80.0"}, "submission_method": "upload", "users": %s, "previous_submissions": []}' "$1" >"$base/submission_metadata.json"
}
# In the environment of Gradescope's image; "$@" goes before it.
autograde() { run "$1" "${@:2}" env -i PATH="$PATH" HOME="$HOME" AUTOGRADER="$base" "$base/run_autograder"; }
results_are_as_documented() {
    why=$(jq -r -f tests/gradescope.jq "$base/results/results.json" 2>&1)
    [ -z "$why" ]
}
score() { jq '.score // ([.tests[].score] | add)' "$base/results/results.json"; }

sets_up_and_grades() {
    subject=()
    lay_out labs/homework/h2/starter/mine.c || return 1
    run 0 env -i PATH="$PATH" AUTOGRADER="$base" "$base/source/setup.sh" && grep -q 'commlab grades h2' "$scratch/out" || return 1
    autograde 0 || return 1
    why="no ID in: $(cat "$scratch/out")"
    grep -q 'h2 of ada.l_test@example.edu' "$scratch/out" && results_are_as_documented || return 1
    starter=$(score)
}
# Any solution does that is better than the starter, whatever its cluster.
gives_a_solution_more_points_than_the_starter() {
    lay_out tests/homework/h2/reference.c && mv "$base/submission/reference.c" "$base/submission/mine.c" && autograde 0 &&
        results_are_as_documented || return 1
    why="the starter has ${starter:-no} points, the reference $(score)"
    solution=$(score)
    cp "$base/results/results.json" "$scratch/with_walls.json"
    [ -n "${starter-}" ] && jq -ne "$(score) > $starter" >/dev/null
}
# A user namespace in which no other can be made: what a container without that right has.
grades_alike_without_namespaces() {
    local forbid='for kind in user pid net mnt ipc uts cgroup; do echo 0 >/proc/sys/user/max_${kind}_namespaces; done; exec "$@"'
    autograde 0 unshare --user --map-root-user sh -c "$forbid" - || return 1
    why="$(diff "$scratch/with_walls.json" "$base/results/results.json")"
    [ -z "$why" ] && results_are_as_documented
}
takes_the_first_address_of_a_group() {
    metadata '[{"email": "zoe@x.org", "id": 1, "name": "Z"}, {"email": "bob@x.org", "id": 2, "name": "B"}]'
    autograde 0 || return 1
    why="$(cat "$scratch/out")"
    grep -q 'h2 of bob@x.org' "$scratch/out"
}
# Who forges names does not become another student.
takes_no_address_from_a_name() {
    metadata '[{"email": "eve@x.org", "id": 1, "name": "\", \"email\": \"bob@x.org"}]'
    autograde 0 || return 1
    why="$(cat "$scratch/out")"
    grep -q 'h2 of eve@x.org' "$scratch/out"
}
gives_no_score_if_nobody_is_named() {
    metadata '[]'
    autograde 1 || return 1
    why="$(cat "$scratch/err"; ls "$base/results")"
    grep -q 'names no e-mail address' "$scratch/err"
}
says_what_is_missing_in_a_submission() {
    lay_out && autograde 0 && results_are_as_documented || return 1
    why="$(cat "$base/results/results.json")"
    [ "$(score)" = 0 ] && grep -q 'mine\.c' "$base/results/results.json"
}
# Whoever grades as root reads everything; what a link leads to is not quoted.
follows_no_link() {
    lay_out && ln -s ../source/salt "$base/submission/mine.c" && autograde 0 && results_are_as_documented || return 1
    why="$(cat "$base/results/results.json")"
    [ "$(score)" = 0 ] && grep -q 'mine.c is a link' "$base/results/results.json" && ! grep -qF "$(cut -c 1-12 "$salt")" "$base/results/results.json"
}

# ---- GitHub Classroom ------------------------------------------------------------------------------------------

repository=$scratch/classroom
makes_a_repository() {
    subject=()
    run 0 pack/classroom.sh "$handout" h2 "$repository" || return 1
    why="$(find "$repository" -type f)"
    [ -e "$repository/mine.c" ] && [ -e "$repository/.github/workflows/classroom.yml" ] && [ -e "$repository/h2.md" ] &&
        ! grep -qzoE '\]\((\.|[a-z0-9-]+\.md#)' "$repository/h2.md" && ! tar -tzf "$repository/.commlab/kit.tar.gz" | grep -qE 'salt|after\.c|grade\.c|reference'
}

# Each homework's starter can be graded, and the points of its tests are those of the machine's part.
makes_a_repository_of_each_homework() {
    local homework most all=h[0-9]
    is_full || { all=h3 && leave_out 4; }
    for homework in labs/homework/$all; do
        homework=$(basename "$homework")
        run 0 pack/classroom.sh "$handout" "$homework" "$scratch/each" && run 0 pack/gradescope.sh "$handout" "$homework" "$salt" "$scratch/each.zip" || return 1
        most=$(jq '[.tests[].points] | add' "$scratch/each/.github/classroom/autograding.json")
        run 0 "$commlab" grade "$homework" "labs/homework/$homework/starter" --student ada
        why="$homework: $most points in the repository: $(cat "$scratch/out")"
        grep -q "of $most points by the machine" "$scratch/out" || return 1
    done
}

# steps: the `run:` lines of the workflow, in their order. This is all that its form has besides `uses:`.
steps() { sed -n 's/^        run: //p' "$repository/.github/workflows/classroom.yml"; }

# work_flow STATUS: run the steps as GitHub does, in a copy of the checked out repository; outputs are left in outputs.
work_flow() {
    rm -rf "$scratch/runner" && mkdir -p "$scratch/runner/temp" && cp -r "$repository" "$scratch/runner/work" && : >"$scratch/outputs"
    steps >"$scratch/steps.sh"
    run "$1" env -i PATH="$PATH" HOME="$HOME" CI=true RUNNER_TEMP="$scratch/runner/temp" GITHUB_OUTPUT="$scratch/outputs" \
        bash -c 'cd "$1" && exec bash -e "$2"' - "$scratch/runner/work" "$scratch/steps.sh"
}
asks_for_the_students_id() {
    work_flow 1 || return 1
    why="$(cat "$scratch/err")"
    grep -q 'student.txt has no ID' "$scratch/err"
}
# As the reporter sums them up.
reports_the_points_of_each_test() {
    echo 'ada.l_test@example.edu' >>"$repository/student.txt"
    cp tests/homework/h2/reference.c "$repository/mine.c"
    work_flow 0 || return 1
    cut -d= -f2- "$scratch/outputs" | base64 -d | jq -s '[.[].tests[].score] | add' >"$scratch/sum"
    jq '.score // ([.tests[].score] | add)' "$scratch/runner/temp/results.json" >"$scratch/graded"
    why="the outputs have $(cat "$scratch/sum") points, the grader gave $(cat "$scratch/graded"): $(cat "$scratch/outputs")"
    [ -s "$scratch/graded" ] && cmp -s "$scratch/sum" "$scratch/graded" || return 1
    why="$(cut -d= -f2- "$scratch/outputs" | base64 -d | jq -c .)"
    cut -d= -f2- "$scratch/outputs" | base64 -d | jq -e '.version == 1 and (.status | IN("pass", "fail", "error")) and .max_score > 0 and
        (.tests | length == 1) and (.tests[0] | .name != "" and (.score | type) == "number")' >/dev/null
}
# The reporter looks up TEST-1_RESULTS for the runner test-1, and so on; the steps gave them.
names_each_output() {
    local given told runners
    given=$(cut -d= -f1 "$scratch/outputs" | sort)
    told=$(sed -n 's/^ *TEST-\([0-9]*\)_RESULTS: "${{ steps.grade.outputs.test-\1 }}"$/test-\1/p' "$repository/.github/workflows/classroom.yml" | sort)
    runners=$(sed -n 's/^ *runners: //p' "$repository/.github/workflows/classroom.yml" | tr , '\n' | sort)
    why="given: $given, told: $told, runners: $runners"
    [ -n "$given" ] && [ "$given" = "$told" ] && [ "$given" = "$runners" ]
}
# The older form gives all points of a test or none.
works_in_the_older_form() {
    local n i full command
    n=$(jq '.tests | length' "$repository/.github/classroom/autograding.json")
    for ((i = 0; i < n; i++)); do
        command=$(jq -r ".tests[$i] | .setup + (if .setup == \"\" then \"\" else \" && \" end) + .run" "$repository/.github/classroom/autograding.json")
        full=$(jq ".tests[$i] | if .score >= .max_score then 0 else 1 end" "$scratch/runner/temp/results.json")
        run "$full" env -i PATH="$PATH" HOME="$HOME" bash -c 'cd "$1" && eval "$2"' - "$scratch/runner/work" "$command" || return 1
        why="test $i has $(jq -c ".tests[$i]" "$repository/.github/classroom/autograding.json")"
        jq -e --slurpfile graded "$scratch/runner/temp/results.json" ".tests[$i] | .points == \$graded[0].tests[$i].max_score" \
            "$repository/.github/classroom/autograding.json" >/dev/null || return 1
    done
    [ "$n" -gt 0 ]
}

# One honest repository, one without an ID, one that names a folder above, and one that takes the first one's ID.
collects_a_class() {
    local clones=$scratch/clones name
    for name in h2-ada h2-bob h2-eve h2-zed; do
        mkdir -p "$clones" && cp -r "$repository" "$clones/$name" || return 1
    done
    printf '../../escaped\n' >"$clones/h2-eve/student.txt"
    echo '# Write it below' >"$clones/h2-bob/student.txt"
    subject=()
    run 1 pack/collect.sh "$clones" "$scratch/class" || return 1
    why="$(cat "$scratch/err"; find "$scratch/class")"
    [ "$(find "$scratch/class" -type f)" = "$scratch/class/ada.l_test@example.edu/mine.c" ] && [ "$(wc -l <"$scratch/err")" = 3 ] &&
        grep -q 'h2-bob: student.txt has no ID: it is left out' "$scratch/err" && grep -q "h2-eve: student.txt has no ID, which" "$scratch/err" &&
        grep -q 'h2-zed: another folder has the ID' "$scratch/err" || return 1
    run 0 "$commlab" class "$scratch/class" --homework h2 --salt "$salt" || return 1
    why="$(cat "$scratch/out")"
    grep -q 'ada.l_test@example.edu  *h2  *80' "$scratch/out"
}

check_each makes_the_same_zip_twice has_what_gradescope_needs_and_no_solution refuses_no_homework_and_no_salt make_refuses_before_it_packs
check_each sets_up_and_grades gives_a_solution_more_points_than_the_starter
if unshare --user --map-root-user true 2>/dev/null; then
    check grades_alike_without_namespaces
else
    skip 'no user namespaces can be made here' grades_alike_without_namespaces
fi
check_full takes_the_first_address_of_a_group
check_each takes_no_address_from_a_name gives_no_score_if_nobody_is_named
check_each says_what_is_missing_in_a_submission follows_no_link
check_each makes_a_repository makes_a_repository_of_each_homework asks_for_the_students_id reports_the_points_of_each_test names_each_output
check_full works_in_the_older_form
check collects_a_class

exit $failed
