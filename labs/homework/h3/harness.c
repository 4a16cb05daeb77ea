// SPDX-License-Identifier: MIT
// How the grader runs your mine.c: this program calls begin, ready and finish, and writes down what they call. You need not
// read it. To see what your code does, use try.c.
//
// - Reads the file `cases`, which the grader writes; writes the file `actions`. Each rank of each case is a process of its own, as in a real job,
//   so variables are each rank's own.
// - Nothing is computed here and no time is taken: the grader judges the order of the calls alone, in another process.
// - A rank's lines are written by its parent, when it has ended: "end" if it returned from all steps, else why not. After a
//   rank that computes without an end, no other is run.

#include "labs/homework/h3/step.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PARAMETERS = 256, RANKS = 16, RECORD = 1 << 20, TEXT = 1 << 20, SECONDS = 1 };

struct given {
    struct step_facts facts;
    int steps;
    size_t bytes[PARAMETERS];
    double seconds[PARAMETERS];
    int order[RANKS][PARAMETERS];
};

// What a rank has done, in memory that its parent sees.
struct record {
    size_t length;
    int is_over; // all steps have returned
    char text[RECORD];
};

struct step {
    const struct given *given;
    struct record *record;
    int actions, handles; // in this step
};

static void note(struct record *r, const char *format, ...)
{
    char line[96];
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    for (int i = 0; i < length && r->length < RECORD; i++)
        r->text[r->length++] = line[i];
}

// ---- what a student calls ------------------------------------------------------------------------------------------

// Whether one more is written down. What is too much ends the rank.
static void count(struct step *s)
{
    if (++s->actions <= STEP_ACTIONS)
        return;
    note(s->record, "many\n");
    _exit(0);
}

const struct step_facts *step_facts(const struct step *s)
{
    return &s->given->facts;
}

int step_reduce(struct step *s, int first, int amount)
{
    count(s);
    note(s->record, "reduce %d %d\n", first, amount);
    return s->handles++;
}

void step_wait(struct step *s, int handle)
{
    count(s);
    note(s->record, "wait %d\n", handle);
}

void step_scale(struct step *s, int first, int amount, double factor)
{
    count(s);
    note(s->record, "scale %d %d %.17g\n", first, amount, factor);
}

void step_update(struct step *s, int first, int amount)
{
    count(s);
    note(s->record, "update %d %d\n", first, amount);
}

// ---- one rank ------------------------------------------------------------------------------------------------------

static void run_step(struct step *s)
{
    const struct given *g = s->given;
    note(s->record, "step\n");
    s->actions = s->handles = 0;
    begin(s);
    for (int i = 0; i < g->facts.n; i++) {
        note(s->record, "ready %d\n", g->order[g->facts.rank][i]);
        ready(s, g->order[g->facts.rank][i]);
    }
    note(s->record, "finish\n");
    finish(s);
    note(s->record, "done\n");
}

static void run_rank(const struct given *g, struct record *record)
{
    const struct rlimit limit = {SECONDS, SECONDS}, none = {0, 0};
    struct step s = {.given = g, .record = record};
    setrlimit(RLIMIT_CPU, &limit); // of this rank's processor time, so a busy machine changes nothing
    setrlimit(RLIMIT_CORE, &none);
    for (int step = 0; step < g->steps; step++)
        run_step(&s);
    record->is_over = 1;
    _exit(0);
}

static void write_rank(const struct given *g, const struct record *record, int which, int status, FILE *file)
{
    fprintf(file, "rank %d %d\n", which, g->facts.rank);
    fwrite(record->text, 1, record->length < RECORD ? record->length : RECORD, file);
    if (WIFSIGNALED(status))
        fprintf(file, "\ndied %d\n", WTERMSIG(status));
    else
        fprintf(file, "\n%s\n", record->is_over ? "end" : "left");
}

// Not 0: no more ranks are to be run.
static int start_rank(struct given *g, int which, struct record *record, FILE *file)
{
    int status = 0;
    record->length = 0;
    record->is_over = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0)
        run_rank(g, record);
    if (waitpid(child, &status, 0) < 0)
        return -1;
    write_rank(g, record, which, status, file);
    return WIFSIGNALED(status) && (WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL);
}

// ---- all -----------------------------------------------------------------------------------------------------------

static int read_case(FILE *file, struct given *g)
{
    struct step_facts *f = &g->facts;
    if (fscanf(file, " case %d %d %d %lf %lf %lf %lf %lf", &f->ranks, &f->n, &g->steps, &f->backward, &f->alpha,
               &f->beta, &f->gamma, &f->memory) != 8)
        return -1;
    if (f->ranks < 1 || f->ranks > RANKS || f->n < 1 || f->n > PARAMETERS)
        return -1;
    for (int p = 0; p < f->n; p++)
        if (fscanf(file, "%zu %lf", &g->bytes[p], &g->seconds[p]) != 2)
            return -1;
    for (int rank = 0; rank < f->ranks; rank++)
        for (int i = 0; i < f->n; i++)
            if (fscanf(file, "%d", &g->order[rank][i]) != 1)
                return -1;
    f->bytes = g->bytes;
    f->seconds = g->seconds;
    return 0;
}

// The file's text as a stream without a descriptor, which a child that calls exit can not move on.
static FILE *open_text(const char *name)
{
    static char text[TEXT];
    FILE *file = fopen(name, "r");
    const size_t bytes = file ? fread(text, 1, sizeof text, file) : 0;
    if (file)
        fclose(file);
    return bytes ? fmemopen(text, bytes, "r") : NULL;
}

int main(void)
{
    static struct given g;
    FILE *cases = open_text("cases"), *file = fopen("actions", "w");
    struct record *record = mmap(NULL, sizeof *record, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!cases || !file || record == MAP_FAILED)
        return 2;
    for (int which = 0; read_case(cases, &g) == 0; which++)
        for (g.facts.rank = 0; g.facts.rank < g.facts.ranks; g.facts.rank++)
            if (start_rank(&g, which, record, file))
                return fclose(file) ? 2 : 0;
    return fclose(file) ? 2 : 0;
}
