// SPDX-License-Identifier: MIT
// Packets: short messages that are sent as one, where calls that only send follow each other.
//
// - Over TCP a message of a few bytes costs the sender about 4 us, since the system sends and delivers each by itself.
//   So a rank that sends many of them, and waits for nothing, is limited by that. As part of a packet one costs a tenth.
// - No message may wait for longer than CLAB_HOLD. And none waits until calls that only send have followed each other
//   for that long. So no program takes more than twice as long, and a single call sends at once.
// - A packet leaves when it is full, when the rank waits for anything, when it sends another message to that peer, and
//   otherwise CLAB_HOLD after its first message: by the next call, or by the thread of core/comm/progress.h.
// - On the wire a packet is, for each message, a head of 8 bytes and the message, filled up to 8 bytes. The head, from
//   its lowest bit: bytes (16 bits), number (12), lane (5), and the call (the highest 16).
//
// Source: message aggregation as in Charm++ (Wesolowski et al. 2014, TRAM); to wait as long as what is saved costs:
// Karlin et al. 1988, Competitive Snoopy Caching.

#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "backends/ofi/wire.h"

enum { HEAD = sizeof(uint64_t), NUMBER_AT = 16, LANE_AT = 28, CALL_AT = 48 };

static const double follows = 2e-5; // s between two calls that follow each other: five times what a message costs

_Static_assert(OFI_JOINED_BYTES < 1 << NUMBER_AT, "a head has 16 bits for the bytes");
_Static_assert(LANE_AT + 5 <= CALL_AT, "and 5 for the lane");

static size_t place_of(size_t bytes)
{
    return HEAD + (bytes + HEAD - 1) / HEAD * HEAD;
}

// ---- when ----------------------------------------------------------------------------------------------------

static bool only_send(const struct clab_transfer transfers[], int n)
{
    for (int i = 0; i < n; i++)
        if (transfers[i].op != CLAB_SEND)
            return false;
    return true;
}

void ofi_packets_note(struct ofi_domain *domain, const struct clab_transfer transfers[], int n)
{
    domain->joins = false;
    if (!domain->base.may_hold)
        return;
    if (!only_send(transfers, n)) {
        domain->sent_last = 0;
        ofi_packets_flush(&domain->base);
        return;
    }
    const double now = clab_now();
    if (now - domain->sent_last > follows)
        domain->sending_since = now;
    domain->sent_last = now;
    domain->joins = now - domain->sending_since >= CLAB_HOLD;
    if (domain->held && now - domain->held_since >= CLAB_HOLD)
        ofi_packets_flush(&domain->base);
}

void ofi_packets_note_wait(struct ofi_domain *domain)
{
    ofi_packets_flush(&domain->base);
    if (domain->sent_last > 0)
        domain->sent_last = clab_now();
}

// ---- what is held --------------------------------------------------------------------------------------------

static bool are_sending(const struct ofi_endpoint *list)
{
    for (const struct ofi_endpoint *e = list; e; e = e->next)
        if (e->packets_sent > 0 && !e->err)
            return true;
    return false;
}

// What a failed endpoint holds stays where it is, and nobody need try again.
static void note_held(struct ofi_domain *domain)
{
    bool holds = are_sending(domain->endpoints) || are_sending(domain->closing);
    for (const struct ofi_packet *packet = domain->held; packet && !holds; packet = packet->next)
        holds = !packet->endpoint->err;
    clab_domain_set_holds(&domain->base, holds);
}

bool ofi_packets_wait(const struct ofi_endpoint *e)
{
    for (const struct ofi_packet *packet = e->domain->held; packet; packet = packet->next)
        if (packet->endpoint == e)
            return true;
    return false;
}

static void make_packets(struct ofi_endpoint *e)
{
    const size_t heads = OFI_PACKETS * sizeof *e->packets;
    char *memory = ofi_memory_take(e, heads + (size_t)OFI_PACKETS * OFI_PACKET_BYTES);
    e->lacks_packets = !memory;
    if (!memory) {
        clab_info("ofi: no memory for packets, or it can not be registered: each message is sent by itself");
        return;
    }
    e->packets = (struct ofi_packet *)(void *)memory;
    for (int i = 0; i < OFI_PACKETS; i++) {
        e->packets[i] = (struct ofi_packet){.endpoint = e, .next = e->spare_packets};
        e->packets[i].request.kind = OFI_PACKET_OUT;
        e->packets[i].request.memory = memory + heads + (size_t)i * OFI_PACKET_BYTES;
        e->spare_packets = &e->packets[i];
    }
}

// A packet for messages to `peer`; NULL: none is free, or there is no memory.
static struct ofi_packet *begin(struct ofi_endpoint *e, const struct clab_transfer *t)
{
    struct ofi_domain *domain = e->domain;
    if (!e->packets && !e->lacks_packets)
        make_packets(e);
    if (!e->spare_packets && e->packets_sent > 0)
        ofi_progress(e);
    struct ofi_packet *packet = e->spare_packets;
    if (!packet || e->err)
        return NULL;
    e->spare_packets = packet->next;
    if (!domain->held)
        domain->held_since = domain->sent_last;
    packet->next = domain->held;
    domain->held = packet;
    packet->peer = t->peer;
    packet->lane = t->lane;
    packet->messages = 0;
    packet->request.bytes = 0;
    e->peers[t->peer].held = packet;
    clab_domain_set_holds(&domain->base, true);
    return packet;
}

