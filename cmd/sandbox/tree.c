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
#include "core/base/machine/process.h"

static bool is_child_of(const struct clab_process *p, pid_t root, const struct clab_process below[], int n)
{
    bool is_one = p->parent == root;
    for (int i = 0; i < n && !is_one; i++)
        is_one = p->parent == below[i].pid;
    return is_one;
}

// Of all processes those below come first. Children may be listed before their parents: hence again until none is new.
// Returns how many there are.
static int list_below(pid_t root, struct clab_process **list_p)
{
    int n, below = 0;
    if (clab_process_list(list_p, &n) != CLAB_OK)
        return 0;
    for (int before = -1; before < below;) {
        before = below;
        for (int i = below; i < n; i++)
            if (is_child_of(&(*list_p)[i], root, *list_p, below)) {
                const struct clab_process child = (*list_p)[i];
                (*list_p)[i] = (*list_p)[below];
                (*list_p)[below++] = child;
            }
    }
    return below;
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
    struct clab_process *below = NULL;
    size_t shared = 0;
    const int n = list_below(root, &below);
    for (int i = 0; i < n; i++) {
        if (clab_process_has_ended(&below[i]))
            continue;
        tree.processes++;
        add_memory(below[i].pid, &tree.memory, &shared);
    }
    tree.memory += shared;
    free(below);
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
        struct clab_process *below = NULL;
        const int n = list_below(root, &below);
        for (int i = 0; i < n; i++)
            if (!clab_process_has_ended(&below[i])) {
                kill(below[i].pid, signals[s]);
                count++;
            }
        free(below);
    }
    return count;
}

void sandbox_end_all(pid_t root)
{
    static const struct timespec pause = {.tv_nsec = 2000000};
    for (int round = 0; end_once(root) > 0 && round < 500; round++)
        nanosleep(&pause, NULL);
}
