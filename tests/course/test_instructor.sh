#!/bin/bash
# SPDX-License-Identifier: MIT
# The instructor's pages (slides/instructor/) say what the kit is: links, minutes, what needs what, syllabi, quoted messages, keys, and
# the quiz. Each check is also tried on a page with a mistake. Usage: test_instructor.sh [BUILD].

. tests/cases.sh
pack=slides/instructor
units=$pack/units.sh
"$units" list >"$scratch/units"

# ---- links -----------------------------------------------------------------------------------------------------

# links_of PAGE: the files that it links to, seen from the kit's folder.
links_of() {
    local link
    for link in $(grep -o '](\([^):#]*\)[^)]*)' "$1" | sed 's/](\([^)#]*\).*/\1/'); do
        realpath -m --relative-to=. "$(dirname "$1")/$link"
    done
}

# README.md, then slides/instructor/README.md: one click, and one more.
every_page_is_two_clicks_away() {
    local page
    why="README.md does not lead to $pack/README.md"
    links_of README.md | grep -qx "$pack/README.md" || return 1
    links_of "$pack/README.md" >"$scratch/links"
    for page in "$pack"/*.md "$pack"/quiz/*; do
        why="$pack/README.md does not lead to $page"
        [ "$page" = "$pack/README.md" ] || grep -qx "$page" "$scratch/links" || return 1
    done
    links_of "$pack/keys.md" >"$scratch/links"
    for page in labs/[0-9][0-9]-*/key.md labs/homework/h[0-9]/{rubric,sample-A,sample-C}.md; do
        why="$pack/keys.md does not lead to $page"
        grep -qx "$page" "$scratch/links" || return 1
    done
}
no_page_is_packed_for_students() {
    why="pack/handout.sh copies from slides/"
    ! grep -qE 'slides/|copy slides' pack/handout.sh
}

# ---- units: minutes, and what needs what -----------------------------------------------------------------------

units_md_has_the_table_of_the_pages() {
    why=$(diff <(sed -n '/^<!-- slides.*table -->/,/^<!-- end -->/p' "$pack/units.md" | sed '1d;$d') <("$units" table) | head -n 5)
    [ -z "$why" ]
}
graph_svg_is_drawn_from_the_pages() {
    why=$("$units" graph 2>&1 | diff - "$pack/graph.svg" | head -n 5)
    [ -z "$why" ]
}
# Where other pages say the same once more.
other_tables_say_the_same_minutes() {
    local id minutes row
    while IFS=$'\t' read -r id minutes _; do
        case $id in
        p*) row=$(grep "^| \[$id " labs/primer/README.md | cut -d'|' -f3) ;;
        h*) row=$(grep "^| \[$id\]" labs/homework/README.md | cut -d'|' -f4) ;;
        *) continue ;;
        esac
        why="$id has $minutes minutes, and the table beside it says '$row'"
        [[ $row =~ ^\ $minutes\  ]] || return 1
    done <"$scratch/units"
}
seconds_csv_has_every_lab() {
    local id seconds='[0-9]+(\.[0-9])?'
    for id in $(cut -f1 "$scratch/units" | grep -v h); do
        why="$pack/seconds.csv: no seconds of $id"
        grep -qxE "$id,$([[ $id == p* ]] || echo "$seconds"),$seconds" "$pack/seconds.csv" || return 1
    done
}
measures_in_the_same_form() {
    why=$(diff <("$units" measure p1 | sed 's/[0-9.]*[0-9]//g') <(sed -n '1,/^unit,/p; /^p1,/p' "$pack/seconds.csv" | sed 's/[0-9.]*[0-9]//g'))
    [ -z "$why" ]
}

units_say_what_to_type_for_8() {
    why=$("$units" needs 8 2>&1)
    [ "$why" = 'units.sh: there is no unit 8: type 08' ]
}
# The overview ends with how long the primer takes.
the_overview_has_the_minutes_of_the_primer() {
    why="the primer has $(awk -F'\t' '/^p/ { sum += $2 } END { print sum }' "$scratch/units") minutes"
    grep -q "five small programs, ${why//[^0-9]/} minutes" slides/overview.md
}

