// SPDX-License-Identifier: MIT
// Files are written whole or not at all: what can not be written is said before, and a failure leaves what was there.

#include "tests/fixtures/capture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/base/err.h"
#include "core/base/files/output.h"

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void test_a_new_file_appears_when_it_is_closed(void **state)
{
    struct clab_output output;
    const char *path = folder_path("new");
    assert_int_equal(clab_output_open(path, &output), CLAB_OK);
    fputs("whole", output.file);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_equal(clab_output_close(&output), CLAB_OK);
    assert_string_equal(file_text(path), "whole");
    assert_int_equal(folder_entries(1), 1);
}

static void test_an_old_file_is_replaced_whole_and_kept_when_abandoned(void **state)
{
    struct clab_output output;
    const char *path = folder_path("old");
    write_file(path, "old and long");
    assert_int_equal(clab_output_open(path, &output), CLAB_OK);
    fputs("new", output.file);
    clab_output_abandon(&output);
    assert_string_equal(file_text(path), "old and long");
    assert_int_equal(clab_output_open(path, &output), CLAB_OK);
    fputs("new", output.file);
    assert_int_equal(clab_output_close(&output), CLAB_OK);
    assert_string_equal(file_text(path), "new");
    assert_int_equal(folder_entries(1), 1);
}

static void test_files_have_the_mode_of_any_other(void **state)
{
    struct clab_output output;
    struct stat status;
    const char *path = folder_path("mode");
    const mode_t mask = umask(027);
    assert_int_equal(clab_output_open(path, &output), CLAB_OK);
    assert_int_equal(clab_output_close(&output), CLAB_OK);
    umask(mask);
    stat(path, &status);
    assert_int_equal(status.st_mode & 0777, 0640);
    folder_entries(1);
}

static void test_a_link_stays_and_its_target_is_replaced(void **state)
{
    struct clab_output output;
    struct stat status;
    const char *target = folder_path("target"), *link = folder_path("link");
    write_file(target, "old");
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(clab_output_open(link, &output), CLAB_OK);
    fputs("new", output.file);
    assert_int_equal(clab_output_close(&output), CLAB_OK);
    assert_string_equal(file_text(target), "new");
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    folder_entries(1);
}

static void test_what_can_not_be_written_is_said_before_and_touches_nothing(void **state)
{
    write_file(folder_path("file"), "kept");
    char below[256], beside[256], slash[256];
    snprintf(below, sizeof below, "%s/file/below", test_folder);
    snprintf(beside, sizeof beside, "%s/none/t.csv", test_folder);
    snprintf(slash, sizeof slash, "%s/new/", test_folder);
    const char *const paths[] = {"", below, beside, slash, test_folder, "/"};
    static const char *const reasons[] = {"empty",     "Not a directory", "No such file",
                                          "directory", "directory",       "directory"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct clab_output output = {0};
        struct capture log = capture_begin(STDERR_FILENO);
        int err = clab_output_check(paths[i]);
        const char *text = capture_end(log);
        assert_one_line_with(text, paths[i]);
        assert_text_has(text, reasons[i]);
        assert_int_equal(err, CLAB_EIO);
        log = capture_begin(STDERR_FILENO);
        err = clab_output_open(paths[i], &output);
        assert_one_line_with(capture_end(log), reasons[i]);
        assert_int_equal(err, CLAB_EIO);
        assert_null(output.file);
    }
    assert_string_equal(file_text(folder_path("file")), "kept");
    assert_int_equal(folder_entries(1), 1);
}

static void test_a_check_makes_no_file(void **state)
{
    assert_int_equal(clab_output_check(folder_path("new")), CLAB_OK);
    assert_int_equal(folder_entries(1), 0);
}

