// SPDX-License-Identifier: MIT
// Data on a device: random fill and its check, reductions, formats. Against references that are written here, bit for
// bit, so that two devices that pass have the same bits. Usage: test_device_data [--backend NAME -n 1]

#include "tests/fixtures/device_fixture.h"

#include <sys/mman.h>

#include "tests/fixtures/half_reference.h"

enum { MOST = 70001 };
static const size_t counts[] = {0, 1, 3, 16, 17, 1000, MOST};
enum { COUNTS = sizeof counts / sizeof *counts };
static uint64_t room_a[MOST], room_b[MOST], room_out[MOST]; // for elements of any type

static uint64_t element(const void *elements, size_t i, size_t bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)elements + i * bytes, bytes);
    return bits;
}

// ---- fill ----------------------------------------------------------------------------------------------------

// Stored bits of the types' mantissas and exponents.
static const struct {
    int mantissa, exponent;
} formats[CLAB_TYPE_COUNT] = {[CLAB_F32] = {23, 8}, [CLAB_F64] = {52, 11}, [CLAB_F16] = {10, 5}, [CLAB_BF16] = {7, 8}};

// Steele, Lea and Flood's generator, from its paper.
static uint64_t split_mix(uint64_t state)
{
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
    return state ^ (state >> 31);
}

// Its published sequence from the seed 1234567.
static void test_the_generator_is_split_mix(void **state)
{
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u};
    for (uint64_t i = 0; i < 3; i++)
        assert_true(clab_random_hash(1234567, i + 1) == expected[i] &&
                    split_mix(1234567 + (i + 1) * 0x9e3779b97f4a7c15u) == expected[i]);
}

// Element i of a rank, by its description.
static uint64_t described(const struct clab_random *r, int rank, uint64_t i)
{
    const uint64_t golden = 0x9e3779b97f4a7c15u;
    const uint64_t bytes = clab_type_bytes(r->type), key = split_mix(r->seed + golden * ((uint64_t)rank + 1));
    const uint64_t word = split_mix(key + golden * (i * bytes / 8)), bits = word >> (i * bytes % 8 * 8);
    const int mantissa = formats[r->type].mantissa, exponent = formats[r->type].exponent;
    const uint64_t turns = ((uint64_t)r->nranks + 7) / 8;
    if (exponent == 0)
        return bytes == 8 ? bits : bits % ((uint64_t)1 << 8 * bytes);
    const uint64_t bias = ((uint64_t)1 << (exponent - 1)) - 1, sign = bits >> (mantissa + exponent) & 1;
    const uint64_t below = r->factors ? bits >> mantissa & 1 : bits >> mantissa & 3;
    const bool is_one = r->factors && (i + (uint64_t)rank) % turns != 0;
    const uint64_t power = is_one ? bias : bias - (r->factors ? 1 : 3) + below;
    return sign << (mantissa + exponent) | power << mantissa | (is_one ? 0 : bits % ((uint64_t)1 << mantissa));
}

static void try_fill(const struct clab_random *random, int rank, uint64_t first, size_t count, size_t skip)
{
    const size_t bytes = clab_type_bytes(random->type);
    memset(room_out, 0x5a, sizeof room_out);
    char *there = bring(room_out, (count + 1) * bytes, skip * bytes);
    device->fill(random, rank, first, count, there);
    fetch(room_out, there, (count + 1) * bytes);
    for (size_t i = 0; i < count; i++)
        assert_true(element(room_out, i, bytes) == described(random, rank, first + i));
    assert_true(element(room_out, count, bytes) == 0x5a5a5a5a5a5a5a5au >> (64 - 8 * bytes)); // nothing behind it
    give_back();
}

static void test_a_fill_has_the_bits_that_are_described(void **state)
{
    static const uint64_t firsts[] = {0, 1, 6, 509, ((uint64_t)1 << 40) + 3};
    for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
        for (int f = 0; f < 5; f++)
            for (int n = 0; n < COUNTS - 1; n++)
                for (size_t skip = 0; skip < 4; skip++) {
                    const struct clab_random random = {
                        .seed = 42, .type = type, .nranks = skip % 2 ? 20 : 3, .factors = skip > 1};
                    try_fill(&random, f, firsts[f], counts[n], skip);
                }
    try_fill(&(struct clab_random){.seed = 7, .type = CLAB_BF16, .nranks = 2}, 1, 0, MOST - 1, 0);
}

