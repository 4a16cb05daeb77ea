// SPDX-License-Identifier: MIT
// All processes below one, by /proc: the keeper is who orphans go to (PR_SET_CHILD_SUBREAPER), so that none gets away.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/sandbox/inside.h"
#include "core/base/err.h"
#include "core/base/vector.h"

struct process {
    pid_t pid, parent;
    bool below;
    char state;
};

struct list {
    struct process *items;
    int count, room;
};

static bool read_process(pid_t pid, struct process *p)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    // The name, in parentheses, may hold anything, also parentheses: the last one ends it.
    char text[256];
    const size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    const char *end = strrchr(text, ')');
    *p = (struct process){.pid = pid};
    const bool is_read = end && sscanf(end, ") %c %d", &p->state, &p->parent) == 2;
    fclose(file);
    return is_read;
}

// Of all processes. Children may be listed before their parents: marks are spread until none is new.
static int list_below(pid_t root, struct list *list)
{
    DIR *folder = opendir("/proc");
    int err = CLAB_OK;
    for (struct dirent *entry; folder && !err && (entry = readdir(folder));) {
        struct process p;
        const pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && read_process(pid, &p))
            err = CLAB_PUSH(list->items, list->count, list->room, p);
    }
    if (folder)
        closedir(folder);
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < list->count; i++) {
            struct process *p = &list->items[i];
            bool below = p->parent == root;
            for (int j = 0; j < list->count && !below && !p->below; j++)
                below = list->items[j].below && list->items[j].pid == p->parent;
            any |= below && !p->below;
            p->below |= below;
        }
    }
    return err;
}

// Pages that nobody shares, and pages that somebody may.
static void add_memory(pid_t pid, size_t *own, size_t *shared)
{
    char path[64];
    long resident = 0, file_and_shared = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fscanf(file, "%*d %ld %ld", &resident, &file_and_shared) == 2) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE), theirs = (size_t)file_and_shared * page;
        *own += (size_t)(resident - file_and_shared) * page;
        *shared = *shared > theirs ? *shared : theirs;
    }
    fclose(file);
}

struct sandbox_tree sandbox_look(pid_t root)
{
    struct sandbox_tree tree = {0};
    struct list list = {0};
    size_t shared = 0;
    list_below(root, &list);
    for (int i = 0; i < list.count; i++) {
        const struct process *p = &list.items[i];
        if (!p->below || p->state == 'Z')
            continue;
        tree.processes++;
        add_memory(p->pid, &tree.memory, &shared);
    }
    tree.memory += shared;
    free(list.items);
    return tree;
}

// ---- its files -------------------------------------------------------------------------------------------------

struct room {
    int files;
    size_t bytes;
};

// Takes what is below `above`/`name` out of the room that is left. False: there is none.
static bool take_room(int above, const char *name, struct room *left)
{
    const int folder = openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *entries = folder < 0 ? NULL : fdopendir(folder);
    bool fits = entries || errno == ENOENT; // one that has gone meanwhile takes none
    for (struct dirent *entry; fits && entries && (entry = readdir(entries));) {
        struct stat there;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            fstatat(folder, entry->d_name, &there, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        const size_t bytes = (size_t)there.st_blocks * 512;
        fits = left->files-- > 0 && bytes <= left->bytes;
        left->bytes -= fits ? bytes : 0;
        fits = fits && (!S_ISDIR(there.st_mode) || take_room(folder, entry->d_name, left));
    }
    if (entries)
        closedir(entries);
    else if (folder >= 0)
        close(folder);
    return fits;
}

bool sandbox_is_full(const char *folder, int most, size_t most_bytes)
{
    struct room left = {most, most_bytes};
    return !take_room(AT_FDCWD, folder, &left);
}

// ---- its end ---------------------------------------------------------------------------------------------------

// One round: all stop before any ends, or else those that are left start new ones.  Returns how many there were.
static int end_once(pid_t root)
{
    static const int signals[] = {SIGSTOP, SIGKILL};
    int count = 0;
    for (int s = 0; s < 2; s++) {
        struct list list = {0};
        list_below(root, &list);
        for (int i = 0; i < list.count; i++) {
            if (list.items[i].below && list.items[i].state != 'Z') {
                kill(list.items[i].pid, signals[s]);
                count++;
            }
        }
        free(list.items);
    }
    return count;
}

void sandbox_end_all(pid_t root)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    for (int round = 0; end_once(root) > 0 && round < 500; round++)
        nanosleep(&pause, NULL);
}
