// SPDX-License-Identifier: MIT
// What must come of a fault: every survivor returns the right error, within a second of the time at which it can be
// known.

#include "tests/faults/faults.h"

#include <dirent.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/err.h"

static const double at_once = 1.0; // s: what a survivor has after the fault can be known

static bool is_mismatch(enum fault_kind kind)
{
    return kind == FAULT_COUNT || kind == FAULT_OP || kind == FAULT_ANOTHER;
}

// Whether `err` is one that this fault may end in.
static bool is_right(enum fault_kind kind, int err)
{
    switch (kind) {
    case FAULT_STOP: return err == CLAB_ETIMEOUT;
    case FAULT_CLOSE: return err == CLAB_EPEER || err == CLAB_ESYS || err == CLAB_ETIMEOUT;
    case FAULT_COUNT:
    case FAULT_OP:
    case FAULT_ANOTHER: return err == CLAB_EMISMATCH || err == CLAB_ETIMEOUT; // where they have no message in common
    default: return err == CLAB_EPEER;
    }
}

// The victim of a mismatch, and who closed its sockets, is still there.
static bool must_return(const struct fault *f, int rank)
{
    return rank != f->victim || is_mismatch(f->kind) || f->kind == FAULT_CLOSE;
}

bool fault_judge(const struct scene *scene, double timeout, FILE *out, double *detection_p)
{
    const struct fault *f = &scene->fault;
    double slowest = 0, first = 1e30;
    bool right = true, is_silent = f->kind == FAULT_STOP;
    for (int rank = 0; rank < f->nranks; rank++) {
        if (!must_return(f, rank))
            continue;
        const double took = scene->returned[rank] - scene->injected;
        if (!scene->errs[rank] || !is_right(f->kind, scene->errs[rank])) {
            fprintf(out, "  rank %d: %s\n", rank,
                    scene->errs[rank] ? clab_strerror(scene->errs[rank]) : "did not return");
            right = false;
            continue;
        }
        if (scene->shrunk[rank] > 1) {
            fprintf(out, "  rank %d could not go on among the survivors: %s\n", rank,
                    clab_strerror(scene->shrunk[rank] - 1));
            right = false;
        }
        is_silent |= scene->errs[rank] == CLAB_ETIMEOUT;
        slowest = took > slowest ? took : slowest;
        first = took < first ? took : first;
    }
    if (f->kind == FAULT_STOP && (!scene->errs[f->victim] || scene->shrunk[f->victim] == 1)) {
        fprintf(out, "  rank %d was stopped and left out, and did not notice\n", f->victim);
        right = false;
    }
    // What only silence tells is known after the deadline; from the first on, all must know.
    const double known = is_silent ? first : 0;
    if (right && slowest - known > at_once) {
        fprintf(out, "  the last survivor returned %.3f s after it could be known\n", slowest - known);
        right = false;
    }
    if (right && known > timeout + at_once) {
        fprintf(out, "  the first survivor returned after %.3f s, and the deadline is %g s\n", known, timeout);
        right = false;
    }
    *detection_p = slowest - (known > timeout ? timeout : known);
    return right;
}

// ---- what is left --------------------------------------------------------------------------------------------

bool fault_left_processes(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ; // they have ended, and that is enough
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static int count_ours(const char *folder)
{
    int ours = 0;
    DIR *dir = opendir(folder);
    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        ours += strstr(entry->d_name, "clab") != NULL || strstr(entry->d_name, "fi_") != NULL;
    if (dir)
        closedir(dir);
    return ours;
}

int fault_left_files(void)
{
    return count_ours("/dev/shm");
}
