// SPDX-License-Identifier: MIT
// Homework h5: a training job, the cluster that it can rent, and what that costs. All of it follows from a seed.
//
// - The model is a transformer. Each step trains a batch of fixed size, divided among all GPUs.
// - A student sees the model (job.model), the cluster as the job runs on it now (cluster.net), and the rest (job.ini).
// - Hidden jobs are the student's own, where something has changed: links are slower, or the batch is twice as large.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct clab_net;
struct clab_model;

// What is sent of a gradient: a codec, with a rank if it is PowerSGD's.
enum { H5_CODINGS = 9, H5_POWERSGD = 4 }; // from the fourth on
extern const char *const h5_coding_names[H5_CODINGS]; // "none", ... "powersgd:256"
int h5_coding_rank(int coding);                       // of PowerSGD; 0: another

enum { H5_HOSTS = 16, H5_GPUS = 8, H5_ADAPTERS = 4 }; // at most; GPUs and adapters of a host
enum { H5_MICRO_NOW = 2 };                            // samples per GPU and micro step, as the job runs now
enum h5_placement { H5_SPREAD, H5_PACKED, H5_PLACEMENTS };
extern const char *const h5_placement_names[H5_PLACEMENTS];

// What is rented: all of it has a price.
struct h5_rented {
    int hosts, gpus; // of the GPUs of each host
    int adapters;    // of each host
    int is_fast;     // are its adapters? 0 or 1
    enum h5_placement placement;
};

struct h5_job {
    // The model, and how it is trained.
    int width, layers, words;
    int batch;          // samples per step, of all GPUs
    int most_micro;     // samples that the memory of a GPU holds at a time
    double most_loss, loss[H5_CODINGS]; // % more loss than without compression: the limit, and of each coding
    // The cluster.
    double peak, memory;          // flop/s, B/s of a GPU
    double inside;                // B/s between two GPUs of a host
    double alpha;                 // s between hosts
    double slow_rate, fast_rate;  // bit/s of an adapter
    double oversubscription;      // of the links between racks
    // Credits per hour, for each host: itself, a GPU, an adapter more than one, a fast adapter, a place beside others.
    int host_price, gpu_price, adapter_price, fast_price, packed_price;
    int budget;
    struct h5_rented now; // what the job runs on
};

enum h5_change { H5_OWN, H5_SLOW_LINKS, H5_LARGE_BATCH, H5_CHANGES };

// The job of a seed; and what becomes of it in a hidden test.
void h5_job_draw(uint64_t seed, struct h5_job *job_p);
void h5_job_change(enum h5_change change, uint64_t seed, struct h5_job *job);

int h5_job_price(const struct h5_job *job, const struct h5_rented *rented); // credits per hour
// Whether the network of these hosts and GPUs can become faster within the budget.
bool h5_job_can_upgrade(const struct h5_job *job, const struct h5_rented *rented);

// The files of a student.
void h5_job_write(const struct h5_job *job, FILE *file);
void h5_model_write(const struct h5_job *job, FILE *file);
void h5_net_write(const struct h5_job *job, const struct h5_rented *rented, FILE *file);

// What these files say, for the simulator. Freed by the caller.  errors: CLAB_ENOMEM, CLAB_EUNSUPPORTED (no inih; logged)
int h5_model(const struct h5_job *job, struct clab_model **model_p);
int h5_net(const struct h5_job *job, const struct h5_rented *rented, struct clab_net **net_p);