// ---- reduce and scale ----------------------------------------------------------------------------------------

static int64_t as_integer(enum clab_type type, uint64_t bits)
{
    switch (type) {
    case CLAB_I8: return (int8_t)bits;
    case CLAB_U8: return (uint8_t)bits;
    case CLAB_I32: return (int32_t)bits;
    default: return (int64_t)bits;
    }
}

static double as_double(enum clab_type type, uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float f;
    double d;
    memcpy(&f, &low, sizeof f);
    memcpy(&d, &bits, sizeof d);
    return type == CLAB_F32   ? (double)f
           : type == CLAB_F64 ? d
           : type == CLAB_F16 ? widened(&f16, (uint16_t)bits)
                              : widened(&bf16, (uint16_t)bits);
}

// To the bits of a type: of a half, of what float32 makes of it.
static uint64_t rounded(enum clab_type type, double value)
{
    const float f = (float)value;
    uint32_t low;
    uint64_t bits;
    memcpy(&low, &f, sizeof low);
    memcpy(&bits, &value, sizeof bits);
    switch (type) {
    case CLAB_F32: return low;
    case CLAB_F64: return bits;
    case CLAB_F16: return isnan(f) ? 0x7fff : narrowed(&f16, f);
    default: return isnan(f) ? 0x7fff : narrowed(&bf16, f);
    }
}

// Sums and products of two floats of 24 bits are exact in float64, or round like them (53 >= 2 * 24 + 2).
static double combine(enum clab_op op, double a, double b)
{
    const bool a_first = a < b || (a == b && signbit(a));
    switch (op) {
    case CLAB_PROD: return a * b;
    case CLAB_MIN: return isnan(a) || isnan(b) ? NAN : a_first ? a : b;
    case CLAB_MAX: return isnan(a) || isnan(b) ? NAN : a_first ? b : a;
    default: return a + b;
    }
}

// a and b by the reference.
static uint64_t reduced(enum clab_type type, enum clab_op op, uint64_t a, uint64_t b)
{
    if (formats[type].exponent)
        return rounded(type, combine(op, as_double(type, a), as_double(type, b)));
    const bool a_first = as_integer(type, a) < as_integer(type, b);
    const size_t bytes = clab_type_bytes(type);
    const uint64_t wide = op == CLAB_PROD  ? a * b
                          : op == CLAB_MIN ? (a_first ? a : b)
                          : op == CLAB_MAX ? (a_first ? b : a)
                                           : a + b;
    return wide & UINT64_MAX >> (64 - 8 * bytes);
}

static uint64_t divided(enum clab_type type, uint64_t a, int divisor)
{
    if (formats[type].exponent)
        return rounded(type, as_double(type, a) / divisor);
    return (uint64_t)(as_integer(type, a) / divisor) & UINT64_MAX >> (64 - 8 * clab_type_bytes(type));
}

static void assert_bits(enum clab_type type, uint64_t expected, uint64_t got, size_t i)
{
    const bool both_nan = formats[type].exponent && isnan(as_double(type, expected)) && isnan(as_double(type, got));
    if (expected != got && !both_nan)
        fail_msg("%s: %s %zu is %llx, not %llx", device->name, clab_type_name(type), i, (unsigned long long)got,
                 (unsigned long long)expected);
}

// Random bits: with infinities, NaNs and subnormals among the halves.
static void prepare(void)
{
    uint64_t seed = 3;
    for (size_t i = 0; i < MOST; i++) {
        room_a[i] = next_random(&seed);
        room_b[i] = i % 7 ? next_random(&seed) : room_a[i];
    }
    room_a[1] = room_a[3] = 0;
    room_b[1] = 0x8000800080008000u;
    room_b[3] = 0x8000000080008080u;
}

// places: in 16 bytes, of a, b and out; in_place: 1: out is a, 2: out is b
static void try_reduce(enum clab_type type, enum clab_op op, size_t count, const size_t places[3], int in_place)
{
    const size_t bytes = clab_type_bytes(type);
    char *const a = bring(room_a, count * bytes, places[0] * bytes);
    char *const b = bring(room_b, count * bytes, places[1] * bytes);
    char *const out = in_place == 1 ? a : in_place == 2 ? b : bring(room_b, count * bytes, places[2] * bytes);
    device->reduce(type, op, a, b, out, count);
    fetch(room_out, out, count * bytes);
    for (size_t i = 0; i < count; i++) {
        const uint64_t expected = reduced(type, op, element(room_a, i, bytes), element(room_b, i, bytes));
        assert_bits(type, expected, element(room_out, i, bytes), i);
    }
    give_back();
}

