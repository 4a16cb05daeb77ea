// SPDX-License-Identifier: MIT
// Trains with your mine.c of homework h3, on real ranks:
//
//     build/labcc -o work/h3/try work/h3/mine.c labs/homework/h3/try.c
//     work/h3/try -n 2                                                    two ranks, here
//     work/h3/try -n 8 --backend sim --net ./work/h3/network-1.net        eight, in that network's virtual time
//
// It compares all parameters with those of sequential training, and what is exposed with one collective for all.

#include "labs/homework/h3/step.h"

#include <math.h>

#include "core/transport/device.h"
#include "lab.h"
#include "sim/sim.h"
#include "train/train.h"

enum { MOST_LAYERS = 128, STEPS = 3, SEED = 1, MOST_HANDLES = STEP_ACTIONS };
static const float rate = 0.05f;

struct step {
    struct step_facts facts;
    struct clab_job *job;
    struct clab_comm *comm;
    struct clab_mlp *mlp;
    struct clab_parameter *parameters; // (n), the model's
    struct clab_work *works[MOST_HANDLES];
    int nworks;
    bool is_mine;                // your functions are called; else one collective averages all
    double began, passed, ended; // s: begin of the backward pass, its end, all updated; of the last step
    double *seconds;             // (n), where the facts' seconds lie
};

// ---- messages --------------------------------------------------------------------------------------------------------

