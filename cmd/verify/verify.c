// SPDX-License-Identifier: MIT
// commlab verify: prove every algorithm, and its stated cost, for every number of ranks P and every root.
// - Every P with the algorithm's own lanes. Small P also with 1 to 4 lanes, and with every number of ranks per node.

#include "cmd/command.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/options.h"
#include "core/base/files/table.h"
#include "core/base/units.h"
#include "core/schedule/verify/verify.h"
#include "cmd/kit/load.h"
#include "cmd/kit/progress.h"

enum { MAX_RANKS = 512, SMALL_RANKS = 12, SMALL_LANES = 4, SHOWN_FLAWS = 3, SHOWN_RANKS = 16 };

struct arguments {
    const char **names; // (nnames): algorithms to verify; none: all
    int nnames;
    bool one_collective;
    enum clab_collective collective;
    int low, high;                // ranks
    const char *goal, *msccl;     // a file to prove instead; NULL: none
    struct clab_listing *listing; // its schedule
};

// The findings about one algorithm.
struct proof {
    const struct clab_algorithm *algorithm;
    long problems, flaws;
    int proved[MAX_RANKS + 1];   // problems proved with that many ranks
    struct clab_problem largest; // the last one proved with the algorithm's own lanes
    struct clab_verify_result result; // of that
    double seconds;
};

// ---- proving -------------------------------------------------------------------------------------------------

static void report_flaw(const struct clab_problem *problem, const struct clab_algorithm *algorithm,
                        const struct clab_verify_result *result)
{
    printf("%s %s, %d ranks, root %d, lanes %d, group %d: %s: %s\n", clab_collective_name(problem->collective),
           algorithm->name, problem->nranks, problem->root, problem->lanes, problem->group,
           clab_flaw_text(result->flaw), result->text);
}

static int prove_problem(struct clab_verifier *verifier, const struct clab_problem *problem, struct proof *proof)
{
    struct clab_verify_result result;
    if (!proof->algorithm->supports(problem))
        return CLAB_OK;
    int err = clab_verify(verifier, problem, proof->algorithm, &result);
    if (err == CLAB_ENOMEM)
        return err;
    proof->problems++;
    if (err != CLAB_OK && proof->flaws++ < SHOWN_FLAWS)
        report_flaw(problem, proof->algorithm, &result);
    if (err != CLAB_OK)
        return CLAB_OK;
    if (problem->nranks <= MAX_RANKS) // a file may have more
        proof->proved[problem->nranks]++;
    if (problem->lanes == proof->algorithm->default_lanes && problem->group == 0) {
        proof->largest = *problem;
        proof->result = result;
    }
    return CLAB_OK;
}

// Proves a case of few ranks with other numbers of lanes, and with every number of ranks per node.
static int prove_variants(struct clab_verifier *verifier, struct clab_problem problem, struct proof *proof)
{
    int own = problem.lanes;
    for (problem.lanes = 1; problem.lanes <= SMALL_LANES; problem.lanes++)
        if (problem.lanes != own)
            CLAB_TRY(prove_problem(verifier, &problem, proof));
    problem.lanes = own;
    for (problem.group = 1; problem.group <= problem.nranks; problem.group++)
        CLAB_TRY(prove_problem(verifier, &problem, proof));
    return CLAB_OK;
}

// A file is of one problem.
static int prove_listing(struct clab_verifier *verifier, const struct clab_listing *listing, struct proof *proof)
{
    const double start = clab_now();
    const int err = prove_problem(verifier, &listing->problem, proof);
    proof->seconds = clab_now() - start;
    return err;
}

static int prove(struct clab_verifier *verifier, const struct arguments *arguments, struct proof *proof)
{
    const struct clab_algorithm *algorithm = proof->algorithm;
    double start = clab_now();
    for (int ranks = arguments->low; ranks <= arguments->high; ranks++) {
        if (ranks % SHOWN_RANKS == 0)
            kit_progress("verify: %s %s, %d of %d ranks", clab_collective_name(proof->algorithm->collective),
                         proof->algorithm->name, ranks, arguments->high);
        int roots = clab_collective_rooted(algorithm->collective) ? ranks : 1;
        for (int root = 0; root < roots; root++) {
            struct clab_problem problem = {algorithm->collective, ranks, root, algorithm->default_lanes, 0, 0, NULL};
            if (ranks <= SMALL_RANKS)
                CLAB_TRY(prove_variants(verifier, problem, proof));
            CLAB_TRY(prove_problem(verifier, &problem, proof));
        }
    }
    proof->seconds = clab_now() - start;
    return CLAB_OK;
}

