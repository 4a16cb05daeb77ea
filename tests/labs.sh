# SPDX-License-Identifier: MIT
# What tests of labs share: `. tests/labs.sh`, after cases.sh.
#
# - Of all labs on a backend: each lab's programs run for a moment with two ranks, once on shm; what they count, sum and
#   learn must be the same on the other backend. What they time differs, and what follows from times.

declare -A lab_arguments=(
    [00]="4K 6" [01]="4K 1 2" [02]="500" [03]="16" [04]="8 4K" [05]="8M 4 1" [06]="512K 200" [07]="8 4K" \
    [08]="4 16 8 1 1K" [09]="2 16 8 1 14"
)

# what_it_found FILE: the rows of results that no clock is in.
what_it_found() {
    awk -F, '$2 !~ /^(s|s\/GB|%|rank|pairs|iterations)$/ && $1 !~ /^(half|regist|b_over_a)/ { print $1, $2, $5 }' "$1"
}

# lab_run BACKEND LAB PROGRAM FILE: leave its results in FILE.
lab_run() {
    subject=()
    CLAB_RESULTS=$4 run 0 timeout 60 "$(ls -d "$build/labs/$2"-*)/$3" -n 2 --backend "$1" ${lab_arguments[$2]}
}

# says_as_on_shm BACKEND LAB PROGRAM: losses may differ as sums in another order do.
says_as_on_shm() {
    local there=$scratch/$1-$2-$3 here=$scratch/shm-$2-$3
    lab_run shm "$2" "$3" "$here" && lab_run "$1" "$2" "$3" "$there" || return 1
    why=$(paste <(what_it_found "$here") <(what_it_found "$there") | awk '
        function far(a, b) { return a > b ? a - b : b - a }
        $1 != $4 || $2 != $5 || far($3, $6) > ($1 ~ /^loss/ ? 1e-5 * $3 : 0) { print "shm:", $1, $3, " there:", $4, $6 }
        END { if (!NR) print "no results" }')
    [ -z "$why" ]
}

# ---- what `commlab lab` has written and printed --------------------------------------------------------------------

# counts N FILE CONDITION: how many data rows of a lab's CSV the awk condition holds for; $1 to $12 are the columns.
counts() {
    local n
    why="there is no $2"
    [ -s "$2" ] || return 1
    n=$(awk -F, "!/^#/ && \$1 != \"lab\" && ($3)" "$2" | wc -l)
    why="$n rows of $2 have $3, not $1"
    [ "$n" -eq "$1" ]
}

# The table that a lab has printed; what it says above may be longer.
fits_120_columns() {
    why=$(awk '!/^# (warning|data|not measured): / && length > 120' "$scratch/out")
    [ -z "$why" ]
}
