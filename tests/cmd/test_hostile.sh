#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that mean harm (tests/hostile/), and names that do: no command of theirs runs, nothing is written elsewhere,
# each gets one line at most, a page has none of their markup, and no file of results has a job's secret.
# Usage: test_hostile.sh [BUILD]. Takes long.

. tests/cases.sh
draw_small
hostile=$(realpath tests/hostile)
kit=$scratch/kit
# The file that their commands would make. It is named in none of them, so that a command is one wherever it runs.
export CANARY=$scratch/canary
secret=00112233445566778899aabbccddeeff

# A kit of its own, so that what is written in it can be told.
mkdir -p "$kit/build" "$scratch"/{cwd,home,tmp} && cp -r plots labs sim "$kit/" &&
    cp -r "$commlab" "$build/labs" "$build/probes.txt" "$kit/build/" || exit 1
# One claim: to compute what all are by the model takes longer than the rest of a report (test_report.sh has them).
grep -E '^(#|id,|6,)' labs/claims.csv >"$kit/labs/claims.csv"
commlab=$kit/build/commlab

# attack SECONDS COMMAND...: its status is left in `status`, what it writes in out and err. False: it did not end by
# itself, a command ran, or a file is where none belongs.
attack() {
    local limit=$1 left
    shift
    rm -f "$CANARY" && touch "$scratch/begun"
    (cd "$scratch/cwd" && HOME=$scratch/home TMPDIR=$scratch/tmp timeout -k 1 "$limit" "$@") \
        >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    why="status $status: $(tail -n 5 "$scratch/err")"
    [ $status -lt 124 ] || return 1
    why="a command ran: $(cat "$scratch/err")"
    [ ! -e "$CANARY" ] || return 1
    left=$(find "$scratch"/{cwd,home,tmp} -mindepth 1
        find "$kit" -newer "$scratch/begun" -not -type d -not -path '*/build/plots/*' -not -path '*/build/report/*' -not -name run.log)
    why="left behind: $left"
    [ -z "$left" ]
}

# stands NAME COMMAND...: an attack that the command takes, or refuses in one line, which holds NAME.
stands() {
    local name=$1
    shift
    attack 30 "$@" || return 1
    why="status $status, not one line with $name: $(head -n 5 "$scratch/err")"
    [ "$(wc -l <"$scratch/err")" -le 1 ] && { [ $status -eq 0 ] || grep -qF -- "$name" "$scratch/err"; }
}
each() { # each FOLDER COMMAND...: the command stands each file of the folder, which follows it
    local file
    for file in "$hostile/$1"/*; do
        stands "${file##*/}" "${@:2}" "$file" || return 1
    done
}

# ---- the report -----------------------------------------------------------------------------------------------------

names=("x';touch \"\$CANARY\";'.csv" '"; system("touch $CANARY"); b=".csv' '`touch $CANARY`.csv' '$(touch $CANARY).csv'
    '<img src=x onerror=alert(1)>.csv' '"><script>alert(1)<b>.csv' 'javascript:alert(1).csv' '-e.csv' '%s%n%999999d.csv'
    $'line\nbreak.csv' $'\e]0;x\a.csv' "it's.csv" '<touch $CANARY.csv' '|touch $CANARY.csv' $'\xff.csv' '@x {y}.csv')

# Files of plain names in a plain folder: what is in them runs nothing.
draws_what_is_in_hostile_files() {
    attack 200 "$commlab" report "$hostile/report" --output "$scratch/page0" && [ $status -eq 0 ] &&
        cp "$scratch/err" "$scratch/said0"
}

# In a folder whose name is hostile, too; files that are right, under names that are not, beside some that are refused.
# (What is in all of them has been drawn above.)
reports_on_all_that_is_good() {
    local results="$scratch/it's \$(touch \$CANARY) \`x\`" name
    mkdir -p "$results" && cp "$hostile"/report/{good,07-good,columns,empty,zero-byte}.csv "$results/" || return 1
    for name in "${names[@]}"; do
        cp "$hostile/report/good.csv" "$results/$name" || return 1
    done
    (cd "$results" && find . -type f -exec md5sum {} + | sort) >"$scratch/before"
    attack 200 "$commlab" report "$results" --output "$scratch/page" && [ $status -eq 0 ] || return 1
    why="the files are not as they were"
    (cd "$results" && find . -type f -exec md5sum {} + | sort) | cmp -s - "$scratch/before" || return 1
    for name in good 07-good; do
        why="no section of $name: $(cat "$scratch/err")"
        grep -qF "$name.csv</a>" "$scratch/page/index.html" || return 1
    done
    [ -n "$(command -v gnuplot)" ] || return 0
    for name in good-allreduce 07-good "x';touch \"\$CANARY\";'-allreduce" "it's-allreduce" '-e-allreduce'; do
        why="no figure $name: $(cat "$scratch/err")"
        [ -s "$kit/build/plots/$name.svg" ] && [ -s "$kit/build/plots/$name.png" ] || return 1
    done
}

