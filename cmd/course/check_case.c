// SPDX-License-Identifier: MIT
// The cases of a check, their requirements, and what is asked of a run (check.h).

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/course/check_inside.h"
#include "cmd/kit/progress.h"
#include "cmd/lab/card.h"
#include "core/base/machine/called.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vector.h"

// ---- cases ---------------------------------------------------------------------------------------------------

static void forget_runs(struct check *c)
{
    for (int i = 0; i < c->nruns; i++) {
        free(c->runs[i]->rows);
        lab_results_free(&c->runs[i]->reports);
        free(c->runs[i]);
    }
    c->nruns = 0;
}

void check_end_case(struct check *c)
{
    if (c->is_open && !c->failed && !c->err) {
        kit_progress_clear();
        fprintf(c->out, "  ok   %d  %s\n", c->number, c->title);
        fflush(c->out);
        c->passed++;
    }
    c->is_open = false;
    forget_runs(c);
}

bool check_case(struct check *c, const char *title)
{
    check_end_case(c);
    c->number++;
    c->left += c->failed;
    if (c->failed || c->err || (c->wanted && c->wanted != c->number))
        return false;
    snprintf(c->title, sizeof c->title, "%s", title);
    c->is_open = true;
    kit_progress("  case %d: %s", c->number, title);
    return true;
}

// Print a text with `margin` before each line, broken before column 100.
static void print_wrapped(FILE *out, const char *margin, const char *text)
{
    const size_t most = 100 - strlen(margin);
    while (*text) {
        size_t length = strcspn(text, "\n");
        if (length > most) {
            for (length = most; length > most / 2 && text[length] != ' ';)
                length--;
        }
        fprintf(out, "%s%.*s\n", margin, (int)length, text);
        text += length;
        text += *text == '\n' || *text == ' ';
    }
}

// Fail the case with one or more lines of facts, ended by line breaks, and an advice (NULL: none): the first fact, what
// to do, and then the other facts, so that a reader who knows enough stops there.
static void fail(struct check *c, const char *facts, const char *advice)
{
    char first[CHECK_LINE];
    const size_t length = strcspn(facts, "\n");
    if (c->failed || c->err)
        return;
    c->failed = true;
    kit_progress_clear();
    fprintf(c->out, "  FAIL %d  %s\n", c->number, c->title);
    snprintf(first, sizeof first, "%.*s", (int)length, facts);
    print_wrapped(c->out, "          ", first);
    char *said = advice ? clab_called_text(advice) : NULL;
    if (said)
        print_wrapped(c->out, "       -> ", said);
    free(said);
    print_wrapped(c->out, "          ", facts + length + (facts[length] == '\n'));
    fflush(c->out);
}

bool check_require(struct check *c, bool holds, const char *advice, const char *format, ...)
{
    char facts[CHECK_LINE];
    va_list arguments;
    if (holds || c->failed)
        return holds;
    va_start(arguments, format);
    vsnprintf(facts, sizeof facts, format, arguments);
    va_end(arguments);
    fail(c, facts, advice);
    return false;
}

const char *check_file(struct check *c, const char *name)
{
    const char *slash = strrchr(c->source, '/');
    const int length = slash ? (int)(slash - c->source) + 1 : 0;
    snprintf(c->file, sizeof c->file, "%.*s%s", length, c->source, name);
    return c->is_mine || (!c->is_ours && access(c->file, F_OK) == 0) ? c->file : NULL;
}

void check_advise(struct check *c, enum check_failure failure, const char *advice)
{
    c->advice[failure] = advice;
}

void check_advise_when(struct check *c, enum check_failure failure, const char *pattern, const char *advice)
{
    if (c->nspecial < CHECK_SPECIAL) {
        c->special[c->nspecial++] = (struct check_special){failure, pattern, advice};
        return;
    }
    clab_error("check %s: check.c calls check_advise_when more than %d times; raise CHECK_SPECIAL", c->unit, CHECK_SPECIAL);
    c->err = CLAB_EINVAL;
}

