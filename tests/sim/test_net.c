// SPDX-License-Identifier: MIT
// Networks in text: what is read, what is refused and with which line, where files are looked for; levels and costs.

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "tests/fixtures/needs.h"
#include "sim/net/members.h"
#include "sim/net/net.h"
#include "sim/net/topology.h"
#include "sim/sim.h"

static char path[256]; // of test.net, in the test's folder

static void write_net(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// Load `name`; what is logged meanwhile is left in *logged_p, until the next time.
static int load(const char *name, struct clab_net **net_p, const char **logged_p)
{
    const struct capture err = capture_begin(STDERR_FILENO);
    const int status = clab_net_load(name, net_p);
    *logged_p = capture_end(err);
    return status;
}

#define GOOD              \
    "[net]\n"             \
    "title = two nodes\n" \
    "nodes = 2\n"         \
    "ranks = 4\n"         \
    "gamma = 0.5 ns/B\n"  \
    "[link intra]\n"      \
    "alpha = 1 us\n"      \
    "beta = 100 GB/s\n"   \
    "port = core\n"       \
    "[link inter]\n"      \
    "alpha = 5us\n"       \
    "beta = 100 Gb/s   ; 12.5 GB/s\n"

static void test_net_reads_every_field(void **state)
{
    needs_inih();
    struct clab_net *net;
    const char *logged;
    write_net(GOOD
              "[segment intra small]\n"
              "up_to = 48 B\no_send = 10 ns\no_recv = 20 ns\nlatency = 30 ns\n"
              "[segment intra large]\n"
              "up_to = any\no_send = 11 ns\no_recv = 21 ns\nlatency = 31 ns\ngap_send = 1 ns/B\ngap_recv = 2 ns/B\n"
              "fragment = 8 KiB\nwaits = yes\nmemory = yes\n"
              "[profile]\nmachine = this one\ndate = 2024-01-01\nnoise = 1.5 %\n");
    assert_int_equal(load(path, &net, &logged), CLAB_OK);
    assert_string_equal(logged, "");
    assert_string_equal(net->name, "test");
    assert_string_equal(net->title, "two nodes");
    assert_int_equal(net->nodes, 2);
    assert_int_equal(net->ranks_per_node, 4);
    assert_true(net->gamma == 0.5e-9);
    assert_true(net->intra.alpha == 1e-6);
    assert_true(net->intra.beta == 1 / 100e9);
    assert_int_equal(net->intra.port, CLAB_PORT_CORE);
    assert_int_equal(net->inter.port, CLAB_PORT_DUPLEX);
    assert_true(net->inter.beta == 1 / 12.5e9);
    assert_int_equal(net->intra.nsegments, 2);
    assert_true(clab_link_segment(&net->intra, 48) == &net->intra.segments[0]);
    const struct clab_segment *large = clab_link_segment(&net->intra, 49);
    assert_string_equal(large->name, "large");
    assert_true(large->up_to == SIZE_MAX && large->fragment == 8192);
    assert_true(large->o_send == 11e-9 && large->o_recv == 21e-9 && large->latency == 31e-9);
    assert_true(large->gap_send == 1e-9 && large->gap_recv == 2e-9);
    assert_true(large->waits && large->memory);
    assert_false(net->intra.segments[0].waits);
    assert_true(net->noise == 0.015);
    // Without segments, a link is Hockney's.
    assert_int_equal(net->inter.nsegments, 1);
    assert_true(net->inter.segments[0].o_send == 5e-6);
    // Ranks 0 to 3 are one node.
    assert_true(clab_net_link(net, 0, 3) == &net->intra);
    assert_true(clab_net_link(net, 3, 4) == &net->inter);
    assert_int_equal(clab_net_check_ranks(net, 8), CLAB_OK);
    clab_net_free(net);
}

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"

static const struct {
    const char *text, *expected; // what the line must hold
} mistakes[] = {
    {"[net]\ntitle = x\nnodes = many\n", "test.net:3: nodes = many: expected a whole number"},
    {"[net]\ntitle = x\nnodes = 0\n", "test.net:3: nodes = 0: expected a whole number"},
    {"[net]\ntitle = x\ngamma = 5\n", "test.net:3: gamma = 5: expected a cost or rate with its unit"},
    {"[net]\ntitle = x\nnodes = 1 2\n", "test.net:3: nodes = 1 2: expected a whole number"},
    {"[net]\ntitle = x\nnodes = " ZEROS ZEROS "7x\n", "7x: expected a whole number"}, // refused, not cut
    {"[net]\ntitle = x\ngamma = 10G B/s\n", "test.net:3: gamma = 10G B/s: expected a cost"},
    {"[net]\ntitle = x\ngamma = -1 ns/B\n", "test.net:3: gamma = -1 ns/B: expected"},
    {"# a comment\n\n[net]\ntitle = x\nspeed = 5\n", "test.net:5: [net]: unknown key: speed"},
    {"[net]\ntitle = x\ntitle = y\n", "test.net:3: [net]: this key was given before: title"},
    {GOOD "[wires]\ncolour = red\n", "test.net:14: [wires]: unknown section"},
    {"[net]\ntitle = x\n", "test.net:2: [net]: a required key is missing: gamma"},
    {GOOD "[link intra]\nalpha = 1 us\n", "test.net:14: [link intra]: this section was given before"},
    {GOOD "[link  intra ]\nalpha = 1 us\n", "test.net:14: [link intra]: this section was given before"},
    {GOOD "[link side]\nalpha = 1 us\n",
     "test.net:14: [link side]: expected [link intra], [link inter] or [link pair]"},
    {"[net]\ntitle = x\ngamma = 1 ns/B\n[link inter]\nalpha = 1\n",
     "test.net:5: alpha = 1: expected a time with its unit"},
    {"[net]\ntitle = x\ngamma = 1 ns/B\n[link inter]\nalpha = 1 us\n",
     "test.net:5: [link inter]: a required key is missing: beta"},
    {"[net]\ntitle = x\ngamma = 1 ns/B\n[link inter]\nalpha = 1 us\nbeta = 0 GB/s\n",
     "test.net:6: beta = 0 GB/s: expected a cost"},
    {"[net]\ntitle = x\ngamma = 1 ns/B\n[link inter]\nalpha = 1 us\nbeta = 1 GB/s\nport = both\n",
     "test.net:7: port = both: expected `duplex`, `core`, `loggp` or `loggp-core`"},
    {"[net]\ntitle = x\ngamma = 1 ns/B\n", "test.net: section [link inter] is missing"},
    {"[net]\ntitle = x\nranks = 2\ngamma = 1 ns/B\n", "test.net: section [link intra] is missing"},
    {"title = x\n", "test.net:1: expected a [section] above the first key"},
    {"[net]\ntitle x\n", "test.net:2: expected '[section]' or 'name = value'"},
    {"[net\ntitle = x\n", "test.net:2: expected a [section] above the first key"},
    {"[net]\ntitle = x\n[net\n", "test.net:3: expected '[section]' or 'name = value'"},
    {GOOD "[segment intra]\nup_to = any\n", "test.net:14: [segment intra]: expected [segment LINK NAME]"},
    {GOOD "[segment intra x]\nup_to = 48\n", "test.net:14: up_to = 48: expected a size with its unit"},
    {GOOD "[segment intra x]\nup_to = any\nwaits = perhaps\n", "test.net:15: waits = perhaps: expected `yes` or `no`"},
    {GOOD "[segment intra x]\nup_to = 48 B\no_send = 1 ns\no_recv = 1 ns\nlatency = 1 ns\n",
     "test.net: the last segment of [link intra] must be for `up_to = any`"},
    {GOOD "[segment intra x]\nup_to = any\no_send = 1 ns\no_recv = 1 ns\nlatency = 1 ns\n"
          "[segment intra y]\nup_to = 64 B\no_send = 1 ns\no_recv = 1 ns\nlatency = 1 ns\n",
     "test.net: the segments of [link intra] must come by rising up_to"},
    {GOOD "[segment intra x]\nup_to = any\no_send = 1 ns\no_recv = 1 ns\nlatency = 1 ns\nbuffers = yes\n",
     "test.net: [segment intra x]: what buffers has a duplex port"},
    {GOOD "[segment inter x]\nup_to = any\no_send = 1 ns\no_recv = 1 ns\nlatency = 1 ns\nbuffers = yes\nwaits = yes\n",
     "test.net: [segment inter x]: what buffers has a duplex port, does not wait"},
    {GOOD "[segment intra x]\nup_to = any\no_send = 1 ns\no_recv = 1 ns\nlatency = 1 ns\nmemory = yes\n"
          "[level 1 KiB]\ncopy = 1 ns/B\ncopy_both = 1 ns/B\nreduce = 1 ns/B\nreduce_both = 1 ns/B\n"
          "add = 1 ns/B\nadd_both = 1 ns/B\n",
     "test.net: [segment intra x]: of memory, so that every level needs its pull and pull_fresh"},
    {GOOD "[level big]\ncopy = 1 ns/B\n", "test.net:14: [level big]: expected [level SIZE]"},
    {GOOD "[level 64 KiB]\ncopy = 1 ns/B\n", "test.net:14: [level 64 KiB]: a required key is missing: copy_both"},
    {GOOD "[profile]\nmachine = m\ndate = d\nnoise = 2\n", "test.net:16: noise = 2: expected a percentage"},
    {GOOD "[profile]\nmachine = m\ndate = d\nnoise = 0x2 %\n", "test.net:16: noise = 0x2 %: expected a percentage"},
    {GOOD "[topology]\ninside = ring\n", "test.net:14: inside = ring: expected `switch`, `mesh`, `pairs` or `pcie`"},
    {GOOD "[topology]\nbetween = mesh\n", "test.net:14: between = mesh: expected `switch`, `fat-tree`, `torus`"},
    {GOOD "[topology]\nbetween = torus\nsize = 4x\n", "test.net:15: size = 4x: expected 1 to 4 whole numbers"},
    {GOOD "[topology]\nbetween = torus\nsize = 2x2x2x2x2\n", "test.net:15: size = 2x2x2x2x2: expected 1 to 4"},
    {GOOD "[topology]\nbetween = torus\n",
     "test.net: [topology]: `size` is missing, which belongs to `between = torus`"},
    {GOOD "[topology]\nbetween = torus\nsize = 2x3\n", "test.net: [net]: a torus of this size has 6 nodes"},
    {GOOD "[topology]\nsize = 2\n", "test.net: [topology]: `size` has no meaning without `between = torus`"},
    {GOOD "[topology]\nbetween = fat-tree\nleaf = 2\noversubscription = 0.5\n",
     "test.net:16: oversubscription = 0.5: expected a number of at least 1"},
    {GOOD "[topology]\nbetween = fat-tree\nleaf = 2\n", "test.net: [topology]: `oversubscription` is missing"},
    {GOOD "[topology]\nbetween = dragonfly\nleaf = 2\n", "test.net: [topology]: `routers` is missing"},
    {GOOD "[topology]\ninside = pcie\n", "test.net: [topology]: `below` is missing, which belongs to `inside = pcie`"},
    {GOOD "[topology]\nadapters = 5\n", "test.net: [topology]: a node has 5 adapters, more than its 4 ranks can use"},
    {GOOD "[topology]\ninside = pairs\n", "test.net: section [link pair] belongs to `inside = pairs`"},
    {GOOD "[topology]\nhop = 1\n", "test.net:14: hop = 1: expected a time with its unit"},
    {GOOD "[tier]\nnodes = 2\n", "test.net:14: [tier]: expected [tier NAME]"},
    {GOOD "[tier a]\nnodes = 2\nalpha = 1 us\n", "test.net:14: [tier a]: a required key is missing: beta"},
    {GOOD "[tier a]\nnodes = 2\nalpha = 1 us\nbeta = 1 GB/s\n[tier b]\nnodes = 2\nalpha = 1 us\nbeta = 1 GB/s\n",
     "test.net: [tier b]: tiers must come by rising nodes"},
    {GOOD "[compute]\nf64 = 1 Tflop/s\nmemory = 1 GB/s\n", "test.net:14: [compute]: a required key is missing: f32"},
    {GOOD "[compute]\nf64 = 1 TFLOPS\n", "test.net:14: f64 = 1 TFLOPS: expected a rate with its unit"},
    {GOOD "[compute]\nbf16 = 1 Tflop/s\n", "test.net:14: [compute]: unknown key: bf16"},
    {GOOD "[compute a]\nf64 = 1 Tflop/s\n",
     "test.net:14: [compute a]: unknown section; there are net, profile, compute"},
    {GOOD "[reducer]\nradix = 2\n", "test.net:14: [reducer]: a required key is missing: hop"},
};

static void test_net_refuses_each_mistake_with_its_line(void **state)
{
    needs_inih();
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct clab_net *net = NULL;
        const char *logged;
        write_net(mistakes[i].text);
        assert_int_equal(load(path, &net, &logged), CLAB_EPARSE);
        assert_null(net);
        assert_one_line_with(logged, mistakes[i].expected);
    }
}

