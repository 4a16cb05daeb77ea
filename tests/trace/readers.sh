#!/bin/bash
# SPDX-License-Identifier: MIT
# Two public readers of traces that are stricter than Perfetto read ours: @tracerbench/trace-model, in node, and speedscope, in
# Chromium. By hand, since npm fetches them (40 MB, from the network); a line per trace and reader, exit status 1 if one stumbles.
#
#   tests/trace/readers.sh [BUILD]
set -eu
cd "$(dirname "$0")/../.."
build=${1:-build}
for program in npm node chromium; do
    command -v "$program" >/dev/null || { echo "skip: there is no $program (./setup.sh --slides)"; exit 0; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$build/commlab" bench allreduce -n 4 --algo ring -b 4K -e 4K --seconds 0.02s --trace "$scratch/measured.json" >/dev/null
"$build/commlab" sim allreduce --algo ring --ranks 8 --bytes 4M --net dgx-h100 --calls 3 --trace "$scratch/simulated.json" >/dev/null
"$build/commlab" trace "$scratch/measured.json" "$scratch/simulated.json" -o "$scratch/both.json" >/dev/null
(cd "$scratch" && npm init -y && npm install --silent @tracerbench/trace-model@8.0.0 speedscope@1.25.0) >/dev/null

status=0
for name in measured simulated both; do
    node - "$scratch/$name.json" "$scratch/node_modules/@tracerbench/trace-model" <<'END' || status=1
const [file, reader] = process.argv.slice(2), {buildModel} = require(reader);
const {processes} = buildModel(JSON.parse(require("fs").readFileSync(file)).traceEvents);
const rows = processes.flatMap(p => p.threads), named = processes.every(p => /^rank \d/.test(p.name)) && rows.every(r => r.name);
console.log(`trace-model: ${file.replace(/.*\//, "")}: ${processes.length} processes, ${rows.length} rows`);
process.exit(processes.length && named ? 0 : 1);
END
    printf 'speedscope.loadFileFromBase64("%s.json", "%s")' "$name" "$(base64 -w0 "$scratch/$name.json")" >"$scratch/$name.js"
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --user-data-dir="$scratch/profile" --allow-file-access-from-files \
        --enable-logging=stderr --virtual-time-budget=30000 --dump-dom \
        "file://$scratch/node_modules/speedscope/dist/release/index.html#localProfilePath=$scratch/$name.js" \
        >"$scratch/dom" 2>"$scratch/console"
    complaints=$(grep CONSOLE "$scratch/console" | grep -vE 'speedscope v|WebGL|Importing as Trace Event|"import: ' || true)
    if [ -z "$complaints" ] && grep -q '"import: ' "$scratch/console"; then
        echo "speedscope: $name.json: read without a warning"
    else
        printf 'speedscope: %s.json: %s\n' "$name" "$(head -n 3 <<<"${complaints:-was not read}")"
        status=1
    fi
done
exit $status
