// SPDX-License-Identifier: MIT
// Descriptions of networks: what is accepted keeps net.h's promises and says each value in one number and one unit;
// what is refused is said once; and what a fit writes is read as it was.

#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "sim/fit/fit.h"
#include "sim/net/net.h"
#include "sim/net/keys.h"
#include "sim/sim.h"

static const char path[] = "folder/a.net";

static int read_text(const void *text, size_t size, struct clab_net **net_p)
{
    FILE *file = fuzz_file(text, size);
    fuzz_log_clear();
    const int err = clab_net_read(file, path, net_p);
    fclose(file);
    return err;
}

// ---- what was accepted ---------------------------------------------------------------------------------------

static bool is_cost(double value)
{
    return isfinite(value) && value >= 0;
}

static void check_link(const struct clab_link *link, const char *name)
{
    must_hold(!link->present || strcmp(link->name, name) == 0);
    must_hold(is_cost(link->alpha) && is_cost(link->beta));
    must_hold(link->nsegments >= 1 && link->nsegments <= CLAB_NET_SEGMENTS);
    for (int i = 1; i < link->nsegments; i++)
        must_hold(link->segments[i - 1].up_to < link->segments[i].up_to);
    for (size_t bytes = 1; bytes; bytes <<= 1) { // a segment for every message
        const struct clab_segment *segment = clab_link_segment(link, bytes);
        must_hold(segment >= link->segments && segment < link->segments + link->nsegments);
        must_hold(bytes <= segment->up_to && is_cost(segment->o_send) && is_cost(segment->gap_recv));
    }
    clab_link_segment(link, SIZE_MAX);
}

static void check_net(const struct clab_net *net)
{
    must_hold(strcmp(net->name, "a") == 0 && *net->title && !net->other);
    must_hold(net->nodes >= 0 && net->ranks_per_node >= 1 && net->cores_per_node >= 0);
    must_hold(net->ranks_per_node == 1 || net->intra.present);
    must_hold(net->nodes == 1 || net->inter.present);
    must_hold(is_cost(net->gamma) && is_cost(net->call) && is_cost(net->noise) && is_cost(net->probed.line) &&
              is_cost(net->probed.fresh));
    must_hold(!net->compute.present || net->compute.flops[CLAB_FP32] > 0);
    must_hold(is_cost(net->compute.memory));
    must_hold(net->nlevels >= 0 && net->nlevels <= CLAB_NET_LEVELS);
    for (int i = 0; i < net->nlevels; i++)
        must_hold(net->levels[i].bytes > (i ? net->levels[i - 1].bytes : 0));
    for (size_t bytes = 1; bytes; bytes <<= 1)
        must_hold(!isnan(clab_net_level(net, bytes).copy[CLAB_BOTH]));
    check_link(&net->intra, "intra");
    check_link(&net->inter, "inter");
    check_link(&net->pair, "pair");
    must_hold(net->ntiers >= 0 && net->ntiers <= CLAB_NET_TIERS);
    must_hold(clab_net_check_ranks(net, 1) == CLAB_OK);
}

// A number, its unit perhaps apart from it, and nothing else: `1 2` is not 12.
static void check_number(const char *value)
{
    const size_t number = strspn(value, "0123456789.");
    size_t n = number;
    if (value[n] == 'e' || value[n] == 'E')
        n += 1 + strspn(value + n + 1, "+-0123456789");
    n += strspn(value + n, " \t");
    must_hold(number > 0 && !strpbrk(value + n, " \t"));
}

static int check_setting(void *context, const struct clab_setting *s)
{
    (void)context;
    const char *section = s->section + strspn(s->section, " \t");
    const size_t length = strcspn(section, " \t");
    for (const struct net_key *key = net_keys; key->section; key++) {
        if (strlen(key->section) != length || strncmp(key->section, section, length) || strcmp(key->name, s->name))
            continue;
        if (key->kind <= NET_SIZE || key->kind == NET_PERCENT)
            if (strcmp(s->value, "any"))
                check_number(s->value);
        return CLAB_OK;
    }
    must_hold(!"a key that there is");
    return CLAB_OK;
}

static void check_settings(const uint8_t *data, size_t size)
{
    FILE *file = fuzz_file(data, size);
    must_hold(clab_conf_read(file, path, check_setting, NULL) == CLAB_OK);
    fclose(file);
}

// ---- written and read ----------------------------------------------------------------------------------------

