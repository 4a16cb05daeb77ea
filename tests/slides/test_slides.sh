#!/bin/bash
# SPDX-License-Identifier: MIT
# `make slides`: a browser walks through every slide of every deck at 1280 x 720. Nothing overflows, no figure is missing,
# its letters are large enough, the console is silent, the PDF has a page for each slide, and the same input gives the same
# bytes. Needs pandoc,
# Chromium and reveal.js (npm and its network, or an earlier `make slides`). Usage: test_slides.sh [BUILD]. Takes long. Only in a full run: 25 cases.
#
# Without CLAB_TEST_FULL=1, the decks in `quick` alone, one with figures and steps of all kinds, and not what is in
# `browsed`, which starts the browser once more per case.

. tests/cases.sh
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
made=$scratch/made
subject=(slides/build.sh --to "$made")

# What a page says on the console; the browser's own pages (chrome://) miss their network there, too.
console() { grep CONSOLE "$scratch/err" | grep -v 'source: chrome://'; }

# walk PAGE: true if the driver finds no fault and the console is silent.
walk() {
    local page=$scratch/walked.html
    { cat "$1"; echo '<script>'; cat tests/slides/walk.js; echo '</script>'; } >"$page"
    timeout 75 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --disable-quic --no-first-run \
        --disable-sync --disable-background-networking --disable-component-update --window-size=1280,720 \
        --user-data-dir="$scratch/profile" --enable-logging=stderr --virtual-time-budget=60000 \
        --dump-dom "file://$page" >"$scratch/dom" 2>"$scratch/err"
    sed -n '/<pre id="findings">/,/<\/pre>/p' "$scratch/dom" | sed 's/<[^>]*>//g' >"$scratch/findings"
    why="$(basename "$1"): $(cat "$scratch/findings"; console; [ -s "$scratch/findings" ] || tail -n 5 "$scratch/err")"
    ! console >/dev/null && ! grep -q wrong: "$scratch/findings" && grep -q '^slides: [1-9]' "$scratch/findings"
}

