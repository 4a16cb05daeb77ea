// SPDX-License-Identifier: MIT
// What is the same for all cases: orders, sums, files (case.h). Where they come from is in shapes.c.

#include "labs/homework/h3/case.h"

size_t h3_bytes(const struct h3_case *c, int parameter)
{
    const struct h3_layer *layer = &c->layer[parameter / 2];
    return sizeof(float) * (parameter % 2 ? layer->biases : layer->weights);
}

size_t h3_all_bytes(const struct h3_case *c)
{
    size_t bytes = 0;
    for (int p = 0; p < h3_parameters(c); p++)
        bytes += h3_bytes(c, p);
    return bytes;
}

bool h3_is_first_of_branch(const struct h3_case *c, int layer)
{
    return layer == 0 || layer == c->branch;
}

double h3_backward(const struct h3_case *c)
{
    double sum = 0;
    for (int l = 0; l < c->layers; l++)
        sum += c->layer[l].weights_seconds + (h3_is_first_of_branch(c, l) ? 0 : c->layer[l].inputs_seconds);
    return sum;
}

void h3_order(const struct h3_case *c, int rank, int order[])
{
    int n = 0;
    if (c->branch && rank % 2)
        for (int l = c->branch - 1; l >= 0; l--)
            order[n++] = l;
    for (int l = c->layers - 1; n < c->layers; l--)
        order[n++] = l;
}

// ---- files ---------------------------------------------------------------------------------------------------------

// When each gradient is there on rank 0.
static void find_seconds(const struct h3_case *c, double seconds[])
{
    double now = 0;
    for (int l = c->layers - 1; l >= 0; l--) {
        now += c->layer[l].weights_seconds;
        seconds[2 * l] = seconds[2 * l + 1] = now;
        now += h3_is_first_of_branch(c, l) ? 0 : c->layer[l].inputs_seconds;
    }
}

void h3_write(const struct h3_case *c, FILE *file)
{
    double seconds[H3_PARAMETERS];
    int order[H3_LAYERS];
    find_seconds(c, seconds);
    fprintf(file, "case %d %d %d %.17g %.17g %.17g %.17g %.17g\n", c->ranks, h3_parameters(c), H3_STEPS, h3_backward(c),
            c->alpha, c->beta, c->gamma, c->memory);
    for (int p = 0; p < h3_parameters(c); p++)
        fprintf(file, "%zu %.17g\n", h3_bytes(c, p), seconds[p]);
    for (int rank = 0; rank < c->ranks; rank++) {
        h3_order(c, rank, order);
        for (int i = 0; i < c->layers; i++)
            fprintf(file, "%d %d%c", 2 * order[i] + 1, 2 * order[i], i < c->layers - 1 ? ' ' : '\n');
    }
}

void h3_write_model(const struct h3_case *c, FILE *file)
{
    double seconds[H3_PARAMETERS];
    find_seconds(c, seconds);
    fprintf(file,
            "# what: the model that the grader trains on this network, for homework h3\n"
            "# ranks: %d\n# parameters: %d\n# bytes: %zu\n# backward_ms: %.6g\n"
            "# alpha_us: %.6g\n# beta_ns_per_byte: %.6g\n# gamma_ns_per_byte: %.6g\n# memory_ns_per_byte: %.6g\n"
            "parameter,bytes,ready_ms\n",
            c->ranks, h3_parameters(c), h3_all_bytes(c), 1e3 * h3_backward(c), 1e6 * c->alpha, 1e9 * c->beta,
            1e9 * c->gamma, 1e9 * c->memory);
    for (int p = 0; p < h3_parameters(c); p++)
        fprintf(file, "%d,%zu,%.6g\n", p, h3_bytes(c, p), 1e3 * seconds[p]);
}

void h3_write_network(const struct h3_case *c, FILE *file)
{
    fprintf(file, "# Homework h3: a network for work/h3/try -n %d --backend sim --net THIS-FILE\n", c->ranks);
    fprintf(
        file,
        "# alpha: per message. beta: per byte; Gb are gigabits, 1e9 bits: %.6g GB/s. gamma, memory: bytes added up, and "
        "read or written, per second\n\n",
        1e-9 / c->beta);
    fprintf(file, "[net]\ntitle = %s\ngamma = %.6g GB/s\n\n", c->name, 1e-9 / c->gamma);
    fprintf(file, "[compute]\nf64 = 50 Gflop/s\nf32 = 100 Gflop/s\nmemory = %.6g GB/s\n\n", 1e-9 / c->memory);
    fprintf(file, "[link inter]\nalpha = %.6g us\nbeta = %.6g Gb/s\n", 1e6 * c->alpha, 8e-9 / c->beta);
}
