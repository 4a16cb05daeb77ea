// SPDX-License-Identifier: MIT
// commlab netmon: what this host's network interfaces carry, and what the ranks of a running job exchange, live.
//
// - A sample is the difference of two readings of the kernel's counters, divided by the time between them.
// - The kernel forgets what a connection carried once it is closed. So a job's are read LOOKS times per interval. When one
//   is closed, the sample ends early, with what was read last.
// - On a terminal it is a page; in a pipe, or with --csv, it is CSV: a line per sample, or per sample and pair.

#include "cmd/command.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/netmon/interfaces.h"
#include "cmd/netmon/ranks.h"
#include "cmd/netmon/screen.h"
#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/options.h"

enum { MOST_ROWS = 32, BAR = 24, LOOKS = 20 };
static const double shortest_look = 0.01; // s
static const double looking = 0.05;       // at most this part of the time is spent on reading

struct request {
    const char *interface, *job;
    double interval, seconds;
    int count;
    bool csv;
};

// Mbit/s of one direction, over a row's samples; sum: times their seconds.
struct rate {
    double now, sum, least, most;
};

struct row {
    char name[NETMON_INTERFACE];
    struct rate rx, tx;
    int samples; // since the interface is there
    double seconds;
};

// One reading of all counters.
struct reading {
    double at, wall; // s of clab_now, and since 1970
    struct netmon_interfaces interfaces;
    struct netmon_pair *pairs; // of a job; else none
    int npairs;
    int nsockets;
    uint64_t backlog, retransmits;
};

struct monitor {
    const struct request *request;
    struct netmon_ranks ranks;
    struct row rows[MOST_ROWS];
    int nrows, samples;
};

// ---- reading -------------------------------------------------------------------------------------------------

static int read_sockets(const struct monitor *m, struct reading *r)
{
    struct netmon_socket *sockets;
    CLAB_TRY(netmon_sockets_read(&sockets, &r->nsockets));
    for (int i = 0; i < r->nsockets; i++)
        r->backlog += sockets[i].backlog;
    const int err =
        m->request->job ? netmon_pairs_sum(&m->ranks, sockets, r->nsockets, &r->pairs, &r->npairs) : CLAB_OK;
    free(sockets);
    return err;
}

static void reading_free(struct reading *r)
{
    netmon_interfaces_free(&r->interfaces);
    free(r->pairs);
    *r = (struct reading){0};
}

static int read_all(const struct monitor *m, struct reading *r)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    *r = (struct reading){.at = clab_now(),
                          .wall = (double)wall.tv_sec + 1e-9 * (double)wall.tv_nsec,
                          .retransmits = netmon_retransmits()};
    int err = netmon_interfaces_read(&r->interfaces);
    if (!err)
        err = read_sockets(m, r);
    if (err)
        reading_free(r);
    return err;
}

// Mbit/s of a counter of bytes. One that has become smaller began anew: a connection was closed.
static double mbits(uint64_t before, uint64_t now, double seconds)
{
    return now > before ? (double)(now - before) * 8e-6 / seconds : 0;
}

static double per_second(uint64_t before, uint64_t now, double seconds)
{
    return now > before ? (double)(now - before) / seconds : 0;
}

// ---- interfaces ----------------------------------------------------------------------------------------------

static void note(struct rate *rate, double value, double seconds, bool is_first)
{
    rate->now = value;
    rate->sum += value * seconds;
    rate->least = is_first ? value : fmin(rate->least, value);
    rate->most = is_first ? value : fmax(rate->most, value);
}

static struct row *row_of(struct monitor *m, const char *name)
{
    for (int i = 0; i < m->nrows; i++)
        if (!strcmp(m->rows[i].name, name))
            return &m->rows[i];
    if (m->nrows == MOST_ROWS)
        return NULL;
    struct row *row = &m->rows[m->nrows++];
    *row = (struct row){0};
    memcpy(row->name, name, sizeof row->name);
    return row;
}

static void note_all(struct monitor *m, const struct reading *before, const struct reading *now)
{
    const double seconds = now->at - before->at;
    for (int i = 0; i < now->interfaces.n; i++) {
        const struct netmon_interface *one = &now->interfaces.list[i];
        const struct netmon_interface *old = netmon_interface_find(&before->interfaces, one->name);
        const bool is_shown = netmon_interface_is_shown(&now->interfaces, m->request->interface, one->name);
        struct row *row = old && is_shown ? row_of(m, one->name) : NULL;
        if (!row)
            continue;
        note(&row->rx, mbits(old->rx_bytes, one->rx_bytes, seconds), seconds, row->samples == 0);
        note(&row->tx, mbits(old->tx_bytes, one->tx_bytes, seconds), seconds, row->samples == 0);
        row->samples++;
        row->seconds += seconds;
    }
    m->samples++;
}

