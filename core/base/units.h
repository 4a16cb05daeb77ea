// SPDX-License-Identifier: MIT
// Sizes, durations and rates with their units, read and written.
// - Sizes: 8, 64K, 1M, 1G are powers of 1024, as in nccl-tests; so are KiB, MiB, GiB. KB, MB, GB are powers of 1000.
// - Durations need a unit: ns, us, ms, s. Rates need one: GB/s or GBps (1e9 bytes), GiB/s (2^30 bytes), Gb/s, Gbit/s or
//   Gbps (1e9 bits), likewise with k, K, M and T; or a cost: s/B, us/B, ns/B, ps/B, s/GB.
// - Rates of arithmetic: flop/s, and Mflop/s to Pflop/s, in powers of 1000.
// - A parser takes the whole text or nothing: "8x", "-1", "" and overflow are CLAB_EPARSE, and nothing is written.
// - Parsers do not log: the caller names the flag or the line.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define CLAB_TEXT 32 // enough for any value printed here

int clab_parse_size(const char *text, size_t *bytes_p);
int clab_parse_int(const char *text, int low, int high, int *value_p);
int clab_parse_number(const char *text, double *number_p);   // "1.5", without sign or unit
int clab_parse_seconds(const char *text, double *seconds_p); // "1.5us" -> 1.5e-6
int clab_parse_seconds_within(const char *text, double low, double high, double *seconds_p);
int clab_parse_seconds_per_byte(const char *text, double *seconds_p); // "1ns/B", "10Gb/s" -> seconds a byte
int clab_parse_flops(const char *text, double *flops_p);              // "67Tflop/s" -> 6.7e13; above 0

// What a unit measures. Values of one dimension convert into each other; a rate is one divided by a cost.
enum clab_dimension {
    CLAB_DIMENSION_COUNT, // "", "1", and what is counted: pairs, iterations, ...
    CLAB_DIMENSION_TIME,
    CLAB_DIMENSION_BYTES,
    CLAB_DIMENSION_PERCENT,
    CLAB_DIMENSION_COST, // time per byte
    CLAB_DIMENSION_RATE, // bytes per time
    CLAB_DIMENSIONS
};

struct clab_unit {
    const char *name;
    enum clab_dimension dimension;
    double factor; // one of it is so many s, B, %, s/B or B/s
};

// The unit `name`, or NULL. Unlike the sizes above, it knows "KB" as 1000 bytes only, and no bare "K".
const struct clab_unit *clab_unit_find(const char *name);
// The usual units of a dimension, for messages: "ns, us, ms or s".
const char *clab_dimension_units(enum clab_dimension dimension);
// Whether a value in `from` can be said in `to`.
bool clab_unit_converts(const struct clab_unit *from, const struct clab_unit *to);
// A value in `from`, said in `to`; clab_unit_converts holds.
double clab_unit_convert(double value, const struct clab_unit *from, const struct clab_unit *to);

// Text for people, written to `out` and returned: "64 KiB", "1.5 us", "12.3 GB/s".
// - A size has one form in all tables and messages: KiB, MiB ... where four digits say it exactly, else kB, MB ... where
//   one digit after the point does ("100 MB"), else bytes below 1 MiB ("8191 B"). From there on, four digits of MiB ... are near enough.
const char *clab_size_text(size_t bytes, char out[CLAB_TEXT]);
const char *clab_seconds_text(double seconds, char out[CLAB_TEXT]);
const char *clab_minutes_text(double seconds, char out[CLAB_TEXT]); // whole seconds, rounded up: "45 s", "3 min 20 s"
const char *clab_rate_text(double bytes_per_second, char out[CLAB_TEXT]);