// ---- the table -----------------------------------------------------------------------------------------------

static const struct clab_column columns[] = {
    {"collective", NULL, NULL, CLAB_KIND_TEXT, -14, 0, NULL},
    {"algorithm", NULL, NULL, CLAB_KIND_TEXT, -17, 0, NULL},
    {"ranks_proved", "ranks", "proved", CLAB_KIND_TEXT, 8, 0, NULL},
    {"cases", NULL, NULL, CLAB_KIND_INTEGER, 8, 0, NULL},
    {"stages", NULL, "/rank", CLAB_KIND_INTEGER, 7, 0, "at largest rank count"},
    {"rounds", NULL, "alpha", CLAB_KIND_INTEGER, 6, 0, "at largest rank count"},
    {"sent", NULL, "buffers", CLAB_KIND_REAL, 9, 3, "at largest rank count"},
    {"seconds", "time", "s", CLAB_KIND_REAL, 6, 3, NULL},
};

enum { NCOLUMNS = sizeof columns / sizeof *columns };

// The ranks that were proved, as ranges: "1-64", "1-2,4,8".
static void ranges_text(const struct proof *proof, char *text, size_t room)
{
    size_t used = 0;
    *text = '\0';
    for (int first = 1, last; first <= MAX_RANKS && used < room; first = last + 1) {
        last = first;
        if (!proof->proved[first])
            continue;
        while (last < MAX_RANKS && proof->proved[last + 1])
            last++;
        used += (size_t)snprintf(text + used, room - used, first == last ? "%s%d" : "%s%d-%d", used ? "," : "", first,
                                 last);
    }
}

// Bytes that the busiest rank sends, as a multiple of the whole buffer's.
static double bytes_sent(const struct proof *proof)
{
    const struct clab_problem *problem = &proof->largest;
    double chunks = (double)clab_problem_blocks(problem) * problem->lanes * proof->algorithm->chunks(problem);
    return (double)proof->result.found.sent_max / chunks;
}

static const char *name_of(const struct proof *proof)
{
    return proof->largest.nranks > 0 ? clab_problem_name(&proof->largest)
                                     : clab_collective_name(proof->algorithm->collective);
}

static int add_row(struct clab_table *table, const struct proof *proof)
{
    char ranks[64];
    bool any = proof->largest.nranks > 0, moves = any && proof->largest.collective != CLAB_BARRIER;
    ranges_text(proof, ranks, sizeof ranks);
    if (any && proof->largest.nranks > MAX_RANKS)
        snprintf(ranks, sizeof ranks, "%d", proof->largest.nranks);
    return clab_table_add_row(table, (const struct clab_cell[NCOLUMNS]){
                                         clab_cell_text(name_of(proof)),
                                         clab_cell_text(proof->algorithm->name),
                                         clab_cell_text(*ranks ? ranks : NULL),
                                         clab_cell_integer(proof->problems),
                                         any ? clab_cell_integer(proof->result.stages) : clab_cell_none(),
                                         any ? clab_cell_integer(proof->result.found.rounds) : clab_cell_none(),
                                         moves ? clab_cell_real(bytes_sent(proof)) : clab_cell_none(),
                                         clab_cell_real(proof->seconds),
                                     });
}

// ---- all algorithms ------------------------------------------------------------------------------------------

static bool is_asked_for(const struct arguments *arguments, const struct clab_algorithm *algorithm)
{
    if (arguments->one_collective && algorithm->collective != arguments->collective)
        return false;
    for (int i = 0; i < arguments->nnames; i++)
        if (!strcmp(arguments->names[i], algorithm->name))
            return true;
    return arguments->nnames == 0;
}

static const uint64_t *set_of(const struct clab_listing *l, int rank, int chunk)
{
    const size_t words = (size_t)(l->problem.nranks + 63) / 64;
    return l->end_sets + ((size_t)rank * (size_t)l->chunks + (size_t)chunk) * words;
}

static bool is_same_set(const struct clab_listing *l, int rank, int a, int b)
{
    return !memcmp(set_of(l, rank, a), set_of(l, rank, b), (size_t)(l->problem.nranks + 63) / 64 * sizeof(uint64_t));
}

