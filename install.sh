#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs the kit, or takes it away again: `make install` and `make uninstall` call it.
#
#   ./install.sh BUILD PREFIX [DESTDIR]        put all of BUILD (build/) below DESTDIR/PREFIX
#   ./install.sh --uninstall PREFIX [DESTDIR]  remove that
#   ./install.sh --manual BUILD COMMAND        print a manual page; COMMAND "": that of commlab itself
#   ./install.sh --completion BUILD            print bash's completion
#
# - PREFIX/lib/commlab has the shape of the source tree, so that programs find labs, networks and scripts above
#   themselves: build/ with the programs, labs/, plots/, sim/. The file `installed` there says that users' own files
#   (results/, work/, figures) go to the folder where they stand.
# - PREFIX/bin/commlab is a link to the program; PREFIX/include/commlab has the headers, PREFIX/lib/libcommlab.a the
#   library, PREFIX/lib/pkgconfig/commlab.pc how to compile with them.
# - Pages, manual pages and the program itself call it commlab there, not ./commlab.
# - Manual pages and completion are made from what --help prints, which comes from the commands' tables of flags.
set -u
cd "$(dirname "$0")" || exit 1

# "COMMAND SUMMARY", a line each.
commands() { "$1/commlab" --help | sed -n 's/^  \([a-z]*\)  *\([A-Za-z].*\)/\1 \2/p'; }

# Words with which a command takes other flags, and has a --help of its own. h2 stands for any homework.
modes() {
    case $1 in
    bench) echo --matrix ;;
    sim) echo sweep train links paths ;;
    start) echo h2 ;;
    esac
}

# ---- manual pages ----------------------------------------------------------------------------------------------

# From the --help of a command: usage, a paragraph, flags, paragraphs and indented lines. Name and summary are told; without
# a summary it is the part of a page about a mode of the command.
as_manual() {
    awk -v name="$1" -v summary="$2" '
        function said(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); sub(/^[.\x27]/, "\\\\\\&&", text); return text }
        function section(title) { if (title != at) print summary != "" ? ".SH " title : ".PP"; at = title }
        BEGIN {
            if (summary == "")
                print ".SH " said(toupper(name))
            else
                print ".TH " toupper(name) " 1 \"\" commlab \"commlab\"\n.ad l\n.SH NAME\n" said(name) " \\- " said(summary)
        }
        /^Usage: / { section("SYNOPSIS"); sub(/^Usage: /, ""); print ".B " said($0); next }
        /^  +or: / { sub(/^  +or: /, ""); print ".br\n.B " said($0); next }
        at == "SYNOPSIS" { section("DESCRIPTION") }
        at != "NOTES" && /^ +--?[A-Za-z?]/ {
            section("OPTIONS")
            flag = $0; help = ""
            if (match($0, /[^ ]  +[^ ]/) && RSTART > 6) { flag = substr($0, 1, RSTART); help = substr($0, RSTART + 1) }
            sub(/^ +/, "", flag); sub(/^ +/, "", help)
            print ".TP\n.B " said(flag) (help == "" ? "" : "\n" said(help))
            next
        }
        at == "OPTIONS" && /^          / { sub(/^ +/, ""); print said($0); next }
        at != "NOTES" && /^ ?[A-Z].*:$/ { section("OPTIONS"); sub(/^ /, ""); print ".SS " said($0); next }
        at == "OPTIONS" && /^[^ ]/ { section("NOTES") }
        /^$/ { print at == "OPTIONS" ? "" : ".PP"; next }
        /^  / { sub(/^  /, ""); print ".br\n" said($0) "\n.br"; next }
        { print said($0) }' | sed '/^$/d; s|\./commlab|commlab|g'
}

manual() {
    local build=$1 command=$2 summary mode
    if [ -z "$command" ]; then
        summary='a lab kit for learning how machines communicate while they train models'
        {
            as_manual commlab "$summary" <<<'Usage: commlab COMMAND [OPTION...]'
            echo '.SH COMMANDS'
            commands "$build" | sed 's/-/\\-/g; s/^\([a-z]*\) \(.*\)/.TP\n.BR commlab\\-\1 (1)\n\2/'
        }
        return
    fi
    summary=$(commands "$build" | sed -n "s/^$command //p")
    "$build/commlab" "$command" --help | as_manual "commlab-$command" "$summary"
    for mode in $(modes "$command"); do
        "$build/commlab" "$command" "$mode" --help | as_manual "commlab $command $mode" ''
    done
}

# ---- completion ------------------------------------------------------------------------------------------------

# flags_of BUILD COMMAND [MODE]
flags_of() { "$1/commlab" "${@:2}" --help | grep -oE '^ +(-[A-Za-z?], )?--[a-z][a-z-]*' | grep -oE -- '--[a-z-]+' | sort -u | tr '\n' ' '; }

