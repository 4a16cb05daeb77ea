// SPDX-License-Identifier: MIT
// Networks by name: a description, or a profile with its other placement. A profile that can not be read names its
// remedy: to measure anew.

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/files/input.h"
#include "core/base/log.h"
#include "sim/net/net.h"
#include "sim/sim.h"

static int read_path(const char *path, struct clab_net **net_p)
{
    struct clab_input input;
    CLAB_TRY(clab_input_open(path, CLAB_INPUT_SETTINGS, &input));
    int err = clab_net_read(input.file, path, net_p);
    clab_input_close(&input);
    return err;
}

// `path` is a profile, `other` that of its other placement.
static int read_placement(const char *path, const char *other, struct clab_net *net)
{
    if (access(other, F_OK) != 0 && errno == ENOENT) {
        clab_warn("%s: its other placement, %s, is not there; where the cores lie as in that one, this one is scaled",
                  path, other);
        return CLAB_OK;
    }
    CLAB_TRY(read_path(other, &net->other));
    if (!*net->other->other_name)
        return CLAB_OK;
    clab_error("%s: the other placement of %s can not name another one", other, path);
    return CLAB_EPARSE;
}

// The other placement of a profile lies beside it. Who has copied the profile alone goes on without.
static int read_other(const char *path, struct clab_net *net)
{
    const char *slash = strrchr(path, '/');
    char *other;
    if (!*net->other_name)
        return CLAB_OK;
    if (asprintf(&other, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, net->other_name) < 0)
        return CLAB_ENOMEM;
    const int err = read_placement(path, other, net);
    free(other);
    return err;
}

static int read_whole(const char *path, struct clab_net **net_p)
{
    struct clab_net *net = NULL;
    int err = read_path(path, &net);
    if (!err)
        err = read_other(path, net);
    if (err)
        clab_net_free(net);
    else
        *net_p = net;
    return err;
}

// Whether `commlab fit` wrote the file, as far as can be seen of one that is broken.
static bool is_of_fit(const char *path)
{
    struct clab_log_held held;
    struct clab_input input;
    clab_log_hold(&held); // why it can not be read has been said
    const int err = clab_input_open(path, CLAB_INPUT_SETTINGS, &input);
    clab_log_release(&held);
    if (err)
        return false;
    const bool is = !strncmp(input.text, "[profile]", 9) || strstr(input.text, "\n[profile]");
    clab_input_close(&input);
    return is;
}

int clab_net_load(const char *name, struct clab_net **net_p)
{
    struct clab_log_held held;
    char *path;
    if (strcmp(name, "flat") == 0) {
        clab_error("network 'flat' has its alpha, beta and gamma from the command line; name another for this");
        return CLAB_ENOENT;
    }
    const char *plus = strchr(name, '+'); // what is wrong with it
    char *plain = strndup(name, plus ? (size_t)(plus - name) : strlen(name));
    if (!plain)
        return CLAB_ENOMEM;
    int err = clab_net_find(plain, &path);
    free(plain);
    CLAB_TRY(err);
    clab_log_hold(&held);
    struct clab_net *net = NULL;
    err = read_whole(path, &net);
    clab_log_release(&held);
    if (*held.text)
        clab_error("%s%s", held.text, is_of_fit(path) ? "; measure this machine anew: run ./commlab fit" : "");
    free(path);
    if (!err && plus)
        err = clab_net_vary(net, plus + 1);
    if (err)
        clab_net_free(net);
    else
        *net_p = net;
    return err;
}

int clab_net_load_profile(const char *backend, char why[CLAB_NET_WHY], struct clab_net **net_p)
{
    struct clab_log_held held;
    char *path;
    struct clab_net *net = NULL;
    CLAB_TRY(clab_net_profile_path(backend, &path));
    clab_log_hold(&held);
    const bool is_there = access(path, F_OK) == 0;
    const int err = is_there ? clab_net_load(path, &net) : CLAB_OK;
    clab_log_release(&held);
    free(path);
    if (err == CLAB_ENOMEM)
        return err;
    const bool is_default = !strcmp(backend, "shm");
    if (is_there)
        snprintf(why, CLAB_NET_WHY, "%s", held.text);
    else
        snprintf(why, CLAB_NET_WHY, "run ./commlab fit %s%s%sfirst", is_default ? "" : "--backend ",
                 is_default ? "" : backend, is_default ? "" : " ");
    *net_p = err ? NULL : net;
    return CLAB_OK;
}
