// SPDX-License-Identifier: MIT
// Reading a plan (plan.h): each key once, each value with what it may be.

#include "labs/homework/h5/plan.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/schedule/schedule.h"

struct reading {
    const struct h5_job *job;
    struct h5_plan *plan;
    unsigned seen; // a bit for each key
};

// ---- values ------------------------------------------------------------------------------------------------------------

static bool is_one_of(int n, int a, int b, int c, int d)
{
    return n == a || n == b || n == c || n == d;
}

static bool take_hosts(const struct reading *r, const char *text)
{
    return clab_parse_int(text, 1, H5_HOSTS, &r->plan->rented.hosts) == CLAB_OK;
}

static bool take_gpus(const struct reading *r, const char *text)
{
    return clab_parse_int(text, 1, H5_GPUS, &r->plan->rented.gpus) == CLAB_OK && is_one_of(r->plan->rented.gpus, 1, 2, 4, 8);
}

static bool take_adapters(const struct reading *r, const char *text)
{
    return clab_parse_int(text, 1, H5_ADAPTERS, &r->plan->rented.adapters) == CLAB_OK &&
           is_one_of(r->plan->rented.adapters, 1, 2, 4, 4);
}

// The number of a name among n; -1: none.
static int number_of(const char *text, const char *const names[], int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(text, names[i]))
            return i;
    return -1;
}

static bool take_rate(const struct reading *r, const char *text)
{
    r->plan->rented.is_fast = number_of(text, (const char *const[]){"slow", "fast"}, 2);
    return r->plan->rented.is_fast >= 0;
}

static bool take_placement(const struct reading *r, const char *text)
{
    const int placement = number_of(text, h5_placement_names, H5_PLACEMENTS);
    r->plan->rented.placement = (enum h5_placement)placement;
    return placement >= 0;
}

static bool take_micro_batch(const struct reading *r, const char *text)
{
    return clab_parse_int(text, 1, 1 << 20, &r->plan->micro_batch) == CLAB_OK;
}

static bool take_overlap(const struct reading *r, const char *text)
{
    for (int i = 0; i < CLAB_TRAIN_OVERLAPS; i++)
        if (!strcmp(text, clab_train_overlap_name((enum clab_train_overlap)i))) {
            r->plan->overlap = (enum clab_train_overlap)i;
            return true;
        }
    return false;
}

// "25 MiB" as "25MiB"
static int parse_size(const char *text, size_t *bytes_p)
{
    char tight[32];
    size_t length = 0;
    for (; *text && length + 1 < sizeof tight; text++)
        if (*text != ' ' && *text != '\t')
            tight[length++] = *text;
    tight[length] = '\0';
    return *text ? CLAB_EPARSE : clab_parse_size(tight, bytes_p);
}

static bool take_bytes(const char *text, size_t *bytes_p)
{
    return parse_size(text, bytes_p) == CLAB_OK && *bytes_p >= (size_t)64 << 10 && *bytes_p <= (size_t)16 << 30;
}

static bool take_bucket(const struct reading *r, const char *text)
{
    return take_bytes(text, &r->plan->bucket);
}

static bool take_first_bucket(const struct reading *r, const char *text)
{
    return take_bytes(text, &r->plan->first_bucket);
}

static bool take_compress(const struct reading *r, const char *text)
{
    r->plan->coding = number_of(text, h5_coding_names, H5_CODINGS);
    return r->plan->coding >= 0;
}

static bool take_leaderboard(const struct reading *r, const char *text)
{
    r->plan->is_ranked = !strcmp(text, "yes");
    return r->plan->is_ranked || !strcmp(text, "no");
}

static const struct key {
    const char *name, *expected;
    bool (*take)(const struct reading *r, const char *text);
} keys[] = {
    {"hosts", "a number from 1 to 16", take_hosts},
    {"gpus_per_host", "1, 2, 4 or 8", take_gpus},
    {"adapters", "1, 2 or 4 per host", take_adapters},
    {"rate", "slow or fast (job.ini says what each is)", take_rate},
    {"placement", "spread or packed", take_placement},
    {"micro_batch", "samples per GPU and micro step, at least 1", take_micro_batch},
    {"overlap", "none, bucket or full", take_overlap},
    {"bucket", "a size from 64 KiB to 16 GiB, such as `25 MiB`", take_bucket},
    {"first_bucket", "a size from 64 KiB to 16 GiB, such as `1 MiB`", take_first_bucket},
    {"compress", "a name of the section [loss] in job.ini, such as bf16 or powersgd:64", take_compress},
    {"leaderboard", "yes or no", take_leaderboard},
};
enum { KEYS = sizeof keys / sizeof *keys };

