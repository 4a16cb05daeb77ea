// SPDX-License-Identifier: MIT
// Settings are handed over with their lines; what is malformed is named by file and line.

#include "tests/fixtures/capture.h"

#include "core/base/files/conf.h"
#include "core/base/err.h"
#include "core/base/files/input.h"
#include "tests/fixtures/needs.h"

struct seen {
    char text[512];
    int stop_at; // refuse the setting of this line
};

static int note(void *context, const struct clab_setting *s)
{
    struct seen *seen = context;
    char one[128];
    if (s->line == seen->stop_at)
        return CLAB_EINVAL;
    snprintf(one, sizeof one, "%d[%s]%s=%s;", s->line, s->section, s->name, s->value);
    strncat(seen->text, one, sizeof seen->text - strlen(seen->text) - 1);
    return CLAB_OK;
}

static int read_path(const char *path, struct seen *seen)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    const int err = clab_conf_read(input.file, path, note, seen);
    clab_input_close(&input);
    return err;
}

static int read_bytes(const char *text, size_t bytes, struct seen *seen)
{
    const char *path = folder_path("a.conf");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
    return read_path(path, seen);
}

static int read_text(const char *text, struct seen *seen)
{
    return read_bytes(text, strlen(text), seen);
}

static void test_settings_come_in_order_with_section_and_line(void **state)
{
    needs_inih();
    struct seen seen = {0};
    assert_int_equal(read_text("; a remark\nx = 1\n[one]\n# another\ny = a b ; remark\n\n[two]\nz=3", &seen), CLAB_OK);
    assert_string_equal(seen.text, "2[]x=1;5[one]y=a b;8[two]z=3;");
}

static void test_an_empty_file_has_no_settings(void **state)
{
    needs_inih();
    struct seen seen = {0};
    assert_int_equal(read_text("", &seen), CLAB_OK);
    assert_string_equal(seen.text, "");
}

static void test_a_malformed_line_is_named(void **state)
{
    needs_inih();
    struct seen seen = {0};
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = read_text("[one]\nx = 1\nnonsense\n", &seen);
    assert_one_line_with(capture_end(capture), "a.conf:3: expected '[section]' or 'name = value'");
    assert_int_equal(err, CLAB_EPARSE);
}

static void test_a_line_is_never_cut(void **state)
{
    needs_inih();
    struct seen seen = {0};
    char longest[256] = "x = ", longer[300];
    memset(longest + 4, 'a', 194); // 198 in all
    snprintf(longer, sizeof longer, "%sa\n", longest);
    assert_int_equal(read_text(longest, &seen), CLAB_OK);
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = read_text(longer, &seen);
    assert_one_line_with(capture_end(capture), "a.conf:1: a line has at most 198 characters");
    assert_int_equal(err, CLAB_EPARSE);
}

static void test_a_key_is_given_once_in_a_section(void **state)
{
    needs_inih();
    struct seen seen = {0};
    assert_int_equal(read_text("[one]\nx = 1\n[two]\nx = 1\n", &seen), CLAB_OK);
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = read_text("[one]\nx = 1\n[two]\ny = 1\n[one]\nx = 1\n", &seen);
    assert_one_line_with(capture_end(capture), "a.conf:6: [one]: this key was given before: x");
    assert_int_equal(err, CLAB_EPARSE);
}

static void test_the_name_of_a_section_is_never_cut(void **state)
{
    needs_inih();
    struct seen seen = {0};
    char text[128], section[64] = "";
    memset(section, 's', 49);
    snprintf(text, sizeof text, "x = 1\n[%s]\ny = 2\n", section);
    assert_int_equal(read_text(text, &seen), CLAB_OK);
    assert_text_has(seen.text, section);
    snprintf(text, sizeof text, "x = 1\n[%ss]\ny = 2\n", section);
    const struct capture capture = capture_begin(STDERR_FILENO);
    const int err = read_text(text, &seen);
    assert_one_line_with(capture_end(capture), "a.conf:2: the name of a section has at most 49 characters");
    assert_int_equal(err, CLAB_EPARSE);
}

static void test_what_follows_a_zero_byte_is_not_dropped(void **state)
{
    needs_inih();
    static const char *const texts[] = {"x = 1\ny = 2%cz\n", "x = 1\ny = 2%cz"}; // the latter ends without a newline
    for (size_t i = 0; i < 2; i++) {
        struct seen seen = {0};
        char text[32];
        const size_t bytes = (size_t)snprintf(text, sizeof text, texts[i], 0);
        const struct capture capture = capture_begin(STDERR_FILENO);
        const int err = read_bytes(text, bytes, &seen);
        assert_one_line_with(capture_end(capture), "a.conf:2: a zero byte: this is no text");
        assert_int_equal(err, CLAB_EPARSE);
    }
}

// inih alone would take the third line for more of the value of x.
static void test_indentation_means_nothing(void **state)
{
    needs_inih();
    struct seen seen = {0};
    assert_int_equal(read_text("[one]\nx = 1\n  y = 2\n\t[two]\n  z = 3\n  ", &seen), CLAB_OK);
    assert_string_equal(seen.text, "2[one]x=1;3[one]y=2;5[two]z=3;");
}

static void test_a_refused_setting_ends_the_reading(void **state)
{
    needs_inih();
    struct seen seen = {.stop_at = 2};
    assert_int_equal(read_text("a = 1\nb = 2\nc = 3\n", &seen), CLAB_EINVAL);
    assert_string_equal(seen.text, "1[]a=1;");
}

static void test_what_can_not_be_read_is_named(void **state)
{
    needs_inih();
    struct seen seen = {0};
    struct capture capture = capture_begin(STDERR_FILENO);
    int err = read_path(folder_path("none"), &seen);
    assert_one_line_with(capture_end(capture), "/none: No such file or directory");
    assert_int_equal(err, CLAB_ENOENT);
    capture = capture_begin(STDERR_FILENO);
    err = read_path(test_folder, &seen);
    assert_one_line_with(capture_end(capture), ": Is a directory");
    assert_int_equal(err, CLAB_ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_come_in_order_with_section_and_line),
        cmocka_unit_test(test_an_empty_file_has_no_settings),
        cmocka_unit_test(test_a_malformed_line_is_named),
        cmocka_unit_test(test_a_line_is_never_cut),
        cmocka_unit_test(test_a_key_is_given_once_in_a_section),
        cmocka_unit_test(test_the_name_of_a_section_is_never_cut),
        cmocka_unit_test(test_what_follows_a_zero_byte_is_not_dropped),
        cmocka_unit_test(test_indentation_means_nothing),
        cmocka_unit_test(test_a_refused_setting_ends_the_reading),
        cmocka_unit_test(test_what_can_not_be_read_is_named),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
