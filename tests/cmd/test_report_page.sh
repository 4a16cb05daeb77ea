#!/bin/bash
# SPDX-License-Identifier: MIT
# The page of `commlab report`: its numbers are those of the files that it names, and a browser shows it at the width of a
# telephone and of a projector, dark and light. The browser is Chromium, where it is installed.
# Usage: test_report_page.sh [BUILD].

. tests/cases.sh
take_kit_of_claims 6
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
results=$scratch/results page=$scratch/page

# Exact times of a described network: two benches; recorded results of a lab; a training run; a table of nccl-tests.
makes_a_page() {
    local head tail
    mkdir -p "$results"
    run 0 "$commlab" bench allreduce -n 4 --backend sim --net dgx-h100 --algo ring,doubling -b 8 -e 4M -f 16 --seconds 1ms \
        --csv "$results/bench-sim-4.csv" || return 1
    run 0 "$commlab" bench allreduce -n 4 --backend sim --net 10gbe -b 8 -e 4M -f 16 --seconds 1ms \
        --trace "$results/bench.trace.json" --csv "$scratch/eth.csv" || return 1
    sed 's/,sim,/,ethernet,/' "$scratch/eth.csv" >"$results/other.csv"
    head='# nThread 1 nGpus 4 minBytes 8
#  Rank  3 Group  0 Pid   1890 on   worker-1 device  3 [0x99] NVIDIA H100 80GB HBM3
# size count type redop root time algbw busbw #wrong time algbw busbw #wrong'
    printf '%s\n' "$head" '4194304 1048576 float sum -1 60.5 69.33 103.99 0 59.1 70.97 106.45 0' >"$results/all_reduce.txt"
    tail=$(ls labs/07-ring-vs-tree/expected/*.csv | head -n 1)
    cp "$tail" "$results/"
    printf 'group,field,value,unit,low,high,predicted,how\nsetting,number_of_ranks,2,1,,,2,processes\n%s\n' \
        'times,all_reduce_time,0.00245,s,0.0024,0.0026,0.0025,alone' >"$results/training-x-2.csv"
    run 0 "$commlab" report "$results" --output "$page"
}

# numbers: of the page, FILE:LINE:COLUMN, a tab, and what is shown. Those of two cells are left out: they are ratios.
numbers() {
    grep -oE '(<data|<td class="n") data-from="[^" ]*">[^<]*<' "$1" | sed -E 's/.*data-from="([^"]*)">([^<]*)<$/\1\t\2/'
}
# compare: reads such lines, and prints those that are not what the file says, and how many were compared.
compare() {
    awk -F '\t' -v folder="$results" '
        BEGIN {
            n = split("ns 1e-9 us 1e-6 µs 1e-6 ms 1e-3 s 1 B 1 kB 1e3 MB 1e6 GB 1e9 KiB 1024 MiB 1048576 GiB 1073741824 " \
                      "B/s 1 kB/s 1e3 MB/s 1e6 GB/s 1e9 TB/s 1e12 %% 1", u, " ")
            for (i = 1; i < n; i += 2) unit[u[i]] = u[i + 1]
            base["usec"] = base["usec_low"] = base["usec_high"] = base["predicted_usec"] = base["time"] = 1e-6
            base["busbw_GBps"] = base["algbw_GBps"] = base["busbw"] = 1e9
        }
        function load(file,    text, n, i, line) {
            while ((getline text < (folder "/" file)) > 0) {
                lines[file, ++line] = text
                if (file ~ /[.]csv$/ && text !~ /^#/ && !(file in head)) head[file] = text
                if (file ~ /[.]txt$/ && text ~ /redop/) head[file] = substr(text, 3)
            }
            loaded[file] = line
        }
        # The cell of a column, found by its name. No cell before it in these files holds a comma in quotes.
        function cell(file, line, column,    names, cells, n, i, sep) {
            sep = file ~ /[.]csv$/ ? "," : " "
            n = split(head[file], names, sep)
            split(lines[file, line], cells, sep)
            for (i = 1; i <= n; i++)
                if (names[i] == column) return cells[i]
            return "no column " column
        }
        {
            split($1, at, ":")
            if (!(at[1] in loaded)) load(at[1])
            split($2, shown, " ")
            value = shown[1] + 0
            read = cell(at[1], at[2], at[3])
            if (shown[2] != "") {
                value *= unit[shown[2]]
                read *= at[3] in base ? base[at[3]] : 1
            }
            off = value - read; size = read < 0 ? -read : read
            if (read !~ /^[-0-9.e+]+$/ || off > 6e-4 * size + 1e-30 || off < -6e-4 * size - 1e-30)
                print "wrong: " $1 " is " read ", shown as " $2
            n_compared++
        }
        END { print n_compared + 0 " compared" }'
}
ten_numbers_trace_to_their_rows() {
    numbers "$page/index.html" >"$scratch/numbers"
    shuf -n 10 "$scratch/numbers" >"$scratch/ten"
    why=$(compare <"$scratch/ten"; cat "$scratch/ten")
    [ "$(compare <"$scratch/ten")" = '10 compared' ]
}
all_numbers_trace_to_their_rows() {
    local n
    why=$(compare <"$scratch/numbers" | tail -n 5)
    n=$(wc -l <"$scratch/numbers")
    [ "$n" -gt 300 ] && [ "$why" = "$n compared" ]
}
# The comparison can fail.
a_changed_number_is_found() {
    sed '5s/\t/\t9/' "$scratch/numbers" >"$scratch/changed"
    why=$(compare <"$scratch/changed" | head -n 3)
    [ "$(compare <"$scratch/changed" | grep -c wrong)" -eq 1 ]
}
links_what_lies_beside_it() {
    local link
    why="no link to the trace"
    grep -q 'bench.trace.json</a>' "$page/index.html" || [ ! -e "$results/bench.trace.json" ] || return 1
    while read -r link; do
        why="a link leads nowhere: $link"
        (cd "$page" && [ -e "$link" ]) || return 1
    done < <(grep -o 'href="[^"#]*"' "$page/index.html" | sed 's/href="//; s/"$//' | grep -v '^https:' | sort -u)
}
is_one_file_without_scripts() {
    why=$(grep -noE '<script|<link|src="[^d][^"]{0,40}' "$page/index.html" | head -n 3)
    [ -z "$why" ]
}

# browse dark|light OPTIONS...: what the driver finds, in $scratch/findings; what the browser says on its console in err.
browse() {
    sed "s/WANTED/$1/" tests/cmd/report_page.html >"$page/driver.html"
    timeout 75 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage \
        --user-data-dir="$scratch/profile" --allow-file-access-from-files --enable-logging=stderr \
        --virtual-time-budget=30000 "${@:2}" --dump-dom "file://$page/driver.html" >"$scratch/dom" 2>"$scratch/err"
    sed -n '/<pre id="findings">/,/<\/pre>/p' "$scratch/dom" | sed 's/<[^>]*>//g' >"$scratch/findings"
    why=$(cat "$scratch/findings"; grep CONSOLE "$scratch/err"; [ -s "$scratch/findings" ] || tail -n 5 "$scratch/err")
    ! grep -q CONSOLE "$scratch/err" && ! grep -q wrong: "$scratch/findings" && grep -qx done "$scratch/findings" &&
        [ "$(grep -c '^seen:' "$scratch/findings")" -eq 4 ]
}
is_shown_in_the_light() { browse light --blink-settings=preferredColorScheme=1; }
is_shown_in_the_dark() { browse dark --blink-settings=preferredColorScheme=0; }
# The driver finds a page that is too wide.
a_wide_page_is_found() {
    cp "$page/index.html" "$scratch/kept.html"
    sed -i 's|<h1>|<div style="width: 700px">wide</div><h1>|' "$page/index.html"
    ! browse light && grep -q 'wrong: at 360: the page is 7' "$scratch/findings"
    local result=$?
    mv "$scratch/kept.html" "$page/index.html"
    return $result
}

check_with inih makes_a_page ten_numbers_trace_to_their_rows all_numbers_trace_to_their_rows a_changed_number_is_found \
    links_what_lies_beside_it is_one_file_without_scripts
if [ -n "$chromium" ] && ! lacks inih; then
    check_each is_shown_in_the_light is_shown_in_the_dark a_wide_page_is_found
else
    skip "chromium is not installed" is_shown_in_the_light is_shown_in_the_dark a_wide_page_is_found
fi
exit $failed
