// SPDX-License-Identifier: MIT
// What processes find in the environments that launchers make, and in such as are half of one; and the token. Real
// launchers: test_launchers.sh.

#include "tests/fixtures/capture.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "core/job/launchers/launcher.h"
#include "tests/fixtures/launcher_names.h"

#define TOKEN    "00112233445566778899aabbccddeeff"
#define BY_HAND  "RANK=1 WORLD_SIZE=4 MASTER_ADDR=node7 MASTER_PORT=29500 CLAB_TOKEN=" TOKEN " "
#define TORCHRUN BY_HAND "TORCHELASTIC_RUN_ID=none LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 "
#define OPEN_MPI                                                                  \
    "OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 " \
    "OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=1 PMIX_RANK=2 "
#define HYDRA "PMI_RANK=3 PMI_SIZE=4 PMI_FD=6 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 "
#define BATCH "SLURM_JOB_ID=77 SLURM_NTASKS=4 SLURM_NPROCS=4 SLURM_PROCID=0 SLURM_LOCALID=0 CLAB_TOKEN=" TOKEN " "
#define SRUN                                                                                 \
    "SLURM_JOB_ID=77 SLURM_STEP_ID=2 SLURM_PROCID=3 SLURM_LOCALID=1 SLURM_STEP_NUM_TASKS=4 " \
    "SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=node[07-09] CLAB_TOKEN=" TOKEN " "

// ---- environments ---------------------------------------------------------------------------------------------

static void forget_all(void)
{
    for (int i = 0; i < LAUNCHER_NAMES; i++)
        unsetenv(launcher_names[i]);
}

// "A=1 B=2": these variables, and no others of launchers.  A later one replaces an earlier.
static void set(const char *all)
{
    char text[2048];
    forget_all();
    assert_true((size_t)snprintf(text, sizeof text, "%s", all) < sizeof text);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        char *value = strchr(word, '=');
        *value++ = '\0';
        setenv(word, value, 1);
    }
}

static struct clab_launched found(const char *environment)
{
    struct clab_launched launched;
    memset(&launched, 0xa5, sizeof launched);
    set(environment);
    assert_int_equal(clab_launcher_find(&launched), CLAB_OK);
    return launched;
}

static void assert_ranks(struct clab_launched launched, const char *by, int rank, int nranks, int local_rank,
                         int locals)
{
    assert_string_equal(launched.by, by);
    assert_int_equal(launched.rank, rank);
    assert_int_equal(launched.nranks, nranks);
    assert_int_equal(launched.local_rank, local_rank);
    assert_int_equal(launched.local_ranks, locals);
}

static void assert_store(struct clab_launched launched, const char *host, int port)
{
    static const unsigned char token[CLAB_TOKEN_BYTES] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                                          0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
    assert_string_equal(launched.host, host);
    assert_int_equal(launched.port, port);
    assert_int_equal(launched.share, CLAB_SHARE_NONE);
    assert_memory_equal(launched.token, token, sizeof token);
}

static void assert_shares(struct clab_launched launched, enum clab_share share)
{
    assert_string_equal(launched.host, "");
    assert_int_equal(launched.share, share);
}

static void assert_alone(const char *environment)
{
    struct clab_launched launched;
    set(environment);
    assert_int_equal(clab_launcher_find(&launched), CLAB_ENOENT);
}

static void assert_refused(const char *environment, const char *words)
{
    struct clab_launched launched;
    set(environment);
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = clab_launcher_find(&launched);
    assert_one_line_with(capture_end(err), words);
    assert_int_equal(status, CLAB_EPARSE);
}

static void test_a_process_that_nobody_started_is_alone(void **state)
{
    assert_alone("");
    assert_alone("MASTER_ADDR=node7 MASTER_PORT=29500"); // says where, but not that there is a rank
    assert_alone("RANK= WORLD_SIZE=");
}

static void test_four_variables_make_a_rank_by_hand(void **state)
{
    struct clab_launched launched = found(BY_HAND);
    assert_ranks(launched, "the environment", 1, 4, -1, -1);
    assert_store(launched, "node7", 29500);
    assert_false(launched.is_running);
    assert_ranks(found(BY_HAND "LOCAL_RANK=0 LOCAL_WORLD_SIZE=2"), "the environment", 1, 4, 0, 2);
}