completion() {
    local build=$1 command mode
    echo '# bash completion of commlab, made by `make install` from the tables of flags.'
    printf '_commlab() {\n    local word=${COMP_WORDS[COMP_CWORD]} flags=\n'
    printf '    if [ "$COMP_CWORD" -eq 1 ]; then\n        COMPREPLY=($(compgen -W "%s" -- "$word"))\n        return\n    fi\n' \
        "$(commands "$build" | cut -d' ' -f1 | tr '\n' ' ')"
    printf '    case ${COMP_WORDS[1]} in\n'
    for command in $(commands "$build" | cut -d' ' -f1); do
        printf "    %s)\n        flags='%s'\n" "$command" "$(flags_of "$build" "$command")"
        for mode in $(modes "$command"); do
            printf "        case \" \${COMP_WORDS[*]:2} \" in *' '%s' '*) flags='%s' ;; esac\n" "${mode/h2/h[1-5]}" \
                "$(flags_of "$build" "$command" "$mode")"
        done
        printf '        ;;\n'
    done
    printf '    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W "$flags" -- "$word")) ;;\n'
    printf '    *) COMPREPLY=($(compgen -f -- "$word")) ;;\n    esac\n}\ncomplete -o filenames -F _commlab commlab ./commlab\n'
}

# ---- files -----------------------------------------------------------------------------------------------------

# copy FOLDER TO FIND-EXPRESSION...: the files of FOLDER that fit, with their folders.
copy() {
    local from=$1 to=$2
    shift 2
    mkdir -p "$to" && (cd "$from" && find . -type f "$@" -print0 | tar --null -T - --mode='u=rwX,go=rX' -cf -) |
        tar -C "$to" --no-same-owner -xf -
}

# Pages say ./commlab, which is right in the kit's folder. In PATH it is commlab. (Forms to fill in, predict.txt, name labs
# as their readers expect them.)
name_program() { find "$1" -name '*.md' -exec sed -i 's|\./commlab|commlab|g' {} +; }

pkg_config() {
    local build=$1 prefix=$2
    cat <<END
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include/commlab

Name: commlab
Description: Collective communication between ranks: algorithms, backends, a simulator
Version: $(sed -n 's/^version: *//p' CITATION.cff | tr -d '"' | grep . || echo 0.1.0)
Cflags: -I\${includedir} -I\${includedir}/core -pthread
Libs: -L\${libdir} -lcommlab $(cat "$build/libraries") -pthread -rdynamic
END
}

put() {
    local build=$1 prefix=$2 top=$3$2 kit=$3$2/lib/commlab command
    mkdir -p "$top/bin" "$kit/build" && : >"$kit/installed" || return
    install -m 755 "$build/commlab" "$build/labcc" "$kit/build" &&
        install -m 644 "$build/probes.txt" "$kit/build" &&
        install -D -m 644 "$build/libcommlab.a" "$top/lib/libcommlab.a" &&
        ln -sfn ../../libcommlab.a "$kit/build/libcommlab.a" &&
        copy "$build/backends" "$kit/build/backends" -name '*.so' &&
        copy "$build/labs" "$kit/build/labs" -not -name '*.log' -not -name '*.d' &&
        copy labs "$kit/labs" && name_program "$kit"/labs && copy plots "$kit/plots" && copy sim/nets "$kit/sim/nets" && copy sim/models "$kit/sim/models" &&
        copy core "$top/include/commlab/core" -name '*.h' && ln -sfn ../../include/commlab/core "$kit/core" &&
        ln -sfn ../lib/commlab/build/commlab "$top/bin/commlab" &&
        install -D -m 644 -t "$top/share/doc/commlab" README.md LICENSE CHANGELOG.md &&
        install -m 644 cmd/doctor/README.md "$top/share/doc/commlab/errors.md" && name_program "$top/share/doc/commlab" &&
        mkdir -p "$top/lib/pkgconfig" "$top/share/man/man1" "$top/share/bash-completion/completions" &&
        pkg_config "$build" "$prefix" >"$top/lib/pkgconfig/commlab.pc" &&
        manual "$build" '' >"$top/share/man/man1/commlab.1" &&
        completion "$build" >"$top/share/bash-completion/completions/commlab" || return
    for command in $(commands "$build" | cut -d' ' -f1); do
        manual "$build" "$command" >"$top/share/man/man1/commlab-$command.1" || return
    done
    [ -n "$3" ] || echo "installed below $prefix: $prefix/bin/commlab; results and work/ go to the folder where you stand"
}

take_away() {
    local top=$2$1
    [ -e "$top/lib/commlab/installed" ] || { echo "install.sh: $top has no commlab" >&2; return 1; }
    rm -rf "$top/lib/commlab" "$top/include/commlab" "$top/share/doc/commlab"
    rm -f "$top/bin/commlab" "$top/lib/libcommlab.a" "$top/lib/pkgconfig/commlab.pc" "$top"/share/man/man1/commlab{,-*}.1 \
        "$top/share/bash-completion/completions/commlab"
}

case "${1-}:$#" in
--uninstall:2 | --uninstall:3) take_away "$2" "${3-}" ;;
--manual:3) manual "$2" "$3" ;;
--completion:2) completion "$2" ;;
-*: | :* | -*) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
*:2 | *:3)
    case $2 in
    /*) put "$1" "$2" "${3-}" || { echo "install.sh: can not write below ${3-}$2: as root, or with PREFIX=\$HOME/.local" >&2; exit 1; } ;;
    *) echo "install.sh: PREFIX is a whole path, such as $HOME/.local, not '$2'" >&2; exit 2 ;;
    esac ;;
*) sed -n '3,8s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
