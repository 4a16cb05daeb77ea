#!/bin/bash
# SPDX-License-Identifier: MIT
# Whether the tree keeps its floors (tests/floors.sh), and whether includes that do not are found. Usage: test_floors.sh
# [BUILD]. Takes long.

. tests/cases.sh

tree=$scratch/tree

# A copy of all sources, with the dependency files of the build: by links, which sed -i and rm leave alone, but for labs, whose
# files other tests copy from: a grader takes no file that has two names.
copy_tree() {
    rm -rf "$tree" && mkdir -p "$tree/build" && cp -al core backends sim cmd "$tree" && cp -a labs "$tree" &&
        cp -a --parents $(find tests -maxdepth 1 -type f) "$tree" &&
        cp -al "$build/obj" "$build/alone" "$tree/build" && rm -r "$tree/build/obj/tests"
}

# finds LINE...: of the copy it says these lines, each with the ending of what it says to do left out, and then fails.
finds() {
    local status
    why=$("$tree/tests/floors.sh" build 2>&1)
    status=$?
    [ $status -eq 1 ] &&
        [ "$(sed '/^room  /,$d; s/[:.] [A-Z].*//; s/: \(build\|move\) it .*//' <<<"$why")" = "$(printf '%s\n' "$@")" ]
}

passes() {
    why=$("$tree/tests/floors.sh" build 2>&1) && tail -n 1 <<<"$why" | grep -q '^0 upward includes'
}

the_tree_keeps_its_floors() {
    why=$(tests/floors.sh "$build" 2>&1) && tail -n 1 <<<"$why" |
        grep -qE '^0 upward .* [1-9][0-9]* dependency files agree'
}

finds_an_include_of_a_source() {
    copy_tree && passes && sed -i '3i #include "core/transport/backend.h"' "$tree/core/base/text.c" &&
        finds 'core/base/text.c:3: includes core/transport/backend.h: core/base is below core/transport'
}

finds_an_include_of_a_header() {
    copy_tree && sed -i '4i #  include  "sim/sim.h"' "$tree/backends/shm/shm.h" &&
        finds 'backends/shm/shm.h:4: includes sim/sim.h: backends/shm may not include sim'
}

finds_an_include_by_a_folder_of_the_compiler() {
    copy_tree && sed -i '3i #include "comm/comm.h"' "$tree/labs/00-noise/before.c" &&
        finds 'labs/00-noise/before.c:3: includes core/comm/comm.h: labs may not include core/comm'
}

excuses_only_what_is_pending() {
    copy_tree && echo 'core/base/text.c cmd/command.h' >>"$tree/tests/floors.pending" &&
        finds 'tests/floors.pending: core/base/text.c no longer includes cmd/command.h: delete the line' &&
        sed -i '3i #include "cmd/command.h"' "$tree/core/base/text.c" && passes
}

refuses_what_no_room_holds() {
    copy_tree && mkdir "$tree/core/attic" && touch "$tree/core/attic/old.h" &&
        sed -i '3i #include "core/attic/old.h"' "$tree/core/base/text.c" &&
        finds 'core/attic/old.h: no room of tests/floors.txt holds it'
}

refuses_an_include_that_is_not_there() {
    copy_tree && sed -i '3i #include "nowhere.h"' "$tree/core/base/text.c" &&
        finds 'core/base/text.c:3: there is no nowhere.h'
}

refuses_objects_without_dependency_files() {
    copy_tree && rm "$tree/build/obj/core/base/text.d" && finds 'build/obj/core/base/text.o: no dependency file'
}

# By a macro, say.
refuses_what_only_the_compiler_includes() {
    copy_tree && rm "$tree/build/obj/core/base/text.d" &&
        printf 'build/obj/core/base/text.o: core/base/text.c \\\n cmd/command.h\ncmd/command.h:\n' \
            >"$tree/build/obj/core/base/text.d" &&
        finds 'core/base/text.c: the compiler reads cmd/command.h, which no #include line names: write one'
}

refuses_a_build_without_objects() {
    copy_tree && rm -r "$tree/build/obj" && ! why=$("$tree/tests/floors.sh" build 2>&1) &&
        grep -q 'run make first' <<<"$why"
}

refuses_circles() {
    copy_tree && sed -i 's/^core\/base$/core\/base sim/' "$tree/tests/floors.txt" &&
        finds 'tests/floors.txt: core/base names sim, which no line above it describes'
}

check_each the_tree_keeps_its_floors finds_an_include_of_a_source finds_an_include_of_a_header \
    finds_an_include_by_a_folder_of_the_compiler excuses_only_what_is_pending refuses_what_no_room_holds \
    refuses_an_include_that_is_not_there refuses_objects_without_dependency_files \
    refuses_what_only_the_compiler_includes refuses_a_build_without_objects refuses_circles
exit $failed
