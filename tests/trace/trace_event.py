# SPDX-License-Identifier: MIT
"""Holds traces to the "Trace Event Format" (Google 2016) as its strictest readers want it: FILE...; a line per fault.

- Each event has ph, cat, pid, tid, name, and nothing that its kind does not have. pid and tid count from 1.
- Times are multiples of 2^-10 us. In a row (pid, tid) a slice ends before the next one begins, or holds it; a reader finds so
  with sums of floating-point numbers, too.
- Each process and each row has one name.
- Each arrow has two ends, not in reverse order, each within a slice of its row.
"""
import json
import sys
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import accumulate

FIELDS = {
    "X": {"ts", "dur", "args"},
    "s": {"ts", "id"},
    "f": {"ts", "id", "bp"},
    "M": {"args"},
}
COMMON = {"ph", "cat", "pid", "tid", "name"}


def is_in_ticks(us):
    return us >= 0 and (us * 1024).is_integer()


def faults_of_event(event):
    kind = event.get("ph")
    if kind not in FIELDS:
        yield f"ph is {kind!r}"
        return
    if set(event) != COMMON | FIELDS[kind]:
        yield f"its fields are {sorted(event)}"
        return
    for key in ("pid", "tid"):
        if type(event[key]) is not int or event[key] < 1:
            yield f"{key} is {event[key]!r}"
    for key in ("cat", "name"):
        if not isinstance(event[key], str) or not event[key]:
            yield f"{key} is {event[key]!r}"
    for key in FIELDS[kind] & {"ts", "dur"}:
        if not is_in_ticks(float(event[key])):
            yield f"{key} is {event[key]!r}, no multiple of 2^-10"


def faults_of_row(row, slices):
    """slices: (begin, end), us, in the order of begins, the longer first."""
    open_ends = []
    for begin, end in sorted(slices, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1]:
            yield f"row {row}: a slice from {begin} to {end} us ends after the one around it, at {open_ends[-1]} us"
        open_ends.append(end)


def faults_of_names(events):
    names = Counter((e["name"], e["pid"], e["tid"] if e["name"].startswith("thread") else 0) for e in events if e["ph"] == "M")
    for e in events:
        for name in (("process_name", e["pid"], 0), ("thread_name", e["pid"], e["tid"])):
            if e["ph"] != "M" and names[name] != 1:
                yield f"{name[0]} of process {name[1]}, row {name[2]}: {names[name]} of them"


class Row:
    """Where a row has slices. slices: (begin, end), us."""

    def __init__(self, slices):
        slices = sorted(slices)
        self.begins = [begin for begin, _ in slices]
        self.last_ends = list(accumulate((end for _, end in slices), max))  # of all that begin no later

    def has_one_at(self, when):
        begun = bisect_right(self.begins, when)
        return begun > 0 and self.last_ends[begun - 1] >= when


def faults_of_arrows(events, slices):
    rows = defaultdict(lambda: Row([]), ((row, Row(inside)) for row, inside in slices.items()))
    ends = defaultdict(dict)
    for e in events:
        if e["ph"] in "sf":
            when = e["ts"]
            ends[e["id"]][e["ph"]] = when
            if not rows[e["pid"], e["tid"]].has_one_at(when):
                yield f"arrow {e['id']}: no slice is there at its {e['ph']}"
    for number, two in ends.items():
        if set(two) != {"s", "f"} or two["s"] > two["f"]:
            yield f"arrow {number}: {two}"


def faults(events):
    broken = [f"event {i}: {fault}" for i, event in enumerate(events) for fault in faults_of_event(event)]
    if broken:
        yield from broken
        return
    slices = defaultdict(list)
    for e in events:
        if e["ph"] == "X":
            slices[e["pid"], e["tid"]].append((e["ts"], e["ts"] + e["dur"]))
    for row, inside in slices.items():
        yield from faults_of_row(row, inside)
    yield from sorted(set(faults_of_names(events)))
    yield from faults_of_arrows(events, slices)


found = 0
for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    if not events:
        print(f"{path}: no events")
        found += 1
    for fault in list(faults(events))[:10]:
        print(f"{path}: {fault}")
        found += 1
sys.exit(found > 0)
