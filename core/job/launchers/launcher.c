// SPDX-License-Identifier: MIT
// Reads the environment that launchers make: one row a launcher, in the order that launcher.h explains.

#include "core/job/launchers/launcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/units.h"
#include "core/base/variables.h"
#include "core/job/job.h"
#include "core/job/store/socket.h"

#define BY_HAND "a rank started by hand needs RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"

// The variables in which a launcher describes a process.
struct source {
    const char *by;
    bool (*is_here)(void);
    const char *rank, *size, *local_rank, *local_size;
    int (*locate)(struct clab_launched *launched); // fills what says where the store is
};

// ---- variables ------------------------------------------------------------------------------------------------

// Empty is as good as unset.
static const char *variable(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static int read_number(const char *name, int low, int high, int *value_p)
{
    const char *text = variable(name);
    if (text && clab_parse_int(text, low, high, value_p) == CLAB_OK)
        return CLAB_OK;
    if (text)
        clab_error("%s is '%s', not a number from %d to %d: correct or unset it", name, text, low, high);
    else
        clab_error("%s is not set, but this launcher sets it in every process: pass the whole environment on", name);
    return CLAB_EPARSE;
}

static int read_number_if_set(const char *name, int low, int high, int *value_p)
{
    *value_p = -1;
    return name && variable(name) ? read_number(name, low, high, value_p) : CLAB_OK;
}

static bool is_number(const char *name, int value)
{
    int number;
    const char *text = variable(name);
    return text && clab_parse_int(text, 0, INT32_MAX, &number) == CLAB_OK && number == value;
}

// ---- who is here ----------------------------------------------------------------------------------------------

static bool by_commlab(void)
{
    return clab_variable_given(CLAB_VARIABLE_JOB_FD) || clab_variable_given(CLAB_VARIABLE_STORE);
}

static bool by_torchrun(void)
{
    return variable("TORCHELASTIC_RUN_ID");
}

static bool by_hand(void)
{
    return variable("RANK") && variable("WORLD_SIZE") && variable("MASTER_ADDR") && variable("MASTER_PORT");
}

static bool by_open_mpi(void)
{
    return variable("OMPI_COMM_WORLD_SIZE");
}

// Batch scripts and interactive shells of salloc have step numbers near 2^32, beyond any int; the shell of srun --pty
// is a step of one task with a terminal.
static bool by_slurm(void)
{
    int step;
    const char *id = variable("SLURM_STEP_ID");
    if (!id || clab_parse_int(id, 0, INT32_MAX, &step) != CLAB_OK || !variable("SLURM_STEP_NUM_TASKS"))
        return false;
    return !(variable("SLURM_PTY_PORT") && is_number("SLURM_STEP_NUM_TASKS", 1));
}

static bool is_same(const char *name, const char *other)
{
    return variable(name) && variable(other) && strcmp(variable(name), variable(other)) == 0;
}

// srun --mpi=pmi2 sets PMI_*, too; hydra's differ from those of the step that its proxies are.
static bool by_hydra(void)
{
    const bool is_slurms = is_same("PMI_SIZE", "SLURM_STEP_NUM_TASKS") && is_same("PMI_RANK", "SLURM_PROCID");
    return variable("PMI_SIZE") && !(by_slurm() && is_slurms);
}

// ---- where the store is ---------------------------------------------------------------------------------------

// What MASTER_ADDR and MASTER_PORT say, if they are set; launched->host stays "" if not.
static int at_master(struct clab_launched *launched)
{
    const char *host = variable("MASTER_ADDR");
    if (!host && !variable("MASTER_PORT"))
        return CLAB_OK;
    if (!host || !variable("MASTER_PORT")) {
        clab_error("%s is set without %s: set both, to rank 0's host and a free port there, or neither",
                   host ? "MASTER_ADDR" : "MASTER_PORT", host ? "MASTER_PORT" : "MASTER_ADDR");
        return CLAB_EPARSE;
    }
    if (strlen(host) >= sizeof launched->host) {
        clab_error("MASTER_ADDR is longer than %d characters", CLAB_HOST_BYTES - 1);
        return CLAB_EPARSE;
    }
    CLAB_TRY(read_number("MASTER_PORT", 1, 65535, &launched->port));
    CLAB_TRY(clab_launcher_token(launched->token));
    strcpy(launched->host, host);
    return CLAB_OK;
}

// Ranks of one node have memory in common, and need none.
static int at_running_store(struct clab_launched *launched)
{
    if (clab_variable_given(CLAB_VARIABLE_JOB_FD))
        return CLAB_OK;
    if (store_address_read(clab_variable_given(CLAB_VARIABLE_STORE), launched->host, &launched->port) != CLAB_OK) {
        clab_error("CLAB_STORE is '%s', not HOST:PORT: leave it as the launcher set it",
                   clab_variable_given(CLAB_VARIABLE_STORE));
        return CLAB_EPARSE;
    }
    launched->is_running = true;
    return clab_launcher_token(launched->token);
}

// PyTorch's own store may be at that port already: torchrun's agent opens it before the ranks start.
static int beside_agent(struct clab_launched *launched)
{
    const char *agent = variable("TORCHELASTIC_USE_AGENT_STORE");
    CLAB_TRY(at_master(launched));
    if (!launched->host[0]) {
        clab_error("MASTER_ADDR and MASTER_PORT are not set, as torchrun sets them: pass its whole environment on");
        return CLAB_EPARSE;
    }
    if (agent && (strcmp(agent, "True") == 0 || strcmp(agent, "1") == 0) && ++launched->port > 65535) {
        clab_error("MASTER_PORT is 65535, where torchrun's agent listens, and the port after it is ours: use a lower "
                   "--master-port");
        return CLAB_EPARSE;
    }
    return CLAB_OK;
}

static int at_master_or_by(enum clab_share share, struct clab_launched *launched)
{
    CLAB_TRY(at_master(launched));
    launched->share = launched->host[0] ? CLAB_SHARE_NONE : share;
    return CLAB_OK;
}

static int by_pmix(struct clab_launched *launched)
{
    return at_master_or_by(variable("PMIX_NAMESPACE") ? CLAB_SHARE_PMIX : CLAB_SHARE_NONE, launched);
}

static int by_pmi(struct clab_launched *launched)
{
    return at_master_or_by(variable("PMI_FD") ? CLAB_SHARE_PMI : CLAB_SHARE_NONE, launched);
}

// The first node has rank 0. Alone it needs no name.
static int at_first_node(struct clab_launched *launched)
{
    int job, step;
    CLAB_TRY(read_number("SLURM_JOB_ID", 0, INT32_MAX, &job));
    CLAB_TRY(read_number("SLURM_STEP_ID", 0, INT32_MAX, &step));
    const char *nodes = variable("SLURM_STEP_NODELIST");
    char host[CLAB_HOST_BYTES] = "127.0.0.1";
    if (launched->local_ranks != launched->nranks && (!nodes || launcher_slurm_host(nodes, host) != CLAB_OK)) {
        clab_error("SLURM_STEP_NODELIST is '%s', which names no host: set MASTER_ADDR and MASTER_PORT, rank 0's host "
                   "and a free port there",
                   nodes ? nodes : "");
        return CLAB_EPARSE;
    }
    CLAB_TRY(clab_launcher_token(launched->token));
    launched->port = launcher_slurm_port((unsigned)job, (unsigned)step);
    strcpy(launched->host, host);
    return CLAB_OK;
}

// What srun --mpi=... offers, while MPI does not need it itself (launcher.h).
static enum clab_share slurm_share(const struct clab_launched *launched)
{
    const char *backend = clab_variable_given(CLAB_VARIABLE_BACKEND);
    if (variable("PMI_FD") && is_number("PMI_RANK", launched->rank) && is_number("PMI_SIZE", launched->nranks) &&
        !(backend && strcmp(backend, "mpi") == 0))
        return CLAB_SHARE_PMI;
    if (launcher_has_pmix && variable("PMIX_NAMESPACE") && is_number("PMIX_RANK", launched->rank))
        return CLAB_SHARE_PMIX;
    return CLAB_SHARE_NONE;
}

static int by_step(struct clab_launched *launched)
{
    if (is_number("SLURM_STEP_NUM_NODES", 1))
        launched->local_ranks = launched->nranks;
    CLAB_TRY(at_master_or_by(slurm_share(launched), launched));
    return launched->host[0] || launched->share != CLAB_SHARE_NONE ? CLAB_OK : at_first_node(launched);
}

// ---- all together ---------------------------------------------------------------------------------------------

static const struct source sources[] = {
    {"commlab", by_commlab, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", at_running_store},
    {"torchrun", by_torchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", beside_agent},
    {"the environment", by_hand, "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", at_master},
    {"Open MPI", by_open_mpi, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", by_pmix},
    {"MPICH hydra", by_hydra, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", by_pmi},
    {"Slurm", by_slurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, by_step},
};
enum { BY_HAND_ROW = 2, SOURCES = sizeof sources / sizeof *sources };

static int read_ranks(const struct source *source, struct clab_launched *launched)
{
    CLAB_TRY(read_number(source->size, 1, CLAB_MAX_RANKS, &launched->nranks));
    CLAB_TRY(read_number(source->rank, 0, launched->nranks - 1, &launched->rank));
    CLAB_TRY(read_number_if_set(source->local_size, 1, launched->nranks, &launched->local_ranks));
    const int here = launched->local_ranks < 0 ? launched->nranks : launched->local_ranks;
    return read_number_if_set(source->local_rank, 0, here - 1, &launched->local_rank);
}

// By hand, in a process that mpirun or srun started, RANK and WORLD_SIZE may be of a job on top of theirs, with more
// ranks; with fewer they are left over in the shell, the same for all.
static int check_by_hand(const struct clab_launched *launched)
{
    for (int i = BY_HAND_ROW + 1; i < SOURCES; i++) {
        int size;
        if (!sources[i].is_here())
            continue;
        CLAB_TRY(read_number(sources[i].size, 1, INT32_MAX, &size));
        if (size > launched->nranks) {
            clab_error("WORLD_SIZE is %d, but %s has started %d processes (%s): unset RANK and WORLD_SIZE",
                       launched->nranks, sources[i].by, size, sources[i].size);
            return CLAB_EPARSE;
        }
    }
    return CLAB_OK;
}

static int check_equal(const char *name, int value, const char *by, const char *theirs)
{
    if (!variable(name) || is_number(name, value))
        return CLAB_OK;
    clab_error("%s is '%s', but %s says %d (%s): unset %s", name, variable(name), by, value, theirs, name);
    return CLAB_EPARSE;
}

static int check_others(int row, const struct clab_launched *launched)
{
    const struct source *source = &sources[row];
    if (row == BY_HAND_ROW)
        return check_by_hand(launched);
    CLAB_TRY(check_equal("WORLD_SIZE", launched->nranks, source->by, source->size));
    return check_equal("RANK", launched->rank, source->by, source->rank);
}

// Nobody is here. MASTER_* alone may be meant for others; RANK and WORLD_SIZE claim that this is a rank.
static int check_alone(void)
{
    static const char *const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
    const char *set = variable("RANK") ? "RANK" : "WORLD_SIZE";
    for (int i = 0; i < 4 && variable(set); i++)
        if (!variable(names[i])) {
            clab_error("%s is set, but %s is not: " BY_HAND "; unset %s to run without them", set, names[i], set);
            return CLAB_EPARSE;
        }
    return CLAB_ENOENT;
}

int clab_launcher_find(struct clab_launched *launched_p)
{
    for (int i = 0; i < SOURCES; i++) {
        if (!sources[i].is_here())
            continue;
        struct clab_launched launched = {
            .by = sources[i].by, .rank_variable = sources[i].rank, .is_by_hand = i == BY_HAND_ROW};
        CLAB_TRY(read_ranks(&sources[i], &launched));
        CLAB_TRY(check_others(i, &launched));
        CLAB_TRY(sources[i].locate(&launched));
        *launched_p = launched;
        return CLAB_OK;
    }
    return check_alone();
}

int clab_launcher_share(const struct clab_launched *launched, double timeout, char text[CLAB_SHARED_BYTES])
{
    if (launched->share == CLAB_SHARE_PMI)
        return launcher_share_pmi(launched->rank, timeout, text);
    if (launched->share == CLAB_SHARE_PMIX)
        return launcher_share_pmix(launched->rank, timeout, text);
    clab_error("%s has set neither PMI_FD nor PMIX_NAMESPACE, so ranks can not find each other: set MASTER_ADDR and "
               "MASTER_PORT for all, rank 0's host and a free port there",
               launched->by);
    return CLAB_EUNSUPPORTED;
}

// ---- hexadecimal ----------------------------------------------------------------------------------------------

void launcher_hex(const void *bytes, size_t n, char *text_p)
{
    *text_p = '\0'; // of no bytes, too
    for (size_t i = 0; i < n; i++)
        snprintf(text_p + 2 * i, 3, "%02x", ((const unsigned char *)bytes)[i]);
}

int launcher_unhex(const char *text, void *bytes_p, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != 2 * n || strspn(text, digits) != 2 * n)
        return CLAB_EPARSE;
    for (size_t i = 0; i < n; i++) {
        const long high = strchr(digits, text[2 * i]) - digits, low = strchr(digits, text[2 * i + 1]) - digits;
        ((unsigned char *)bytes_p)[i] = (unsigned char)(high << 4 | low);
    }
    return CLAB_OK;
}

int clab_job_plan(int asked, struct clab_launch_plan *plan_p)
{
    struct clab_launched launched = {0};
    const int err = clab_launcher_find(&launched);
    if (err != CLAB_OK && err != CLAB_ENOENT)
        return err;
    // Another launcher's single process is free to start a job of its own.
    const bool joins = launched.nranks > 1 || clab_variable_is_set(CLAB_VARIABLE_JOB_FD);
    if (joins && asked && asked != launched.nranks) {
        clab_error("-n %d, but the job that this rank belongs to has %d ranks: drop -n, or put it before the program",
                   asked, launched.nranks);
        return CLAB_EINVAL;
    }
    const int usual = launched.nranks ? launched.nranks : 2;
    *plan_p = (struct clab_launch_plan){.joins = joins, .nranks = asked ? asked : usual};
    return CLAB_OK;
}
