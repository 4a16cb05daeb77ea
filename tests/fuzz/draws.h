// SPDX-License-Identifier: MIT
// Nonces of the store (core/job/store/proof.h) that are the same in each run, so that an input does again what it did.
#pragma once

#include "core/job/store/proof.h"

#ifdef HAVE_SODIUM

#include <sodium.h>

#include "core/base/mix.h"

static uint64_t fuzz_drawn; // set to 0 for each input

static const char *fuzz_draw_name(void)
{
    return "the same in each run";
}

static void fuzz_draw_bytes(void *const bytes, const size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)clab_mix(7, fuzz_drawn++);
}

static uint32_t fuzz_draw(void)
{
    return (uint32_t)clab_mix(7, fuzz_drawn++);
}

static void fuzz_draw_anew(void)
{
    static struct randombytes_implementation same = {
        .implementation_name = fuzz_draw_name, .random = fuzz_draw, .buf = fuzz_draw_bytes};
    randombytes_set_implementation(&same);
    fuzz_drawn = 0;
}

#else

static void fuzz_draw_anew(void)
{
}

#endif
