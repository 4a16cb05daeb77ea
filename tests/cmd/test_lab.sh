#!/bin/bash
# SPDX-License-Identifier: MIT
# `commlab lab` and `commlab report` on tiny settings: what they write and check, and one clear line for each mistake.
# Takes long.
# Usage: test_lab.sh [BUILD].

. tests/cases.sh
draw_small
. tests/labs.sh
columns=lab,program,backend,net,ranks,quantity,unit,value,low,high,predicted,residual_pct
lab01=$scratch/results/01-shm-10gbe-2.csv
lab07=$scratch/results/07-shm-10gbe-3.csv

lab() {
    local expected=$1
    shift
    run "$expected" "$commlab" lab --results "$scratch/results" "$@"
}

# lab_refuses STATUS WORDS ARGS...: also with a folder for results, which is not made.
lab_refuses() {
    local expected=$1 words=$2
    shift 2
    refuses "$expected" "$words" "$commlab" lab --results "$scratch/refused" "$@"
}

# ---- lab runs ------------------------------------------------------------------------------------------------------

runs_lab_01() { lab 0 01 --net 10gbe --pairs 2 --sizes 4096 --iterations 1,8 --no-sweep --no-plot && [ -s "$lab01" ]; }
goes_on_without_a_broken_profile() {
    printf '[profile]\nmachine = x\nnoise = inf %%\n' >"$scratch/broken.net"
    CLAB_PROFILE=$scratch/broken.net lab 0 01 --pairs 1 --sizes 64 --iterations 1 --no-sweep --no-plot || return 1
    why=$(grep '^# warning' "$scratch/out")
    [[ $why == '# warning: 1 pair: '*'times are not predicted: '*broken.net:3:*'run ./commlab fit'* ]] || return 1
    why=$(grep -E '^ +op ' "$scratch/out") # of one iteration no program has one, and nothing is predicted
    ! [[ $why == *' 0 s'* ]] && counts 0 "$scratch/results/01-shm-none-2.csv" '$6 == "op" && $11 != ""' || return 1
    rm "$scratch/results/01-shm-none-2.csv"
    CLAB_PROFILE=$scratch/broken.net lab_refuses 2 'run ./commlab fit' 07 --net "$scratch/broken.net"
}
runs_lab_07() { lab 0 7 --net 10gbe -n 3 --pairs 2 --sizes 8,4096 --no-sweep --no-plot && [ -s "$lab07" ]; }

has_the_columns() {
    why="other columns: $(grep -v '^#' "$lab01" | head -n 1)"
    [ "$(grep -v '^#' "$lab01" | head -n 1)" = "$columns" ] && counts 0 "$lab01" 'NF != 12' &&
        counts 0 "$lab07" '$1 != "07" || $3 != "shm" || $4 != "10gbe" || $5 != 3'
}

has_a_manifest() {
    for key in lab command machine kernel commit bytes pairs net; do
        why="no '# $key: ' in $lab07"
        grep -q "^# $key: ." "$lab07" || return 1
    done
}

has_intervals_around_values() {
    counts 0 "$lab01" '!($9 <= $8 && $8 <= $10)' && counts 0 "$lab07" '!($9 <= $8 && $8 <= $10)'
}

# Lab 07: time, messages, bytes_sent and checksum of one by hand and four algorithms at two sizes.
reports_each_quantity_of_both() {
    counts 8 "$lab07" '$2 == "before"' && counts 26 "$lab07" '$2 == "after"' &&
        counts 10 "$lab07" '$6 ~ "^time/" && $7 == "s" && $8 > 0' &&
        counts 5 "$lab01" '$2 == "before" && $6 !~ "/|checksum"'
}

has_ratio_rows() {
    counts 1 "$lab01" '$2 == "after/before" && $6 == "ratio" && $7 == 1 && $8 > 0' &&
        counts 1 "$lab07" '$6 == "ratio"' && counts 8 "$lab07" '$2 == "after/before" && $6 ~ "^ratio/time/"'
}

