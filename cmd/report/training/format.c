// SPDX-License-Identifier: MIT
// Fields as people read them (format.h).

#include "cmd/report/training/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/units.h"

void training_value_text(const char *value, const char *unit, char out[TRAINING_TEXT])
{
    char text[CLAB_TEXT], *end;
    const double number = strtod(value, &end);
    if (!*value || *end || !isfinite(number))
        snprintf(out, TRAINING_TEXT, "%s", value);
    else if (!strcmp(unit, "s"))
        snprintf(out, TRAINING_TEXT, "%s", clab_seconds_text(number, text));
    else if (!strcmp(unit, "B/s"))
        snprintf(out, TRAINING_TEXT, "%s", clab_rate_text(number, text));
    else if (!strcmp(unit, "B") && number >= 0 && number < 1e18)
        snprintf(out, TRAINING_TEXT, "%s", clab_size_text((size_t)number, text));
    else if (number >= 1000 && number < 1e15)
        snprintf(out, TRAINING_TEXT, "%.0f%s%.20s", number, strcmp(unit, "1") ? " " : "", strcmp(unit, "1") ? unit : "");
    else
        snprintf(out, TRAINING_TEXT, strcmp(unit, "1") ? "%.4g %.20s" : "%.6g", number, unit);
}

void training_name_text(const char *field, char out[TRAINING_TEXT])
{
    snprintf(out, TRAINING_TEXT, "%s", field);
    for (char *at = out; *at; at++)
        *at = *at == '_' ? ' ' : *at;
    if (*out >= 'a' && *out <= 'z')
        *out = (char)(*out - 'a' + 'A');
}
