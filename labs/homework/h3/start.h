// SPDX-License-Identifier: MIT
// What `commlab start h3 --student ID` writes beside the starter: practice networks.
#pragma once

// network-1.net to network-3.net: those on which the student's own copy of the grader times; model-1.csv to model-3.csv:
// the models that it trains there. `folder`: work/h3
//   errors: CLAB_ENOENT (logged), those of homework_seed and of h3_choose_network
struct homework_question;
// Questions about these networks (homework.h).
int h3_ask(const char *student, struct homework_question *questions_p);
int h3_start(const char *student, const char *folder);
