#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab show --format html`: its numbers are what a job's library counts, its limits are said, and a browser plays
# it at the width of a telephone and of a projector. The browser is Chromium, where it is installed.
# Usage: test_stepper.sh [BUILD]. Takes long.

. tests/cases.sh
subject=("$commlab" show)
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

# show ALGORITHM RANKS COLLECTIVE: the page COLLECTIVE-ALGORITHM-RANKS.html
show() { run 0 "$1" -c "$3" --ranks "$2" --format html --output "$scratch/$3-$1-$2.html"; }

# total PAGE WHICH: of messages (2) or bytes (3), at the end.
total() { sed -n 's/^"counts":.*\[\([^]]*\)\],null\],$/\1/p' "$1" | cut -d, -f"$2"; }

# Lab 07's program sums 1 MiB by each of its algorithms; the library counts what every rank sends in it.
has_the_numbers_of_a_job() {
    local counts=$scratch/counts.csv algorithm page expected
    CLAB_COUNTS=$counts "$build/labs/07-ring-vs-tree/after" -n 5 --backend sim 1048576 >"$scratch/out" || return 1
    for algorithm in ring tree halving_doubling; do
        page=$scratch/allreduce-$algorithm-5.html
        show $algorithm 5 allreduce || return 1
        expected=$(awk -F, -v span="$algorithm/1048576" '$2 == span { m += $20; b += $21 } END { print m, b }' "$counts")
        why="$algorithm: messages and bytes: '$(total "$page" 2) $(total "$page" 3)', the job's '$expected'"
        [ "$(total "$page" 2)" -gt 0 ] && [ "$expected" = "$(total "$page" 2) $(total "$page" 3)" ] || return 1
    done
}

# The page says how it was made: that command makes the same page.
is_of_the_size_that_is_asked_for() {
    run 0 ring -n 2 -f html --bytes 64K -o "$scratch/small.html" || return 1
    why="bytes: $(total "$scratch/small.html" 3), made by $(grep -o 'Made by.*' "$scratch/small.html")"
    [ "$(total "$scratch/small.html" 3)" = 131072 ] || return 1
    "$commlab" $(sed -n 's|.*<code>./commlab \(.*\)</code>.*|\1|p' "$scratch/small.html") | cmp -s - "$scratch/small.html"
}

plays_a_file() {
    printf 'num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n' >"$scratch/two.goal"
    run 0 --goal "$scratch/two.goal" -f html -o "$scratch/goal.html" || return 1
    why=$(grep -A 3 'id="round-1"' "$scratch/goal.html")
    [ "$(grep -c 'Rank 0 signals rank 1' "$scratch/goal.html")" = 1 ]
}

# ---- in a browser --------------------------------------------------------------------------------------------

# browse PAGES OPTIONS...: what the driver finds, in $scratch/findings; what the browser says on its console in err.
browse() {
    sed "s/PAGES/$1/" tests/schedule/stepper.html >"$scratch/stepper.html"
    shift
    timeout 75 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$scratch/profile" --allow-file-access-from-files --enable-logging=stderr \
        --virtual-time-budget=30000 "$@" --dump-dom "file://$scratch/stepper.html" >"$scratch/dom" 2>"$scratch/err"
    sed -n '/<pre id="findings">/,/<\/pre>/p' "$scratch/dom" | sed 's/<[^>]*>//g' >"$scratch/findings"
    why=$(cat "$scratch/findings"; grep CONSOLE "$scratch/err"; [ -s "$scratch/findings" ] || tail -n 5 "$scratch/err")
    ! grep -q CONSOLE "$scratch/err" && ! grep -q wrong: "$scratch/findings" && grep -qx done "$scratch/findings"
}

pages=
make_pages() {
    local ranks algorithm
    for ranks in 2 5 8 16; do # 16: as wide and as long as a page gets, by one algorithm of each kind
        for algorithm in ring $([ $ranks -eq 16 ] || echo tree halving_doubling); do
            show $algorithm $ranks allreduce || return 1
            pages+="\"allreduce-$algorithm-$ranks.html\","
        done
        for algorithm in pairwise $([ $ranks -eq 16 ] || echo bruck); do
            show $algorithm $ranks alltoall || return 1
            pages+="\"alltoall-$algorithm-$ranks.html\","
        done
    done
}

steps_in_a_browser() {
    is_full || {
        leave_out 15 # pages; one of few rounds is played to its end
        show ring 2 allreduce && show ring 8 allreduce && browse '"allreduce-ring-2.html","allreduce-ring-8.html"' && grep -qx 'moved: yes' "$scratch/findings" && grep -q '^played: [1-9]' "$scratch/findings"
        return
    }
    make_pages && browse "$pages" && grep -qx 'pages: 34' "$scratch/findings" &&
        grep -qx 'moved: yes' "$scratch/findings" && grep -q '^played: [1-9]' "$scratch/findings"
}
moves_nothing_if_asked_not_to() {
    browse '"allreduce-ring-8.html"' --force-prefers-reduced-motion && grep -qx 'moved: no' "$scratch/findings"
}
says_if_a_page_is_wrong() {
    sed -i 's/ArrowRight: "next"/ArrowRight: "last"/' "$scratch/allreduce-ring-8.html"
    ! browse '"allreduce-ring-8.html"' && grep -q 'wrong: allreduce-ring-8.html at 360: → leads to 14 of 14, not to 1' "$scratch/findings"
}

check has_the_numbers_of_a_job
check is_of_the_size_that_is_asked_for
check plays_a_file
check refuses_many_ranks refuses 2 "a page shows at most 16 ranks; use --format svg (at most 64) or text" ring -n 17 -f html
check refuses_many_messages refuses 2 "3840 messages, and a page plays at most 2000; take fewer ranks or lanes" \
    pairwise -c alltoall -n 16 -L 16 -f html -o "$scratch/refused"
for name in steps_in_a_browser moves_nothing_if_asked_not_to says_if_a_page_is_wrong; do
    if [ -n "$chromium" ]; then
        check $name
    else
        skip "chromium is not installed" $name
    fi
done
exit $failed