# Of what a report above said: a line a file at most, which names it, and nothing for a terminal.
says_one_line_in() {
    local said=$1 name
    why="not a line of ours: $(cat "$said")"
    [ -s "$said" ] && ! grep -qv '^commlab: \(error\|warn\): ' "$said" || return 1
    why="control characters: $(grep -n '[[:cntrl:]]' "$said" | cat -v)"
    ! LC_ALL=C grep -q $'[\x01-\x1f\x7f]' "$said" || return 1
    why="several lines of a file: $(sed 's/.*\/\([^/]*\.csv\).*/\1/' "$said" | sort | uniq -d)"
    [ "$why" = 'several lines of a file: ' ] || return 1
    for name in "${@:2}"; do
        why="nothing of $name.csv in: $(cat "$said")"
        [ "$(grep -cF "/$name.csv" "$said")" -eq 1 ] || return 1
    done
}
says_one_line_of_each() {
    says_one_line_in "$scratch/said0" columns open-quote zero-byte empty cells lab-folder lab-all &&
        says_one_line_in "$scratch/said" columns zero-byte empty
}

# A quick run draws no page0.
page_has_no_markup_of_theirs() {
    [ ! -d "$scratch/page0" ] || has_no_markup_of_theirs "$scratch/page0/index.html" || return 1
    has_no_markup_of_theirs "$scratch/page/index.html"
}
has_no_markup_of_theirs() {
    local page=$1
    why="no page $page"
    [ -s "$page" ] || return 1
    why=$(grep -niE '<script|<img src=x|<b>|href="javascript|<title>.*<title>' "$page" | cut -c1-300 | head -n 3)
    [ -z "$why" ] || return 1
    why=$(grep -oE '(href|id)="[^"]*"' "$page" | grep -vE '="(https://creativecommons[^"]*|[A-Za-z0-9._~/%#-]*)"$')
    [ -z "$why" ] || return 1
    why="control characters in the page: $(LC_ALL=C grep -c $'[\x01-\x08\x0b-\x1f\x7f]' "$page")"
    ! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$page"
}

figures_have_no_markup_of_theirs() {
    why=$(grep -liE '<script|<img' "$kit"/build/plots/*.svg)
    [ -z "$why" ] && why=$(LC_ALL=C grep -l $'[\x01-\x08\x0b-\x1f\x7f]' "$kit"/build/plots/*.txt) && return 1
    [ -z "$why" ]
}

# Nor has what a spreadsheet opens.
claims_have_no_formulas() {
    why="no claims: $(ls "$scratch"/page*)"
    [ -s "$scratch/page/claims.csv" ] || return 1
    why=$(cat "$scratch"/page{0,}/claims.csv 2>/dev/null | grep -v '^#' | grep -E '(^|,)"?[=+@-]')
    [ -z "$why" ]
}

# ---- the other readers ----------------------------------------------------------------------------------------------

stands_networks() {
    each net "$commlab" sim allreduce --ranks 4 --bytes 8 --net && each net "$commlab" bench barrier -n 2 --seconds 1ms --net
}
stands_a_profile() {
    local file
    for file in "$hostile"/net/*; do
        stands "${file##*/}" env CLAB_PROFILE="$file" "$commlab" sim allreduce --ranks 4 --bytes 8 || return 1
    done
}
draws_a_network_with_a_hostile_title() {
    cp "$hostile/net/title.net" "$scratch/'; touch \$CANARY; '.net" &&
        attack 60 "$commlab" sim sweep allreduce --net "$scratch/'; touch \$CANARY; '.net" -r 2,4 -b 8-64 \
            --csv "$scratch/'sweep.csv" --plot "$scratch/it's" || return 1
    why="status $status: $(cat "$scratch/err")"
    [ $status -eq 0 ] && { [ -s "$scratch/it's.svg" ] || [ -z "$(command -v gnuplot)" ]; }
}
stands_settings_of_labs() {
    local file
    for file in "$hostile"/conf/*.conf; do
        cp "$file" "$kit/labs/07-ring-vs-tree/lab.conf" && cp "$hostile/predict/blanks.txt" "$kit/labs/07-ring-vs-tree/predict.txt" &&
            stands 'lab' "$commlab" lab 07 --backend sim --net 10gbe -n 2 --pairs 1 --sizes 8,64 --no-sweep \
                --results "$scratch/labs" || return 1
        why="${file##*/} is taken: $(cat "$scratch/out")"
        [ "${file##*/}" = title.conf ] && { [ $status -eq 0 ] || return 1; continue; }
        [ $status -ne 0 ] && { [ "${file##*/}" = plugin.conf ] || grep -qE 'lab.conf:[0-9]+: ' "$scratch/err"; } || return 1
    done
}
# As a student's file: each is refused in one line, or taken, and what is asked of the terminal is text.
stands_predictions() {
    local file
    mkdir -p "$kit/work/07"
    for file in "$hostile"/predict/*; do
        cp "$file" "$kit/work/07/predict.txt" && stands predict.txt "$commlab" predict 07 --check || return 1
        why="${file##*/} is taken: $(cat "$scratch/out" "$scratch/err")"
        [ $status -eq 2 ] && ! grep -q $'\e' "$scratch/err" || return 1
    done
    rm -r "$kit/work"
}
stands_models() { each model "$commlab" sim train --net 10gbe --ranks 2 --model; }
stands_xml() {
    local file
    each xml "$commlab" show --msccl || return 1
    for file in "$hostile"/xml/*; do
        stands "${file##*/}" "$commlab" show --format svg --msccl "$file" || return 1
        why="its name is markup: $(grep -n '<script' "$scratch/out")"
        ! grep -q '<script' "$scratch/out" || return 1
    done
}
stands_goal() { each goal "$commlab" show --goal && each goal "$commlab" show --format goal --goal; }
stands_traces() { each trace "$commlab" trace; }
stands_logs() { each log "$commlab" nccl --log; }
stands_times_to_tune() { each tune "$commlab" tune --output "$scratch/tuned.csv" --from; }
stands_rows_of_accuracy() { each accuracy "$commlab" accuracy --no-plot --net 10gbe; }

