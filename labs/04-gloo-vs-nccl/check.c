// SPDX-License-Identifier: MIT
// What a mended lab 04 must show: the job runs on the backend that fits where its ranks are, unless --backend says
// another. The backend is the one that the library has recorded.
// before: The program names a backend that sends through the kernel

#include <string.h>

#include "cmd/course/check.h"
#include "lab.h"

static const char names_one[] =
    "The program names a backend that sends through the kernel, and these ranks share one memory. Name none: then the kit "
    "chooses by where the ranks are.";
static const char by_environment[] =
    "The program chooses by variables that only a launcher sets. Started by hand, it launches its own ranks, and finds none of "
    "them. Name no backend: the kit knows where the ranks are in both cases.";
static const char names_shm[] =
    "The program names shm, and these ranks share no memory: they are on two hosts. A name fits one place only. Name none.";
static const char overrules[] =
    "The program overrules --backend. Set options.usual_backend, which only counts if nobody has said another.";
static const char one_job[] =
    "A process joins one job, and a job has one backend. Choose once, before clab_job_open_with, and let all sizes run on it.";

// Fails unless all ranks were in one job, on this backend.
static void require_backend(struct check *c, const struct check_run *run, const char *expected, const char *advice)
{
    const char *got = check_backend(run);
    check_require(c, !strcmp(got, expected), advice, "the backend of the job: got %s, expected %s", got, expected);
}

static void require_shared_memory(struct check *c)
{
    const struct check_run *run = check_run(c, NULL, NULL, 4, "8 64K");
    const bool is_wrong = strcmp(check_backend(run), "shm") != 0;
    const bool fits_launched = is_wrong && !strcmp(check_backend(check_run_hosts(c, 1, 4, "8")), "shm");
    require_backend(c, run, "shm", fits_launched ? by_environment : names_one);
}

static void check(struct check *c)
{
    if (check_case(c, "3 ranks with --backend shm: the sums are right")) {
        require_backend(c, check_run(c, "shm", NULL, 3, "4096"), "shm", overrules);
        check_advise(c, CHECK_CRASHES, one_job); // with several sizes only
        check_sum(c, check_run(c, "shm", NULL, 3, "4 4096 1M"), "checksum/1048576", lab_checksum(3, 1 << 20));
    }
    check_advise(c, CHECK_CRASHES, names_one); // a build without that backend ends the program
    if (check_case(c, "4 ranks on this host: the job runs over shared memory"))
        require_shared_memory(c);
    check_advise(c, CHECK_CRASHES, overrules);
    if (check_case(c, "4 ranks with --backend sim --net 25gbe: the job runs there"))
        require_backend(c, check_run(c, "sim", "25gbe", 4, "8 64K"), "sim", overrules);
    check_advise(c, CHECK_CRASHES, names_shm);
    if (!check_has_hosts())
        check_case(c, "2 ranks on two hosts: left out, since this build has no libfabric or no libsodium");
    else if (check_case(c, "2 ranks on two hosts: the job runs over the network"))
        require_backend(c, check_run_hosts(c, 2, 2, "8 64K"), "ofi", names_shm);
}

const struct lab_check LAB_CHECK = {.check = check};