static void test_half_of_a_rank_by_hand_is_refused(void **state)
{
    assert_refused("RANK=1", "RANK is set, but WORLD_SIZE is not");
    assert_refused("WORLD_SIZE=2", "WORLD_SIZE is set, but RANK is not");
    assert_refused("RANK=1 WORLD_SIZE=2", "MASTER_ADDR is not");
    assert_refused("RANK=1 WORLD_SIZE=2 MASTER_ADDR=node7", "MASTER_PORT is not");
}

static void test_numbers_out_of_range_are_refused(void **state)
{
    assert_refused(BY_HAND "RANK=4", "RANK is '4', not a number from 0 to 3");
    assert_refused(BY_HAND "RANK=x", "RANK is 'x'");
    assert_refused(BY_HAND "WORLD_SIZE=0", "WORLD_SIZE is '0'");
    assert_refused(BY_HAND "WORLD_SIZE=1025", "WORLD_SIZE is '1025', not a number from 1 to 1024");
    assert_refused(BY_HAND "MASTER_PORT=65536", "MASTER_PORT is '65536'");
    assert_refused(BY_HAND "LOCAL_RANK=-1", "LOCAL_RANK is '-1'");
    assert_refused(BY_HAND "LOCAL_RANK=2 LOCAL_WORLD_SIZE=2", "LOCAL_RANK is '2', not a number from 0 to 1");
    assert_refused(OPEN_MPI "OMPI_COMM_WORLD_RANK=4", "OMPI_COMM_WORLD_RANK is '4'");
    assert_refused("OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_RANK is not set");
}

static void test_ranks_of_commlab_find_its_store_running(void **state)
{
    struct clab_launched launched =
        found(BY_HAND OPEN_MPI SRUN "CLAB_STORE=[fe80::7]:29600 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2");
    assert_ranks(launched, "commlab", 1, 4, 1, 2);
    assert_store(launched, "fe80::7", 29600);
    assert_true(launched.is_running);
    assert_refused(BY_HAND "CLAB_STORE=node7", "CLAB_STORE is 'node7', not HOST:PORT");
}

static void test_ranks_of_one_node_of_commlab_need_no_store(void **state)
{
    struct clab_launched launched = found("RANK=1 WORLD_SIZE=4 CLAB_JOB_FD=3 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4");
    assert_ranks(launched, "commlab", 1, 4, 1, 4);
    assert_string_equal(launched.host, "");
}

static void test_ranks_of_torchrun_leave_its_agent_its_port(void **state)
{
    struct clab_launched launched = found(TORCHRUN "TORCHELASTIC_USE_AGENT_STORE=True");
    assert_ranks(launched, "torchrun", 1, 4, 1, 2);
    assert_store(launched, "node7", 29501);
    assert_false(launched.is_running);
    assert_store(found(TORCHRUN "TORCHELASTIC_USE_AGENT_STORE=False"), "node7", 29500);
    assert_store(found(TORCHRUN), "node7", 29500);
    assert_refused(TORCHRUN "TORCHELASTIC_USE_AGENT_STORE=True MASTER_PORT=65535", "65535");
    assert_refused("TORCHELASTIC_RUN_ID=1 RANK=0 WORLD_SIZE=1", "MASTER_ADDR and MASTER_PORT are not set");
}

static void test_ranks_of_open_mpi_share_by_pmix(void **state)
{
    assert_ranks(found(OPEN_MPI), "Open MPI", 2, 4, 0, 2);
    assert_shares(found(OPEN_MPI), CLAB_SHARE_PMIX);
    assert_shares(found(OPEN_MPI "PMIX_NAMESPACE="), CLAB_SHARE_NONE);
}

static void test_ranks_of_hydra_share_by_pmi(void **state)
{
    assert_ranks(found(HYDRA), "MPICH hydra", 3, 4, 1, 2);
    assert_shares(found(HYDRA), CLAB_SHARE_PMI);
    assert_shares(found(HYDRA "PMI_FD="), CLAB_SHARE_NONE);
}

