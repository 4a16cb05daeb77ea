// SPDX-License-Identifier: MIT
// Reading /proc (process.h).

#include "core/base/machine/process.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/units.h"
#include "core/base/vector.h"

// The name stands in parentheses, and may hold some itself.
bool clab_process_parse(const char *stat, struct clab_process *process_p)
{
    struct clab_process p = {0};
    const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
    if (!open || !close || close < open || sscanf(stat, "%d", &p.pid) != 1 ||
        sscanf(close + 1, " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &p.state,
               &p.parent, &p.group, &p.started) < 2)
        return false;
    snprintf(p.name, sizeof p.name, "%.*s", (int)(close - open - 1), open + 1);
    *process_p = p;
    return true;
}

bool clab_process_read(pid_t pid, struct clab_process *process_p)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return clab_process_parse(text, process_p);
}

bool clab_process_has_ended(const struct clab_process *process)
{
    return process->state == 'Z' || process->state == 'X';
}

int clab_process_list(struct clab_process **list_p, int *n_p)
{
    struct clab_process *list = NULL, one;
    int n = 0, room = 0, err = CLAB_OK;
    DIR *folder = opendir("/proc");
    if (!folder)
        return CLAB_ESYS;
    for (const struct dirent *entry; !err && (entry = readdir(folder));)
        if (atoi(entry->d_name) > 0 && clab_process_read(atoi(entry->d_name), &one))
            err = CLAB_PUSH(list, n, room, one);
    closedir(folder);
    if (err) {
        free(list);
        return err;
    }
    *list_p = list;
    *n_p = n;
    return CLAB_OK;
}

int clab_process_variable(pid_t pid, const char *variable)
{
    const size_t length = strlen(variable);
    char path[64], *text = NULL;
    size_t room = 0;
    int number = -1;
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return -1;
    while (number < 0 && getdelim(&text, &room, '\0', file) > 0)
        if (strncmp(text, variable, length) == 0 && text[length] == '=')
            clab_parse_int(text + length + 1, 0, INT_MAX, &number);
    free(text);
    fclose(file);
    return number;
}
