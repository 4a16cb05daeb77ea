// SPDX-License-Identifier: MIT
// Memory: clab_alloc's, its registration with the fabric, and the pools of endpoints.

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rdma/fi_domain.h>

#include "core/base/log.h"
#include "core/base/variables.h"
#include "backends/ofi/endpoint.h"

// ---- registered memory ---------------------------------------------------------------------------------------

static int enter(void *domain_, const void *start, size_t bytes, void **handle_p)
{
    struct ofi_domain *domain = domain_;
    struct fid_mr *region;
    const int err =
        fi_mr_reg(domain->fabric.domain, start, bytes, FI_SEND | FI_RECV, 0, domain->keys++, 0, &region, NULL);
    if (err) {
        clab_error("ofi: %zu bytes can not be registered: %s; is the memory that may be locked limited (ulimit -l)?",
                   bytes, domain->fabric.library->strerror(-err));
        return CLAB_ESYS;
    }
    *handle_p = region;
    return CLAB_OK;
}

static void leave(void *domain, void *handle)
{
    (void)domain;
    fi_close(&((struct fid_mr *)handle)->fid);
}

void ofi_memory_open(struct ofi_domain *domain)
{
    // For tests: without such a network adapter, no provider asks for registration.
    const bool always = clab_variable_is_set(CLAB_VARIABLE_OFI_REGISTER);
    domain->registers = always || domain->fabric.info->domain_attr->mr_mode & FI_MR_LOCAL;
    ofi_registrations_init(&domain->registrations, (struct ofi_registrar){domain, enter, leave});
}

void ofi_memory_close(struct ofi_domain *domain)
{
    ofi_registrations_finish(&domain->registrations);
}

// `advice`: for madvise, from 2 MiB on; a hint, since pages of any size are right.  errors: CLAB_ENOMEM (not logged)
static int obtain(struct ofi_domain *domain, size_t bytes, int advice, void **memory_p)
{
    const size_t unit = bytes >= CLAB_HUGE_PAGE ? CLAB_HUGE_PAGE : CLAB_CACHE_LINE;
    const size_t room = bytes <= SIZE_MAX - unit ? (bytes + unit - 1) / unit * unit : 0;
    void *memory = room || !bytes ? aligned_alloc(unit, room ? room : unit) : NULL;
    if (!memory)
        return CLAB_ENOMEM;
    if (unit == CLAB_HUGE_PAGE)
        madvise(memory, room, advice);
    const int err =
        domain->registers ? ofi_registrations_hold(&domain->registrations, memory, room ? room : unit) : CLAB_OK;
    if (err) {
        free(memory);
        return err;
    }
    *memory_p = memory;
    return CLAB_OK;
}

static int obtain_or_log(struct clab_domain *base, size_t bytes, int advice, void **memory_p)
{
    const int err = obtain((struct ofi_domain *)base, bytes, advice, memory_p);
    if (err == CLAB_ENOMEM)
        clab_error("ofi: no memory for %zu bytes", bytes);
    return err;
}

int ofi_memory_alloc(struct clab_domain *base, size_t bytes, void **memory_p)
{
    return obtain_or_log(base, bytes, MADV_HUGEPAGE, memory_p);
}

int ofi_memory_alloc_sparse(struct clab_domain *base, size_t bytes, void **memory_p)
{
    return obtain_or_log(base, bytes, MADV_NOHUGEPAGE, memory_p);
}

void ofi_memory_free(struct clab_domain *base, void *memory)
{
    struct ofi_domain *domain = (struct ofi_domain *)base;
    if (memory && domain->registers)
        ofi_registrations_let_go(&domain->registrations, memory);
    free(memory);
}

// Memory that the program registers itself. For a provider that needs no registration its pages are only locked.
int ofi_memory_pin(struct clab_domain *base, void *memory, size_t bytes, struct clab_registration **registration_p)
{
    struct ofi_domain *domain = (struct ofi_domain *)base;
    struct ofi_registration *entered;
    if (!domain->registers)
        return clab_host_pin(base, memory, bytes, registration_p);
    CLAB_TRY(ofi_registrations_add(&domain->registrations, memory, bytes, &entered));
    *registration_p = (struct clab_registration *)(void *)entered;
    return CLAB_OK;
}

void ofi_memory_unpin(struct clab_domain *base, struct clab_registration *registration)
{
    struct ofi_domain *domain = (struct ofi_domain *)base;
    if (domain->registers)
        ofi_registrations_drop(&domain->registrations, (struct ofi_registration *)(void *)registration);
    else
        clab_host_unpin(base, registration);
}

// ---- an endpoint's own ---------------------------------------------------------------------------------------

