// SPDX-License-Identifier: MIT
// The text format of networks (sim/nets/README.md describes it), read through base/files/conf.h into struct clab_net.
//
// - keys.c     says which keys a section has, of what kind, and whether they must be there.
// - Every mistake is one line: file, line, what was expected. A section's missing keys are reported at its first key.
// - A unit is compulsory: `alpha = 5` is a mistake, `alpha = 5 us` is not.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/names.h"
#include "core/base/units.h"
#include "sim/net/net.h"
#include "sim/net/keys.h"
#include "sim/sim.h"

static const char *const expected[] = {
    [NET_COUNT] = "a whole number of at least 1",
    [NET_SECONDS] = "a time with its unit, such as `1.5 us`",
    [NET_PER_BYTE] = "a cost or rate with its unit, such as `0.08 ns/B` or `100 Gb/s`",
    [NET_FLOPS] = "a rate with its unit, such as `96 Gflop/s` or `989 Tflop/s`",
    [NET_SIZE] = "a size with its unit, such as `48 B` or `64 KiB`, or `any`",
    [NET_YES_NO] = "`yes` or `no`",
    [NET_PORT] = "`duplex`, `core`, `loggp` or `loggp-core`",
    [NET_PERCENT] = "a percentage, such as `1.5 %`",
    [NET_TEXT] = "a text of at most 127 characters",
    [NET_NAME] = "a text of at most 31 characters",
    [NET_RATIO] = "a number of at least 1, such as `2` or `1.5`",
    [NET_INSIDE] = "`switch`, `mesh`, `pairs` or `pcie`",
    [NET_BETWEEN] = "`switch`, `fat-tree`, `torus` or `dragonfly`",
    [NET_GRID] = "1 to 4 whole numbers of at least 1, such as `4x4x2`",
};

enum { SECTION_BYTES = 64 }; // of a name; conf.h takes none so long

struct reader {
    struct clab_net *net;
    const char *path;
    char section[SECTION_BYTES]; // at hand; "" before the first
    char kind[16];               // its first word
    void *target;                // its struct
    int line;                    // of its first key
    bool seen[NET_KEYS_AT_MOST]; // keys given in it
    // Sections that were, to find repetitions.
    char done[CLAB_NET_SEGMENTS * 3 + CLAB_NET_LEVELS + CLAB_NET_TIERS + 8][SECTION_BYTES];
    int ndone;
};

static int refuse(const struct reader *r, int line, const char *what, const char *detail)
{
    clab_error("%s:%d: [%s]: %s%s", r->path, line, r->section, what, detail);
    return CLAB_EPARSE;
}

// ---- values --------------------------------------------------------------------------------------------------

static int parse_choice(const char *text, const char *no, const char *yes, bool *yes_p)
{
    if (strcmp(text, no) && strcmp(text, yes))
        return CLAB_EPARSE;
    *yes_p = strcmp(text, yes) == 0;
    return CLAB_OK;
}

static int parse_bytes(const char *text, size_t *bytes_p)
{
    if (strcmp(text, "any") == 0) {
        *bytes_p = SIZE_MAX;
        return CLAB_OK;
    }
    return text[strcspn(text, "B")] ? clab_parse_size(text, bytes_p) : CLAB_EPARSE;
}

static int parse_percent(const char *text, double *share_p)
{
    char number[CLAB_NET_TITLE];
    double percent;
    const size_t length = strcspn(text, "%");
    if (strcmp(text + length, "%") != 0 || length >= sizeof number)
        return CLAB_EPARSE;
    memcpy(number, text, length);
    number[length] = 0;
    CLAB_TRY(clab_parse_number(number, &percent));
    if (percent > 1e6)
        return CLAB_EPARSE;
    *share_p = percent / 100;
    return CLAB_OK;
}

static int parse_text(const char *text, size_t room, char *out)
{
    if (!*text || strlen(text) >= room)
        return CLAB_EPARSE;
    strcpy(out, text);
    return CLAB_OK;
}

static int parse_ratio(const char *text, double *ratio_p)
{
    double ratio;
    CLAB_TRY(clab_parse_number(text, &ratio));
    if (!(ratio >= 1 && ratio <= 1e6))
        return CLAB_EPARSE;
    *ratio_p = ratio;
    return CLAB_OK;
}

// Numbers with an x between them.
static int parse_grid(const char *text, int size[CLAB_NET_DIMENSIONS])
{
    for (int d = 0; d < CLAB_NET_DIMENSIONS; d++) {
        char number[16] = "";
        size_t length = strcspn(text, "x");
        if (length >= sizeof number)
            return CLAB_EPARSE;
        memcpy(number, text, length);
        CLAB_TRY(clab_parse_int(number, 1, 1 << 20, &size[d]));
        if (!text[length])
            return CLAB_OK;
        text += length + 1;
    }
    return CLAB_EPARSE;
}