static void test_reductions_have_the_bits_of_the_reference(void **state)
{
    static const size_t places[][3] = {{0, 0, 0}, {1, 1, 1}, {3, 3, 3}, {0, 1, 0}, {1, 0, 2}};
    prepare();
    for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
        for (enum clab_op op = 0; op < CLAB_OP_COUNT; op++)
            for (int n = 0; n < COUNTS - 1; n++)
                for (int p = 0; p < 5; p++)
                    try_reduce(type, op, counts[n], places[p], p % 3);
    try_reduce(CLAB_F32, CLAB_SUM, MOST, places[1], 1);
    try_reduce(CLAB_I8, CLAB_MAX, MOST, places[2], 0);
}

static void try_scale(enum clab_type type, size_t count, size_t place, int divisor)
{
    const size_t bytes = clab_type_bytes(type);
    char *const data = bring(room_a, count * bytes, place * bytes);
    device->scale(type, data, count, divisor);
    fetch(room_out, data, count * bytes);
    for (size_t i = 0; i < count; i++)
        assert_bits(type, divided(type, element(room_a, i, bytes), divisor), element(room_out, i, bytes), i);
    give_back();
}

static void test_quotients_have_the_bits_of_the_reference(void **state)
{
    static const int divisors[] = {1, 3, 8, 1000};
    prepare();
    for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
        for (int n = 0; n < COUNTS - 1; n++)
            for (int d = 0; d < 4; d++)
                try_scale(type, counts[n], (size_t)d, divisors[d]);
}

// ---- check ---------------------------------------------------------------------------------------------------

enum { CHECKED = 2000 };

// What all ranks give, one after another by the reference, or what rank 1 does.
static void collect(const struct clab_expected *e)
{
    const enum clab_type type = e->random.type;
    const size_t bytes = clab_type_bytes(type);
    for (size_t i = 0; i < CHECKED; i++) {
        uint64_t sum = described(&e->random, e->rank == CLAB_ALL_RANKS ? 0 : e->rank, e->first + i);
        for (int rank = 1; rank < e->random.nranks && e->rank == CLAB_ALL_RANKS; rank++)
            sum = reduced(type, e->op, sum, described(&e->random, rank, e->first + i));
        if (e->op == CLAB_AVG && e->rank == CLAB_ALL_RANKS)
            sum = divided(type, sum, e->random.nranks);
        memcpy((char *)room_out + i * bytes, &sum, bytes);
    }
}

// It finds nothing, then one element whose highest bit is turned.
static void try_check(const struct clab_expected *e, size_t place)
{
    const size_t bytes = clab_type_bytes(e->random.type);
    collect(e);
    assert_int_equal(device->check(e, bring(room_out, CHECKED * bytes, place * bytes)), 0);
    ((char *)room_out)[(CHECKED - 1) * bytes + bytes - 1] ^= (char)0x80;
    assert_int_equal(device->check(e, bring(room_out, CHECKED * bytes, place * bytes)), 1);
    give_back();
}

static void test_a_check_finds_the_one_wrong_element(void **state)
{
    for (enum clab_type type = 0; type < CLAB_TYPE_COUNT; type++)
        for (enum clab_op op = 0; op < CLAB_OP_COUNT; op++)
            for (int nranks = 3; nranks <= 20; nranks += 17)
                for (int rank = CLAB_ALL_RANKS; rank <= 1; rank += 2) {
                    struct clab_expected e = {.rank = rank, .op = op, .count = CHECKED, .stride = 1};
                    e.random =
                        (struct clab_random){.seed = 5, .type = type, .nranks = nranks, .factors = op == CLAB_PROD};
                    e.first = (uint64_t)op * 777;
                    try_check(&e, (size_t)(op + nranks) % 3);
                }
}

