// SPDX-License-Identifier: MIT
// What becomes of a rank's mailboxes when others leave a round without reading them. One thread per rank. Runs alone.

#include "core/job/pages/control.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the above

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/err.h"

enum { MAX_SLOTS = 3, CORES = 2 };

struct player {
    struct clab_control *control;
    struct clab_rank_slot slot;
    int (*play)(struct player *);
    _Atomic int *step; // that all players of a test share
    int err;
};

static struct clab_control *control_new(int nranks)
{
    const size_t bytes = clab_control_bytes(nranks);
    struct clab_control *control = aligned_alloc(4096, bytes);
    assert_non_null(control);
    memset(control, 0, bytes);
    clab_control_init(control, nranks, CORES, 0);
    return control;
}

static void *run_player(void *argument)
{
    struct player *player = argument;
    player->err = player->play(player);
    return NULL;
}

// Rank i does plays[i], each wait of which may last `timeout` seconds; all must answer CLAB_OK.
static void play(int nranks, double timeout, int (*const plays[])(struct player *))
{
    struct clab_control *control = control_new(nranks);
    struct player players[MAX_SLOTS] = {0};
    pthread_t threads[MAX_SLOTS];
    _Atomic int step = 0;
    for (int rank = 0; rank < nranks; rank++) {
        players[rank] = (struct player){.control = control, .play = plays[rank], .step = &step};
        assert_int_equal(clab_slot_take(control, rank, timeout, &players[rank].slot), CLAB_OK);
    }
    for (int rank = 0; rank < nranks; rank++)
        assert_int_equal(pthread_create(&threads[rank], NULL, run_player, &players[rank]), 0);
    for (int rank = 0; rank < nranks; rank++)
        pthread_join(threads[rank], NULL);
    for (int rank = 0; rank < nranks; rank++)
        clab_slot_leave(&players[rank].slot);
    for (int rank = 0; rank < nranks; rank++)
        if (players[rank].err)
            fail_msg("rank %d: %s", rank, clab_strerror(players[rank].err));
    free(control);
}

static void await(const _Atomic int *step, int wanted)
{
    for (const double start = clab_now(); *step < wanted && clab_now() - start < 20;)
        usleep(100);
}

// A fence of all, or of the `n` in `ranks`. Every rank gives its number.
static int meet(struct player *player, uint64_t key, const int *ranks, int n)
{
    int mine = player->slot.rank, all[MAX_SLOTS] = {-1, -1, -1};
    const struct clab_fence fence = {.ranks = ranks, .n = n, .key = key, .quiet = true};
    CLAB_TRY(clab_slot_exchange(&player->slot, fence, &mine, sizeof mine, all));
    for (int i = 0; i < (ranks ? n : (int)player->control->nranks); i++)
        if (all[i] != (ranks ? ranks[i] : i))
            return CLAB_EWRONG;
    return CLAB_OK;
}

// Later fences, enough to write each mailbox twice.
static int meet_later(struct player *player)
{
    for (uint64_t key = 2; key < 6; key++)
        CLAB_TRY(meet(player, key, NULL, 0));
    return CLAB_OK;
}

// ---- who gives up --------------------------------------------------------------------------------------------

// Rank 1 has all that it needs of the round by now.
static int give_up_when_the_other_is_done(void *of, bool *busy_p)
{
    struct player *player = of;
    *busy_p = true;
    await(player->step, 1);
    return CLAB_EPOISONED;
}

static int give_up_and_meet_again(struct player *player)
{
    player->slot.progress.meanwhile = give_up_when_the_other_is_done;
    player->slot.progress.of = player;
    const int err = meet(player, 1, NULL, 0);
    player->slot.progress.meanwhile = NULL;
    return err == CLAB_EPOISONED ? meet_later(player) : CLAB_EWRONG;
}

// It posts when rank 0 has looked for it in vain: when nobody wakes who would look again.
static int complete_and_meet_again(struct player *player)
{
    usleep(100 * 1000);
    CLAB_TRY(meet(player, 1, NULL, 0));
    *player->step = 1;
    return meet_later(player);
}

static void test_who_gives_up_does_not_block_who_has_completed(void **state)
{
    (void)state;
    play(2, 5, (int (*const[])(struct player *)){give_up_and_meet_again, complete_and_meet_again});
}

// ---- who is silent -------------------------------------------------------------------------------------------

static const int others[] = {0, 2};

// It has posted, and does not go on until the others have met without it. As a process that was stopped.
static int stay_silent(void *of, bool *busy_p)
{
    struct player *player = of;
    *busy_p = true;
    await(player->step, 2);
    return CLAB_EPOISONED;
}

