// SPDX-License-Identifier: MIT
// Messages of GOAL's operations: which send is whose receive.

#include <stdlib.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/order.h"
#include "core/schedule/formats/goal_lowering.h"

static int by_key(const void *a, const void *b)
{
    const struct lower_key *x = a, *y = b;
    return CLAB_ORDER(x->src, y->src) ?: CLAB_ORDER(x->dst, y->dst) ?: CLAB_ORDER(x->kind, y->kind)
        ?: CLAB_ORDER(x->order, y->order);
}

// All messages, of a pair and kind (tag, or later lane) in order.
static void sort_messages(struct lowering *w, bool by_lane)
{
    w->nsends = w->nreceives = 0;
    for (int i = 0; i < w->n; i++) {
        const struct lower_node *node = &w->nodes[i];
        struct lower_key key = {node->rank, node->op->peer, by_lane ? (uint32_t)node->lane : node->op->tag,
                                by_lane ? node->order : i, i};
        if (node->op->type == CLAB_GOAL_SEND) {
            w->sends[w->nsends++] = key;
        } else if (node->op->type == CLAB_GOAL_RECV) {
            key.src = node->op->peer;
            key.dst = node->rank;
            w->receives[w->nreceives++] = key;
        }
    }
    if (w->nsends)
        qsort(w->sends, (size_t)w->nsends, sizeof *w->sends, by_key);
    if (w->nreceives)
        qsort(w->receives, (size_t)w->nreceives, sizeof *w->receives, by_key);
}

int lower_match(struct lowering *w)
{
    sort_messages(w, false);
    for (int i = 0; i < w->nsends || i < w->nreceives; i++) {
        const struct lower_key *s = i < w->nsends ? &w->sends[i] : NULL, *r = i < w->nreceives ? &w->receives[i] : NULL;
        struct lower_key a = s ? *s : *r, b = r ? *r : *s;
        a.order = b.order = 0;
        int order = by_key(&a, &b);
        if (!r || (s && order < 0))
            return lower_fail(w, s->node, "this message is never received");
        if (!s || order > 0)
            return lower_fail(w, r->node, "this message is never sent");
        struct lower_node *sent = &w->nodes[s->node], *received = &w->nodes[r->node];
        if (sent->op->size != received->op->size) {
            clab_error("%s:%u: rank %d sends %zu bytes, and rank %d expects %zu in line %u", w->goal->path,
                       sent->op->line, sent->rank, (size_t)sent->op->size, received->rank, (size_t)received->op->size,
                       received->op->line);
            return CLAB_EPARSE;
        }
        sent->partner = r->node;
        received->partner = s->node;
    }
    return CLAB_OK;
}

int lower_check_order(struct lowering *w)
{
    sort_messages(w, true);
    for (int i = 0; i < w->nsends; i++)
        if (w->nodes[w->sends[i].node].partner != w->receives[i].node)
            return lower_fail(w, w->sends[i].node,
                              "another message to this rank, of another tag, would be taken for this one: "
                              "receive them in the order in which they are sent");
    return CLAB_OK;
}
