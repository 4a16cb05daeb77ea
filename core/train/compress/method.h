// SPDX-License-Identifier: MIT
// What a method of compression brings, and what it is given. A new one is a file, and a row in compress.c.
#pragma once

#include "core/clab.h"
#include "core/train/compress.h"
#include "core/transport/device.h"

struct compress_method {
    const char *name;
    bool keeps_residual; // unless it is told to forget
    bool is_late;        // its first steps travel whole
    bool is_host_only;
    // Room of the method's own, in c->state, for destroy to give back, also after an error.  errors: CLAB_ENOMEM
    int (*create)(struct clab_compressor *c);
    void (*destroy)(struct clab_compressor *c);
    // As clab_compressor_start and _finish; residuals have been added to the gradients.
    int (*start)(struct clab_compressor *c, struct clab_work **work_p);
    int (*finish)(struct clab_compressor *c);
};

struct clab_compressor {
    const struct compress_method *method;
    struct clab_comm *comm;
    struct clab_job *job;
    const struct clab_device *device;
    struct clab_compression how; // with its defaults filled in
    struct clab_compressible what;
    size_t count;    // elements of the bucket
    float *residual; // (count), or NULL
    int step;        // that is going on, from 0
    void *state;     // the method's
};

extern const struct compress_method compress_fp16, compress_bf16, compress_int8, compress_powersgd, compress_topk;

// That so many bytes were read or written.  errors: of clab_compute
int compress_charge(const struct clab_compressor *c, double bytes);