static void test_net_shipped_descriptions_are_well_formed(void **state)
{
    needs_inih();
    static const char *const names[] = {"100mbit", "1gbe",   "10gbe",    "25gbe",        "100gbe",
                                        "ib-hdr",  "ib-ndr", "dgx-a100", "dgx-h100",     "pcie4",
                                        "gcp-a2",  "gcp-a3", "nvl72",    "nvlink-pairs", "superpod-h100"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct clab_net *net;
        assert_int_equal(clab_net_load(names[i], &net), CLAB_OK);
        assert_string_equal(net->name, names[i]);
        assert_true(net->compute.present);
        for (int p = 1; p < CLAB_PRECISIONS; p++) // narrower is no slower
            assert_true(net->compute.flops[p] == 0 || net->compute.flops[p] >= net->compute.flops[p - 1]);
        // A sum is no faster than memory, where memory is what it waits for; CPUs sum from caches.
        assert_true(net->gamma * 1.01 >= 3 * net->compute.memory || net->ranks_per_node == 1);
        clab_net_free(net);
    }
}

static void test_net_reads_topologies(void **state)
{
    needs_inih();
    struct clab_net *net;
    const char *logged;
    write_net("[net]\ntitle = x\nranks = 4\nnodes = 24\ngamma = 1 ns/B\n[link intra]\nalpha = 1 us\nbeta = 1 GB/s\n"
              "[link inter]\nalpha = 5 us\nbeta = 1 GB/s\n[link pair]\nalpha = 2 us\nbeta = 4 GB/s\n"
              "[tier zone]\nnodes = 6\nalpha = 9 us\nbeta = 2 GB/s\n"
              "[topology]\ninside = pairs\nbetween = torus\nsize = 4x3x2\nadapters = 2\nhop = 100 ns\n"
              "[reducer]\nradix = 4\nhop = 1 us\nbeta = 2 GB/s\n");
    assert_int_equal(load(path, &net, &logged), CLAB_OK);
    assert_string_equal(logged, "");
    const struct clab_topology *t = &net->topology;
    assert_true(t->inside == CLAB_INSIDE_PAIRS && t->between == CLAB_BETWEEN_TORUS && t->adapters == 2);
    assert_true(t->size[0] == 4 && t->size[1] == 3 && t->size[2] == 2 && t->size[3] == 0 && t->hop == 100e-9);
    assert_true(net->reducer.radix == 4 && net->reducer.hop == 1e-6 && net->reducer.beta == 0.5e-9);
    assert_true(clab_net_link(net, 0, 1) == &net->pair && clab_net_link(net, 1, 2) == &net->intra);
    assert_true(clab_net_link(net, 0, 23) == &net->inter && clab_net_link(net, 0, 24) == &net->tiers[0]);
    assert_true(net->tiers[0].nsegments == 1 && net->tiers[0].segments[0].o_send == 9e-6);
    clab_net_free(net);
}