// Goes with the endpoint, as one; its parts are given out and taken back by the lists below.
struct ofi_block {
    _Alignas(CLAB_CACHE_LINE) struct ofi_block *next;
};

static char *keep_block(struct ofi_endpoint *e, void *memory)
{
    struct ofi_block *block = memory;
    block->next = e->blocks;
    e->blocks = block;
    return (char *)(block + 1);
}

static char *add_block(struct ofi_endpoint *e, size_t bytes)
{
    void *memory;
    const int err = ofi_memory_alloc(&e->domain->base, sizeof(struct ofi_block) + bytes, &memory);
    if (err)
        ofi_fail(e, err);
    return err ? NULL : keep_block(e, memory);
}

char *ofi_memory_take(struct ofi_endpoint *e, size_t bytes)
{
    void *memory;
    struct clab_log_held held; // the caller does without
    clab_log_hold(&held);
    const int err = obtain(e->domain, sizeof(struct ofi_block) + bytes, MADV_NOHUGEPAGE, &memory);
    clab_log_release(&held);
    return err ? NULL : keep_block(e, memory);
}

void ofi_blocks_free(struct ofi_endpoint *e)
{
    for (struct ofi_block *block = e->blocks, *next; block; block = next) {
        next = block->next;
        ofi_memory_free(&e->domain->base, block);
    }
}

enum { BATCH = 16 };

struct ofi_op *ofi_op_take(struct ofi_endpoint *e)
{
    if (!e->spare_ops) {
        struct ofi_op *ops = (struct ofi_op *)(void *)add_block(e, BATCH * sizeof *ops);
        for (int i = 0; ops && i < BATCH; i++)
            ofi_op_give(e, &ops[i]);
    }
    struct ofi_op *op = e->spare_ops;
    if (op) {
        e->spare_ops = op->next;
        memset(op, 0, sizeof *op);
    }
    return op;
}

struct ofi_op *ofi_op_begin(struct ofi_endpoint *e, struct clab_transfer *t, enum ofi_kind kind)
{
    struct ofi_op *op = ofi_op_take(e);
    if (!op)
        return NULL;
    op->kind = kind;
    op->t = t;
    op->peer = t->peer;
    op->lane = t->lane;
    op->number = (uint32_t)t->turn;
    op->bytes = t->bytes;
    e->under_way++;
    return op;
}

void ofi_ops_append(struct ofi_ops *ops, struct ofi_op *op)
{
    op->next = NULL;
    *(ops->first ? &ops->last->next : &ops->first) = op;
    ops->last = op;
}

void ofi_ops_remove(struct ofi_ops *ops, struct ofi_op *op)
{
    struct ofi_op **link = &ops->first, *before = NULL;
    while (*link != op) {
        before = *link;
        link = &before->next;
    }
    *link = op->next;
    if (ops->last == op)
        ops->last = before;
}

void ofi_op_give(struct ofi_endpoint *e, struct ofi_op *op)
{
    op->next = e->spare_ops;
    e->spare_ops = op;
}

struct ofi_request *ofi_request_take(struct ofi_endpoint *e)
{
    if (!e->spare_requests) {
        struct ofi_request *requests = (struct ofi_request *)(void *)add_block(e, BATCH * sizeof *requests);
        for (int i = 0; requests && i < BATCH; i++) {
            requests[i] = (struct ofi_request){.next = e->spare_requests, .made = e->requests};
            e->spare_requests = e->requests = &requests[i];
        }
    }
    struct ofi_request *request = e->spare_requests;
    if (request) {
        e->spare_requests = request->next;
        request->memory = NULL;
    }
    return request;
}

void ofi_request_give(struct ofi_endpoint *e, struct ofi_request *request)
{
    if (request->registration)
        ofi_registrations_drop(&e->domain->registrations, request->registration);
    request->registration = NULL;
    if (request->memory)
        ofi_bounce_give(e, request->memory);
    request->next = e->spare_requests;
    e->spare_requests = request;
}

char *ofi_bounce_take(struct ofi_endpoint *e)
{
    if (!e->bounces) {
        char *memory = add_block(e, (size_t)OFI_SEGMENTS * OFI_SEGMENT_BYTES);
        for (int i = 0; memory && i < OFI_SEGMENTS; i++)
            ofi_bounce_give(e, memory + (size_t)i * OFI_SEGMENT_BYTES);
    }
    char *bounce = e->bounces;
    if (bounce)
        memcpy(&e->bounces, bounce, sizeof e->bounces);
    return bounce;
}

// The last one given is the next one taken: the cache may still hold it.
void ofi_bounce_give(struct ofi_endpoint *e, char *bounce)
{
    memcpy(bounce, &e->bounces, sizeof e->bounces);
    e->bounces = bounce;
}