// ---- pairs ---------------------------------------------------------------------------------------------------

static const char *peer_text(const struct netmon_pair *pair, char text[64])
{
    char address[INET6_ADDRSTRLEN] = "?";
    inet_ntop(pair->remote.family, pair->remote.address, address, sizeof address);
    if (pair->peer >= 0)
        snprintf(text, 64, "%d", pair->peer);
    else
        snprintf(text, 64, "%s", address);
    return text;
}

// What the pair had exchanged before; nothing if it was not there.
static struct netmon_pair before_of(const struct reading *before, const struct netmon_pair *pair)
{
    for (int i = 0; i < before->npairs; i++) {
        const struct netmon_pair *old = &before->pairs[i];
        if (old->rank == pair->rank && old->peer == pair->peer &&
            (pair->peer >= 0 || !memcmp(old->remote.address, pair->remote.address, sizeof old->remote.address)))
            return *old;
    }
    return (struct netmon_pair){0};
}

// ---- CSV -----------------------------------------------------------------------------------------------------

static void print_time(const struct request *request, const struct reading *now)
{
    if (request->interval == floor(request->interval) && !request->job)
        printf("%.0f", floor(now->wall));
    else
        printf("%.3f", now->wall);
}

static void print_csv_names(const struct request *request)
{
    puts(request->job
             ? "Timestamp,Rank,Peer,TX_Mbps,RX_Mbps,TX_Bytes,RX_Bytes,Backlog_Bytes,Retransmits,RTT_us,Limited_pct"
             : "Timestamp,RX_Mbps,TX_Mbps,RX_Packets,TX_Packets");
    fflush(stdout);
}

static double limited_percent(const struct netmon_pair *pair)
{
    return pair->busy > 0 ? 100 * fmin(1, pair->limited / pair->busy) : 0;
}

static void print_csv_pairs(const struct request *request, const struct reading *before, const struct reading *now)
{
    char peer[64];
    const double seconds = now->at - before->at;
    for (int i = 0; i < now->npairs; i++) {
        const struct netmon_pair *p = &now->pairs[i], old = before_of(before, p);
        print_time(request, now);
        printf(",%d,%s,%.3f,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.0f,%.1f\n", p->rank,
               peer_text(p, peer), mbits(old.sent, p->sent, seconds), mbits(old.received, p->received, seconds),
               p->sent, p->received, p->backlog, p->retransmits, 1e6 * p->rtt, limited_percent(p));
    }
}

static void print_csv(const struct request *request, const struct reading *before, const struct reading *now)
{
    const struct netmon_interface grown =
        netmon_interfaces_growth(&before->interfaces, &now->interfaces, request->interface);
    const double seconds = now->at - before->at;
    if (request->job) {
        print_csv_pairs(request, before, now);
    } else {
        print_time(request, now);
        printf(",%.3f,%.3f,%.0f,%.0f\n", mbits(0, grown.rx_bytes, seconds), mbits(0, grown.tx_bytes, seconds),
               per_second(0, grown.rx_packets, seconds), per_second(0, grown.tx_packets, seconds));
    }
    fflush(stdout);
}

// ---- the page ------------------------------------------------------------------------------------------------

static void print_rate(const char *name, const char *direction, const struct rate *rate, double most, double seconds)
{
    char bar[BAR + 1];
    screen_bar(rate->now, most, BAR, bar);
    screen_line("%-15s %-2s %s %10.2f %10.2f %10.2f %10.2f", name, direction, bar, rate->now, rate->sum / seconds,
                rate->least, rate->most);
}

static void print_interfaces(const struct monitor *m)
{
    double most = 0;
    for (int i = 0; i < m->nrows; i++)
        most = fmax(most, fmax(m->rows[i].rx.most, m->rows[i].tx.most));
    screen_line("%-18s %-*s %10s %10s %10s %10s   Mbit/s", "interface", BAR, "now, of the most seen", "now", "average",
                "min", "max");
    for (int i = 0; i < m->nrows; i++) {
        print_rate(m->rows[i].name, "RX", &m->rows[i].rx, most, m->rows[i].seconds);
        print_rate("", "TX", &m->rows[i].tx, most, m->rows[i].seconds);
    }
}