// The unit may stand apart from its number: "5 us" is read as "5us", but "1 2" is not 12.
static int join_unit(const char *text, char out[CLAB_NET_TITLE])
{
    static const char of_numbers[] = "0123456789.+-eE";
    const size_t number = strspn(text, of_numbers), gap = strspn(text + number, " \t");
    const char *unit = text + number + gap;
    if (strlen(text) - gap >= CLAB_NET_TITLE || strspn(unit, of_numbers) || strpbrk(unit, " \t"))
        return CLAB_EPARSE;
    snprintf(out, CLAB_NET_TITLE, "%.*s%s", (int)number, text, unit);
    return CLAB_OK;
}

static int parse_number(enum net_kind kind, const char *text, void *target)
{
    char packed[CLAB_NET_TITLE];
    CLAB_TRY(join_unit(text, packed));
    switch (kind) {
    case NET_COUNT: return clab_parse_int(packed, 1, 1 << 30, target);
    case NET_SECONDS: return clab_parse_seconds(packed, target);
    case NET_PER_BYTE: return clab_parse_seconds_per_byte(packed, target);
    case NET_FLOPS: return clab_parse_flops(packed, target);
    case NET_PERCENT: return parse_percent(packed, target);
    default: return parse_bytes(packed, target);
    }
}

static int parse_value(enum net_kind kind, const char *text, void *target)
{
    switch (kind) {
    case NET_YES_NO: return parse_choice(text, "no", "yes", target);
    case NET_TEXT: return parse_text(text, CLAB_NET_TITLE, target);
    case NET_NAME: return parse_text(text, CLAB_NET_NAME, target);
    case NET_RATIO: return parse_ratio(text, target);
    case NET_INSIDE: return clab_names_parse(&CLAB_NAMES("switch", "mesh", "pairs", "pcie"), text, target);
    case NET_BETWEEN: return clab_names_parse(&CLAB_NAMES("switch", "fat-tree", "torus", "dragonfly"), text, target);
    case NET_GRID: return parse_grid(text, target);
    case NET_PORT: return clab_names_parse(&CLAB_NAMES("duplex", "core", "loggp", "loggp-core"), text, target);
    default: return parse_number(kind, text, target);
    }
}

// ---- sections ------------------------------------------------------------------------------------------------

static int close_section(const struct reader *r)
{
    for (int i = 0; net_keys[i].section && *r->section; i++)
        if (net_keys[i].required && !r->seen[i] && strcmp(net_keys[i].section, r->kind) == 0)
            return refuse(r, r->line, "a required key is missing: ", net_keys[i].name);
    return CLAB_OK;
}

static struct clab_link *find_link(struct reader *r, const char *name)
{
    struct clab_link *link = strcmp(name, "intra") == 0   ? &r->net->intra
                             : strcmp(name, "inter") == 0 ? &r->net->inter
                             : strcmp(name, "pair") == 0  ? &r->net->pair
                                                          : NULL;
    if (link)
        strcpy(link->name, name);
    return link;
}

static int open_link(struct reader *r, const char *name)
{
    struct clab_link *link = find_link(r, name);
    if (!link)
        return refuse(r, r->line, "expected [link intra], [link inter] or [link pair]", "");
    link->present = true;
    r->target = link;
    return CLAB_OK;
}

static struct clab_link *find_tier(struct reader *r, const char *name)
{
    for (int i = 0; i < r->net->ntiers; i++)
        if (strcmp(r->net->tiers[i].name, name) == 0)
            return &r->net->tiers[i];
    return NULL;
}

// [segment LINK NAME], where LINK may be a tier that has been described
static int open_segment(struct reader *r, const char *rest)
{
    char link_name[CLAB_NET_NAME] = "";
    size_t length = strcspn(rest, " ");
    if (length < sizeof link_name)
        memcpy(link_name, rest, length);
    const char *name = rest + length + strspn(rest + length, " ");
    struct clab_link *tier = find_tier(r, link_name), *link = tier ? tier : find_link(r, link_name);
    if (!link || !*name || strlen(name) >= CLAB_NET_NAME)
        return refuse(r, r->line, "expected [segment LINK NAME], as [segment intra inline]", "");
    if (link->nsegments == CLAB_NET_SEGMENTS)
        return refuse(r, r->line, "a link has at most 8 segments", "");
    struct clab_segment *segment = &link->segments[link->nsegments++];
    strcpy(segment->name, name);
    segment->fragment = SIZE_MAX;
    r->target = segment;
    return CLAB_OK;
}

// [tier NAME]
static int open_tier(struct reader *r, const char *name)
{
    struct clab_net *net = r->net;
    if (!*name || strlen(name) >= CLAB_NET_NAME)
        return refuse(r, r->line, "expected [tier NAME], as [tier zone]", "");
    if (net->ntiers == CLAB_NET_TIERS)
        return refuse(r, r->line, "there are at most 4 tiers", "");
    struct clab_link *tier = &net->tiers[net->ntiers++];
    strcpy(tier->name, name);
    tier->present = true;
    r->target = tier;
    return CLAB_OK;
}

