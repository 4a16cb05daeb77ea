// SPDX-License-Identifier: MIT
// Fields of a training report as people read them.
#pragma once

enum { TRAINING_TEXT = 128 };

// A value with its unit: "0.00245" of "s" is "2.45 ms". What is no number stays as it is, cut to the room.
void training_value_text(const char *value, const char *unit, char out[TRAINING_TEXT]);
// "all_reduce_time" is "All reduce time".
void training_name_text(const char *field, char out[TRAINING_TEXT]);