// Once, with the date; not of new files, empty ones and devices.
static void test_results_that_will_be_replaced_are_announced(void **state)
{
    write_file(folder_path("empty"), "");
    struct capture log = capture_begin(STDERR_FILENO);
    assert_int_equal(clab_output_announce(folder_path("new")), CLAB_OK);
    assert_int_equal(clab_output_announce(folder_path("empty")), CLAB_OK);
    assert_int_equal(clab_output_announce("/dev/null"), CLAB_OK);
    assert_string_equal(capture_end(log), "");
    write_file(folder_path("full"), "1,2\n");
    log = capture_begin(STDERR_FILENO);
    assert_int_equal(clab_output_announce(folder_path("full")), CLAB_OK);
    assert_one_line_with(capture_end(log), "will be replaced");
    assert_string_equal(file_text(folder_path("full")), "1,2\n");
    unlink(folder_path("full")); // each test begins with an empty folder
    unlink(folder_path("empty"));
}

// A disk that is full: no file of this process may grow beyond 4 KiB.
static void test_a_failed_write_leaves_the_old_file_and_nothing_else(void **state)
{
    struct clab_output output;
    struct rlimit before, limit;
    const char *path = folder_path("old");
    write_file(path, "old");
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){.rlim_cur = 4096, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(clab_output_open(path, &output), CLAB_OK);
    setrlimit(RLIMIT_FSIZE, &limit);
    for (int i = 0; i < 100000; i++)
        fputc('x', output.file);
    const struct capture log = capture_begin(STDERR_FILENO);
    const int err = clab_output_close(&output);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, SIG_DFL);
    assert_one_line_with(capture_end(log), path);
    assert_int_equal(err, CLAB_EIO);
    assert_string_equal(file_text(path), "old");
    assert_int_equal(folder_entries(1), 1);
}

static void test_devices_are_written_to_and_stay(void **state)
{
    struct clab_output output;
    struct stat status;
    assert_int_equal(clab_output_open("/dev/null", &output), CLAB_OK);
    fputs("gone", output.file);
    assert_int_equal(clab_output_close(&output), CLAB_OK);
    assert_int_equal(stat("/dev/null", &status), 0);
    assert_true(S_ISCHR(status.st_mode));

    const struct capture log = capture_begin(STDERR_FILENO);
    assert_int_equal(clab_output_open("/dev/full", &output), CLAB_OK);
    fputs("no room", output.file);
    const int err = clab_output_close(&output);
    assert_one_line_with(capture_end(log), "No space left");
    assert_int_equal(err, CLAB_EIO);
}

// Standard output may be a file: what was printed before stays, and comes first.
static void test_standard_output_is_written_in_order(void **state)
{
    struct clab_output output;
    const struct capture screen = capture_begin(STDOUT_FILENO);
    printf("before ");
    const int err = clab_output_open("/dev/stdout", &output);
    if (!err) {
        fputs("within ", output.file);
        clab_output_close(&output);
    }
    printf("after");
    assert_string_equal(capture_end(screen), "before within after");
    assert_int_equal(err, CLAB_OK);
}

static void test_a_removed_file_takes_along_what_a_killed_writer_left(void **state)
{
    char left[1024], other[1024];
    const char *path = folder_path("removed");
    snprintf(left, sizeof left, "%s.a1B2c3", path);
    snprintf(other, sizeof other, "%s.longer-than-six", path);
    write_file(path, "whole"), write_file(left, "half"), write_file(other, "another's");
    clab_output_remove(path);
    assert_int_equal(folder_entries(1), 1);
    clab_output_remove(path); // nothing is there
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_new_file_appears_when_it_is_closed),
        cmocka_unit_test(test_an_old_file_is_replaced_whole_and_kept_when_abandoned),
        cmocka_unit_test(test_files_have_the_mode_of_any_other),
        cmocka_unit_test(test_a_link_stays_and_its_target_is_replaced),
        cmocka_unit_test(test_what_can_not_be_written_is_said_before_and_touches_nothing),
        cmocka_unit_test(test_a_check_makes_no_file),
        cmocka_unit_test(test_a_removed_file_takes_along_what_a_killed_writer_left),
        cmocka_unit_test(test_results_that_will_be_replaced_are_announced),
        cmocka_unit_test(test_a_failed_write_leaves_the_old_file_and_nothing_else),
        cmocka_unit_test(test_devices_are_written_to_and_stay),
        cmocka_unit_test(test_standard_output_is_written_in_order),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