// [level SIZE]
static int open_level(struct reader *r, const char *rest)
{
    struct clab_net *net = r->net;
    size_t bytes;
    if (parse_value(NET_SIZE, rest, &bytes))
        return refuse(r, r->line, "expected [level SIZE], as [level 64 KiB]", "");
    if (net->nlevels == CLAB_NET_LEVELS)
        return refuse(r, r->line, "there are at most 24 levels", "");
    if (bytes == 0 || (net->nlevels && bytes <= net->levels[net->nlevels - 1].bytes))
        return refuse(r, r->line, "levels must come by rising size", "");
    net->levels[net->nlevels].bytes = bytes;
    r->target = &net->levels[net->nlevels++];
    return CLAB_OK;
}

// A section's name with one space between its words, so that it has one spelling.
static void squeeze(const char *text, char out[SECTION_BYTES])
{
    size_t n = 0;
    for (; *text && n + 1 < SECTION_BYTES; text++)
        if (*text != ' ' && *text != '\t')
            out[n++] = *text;
        else if (n && out[n - 1] != ' ')
            out[n++] = ' ';
    out[n - (n && out[n - 1] == ' ')] = 0;
}

// A section without further words, whose keys are the net's.
static bool is_one_of_a_kind(const char *kind)
{
    static const char *const kinds[] = {"net", "profile", "compute", "topology", "reducer"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

static int open_section(struct reader *r, const char *section, int line)
{
    CLAB_TRY(close_section(r));
    r->line = line;
    strcpy(r->section, section);
    size_t length = strcspn(r->section, " ");
    memset(r->kind, 0, sizeof r->kind);
    memcpy(r->kind, r->section, length < sizeof r->kind ? length : sizeof r->kind - 1);
    const char *rest = r->section + length + strspn(r->section + length, " ");
    memset(r->seen, 0, sizeof r->seen);
    for (int i = 0; i < r->ndone; i++)
        if (strcmp(r->done[i], r->section) == 0)
            return refuse(r, r->line, "this section was given before", "");
    if (r->ndone < (int)(sizeof r->done / sizeof *r->done))
        strcpy(r->done[r->ndone++], r->section);
    if (strcmp(r->kind, "link") == 0)
        return open_link(r, rest);
    if (strcmp(r->kind, "segment") == 0)
        return open_segment(r, rest);
    if (strcmp(r->kind, "level") == 0)
        return open_level(r, rest);
    if (strcmp(r->kind, "tier") == 0)
        return open_tier(r, rest);
    r->target = r->net;
    if (!*r->section) {
        clab_error("%s:%d: expected a [section] above the first key", r->path, r->line);
        return CLAB_EPARSE;
    }
    if (*rest || !is_one_of_a_kind(r->kind))
        return refuse(
            r, r->line,
            "unknown section; there are net, profile, compute, link, tier, segment, level, topology and reducer", "");
    r->net->compute.present |= strcmp(r->kind, "compute") == 0;
    return CLAB_OK;
}

static int use_setting(void *context, const struct clab_setting *s)
{
    struct reader *r = context;
    char section[SECTION_BYTES];
    squeeze(s->section, section);
    if (strcmp(section, r->section) || !r->target)
        CLAB_TRY(open_section(r, section, s->line));
    for (int i = 0; net_keys[i].section; i++) {
        const struct net_key *key = &net_keys[i];
        if (strcmp(key->section, r->kind) || strcmp(key->name, s->name))
            continue;
        r->seen[i] = true;
        if (parse_value(key->kind, s->value, (char *)r->target + key->offset) == CLAB_OK)
            return CLAB_OK;
        clab_error("%s:%d: %s = %s: expected %s", r->path, s->line, s->name, s->value, expected[key->kind]);
        return CLAB_EPARSE;
    }
    return refuse(r, s->line, "unknown key: ", s->name);
}

// ---- the whole -----------------------------------------------------------------------------------------------

// "sim/nets/ib-hdr.net" is called "ib-hdr".
static void name_by_path(struct clab_net *net, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t length = strlen(base);
    if (length > 4 && strcmp(base + length - 4, ".net") == 0)
        length -= 4;
    if (length >= CLAB_NET_NAME)
        length = CLAB_NET_NAME - 1;
    memcpy(net->name, base, length);
}

static int read_into(FILE *file, const char *path, struct clab_net *net)
{
    struct reader *r = calloc(1, sizeof *r);
    if (!r)
        return CLAB_ENOMEM;
    r->net = net;
    r->path = path;
    net->ranks_per_node = 1;
    name_by_path(net, path);
    int err = clab_conf_read(file, path, use_setting, r);
    if (!err)
        err = close_section(r);
    if (!err)
        err = net_check(net, path);
    free(r);
    return err;
}

int clab_net_read(FILE *file, const char *path, struct clab_net **net_p)
{
    struct clab_net *net = calloc(1, sizeof *net);
    int err = net ? read_into(file, path, net) : CLAB_ENOMEM;
    if (err)
        clab_net_free(net);
    else
        *net_p = net;
    return err;
}
