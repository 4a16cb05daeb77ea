// SPDX-License-Identifier: MIT
// The ranks of a running job, found from outside (ranks.h).
// Source: proc(5).

#include "cmd/netmon/ranks.h"

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/base/machine/process.h"
#include "core/base/units.h"
#include "core/base/vector.h"

struct processes {
    struct clab_process *list;
    int n;
};

// ---- what /proc says -----------------------------------------------------------------------------------------

// Of this user.
static bool is_ours(pid_t pid)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    return stat(path, &status) == 0 && status.st_uid == geteuid();
}

// Those of this user that have not ended.
static int read_processes(struct processes *all_p)
{
    struct processes all;
    int kept = 0;
    const int err = clab_process_list(&all.list, &all.n);
    if (err == CLAB_ESYS)
        clab_error("netmon: /proc can not be read, and with it no job found: %m");
    CLAB_TRY(err);
    for (int i = 0; i < all.n; i++)
        if (!clab_process_has_ended(&all.list[i]) && is_ours(all.list[i].pid))
            all.list[kept++] = all.list[i];
    *all_p = (struct processes){all.list, kept};
    return CLAB_OK;
}

// ---- the job's processes -------------------------------------------------------------------------------------

static const struct clab_process *find(const struct processes *all, pid_t pid)
{
    for (int i = 0; i < all->n; i++)
        if (all->list[i].pid == pid)
            return &all->list[i];
    return NULL;
}

static bool is_below(const struct processes *all, const struct clab_process *p, pid_t ancestor)
{
    for (int depth = 0; p && depth < 64; depth++, p = find(all, p->parent))
        if (p->pid == ancestor)
            return true;
    return false;
}

static bool has_children(const struct processes *all, pid_t pid)
{
    for (int i = 0; i < all->n; i++)
        if (all->list[i].parent == pid)
            return true;
    return false;
}

// A rank leads a process group of its own (core/job/launch/ranks.c), and starts no processes. The job's store is none.
static bool is_rank(const struct processes *all, const struct clab_process *p)
{
    return p->group == p->pid && !has_children(all, p->pid) && strcmp(p->name, "commlab-store") != 0;
}

// The oldest process of a program's name: its launcher. There may be one job of that name only.
static int find_by_name(const struct processes *all, const char *name, pid_t *pid_p)
{
    pid_t found = 0;
    for (int i = 0; i < all->n; i++) {
        const struct clab_process *p = &all->list[i], *parent = find(all, p->parent);
        const bool is_copy = parent && !strcmp(parent->name, p->name);
        if (strncmp(p->name, name, sizeof p->name - 1) != 0 || is_copy || p->pid == getpid() ||
            !has_children(all, p->pid))
            continue;
        if (found) {
            clab_error("netmon: --job %s: processes %d and %d have that name: give the number of one", name, (int)found,
                       (int)p->pid);
            return CLAB_ENOENT;
        }
        found = p->pid;
    }
    if (!found)
        clab_error("netmon: --job %s: no job of that name runs here under your account: `ps -C %s` lists processes",
                   name, name);
    *pid_p = found;
    return found ? CLAB_OK : CLAB_ENOENT;
}

static int find_root(const struct processes *all, const char *name, pid_t *pid_p)
{
    int pid;
    if (clab_parse_int(name, 1, INT_MAX, &pid) != CLAB_OK)
        return find_by_name(all, name, pid_p);
    const struct clab_process *p = find(all, pid);
    if (!p) {
        clab_error("netmon: --job %d: no process of yours has that number", pid);
        return CLAB_ENOENT;
    }
    // A rank means its whole job: the tree of its parent.
    *pid_p = is_rank(all, p) && find(all, p->parent) ? p->parent : pid;
    return CLAB_OK;
}

struct found {
    struct clab_process process;
    int rank; // -1: its environment does not say
};

static int by_rank(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    return CLAB_ORDER(x->rank, y->rank) ?: CLAB_ORDER(x->process.started, y->process.started)
        ?: CLAB_ORDER(x->process.pid, y->process.pid);
}

void netmon_ranks_free(struct netmon_ranks *ranks)
{
    free(ranks->pids);
    free(ranks->numbers);
    *ranks = (struct netmon_ranks){0};
}

static int collect(const struct processes *all, pid_t root, struct netmon_ranks *ranks_p)
{
    const size_t room = (size_t)all->n + 1;
    struct found *found = calloc(room, sizeof *found);
    struct netmon_ranks ranks = {calloc(room, sizeof *ranks.pids), calloc(room, sizeof *ranks.numbers), 0};
    const bool has_room = found && ranks.pids && ranks.numbers;
    for (int i = 0; has_room && i < all->n; i++)
        if (is_below(all, &all->list[i], root) && is_rank(all, &all->list[i]))
            found[ranks.n++] = (struct found){all->list[i], clab_process_variable(all->list[i].pid, "RANK")};
    if (has_room)
        qsort(found, (size_t)ranks.n, sizeof *found, by_rank);
    for (int i = 0; i < ranks.n; i++) {
        ranks.pids[i] = found[i].process.pid;
        ranks.numbers[i] = found[i].rank < 0 ? i : found[i].rank;
    }
    const int err = !has_room ? CLAB_ENOMEM : ranks.n == 0 ? CLAB_ENOENT : CLAB_OK;
    free(found);
    if (err)
        netmon_ranks_free(&ranks);
    else
        *ranks_p = ranks;
    return err;
}