// Most of the way to another rack no port is busy: a tier may have segments, and the ranks of a node are a group.
static void test_net_reads_segments_of_tiers(void **state)
{
    needs_inih();
    struct clab_net *net;
    const char *logged;
    write_net("[net]\ntitle = x\nranks = 4\ngamma = 1 ns/B\n[link intra]\nalpha = 1 us\nbeta = 1 GB/s\n"
              "[link inter]\nalpha = 5 us\nbeta = 1 GB/s\n[tier zone]\nnodes = 6\nalpha = 9 us\nbeta = 1 GB/s\n"
              "[segment zone tcp]\nup_to = any\no_send = 2 us\no_recv = 2 us\nlatency = 5 us\n"
              "gap_send = 1 GB/s\ngap_recv = 1 GB/s\nfragment = 0 B\n");
    assert_int_equal(load(path, &net, &logged), CLAB_OK);
    assert_string_equal(logged, "");
    const struct clab_segment *s = clab_link_segment(clab_net_link(net, 0, 24), 1 << 20);
    assert_true(s->o_send == 2e-6 && s->latency == 5e-6 && s->fragment == 0);
    assert_int_equal(clab_net_group(net, 4), 0);
    assert_int_equal(clab_net_group(net, 5), 4);
    clab_net_free(net);
    write_net(
        "[net]\ntitle = x\ngamma = 1 ns/B\n[link inter]\nalpha = 5 us\nbeta = 1 GB/s\n[segment zone tcp]\nup_to = any\n");
    assert_int_equal(load(path, &net, &logged), CLAB_EPARSE);
}

