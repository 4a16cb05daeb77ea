// SPDX-License-Identifier: MIT
// What `commlab bottleneck` prints (report.h).

#include "cmd/bottleneck/report.h"
#include "core/base/machine/called.h"

#include <stdio.h>

static const double rule = 0.30;              // of a step: more communication is the bottleneck
static const double efficiency_target = 0.90; // of the time, that ranks compute
static const double overhead_target = 0.05;   // of the time, that they do not

static const char *const classes[BOTTLENECK_CLASSES] = {
    [BOTTLENECK_COMPUTE] = "compute",
    [BOTTLENECK_COMMUNICATION] = "communication",
    [BOTTLENECK_SYNCHRONISATION] = "synchronisation",
    [BOTTLENECK_NETWORK] = "network",
    [BOTTLENECK_MEMORY] = "memory",
    [BOTTLENECK_IMBALANCE] = "imbalance",
};
static const char *const meanings[BOTTLENECK_CLASSES] = {
    [BOTTLENECK_COMPUTE] = "ranks compute",
    [BOTTLENECK_COMMUNICATION] = "the fixed cost of collectives, which nothing hides",
    [BOTTLENECK_SYNCHRONISATION] = "ranks wait in barriers, and for the root of a broadcast",
    [BOTTLENECK_NETWORK] = "bytes travel, and nothing hides them",
    [BOTTLENECK_MEMORY] = "ranks copy or load, and compute nothing",
    [BOTTLENECK_IMBALANCE] = "ranks wait in collectives for one that comes late",
};

static const struct {
    const char *word, *cause, *remedy, *next;
} faults[BOTTLENECK_FAULTS + 1] = {
    [BOTTLENECK_INTERFACE] = {"interface", "all messages are slow: the job uses a slow network interface",
                              "name the fast one: --interface NAME, NCCL_SOCKET_IFNAME=NAME",
                              "./commlab doctor, which lists the interfaces"},
    [BOTTLENECK_STRAGGLER] = {"straggler", "one rank computes longer than the others, which wait for it",
                              "give all ranks as much work, or replace its host", "./commlab lab 06"},
    [BOTTLENECK_BUFFERS] = {"buffers", "large messages are slow, small ones are not: socket buffers are too small",
                            "larger buffers: sysctl net.ipv4.tcp_wmem and tcp_rmem, or SO_SNDBUF",
                            "./commlab netmon --job PID, whose column `limited` shows it"},
    [BOTTLENECK_BINDING] = {"binding", "all ranks compute slowly: they are bound to the wrong cores or memory",
                            "bind each rank to cores of its own, and to the memory beside them",
                            "./commlab doctor, which shows the NUMA nodes"},
    [BOTTLENECK_RETRANSMITS] = {"retransmits",
                                "some messages take much longer than others of their size: packets are lost",
                                "replace the cable or port, or relieve the switch",
                                "./commlab netmon --job PID, whose column `resent` counts them"},
    [BOTTLENECK_COPY] = {"copy", "ranks copy in each step, and compute nothing meanwhile",
                         "let buckets be the gradients' memory, or copy beside the computation", "./commlab lab 08"},
    [BOTTLENECK_FIRST_RANK] = {"first-rank", "the others wait for rank 0, which does work that they could share",
                               "divide its extra work among all ranks", "./commlab lab 03"},
    [BOTTLENECK_BUCKETS] = {"buckets", "many small collectives, each of which pays a fixed cost",
                            "larger buckets: collect gradients until a bucket's bytes take as long as its call",
                            "./commlab lab 08"},
    [BOTTLENECK_FAULTS] = {"none", "no fault found", "", ""},
};

const char *bottleneck_fault_word(enum bottleneck_fault fault)
{
    return faults[fault].word;
}

static void print_classes(const struct bottleneck_account *a, double steps)
{
    printf("%-16s %12s %8s\n", "class", "ms per step", "percent");
    for (int c = 0; c < BOTTLENECK_CLASSES; c++)
        printf("%-16s %12.3f %7.1f%%   %s\n", classes[c], 1e3 * a->classes[c] / steps, 100 * a->classes[c] / a->seconds,
               meanings[c]);
}

void bottleneck_report_targets(double communication, double efficiency, double overhead)
{
    printf("\n30 %% rule: communication that nothing hides takes %.1f %% of the time: it %s the bottleneck.\n",
           100 * communication, communication > rule ? "is" : "is not");
    if (communication > rule)
        printf(
            "Remedies that always apply: accumulate gradients over several batches; larger batches per rank; compress\n"
            "gradients; a faster network; 16-bit numbers.\n");
    printf("Scaling efficiency: %.1f %% (target: above %.0f %%%s). Overhead: %.1f %% (target: below %.0f %%%s).\n",
           100 * efficiency, 100 * efficiency_target, efficiency > efficiency_target ? ", reached" : "", 100 * overhead,
           100 * overhead_target, overhead < overhead_target ? ", reached" : "");
}

static void print_gains(const struct bottleneck_account *a, double steps)
{
    printf("\n%-12s %18s %8s   what each remedy would save\n", "fault", "gain, ms per step", "percent");
    for (int f = 0; f < BOTTLENECK_FAULTS; f++)
        if (a->gains[f] > 0.01 * a->usual)
            printf("%-12s %18.3f %7.1f%%%s\n", faults[f].word, 1e3 * a->gains[f] / steps, 100 * a->gains[f] / a->usual,
                   a->least[f] > 0.01 * a->usual ? "" : "   (not sure)");
}

