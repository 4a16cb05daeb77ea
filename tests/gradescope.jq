# SPDX-License-Identifier: MIT
# Holds a results.json to the fields that Gradescope documents (gradescope-autograders.readthedocs.io, "Autograder
# Specifications" and "Leaderboards"): jq -r -f tests/gradescope.jq results.json prints a line per thing that is wrong.

def visible: . == "hidden" or . == "after_due_date" or . == "after_published" or . == "visible";
def formatted: . == "text" or . == "html" or . == "simple_format" or . == "md" or . == "ansi";
def number: type == "number";
def text: type == "string";
# What a field must be, by its name.
def fits($name):
    if $name | IN("score", "max_score", "execution_time") then number
    elif $name | IN("output", "name", "number") then text
    elif $name | endswith("_format") then formatted
    elif $name | endswith("visibility") then visible
    elif $name == "status" then . == "passed" or . == "failed"
    elif $name == "tags" then type == "array" and all(.[]; text)
    elif $name == "extra_data" then type == "object"
    elif $name | IN("tests", "leaderboard") then type == "array"
    elif $name == "value" then number or text
    elif $name == "order" then . == "asc" or . == "desc"
    else false end;
def known($where; $names):
    to_entries[] | select((.key as $key | $names | any(. == $key) | not) or (.key as $key | .value | fits($key) | not))
    | "\($where): \(.key) = \(.value | tojson) is not documented";

known("top"; ["score", "execution_time", "output", "output_format", "test_output_format", "test_name_format", "visibility",
    "stdout_visibility", "extra_data", "tests", "leaderboard"]),
(.tests[]? | known("test"; ["score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags",
    "visibility", "extra_data"])),
(.leaderboard[]? | known("leaderboard"; ["name", "value", "order"])),
(select(has("score") or ((.tests | length) > 0 and all(.tests[]; has("score"))) | not) | "no score at the top, and none in each test"),
(.tests[]? | select(.score > .max_score or .score < 0) | "test: \(.name) has \(.score) of \(.max_score)")
