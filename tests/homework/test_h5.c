// SPDX-License-Identifier: MIT
// Homework h5: what a search finds has all points and is not below the bound, the job as it runs now has none, and each
// typical mistake is named.

// clang-format off
// clang-format on

#include "tests/fixtures/capture.h"

#include <math.h>

#include "core/base/err.h"
#include "labs/homework/h5/price.h"
#include "tests/fixtures/grading.h"
#include "tests/fixtures/full.h"
#include "tests/fixtures/needs.h"

enum { STUDENTS = 20, SEARCHED = IS_SLOW ? 1 : 4 };

extern const struct homework homework_h5;

static const char starter[] = "labs/homework/h5/starter/plan.ini";

static void name_student(int student, char id[16])
{
    snprintf(id, 16, "s%d", student);
}

// The job of that student, as the grader sees it.
static struct h5_job job_of(int student)
{
    struct grading g = {0};
    struct h5_job job;
    char id[16];
    name_student(student, id);
    g.student = id;
    h5_job_draw(grading_seed(&g, "h5 job", false), &job);
    return job;
}

static void grade(struct grading *g, int student, const char *submission)
{
    static char id[16];
    name_student(student, id);
    grading_begin(g, &homework_h5, id, submission);
    homework_h5.grade(g);
}

// Grade a plan that is given as text.
static void grade_text(struct grading *g, int student, const char *text)
{
    char path[] = "/tmp/commlab-h5-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    const size_t length = strlen(text);
    assert_true(write(fd, text, length) == (ssize_t)length && close(fd) == 0);
    grade(g, student, path);
    unlink(path);
}

// ---- a search --------------------------------------------------------------------------------------------------------

struct best {
    struct h5_plan plan;
    double step;
};

static void offer(const struct h5_job *job, const struct h5_plan *plan, struct best *best)
{
    struct h5_time time;
    assert_int_equal(h5_price(job, plan, &time), CLAB_OK);
    if (time.step < best->step)
        *best = (struct best){*plan, time.step};
}

// The best sizes of buckets for what is rented, unless that is far from the best so far.
static void tune(const struct h5_job *job, struct h5_plan plan, struct best *best)
{
    struct h5_time time;
    plan.bucket = (size_t)32 << 20, plan.first_bucket = (size_t)4 << 20;
    assert_int_equal(h5_price(job, &plan, &time), CLAB_OK);
    if (time.step > 1.15 * best->step)
        return;
    for (plan.bucket = (size_t)8 << 20; plan.bucket <= (size_t)512 << 20; plan.bucket *= 2)
        for (plan.first_bucket = (size_t)1 << 20; plan.first_bucket <= plan.bucket; plan.first_bucket *= 8)
            offer(job, &plan, best);
}

static bool is_possible(const struct h5_job *job, struct h5_plan *plan)
{
    char why[H5_WHY];
    for (plan->micro_batch = job->most_micro; plan->micro_batch > 0; plan->micro_batch--)
        if (h5_plan_check(job, plan, why))
            return true;
    return false;
}

// All that can be rented, with the algorithm that uses all adapters for what is large.
static struct best search(const struct h5_job *job)
{
    struct best best = {.step = INFINITY};
    struct h5_plan plan = {
        .overlap = CLAB_TRAIN_FULL, .choices = {{64 << 10, "leaders"}, {SIZE_MAX, "hierarchical"}}, .nchoices = 2};
    for (plan.rented.hosts = H5_HOSTS; plan.rented.hosts >= 2; plan.rented.hosts--)
        for (plan.rented.gpus = H5_GPUS; plan.rented.gpus >= 2; plan.rented.gpus /= 2)
            for (plan.rented.adapters = 1; plan.rented.adapters <= H5_ADAPTERS; plan.rented.adapters *= 2)
                for (int kind = 0; kind < 4 * H5_CODINGS; kind++) {
                    plan.rented.is_fast = kind % 2;
                    plan.rented.placement = (enum h5_placement)(kind / 2 % 2);
                    plan.coding = kind / 4;
                    if (is_possible(job, &plan) && !h5_job_can_upgrade(job, &plan.rented))
                        tune(job, plan, &best);
                }
    return best;
}

