#!/bin/bash
# SPDX-License-Identifier: MIT
# `make handout`: what a student unpacks works with a compiler and make alone, and holds no solution.
# tests/handout_root.sh does the same in a bare Debian. Usage: test_handout.sh [BUILD]. Takes long.

. tests/cases.sh
if [ "$build" != build ] || [ ! -e build/objects ]; then
    skip 'make handout packs build/' all
    exit
fi
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES ${!CLAB_*}
shopt -s nullglob
name=commlab-handout-test here=$scratch/home/$name
mkdir -p "$scratch/home" "$scratch/kit"
export SOURCE_DATE_EPOCH=1700000000

# pack FOLDER [TAR]: what `make handout` does when all is built.
pack() {
    LINK=$(awk -F' / ' '{ print $2 }' build/flags) LIBRARIES=$(awk -F' / ' '{ print $3 }' build/flags) \
        pack/handout.sh build "$1/$name" ${2:+"$2"}
}
# A quick run takes the folder as it is packed: test_autograders.sh has the packed one.
unpack() {
    if is_full; then
        pack "$scratch/first" "$scratch/first.tar.gz" && tar -C "$scratch/home" -xf "$scratch/first.tar.gz"
    else
        pack "$scratch/home"
    fi
}
why=$(unpack 2>&1) || { echo "not ok pack: $why"; exit 1; }

# there STATUS COMMAND...: in the unpacked folder, as on a student's computer.
there() {
    local expected=$1 status
    shift
    (cd "$here" && env -i HOME="$scratch/home" PATH="$PATH" "$@") >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    why="status $status, not $expected: $(tail -n 5 "$scratch/out") $(tail -n 5 "$scratch/err")"
    [ $status -eq "$expected" ]
}
# says WORDS: what was printed holds them, wherever a line ends.
says() {
    why="no '$1' in: $(cat "$scratch/out" "$scratch/err")"
    sed 's/^ *->//' "$scratch/out" "$scratch/err" | tr -s '\n ' ' ' | grep -qF -- "$1"
}
programs() { find "$here/build" -type f -perm -u+x -not -name labcc; }

# copy_kit FOLDER: the sources, and a link to what is built; git knows them as its own, where there is git.
copy_kit() {
    { git ls-files 2>/dev/null | grep . || find CITATION.cff LICENSE backends cmd core labs pack plots sim slides tests -type f; } |
        tar -T - -cf - | tar -C "$1" -xf - && ln -s "$PWD/build" "$1/build" || return
    ! command -v git >/dev/null || (cd "$1" && git init -q && git add .) 2>&1
}
# What a teacher has in the folder of the kit is no source: the copy has a class, a student's work, a salt, and notes beside a lab.
packs_the_same_bytes_beside_a_class() {
    why=$(copy_kit "$scratch/kit") || return 1
    (cd "$scratch/kit" && mkdir -p work/07 work/h3 class/h3/ada try/source && echo x | tee work/07/mine.c work/h3/network-1.net \
        class/h3/ada/mine.c try/source/run_autograder work/next salt commlab >/dev/null && if [ -e .git ]; then echo x >labs/notes.md; fi)
    why=$(cd "$scratch/kit" && pack "$scratch/again" "$scratch/again.tar.gz" 2>&1) || return 1
    why=$(cmp "$scratch/first.tar.gz" "$scratch/again.tar.gz" 2>&1; diff -rq "$scratch/first" "$scratch/again" | head -5)
    rm -rf "$scratch/kit" "$scratch/again"
    [ -z "$why" ]
}
names_no_folder_of_this_machine() {
    why="$(grep -rlF -e "$PWD" -e "$HOME/" "$here" | head -5)"
    [ -z "$why" ]
}

# ---- it works --------------------------------------------------------------------------------------------------

