#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes what a student gets: `make handout` calls it when all is built.
#
#   LINK=... LIBRARIES=... [LABS=none] pack/handout.sh BUILD FOLDER [TAR]
#
# - FOLDER is made anew, in the shape of the source tree, so that programs find labs, networks and scripts above themselves.
#   LABS=none leaves out the labs' programs, which graders do not need. TAR, if told, is the packed folder: the same bytes
#   whenever the same sources were built by the same compiler. Only sources count: what else lies in the folder of the kit, such
#   as work/ or class/, changes nothing.
# - Programs and library are prebuilt, without symbols for a debugger. Other libraries are linked into them where the machine
#   has their archives (lib*.a), so that a student needs a compiler and make alone.
# - It holds no after.c, check.c, model.c, key.md, grade.c, no test, and no recorded run but the one that labs/table.md
#   explains. after is there as a program only, since `commlab lab` compares it with before.
set -u
cd "$(dirname "$0")/.." || exit 1
[ $# = 2 ] || [ $# = 3 ] || { sed -n "5s/^# *//p" pack/handout.sh >&2; exit 2; }
build=$1 to=$2 tar=${3-}
cc=${LINK%% *}
version=$(sed -n 's/^version: *//p' CITATION.cff | tr -d '"')

die() { echo "pack/handout.sh: $*" >&2; exit 1; }

# ---- what is linked --------------------------------------------------------------------------------------------

# archive_of -lNAME: the path of libNAME.a, if the compiler knows one that is no part of the C library.
archive_of() {
    local path
    case $1 in -lm | -ldl | -lpthread | -lrt) return 1 ;; esac
    path=$("$cc" -print-file-name="lib${1#-l}.a")
    [ -e "$path" ] && realpath "$path"
}

# The terms of an archive, for those who get a copy of it.
keep_licence() {
    local package
    package=$(dpkg-query -S "$1" 2>/dev/null | head -n 1 | cut -d: -f1)
    [ -z "$package" ] || cp "/usr/share/doc/$package/copyright" "$to/licences/$(basename "$1" .a).txt" 2>/dev/null
}

# Copies the archives to build/lib. Leaves in `linked` how our programs are linked, in `needed` the libraries without archive.
gather_libraries() {
    local word path
    linked=() needed=()
    for word in $LIBRARIES; do
        if path=$(archive_of "$word"); then
            linked+=("$path")
            install -m 644 "$path" "$to/build/lib/" && strip -g "$to/build/lib/$(basename "$path")" && keep_licence "$path" || return
        else
            linked+=("$word")
            case $word in -lm | -ldl | -lpthread | -lrt) ;; *) needed+=("$word") ;; esac
        fi
    done
}

# link PROGRAM OBJECTS...: without symbols (-s: to link them and strip them takes three times as long), and the number that depends on the folder of the sources.
link() {
    local program=$1
    shift
    mkdir -p "$(dirname "$program")"
    $LINK -s -Wl,--build-id=none -o "$program" "$@" "${linked[@]}"
}

# build/objects: "LIBRARY'S SOURCES / PROGRAM'S SOURCES".
program_objects() { sed 's|.* / ||' "$build/objects" | tr ' ' '\n' | sed -n "s|\(.*\)\.c\$|$build/obj/\1.o|p"; }

