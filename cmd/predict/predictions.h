// SPDX-License-Identifier: MIT
// predict.txt: what a student expects of a lab, before running it.
//
//   [./commlab lab 07 -n 4]                               the command that measures what follows
//   before time/by_hand/8 = ____ us     # a comment       a number with its unit; 5..10 us is a range
//   after time/{ring,tree}/8 = ____ < ____                an order: the words in braces, the smallest first
//   ratio time/ring/8 > 1 = ____                          yes or no
//   crossover time/by_hand time/ring = ____ KiB           from which size on the second is the smaller one
//   least time/bucket = ____ KiB                          the size with the least time
//   gradients = ____ MB                                   a free value, which no program reports
//
// - predictions.c reads the lines; cmd/lab/asked_check.c holds them to the lab's own file, to lab.conf and to the card.
// - Each mistake is one line with file and line number. What was read is of the file's own words: nothing is trusted
//   before the check.
// - labs/README.md describes the form for students and for authors.
#pragma once

#include <stdbool.h>
#include <stddef.h>


enum {
    PREDICTION_NAME = 96,
    PREDICTION_UNIT = 16,
    PREDICTION_COMMENT = 160,
    PREDICTION_WORDS = 8, // of an order
    PREDICTION_COMMAND = 96,
    PREDICTIONS = 64, // in a file
    PREDICTION_SECTIONS = 8,
    PREDICTION_WHERE = 64,
};

enum prediction_kind { PREDICTION_NUMBER, PREDICTION_ORDER, PREDICTION_YES_NO };

enum prediction_source {
    PREDICTION_FREE, // no program reports it; in an order: either of them does
    PREDICTION_BEFORE,
    PREDICTION_AFTER,
    PREDICTION_RATIO,
    PREDICTION_CROSSOVER,
    PREDICTION_LEAST,
    PREDICTION_SOURCES
};

// What a name means: "before time/ring/8" is of before, "time/ring/8".
struct prediction_subject {
    enum prediction_source source;
    char quantity[PREDICTION_NAME], other[PREDICTION_NAME]; // other: the second one of a crossover
};

struct prediction {
    int line, section; // section: its number, from 0
    enum prediction_kind kind;
    // What stands before the "=", with single blanks, and the same without a comparison: "before time/by_hand/8".
    char title[PREDICTION_NAME], name[PREDICTION_NAME];
    char unit[PREDICTION_UNIT], comment[PREDICTION_COMMENT];
    bool is_blank, asks_range;
    double low, high; // in `unit`; of yes or no: 1 or 0
    // Orders: the words of the braces, and which of them stands at each place.
    char words[PREDICTION_WORDS][PREDICTION_NAME];
    int nwords, places[PREDICTION_WORDS];
    // Yes or no: the comparison.
    char relation; // '<' or '>'
    double limit;
    char limit_unit[PREDICTION_UNIT];
};

// The command of a section, taken apart. Empty texts and 0: it does not say.
struct prediction_section {
    int line;
    char command[PREDICTION_COMMAND]; // with single blanks
    char lab[PREDICTION_WHERE], backend[PREDICTION_WHERE], net[PREDICTION_WHERE], emulate[PREDICTION_WHERE];
    int ranks;
};

struct predictions {
    char *path;
    struct prediction_section sections[PREDICTION_SECTIONS];
    struct prediction items[PREDICTIONS];
    int nsections, count;
};

// Read `bytes` bytes of text; lines that refuse it call it `path`. Freed by predictions_free.
//   out:    **p_p, on success only
//   errors: CLAB_EPARSE (logged), CLAB_ENOMEM
int predictions_parse(const char *text, size_t bytes, const char *path, struct predictions **p_p);
// The same of a file.  errors: those of clab_input_open, too
int predictions_load(const char *path, struct predictions **p_p);
void predictions_free(struct predictions *p);

// Blanks that are left, and answers.
int predictions_blanks(const struct predictions *p);

// Read an answer to `item`, as it stands behind the "=": into its copy *answer_p.  errors: CLAB_EPARSE (logged; the
// line begins with `where`)
int prediction_answer(const struct prediction *item, const char *text, const char *where, struct prediction *answer_p);
// The same as text, "5..10 us", "ring < tree", "yes" or "____ us".
const char *prediction_text(const struct prediction *item, char text[], size_t room);

// The name of the word `i` of an order: "before time/ring/8".
void prediction_expand(const struct prediction *item, int i, char name[PREDICTION_NAME]);
void prediction_subject(const char *name, struct prediction_subject *subject_p);

// ---- several files -----------------------------------------------------------------------------------------

// Whether the section with that command has an answer.
bool predictions_answers(const struct predictions *p, const char *command);

// The item of `p` in the section with that command and of that name; NULL: there is none.
const struct prediction *predictions_find(const struct predictions *p, const char *command,
                                          const struct prediction *like);