# An archive of a library that this machine lacks can not be linked; then the README says what a student needs.
needs_no_other_library() {
    local program
    for program in $(programs); do
        why="$program: $(ldd "$program" | grep -vE 'linux-vdso|lib(c|m|dl|pthread)\.so|ld-linux')"
        [ "$why" = "$program: " ] || grep -q 'and make, and the libraries' "$here/README.md" || return 1
    done
}
says_what_to_do_first() {
    there 0 ./commlab next && says './commlab start p1'
}
# As printed in check.c behind "// before:".
check_of_before_fails() {
    local unit=$1 check=$2 words
    words=$(sed -n 's|^// before: ||p' "$check")
    there 0 ./commlab start "$unit" && says 'Next: ' || return 1
    there 1 ./commlab check "$unit" && says "${words:-no line // before: in $check}"
}
names_the_mistake_of_a_program() {
    check_of_before_fails p1 labs/primer/p1-hello/check.c && check_of_before_fails 07 labs/07-ring-vs-tree/check.c
}
passes_a_program_that_is_mended() {
    cp labs/primer/p1-hello/after.c "$here/work/p1/mine.c"
    there 0 ./commlab check p1 && says 'Your copy of the kit has no after.c: your teacher shows one solution' &&
        there 0 ./commlab next && says 'Your teacher shows one solution'
}
runs_a_lab_and_tools() {
    there 0 ./commlab lab 07 --backend sim --net dgx-h100 -n 4 --sizes 1024 --no-sweep --no-plot && says 'ring' &&
        there 0 ./commlab show ring --ranks 4 && there 0 ./commlab sim allreduce --net dgx-h100 --ranks 8 --bytes 1M &&
        there 0 ./commlab bench allreduce -n 2 -b 1K -e 1K --seconds 0.01s && there 0 ./commlab doctor && there 0 ./commlab card --net 1gbe
}
builds_what_a_student_has_changed() {
    there 0 make && says "Nothing to be done" || return 1
    sed -i 's/"by_hand"/"ring"/' "$here/labs/07-ring-vs-tree/before.c"
    there 0 make && says 'labs/07-ring-vs-tree/before' && there 0 build/labs/07-ring-vs-tree/before -n 2 8 4 && says 'time/ring/8'
}
links_to_what_is_there() {
    local page link
    while IFS= read -r -d '' page; do
        for link in $(sed '/^```/,/^```/d' "$page" | grep -o '](\([^):]*\))' | sed 's/.*(\(.*\))/\1/'); do
            why="$page: there is no $link"
            [ -z "${link%%#*}" ] || [ -e "$(dirname "$page")/${link%%#*}" ] || return 1
        done
    done < <(find "$here" -name '*.md' -print0)
}

# code_of PAGE: its code blocks and code spans, one a line; within a span, a new line is a space.
code_of() {
    perl -0777 -ne 'for (split /(^```.*?^```$|^    [^\n]*$)/ms) { print(/^(```|    )/ ? "$_\n" : map { tr/\n/ /r . "\n" } /`[^`]+`/g) }' "$1"
}
# changed_code FOLDER: "PAGE: CODE" for what a page of the handout shows as code, and the kit's own page does not.
changed_code() {
    local page source
    (cd "$1" && find . -name '*.md' -not -path './work/*') | while read -r page; do
        source=$page
        [ "$page" != ./README.md ] || source=pack/handout/README.md
        comm -13 <(code_of "$source" | sort -u) <(code_of "$1/$page" | sort -u) | sed "s|^|$page: |"
    done | grep -vF './README.md: `licences/`'
}
leaves_commands_as_they_are() {
    why=$(changed_code "$here"; grep -rnE --include='*.md' '\./commlab`? \(not in' "$here")
    [ -z "$why" ] || return 1
    why='a command that is changed is not found'
    mkdir -p "$scratch/changed/labs" && cp labs/table.md "$scratch/changed/labs/" &&
        sed -i '$a Type `./commlab (not in this copy) next`.' "$scratch/changed/labs/table.md" && [ -n "$(changed_code "$scratch/changed")" ]
}

