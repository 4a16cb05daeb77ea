#!/bin/bash
# SPDX-License-Identifier: MIT
# labs/record.sh: what it runs, what it keeps of expected/, what it replaces. The program is one that writes rows of its
# own, so that nothing is measured here.
# Usage: test_record.sh [BUILD].

. tests/cases.sh
kit=$scratch/kit
expected=$kit/labs/02-x/expected

# A kit with lab 02, whose program makes results/02-BACKEND-NET-RANKS.csv of its options, and says so.
new_kit() {
    rm -rf "$kit"
    mkdir -p "$kit/labs/02-x" "$kit/results"
    cp labs/record.sh "$kit/labs/"
    cat >"$kit/commlab" <<'SH'
#!/bin/bash
backend=shm net=machine ranks=2
words="$*"
while [ $# -gt 0 ]; do
    case $1 in
    --backend) backend=$2 ;;
    --net | --emulate) net=$2 ;;
    -n) ranks=$2 ;;
    esac
    shift
done
[ "$net" != broken ] || exit 1
file=results/02-$backend-$net-$ranks.csv
printf '# lab: 02\n# command: ./commlab %s\nrow of %s\n' "$words" "$(cat times 2>/dev/null)" >"$file"
printf '# lab 02\n# warning: x\n# data: %s\n' "$file"
SH
    chmod +x "$kit/commlab"
}
record() { run "$1" "$kit/labs/record.sh" "${@:2}"; }
files() {
    why="$(ls "$expected") instead of $*"
    [ "$(cd "$expected" && echo *)" = "$*" ]
}

records_this_machine_and_virtual_time_at_first() {
    new_kit && record 0 02 && files 02-shm-machine-2.csv 02-sim-dgx-h100-8.csv run.txt || return 1
    why=$(cat "$expected/run.txt" "$scratch/out")
    grep -q '^# data: results/02-shm-machine-2.csv' "$expected/run.txt" && grep -q SPDX "$expected/run.txt" &&
        head -n 1 "$expected/02-shm-machine-2.csv" | grep -q SPDX &&
        grep -q '02-sim-dgx-h100-8.csv: 1 warnings' "$scratch/out"
}
adds_a_variant_and_keeps_the_others() {
    new_kit && record 0 02 && echo again >"$kit/times" && record 0 02 -- --emulate 1gbe &&
        files 02-shm-1gbe-2.csv 02-shm-machine-2.csv 02-sim-dgx-h100-8.csv run.txt || return 1
    why=$(tail -n 1 "$expected"/*)
    ! grep -q again "$expected/02-shm-machine-2.csv" && grep -q again "$expected/02-shm-1gbe-2.csv" &&
        grep -q 'data: .*machine' "$expected/run.txt"
}
records_all_variants_again() {
    new_kit && record 0 02 -- --emulate 1gbe && record 0 02 -- --backend sim --net dgx-h100 -n 8 --no-plot || return 1
    echo again >"$kit/times"
    record 0 02 && files 02-shm-1gbe-2.csv 02-sim-dgx-h100-8.csv run.txt || return 1
    why=$(tail -n 1 "$expected"/*)
    grep -q again "$expected/02-shm-1gbe-2.csv" && grep -q again "$expected/02-sim-dgx-h100-8.csv" &&
        grep -q 'data: .*1gbe' "$expected/run.txt"
}
keeps_all_where_a_run_fails() {
    new_kit && record 0 02 && sed -i 's/-n 8/-n 8 --emulate broken/' "$expected/02-sim-dgx-h100-8.csv" || return 1
    echo again >"$kit/times"
    record 1 02 && files 02-shm-machine-2.csv 02-sim-dgx-h100-8.csv run.txt || return 1
    why=$(tail -n 1 "$expected"/*)
    ! grep -q again "$expected/02-shm-machine-2.csv"
}
refuses_what_is_no_lab() {
    new_kit && refuses 2 'usage: labs/record.sh' "$kit/labs/record.sh" &&
        refuses 2 'usage: labs/record.sh' "$kit/labs/record.sh" 99 &&
        refuses 2 'usage: labs/record.sh' "$kit/labs/record.sh" 02 -- &&
        refuses 2 'usage: labs/record.sh' "$kit/labs/record.sh" 02 03 -- --emulate 1gbe
}

check_each records_this_machine_and_virtual_time_at_first adds_a_variant_and_keeps_the_others \
    records_all_variants_again keeps_all_where_a_run_fails refuses_what_is_no_lab
exit $failed