static void test_net_says_what_is_not_there(void **state)
{
    needs_inih();
    struct clab_net *net = NULL;
    const char *logged;
    assert_int_equal(load("tin-cans", &net, &logged), CLAB_ENOENT);
    assert_text_has(logged, "no network 'tin-cans': ");
    assert_int_equal(load("machin", &net, &logged), CLAB_ENOENT);
    assert_text_has(logged, "did you mean 'machine'?");
    assert_int_equal(load("/nowhere/x.net", &net, &logged), CLAB_ENOENT);
    assert_text_has(logged, "/nowhere/x.net");
    assert_int_equal(load("flat", &net, &logged), CLAB_ENOENT);
    setenv("CLAB_PROFILE", "/nowhere/machine.net", 1);
    assert_int_equal(load("machine", &net, &logged), CLAB_ENOENT);
    assert_text_has(logged, "commlab fit");
    assert_int_equal(load("machine-ofi", &net, &logged), CLAB_ENOENT);
    assert_text_has(logged, "/nowhere/machine-ofi.net");
    assert_text_has(logged, "commlab fit --backend ofi");
    setenv("CLAB_PROFILE", path, 1);
    write_net(GOOD);
    assert_int_equal(load("machine", &net, &logged), CLAB_OK);
    clab_net_free(net);
    char *beside;
    assert_int_equal(clab_net_profile_path("shm", &beside), CLAB_OK);
    assert_string_equal(beside, path);
    free(beside);
    assert_int_equal(clab_net_profile_path("ofi", &beside), CLAB_OK);
    assert_text_has(beside, "/test-ofi.net");
    free(beside);
    unsetenv("CLAB_PROFILE");
    assert_null(strstr(logged, "error"));
}