static void append(struct ofi_packet *packet, const struct clab_transfer *t)
{
    struct ofi_request *request = &packet->request;
    const uint64_t number = (uint64_t)t->turn % OFI_NUMBERS;
    const uint64_t head = t->bytes | number << NUMBER_AT | (uint64_t)t->lane << LANE_AT | (uint64_t)t->call << CALL_AT;
    memcpy(request->memory + request->bytes, &head, HEAD);
    if (t->bytes > 0) // else src may be NULL
        memcpy(request->memory + request->bytes + HEAD, t->src, t->bytes);
    request->bytes += place_of(t->bytes);
    packet->messages++;
}

bool ofi_packets_take(struct ofi_endpoint *e, const struct clab_transfer *t)
{
    struct ofi_packet *packet = e->peers[t->peer].held;
    if (packet && (packet->request.bytes + place_of(t->bytes) > OFI_PACKET_BYTES || packet->messages == OFI_JOINED)) {
        ofi_packets_push(e, t->peer);
        packet = e->peers[t->peer].held;
        if (packet)
            return false;
    }
    if (!packet && !(packet = begin(e, t)))
        return false;
    append(packet, t);
    return true;
}

// ---- sending -------------------------------------------------------------------------------------------------

static void remove_held(struct ofi_domain *domain, struct ofi_packet *packet)
{
    struct ofi_packet **link = &domain->held;
    while (*link != packet)
        link = &(*link)->next;
    *link = packet->next;
    packet->endpoint->peers[packet->peer].held = NULL;
}

static void push(struct ofi_packet *packet)
{
    struct ofi_endpoint *e = packet->endpoint;
    if (!ofi_wire_packet(e, packet->peer, packet->lane, &packet->request))
        return;
    remove_held(e->domain, packet);
    e->packets_sent++;
    if (e->domain->sent_last > 0)
        e->domain->sent_last = clab_now(); // to send is not to compute
}

void ofi_packets_push(struct ofi_endpoint *e, int peer)
{
    if (e->peers[peer].held && !e->err)
        push(e->peers[peer].held);
}

// A provider that had no room for a packet gets it by progress.
static void progress(struct ofi_endpoint *list)
{
    for (struct ofi_endpoint *e = list; e; e = e->next)
        if (!e->err && (e->packets_sent > 0 || ofi_packets_wait(e)))
            ofi_progress(e);
}

static void flush_all(struct ofi_domain *domain)
{
    for (struct ofi_packet *packet = domain->held, *next; packet; packet = next) {
        next = packet->next;
        if (!packet->endpoint->err)
            push(packet);
    }
    progress(domain->endpoints);
    progress(domain->closing);
    note_held(domain);
}

void ofi_packets_flush(struct clab_domain *base)
{
    if (clab_domain_holds(base))
        flush_all((struct ofi_domain *)base);
}

void ofi_packets_sent(struct ofi_endpoint *e, struct ofi_request *request)
{
    struct ofi_packet *packet = (struct ofi_packet *)request;
    if (request->registration)
        ofi_registrations_drop(&e->domain->registrations, request->registration);
    request->registration = NULL;
    packet->next = e->spare_packets;
    e->spare_packets = packet;
    e->packets_sent--;
    e->sending--;
}

void ofi_packets_forget(struct ofi_endpoint *e)
{
    for (int i = 0; i < OFI_PACKETS && e->packets; i++) {
        struct ofi_packet *packet = &e->packets[i];
        if (e->peers[packet->peer].held == packet)
            remove_held(e->domain, packet);
        if (packet->request.registration)
            ofi_registrations_drop(&e->domain->registrations, packet->request.registration);
    }
    note_held(e->domain);
}

// ---- arriving ------------------------------------------------------------------------------------------------

static int lane_of(uint64_t head)
{
    return (int)(head >> LANE_AT & 31);
}

static void take(struct ofi_endpoint *e, int peer, uint64_t head, const char *data)
{
    const size_t bytes = head & ((1 << NUMBER_AT) - 1);
    const uint32_t number = (uint32_t)(head >> NUMBER_AT) % OFI_NUMBERS;
    const int lane = lane_of(head);
    ofi_receive_eager(e, peer, lane, number, ofi_immediate((uint16_t)(head >> CALL_AT), bytes), data, bytes);
}

void ofi_packets_open(struct ofi_endpoint *e, int peer, const char *data, size_t bytes)
{
    while (bytes > 0 && !e->err) {
        uint64_t head = 0;
        if (bytes >= HEAD)
            memcpy(&head, data, HEAD);
        const size_t place = place_of(head & ((1 << NUMBER_AT) - 1));
        if (bytes < place || lane_of(head) >= CLAB_LANES) {
            ofi_distrust(e, peer, "has sent a packet that is shorter than its messages, or one of a lane that is none");
            return;
        }
        take(e, peer, head, data + HEAD);
        data += place;
        bytes -= place;
    }
}
