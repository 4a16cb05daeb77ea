// SPDX-License-Identifier: MIT
// A network with something wrong between its nodes (net.h): a slower interface, small socket buffers, lost packets.
// Source: for the window, RFC 7323, section 1.1: a connection sends one window per round trip.

#include <stdio.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/mix.h"
#include "core/base/units.h"
#include "core/base/err.h"
#include "sim/net/net.h"

// ---- links ---------------------------------------------------------------------------------------------------

// The window of bytes waits for a round trip, 2 alpha, before the next one may go.
static double window_gap(const struct clab_link *link, size_t window)
{
    return 2 * link->alpha / (double)window;
}

static void add_gap(struct clab_segment *s, double gap)
{
    s->gap_send += gap, s->gap_recv += gap;
}

// Messages that fit into the window go as before. The segment in which it lies is divided, if there is room for one more.
static void narrow(struct clab_link *link, size_t window)
{
    const double gap = window_gap(link, window);
    int at = 0;
    while (link->segments[at].up_to <= window)
        at++;
    if (link->nsegments < CLAB_NET_SEGMENTS) {
        memmove(&link->segments[at + 1], &link->segments[at], (size_t)(link->nsegments - at) * sizeof *link->segments);
        link->segments[at++].up_to = window;
        link->nsegments++;
    }
    for (; at < link->nsegments; at++)
        add_gap(&link->segments[at], gap);
}

// What joins nodes.
static struct clab_link *link_at(struct clab_net *net, int i)
{
    return i == 0 ? &net->inter : &net->tiers[i - 1];
}

// ---- words ---------------------------------------------------------------------------------------------------

static int take_rate(struct clab_net *net, const char *text)
{
    char *percent;
    double rate;
    char number[32];
    snprintf(number, sizeof number, "%s", text);
    if (!(percent = strchr(number, '%')) || percent[1])
        return CLAB_EPARSE;
    *percent = '\0';
    if (clab_parse_number(number, &rate) != CLAB_OK || !(rate > 0 && rate <= 100))
        return CLAB_EPARSE;
    for (int i = 0; i <= net->ntiers; i++)
        clab_link_scale(link_at(net, i), 100 / rate);
    return CLAB_OK;
}

static int take_window(struct clab_net *net, const char *text)
{
    size_t window;
    if (clab_parse_size(text, &window) != CLAB_OK || window == 0 || window > SIZE_MAX / 2)
        return CLAB_EPARSE;
    for (int i = 0; i <= net->ntiers; i++)
        if (link_at(net, i)->present)
            narrow(link_at(net, i), window);
    return CLAB_OK;
}

// "0.1%:5ms": how many messages are lost, and when they are sent again.
static int take_loss(struct clab_net *net, const char *text)
{
    char percent[32], again[32];
    double loss;
    if (sscanf(text, "%31[0-9.]%%:%31s", percent, again) != 2 || clab_parse_number(percent, &loss) != CLAB_OK ||
        !(loss > 0 && loss < 100) || clab_parse_seconds(again, &net->resend) != CLAB_OK)
        return CLAB_EPARSE;
    net->loss = loss / 100;
    return CLAB_OK;
}

static int take(struct clab_net *net, const char *word)
{
    static const struct {
        const char *name;
        int (*take)(struct clab_net *, const char *);
    } all[] = {{"rate=", take_rate}, {"window=", take_window}, {"loss=", take_loss}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strncmp(word, all[i].name, strlen(all[i].name)))
            return all[i].take(net, word + strlen(all[i].name));
    return CLAB_EPARSE;
}

int clab_net_vary(struct clab_net *net, const char *text)
{
    char word[64];
    for (const char *rest = text, *next; rest; rest = next) { // an empty word is none of them, either
        const size_t length = strcspn(rest, "+");
        next = rest[length] ? rest + length + 1 : NULL;
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), rest);
        if (take(net, word) != CLAB_OK) {
            clab_error(
                "network %s+%s: '%s' is not rate=PERCENT%%, window=SIZE or loss=PERCENT%%:TIME, as in rate=10%%, "
                "window=8K or loss=0.1%%:5ms",
                net->name, text, word);
            return CLAB_EINVAL;
        }
    }
    return CLAB_OK;
}

double clab_net_stall(const struct clab_net *net, size_t messages, uint64_t seed)
{
    double stall = 0;
    if (net->loss == 0)
        return 0;
    for (size_t i = 0; i < messages; i++)
        if ((double)(clab_mix(seed, i) >> 11) * 0x1p-53 < net->loss)
            stall += net->resend;
    return stall;
}