static void test_net_prices_work_by_the_longer_of_arithmetic_and_memory(void **state)
{
    needs_inih();
    struct clab_net *net;
    const char *logged;
    double seconds = 7;
    write_net(GOOD "[compute]\nf64 = 10 Tflop/s\nf32 = 20 Tflop/s\nf16 = 0.4 Pflop/s\nmemory = 2 TB/s\n");
    assert_int_equal(load(path, &net, &logged), CLAB_OK);
    assert_true(net->compute.flops[CLAB_FP32] == 20e12 && net->compute.flops[CLAB_TF32] == 0);
    assert_int_equal(clab_net_compute(net, CLAB_FP16, 4e12, 0, &seconds), CLAB_OK);
    assert_true(fabs(seconds - 0.01) < 1e-15);
    assert_int_equal(clab_net_compute(net, CLAB_FP16, 4e12, 4e10, &seconds), CLAB_OK);
    assert_true(fabs(seconds - 0.02) < 1e-15); // memory
    assert_int_equal(clab_net_compute(net, CLAB_TF32, 4e12, 0, &seconds), CLAB_OK);
    assert_true(fabs(seconds - 0.2) < 1e-15); // has no units: as f32
    assert_int_equal(clab_net_compute(net, CLAB_FP8, 4e12, 0, &seconds), CLAB_OK);
    assert_true(fabs(seconds - 0.01) < 1e-15); // as f16
    assert_int_equal(clab_net_compute(net, CLAB_FP64, 0, 0, &seconds), CLAB_OK);
    assert_true(seconds == 0);
    assert_int_equal(clab_net_compute(net, CLAB_FP64, -1, 0, &seconds), CLAB_EINVAL);
    clab_net_free(net);
    write_net(GOOD "[compute]\nf32 = 20 Tflop/s\nmemory = 2 TB/s\n"); // as commlab fit writes it
    assert_int_equal(load(path, &net, &logged), CLAB_OK);
    assert_int_equal(clab_net_compute(net, CLAB_FP16, 4e12, 0, &seconds), CLAB_OK);
    assert_true(fabs(seconds - 0.2) < 1e-15);
    seconds = 0;
    assert_int_equal(clab_net_compute(net, CLAB_FP64, 1, 0, &seconds), CLAB_ENOENT);
    clab_net_free(net);
    assert_int_equal(clab_net_create_flat(1, 1, 2, &net), CLAB_OK);
    assert_int_equal(clab_net_compute(net, CLAB_FP64, 1, 1, &seconds), CLAB_ENOENT);
    assert_true(seconds == 0);
    assert_int_equal(clab_net_compute(net, CLAB_FP64, 0, 12, &seconds), CLAB_OK);
    assert_true(fabs(seconds - 8) < 1e-12); // 12 bytes are read and written to sum 4
    assert_int_equal(clab_net_compute(net, CLAB_FP64, 0, -1, &seconds), CLAB_ENOENT);
    clab_net_free(net);
}

