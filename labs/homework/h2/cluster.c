// SPDX-License-Identifier: MIT
// Clusters that follow from a seed (cluster.h).

#include "labs/homework/h2/cluster.h"

#include <stdio.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/mix.h"
#include "core/base/text.h"

// ---- numbers ---------------------------------------------------------------------------------------------------------

struct dice {
    uint64_t seed, throws;
};

// A number from 0 to n-1.
static int throw_dice(struct dice *dice, int n)
{
    return (int)(clab_mix(dice->seed, ++dice->throws) % (uint64_t)n);
}

// ---- who is where ------------------------------------------------------------------------------------------------------

// Each rank takes the next free slot of its host.
static void take_slots(struct h2_cluster *cluster)
{
    int used[H2_HOSTS] = {0};
    for (int rank = 0; rank < cluster->nranks; rank++) {
        const int host = cluster->host[rank];
        cluster->member[rank] = host * cluster->slots + used[host]++;
    }
}

static void fill_in_order(struct h2_cluster *cluster)
{
    int rank = 0;
    cluster->nranks = cluster->slots = 0;
    for (int host = 0; host < cluster->nhosts; host++) {
        for (int i = 0; i < cluster->size[host]; i++)
            cluster->host[rank++] = host;
        cluster->slots = cluster->size[host] > cluster->slots ? cluster->size[host] : cluster->slots;
    }
    cluster->nranks = rank;
}

// One rank for each host in turn, as long as it has room.
static void deal(struct h2_cluster *cluster)
{
    for (int turn = 0, rank = 0; rank < cluster->nranks; turn++)
        for (int host = 0; host < cluster->nhosts; host++)
            if (turn < cluster->size[host])
                cluster->host[rank++] = host;
}

static void shuffle(struct dice *dice, struct h2_cluster *cluster)
{
    for (int i = cluster->nranks - 1; i > 0; i--) {
        const int j = throw_dice(dice, i + 1), host = cluster->host[i];
        cluster->host[i] = cluster->host[j];
        cluster->host[j] = host;
    }
}

static void place(struct dice *dice, struct h2_cluster *cluster)
{
    fill_in_order(cluster);
    if (throw_dice(dice, 3) == 0)
        deal(cluster);
    else
        shuffle(dice, cluster);
    take_slots(cluster);
}

void h2_cluster_places(uint64_t seed, int nranks, struct h2_cluster *cluster_p)
{
    struct dice dice = {clab_mix(seed, (uint64_t)nranks), 0};
    const int most = nranks < H2_HOSTS ? nranks : H2_HOSTS;
    *cluster_p = (struct h2_cluster){.nhosts = nranks < 2 ? 1 : 2 + throw_dice(&dice, most - 1)};
    for (int host = 0; host < cluster_p->nhosts; host++)
        cluster_p->size[host] = 1;
    for (int rest = nranks - cluster_p->nhosts; rest > 0; rest--)
        cluster_p->size[throw_dice(&dice, cluster_p->nhosts)]++;
    place(&dice, cluster_p);
}

void h2_cluster_even(int nranks, int nhosts, struct h2_cluster *cluster_p)
{
    *cluster_p = (struct h2_cluster){.nhosts = nhosts};
    for (int host = 0; host < nhosts; host++)
        cluster_p->size[host] = nranks / nhosts;
    fill_in_order(cluster_p);
    take_slots(cluster_p);
}

void h2_cluster_dealt(int nranks, int nhosts, struct h2_cluster *cluster_p)
{
    h2_cluster_even(nranks, nhosts, cluster_p);
    deal(cluster_p);
    take_slots(cluster_p);
}

void h2_cluster_ordered(int nranks, struct h2_cluster *cluster_p)
{
    *cluster_p = (struct h2_cluster){.nhosts = 3, .size = {1, 2, nranks - 3}};
    fill_in_order(cluster_p);
    take_slots(cluster_p);
}

// ---- one that is drawn -------------------------------------------------------------------------------------------------

// Hosts of at least two sizes, and 8 to 14 ranks.
static bool has_good_sizes(const struct h2_cluster *cluster)
{
    int sum = 0, unlike = 0;
    for (int host = 0; host < cluster->nhosts; host++) {
        sum += cluster->size[host];
        unlike += cluster->size[host] != cluster->size[0];
    }
    return unlike && sum >= 8 && sum <= 14;
}

