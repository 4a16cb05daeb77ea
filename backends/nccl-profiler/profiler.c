// SPDX-License-Identifier: MIT
// A profiler that NCCL loads, libnccl-profiler-commlab.so: it writes NCCL's calls with their times to a file, which
// `commlab trace` shows beside a simulated run.
//
//   NCCL_PROFILER_PLUGIN=$PWD/build/backends/libnccl-profiler-commlab.so CLAB_NCCL_TRACE=t.json   writes t-0.json, …
//
// - With CLAB_NCCL_LAST=1, which the backend nccl sets, it also keeps what the last call did (last.h).
// - One file per process, named by its rank in its first communicator. It is written when the last communicator is
//   destroyed, or else when the process exits. Without both no event is requested, and nothing costs time.
// - The last 16,384 calls are kept, in 10 MB; the file says how many were overwritten.
// - All communicators of a process share one log and one file; NCCL calls from several threads. The library stays
//   loaded (-z nodelete), so that it outlives them.
// - It links nothing of NCCL or CUDA; only the two tables at the end are exported.

#include "backends/nccl-profiler/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backends/nccl-profiler/event_log.h"
#include "backends/nccl-profiler/last.h"
#include "core/base/variables.h"

#define NAME "commlab"
enum { CALLS = NCCL_EVENT_COLLECTIVE | NCCL_EVENT_MESSAGE, EVENTS = CALLS | NCCL_EVENT_CHANNEL, PATH = 4096 };

struct context {
    nccl_logger log; // or NULL
    bool is_traced;  // else only the last call is kept
    uint64_t communicator;
    int rank, ranks, process;
};

static struct event_log events = {.lock = PTHREAD_MUTEX_INITIALIZER, .is_written = true};

// ---- handles -------------------------------------------------------------------------------------------------
// A number as a pointer that is never NULL: calls are even, channel events odd.

static void *handle_of(int64_t number, bool is_channel_event)
{
    return (void *)(uintptr_t)(2 * (uint64_t)number + 2 + is_channel_event);
}

static bool is_channel_event(const void *handle)
{
    return (uintptr_t)handle & 1;
}

static int64_t number_of(const void *handle)
{
    return (int64_t)((uintptr_t)handle / 2) - 1;
}

// ---- the file ------------------------------------------------------------------------------------------------

// "t.json" of rank 3 is "t-3.json".
static void name_file(const char *told, int rank, char path[PATH])
{
    const char *slash = strrchr(told, '/'), *dot = strrchr(told, '.');
    const int length = (int)(dot && dot != told && (!slash || dot > slash + 1) ? (size_t)(dot - told) : strlen(told));
    snprintf(path, PATH, "%.*s-%d%s", length, told, rank, told + length);
}

// The log is locked.
static bool write_file(char path[PATH])
{
    const char *told = clab_variable_text(CLAB_VARIABLE_NCCL_TRACE);
    if (events.is_written || !told || !*told)
        return false;
    name_file(told, events.first_rank, path);
    events.is_written = true; // whether it succeeds or not: it is tried once
    return event_log_write(&events, path) == 0;
}

// A child of fork has a copy of the log, but must not write the file. Nor may it wait for the lock: a thread that the
// child does not have may have held it at the fork.
static __attribute__((destructor)) void at_exit(void)
{
    char path[PATH];
    if (events.pid != getpid())
        return;
    pthread_mutex_lock(&events.lock);
    write_file(path);
    pthread_mutex_unlock(&events.lock);
}

// ---- communicators -------------------------------------------------------------------------------------------

static bool open_log(void)
{
    if (!events.calls)
        events.calls = calloc(EVENT_LOG_CALLS, sizeof *events.calls);
    if (!events.channel_events)
        events.channel_events = calloc(EVENT_LOG_CHANNELS, sizeof *events.channel_events);
    return events.calls && events.channel_events;
}

// The process of the trace: the rank in the first communicator; in later communicators still that rank.
static int process_of(const struct context *c)
{
    return c->communicator == events.first_communicator ? c->rank : events.first_rank;
}

