// SPDX-License-Identifier: MIT
// A backend for tests, as a plugin: shm, with memory that the program's own instructions can not touch, as a GPU's.
//
// - clab_alloc gives addresses that nobody can read or write; the bytes lie in shm's memory, at a constant distance. A
//   program that says *p where it should say clab_copy dies by SIGSEGV.
// - Transfers and the device's operations take such addresses only: given any other they end the program, as a GPU's
//   kernel would.
// - Built by tests/far/build.sh; named by --backend far.

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "core/transport/plugin.h"
#include "backends/shm/shm.h"

static char *far_away; // of twice `bytes` addresses; shm's first allocation is in their middle
static ptrdiff_t distance;
static size_t bytes; // of shm's memory

static bool is_far(const void *memory)
{
    return far_away && (const char *)memory >= far_away && (const char *)memory < far_away + 2 * bytes;
}

// Where the bytes lie.
static void *near(const void *memory)
{
    return is_far(memory) ? (char *)(uintptr_t)memory - distance : (void *)(uintptr_t)memory;
}

static void *only_far(const void *memory, size_t count)
{
    if (count > 0 && !is_far(memory)) {
        fprintf(stderr, "far: %zu elements at %p: the device does not reach the program's own memory\n", count, memory);
        abort();
    }
    return near(memory);
}

// ---- memory and messages ---------------------------------------------------------------------------------------

static int attach(struct clab_bootstrap *boot, struct clab_domain **domain_p)
{
    bytes = boot->segment_bytes;
    return clab_backend_shm.attach(boot, domain_p);
}

static int alloc(struct clab_domain *domain, size_t size, void **memory_p)
{
    void *memory;
    CLAB_TRY(clab_backend_shm.alloc(domain, size, &memory));
    if (!far_away) {
        far_away = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (far_away == MAP_FAILED)
            abort();
        distance = far_away + bytes - (char *)memory;
    }
    *memory_p = (char *)memory + distance;
    return CLAB_OK;
}

static void release(struct clab_domain *domain, void *memory)
{
    clab_backend_shm.free(domain, only_far(memory, 1));
}

static bool reaches(struct clab_domain *domain, const void *memory)
{
    (void)domain;
    return is_far(memory);
}

static int pin(struct clab_domain *domain, void *memory, size_t size, struct clab_registration **registration_p)
{
    return clab_host_pin(domain, near(memory), size, registration_p);
}

// Transfers that are started again are as the start before left them.
static void *moved(const void *memory, size_t count)
{
    const bool is_again = is_far((const char *)((uintptr_t)memory + (uintptr_t)distance));
    return is_again && !is_far(memory) ? (void *)(uintptr_t)memory : only_far(memory, count);
}

static int start(struct clab_endpoint *endpoint, struct clab_transfer transfers[], int n)
{
    for (int i = 0; i < n; i++) {
        struct clab_transfer *t = &transfers[i];
        if (t->op != CLAB_RECV)
            t->src = moved(t->src, t->count);
        if (t->op != CLAB_SEND)
            t->dst = moved(t->dst, t->count);
    }
    return clab_backend_shm.start(endpoint, transfers, n);
}

// ---- the device ------------------------------------------------------------------------------------------------

#define cpu    (&clab_device_cpu)
#define FAR(p) only_far(p, 1)

static void copy(void *out, const void *in, size_t size)
{
    cpu->copy(near(out), near(in), size);
}

static void reduce(enum clab_type type, enum clab_op op, const void *a, const void *b, void *out, size_t count)
{
    cpu->reduce(type, op, only_far(a, count), only_far(b, count), only_far(out, count), count);
}

static void scale(enum clab_type type, void *data, size_t count, int divisor)
{
    cpu->scale(type, only_far(data, count), count, divisor);
}

static void set(void *data, int byte, size_t size)
{
    cpu->set(only_far(data, size), byte, size);
}

static void fill_random(const struct clab_random *random, int rank, uint64_t first, size_t count, void *out)
{
    cpu->fill(random, rank, first, count, only_far(out, count));
}

static size_t check(const struct clab_expected *expected, const void *got)
{
    return cpu->check(expected, FAR(got));
}

static void cast(enum clab_type from, const void *in, enum clab_type to, void *out, size_t count)
{
    cpu->cast(from, only_far(in, count), to, only_far(out, count), count);
}

static void quantize(size_t count, size_t block, const float *in, int8_t *out, float *scales)
{
    cpu->quantize(count, block, only_far(in, count), only_far(out, count), only_far(scales, count));
}

static void gemm(const struct clab_gemm *g)
{
    struct clab_gemm here = *g;
    here.a = FAR(g->a);
    here.b = FAR(g->b);
    here.c = FAR(g->c);
    cpu->gemm(&here);
}

static void add_bias(size_t rows, size_t columns, const float *bias, float *y)
{
    cpu->add_bias(rows, columns, FAR(bias), FAR(y));
}

static void sum_rows(size_t rows, size_t columns, const float *y, bool add, float *sums)
{
    cpu->sum_rows(rows, columns, FAR(y), add, FAR(sums));
}

static void relu(size_t count, float *y)
{
    cpu->relu(count, only_far(y, count));
}

static void relu_gradient(size_t count, const float *y, float *dy)
{
    cpu->relu_gradient(count, only_far(y, count), only_far(dy, count));
}

static void axpy(size_t count, float a, const float *x, float *y)
{
    cpu->axpy(count, a, only_far(x, count), only_far(y, count));
}

static double squares(size_t count, const float *y, const float *target, float *gradient)
{
    return cpu->squares(count, only_far(y, count), only_far(target, count), only_far(gradient, count));
}

static struct clab_device device;
static struct clab_backend far;

static __attribute__((constructor)) void fill(void)
{
    device = clab_device_cpu;
    device.name = "far";
    device.copy = copy;
    device.set = set;
    device.reduce = reduce;
    device.scale = scale;
    device.fill = fill_random;
    device.check = check;
    device.cast = cast;
    device.quantize = quantize;
    device.gemm = gemm;
    device.add_bias = add_bias;
    device.sum_rows = sum_rows;
    device.relu = relu;
    device.relu_gradient = relu_gradient;
    device.axpy = axpy;
    device.squares = squares;
    far = clab_backend_shm;
    far.name = "far";
    far.title = "shared memory that the program can not touch, for tests";
    far.attach = attach;
    far.alloc = alloc;
    far.free = release;
    far.reaches = reaches;
    far.bounces = true;
    far.pin = pin;
    far.start = start;
    far.device = &device;
}

CLAB_PLUGIN("far", &far);