static void refuse(const struct step *s, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
static void refuse(const struct step *s, const char *format, ...)
{
    va_list list;
    fprintf(stderr, "rank %d: ", s->facts.rank);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fprintf(stderr, "\n");
    exit(1);
}

static void check_range(const struct step *s, const char *call, int first, int count)
{
    if (first < 0 || count < 1 || first >= s->facts.n || count > s->facts.n - first)
        refuse(s, "%s(s, %d, %d): there are parameters 0 to %d", call, first, count, s->facts.n - 1);
}

// ---- what you call ---------------------------------------------------------------------------------------------------

const struct step_facts *step_facts(const struct step *s)
{
    return &s->facts;
}

static size_t elements(const struct step *s, int first, int count)
{
    size_t sum = 0;
    for (int p = first; p < first + count; p++)
        sum += s->parameters[p].count;
    return sum;
}

int step_reduce(struct step *s, int first, int count)
{
    check_range(s, "step_reduce", first, count);
    if (s->nworks == MOST_HANDLES)
        refuse(s, "more than %d collectives in one step", MOST_HANDLES);
    float *gradient = s->parameters[first].gradient;
    must(clab_allreduce_start(s->comm, gradient, gradient, elements(s, first, count), CLAB_F32, CLAB_SUM,
                              &s->works[s->nworks]));
    return s->nworks++;
}

void step_wait(struct step *s, int handle)
{
    if (handle < 0 || handle >= s->nworks)
        refuse(s, "step_wait(s, %d): %d collectives have been started in this step", handle, s->nworks);
    if (!s->works[handle])
        refuse(s, "step_wait(s, %d) once more: it is over already", handle);
    must(clab_work_wait(s->works[handle]));
    s->works[handle] = NULL;
}

void step_scale(struct step *s, int first, int count, double factor)
{
    check_range(s, "step_scale", first, count);
    must(clab_gradients_multiply(s->job, s->parameters + first, count, factor));
}

void step_update(struct step *s, int first, int count)
{
    check_range(s, "step_update", first, count);
    for (int p = first; p < first + count; p++) {
        const struct clab_parameter *parameter = &s->parameters[p];
        clab_job_device(s->job)->axpy(parameter->count, -rate, parameter->gradient, parameter->value);
        must(clab_compute(s->job, CLAB_FP32, 0, 3.0 * sizeof(float) * (double)parameter->count));
    }
}

// ---- a step ----------------------------------------------------------------------------------------------------------

static int gradient_is_there(void *step, int parameter)
{
    struct step *s = step;
    if (s->is_mine)
        ready(s, parameter);
    else
        s->seconds[parameter] = clab_seconds() - s->began;
    return CLAB_OK;
}

// One collective for all, after the pass.
static void finish_at_once(struct step *s)
{
    step_wait(s, step_reduce(s, 0, s->facts.n));
    step_scale(s, 0, s->facts.n, 1.0 / s->facts.ranks);
    step_update(s, 0, s->facts.n);
}

static void end_step(struct step *s)
{
    for (int handle = 0; handle < s->nworks; handle++)
        if (s->works[handle])
            refuse(s, "the step is over, and nobody has waited for the collective with handle %d", handle);
    s->ended = clab_seconds();
}

// x, targets: (rows, width); gradient: of the outputs, likewise
static void train(struct step *s, const float *x, const float *targets, float *gradient)
{
    const float *outputs;
    double loss;
    must(clab_mlp_forward(s->mlp, x, &outputs));
    must(clab_mlp_loss(s->mlp, outputs, targets, gradient, &loss));
    must(clab_barrier(s->comm));
    s->nworks = 0;
    s->began = clab_seconds();
    if (s->is_mine)
        begin(s);
    must(clab_mlp_backward(s->mlp, gradient, false, gradient_is_there, s));
    s->passed = clab_seconds();
    if (s->is_mine)
        finish(s);
    else
        finish_at_once(s);
    end_step(s);
}

// ---- what you know ---------------------------------------------------------------------------------------------------

// The network that the ranks are on, or the machine's profile; in real time without a profile, a guess.
static void ask_network(struct step *s, const char *name)
{
    struct clab_net *net = NULL;
    struct step_facts *f = &s->facts;
    char why[CLAB_NET_WHY];
    f->alpha = 2e-6, f->beta = 0.2e-9, f->gamma = 0.1e-9, f->memory = 0.1e-9;
    if (name)
        must(clab_net_load(name, &net));
    else
        must(clab_net_load_profile("shm", why, &net));
    if (!net)
        return;
    const struct clab_link *link = f->ranks > 1 ? clab_net_link(net, 0, f->ranks - 1) : &net->intra;
    f->alpha = link->alpha, f->beta = link->beta, f->gamma = net->gamma;
    f->memory = net->compute.present ? net->compute.memory : f->memory;
    clab_net_free(net);
}

// Rank 0's times, so that all ranks decide alike.
static void share_times(struct step *s)
{
    s->facts.backward = s->passed - s->began;
    must(clab_broadcast(s->comm, s->seconds, s->seconds, (size_t)s->facts.n, CLAB_F64, 0));
    must(clab_broadcast(s->comm, &s->facts.backward, &s->facts.backward, 1, CLAB_F64, 0));
}

static void know_model(struct step *s)
{
    s->parameters = clab_mlp_parameters(s->mlp);
    s->facts.n = clab_mlp_nparameters(s->mlp);
    size_t *bytes = calloc((size_t)s->facts.n, sizeof *bytes);
    s->seconds = calloc((size_t)s->facts.n, sizeof *s->seconds);
    must(bytes && s->seconds ? CLAB_OK : CLAB_ENOMEM);
    for (int p = 0; p < s->facts.n; p++)
        bytes[p] = s->parameters[p].count * sizeof(float);
    s->facts.bytes = bytes;
    s->facts.seconds = s->seconds;
}

static void forget_model(struct step *s)
{
    free((void *)s->facts.bytes);
    free(s->seconds);
    clab_mlp_destroy(s->mlp);
}

// ---- a run -----------------------------------------------------------------------------------------------------------

struct arguments {
    int layers, width, rows, repeat;
};

static struct clab_mlp_shape shape_of(const struct arguments *a, int ranks, int widths[])
{
    struct clab_mlp_shape shape = clab_mlp_even(a->layers, a->width, a->width, a->width, a->rows * ranks, widths);
    shape.repeat = a->repeat;
    return shape;
}

// Train on all ranks, from the same beginning. *exposed_p: of the last step, the slowest rank's
static void run(struct step *s, const struct arguments *a, double *exposed_p)
{
    int widths[MOST_LAYERS + 1];
    const struct clab_mlp_shape shape = shape_of(a, 1, widths);
    const struct clab_data data = {SEED, a->width, a->width};
    float *x;
    must(clab_mlp_create(s->job, &shape, SEED, &s->mlp));
    const int rows = clab_mlp_rows(s->mlp);
    const size_t block = (size_t)rows * (size_t)a->width;
    must(clab_alloc(s->job, 3 * block * sizeof *x, (void **)&x));
    s->parameters = clab_mlp_parameters(s->mlp);
    if (!s->is_mine)
        know_model(s);
    for (int step = 0; step < STEPS; step++) {
        must(clab_data_load(s->job, &data, (uint64_t)step, a->rows, rows, s->facts.rank, s->facts.ranks, x, x + block));
        train(s, x, x + block, x + 2 * block);
    }
    clab_free(s->job, x);
    *exposed_p = s->ended - s->began;
    must(clab_allreduce(s->comm, exposed_p, exposed_p, 1, CLAB_F64, CLAB_MAX));
}

// The same by one rank with all samples. How far the parameters are from its, as a part of the way that these went.
static double compare(struct step *s, const struct arguments *a, int *worst_p)
{
    int widths[MOST_LAYERS + 1];
    const struct clab_mlp_shape shape = shape_of(a, s->facts.ranks, widths);
    const struct clab_data data = {SEED, a->width, a->width};
    struct clab_mlp *begin_mlp, *mlp;
    float *x;
    double loss, worst = 0;
    must(clab_mlp_create(s->job, &shape, SEED, &begin_mlp));
    must(clab_mlp_create(s->job, &shape, SEED, &mlp));
    const int rows = clab_mlp_rows(mlp);
    const size_t block = (size_t)rows * (size_t)a->width;
    must(clab_alloc(s->job, 3 * block * sizeof *x, (void **)&x));
    for (int step = 0; step < STEPS; step++) {
        must(clab_data_load(s->job, &data, (uint64_t)step, a->rows * s->facts.ranks, rows, 0, 1, x, x + block));
        must(clab_mlp_train(mlp, x, x + block, x + 2 * block, rate, &loss));
    }
    for (int p = s->facts.n - 1; p >= 0; p--) {
        const float *start = clab_mlp_parameters(begin_mlp)[p].value, *want = clab_mlp_parameters(mlp)[p].value;
        double off = 0, way = 0;
        for (size_t i = 0; i < s->parameters[p].count; i++) {
            off += fabs((double)s->parameters[p].value[i] - want[i]);
            way += fabs((double)want[i] - start[i]);
        }
        if (!(off <= worst * way)) // also NaN
            worst = off / way, *worst_p = p;
    }
    clab_free(s->job, x);
    clab_mlp_destroy(mlp);
    clab_mlp_destroy(begin_mlp);
    return worst;
}

// Rank 0 compares its parameters with sequential training, and all ranks theirs with rank 0's. Who finds a difference says
// so, and all end.
static void say_right(struct step *s, const struct arguments *a)
{
    static const char why[] = "commlab grade h3 work/h3 --student ID says why.";
    int parameter = 0, other;
    double off = s->facts.rank == 0 ? compare(s, a, &parameter) : 0;
    must(clab_broadcast(s->comm, &off, &off, 1, CLAB_F64, 0));
    must(clab_parameters_compare(s->comm, s->parameters, s->facts.n, &other));
    const bool is_right = off < 0.02, is_same = other < 0;
    if (s->facts.rank == 0 && !is_right)
        fprintf(stderr,
                "after %d steps parameter %d is not what sequential training gives (off by %.3g of the way that it "
                "went). %s\n",
                STEPS, parameter, off, why);
    else if (s->facts.rank == 0 && !is_same)
        fprintf(stderr, "after %d steps rank %d has other parameters than rank 0. %s\n", STEPS, other, why);
    if (!is_right || !is_same)
        exit(1);
    if (s->facts.rank == 0)
        printf("After %d steps all parameters are those of sequential training, on all ranks.\n\n", STEPS);
}

static void say_times(const struct step *s, double none, double mine, int collectives)
{
    const struct step_facts *f = &s->facts;
    size_t bytes = 0;
    for (int p = 0; p < f->n; p++)
        bytes += f->bytes[p];
    const double alone = f->backward + 5 * f->memory * (double)bytes;
    if (f->rank != 0)
        return;
    printf("%d ranks, %d parameters, %.3g MB, backward pass %.3f ms, alpha %.3g us, beta %.3g ns/B\n\n", f->ranks, f->n,
           1e-6 * (double)bytes, 1e3 * f->backward, 1e6 * f->alpha, 1e9 * f->beta);
    printf("             collectives  step (ms)  exposed (ms)\n");
    printf("one for all  %11d  %9.3f  %12.3f\n", 1, 1e3 * none, 1e3 * fmax(0, none - alone));
    printf("yours        %11d  %9.3f  %12.3f\n", collectives, 1e3 * mine, 1e3 * fmax(0, mine - alone));
}

// ---- arguments -------------------------------------------------------------------------------------------------------

static const char about[] = "Trains a small network by your begin, ready and finish, and compares.\n\n"
                            "  LAYERS WIDTH       at most 128 layers, each so wide (12 256)\n"
                            "  ROWS REPEAT        samples per rank, and how often its batch holds each (8 4)\n";
static const char usage[] = "give LAYERS WIDTH ROWS REPEAT, at most 128 layers, as in 12 256 8 4";

static void read_arguments(const struct step *s, int argc, char **argv, struct arguments *a)
{
    int *numbers[] = {&a->layers, &a->width, &a->rows, &a->repeat};
    const int most[] = {MOST_LAYERS, 4096, 1 << 16, 1 << 16};
    lab_arguments(&argc, &argv, "12 256 8 4");
    for (int i = 0; i < 4; i++)
        *numbers[i] = clab_must_count(s->job, i + 1 < argc ? argv[i + 1] : NULL, most[i], usage);
}

static const char *network_of(const struct clab_job_options *options)
{
    const char *net = options->net ? options->net : getenv("CLAB_NET");
    const char *emulated = options->emulate ? options->emulate : getenv("CLAB_EMULATE");
    return emulated ? emulated : net;
}

int main(int argc, char **argv)
{
    struct clab_job_options options = {0};
    struct arguments arguments;
    struct step s = {0};
    double none, mine;
    clab_help(argc, argv, "[LAYERS WIDTH ROWS REPEAT]", about);
    must(clab_job_options_take(&argc, argv, &options));
    must(clab_job_open_with(&options, &s.job));
    must(clab_comm_create(s.job, &s.comm));
    must(clab_comm_set_algorithm(s.comm, CLAB_ALLREDUCE, "halving_doubling", 1));
    read_arguments(&s, argc, argv, &arguments);
    s.facts.rank = clab_job_rank(s.job);
    s.facts.ranks = clab_job_ranks(s.job);
    ask_network(&s, network_of(&options));
    run(&s, &arguments, &none);
    share_times(&s);
    clab_mlp_destroy(s.mlp);
    s.is_mine = true;
    run(&s, &arguments, &mine);
    const int collectives = s.nworks;
    say_right(&s, &arguments);
    say_times(&s, none, mine, collectives);
    forget_model(&s);
    clab_comm_destroy(s.comm);
    must(clab_job_close(s.job));
    return 0;
}