static int post_and_stay_silent(struct player *player)
{
    player->slot.progress.meanwhile = stay_silent;
    player->slot.progress.of = player;
    return meet(player, 1, NULL, 0) == CLAB_EPOISONED ? CLAB_OK : CLAB_EWRONG;
}

static int meet_without_the_silent(struct player *player)
{
    usleep(100 * 1000);
    int err = meet(player, 1, NULL, 0);
    if (!err)
        err = meet(player, 2, NULL, 0) == CLAB_ETIMEOUT ? CLAB_OK : CLAB_EWRONG;
    for (uint64_t key = 3; !err && key < 7; key++)
        err = meet(player, key, others, 2);
    ++*player->step;
    return err;
}

static void test_who_is_silent_does_not_block_those_who_go_on_without_it(void **state)
{
    (void)state;
    play(3, 1,
         (int (*const[])(struct player *)){meet_without_the_silent, post_and_stay_silent, meet_without_the_silent});
}

// ---- a mailbox that is written while another reads it ------------------------------------------------------------
//
// Rank 1 reads into memory whose second half is not there yet. The fault in the midst of the copy waits until rank 0
// has failed and has written the same mailbox again.

enum { OLD = 1, BETWEEN, NEW }; // fences; the mailbox of the first is that of the last
enum { READING = 1, WRITTEN, READ };

static struct {
    char *page; // that is not there
    size_t bytes;
    _Atomic int *step;
} absent;

static void on_fault(int signo)
{
    (void)signo;
    *absent.step = READING;
    await(absent.step, WRITTEN);
    if (mprotect(absent.page, absent.bytes, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
}

// Room for two blobs, the first of which lies half in the absent page.
static char *room_new(struct player *player)
{
    absent.bytes = (size_t)sysconf(_SC_PAGESIZE);
    absent.step = player->step;
    char *room = mmap(NULL, 4 * absent.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(room != MAP_FAILED && absent.bytes >= CONTROL_BLOB_BYTES);
    absent.page = room + absent.bytes;
    return absent.page - CONTROL_BLOB_BYTES / 2;
}

static int fill_and_exchange(struct player *player, int number, char *all)
{
    char mine[CONTROL_BLOB_BYTES];
    const struct clab_fence fence = {.key = (uint64_t)number, .quiet = true};
    memset(mine, number, sizeof mine);
    return clab_slot_exchange(&player->slot, fence, mine, sizeof mine, all);
}

static int give_up_while_it_is_read(void *of, bool *busy_p)
{
    struct player *player = of;
    *busy_p = true;
    await(player->step, READING);
    return CLAB_EPOISONED;
}

static int stay_until_it_was_read(void *of, bool *busy_p)
{
    struct player *player = of;
    *busy_p = true;
    *player->step = WRITTEN;
    await(player->step, READ);
    return CLAB_EPOISONED;
}

static int fail_and_write_again(struct player *player)
{
    char all[2 * CONTROL_BLOB_BYTES];
    player->slot.progress.of = player;
    for (int number = OLD; number <= NEW; number++) {
        player->slot.progress.meanwhile = number == NEW ? stay_until_it_was_read : give_up_while_it_is_read;
        if (fill_and_exchange(player, number, all) != CLAB_EPOISONED)
            return CLAB_EWRONG;
    }
    return CLAB_OK;
}

static int give_up_after_the_fault(void *of, bool *busy_p)
{
    struct player *player = of;
    *busy_p = true;
    return *player->step < WRITTEN ? CLAB_OK : CLAB_EPOISONED;
}

static int read_what_is_written(struct player *player)
{
    char *all = room_new(player);
    const struct sigaction handler = {.sa_handler = on_fault};
    struct sigaction before;
    usleep(100 * 1000); // rank 0 has posted
    player->slot.progress.meanwhile = give_up_after_the_fault;
    player->slot.progress.of = player;
    sigaction(SIGSEGV, &handler, &before);
    mprotect(absent.page, absent.bytes, PROT_NONE);
    const int err = fill_and_exchange(player, OLD, all);
    sigaction(SIGSEGV, &before, NULL);
    const bool was_written = *player->step == WRITTEN;
    *player->step = READ;
    munmap(absent.page - absent.bytes, 4 * absent.bytes);
    return was_written && err == CLAB_EPOISONED ? CLAB_OK : CLAB_EWRONG;
}

static void test_what_is_read_is_of_one_post(void **state)
{
    (void)state;
    play(2, 5, (int (*const[])(struct player *)){fail_and_write_again, read_what_is_written});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_gives_up_does_not_block_who_has_completed),
        cmocka_unit_test(test_who_is_silent_does_not_block_those_who_go_on_without_it),
        cmocka_unit_test(test_what_is_read_is_of_one_post),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
