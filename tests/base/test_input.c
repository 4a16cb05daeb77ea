// SPDX-License-Identifier: MIT
// Files that are read whole: bytes as they are, a bound by the byte, and what is no file. A pipe without a name is read
// to its end.

#include "tests/fixtures/capture.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/input.h"

static const enum clab_input_kind small = CLAB_INPUT_SETTINGS;

static const char *file_of(size_t bytes, char letter)
{
    static char text[1 << 16];
    const char *path = folder_path("file");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    memset(text, letter, sizeof text);
    for (size_t n; bytes; bytes -= n) {
        n = bytes < sizeof text ? bytes : sizeof text;
        assert_int_equal(fwrite(text, 1, n, file), n);
    }
    assert_int_equal(fclose(file), 0);
    return path;
}

static void assert_refused(const char *path, const char *words, int expected)
{
    struct clab_input input = {.bytes = 12345};
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_input_open(path, small, &input);
    assert_one_line_with(capture_end(log), words);
    assert_int_equal(err, expected);
    assert_true(input.bytes == 12345); // untouched
}

static void test_files_are_read_as_they_are(void **state)
{
    const size_t most = clab_input_most(small), sizes[] = {0, 1, 4096, 65535, 65536, most - 1, most};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct clab_input input;
        assert_int_equal(clab_input_open(file_of(sizes[i], 'x'), small, &input), CLAB_OK);
        assert_int_equal(input.bytes, sizes[i]);
        assert_int_equal(strlen(input.text), sizes[i]);
        size_t n = 0;
        for (int c; (c = getc(input.file)) != EOF; n++)
            assert_int_equal(c, 'x');
        assert_int_equal(n, sizes[i]);
        clab_input_close(&input);
    }
}

static void test_zero_bytes_are_bytes(void **state)
{
    struct clab_input input;
    assert_int_equal(clab_input_open(file_of(3, '\0'), small, &input), CLAB_OK);
    assert_int_equal(input.bytes, 3);
    assert_int_equal(getc(input.file), 0);
    clab_input_close(&input);
}

static void test_a_byte_too_many_is_refused(void **state)
{
    assert_refused(file_of(clab_input_most(small) + 1, 'x'),
                   "file: larger than 1 MiB, the most that is read of a file of settings: name another file",
                   CLAB_EPARSE);
    assert_refused(file_of(5 * clab_input_most(small), 'x'), "larger than 1 MiB", CLAB_EPARSE);
}

// A sparse file of a terabyte takes no room, and no time.
static void test_a_huge_file_is_not_read(void **state)
{
    const char *path = file_of(1, 'x');
    assert_int_equal(truncate(path, (off_t)1 << 40), 0);
    assert_refused(path, "larger than 1 MiB", CLAB_EPARSE);
}

static void test_what_is_no_file_is_refused(void **state)
{
    assert_refused("/dev/zero", "/dev/zero: it is a device, not a file", CLAB_ENOENT);
    assert_refused("/dev/full", "/dev/full: it is a device, not a file", CLAB_ENOENT);
    assert_refused("/", "/: Is a directory", CLAB_ENOENT);
    assert_refused(folder_path("none"), "/none: No such file or directory", CLAB_ENOENT);
    const char *pipe = folder_path("pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    alarm(10); // where it is waited for
    assert_refused(pipe, "/pipe: it is a named pipe, not a file", CLAB_ENOENT);
    alarm(0);
    assert_refused("", "(an empty file name): No such file or directory", CLAB_ENOENT);
}

// A child writes `bytes` into a pipe; whether they are read.
static int read_pipe(size_t bytes, struct clab_input *input_p)
{
    int ends[2], status;
    char path[32];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        char letter = 'y';
        close(ends[0]);
        for (size_t i = 0; i < bytes && write(ends[1], &letter, 1) == 1; i++)
            ;
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    const int err = clab_input_open(path, small, input_p);
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return err;
}

static void test_a_pipe_is_read_to_its_end_but_for_the_bound(void **state)
{
    struct clab_input input;
    assert_int_equal(read_pipe(100000, &input), CLAB_OK);
    assert_int_equal(input.bytes, 100000);
    clab_input_close(&input);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = read_pipe(clab_input_most(small) + 2, &input);
    assert_one_line_with(capture_end(log), "larger than 1 MiB");
    assert_int_equal(err, CLAB_EPARSE);
}

// However large it is; what is no file is refused as by clab_input_open.
static void test_a_stream_has_no_limit(void **state)
{
    FILE *file;
    file = fopen(folder_path("log"), "w");
    assert_non_null(file);
    fputs("a line\n", file);
    fclose(file);
    assert_int_equal(truncate(folder_path("log"), (off_t)1 << 40), 0);
    assert_int_equal(clab_input_stream(folder_path("log"), &file), CLAB_OK);
    assert_int_equal(getc(file), 'a');
    fclose(file);
    const char *const none[] = {"/", "/none", "/dev/zero"}, *const reasons[] = {"directory", "No such file", "device"};
    for (int i = 0; i < 3; i++) {
        const struct capture log = capture_begin(STDERR_FILENO);
        assert_int_equal(clab_input_stream(none[i], &file), CLAB_ENOENT);
        assert_one_line_with(capture_end(log), reasons[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_read_as_they_are),
        cmocka_unit_test(test_zero_bytes_are_bytes),
        cmocka_unit_test(test_a_byte_too_many_is_refused),
        cmocka_unit_test(test_a_huge_file_is_not_read),
        cmocka_unit_test(test_what_is_no_file_is_refused),
        cmocka_unit_test(test_a_stream_has_no_limit),
        cmocka_unit_test(test_a_pipe_is_read_to_its_end_but_for_the_bound),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