// What a fit can be of `net`: of one node, its link's segments measured, no time longer than a thousand seconds.
static bool is_fit(struct clab_net *net)
{
    net->nodes = 1;
    memset(&net->inter, 0, sizeof net->inter);
    if (!net->intra.present || !*net->machine || net->intra.segments[0].latency < 0)
        return false;
    for (const struct net_key *key = net_keys; key->section; key++) {
        const bool in_net = strcmp(key->section, "net") == 0 || strcmp(key->section, "profile") == 0;
        if (in_net && (key->kind == NET_SECONDS || key->kind == NET_PER_BYTE) &&
            *(const double *)((const char *)net + key->offset) > 1e3)
            return false;
    }
    for (int i = 0; i < net->intra.nsegments; i++) {
        const struct clab_segment *s = &net->intra.segments[i];
        if (s->o_send > 1e3 || s->o_recv > 1e3 || s->o_both > 1e3 || s->latency > 1e3 || s->gap_send > 1e3 ||
            s->gap_recv > 1e3)
            return false;
    }
    for (int i = 0; i < net->nlevels; i++)
        for (size_t at = offsetof(struct clab_level, copy); at < sizeof net->levels[i]; at += sizeof(double))
            if (*(const double *)((const char *)&net->levels[i] + at) > 1e3)
                return false;
    return net->intra.alpha <= 1e3 && net->intra.beta <= 1e3;
}

static char *written(const struct clab_net *net, size_t *size_p)
{
    static const char *const remarks[] = {"a remark", NULL};
    struct clab_fit fit = {.median = *net, .low = *net, .high = *net};
    char *text;
    FILE *file = open_memstream(&text, size_p);
    must_hold(file);
    clab_fit_print(file, &fit, remarks);
    fclose(file);
    return text;
}

// Four digits are written, and a share of a percent to 1e-4.
static bool is_near(double a, double b)
{
    return fabs(a - b) <= 5.1e-4 * fabs(a) + 1e-315;
}

static void check_key(const struct net_key *key, const char *a, const char *b)
{
    a += key->offset;
    b += key->offset;
    switch (key->kind) {
    case NET_COUNT: must_hold(*(const int *)a == *(const int *)b); break;
    case NET_SECONDS:
    case NET_PER_BYTE: must_hold(is_near(*(const double *)a, *(const double *)b)); break;
    case NET_SIZE: must_hold(*(const size_t *)a == *(const size_t *)b); break;
    case NET_YES_NO: must_hold(*(const bool *)a == *(const bool *)b); break;
    case NET_PORT: must_hold(*(const enum clab_port *)a == *(const enum clab_port *)b); break;
    case NET_PERCENT: must_hold(fabs(*(const double *)a - *(const double *)b) <= 5.1e-5); break;
    case NET_TEXT:
    case NET_NAME: must_hold(strcmp(a, b) == 0); break;
    default: break; // of a topology, which is never fitted
    }
}

static void check_part(const char *section, const void *a, const void *b)
{
    for (const struct net_key *key = net_keys; key->section; key++)
        if (strcmp(key->section, section) == 0)
            check_key(key, a, b);
}

static void check_same(const struct clab_net *a, const struct clab_net *b)
{
    check_part("net", a, b);
    check_part("profile", a, b);
    check_part("link", &a->intra, &b->intra);
    must_hold(a->intra.nsegments == b->intra.nsegments && a->nlevels == b->nlevels);
    for (int i = 0; i < a->intra.nsegments; i++) {
        must_hold(strcmp(a->intra.segments[i].name, b->intra.segments[i].name) == 0);
        check_part("segment", &a->intra.segments[i], &b->intra.segments[i]);
    }
    for (int i = 0; i < a->nlevels; i++) {
        must_hold(a->levels[i].bytes == b->levels[i].bytes);
        check_part("level", &a->levels[i], &b->levels[i]);
    }
}

// Which are no text in a file of settings.
static void without_semicolons(char *text)
{
    for (; *text; text++)
        *text = *text == ';' ? ',' : *text;
}

static void check_written(struct clab_net *net)
{
    struct clab_net *again;
    size_t size, size_again;
    char *text = written(net, &size), *text_again;
    must_hold(read_text(text, size, &again) == CLAB_OK);
    without_semicolons(net->title);
    without_semicolons(net->machine);
    without_semicolons(net->date);
    without_semicolons(net->other_name);
    check_same(net, again);
    text_again = written(again, &size_again); // what has four digits keeps them
    must_hold(size == size_again && memcmp(text, text_again, size) == 0);
    free(text_again);
    free(text);
    clab_net_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct clab_net *net = NULL;
    const int err = read_text(data, size, &net);
    must_hold(err == CLAB_OK || err == CLAB_EPARSE || err == CLAB_EUNSUPPORTED);
    must_hold((err == CLAB_OK) == (net != NULL));
    if (err) {
        must_say_once(path);
        return 0;
    }
    must_hold(fuzz_log_errors == 0);
    check_net(net);
    check_settings(data, size);
    if (is_fit(net))
        check_written(net);
    clab_net_free(net);
    return 0;
}