static void print_origin(const struct clab_listing *l, int rank, int chunk)
{
    const struct clab_end *end = &l->ends[(size_t)rank * (size_t)l->chunks + (size_t)chunk];
    const uint64_t *set = set_of(l, rank, chunk);
    const char *comma = "";
    printf(end->n == 1 ? "rank " : end->origin == CLAB_EVERYONE ? "the sum of all ranks" : "the sum of ranks ");
    for (int i = 0; i < l->problem.nranks && end->origin != CLAB_EVERYONE; i++)
        if (set[i / 64] >> i % 64 & 1) {
            printf("%s%d", comma, i);
            comma = " ";
        }
}

struct summary {
    int algorithms;
    long problems, flaws;
};

static int prove_one(struct clab_verifier *verifier, const struct arguments *arguments,
                     const struct clab_algorithm *algorithm, struct clab_table *table, struct summary *sum)
{
    struct proof proof = {.algorithm = algorithm};
    const int err = arguments->listing ? prove_listing(verifier, arguments->listing, &proof)
                                       : prove(verifier, arguments, &proof);
    kit_progress_clear();
    CLAB_TRY(err);
    CLAB_TRY(add_row(table, &proof));
    clab_table_print_row(table, clab_table_rows(table) - 1, stdout);
    sum->algorithms++;
    sum->problems += proof.problems;
    sum->flaws += proof.flaws;
    return CLAB_OK;
}

static int prove_all(struct clab_verifier *verifier, const struct arguments *arguments, struct clab_table *table,
                     struct summary *sum)
{
    if (arguments->listing)
        return prove_one(verifier, arguments, &arguments->listing->algorithm, table, sum);
    for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++) {
        if (is_asked_for(arguments, *a))
            CLAB_TRY(prove_one(verifier, arguments, *a, table, sum));
    }
    return CLAB_OK;
}

static void print_range(int first, int end)
{
    if (end > first + 1)
        printf("chunks %d to %d", first, end - 1);
    else
        printf("chunk %d", first);
}

// Of a collective of the file's own: what each chunk of each rank's result is.
static void print_ends(const struct clab_listing *l)
{
    printf("# what the steps make of the ranks' inputs, since the file does not say what the result is:\n");
    for (int rank = 0; rank < l->problem.nranks; rank++)
        for (int c = 0, next; c < l->outputs[rank]; c = next) {
            const struct clab_end *ends = l->ends + (size_t)rank * (size_t)l->chunks;
            for (next = c + 1; next < l->outputs[rank] && ends[next].chunk == ends[c].chunk + next - c &&
                               is_same_set(l, rank, c, next);)
                next++;
            printf("#   rank %d, ", rank);
            print_range(c, next);
            printf(": ");
            print_range(ends[c].chunk, ends[c].chunk + next - c);
            printf(" of ");
            print_origin(l, rank, c);
            printf("\n");
        }
}

static void print_summary(const struct summary *sum, double seconds)
{
    printf("# a case: one number of ranks, root, number of lanes, and number of ranks per node\n"
           "# rounds: messages one after another, each costs one alpha; sent: by the busiest rank, in whole buffers\n"
           "# %d algorithm%s, %ld cases, %.2f s: ",
           sum->algorithms, sum->algorithms == 1 ? "" : "s", sum->problems, seconds);
    if (sum->flaws)
        printf("%ld FLAWED\n", sum->flaws);
    else if (sum->problems == 0)
        printf("nothing to prove\n");
    else
        printf("all proved\n");
}

static int verify(const struct arguments *arguments)
{
    double start = clab_now();
    struct clab_verifier *verifier;
    struct clab_table table;
    struct summary sum = {0};
    CLAB_TRY(clab_verifier_create(&verifier));
    clab_table_init(&table, columns, NCOLUMNS);
    clab_table_print_header(&table, stdout);
    int err = prove_all(verifier, arguments, &table, &sum);
    clab_table_free(&table);
    clab_verifier_free(verifier);
    if (err != CLAB_OK) {
        clab_error("verify: %s", clab_strerror(err));
        return err;
    }
    if (clab_listing_is_custom(arguments->listing))
        print_ends(arguments->listing);
    print_summary(&sum, clab_now() - start);
    return sum.flaws || !sum.problems ? CLAB_EWRONG : CLAB_OK;
}

// ---- the command line ----------------------------------------------------------------------------------------

static const char doc[] =
    "Prove that algorithms (all, unless named) compute their collectives and that their stated costs are exact.\v"
    "The verifier replays each schedule for every number of ranks and every root. Instead of numbers, it keeps in each "
    "chunk the set of ranks that contributed. So a proof holds for every count, type and operation. A send waits for "
    "its receive, so that buffers hide no deadlock. The exit status is 1 if an algorithm is wrong.";

