#!/bin/bash
# SPDX-License-Identifier: MIT
# The machine card and predictions: `commlab card`, `commlab predict`, and what `commlab lab` makes of predictions, in a kit
# of its own. (The form of predict.txt is test_predictions.c's.)
# Usage: test_predict.sh [BUILD]. Takes long.
#
# Without CLAB_TEST_FULL=1, four labs' figures are drawn with a prediction.

. tests/cases.sh
draw_small
kit=$scratch/kit
profile=$(realpath tests/fuzz/corpus/net/profile.net)
mkdir -p "$kit/build/labs" && cp -r labs plots sim "$kit/" && cp "$commlab" "$kit/build/" &&
    grep -E '^(#|id,|6,)' labs/claims.csv >"$kit/labs/claims.csv" && # what all are by the model takes longer than the rest of a report
    cp -rl "$build"/labs/07-* "$kit/build/labs/" && rm -f "$kit"/build/labs/*/run.log &&
    ln -s build/commlab "$kit/commlab" && cd "$kit" || exit 1
build=$OLDPWD/$build # where the libraries are listed that it lacks
commlab=./commlab
subject=("$commlab")
unset VISUAL EDITOR CLAB_EMULATE CLAB_NET
export CLAB_PROFILE=$kit/build/machine.net
templates=$scratch/template && mkdir "$templates" && cp labs/07-*/predict.txt "$templates"
mine=work/07/predict.txt locked=work/07/predict.locked.txt
on_sim=(lab 07 --backend sim --net 1gbe -n 4 --no-sweep --no-plot)

# Each case begins without a student's files, on a machine that is measured.
anew() { chmod -R u+w work results 2>/dev/null; rm -rf work results && grep -v '^other' "$profile" >"$CLAB_PROFILE"; }

# fill NAME VALUE: in the student's file.
fill() { sed -i "s|^\($1 *=\) [^#]*|\1 $2 |" "$mine"; }
begun() { anew && run 0 predict 07; }

# row NAME TEXT: the card's row of that name has the text.
row() {
    why="no '$2' in the row '$1' of: $(cat "$scratch/out")"
    grep "^$1 " "$scratch/out" | grep -qF -- "$2"
}

# ---- card ----------------------------------------------------------------------------------------------------------

# A call costs more than the link's alpha, which is of the message alone.
card_prints_what_fit_measured() {
    anew
    run 0 card || return 1
    local link
    link=$(sed -n '/^\[link/,$s/^alpha = \([^ ]*\) ns.*/\1/p' "$CLAB_PROFILE" | head -n 1)
    why="alpha_i is not between $link ns and twice that: $(cat "$scratch/out")"
    awk -v link="$link" '$1 == "alpha_i" { ok = $3 == "ns" && $2 >= link && $2 <= 2 * link } END { exit !ok }' \
        "$scratch/out" || return 1
    row beta_i '/s.' && row gamma '/B' && row compute 'flop/s' && row cores '' && row line ' ns' || return 1
    why="work/card.txt differs: $(diff work/card.txt "$scratch/out")"
    diff <(grep -v '^# The same' "$scratch/out") work/card.txt >/dev/null
}
# alpha and beta are the line through what sim says of two ranks that exchange 8 B and 1 MiB, call after call; `line` is fit's.
card_is_what_labs_predict_with() {
    anew
    local short long line
    run 0 sim sendrecv --algo shift --ranks 2 --bytes 8 --calls 16 --net machine --json && short=$(json_seconds) &&
        run 0 sim sendrecv --algo shift --ranks 2 --bytes 1M --calls 16 --net machine --json && long=$(json_seconds) || return 1
    line=$(sed -n 's/^line = \([^ ]* [a-z]*\).*/\1/p' "$CLAB_PROFILE")
    run 0 card && row line "$line" && row line 'Half a round trip' || return 1
    why="8 B take $short s, 1 MiB $long s: $(cat "$scratch/out")"
    awk -v short="$short" -v long="$long" '
        function near(a, b) { return a > 0.999 * b && a < 1.001 * b }
        $1 == "alpha_i" { ok += near($2 * ($3 == "ns" ? 1e-9 : 1e-6), short) }
        $1 == "beta_i" { ok += near($2 * ($3 == "ps/B" ? 1e-12 : 1e-9), (long - short) / (1048576 - 8)) }
        END { exit ok != 2 }' "$scratch/out"
}
json_seconds() { sed -n 's/^ *"seconds": \([0-9.e-]*\),*$/\1/p' "$scratch/out" | head -n 1; }
card_is_of_any_network() {
    anew
    run 0 card --net 1gbe && row alpha '30 us' && row beta '117.6 MB/s' && row compute '96 Gflop/s' && [ -s work/card-1gbe.txt ] &&
        run 0 card --net dgx-h100 && row alpha_i '3.4 us' && row alpha_e '14 us' &&
        run 0 card --emulate 1gbe && row beta '117.6 MB/s' && row gamma '0 ps/B'
}
card_says_how_to_measure() {
    anew && rm "$CLAB_PROFILE"
    refuses 2 'fit' card && [ ! -e work/card.txt ]
}
# What a busy machine once came to: 83 TB/s.
card_doubts_what_no_machine_can() {
    anew
    run 0 card || return 1
    why="doubted: $(cat "$scratch/out")"
    ! grep -q 'can not be true' work/card.txt || return 1
    local unit
    for unit in p1 p2 p3 p4 p5; do echo "2026-01-02T03:04:05Z  $unit  passed" >>work/progress.txt; done
    run 0 next && grep -q '^    ./commlab predict 00' "$scratch/out" || return 1
    sed -i -E 's/^((beta|pull|reduce|add)[a-z_]*) = .*/\1 = 0.012 ps\/B/' "$CLAB_PROFILE" &&
        writes 'no message is faster than the fastest copy' card && writes '    ./commlab fit' next
}
card_refuses_two_networks() { refuses 2 'give one of them' card --net 1gbe --emulate 1gbe && refuses 2 "1gb" card --net 1gb; }

