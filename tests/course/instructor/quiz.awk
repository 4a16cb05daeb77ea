# SPDX-License-Identifier: MIT
# Judges a file of the quiz by the rules of GIFT, Moodle's format, and by ours: a line per mistake, "FILE question N: ...".
#
#   awk -f quiz.awk name=07-ring-vs-tree FILE
#
# - Four questions, ::07-N TITLE::[markdown]QUESTION {, each with four options, = for the right one and ~ for three wrong ones, and } at
#   the end. An option has one line, and a reply: indented lines, the first with #. A wrong option's reply begins with **A NAME.**
# - Comments above a question hold its numbers: "// = EXPRESSION -> TEXT", "// $ COMMAND -> TEXT". They are printed for others to
#   compute, as "formula ..." and "command ...". Four options with numbers need one.
# - "place N" is printed for each question: where its right option stands.

function say(text) { print where ": " text }

# Text, with its control characters escaped.
function check_text(text) {
    gsub(/\\[~=#{}:]/, "", text)
    if (text ~ /[~=#{}:\\]/)
        say("a control character without a backslash: " text)
    if (text ~ /->/)
        say("an arrow, which means another kind of question: " text)
}

function begin_question(line,  at, title) {
    where = FILENAME " question " ++questions
    if (substr(line, 1, 7) != "::" substr(name, 1, 2) "-" questions " ")
        say("its name does not begin with " substr(name, 1, 2) "-" questions)
    at = index(substr(line, 3), "::")
    if (!at || substr(line, at + 4, 10) != "[markdown]")
        say("no ::NAME::[markdown]")
    title = substr(line, 3, at - 1)
    check_text(title)
    if (title in titles)
        say("another question has its name")
    titles[title] = 1
    question = ""
    ask(substr(line, at + 14))
}
function ask(line) {
    asking = line !~ / \{$/
    sub(/ \{$/, "", line)
    question = question " " line
    if (asking)
        return
    check_text(question)
    if (question !~ /\?/)
        say("it asks nothing")
    split("", seen)
    options = rights = with_digits = 0
    right = option = ""
    inside = 1
}

function begin_option(line) {
    end_option()
    mark = substr(line, 1, 1)
    option = substr(line, 2)
    reply = ""
    if (option ~ /^[ %]/ || option == "")
        say("an option begins with a blank or a weight: " line)
    options++
    with_digits += option ~ /[0-9]/
    if (option in seen)
        say("twice the same option: " option)
    seen[option] = 1
    if (mark == "=") {
        rights++
        right = option
        place = options
    }
}
function end_option() {
    if (option == "")
        return
    check_text(option)
    check_text(reply)
    if (reply == "")
        say("no reply to: " option)
    else if (mark == "~" && reply !~ /^\*\*[^*]+[.?]\*\* [^ ]/)
        say("the reply to a wrong option begins with the name of its misconception: " option)
    else if (mark == "=" && reply ~ /^\*/)
        say("the reply to the right option derives it: " option)
    all = all " " option " " reply
    option = ""
}

function end_question(  i, computed) {
    end_option()
    if (options != 4)
        say(options " options, not 4")
    if (rights != 1)
        say(rights " right options, not 1")
    computed = commands
    for (i = 1; i <= formulas; i++) {
        computed += index(right, texts[i]) > 0
        if (!index(all, texts[i]))
            say("no option and no reply says " texts[i])
    }
    if (with_digits == 4 && !computed)
        say("options are numbers, and no comment computes the right one")
    print "place " place
    formulas = commands = inside = 0
    all = ""
}

NR == 1 {
    where = FILENAME
    if ($0 != "// SPDX-License-Identifier: CC-BY-4.0")
        say("the first line is no license")
}
/^\/\/ [=$] / && !/ -> [^ ]/ { say("no -> TEXT: " $0) }
/^\/\/ = / { texts[++formulas] = substr($0, index($0, " -> ") + 4); print "formula " substr($0, 6); next }
/^\/\/ \$ / { commands++; print "command " substr($0, 6); next }
/^\/\// { next }
/^\$CATEGORY: / {
    categories++
    if ($2 != "commlab/" name)
        say("the category is " $2)
    next
}
/^ *$/ {
    if (inside || asking)
        say("an empty line in a question ends it")
    next
}
asking { ask($0); next }
/^::/ { begin_question($0); next }
!inside { say("a line outside of a question: " $0); next }
/^}$/ { end_question(); next }
/^[~=]/ { begin_option($0); next }
/^   # / && option != "" {
    if (reply != "")
        say("two replies to: " option)
    reply = substr($0, 6)
    next
}
/^   ([-+*>~=#] |[0-9]+[.)] |\/\/)/ { say("a line that begins like a list: " $0) }
/^   [^ ]/ && reply != "" { reply = reply " " substr($0, 4); next }
{ say("no line of GIFT: " $0) }
END {
    where = FILENAME
    if (inside || asking)
        say("the last question has no end")
    if (questions != 4)
        say(questions + 0 " questions, not 4")
    if (categories != 1)
        say(categories + 0 " categories, not 1")
}