static void test_master_says_where_the_store_of_any_launcher_is(void **state)
{
    static const char *const launchers[] = {OPEN_MPI, HYDRA, SRUN};
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        char environment[1024];
        snprintf(environment, sizeof environment, "%sMASTER_ADDR=node7 MASTER_PORT=29500 CLAB_TOKEN=" TOKEN,
                 launchers[i]);
        assert_store(found(environment), "node7", 29500);
        snprintf(environment, sizeof environment, "%sMASTER_ADDR=node7", launchers[i]);
        assert_refused(environment, "MASTER_ADDR is set without MASTER_PORT");
        snprintf(environment, sizeof environment, "%sMASTER_PORT=29500", launchers[i]);
        assert_refused(environment, "MASTER_PORT is set without MASTER_ADDR");
    }
}

static void test_tasks_of_srun_derive_where_the_store_is(void **state)
{
    const struct clab_launched third = found(SRUN), first = found(SRUN "SLURM_PROCID=0");
    assert_ranks(third, "Slurm", 3, 4, 1, -1);
    assert_store(third, "node07", third.port);
    assert_int_equal(first.port, third.port);
    assert_in_range(third.port, 20000, 32767);
    assert_int_not_equal(found(SRUN "SLURM_STEP_ID=3").port, third.port);
    assert_int_not_equal(found(SRUN "SLURM_JOB_ID=78").port, third.port);
    assert_refused(SRUN "SLURM_STEP_NODELIST=", "SLURM_STEP_NODELIST is ''");
    assert_refused(SRUN "SLURM_STEP_NODELIST=node[1", "SLURM_STEP_NODELIST is 'node[1'");
}

static void test_tasks_of_srun_on_one_node_need_no_name(void **state)
{
    const struct clab_launched launched = found(SRUN "SLURM_STEP_NUM_NODES=1");
    assert_ranks(launched, "Slurm", 3, 4, 1, 4);
    assert_store(launched, "127.0.0.1", launched.port);
}

static void test_tasks_of_srun_share_by_what_it_offers(void **state)
{
    const struct clab_launched launched = found(SRUN "PMI_RANK=3 PMI_SIZE=4 PMI_FD=11");
    assert_ranks(launched, "Slurm", 3, 4, 1, -1);
    assert_shares(launched, CLAB_SHARE_PMI);
    assert_store(found(SRUN "PMI_RANK=3 PMI_SIZE=4 PMI_FD=11 CLAB_BACKEND=mpi"), "node07", found(SRUN).port);
    if (launcher_has_pmix)
        assert_shares(found(SRUN "PMIX_NAMESPACE=slurm.77.2 PMIX_RANK=3"), CLAB_SHARE_PMIX);
    else
        assert_store(found(SRUN "PMIX_NAMESPACE=slurm.77.2 PMIX_RANK=3"), "node07", found(SRUN).port);
}

static void test_shells_in_an_allocation_are_alone(void **state)
{
    assert_alone(BATCH);                                                               // sbatch
    assert_alone("SLURM_JOB_ID=77 SLURM_NTASKS=4 SLURM_NPROCS=4");                     // salloc
    assert_alone(BATCH "SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1");             // salloc's own step
    assert_alone(BATCH "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=1 SLURM_PTY_PORT=26941"); // srun --pty
    assert_ranks(found(SRUN "SLURM_STEP_NUM_TASKS=1 SLURM_PROCID=0 SLURM_LOCALID=0"), "Slurm", 0, 1, 0, -1);
}

static void test_inner_launchers_are_found_before_outer(void **state)
{
    assert_ranks(found(TORCHRUN SRUN "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0"), "torchrun", 1, 4, 1, 2);
    assert_ranks(found(OPEN_MPI SRUN "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0"), "Open MPI", 2, 4, 0, 2);
    assert_ranks(found(HYDRA SRUN "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1"), "MPICH hydra", 3, 4, 1, 2);
    assert_ranks(found(BY_HAND SRUN "SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1"), "the environment", 1, 4, -1, -1);
}