link_all() {
    local object program
    "$cc" -O2 -c -o "$to/older.o" pack/older.c &&
        link "$to/build/commlab" $(program_objects) "$to/older.o" "$build/libcommlab.a" && rm "$to/older.o" || return
    [ "${LABS-}" != none ] || return 0
    for object in "$build"/obj/labs/{,primer/}*/{before,after}.o; do
        program=${object#"$build/obj/"}
        link "$to/build/${program%.o}" "$object" "$build/libcommlab.a" || return
    done
}

# The newest version of the C library that a program asks for.
oldest_glibc() { find "$to/build" -type f -perm -u+x -not -name labcc -exec objdump -T {} + | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -n 1; }

# ---- what is copied --------------------------------------------------------------------------------------------

folders='backends cmd core labs pack plots sim slides tests'

# sources: the kit's own files in these folders. Without git, all that lies there.
sources() {
    if [ -n "$(git ls-files pack/handout.sh 2>/dev/null)" ]; then
        git ls-files $folders
    else
        find $folders -type f
    fi
}

# only_sources: of the paths in the input, those of the kit's own files.
only_sources() { grep -xF -f "$to/sources"; }

# copy FOLDER FIND-EXPRESSION...: the sources in FOLDER that fit, with their folders.
copy() {
    local from=$1
    shift
    find "$from" -type f \( "$@" \) | only_sources | tar -T - -cf - | tar -C "$to" --no-same-owner -xf -
}

copy_all() {
    copy labs -not -path '*/expected/*' -not -path 'labs/homework/*' -not -name after.c -not -name check.c -not -name model.c \
        -not -name price.h -not -name key.md -not -path labs/README.md -not -name record.sh &&
        copy labs/07-ring-vs-tree/expected -name run.txt &&
        copy plots -name '*.gp' && copy sim -name '*.h' -o -path 'sim/nets/*' -o -path 'sim/models/*' -o -name README.md &&
        copy core -name '*.h' -o -path core/schedule/README.md -o -path core/job/README.md &&
        copy cmd/doctor -name README.md && copy cmd/bench -name README.md && copy cmd/report -name README.md &&
        copy cmd/trace -name README.md && copy cmd/accuracy -name README.md && copy cmd/sim -name README.md &&
        copy core/schedule/algorithms -name ring.c && copy_homework
}

# What a student reads, fills in and compiles; all else of a homework judges it. Headers: those that these files include.
copy_homework() {
    local sources
    sources=$(ls labs/homework/h[0-9]/{harness,try,driver}.c labs/homework/h[0-9]/starter/*.c 2>/dev/null)
    [ -n "$sources" ] || return 0
    copy labs/homework -path 'labs/homework/h[0-9]/h[0-9].md' -o -name rubric.md -o -path '*/starter/*' &&
        sed '/^## For teachers/,$d' labs/homework/README.md >"$to/labs/homework/README.md" &&
        sed -i '/^\[Sample A\]/d' "$to"/labs/homework/h[0-9]/rubric.md &&
        "$cc" -std=c11 -D_GNU_SOURCE -I. -Icore -Ilabs -MM $sources | tr -d '\\' | tr -s ' ' '\n' |
            sed -n '/^labs\/homework\//p' | sort -u | only_sources | tar -T - -cf - | tar -C "$to" --no-same-owner -xf -
}

# No page compares with a file that is not there.
uncompare_pages() { sed -i '/^    diff .*after\.c$/d' "$to"/labs/*/lab.md; }

# Of all pages: a link to a file that is not here becomes its text. Where that is a path, and where a code span is the path of a
# source that is not here, the page says so, once per path. Commands stay as they are: no code block and no part of a span changes.
mark_pages() {
    find "$to" -name '*.md' -print0 | TO=$to xargs -0 perl -0777 -pi -e '
        BEGIN { open my $list, "<", "$ENV{TO}/sources"; my @all = split "\n", <$list>; %lost = map { $_ => 1 } grep { !-e "$ENV{TO}/$_" } @all; }
        sub unlink_text {
            my ($text, $target) = @_;
            return "[$text]($target)" if $target =~ /^#/ || -e "$folder/" . ($target =~ s/#.*//r);
            return $text =~ m{^[\w-]*[./][\w./-]+$} ? "$text (not in this copy)" : $text;
        }
        sub mark { my $path = shift; return "`$path`" . ($lost{$path} && !$said{$path}++ ? " (not in this copy)" : ""); }
        $folder = $ARGV =~ s{/[^/]*$}{}r;
        %said = ();
        $_ = join "", map {
            unless (/^```/ || /^    /) {
                s/\[([^][]*)\]\(([^):]*)\)/unlink_text($1, $2)/ge;
                s{`([\w.-]+(?:/[\w.-]+)+)`}{mark($1)}ge;
            }
            $_;
        } split /(^```.*?^```$|^    [^\n]*$)/ms;'
}

# How a student's program is compiled: as here, but with the archives of build/lib first.
write_labcc() {
    sed 's|"\$build/libcommlab.a"|"$build/libcommlab.a" -L"$build/lib"|' "$build/labcc" >"$to/build/labcc" &&
        chmod 755 "$to/build/labcc"
}

# Only what is linked into the program: of the other libraries, this says nothing of a student's machine.
write_probes() {
    local word
    for word in $LIBRARIES; do
        grep "^✓ ${word#-l}: " "$build/probes.txt"
    done >"$to/build/probes.txt"
    return 0
}

write_readme() {
    local needs=${needed[*]-}
    sed "s/@VERSION@/$version/g; s/@GLIBC@/$(oldest_glibc | tr _ ' ' | sed 's/GLIBC/glibc/')/; s/@MACHINE@/$(uname -m)/g;
         s/@NEEDS@/${needs:+, and the libraries ${needs//-l/lib}}/" pack/handout/README.md >"$to/README.md"
}

# ---- all of it -------------------------------------------------------------------------------------------------

make_folder() {
    rm -rf "$to" && mkdir -p "$to/build/lib" "$to/licences" && sources >"$to/sources" && gather_libraries && link_all && copy_all &&
        install -m 644 "$build/libcommlab.a" "$to/build/" && strip -g "$to/build/libcommlab.a" &&
        write_labcc && write_probes && install -m 644 LICENSE "$to/" && install -m 644 pack/handout/Makefile "$to/" &&
        write_readme && uncompare_pages && mark_pages && rm "$to/sources" && ln -s build/commlab "$to/commlab"
}

pack_folder() {
    local time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 946684800)}
    tar -C "$(dirname "$to")" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' \
        -cf - "$(basename "$to")" | gzip -n >"$tar.new" && mv "$tar.new" "$tar"
}

[ -e "$build/commlab" ] || die "$build/commlab is not there: run make handout"
make_folder || die "$to: this failed"
[ -z "$tar" ] || pack_folder || die "$tar can not be written"