# lost_paths FOLDER: "PAGE PATH" for each source of the kit whose path is a code span of a page, that is not there, and of which the
# page does not say so. What commands write is not a source: copies of the kit that were used have more of it.
lost_paths() {
    local page path
    find "$1" -name '*.md' -print | while read -r page; do
        code_of "$page" | sed -nE 's|^`([A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+)`$|\1|p' | sort -u | while read -r path; do
            [ ! -f "$path" ] || [[ $path =~ ^(\.|build|results|work)/ ]] || [ -e "$1/$path" ] || grep -qF "$path\` (not in this copy)" "$page" ||
                echo "$page $path"
        done
    done
}
names_no_file_that_is_not_there() {
    why=$(lost_paths "$here")
    [ -z "$why" ] || return 1
    why='a page that names tests/run.sh is not found'
    mkdir -p "$scratch/lost" && echo 'See `tests/run.sh`.' >"$scratch/lost/page.md" && [ -n "$(lost_paths "$scratch/lost")" ]
}

# ---- it holds no solution --------------------------------------------------------------------------------------

has_no_file_that_solves() {
    why=$(cd "$here" && find . -name after.c -o -name 'check*.c' -o -name model.c -o -name key.md -o -name grade.c -o -name '*reference*' \
        -o -name 'sample-*' -o -path '*/halfway/*' -o -path '*/tests/*' -o -path '*/instructor/*' -o -name '*.gift' -o -name '*.o')
    [ -z "$why" ]
}

# solutions: each solution's path, and behind it the files of the same exercise that a student has anyway.
solutions() {
    local file unit
    for file in labs/*/after.c labs/primer/*/after.c; do
        echo "$file" "${file%after.c}"{before.c,*.h}
    done
    for file in labs/*/key.md; do
        echo "$file" "${file%key.md}"lab.md
    done
    for file in tests/halfway/*/*.c; do
        unit=${file#tests/halfway/}
        echo "$file" labs/{,primer/}"${unit%%/*}"-*/{before.c,*.h}
    done
    for file in tests/homework/*/reference*.c tests/homework/*/wrong/*.c; do
        unit=${file#tests/homework/}
        echo "$file" "labs/homework/${unit%%/*}"/{*.h,harness*.c,driver*.c,try*.c,starter/*} core/schedule/algorithms/ring.c
    done
}

# trimmed FILE...: their lines without the space around them.
trimmed() { sed -E 's/^[[:space:]]+//; s/[[:space:]]+$//' /dev/null "$@"; }

# own_lines: of each solution, the lines that say something, and that no other file of its exercise has, as "SOLUTION: LINE".
own_lines() {
    solutions | awk '
        function read(file) { if ((getline line < file) <= 0) return 0; gsub(/^[[:space:]]+|[[:space:]]+$/, "", line); return 1 }
        {
            split("", others)
            for (i = 2; i <= NF; i++) {
                while (read($i)) others[line]
                close($i)
            }
            while (read($1))
                if (length(line) >= 45 && line !~ /^(\/\/|#include|static (const|int|void|float|double|size_t) [a-z_]+;)/ && !(line in others))
                    print $1 ": " line
            close($1)
        }'
}

# shown_lines: of all solutions, the lines that the handout shows, as "SOLUTION: LINE".
shown_lines() {
    find "$here" -type f \( -name '*.c' -o -name '*.h' -o -name '*.md' -o -name '*.txt' -o -name '*.conf' -o -name '*.gp' \) \
        -not -path "$here/work/*" -exec cat {} + | trimmed - >"$scratch/given"
    [ -s "$scratch/own" ] || own_lines >"$scratch/own" # they are found once
    awk 'NR == FNR { given[$0]; next } { line = $0; sub(/^[^:]*: /, "", line) } line in given' "$scratch/given" "$scratch/own"
}
has_no_line_of_a_solution() {
    why=$(shown_lines)
    [ -z "$why" ] && [ "$(wc -l <"$scratch/own")" -gt 500 ]
}
# The search finds one that is there.
would_find_a_line_of_a_solution() {
    cp labs/09-compression/after.c "$here/labs/notes.txt"
    shown_lines >"$scratch/out"
    rm "$here/labs/notes.txt"
    why="not found: $(cat "$scratch/out")"
    grep -q '^labs/09-compression/after.c: ' "$scratch/out"
}

# own_functions FILE OTHER...: the names of functions that FILE defines, that the handout has a symbol of, and that neither an OTHER nor
# the library mentions. The files of the exercise are read where a name is left.
own_functions() {
    local file=$1 names
    shift
    names=$(sed -nE 's/^[a-z][A-Za-z0-9_ *]*[ *]([a-z_0-9]+)\(.*/\1/p' "$file" | grep -xF -f "$scratch/symbols" | grep -vx main)
    [ -z "$names" ] || sort -u <<<"$names" | grep -vxF -f <(grep -ohE '[a-z_0-9]+\(' /dev/null "$@" | tr -d '(')
}
has_no_symbol_of_a_solution() {
    local file others found
    (programs; echo "$here/build/libcommlab.a") | while read -r file; do
        nm -A "$file" 2>/dev/null
        nm -AD "$file" 2>/dev/null
    done | awk '$(NF - 1) ~ /^[TtDdBbRrWV]$/ { print $NF }' | sort -u >"$scratch/all_symbols"
    cat core/*/*.c core/*/*/*.c sim/*/*.c backends/*/*.c | grep -oE '[a-z_0-9]+\(' | tr -d '(' | sort -u >"$scratch/common"
    why="no symbols at all"
    grep -qx clab_allreduce "$scratch/all_symbols" || return 1
    sort "$scratch/all_symbols" "$scratch/common" "$scratch/common" | uniq -u >"$scratch/symbols" # not the library's
    while read -r file others; do
        [[ $file == */after.c || $file == *reference* ]] || continue
        found=$(own_functions "$file" $others)
        why="$file: $found"
        [ -z "$found" ] || return 1
    done < <(solutions)
}

