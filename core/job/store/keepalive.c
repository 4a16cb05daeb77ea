// SPDX-License-Identifier: MIT
// Whether a host answers (keepalive.h). Sources: tcp(7), TCP_INFO; Linux, Documentation/networking/tcp-thin.rst

#include "core/job/store/keepalive.h"

#include <linux/sockios.h>
#include <linux/tcp.h> // whose tcp_info has the window
#include <math.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "core/job/store/socket.h"

#define LOOK_SECONDS 0.05 // between looks while an answer is overdue

// TCP resends at equal intervals while fewer than four packets are under way ("thin"), else at growing ones.
enum { BEATS = 3, MISSES = 18 };

enum store_liveness store_keepalive_judge(struct store_keepalive *keepalive, double now, double overdue)
{
    keepalive->misses = overdue < 0 ? 0 : keepalive->misses + 1;
    keepalive->next = now + fmax(LOOK_SECONDS, -overdue);
    if (keepalive->misses > MISSES)
        return STORE_SILENT;
    return keepalive->misses > 0 && keepalive->misses <= BEATS ? STORE_PROBE : STORE_ALIVE;
}

// A peer that does not read closes its window: the kernel probes it ever more rarely, and we can send it nothing. With
// no route we can send nothing either, but the window is open.
static bool takes_nothing(int fd, const struct tcp_info *info)
{
    int unsent = 0;
    return ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && unsent > 0 && info->tcpi_snd_wnd < info->tcpi_snd_mss;
}

// The kernel probes after STORE_KEEPALIVE of silence; the answer takes a round trip more.
static double overdue_of(int fd)
{
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0 || takes_nothing(fd, &info))
        return -STORE_KEEPALIVE;
    const double silence = 1e-3 * fmin(info.tcpi_last_data_recv, info.tcpi_last_ack_recv);
    return silence - STORE_KEEPALIVE - LOOK_SECONDS - 2e-6 * info.tcpi_rtt;
}

enum store_liveness store_keepalive_check(struct store_keepalive *keepalive, int fd)
{
    const double now = clab_now();
    return now < keepalive->next ? STORE_ALIVE : store_keepalive_judge(keepalive, now, overdue_of(fd));
}
