// SPDX-License-Identifier: MIT
// The ways to average that lab 09 compares: the program's own, the library's, and two mistakes that people make.
#pragma once

// Kinds of collectives that averaging has: how many of each.
struct calls {
    int allreduces, alltoalls, allgathers;
};

struct way {
    const char *name;
    struct calls calls;
    training_average *average;             // the program's own, or a mistake; NULL: the library's
    const struct clab_compression *method; // of the library's
    bool is_wrong;                         // a mistake: it is measured, not checked
    bool is_late;                          // the first LATE steps travel as float32
};

// ---- mistakes ------------------------------------------------------------------------------------------------

// Codes of all ranks, added up in 32 bits, and their mean to all.
static inline void exchange_codes(struct training *t)
{
    must(clab_alltoall(t->comm, t->codes, t->pieces, t->share, CLAB_I8));
    memset(t->sums, 0, t->share * sizeof *t->sums);
    for (int r = 0; r < t->ranks; r++)
        clab_int8_add(t->pieces + (size_t)r * t->share, t->share, t->sums);
    clab_int8_mean(t->sums, t->share, t->ranks, t->means);
    must(clab_allgather(t->comm, t->means, t->codes, t->share, CLAB_I8));
}

// Each rank has a scale of its own: a code means something else on each of them, and so does a sum of codes.
static inline void average_own_scales(struct training *t)
{
    averaging_begins(t);
    const float scale = largest(t) / 127;
    encode(t, scale);
    exchange_codes(t);
    decode(t, scale);
    averaging_ends(t);
}

// Sums of 8 bits: 100 + 100 is -56.
static inline void average_narrow_sums(struct training *t)
{
    averaging_begins(t);
    float most = largest(t);
    must(clab_allreduce(t->comm, &most, &most, 1, CLAB_F32, CLAB_MAX));
    encode(t, most / 127);
    must(clab_allreduce(t->comm, t->codes, t->codes, t->count, CLAB_I8, CLAB_SUM));
    decode(t, most / 127 / (float)t->ranks);
    averaging_ends(t);
}

static const struct clab_compression fp16 = {.method = "fp16"}, bf16 = {.method = "bf16"},
                                     powersgd = {.method = "powersgd"}, topk = {.method = "topk"};
static const struct way others[] = {
    {"fp16", {1, 0, 0}, .method = &fp16},
    {"bf16", {1, 0, 0}, .method = &bf16},
    {"powersgd", {2, 0, 0}, .method = &powersgd, .is_late = true},
    {"topk", {0, 0, 1}, .method = &topk, .is_late = true},
    {"own_scales", {0, 1, 1}, .average = average_own_scales, .is_wrong = true},
    {"narrow_sums", {2, 0, 0}, .average = average_narrow_sums, .is_wrong = true},
};

// ---- any way -------------------------------------------------------------------------------------------------

// Ranks have different data, as in practice: here the samples of the last rank are three times as large as those of the first.
// A max(0, x) learns all of them alike.
static inline void load_data(struct training *t)
{
    const struct clab_data data = {SEED, t->width, t->width};
    const int rows = clab_mlp_rows(t->mlp), ranks = clab_job_ranks(t->job);
    const float size = ranks > 1 ? 0.5f + (float)t->rank / (float)(ranks - 1) : 1;
    must(clab_data_load(t->job, &data, 0, t->rows, rows, t->rank, ranks, t->x, t->wanted));
    for (size_t i = 0; i < (size_t)rows * (size_t)t->width; i++)
        t->x[i] *= size, t->wanted[i] *= size;
}

// A network, and what averages its gradients over t->comm.  first: step from which PowerSGD and top-k compress, or -1
static inline void way_open(struct training *t, const struct way *way, int first)
{
    int widths[MOST_LAYERS + 1];
    struct clab_mlp_shape shape = clab_mlp_even(t->layers, t->width, t->width, t->width, t->rows, widths);
    shape.repeat = t->repeat;
    must(clab_mlp_create(t->job, &shape, SEED, &t->mlp));
    load_data(t);
    if (!way->method)
        return;
    struct clab_compression how = *way->method;
    how.first = first;
    const struct clab_ddp_options options = {
        .cap = SIZE_MAX, .first_cap = SIZE_MAX, .no_overlap = true, .compress = &how};
    must(clab_ddp_create(t->comm, clab_mlp_parameters(t->mlp), 2 * t->layers, &options, &t->ddp));
}

static inline void way_close(struct training *t, const struct way *way)
{
    if (way->method)
        clab_ddp_destroy(t->ddp);
    clab_mlp_destroy(t->mlp);
}

