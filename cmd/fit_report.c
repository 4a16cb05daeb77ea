// SPDX-License-Identifier: MIT
// From samples to profiles.
//
// A virtual machine's cores are moved about (line.h). Samples of shared memory are sorted by where the cores were; if
// there were two places, and every probe was made in either, there are two profiles, of which the first names the
// second. Wires have one.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/output.h"
#include "base/units.h"
#include "fit_session.h"

enum { RANKS = 2, RANKS_PER_NODE = 1024, FEW_ROUNDS = 3 };

// What was measured while the cores were at one of their placements.
struct placement {
    double line;                 // 0: nobody looked
    int nrounds;                 // most samples of a task
    bool complete;               // every task has one
    struct clab_sample *samples; // (nrounds, ntasks): tasks that have fewer repeat theirs
    struct clab_fit fit;
    double noise;
};

// ---- samples -------------------------------------------------------------------------------------------------

static double factor_of(double line, double placement)
{
    return line > placement ? line / placement : placement / line;
}

// Whether sample `i` belongs to the placement; of a task that has none, the one that is nearest.
static bool is_taken(const struct fit_record *record, const struct clab_placements *all, int which, int task, int i)
{
    int nearest = task;
    for (int k = task; k < record->nrounds * record->ntasks; k += record->ntasks) {
        if (clab_fit_placement_of(all, record->lines[k]) == which)
            return clab_fit_placement_of(all, record->lines[i]) == which;
        if (factor_of(record->lines[k], all->line[which]) < factor_of(record->lines[nearest], all->line[which]))
            nearest = k;
    }
    return i == nearest;
}

// How many times longer sample `i` took than it would where the line is `line`; 1 where it is of another placement.
static double pace_of(const struct fit_session *s, const struct fit_record *record, int i, double line)
{
    const bool same = clab_fit_placement_of(&(struct clab_placements){1, {line, 0}}, record->lines[i]) == 0;
    return same ? clab_net_pace(record->lines[i] / line, record->samples[i].level, s->machine.l2_bytes) : 1;
}

static int take_placed(const struct fit_session *s, const struct fit_record *record, const struct clab_placements *all,
                       int which, struct placement *p)
{
    int n = record->ntasks, rounds = record->nrounds;
    p->line = all->line[which];
    p->complete = true;
    if (!(p->samples = malloc((size_t)(n * rounds) * sizeof *p->samples)))
        return CLAB_ENOMEM;
    for (int task = 0; task < n; task++) {
        int found = 0;
        for (int i = task; i < n * rounds; i += n)
            if (is_taken(record, all, which, task, i)) {
                p->samples[found * n + task] = record->samples[i];
                p->samples[found++ * n + task].seconds /= pace_of(s, record, i, p->line);
                p->complete &= clab_fit_placement_of(all, record->lines[i]) == which;
            }
        p->nrounds = found > p->nrounds ? found : p->nrounds;
        for (int i = found; i < rounds; i++)
            p->samples[i * n + task] = p->samples[i % found * n + task];
    }
    return CLAB_OK;
}

static int take_all(const struct fit_record *record, struct placement *p)
{
    size_t bytes = (size_t)(record->ntasks * record->nrounds) * sizeof *p->samples;
    p->nrounds = record->nrounds;
    p->complete = true;
    if (!(p->samples = malloc(bytes)))
        return CLAB_ENOMEM;
    memcpy(p->samples, record->samples, bytes);
    return CLAB_OK;
}

static int take_samples(const struct fit_session *s, const struct fit_record *record, struct placement placements[2],
                        int *n_p)
{
    struct clab_placements all;
    *n_p = 1;
    if (!s->backend->protocols.memory)
        return take_all(record, &placements[0]);
    CLAB_TRY(clab_fit_placements(record->lines, record->nrounds * record->ntasks, &all));
    *n_p = all.n;
    for (int i = 0; i < all.n; i++)
        CLAB_TRY(take_placed(s, record, &all, i, &placements[i]));
    return CLAB_OK;
}

// ---- the fit -------------------------------------------------------------------------------------------------

static int estimate(const struct fit_session *s, int ntasks, struct placement *p)
{
    struct clab_fit_link link = {.protocols = &s->backend->protocols, .across = s->across};
    struct clab_net *nets = calloc((size_t)p->nrounds, sizeof *nets);
    double *seconds = calloc((size_t)(p->nrounds * ntasks), sizeof *seconds);
    int err = nets && seconds ? CLAB_OK : CLAB_ENOMEM;
    if (!err && !link.protocols->memory)
        err = clab_fit_port(p->samples, p->nrounds * ntasks, &link.port);
    for (int i = 0; i < p->nrounds && !err; i++)
        err = clab_fit_round(p->samples + i * ntasks, ntasks, &link, &nets[i]);
    for (int i = 0; i < p->nrounds * ntasks && !err; i++)
        seconds[i] = p->samples[i].seconds;
    if (!err)
        err = clab_fit_combine(nets, p->nrounds, &p->fit);
    if (!err && p->nrounds > 1)
        err = clab_fit_noise(seconds, p->nrounds, ntasks, &p->noise);
    free(seconds);
    free(nets);
    return err;
}

// ---- the profile ---------------------------------------------------------------------------------------------

