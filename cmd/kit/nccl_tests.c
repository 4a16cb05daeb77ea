// SPDX-License-Identifier: MIT
// What the programs of nccl-tests print (nccl_tests.h).

#include "cmd/kit/nccl_tests.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"

enum { LINE = 4096, MOST_RANKS = 1 << 20 };
enum { LEAST_LEAD = 3 }; // size, count and type

static int cut(char *line, char *words[TESTS_WORDS])
{
    int n = 0;
    char *rest;
    for (char *word = strtok_r(line, " \t\r\n", &rest); word && n < TESTS_WORDS;
         word = strtok_r(NULL, " \t\r\n", &rest))
        words[n++] = word;
    return n;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

// ---- labels ------------------------------------------------------------------------------------------------------

// "[1,0]", and perhaps "<stdout>:" behind it.
static char *behind_brackets(char *line)
{
    char *at = line + 1 + strspn(line + 1, "0123456789,");
    if (at == line + 1 || *at != ']')
        return line;
    at++;
    if (strncmp(at, "<stdout>:", 9) == 0 || strncmp(at, "<stderr>:", 9) == 0)
        return at + 9;
    return at + (*at == ' ');
}

// "0: "; srun pads the number.
static char *behind_colon(char *line)
{
    char *number = line + strspn(line, " "), *at = number + strspn(number, "0123456789");
    return at > number && at[0] == ':' && at[1] == ' ' ? at + 2 : line;
}

char *tests_unlabelled(char *line)
{
    return *line == '[' ? behind_brackets(line) : behind_colon(line);
}

// ---- the line above the table ------------------------------------------------------------------------------------

static bool is_time(const char *word)
{
    return is_one_of(word, "time", "cputime");
}

static int find_wrong(char *const words[], int n)
{
    for (int i = 0; i < n; i++)
        if (is_one_of(words[i], "#wrong", "error") || strcmp(words[i], "res") == 0)
            return i;
    return -1;
}

static void take_lead(char *const words[], struct tests_head *head)
{
    head->op = head->root = -1;
    for (int i = LEAST_LEAD; i < head->first; i++) {
        if (is_one_of(words[i], "redop", "op"))
            head->op = i;
        if (strcmp(words[i], "root") == 0)
            head->root = i;
    }
}

static bool take_placements(char *const words[], int n, struct tests_head *head)
{
    int times[TESTS_PLACEMENTS], found = 0;
    for (int i = 0; i < n; i++)
        if (is_time(words[i]) && found++ < TESTS_PLACEMENTS)
            times[found - 1] = i;
    if (found < 1 || found > TESTS_PLACEMENTS || times[0] < LEAST_LEAD)
        return false;
    head->has_date = strcmp(words[n - 1], "timestamp") == 0;
    head->columns = n - head->has_date;
    head->first = times[0];
    head->placements = found;
    head->width = found == 2 ? times[1] - times[0] : head->columns - times[0];
    head->wrong = find_wrong(words + head->first, head->width);
    return head->width >= 3 && head->first + found * head->width == head->columns &&
           strcmp(words[head->first + 1], "algbw") == 0 && strcmp(words[head->first + 2], "busbw") == 0;
}

bool tests_head_read(const char *line, struct tests_head *head_p)
{
    char text[LINE], *words[TESTS_WORDS];
    struct tests_head head = {0};
    line += strspn(line, " \t");
    if (*line != '#' || strlen(line) >= sizeof text)
        return false;
    strcpy(text, line + 1);
    const int n = cut(text, words);
    if (n < LEAST_LEAD || !is_one_of(words[0], "size", "bytes") || !take_placements(words, n, &head))
        return false;
    take_lead(words, &head);
    head.is_msec = strcmp(words[0], "bytes") == 0;
    head.counts_wrong = head.wrong >= 0 && strcmp(words[head.first + head.wrong], "#wrong") == 0;
    *head_p = head;
    return true;
}

// ---- rows --------------------------------------------------------------------------------------------------------

bool tests_is_row(const char *line)
{
    line += strspn(line, " \t");
    const size_t digits = strspn(line, "0123456789");
    return digits > 0 && (line[digits] == ' ' || line[digits] == '\t');
}

static bool is_number(const char *word)
{
    char *end;
    (void)strtol(word, &end, 10);
    return end != word && *end == '\0';
}

// A row that lacks values has something else there: the root.
static bool is_above_0(const char *word)
{
    char *end;
    return strtod(word, &end) > 0 && end != word && *end == '\0';
}

// The words between type and time: as many as the line above names, or fewer.
static void take_middle(const struct tests_head *head, char *const words[], int lead, struct tests_row *row)
{
    const bool are_all = lead == head->first;
    row->op = are_all && head->op >= 0 ? words[head->op] : "";
    row->root = are_all && head->root >= 0 ? words[head->root] : "";
    if (!are_all && lead > LEAST_LEAD)
        *(is_number(words[LEAST_LEAD]) ? &row->root : &row->op) = words[LEAST_LEAD];
}

int tests_row_read(const struct tests_head *head, char *line, struct tests_row *row_p, int *words_p)
{
    char *words[TESTS_WORDS];
    const int n = *words_p = cut(line, words), lead = n - 2 * head->has_date - head->placements * head->width;
    if (head->columns == 0 || lead < LEAST_LEAD || lead > head->first || n == TESTS_WORDS ||
        (lead < head->first && !is_above_0(words[lead])))
        return CLAB_EPARSE;
    struct tests_row row = {.bytes = words[0], .count = words[1], .type = words[2], .placements = head->placements};
    take_middle(head, words, lead, &row);
    for (int p = 0; p < head->placements; p++) {
        char *const *at = words + lead + p * head->width;
        row.values[p] = (struct tests_values){at[0], at[1], at[2], head->wrong < 0 ? "" : at[head->wrong]};
    }
    *row_p = row;
    return CLAB_OK;
}

// ---- other lines -------------------------------------------------------------------------------------------------

bool tests_rank_read(const char *line, int *rank_p, char host_p[64])
{
    int rank;
    char host[64];
    const char *at = line + strspn(line, " \t"), *on = strstr(line, " on ");
    if (*at != '#' || sscanf(at + 1, " Rank %d", &rank) != 1 || rank < 0 || rank >= MOST_RANKS || !on ||
        sscanf(on, " on %63s", host) != 1)
        return false;
    *rank_p = rank;
    strcpy(host_p, host);
    return true;
}

const char *tests_collective(const char *text)
{
    static const char *const names[][2] = {
        {"all_reduce", "allreduce"}, {"all_gather", "allgather"}, {"reduce_scatter", "reduce_scatter"},
        {"broadcast", "broadcast"},  {"alltoall", "alltoall"},    {"sendrecv", "sendrecv"},
        {"scatter", "scatter"},      {"gather", "gather"},        {"allreduce", "allreduce"},
        {"allgather", "allgather"},  {"reduce", "reduce"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(text, names[i][0]))
            return names[i][1];
    return NULL;
}

const char *tests_collective_started(const char *line)
{
    static const char words[] = "Collective test starting:";
    const char *at = strstr(line, words);
    return at ? tests_collective(at + sizeof words - 1) : NULL;
}

const char *tests_collective_called(const char *line)
{
    static const char ending[] = "_perf -";
    char name[32];
    const char *end = strstr(line, ending), *begin = end;
    while (begin && begin > line && (isalpha((unsigned char)begin[-1]) || begin[-1] == '_'))
        begin--;
    if (!end || (size_t)(end - begin) >= sizeof name)
        return NULL;
    snprintf(name, sizeof name, "%.*s", (int)(end - begin), begin);
    return tests_collective(name);
}

bool tests_begins(const char *line)
{
    return strstr(line, "# nThread ") || strstr(line, "# Collective test starting:");
}

bool tests_bench_read(const char *line, struct tests_bench *bench_p)
{
    struct tests_bench bench = {.mode = "throughput"};
    if (sscanf(line, "# commlab bench: backend %31[^,;], algorithm %63[^,; \r\n], mode %15[^,; \r\n]", bench.backend,
               bench.algorithm, bench.mode) < 2)
        return false;
    *bench_p = bench;
    return true;
}
