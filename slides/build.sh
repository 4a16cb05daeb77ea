#!/bin/bash
# SPDX-License-Identifier: MIT
# Makes the decks: slides/NAME.md becomes build/slides/NAME.html, one page without network, and NAME.pdf.
#
#   slides/build.sh [--html] [--to FOLDER] BUILD [NAME...]
#
#   all decks, or those whose name begins with NAME, or the file NAME.md. --html: no PDF. --to: into FOLDER, not
#   BUILD/slides.
#
# - pandoc makes the page, slides/figures.lua its figures, headless Chromium the PDF. ./setup.sh --slides installs them.
# - reveal.js is fetched once by npm, at a fixed version, held to its checksum, and kept in BUILD/slides. On a machine
#   without network, put the file $package there.
# - The same input gives the same bytes: a PDF's dates are those of the time 0.
# - Exit status 3: this machine lacks a program, and one line has said which command installs it.
set -u
cd "$(dirname "$0")/.." || exit 1

package=reveal.js-4.6.1.tgz
checksum=4f4121ef2b8e7e9398bdecd7b3b6ce5e0ee3a2f5af221708eb6c4ce03bcae6be

usage() { echo 'usage: slides/build.sh [--html] [--to FOLDER] BUILD [NAME...]' >&2; exit 2; }
with_pdf=1 pages=
while [[ ${1-} == --* ]]; do
    case $1 in
    --html) with_pdf= ;;
    --to) shift && pages=${1-} ;;
    *) usage ;;
    esac
    shift
done
[ $# -ge 1 ] || usage
build=$1 kept=$1/slides
shift
pages=${pages:-$kept}
reveal=$kept/reveal

lacks() { echo "slides: $1" >&2; exit 3; }
has() { command -v "$1" >/dev/null; }

# The decks to make, by their files.
decks() {
    local file name
    for file in slides/*.md; do
        [ "$file" != slides/README.md ] || continue
        [ $# -gt 0 ] || echo "$file"
        for name; do
            [[ $file != slides/$name* ]] || echo "$file"
        done
    done
    for name; do
        [[ $name != *.md ]] || echo "$name"
    done
}

fetch_reveal() {
    [ ! -e "$reveal/dist/reveal.js" ] || return 0
    if [ ! -e "$kept/$package" ]; then
        has npm || lacks "there is no npm, which fetches reveal.js: ./setup.sh --slides installs it"
        npm pack --silent --pack-destination "$scratch" "reveal.js@$(sed 's/.*-\(.*\)\.tgz/\1/' <<<"$package")" >"$scratch/npm" 2>&1 &&
            mv "$scratch/$package" "$kept/$package" ||
            lacks "npm could not fetch $package (no network?): copy this file into $kept/, and run make slides again"
    fi
    sha256sum --check --status <<<"$checksum  $kept/$package" || {
        echo "slides: $kept/$package is not the file that was expected (its SHA-256 differs): remove it, and run make slides again" >&2
        exit 1
    }
    mkdir "$scratch/reveal" && tar -xzf "$kept/$package" -C "$scratch/reveal" --strip-components=1 package/dist package/plugin &&
        rm -rf "$reveal" && mv "$scratch/reveal" "$reveal"
}

make_page() {
    local name
    name=$(basename "$1" .md)
    pandoc "$1" --from markdown-implicit_figures --to revealjs --standalone --self-contained --slide-level 2 --no-highlight \
        --template slides/page.html --lua-filter slides/figures.lua \
        --metadata commlab="$build/commlab" --metadata scratch="$scratch" \
        --variable reveal="$reveal" --variable theme=slides/theme.css --output "$scratch/$name.html" &&
        mv "$scratch/$name.html" "$pages/$name.html"
}

# A browser with a fresh profile, that asks no other machine for anything.
quiet=(--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run --disable-sync
    --disable-background-networking --disable-component-update)

# Dates are the only bytes of the browser's PDF that differ from run to run.
make_pdf() {
    local name
    name=$(basename "$1" .md)
    timeout 120 "$chromium" "${quiet[@]}" --user-data-dir="$scratch/profile" --no-pdf-header-footer --disable-pdf-tagging \
        --print-to-pdf="$scratch/$name.pdf" "file://$(realpath "$pages/$name.html")?print-pdf" >"$scratch/chromium" 2>&1
    [ -s "$scratch/$name.pdf" ] || { echo "slides: Chromium made no $name.pdf: $(tail -n 1 "$scratch/chromium")" >&2; return 1; }
    sed -i -E "s/(CreationDate|ModDate) \(D:[0-9]{14}/\1 (D:19700101000000/" "$scratch/$name.pdf" &&
        mv "$scratch/$name.pdf" "$pages/$name.pdf"
}

has pandoc || lacks "there is no pandoc: ./setup.sh --slides installs it"
has gnuplot || lacks "there is no gnuplot: ./setup.sh installs it"
mkdir -p "$pages" "$kept" && scratch=$(mktemp -d "$(realpath "$kept")/scratch-XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
fetch_reveal || exit 1
mapfile -t files < <(decks "$@")
[ ${#files[@]} -gt 0 ] || { echo "slides: no deck begins with '$*'; there are: $(decks | xargs -n 1 basename -s .md | xargs)" >&2; exit 2; }

chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
failed=0
for file in "${files[@]}"; do
    name=$(basename "$file" .md)
    made=$pages/$name.html
    make_page "$file" || { failed=1; continue; }
    if [ -n "$with_pdf" ] && [ -n "$chromium" ]; then
        make_pdf "$file" && made+=" $name.pdf" || failed=1
    fi
    echo "slides: $made"
done
[ -z "$with_pdf" ] || [ -n "$chromium" ] || echo 'slides: no PDF, as there is no Chromium: ./setup.sh --slides installs it' >&2
exit $failed
