// SPDX-License-Identifier: MIT
// What the bench's flags take, and the rows that come of them: a value is taken whole, as another reader takes it, or
// refused in one line; rows are of the sizes and algorithms that were asked for.

#include "tests/fuzz/fuzz.h"

#include <inttypes.h>

#include "core/base/err.h"
#include "core/base/names.h"
#include "core/base/units.h"
#include "cmd/bench/options.h"
#include "cmd/bench/plan.h"
#include "core/base/values.h"
#include "core/transport/backend.h"

static const char *const words[] = {"ring", "tree", "doubling", "both", NULL};
enum { WORDS = 4 };

static const char *word(int i)
{
    return words[i];
}

// What was refused was said once, and nothing else was.
static void check_said(int err, const char *flag)
{
    must_hold(err == CLAB_OK || err == CLAB_EINVAL);
    must_hold(fuzz_log_errors == (err != CLAB_OK));
    must_hold(err == CLAB_OK || strncmp(fuzz_log_last, flag, strlen(flag)) == 0);
    fuzz_log_clear();
}

// The words of a list, each of which must be known; "all" is the only one that is not.
static bool is_list(const char *text, bool chosen[WORDS])
{
    const char *next = text;
    for (int i = 0; i < WORDS; i++)
        chosen[i] = strcmp(text, "all") == 0;
    if (chosen[0])
        return true;
    do {
        int i = 0;
        const size_t length = strcspn(next, ",");
        while (i < WORDS && (strlen(words[i]) != length || memcmp(words[i], next, length)))
            i++;
        if (i == WORDS)
            return false;
        chosen[i] = true;
        next += length + (next[length] == ',');
    } while (*next);
    return true;
}

static void check_words(const char *text)
{
    bool chosen[WORDS], expected[WORDS];
    const int err = clab_names_take(&(struct clab_names){WORDS, words, NULL}, "--list", text, chosen);
    must_hold((err == CLAB_OK) == is_list(text, expected));
    must_hold(err || memcmp(chosen, expected, sizeof chosen) == 0);
    check_said(err, "--list");
    const int number = clab_names_find(&(struct clab_names){WORDS, NULL, word}, "--word", text, strlen(text));
    must_hold(number < 0 || strcmp(words[number], text) == 0);
    for (int i = 0; i < WORDS; i++)
        must_hold(number >= 0 || strcmp(words[i], text) != 0);
    check_said(number < 0, "--word");
}

static void check_numbers(const char *text)
{
    uint64_t seed = 1, again = 2;
    size_t bytes = 0;
    double seconds = -1, expected = -1;
    char *with_unit, digits[32];
    check_said(clab_take_size("-b", text, 1, &bytes), "-b");
    const int err = clab_take_bare_seconds("--seconds", text, BENCH_MOST_SECONDS, &seconds);
    must_hold(asprintf(&with_unit, "%ss", text) > 0);
    const bool bare = *text && strchr("0123456789.", text[strlen(text) - 1]); // 5m is not 5 ms
    const bool good = clab_parse_seconds_within(bare ? with_unit : text, 0, BENCH_MOST_SECONDS, &expected) == CLAB_OK;
    must_hold((err == CLAB_OK) == good && seconds == expected);
    check_said(err, "--seconds");
    free(with_unit);
    const int seed_err = clab_take_seed("--seed", text, &seed);
    snprintf(digits, sizeof digits, "%" PRIu64, seed);
    if (seed_err == CLAB_OK) { // the number itself, but for zeros before it
        const char *number = text + strspn(text, "0");
        must_hold(strcmp(*number ? number : "0", digits) == 0);
        must_hold(clab_take_seed("--seed", digits, &again) == CLAB_OK && again == seed);
    }
    check_said(seed_err, "--seed");
}

// Of a plan with `names` for algorithms and sizes from `numbers`.
static void check_plan(const char *names, const uint8_t numbers[8])
{
    const struct bench_options options = {
        .collectives = {(enum clab_collective)(numbers[0] % CLAB_COLLECTIVE_COUNT), CLAB_ALLREDUCE},
        .ncollectives = 1 + (numbers[0] > 127),
        .algorithms = names,
        .types = {[CLAB_F32] = true, [CLAB_U8] = numbers[1] & 1},
        .ops = {[CLAB_SUM] = true, [CLAB_MAX] = numbers[1] & 2},
        .nranks = 1 + numbers[2] % 9,
        .backend = clab_backend_find("shm"),
        .cores = 2,
        .root = numbers[1] & 4 ? BENCH_ALL_ROOTS : 0,
        .lanes = numbers[1] >> 3 & 3,
        .first = 1 + numbers[3],
        .last = 1 + numbers[3] + ((size_t)numbers[4] << numbers[5] % 16),
        .step = numbers[6] & 1 ? 1 + (size_t)(numbers[6] >> 1) * 100 : 0,
        .factor = 2 + numbers[7] % 7,
        .placements = {true, numbers[1] & 32},
    };
    struct bench_plan plan;
    const int err = bench_plan_make(&options, &plan);
    must_hold(err == CLAB_OK || err == CLAB_EINVAL || err == CLAB_ENOENT);
    must_hold(fuzz_log_errors == (err != CLAB_OK));
    for (int i = 0; err == CLAB_OK && i < plan.nrows; i++) {
        const struct bench_row *row = &plan.rows[i];
        must_hold(row->algorithm && row->problem.lanes >= 1 && row->problem.nranks == options.nranks);
        must_hold(bench_bytes(row) <= plan.buffer_bytes);
        must_hold(strcmp(names, "all") == 0 || row->automatic || strstr(names, row->algorithm->name));
    }
    if (err == CLAB_OK)
        bench_plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    uint8_t numbers[8] = {0};
    memcpy(numbers, data, size < sizeof numbers ? size : sizeof numbers);
    fuzz_log_clear();
    check_words(text);
    check_numbers(text);
    check_plan(size > sizeof numbers ? text + sizeof numbers : text, numbers);
    free(text);
    return 0;
}