static void test_net_levels_are_linear_in_the_logarithm(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1, 1, 0.25, &net), CLAB_OK);
    assert_true(clab_net_level(net, 4096).reduce[CLAB_FRESH][CLAB_BOTH] == 0.25); // gamma, where there are no levels
    assert_true(clab_net_level(net, 4096).copy[CLAB_ALONE] == 0);
    net->nlevels = 2;
    net->levels[0] = (struct clab_level){.bytes = 1024, .copy = {1, 2}};
    net->levels[1] = (struct clab_level){.bytes = 16384, .copy = {3, 6}};
    assert_true(clab_net_level(net, 4096).copy[CLAB_ALONE] == 2); // half way between 2^10 and 2^14
    assert_true(clab_net_level(net, 4096).copy[CLAB_BOTH] == 4);
    assert_true(clab_net_level(net, 1).copy[CLAB_ALONE] == 1);
    assert_true(clab_net_level(net, 16384).copy[CLAB_ALONE] == 3);
    assert_true(clab_net_level(net, 1 << 30).copy[CLAB_ALONE] == 3);
    // A level that does not say what adding to what a peer has read costs: as much more as a reduction of it.
    net->levels[0].add[CLAB_BOTH] = net->levels[0].reduce[CLAB_KEPT][CLAB_BOTH] = 2;
    net->levels[0].reduce[CLAB_FRESH][CLAB_BOTH] = 5;
    net->levels[1].add_fresh[CLAB_BOTH] = 9;
    assert_true(clab_net_level(net, 1024).add_fresh[CLAB_BOTH] == 5);
    assert_true(clab_net_level(net, 4096).add_fresh[CLAB_BOTH] == 7);
    assert_true(clab_net_level(net, 16384).add_fresh[CLAB_BOTH] == 9);
    net->levels[0].pull[CLAB_FRESH][CLAB_BOTH] = net->levels[0].pull[CLAB_KEPT][CLAB_BOTH] + 3;
    net->levels[0].copy[CLAB_BOTH] = 1; // a copy to what both have read: as much more as fresh data
    net->levels[1].copy_shared[CLAB_BOTH] = 6;
    assert_true(clab_net_level(net, 1024).copy_shared[CLAB_BOTH] == 4);
    assert_true(clab_net_level(net, 4096).copy_shared[CLAB_BOTH] == 5);
    clab_net_free(net);
}

