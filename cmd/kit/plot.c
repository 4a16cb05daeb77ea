// SPDX-License-Identifier: MIT
// gnuplot: draws what a results file says, in a folder of its own (kit.h).
//
// - A results file may come from anyone. gnuplot's language can run any command, and gnuplot expands some characters in
//   strings, file names and labels. So gnuplot gets a copy of the data with plain text (plot_data.h) under a name that
//   we chose. It never sees the file, its name, or the figure's name.
// - The folder holds data.csv, links to the kit's plots/ and labs/, gnuplot's figures (figure.svg and so on) and its
//   messages. We copy the figures to where they belong.
// - The scripts come from the kit and from a lab's author, and are trusted.

#include "cmd/kit/kit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/files/output.h"
#include "core/base/machine/trust.h"
#include "cmd/kit/child.h"
#include "cmd/kit/plot_data.h"
#include "cmd/kit/progress.h"

enum { NOT_THERE = 127, NOT_STARTED = 126 };
enum { SAID = 512 };        // bytes of a line of gnuplot's that is passed on
enum { MOST_SECONDS = 60, MOST_BYTES = 4 << 20 }; // of processor time, and of a figure: the largest of ours take 2 s and 0.1 MB

struct drawing {
    const char *root, *script, *csv, *out;
    bool has_yours; // there is a file of a student's predictions beside the data
    char folder[PATH_MAX];
};

static int path_in(const struct drawing *d, const char *name, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s", d->folder, name) < PATH_MAX ? CLAB_OK : CLAB_EIO;
}

// ---- before --------------------------------------------------------------------------------------------------

static int write_data(const struct drawing *d)
{
    char path[PATH_MAX];
    struct clab_csv data;
    struct clab_output output;
    CLAB_TRY(path_in(d, "data.csv", path));
    CLAB_TRY(clab_csv_load(d->csv, &data));
    int err = clab_output_open(path, &output);
    if (!err) {
        plot_data_write(output.file, &data);
        err = clab_output_close(&output);
    }
    clab_csv_free(&data);
    return err;
}

// NAME.yours.csv beside NAME.csv, where there is one.
static int write_yours(struct drawing *d)
{
    char from[PATH_MAX], to[PATH_MAX];
    const size_t length = strlen(d->csv);
    struct clab_csv data;
    struct clab_output output;
    if (length < 4 || snprintf(from, sizeof from, "%.*s.yours.csv", (int)length - 4, d->csv) >= PATH_MAX ||
        access(from, F_OK) != 0)
        return CLAB_OK;
    CLAB_TRY(path_in(d, "yours.csv", to));
    CLAB_TRY(clab_csv_load(from, &data));
    int err = clab_output_open(to, &output);
    if (!err) {
        plot_yours_write(output.file, &data);
        err = clab_output_close(&output);
        d->has_yours = data.nrows > 0;
    }
    clab_csv_free(&data);
    return err;
}

static int link_to(const struct drawing *d, const char *name)
{
    char there[PATH_MAX], here[PATH_MAX];
    CLAB_TRY(path_in(d, name, here));
    if (snprintf(there, sizeof there, "%s/%s", d->root, name) < PATH_MAX && symlink(there, here) == 0)
        return CLAB_OK;
    clab_error("%s can not be made: %s", here, strerror(errno));
    return CLAB_EIO;
}

static int prepare(struct drawing *d)
{
    CLAB_TRY(write_data(d));
    CLAB_TRY(write_yours(d));
    CLAB_TRY(link_to(d, "plots"));
    return link_to(d, "labs");
}

// ---- gnuplot -------------------------------------------------------------------------------------------------

// In a child: become gnuplot, in the folder.
static _Noreturn void become(char **argv, const struct drawing *d)
{
    const struct rlimit seconds = {MOST_SECONDS, MOST_SECONDS + 1};
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){MOST_BYTES, MOST_BYTES}); // a page holds them all
    if (chdir(d->folder) != 0) {
        clab_error("can not go to %s, where %s is to run: %m", d->folder, argv[0]);
        _exit(NOT_STARTED);
    }
    const int said = open("said", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), log = dup(STDERR_FILENO);
    if (said >= 0)
        dup2(said, STDERR_FILENO);
    // In a plain C locale gnuplot complains of every sign beyond ASCII.
    child_set_environment((const struct child_variable[]){{"LC_ALL", "C.UTF-8", false}, {0}});
    execvp(argv[0], argv);
    const int error = errno;
    dup2(log, STDERR_FILENO);
    errno = error;
    if (error == ENOENT)
        _exit(NOT_THERE);
    clab_error("%s can not be started: %m", argv[0]);
    _exit(NOT_STARTED);
}

