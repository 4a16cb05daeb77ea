// SPDX-License-Identifier: MIT
// Results of the bench, as `commlab accuracy` reads them: what is taken can be predicted in time and memory, and its
// errors can be counted.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "cmd/accuracy/accuracy.h"
#include "core/base/err.h"
#include "core/transport/backend.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static const char path[] = "a.csv";

enum { MOST_ROWS = 64, MOST_RANKS = 32 }; // that are predicted here: more are the simulator's work, not the reader's

static void check_rows(struct accuracy_rows *rows)
{
    struct clab_net *net;
    bool is_small = rows->n <= MOST_ROWS;
    for (int i = 0; i < rows->n; i++) {
        const struct accuracy_row *r = &rows->all[i];
        const struct clab_problem *p = &r->what.problem;
        must_hold(r->what.algorithm && isfinite(r->seconds) && r->seconds > 0);
        must_hold(p->nranks >= 2 && p->nranks <= CLAB_MAX_RANKS && p->root >= 0 && p->root < p->nranks);
        must_hold(r->batch.calls >= 0);
        is_small &= p->nranks <= MOST_RANKS;
    }
    if (!is_small)
        return;
    must_hold(clab_net_create_flat(1e-6, 1e-9, 1e-10, &net) == CLAB_OK);
    accuracy_rows_predict(rows, net);
    for (int i = 0; i < rows->n; i++)
        must_hold(rows->all[i].predicted > 0 && !isnan(accuracy_error(&rows->all[i])));
    clab_net_free(net);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct accuracy_rows rows = {0};
    struct clab_csv csv;
    char *text = fuzz_text(data, size);
    fuzz_log_clear();
    int err = clab_csv_parse(text, size, path, &csv);
    if (!err) {
        err = accuracy_rows_read(&rows, &csv, 0);
        clab_csv_free(&csv);
    }
    free(text);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EINVAL);
    if (err)
        must_say_once(path);
    else
        check_rows(&rows);
    accuracy_rows_free(&rows);
    return 0;
}
