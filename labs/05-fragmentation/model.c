// SPDX-License-Identifier: MIT
// The model of lab 05: the same requests (labs/05-fragmentation/workload.h), replayed by the rules of both allocators
// on a map of granules; and what registration and communication take.
//
// - before: the smallest run of free granules that is long enough, the lowest of those.
// - after: records come out of slabs of 16 granules, each for one size of 1, 2 or 4; a slab is the end of the highest
//   free run. The rest goes as before. Registered are extents of 16 granules, each once.
// - Registering takes alpha + bytes * beta, and letting go likewise: the lines through two sizes that short probes of
//   before measure. Allreduces are the simulator's, by ring.
// It shares no code with the allocators: a map where they have lists.

#include "cmd/lab/lab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "labs/05-fragmentation/workload.h"
#include "core/base/err.h"
#include "core/base/units.h"

enum { SLAB = 16, EXTENT = 16, SIZES = 3 };

struct look {
    int used, reserved, hole; // granules
};

struct outcome {
    enum lab_program program;
    int steps, seed; // asked for; 0: nothing has been replayed yet
    int done;
    struct look looks[MOST_STEPS]; // (looked)
    int looked, asked, free, largest;
    // Of the first steps:
    int sums[FLAT + 1];            // allreduces, by granules
    int registrations, registered; // and of how many granules in all
};

struct map {
    bool taken[GRANULES];
    bool registered[GRANULES / EXTENT];
    int spare[SIZES], used;
    struct {
        int first, count;
    } * buffers;
};

// ---- the rules -----------------------------------------------------------------------------------------------

// The next run of free granules from *at on; its end goes to *at. 0: there is none.
static int next_run(const struct map *m, int *at)
{
    int first = *at;
    while (first < GRANULES && m->taken[first])
        first++;
    for (*at = first; *at < GRANULES && !m->taken[*at];)
        ++*at;
    return *at - first;
}

static void look_for_free(const struct map *m, int *free, int *largest)
{
    *free = *largest = 0;
    for (int at = 0, run; (run = next_run(m, &at)) > 0;) {
        *free += run;
        *largest = run > *largest ? run : *largest;
    }
}

// Where the smallest run of at least `count` begins, or with `high`, where the last `count` of the highest one do; -1.
static int find(const struct map *m, int count, bool high)
{
    int best = GRANULES + 1, first = -1;
    for (int at = 0, run; (run = next_run(m, &at)) > 0;)
        if (run >= count && (high || run < best)) {
            best = run;
            first = high ? at - count : at - run;
        }
    return first;
}

static int size_of(int count)
{
    return count > 2 ? 2 : count - 1; // of 1, of 2, of 3 or 4
}

static bool is_small(enum lab_program program, int count)
{
    return program == LAB_AFTER && count <= 1 << (SIZES - 1);
}

static bool add_slab(struct map *m, int size)
{
    const int first = find(m, SLAB, true);
    if (first >= 0) {
        memset(m->taken + first, true, SLAB);
        m->spare[size] += SLAB >> size;
    }
    return first >= 0;
}

static bool take(struct map *m, enum lab_program program, const struct event *e)
{
    int first = 0;
    const int size = size_of(e->granules);
    if (is_small(program, e->granules)) {
        if (!m->spare[size] && !add_slab(m, size))
            return false;
        m->spare[size]--;
    } else {
        first = find(m, e->granules, false);
        if (first < 0)
            return false;
        memset(m->taken + first, true, (size_t)e->granules);
    }
    m->buffers[e->buffer].first = first;
    m->buffers[e->buffer].count = e->granules;
    m->used += e->granules;
    return true;
}

static void give(struct map *m, enum lab_program program, int buffer)
{
    const int count = m->buffers[buffer].count;
    m->used -= count;
    if (is_small(program, count))
        m->spare[size_of(count)]++;
    else
        memset(m->taken + m->buffers[buffer].first, false, (size_t)count);
}

static void count_registration(struct outcome *o, int granules)
{
    o->registrations++;
    o->registered += granules;
}

static void sum(struct map *m, const struct event *e, struct outcome *o)
{
    const int first = m->buffers[e->buffer].first, count = e->granules;
    if (e->step >= EARLY)
        return;
    o->sums[count]++;
    if (o->program == LAB_BEFORE)
        count_registration(o, count);
    for (int extent = first / EXTENT; o->program == LAB_AFTER && extent * EXTENT < first + count; extent++)
        if (!m->registered[extent]) {
            m->registered[extent] = true;
            count_registration(o, EXTENT);
        }
}

// ---- a training ----------------------------------------------------------------------------------------------

static void look(const struct map *m, const struct event *e, struct outcome *o)
{
    o->asked = e->granules;
    look_for_free(m, &o->free, &o->largest);
    if (e->granules == FLAT)
        o->looks[o->looked++] = (struct look){m->used, GRANULES - o->free, o->largest};
}