// All that a byte costs, also where both ways are in use; a message's own cost stays.
static void test_net_scales_all_that_a_byte_costs(void **state)
{
    struct clab_link link = {.alpha = 1e-6, .beta = 2, .nsegments = 2};
    for (int i = 0; i < 2; i++)
        link.segments[i] = (struct clab_segment){.o_send = 1,
                                                 .o_recv = 1,
                                                 .o_after = 1,
                                                 .latency = 1,
                                                 .gap = 5,
                                                 .gap_joined = 6,
                                                 .gap_out = 1,
                                                 .gap_send = 2,
                                                 .gap_recv = 3,
                                                 .gap_both = 4,
                                                 .gap_acks = 7,
                                                 .core_send = 1,
                                                 .core_recv = 1,
                                                 .core_wait = 1,
                                                 .buffers = i == 1};
    clab_link_scale(&link, 10);
    assert_true(link.alpha == 1e-6 && link.beta == 20);
    for (int i = 0; i < 2; i++) {
        const struct clab_segment *s = &link.segments[i];
        assert_true(s->o_send == 1 && s->o_recv == 1 && s->latency == 1);
        assert_true(s->gap_send == 20 && s->gap_recv == 30 && s->gap_both == 40 && s->gap_acks == 70);
        assert_true(s->o_after == 1 && s->gap_out == 1 && s->core_send == 1 && s->core_recv == 1 && s->core_wait == 1);
        // A socket's gaps are headers, which are bytes; LogGP's is a time.
        assert_true(s->gap == (s->buffers ? 50 : 5) && s->gap_joined == (s->buffers ? 60 : 6));
    }
}

// Three parties on one adapter: each gets a third of it.
static void test_net_shares_an_adapter_both_ways(void **state)
{
    struct clab_net *net;
    assert_int_equal(clab_net_create_flat(1e-6, 1e-9, 0, &net), CLAB_OK);
    net->inter.segments[0].gap_both = 2e-9;
    clab_net_share(net, 3);
    assert_true(net->inter.segments[0].gap_both == 3 * 2e-9);
    clab_net_free(net);
}

static void test_net_refuses_more_ranks_than_it_has(void **state)
{
    needs_inih();
    struct clab_net *net;
    const char *logged;
    write_net(GOOD);
    assert_int_equal(load(path, &net, &logged), CLAB_OK);
    assert_int_equal(clab_net_check_ranks(net, 9), CLAB_EINVAL);
    clab_net_free(net);
}

// 65536 leaves of 65536 routers are none in 32 bits, and twice 2^30 switches fewer than none.
static void test_net_counts_more_links_than_an_int_holds(void **state)
{
    needs_inih();
    static const char *const texts[] = {
        GOOD "[topology]\nbetween = dragonfly\nleaf = 65536\nrouters = 65536\nhop = 1 us\n",
        "[net]\ntitle = x\nranks = 1073741824\ngamma = 1 ns/B\n[link intra]\nalpha = 1 us\nbeta = 1 GB/s\n"
        "[link inter]\nalpha = 1 us\nbeta = 1 GB/s\n[topology]\ninside = pcie\nbelow = 1\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct clab_net *net;
        const char *logged;
        write_net(texts[i]);
        assert_int_equal(load(path, &net, &logged), CLAB_OK);
        assert_int_equal(clab_net_shared_links(net, 8), CLAB_SHARED_LINKS);
        clab_net_free(net);
    }
}

static int name_file(void **state)
{
    if (folder_make(state))
        return -1;
    snprintf(path, sizeof path, "%s", folder_path("test.net"));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_net_reads_every_field),
        cmocka_unit_test(test_net_refuses_each_mistake_with_its_line),
        cmocka_unit_test(test_net_shipped_descriptions_are_well_formed),
        cmocka_unit_test(test_net_reads_topologies),
        cmocka_unit_test(test_net_reads_segments_of_tiers),
        cmocka_unit_test(test_net_says_what_is_not_there),
        cmocka_unit_test(test_net_prices_work_by_the_longer_of_arithmetic_and_memory),
        cmocka_unit_test(test_net_levels_are_linear_in_the_logarithm),
        cmocka_unit_test(test_net_scales_all_that_a_byte_costs),
        cmocka_unit_test(test_net_shares_an_adapter_both_ways),
        cmocka_unit_test(test_net_refuses_more_ranks_than_it_has),
        cmocka_unit_test(test_net_counts_more_links_than_an_int_holds),
    };
    return cmocka_run_group_tests(tests, name_file, folder_remove);
}