static bool matches(const char *pattern, const char *text)
{
    regex_t compiled;
    if (regcomp(&compiled, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0)
        return false;
    const bool found = regexec(&compiled, text, 0, NULL, 0) == 0;
    regfree(&compiled);
    return found;
}

static const char *find_advice(const struct check *c, enum check_failure failure, const char *facts)
{
    for (int i = 0; i < c->nspecial; i++)
        if (c->special[i].failure == failure && matches(c->special[i].pattern, facts))
            return c->special[i].advice;
    return c->advice[failure];
}

// ---- runs ----------------------------------------------------------------------------------------------------

static const struct check_run no_run = {.command = ""};

// Cut `command` into words, in place.
static void cut(char *command, char *argv[])
{
    int n = 0;
    for (char *word = strtok(command, " "); word && n < CHECK_WORDS - 1; word = strtok(NULL, " "))
        argv[n++] = word;
    argv[n] = NULL;
}

static struct check_run *find_run(const struct check *c, const char *command, int hosts)
{
    for (int i = 0; i < c->nruns; i++)
        if (!strcmp(c->runs[i]->command, command) && c->runs[i]->hosts == hosts)
            return c->runs[i];
    return NULL;
}

static struct check_run *add_run(struct check *c, const char *command, int ranks, int hosts)
{
    struct check_run *run = calloc(1, sizeof *run);
    if (!run || CLAB_PUSH(c->runs, c->nruns, c->room, run) != CLAB_OK) {
        free(run);
        c->err = CLAB_ENOMEM;
        return NULL;
    }
    snprintf(run->command, sizeof run->command, "%s", command);
    run->ranks = ranks;
    run->hosts = hosts;
    return run;
}

//   out: how it failed, or CHECK_FAILURES; facts
static enum check_failure start_once(struct check *c, struct check_run *run, char facts[2 * CHECK_LINE])
{
    char command[CHECK_LINE], *argv[CHECK_WORDS] = {NULL};
    enum check_failure failure = CHECK_FAILURES;
    snprintf(command, sizeof command, "%s", run->command);
    snprintf(c->by_hand, sizeof c->by_hand, "%s", run->hosts ? "" : run->command + strcspn(run->command, " "));
    cut(command, argv);
    argv[0] = c->program;
    facts[0] = '\0';
    c->err = (run->hosts ? check_hosts_start : check_start)(c, run, argv, &failure, facts);
    return failure;
}

// A rank has not come to where all meet: to clab_job_open, mostly. On a busy machine that says nothing about the program.
static bool lacks_rank(enum check_failure failure, const char *facts)
{
    return failure == CHECK_HANGS && matches("rendezvous: .* did not arrive within", facts);
}

// Programs that want a core, for each core: 2 and more slow all ranks down.
static double load(void)
{
    double jobs;
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return getloadavg(&jobs, 1) == 1 && cores > 0 ? jobs / (double)cores : 0;
}

// No verdict: this says nothing about the program.
static void give_up(struct check *c)
{
    kit_progress_clear();
    clab_error("check %s: case %d can not be judged: this machine is too busy to start all ranks within 30 s (%.0f programs "
               "want each core). That says nothing about your program. Close other programs, and type the check again",
               c->unit, c->number, load());
    c->err = CLAB_ETIMEOUT;
}

// The same, again with more time if a rank has not come.
static enum check_failure start(struct check *c, struct check_run *run, char facts[2 * CHECK_LINE])
{
    enum check_failure failure = start_once(c, run, facts);
    if (c->err || c->is_patient || !lacks_rank(failure, facts))
        return failure;
    c->is_patient = true;
    kit_progress("  case %d: a rank is late; this waits longer", c->number);
    failure = start_once(c, run, facts);
    if (!c->err && lacks_rank(failure, facts) && load() >= 2)
        give_up(c);
    return failure;
}

static const char late_rank[] =
    "A rank did not start within 30 s. If other programs run here, close them and check again. If none do: what does that "
    "rank do before clab_job_open?";

static void fail_run(struct check *c, const struct check_run *run, enum check_failure failure, char facts[2 * CHECK_LINE])
{
    snprintf(facts + strlen(facts), 2 * CHECK_LINE - strlen(facts), "(the run was: %s%s)", run->command,
             run->hosts > 1 ? ", on two hosts"
             : run->hosts   ? ", under commlab run"
                            : "");
    c->has_crashed = matches("was killed by signal ([4-8]|11) ", facts);
    const bool is_late = lacks_rank(failure, facts) && strstr(facts, "clab_job_open");
    fail(c, facts, is_late ? late_rank : find_advice(c, failure, facts));
}

static void perform(struct check *c, struct check_run *run)
{
    char facts[2 * CHECK_LINE];
    const enum check_failure failure = start(c, run, facts);
    if (!c->err && failure != CHECK_FAILURES)
        fail_run(c, run, failure, facts);
}

static const struct check_run *find_or_run(struct check *c, const char *command, int ranks, int hosts)
{
    struct check_run *run = find_run(c, command, hosts);
    if (run)
        return run;
    run = add_run(c, command, ranks, hosts);
    if (run)
        perform(c, run);
    return run && !c->failed && !c->err ? run : &no_run;
}

static void name_run(char command[CHECK_LINE], const char *backend, const char *net, int ranks, const char *arguments)
{
    snprintf(command, CHECK_LINE, "mine -n %d%s%s%s%s%s%s", ranks, backend ? " --backend " : "",
             backend ? backend : "", net ? " --net " : "", net ? net : "", arguments && *arguments ? " " : "",
             arguments ? arguments : "");
}

const struct check_run *check_run(struct check *c, const char *backend, const char *net, int ranks,
                                  const char *arguments)
{
    char command[CHECK_LINE];
    if (c->failed || c->err || !c->is_open)
        return &no_run;
    name_run(command, backend, net, ranks, arguments);
    return find_or_run(c, command, ranks, 0);
}

// Its launchers have the number of ranks.
const struct check_run *check_run_hosts(struct check *c, int hosts, int ranks, const char *arguments)
{
    char command[CHECK_LINE];
    if (c->failed || c->err || !c->is_open)
        return &no_run;
    snprintf(command, sizeof command, "mine%s%s", arguments && *arguments ? " " : "", arguments ? arguments : "");
    return find_or_run(c, command, ranks, hosts);
}

// ---- runs that must fail --------------------------------------------------------------------------------------

// Whether a line of the last run's messages fits.
static bool has_complained(const struct check *c, const char *pattern)
{
    char path[PATH_MAX + 16], *line = NULL;
    size_t room = 0;
    bool found = false;
    regex_t compiled;
    snprintf(path, sizeof path, "%s/complaints", c->folder);
    FILE *file = fopen(path, "re");
    if (file && regcomp(&compiled, pattern, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0) {
        while (!found && getline(&line, &room, file) > 0)
            found = regexec(&compiled, line, 0, NULL, 0) == 0;
        regfree(&compiled);
    }
    free(line);
    if (file)
        fclose(file);
    return found;
}

bool check_refuses(struct check *c, const char *backend, const char *net, int ranks, const char *arguments,
                   const char *pattern, const char *wanted, const char *advice)
{
    char facts[2 * CHECK_LINE];
    struct check_run run = {.ranks = ranks};
    if (c->failed || c->err || !c->is_open)
        return false;
    name_run(run.command, backend, net, ranks, arguments);
    const enum check_failure failure = start(c, &run, facts);
    free(run.rows);
    lab_results_free(&run.reports);
    if (c->err)
        return false;
    if (failure == CHECK_HANGS)
        fail_run(c, &run, failure, facts);
    check_require(c, failure != CHECK_FAILURES, advice,
                  "got exit status 0, expected another: it must refuse its arguments\n(the run was: %s)", run.command);
    return check_require(c, has_complained(c, pattern), advice, "got no message %s, expected one\n(the run was: %s)", wanted,
                         run.command);
}

// ---- what is asked of a run ----------------------------------------------------------------------------------

static bool is_job(const struct clab_count_row *row)
{
    return !strcmp(row->span, "job");
}

// Span number `index` of a rank whose name is `span` (NULL: any name); NULL: there is none.
static const struct clab_count_row *find_span(const struct check_run *run, int rank, const char *span, int index)
{
    for (int i = 0; i < run->nrows; i++) {
        const struct clab_count_row *row = &run->rows[i];
        if (row->rank == rank && !is_job(row) && (!span || !strcmp(row->span, span)) && index-- == 0)
            return row;
    }
    return NULL;
}

static const struct clab_count_row *find_job(const struct check_run *run, int rank)
{
    for (int i = 0; i < run->nrows; i++)
        if (run->rows[i].rank == rank && is_job(&run->rows[i]))
            return &run->rows[i];
    return NULL;
}

int check_ranks(const struct check_run *run)
{
    return run->ranks;
}

const char *check_backend(const struct check_run *run)
{
    return run->nrows ? run->rows[0].backend : "";
}

struct clab_counts check_total(const struct check_run *run, int rank)
{
    const struct clab_count_row *row = find_job(run, rank);
    return row ? row->counts : (struct clab_counts){0};
}

struct clab_counts check_span(const struct check_run *run, int rank, const char *span, int index)
{
    const struct clab_count_row *row = find_span(run, rank, span, index);
    return row ? row->counts : (struct clab_counts){0};
}

struct clab_counts check_most(const struct check_run *run, const char *span, int index)
{
    struct clab_counts most = {0};
    for (int rank = 0; rank < run->ranks; rank++) {
        const struct clab_counts one = span ? check_span(run, rank, span, index) : check_total(run, rank);
        most = clab_counts_most(&most, &one);
    }
    return most;
}

int check_spans(const struct check_run *run, int rank, const char *span)
{
    int n = 0;
    while (find_span(run, rank, span, n))
        n++;
    return n;
}

const char *check_span_name(const struct check_run *run, int rank, int i)
{
    const struct clab_count_row *row = find_span(run, rank, NULL, i);
    return row ? row->span : "";
}

double check_reported(const struct check_run *run, const char *quantity)
{
    return lab_series_median(lab_results_find(&run->reports, LAB_AFTER, run->ranks, quantity));
}

double check_message(struct check *c, const char *net, double bytes)
{
    struct card card;
    const struct card_request request = {.net = net};
    if (!check_require(c, card_read(&request, &card) == CLAB_OK, "Run ./commlab doctor.", "there is no network %s", net))
        return NAN;
    const struct card_link *link = isnan(card.inside.alpha) ? &card.between : &card.inside;
    return link->alpha + bytes * link->beta;
}

bool check_sum(struct check *c, const struct check_run *run, const char *quantity, double expected)
{
    const double got = check_reported(run, quantity);
    return check_require(c, got == expected,
                         "Your program does not compare its sums any more, or not the right ones. Put the lines with "
                         "lab_data_poison, lab_data_check and lab_report back as they are in before.c.",
                         "rank 0, reported as %s: got %.17g, expected %.17g", quantity, got, expected);
}

bool check_has(struct check *c, const struct check_run *run, const char *span, int least)
{
    for (int rank = 0; rank < run->ranks; rank++) {
        const int n = check_spans(run, rank, span);
        if (!check_require(c, n >= least,
                           "The check counts between the lines that begin and end this span. Put them back as they "
                           "are in before.c.",
                           "rank %d, spans named '%s': got %d, expected at least %d", rank, span, n, least))
            return false;
    }
    return !c->failed;
}

size_t check_collectives(const struct clab_counts *counts)
{
    size_t n = 0;
    for (int kind = 0; kind < CLAB_COLLECTIVE_COUNT; kind++)
        n += kind == CLAB_BARRIER ? 0 : counts->collectives[kind];
    return n;
}

double check_exposed(const struct check_run *run, const char *span, int index)
{
    double most = 0;
    for (int rank = 0; rank < run->ranks; rank++) {
        const struct clab_counts one = check_span(run, rank, span, index);
        most = fmax(most, one.seconds - one.computed);
    }
    return most;
}