# Inputs have a bound, and only plain files are read.
refuses_what_never_ends() {
    local file commlab=$commlab
    # Where there is no bound yet, this one keeps the machine alive; sanitizers want more address space than there is.
    printf '#!/bin/bash\n%s\nexec "%s" "$@"\n' "$([[ $build == *san-* ]] || echo 'ulimit -v 8000000')" "$commlab" \
        >"$scratch/bounded" && chmod +x "$scratch/bounded" && commlab=$scratch/bounded || return 1
    mkfifo "$scratch/fifo.csv" && ln -sf /dev/zero "$scratch/zero.csv" || return 1
    for file in /dev/zero "$scratch/fifo.csv"; do
        stands "$file" "$commlab" bench barrier -n 2 --seconds 1ms --emulate "$file" && [ $status -ne 0 ] &&
            stands "$file" "$commlab" sim allreduce --ranks 2 --bytes 8 --net "$file" && [ $status -ne 0 ] &&
            stands "$file" "$commlab" show --goal "$file" && [ $status -ne 0 ] &&
            stands "$file" "$commlab" trace "$file" && [ $status -ne 0 ] &&
            stands "$file" "$commlab" nccl --log "$file" && [ $status -ne 0 ] || return 1
    done
}
reports_on_plain_files_only() {
    mkdir -p "$scratch/special" && cp "$hostile/report/good.csv" "$scratch/special/" && mkfifo "$scratch/special/fifo.csv" &&
        ln -sf /dev/zero "$scratch/special/zero.csv" && mkdir -p "$scratch/special/folder.csv" || return 1
    ln -sf /proc/self/fd/9 "$scratch/special/input.csv"
    # 9 is a pipe, as a terminal would be, into which nobody writes.
    attack 60 "$commlab" report "$scratch/special" --output "$scratch/page2" 9<> <(:) && [ $status -eq 0 ] || return 1
    why="no section of good.csv: $(cat "$scratch/err")"
    grep -qF 'good.csv</a>' "$scratch/page2/index.html"
}
# One file of 20,000 rows and of cells and remarks that are long: the page stays one that a browser opens. Any of the
# three as a whole would be more.
page_stays_small() {
    local results=$scratch/large page=$scratch/page3/index.html
    mkdir -p "$results" && { printf '# machine: %05000000d\n' 1 && grep -v '^allreduce' "$hostile/report/good.csv" &&
        printf 'allreduce,%01000000d,shm,2,1500,375,float,sum,-1,0,throughput,1.5,1.5,1.5,1,1,0,8,2,1,10\n' 1 &&
        yes allreduce,ring,shm,2,1500,375,float,sum,-1,0,throughput,1.5,1.5,1.5,1,1,0,8,2,1,10 | head -n 20000; } >"$results/large.csv"
    attack 120 "$commlab" report "$results" --output "$scratch/page3" && [ $status -eq 0 ] || return 1
    why="$(stat -c %s "$page") bytes of page, $(cat "$scratch/err")"
    [ "$(stat -c %s "$page")" -lt 1000000 ] && grep -qF 'the first 1000 rows' "$page"
}
refuses_an_attribute_of_a_gigabyte() {
    { printf '<algo name="' && head -c 16000000 /dev/zero | tr '\0' a && printf '"/>\n'; } >"$scratch/long.xml"
    stands long.xml "$commlab" show --msccl "$scratch/long.xml" && [ $status -ne 0 ] &&
        truncate -s 1G "$scratch/long.xml" && stands long.xml "$commlab" show --msccl "$scratch/long.xml" &&
        grep -q 'larger than 256 MiB' "$scratch/err"
    local result=$?
    rm -f "$scratch/long.xml"
    return $result
}