static const char *where(const struct fit_session *s)
{
    return s->backend->protocols.memory ? "shared memory" : s->across ? "between hosts" : "within a host";
}

static void describe(const struct fit_session *s, struct placement *p, struct clab_net *net)
{
    time_t now = time(NULL);
    struct tm date;
    gmtime_r(&now, &date);
    strftime(net->date, sizeof net->date, "%Y-%m-%dT%H:%M:%SZ", &date);
    snprintf(net->machine, sizeof net->machine, "%.80s, %d cores, %.32s", s->machine.cpu, s->machine.cores,
             s->machine.kernel);
    snprintf(net->title, sizeof net->title, "this machine, %s %s, by %d rounds of probes", s->backend->name, where(s),
             p->nrounds);
    net->ranks_per_node = s->across ? 1 : RANKS_PER_NODE;
    net->cores_per_node = s->machine.cores;
    net->core_cache = s->machine.l2_bytes;
    net->shared_cache = s->machine.l3_bytes;
    net->noise = p->noise;
    net->line = p->fit.low.line = p->fit.high.line = p->line;
}

static void say(const struct fit_session *s, const struct placement *p, const char *path)
{
    char alpha[CLAB_TEXT], beta[CLAB_TEXT], line[CLAB_TEXT + 8] = "";
    const struct clab_net *net = &p->fit.median;
    const struct clab_link *link = s->across ? &net->inter : &net->intra;
    if (net->line > 0)
        snprintf(line, sizeof line, "line %s, ", clab_seconds_text(net->line, alpha));
    printf("%s: %salpha %s, beta %s%s, %d rounds, noise floor %.1f %%\n", path, line,
           clab_seconds_text(link->alpha, alpha), clab_rate_text(1 / link->beta, beta),
           s->backend->protocols.memory     ? ""
           : link->port == CLAB_PORT_DUPLEX ? " each way"
                                            : " by one core for both ways",
           p->nrounds, 100 * p->noise);
}

static int write_placement(const struct fit_session *s, struct placement *p, const char *other, const char *path)
{
    struct clab_manifest manifest = {0};
    struct clab_net *net = &p->fit.median;
    describe(s, p, net);
    if (other)
        snprintf(net->other_name, sizeof net->other_name, "%s", other);
    CLAB_TRY(clab_machine_warn(&s->machine, s->across ? 1 : RANKS, &manifest));
    const char *warning = clab_manifest_get(&manifest, "warning");
    const char *const remarks[] = {
        "SPDX-License-Identifier: MIT",
        "Written by `commlab fit`: medians over rounds of probes; behind each the interval of its median.",
        warning ? "Measured while there was reason to doubt it:" : NULL, warning, NULL};
    int err = clab_fit_write(&p->fit, remarks, path);
    if (!err && warning)
        clab_warn("fit: %s", warning);
    if (!err && p->nrounds < FEW_ROUNDS)
        clab_warn("fit: %s has %d rounds of probes, too few to know their noise: try again, or with --seconds 60", path,
                  p->nrounds);
    if (!err)
        say(s, p, path);
    clab_manifest_free(&manifest);
    return err;
}

// "build/machine.net" -> "build/machine-other.net"
static int other_path(const char *path, char **other_p)
{
    size_t length = strlen(path), stem = length > 4 && strcmp(path + length - 4, ".net") == 0 ? length - 4 : length;
    return asprintf(other_p, "%.*s-other.net", (int)stem, path) < 0 ? CLAB_ENOMEM : CLAB_OK;
}

// The other placement first: who finds the profile finds it whole.
static int write_profile(const struct fit_session *s, struct placement placements[2], int n)
{
    char *path;
    CLAB_TRY(other_path(s->path, &path));
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool two = n == 2 && placements[1].complete && strlen(name) < CLAB_NET_NAME;
    int err = two ? write_placement(s, &placements[1], NULL, path) : CLAB_OK;
    if (!err)
        err = write_placement(s, &placements[0], two ? name : NULL, s->path);
    free(path);
    return err;
}

// ---- the samples themselves ----------------------------------------------------------------------------------

static int write_samples(const char *path, const struct fit_record *record)
{
    struct clab_output output;
    CLAB_TRY(clab_output_open(path, &output));
    fprintf(output.file, "round,probe,bytes,level,touch,load,usec,line_usec\n");
    for (int i = 0; i < record->nrounds * record->ntasks; i++) {
        const struct clab_sample *s = &record->samples[i];
        fprintf(output.file, "%d,%s,%zu,%zu,%s,%s,%.6g,%.6g\n", i / record->ntasks, clab_probe_name(s->probe), s->bytes,
                s->level, s->touch == CLAB_FRESH ? "fresh" : "kept", s->load == CLAB_BOTH ? "both" : "alone",
                1e6 * s->seconds, 1e6 * record->lines[i]);
    }
    return clab_output_close(&output);
}

int fit_report(const struct fit_session *session, const struct fit_record *record)
{
    struct placement placements[2] = {0};
    int n, err = session->samples ? write_samples(session->samples, record) : CLAB_OK;
    if (!err)
        err = take_samples(session, record, placements, &n);
    for (int i = 0; i < n && !err; i++)
        err = estimate(session, record->ntasks, &placements[i]);
    if (!err)
        err = write_profile(session, placements, n);
    free(placements[0].samples);
    free(placements[1].samples);
    return err;
}