int netmon_ranks_find(const char *name, struct netmon_ranks *ranks_p)
{
    struct processes all;
    pid_t root = 0;
    CLAB_TRY(read_processes(&all));
    int err = find_root(&all, name, &root);
    if (!err) {
        err = collect(&all, root, ranks_p);
        if (err == CLAB_ENOENT)
            clab_error("netmon: --job %s: process %d has no ranks: name the launcher of a job, or one of its ranks",
                       name, (int)root);
    }
    free(all.list);
    return err;
}

int netmon_ranks_alive(const struct netmon_ranks *ranks)
{
    int alive = 0;
    struct clab_process p;
    for (int i = 0; i < ranks->n; i++)
        alive += is_ours(ranks->pids[i]) && clab_process_read(ranks->pids[i], &p) && !clab_process_has_ended(&p);
    return alive;
}

// ---- pairs ---------------------------------------------------------------------------------------------------

// owners: (n), of each socket the number of the rank that has it open; those that none has keep -1.
static void find_owners(const struct netmon_ranks *ranks, int at, const struct netmon_socket sockets[], int n,
                        int owners[])
{
    char path[64], link[64];
    unsigned long long inode;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)ranks->pids[at]);
    DIR *folder = opendir(path);
    if (!folder)
        return; // it has just ended
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
        link[bytes > 0 ? bytes : 0] = '\0';
        if (sscanf(link, "socket:[%llu]", &inode) == 1)
            for (int i = 0; i < n; i++)
                if (sockets[i].inode == inode)
                    owners[i] = ranks->numbers[at];
    }
    closedir(folder);
}

static bool is_end(const struct netmon_end *a, const struct netmon_end *b)
{
    return a->family == b->family && a->port == b->port && !memcmp(a->address, b->address, sizeof a->address);
}

// The rank at the other end, or -1.
static int peer_of(const struct netmon_socket sockets[], int n, const int owners[], const struct netmon_socket *s)
{
    for (int i = 0; i < n; i++)
        if (owners[i] >= 0 && is_end(&sockets[i].local, &s->remote) && is_end(&sockets[i].remote, &s->local))
            return owners[i];
    return -1;
}

static bool is_pair(const struct netmon_pair *pair, int rank, int peer, const struct netmon_end *remote)
{
    return pair->rank == rank && pair->peer == peer &&
           (peer >= 0 || !memcmp(pair->remote.address, remote->address, sizeof remote->address));
}

static void add(struct netmon_pair *pair, const struct netmon_socket *s)
{
    pair->sockets++;
    pair->sent += s->sent;
    pair->received += s->received;
    pair->backlog += s->backlog;
    pair->retransmits += s->retransmits;
    pair->rtt = s->rtt > pair->rtt ? s->rtt : pair->rtt;
    if (s->busy >= pair->busy) {
        pair->busy = s->busy;
        pair->limited = s->limited;
    }
}

static int by_pair(const void *a, const void *b)
{
    const struct netmon_pair *x = a, *y = b;
    return CLAB_ORDER(x->rank, y->rank) ?: CLAB_ORDER(x->peer, y->peer);
}

int netmon_pairs_sum(const struct netmon_ranks *ranks, const struct netmon_socket sockets[], int n,
                     struct netmon_pair **pairs_p, int *npairs_p)
{
    struct netmon_pair *pairs = NULL;
    int npairs = 0, room = 0, *owners = malloc(((size_t)n + 1) * sizeof *owners);
    int err = owners ? CLAB_OK : CLAB_ENOMEM;
    for (int i = 0; owners && i < n; i++)
        owners[i] = -1;
    for (int at = 0; owners && at < ranks->n; at++)
        find_owners(ranks, at, sockets, n, owners);
    for (int i = 0; i < n && !err; i++) {
        if (owners[i] < 0)
            continue;
        const int peer = peer_of(sockets, n, owners, &sockets[i]);
        int at = 0;
        while (at < npairs && !is_pair(&pairs[at], owners[i], peer, &sockets[i].remote))
            at++;
        if (at == npairs)
            err = CLAB_PUSH(pairs, npairs, room,
                            (struct netmon_pair){.rank = owners[i], .peer = peer, .remote = sockets[i].remote});
        if (!err)
            add(&pairs[at], &sockets[i]);
    }
    free(owners);
    if (err) {
        free(pairs);
        return err;
    }
    if (npairs)
        qsort(pairs, (size_t)npairs, sizeof *pairs, by_pair);
    *pairs_p = pairs;
    *npairs_p = npairs;
    return CLAB_OK;
}
