#!/bin/bash
# SPDX-License-Identifier: MIT
# Holds every #include to the floors of the house (floors.txt): a room includes only itself and what is below it.
#
#   tests/floors.sh [BUILD]    of the tree that this script lies in, built into BUILD (build)
#
# - Judged are the #include lines of all sources, so that a message names the line to change. The compiler's dependency
#   files hold what a source includes through others, too, but not by which line: they show that none was overlooked.
#   Each object must have one. One that is older than a file it names is of an earlier build, and not read.
# - Tests include what they like, so their dependency files are not read.
# - floors.pending lists upward includes that are still to be removed, `FILE INCLUDED` per line. A line whose include is
#   gone is an error: delete it.
# - Prints a line for each error, then a count for each room. The exit status is 1 if there was an error.
set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}

sources() { find core backends sim cmd labs tests -type f \( -name '*.[ch]' -o -name '*.cc' -o -name '*.cu' \) "$@"; }
objects() {
    find "$build/obj" "$build/alone" -path "$build/obj/tests" -prune -o -name '*.[do]' -printf 'time %T@ %p\n'
}

[ -d "$build/obj" ] || { echo "there is no $build/obj: run make first" >&2; exit 1; }
{
    sed 's/#.*//; s/^/room /' tests/floors.txt
    [ ! -e tests/floors.pending ] || sed 's/#.*//; s/^/pending /' tests/floors.pending
    sources -printf 'time %T@ %p\n' | sort -k 3
    objects 2>/dev/null | sort -k 3
    sources -exec grep -Hn '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} + | sort -t : -k 1,1 -k 2,2n |
        sed -E 's/^([^:]*):([0-9]+):[^"]*"([^"]*)".*/include \1 \2 \3/'
} | awk -v build="$build" '
    function fail(why) { print why; failed++ }

    # The room of a file: the longest that fits. "": none.
    function room_of(file,    i, best) {
        if (file in known)
            return known[file]
        best = ""
        for (i = 1; i <= rooms; i++)
            if (file ~ pattern[i] && length(room[i]) > length(best))
                best = room[i]
        if (best == "")
            fail(file ": no room of tests/floors.txt holds it: move it into one, or add a line for its folder there")
        return known[file] = best
    }

    function add_room(name,    regex) {
        regex = name
        gsub(/[.]/, "[.]", regex)
        gsub(/[*]/, "[^/]*", regex)
        room[++rooms] = name
        pattern[rooms] = "^" regex "(/|$)"
        is_room[name] = 1
    }

    # `upper` includes `lower`, and all that is below that.
    function add_floor(upper, lower,    i) {
        if (!(lower in is_room))
            fail("tests/floors.txt: " upper " names " lower ", which no line above it describes")
        below[upper, lower] = 1
        for (i = 1; i <= rooms; i++)
            if ((lower, room[i]) in below)
                below[upper, room[i]] = 1
    }

    # The file that an #include in `file` names: beside it, from the root, or where -I leads. "": none.
    function resolve(file, name,    folder) {
        folder = file
        sub(/[^\/]*$/, "", folder)
        if ((folder name) in time)
            return folder name
        if (name in time)
            return name
        if (("core/" name) in time)
            return "core/" name
        return ("labs/" name) in time ? "labs/" name : ""
    }

    function judge(file, line, target,    from, to, verb) {
        from = room_of(file)
        to = room_of(target)
        counted[from]++
        if (from == "" || to == "" || from == to || (from, to) in below)
            return
        if ((file, target) in pending) {
            occurs[file, target] = 1
            still[from]++
            return
        }
        upward[from]++
        verb = (to, from) in below ? " is below " : " may not include "
        fail(file ":" line ": includes " target ": " from verb to \
             ". Move what it needs into " from " or below, or ask for it by a slot or a callback (tests/floors.txt)")
    }

    # All that `file` includes by the lines judged, directly or through others, into reached.
    function reach(file,    i) {
        if (file in reached)
            return
        reached[file] = 1
        for (i = 1; i <= includes[file]; i++)
            reach(included[file, i])
    }

    # Each file in a dependency file is reached from its source by lines that were judged.
    function check_object(object, source,    d, text, line, names, n, i) {
        d = object
        sub(/[.]o$/, ".d", d)
        if (!(d in time)) {
            fail(object ": no dependency file: build it with -MMD (Makefile)")
            return
        }
        while ((getline line < d) > 0)
            text = text (line ~ /^[^ ]*:$/ ? "" : line " ")
        close(d)
        gsub(/\\ /, " ", text)
        n = split(text, names, " ")
        for (i = 2; i <= n; i++)
            if (!generated(names[i]) && (!(names[i] in time) || time[names[i]] > time[d])) {
                stale++
                return
            }
        checked++
        split("", reached)
        reach(source)
        for (i = 2; i <= n; i++)
            if (!generated(names[i]) && room_of(names[i]) != "" && !(names[i] in reached))
                fail(source ": the compiler reads " names[i] ", which no #include line names: write one")
    }

    function generated(name) { return index(name, build "/") == 1 }

    $1 == "room" && NF > 1 {
        if (!($2 in is_room))
            add_room($2)
        for (i = 3; i <= NF; i++)
            add_floor($2, $i)
    }
    $1 == "pending" && NF > 1 { pending[$2, $3] = 1; entry[++entries] = $2 " " $3 }
    $1 == "time" { time[$3] = $2; if ($3 ~ /[.]o$/) object[++objects] = $3; else if ($3 !~ /[.]d$/) file[++files] = $3 }
    $1 == "include" {
        target = resolve($2, $4)
        if (target != "") {
            included[$2, ++includes[$2]] = target
            judge($2, $3, target)
        } else if (room_of($2) != "tests")
            fail($2 ":" $3 ": there is no " $4)
    }
    END {
        for (i = 1; i <= files; i++)
            held[room_of(file[i])]++
        for (i = 1; i <= objects; i++) {
            stem = substr(object[i], length(build) + 2)
            sub(/^(obj|alone)[/]/, "", stem)
            sub(/o$/, "", stem)
            # Of a source that is gone: an object of an earlier build.
            for (j = split("c cc cu", ending, " "); j > 0; j--)
                if ((stem ending[j]) in time)
                    check_object(object[i], stem ending[j])
        }
        for (i = 1; i <= entries; i++) {
            split(entry[i], pair, " ")
            if (!((pair[1], pair[2]) in occurs))
                fail("tests/floors.pending: " pair[1] " no longer includes " pair[2] ": delete the line")
        }
        if (!checked)
            fail(build " holds no objects that are newer than their sources: run make first")
        printf "%-26s %6s %9s %7s %8s\n", "room", "files", "includes", "upward", "pending"
        for (i = 1; i <= rooms; i++) {
            printf "%-26s %6d %9d %7d %8d\n", room[i], held[room[i]], counted[room[i]], upward[room[i]], still[room[i]]
            all_upward += upward[room[i]]
            all_still += still[room[i]]
        }
        printf "%d upward includes, and %d pending, in %d files; %d dependency files agree, %d of an earlier build\n",
            all_upward, all_still, files, checked, stale
        exit failed > 0
    }'
