// SPDX-License-Identifier: MIT
// Homework h2: an allreduce for one's own cluster, written as a stage function. Proved at every number of ranks, counted,
// and priced in virtual time on the student's cluster and on a hidden one.

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/files/output.h"
#include "core/base/text.h"
#include "cmd/grade/homework.h"
#include "cmd/grade/seed.h"
#include "labs/homework/h2/advice.h"
#include "labs/homework/h2/price.h"
#include "labs/homework/h2/schedule.h"

static const char own_seed[] = "h2 cluster", hidden_seed[] = "h2 hidden cluster";

// What is asked of the student's code, in this order: 1 to 16 ranks, the student's own and a hidden cluster, and some that
// tell mistakes apart. If it crashes, those before count.
enum { FIRST, LAST = FIRST + 15, OWN, HIDDEN, EVEN, EVEN_3, DEALT, DEALT_3, ORDERED, ORDERED_10, CASES };
enum { MOST_BYTES = 48 << 20 };

struct h2 {
    struct grading *grading;
    struct h2_cluster clusters[CASES];
    struct h2_scale scales[CASES]; // of OWN and HIDDEN
    struct h2_schedule schedules[CASES];
    struct grading_run runs[2]; // of all cases; of those from OWN on, where the first did not come so far
    bool is_read[2];            // its result
    int stopped[2];             // the case that the run did not come back from; CASES: there is none
    int by[CASES];              // which run a case belongs to
    bool is_told;               // advice about bytes was given
};

// ---- the clusters ------------------------------------------------------------------------------------------------------

static int choose(struct h2 *h2)
{
    uint64_t seed;
    CLAB_TRY(homework_seed(NULL, grading_student(h2->grading), own_seed, &seed));
    CLAB_TRY(h2_cluster_choose(seed, &h2->clusters[OWN], &h2->scales[OWN]));
    CLAB_TRY(h2_cluster_choose(grading_seed(h2->grading, hidden_seed, true), &h2->clusters[HIDDEN], &h2->scales[HIDDEN]));
    for (int i = FIRST; i <= LAST; i++)
        h2_cluster_places(seed, i - FIRST + 1, &h2->clusters[i]);
    h2_cluster_even(8, 2, &h2->clusters[EVEN]);
    h2_cluster_even(12, 3, &h2->clusters[EVEN_3]);
    h2_cluster_dealt(8, 2, &h2->clusters[DEALT]);
    h2_cluster_dealt(12, 3, &h2->clusters[DEALT_3]);
    h2_cluster_ordered(7, &h2->clusters[ORDERED]);
    h2_cluster_ordered(10, &h2->clusters[ORDERED_10]);
    for (int i = 0; i < CASES; i++)
        if (i != HIDDEN)
            h2->clusters[i].bytes = h2->clusters[OWN].bytes;
    return CLAB_OK;
}

// ---- what the code says ------------------------------------------------------------------------------------------------

// One run of the student's code, on the cases from `first` on.
static void ask(struct h2 *h2, int which, int first)
{
    char question[CASES * 96];
    struct clab_text text = clab_text_begin(question, sizeof question);
    for (int i = first; i < CASES; i++) {
        h2_schedule_ask(&h2->clusters[i], &text);
        h2->by[i] = which;
    }
    grading_give(h2->grading, "ask", question, strlen(question));
    h2->runs[which] = grading_run(h2->grading, "ask schedules", GRADING_RUN_SECONDS);
}

static int read_all(struct h2 *h2, int which, int first)
{
    struct h2_words words = {0};
    struct clab_verifier *verifier;
    size_t bytes = 0;
    words.data = grading_file(h2->grading, "schedules", MOST_BYTES, &bytes);
    h2->is_read[which] = words.data != NULL;
    words.count = words.data ? bytes / sizeof(int32_t) : 0;
    h2->stopped[which] = CASES;
    CLAB_TRY(clab_verifier_create(&verifier));
    int err = CLAB_OK;
    for (int i = first; i < CASES && !err; i++) {
        err = h2_schedule_read(&words, &h2->clusters[i], verifier, &h2->schedules[i]);
        if (!h2->schedules[i].is_there && i < h2->stopped[which])
            h2->stopped[which] = i;
    }
    clab_verifier_free(verifier);
    return err;
}

// A loop without an end at 16 ranks does not cost the time on the own cluster: that is asked once more, in a run of its own.
static int ask_all(struct h2 *h2)
{
    ask(h2, 0, FIRST);
    CLAB_TRY(read_all(h2, 0, FIRST));
    if (h2->runs[0].ended || h2->stopped[0] >= OWN)
        return CLAB_OK;
    for (int i = OWN; i < CASES; i++)
        h2_schedule_free(&h2->schedules[i]);
    ask(h2, 1, OWN);
    return read_all(h2, 1, OWN);
}

