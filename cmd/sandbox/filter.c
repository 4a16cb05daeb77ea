// SPDX-License-Identifier: MIT
// System calls that a program in the sandbox has no use for: they fail with EPERM, as if it had no right to them.

#include "cmd/sandbox/inside.h"

#ifdef HAVE_SECCOMP

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <unistd.h>

// Of other processes, of the kernel, services that listen (sockets), ways around a filter, and memory that counts as no
// process's.
static const int never[] = {
    SCMP_SYS(ptrace),      SCMP_SYS(mount),           SCMP_SYS(umount2),         SCMP_SYS(pivot_root),
    SCMP_SYS(chroot),      SCMP_SYS(unshare),         SCMP_SYS(setns),           SCMP_SYS(bpf),
    SCMP_SYS(keyctl),      SCMP_SYS(add_key),         SCMP_SYS(request_key),     SCMP_SYS(perf_event_open),
    SCMP_SYS(kexec_load),  SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),     SCMP_SYS(finit_module),
    SCMP_SYS(reboot),      SCMP_SYS(swapon),          SCMP_SYS(userfaultfd),     SCMP_SYS(io_uring_setup),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),  SCMP_SYS(clock_adjtime),   SCMP_SYS(adjtimex),
    SCMP_SYS(acct),        SCMP_SYS(quotactl),        SCMP_SYS(open_by_handle_at), SCMP_SYS(setpriority),
    SCMP_SYS(socket),      SCMP_SYS(pidfd_open),      SCMP_SYS(pidfd_send_signal), SCMP_SYS(pidfd_getfd),
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise), SCMP_SYS(kcmp),
    SCMP_SYS(migrate_pages), SCMP_SYS(move_pages),    SCMP_SYS(ioprio_set),      SCMP_SYS(memfd_create),
    SCMP_SYS(shmget),
};

// Those that reach another process by its number. The program's own comes first; 0 is itself, for those that change limits
// and times; of a signal it is a group, and the keeper is in it.
static const int signals[] = {SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
                              SCMP_SYS(rt_tgsigqueueinfo)};
static const int of_a_process[] = {SCMP_SYS(prlimit64),      SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
                                   SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr)};

// Commands of fcntl that send a signal to another process when a file is ready.
static const int owners[] = {F_SETOWN, F_SETOWN_EX, F_SETSIG};

// All values of the first argument are forbidden but this one. A filter compares whole registers, the kernel lower
// halves: what differs in the upper one is forbidden, too.
static bool allow_only(scmp_filter_ctx filter, const int calls[], size_t n, pid_t value)
{
    const struct scmp_arg_cmp is_other = {0, SCMP_CMP_NE, (scmp_datum_t)value, 0};
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        ok &= seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), calls[i], 1, &is_other) == 0;
    return ok;
}

static bool forbid_owners(scmp_filter_ctx filter)
{
    bool ok = true;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        const struct scmp_arg_cmp is = {1, SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)owners[i]};
        ok &= seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 1, &is) == 0;
    }
    return ok;
}

static bool has_flag(scmp_filter_ctx filter, unsigned long flag)
{
    const struct scmp_arg_cmp is = {0, SCMP_CMP_MASKED_EQ, flag, flag};
    return seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1, &is) == 0;
}

static bool add_rules(scmp_filter_ctx filter)
{
    static const unsigned long spaces[] = {CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET, CLONE_NEWNS};
    bool ok = allow_only(filter, signals, sizeof signals / sizeof *signals, getpid()) &&
              allow_only(filter, of_a_process, sizeof of_a_process / sizeof *of_a_process, 0) && forbid_owners(filter);
    // Its flags lie in memory, where a filter can not look: the C library falls back to clone.
    ok &= seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0;
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        ok &= seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), never[i], 0) == 0;
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        ok &= has_flag(filter, spaces[i]);
    return ok;
}

bool sandbox_filter_calls(void)
{
    const scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    const bool stands = filter && add_rules(filter) && seccomp_load(filter) == 0;
    if (filter)
        seccomp_release(filter);
    return stands;
}

#else

bool sandbox_filter_calls(void)
{
    return false;
}

#endif
