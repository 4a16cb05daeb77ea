// SPDX-License-Identifier: MIT
// The line on the terminal that shows what is under way. Nothing is shown where stderr is not a terminal.
#pragma once

void kit_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
void kit_progress_clear(void);