# ---- predict -------------------------------------------------------------------------------------------------------

predict_copies_the_blanks() {
    begun && writes "Edit $mine" predict 07 && grep -q "^# Next: fill in $mine" "$scratch/out" && grep -q ' 0 of 12 filled in, 12 blanks are left' "$scratch/out" || return 1
    why="another copy: $(diff "$mine" labs/07-ring-vs-tree/predict.txt)"
    diff "$mine" labs/07-ring-vs-tree/predict.txt >/dev/null && [ ! -e work/progress.txt ]
}
predict_checks_the_file() {
    begun && fill 'after messages/ring/8' 6 && writes '1 of 12 filled in, 11 blanks are left' predict 07 --check &&
        writes 'Next: ./commlab lab 07' predict 07 && grep -q '07  *predicted  *1 of 12' work/progress.txt
}
predict_names_the_line() {
    begun && fill 'before bytes_sent/by_hand/2097152' '6 us' || return 1
    local line
    line=$(grep -n ' 6 us' "$mine" | cut -d: -f1)
    refuses 2 "predict.txt:$line: before bytes_sent/by_hand/2097152: 'us' is not a unit" predict 07 --check || return 1
    fill 'before bytes_sent/by_hand/2097152' '6 MiB' && sed -i '/^after messages/d' "$mine" &&
        refuses 2 "'after messages/ring/8' is missing" predict 07
}
predict_holds_numbers_to_the_card() {
    begun && fill 'before time/by_hand/8' '29 us' && refuses 2 'below the time of one message, 30 us' predict 07 --check &&
        fill 'before time/by_hand/8' '31 us' && fill 'after time/ring/2097152' '1 ms' &&
        refuses 2 "more than the card's bandwidth, 117.6 MB/s" predict 07 --check
}
predict_knows_its_units() {
    anew
    refuses 2 'p1 asks for no predictions' predict p1 && refuses 2 'there is no unit' predict 77 &&
        refuses 2 'which unit?' predict && refuses 2 'there is no work/07/predict.txt yet' predict 07 --check
}
predict_opens_an_editor() {
    anew
    printf '#!/bin/sh\nsed -i "s/^after messages.*/after messages\\/ring\\/8 = $2/" "$3"\n' >"$scratch/editor" && chmod +x "$scratch/editor"
    EDITOR="$scratch/editor -x 6" run 0 predict 07 --edit && grep -q '^after messages/ring/8 = 6$' "$mine" || return 1
    EDITOR=false refuses_editor
}
refuses_editor() {
    run 1 predict 07 --edit || return 1
    why="not one line: $(cat "$scratch/err")"
    [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q "the editor 'false' failed" "$scratch/err"
}

# talk ANSWERS: as typed on a terminal, Ctrl-D at the end. What was seen is left in `seen`.
talk() {
    seen=$(printf "$1" | timeout 20 script -qec "./commlab predict 07 ${2-}" /dev/null 2>&1)
    why="seen: $seen"
}
asks_blank_by_blank() {
    anew
    talk 'abc\n3\n6\nabc\n12 us\n6\n\nrnig\nring\ndoubling<ring\n' || return 1
    [[ $seen == *'1 of 12: before messages/by_hand/8'*'expected a number, as in 5, or a range, as in 5..10'*'as in 5 MiB, or a range, as in 5..10 MiB'*"'us' is not a unit"* ]] &&
        [[ $seen == *'(ring, doubling: put these in order, that of the smallest value first, as in x < y)'*"'rnig' is none of its words: ring, doubling (did you mean 'ring'?)"*'expected all 2 words, the smallest first, as in x < y'* ]] &&
        [[ $seen == *'4 of 12 filled in, 8 blanks are left'* ]] || return 1
    why="kept: $(cat "$mine")"
    grep -q '^before messages/by_hand/8  *= 3  *# ' "$mine" && grep -q '^before bytes_sent/by_hand/2097152 = 6 MiB ' "$mine" &&
        grep -q '^after bytes_sent/ring/2097152  *= ____ MiB' "$mine" && grep -q '= doubling < ring ' "$mine" || return 1
    talk '3\n' && [[ $seen == *'1 of 8: after bytes_sent/ring/2097152, in MiB'*'5 of 12 filled in'* ]]
}

# ---- lab -----------------------------------------------------------------------------------------------------------

# predicted: a student who has filled in some of what is asked of the simulated network.
predicted() {
    begun && fill 'before time/by_hand/8' '150 us' && fill 'after time/ring/8' '200..400 us' &&
        fill 'after time/doubling/8' '180 us' && fill 'crossover time/by_hand time/ring' '0.5..1 KiB'
}
lab_says_how_to_predict() {
    anew
    run 0 "${on_sim[@]}" && grep -q '^# you have not predicted this: type ./commlab predict 07' "$scratch/out" &&
        [ ! -e work ] && [ ! -e results/07-sim-1gbe-4.yours.csv ]
}
lab_compares() {
    predicted && run 0 "${on_sim[@]}" || return 1
    why=$(sed -n '/your predictions/,$p' "$scratch/out")
    grep -q 'before time/by_hand/8  *150 us  *150.3 us  *150.3 us  *right  *right' <<<"$why" &&
        grep -q 'after time/ring/8  *200 us to 400 us .* outside: too high  *right' <<<"$why" &&
        grep -q 'after time/doubling/8 .* 3.0 times too high  *right' <<<"$why" &&
        grep -q 'crossover time/by_hand time/ring .* 0.98[0-9]* KiB  *inside  *right' <<<"$why" &&
        grep -q '^# 1 of 5 blanks of this command were left' <<<"$why" &&
        grep -q "now locked: $locked" <<<"$why" && [ "$(stat -c %a $locked)" = 444 ] && cmp -s $locked $mine || return 1
    why=$(cat results/07-sim-1gbe-4.yours.csv)
    [ "$(head -n 1 <<<"$why")" = 'program,quantity,ranks,unit,low,high' ] &&
        grep -qx 'after,time/ring/8,4,s,0.0002,0.0004' <<<"$why" &&
        grep -qx 'crossover,time/by_hand:time/ring,4,B,512,1024' <<<"$why"
}
# Of all that there can be, 100 points, and not 1e+02.
lab_says_points_in_full() {
    anew
    cp -rl "$build"/labs/02-* build/labs/
    sed -i 's/^\[.*lab 02\]$/[.\/commlab lab 02 --backend sim]/' labs/02-no-overlap/predict.txt
    run 0 predict 02 && sed -i 's/^before overlap *=/& 100 % #/' work/02/predict.txt && run 0 lab 02 --backend sim --no-sweep --no-plot || return 1
    why=$(sed -n '/your predictions/,$p' "$scratch/out")
    grep -q 'before overlap  *100 %  *0 %  *0 %  *100 points too high' <<<"$why"
}
lab_counts_what_was_locked() {
    predicted && run 0 "${on_sim[@]}" && fill 'before time/by_hand/8' '151 us' && run 0 "${on_sim[@]}" || return 1
    why=$(sed -n '/your predictions/,$p' "$scratch/out")
    grep -q 'before time/by_hand/8  *150 us' <<<"$why" && grep -q "^# $mine has changed .* ./commlab predict 07 --again" <<<"$why" &&
        writes 'so they are locked' predict 07 && run 0 predict 07 --again && [ -e work/07/predict.locked.1.txt ] &&
        [ ! -e $locked ] && run 0 "${on_sim[@]}" || return 1
    why=$(sed -n '/your predictions/,$p' "$scratch/out")
    grep -q 'before time/by_hand/8  *151 us' <<<"$why" && ! grep -q 'has changed' <<<"$why"
}
# Orders have lines of their own.
lab_says_where_an_order_differs() {
    begun && fill 'after time/{ring,doubling}/8' 'ring < doubling' && fill 'before messages/by_hand/8' 3 &&
        fill 'ratio time/ring/8 > 1' no || return 1
    sed -i 's/^\[.*sim.*/[.\/commlab lab 07 -n 4 --backend sim]/; s/^\[.*lab 07\]$/[.\/commlab lab 07 --backend sim --net 1gbe -n 4]/' \
        "$mine" labs/07-ring-vs-tree/predict.txt
    run 0 "${on_sim[@]}"
    local status=$?
    cp "$templates/predict.txt" labs/07-ring-vs-tree/
    [ $status = 0 ] || return 1
    why=$(sed -n '/your predictions/,$p' "$scratch/out")
    grep -q '^  after time/{ring,doubling}/8$' <<<"$why" &&
        grep -q '^      yours  *ring < doubling  *wrong: number 1 is doubling$' <<<"$why" &&
        grep -q '^      measured  *doubling < ring' <<<"$why" && grep -q 'messages/by_hand/8  *3  *3  *3  *right' <<<"$why" || return 1
    why="more than the number would be a mark: $(cat results/07-sim-1gbe-4.yours.csv)"
    [ "$(tail -n +2 results/07-sim-1gbe-4.yours.csv)" = before,messages/by_hand/8,4,1,3,3 ]
}
lab_takes_only_its_own() {
    begun && fill 'after messages/ring/8' 6 && run 0 "${on_sim[@]}" || return 1
    why=$(tail -n 3 "$scratch/out")
    grep -q 'you have not predicted this' <<<"$why" && [ ! -e $locked ]
}
# A command of which nothing was predicted is locked by its own first run.
lab_locks_each_command() {
    predicted && run 0 "${on_sim[@]}" || return 1
    sed -i 's/^\[.*lab 07\]$/[.\/commlab lab 07 --backend sim --net 10gbe -n 4]/' "$mine" labs/07-ring-vs-tree/predict.txt
    chmod u+w $locked && sed -i 's/^\[.*lab 07\]$/[.\/commlab lab 07 --backend sim --net 10gbe -n 4]/' $locked && chmod a-w $locked
    writes 'You can still predict `./commlab lab 07 --backend sim --net 10gbe' predict 07 && fill 'after messages/ring/8' '6' &&
        run 0 lab 07 --backend sim --net 10gbe -n 4 --no-sweep --no-plot
    local status=$?
    cp "$templates/predict.txt" labs/07-ring-vs-tree/
    [ $status = 0 ] || return 1
    why=$(sed -n '/your predictions/,$p' "$scratch/out")
    grep -q 'after messages/ring/8  *6  *6  *6  *right' <<<"$why" && ! grep -q 'has changed' <<<"$why" &&
        [ "$(stat -c %a $locked)" = 444 ] || return 1
    why=$(cat $locked)
    grep -q '^after messages/ring/8  *= 6$' $locked && grep -q '^before time/by_hand/8  *= 150 us' $locked
}
# Other sizes are another experiment: it is no step of the path, and judges nothing.
lab_does_not_judge_other_work() {
    predicted && run 0 "${on_sim[@]}" --sizes 8 || return 1
    why=$(cat "$scratch/out" work/progress.txt 2>&1)
    grep -q '^# you have not predicted this run: it has other sizes' "$scratch/out" && ! grep -q 'your predictions' "$scratch/out" &&
        [ ! -e $locked ] && [ ! -e results/07-sim-1gbe-4.yours.csv ] && ! grep -q ' ran' work/progress.txt
}
lab_refuses_a_mistake_first() {
    begun && fill 'after messages/ring/8' six || return 1
    subject=()
    refuses 2 'predict.txt:' "$commlab" "${on_sim[@]}" --results "$scratch/refused/there"
    local status=$?
    subject=("$commlab")
    return $status
}
figure_has_your_mark() {
    predicted && run 0 lab 07 --backend sim --net 1gbe -n 4 --no-sweep || return 1
    why=$(cat "$scratch/err" build/plots/07-sim-1gbe-4.txt)
    [ ! -s "$scratch/err" ] && grep -q 'your prediction' build/plots/07-sim-1gbe-4.svg || return 1
    chmod -R u+w work && rm -r work && run 0 lab 07 --backend sim --net 1gbe -n 4 --no-sweep &&
        [ ! -e results/07-sim-1gbe-4.yours.csv ] && ! grep -q 'your prediction' build/plots/07-sim-1gbe-4.svg
}
figure_lies_beside_other_results() {
    anew
    rm -rf build/plots
    run 0 lab 07 --backend sim --net 1gbe -n 4 --no-sweep --results results/other || return 1
    why=$(ls results/other build/plots 2>&1)
    [ -s results/other/07-sim-1gbe-4.svg ] && [ ! -e build/plots ]
}
# Every lab's recorded run is drawn with a prediction, and gnuplot has nothing to complain of.
each_figure_has_your_mark() {
    anew
    local file name lab ranks expected=(labs/*/expected/*.csv) drawn=(labs/0[0579]-*/expected/*.csv)
    is_full && drawn=("${expected[@]}") || leave_out $((${#expected[@]} - ${#drawn[@]}))
    rm -rf build/plots && mkdir results && cp "${drawn[@]}" results/ || return 1
    for file in results/*.csv; do
        name=$(basename "$file" .csv) lab=${file#results/}
        ranks=$(grep -v '^#' "$file" | sed -n 2p | cut -d, -f5)
        case ${lab%%-*} in
        00) set -- before,difference % 3 ;; 01) set -- after/before,ratio/iteration/16 1 10 ;; 02) set -- after,step_time s 0.05 ;;
        03) set -- after,bytes_of_zero/replicas/256 B 3e6 ;; 04) set -- after/before,ratio/time/8 1 20 ;;
        05) set -- before,asked KiB 4480 ;; 06) set -- after,lateness/2000 s 1e-3 ;; 07) set -- after,time/ring/8 s 1e-4 ;;
        09) set -- before,time/fp32/step s 5e-3 ;;
        10) set -- before,time/scattered/524288 s 1e-3 ;;
        *) set -- before,time/whole/flat s 5e-3 ;;
        esac
        printf 'program,quantity,ranks,unit,low,high\n%s,%s,%s,%s,%s\n' "$1" "$ranks" "$2" "$3" "$3" >"results/$name.yours.csv"
    done
    run 0 report || return 1
    for file in build/plots/0*.svg; do
        why="no mark in $file: $(cat "$scratch/err")"
        grep -q 'your prediction' "$file" || return 1
    done
    why=$(cat "$scratch/err")
    ! grep -q 'gnuplot said' <<<"$why"
}

if lacks inih; then
    skip 'built without inih, so networks can not be read' all
    exit 0
fi
check_each card_prints_what_fit_measured card_is_what_labs_predict_with card_is_of_any_network card_says_how_to_measure card_doubts_what_no_machine_can card_refuses_two_networks \
    predict_copies_the_blanks predict_checks_the_file predict_names_the_line predict_holds_numbers_to_the_card \
    predict_knows_its_units predict_opens_an_editor
check_having script asks_blank_by_blank
check_each lab_says_how_to_predict lab_compares lab_says_points_in_full lab_counts_what_was_locked lab_says_where_an_order_differs lab_takes_only_its_own lab_locks_each_command lab_does_not_judge_other_work lab_refuses_a_mistake_first
check_having gnuplot figure_has_your_mark figure_lies_beside_other_results each_figure_has_your_mark
exit $failed