# copy_of_the_pages: what units.sh reads, in a folder of its own.
copy_of_the_pages() {
    local page
    rm -rf "$scratch/copy"
    for page in $(cut -f4 "$scratch/units") slides/[0-9]*.md "$units"; do
        install -D "$page" "$scratch/copy/$page"
    done
}
# with PAGE SED ARGS...: what units.sh says of pages of which one is another.
with() {
    local page=$1 change=$2
    shift 2
    copy_of_the_pages
    sed -i "$change" "$scratch/copy/$page"
    why="$("$scratch/copy/$units" "$@" 2>&1)"
}
units_follow_a_page_that_changes() {
    with labs/13-audit/lab.md 's/\*\*Minutes:\*\* 60/**Minutes:** 65/; s/labs 07 and 11/labs 03, 05 to 07 and 11; primer/' list
    grep -q $'^13\t65\t.*\t03 05 06 07 11 p1 p2 p3 p4 p5$' <<<"$why"
}
# refused PAGE SED WORDS: with this change units.sh makes no table, and says why.
refused() {
    ! with "$1" "$2" table && grep -qF -- "$3" <<<"$why"
}
units_refuse_what_they_do_not_understand() {
    refused labs/13-audit/lab.md 's/labs 07 and 11/all of labs 07 and 11/' "labs/13-audit/lab.md: Needs: 'all of labs 07 and 11' does not begin with" &&
        refused labs/13-audit/lab.md 's/labs 07 and 11/labs 07 or 11/' "labs/13-audit/lab.md: Needs: the word 'or' is not known here" &&
        refused labs/01-reinit-comm/lab.md 's/primer p1, p2 and p5/lab 07/' 'labs/01-reinit-comm/lab.md: Needs: 07 is no unit before it' &&
        refused labs/01-reinit-comm/lab.md 's/\*\*Minutes:\*\* [0-9]*/Minutes/' 'labs/01-reinit-comm/lab.md says no **Minutes:**'
}
# Its rows are chosen by hand: a page that changes may put two boxes in one place, or a line behind a box.
the_graph_follows_and_says_what_it_would_hide() {
    with labs/13-audit/lab.md 's/labs 07 and 11/labs 07 and 10/' graph && ! diff -q <(echo "$why") "$pack/graph.svg" >/dev/null &&
        ! with labs/11-tuner/lab.md 's/\*\*Needs:\*\* lab 07/**Needs:** lab 01/' graph && grep -q '11 and 05 have the same place' <<<"$why" &&
        ! with labs/homework/h5/h5.md 's/labs 07 to 10 and 12/labs 11 and 12/' graph && grep -q 'from 11 to h5 runs behind h2' <<<"$why"
}

# ---- syllabi ---------------------------------------------------------------------------------------------------

# judge_syllabi PAGE: a line per mistake.
judge_syllabi() {
    awk -f tests/course/instructor/syllabi.awk overview="$(sed -nE 's/^subtitle: .* in ([0-9]+) minutes.*/\1/p' slides/overview.md)" "$scratch/units" page=1 "$1"
}
syllabi_add_up_and_keep_the_order() {
    why=$(judge_syllabi "$pack/syllabi.md")
    [ -z "$why" ]
}
# mistake SED WORDS: with this change the judge says these words.
mistake() {
    sed "$1" "$pack/syllabi.md" >"$scratch/syllabi.md"
    why="'$2' is not said after $1: $(judge_syllabi "$scratch/syllabi.md")"
    judge_syllabi "$scratch/syllabi.md" | grep -qF -- "$2"
}
finds_mistakes_in_syllabi() {
    mistake '/^| 1b /s/lab.md) · 50/lab.md) · 45/' 'lab 00 has 50 minutes, not 45' &&
        mistake '/^| 1b /s/primer · 17/primer · 18/' 'has 91 minutes, not 90' &&
        mistake '/^| 3a .*lab 07/s/24 of 90/20 of 90/' '07: 86 of 90 minutes are given' &&
        mistake '/^| 2b .*lab 02/d' 'lab 08 comes before 02, which it needs' &&
        mistake 's/1800 minutes of contact/1810 minutes of contact/' 'the text says 1810' &&
        mistake '/^| 1b /s/00-noise.md) · 23/00-noise.md) · 24/' 'deck 00 has 23 minutes, not 24'
}

# ---- quoted messages -------------------------------------------------------------------------------------------