void h2_cluster_draw(uint64_t seed, struct h2_cluster *cluster_p)
{
    struct dice dice = {seed, 0};
    *cluster_p = (struct h2_cluster){.nhosts = 3 + throw_dice(&dice, 2)};
    while (!has_good_sizes(cluster_p))
        for (int host = 0; host < cluster_p->nhosts; host++)
            cluster_p->size[host] = 1 + throw_dice(&dice, H2_SLOTS);
    place(&dice, cluster_p);
    cluster_p->inside_gbs = 20 + 10 * throw_dice(&dice, 3);
    cluster_p->alpha_us = 20 + 5 * throw_dice(&dice, 9);
    cluster_p->mbits = 500 << throw_dice(&dice, 3);
    cluster_p->bytes = (size_t)12 << (18 + throw_dice(&dice, 5)); // 3 MiB to 48 MiB: parts of 3 and of 4 are whole
}

// ---- what a student reads ----------------------------------------------------------------------------------------------

const char *h2_cluster_hosts(const struct h2_cluster *cluster, char *text_p, size_t room)
{
    struct clab_text text = clab_text_begin(text_p, room);
    for (int rank = 0; rank < cluster->nranks; rank++)
        clab_text_add(&text, "%s%d", rank ? " " : "", cluster->host[rank]);
    return text_p;
}

static void add_places(const struct h2_cluster *cluster, struct clab_text *text)
{
    for (int host = 0; host < cluster->nhosts; host++) {
        clab_text_add(text, "#   host %d: ", host);
        clab_text_add(text, cluster->size[host] > 1 ? "ranks" : "rank");
        for (int rank = 0; rank < cluster->nranks; rank++)
            if (cluster->host[rank] == host)
                clab_text_add(text, " %d", rank);
        clab_text_add(text, "\n");
    }
}

void h2_cluster_text(const struct h2_cluster *cluster, const char *student, char *text_p, size_t room)
{
    char hosts[64];
    struct clab_text text = clab_text_begin(text_p, room);
    clab_text_add(&text, "# The cluster of %s, for homework h2. Your job has %d ranks on %d hosts:\n", student,
                  cluster->nranks, cluster->nhosts);
    add_places(cluster, &text);
    clab_text_add(&text, "# The host of each rank, from rank 0 on: %s\n", h2_cluster_hosts(cluster, hosts, sizeof hosts));
    clab_text_add(&text, "# It adds up arrays of %zu bytes (%zu MiB).\n", cluster->bytes, cluster->bytes >> 20);
    clab_text_add(
        &text,
        "# work/h2/try puts your ranks where they are. ./commlab sim can not: its times would be of another problem.\n"
        "# beta and gamma are rates here, bytes or bits per second. Formulas have seconds per byte: 1 / rate.\n\n");
    clab_text_add(&text, "[net]\ntitle = the cluster of homework h2\nnodes = %d          ; hosts\nranks = %d          ; at "
                         "most, on a host\ngamma = %d GB/s     ; bytes that a rank adds up per second\n\n",
                  cluster->nhosts, cluster->slots, cluster->inside_gbs);
    clab_text_add(&text, "[link intra]         ; two ranks of one host\nalpha = 1 us         ; per message\nbeta = %d GB/s\n\n",
                  cluster->inside_gbs);
    clab_text_add(&text, "[link inter]         ; two ranks of different hosts\nalpha = %d us\nbeta = %d Mb/s       ; "
                         "megabits, 1e6 bits: %g MB/s, 1e6 bytes\n\n",
                  cluster->alpha_us, cluster->mbits, cluster->mbits / 8.0);
    clab_text_add(&text, "[topology]\nadapters = 1         ; per host: its ranks share it. It sends and receives at the same "
                         "time\n");
}

int h2_cluster_net(const struct h2_cluster *cluster, struct clab_net **net_p)
{
    char text[4096];
    h2_cluster_text(cluster, "a student", text, sizeof text);
    FILE *file = fmemopen(text, strlen(text), "r");
    if (!file)
        return CLAB_ENOMEM;
    const int err = clab_net_read(file, "network.net", net_p);
    fclose(file);
    return err;
}