static void test_contradictions_are_refused(void **state)
{
    assert_refused(BY_HAND OPEN_MPI "WORLD_SIZE=2", "WORLD_SIZE is 2, but Open MPI has started 4 processes");
    assert_refused(BY_HAND SRUN "WORLD_SIZE=2", "WORLD_SIZE is 2, but Slurm has started 4 processes");
    assert_refused(OPEN_MPI "RANK=1", "RANK is '1', but Open MPI says 2 (OMPI_COMM_WORLD_RANK)");
    assert_refused(HYDRA "WORLD_SIZE=2", "WORLD_SIZE is '2', but MPICH hydra says 4 (PMI_SIZE)");
    assert_ranks(found(HYDRA "RANK=3 WORLD_SIZE=4"), "MPICH hydra", 3, 4, 1, 2);
}

static void test_first_hosts_of_lists_are_found(void **state)
{
    static const char *const good[][2] = {{"vm", "vm"},
                                          {"node[01-03,7],x", "node01"},
                                          {"node[7]", "node7"},
                                          {"node[7,9-11]-ib.a_b", "node7-ib.a_b"},
                                          {"r[0-1]n[12-13]", "r0n12"},
                                          {"a,b[1-2]", "a"}};
    static const char *const bad[] = {"", ",a", "a[", "a[]", "a[1", "a[x]", "a[1-2", "a]", "a[[1]]", "a b", "a[1,2,b"};
    char host[CLAB_HOST_BYTES];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(launcher_slurm_host(good[i][0], host), CLAB_OK);
        assert_string_equal(host, good[i][1]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (launcher_slurm_host(bad[i], host) != CLAB_EPARSE)
            fail_msg("'%s' has a host", bad[i]);
    char longer[CLAB_HOST_BYTES + 1];
    memset(longer, 'a', sizeof longer);
    longer[CLAB_HOST_BYTES] = '\0';
    assert_int_equal(launcher_slurm_host(longer, host), CLAB_EPARSE);
    assert_int_equal(launcher_slurm_host(longer + 1, host), CLAB_OK);
}

// ---- the token ------------------------------------------------------------------------------------------------

static const char *token_file(void)
{
    return folder_path("config/commlab/token");
}

static int forget_token(void **state)
{
    forget_all();
    unlink(token_file());
    rmdir(folder_path("config/commlab"));
    rmdir(folder_path("config"));
    setenv("XDG_CONFIG_HOME", folder_path("config"), 1);
    return 0;
}

static void refuse_token(int expected, const char *words)
{
    unsigned char token[CLAB_TOKEN_BYTES];
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = clab_launcher_token(token);
    assert_one_line_with(capture_end(err), words);
    assert_int_equal(status, expected);
}

static void test_a_token_is_made_once_for_its_user_alone(void **state)
{
    unsigned char first[CLAB_TOKEN_BYTES] = {0}, second[CLAB_TOKEN_BYTES], none[CLAB_TOKEN_BYTES] = {0};
    struct stat status;
    assert_int_equal(clab_launcher_token(first), CLAB_OK);
    assert_int_equal(clab_launcher_token(second), CLAB_OK);
    assert_memory_equal(first, second, sizeof first);
    assert_memory_not_equal(first, none, sizeof first);
    assert_int_equal(stat(token_file(), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(forget_token(NULL), 0);
    assert_int_equal(clab_launcher_token(second), CLAB_OK);
    assert_memory_not_equal(first, second, sizeof first);
}

// Nothing is left beside it: forget_token would find the folder not empty, and this one.
static void test_processes_that_make_a_token_together_make_one(void **state)
{
    enum { PROCESSES = 8 };
    unsigned char tokens[PROCESSES + 1][CLAB_TOKEN_BYTES];
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++)
        if (fork() == 0) {
            const int err = clab_launcher_token(tokens[i]);
            _exit(err || write(pipes[1], tokens[i], CLAB_TOKEN_BYTES) != CLAB_TOKEN_BYTES);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
        assert_int_equal(read(pipes[0], tokens[i], CLAB_TOKEN_BYTES), CLAB_TOKEN_BYTES);
        assert_memory_equal(tokens[i], tokens[0], CLAB_TOKEN_BYTES);
    }
    close(pipes[0]);
    close(pipes[1]);
    assert_int_equal(unlink(token_file()), 0);
    assert_int_equal(rmdir(folder_path("config/commlab")), 0);
}

static void test_the_environment_says_a_jobs_token(void **state)
{
    setenv("CLAB_TOKEN", "0123", 1);
    refuse_token(CLAB_EPARSE, "CLAB_TOKEN is not 32 hexadecimal digits");
    setenv("CLAB_TOKEN", "g0112233445566778899aabbccddeeff", 1);
    refuse_token(CLAB_EPARSE, "CLAB_TOKEN is not 32 hexadecimal digits");
    assert_int_not_equal(access(token_file(), F_OK), 0);
}

static void test_a_token_that_others_may_read_is_refused(void **state)
{
    unsigned char token[CLAB_TOKEN_BYTES];
    assert_int_equal(clab_launcher_token(token), CLAB_OK);
    chmod(token_file(), 0640);
    refuse_token(CLAB_EPARSE, "token is a secret that others may read");
    chmod(token_file(), 0600);
    assert_int_equal(truncate(token_file(), 20), 0);
    refuse_token(CLAB_EPARSE, "token does not hold 32 hexadecimal digits");
}

static void test_no_place_for_a_token_is_said(void **state)
{
    setenv("XDG_CONFIG_HOME", "/proc/none", 1);
    refuse_token(CLAB_ESYS, "/proc/none/commlab");
    char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("HOME");
    refuse_token(CLAB_ESYS, "HOME is not set");
    setenv("HOME", home, 1);
    free(home);
}

// ---- sharing --------------------------------------------------------------------------------------------------

static void test_a_launcher_without_a_store_is_named_with_the_remedy(void **state)
{
    const struct clab_launched launched = found(HYDRA "PMI_FD=");
    char text[CLAB_SHARED_BYTES] = "";
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = clab_launcher_share(&launched, 1, text);
    assert_one_line_with(capture_end(err), "set MASTER_ADDR and MASTER_PORT");
    assert_int_equal(status, CLAB_EUNSUPPORTED);
}

static void test_digits_of_no_bytes_are_an_empty_text(void **state)
{
    char text[5] = "xxxx";
    launcher_hex(text, 0, text);
    assert_string_equal(text, "");
    launcher_hex("\x0a\xf0", 2, text);
    assert_string_equal(text, "0af0");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_nobody_started_is_alone),
        cmocka_unit_test(test_four_variables_make_a_rank_by_hand),
        cmocka_unit_test(test_half_of_a_rank_by_hand_is_refused),
        cmocka_unit_test(test_numbers_out_of_range_are_refused),
        cmocka_unit_test(test_ranks_of_commlab_find_its_store_running),
        cmocka_unit_test(test_ranks_of_one_node_of_commlab_need_no_store),
        cmocka_unit_test(test_ranks_of_torchrun_leave_its_agent_its_port),
        cmocka_unit_test(test_ranks_of_open_mpi_share_by_pmix),
        cmocka_unit_test(test_ranks_of_hydra_share_by_pmi),
        cmocka_unit_test(test_master_says_where_the_store_of_any_launcher_is),
        cmocka_unit_test(test_tasks_of_srun_derive_where_the_store_is),
        cmocka_unit_test(test_tasks_of_srun_on_one_node_need_no_name),
        cmocka_unit_test(test_tasks_of_srun_share_by_what_it_offers),
        cmocka_unit_test(test_shells_in_an_allocation_are_alone),
        cmocka_unit_test(test_inner_launchers_are_found_before_outer),
        cmocka_unit_test(test_contradictions_are_refused),
        cmocka_unit_test(test_first_hosts_of_lists_are_found),
        cmocka_unit_test_setup_teardown(test_a_token_is_made_once_for_its_user_alone, forget_token, forget_token),
        cmocka_unit_test_setup_teardown(test_processes_that_make_a_token_together_make_one, forget_token, forget_token),
        cmocka_unit_test_setup_teardown(test_the_environment_says_a_jobs_token, forget_token, forget_token),
        cmocka_unit_test_setup_teardown(test_a_token_that_others_may_read_is_refused, forget_token, forget_token),
        cmocka_unit_test_setup_teardown(test_no_place_for_a_token_is_said, forget_token, forget_token),
        cmocka_unit_test(test_a_launcher_without_a_store_is_named_with_the_remedy),
        cmocka_unit_test(test_digits_of_no_bytes_are_an_empty_text),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
