// SPDX-License-Identifier: MIT
// Timers that interrupt this process (timer.h): what it takes to set one, and how long the process then stands still.

#include "cmd/probe/timer.h"

#include <math.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/stats.h"

enum { RUNS = 51 };
static const double ahead = 30e-6, far = 1, watched = 60e-6; // s

static double time_setting(int timer, double when)
{
    const struct itimerspec at = {.it_value = {(time_t)when, (long)((when - floor(when)) * 1e9)}};
    const double begin = clab_now();
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL);
    return clab_now() - begin;
}

// The longest time that passes between two looks at the clock.
static double longest_gap(double seconds)
{
    const double end = clab_now() + seconds;
    double longest = 0;
    for (double last = clab_now(), now = last; now < end; last = now) {
        now = clab_now();
        longest = fmax(longest, now - last);
    }
    return longest;
}

double probe_arming(void)
{
    double set[RUNS], first[RUNS], gaps[RUNS];
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0)
        return 0;
    for (int i = 0; i < RUNS; i++) {
        set[i] = time_setting(timer, clab_now() + far); // the processor's own timer is set for something else
        first[i] = time_setting(timer, clab_now() + ahead);
        gaps[i] = longest_gap(watched);
    }
    close(timer);
    const double arm = fmax(0, clab_quantile(first, RUNS, 0.5) - clab_quantile(set, RUNS, 0.5));
    return arm / (arm + clab_quantile(gaps, RUNS, 0.5));
}
