// SPDX-License-Identifier: MIT
// commlab card: alpha, beta, gamma and the rest, each with its unit and one sentence (cmd/lab/card.h).
//
// - A profile of a kit before 2026-11-28 does not say how fast a core computes: that is measured here and now.

#include "cmd/command.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/options.h"
#include "core/base/files/output.h"
#include "core/base/units.h"
#include "cmd/course/unit.h"
#include "cmd/kit/kit.h"
#include "cmd/lab/card.h"
#include "cmd/probe/flops.h"

// ---- in words ------------------------------------------------------------------------------------------------

static const char *cost_text(double cost, char text[CLAB_TEXT])
{
    const bool small = cost < 1e-9;
    snprintf(text, CLAB_TEXT, "%.4g %s", cost * (small ? 1e12 : 1e9), small ? "ps/B" : "ns/B");
    return text;
}

static void print_row(FILE *out, const char *name, const char *value, const char *sentence)
{
    fprintf(out, "%-8s %14s   %s\n", name, value, sentence);
}

static void print_link(FILE *out, const struct card_link *link, const char *suffix, const char *where)
{
    char name[16], value[CLAB_TEXT], rate[CLAB_TEXT], sentence[160];
    if (isnan(link->alpha))
        return;
    snprintf(name, sizeof name, "alpha%s", suffix);
    snprintf(sentence, sizeof sentence, "A message%s costs this, however short it is.", where);
    print_row(out, name, clab_seconds_text(link->alpha, value), sentence);
    snprintf(name, sizeof name, "beta%s", suffix);
    snprintf(sentence, sizeof sentence, "Each byte of a message%s costs this. That is %s.", where,
             link->beta > 0 ? clab_rate_text(1 / link->beta, rate) : "nothing");
    print_row(out, name, cost_text(link->beta, value), sentence);
}

static void print_links(FILE *out, const struct card *card)
{
    const bool both = !isnan(card->inside.alpha) && !isnan(card->between.alpha);
    print_link(out, &card->inside, both ? "_i" : "", both ? " between ranks of one node" : "");
    print_link(out, &card->between, both ? "_e" : "", both ? " between nodes" : "");
}

static void print_core(FILE *out, const struct card *card)
{
    char value[CLAB_TEXT];
    if (card->flops > 0) {
        const bool large = card->flops >= 1e12;
        snprintf(value, sizeof value, "%.4g %s", card->flops / (large ? 1e12 : 1e9), large ? "Tflop/s" : "Gflop/s");
        print_row(out, "compute", value, "One rank does so many additions and multiplications of floats per second.");
    }
    if (card->cores > 0) {
        snprintf(value, sizeof value, "%d", card->cores);
        print_row(out, "cores", value, "With more ranks than cores, ranks take turns.");
    }
    print_row(out, "line", clab_seconds_text(card->line, value),
              card->is_measured ? "Half a round trip of 8 bytes between two cores: the shortest message alone."
                                : "Half a round trip of a short message: alpha.");
    if (!isnan(card->copy))
        print_row(out, "copy", clab_rate_text(1 / card->copy, value),
                  "The fastest copy of one core, from memory to memory.");
}

static void card_print(const struct card *card, FILE *out)
{
    char value[CLAB_TEXT];
    fprintf(out, "# Machine card: %s\n", card->of);
    print_links(out, card);
    print_row(out, "gamma", cost_text(card->gamma, value),
              card->is_emulated ? "The cores add while the wire carries: adding takes no extra time."
                                : "Each byte that a rank adds to its own costs this.");
    print_core(out, card);
    fprintf(out, "A message of S bytes takes alpha + S beta. To add S bytes takes S gamma.\n");
    if (card->is_measured)
        fprintf(out, "These are costs of one call after another, as in the labs; a single call may cost less or more.\n");
    if (card->is_doubtful)
        clab_say_to(
            out, "These numbers can not be true: no message is faster than the fastest copy. Other programs ran while "
                 "they were measured. Close these, and type ./commlab fit again.\n");
}

// ---- the command ---------------------------------------------------------------------------------------------

static const struct clab_option options[] = {
    {"backend", 0, "NAME", "this machine, as `commlab fit --backend NAME` measured it (shm)",
     CLAB_TEXT_AT(struct card_request, backend)},
    {"net", 0, "NAME", "another network: `commlab nets` lists them", CLAB_TEXT_AT(struct card_request, net)},
    {"emulate", 0, "NAME", "the wire of this network between ranks of this machine",
     CLAB_TEXT_AT(struct card_request, emulate)},
    {0},
};

static const char doc[] =
    "Print the few numbers that predictions are computed with, each with its unit and one sentence.\v"
    "They are those that `commlab fit` measured on this machine, or those of a network. The card is also written to "
    "work/card.txt, that of a network to work/card-NAME.txt.\n\nExample: ./commlab card --net 1gbe";

// This machine's is card.txt, another one card-NAME.txt beside it.
static int keep(const struct card *card, const struct card_request *r)
{
    struct course course;
    struct clab_output output;
    char path[PATH_MAX], file[128] = "card.txt";
    const char *name = r->emulate ? r->emulate : r->net ? r->net : r->backend;
    if (name)
        snprintf(file, sizeof file, "card-%.80s.txt", strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
    int err = course_open(&course);
    if (!err)
        err = course_work_path(&course, "", path);
    if (!err)
        err = kit_make_folder(path);
    if (!err)
        err = course_work_path(&course, file, path);
    course_close(&course);
    CLAB_TRY(err);
    CLAB_TRY(clab_output_open(path, &output));
    card_print(card, output.file);
    CLAB_TRY(clab_output_close(&output));
    printf("# The same is in %s\n", kit_relative(path));
    return CLAB_OK;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {.options = options, .about = doc};
    struct card_request request = {0};
    struct card card;
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    if (request.emulate && request.net) {
        clab_error("card: --net %s, --emulate %s: give one of them", request.net, request.emulate);
        return STATUS_USAGE;
    }
    const int err = card_read(&request, &card);
    if (err)
        return command_status(err);
    if (isnan(card.flops))
        card.flops = probe_flops();
    card_print(&card, stdout);
    return command_status(keep(&card, &request));
}

const struct clab_command cmd_card = {"card", "the few numbers of a machine that predictions are computed with", run};