// The backward pass. t->gradients is then where all gradients begin.
static inline void way_backward(struct training *t, const struct way *way)
{
    if (way->method)
        must(clab_ddp_begin(t->ddp, true));
    must(clab_mlp_backward(t->mlp, t->delta, false, way->method ? clab_ddp_ready : NULL, t->ddp));
    t->gradients = way->method ? clab_ddp_bucket(t->ddp, 0)->gradients : clab_mlp_parameters(t->mlp)->gradient;
}

static inline void way_exchange(struct training *t, const struct way *way)
{
    if (!way->method) {
        way->average(t);
        return;
    }
    averaging_begins(t);
    must(clab_ddp_finish(t->ddp));
    averaging_ends(t);
}

static inline void way_average(struct training *t, const struct way *way)
{
    way_backward(t, way);
    way_exchange(t, way);
}

// The largest difference between parameters of two ranks, in percent of the largest parameter.
static inline double way_apart(const struct training *t)
{
    const float *values = clab_mlp_parameters(t->mlp)->value;
    double most = 0, size = 0;
    float *high = malloc(2 * t->count * sizeof *high), *low = high + t->count;
    must(high ? CLAB_OK : CLAB_ENOMEM);
    must(clab_allreduce(t->comm, values, high, t->count, CLAB_F32, CLAB_MAX));
    must(clab_allreduce(t->comm, values, low, t->count, CLAB_F32, CLAB_MIN));
    for (size_t i = 0; i < t->count; i++) {
        most = fmax(most, (double)high[i] - low[i]);
        size = fmax(size, fmax(high[i], -low[i]));
    }
    free(high);
    return 100 * most / size;
}

// ---- what an average must be ---------------------------------------------------------------------------------

// What is wrong with an average, the worse one last.
enum verdict { RIGHT, FAR_OFF, OVERFLOWN, TOO_LARGE, DIFFERENT, UNCHANGED, NO_NUMBER };

// How far gradient *worst_p is away, in scales, which is the most; and how many times too large those averages are that a
// sum of codes can not have made too large for 8 bits.
static inline double distance_of(const struct training *t, float scale, size_t *worst_p, double *times_p)
{
    double along = 0, size = 0;
    *worst_p = 0;
    for (size_t i = 0; i < t->count; i++) {
        const double got = t->gradients[i], exact = t->exact[i];
        if (fabs(got - exact) > fabs((double)t->gradients[*worst_p] - t->exact[*worst_p]))
            *worst_p = i;
        if (fabs(exact) < 100.0 / t->ranks * scale)
            along += got * exact, size += exact * exact;
    }
    *times_p = along / size;
    return fabs((double)t->gradients[*worst_p] - t->exact[*worst_p]) / scale;
}

static inline bool is_as_on_rank_0(const struct training *t)
{
    float *first = malloc(t->count * sizeof *first);
    must(first ? CLAB_OK : CLAB_ENOMEM);
    must(clab_copy(t->job, first, t->gradients, t->count * sizeof *first));
    must(clab_broadcast(t->comm, first, first, t->count, CLAB_F32, 0));
    const bool same = !memcmp(first, t->gradients, t->count * sizeof *first);
    free(first);
    return same;
}

// Ends the program unless all ranks have the same average, at most a scale away from the exact one: rounding loses half a
// scale on each rank, and half a scale for the mean. is_own: this rank's gradients are as they were.
static inline void expect_average(const struct training *t, float scale, bool is_own)
{
    size_t worst;
    double times, off = distance_of(t, scale, &worst, &times);
    const bool is_right = off <= 1.01, is_larger = t->ranks > 1 && fabs(times - t->ranks) < 0.1 * t->ranks;
    const double wraps = off * t->ranks / 256; // a sum of 8 bits that is too large loses 256
    const bool has_lost = fabs(wraps - round(wraps)) < 1.01 * t->ranks / 256 && wraps > 0.5;
    const bool is_same = is_as_on_rank_0(t); // all ranks take part
    double verdict = !isfinite(off) ? NO_NUMBER
                     : is_own       ? UNCHANGED
                     : !is_same     ? DIFFERENT
                     : is_right     ? RIGHT
                     : is_larger    ? TOO_LARGE
                     : has_lost     ? OVERFLOWN
                                    : FAR_OFF;
    lab_slowest(t->comm, &verdict, 1);
    const char *const what[] = {"",
                                "further than one scale away",
                                "a sum has lost 256 codes",
                                "times P too large",
                                "ranks have different averages",
                                "the rank's own gradients",
                                "not a number"};
    if (t->rank == 0 && verdict > RIGHT)
        fprintf(stderr, "rank 0, index %zu: got %.9g, expected %.9g +- %.3g (an average: %s)\n", worst,
                t->gradients[worst], t->exact[worst], scale, what[(int)verdict]);
    must(clab_barrier(t->comm)); // so that the line is there before a rank ends
    must(verdict > RIGHT ? CLAB_EWRONG : CLAB_OK);
}