static void print_pairs(const struct reading *before, const struct reading *now)
{
    char peer[64];
    const double seconds = now->at - before->at;
    screen_line(" ");
    screen_line("%4s %15s %10s %10s %10s %10s %9s %7s %9s %8s", "rank", "peer", "TX Mbit/s", "RX Mbit/s", "TX MB",
                "RX MB", "backlog B", "resent", "rtt us", "limited");
    for (int i = 0; i < now->npairs; i++) {
        const struct netmon_pair *p = &now->pairs[i], old = before_of(before, p);
        screen_line("%4d %15s %10.2f %10.2f %10.2f %10.2f %9" PRIu64 " %7" PRIu64 " %9.0f %7.0f%%", p->rank,
                    peer_text(p, peer), mbits(old.sent, p->sent, seconds), mbits(old.received, p->received, seconds),
                    1e-6 * (double)p->sent, 1e-6 * (double)p->received, p->backlog, p->retransmits, 1e6 * p->rtt,
                    limited_percent(p));
    }
    if (now->npairs == 0)
        screen_line("no TCP connection between ranks: this job's backend uses none, or has not connected yet");
}

static void print_page(const struct monitor *m, const struct reading *before, const struct reading *now)
{
    const double seconds = now->at - before->at;
    screen_top();
    screen_line("commlab netmon: sample %d, each of %g s; q ends it", m->samples, m->request->interval);
    screen_line(" ");
    print_interfaces(m);
    if (m->request->job)
        print_pairs(before, now);
    screen_line(" ");
    screen_line(
        "TCP: %d sockets with a connection, %" PRIu64 " B backlog, %" PRIu64 " segments resent in all, %.0f per s",
        now->nsockets, now->backlog, now->retransmits, per_second(before->retransmits, now->retransmits, seconds));
    screen_bottom();
}

// ---- all of it -----------------------------------------------------------------------------------------------

// What the samples were together: for CSV, whose reader may not add them up.
static void print_summary(const struct monitor *m, const struct reading *last)
{
    for (int i = 0; i < m->nrows; i++) {
        const struct row *row = &m->rows[i];
        fprintf(
            stderr,
            "# %s: RX %.3f Mbit/s on average, %.3f to %.3f; TX %.3f on average, %.3f to %.3f; %d sample%s of %g s\n",
            row->name, row->rx.sum / row->seconds, row->rx.least, row->rx.most, row->tx.sum / row->seconds,
            row->tx.least, row->tx.most, row->samples, row->samples == 1 ? "" : "s", m->request->interval);
    }
    fprintf(stderr, "# TCP: %d sockets with a connection, %" PRIu64 " B backlog, %" PRIu64 " segments resent in all\n",
            last->nsockets, last->backlog, last->retransmits);
}

static bool is_done(const struct monitor *m, double began)
{
    const struct request *r = m->request;
    if (r->job && netmon_ranks_alive(&m->ranks) == 0)
        return true;
    return (r->count && m->samples >= r->count) || (r->seconds > 0 && clab_now() - began >= r->seconds);
}

// Whether a connection of `before` is no longer there.
static bool is_closed(const struct reading *before, const struct reading *now)
{
    for (int i = 0; i < before->npairs; i++) {
        const struct netmon_pair *old = &before->pairs[i], same = before_of(now, old);
        if (same.sockets < old->sockets || same.sent < old->sent || same.received < old->received)
            return true;
    }
    return false;
}

// What a sample ends with, and the next one begins with: two readings where connections were closed in between, else one.
struct step {
    struct reading now, next;
    bool is_cut, is_over;
};

// Read until a sample ends, at `due` or earlier.
static int take_step(const struct monitor *m, double due, struct step *step_p)
{
    const double usual = m->request->job ? fmax(m->request->interval / LOOKS, shortest_look) : INFINITY;
    struct step step = {0};
    bool has_looked = false;
    for (double pause = usual;;) {
        struct reading r;
        const double from = clab_now();
        const bool is_last = from + pause >= due;
        step.is_over = !screen_wait(is_last ? due : from + pause);
        const double begin = clab_now();
        const int err = step.is_over ? CLAB_OK : read_all(m, &r);
        if (err || step.is_over) {
            reading_free(&step.now);
            *step_p = step;
            return err;
        }
        pause = fmax(usual, (clab_now() - begin) / looking);
        step.is_cut = has_looked && is_closed(&step.now, &r);
        if (step.is_cut) {
            step.next = r;
        } else {
            reading_free(&step.now);
            step.now = r;
        }
        has_looked = true;
        if (step.is_cut || is_last) {
            *step_p = step;
            return CLAB_OK;
        }
    }
}