// A line of what gnuplot said: the first one, or the last.
static void quote_said(const struct drawing *d, bool is_last, char said[SAID])
{
    char path[PATH_MAX], line[SAID];
    FILE *file = path_in(d, "said", path) ? NULL : fopen(path, "re");
    *said = 0;
    while (file && (is_last || !*said) && fgets(line, sizeof line, file)) {
        const char *text = line + strspn(line, " \t\n");
        line[strcspn(line, "\n")] = 0;
        if (*text && *text != '^')
            snprintf(said, SAID, "%s", text);
    }
    if (file)
        fclose(file);
}

static int judge(const struct drawing *d, int status)
{
    char said[SAID];
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE) {
        clab_error("no gnuplot here, so nothing is drawn; install gnuplot-nox (Debian) or gnuplot, and run this again");
        return CLAB_EUNSUPPORTED;
    }
    quote_said(d, status != 0, said);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        snprintf(said, SAID, "it took more than %d s", MOST_SECONDS);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
        snprintf(said, SAID, "its figure would be larger than %d MiB", MOST_BYTES >> 20);
    if (status != 0) {
        clab_error("%s: %s can not draw this: %s; measure it again, or take it out of its folder", d->csv, d->script,
                   *said ? said : "gnuplot failed");
        return CLAB_EIO;
    }
    if (*said)
        clab_warn("%s: %s: gnuplot said: %s", d->csv, d->script, said);
    return CLAB_OK;
}

static int run_gnuplot(const struct drawing *d)
{
    char *names = d->has_yours ? "csv = 'data.csv'; out = 'figure'; yours = 'yours.csv'"
                               : "csv = 'data.csv'; out = 'figure'";
    char *argv[] = {"gnuplot", "-e", names, (char *)d->script, NULL};
    int status = 0;
    const pid_t pid = child_fork();
    if (pid == 0)
        become(argv, d);
    CLAB_TRY(pid < 0 ? CLAB_ESYS : child_wait(pid, &status));
    return child_ended_by() ? CLAB_EPEER : judge(d, status);
}

// ---- after ---------------------------------------------------------------------------------------------------

static int copy(FILE *from, FILE *to)
{
    char bytes[1 << 14];
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
        fwrite(bytes, 1, n, to);
    return ferror(from) ? CLAB_EIO : CLAB_OK;
}

static int deliver(const struct drawing *d, const char *suffix)
{
    char from[PATH_MAX], to[PATH_MAX], name[16];
    struct clab_output output;
    snprintf(name, sizeof name, "figure%s", suffix);
    snprintf(to, sizeof to, "%s%s", d->out, suffix);
    CLAB_TRY(path_in(d, name, from));
    FILE *file = fopen(from, "re");
    if (!file) {
        clab_error("%s has drawn no %s: it begins with load \"plots/style.gp\", and draws to `out`", d->script, name);
        return CLAB_EIO;
    }
    int err = clab_output_open(to, &output);
    if (!err) {
        err = copy(file, output.file);
        if (err)
            clab_output_abandon(&output);
        else
            err = clab_output_close(&output);
    }
    fclose(file);
    return err;
}

static int draw(struct drawing *d)
{
    static const char *const suffixes[] = {".txt", ".png", ".svg"};
    CLAB_TRY(prepare(d));
    CLAB_TRY(run_gnuplot(d));
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        CLAB_TRY(deliver(d, suffixes[i]));
    return CLAB_OK;
}

static int make_folder_of(const char *out)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", out);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return CLAB_OK;
    *slash = 0;
    return kit_make_folder(folder);
}

int kit_plot(const char *root, const char *script, const char *csv, const char *out)
{
    struct drawing d = {.root = root, .script = script, .csv = csv, .out = out};
    char path[PATH_MAX], real[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, script);
    if (access(path, R_OK) != 0) {
        clab_error("%s: %s", path, strerror(errno));
        return CLAB_ENOENT;
    }
    CLAB_TRY(clab_trust(path, real));
    CLAB_TRY(make_folder_of(out));
    child_watch();
    int err = child_folder_make(d.folder);
    if (!err) {
        const char *slash = strrchr(out, '/');
        kit_progress("drawing %s", slash ? slash + 1 : out);
        err = draw(&d);
        kit_progress_clear();
        child_folder_remove(d.folder);
    }
    const int ended_by = child_unwatch();
    if (ended_by)
        raise(ended_by);
    return err;
}
