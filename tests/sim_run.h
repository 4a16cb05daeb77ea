// SPDX-License-Identifier: MIT
// What tests of the simulator share: runs of an algorithm over a network that is made for the test.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "net.h"
#include "sim.h"

static inline struct clab_net *flat(double alpha, double beta, double gamma)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(alpha, beta, gamma, &net), CLAB_OK);
    return net;
}

static inline struct clab_sim_result run(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                                         const struct clab_net *net, struct clab_sim_options options)
{
    struct clab_sim_result result;
    if (options.element_bytes == 0)
        options.element_bytes = 1;
    assert_int_equal(clab_sim_run(problem, algorithm, net, &options, &result), CLAB_OK);
    double sum = result.latency + result.bandwidth + result.reduce + result.wait;
    assert_true(fabs(sum - result.seconds) <= 1e-12 * result.seconds);
    return result;
}

static inline double seconds_of(const char *name, struct clab_problem problem, const struct clab_net *net,
                                struct clab_sim_options options)
{
    const struct clab_algorithm *algorithm = clab_algorithm_find(problem.collective, name);
    assert_non_null(algorithm);
    return run(&problem, algorithm, net, options).seconds;
}

static inline bool is_close(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

// Two ranks on one node whose cores move all bytes: small messages are buffered, large ones are pulled.
static inline struct clab_net *two_cores(void)
{
    struct clab_net *net = flat(0, 0, 0);
    net->nodes = 1;
    net->ranks_per_node = 1024;
    net->intra = (struct clab_link){.name = "intra", .present = true, .port = CLAB_PORT_CORE, .nsegments = 3};
    net->intra.segments[0] = (struct clab_segment){
        .name = "inline", .up_to = 48, .o_send = 10, .o_recv = 20, .latency = 30, .fragment = SIZE_MAX};
    net->intra.segments[1] = (struct clab_segment){.name = "slots",
                                                   .up_to = 400,
                                                   .o_send = 10,
                                                   .o_recv = 20,
                                                   .latency = 30,
                                                   .gap_send = 2,
                                                   .gap_recv = 3,
                                                   .fragment = 100};
    net->intra.segments[2] = (struct clab_segment){.name = "pull",
                                                   .up_to = SIZE_MAX,
                                                   .o_send = 10,
                                                   .o_recv = 20,
                                                   .latency = 30,
                                                   .fragment = SIZE_MAX,
                                                   .waits = true,
                                                   .memory = true};
    net->nlevels = 1;
    net->levels[0] = (struct clab_level){
        .bytes = 1, .copy = {4, 5}, .pull = {{1, 2}, {3, 6}}, .reduce = {{7, 8}, {9, 10}}, .add = {4, 5}};
    return net;
}