quick=07
makes_all_decks() { run 0 "$build" $(is_full || echo $quick) && leave_out $(($(ls slides/[0-9o]*.md | wc -l) - $(ls "$made"/*.html | wc -l))) && cp "$scratch/out" "$scratch/decks"; }

every_slide_of_every_deck_is_as_it_should() {
    local page pages slides all=
    for page in "$made"/*.html; do
        walk "$page" || { all+="$why"$'\n'; continue; }
        slides=$(sed -n 's/^slides: //p' "$scratch/findings")
        pages=$(grep -a -c '/Type /Page$' "${page%.html}.pdf")
        [ "$slides" = "$pages" ] || all+="$(basename "$page"): $slides slides, and the PDF has $pages pages"$'\n'
    done
    why=$all
    [ -z "$all" ]
}

# texts CSV SCRIPT LETTERS IS_BARE: what a figure says in letters of that height.
texts() {
    gnuplot -e "csv='$1'; out='$scratch/figure'; png_scale=0.1; letters=$3; is_bare=$4" "$2" || return 1
    grep -A1 "font-size=\"$3.00\"" "$scratch/figure.svg" | sed -E 's/<[^>]*>//g; s/^[[:space:]-]+//; /^$/d' | sort -u
}

# gnuplot leaves out a label for which a figure has no room. A slide's larger letters need more than a page's.
loses_no_label_of_a_figure() {
    local csv script lost=
    for csv in $(sed -nE 's/.*\(plot:([^ )]*)\).*/\1/p' slides/*.md | sort -u); do
        script=$(dirname "$(dirname "$csv")")/plot.gp
        texts "$csv" "$script" 13 0 >"$scratch/page" && texts "$csv" "$script" 16 1 >"$scratch/slide" || { why="$script fails"; return 1; }
        # Numbers along an axis may be others. A slide says "simulated" of virtual time, and breaks a long name.
        lost+=$(comm -23 "$scratch/page" "$scratch/slide" | grep -vE '^([0-9.]+|(after: )?measured|PowerSGD)$' | sed "s|^|$csv: |")
    done
    why="slides lack $lost"
    [ -s "$scratch/page" ] && [ -z "$lost" ]
}

# A deck of a lab asks, shows, models, lets vote, runs, reveals, corrects and asks once more, in this order.
follows_the_order_of_a_lesson() {
    local deck kinds
    for deck in slides/[0-9]*.md; do
        kinds=$(sed -nE 's/^## (Question|Picture|Model|Vote|Demo|Reveal|Misconception|Exit question)( *:.*)?$/\1/p' "$deck" | uniq | xargs)
        why="$deck has the slides $kinds"
        [ "$kinds" = 'Question Picture Model Vote Demo Reveal Misconception Exit question' ] || return 1
        why="$deck: a vote has four options"
        [ "$(sed -n '/^::: vote/,/^:::$/p' "$deck" | grep -c '^[1-4]\. ')" = 4 ] || return 1
    done
}

# "Lab 07 · 24 minutes · before the lab": as long as its notes say.
minutes_add_up() {
    local deck said sum
    for deck in slides/[0-9o]*.md; do
        said=$(sed -nE 's/^subtitle: .* ([0-9]+) minutes.*/\1/p' "$deck")
        sum=$(awk '/^::: notes/ { getline; sum += $1 } END { print sum }' "$deck")
        why="$deck: the title slide says $said minutes, the notes add up to $sum"
        [ "$said" = "$sum" ] || return 1
    done
}

# One deck has figures of all kinds.
gives_the_same_bytes_again() {
    (cd "$made" && sha256sum 07-*) >"$scratch/sums"
    run 0 "$build" 07 || return 1
    why="other bytes: $(cd "$made" && sha256sum --check "$scratch/sums" 2>&1)"
    (cd "$made" && sha256sum --check --status "$scratch/sums")
}

# Pages hold all that they show. Addresses in an SVG's xmlns are names.
is_one_page_without_network() {
    why=$(grep -noE '(src|href)="(https?:|//|[^d#"][^"]{0,60}\.(js|css|svg|png))[^"]{0,40}' "$made"/*.html | head -n 3)
    [ -z "$why" ]
}

# ---- the walk can fail ---------------------------------------------------------------------------------------

# deck TEXT: of one slide, made and walked.
deck() {
    printf -- '---\ntitle: A deck\n---\n\n## A slide\n\n%s\n\n::: notes\nA note.\n:::\n' "$1" >"$scratch/faulty.md"
    run 0 --html "$build" "$scratch/faulty.md" && walk "$made/faulty.html"
}
finds() { ! deck "$2" && grep -q "$1" "$scratch/findings" "$scratch/err"; }

passes_a_good_slide() { deck 'Text.'; }
finds_a_slide_that_is_too_long() { finds 'wrong: slide 2: .* too low' "$(printf -- '- a line\n%.0s' {1..30})"; }
finds_a_line_that_is_too_long() { finds 'wrong: slide 2: .* too far to the right\|wide in' "    $(yes word | head -n 40 | xargs)"; }
# pandoc refuses a figure whose file is not there; the walk finds one that got lost.
finds_a_missing_figure() {
    refuses_deck 'gone.svg' '<img src="gone.svg" alt="gone">' && deck '![ring](show:ring)' || return 1
    sed 's|src="data:image/svg[^"]*"|src="data:image/svg+xml;base64,AAAA"|' "$made/faulty.html" >"$made/lost.html"
    ! walk "$made/lost.html" && grep -q 'wrong: slide 2: a figure is missing: ring' "$scratch/findings"
}
# drawing TEXT: an image of 400 x 100 that holds the text of an SVG.
drawing() {
    printf '<img alt="drawn" style="width:400px" src="data:image/svg+xml;base64,%s">' "$(base64 -w 0 <<<"<svg \
        xmlns='http://www.w3.org/2000/svg' width='400' height='100' viewBox='0 0 400 100'>$1</svg>")"
}
passes_what_one_can_read() {
    deck "$(drawing "<text x='9' y='40' font-size='15'>one</text><text x='9' y='80'>two</text>")

$(yes word | head -n 60 | xargs)"
}
# One deck, since each walk starts a browser: slide 2 is small, 3 is cut, and so on.
finds_what_nobody_can_read() {
    local found="letters of text 'small' are 12.0 high|text 'cut off' is cut|text 'here' and text 'there' lie on each other|
letters of the player's .* high in round 0|61 words, more than 60" slide=1
    ! deck "$(drawing "<text x='9' y='40' font-size='12'>small</text>")

## Third

$(drawing "<text x='-9' y='40'>cut off</text>")

## Fourth

$(drawing "<text x='9' y='40'>here</text><text x='20' y='45'>there</text>")

## Fifth

![ring](play:ring --ranks 4){zoom=\"0.6\"}

## Sixth

$(yes word | head -n 61 | xargs)" || return 1
    while IFS= read -r -d '|'; do
        slide=$((slide + 1))
        grep -q "wrong: slide $slide: ${REPLY#$'\n'}" "$scratch/findings" || { why="no '$REPLY' in: $(cat "$scratch/findings")"; return 1; }
    done <<<"$found|"
}
finds_an_error_on_the_console() { finds 'CONSOLE.*it broke' '<script>console.error("it broke")</script>'; }
finds_a_script_that_fails() { finds 'CONSOLE.*nowhere' '<script>nowhere()</script>'; }
finds_a_player_that_is_too_large() { finds 'of the player ends at' '![ring](play:ring --ranks 4){zoom="2"}'; }

# ---- mistakes of authors -------------------------------------------------------------------------------------

refuses_deck() {
    printf -- '---\ntitle: A deck\n---\n\n## A slide\n\n%s\n' "$2" >"$scratch/faulty.md"
    rm -f "$made/faulty.html"
    ! run 0 --html "$build" "$scratch/faulty.md" || { why="it was made"; return 1; }
    why="not '$1': $(cat "$scratch/err")"
    grep -qF -- "$1" "$scratch/err" && [ ! -e "$made/faulty.html" ]
}
names_an_unknown_figure() { refuses_deck 'no figure by ring.svg' '![ring](ring.svg)'; }
names_what_show_refuses() { refuses_deck "no algorithm 'rng'" '![ring](show:rng)'; }
names_a_missing_file() { refuses_deck 'there is no labs/07-ring-vs-tree/expected/x.csv' '![x](plot:labs/07-ring-vs-tree/expected/x.csv)'; }
refuses_what_differs_by_machine() { refuses_deck 'may not run in a deck' '``` {run="bench allreduce -n 2"}
```'; }
asks_for_words() { refuses_deck 'no text between its brackets' '![](show:ring)'; }
names_the_decks() { refuses 2 "no deck begins with 'nothing'; there are: " "$build" nothing; }
says_what_installs_pandoc() {
    local path=$scratch/bin
    mkdir -p "$path" && ln -sf "$(command -v bash)" "$(command -v dirname)" "$path"
    local subject=("$(command -v env)" "PATH=$path" "$(command -v bash)" slides/build.sh)
    refuses 3 './setup.sh --slides installs it' "$build"
}

# A build of its own has no reveal.js yet. npm's double writes another file than the one that is expected, or fails.
npm_that() {
    local path=$scratch/npm
    mkdir -p "$path" && printf '#!/bin/bash\n%s\n' "$1" >"$path/npm" && chmod +x "$path/npm"
    subject=(env "PATH=$path:$PATH" slides/build.sh)
}
says_what_to_do_without_network() {
    local subject
    npm_that 'exit 1'
    refuses 3 'copy this file into' "$scratch/fresh"
}
refuses_another_reveal() {
    local subject
    npm_that 'while [ $# -gt 1 ]; do [ "$1" != --pack-destination ] || echo other >"$2/reveal.js-4.6.1.tgz"; shift; done'
    refuses 1 'its SHA-256 differs' "$scratch/fresh" && [ ! -e "$scratch/fresh/slides/reveal" ]
}

browsed='passes_a_good_slide gives_the_same_bytes_again finds_a_line_that_is_too_long passes_what_one_can_read finds_what_nobody_can_read
    finds_a_script_that_fails finds_a_player_that_is_too_large loses_no_label_of_a_figure'
cases='makes_all_decks every_slide_of_every_deck_is_as_it_should is_one_page_without_network
    finds_a_slide_that_is_too_long finds_a_missing_figure
    finds_an_error_on_the_console
    names_an_unknown_figure names_what_show_refuses names_a_missing_file refuses_what_differs_by_machine asks_for_words
    names_the_decks follows_the_order_of_a_lesson minutes_add_up says_what_to_do_without_network refuses_another_reveal'
if [ -z "$chromium" ] || ! command -v pandoc >/dev/null || ! command -v gnuplot >/dev/null; then
    skip 'pandoc, gnuplot or Chromium is not installed' $cases $browsed
elif [ ! -e "$build/slides/reveal" ] && { run 3 --html "$build" 07; [ ! -e "$build/slides/reveal" ]; }; then
    skip "reveal.js is not to be had: $(cat "$scratch/err")" $cases $browsed
else
    check_with inih $cases
    if is_full; then check_with inih $browsed; else leave_out 8; fi
fi
check says_what_installs_pandoc
exit $failed