static int take_ranks(const char *flag, const char *text, void *into)
{
    struct arguments *arguments = into;
    char low[16];
    const char *dash = strchr(text, '-');
    size_t length = dash ? (size_t)(dash - text) : strlen(text);
    if (length < sizeof low) {
        memcpy(low, text, length);
        low[length] = '\0';
        if (clab_parse_int(low, 1, MAX_RANKS, &arguments->low) == CLAB_OK &&
            clab_parse_int(dash ? dash + 1 : low, arguments->low, MAX_RANKS, &arguments->high) == CLAB_OK)
            return 0;
    }
    return clab_refuse(flag, text, "a number or a range such as 1-64, within 1 and 512");
}

static int take_collective(const char *flag, const char *text, void *into)
{
    struct arguments *arguments = into;
    const int number = clab_names_find(&clab_collective_names, flag, text, strlen(text));
    arguments->one_collective = true;
    arguments->collective = number < 0 ? CLAB_ALLREDUCE : (enum clab_collective)number;
    return number < 0 ? CLAB_EINVAL : CLAB_OK;
}

static int take_name(const char *text, void *into)
{
    struct arguments *arguments = into;
    arguments->names[arguments->nnames++] = text;
    return CLAB_OK;
}

static const struct clab_option options[] = {
    {"collective", 'c', "NAME", "only the algorithms of this collective", CLAB_CALL(take_collective)},
    {"ranks", 'n', "LOW-HIGH", "ranks to prove them for, within 1 and 512 (1-64)", CLAB_CALL(take_ranks)},
    {"goal", 0, "FILE", "prove a schedule of stages in GOAL instead: that each message is received, and no ranks wait in a "
                        "circle",
     CLAB_TEXT_AT(struct arguments, goal)},
    {"msccl", 0, "FILE", "prove a schedule in MSCCL's XML instead: its result, and that no order of its thread blocks "
                         "gives another",
     CLAB_TEXT_AT(struct arguments, msccl)},
    {0},
};

// The file is proved while it is read: what is wrong is one line.
static int take_file(struct arguments *arguments)
{
    const char *path = arguments->goal ? arguments->goal : arguments->msccl;
    if (!path)
        return CLAB_OK;
    if (arguments->nnames || arguments->one_collective) {
        clab_error("verify: --%s %s: the file says which collective and algorithm it is; name no other",
                   arguments->goal ? "goal" : "msccl", path);
        return CLAB_EINVAL;
    }
    return load_listing(arguments->goal, arguments->msccl, &arguments->listing);
}

// Check that every name is an algorithm, of the given collective if there is one.
static bool names_are_known(const struct arguments *arguments)
{
    for (int i = 0; i < arguments->nnames; i++) {
        struct arguments one = *arguments;
        bool known = false;
        struct clab_nearest nearest = clab_nearest_to(arguments->names[i], strlen(arguments->names[i]));
        one.names = &arguments->names[i];
        one.nnames = 1;
        for (const struct clab_algorithm *const *a = clab_algorithms; *a; a++)
            if (is_asked_for(&one, *a))
                known = true;
            else if (!one.one_collective || (*a)->collective == one.collective)
                clab_nearest_offer(&nearest, (*a)->name);
        if (!known) {
            clab_error("verify: there is no algorithm '%s'%s%s%s; `commlab show` lists them", one.names[0],
                       one.one_collective ? " of " : "", one.one_collective ? clab_collective_name(one.collective) : "",
                       clab_nearest_hint(&nearest));
            return false;
        }
    }
    return true;
}

static int run(int argc, char **argv)
{
    static const struct clab_command_line line = {
        .options = options, .arguments = "[ALGORITHM...]", .about = doc, .argument = take_name};
    struct arguments arguments = {.names = calloc((size_t)argc, sizeof(char *)), .low = 1, .high = 64};
    if (!arguments.names)
        return EXIT_FAILURE;
    const bool is_wrong = clab_options_parse(&line, argc, argv, &arguments) || !names_are_known(&arguments);
    const int err = is_wrong ? CLAB_EINVAL : take_file(&arguments);
    const int status = is_wrong ? STATUS_USAGE
                       : err    ? command_status(err)
                                : verify(&arguments) == CLAB_OK ? EXIT_SUCCESS : EXIT_FAILURE;
    clab_listing_free(arguments.listing);
    free(arguments.names);
    return status;
}

const struct clab_command cmd_verify = {"verify", "prove that algorithms are right and their stated costs exact", run};