// Of four windows the first, the last, and one in three of the others; all of an untouched result is wrong.
static void test_a_check_looks_at_windows_and_both_ends(void **state)
{
    struct clab_expected e = {.random = {.seed = 5, .type = CLAB_F32, .nranks = 2},
                              .rank = CLAB_ALL_RANKS,
                              .count = CHECKED,
                              .stride = 3,
                              .shift = 1};
    memset(room_out, 0xff, CHECKED * sizeof(float));
    void *there = bring(room_out, CHECKED * sizeof(float), 0);
    assert_int_equal(device->check(&e, there), CHECKED - CLAB_WINDOW); // (w + 1) % 3 is 0 of w = 2 alone
    e.stride = 1;
    assert_int_equal(device->check(&e, there), CHECKED);
    e.count = 0;
    assert_int_equal(device->check(&e, there), 0);
}

// ---- formats -------------------------------------------------------------------------------------------------

static void try_widening(struct format *f, size_t place)
{
    uint16_t *const halves = (uint16_t *)room_a;
    float *const floats = (float *)room_out;
    for (int i = 0; i < 1 << 16; i++)
        halves[i] = (uint16_t)i;
    float *there = take((1 << 18) + 4);
    device->cast(f->type, bring(halves, 1 << 17, 2 * place), CLAB_F32, there + place, 1 << 16);
    fetch(floats, there + place, 1 << 18);
    for (int i = 0; i < 1 << 16; i++) {
        const double expected = widened(f, (uint16_t)i);
        assert_true(isnan(expected) ? isnan(floats[i])
                                    : floats[i] == expected && !signbit(floats[i]) == !signbit(expected));
    }
    give_back();
}

// What each half is worth, what is halfway to the next, the floats beside both; and random bits.
static size_t floats_to_narrow(const struct format *f, float *floats)
{
    size_t n = 0;
    uint64_t seed = 9;
    for (int i = 0; i < f->infinity; i += 11) {
        const float at = (float)f->values[i], middle = (float)((f->values[i] + f->values[i + 1]) / 2);
        const float all[] = {at, middle, nextafterf(middle, 0), nextafterf(middle, INFINITY), -middle};
        for (int k = 0; k < 5; k++)
            floats[n++] = all[k];
    }
    while (n < MOST) {
        const uint32_t bits = (uint32_t)next_random(&seed);
        memcpy(&floats[n++], &bits, sizeof bits);
    }
    return n;
}

static void try_narrowing(struct format *f, size_t place)
{
    float *const floats = (float *)room_a;
    uint16_t *const halves = (uint16_t *)room_out;
    const size_t n = floats_to_narrow(f, floats);
    uint16_t *there = take(2 * n + 2 * place);
    device->cast(CLAB_F32, bring(floats, n * sizeof *floats, 4 * place), f->type, there + place, n);
    fetch(halves, there + place, n * sizeof *halves);
    for (size_t i = 0; i < n; i++)
        assert_true(isnan(floats[i]) ? is_nan16(f, halves[i]) : halves[i] == narrowed(f, floats[i]));
    give_back();
}

static void test_casts_round_to_nearest_even(void **state)
{
    for (size_t place = 0; place < 2; place++) {
        try_widening(&f16, place);
        try_widening(&bf16, place);
        try_narrowing(&f16, place);
        try_narrowing(&bf16, place);
    }
}

// The codes of a block are within its bound, and its scale is the largest over 127.
static void assert_quantized(size_t n, const float *given, const int8_t *codes, float scale)
{
    float most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(given[i]));
    if (most > 0x1p-100f)
        assert_true(scale == (float)(most / 127.0));
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)((float)codes[i] * scale) - given[i]) <= (0.5 + 0x1p-16) * scale + 0x1p-142);
}

static void try_quantize(const float *given, size_t count, size_t block)
{
    static float scales[MOST];
    static int8_t codes[MOST];
    const size_t blocks = (count + block - 1) / block;
    float *const scales_there = take(blocks * sizeof *scales);
    int8_t *const codes_there = take(count);
    device->quantize(count, block, bring(given, count * sizeof *given, 4), codes_there, scales_there);
    fetch(scales, scales_there, blocks * sizeof *scales);
    fetch(codes, codes_there, count);
    for (size_t b = 0; b < blocks; b++) {
        const size_t n = count - b * block < block ? count - b * block : block;
        assert_quantized(n, given + b * block, codes + b * block, scales[b]);
    }
    for (size_t i = 0; i < count; i++) {
        assert_true(codes[i] >= -127);
        const double ratio = scales[i / block] > 0x1p-100f ? given[i] / (double)scales[i / block] : NAN;
        if (fabs(ratio - floor(ratio) - 0.5) > 1e-4) // else either neighbour is as near
            assert_true(codes[i] == (int8_t)lrint(ratio));
    }
    give_back();
}