// ---- the proof ---------------------------------------------------------------------------------------------------------

static bool proved(const struct h2 *h2, int i)
{
    return h2->schedules[i].is_proved;
}

static void note(struct h2 *h2, const char *key, const char *text)
{
    if (*text)
        grading_note(h2->grading, key, "%s", text);
}

// Why there is no schedule for a case: what became of the run, or of the case that it did not come back from.
static void say_absent(const struct h2 *h2, int i, struct clab_text *text)
{
    const int which = h2->by[i], stopped = h2->stopped[which];
    const struct h2_cluster *earlier = &h2->clusters[stopped < CASES ? stopped : i];
    char hosts[64];
    if (!h2->is_read[which])
        clab_text_add(text, "%s", h2->runs[which].ended ? "your code left no result that can be read, a plain file of at most 48 MiB"
                                                        : h2->runs[which].why);
    else if (h2->runs[which].ended)
        clab_text_add(text, "your code ended before this one was whole: does it call exit(), or write more than 48 MiB of steps?");
    else if (stopped < i)
        clab_text_add(text, "not asked, since your code did not come back from an earlier one, %d rank%s on hosts %s",
                      earlier->nranks, earlier->nranks == 1 ? "" : "s",
                      h2_cluster_hosts(earlier, hosts, sizeof hosts));
    else
        clab_text_add(text, "%s", h2->runs[which].why);
}

// Why a case has no proof: what was seen, in one sentence.
static const char *why(const struct h2 *h2, int i, char *text_p, size_t room)
{
    const struct h2_schedule *s = &h2->schedules[i];
    struct clab_text text = clab_text_begin(text_p, room);
    char hosts[64];
    clab_text_add(&text, "with %d rank%s on hosts %s: ", h2->clusters[i].nranks, h2->clusters[i].nranks == 1 ? "" : "s",
                  h2_cluster_hosts(&h2->clusters[i], hosts, sizeof hosts));
    if (!s->is_there && !s->text[0])
        say_absent(h2, i, &text);
    else
        clab_text_add(&text, "%s%s%s", s->flaw > 0 ? clab_flaw_text((enum clab_flaw)s->flaw) : "", s->flaw > 0 ? ": " : "",
                      s->text);
    return text_p;
}

static void explain(struct h2 *h2, int i)
{
    char text[H2_ADVICE], hosts[64];
    struct h2_pattern pattern = {.even = proved(h2, EVEN) && proved(h2, EVEN_3),
                                 .dealt = proved(h2, DEALT) && proved(h2, DEALT_3),
                                 .ordered = proved(h2, ORDERED) && proved(h2, ORDERED_10)};
    for (int P = 1; P <= 16; P++)
        pattern.proved[P] = proved(h2, FIRST + P - 1);
    // What all cases have in common is the mistake; what one of them shows may only follow from it.
    note(h2, "proof", *h2_advice_pattern(&pattern, text) ? text : h2_advice_proof(&h2->schedules[i], &h2->clusters[i], text));
    grading_note(
        h2->grading, "proof",
        "to see its stages: build/labcc -o work/h2/try work/h2/mine.c labs/homework/h2/try.c && work/h2/try %s%s",
        h2->clusters[i].nranks > 8 ? "--stages " : "", h2_cluster_hosts(&h2->clusters[i], hosts, sizeof hosts));
}

static void judge_proof(struct h2 *h2)
{
    char reason[900];
    int n = 0, first = -1;
    for (int i = FIRST; i <= LAST; i++) {
        n += proved(h2, i);
        first = first < 0 && !proved(h2, i) ? i : first;
    }
    if (first < 0) {
        grading_award(h2->grading, "proof", 1, "proved for 1 to 16 ranks");
        return;
    }
    // One rank has its sum before anything happens.
    grading_award(h2->grading, "proof", n > 1 ? n / 16.0 : 0, "proved for %d of 16 numbers of ranks; not %s", n,
                  why(h2, first, reason, sizeof reason));
    explain(h2, first);
}

// ---- what goes between hosts -------------------------------------------------------------------------------------------

// 1 for the least that is possible, 0 for twice as much. What is not proved has sent nothing that counts.
static double thrift(const struct h2_schedule *schedule)
{
    const struct h2_traffic *t = &schedule->traffic;
    const double share = 2 - t->sent / t->least;
    return !schedule->is_proved || share < 0 ? 0 : share > 1 - 1e-9 ? 1 : share;
}

