// SPDX-License-Identifier: MIT
// The sandbox: a guest that does its worst ends in time, and costs nobody else anything. This program is the guest, too,
// when it is started with the name of a deed. Each is tried with all walls that there are, and with limits alone where
// these are to hold it.

#include "tests/fixtures/capture.h"

#include "cmd/sandbox/sandbox.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { MEMORY = 256 << 20, PROCESSES = 30, FILE_BYTES = 1 << 20 };
static const struct sandbox_walls none = {true, true, true, true};
static char self[PATH_MAX], folder[PATH_MAX], outside[PATH_MAX + 16], secret[PATH_MAX + 16];
static pid_t caller;
static struct sandbox_walls walls; // those of this host

// ---- the guest's deeds: the exit status is 0 where it got what it wanted ----------------------------------------

static int fork_bomb(void)
{
    for (;;)
        fork();
    return 0;
}

static int loop_forever(void)
{
    for (volatile unsigned i = 0;; i++)
        ;
    return 0;
}

static int ignore_signals(void)
{
    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_IGN);
    for (;;)
        pause();
    return 0;
}

static int want_100_gb(void)
{
    char *all = mmap(NULL, (size_t)100 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return all == MAP_FAILED;
}

// In pieces that are each allowed, by many processes.
static int eat_memory(void)
{
    enum { EATERS = 8, PIECE = 100 << 20 };
    for (int i = 0; i < EATERS; i++) {
        if (fork() == 0) {
            char *piece = malloc(PIECE);
            memset(piece, 1, PIECE);
            pause();
        }
    }
    for (;;)
        pause();
    return 0;
}

static int write_outside(void)
{
    const int file = open(getenv("SANDBOX_OUTSIDE"), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return file < 0;
}

static int write_inside(void)
{
    FILE *file = fopen("mine.txt", "w");
    return !file || fputs("mine", file) < 0 || fclose(file) != 0;
}

static int fill_disk(void)
{
    static char block[1 << 16];
    const int file = open("large", O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 1024; i++)
        if (write(file, block, sizeof block) != (ssize_t)sizeof block)
            return 1;
    return 0;
}

static int connect_out(void)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(getenv("SANDBOX_PORT"))), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    return s < 0 || connect(s, (const struct sockaddr *)&to, sizeof to) != 0;
}

static int talk_inside(void)
{
    int ends[2];
    char c = 0;
    return socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || write(ends[0], "x", 1) != 1 || read(ends[1], &c, 1) != 1;
}

static int kill_caller(void)
{
    return kill((pid_t)atoi(getenv("SANDBOX_CALLER")), SIGTERM) != 0;
}

// By a folder of /proc instead of a number.
static int kill_caller_by_folder(void)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%s", getenv("SANDBOX_CALLER"));
    const int caller = open(path, O_RDONLY | O_DIRECTORY);
    return caller < 0 || syscall(SYS_pidfd_send_signal, caller, 0, NULL, 0) != 0;
}

static int read_outside(void)
{
    return open(getenv("SANDBOX_SECRET"), O_RDONLY) < 0;
}

static int leave_many_files(void)
{
    for (int i = 0; i < INT_MAX; i++) {
        char name[32];
        snprintf(name, sizeof name, "%d", i);
        close(open(name, O_WRONLY | O_CREAT, 0600));
    }
    return 0;
}

// One that works on when its group and those above it are ended.
static int leave_behind_by_force(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            ignore_signals();
        _exit(0);
    }
    wait(NULL);
    kill(0, SIGKILL);
    return kill(getppid(), SIGKILL);
}

// A process that detaches itself, and holds on.
static int leave_behind(void)
{
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            ignore_signals();
        _exit(0);
    }
    return 0;
}

static void *do_nothing(void *unused)
{
    return unused;
}

static int start_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0;
}

