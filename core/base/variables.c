// SPDX-License-Identifier: MIT
// The variables CLAB_*, read (variables.h). It needs nothing else of the kit: NCCL's plugins are built with it, too.

#include "core/base/variables.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

#define X(variable, ...) "CLAB_" #variable,
static const char *const names[] = {"", CLAB_VARIABLES(X)};
#undef X
enum { NOWHERE, MANIFEST };
#define X(variable, written, ...) written,
static const unsigned char is_written[] = {NOWHERE, CLAB_VARIABLES(X)};
#undef X
static const char *set_by_flag[CLAB_VARIABLES_COUNT]; // by flags

const char *clab_variable_name(enum clab_variable variable)
{
    return names[variable];
}

const char *clab_variable_text(enum clab_variable variable)
{
    return set_by_flag[variable] ? set_by_flag[variable] : getenv(names[variable]);
}

const char *clab_variable_given(enum clab_variable variable)
{
    const char *text = clab_variable_text(variable);
    return text && *text ? text : NULL;
}

bool clab_variable_is_set(enum clab_variable variable)
{
    return clab_variable_text(variable) != NULL;
}

bool clab_variable_is_written(enum clab_variable variable)
{
    return is_written[variable] == MANIFEST;
}

int clab_variable_switch(enum clab_variable variable, bool *is_on_p)
{
    const char *text = clab_variable_given(variable);
    const bool is_on = text && !strcmp(text, "1");
    if (text && !is_on && strcmp(text, "0") != 0)
        return CLAB_EINVAL;
    *is_on_p = is_on;
    return CLAB_OK;
}

void clab_variable_set(enum clab_variable variable, const char *text)
{
    set_by_flag[variable] = text;
}

void clab_variables_export(void)
{
    for (int i = 0; i < CLAB_VARIABLES_COUNT; i++)
        if (set_by_flag[i])
            setenv(names[i], set_by_flag[i], 1);
}
