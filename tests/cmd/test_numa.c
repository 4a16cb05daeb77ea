// SPDX-License-Identifier: MIT
// NUMA nodes are read from the kernel's files, and copies are made where they are asked for. This machine may have one
// node only, so the folder of nodes is the test's own.

#include "tests/fixtures/capture.h"

#include <sched.h>
#include <sys/stat.h>

#include "cmd/device/numa.h"

static char folder[] = "/tmp/commlab-test-XXXXXX";

static void write_node(int node, const char *list)
{
    char path[128];
    snprintf(path, sizeof path, "%s/node%d", folder, node);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(list, file);
    fclose(file);
}

static void remove_node(int node)
{
    char path[128];
    snprintf(path, sizeof path, "%s/node%d/cpulist", folder, node);
    unlink(path);
    snprintf(path, sizeof path, "%s/node%d", folder, node);
    rmdir(path);
}

// The first processor that we may use.
static int usable(void)
{
    cpu_set_t set;
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            return cpu;
    return -1;
}

static void test_numa_finds_nodes_with_usable_cores(void **state)
{
    struct numa_node nodes[NUMA_NODES];
    char list[64];
    const int cpu = usable();
    assert_int_equal(numa_find(folder, nodes), 0);
    snprintf(list, sizeof list, "1000-1020,%d\n", cpu);
    write_node(0, list);
    write_node(1, "1000-1010\n"); // nobody's
    write_node(2, "x\n");
    write_node(3, "");
    snprintf(list, sizeof list, "%d\n", cpu);
    write_node(7, list);
    assert_int_equal(numa_find(folder, nodes), 2);
    assert_int_equal(nodes[0].number, 0);
    assert_int_equal(nodes[0].cpu, cpu);
    assert_int_equal(nodes[1].number, 7);
    for (int node = 0; node < 8; node++)
        remove_node(node);
}

static void test_numa_copies_and_comes_back(void **state)
{
    cpu_set_t before, after;
    const struct numa_node here = {0, usable()}, nowhere = {1, 1000};
    double rate = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    assert_int_equal(numa_copy(&here, &here, 1 << 20, 0, &rate), 0);
    assert_true(rate > 0);
    assert_int_not_equal(numa_copy(&nowhere, &here, 1 << 20, 0, &rate), 0);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
}

static int make_folder(void **state)
{
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numa_finds_nodes_with_usable_cores),
        cmocka_unit_test(test_numa_copies_and_comes_back),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