// ---- lines -------------------------------------------------------------------------------------------------------------

static int refuse_value(const struct clab_setting *s, const char *expected)
{
    clab_error("%s:%d: [%s] %s = '%s': expected %s", s->path, s->line, s->section, s->name, s->value, expected);
    return CLAB_EPARSE;
}

static int refuse_key(const struct clab_setting *s)
{
    struct clab_nearest nearest = clab_nearest_to(s->name, strlen(s->name));
    for (int i = 0; i < KEYS; i++)
        clab_nearest_offer(&nearest, keys[i].name);
    clab_error("%s:%d: [plan] knows no key '%s'%s; the sheet h5.md lists all keys", s->path, s->line, s->name,
               clab_nearest_hint(&nearest));
    return CLAB_EPARSE;
}

static int use_plan(struct reading *r, const struct clab_setting *s)
{
    for (int i = 0; i < KEYS; i++)
        if (!strcmp(s->name, keys[i].name)) {
            r->seen |= 1u << i;
            return keys[i].take(r, s->value) ? CLAB_OK : refuse_value(s, keys[i].expected);
        }
    return refuse_key(s);
}

static int refuse_algorithm(const struct clab_setting *s)
{
    char room[512];
    struct clab_text names = clab_text_begin(room, sizeof room);
    struct clab_nearest nearest = clab_nearest_to(s->value, strlen(s->value));
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
        if ((*a)->collective == CLAB_ALLREDUCE)
            clab_text_add(&names, "%s%s", names.used ? ", " : "", (*a)->name);
    clab_algorithm_offer(CLAB_ALLREDUCE, &nearest);
    clab_error("%s:%d: allreduce has no algorithm '%s'%s; a plan chooses one of %s", s->path, s->line, s->value,
               clab_nearest_hint(&nearest), room);
    return CLAB_EPARSE;
}

// Puts a choice at its place by size.
static int use_algorithm(struct reading *r, const struct clab_setting *s)
{
    struct h5_plan *plan = r->plan;
    size_t up_to = SIZE_MAX;
    if (strcmp(s->name, "any") && parse_size(s->name, &up_to))
        return refuse_value(s, "a size on the left, such as `64 KiB = doubling`, or `any`");
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, s->value);
    if (!algorithm)
        return refuse_algorithm(s);
    if (plan->nchoices == H5_CHOICES)
        return refuse_value(s, "at most 8 algorithms");
    int at = plan->nchoices++;
    for (; at > 0 && plan->choices[at - 1].up_to >= up_to; at--) {
        if (plan->choices[at - 1].up_to == up_to)
            return refuse_value(s, "each size once");
        plan->choices[at] = plan->choices[at - 1];
    }
    plan->choices[at] = (struct clab_train_choice){up_to, algorithm->name};
    return CLAB_OK;
}

static int use(void *context, const struct clab_setting *s)
{
    if (!strcmp(s->section, "plan"))
        return use_plan(context, s);
    if (!strcmp(s->section, "algorithms"))
        return use_algorithm(context, s);
    clab_error("%s:%d: [%s]: a plan has the sections [plan] and [algorithms]", s->path, s->line, s->section);
    return CLAB_EPARSE;
}

// ---- the whole -----------------------------------------------------------------------------------------------------------

static int check_complete(const struct reading *r)
{
    for (int i = 0; i < KEYS; i++)
        if (!(r->seen & 1u << i)) {
            clab_error("plan.ini: [plan] has no key %s; add it: %s", keys[i].name, keys[i].expected);
            return CLAB_EPARSE;
        }
    if (r->plan->nchoices && r->plan->choices[r->plan->nchoices - 1].up_to == SIZE_MAX)
        return CLAB_OK;
    clab_error("plan.ini: [algorithms] has no key any; add `any = ring`, or another algorithm, for all larger sizes");
    return CLAB_EPARSE;
}

