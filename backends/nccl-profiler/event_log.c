// SPDX-License-Identifier: MIT
// Places in the event log (event_log.h).

#include "backends/nccl-profiler/event_log.h"

#include <stddef.h>
#include <time.h>

int64_t event_log_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool is_kept(int64_t number, int64_t ever, int64_t room)
{
    return number >= 0 && number < ever && number + room >= ever;
}

struct logged_call *event_log_call(const struct event_log *events, int64_t number)
{
    return is_kept(number, events->ncalls, EVENT_LOG_CALLS) ? &events->calls[number % EVENT_LOG_CALLS] : NULL;
}

struct channel_event *event_log_channel(const struct event_log *events, int64_t number)
{
    return is_kept(number, events->nchannel_events, EVENT_LOG_CHANNELS)
               ? &events->channel_events[number % EVENT_LOG_CHANNELS]
               : NULL;
}

int64_t *event_log_clock(struct event_log *events, int process)
{
    for (int i = 0; i < events->nclocks; i++)
        if (events->clocks[i].process == process)
            return &events->clocks[i].behind;
    if (events->nclocks == EVENT_LOG_RANKS)
        return NULL;
    events->clocks[events->nclocks] = (struct gpu_clock){process, INT64_MAX};
    return &events->clocks[events->nclocks++].behind;
}
