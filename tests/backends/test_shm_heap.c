// SPDX-License-Identifier: MIT
// The heap of the shared-memory backend: disjoint, aligned, zeroed blocks that come back whole.

#include "tests/fixtures/capture.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "backends/shm/shm.h"

enum { MIB = 1 << 20, BYTES = 16 * MIB };

struct fixture {
    int fd;
    char *memory;
    struct shm_heap *heap;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    f->fd = memfd_create("heap", 0);
    if (ftruncate(f->fd, BYTES))
        return -1;
    f->memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
    *state = f;
    return shm_heap_create(f->memory, BYTES, f->fd, 0, &f->heap);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    shm_heap_destroy(f->heap);
    munmap(f->memory, BYTES);
    close(f->fd);
    free(f);
    return 0;
}

static void test_blocks_are_aligned_zeroed_and_apart(void **state)
{
    struct fixture *f = *state;
    unsigned char *blocks[64];
    unsigned seed = 7;
    for (int round = 0; round < 50; round++) {
        size_t sizes[64];
        for (int i = 0; i < 64; i++) {
            void *memory;
            sizes[i] = (size_t)(rand_r(&seed) % 20000);
            assert_int_equal(shm_heap_alloc(f->heap, sizes[i], &memory), CLAB_OK);
            blocks[i] = memory;
            assert_int_equal((uintptr_t)memory % 64, 0);
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(blocks[i][k], 0);
            memset(memory, i + 1, sizes[i]);
        }
        for (int i = 0; i < 64; i++) {
            for (size_t k = 0; k < sizes[i]; k++)
                assert_int_equal(blocks[i][k], i + 1);
            shm_heap_free(f->heap, blocks[i]);
        }
        assert_int_equal(shm_heap_left(f->heap), BYTES);
    }
}

static blkcnt_t blocks_of(const struct fixture *f)
{
    struct stat status;
    assert_int_equal(fstat(f->fd, &status), 0);
    return status.st_blocks;
}

static void test_pages_that_were_touched_are_given_back(void **state)
{
    struct fixture *f = *state;
    void *kept, *freed, *untouched;
    assert_int_equal(shm_heap_alloc_sparse(f->heap, MIB, &kept), CLAB_OK);
    assert_int_equal(shm_heap_alloc_sparse(f->heap, MIB, &freed), CLAB_OK);
    assert_int_equal(shm_heap_alloc_sparse(f->heap, MIB, &untouched), CLAB_OK);
    memset(kept, 1, MIB);
    const blkcnt_t before = blocks_of(f);
    ((char *)freed)[MIB - 1] = 1; // its last page alone
    assert_true(blocks_of(f) > before);
    shm_heap_free(f->heap, freed);
    assert_int_equal(blocks_of(f), before);
    shm_heap_free(f->heap, untouched);
    assert_int_equal(blocks_of(f), before);
    assert_int_equal(((char *)kept)[MIB - 1], 1);
    shm_heap_free(f->heap, kept);
    assert_int_equal(blocks_of(f), 0);
}

static void test_too_large_is_refused_and_harmless(void **state)
{
    struct fixture *f = *state;
    void *memory = NULL;
    assert_int_equal(shm_heap_alloc(f->heap, (size_t)-1, &memory), CLAB_ENOMEM);
    assert_int_equal(shm_heap_alloc(f->heap, BYTES + 1, &memory), CLAB_ENOMEM);
    assert_null(memory);
    assert_int_equal(shm_heap_left(f->heap), BYTES);
}

static void test_large_blocks_begin_at_huge_pages(void **state)
{
    struct fixture *f = *state;
    void *small, *large;
    assert_int_equal(shm_heap_alloc(f->heap, 100, &small), CLAB_OK);
    assert_int_equal(shm_heap_alloc(f->heap, 3 * MIB, &large), CLAB_OK);
    assert_int_equal((uintptr_t)large % (2 * MIB), 0);
    shm_heap_free(f->heap, small);
    shm_heap_free(f->heap, large);
    assert_int_equal(shm_heap_left(f->heap), BYTES);
}

static void assert_begins_no_block(struct fixture *f, void *memory)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    shm_heap_free(f->heap, memory);
    assert_one_line_with(capture_end(err), "free it once, by the address that clab_alloc gave");
}

static void test_an_address_that_begins_no_block_is_refused(void **state)
{
    struct fixture *f = *state;
    void *memory;
    assert_int_equal(shm_heap_alloc(f->heap, 1000, &memory), CLAB_OK);
    assert_begins_no_block(f, (char *)memory + 64);
    shm_heap_free(f->heap, memory);
    assert_begins_no_block(f, memory);
    assert_int_equal(shm_heap_left(f->heap), BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pages_that_were_touched_are_given_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks_are_aligned_zeroed_and_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_address_that_begins_no_block_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_large_is_refused_and_harmless, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_blocks_begin_at_huge_pages, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