static double variation(const struct bottleneck_account *a)
{
    return 100 * (a->three_quarters - a->quarter) / a->usual;
}

// What the times of a run in real time are worth.
static void print_quality(const struct bottleneck_run *run, const struct bottleneck_account *a, double steps)
{
    if (run->steps == 0)
        printf("# No span is a step (--span NAME), so the whole job counts.\n");
    if (run->left_out > 0)
        printf("# Left out: the first %.3f ms, in which the program starts.\n", 1e3 * run->left_out);
    if (run->is_virtual)
        return;
    if (run->steps > 1)
        printf("# Half of the steps take %.3f to %.3f ms: they vary by %.0f %%.\n", 1e3 * a->quarter / steps,
               1e3 * a->three_quarters / steps, variation(a));
    if (run->kept > 0.01)
        printf("# For %.0f %% of their time, ranks waited for a core that another program or rank had.\n",
               100 * run->kept);
    if (run->cores && run->n > run->cores)
        printf("# warning: %d ranks share %d cores: they wait for each other's computing\n", run->n, run->cores);
    else if (run->cores && run->load > 1.5 * run->cores)
        printf("# warning: other programs used the cores (load %.1f on %d cores)\n", run->load, run->cores);
}

static void print_unsure(const struct bottleneck_run *run, const struct bottleneck_account *a)
{
    printf("\nLikely cause: unknown: ");
    if (a->is_contradicted)
        printf("two runs disagree (%s, then %s): ", faults[a->claimed].word, faults[a->claimed_then].word);
    if (run->steps > 1)
        printf("this machine is too busy to tell: these measurements vary by %.0f %%", variation(a));
    else
        printf("this machine is too busy to tell");
    if (run->kept > 0.01)
        printf(", and ranks waited for a core for %.0f %% of their time", 100 * run->kept);
    printf(".\nNext: run it again when no other program runs (uptime shows the load), with as many ranks as cores at "
           "most;\nor in virtual time, which no program disturbs: --backend sim --net NAME\n");
}

static void print_detail(enum bottleneck_fault named, const struct bottleneck_account *a,
                         const struct bottleneck_seen *seen)
{
    if (named == BOTTLENECK_STRAGGLER)
        printf("Seen: the others wait for rank %d.\n", a->slowest);
    if (named == BOTTLENECK_INTERFACE || named == BOTTLENECK_BUFFERS)
        printf("Seen: a byte of the largest collective takes %.1f times as long as the network promises.\n", a->slower);
    if (named == BOTTLENECK_BINDING && seen->sharing > 1)
        printf("Seen: %d ranks may use one and the same core only, of %d.\n", seen->sharing, seen->cores);
    else if (named == BOTTLENECK_BINDING)
        printf("Seen: memory is %.1f times slower than this network's machine has it, at all ranks.\n", a->slowness);
    if (named == BOTTLENECK_BUCKETS)
        printf("Seen: %d collectives per rank.\n", a->calls);
}

void bottleneck_report(const struct bottleneck_run *run, const char *net, const struct bottleneck_account *a,
                       const struct bottleneck_seen *seen)
{
    const double steps = run->steps ? run->steps : 1;
    const enum bottleneck_fault named = bottleneck_name(a);
    printf("%d ranks, %d step%s of %.3f ms, %s time; expected network: %s\n\n", run->n, (int)steps,
           steps == 1 ? "" : "s", 1e3 * a->seconds / steps, run->is_virtual ? "virtual" : "measured", net);
    print_classes(a, steps);
    bottleneck_report_targets((a->classes[BOTTLENECK_COMMUNICATION] + a->classes[BOTTLENECK_NETWORK]) / a->seconds,
                              a->classes[BOTTLENECK_COMPUTE] / a->seconds,
                              1 - (a->classes[BOTTLENECK_COMPUTE] + a->classes[BOTTLENECK_MEMORY]) / a->seconds);
    print_gains(a, steps);
    if (seen->retransmits + run->resent > 0)
        printf("# %s has sent %.0f %s again.\n", run->is_emulated || run->is_virtual ? "The described network" : "TCP",
               seen->retransmits + run->resent, run->is_emulated || run->is_virtual ? "messages" : "segments");
    print_quality(run, a, steps);
    if (!run->is_aligned)
        printf("# Ranks make different calls, so nobody can say who waits for whom: all of that is network above.\n");
    if (bottleneck_is_unsure(a)) {
        print_unsure(run, a);
        return;
    }
    if (named == BOTTLENECK_FAULTS) {
        printf("\nLikely cause: none: %s. No remedy that this command knows saves 5 %%.\n", faults[named].cause);
        return;
    }
    printf("\nLikely cause: %s: %s.\n", faults[named].word, faults[named].cause);
    print_detail(named, a, seen);
    clab_say("Remedy: %s. It would save %.3f ms of a step of %.3f ms: %.2f times faster.\nNext: %s\n",
           faults[named].remedy, 1e3 * a->gains[named] / steps, 1e3 * a->usual / steps,
           a->usual / (a->usual - a->gains[named]), faults[named].next);
}
