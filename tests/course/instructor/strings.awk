# SPDX-License-Identifier: MIT
# The strings of C sources, one per line. Those that follow each other, with at most a PRI... between them, are one, as for the compiler.

function flush() {
    if (pending) {
        gsub(/\\"/, "\"", text)
        print text
    }
    pending = 0
    text = ""
}

# A string, a character or a comment, and what stands before it.
function take(token, between) {
    if (between !~ /^[ \t]*(PRI[a-zA-Z0-9]+)?[ \t]*$/)
        flush()
    if (token ~ /^"/) {
        text = text substr(token, 2, length(token) - 2)
        pending = 1
    } else if (token ~ /^'/)
        flush()
}

FNR == 1 { flush() }
{
    line = $0
    while (match(line, /"([^"\\]|\\.)*"|'([^'\\]|\\.)'|\/\/.*/)) {
        take(substr(line, RSTART, RLENGTH), substr(line, 1, RSTART - 1))
        line = substr(line, RSTART + RLENGTH)
    }
    if (line !~ /^[ \t]*$/)
        flush()
}
END { flush() }
