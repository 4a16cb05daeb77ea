// SPDX-License-Identifier: MIT
// Programs in GOAL: what is read can be run, and, where it is a schedule of stages, is written and read again as it was.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "core/schedule/formats/goal.h"
#include "sim/net/loggp.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static const char path[] = "a.goal";

static int read_text(const void *text, size_t size, struct clab_goal **goal_p)
{
    FILE *file = fuzz_file(text, size);
    fuzz_log_clear();
    const int err = clab_goal_read(file, path, goal_p);
    fclose(file);
    return err;
}

// ---- as it is ------------------------------------------------------------------------------------------------

static struct clab_net *new_net(int kind)
{
    struct clab_net *net;
    const struct clab_loggp loggp = {.latency = 3e-6, .overhead = 1e-6, .gap = 1e-6, .byte = 1e-9, .core = kind == 2};
    must_hold(clab_net_create_flat(1e-6, 1e-9, 0, &net) == CLAB_OK);
    if (kind > 0)
        clab_net_set_loggp(net, &loggp);
    return net;
}

// Returns the time, or -1.
static double run(const struct clab_goal *goal, int kind)
{
    struct clab_net *net = new_net(kind);
    struct clab_sim_result result = {0};
    const struct clab_sim_options options = {.element_bytes = 1};
    fuzz_log_clear();
    const int err = clab_sim_goal(goal, net, &options, &result);
    clab_net_free(net);
    must_hold(err == CLAB_OK || err == CLAB_EDEADLOCK || err == CLAB_EPARSE);
    if (err) {
        must_say_once(path);
        return -1;
    }
    must_hold(fuzz_log_errors == 0);
    must_hold(result.seconds >= 0 && result.wait >= 0);
    return result.seconds;
}

// ---- as stages -----------------------------------------------------------------------------------------------

static double price(const struct clab_listing *listing)
{
    struct clab_net *net = new_net(0);
    struct clab_problem problem;
    struct clab_sim_result result = {0};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 1};
    must_hold(clab_listing_problem(listing, 1 << 26, 1, &problem) == CLAB_OK);
    must_hold(clab_sim_run(&problem, &listing->algorithm, net, &options, &result) == CLAB_OK);
    must_hold(result.seconds >= 0);
    clab_net_free(net);
    return result.seconds;
}

static struct clab_listing *read_again(const struct clab_listing *listing)
{
    struct clab_goal *goal;
    struct clab_listing *again;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    must_hold(out);
    must_hold(clab_goal_write(&listing->problem, &listing->algorithm, 1, 0, out) == CLAB_OK);
    fclose(out);
    must_hold(read_text(text, size, &goal) == CLAB_OK);
    must_hold(clab_goal_lower(goal, &again) == CLAB_OK);
    must_hold(run(goal, 1) >= 0);
    clab_goal_free(goal);
    free(text);
    return again;
}

static void check(const struct clab_listing *listing)
{
    struct clab_listing *again = read_again(listing);
    // Lanes may be numbered otherwise, and take turns in another order.
    must_hold(price(listing) == price(again) || listing->problem.lanes > 1);
    clab_listing_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clab_goal *goal;
    struct clab_listing *listing;
    int err = read_text(data, size, &goal);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE);
    if (err) {
        must_say_once(path);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    const double seconds = run(goal, 0);
    for (int kind = 1; kind <= 2; kind++)
        must_hold((run(goal, kind) < 0) == (seconds < 0) || goal->has_any); // any: which comes first depends
    fuzz_log_clear();
    err = clab_goal_lower(goal, &listing);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EWRONG || err == CLAB_EUNSUPPORTED);
    if (err) {
        must_say_once(path);
    } else {
        must_hold(seconds >= 0); // what has stages ends
        check(listing);
        clab_listing_free(listing);
    }
    clab_goal_free(goal);
    return 0;
}
