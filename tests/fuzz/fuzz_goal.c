// SPDX-License-Identifier: MIT
// Programs in GOAL: what is a schedule of stages can be priced, and is written and read again as it was.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "core/schedule/formats/goal.h"
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

// ---- as stages -----------------------------------------------------------------------------------------------

static double price(const struct clab_listing *listing)
{
    struct clab_net *net;
    struct clab_problem problem;
    struct clab_sim_result result = {0};
    const struct clab_sim_options options = {.engine = CLAB_ENGINE_FULL, .element_bytes = 1};
    must_hold(clab_net_create_flat(1e-6, 1e-9, 0, &net) == CLAB_OK);
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
    fuzz_log_clear();
    err = clab_goal_lower(goal, &listing);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EWRONG || err == CLAB_EUNSUPPORTED);
    if (err) {
        must_say_once(path);
    } else {
        check(listing);
        clab_listing_free(listing);
    }
    clab_goal_free(goal);
    return 0;
}