static void write_plan(const struct h5_plan *plan, char text[2048])
{
    const struct h5_rented *r = &plan->rented;
    snprintf(
        text, 2048,
        "[plan]\nhosts = %d\ngpus_per_host = %d\nadapters = %d\nrate = %s\nplacement = %s\nmicro_batch = %d\noverlap = %s\n"
        "bucket = %zu KiB\nfirst_bucket = %zu KiB\ncompress = %s\nleaderboard = yes\n[algorithms]\nany = %s\n%zu = %s\n",
        r->hosts, r->gpus, r->adapters, r->is_fast ? "fast" : "slow", h5_placement_names[r->placement],
        plan->micro_batch, clab_train_overlap_name(plan->overlap), plan->bucket >> 10, plan->first_bucket >> 10,
        h5_coding_names[plan->coding], plan->choices[1].algorithm, plan->choices[0].up_to, plan->choices[0].algorithm);
}

static void test_what_a_search_finds_has_all_points(void **state)
{
    needs_inih();
    const int searched = few_of(SEARCHED, 1);
    for (int student = 0; student < searched; student++) {
        const struct h5_job job = job_of(student);
        const struct best best = search(&job);
        struct grading g;
        char text[2048];
        double bound;
        assert_int_equal(h5_bound(&job, &bound), CLAB_OK);
        assert_true(best.step >= 0.999 * bound);
        write_plan(&best.plan, text);
        grade_text(&g, student, text);
        if (grading_sum(&g) < 74.5)
            fail_msg("student %d: %g points: %s%s%s", student, grading_sum(&g), grading_text(&g, "own"),
                     grading_text(&g, "links"), grading_text(&g, "batch"));
        assert_float_equal(g.rank, 100 * best.step / bound, 0.02);
        grading_end(&g);
    }
}

// ---- jobs ------------------------------------------------------------------------------------------------------------

static void test_jobs_are_worth_the_thought(void **state)
{
    needs_inih();
    const int students = few_of(STUDENTS, 4);
    for (int student = 0; student < students; student++) {
        const struct h5_job job = job_of(student);
        struct h5_plan now;
        struct h5_time time;
        double bound;
        h5_plan_now(&job, &now);
        assert_int_equal(h5_price(&job, &now, &time), CLAB_OK);
        assert_int_equal(h5_bound(&job, &bound), CLAB_OK);
        assert_true(time.step > 2.5 * bound);                   // there is much to win
        assert_true(time.communication > 2 * time.computation); // and the network is what to begin with
        assert_true(h5_job_price(&job, &job.now) <= job.budget);
        assert_true(!(job.loss[H5_POWERSGD] <= job.most_loss) && job.loss[2] <= job.most_loss);
    }
}

// What one derives by hand of a plan without a network: one host with one GPU.
static void test_one_gpu_takes_its_flop_and_its_update(void **state)
{
    needs_inih();
    const struct h5_job job = job_of(0);
    struct h5_plan plan;
    struct h5_time time;
    h5_plan_now(&job, &plan);
    plan.rented.hosts = plan.rented.gpus = 1;
    plan.micro_batch = 1;
    assert_int_equal(h5_price(&job, &plan, &time), CLAB_OK);
    const double w = job.width, tokens = 512, layer = 12 * w * w,
                 flop = 2 * tokens * (job.layers * layer + w * job.words) + job.layers * 4 * tokens * tokens * w,
                 parameters = job.layers * (layer + 13 * w) + w * (job.words + tokens) + 2 * w;
    assert_float_equal(time.computation, 3 * job.batch * flop / (0.4 * job.peak), 1e-9 * time.computation);
    assert_float_equal(time.update, 28 * parameters / job.memory, 1e-6 * time.update);
    assert_true(time.communication == 0 && fabs(time.step - time.computation - time.update) < 1e-12);
}

static void test_the_job_as_it_runs_now_has_no_points(void **state)
{
    needs_inih();
    const int searched = few_of(SEARCHED, 1);
    for (int student = 0; student < searched; student++) {
        struct grading g;
        grade(&g, student, starter);
        assert_true(grading_sum(&g) == 0);
        assert_non_null(strstr(grading_text(&g, "own"), "Nothing hides communication"));
        assert_true(g.rank < 0);
        grading_end(&g);
    }
}

// ---- mistakes --------------------------------------------------------------------------------------------------------

// The starter with one line that begins so replaced by others.
static void change(const char *key, const char *lines, char text[8192])
{
    char line[256];
    FILE *file = fopen(starter, "r");
    assert_non_null(file);
    *text = '\0';
    while (fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)))
            strcat(text, line);
        else
            strcat(strcat(text, lines), *lines ? "\n" : "");
    fclose(file);
}

