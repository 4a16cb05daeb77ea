#!/bin/bash
# SPDX-License-Identifier: MIT
# The README and the pages that it links to are true: the picture, links, commands and options, and the algorithm that
# core/schedule/README.md shows how to add.
# Usage: test_readme.sh [BUILD].

. tests/cases.sh
shopt -s nullglob
pages=(README.md SECURITY.md CHANGELOG.md {backends,cmd,core,labs,sim,tests}/{*.md,*/*.md} labs/{,primer/}*/hints/*.md labs/primer/*/*.md slides/README.md slides/instructor/{*.md,*/*.md})

has_the_picture_that_the_kit_draws() {
    why="slides/ring.svg is not what \`commlab show ring --ranks 4 --format svg\` draws"
    "$commlab" show ring --ranks 4 --format svg | cmp -s - <(grep -v SPDX slides/ring.svg)
}

# The first page is for people in a hurry.
is_short() {
    why="README.md has $(wc -l <README.md) lines, not fewer than 200"
    [ "$(wc -l <README.md)" -lt 200 ]
}

# links_of PAGE: where each leads, seen from the kit's folder, as PATH or PATH#HEADING.
links_of() {
    local kept=$scratch/links-${1//\//,}
    [ ! -e "$kept" ] || { cat "$kept"; return; }
    sed '/^```/,/^```/d' "$1" | grep -o '](\([^):]*\))' | sed 's/.*(\(.*\))/\1/' | awk -v page="$1" '
        BEGIN { folder = page; if (!sub(/\/[^\/]*$/, "", folder)) folder = "" }
        /^#/ { print page $0; next }
        {
            heading = index($0, "#") ? substr($0, index($0, "#")) : ""
            n = split(folder "/" substr($0, 1, length($0) - length(heading)), part, "/")
            path = ""
            for (i = 1; i <= n; i++)
                if (part[i] == ".." && path ~ /[^.\/]/)
                    sub(/\/?[^\/]*$/, "", path)
                else if (part[i] != "" && part[i] != ".")
                    path = path (path == "" ? "" : "/") part[i]
            print (path == "" ? "." : path) heading
        }' | tee "$kept"
}

# headings_of PAGE: as links name them.
headings_of() {
    sed -n '/^```/,/^```/d; s/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | tr ' ' - | sed 's/[^a-z0-9_-]//g'
}

links_to_what_exists() {
    local page link
    for page in "${pages[@]}"; do
        for link in $(links_of "$page"); do
            why="$page: there is no $link"
            [ -e "${link%#*}" ] || return 1
            [[ $link != *#* ]] || echo "$link"
        done
    done >"$scratch/wanted"
    for page in $(cut -d'#' -f1 "$scratch/wanted" | sort -u); do
        headings_of "$page" | sed "s|^|$page#|"
    done >"$scratch/headings"
    why="there is no $(grep -vxF -f "$scratch/headings" "$scratch/wanted")"
    [ "$why" = 'there is no ' ]
}

# Every page can be found by who starts at README.md.
links_to_every_page() {
    local links
    links=$(for page in "${pages[@]}"; do links_of "$page"; done | sed 's/#.*//')
    why="no page links to $(printf '%s\n' {backends,cmd,core,labs,sim}/{*.md,*/README.md} | grep -vxF -f <(echo "$links"))"
    [ "$why" = 'no page links to ' ]
}

# The stage function of the page, with the rest of the allgather by a ring, is proved like any other.
the_algorithm_that_it_adds_is_right() {
    local compile link libraries source=$scratch/leftwards.c
    IFS='|' read -r compile link libraries <<<"$(awk -F' / ' '{ print $1 "|" $2 "|" $3 }' "$build/flags")"
    {
        echo '#include "core/base/err.h"'
        echo '#include "core/schedule/build.h"'
        echo '#include "core/schedule/verify/verify.h"'
        sed -n '/^```c$/,/^```$/p' core/schedule/README.md | grep -v '^```'
        cat <<'END'
int main(void)
{
    struct clab_algorithm algorithm = clab_allgather_ring;
    struct clab_verifier *verifier;
    struct clab_verify_result result;
    algorithm.stage = leftwards;
    int err = clab_verifier_create(&verifier);
    for (int ranks = 1; ranks <= 16 && !err; ranks++)
        err = clab_verify(verifier, &(struct clab_problem){.collective = CLAB_ALLGATHER, .nranks = ranks, .lanes = 1},
                          &algorithm, &result);
    return err != CLAB_OK;
}
END
    } >"$source"
    why="it does not compile: $($compile -c -o "$scratch/leftwards.o" "$source" 2>&1)"
    [ -e "$scratch/leftwards.o" ] || return 1
    why="it does not link: $($link -o "$scratch/leftwards" "$scratch/leftwards.o" "$build/libcommlab.a" $libraries 2>&1)"
    [ -e "$scratch/leftwards" ] || return 1
    why="the verifier refuses it"
    "$scratch/leftwards"
}

names_every_lab_that_is_here() {
    for folder in labs/[0-9][0-9]-*; do
        why="no row for $folder"
        grep -qF "| [$(basename "$folder")]($folder/lab.md) |" README.md || return 1
    done
}

names_subcommands_that_exist() {
    for name in $(grep -oh '\./commlab [a-z]*' "${pages[@]}" | sed 's/.* //' | sort -u); do
        why="there is no \`commlab $name\`"
        "$commlab" "$name" --help >/dev/null 2>&1 || return 1
    done
}

names_options_that_exist() {
    while read -r name rest; do
        local -a command=("$name")
        [[ $name\ $rest =~ ^sim\ (train|sweep) ]] && command+=("${BASH_REMATCH[1]}")
        [[ $name\ $rest == 'bench '*--matrix* ]] && command+=(--matrix)
        for option in $(grep -o -- ' --[a-z-]*' <<<"$rest"); do
            why="commlab ${command[*]} has no option $option"
            "$commlab" "${command[@]}" --help | grep -q -- "$option" || return 1
        done
    done < <(grep -oh '\./commlab [a-z]* [^`|#]*' "${pages[@]}" | sed 's/^\.\/commlab //')
}

# includes_few_headers FILE: of the kit clab.h, train/ and lab.h; else those of the file's own folder.
includes_few_headers() {
    while IFS= read -r line; do
        [[ $line =~ ^#include\ \"(clab|train/[a-z0-9/]+|lab)\.h\"$ ]] && continue
        [[ $line =~ ^#include\ \"([^/]+\.h)\"$ && -f $(dirname "$1")/${BASH_REMATCH[1]} ]] || return 1
    done < <(grep '^#include "' "$1")
}

every_lab_is_whole() {
    for folder in labs/[0-9][0-9]-*; do
        for file in lab.md lab.conf before.c after.c predict.txt plot.gp hints/1.md hints/2.md hints/3.md; do
            why="there is no $folder/$file"
            [ -s "$folder/$file" ] || return 1
        done
        for program in before after; do
            why="$folder/$program.c has $(wc -l <"$folder/$program.c") lines, not 20 to 150"
            [ "$(wc -l <"$folder/$program.c")" -ge 20 ] && [ "$(wc -l <"$folder/$program.c")" -le 150 ] || return 1
            why="$folder/$program.c includes more than clab.h, train/, lab.h and headers of its own folder"
            includes_few_headers "$folder/$program.c" || return 1
        done
        for header in "$folder"/*.h; do # those that only models and checks include may include more
            grep -qs "^#include \"$(basename "$header")\"" "$folder"/{before,after}.c "$folder"/*.h || continue
            why="$header includes more than clab.h, train/, lab.h and headers of its own folder"
            includes_few_headers "$header" || return 1
        done
    done
}

# blanks_of FILE: of each blank of one program the program, the quantity, and the lab of the command above it.
blanks_of() {
    awk '/^\[\.\/commlab lab / { sub("\\]", ""); lab = $3 }
        /^(before|after|ratio) [^ {<>]* *= / { print lab, $1, $2 }' "$1"
}

# Every blank is below a command of its lab, and is of a row of its CSV, as the recorded ones have them. (That its form is
# right, and its unit lab.conf's, is test_predictions.c's.)
predictions_have_blanks_that_the_lab_fills() {
    local folder id lab program quantity row
    for folder in labs/[0-9][0-9]-*; do
        id=${folder#labs/}
        id=${id%%-*}
        why="$folder/predict.txt has fewer than three blanks"
        [ "$(grep -c '^[^#].*____' "$folder/predict.txt")" -ge 3 ] || return 1
        while read -r lab program quantity; do
            why="$folder/predict.txt: $program $quantity is of lab '$lab', and no row of $folder/expected"
            [ "$lab" = "$id" ] || return 1
            row=$program,$quantity
            [ "$program" != ratio ] || row=after/before,ratio/$quantity
            cat "$folder"/expected/*.csv | awk -F, -v r="$row" '$2 "," $6 == r { has = 1 } END { exit !has }' || return 1
        done < <(blanks_of "$folder/predict.txt")
    done
}

check_each has_the_picture_that_the_kit_draws is_short links_to_what_exists links_to_every_page \
    the_algorithm_that_it_adds_is_right names_every_lab_that_is_here names_subcommands_that_exist \
    names_options_that_exist every_lab_is_whole \
    predictions_have_blanks_that_the_lab_fills
exit $failed
