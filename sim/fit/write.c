// SPDX-License-Identifier: MIT
// A fit as text: the keys of sim/net/keys.c that are not at their default, with units, and intervals as comments.

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "sim/fit/inside.h"
#include "sim/net/keys.h"
#include "sim/sim.h"

enum { COMMENT_COLUMN = 34 };

// The same part of the three networks of a fit.
struct parts {
    const char *median, *low, *high;
};

static struct parts part_at(const struct clab_fit *fit, size_t base)
{
    return (struct parts){(const char *)&fit->median + base, (const char *)&fit->low + base,
                          (const char *)&fit->high + base};
}

// A double with its unit, and the interval in the same unit behind it.
static void write_real(FILE *file, const struct net_key *key, struct parts parts, double unit, const char *unit_name)
{
    double value = *(const double *)(parts.median + key->offset) / unit + 0.; // which makes 0 of -0
    double low = *(const double *)(parts.low + key->offset) / unit + 0.,
           high = *(const double *)(parts.high + key->offset) / unit + 0.;
    int length = fprintf(file, "%s = %.4g %s", key->name, value, unit_name);
    fprintf(file, "%*s; %.4g .. %.4g\n", length < COMMENT_COLUMN ? COMMENT_COLUMN - length : 1, "", low, high);
}

static void write_size(FILE *file, const struct net_key *key, size_t bytes)
{
    if (bytes == SIZE_MAX)
        fprintf(file, "%s = any\n", key->name);
    else
        fprintf(file, "%s = %zu B\n", key->name, bytes);
}

// What follows a semicolon would be a comment: of a processor's name, say.
static void write_text(FILE *file, const struct net_key *key, const char *text)
{
    fprintf(file, "%s = ", key->name);
    for (; *text; text++)
        fputc(*text == ';' ? ',' : *text, file);
    fputc('\n', file);
}

// A difference of measured times may be a little below 0; two digits of it are not.
static double hundredths(double share)
{
    return round(1e4 * share) / 100 + 0.;
}

static bool is_set(const struct net_key *key, const char *value)
{
    switch (key->kind) {
    case NET_COUNT: return *(const int *)value != 0;
    case NET_YES_NO: return *(const bool *)value;
    case NET_PORT: return *(const enum clab_port *)value != CLAB_PORT_DUPLEX;
    case NET_SIZE: return *(const size_t *)value != key->absent;
    case NET_TEXT:
    case NET_NAME: return *value;
    default: return *(const double *)value != 0;
    }
}

static void write_key(FILE *file, const struct net_key *key, struct parts parts)
{
    const char *value = parts.median + key->offset;
    if (!key->required && !is_set(key, value))
        return;
    switch (key->kind) {
    case NET_COUNT: fprintf(file, "%s = %d\n", key->name, *(const int *)value); break;
    case NET_SECONDS: write_real(file, key, parts, 1e-9, "ns"); break;
    case NET_PER_BYTE: write_real(file, key, parts, 1e-12, "ps/B"); break;
    case NET_SIZE: write_size(file, key, *(const size_t *)value); break;
    case NET_YES_NO: fprintf(file, "%s = %s\n", key->name, *(const bool *)value ? "yes" : "no"); break;
    case NET_PORT:
        fprintf(file, "%s = %s\n", key->name, *(const enum clab_port *)value == CLAB_PORT_CORE ? "core" : "duplex");
        break;
    case NET_PERCENT: fprintf(file, "%s = %.2f %%\n", key->name, hundredths(*(const double *)value)); break;
    case NET_TEXT:
    case NET_NAME: write_text(file, key, value); break;
    case NET_FLOPS: fprintf(file, "%s = %.4g Gflop/s\n", key->name, *(const double *)value / 1e9); break;
    default: break; // of a topology, which is never fitted
    }
}

static void write_section(FILE *file, const char *kind, const char *name, struct parts parts)
{
    fprintf(file, "\n[%s%s%s]\n", kind, *name ? " " : "", name);
    for (const struct net_key *key = net_keys; key->section; key++)
        if (strcmp(key->section, kind) == 0)
            write_key(file, key, parts);
}

// The link that lies `base` bytes into the net, if there is one.
static void write_link(FILE *file, const struct clab_fit *fit, size_t base)
{
    struct parts parts = part_at(fit, base);
    const struct clab_link *link = (const void *)parts.median;
    char name[2 * CLAB_NET_NAME];
    if (!link->present)
        return;
    write_section(file, "link", link->name, parts);
    for (int i = 0; i < link->nsegments; i++) {
        size_t segment = base + offsetof(struct clab_link, segments) + (size_t)i * sizeof(struct clab_segment);
        snprintf(name, sizeof name, "%s %s", link->name, link->segments[i].name);
        write_section(file, "segment", name, part_at(fit, segment));
    }
}

void clab_fit_print(FILE *file, const struct clab_fit *fit, const char *const *remarks)
{
    const struct clab_net *net = &fit->median;
    char name[2 * CLAB_NET_NAME];
    for (; *remarks; remarks++)
        fprintf(file, "# %s\n", *remarks);
    write_section(file, "net", "", part_at(fit, 0));
    write_section(file, "profile", "", part_at(fit, 0));
    if (net->compute.present)
        write_section(file, "compute", "", part_at(fit, 0));
    write_link(file, fit, offsetof(struct clab_net, intra));
    write_link(file, fit, offsetof(struct clab_net, inter));
    for (int i = 0; i < net->nlevels; i++) {
        snprintf(name, sizeof name, "%zu B", net->levels[i].bytes);
        write_section(file, "level", name,
                      part_at(fit, offsetof(struct clab_net, levels) + (size_t)i * sizeof(struct clab_level)));
    }
}

// What would be written, read by the reader of all networks.
static int read_back(const char *text, size_t size, const char *path)
{
    struct clab_log_held held;
    struct clab_net *net;
    FILE *file = fmemopen((char *)text, size, "r");
    if (!file)
        return CLAB_ENOMEM;
    clab_log_hold(&held);
    const int err = clab_net_read(file, path, &net);
    clab_log_release(&held);
    fclose(file);
    if (!err)
        clab_net_free(net);
    if (!err || err == CLAB_EUNSUPPORTED) // built without inih: nothing can be read here
        return CLAB_OK;
    clab_error("no profile is written, since it would be refused: %s", held.text);
    return CLAB_EINVAL;
}

int clab_fit_check(const struct clab_fit *fit, const char *path)
{
    static const char *const no_remarks[] = {NULL};
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    if (!file)
        return CLAB_ENOMEM;
    clab_fit_print(file, fit, no_remarks);
    int err = fclose(file) ? CLAB_ENOMEM : read_back(text, size, path);
    free(text);
    return err;
}

int clab_fit_write(const struct clab_fit *fit, const char *const *remarks, const char *path)
{
    struct clab_output output;
    CLAB_TRY(clab_fit_check(fit, path));
    CLAB_TRY(clab_output_open(path, &output));
    clab_fit_print(output.file, fit, remarks);
    return clab_output_close(&output);
}
