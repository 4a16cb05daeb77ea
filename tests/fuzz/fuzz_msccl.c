// SPDX-License-Identifier: MIT
// Schedules in MSCCL's XML: what is read is one that can be run, with the right result, and priced, and is written and
// read again as it was. A small file takes little memory.

#include "tests/fuzz/fuzz.h"

#include "core/base/err.h"
#include "sim/net/net.h"
#include "core/schedule/formats/msccl.h"
#include "tests/fixtures/run_listing.h"
#include "sim/sim.h"

static const char path[] = "a.msccl";

static int read_text(const void *text, size_t size, struct clab_listing **listing_p)
{
    FILE *file = fuzz_file(text, size);
    fuzz_log_clear();
    const int err = clab_msccl_read(file, path, listing_p);
    fclose(file);
    return err;
}

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

static void check(const struct clab_listing *listing)
{
    struct clab_listing *again;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    must_hold(out);
    const int err = clab_msccl_write(&listing->problem, &listing->algorithm, CLAB_MSCCL_MICROSOFT, out);
    fclose(out);
    must_hold(err == CLAB_OK || err == CLAB_EUNSUPPORTED);
    if (err == CLAB_OK) {
        must_hold(read_text(text, size, &again) == CLAB_OK);
        // Lanes may be numbered otherwise, and take turns in another order.
        must_hold(price(listing) == price(again) || listing->problem.lanes > 1);
        clab_listing_free(again);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clab_listing *listing;
    const int err = read_text(data, size, &listing);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EWRONG || err == CLAB_EUNSUPPORTED ||
              err == CLAB_EDEADLOCK);
    if (err) {
        must_say_once(path);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    check(listing);
    // Chunks, for each rank: no more than the text could have steps for (msccl_places.c).
    must_hold((size_t)listing->chunks * (size_t)clab_problem_blocks(&listing->problem) <= 64 + 2 * size);
    must_hold((size_t)listing->scratch * (size_t)listing->chunks <= 256 * (64 + 2 * size));
    if (listing->problem.lanes <= CLAB_MAX_LANES)
        must_hold(listing_run(listing, 1, false) <= 0);
    if (listing->problem.lanes <= CLAB_MAX_LANES && !clab_problem_has_input(&listing->problem))
        must_hold(listing_run(listing, 3, true) <= 0);
    clab_listing_free(listing);
    return 0;
}
