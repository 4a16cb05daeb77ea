// SPDX-License-Identifier: MIT
// Two levels for short messages: in each node a star around its first rank, the leader, and doubling between the
// leaders. With two nodes no more messages than in one star of all ranks, and the nodes work side by side.
//
//     node 0     node 1             group = 3: 1 and 2 send to 0, while 4 and 5 send to 3;
//      1          4                 0 and 3 exchange their sums;
//       ╲        ╱                  0 sends to 1 and 2, while 3 sends to 4 and 5
//        0 ──── 3
//       ╱        ╲
//      2          5
//
// - A node may be a core that several ranks share: then few of their time slices pass without a message to handle.
// - The last node may have fewer ranks than the others.
// Source: Graham et al. 2011, "Cheetah: a framework for scalable hierarchical collective operations"; the leaders'
// part: Thakur et al. 2005, section 4.

#include "core/schedule/build.h"

struct shape {
    int group, nodes; // ranks a node, but perhaps of the last; nodes
};

static struct shape shape_of(const struct clab_problem *problem)
{
    const int group = group_of(problem);
    return (struct shape){group, (problem->nranks + group - 1) / group};
}

static int at_most(const struct clab_problem *problem)
{
    return max(shape_of(problem).group - 1, 2);
}

// The leaders' problem: they count as the nodes do.
static struct clab_problem leaders_of(struct shape shape)
{
    return (struct clab_problem){.collective = CLAB_ALLREDUCE, .nranks = shape.nodes, .lanes = 1};
}

// A stage of doubling between the leaders; and its stages, those of folding too.
static int between(struct shape shape, int node, int s, struct clab_step out[])
{
    const struct clab_problem leaders = leaders_of(shape);
    const int n = clab_allreduce_doubling.stage(&leaders, node, 0, s, out);
    for (int i = 0; i < n; i++)
        out[i].peer *= shape.group;
    return n;
}

static int stages_between(struct shape shape)
{
    return floor_log2(shape.nodes) + 2;
}

// The leader receives from its members one after another, since all go into the same chunk.
static int lead(struct shape shape, int rank, int members, int s, struct clab_step out[])
{
    const int answer = members + stages_between(shape);
    if (s < members) {
        out[0] = recv_reduce(rank + 1 + s, chunk(0));
        return 1;
    }
    if (s < answer)
        return between(shape, rank / shape.group, s - members, out);
    for (int i = 0; i < members; i++)
        out[i] = send(rank + 1 + i, chunk(0));
    return s == answer ? members : CLAB_DONE;
}

STAGE(allreduce)
{
    const struct shape shape = shape_of(problem);
    const int leader = rank - rank % shape.group;
    if (rank == leader)
        return lead(shape, rank, min(shape.group, P - leader) - 1, s, out);
    out[0] = s == 0 ? send(leader, chunk(0)) : recv(leader, chunk(0));
    return s < 2 ? 1 : CLAB_DONE;
}

COST(cost_allreduce)
{
    const struct shape shape = shape_of(problem);
    const struct clab_problem problem_between = leaders_of(shape);
    const struct clab_cost leaders = clab_allreduce_doubling.cost(&problem_between);
    const long inside = shape.group - 1;
    return (struct clab_cost){.rounds = 2 * inside + leaders.rounds,
                              .serial = 2 * inside + leaders.serial,
                              .reduced = inside + leaders.reduced,
                              .messages_max = L * (inside + leaders.messages_max),
                              .sent_max = L * (inside + leaders.sent_max),
                              .reduced_max = L * (inside + leaders.reduced_max),
                              .sent_total = L * (2 * (P - shape.nodes) + leaders.sent_total)};
}

const struct clab_algorithm clab_allreduce_leaders = {
    .name = "leaders",
    .title = "stars in the nodes, doubling between their leaders",
    .source = "Graham et al. 2011 (Cheetah)",
    .collective = CLAB_ALLREDUCE,
    .default_lanes = 1,
    .supports = any,
    .chunks = one,
    .scratch = none,
    .width = at_most,
    .stage = allreduce,
    .cost = cost_allreduce,
};