static const struct deed {
    const char *name;
    int (*run)(void);
} deeds[] = {{"fork_bomb", fork_bomb},         {"loop_forever", loop_forever},   {"ignore_signals", ignore_signals},
             {"want_100_gb", want_100_gb},     {"eat_memory", eat_memory},       {"write_outside", write_outside},
             {"write_inside", write_inside},   {"fill_disk", fill_disk},         {"connect_out", connect_out},
             {"talk_inside", talk_inside},     {"kill_caller", kill_caller},     {"leave_behind", leave_behind},
             {"start_thread", start_thread},   {"read_outside", read_outside},   {"leave_many_files", leave_many_files},
             {"kill_caller_by_folder", kill_caller_by_folder}, {"leave_behind_by_force", leave_behind_by_force}};

static int be_guest(const char *name)
{
    for (size_t i = 0; i < sizeof deeds / sizeof *deeds; i++)
        if (!strcmp(deeds[i].name, name))
            return deeds[i].run();
    return 99;
}

// ---- the host ------------------------------------------------------------------------------------------------

static struct sandbox_result run(const char *deed, double seconds, struct sandbox_walls without)
{
    char name[64], *argv[] = {self, name, NULL};
    struct sandbox_result result;
    const struct sandbox box = {folder, seconds, MEMORY, PROCESSES, FILE_BYTES, true, without};
    snprintf(name, sizeof name, "%s", deed);
    assert_int_equal(sandbox_run(&box, argv, -1, &result), 0);
    assert_true(result.seconds < seconds + 5);
    return result;
}

// Whether the guest got what it wanted.
static bool succeeds(const char *deed, struct sandbox_walls without)
{
    const struct sandbox_result result = run(deed, 20, without);
    assert_int_equal(result.end, SANDBOX_ENDED);
    return WIFEXITED(result.status) && WEXITSTATUS(result.status) == 0;
}

static void lets_honest_guests_work(void **state)
{
    assert_true(succeeds("write_inside", (struct sandbox_walls){0}));
    assert_true(succeeds("talk_inside", (struct sandbox_walls){0}));
    assert_true(succeeds("start_thread", (struct sandbox_walls){0}));
    assert_true(succeeds("start_thread", none));
}

static void ends_what_takes_too_long(void **state)
{
    assert_int_equal(run("loop_forever", 0.5, (struct sandbox_walls){0}).end, SANDBOX_LATE);
    assert_int_equal(run("loop_forever", 0.5, none).end, SANDBOX_LATE);
    assert_int_equal(run("ignore_signals", 0.5, none).end, SANDBOX_LATE);
}

static void ends_a_fork_bomb(void **state)
{
    if (walls.user || geteuid() != 0)
        assert_int_equal(run("fork_bomb", 20, (struct sandbox_walls){0}).end, SANDBOX_PROCESSES);
    if (walls.user) // limits hold root's processes no more than a watch can
        assert_int_equal(run("fork_bomb", 20, (struct sandbox_walls){.files = true, .calls = true, .namespaces = true}).end,
                         SANDBOX_PROCESSES);
}

static void holds_memory(void **state)
{
    assert_false(succeeds("want_100_gb", none));
    assert_int_equal(run("eat_memory", 20, (struct sandbox_walls){0}).end, SANDBOX_MEMORY);
    assert_int_equal(run("eat_memory", 20, none).end, SANDBOX_MEMORY);
    assert_false(succeeds("fill_disk", none));
}

static void closes_files(void **state)
{
    if (!walls.files)
        skip();
    assert_false(succeeds("write_outside", (struct sandbox_walls){0}));
    assert_int_not_equal(access(outside, F_OK), 0);
}

// A listener of ours, which the guest could reach without walls.
static void closes_the_network(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    char port[16];
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 4), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    snprintf(port, sizeof port, "%d", ntohs(at.sin_port));
    setenv("SANDBOX_PORT", port, 1);
    assert_true(succeeds("connect_out", none));
    if (walls.calls)
        assert_false(succeeds("connect_out", (struct sandbox_walls){.namespaces = true}));
    if (walls.namespaces)
        assert_false(succeeds("connect_out", (struct sandbox_walls){.calls = true}));
    close(listener);
}