# ---- homework --------------------------------------------------------------------------------------------------

# points_of ID FILE: "MACHINE'S MOST" by the handout's grader.
points_of() {
    there 0 ./commlab grade "$1" "$2" --student ada && sed -n 's|^\([0-9.]*\) of \([0-9]*\) points by the machine.*|\1 \2|p' "$scratch/out"
}
# The page that names all homeworks is there, without what is for teachers, and no rubric speaks of samples.
says_what_the_homeworks_are() {
    local page=$here/labs/homework/README.md
    why="$page: $(grep -nE 'For teachers|salt|sample' "$page" "$here"/labs/homework/h*/rubric.md 2>&1)"
    grep -q '](h5/h5.md)' "$page" && ! grep -qE 'For teachers|sample-' "$page" && ! grep -q 'Sample A' "$here"/labs/homework/h*/rubric.md
}
# A starter compiles, has few points, and its grade says what it lacks: the first message is no compiler's and no crash's.
starts_each_homework() {
    local folder id points most
    for folder in labs/homework/h[0-9]; do
        id=$(basename "$folder")
        there 0 ./commlab start "$id" --student ada && says "./commlab grade $id work/$id --student ada" || return 1
        read -r points most <<<"$(points_of "$id" "work/$id")"
        why="$id: the starter has ${points:-no} of ${most:-no} points: $(cat "$scratch/out")"
        [ -n "$most" ] && awk "BEGIN { exit !($points < $most / 4) }" && ! grep -qE 'can not be compiled|crashed|includes' "$scratch/out" || return 1
    done
}
# With what the handout holds, a good solution can be built and graded.
gives_each_reference_all_points() {
    local file id points most
    for file in tests/homework/h[0-9]/reference.c; do
        id=$(basename "$(dirname "$file")")
        cp "$file" "$scratch/home/mine.c"
        read -r points most <<<"$(points_of "$id" "$scratch/home/mine.c")"
        why="$id: the reference has ${points:-no} of ${most:-no} points: $(cat "$scratch/out")"
        [ -n "$most" ] && awk "BEGIN { exit $points != $most }" || return 1
    done
}

check_full packs_the_same_bytes_beside_a_class # test_autograders.sh packs the same twice
check_each names_no_folder_of_this_machine needs_no_other_library says_what_to_do_first names_the_mistake_of_a_program
check_each passes_a_program_that_is_mended links_to_what_is_there leaves_commands_as_they_are names_no_file_that_is_not_there
check_with inih runs_a_lab_and_tools
check_each has_no_file_that_solves has_no_line_of_a_solution would_find_a_line_of_a_solution has_no_symbol_of_a_solution
check builds_what_a_student_has_changed
check says_what_the_homeworks_are
check_with sodium starts_each_homework gives_each_reference_all_points

exit $failed
