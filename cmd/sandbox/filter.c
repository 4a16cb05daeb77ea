// SPDX-License-Identifier: MIT
// System calls that a program in the sandbox has no use for: they fail with EPERM, as if it had no right to them.

#include "cmd/sandbox/inside.h"

#ifdef HAVE_SECCOMP

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <unistd.h>

// Of other processes, of the kernel, and ways around a filter.
static const int never[] = {
    SCMP_SYS(ptrace),      SCMP_SYS(mount),           SCMP_SYS(umount2),         SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),      SCMP_SYS(unshare),         SCMP_SYS(setns),           SCMP_SYS(bpf),
    SCMP_SYS(keyctl),      SCMP_SYS(add_key),         SCMP_SYS(request_key),     SCMP_SYS(perf_event_open),
    SCMP_SYS(kexec_load),  SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),     SCMP_SYS(finit_module),
    SCMP_SYS(reboot),      SCMP_SYS(swapon),          SCMP_SYS(userfaultfd),     SCMP_SYS(io_uring_setup),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),  SCMP_SYS(clock_adjtime),   SCMP_SYS(adjtimex),
    SCMP_SYS(acct),        SCMP_SYS(quotactl),        SCMP_SYS(open_by_handle_at), SCMP_SYS(setpriority),
};

// Those whose first argument is a process.
static const int of_a_process[] = {
    SCMP_SYS(kill),          SCMP_SYS(tkill),           SCMP_SYS(tgkill),           SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(pidfd_open),    SCMP_SYS(prlimit64),       SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler), SCMP_SYS(sched_setparam), SCMP_SYS(migrate_pages),
};

// The kernel looks at the lower half of a register for an int.
static bool forbid(scmp_filter_ctx filter, int call, int argument, int value)
{
    const struct scmp_arg_cmp is = {(unsigned)argument, SCMP_CMP_MASKED_EQ, 0xffffffff, (unsigned)value};
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), call, 1, &is) == 0;
}

// kill(-1) reaches all, kill(-group) a group's.
static bool guard(scmp_filter_ctx filter, pid_t pid)
{
    bool ok = forbid(filter, SCMP_SYS(kill), 0, -(int)pid) && forbid(filter, SCMP_SYS(kill), 0, -(int)getpgid(pid));
    for (size_t i = 0; i < sizeof of_a_process / sizeof *of_a_process; i++)
        ok &= forbid(filter, of_a_process[i], 0, (int)pid);
    return ok;
}

static bool has_flag(scmp_filter_ctx filter, unsigned long flag)
{
    const struct scmp_arg_cmp is = {0, SCMP_CMP_MASKED_EQ, flag, flag};
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &is) == 0;
}

static bool add_rules(scmp_filter_ctx filter, const pid_t guarded[], int n)
{
    static const unsigned long spaces[] = {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWNS};
    const struct scmp_arg_cmp not_unix = {0, SCMP_CMP_NE, AF_UNIX, 0};
    bool ok = seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, &not_unix) == 0;
    // Its flags lie in memory, where a filter can not look: the C library falls back to clone.
    ok &= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ok &= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), never[i], 0) == 0;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        ok &= has_flag(filter, spaces[i]);
    ok &= forbid(filter, SCMP_SYS(kill), 0, -1);
    for (int i = 0; i < n; i++)
        ok &= guard(filter, guarded[i]);
    return ok;
}

bool sandbox_filter_calls(const pid_t guarded[], int n)
{
    const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const bool stands = filter && add_rules(filter, guarded, n) && seccomp_load(filter) == 0;
    if (filter)
        seccomp_release(filter);
    return stands;
}

#else

bool sandbox_filter_calls(const pid_t guarded[], int n)
{
    return (void)guarded, (void)n, false;
}

#endif
