// SPDX-License-Identifier: MIT
// Why a student's program has failed: the few lines of its output that say it (check_inside.h).
//
// - The library names rank, call and peer by itself, and labs/lab.h the element that is wrong. Here those lines are
//   chosen, in this order: the wrong element, the signal, the rank that is late, the first error, the line of the program,
//   who waits for whom.

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/course/check_inside.h"
#include "core/base/err.h"

enum { PARTS = 8 };

// A line that begins with one text, holds another one, and lacks a third.
struct finding {
    const char *begins, *holds, *lacks; // NULL: any
    char line[CHECK_LINE];              // the first one; "": none
};

static void look(struct finding *f, const char *line)
{
    const bool fits = (!f->begins || !strncmp(line, f->begins, strlen(f->begins))) &&
                      (!f->holds || strstr(line, f->holds)) && (!f->lacks || !strstr(line, f->lacks));
    if (!*f->line && fits)
        snprintf(f->line, sizeof f->line, "%s", line);
}

static void read_lines(const char *path, struct finding findings[], int n)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    while (file && getline(&line, &room, file) > 0)
        for (int i = 0; i < n; i++)
            look(&findings[i], line);
    free(line);
    if (file)
        fclose(file);
}

// "rank 1 (pid 4711) was killed": the number says nothing to a reader.
static void drop_pid(char *line)
{
    char *pid = strstr(line, " (pid "), *end = pid ? strchr(pid, ')') : NULL;
    if (end)
        memmove(pid, end + 1, strlen(end + 1) + 1);
}

// Without "commlab: error: ", and with one line break at the end; lines that are there already are not repeated.
static void add_line(const char *line, char facts[2 * CHECK_LINE])
{
    static const char *const prefixes[] = {"commlab: error: ", "commlab: warn: ", "commlab: flight: "};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (!strncmp(line, prefixes[i], strlen(prefixes[i])))
            line += strlen(prefixes[i]);
    line += strspn(line, " ");
    const size_t length = strcspn(line, "\n"), used = strlen(facts);
    if (length && used + length + 2 < 2 * CHECK_LINE && !strstr(facts, line))
        snprintf(facts + used, 2 * CHECK_LINE - used, "%.*s\n", (int)length, line);
}

// "rank 0: labs/lab.h:91: the result is wrong": the line before it names the element. Likewise an exit status.
static bool says_only_wrong(const char *line)
{
    return strstr(line, ".h:") && strstr(line, clab_strerror(CLAB_EWRONG));
}

static enum check_failure judge(const char *facts, bool is_stopped)
{
    if (is_stopped)
        return CHECK_HANGS;
    if (strstr(facts, clab_strerror(CLAB_EWRONG)) || strstr(facts, ", index "))
        return CHECK_WRONG;
    if (strstr(facts, clab_strerror(CLAB_EMISMATCH)))
        return CHECK_MISMATCH;
    if (strstr(facts, clab_strerror(CLAB_ETIMEOUT)))
        return CHECK_HANGS;
    return CHECK_CRASHES;
}

enum check_failure check_why(const char *complaints, int status, const char *stopped, char facts[2 * CHECK_LINE])
{
    struct finding findings[PARTS] = {{.begins = "rank ", .holds = ", index "},
                                      {.holds = " was killed by signal "},
                                      {.holds = " has ended without clab_job_close"},
                                      {.holds = " did not arrive within "}, // one rank says so, maybe not the first that ends
                                      {.begins = "commlab: error: ", .lacks = " exited with status "},
                                      {.begins = "commlab: error: rank ", .holds = ".c:"},
                                      {.begins = "commlab: flight: ", .lacks = "nobody was waiting"},
                                      {.holds = " exited with status "}};
    read_lines(complaints, findings, PARTS);
    facts[0] = '\0';
    for (int i = 0; i < PARTS; i++) {
        drop_pid(findings[i].line);
        if (!*facts || (i < PARTS - 1 && !says_only_wrong(findings[i].line)))
            add_line(findings[i].line, facts);
    }
    if (stopped)
        add_line(stopped, facts);
    else if (!*facts && WIFSIGNALED(status))
        snprintf(facts, 2 * CHECK_LINE, "the program was ended by signal %d (%s)\n", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else if (!*facts)
        snprintf(facts, 2 * CHECK_LINE, "the program ended with exit status %d, and said nothing about it\n",
                 WEXITSTATUS(status));
    return judge(facts, stopped);
}