static void judge_bytes(struct h2 *h2)
{
    char text[H2_ADVICE];
    double sum = 0;
    int worst = FIRST + 1, counted = 0;
    for (int i = FIRST + 1; i <= LAST; i++) {
        const double share = thrift(&h2->schedules[i]);
        sum += share;
        counted += proved(h2, i);
        worst = proved(h2, i) && (!proved(h2, worst) || share < thrift(&h2->schedules[worst])) ? i : worst;
    }
    const struct h2_schedule *s = &h2->schedules[worst];
    if (!s->is_proved) {
        grading_fail(h2->grading, "bytes", "no schedule between hosts is proved, so there is none to count");
        return;
    }
    if (sum == 15) {
        grading_award(h2->grading, "bytes", 1, "with 2 to 16 ranks, no host sends more than the least that is possible");
        return;
    }
    char hosts[64];
    if (thrift(s) == 1) {
        grading_award(h2->grading, "bytes", sum / 15,
                      "%d of 15 numbers of ranks are proved, and count: there, no host sends more than the least that is possible. Make the "
                      "others right first",
                      counted);
        return;
    }
    grading_award(h2->grading, "bytes", sum / 15,
                  "%d of 15 numbers of ranks are proved, and count. The worst, %d ranks on hosts %s: host %d sends %.2f times "
                  "the array to other hosts; %.2f is the least",
                  counted, h2->clusters[worst].nranks, h2_cluster_hosts(&h2->clusters[worst], hosts, sizeof hosts),
                  s->traffic.host, s->traffic.sent, s->traffic.least);
    note(h2, "bytes", h2_advice_bytes(s, &h2->clusters[worst], text));
    h2->is_told = *text;
}

// ---- time --------------------------------------------------------------------------------------------------------------

// 0 for the best shipped algorithm, a half for the best one with ranks in the order of hosts, 1 for the reference.
static double speed(const struct h2_scale *scale, double seconds)
{
    if (seconds <= scale->reference * (1 + 1e-9))
        return 1;
    if (seconds <= scale->ordered)
        return 0.5 + 0.5 * (scale->ordered - seconds) / (scale->ordered - scale->reference);
    return seconds < scale->shipped ? 0.5 * (scale->shipped - seconds) / (scale->shipped - scale->ordered) : 0;
}

static int price(const struct h2 *h2, int i, double *seconds_p)
{
    const struct clab_listing *l = h2->schedules[i].listing;
    struct clab_net *net;
    CLAB_TRY(h2_cluster_net(&h2->clusters[i], &net));
    const int err = h2_price(&h2->clusters[i], h2->clusters[i].member, net, &l->problem, &l->algorithm, seconds_p);
    clab_net_free(net);
    return err;
}

static void judge_time(struct h2 *h2, int i, const char *key)
{
    const struct h2_scale *scale = &h2->scales[i];
    char text[H2_ADVICE];
    double seconds;
    if (!proved(h2, i)) {
        char reason[900];
        grading_fail(h2->grading, key, "not proved, so it has no time: %s", why(h2, i, reason, sizeof reason));
        return;
    }
    if (price(h2, i, &seconds)) {
        grading_fail(h2->grading, key, "the simulator could not price it: tell your teacher");
        return;
    }
    grading_award(h2->grading, key, speed(scale, seconds),
                  "%.2f ms; your teacher's solution, the reference, %.2f ms; the kit's best algorithm %.2f ms (%s), with ranks in the order of hosts %.2f ms (%s); "
                  "nobody can be below %.2f ms",
                  1e3 * seconds, 1e3 * scale->reference, 1e3 * scale->shipped, scale->shipped_name, 1e3 * scale->ordered,
                  scale->ordered_name, 1e3 * scale->bound);
    if (speed(scale, seconds) < 1)
        note(h2, key, h2_advice_time(&h2->schedules[i], &h2->clusters[i], h2->is_told, text));
    if (i == OWN)
        grading_rank(h2->grading, seconds / scale->bound);
}

// ---- grading -----------------------------------------------------------------------------------------------------------

static int judge(struct h2 *h2)
{
    CLAB_TRY(choose(h2));
    CLAB_TRY(ask_all(h2));
    judge_proof(h2);
    judge_bytes(h2);
    judge_time(h2, OWN, "time");
    judge_time(h2, HIDDEN, "hidden");
    return CLAB_OK;
}

static void grade(struct grading *g)
{
    if (!grading_build(g, "labs/homework/h2/harness.c"))
        return;
    struct h2 *h2 = calloc(1, sizeof *h2);
    const int err = h2 ? (h2->grading = g, judge(h2)) : CLAB_ENOMEM;
    if (err)
        grading_fail(g, NULL, "the grader could not do it: %s", clab_strerror(err));
    for (int i = 0; h2 && i < CASES; i++)
        h2_schedule_free(&h2->schedules[i]);
    free(h2);
}

// ---- starting ----------------------------------------------------------------------------------------------------------