# ---- secrets --------------------------------------------------------------------------------------------------------

writes_no_secret() {
    local results=$scratch/secret
    mkdir -p "$results"
    run 0 env CLAB_TOKEN=$secret CLAB_TIMEOUT=7s CLAB_NCCL_REGISTER=1 "$commlab" bench barrier -n 2 --seconds 1ms --csv "$results/b.csv" || return 1
    why="no CLAB_TIMEOUT in: $(grep environment "$results/b.csv")"
    grep -q '^# environment: .*CLAB_TIMEOUT=7s' "$results/b.csv" || return 1
    why="no CLAB_NCCL_REGISTER, which changes times, in: $(grep environment "$results/b.csv")"
    grep -q '^# environment: .*CLAB_NCCL_REGISTER=1' "$results/b.csv" || return 1
    if ! lacks jansson; then
        run 0 env CLAB_TOKEN=$secret "$commlab" bench barrier -n 2 --seconds 1ms --json "$results/b.json" &&
            run 0 env CLAB_TOKEN=$secret "$commlab" bench barrier -n 2 --seconds 1ms --trace "$results/trace.json" || return 1
    fi
    run 0 env CLAB_TOKEN=$secret PATH="$scratch/nothing" "$commlab" report "$results" --output "$results/page" ||
        return 1
    why="the secret is in: $(grep -rlF $secret "$results" "$kit/build/plots")"
    [ "$why" = 'the secret is in: ' ]
}

# What earlier versions wrote; the secret itself is not shown.
doctor_names_files_with_a_secret() {
    local file
    mkdir -p "$kit/results" && run 0 "$commlab" doctor --all && why=$(cat "$scratch/out") &&
        ! grep -q 'holds the CLAB_TOKEN' "$scratch/out" || return 1
    cp "$hostile"/token/* "$hostile/report/good.csv" "$kit/results/" && run 0 "$commlab" doctor --all || return 1
    for file in bench.csv bench.json trace.json; do
        why="nothing of $file in: $(grep -A 30 '^Results' "$scratch/out")"
        grep -qF "results/$file holds the CLAB_TOKEN of a job" <(tr -s '\n ' ' ' <"$scratch/out") || return 1
    done
    why=$(grep -n "good.csv\|$secret" "$scratch/out")
    [ -z "$why" ] && why=$(cat "$scratch/out") && grep -qF 'another CLAB_TOKEN' <(tr -s '\n ' ' ' <"$scratch/out")
    local result=$?
    rm -r "$kit/results"
    return $result
}
doctor_shows_no_secret_by_a_wrong_name() {
    run 0 env CLAB_TOKENS=$secret "$commlab" doctor --all && why=$(grep -n $secret "$scratch/out") && return 1
    grep -q 'CLAB_TOKENS=(not shown)' "$scratch/out"
}

check draws_what_is_in_hostile_files
check reports_on_all_that_is_good
cp "$scratch/err" "$scratch/said"
if lacks inih; then # then each of the kit's own networks and models has a line, too
    skip 'built without inih' says_one_line_of_each
else
    check_having gnuplot says_one_line_of_each
fi
check_each page_has_no_markup_of_theirs figures_have_no_markup_of_theirs claims_have_no_formulas stands_logs \
    stands_times_to_tune writes_no_secret doctor_names_files_with_a_secret doctor_shows_no_secret_by_a_wrong_name \
    stands_goal reports_on_plain_files_only page_stays_small
check_with inih stands_networks stands_a_profile draws_a_network_with_a_hostile_title stands_predictions stands_settings_of_labs stands_models \
    stands_rows_of_accuracy
check_with expat stands_xml refuses_an_attribute_of_a_gigabyte
check_with jansson stands_traces
check_with 'inih jansson' refuses_what_never_ends
exit $failed
