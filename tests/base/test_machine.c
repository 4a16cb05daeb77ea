// SPDX-License-Identifier: MIT
// The machine: facts against other sources of them, warnings of made-up machines, and pinning.

#include "tests/fixtures/capture.h"

#include <sched.h>
#include <sys/wait.h>

#include "core/base/err.h"
#include "core/base/machine/machine.h"

static cpu_set_t affinity(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    return set;
}

static void test_the_facts_agree_with_the_system(void **state)
{
    struct clab_machine m;
    clab_machine_read(&m);
    const cpu_set_t set = affinity();
    assert_int_equal(m.cores, CPU_COUNT(&set));
    assert_in_range(m.physical_cores, 1, m.cores);
    assert_in_range(m.memory_bytes, 1 << 20, (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
    assert_true(m.cpu[0] && m.load >= 0);
    assert_memory_equal(m.kernel, "Linux ", 6);
    const size_t last = clab_machine_last_cache_bytes();
    assert_true(last == m.l3_bytes || last == m.l2_bytes || last == m.l1d_bytes);
    assert_true(last >= m.l1d_bytes);
}

static void test_a_manifest_holds_what_a_reader_needs(void **state)
{
    static const char *const keys[] = {"date",     "machine", "caches",  "memory",   "kernel", "hypervisor",
                                       "governor", "load",    "vectors", "compiler", "flags",  "version", "commit"};
    struct clab_manifest manifest = {0};
    setenv("CLAB_TIMEOUT", "of ours", 1);
    setenv("CLAB_TOKEN", "of nobody's business", 1);
    setenv("SOME_TOKEN", "of nobody's business", 1);
    assert_int_equal(clab_machine_describe(&manifest), CLAB_OK);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!clab_manifest_get(&manifest, keys[i]) || !*clab_manifest_get(&manifest, keys[i]))
            fail_msg("no %s", keys[i]);
    assert_text_has(clab_manifest_get(&manifest, "environment"), "CLAB_TIMEOUT=of ours");
    assert_null(strstr(clab_manifest_get(&manifest, "environment"), "business"));
    clab_manifest_free(&manifest);
}

static const struct clab_machine quiet = {
    .cores = 8, .physical_cores = 4, .memory_bytes = (size_t)16 << 30, .governor = "performance"};

static void assert_warning(struct clab_machine machine, int nranks, const char *part)
{
    struct clab_manifest manifest = {0};
    assert_int_equal(clab_machine_warn(&machine, nranks, &manifest), CLAB_OK);
    const char *warning = clab_manifest_get(&manifest, "warning");
    if (!part && warning)
        fail_msg("warned of: %s", warning);
    if (part)
        assert_text_has(warning ? warning : "", part);
    clab_manifest_free(&manifest);
}

static void test_a_quiet_machine_gets_no_warning(void **state)
{
    assert_warning(quiet, 4, NULL);
    struct clab_machine m = quiet;
    m.load = 4.4; // others keep the cores busy that the ranks leave
    assert_warning(m, 4, NULL);
    m.governor[0] = '\0';
    assert_warning(m, 4, NULL);
}

static void test_what_spoils_a_measurement_is_warned_of(void **state)
{
    struct clab_machine m = quiet;
    assert_warning(m, 9, "9 ranks share 8 cores");
    assert_warning(m, 5, "5 ranks on 4 physical cores");
    m.load = 4.6;
    assert_warning(m, 4, "busy");
    m = quiet;
    strcpy(m.governor, "powersave");
    assert_warning(m, 1, "powersave");
    m = quiet;
    m.memory_bytes = (size_t)512 << 20;
    assert_warning(m, 1, "512 MiB");
}

// In a process of its own: pin as rank `rank` of `nranks`, and tell where that led.  0: to one core, the count of
// usable ones as before; 1: refused, nothing changed; 2: neither.  *cpu_p is the core.
static int pin_in_child(int rank, int nranks, int *cpu_p)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const cpu_set_t before = affinity();
        const int err = clab_machine_pin(rank, nranks);
        const cpu_set_t after = affinity();
        const int cpu = sched_getcpu();
        const int kept = clab_machine_cores(NULL) == CPU_COUNT(&before);
        if (write(ends[1], &cpu, sizeof cpu) != sizeof cpu)
            _exit(2);
        if (!err)
            _exit(CPU_COUNT(&after) == 1 && CPU_ISSET(cpu, &after) && kept ? 0 : 2);
        _exit(err == CLAB_EUNSUPPORTED && CPU_EQUAL(&before, &after) && kept ? 1 : 2);
    }
    int status;
    assert_int_equal(read(ends[0], cpu_p, sizeof *cpu_p), sizeof *cpu_p);
    waitpid(pid, &status, 0);
    close(ends[0]);
    close(ends[1]);
    return WEXITSTATUS(status);
}

static void test_each_rank_gets_a_core_of_its_own(void **state)
{
    const int cores = clab_machine_cores(NULL);
    cpu_set_t taken;
    CPU_ZERO(&taken);
    for (int rank = 0; rank < cores; rank++) {
        int cpu;
        assert_int_equal(pin_in_child(rank, cores, &cpu), 0);
        assert_false(CPU_ISSET(cpu, &taken));
        CPU_SET(cpu, &taken);
    }
}

static void test_more_ranks_than_cores_share_them_in_equal_blocks(void **state)
{
    const int cores = clab_machine_cores(NULL);
    int before = -1, cpu;
    if (cores < 2) {
        print_message("skip: this process may use one core only\n");
        skip();
    }
    for (int rank = 0; rank < 3 * cores; rank++) {
        assert_int_equal(pin_in_child(rank, 3 * cores, &cpu), 0);
        if (rank % 3)
            assert_int_equal(cpu, before);
        else
            assert_int_not_equal(cpu, before);
        before = cpu;
    }
}

static void test_ranks_that_make_no_equal_blocks_stay_unpinned_without_a_word(void **state)
{
    int cpu;
    const struct capture log = capture_begin(STDERR_FILENO);
    const int crowded = pin_in_child(0, clab_machine_cores(NULL) + 1, &cpu), outside = pin_in_child(1, 1, &cpu);
    assert_string_equal(capture_end(log), "");
    assert_int_equal(crowded, 1);
    assert_int_equal(outside, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_facts_agree_with_the_system),
        cmocka_unit_test(test_a_manifest_holds_what_a_reader_needs),
        cmocka_unit_test(test_a_quiet_machine_gets_no_warning),
        cmocka_unit_test(test_what_spoils_a_measurement_is_warned_of),
        cmocka_unit_test(test_each_rank_gets_a_core_of_its_own),
        cmocka_unit_test(test_more_ranks_than_cores_share_them_in_equal_blocks),
        cmocka_unit_test(test_ranks_that_make_no_equal_blocks_stay_unpinned_without_a_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
