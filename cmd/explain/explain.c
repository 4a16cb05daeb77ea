// SPDX-License-Identifier: MIT
// commlab explain: what the errors in a log mean, which came first, and what to do; and what NCCL's log tells of its
// network, channels, rings and trees.

#include "cmd/command.h"
#include "cmd/explain/explain.h"
#include "cmd/explain/lines.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/files/json.h"
#include "core/base/log.h"
#include "core/base/options.h"

static const char doc[] =
    "Explain a job's log: what its errors mean, which one came first, and what to do.\v"
    "The log is FILE, or comes from standard input. It may be of NCCL, PyTorch, Gloo, MPI, Slurm or commlab, with the "
    "lines of many ranks mixed. Causes are listed before what follows from them, with the number of the first line. "
    "Of NCCL's log (NCCL_DEBUG=INFO) it also lists version, ranks, network, channels, transports, rings and trees.\n\n"
    "Exit status: 0, something is explained; 4, nothing in the log is known; 1, the log can not be read to its end; 2, "
    "wrong usage; 3, the build lacks inih, or with --json jansson.\n\n"
    "Examples:\n  ./commlab explain < job.log\n  ./commlab explain --list";

enum { STATUS_NOTHING_KNOWN = 4 };

struct request {
    const char *log, *known; // files; NULL: standard input; none
    bool json, all, list, table;
};

static const struct clab_option options[] = {
    {"all", 0, NULL, "explain also what follows from the cause, with sources; list all rings", CLAB_ON(struct request, all)},
    {"json", 0, NULL, "print JSON", CLAB_ON(struct request, json)},
    {"known", 0, "FILE", "know also the errors of FILE, written as cmd/explain/errors.conf is",
     CLAB_TEXT_AT(struct request, known)},
    {"list", 0, NULL, "list all errors that are known, and read no log", CLAB_ON(struct request, list)},
    {"table", 0, NULL, "print the table of cmd/doctor/README.md, and read no log", CLAB_ON(struct request, table)},
    {0},
};

static int take_log(const char *text, void *into)
{
    struct request *request = into;
    if (request->log) {
        clab_error("explain takes one log, and there are '%s' and '%s': cat FILE... | ./commlab explain", request->log,
                   text);
        return CLAB_EINVAL;
    }
    request->log = text;
    return CLAB_OK;
}

// ---- the errors ----------------------------------------------------------------------------------------------

// Those of the user come first, so that they can be more special.
static int read_known(const char *path, struct known *known)
{
    struct clab_input input;
    if (path) {
        CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
        const int err = known_read(known, input.file, path);
        clab_input_close(&input);
        CLAB_TRY(err);
    }
    return known_read_own(known);
}

// ---- the log -------------------------------------------------------------------------------------------------

static int open_log(const char *path, FILE **file_p)
{
    if (path && strcmp(path, "-") != 0)
        return clab_input_stream(path, file_p);
    if (isatty(STDIN_FILENO)) {
        clab_error("explain: no log: name its FILE, or type ./commlab explain < FILE");
        return CLAB_EINVAL;
    }
    *file_p = stdin;
    return CLAB_OK;
}

// What no line shows by itself.
static void compare(struct known *known, const struct nccl_log *nccl)
{
    char text[2 * NCCL_TEXT + 64];
    for (int i = 1; i < nccl->versions.n; i++) {
        const char *first = nccl->versions.text[0], *other = nccl->versions.text[i];
        const size_t length = strcspn(first, "+"); // "2.21.5+cuda12.4"
        if (length == strcspn(other, "+") && strncmp(first, other, length) == 0)
            continue;
        snprintf(text, sizeof text, "NCCL version %s, but line %ld has %s", other, nccl->versions.first[0], first);
        known_note(known, "nccl-versions", text, nccl->versions.first[i]);
    }
    if (nccl->tuner_wanted > 0 && !nccl->tuner_used) {
        snprintf(text, sizeof text, "the tuner %s was asked for, and no line says that it is used",
                 nccl->tuner_wanted_text);
        known_note(known, "tuner-missing", text, nccl->tuner_wanted);
    }
}

static int read_log(FILE *file, struct known *known, struct nccl_log *nccl, struct explained *e)
{
    struct log_lines *lines = malloc(sizeof *lines);
    if (!lines)
        return CLAB_ENOMEM;
    *lines = log_lines_begin(file);
    while (log_lines_next(lines)) {
        known_look(known, lines->text, lines->number);
        nccl_log_take(nccl, lines->text, lines->number);
    }
    e->lines = lines->number;
    e->cut = lines->cut;
    e->is_over = lines->is_over;
    const bool failed = ferror(file);
    free(lines);
    if (failed)
        clab_error("%s: %m", e->name);
    compare(known, nccl);
    return failed ? CLAB_EIO : CLAB_OK;
}

static int explain(const struct request *request, struct known *known, struct nccl_log *nccl, int *status_p)
{
    FILE *file;
    CLAB_TRY(open_log(request->log, &file));
    struct explained e = {.name = request->log ? request->log : "standard input", .nccl = nccl};
    int err = read_log(file, known, nccl, &e);
    if (file != stdin)
        fclose(file);
    if (!err)
        err = known_found(known, &e.found, &e.n);
    if (!err && request->json)
        err = explain_print_json(&e, stdout);
    else if (!err)
        explain_print(&e, request->all, stdout);
    free(e.found);
    *status_p = e.n > 0 ? EXIT_SUCCESS : STATUS_NOTHING_KNOWN;
    return err;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[FILE]", .about = doc, .argument = take_log};
    struct request request = {0};
    struct known known = {0};
    int status = EXIT_SUCCESS;
    if (clab_options_parse(&line, argc, argv, &request))
        return STATUS_USAGE;
    int err = request.json ? clab_json_check() : CLAB_OK;
    if (!err)
        err = read_known(request.known, &known);
    struct nccl_log *nccl = err ? NULL : nccl_log_new();
    if (!err && !nccl)
        err = CLAB_ENOMEM;
    if (!err && request.list)
        explain_print_list(&known, stdout);
    else if (!err && request.table)
        explain_print_table(&known, stdout);
    else if (!err)
        err = explain(&request, &known, nccl, &status);
    free(nccl);
    known_free(&known);
    return err ? command_status(err) : status;
}

const struct clab_command cmd_explain = {"explain", "explain the errors of a job's log, and NCCL's choices", run};
