// SPDX-License-Identifier: MIT
// Random data on the CPU, and the check of what came of it (core/base/numbers/expect.h): by windows, so that all that
// is looked at stays in the nearest cache, in loops that the compiler turns into vectors.

#include "backends/cpu/inside.h"

#include <math.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first element of a word is its lowest");

// Words from number `first` on.
static void generate_words(const struct clab_random *random, int rank, uint64_t first, size_t n, uint64_t words[])
{
    const uint64_t key = clab_random_key(random->seed, rank);
    const struct clab_random_shape shape = clab_random_shape_of(random);
    for (size_t w = 0; w < n; w++)
        words[w] = clab_random_word(shape, key, first + w);
}

// Elements [first, first + n) of `rank`, n <= CLAB_WINDOW.
static void generate(const struct clab_random *random, int rank, uint64_t first, size_t n, void *out)
{
    uint64_t words[CLAB_WINDOW + 1];
    const size_t bytes = clab_type_bytes(random->type), skip = first % (8 / bytes) * bytes;
    if (bytes == 8) {
        generate_words(random, rank, first, n, out);
    } else {
        generate_words(random, rank, first * bytes / 8, (skip + n * bytes + 7) / 8, words);
        memcpy(out, (const char *)words + skip, n * bytes);
    }
    for (size_t i = 0; i < n && clab_random_has_turns(random); i++)
        clab_pattern_put(out, i, (unsigned)bytes,
                         clab_random_in_turn(random, rank, first + i, clab_pattern_at(out, i, (unsigned)bytes)));
}

void clab_host_fill(const struct clab_random *random, int rank, uint64_t first, size_t count, void *out)
{
    const size_t bytes = clab_type_bytes(random->type);
    for (size_t i = 0; i < count; i += CLAB_WINDOW)
        generate(random, rank, first + i, count - i < CLAB_WINDOW ? count - i : CLAB_WINDOW, (char *)out + i * bytes);
}

// ---- what patterns mean --------------------------------------------------------------------------------------

// With the type constant, so that each loop is of one type.
#define LOOP(TYPE, READ)                                                                      \
    case TYPE:                                                                                \
        for (size_t i = 0; i < n; i++)                                                        \
            values[i] = READ(clab_pattern_at(elements, i, clab_format_of(TYPE).bytes), TYPE); \
        break;

static void read_integers(enum clab_type type, const void *restrict elements, size_t n, int64_t *restrict values)
{
    switch (type) {
        LOOP(CLAB_I8, clab_pattern_integer)
        LOOP(CLAB_U8, clab_pattern_integer)
        LOOP(CLAB_I32, clab_pattern_integer)
        LOOP(CLAB_I64, clab_pattern_integer)
    default: break;
    }
}

static void read_floats(enum clab_type type, const void *restrict elements, size_t n, double *restrict values)
{
    switch (type) {
        LOOP(CLAB_F32, clab_pattern_double)
        LOOP(CLAB_F64, clab_pattern_double)
        LOOP(CLAB_F16, clab_pattern_double)
        LOOP(CLAB_BF16, clab_pattern_double)
    default: break;
    }
}

// ---- checks of a window --------------------------------------------------------------------------------------

static size_t check_moved(const struct clab_expected *e, uint64_t first, size_t n, const void *got)
{
    uint64_t given[CLAB_WINDOW];
    const size_t bytes = clab_type_bytes(e->random.type);
    size_t wrong = 0;
    generate(&e->random, e->rank, first, n, given);
    if (memcmp(given, got, n * bytes) == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        wrong += memcmp((const char *)given + i * bytes, (const char *)got + i * bytes, bytes) != 0;
    return wrong;
}

static size_t check_integers(const struct clab_expected *e, uint64_t first, size_t n, const void *got)
{
    uint64_t elements[CLAB_WINDOW];
    int64_t expected[CLAB_WINDOW], given[CLAB_WINDOW];
    const enum clab_type type = e->random.type;
    const size_t bytes = clab_type_bytes(type);
    size_t wrong = 0;
    for (int rank = 0; rank < e->random.nranks; rank++) {
        generate(&e->random, rank, first, n, elements);
        read_integers(type, elements, n, given);
        for (size_t i = 0; i < n; i++)
            expected[i] = rank ? clab_combine_integers(e->op, expected[i], given[i]) : given[i];
    }
    for (size_t i = 0; i < n; i++)
        wrong +=
            clab_integer_result(e->op, type, e->random.nranks, expected[i]) != clab_pattern_at(got, i, (unsigned)bytes);
    return wrong;
}

// The reference, and what its bound is relative to.
static void reduce_floats(const struct clab_expected *e, uint64_t first, size_t n, double expected[], double sizes[])
{
    uint64_t elements[CLAB_WINDOW];
    double given[CLAB_WINDOW];
    for (int rank = 0; rank < e->random.nranks; rank++) {
        generate(&e->random, rank, first, n, elements);
        read_floats(e->random.type, elements, n, given);
        for (size_t i = 0; i < n; i++) {
            expected[i] = rank ? clab_combine_floats(e->op, expected[i], given[i]) : given[i];
            sizes[i] = (rank ? sizes[i] : 0) + fabs(given[i]);
        }
    }
    for (size_t i = 0; i < n && e->op == CLAB_PROD; i++)
        sizes[i] = fabs(expected[i]);
}

static size_t check_floats(const struct clab_expected *e, uint64_t first, size_t n, const void *got)
{
    const struct clab_bound bound = clab_bound_of(e->random.type, e->op, e->random.nranks);
    const double divisor = e->op == CLAB_AVG ? e->random.nranks : 1;
    double expected[CLAB_WINDOW], sizes[CLAB_WINDOW], values[CLAB_WINDOW];
    size_t wrong = 0;
    reduce_floats(e, first, n, expected, sizes);
    read_floats(e->random.type, got, n, values);
    for (size_t i = 0; i < n; i++)
        wrong += clab_float_is_wrong(values[i], expected[i] / divisor, sizes[i], bound);
    return wrong;
}

size_t clab_host_check(const struct clab_expected *e, const void *got)
{
    const size_t bytes = clab_type_bytes(e->random.type);
    size_t wrong = 0;
    for (uint64_t i = 0; i < e->count; i += CLAB_WINDOW) {
        const size_t n = e->count - i < CLAB_WINDOW ? e->count - i : CLAB_WINDOW;
        const char *window = (const char *)got + i * bytes;
        if (!clab_window_is_looked_at(e, i / CLAB_WINDOW))
            continue;
        wrong += e->rank != CLAB_ALL_RANKS       ? check_moved(e, e->first + i, n, window)
                 : clab_is_float(e->random.type) ? check_floats(e, e->first + i, n, window)
                                                 : check_integers(e, e->first + i, n, window);
    }
    return wrong;
}