# What the kit can print, a string per line. Lists of errors and of packages as they are.
strings() {
    find cmd core backends sim labs \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) -print0 | xargs -0 awk -f tests/course/instructor/strings.awk
    cat cmd/explain/errors.conf setup.sh
}
# quotes_of PAGE: "MESSAGE<tab>HALF-MEND" of each row of its tables whose first or second cell is a message.
quotes_of() {
    awk '/^\| / {
        n = split($0, cells, / \| /)
        for (i = 1; i <= 2; i++) {
            text = cells[i]
            sub(/^\| */, "", text)
            if (text !~ /^`/)
                continue
            fence = text ~ /^``/ ? "``" : "`"
            text = substr(text, length(fence) + 1)
            print substr(text, 1, index(text, fence) - 1) "\t" (match($0, /tests\/halfway\/[^)]*/) ? substr($0, RSTART, RLENGTH) : "")
            break
        }
    }' "$1"
}
# said PAGE: "MESSAGE<tab>HALF-MEND<tab>the string that has its parts one after another" of each quote.
said() {
    quotes_of "$1" | awk -F'\t' '
        # Where a text ends that has the parts of message m; 0: it has not.
        function holds(text, m,  i, at) {
            for (i = 1; i <= count[m]; i++) {
                at = index(text, part[m, i])
                if (!at)
                    return 0
                text = substr(text, at + length(part[m, i]))
            }
            return 1
        }
        FILENAME == "-" {
            message[++n] = $1; half[n] = $2
            c = split($1, words, / *… */)
            for (i = 1; i <= c; i++)
                if (words[i] != "")
                    part[n, ++count[n]] = words[i]
            next
        }
        { for (m = 1; m <= n; m++) if (!(m in string) && holds($0, m)) string[m] = $0 }
        END { for (m = 1; m <= n; m++) print message[m] "\t" half[m] "\t" string[m] }' - "$scratch/strings"
}
# judge_quotes PAGE: a line per mistake.
judge_quotes() {
    local message half string expects n=0
    while IFS=$'\x01' read -r message half string; do
        n=$((n + 1))
        [ -n "$string" ] || echo "no source says: $message"
        [ -n "$half" ] || continue
        expects=$(sed -n 's,^// expects: ,,p' "$half" 2>/dev/null)
        [ -n "$expects" ] && [[ $string == *"$expects"* || $message == *"$expects"* ]] || echo "$half promises '$expects', and the page says: $message"
    done < <(said "$1" | tr '\t' '\001')
    [ $n -ge 60 ] || echo "only $n messages are quoted"
}
quoted_messages_are_those_of_the_kit() {
    strings >"$scratch/strings"
    why=$(judge_quotes "$pack/failures.md")
    [ -z "$why" ]
}
finds_a_message_that_nobody_says() {
    sed 's/Whole buffers go around your ring/Whole buffers run around your ring/' "$pack/failures.md" >"$scratch/failures.md"
    why="not found: $(judge_quotes "$scratch/failures.md")"
    grep -q 'no source says: Whole buffers run' <<<"$why" || return 1
    sed 's|07/ring-in-turns.c|07/ring-for-all-sizes.c|' "$pack/failures.md" >"$scratch/failures.md"
    why="not found: $(judge_quotes "$scratch/failures.md")"
    grep -q 'ring-for-all-sizes.c promises' <<<"$why"
}

# ---- keys ------------------------------------------------------------------------------------------------------

# section PAGE WORDS: from the heading with these words up to the next one.
section() { awk -v words="$2" '/^## / { is_in = index($0, words) > 0; next } is_in' "$1"; }
numbered() { grep -cE '^[0-9]+\. '; }

