// SPDX-License-Identifier: MIT
// How the programs of a unit run unless told otherwise: a lab's by its lab.conf, the primer's on this machine.
#pragma once

#include <stddef.h>

#include "cmd/course/unit.h"

struct course_usual {
    int ranks;
    char net[40]; // virtual time is of this network; "": the ranks are processes of this machine
};

// Without a lab.conf that can be read: two ranks of this machine.
void course_usual(const struct course *course, const struct course_unit *unit, struct course_usual *usual_p);

// The flags for it: "-n 32 --backend sim --net cluster-25gbe", "-n 2".
void course_usual_flags(const struct course *course, const struct course_unit *unit, char *text_p, size_t room);
