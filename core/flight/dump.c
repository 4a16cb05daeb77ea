// SPDX-License-Identifier: MIT
// The report after a failure. The first rank that claims the report writes it. A failure of another communicator soon
// afterwards has the same cause, and is not reported.

#include "core/flight/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/machine/process.h"
#include "core/base/variables.h"
#include "core/flight/find.h"

enum { LINE_BYTES = 512, SHOWN = 64 }; // ranks
static const double moment = 0.15;     // s in which other ranks may fail, too: less than a launcher grants survivors
static const double same_cause = 1;    // s

static const char *wish(void)
{
    const char *file = clab_variable_text(CLAB_VARIABLE_FLIGHT);
    return file ? file : "";
}

// ---- one report per failure ----------------------------------------------------------------------------------

// A communicator and a time in ms, folded.
static uint64_t claim_of(uint64_t comm, double now)
{
    return comm << 32 | (uint32_t)(now * 1e3);
}

static bool is_reported(uint64_t old, uint64_t claim)
{
    const uint32_t ms = (uint32_t)claim - (uint32_t)old;
    return old && (old >> 32 == claim >> 32 || ms < (uint32_t)(same_cause * 1e3));
}

static bool claim(struct clab_flight *first, uint64_t comm)
{
    uint64_t old = atomic_load(&first->claimed);
    const uint64_t mine = claim_of(comm, clab_now());
    return !is_reported(old, mine) && atomic_compare_exchange_strong(&first->claimed, &old, mine);
}

// ---- what there is to report ---------------------------------------------------------------------------------

static bool is_stopped(int pid)
{
    struct clab_process p;
    return clab_process_read(pid, &p) && p.state == 'T';
}

static bool is_member(int rank, const int *members, int n)
{
    int i = 0;
    while (i < n && members[i] != rank)
        i++;
    return i < n || !members;
}

// Where the host's rank `i` is. A rank that ended after its operation had failed counts as present: the failure is why.
static struct clab_flight_place find(const struct clab_flight_host *host, int i, uint64_t comm)
{
    struct clab_flight *flight = clab_flight_at(host->flights, i);
    const int pid = atomic_load(&flight->pid);
    const enum clab_presence presence = host->presence(host->of, host->ranks[i]);
    struct clab_flight_place place = clab_flight_find(flight, comm);
    const bool has_failed = place.has_called && place.last.state == CLAB_FLIGHT_FAILED;
    place.rank = host->ranks[i];
    place.presence = has_failed ? CLAB_PRESENT : presence;
    place.is_stopped = presence == CLAB_PRESENT && pid && is_stopped(pid);
    return place;
}

// Find where this host's members are. Returns how many there are.
//   places: room for (host->n)
static int look(const struct clab_flight_host *host, uint64_t comm, const int *members, int nmembers,
                struct clab_flight_place places[])
{
    int n = 0;
    for (int i = 0; i < host->n; i++)
        if (is_member(host->ranks[i], members, nmembers))
            places[n++] = find(host, i, comm);
    return n;
}

// Whether no member's operation on this communicator can still fail: it has failed or ended, or its rank has stopped.
static bool is_settled(const struct clab_flight_place *places, int n, uint64_t comm)
{
    for (int i = 0; i < n; i++) {
        const struct clab_flight_place *p = &places[i];
        if (p->presence >= CLAB_LEAVING || p->is_stopped)
            continue;
        if ((p->has_called && p->last.state < CLAB_FLIGHT_DONE) ||
            (p->is_elsewhere && p->other.comm == comm && p->other.state < CLAB_FLIGHT_DONE))
            return false;
    }
    return true;
}

// ---- writing -------------------------------------------------------------------------------------------------

static void write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(fd, text, bytes);
        if (written < 0 && errno != EINTR)
            return; // no way is left to report that
        text += written > 0 ? written : 0;
        bytes -= written > 0 ? (size_t)written : 0;
    }
}

// The first of the host's members, and one that has called something else.
static bool find_disagreement(const struct clab_flight_host *host, uint64_t comm, char *text, size_t room)
{
    char names[2][CLAB_FLIGHT_TEXT];
    struct clab_flight_op a, b;
    for (int i = 1; i < host->n; i++) {
        if (!clab_flight_differ(clab_flight_at(host->flights, 0), clab_flight_at(host->flights, i), comm, &a, &b))
            continue;
        snprintf(text, room, "ranks disagree on number %u: rank %d calls %s, rank %d calls %s", (unsigned)a.sequence,
                 host->ranks[0], clab_flight_text(&a, names[0]), host->ranks[i], clab_flight_text(&b, names[1]));
        return true;
    }
    return false;
}