static void test_quantized_floats_are_within_half_a_scale(void **state)
{
    static float given[MOST];
    fill_floats(given, MOST, 11);
    for (size_t i = 0; i < MOST; i++)
        given[i] *= ldexpf(1, (int)(i / 640) % 40 - 20);
    memset(given + 640, 0, 64 * sizeof *given);
    for (size_t i = 1280; i < 1344; i++)
        given[i] = ldexpf(given[i], -140); // scales below the normal numbers
    for (int n = 0; n < COUNTS; n++)
        for (size_t block = 1; block <= 640; block = block * 8 + 8)
            try_quantize(given, counts[n], block);
}

static void test_a_block_with_an_infinity_has_the_scale_nan(void **state)
{
    const float given[] = {1, INFINITY, 2, 3, NAN, 4, 5, -6};
    float scales[4];
    float *const there = take(sizeof scales);
    device->quantize(8, 2, bring(given, sizeof given, 0), take(8), there);
    fetch(scales, there, sizeof scales);
    assert_true(isnan(scales[0]) && scales[1] == 3.0f / 127 && isnan(scales[2]) && scales[3] == 6.0f / 127);
}

// ---- bytes ---------------------------------------------------------------------------------------------------

static void test_bytes_are_set_and_copied_from_and_to_anywhere(void **state)
{
    static unsigned char bytes[5000], back[5000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7);
    unsigned char *const one = bring(bytes, sizeof bytes, 3), *const two = take(sizeof bytes);
    device->copy(two + 1, one + 2, sizeof bytes - 2); // within the device
    device->set(two + 101, 0xff, 1000);
    device->set(two, 0, 0);
    device->copy(two, one, 0);
    fetch(back, two + 1, sizeof bytes - 2);
    for (size_t i = 0; i < sizeof bytes - 2; i++)
        assert_int_equal(back[i], i >= 100 && i < 1100 ? 0xff : bytes[i + 2]);
    assert_int_equal(device->finish(), CLAB_OK);
}

// ---- failure -------------------------------------------------------------------------------------------------

static void wait_for_nothing(void *of)
{
}

// A kernel fails on memory that nobody may touch, and with it the GPU of this process. A driver may let GPUs use the
// program's own memory. The first failure is logged, once; calls that return an error return it.
static void lose_the_device(void)
{
    float *const floats = mmap(NULL, 64 * sizeof *floats, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(floats != MAP_FAILED);
    const struct clab_expected expected = {.random = {.type = CLAB_F32, .nranks = 2}, .count = 64, .stride = 1};
    device->reduce(CLAB_F32, CLAB_SUM, floats, floats, floats, 64);
    assert_true(isnan(device->time(wait_for_nothing, NULL)));
    device->axpy(64, 1, floats, floats);
    assert_int_equal(device->check(&expected, floats), 64);
    assert_true(isnan(device->squares(64, floats, floats, floats)));
    assert_int_equal(device->finish(), CLAB_ESYS);
}

static void test_a_device_that_fails_says_so_once_and_tells(void **state)
{
    struct capture capture = capture_begin(STDERR_FILENO);
    lose_the_device();
    assert_one_line_with(capture_end(capture), "CUDA: ");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        DEVICE_TEST(test_the_generator_is_split_mix),
        DEVICE_TEST(test_a_fill_has_the_bits_that_are_described),
        DEVICE_TEST(test_reductions_have_the_bits_of_the_reference),
        DEVICE_TEST(test_quotients_have_the_bits_of_the_reference),
        DEVICE_TEST(test_a_check_finds_the_one_wrong_element),
        DEVICE_TEST(test_a_check_looks_at_windows_and_both_ends),
        DEVICE_TEST(test_casts_round_to_nearest_even),
        DEVICE_TEST(test_quantized_floats_are_within_half_a_scale),
        DEVICE_TEST(test_a_block_with_an_infinity_has_the_scale_nan),
        DEVICE_TEST(test_bytes_are_set_and_copied_from_and_to_anywhere),
    };
    const struct CMUnitTest last[] = {cmocka_unit_test(test_a_device_that_fails_says_so_once_and_tells)};
    fill_formats(NULL);
    return run_on_devices(argc, argv, tests, sizeof tests / sizeof *tests, last);
}