# A ratio is a time of before over one of after: with two pairs its interval spans what the medians' quotient can be.
ratios_are_of_before_over_after() {
    why=$(awk -F, '$6 == "iteration/8" && $2 == "before" { b = $8 } $6 == "iteration/8" && $2 == "after" { a = $8 }
        $6 == "ratio" { low = $9; high = $10 }
        END { if (!(a > 0 && low > 0)) print "no rows"
              else if (b / a < 0.5 * low || b / a > 2 * high) print b / a " is not " low " to " high }' "$lab01" 2>&1)
    [ -z "$why" ]
}

sweeps_other_numbers_of_ranks() {
    lab 0 07 -n 3 --pairs 1 --sizes 8 --no-plot --net 1gbe || return 1
    counts 4 "$scratch/results/07-shm-1gbe-3.csv" '$2 == "before" && $5 == 2' && rm "$scratch/results/07-shm-1gbe-3.csv"
}

# A ring of three sends four messages; by hand, two of the whole buffer.
counts_what_is_sent() {
    counts 1 "$lab07" '$6 == "messages/ring/4096" && $8 == 4 && $11 == 4' &&
        counts 1 "$lab07" '$6 == "bytes_sent/by_hand/4096" && $8 == 8192 && $11 == 8192' &&
        counts 0 "$lab07" '($6 ~ "^messages/" || $6 ~ "^bytes_sent/") && $8 != $11'
}

predicts_by_the_network() {
    counts 0 "$lab07" '$6 ~ "^time/" && !($11 > 0)' &&
        counts 0 "$lab07" '$6 ~ "^time/" && ($12 - 100 * ($8 - $11) / $8) ^ 2 > 0.01'
}

# ---- an emulated wire ------------------------------------------------------------------------------------------------

# What goes both ways over 100 Mbit/s takes 84 us a KiB, whatever this machine is: at least that.
runs_on_an_emulated_wire() {
    local csv=$scratch/wire/07-shm-100mbit-2.csv
    run 0 "$commlab" lab 07 -n 2 --emulate 100mbit --pairs 1 --sizes 65536 --no-sweep --no-plot \
        --results "$scratch/wire" &&
        counts 0 "$csv" '$4 != "100mbit"' && counts 5 "$csv" '$6 ~ "^time/" && $8 > 0.005 && $11 > 0.005' || return 1
    why="$(cat "$scratch/out")"
    grep -q '^# emulate: 100mbit' "$csv" && grep -q 'with an emulated wire' "$scratch/out" &&
        [ "$(awk '{ print length }' "$scratch/out" | sort -n | tail -n 1)" -le 120 ]
}

# Lab 03 has a wire of its own. It is left out where another network, none or the backend sim is asked for.
small_lab_03() { lab 0 03 -n 2 --pairs 1 --sizes 16 --no-sweep --no-plot "$@"; }
emulates_the_labs_own_wire() {
    small_lab_03 && why=$(cat "$scratch/out") || return 1
    grep -q '^# messages take as long as on the network 1gbe; `--emulate none`' "$scratch/out" &&
        ! grep -q '^# without an emulated wire' "$scratch/out" &&
        grep -q '^# emulate: 1gbe' "$scratch/results/03-shm-1gbe-2.csv" &&
        counts 2 "$scratch/results/03-shm-1gbe-2.csv" '$2 != "after/before" && $6 ~ "^time/" && $8 > 0.00006'
}
# All labs in one command: a network that one names by itself is not the next one's. A quick run has fewer before and behind
# the one that does.
runs_each_lab_on_its_own_network() {
    local kit=$scratch/of-all networks
    networks="$(printf 'dgx-h100 %.0s' {1..10})cluster-25gbe dgx-h100 25gbe dgx-h100"
    mkdir -p "$kit/build" && cp "$commlab" "$kit/build/" && cp -r labs sim plots "$kit/" && cp -rl "$build/labs" "$kit/build/" || return 1
    if ! is_full; then
        leave_out 8
        rm -r "$kit"/labs/0[124568]-* "$kit"/labs/1[12]-*
        networks='dgx-h100 dgx-h100 dgx-h100 dgx-h100 cluster-25gbe dgx-h100'
    fi
    "$kit/build/commlab" lab all --backend sim --no-sweep --no-plot --results "$scratch/all" >"$scratch/out" 2>"$scratch/err"
    why="status $?: $(cat "$scratch/err") $(grep -o 'in virtual time on [^,]*' "$scratch/out")"
    [ "$why" = "status 0:  $(printf 'in virtual time on %s\n' $networks)" ]
}
leaves_the_labs_own_wire_out() {
    local csv words
    for words in '--emulate none' '--net 10gbe'; do
        small_lab_03 $words && why="$words: $(cat "$scratch/out")" || return 1
        csv=$(sed -n 's/^# data: //p' "$scratch/out")
        grep -q '^# without an emulated wire: all ranks copy by the same cores' "$scratch/out" &&
            grep -q '^# plain: all ranks copy' "$csv" && ! grep -q '^# emulate' "$csv" || return 1
    done
    CLAB_EMULATE=100mbit small_lab_03 --emulate none && why=$(cat "$scratch/out") || return 1
    grep -q '^# without an emulated wire' "$scratch/out" || return 1
    small_lab_03 --backend sim --net dgx-h100 && why=$(cat "$scratch/out") || return 1
    ! grep -q 'wire' "$scratch/out" && rm "$scratch"/results/03-*
}
refuses_two_networks() { lab_refuses 2 'give one of them' 07 --emulate 1gbe --net 10gbe; }
refuses_emulating_what_is_simulated() { lab_refuses 2 'say --net 1gbe instead' 07 --backend sim --emulate 1gbe; }
refuses_to_emulate_unknown_networks() { lab_refuses 2 "'moon'" 07 --emulate moon; }

# ---- a machine that others use --------------------------------------------------------------------------------------

# Here other programs may hold up a rank, too: what the programs say is sound, and the monitored barrier's word is about
# right.
runs_labs_00_and_06() {
    lab 0 00 --net 1gbe --pairs 1 --sizes 4096 --iterations 6,12 --no-plot &&
        lab 0 06 --net 1gbe --pairs 3 --sizes 2097152 --iterations 1600 --no-plot ||
        return 1
    counts 1 "$scratch/results/00-shm-1gbe-2.csv" '$6 == "interval/12" && $7 == "%"' &&
        counts 1 "$scratch/results/06-shm-1gbe-2.csv" '$2 == "after" && $6 == "named/1600" && $8 == 1' || return 1
    rm "$scratch"/results/0[06]-*
}

# Lab 04: rows of before name what it ran on, another backend or another network. At 4 MiB both ways a wire of 1 Gbit/s
# takes 33 ms, and one of 10 a tenth of it, which cores that others use do not make up for.
compares_backends() {
    lab 0 04 --pairs 1 --sizes 8,4096 --no-sweep --no-plot --net 10gbe || return 1
    counts 0 "$scratch/results/04-shm-10gbe-2.csv" '$2 == "before" && ($3 == "shm" || $8 == 0)' &&
        counts 2 "$scratch/results/04-shm-10gbe-2.csv" '$2 == "after" && $3 == "shm" && $6 ~ "^time/"' || return 1
    lab 0 04 --pairs 1 --sizes 8,4194304 --no-sweep --no-plot --emulate 10gbe || return 1
    counts 5 "$scratch/results/04-shm-10gbe-2.csv" '$2 == "before" && $4 == "1gbe" && $6 !~ "^checksum/"' &&
        counts 1 "$scratch/results/04-shm-10gbe-2.csv" '$2 == "before" && $6 == "time/4194304" && $8 > 0.033' &&
        counts 1 "$scratch/results/04-shm-10gbe-2.csv" '$6 == "ratio/time/4194304" && $8 > 1' || return 1
    rm "$scratch/results/04-shm-10gbe-2.csv"
}

# ---- a lab that is wrong --------------------------------------------------------------------------------------------

# A kit of our own, in which `after` is another program.
other_kit() {
    local kit=$scratch/kit lab=labs/07-ring-vs-tree
    rm -rf "$kit"
    mkdir -p "$kit/build/$lab" "$kit/plots" "$kit/labs"
    cp "$commlab" "$kit/build/" && cp plots/*.gp "$kit/plots/" && cp -r $lab "$kit/labs/" &&
        cp "$build/$lab/before" "$kit/build/$lab/" && printf '#!/bin/sh\n%s\n' "$1" >"$kit/build/$lab/after" &&
        chmod +x "$kit/build/$lab/after"
}

kit_lab() { run 1 "$scratch/kit/build/commlab" lab 07 --pairs 1 --sizes 8 --results "$scratch/kit/results"; }

says_which_result_differs() {
    other_kit 'echo "checksum/sum/8,1,4,1,-1,-1,-1" >>"$CLAB_RESULTS"' && kit_lab || return 1
    why="$(cat "$scratch/err")"
    grep -q 'checksum/sum/8 differs: before has' "$scratch/err" && [ ! -e "$scratch/kit/results/07-shm-none-4.csv" ]
}

says_which_program_failed() {
    other_kit 'exit 3' && kit_lab || return 1
    why="$(cat "$scratch/err")"
    grep -q '07-ring-vs-tree/after -n 4 failed; its output is in ' "$scratch/err"
}

says_which_row_is_malformed() {
    other_kit 'echo nonsense >>"$CLAB_RESULTS"' && kit_lab || return 1
    why="$(cat "$scratch/err")"
    grep -q ':1: not a row of clab_report' "$scratch/err"
}

says_which_setting_is_wrong() {
    other_kit : && sed -i 's/^ranks .*/ranks = many/' "$scratch/kit/labs/07-ring-vs-tree/lab.conf" &&
        run 1 "$scratch/kit/build/commlab" lab 07 || return 1
    why="$(cat "$scratch/err")"
    grep -q "lab.conf:8: ranks = 'many': expected" "$scratch/err"
}

# processes_of FOLDER: those whose program lies in it.
processes_of() {
    find /proc -maxdepth 2 -name exe -lname "$1/*" 2>/dev/null | cut -d/ -f3
}

# appears FILE: within a minute.
appears() {
    local i
    for ((i = 0; i < 1200; i++)); do
        [ -s "$1" ] && return 0
        sleep 0.05
    done
    return 1
}

# Its program, which takes its time to end, has ended when the lab has; and the file for its rows is gone.
leaves_nothing_when_it_is_ended() {
    local lab status
    other_kit "trap 'sleep 0.3; echo ended >$scratch/ended; exit 1' TERM
echo \"\$CLAB_RESULTS\" >$scratch/rows.tmp; mv $scratch/rows.tmp $scratch/rows; while :; do sleep 0.05; done" ||
        return 1
    "$scratch/kit/build/commlab" lab 07 --pairs 1 --sizes 8 --no-sweep --results "$scratch/kit/results" \
        >"$scratch/out" 2>"$scratch/err" &
    lab=$!
    why='its program did not start' && appears "$scratch/rows" && kill -TERM $lab || return 1
    wait $lab
    status=$?
    why="status $status, not 143: $(cat "$scratch/err")"
    [ $status -eq 143 ] && [ ! -s "$scratch/err" ] || return 1
    why="its program goes on, or $(cat "$scratch/rows") is left"
    [ -e "$scratch/ended" ] && [ ! -e "$(cat "$scratch/rows")" ]
}

# The same of the lab's own programs, at whatever they are.
leaves_no_ranks_when_it_is_ended() {
    local lab i
    other_kit : && cp "$build/labs/07-ring-vs-tree/after" "$scratch/kit/build/labs/07-ring-vs-tree/" || return 1
    "$scratch/kit/build/commlab" lab 07 -n 2 --pairs 1000 --sizes 8,65536 --no-sweep --results "$scratch/kit/results" \
        >"$scratch/out" 2>"$scratch/err" &
    lab=$!
    why='its programs did not start'
    for ((i = 0; i < 600 && $(processes_of "$scratch/kit/build/labs" | wc -l) < 2; i++)); do sleep 0.05; done
    [ $i -lt 600 ] && kill -TERM $lab || return 1
    wait $lab
    why="status $?, not 143, or left: $(processes_of "$scratch/kit") $(cat "$scratch/err")"
    [[ $why == 'status 143,'* ]] && [ -z "$(processes_of "$scratch/kit")" ]
}

# Programs that do nothing: nearly all of its time is that of the jobs by which it measures how far apart cores are.
# When it is told to end as one of these has just ended, it ends, too, and says nothing.
ends_between_programs() {
    local lab i j times=16
    is_full || times=6
    other_kit : && cp "$scratch/kit/build/labs/07-ring-vs-tree/"{after,before} || return 1
    for ((i = 0; i < times; i++)); do
        "$scratch/kit/build/commlab" lab 07 -n 2 --pairs 1000 --sizes 8 --no-sweep --results "$scratch/kit/results" \
            >"$scratch/out" 2>"$scratch/err" &
        lab=$!
        sleep "0.$((100 + 13 * 16 / times * i))"
        kill -TERM $lab
        for ((j = 0; j < 400; j++)); do kill -0 $lab 2>/dev/null || break; sleep 0.05; done
        [ $j -lt 400 ] || kill -KILL $lab
        wait $lab
        why="time $((i + 1)) of $times: status $?, not 143, or said: $(cat "$scratch/err")"
        [[ $why == *'status 143,'* ]] && [ ! -s "$scratch/err" ] || return 1
    done
}

# ---- what it prints -------------------------------------------------------------------------------------------------

# From another folder than the kit's, too.
names_files_as_seen_from_here() {
    local file
    other_kit : && cp "$build/labs/07-ring-vs-tree/after" "$scratch/kit/build/labs/07-ring-vs-tree/" || return 1
    why=$(cd "$scratch" && kit/build/commlab lab 07 -n 2 --net 1gbe --pairs 1 --sizes 8 --no-sweep --no-plot)
    file=$(sed -n 's/^# data: //p' <<<"$why")
    [ "$file" = kit/results/07-shm-1gbe-2.csv ] && [ -s "$scratch/$file" ]
}

# Of fewer than six pairs there is no interval of 95 %: the table and the file say so, and of six do not.
says_that_few_pairs_have_ranges() { # of six: below
    local pairs
    for pairs in 2 5; do
        lab 0 07 -n 2 --net 1gbe --pairs $pairs --sizes 8 --no-sweep --no-plot || return 1
        why="of $pairs pairs: $(grep '^#' "$scratch/out" "$scratch/results/07-shm-1gbe-2.csv")"
        grep -q "^# warning: $pairs pairs: ranges, not 95 % intervals" "$scratch/out" &&
            grep -q "^# warning: $pairs pairs: ranges" "$scratch/results/07-shm-1gbe-2.csv" || return 1
    done
    rm "$scratch/results/07-shm-1gbe-2.csv"
}
says_that_a_sweep_of_few_pairs_has_ranges() { # one other number of ranks is a sweep
    local conf=$scratch/kit/labs/07-ring-vs-tree/lab.conf csv=$scratch/kit/results/07-shm-1gbe-2.csv
    other_kit : && cp "$build/labs/07-ring-vs-tree/after" "$scratch/kit/build/labs/07-ring-vs-tree/" &&
        sed -i 's/^sweep  *=.*/sweep = 3/' "$conf" &&
        run 0 "$scratch/kit/build/commlab" lab 07 -n 2 --net 1gbe --pairs 6 --sizes 8 --no-plot || return 1
    why="$(cat "$scratch/out" "$csv")"
    grep -q ',before,shm,1gbe,3,' <<<"$why" && ! grep -q 'ranges' <<<"$why" || return 1
    sed -i 's/^sweep_pairs.*/sweep_pairs = 3/' "$conf" &&
        run 0 "$scratch/kit/build/commlab" lab 07 -n 2 --net 1gbe --pairs 6 --sizes 8 --no-plot || return 1
    why="$(grep '^#' "$scratch/out")"
    grep -q '^# warning: 3 pairs at other numbers of ranks: ranges there, not 95 % intervals' "$scratch/out"
}

# Three pairs whose after takes 1 us, 1 ms and 1 s, of the longest name there is.
has_at_most_120_columns() {
    other_kit "n=\$(cat $scratch/n 2>/dev/null || echo -9); echo \$((n + 3)) >$scratch/n
for q in ring tree doubling halving_doubling; do echo time/\$q/2097152,s,4,1,1e\$((n + 3)),1,1 >>\"\$CLAB_RESULTS\"; done" &&
        rm -f "$scratch/n" &&
        run 0 "$scratch/kit/build/commlab" lab 07 --net 1gbe --pairs 3 --sizes 2097152 --no-sweep --no-plot || return 1
    fits_120_columns && why="$(cat "$scratch/out")" &&
        grep -q 'time/halving_doubling/2097152 .*\.\.>999 ' "$scratch/out"
}

# ---- a figure and the page ------------------------------------------------------------------------------------------

reporter=$(take_kit_of_claims 6 && echo "$commlab") || exit 1
plots=${reporter%/commlab}/plots

draws_and_reports() {
    run 0 "$reporter" report "$scratch/results" --output "$scratch/page" || return 1
    why="gnuplot said: $(cat "$scratch/err")"
    [ ! -s "$scratch/err" ] || return 1
    for text in 'data:image/svg' '<h2>Lab 01: ' '<h2>Lab 07: ' '<th scope="col">residual_pct</th>' \
        'alt="For each number' '07-shm-10gbe-3.csv</a>'; do
        why="no $text in the page"
        grep -qF "$text" "$scratch/page/index.html" || return 1
    done
    why="$(cat "$plots/07-shm-10gbe-3.txt")"
    [ -s "$plots/07-shm-10gbe-3.svg" ] && [ -s "$plots/07-shm-10gbe-3.png" ]
}

draws_what_a_bench_measured() {
    mkdir -p "$scratch/bench"
    local sizes='-n 2 -b 8 -e 64 -f 8 --seconds 0.01s --net 10gbe'
    run 0 "$commlab" bench allreduce $sizes --algo doubling --csv "$scratch/bench/bench-a.csv" &&
        run 0 "$commlab" bench barrier gather $sizes --csv "$scratch/bench/bench-b.csv" &&
        run 0 "$reporter" report "$scratch/bench" --output "$scratch/bench" || return 1
    why="gnuplot said: $(cat "$scratch/err")"
    [ ! -s "$scratch/err" ] || return 1
    for figure in a-allreduce a-prediction b-collectives b-prediction; do
        why="no figure $figure"
        [ -s "$plots/bench-$figure.svg" ] || return 1
    done
}

says_which_package_draws() {
    run 0 env PATH="$scratch/nothing" "$reporter" report "$scratch/results" --output "$scratch/page" ||
        return 1
    why="not one line: $(cat "$scratch/err")"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q 'install gnuplot-nox' "$scratch/err" &&
        grep -q 'residual_pct' "$scratch/page/index.html"
}

report_leaves_no_folder_when_it_is_ended() {
    leaves_no_folder "$reporter" report "$scratch/results" --output "$scratch/page4"
}

# Nor who draws: a gnuplot that takes its time.
report_leaves_no_gnuplot_when_it_is_ended() {
    local report gnuplot i
    mkdir -p "$scratch/slow" && printf '#!/bin/sh\necho $$ >%s.tmp\nmv %s.tmp %s\nexec sleep 60\n' \
        "$scratch/drawing"{,,} >"$scratch/slow/gnuplot" && chmod +x "$scratch/slow/gnuplot" || return 1
    PATH=$scratch/slow:$PATH "$reporter" report "$scratch/results" --output "$scratch/page5" \
        >"$scratch/out" 2>"$scratch/err" &
    report=$!
    why='no gnuplot was started' && appears "$scratch/drawing" && kill -TERM $report || return 1
    { wait $report; } 2>/dev/null
    why="status $?, not 143: $(cat "$scratch/err")"
    [[ $why == 'status 143,'* ]] || return 1
    gnuplot=$(cat "$scratch/drawing")
    for ((i = 0; i < 200; i++)); do
        grep -q '^State:\s[^Z]' "/proc/$gnuplot/status" 2>/dev/null || return 0
        sleep 0.05
    done
    why="gnuplot $gnuplot is left"
    kill $gnuplot
    return 1
}

reports_nothing_without_results() {
    run 1 "$reporter" report "$scratch/empty" --output "$scratch/page2" && why="$(cat "$scratch/err")" &&
        grep -q 'commlab lab 07' "$scratch/err" && [ ! -e "$scratch/page2/index.html" ] && [ ! -e "$scratch/empty" ]
}

# ---- mistakes -------------------------------------------------------------------------------------------------------

lists_the_labs() {
    lab_refuses 2 '00-noise 01-reinit-comm ' 99 && lab_refuses 2 '01-reinit-comm' && lab_refuses 2 "'x'" x
}
programs_have_help() {
    local program
    for program in "$build"/labs/*/{before,after}; do
        writes 'Usage:' "$program" -n 3 --help && writes '--backend=NAME' "$program" --help || return 1
        why="$program says nothing of what it does"
        # Its first sentence, of one line or two.
        awk 'NR > 1 && !NF { exit } NR > 1 { printf "%s ", $0 }' "$scratch/out" |
            grep -qE '^[A-Z][a-z]* [^ ]+ [^.]*\. ' || return 1
        why="$program says nothing of its arguments"
        grep -qE '^  [A-Z]+(\.\.\.)?  +[^ ]' "$scratch/out" || return 1
    done
}
programs_name_what_is_odd() {
    subject=("$build/labs/01-reinit-comm/after" -n 1)
    run 2 64K && head -n 1 "$scratch/err" | grep -q '^commlab: error: after: an argument is missing: give BYTES' &&
        run 2 64K x && head -n 1 "$scratch/err" | grep -q "^commlab: error: after: 'x': give BYTES"
    local result=$?
    subject=()
    return $result
}
refuses_no_ranks() { lab_refuses 2 "-n '0'" 07 -n 0; }
# Said at once, not when the figure can not be drawn. A lab's name does without its number.
refuses_a_rank_alone() { lab_refuses 2 '-n 1: lab 07 compares how ranks work together; type -n 2 or more' ring-vs-tree -n 1; }
refuses_no_pairs() { lab_refuses 2 "--pairs '0'" 07 --pairs 0; }
refuses_bad_sizes() { lab_refuses 2 "--sizes '8,x'" 07 --sizes 8,x && lab_refuses 2 "--sizes ''" 07 --sizes ''; }
refuses_iterations_of_a_lab_without() { lab_refuses 2 'lab 07 has none' 07 --iterations 1; }
refuses_unknown_backends() { lab_refuses 2 '--backend pigeon: lab 07 runs on: shm' 07 --backend pigeon; }
refuses_unknown_networks() { lab_refuses 2 "'moon'" 07 --net moon; }
refuses_unknown_options() { run 2 "$commlab" lab --no-such-option; }
refuses_unwritable_results() { run 1 "$commlab" lab 07 --results /proc/none && [ "$(wc -l <"$scratch/err")" -eq 1 ]; }

lab 0 01 --pairs 1 --sizes 64 --iterations 1 --no-sweep --no-plot
if grep -q 'without inih' "$scratch/err"; then
    skip 'built without inih, so lab.conf can not be read' all
    exit 0
fi
rm -rf "$scratch/results"

check_each runs_each_lab_on_its_own_network
check_each runs_lab_01 runs_lab_07 runs_labs_00_and_06 goes_on_without_a_broken_profile has_the_columns has_a_manifest \
    has_intervals_around_values reports_each_quantity_of_both has_ratio_rows ratios_are_of_before_over_after \
    sweeps_other_numbers_of_ranks counts_what_is_sent predicts_by_the_network runs_on_an_emulated_wire \
    emulates_the_labs_own_wire leaves_the_labs_own_wire_out refuses_two_networks \
    refuses_emulating_what_is_simulated refuses_to_emulate_unknown_networks \
    says_which_result_differs says_which_program_failed says_which_row_is_malformed says_which_setting_is_wrong \
    leaves_nothing_when_it_is_ended leaves_no_ranks_when_it_is_ended ends_between_programs \
    names_files_as_seen_from_here says_that_few_pairs_have_ranges says_that_a_sweep_of_few_pairs_has_ranges \
    has_at_most_120_columns says_which_package_draws \
    report_leaves_no_folder_when_it_is_ended report_leaves_no_gnuplot_when_it_is_ended reports_nothing_without_results \
    lists_the_labs programs_have_help programs_name_what_is_odd refuses_no_ranks refuses_a_rank_alone refuses_no_pairs refuses_bad_sizes \
    refuses_iterations_of_a_lab_without refuses_unknown_backends refuses_unknown_networks refuses_unknown_options \
    refuses_unwritable_results
if lacks gloo && lacks libfabric; then
    skip 'built without another backend' compares_backends
else
    check compares_backends
fi
check_having gnuplot draws_and_reports draws_what_a_bench_measured
exit $failed