static void join(struct context *c)
{
    if (events.open == 0)
        events.first_communicator = c->communicator;
    if (events.open == 0 && events.ncalls == 0) {
        events.first_rank = c->rank;
        events.pid = getpid();
    }
    c->process = process_of(c);
    events.open++;
}

static void begin_trace(struct context *c)
{
    pthread_mutex_lock(&events.lock);
    c->is_traced = open_log();
    if (c->is_traced)
        join(c);
    pthread_mutex_unlock(&events.lock);
}

static void say(nccl_logger log, const struct context *c, const char *told)
{
    const bool is_traced = c && c->is_traced;
    if (log)
        log(NCCL_LOG_INFO, NCCL_SUBSYS_INIT, __FILE__, __LINE__, NAME ": %s%s",
            is_traced ? "what NCCL does is kept for "
            : c       ? "what the last call did is kept for the backend nccl"
                      : "nothing is kept: set CLAB_NCCL_TRACE to a file's name",
            is_traced ? told : "");
}

static int init(void **context_p, int *events_p, uint64_t communicator, int ranks, int rank, nccl_logger log)
{
    const char *told = clab_variable_given(CLAB_VARIABLE_NCCL_TRACE);
    bool keeps_last = false;
    if (!context_p || !events_p)
        return NCCL_OK;
    clab_variable_switch(CLAB_VARIABLE_NCCL_LAST, &keeps_last);
    struct context *c = told || keeps_last ? calloc(1, sizeof *c) : NULL;
    if (c)
        *c = (struct context){.log = log, .communicator = communicator, .rank = rank, .ranks = ranks};
    if (c && told)
        begin_trace(c);
    if (c && !c->is_traced && !keeps_last) {
        free(c);
        c = NULL;
    }
    *context_p = c;
    *events_p = !c ? 0 : c->is_traced ? EVENTS : CALLS;
    say(log, c, told);
    return NCCL_OK;
}

static int init_v5(void **context_p, uint64_t communicator, int *events_p, const char *name, int nodes, int ranks,
                   int rank, nccl_logger log)
{
    (void)name, (void)nodes;
    return init(context_p, events_p, communicator, ranks, rank, log);
}

static int init_v4(void **context_p, int *events_p, const char *name, uint64_t communicator, int nodes, int ranks,
                   int rank, nccl_logger log)
{
    (void)name, (void)nodes;
    return init(context_p, events_p, communicator, ranks, rank, log);
}

static int finish(void *context)
{
    struct context *c = context;
    char path[PATH];
    if (!c || !c->is_traced) {
        free(c);
        return NCCL_OK;
    }
    pthread_mutex_lock(&events.lock);
    const bool is_last = --events.open == 0, is_new = is_last && write_file(path);
    const long long ncalls = events.ncalls;
    pthread_mutex_unlock(&events.lock);
    if (is_new && c->log)
        c->log(NCCL_LOG_INFO, NCCL_SUBSYS_INIT, __FILE__, __LINE__, NAME ": %lld calls in %s", ncalls, path);
    free(c);
    return NCCL_OK;
}

// ---- events --------------------------------------------------------------------------------------------------

// Plain text only: it is written to JSON as it is.
static void copy_text(char *out, size_t room, const char *text)
{
    size_t n = 0;
    for (; text && text[n] && n + 1 < room; n++)
        out[n] = text[n] < ' ' || text[n] > '~' || text[n] == '"' || text[n] == '\\' ? '?' : text[n];
    out[n] = '\0';
}

static struct logged_call *add_call(const struct context *c, const char *name, const char *type)
{
    struct logged_call *call = &events.calls[events.ncalls++ % EVENT_LOG_CALLS];
    const int64_t now = event_log_now();
    *call = (struct logged_call){.begin = now,
                                 .end = now,
                                 .communicator = c->communicator,
                                 .peer = EVENT_LOG_NONE,
                                 .root = EVENT_LOG_NONE,
                                 .rank = c->rank,
                                 .ranks = c->ranks,
                                 .process = c->process};
    copy_text(call->name, sizeof call->name, name);
    copy_text(call->type, sizeof call->type, type);
    events.is_written = false;
    return call;
}

