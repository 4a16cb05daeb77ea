// SPDX-License-Identifier: MIT
// Texts: the words of lists with commas, also of lists that are empty or end early; a text that is cut where room ends.

#include "tests/fixtures/capture.h"

#include "core/base/text.h"

// The words of a list in brackets: "[ring][tree]".
static const char *words_of(const char *list, char text[64])
{
    struct clab_text all = clab_text_begin(text, 64);
    size_t length;
    for (const char *word; (word = clab_list_next(&list, &length));)
        clab_text_add(&all, "[%.*s]", (int)length, word);
    return text;
}

static void test_lists_give_their_words_in_order(void **state)
{
    char text[64];
    assert_string_equal(words_of("ring", text), "[ring]");
    assert_string_equal(words_of("ring,tree,2-8", text), "[ring][tree][2-8]");
}

static void test_empty_words_are_words_but_for_a_comma_at_the_end(void **state)
{
    char text[64];
    assert_string_equal(words_of("", text), "[]");
    assert_string_equal(words_of(",", text), "[]");
    assert_string_equal(words_of("ring,", text), "[ring]");
    assert_string_equal(words_of(",,ring", text), "[][][ring]");
    assert_string_equal(words_of("ring,,", text), "[ring][]");
}

static void test_a_list_has_whole_words_only(void **state)
{
    assert_true(clab_list_has("ring,tree", "ring"));
    assert_true(clab_list_has("ring,tree", "tree"));
    assert_false(clab_list_has("ring,tree", "rin"));
    assert_false(clab_list_has("ring,tree", "trees"));
    assert_false(clab_list_has("ring,tree", "ring,tree"));
    assert_false(clab_list_has("", "ring"));
}

static void test_what_does_not_fit_is_cut(void **state)
{
    char room[8];
    struct clab_text text = clab_text_begin(room, sizeof room);
    clab_text_add(&text, "%d %s", 12, "ranks");
    clab_text_add(&text, "more");
    assert_string_equal(room, "12 rank");
}

// Of each length the first and last character, what lies just beyond, and what ends early.
static void test_utf8_is_told_from_other_bytes(void **state)
{
    static const char *const good[] = {"",
                                       "a",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "10 \xc2\xb5s"};
    static const char *const bad[] = {"\x80",
                                      "a\xff",
                                      "\xc2",
                                      "\xc1\xbf",
                                      "\xe0\x9f\xbf",
                                      "\xed\xa0\x80",
                                      "\xed\xbf\xbf",
                                      "\xe2\x82",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf4\x90\x80\x80",
                                      "\xf8\x88\x80\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (!clab_is_utf8(good[i]))
            fail_msg("good text %zu is refused", i);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char copy[16];
        if (clab_is_utf8(bad[i]))
            fail_msg("bad text %zu is taken", i);
        strcpy(copy, bad[i]);
        clab_make_utf8(copy);
        assert_true(clab_is_utf8(copy) && strlen(copy) == strlen(bad[i]));
    }
    char text[] = "a\xff\xc2\xb5\xe2\x82";
    clab_make_utf8(text);
    assert_string_equal(text, "a?\xc2\xb5??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_give_their_words_in_order),
        cmocka_unit_test(test_empty_words_are_words_but_for_a_comma_at_the_end),
        cmocka_unit_test(test_a_list_has_whole_words_only),
        cmocka_unit_test(test_what_does_not_fit_is_cut),
        cmocka_unit_test(test_utf8_is_told_from_other_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