static void test_each_mistake_is_named(void **state)
{
    needs_inih();
    static const struct {
        const char *key, *lines, *words;
    } mistakes[] = {
        {"hosts =", "hosts = 16", "the plan is over budget: 16 hosts"},
        {"hosts =", "hosts = 17", "plan.ini:14: [plan] hosts = '17': expected a number from 1 to 16"},
        {"hosts =", "hosts = 7", "the batch of 768 is no multiple of that: change hosts"},
        {"hosts =", "", "[plan] has no key hosts; add it"},
        {"gpus_per", "gpus_per_host = 3", "expected 1, 2, 4 or 8"},
        {"gpus_per", "gpus_per_host = 1\nadapters = 2", "only 1 of a host's GPUs can use one each"},
        {"adapters", "adapters = 3", "expected 1, 2 or 4 per host"},
        {"rate", "rate = 100 Gb/s", "expected slow or fast"},
        {"placement", "placement = pack", "expected spread or packed"},
        {"micro", "micro_batch = 16", "does not fit into the memory of a GPU"},
        {"overlap", "overlap = yes", "expected none, bucket or full"},
        {"bucket", "bucket = 25", "expected a size from 64 KiB to 16 GiB"},
        {"bucket", "bucket_size = 25 MiB", "[plan] knows no key 'bucket_size'"},
        {"bucket", "buckets = 25 MiB", "(did you mean 'bucket'?)"},
        {"compress", "compress = powersgd:16", "does not converge to what the job accepts"},
        {"compress", "compress = powersgd:17", "expected a name of the section [loss] in job.ini"},
        {"compress", "compress = none\ncompress = bf16", "this key was given before: compress"},
        {"leader", "leaderboard = ada", "expected yes or no"},
        {"any", "any = rign", "allreduce has no algorithm 'rign' (did you mean 'ring'?)"},
        {"any", "any = auto", "a plan chooses one of"},
        {"any", "any = in_network", "allreduce has no algorithm 'in_network'"},
        {"any", "1 MiB = ring", "[algorithms] has no key any"},
        {"any", "any = ring\n1 MiB = tree\n1024 KiB = leaders", "expected each size once"},
        {"any", "any = ring\nlarge = tree", "expected a size on the left"},
        {"[algorithms]", "[algorithm]", "a plan has the sections [plan] and [algorithms]"},
        {"overlap", "overlap none", "expected '[section]' or 'name = value'"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        struct grading g;
        char text[8192];
        change(mistakes[i].key, mistakes[i].lines, text);
        if (strstr(mistakes[i].lines, "adapters ="))
            for (char *old = strstr(text, "adapters = 1"); old; old = NULL)
                *old = ';';
        grade_text(&g, 0, text);
        for (const struct homework_test *test = homework_h5.tests; test->key; test++)
            if (!strstr(grading_text(&g, test->key), mistakes[i].words))
                fail_msg("'%s': no '%s' in: %s", mistakes[i].lines, mistakes[i].words, grading_text(&g, test->key));
        assert_true(grading_sum(&g) == 0);
        grading_end(&g);
    }
}

static void test_an_empty_plan_is_refused(void **state)
{
    needs_inih();
    struct grading g;
    grade_text(&g, 0, "");
    assert_non_null(strstr(grading_text(&g, "own"), "the file is empty"));
    grading_end(&g);
}

// What each of several changes brings, so that the order of what is worth it is right.
static void test_half_a_solution_has_some_points(void **state)
{
    needs_inih();
    if (!is_full()) {
        leave_out(1);
        return;
    }
    char text[8192];
    struct grading g;
    change("overlap", "overlap = full", text);
    grade_text(&g, 0, text);
    const double overlapped = grading_sum(&g);
    grading_end(&g);
    strcpy(strstr(text, "any = ring"), "any = hierarchical\n");
    grade_text(&g, 0, text);
    assert_true(overlapped > 0 && overlapped < 20 && grading_sum(&g) > overlapped && grading_sum(&g) < 50);
    grading_end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_are_worth_the_thought),
        cmocka_unit_test(test_one_gpu_takes_its_flop_and_its_update),
        cmocka_unit_test(test_what_a_search_finds_has_all_points),
        cmocka_unit_test(test_the_job_as_it_runs_now_has_no_points),
        cmocka_unit_test(test_each_mistake_is_named),
        cmocka_unit_test(test_an_empty_plan_is_refused),
        cmocka_unit_test(test_half_a_solution_has_some_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