static void *start_collective(const struct context *c, const struct nccl_collective *e)
{
    struct logged_call *call = add_call(c, e->name, e->type);
    copy_text(call->algorithm, sizeof call->algorithm, e->algorithm);
    copy_text(call->protocol, sizeof call->protocol, e->protocol);
    call->count = e->count;
    call->sequence = e->sequence;
    call->root = e->root;
    call->channels = e->channels;
    return handle_of(events.ncalls - 1, false);
}

static void *start_message(const struct context *c, const struct nccl_message *e)
{
    struct logged_call *call = add_call(c, e->name, e->type);
    call->count = e->count;
    call->peer = e->peer;
    call->channels = e->channels;
    return handle_of(events.ncalls - 1, false);
}

static void *start_channel(const struct context *c, const struct nccl_channel *e, const void *parent)
{
    const int64_t begin = (int64_t)e->nanoseconds, behind = event_log_now() - begin;
    int64_t *clock = event_log_clock(&events, c->process);
    if (!clock || begin <= 0)
        return NULL;
    *clock = behind < *clock ? behind : *clock;
    events.channel_events[events.nchannel_events++ % EVENT_LOG_CHANNELS] =
        (struct channel_event){.begin = begin,
                               .call = parent && !is_channel_event(parent) ? number_of(parent) : EVENT_LOG_NONE,
                               .process = c->process,
                               .channel = e->channel};
    return handle_of(events.nchannel_events - 1, true);
}

static void *start_event(const struct context *c, uint64_t type, const struct nccl_event *event)
{
    switch (type) {
    case NCCL_EVENT_COLLECTIVE: return start_collective(c, &event->collective);
    case NCCL_EVENT_MESSAGE: return start_message(c, &event->message);
    case NCCL_EVENT_CHANNEL: return start_channel(c, &event->channel, event->parent);
    default: return NULL;
    }
}

static int start(const struct context *c, void **handle_p, uint64_t type, const struct nccl_event *event)
{
    if (type == NCCL_EVENT_COLLECTIVE)
        last_is_collective(&event->collective);
    if (type == NCCL_EVENT_MESSAGE)
        last_is_message(&event->message);
    if (!c->is_traced)
        return NCCL_OK; // no handle: it does not come back
    pthread_mutex_lock(&events.lock);
    *handle_p = start_event(c, type, event);
    pthread_mutex_unlock(&events.lock);
    return NCCL_OK;
}

static int start_v5(void *context, void **handle_p, const struct nccl_event *event)
{
    if (handle_p)
        *handle_p = NULL;
    return context && handle_p && event ? start(context, handle_p, event->type, event) : NCCL_OK;
}

static int start_v4(void *context, void **handle_p, const struct nccl_event *event)
{
    if (handle_p)
        *handle_p = NULL;
    return context && handle_p && event ? start(context, handle_p, event->type_v4, event) : NCCL_OK;
}

static int stop(void *handle)
{
    if (!handle || is_channel_event(handle))
        return NCCL_OK;
    pthread_mutex_lock(&events.lock);
    struct logged_call *call = event_log_call(&events, number_of(handle));
    if (call)
        call->end = event_log_now();
    pthread_mutex_unlock(&events.lock);
    return NCCL_OK;
}

static int record(void *handle, int state, const union nccl_state *arguments)
{
    if (!handle || !is_channel_event(handle) || state != NCCL_STATE_CHANNEL_STOPS || !arguments)
        return NCCL_OK;
    pthread_mutex_lock(&events.lock);
    struct channel_event *event = event_log_channel(&events, number_of(handle));
    if (event && (int64_t)arguments->nanoseconds >= event->begin)
        event->end = (int64_t)arguments->nanoseconds;
    pthread_mutex_unlock(&events.lock);
    return NCCL_OK;
}

__attribute__((visibility("default"))) extern const struct nccl_profiler_v5 ncclProfiler_v5;
__attribute__((visibility("default"))) extern const struct nccl_profiler_v4 ncclProfiler_v4;
const struct nccl_profiler_v5 ncclProfiler_v5 = {NAME, init_v5, start_v5, stop, record, finish};
const struct nccl_profiler_v4 ncclProfiler_v4 = {NAME, init_v4, start_v4, stop, record, finish};