// The times between which points lie are no secret: the grader says them, too. try.c reads them from here.
static void write_known(const struct h2_scale *scale, FILE *file)
{
    fprintf(file,
            "\n# What is known of this cluster, in the simulator's virtual time:\n"
            "#   the reference, your teacher's solution: %.2f ms. So much, or less, gives all points\n"
            "#   the best of the kit's own algorithms, with your ranks where they are: %.2f ms (%s). So much gives none\n"
            "#   the best of them, if ranks stood in the order of hosts: %.2f ms (%s). So much gives half\n",
            1e3 * scale->reference, 1e3 * scale->shipped, scale->shipped_name, 1e3 * scale->ordered, scale->ordered_name);
}

static int write_network(const struct h2_cluster *cluster, const struct h2_scale *scale, const char *student,
                         const char *path)
{
    char text[4096];
    struct clab_output output;
    h2_cluster_text(cluster, student, text, sizeof text);
    CLAB_TRY(clab_output_open(path, &output));
    fputs(text, output.file);
    write_known(scale, output.file);
    return clab_output_close(&output);
}

static int start(const char *student, const char *folder)
{
    struct h2_cluster cluster;
    struct h2_scale scale;
    uint64_t seed;
    char *path;
    CLAB_TRY(homework_seed(NULL, student, own_seed, &seed));
    CLAB_TRY(h2_cluster_choose(seed, &cluster, &scale));
    if (asprintf(&path, "%s/network.net", folder) < 0)
        return CLAB_ENOMEM;
    const int err = write_network(&cluster, &scale, student, path);
    if (!err)
        printf("  work/h2/network.net (your cluster: %d ranks on %d hosts)\n", cluster.nranks, cluster.nhosts);
    free(path);
    return err;
}

// ---- in person -----------------------------------------------------------------------------------------------------

// How often a ring in the order of ranks leaves a host: that of the busiest one.
static int most_crossings(const struct h2_cluster *cluster, int *sum_p)
{
    int count[H2_HOSTS] = {0}, most = 0;
    *sum_p = 0;
    for (int rank = 0; rank < cluster->nranks; rank++) {
        const int host = cluster->host[rank];
        if (cluster->host[(rank + 1) % cluster->nranks] == host)
            continue;
        ++*sum_p;
        most = ++count[host] > most ? count[host] : most;
    }
    return most;
}

static int ask_in_person(const char *student, struct homework_question q[HOMEWORK_QUESTIONS])
{
    struct h2_cluster c;
    struct h2_scale scale;
    char hosts[64];
    uint64_t seed;
    int sum;
    CLAB_TRY(homework_seed(NULL, student, own_seed, &seed));
    CLAB_TRY(h2_cluster_choose(seed, &c, &scale));
    const double least = 2.0 * (c.nhosts - 1) / c.nhosts, part = 2.0 * (c.nranks - 1) / c.nranks;
    const int most = most_crossings(&c, &sum);
    snprintf(q[0].question, HOMEWORK_QUESTION,
             "Your cluster has %d ranks on %d hosts, and adds up %zu MiB; between hosts there are %d Mbit/s. How many bytes must each "
             "adapter send, whatever the algorithm, and how long does that take?",
             c.nranks, c.nhosts, c.bytes >> 20, c.mbits);
    snprintf(q[0].answer, HOMEWORK_QUESTION,
             "2 (S-1)/S times the array, with S = %d hosts: %.3g MiB, which take %.4g ms. Each host sends (S-1)/S of the array while the "
             "sums are made, and as much again while they are given out.",
             c.nhosts, least * (double)c.bytes / (1 << 20), 1e3 * scale.bound);
    snprintf(q[1].question, HOMEWORK_QUESTION,
             "Your ranks are on hosts %s. Take a ring from rank to rank + 1. How often does it pass to another host, and how much does the "
             "busiest host send?",
             h2_cluster_hosts(&c, hosts, sizeof hosts));
    snprintf(q[1].answer, HOMEWORK_QUESTION,
             "%d times of %d. The busiest host's ranks pass on %d times, each time 2 (P-1)/P = %.3g times the array: %.3g times in all. In the order "
             "of hosts it would be %.3g, and the least is %.3g.",
             sum, c.nranks, most, part, most * part, part, least);
    return CLAB_OK;
}

static const struct homework_test tests[] = {
    {"proof", "the sum is right on every rank, for 1 to 16 ranks on any hosts", 30, false},
    {"bytes", "no host sends more to others than it must", 15, false},
    {"time", "simulated time on your own cluster", 20, false},
    {"hidden", "simulated time on a cluster that you have not seen", 15, true},
    {0},
};

const struct homework HOMEWORK = {
    .title = "An allreduce for your own cluster",
    .file = "mine.c",
    .tests = tests,
    .leaderboard = "time, as a multiple of what the adapters need",
    .grade = grade,
    .start = start,
    .ask = ask_in_person,
};