static void write_report(const struct clab_flight_host *host, uint64_t comm, const struct clab_flight_place *places,
                         int n)
{
    char line[LINE_BYTES], *text = NULL;
    size_t bytes = 0;
    const double now = clab_now();
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    if (!find_disagreement(host, comm, line, sizeof line))
        clab_flight_diagnosis(places, n, now, line, sizeof line);
    fprintf(out, "commlab: flight: %s\n", line);
    for (int i = 0; i < n && i < SHOWN; i++) {
        clab_flight_where(&places[i], now, line, sizeof line);
        fprintf(out, "commlab: flight:   rank %d: %s\n", places[i].rank, line);
    }
    if (n > SHOWN)
        fprintf(out, "commlab: flight:   and %d more ranks\n", n - SHOWN);
    if (fclose(out) == 0)
        write_all(STDERR_FILENO, text, bytes); // at once, so that lines of ranks do not mix
    free(text);
}

static void write_op(FILE *out, int rank, const struct clab_flight_op *op, double now)
{
    static const char *const states[] = {"begun", "waits", "done", "failed"};
    char text[CLAB_FLIGHT_TEXT];
    fprintf(out, "rank %d: %.3f s ago, %s: number %u of communicator %04x: %s", rank, now - op->begun,
            states[op->state & 3], (unsigned)op->sequence, (unsigned)(op->comm & 0xFFFF), clab_flight_text(op, text));
    if (op->state == CLAB_FLIGHT_WAITS || op->state == CLAB_FLIGHT_FAILED)
        fprintf(out, ", stage %d, for rank %d since %.3f s", op->stage, op->waits_for, now - op->since);
    fprintf(out, "\n");
}

static void write_history(const struct clab_flight_host *host, FILE *out)
{
    const double now = clab_now();
    struct clab_flight_op op;
    for (int i = 0; i < host->n; i++) {
        struct clab_flight *flight = clab_flight_at(host->flights, i);
        const uint64_t last = clab_flight_last(flight);
        for (uint64_t serial = clab_flight_first(last); serial <= last; serial++)
            if (clab_flight_read(flight, serial, &op))
                write_op(out, host->ranks[i], &op, now);
    }
}

// Of hosts that share a folder each appends at once what it has.
static void append_history(const struct clab_flight_host *host, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    FILE *out = fd < 0 ? NULL : open_memstream(&text, &bytes);
    if (fd < 0)
        clab_error("CLAB_FLIGHT: '%s' can not be written: %m", path);
    if (out) {
        write_history(host, out);
        if (fclose(out) == 0)
            write_all(fd, text, bytes);
    }
    free(text);
    if (fd >= 0)
        close(fd);
}

static void report(const struct clab_flight_host *host, uint64_t comm, const struct clab_flight_place *places, int n)
{
    struct clab_flight *first = clab_flight_at(host->flights, 0);
    write_report(host, comm, places, n);
    atomic_store(&first->reported, atomic_load(&first->claimed));
    if (*wish())
        append_history(host, wish());
}

void clab_flight_report(const struct clab_flight_host *host, uint64_t comm, const int *members, int nmembers)
{
    struct clab_flight_place *places = calloc((size_t)host->n, sizeof *places);
    if (!places || !strcmp(wish(), "0") || !claim(clab_flight_at(host->flights, 0), comm)) {
        free(places);
        return;
    }
    const double start = clab_now();
    int n = look(host, comm, members, nmembers, places);
    while (!is_settled(places, n, comm) && clab_now() - start < moment) {
        usleep(2000);
        n = look(host, comm, members, nmembers, places);
    }
    report(host, comm, places, n);
    free(places);
}

// ---- when no rank could report -------------------------------------------------------------------------------

// The communicator of the latest operation that its rank has begun and not ended; 0: there is none.
static uint64_t find_open(const struct clab_flight_host *host)
{
    uint64_t comm = 0;
    double latest = 0;
    for (int i = 0; i < host->n; i++) {
        struct clab_flight *flight = clab_flight_at(host->flights, i);
        const uint64_t last = clab_flight_last(flight);
        struct clab_flight_op op;
        for (uint64_t serial = clab_flight_first(last); serial <= last; serial++)
            if (clab_flight_read(flight, serial, &op) && op.state < CLAB_FLIGHT_DONE && op.begun >= latest) {
                latest = op.begun;
                comm = op.comm;
            }
    }
    return comm;
}

static void report_last(const struct clab_flight_host *host)
{
    struct clab_flight *first = clab_flight_at(host->flights, 0);
    struct clab_flight_place *places = calloc((size_t)host->n, sizeof *places);
    const uint64_t comm = find_open(host), claimed = atomic_load(&first->claimed);
    const bool is_written = claimed && atomic_load(&first->reported) == claimed;
    if (places && comm && !is_written && strcmp(wish(), "0") != 0)
        report(host, comm, places, look(host, comm, NULL, 0, places));
    free(places);
}

static bool has_failed(char *flights, int i)
{
    return clab_flight_has_failed(clab_flight_at(flights, i));
}

static bool has_waited(char *flights, int i, double shortest)
{
    return clab_flight_has_waited(clab_flight_at(flights, i), shortest);
}

const struct clab_flight_reader clab_flight_reader = {has_failed, has_waited, report_last};