# judge_key FOLDER: a line for each group of questions without an answer.
judge_key() {
    local page=$1/lab.md key=$1/key.md asked answered
    asked=$(section "$page" Explain | numbered) answered=$(section "$key" Explain | numbered)
    [ "$asked" -ge 4 ] && [ "$asked" = "$answered" ] || echo "$1: Explain asks $asked questions, and the key answers $answered"
    asked=$(section "$page" 'Change it' | grep -c '^- ') answered=$(section "$key" 'Change it' | grep '^- ' | grep -vc '^- \*\*A harder task')
    [ "$asked" -ge 2 ] && [ "$asked" = "$answered" ] || echo "$1: Change it asks $asked things, and the key answers $answered"
    asked=$(grep -c '^\*\*A harder task' "$page") answered=$(grep -cE '^(- )?\*\*A harder task|^## Harder task' "$key")
    [ "$asked" = 1 ] && [ "$answered" = 1 ] || echo "$1: $asked harder tasks, and $answered answers"
    asked=$(section "$page" 'Check yourself' | awk '
        /^<details><summary>Answers/ { folded = 1; next }
        /^<details><summary>/ { if (!/<\/summary>$/) print "a question without an end"; questions++; getline; if ($0 !~ /^<\/details>|^ *$/) answers++; next }
        /^[0-9]+\. / { if (folded) answers++; else questions++ }
        END { if (!questions || questions != answers) print questions + 0 " questions and " answers + 0 " answers" }')
    [ -z "$asked" ] || echo "$1: Check yourself has $asked"
    [ -n "$(section "$key" Predict)" ] || echo "$1: the key has nothing about the blanks"
}
every_question_of_a_lab_has_an_answer() {
    local folder all=
    for folder in labs/[0-9][0-9]-*; do
        all+=$(judge_key "$folder")$'\n'
    done
    why=$(grep . <<<"$all")
    [ -z "$why" ]
}
every_question_of_the_primer_has_an_answer() {
    local page
    for page in labs/primer/p?-*/lab.md; do
        why="$page: no question, or no answer"
        [ -n "$(section "$page" 'A question')" ] && [ -n "$(section "$page" Answer)" ] || return 1
    done
}
finds_a_question_without_an_answer() {
    local change
    for change in '/^3\. /d' '/^- \*\*star/d' '/A harder task/d'; do
        mkdir -p "$scratch/07" && cp labs/07-ring-vs-tree/lab.md "$scratch/07/" && sed "$change" labs/07-ring-vs-tree/key.md >"$scratch/07/key.md"
        why="nothing is said after $change"
        [ -n "$(judge_key "$scratch/07")" ] || return 1
    done
}

# ---- GPUs ------------------------------------------------------------------------------------------------------

gpus_md_says_which_labs_take_nccl() {
    local conf id says
    for conf in labs/[0-9][0-9]-*/lab.conf; do
        id=$(basename "$(dirname "$conf")" | cut -c1-2)
        says=$(sed -n "s/^| $id | \([a-z]*\) |.*/\1/p" "$pack/gpus.md")
        why="lab $id: the page says '$says', and $conf $(grep '^backends ' "$conf")"
        [ "$says" = "$(grep '^backends ' "$conf" | sed 's/;.*//' | grep -qw nccl && echo yes || echo no)" ] || return 1
    done
}
gpus_md_has_the_limit_of_gpu_check() {
    why="tests/gpu_check.sh has another limit than the page"
    grep -q "at most $(sed -n 's/^whole=.*:-\([0-9]*\)}.*/\1/p' tests/gpu_check.sh) s" "$pack/gpus.md"
}

# ---- quiz ------------------------------------------------------------------------------------------------------

# judge_quiz FILE NAME: a line per mistake; then what the numbers and the places of the right options are (instructor/quiz.awk).
judge_quiz() { awk -f tests/course/instructor/quiz.awk name="$2" "$1"; }

# judge_numbers: reads "formula EXPRESSION -> TEXT" and "command COMMAND -> TEXT"; a line per one that is not so.
judge_numbers() {
    local kind rest expression text value number
    while read -r kind rest; do
        expression=${rest% -> *} text=${rest##* -> }
        if [ "$kind" = formula ]; then
            number=$(grep -oE '[0-9]+(\.[0-9]+)?' <<<"$text" | head -n 1)
            value=$(awk "BEGIN { printf \"%.$([[ $number == *.* ]] && echo -n "${number#*.}" | wc -c || echo 0)f\", $expression }" 2>&1)
            [ "$value" = "$number" ] || echo "$expression is $value, and the question says $text"
        else
            eval "${expression/#.\/commlab/$commlab}" 2>&1 </dev/null | sed "s|^ *||" | grep -qF -- "$text" || echo "'$expression' does not print: $text"
        fi
    done
}
quiz_has_a_file_per_lab() {
    why=$(diff <(basename -a labs/[0-9][0-9]-*) <(basename -a -s .gift "$pack"/quiz/*.gift))
    [ -z "$why" ]
}
quiz_files_are_gift_with_one_right_option_of_four() {
    local file all=
    : >"$scratch/said"
    for file in "$pack"/quiz/*.gift; do
        judge_quiz "$file" "$(basename "$file" .gift)" >"$scratch/judged"
        all+=$(grep -vE '^(place|formula|command) ' "$scratch/judged")$'\n'
        why="$file: the right option stands in $(grep -c . <(grep '^place' "$scratch/judged" | sort -u)) places only"
        [ "$(grep '^place' "$scratch/judged" | sort -u | wc -l)" -ge 3 ] || return 1
        cat "$scratch/judged" >>"$scratch/said"
    done
    why=$(grep . <<<"$all")
    [ -z "$why" ]
}
right_options_stand_in_all_places() {
    local place n
    for place in 1 2 3 4; do
        n=$(grep -c "^place $place" "$scratch/said")
        why="$n of 56 right options stand in place $place"
        [ "$n" -ge 10 ] && [ "$n" -le 18 ] || return 1
    done
}
numbers_of_the_quiz_are_computed() {
    why=$(grep -E '^(formula|command) ' "$scratch/said" | judge_numbers)
    [ -z "$why" ] && why='fewer than 30 numbers are computed' && [ "$(grep -c '^formula' "$scratch/said")" -ge 30 ]
}
# broken SED WORDS: with this change the judge says these words.
broken() {
    sed "$1" "$pack/quiz/07-ring-vs-tree.gift" >"$scratch/broken.gift"
    judge_quiz "$scratch/broken.gift" 07-ring-vs-tree >"$scratch/out"
    [[ $2 != *120* && $2 != *31.02* ]] || grep -E '^(formula|command) ' "$scratch/out" | judge_numbers >>"$scratch/out"
    why="'$2' is not said after $1: $(grep -vE '^(place|formula|command) ' "$scratch/out")"
    grep -qF -- "$2" "$scratch/out"
}
finds_mistakes_in_a_quiz() {
    broken '1s/CC-BY/CC-BX/' 'the first line is no license' && broken 's/^~3.3 GB/=3.3 GB/' '2 right options, not 1' &&
        broken '/^~4 MB/,/   #/d' '3 options, not 4' && broken '/Each byte twice/d' 'no reply to: 6.7 GB/s' &&
        broken 's/# \*\*Each byte twice.\*\* /# /' 'begins with the name of its misconception' &&
        broken 's/C\. Which part/C = Which part/' 'a control character without a backslash' &&
        broken 's/^::07-3 /::07-4 /' 'its name does not begin with 07-3' && broken 's/^~64 MB/~120 MB/' 'twice the same option: 120 MB' &&
        broken 's/^\/\/ = 2\*15.*//; s/^\/\/ \$ .*16.*//' 'no comment computes the right one' && broken 's/2\*15\/16\*64/2*15\/16*65/' 'and the question says 120 MB' &&
        broken 's/30.02 us/31.02 us/' 'does not print: doubling: 31.02 us' && broken '$d' 'the last question has no end' &&
        broken 's/^   # 2 · 15/\n   # 2 · 15/' 'an empty line in a question' && broken 's/commlab\/07/commlab\/08/' 'the category is'
}

check_each every_page_is_two_clicks_away no_page_is_packed_for_students units_md_has_the_table_of_the_pages graph_svg_is_drawn_from_the_pages \
    other_tables_say_the_same_minutes seconds_csv_has_every_lab units_say_what_to_type_for_8 the_overview_has_the_minutes_of_the_primer units_follow_a_page_that_changes units_refuse_what_they_do_not_understand \
    the_graph_follows_and_says_what_it_would_hide syllabi_add_up_and_keep_the_order finds_mistakes_in_syllabi \
    quoted_messages_are_those_of_the_kit finds_a_message_that_nobody_says every_question_of_a_lab_has_an_answer \
    every_question_of_the_primer_has_an_answer finds_a_question_without_an_answer gpus_md_says_which_labs_take_nccl \
    gpus_md_has_the_limit_of_gpu_check quiz_has_a_file_per_lab quiz_files_are_gift_with_one_right_option_of_four \
    right_options_stand_in_all_places
check_with inih measures_in_the_same_form numbers_of_the_quiz_are_computed finds_mistakes_in_a_quiz
exit $failed
