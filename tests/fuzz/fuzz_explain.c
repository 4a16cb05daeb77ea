// SPDX-License-Identifier: MIT
// Logs for `explain`: what comes out of any bytes is safe to print, and NCCL's summary stays within its bounds.

#include "tests/fuzz/fuzz.h"

#include "cmd/explain/known.h"
#include "cmd/explain/lines.h"
#include "cmd/explain/nccl.h"
#include "core/base/err.h"
#include "core/base/text.h"

static void check_text(const char *text)
{
    must_hold(clab_is_utf8(text));
    for (; *text; text++)
        must_hold((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_nccl(const struct nccl_log *log)
{
    struct nccl_tree trees[NCCL_MANY];
    const int n = nccl_log_trees(log, trees);
    must_hold(n >= 0 && n <= NCCL_MANY && log->ready <= log->began && log->began <= NCCL_RANKS);
    for (int i = 0; i < n; i++)
        must_hold(trees[i].root >= 0 && trees[i].ranks > 0 && trees[i].depth < NCCL_RANKS && trees[i].channels);
    for (int i = 0; i < log->ntransports; i++)
        check_text(log->transports[i].name);
    for (int i = 0; i < log->hosts.n; i++)
        check_text(log->hosts.text[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct known known;
    static struct log_lines lines;
    long last = 0;
    if (known.count == 0 && known_read_own(&known) != CLAB_OK)
        return 0; // built without inih
    FILE *file = fuzz_file(data, size);
    struct nccl_log *nccl = nccl_log_new();
    must_hold(file && nccl);
    lines = log_lines_begin(file);
    while (log_lines_next(&lines)) {
        must_hold(lines.number >= last && lines.number <= last + 1);
        last = lines.number;
        check_text(lines.text);
        const struct known_error *e = known_look(&known, lines.text, lines.number);
        if (e)
            check_text(e->line);
        nccl_log_take(nccl, lines.text, lines.number);
    }
    check_nccl(nccl);
    free(nccl);
    fclose(file);
    return 0;
}