static void guards_its_caller(void **state)
{
    if (walls.calls)
        assert_false(succeeds("kill_caller", (struct sandbox_walls){.namespaces = true, .user = true}));
    if (walls.calls)
        assert_false(succeeds("kill_caller_by_folder", (struct sandbox_walls){.namespaces = true, .user = true}));
    if (walls.namespaces)
        run("kill_caller", 20, (struct sandbox_walls){.calls = true}); // it may reach itself
}

static void leaves_nobody_behind(void **state)
{
    for (int i = 0; i < 2; i++) {
        assert_true(succeeds("leave_behind", i ? none : (struct sandbox_walls){0}));
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
    }
}

// By what is ours, with all walls and with none, or with the filter alone.
static void leaves_nobody_behind_by_force(void **state)
{
    const struct sandbox_walls some[] = {{0}, none, {.files = true, .namespaces = true, .user = true}};
    for (int i = 0; i < 3; i++) {
        run("leave_behind_by_force", 20, some[i]);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
    }
}

static void holds_files(void **state)
{
    assert_int_equal(run("leave_many_files", 20, (struct sandbox_walls){0}).end, SANDBOX_FILES);
    assert_int_equal(run("leave_many_files", 20, none).end, SANDBOX_FILES);
}

static void hides_what_is_no_part_of_the_system(void **state)
{
    if (!walls.files)
        skip();
    assert_true(succeeds("read_outside", (struct sandbox_walls){.files = true}));
    assert_false(succeeds("read_outside", (struct sandbox_walls){0}));
}

static void names_what_can_not_be_started(void **state)
{
    char missing[] = "/no/such/program", *argv[] = {missing, NULL};
    struct sandbox_result result;
    const struct sandbox box = {folder, 1, MEMORY, PROCESSES, FILE_BYTES, false, none};
    assert_int_not_equal(sandbox_run(&box, argv, -1, &result), 0);
}

static int set_up(void **state)
{
    char number[16];
    snprintf(folder, sizeof folder, "/tmp/commlab-sandbox-XXXXXX");
    if (!mkdtemp(folder) || !realpath("/proc/self/exe", self) || sandbox_try(&walls) != 0)
        return -1;
    snprintf(outside, sizeof outside, "%s.outside", folder);
    snprintf(number, sizeof number, "%d", (int)getpid());
    setenv("SANDBOX_OUTSIDE", outside, 1);
    snprintf(secret, sizeof secret, "%s.secret", folder);
    close(open(secret, O_WRONLY | O_CREAT, 0644));
    setenv("SANDBOX_SECRET", secret, 1);
    setenv("SANDBOX_CALLER", number, 1);
    caller = getpid();
    printf("# walls: %s%s%s%s\n", walls.files ? "files " : "", walls.calls ? "calls " : "",
           walls.namespaces ? "namespaces " : "", walls.user ? "user" : "");
    return 0;
}

static int tear_down(void **state)
{
    static const char *const left[] = {"/mine.txt", "/large", "/core"};
    char path[PATH_MAX + 16];
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(path, sizeof path, "%s%s", folder, left[i]);
        unlink(path);
    }
    for (int i = 0; i < 10000; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        unlink(path);
    }
    unlink(secret);
    return rmdir(folder);
}

int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(lets_honest_guests_work), cmocka_unit_test(ends_what_takes_too_long),
        cmocka_unit_test(ends_a_fork_bomb),        cmocka_unit_test(holds_memory),
        cmocka_unit_test(closes_files),            cmocka_unit_test(closes_the_network),
        cmocka_unit_test(guards_its_caller),       cmocka_unit_test(leaves_nobody_behind),
        cmocka_unit_test(leaves_nobody_behind_by_force), cmocka_unit_test(hides_what_is_no_part_of_the_system),
        cmocka_unit_test(names_what_can_not_be_started), cmocka_unit_test(holds_files)};
    return argc > 1 ? be_guest(argv[1]) : cmocka_run_group_tests(tests, set_up, tear_down);
}
