// SPDX-License-Identifier: MIT
// Texts: the words of lists with commas, also of lists that are empty or end early; a text that is cut where room ends.

#include "capture.h"

#include "base/text.h"

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
    (void)state;
    char text[64];
    assert_string_equal(words_of("ring", text), "[ring]");
    assert_string_equal(words_of("ring,tree,2-8", text), "[ring][tree][2-8]");
}

static void test_empty_words_are_words_but_for_a_comma_at_the_end(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(words_of("", text), "[]");
    assert_string_equal(words_of(",", text), "[]");
    assert_string_equal(words_of("ring,", text), "[ring]");
    assert_string_equal(words_of(",,ring", text), "[][][ring]");
    assert_string_equal(words_of("ring,,", text), "[ring][]");
}

static void test_a_list_has_whole_words_only(void **state)
{
    (void)state;
    assert_true(clab_list_has("ring,tree", "ring"));
    assert_true(clab_list_has("ring,tree", "tree"));
    assert_false(clab_list_has("ring,tree", "rin"));
    assert_false(clab_list_has("ring,tree", "trees"));
    assert_false(clab_list_has("ring,tree", "ring,tree"));
    assert_false(clab_list_has("", "ring"));
}

static void test_what_does_not_fit_is_cut(void **state)
{
    (void)state;
    char room[8];
    struct clab_text text = clab_text_begin(room, sizeof room);
    clab_text_add(&text, "%d %s", 12, "ranks");
    clab_text_add(&text, "more");
    assert_string_equal(room, "12 rank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_give_their_words_in_order),
        cmocka_unit_test(test_empty_words_are_words_but_for_a_comma_at_the_end),
        cmocka_unit_test(test_a_list_has_whole_words_only),
        cmocka_unit_test(test_what_does_not_fit_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
