# SPDX-License-Identifier: MIT
# Judges slides/instructor/syllabi.md: a line per mistake.
#
#   awk -f syllabi.awk overview=MINUTES UNITS page=1 PAGE        UNITS: what units.sh list prints
#
# - A row is a session: when, in class, minutes, at home, and two more cells. Items have a line each (<br>), and end with " · MINUTES" or,
#   of a part, with " · MINUTES of ALL". A linked item is a unit, a deck or the overview.
# - Minutes are those of the units. A session's items add up to its minutes, and sessions to what the text says.
# - All parts of a unit are given, and no unit begins before what it needs is complete.

BEGIN { FS = "\t" }

function say(text) { print course ": " text }

# "lab 07", with minutes of whole.
function take_unit(name, minutes, whole,  unit, words, n, i) {
    unit = name
    sub(/^lab /, "", unit)
    if (!(unit in length_)) {
        say("there is no " name)
        return
    }
    if (whole != length_[unit])
        say(name " has " length_[unit] " minutes, not " whole)
    n = unit in done ? 0 : split(needs[unit], words, " ")
    for (i = 1; i <= n; i++)
        if (done[words[i]] != length_[words[i]])
            say(name " comes before " words[i] ", which it needs")
    done[unit] += minutes
}
function take_link(name, minutes, whole) {
    if (name != "overview" && name !~ /^deck /)
        take_unit(name, minutes, whole)
    else if (minutes != length_[name])
        say(name " has " length_[name] " minutes, not " minutes)
}

# The items of a cell; their minutes together.
function items(cell,  parts, n, i, text, minutes, whole, sum) {
    if (cell ~ /^ *– *$/)
        return 0
    n = split(cell, parts, /<br>/)
    for (i = 1; i <= n; i++) {
        text = parts[i]
        gsub(/^ +| +$/, "", text)
        if (text !~ / · [0-9]+( of [0-9]+)?$/) {
            say("no minutes: " text)
            continue
        }
        whole = minutes = text
        sub(/.* /, "", whole)
        sub(/ of [0-9]+$/, "", minutes)
        sub(/.* /, "", minutes)
        sum += minutes
        if (text ~ /^\[/)
            take_link(substr(text, 2, index(text, "]") - 2), minutes, whole)
    }
    return sum
}

# The end of a table.
function finish(  unit) {
    if (!rows)
        return
    for (unit in done)
        if (done[unit] != length_[unit])
            say(unit ": " done[unit] " of " length_[unit] " minutes are given")
    if (inside != contact)
        say("the sessions have " inside " minutes, and the text says " contact)
    if (home && outside != home)
        say("at home it is " outside " minutes, and the text says " home)
    split("", done)
    rows = inside = outside = 0
}

!page { length_[$1] = $2; needs[$1] = $6; length_["deck " $1] = $3; length_["overview"] = overview; next }
/^## / { finish(); course = substr($0, 4); contact = home = 0 }
match($0, /[0-9]+ minutes of contact/) { contact = substr($0, RSTART) + 0 }
match($0, /[0-9]+ minutes at home/) { home = substr($0, RSTART) + 0 }
/^\|---/ { finish() }
/^\| [0-9a-z]/ && !/^\| when/ {
    split($0, cells, "|")
    rows++
    courses[course] = 1
    got = items(cells[3])
    if (got != cells[4] + 0)
        say("session" cells[2] "has " got " minutes, not" cells[4])
    inside += got
    outside += items(cells[5])
}
END {
    finish()
    for (course in courses)
        n++
    if (n != 3)
        print n + 0 " courses, not 3"
}
