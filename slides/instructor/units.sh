#!/bin/bash
# SPDX-License-Identifier: MIT
# What a course is made of, read from the pages of the units themselves: `**Minutes:**` and `**Needs:**` of each primer unit, lab and
# homework, and the minutes of each deck. So no table of an instructor's page can differ from them (tests/course/test_instructor.sh).
#
#   slides/instructor/units.sh table             the table of units.md
#   slides/instructor/units.sh graph             graph.svg: what needs what
#   slides/instructor/units.sh list              a line per unit: id, minutes, deck's minutes, page, title, what it needs
#   slides/instructor/units.sh needs UNIT...     all that these units need, in order, and the minutes together
#   slides/instructor/units.sh measure [UNIT...] seconds.csv anew: how long `commlab lab` and `check` take here
#
# - A page that says its needs in words that this script does not know is refused, and named.
set -u
cd "$(dirname "$0")/../.." || exit 1
seconds=slides/instructor/seconds.csv

die() { echo "units.sh: $*" >&2; exit 1; }

# ---- what the pages say ----------------------------------------------------------------------------------------

# pages: "ID PAGE" of each unit, in the order of a course.
pages() {
    local page
    for page in labs/primer/p[0-9]-*/lab.md labs/[0-9][0-9]-*/lab.md; do
        page=${page#labs/} && page=${page#primer/}
        echo "${page%%-*} labs/$([[ $page != p* ]] || echo primer/)$page"
    done
    for page in labs/homework/h[0-9]/h[0-9].md; do
        echo "$(basename "$page" .md) $page"
    done
}

# The paragraph of a page that has its minutes, as one line without links.
facts_of() { awk 'BEGIN { RS = "" } /\*\*Minutes:\*\*/ { gsub(/\n/, " "); print; exit }' "$1" | sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g'; }

# between p1 p4, between 07 10: what lies between these two.
between() { seq -f "$([[ $1 == p* ]] && echo p%.0f || echo %02.0f)" $((10#${1#p} + 1)) $((10#${2#p} - 1)); }

# units_in PAGE CLAUSE: the units that "labs 07 to 10 and 12" or "primer p1 and p2" names. A clause of something else: none.
units_in() {
    local page=$1 clause=$2 word last= to= found=()
    if [[ ! $clause =~ ^(primer|labs?|p[0-9])( |,|$) ]]; then
        [[ ! $clause =~ (primer|labs? [0-9]|p[0-9]) ]] || die "$page: Needs: '$clause' does not begin with primer, lab or labs"
        return
    fi
    for word in ${clause//,/ }; do
        case $word in
        primer | lab | labs | and) ;;
        to) to=$last ;;
        p[0-9] | [0-9][0-9])
            [ -z "$to" ] || found+=($(between "$to" "$word"))
            found+=("$word") last=$word to=
            ;;
        *) die "$page: Needs: the word '$word' is not known here" ;;
        esac
    done
    [[ ! $clause =~ ^primer || $clause =~ p[0-9] ]] || found=(p1 p2 p3 p4 p5 "${found[@]}")
    echo "${found[@]}"
}

# needs_of PAGE FACTS: the units that the page names, one after another.
needs_of() {
    local page=$1 needs=${2#*\*\*Needs:\*\*} clause
    [ "$needs" != "$2" ] || die "$page says no **Needs:**"
    needs=${needs%%\*\**}
    needs=${needs%%. *}
    while IFS= read -r clause; do
        clause=$(sed -E 's/^ +//; s/[ .]+$//' <<<"$clause")
        units_in "$page" "$clause" || return
    done <<<"${needs//;/$'\n'}"
}

# deck_of ID: the minutes that the deck of a lab says; nothing for a unit without one.
deck_of() { cat /dev/null slides/"$1"-*.md 2>/dev/null | sed -nE 's/^subtitle: .* ([0-9]+) minutes.*/\1/p'; }

list() {
    local id page facts minutes needs
    while read -r id page; do
        facts=$(facts_of "$page")
        minutes=$(sed -nE 's/.*\*\*Minutes:\*\* ([0-9]+).*/\1/p' <<<"$facts")
        [ -n "$minutes" ] || die "$page says no **Minutes:**"
        needs=$(needs_of "$page" "$facts") || exit 1
        printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$id" "$minutes" "$(deck_of "$id")" "$page" \
            "$(sed -n 's/^# .* · //p' "$page" | head -n 1)" "$(echo $needs)"
    done < <(pages)
}

# ---- what follows from it --------------------------------------------------------------------------------------

# Shared by the programs below: reads `list`, and knows all that a unit needs, and all that needs it.
read -r -d '' units_awk <<'END'
BEGIN { FS = "\t" }
{
    id[++n] = $1; place[$1] = n; minutes[n] = $2; deck[n] = $3; page[n] = $4; title[n] = $5; direct[n] = $6
    count = split($6, words, " ")
    for (i = 1; i <= count; i++) {
        if (!(words[i] in place)) {
            print "units.sh: " $4 ": Needs: " words[i] " is no unit before it" >"/dev/stderr"
            failed = 1
            exit 1
        }
        j = place[words[i]]
        states[n, j] = needs[n, j] = 1
        for (k = 1; k < j; k++)
            if ((j, k) in needs)
                needs[n, k] = 1
        if (depth[j] + 1 > depth[n])
            depth[n] = depth[j] + 1
    }
}
function with_all(i,    k, sum) {
    sum = minutes[i]
    for (k = 1; k < i; k++)
        if ((i, k) in needs)
            sum += minutes[k]
    return sum
}
function kind(i) { return id[i] ~ /^[0-9]/ ? "lab" : substr(id[i], 1, 1) }
# "p1 to p5, 00, 02": of those i for which chosen[i] is 1.
function ranges(    i, last, text, length_) {
    text = ""
    for (i = 1; i <= n; i++) {
        if (!chosen[i])
            continue
        for (last = i; last < n && chosen[last + 1] && kind(last + 1) == kind(i); last++)
            ;
        length_ = last - i + 1
        text = text (text ? ", " : "") id[i] (length_ > 2 ? " to " id[last] : "")
        if (length_ > 2)
            i = last
    }
    return text ? text : "–"
}
END

table() {
    awk "$units_awk"'
        FNR == 1 { while ((getline line < seconds) > 0) if (split(line, f, ",") == 3) { lab[f[1]] = f[2]; check[f[1]] = f[3] } }
        function chosen_direct(i,  k) { for (k = 1; k <= n; k++) chosen[k] = (i, k) in states }
        function chosen_after(i,  k) { for (k = 1; k <= n; k++) chosen[k] = (k, i) in needs }
        function name(i,  parts, words) { words = split(page[i], parts, "/"); return kind(i) == "h" ? id[i] : parts[words - 1] }
        function or_dash(text) { return text == "" ? "–" : text }
        END {
            if (failed)
                exit 1
            print "| unit | minutes | deck | needs | minutes with all that it needs | without it, these go, too | `lab` | `check` |"
            print "|---|---|---|---|---|---|---|---|"
            for (i = 1; i <= n; i++) {
                chosen_direct(i); before = ranges(); chosen_after(i)
                printf "| [%s](../../%s) | %d | %s | %s | %d | %s | %s | %s |\n", name(i), page[i], minutes[i], or_dash(deck[i]), before,
                       with_all(i), ranges(), or_dash(lab[id[i]]), or_dash(check[id[i]])
                sum[kind(i)] += minutes[i]; decks += deck[i]
            }
            printf "\nTogether: primer %d minutes, labs %d, their decks %d, homework %d.\n", sum["p"], sum["lab"], decks, sum["h"]
        }' seconds="$seconds" - <<<"$listed"
}

# needs UNIT...: a line per unit, and the sum.
needs() {
    awk "$units_awk"'
        END {
            if (failed)
                exit 1
            count = split(wanted, words, " ")
            for (i = 1; i <= count; i++) {
                if (!(words[i] in place)) {
                    print "units.sh: there is no unit " words[i] (words[i] ~ /^[0-9]$/ ? ": type 0" words[i] : ": list says which there are") >"/dev/stderr"
                    exit 1
                }
                chosen[place[words[i]]] = 1
                for (k = 1; k <= n; k++)
                    if ((place[words[i]], k) in needs)
                        chosen[k] = 1
            }
            for (i = 1; i <= n; i++)
                if (chosen[i]) {
                    printf "%-3s %4d  %s\n", id[i], minutes[i], title[i]
                    sum += minutes[i]
                }
            printf "all %4d minutes\n", sum
        }' wanted="$*" - <<<"$listed"
}

# ---- the drawing -----------------------------------------------------------------------------------------------

# A column per depth. `rows` says the row of each box, by hand, so that no line runs behind a box; a unit that it lacks takes the first
# free row of its column.
graph() {
    awk "$units_awk"'
        BEGIN {
            rows = "p1 2 p2 2 p3 2 p4 2 p5 2 00 4 06 6 01 2 04 0 05 1 07 2 02 4 h1 0 11 1 10 3 08 4 03 5 13 0 h2 1 h4 2 h3 4 09 5 12 6 h5 5"
            STEP = 124; WIDTH = 98; DOWN = 62; HEIGHT = 44; LEFT = 16; TOP = 74
        }
        function left(i) { return LEFT + depth[i] * STEP }
        function middle(i) { return TOP + row[i] * DOWN + HEIGHT / 2 }
        function fail(text) { print "units.sh: " text >"/dev/stderr"; failed = 1; exit 1 }
        # Does another unit on the way need what is needed here?
        function is_said_already(i, j,  k) {
            for (k = j + 1; k < i; k++)
                if (((i, k) in needs) && ((k, j) in needs))
                    return 1
            return 0
        }
        # Straight to the column before, then a curve.
        function line(j, i,  from, x, c) {
            for (c = depth[j] + 1; c < depth[i]; c++)
                if ((c, row[j]) in taken)
                    fail("the line from " id[j] " to " id[i] " runs behind " taken[c, row[j]] ": give one of them another row")
            from = left(j) + WIDTH
            x = left(i) - (STEP - WIDTH)
            printf "<path d=\"M%d %dH%dC%d %d %d %d %d %d\"/>\n", from, middle(j), x, x + 12, middle(j), left(i) - 16, middle(i),
                   left(i) - 1, middle(i)
        }
        function box(i,  shape, parts, words, name) {
            words = split(page[i], parts, "/")
            name = kind(i) == "h" ? "homework" : substr(parts[words - 1], index(parts[words - 1], "-") + 1)
            shape = kind(i) == "p" ? "rx=\"20\"" : kind(i) == "h" ? "stroke-dasharray=\"5 3\"" : "rx=\"3\""
            printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" %s fill=\"%s\" stroke=\"#444444\"/>", left(i), middle(i) - HEIGHT / 2,
                   WIDTH, HEIGHT, shape, kind(i) == "p" ? "#e8f1f8" : kind(i) == "h" ? "#fdf0e4" : "#ffffff"
            printf "<text x=\"%d\" y=\"%d\"><tspan font-weight=\"bold\">%s</tspan> · %d min</text>", left(i) + WIDTH / 2, middle(i) - 3, id[i],
                   minutes[i]
            printf "<text x=\"%d\" y=\"%d\" font-size=\"10\">%s</text>\n", left(i) + WIDTH / 2, middle(i) + 13, name
        }
        function place_boxes(  i, count, words) {
            count = split(rows, words, " ")
            for (i = 1; i < count; i += 2)
                by_hand[words[i]] = words[i + 1]
            for (i = 1; i <= n; i++)
                if (id[i] in by_hand)
                    put(i, by_hand[id[i]])
            for (i = 1; i <= n; i++)
                if (!(id[i] in by_hand)) {
                    for (count = 0; (depth[i], count) in taken; count++)
                        ;
                    put(i, count)
                }
        }
        function put(i, at) {
            if ((depth[i], at) in taken)
                fail(id[i] " and " taken[depth[i], at] " have the same place: give one of them another row")
            row[i] = at
            taken[depth[i], at] = id[i]
            if (depth[i] > deepest) { deepest = depth[i]; last = i }
            if (at > lowest) lowest = at
        }
        END {
            if (failed)
                exit 1
            place_boxes()
            wide = 2 * LEFT + deepest * STEP + WIDTH; high = TOP + lowest * DOWN + HEIGHT + 14
            printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" ", wide, high, wide, high
            print "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"12\" fill=\"#222222\">"
            print "<!-- SPDX-License-Identifier: CC-BY-4.0 -->"
            heading = "What needs what: " deepest + 1 " units one after another lead from " id[1] " to " id[last]
            print "<title>" heading "</title>"
            print "<desc>A box per unit, a line from each unit to those that need it. units.md has the same as a table.</desc>"
            print "<defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.5L8 4L0 7.5z\" fill=\"#444444\"/></marker></defs>"
            printf "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", wide, high
            printf "<text x=\"%d\" y=\"26\" font-size=\"16\" font-weight=\"bold\">%s</text>\n", LEFT, heading
            printf "<text x=\"%d\" y=\"46\">Round boxes: primer. Square: labs. Dashed: homework. Minutes are those of the page. A line that others imply is left out.</text>\n", LEFT
            print "<g fill=\"none\" stroke=\"#888888\" stroke-width=\"1.3\" marker-end=\"url(#a)\">"
            for (i = 1; i <= n; i++)
                for (j = 1; j < i; j++)
                    if (((i, j) in needs) && !is_said_already(i, j))
                        line(j, i)
            print "</g>\n<g text-anchor=\"middle\">"
            for (i = 1; i <= n; i++)
                box(i)
            print "</g>\n</svg>"
        }' - <<<"$listed"
}

# ---- how long a machine takes ----------------------------------------------------------------------------------

# least COMMAND...: the shortest of three runs, in seconds; an error of the command is passed on.
least() {
    local i start all=
    for i in 1 2 3; do
        start=$(date +%s%N)
        "$@" >/dev/null 2>&1 </dev/null || die "this failed: $*"
        all+=$(($(date +%s%N) - start))$'\n'
    done
    sort -n <<<"$all" | awk 'NF { s = $1 / 1e9; printf s < 9.95 ? "%.1f" : "%.0f", s; exit }'
}

measure() {
    local id page results
    results=$(mktemp -d) || exit 1
    echo '# SPDX-License-Identifier: CC-BY-4.0'
    echo "# seconds of \`commlab lab UNIT\` and \`commlab check UNIT\` (of after.c): the least of three runs"
    echo "# machine: $(nproc) cores; load of the last minute before: $(cut -d' ' -f1 /proc/loadavg)"
    echo '# command: slides/instructor/units.sh measure >slides/instructor/seconds.csv'
    echo 'unit,lab,check'
    while read -r id page; do
        [ $# = 0 ] || [[ " $* " == *" $id "* ]] || continue
        case $id in
        p*) echo "$id,,$(least ./commlab check "$id" --source "$(dirname "$page")/after.c")" ;;
        [0-9]*) echo "$id,$(least ./commlab lab "$id" --results "$results"),$(least ./commlab check "$id" --source "$(dirname "$page")/after.c")" ;;
        esac
    done < <(pages)
    rm -r "$results"
}

case ${1-} in
list) list ;;
table | graph) listed=$(list) && "$1" ;;
needs)
    [ $# -gt 1 ] || die 'needs: name a unit, as in: units.sh needs 08 h3'
    listed=$(list) && "$@"
    ;;
measure) "$@" ;;
*) sed -n 's/^#   //p' "$0" >&2; exit 2 ;;
esac
