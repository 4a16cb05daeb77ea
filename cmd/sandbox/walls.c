// SPDX-License-Identifier: MIT
// Limits, user, namespaces and files of a program in the sandbox.

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <linux/limits.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/sandbox/inside.h"

// ---- limits --------------------------------------------------------------------------------------------------

static void limit(int what, rlim_t most)
{
    const struct rlimit both = {most, most};
    setrlimit((__rlimit_resource_t)what, &both);
}

// The kernel counts a user's processes and threads, wherever they run. It counts none of root's.
static int count_mine(void)
{
    int count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        struct stat status;
        char tasks[300]; // a folder per thread, beside . and ..
        snprintf(tasks, sizeof tasks, "%s/task", entry->d_name);
        if (atoi(entry->d_name) > 0 && fstatat(dirfd(folder), tasks, &status, 0) == 0 && status.st_uid == geteuid())
            count += (int)status.st_nlink - 2;
    }
    if (folder)
        closedir(folder);
    return count;
}

// Addresses are not memory: a rank maps more than it uses. Its threads count as processes.
enum { ADDRESSES_PER_BYTE = 4, FILES = 1024, TASKS_PER_PROCESS = 3 };

void sandbox_limit(const struct sandbox *box)
{
    limit(RLIMIT_CPU, (rlim_t)ceil(box->seconds) + 1);
    limit(RLIMIT_AS, (rlim_t)box->memory * ADDRESSES_PER_BYTE);
    limit(RLIMIT_FSIZE, (rlim_t)box->file_bytes);
    limit(RLIMIT_NOFILE, FILES);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NPROC, (rlim_t)(count_mine() + TASKS_PER_PROCESS * box->processes));
}

// ---- not root ------------------------------------------------------------------------------------------------

// Users that no system gives to anybody.
enum { FIRST_USER = 61184, USERS = 4000 };

static bool become(uid_t user)
{
    const bool is_user = setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
    return is_user;
}

// Tried by a process that is that user.
static bool may_run(uid_t user, const char *path)
{
    int status = 1;
    const pid_t pid = fork();
    if (pid == 0)
        _exit(!(become(user) && access(path, R_OK | X_OK) == 0));
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

bool sandbox_leave_root(const char *folder, const char *path)
{
    const uid_t user = FIRST_USER + (uid_t)(getpid() % USERS);
    if (geteuid() != 0)
        return true;
    return may_run(user, path) && chown(folder, user, user) == 0 && become(user);
}

void sandbox_close_memory(void)
{
    prctl(PR_SET_DUMPABLE, 0);
}

// ---- namespaces ----------------------------------------------------------------------------------------------

static bool write_text(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const bool is_written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0)
        close(file);
    return is_written;
}

bool sandbox_unshare(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
    prctl(PR_SET_DUMPABLE, 1); // for the files below
    if (unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC) != 0)
        return false;
    return write_text("/proc/self/uid_map", users) && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/gid_map", groups);
}

// ---- files ---------------------------------------------------------------------------------------------------

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif
static const uint64_t writes = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                               LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
                               LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                               LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
                               LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

static bool allow_below(int rules, uint64_t what, const char *path)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = what, .parent_fd = open(path, O_PATH | O_CLOEXEC)};
    const bool is_added = rule.parent_fd >= 0 && syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    if (rule.parent_fd >= 0)
        close(rule.parent_fd);
    return is_added;
}

// What a program needs that somebody installed. Not here: homes, /tmp, /var, other disks, and the kit.
static const char *const systems[] = {"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin",
                                      "/etc", "/opt", "/nix",   "/gnu",   "/proc", "/sys"};
static const uint64_t reads = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE;
static const char *const devices[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"};

// Not every system has all of them.
static bool allow_to_read(int rules, const char *program)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        allow_below(rules, reads, systems[i]);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        allow_below(rules, LANDLOCK_ACCESS_FS_READ_FILE, devices[i]);
    return allow_below(rules, reads & ~LANDLOCK_ACCESS_FS_READ_DIR, program);
}

bool sandbox_close_files(const struct sandbox *box, const char *program)
{
    const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    const uint64_t handled = writes | (box->reads_system_only ? reads : 0) | (version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
                             (version >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0);
    const struct landlock_ruleset_attr attributes = {.handled_access_fs = handled};
    if (version < 1)
        return false;
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
    const bool is_closed = rules >= 0 && allow_below(rules, handled, box->folder) &&
                           allow_below(rules, LANDLOCK_ACCESS_FS_WRITE_FILE, "/dev/null") &&
                           (!box->reads_system_only || allow_to_read(rules, program)) &&
                           syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    if (rules >= 0)
        close(rules);
    return is_closed;
}