static void replay(const struct workload *w, struct map *m, struct outcome *o)
{
    for (const struct event *e = w->events; e < w->events + w->n; e++) {
        o->done = e->step;
        if (e->kind == TAKE)
            look(m, e, o);
        if (e->kind == TAKE && !take(m, o->program, e))
            return;
        if (e->kind == SUM)
            sum(m, e, o);
        if (e->kind == GIVE)
            give(m, o->program, e->buffer);
    }
    o->done = o->steps;
}

// What comes of it; the last of each program is kept, since it is asked for quantity by quantity. NULL: no memory.
static const struct outcome *outcome_of(enum lab_program program, int steps, int seed)
{
    static struct outcome kept[2];
    struct outcome *o = &kept[program];
    struct workload w;
    if (o->steps == steps && o->seed == seed)
        return o;
    if (workload_make(steps, seed, &w) != CLAB_OK)
        return NULL;
    struct map *m = calloc(1, sizeof *m);
    if (m && (m->buffers = calloc((size_t)w.nbuffers, sizeof *m->buffers))) {
        *o = (struct outcome){.program = program, .steps = steps, .seed = seed};
        replay(&w, m, o);
        free(m->buffers);
    } else {
        o = NULL;
    }
    free(m);
    free(w.events);
    return o;
}

// ---- what it takes -------------------------------------------------------------------------------------------

// Seconds for `bytes` in `times` calls, by the line through the least and the most that the probe called `what`
// ("register") has timed.
static double line_through(const struct lab_results *probe, const char *what, double times, double bytes)
{
    double low = INFINITY, high = 0, at_low = NAN, at_high = NAN;
    const size_t length = strlen(what);
    for (const struct lab_series *s = probe->series; s < probe->series + probe->count; s++) {
        if (strncmp(s->quantity, what, length) != 0 || s->quantity[length] != '/')
            continue;
        const double size = atof(s->quantity + length + 1);
        if (size < low)
            low = size, at_low = lab_series_median(s);
        if (size > high)
            high = size, at_high = lab_series_median(s);
    }
    const double beta = high > low ? (at_high - at_low) / (high - low) : NAN;
    return times * fmax(0, at_low - beta * low) + beta * bytes;
}

static double predict_registering(const struct lab_context *context, const struct outcome *o, double granule)
{
    const double bytes = granule * o->registered;
    double seconds = line_through(context->probe, "register", o->registrations, bytes);
    if (o->program == LAB_BEFORE)
        seconds += line_through(context->probe, "unregister", o->registrations, bytes);
    return seconds / EARLY;
}

// Where nothing can be registered, nothing is, and the probe has no line.
static double predict_step(const struct lab_context *context, int ranks, const struct outcome *o, double granule)
{
    const double registering = predict_registering(context, o, granule);
    double seconds = isnan(registering) ? 0 : EARLY * registering;
    for (int granules = 1; granules <= FLAT; granules++)
        if (o->sums[granules])
            seconds += o->sums[granules] * lab_predict_allreduce(context, ranks, "ring", (size_t)(granules * granule));
    return seconds / EARLY;
}

static double predict_memory(const struct outcome *o, const char *name, int step, double granule)
{
    const bool known = step >= 1 && step <= o->looked;
    const struct look look = known ? o->looks[step - 1] : (struct look){0};
    const struct {
        const char *name;
        double granules;
    } values[] = {{"asked", o->asked},
                  {"free", o->free},
                  {"largest", o->largest},
                  {"registered", (double)o->registered / EARLY},
                  {"used", known ? look.used : NAN},
                  {"reserved", known ? look.reserved : NAN},
                  {"hole", known ? look.hole : NAN}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(values[i].name, name))
            return values[i].granules * granule / 1024;
    return NAN;
}

static double predict(const struct lab_context *context, enum lab_program program, int ranks, const char *quantity)
{
    const struct lab_conf *conf = context->conf;
    const double granule = atof(conf->sizes.words[0]) / GRANULES;
    char name[64];
    int of = 0, steps, seed;
    if (conf->iterations.count != 2 || clab_parse_int(conf->iterations.words[0], 1, MOST_STEPS, &steps) != CLAB_OK ||
        clab_parse_int(conf->iterations.words[1], 1, 1 << 30, &seed) != CLAB_OK ||
        sscanf(quantity, "%63[^/]/%d", name, &of) < 1)
        return NAN;
    const struct outcome *o = outcome_of(program, steps, seed);
    if (!o)
        return NAN;
    if (!strcmp(name, "steps"))
        return o->done;
    if (!strcmp(name, "step_time"))
        return predict_step(context, ranks, o, granule);
    if (!strcmp(name, "registering"))
        return predict_registering(context, o, granule);
    if (!strcmp(name, "register") || !strcmp(name, "unregister"))
        return line_through(context->probe, name, 1, of);
    return predict_memory(o, name, of, granule);
}

const struct lab_model LAB_MODEL = {.predict = predict};
