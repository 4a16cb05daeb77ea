#!/bin/bash
# SPDX-License-Identifier: MIT
# A student who types what `next` says, and nothing else, from an empty work/ until lab 07 has passed: in a copy of the
# kit. Usage: test_student.sh [BUILD [literally]]. Takes long. Only in a full run: 4 cases.
#
# - The command is the only line of `next` that is indented. It is typed as it is. But the test has to end in time,
#   also on a busy machine: for `fit`, a recorded profile is put in place, and `lab` runs in virtual time, without a figure.
#   With `literally`, both are typed as they are, too; this takes five to fifteen minutes.
# - Predictions are filled in by an editor of our own. The first check of a unit is of the file as `start` gave it, and
#   must fail. Then the student mends it, which here means: takes over what after.c has.

. tests/cases.sh
literally=${2-}
kit=$scratch/kit
profile=$(realpath tests/fuzz/corpus/net/profile.net)
built=$kit/$build # at the same depth, since labcc finds headers from there
mkdir -p "$built" && cp -r core labs plots sim "$kit/" && cp "$commlab" "$build/labcc" "$build/probes.txt" "$built/" &&
    cp -al "$build/labs" "$built/" && find "$built/labs" -name run.log -delete &&
    ln "$build/libcommlab.a" "$built/" && ln -s "$build/commlab" "$kit/commlab" || exit 1
[ ! -d "$build/backends" ] || cp -r "$build/backends" "$built/"
cd "$kit" || exit 1
unset CLAB_PROFILE VISUAL
MOST=120 # commands, and more than enough

# The editor of a student who fills in each blank: the words of an order as they come, yes, and numbers that no network
# refuses, since they are slow.
cat >"$scratch/editor" <<'END'
#!/usr/bin/awk -f
!/^#/ && /= ____/ {
    name = $0
    sub(/=.*/, "", name)
    if (/____ < ____/) {
        gsub(/^[^{]*\{|\}.*/, "", name)
        gsub(/,/, " < ", name)
        sub(/____( < ____)+/, name)
    } else if (name ~ / [<>] /)
        sub(/____/, "yes")
    else if (!sub(/____\.\.____/, "1..2"))
        sub(/____/, /____ (us|ms)( |$)/ ? "900" : / rank / ? "1" : "3")
}
{ print > FILENAME ".filled" }
END { system("mv " FILENAME ".filled " FILENAME) }
END
chmod +x "$scratch/editor"
export EDITOR=$scratch/editor

# type_in COMMAND: what it writes is left in `said`, its status in `status`.
type_in() {
    local command=$1
    case $literally$command in
    './commlab fit') command="grep -v ^other $profile >$build/machine.net" ;;
    './commlab lab '*) command="$command --backend sim --net 1gbe --pairs 1 --no-sweep --no-plot" ;;
    esac
    said=$(timeout 600 bash -c "$command" 2>&1 </dev/null)
    status=$?
    echo "# $SECONDS s: $command: $status"
}

# check UNIT: at first it fails with advice, and when the file is mended it passes.
check_unit() {
    local unit=$1 folder
    why="\`./commlab check $unit\`: status $status: $said"
    if [ -z "${mended[$unit]-}" ]; then
        [ $status -eq 1 ] && grep -q '^  FAIL ' <<<"$said" && grep -q "./commlab hint $unit" <<<"$said" || return 1
        [ "$unit" != p1 ] || grep -q 'Run it by hand: work/p1/mine -n 4 --backend shm 100$' <<<"$said" || return 1
        folder=$(echo labs/"$unit"-* labs/primer/"$unit"-* | tr ' ' '\n' | grep -v '\*')
        cp "$folder/after.c" "work/$unit/mine.c"
        mended[$unit]=1
    else
        [ $status -eq 0 ] && grep -qE '^[0-9]+ of [0-9]+ cases pass' <<<"$said" && [ -x "work/$unit/mine" ]
    fi
}

# One step. False, with `why`: the student is stuck.
declare -A mended=() typed=()
step() {
    local words
    why="next: $(./commlab next 2>&1)"
    command=$(./commlab next | grep '^    ' | sed 's/^ *//')
    [ -n "$command" ] && [ "$(wc -l <<<"$command")" -eq 1 ] || return 1
    read -ra words <<<"$command"
    type_in "$command"
    why="\`$command\`: status $status: $said"
    typed[$command]=$((${typed[$command]-0} + 1))
    [ ${typed[$command]} -le 2 ] || return 1
    case $command in
    './commlab check '*) check_unit "${words[2]}" ;;
    *) [ $status -eq 0 ] ;;
    esac
}

last=07 typing='check p5,predict 00,lab 00,start 07,check 07' least=10
goes_from_an_empty_folder_to_the_last_unit() {
    for ((i = 0; i < MOST; i++)); do
        step || return 1
        ! grep -qE " $last +passed" work/progress.txt || return 0
    done
    why="lab $last has not passed after $MOST commands"
    return 1
}
has_typed() {
    local command commands
    IFS=, read -ra commands <<<"fit,card,start p1,$typing"
    for command in "${commands[@]}"; do
        why="\`next\` never said $command; it said: ${!typed[*]}"
        [ -n "${typed[./commlab $command]-}" ] || return 1
    done
}
status_shows_it() {
    local unit
    why="only these units have passed: ${!mended[*]}"
    [ ${#mended[@]} -ge $least ] && run 0 ./commlab status || return 1
    for unit in "${!mended[@]}"; do
        why="unit $unit has not passed after two checks and no hint: $(cat "$scratch/out")"
        grep -qE "^ *$unit +passed +2 0 of " "$scratch/out" || return 1
    done
}
predictions_are_locked() {
    why="locked: $(ls work/*/predict.locked.txt)"
    [ -s work/$last/predict.locked.txt ] && ! grep -q '= ____' work/$last/predict.locked.txt
}

# The command that check prints for a crash leads to its line.
names_the_line_of_a_crash() {
    local command line=21
    sed "$line s/.*/int *nowhere = 0; double sum = *nowhere, added = 0;/" labs/primer/p1-hello/before.c >work/p1/mine.c
    run 1 ./commlab check p1 && command=$(sed -n 's/^To see the line of the crash: //p' "$scratch/out") && [ -n "$command" ] || return 1
    type_in "$command"
    why="$command: $said"
    grep -q "in main .*mine.c:$line" <<<"$said"
}

if lacks inih; then
    skip 'built without inih, so lab.conf can not be read' all
    exit 0
fi
# Of its parts, test_check.sh, test_path.sh and test_predict.sh have the same.
check_each goes_from_an_empty_folder_to_the_last_unit has_typed status_shows_it predictions_are_locked names_the_line_of_a_crash
exit $failed