// The next multiple of the interval that leaves a sample half of one: those that were missed are not caught up, in
// samples of next to no time, whose rates say nothing.
static double due_after(double due, double interval, double now)
{
    return due + interval * fmax(1, ceil((now - due) / interval + 0.5));
}

// The samples, one per interval, each at a multiple of it: what reading takes does not add up.
static int watch(struct monitor *m)
{
    const struct request *request = m->request;
    const double began = clab_now();
    struct reading before;
    struct step step;
    double due = began + request->interval;
    CLAB_TRY(read_all(m, &before));
    int err = CLAB_OK;
    while (!(err = take_step(m, due, &step)) && !step.is_over) {
        note_all(m, &before, &step.now);
        if (request->csv)
            print_csv(request, &before, &step.now);
        else
            print_page(m, &before, &step.now);
        reading_free(&before);
        if (step.is_cut)
            reading_free(&step.now);
        else
            due = due_after(due, request->interval, step.now.at);
        before = step.is_cut ? step.next : step.now;
        if (is_done(m, began) || ferror(stdout))
            break;
    }
    if (!err && request->csv)
        print_summary(m, &before);
    reading_free(&before);
    return err;
}

static int check_interface(const struct request *request)
{
    struct netmon_interfaces all;
    if (!request->interface)
        return CLAB_OK;
    CLAB_TRY(netmon_interfaces_read(&all));
    struct clab_nearest nearest = clab_nearest_to(request->interface, strlen(request->interface));
    const bool is_there = netmon_interface_find(&all, request->interface) != NULL;
    for (int i = 0; i < all.n; i++)
        clab_nearest_offer(&nearest, all.list[i].name);
    if (!is_there)
        clab_error("--interface '%s': this host has none of that name%s; `ip -br link` lists them", request->interface,
                   clab_nearest_hint(&nearest));
    netmon_interfaces_free(&all);
    return is_there ? CLAB_OK : CLAB_ENOENT;
}

static const struct clab_option options[] = {
    {"interface", 'i', "NAME", "one interface (all but the loopback)", CLAB_TEXT_AT(struct request, interface)},
    {"job", 'j', "PID|NAME", "what the ranks of this job exchange, too: its process, or its program's name",
     CLAB_TEXT_AT(struct request, job)},
    {"interval", 't', "TIME", "between two samples (1s)", CLAB_SECONDS(struct request, interval, 0.01, 3600)},
    {"count", 'n', "N", "end after so many samples", CLAB_INT(struct request, count, 1, 1000000000)},
    {"seconds", 's', "TIME", "end after this time", CLAB_SECONDS(struct request, seconds, 0.01, 1e9)},
    {"csv", 0, NULL, "CSV, also on a terminal", CLAB_ON(struct request, csv)},
    {0},
};

static const char doc[] =
    "Show what this host's network interfaces carry, and what the ranks of a running job exchange.\v"
    "On a terminal it is a page with bars; q or Ctrl-C ends it. In a pipe it is CSV, whose packets are per second; a "
    "summary with average, min and max follows on standard error.\n\n"
    "--job adds each pair of ranks that talk by TCP (backends ofi and gloo): bytes that the peer has acknowledged, the "
    "backlog (sent by the program, not acknowledged), segments sent again, the round trip, and how much of its busy time "
    "the connection was limited by the size of a socket buffer. When connections are closed, a sample ends early. Only your own processes can be looked at. It ends when "
    "the job has ended.";

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct request request = {.interval = 1};
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    struct monitor m = {.request = &request};
    request.csv |= !isatty(STDOUT_FILENO);
    int err = check_interface(&request);
    if (!err && request.job)
        err = netmon_ranks_find(request.job, &m.ranks);
    if (err)
        return command_status(err);
    screen_begin(!request.csv);
    if (request.csv)
        print_csv_names(&request);
    err = watch(&m);
    screen_end();
    netmon_ranks_free(&m.ranks);
    return err ? command_status(err) : EXIT_SUCCESS;
}

const struct clab_command cmd_netmon = {"netmon", "what network interfaces and the ranks of a job carry, live", run};
