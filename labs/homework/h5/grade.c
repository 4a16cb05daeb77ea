// SPDX-License-Identifier: MIT
// Homework h5: what a step takes under a student's plan, on the student's own job and on two hidden ones.
//
// - Nothing of a student is run: a plan is data. The simulator prices it, and the bound (price.h) is a formula over all that
//   can be rented. No plan is stored here.
// - Points grow with the steps per second: from none for the job as it runs now to all where a step takes `full` times the
//   bound.

#include <math.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/units.h"
#include "cmd/grade/homework.h"
#include "labs/homework/h5/price.h"
#include "labs/homework/h5/start.h"

static const struct {
    const char *test;
    double full; // times the bound, for all points
} jobs[H5_CHANGES] = {{"own", 1.10}, {"links", 1.20}, {"batch", 1.25}};

struct graded {
    struct h5_time now, mine;
    double bound;
};

// ---- what to look at next ------------------------------------------------------------------------------------------------

// The first thing to look at for a shorter step.
static void advise(const struct h5_job *job, const struct h5_plan *plan, const struct h5_time *t, char out[512])
{
    const double busy = t->computation + t->update;
    char text[CLAB_TEXT], size[CLAB_TEXT];
    const int left = job->budget - h5_job_price(job, &plan->rented);
    if (plan->overlap == CLAB_TRAIN_NONE)
        snprintf(out, 512, "Nothing hides communication: all of its %s are exposed. Which overlap would hide a part?",
                 clab_seconds_text(t->communication, text));
    else if (plan->micro_batch < job->most_micro && t->accumulate > 1)
        snprintf(out, 512, "A step has %d micro steps, and only the last one hides communication. How many samples does a GPU "
                           "hold?", t->accumulate);
    else if (t->exposed > 0.3 * busy && t->buckets > 200)
        snprintf(out, 512, "%d buckets: each of them pays for its messages before its first byte. What does one cost?", t->buckets);
    else if (t->exposed > 0.3 * busy)
        snprintf(out, 512, "Communication takes %s, and the network is busy long after the GPUs are done. What sends fewer bytes, "
                           "or sends them faster: compression, the algorithm, adapters, their rate, the place of hosts?",
                 clab_seconds_text(t->communication, text));
    else if (t->exposed > 0.05 * busy)
        snprintf(out, 512, "The last bucket has %s of gradients, and nothing is left to hide it. How large should buckets be?",
                 clab_size_text(t->last_bytes, size));
    else
        snprintf(out, 512, "Computation takes most of the step. Are there hosts, GPUs or prices that make it shorter?");
    if (left > 0)
        snprintf(out + strlen(out), 512 - strlen(out), " %d credits per hour are left.", left);
}

// ---- points --------------------------------------------------------------------------------------------------------------

static double share_of(const struct graded *graded, double full)
{
    const double now = 1 / graded->now.step, all = 1 / (full * graded->bound);
    return floor(100 * fmax(0, fmin(1, (1 / graded->mine.step - now) / (all - now))) + 0.5) / 100;
}

static void award(struct grading *g, int which, const struct graded *graded)
{
    const struct h5_time *t = &graded->mine;
    char mine[CLAB_TEXT], now[CLAB_TEXT], full[CLAB_TEXT], computation[CLAB_TEXT], communication[CLAB_TEXT], exposed[CLAB_TEXT],
        update[CLAB_TEXT];
    grading_award(g, jobs[which].test, share_of(graded, jobs[which].full), "%s per step; as the job runs now %s, all points from %s",
                  clab_seconds_text(t->step, mine), clab_seconds_text(graded->now.step, now),
                  clab_seconds_text(jobs[which].full * graded->bound, full));
    grading_note(g, jobs[which].test, "= computation %s + exposed communication %s (of %s, in %d bucket%s) + update %s",
                 clab_seconds_text(t->computation, computation), clab_seconds_text(t->exposed, exposed),
                 clab_seconds_text(t->communication, communication), t->buckets, t->buckets == 1 ? "" : "s",
                 clab_seconds_text(t->update, update));
}

static int price_all(const struct h5_job *job, const struct h5_plan *plan, struct graded *graded)
{
    struct h5_plan now;
    h5_plan_now(job, &now);
    CLAB_TRY(h5_price(job, plan, &graded->mine));
    CLAB_TRY(h5_price(job, &now, &graded->now));
    return h5_bound(job, &graded->bound);
}

// As above; what the simulator refuses is the reason for no points.
static bool price(struct grading *g, const struct h5_job *job, const struct h5_plan *plan, struct graded *graded)
{
    struct clab_log_held held;
    clab_log_hold(&held);
    const int err = price_all(job, plan, graded);
    clab_log_release(&held);
    if (err)
        grading_fail(g, NULL, "plan.ini: [algorithms]: %s", *held.text ? held.text : "the step can not be priced: is there memory?");
    return !err;
}

static void grade_own(struct grading *g, const struct h5_job *job, const struct h5_plan *plan, const struct graded *graded)
{
    char out[512];
    award(g, H5_OWN, graded);
    grading_note(g, jobs[H5_OWN].test, "%d GPUs, %d of %d credits per hour", h5_plan_gpus(plan), h5_job_price(job, &plan->rented),
                 job->budget);
    if (graded->mine.step > jobs[H5_OWN].full * graded->bound) {
        advise(job, plan, &graded->mine, out);
        grading_note(g, jobs[H5_OWN].test, "%s", out);
    }
    if (plan->is_ranked)
        grading_rank(g, floor(10000 * graded->mine.step / graded->bound + 0.5) / 100);
}

// The plan of what was handed in. False: all tests say why.
static bool read_plan(struct grading *g, const struct h5_job *job, struct h5_plan *plan_p)
{
    size_t bytes;
    char why[H5_WHY];
    const char *text = grading_read(g, "", 1 << 16, &bytes);
    if (!text)
        return false;
    if (h5_plan_read(job, text, bytes, plan_p, why) && h5_plan_check(job, plan_p, why))
        return true;
    grading_fail(g, NULL, "%s", why);
    return false;
}

static void grade(struct grading *g)
{
    struct h5_job job;
    struct h5_plan plan;
    struct graded graded;
    h5_job_draw(grading_seed(g, "h5 job", false), &job);
    if (!read_plan(g, &job, &plan))
        return;
    for (int which = 0; which < H5_CHANGES; which++) {
        struct h5_job changed = job;
        h5_job_change((enum h5_change)which, grading_seed(g, "h5 change", true), &changed);
        if (!price(g, &changed, &plan, &graded))
            return;
        if (which == H5_OWN)
            grade_own(g, &job, &plan, &graded);
        else
            award(g, which, &graded);
    }
}

static const struct homework_test tests[] = {
    {"own", "the time of a step, of your job", 35, false},
    {"links", "the same, where links are slower", 20, true},
    {"batch", "the same, with twice the batch", 20, true},
    {0},
};

const struct homework HOMEWORK = {.title = "Cut the step time of a training job",
                                  .file = "plan.ini",
                                  .tests = tests,
                                  .leaderboard = "step time (% of the bound)",
                                  .grade = grade,
                                  .start = h5_start,
                                  .ask = h5_ask};
