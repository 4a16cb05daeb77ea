// SPDX-License-Identifier: MIT
// A machine: drawn, priced, written (machine.h).

#include "labs/homework/h4/machine.h"

#include <math.h>
#include <stdio.h>

#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/base/files/output.h"
#include "sim/sim.h"

static const char *const link_names[H4_LINKS] = {"intra", "inter"};

const char *h4_algorithm_name(enum h4_algorithm algorithm)
{
    return algorithm == H4_RING ? "ring" : "doubling";
}

// ---- drawn ---------------------------------------------------------------------------------------------------------

// The next number from low to high, in whole steps: as likely between 1 and 2 as between 2 and 4. A file has it exactly.
static double draw(uint64_t *state, double low, double high, double step)
{
    *state = clab_mix(*state, 1);
    const double part = (double)(*state >> 11) / (double)(UINT64_C(1) << 53);
    return round(low * pow(high / low, part) / step) * step;
}

struct h4_machine h4_machine_draw(uint64_t seed)
{
    uint64_t state = clab_mix(seed, 4);
    struct h4_machine m = {.host = 2 << (int)(state % 2)};
    m.alpha[H4_INSIDE] = 1e-6 * draw(&state, 0.5, 3, 0.01);
    m.alpha[H4_ACROSS] = 1e-6 * draw(&state, 8, 40, 0.1);
    m.beta[H4_INSIDE] = 1e-9 / draw(&state, 4, 20, 0.1);
    m.beta[H4_ACROSS] = 1e-9 / draw(&state, 0.8, 3, 0.01);
    m.gamma = 1e-9 / draw(&state, 5, 20, 0.1);
    m.handshake = 1e-6 * draw(&state, 60, 300, 0.5);
    state = clab_mix(state, 2);
    m.limit = (size_t)4096 << state % 5;
    return m;
}

// ---- priced --------------------------------------------------------------------------------------------------------

// A message of alpha + bytes * beta. The sender's port is busy for all of that.
static struct clab_segment segment(const char *name, size_t up_to, double alpha, double beta)
{
    struct clab_segment segment = {.up_to = up_to, .o_send = alpha, .gap_send = beta, .gap_recv = beta};
    snprintf(segment.name, sizeof segment.name, "%s", name);
    return segment;
}

static struct clab_link link_of(const struct h4_machine *m, int link)
{
    struct clab_link made = {.present = true, .alpha = m->alpha[link], .beta = m->beta[link]};
    snprintf(made.name, sizeof made.name, "%s", link_names[link]);
    if (link == H4_ACROSS)
        made.segments[made.nsegments++] = segment("eager", m->limit, m->alpha[link], m->beta[link]);
    const double handshake = link == H4_ACROSS ? m->handshake : 0;
    made.segments[made.nsegments++] = segment("large", SIZE_MAX, m->alpha[link] + handshake, m->beta[link]);
    return made;
}

double h4_machine_seconds(const struct h4_machine *machine, struct h4_question question)
{
    const struct clab_net net = {.name = "h4",
                                 .ranks_per_node = machine->host,
                                 .gamma = machine->gamma,
                                 .intra = link_of(machine, H4_INSIDE),
                                 .inter = link_of(machine, H4_ACROSS)};
    const struct clab_algorithm *algorithm = clab_algorithm_find(CLAB_ALLREDUCE, h4_algorithm_name(question.algorithm));
    const struct clab_problem problem = {
        .collective = CLAB_ALLREDUCE, .nranks = question.ranks, .lanes = 1, .count = question.bytes / sizeof(float)};
    const struct clab_sim_options options = {.element_bytes = sizeof(float)};
    struct clab_sim_result result;
    return clab_sim_run(&problem, algorithm, &net, &options, &result) == CLAB_OK ? result.seconds : NAN;
}

// ---- written -------------------------------------------------------------------------------------------------------

static void write_link(FILE *file, const struct h4_machine *m, int link)
{
    fprintf(file, "\n[link %s]\nalpha = %.6g us\nbeta = %.6g GB/s\n", link_names[link], 1e6 * m->alpha[link],
            1e-9 / m->beta[link]);
    const struct clab_link made = link_of(m, link);
    for (int i = 0; i < made.nsegments; i++) {
        const struct clab_segment *s = &made.segments[i];
        fprintf(file, "\n[segment %s %s]\nup_to = ", link_names[link], s->name);
        if (s->up_to == SIZE_MAX)
            fprintf(file, "any\n");
        else
            fprintf(file, "%zu B\n", s->up_to);
        fprintf(
            file,
            "o_send = %.12g us\no_recv = 0 us\nlatency = 0 us\nfragment = 0 B\ngap_send = %.15g ns/B\ngap_recv = %.15g ns/B\n",
            1e6 * s->o_send, 1e9 * s->gap_send, 1e9 * s->gap_recv);
    }
}

int h4_machine_write(const struct h4_machine *machine, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(
        output.file,
        "# SPDX-License-Identifier: MIT\n"
        "# A machine to practise homework h4 with. Those that grade you are others: hosts, links and limit differ.\n"
        "# A message takes o_send + bytes * gap_send (sim/nets/README.md).\n\n"
        "[net]\ntitle = homework h4, practice\nranks = %d\ngamma = %.6g GB/s\n",
        machine->host, 1e-9 / machine->gamma);
    for (int link = 0; link < H4_LINKS; link++)
        write_link(output.file, machine, link);
    return clab_output_close(&output);
}