static int read_lines(const char *text, size_t bytes, struct reading *r)
{
    if (bytes == 0) {
        clab_error("plan.ini: the file is empty; start with the one that ./commlab start h5 gives");
        return CLAB_EPARSE;
    }
    FILE *file = fmemopen((char *)text, bytes, "r");
    if (!file)
        return CLAB_ENOMEM;
    const int err = clab_conf_read(file, "plan.ini", use, r);
    fclose(file);
    return err ? err : check_complete(r);
}

bool h5_plan_read(const struct h5_job *job, const char *text, size_t bytes, struct h5_plan *plan_p, char why_p[H5_WHY])
{
    struct clab_log_held held;
    struct reading reading = {.job = job, .plan = plan_p};
    *plan_p = (struct h5_plan){0};
    clab_log_hold(&held);
    const int err = read_lines(text, bytes, &reading);
    clab_log_release(&held);
    if (err)
        snprintf(why_p, H5_WHY, "%s", *held.text ? held.text : "plan.ini can not be read: is there memory?");
    return !err;
}

// ---- whether it works --------------------------------------------------------------------------------------------------

int h5_plan_gpus(const struct h5_plan *plan)
{
    return plan->rented.hosts * plan->rented.gpus;
}

int h5_plan_accumulate(const struct h5_job *job, const struct h5_plan *plan)
{
    return job->batch / (h5_plan_gpus(plan) * plan->micro_batch);
}

static bool check_batch(const struct h5_job *job, const struct h5_plan *plan, char why[H5_WHY])
{
    const int gpus = h5_plan_gpus(plan), at_once = gpus * plan->micro_batch;
    if (plan->micro_batch > job->most_micro)
        snprintf(why, H5_WHY, "micro_batch = %d does not fit into the memory of a GPU, which holds %d samples (job.ini): make it "
                              "smaller", plan->micro_batch, job->most_micro);
    else if (job->batch % at_once)
        snprintf(why, H5_WHY, "%d GPUs with %d samples each train %d at once, and the batch of %d is no multiple of that: change "
                              "hosts, gpus_per_host or micro_batch", gpus, plan->micro_batch, at_once, job->batch);
    else
        return true;
    return false;
}

static bool check_budget(const struct h5_job *job, const struct h5_plan *plan, char why[H5_WHY])
{
    const struct h5_rented *r = &plan->rented;
    const int price = h5_job_price(job, r);
    if (price <= job->budget)
        return true;
    snprintf(why, H5_WHY, "the plan is over budget: %d hosts * (%d + %d GPUs * %d + %d adapters more * %d + %d fast ones * %d + %d) "
                          "= %d credits per hour, and the limit is %d: rent less",
             r->hosts, job->host_price, r->gpus, job->gpu_price, r->adapters - 1, job->adapter_price,
             r->is_fast ? r->adapters : 0, job->fast_price, r->placement == H5_PACKED ? job->packed_price : 0, price,
             job->budget);
    return false;
}

static bool check_loss(const struct h5_job *job, const struct h5_plan *plan, char why[H5_WHY])
{
    const double loss = job->loss[plan->coding];
    if (loss <= job->most_loss)
        return true;
    if (isfinite(loss))
        snprintf(why, H5_WHY, "compress = %s: the model does not converge to what the job accepts: its loss is %.2f %% worse, and "
                              "the limit is %.2f %% (job.ini): compress less",
                 h5_coding_names[plan->coding], loss, job->most_loss);
    else
        snprintf(why, H5_WHY, "compress = %s: this job does not converge with it, it diverges (job.ini): choose another one",
                 h5_coding_names[plan->coding]);
    return false;
}

bool h5_plan_check(const struct h5_job *job, const struct h5_plan *plan, char why_p[H5_WHY])
{
    if (plan->rented.adapters > plan->rented.gpus) {
        snprintf(why_p, H5_WHY, "adapters = %d, but only %d of a host's GPUs can use one each: rent fewer adapters, or more GPUs",
                 plan->rented.adapters, plan->rented.gpus);
        return false;
    }
    return check_batch(job, plan, why_p) && check_budget(job, plan, why_p) && check_loss(job, plan, why_p);
}
