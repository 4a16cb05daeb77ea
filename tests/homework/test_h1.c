// SPDX-License-Identifier: MIT
// Homework h1: whole data have all points, each contradiction and each copy is named, and claims are computed anew.

// clang-format off
// clang-format on

#include "tests/fixtures/capture.h"

#include <math.h>
#include <sys/stat.h>

#include "core/base/mix.h"
#include "core/base/stats.h"
#include "labs/homework/h1/check.h"
#include "tests/fixtures/grading.h"

enum { CALLS = 11, MOST_RANKS = 6 };

extern const struct homework homework_h1;

static char folder[64];

// ---- data that somebody might have measured ------------------------------------------------------------------------------

static double noise(int backend, int ranks, size_t bytes, int call, int rank)
{
    uint64_t x = clab_mix((uint64_t)(backend * 10 + ranks), bytes);
    x = clab_mix(clab_mix(x, (uint64_t)call), (uint64_t)rank);
    return 1 + 0.02 * (double)(x >> 11) / (double)(UINT64_C(1) << 53);
}

// A call of 100 us, or 1 us by shm, and 1 or 0.8 us per kB and pair of ranks.
static double usec(int backend, int ranks, size_t bytes, int call, int rank)
{
    return ((backend ? 1 : 100) + (backend ? 8e-4 : 1e-3) * (double)bytes * ranks / 2) *
           noise(backend, ranks, bytes, call, rank);
}

static void write_cell(FILE *matrix, FILE *samples, int backend, int ranks, size_t bytes)
{
    static const char *const names[] = {"gloo", "shm"};
    double times[CALLS] = {0};
    struct clab_summary s;
    for (int call = 0; call < CALLS; call++)
        for (int rank = 0; rank < ranks; rank++) {
            const double t = usec(backend, ranks, bytes, call, rank);
            times[call] = fmax(times[call], t);
            fprintf(samples, "allreduce,native,%s,%d,%zu,float,sum,-1,1,throughput,%d,1,1,%d,%.12g\n", names[backend],
                    ranks, bytes, call, rank, t);
        }
    assert_int_equal(clab_summarize(times, CALLS, &s), 0);
    const double algbw = (double)bytes / s.median / 1e3;
    fprintf(matrix, "allreduce,native,%s,%d,%zu,%.12g,%.12g,%.12g,%.12g,%.12g,0,%d,%d,%.12g,ok,\n", names[backend],
            ranks, bytes, s.median, s.low, s.high, algbw, algbw * 2 * (ranks - 1) / ranks, CALLS, ranks > 2,
            s.median / 3);
}

static FILE *create(const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = create(name);
    fputs(text, file);
    fclose(file);
}

// The files of student `ada`, whose data have that student's seed.
static void write_data(void)
{
    struct grading ada = {.homework = &homework_h1, .student = "ada"};
    FILE *matrix = create("matrix.csv"), *samples = create("matrix_samples.csv");
    fprintf(
        matrix,
        "# seed: %llu\ncollective,algorithm,backend,ranks,bytes,usec,usec_low,usec_high,algbw_GBps,busbw_GBps,wrong,"
        "num_iters,oversubscribed,sim_usec,status,reason\n",
        1 + (unsigned long long)grading_seed(&ada, "h1 data", false) % 999999);
    fprintf(samples, "collective,algorithm,backend,ranks,bytes,type,op,root,inplace,mode,batch,calls,kept,rank,usec\n");
    for (int ranks = 2; ranks <= MOST_RANKS; ranks += 2)
        for (int i = 0; i < H1_SIZES; i++)
            for (int backend = 0; backend < 2; backend++)
                write_cell(matrix, samples, backend, ranks, h1_sizes[i]);
    fclose(matrix);
    fclose(samples);
    write_text("claims.csv", "quantity,of,against,value,unit\n");
}

// Change a file by awk, whose fields are its columns; the program must change something.
static void change(const char *name, const char *program)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && awk -F, -v OFS=, '%s' %s >changed && ! cmp -s changed %s && mv changed %s", folder, program,
             name, name, name);
    assert_int_equal(system(command), 0);
}

static void grade(struct grading *g, const char *student)
{
    grading_begin(g, &homework_h1, student, folder);
    homework_h1.grade(g);
}

static void expect(const struct grading *g, const char *key, double points, const char *words)
{
    if (fabs(grading_points(g, key) - points) > 0.01 || !strstr(grading_text(g, key), words))
        fail_msg("%s: %g points, not %g, or not '%s': %s", key, grading_points(g, key), points, words,
                 grading_text(g, key));
}

// ---- rows ----------------------------------------------------------------------------------------------------------------

static void test_whole_data_have_all_points(void **state)
{
    struct grading g;
    write_data();
    grade(&g, "ada");
    expect(&g, "complete", 15, "gloo has all 15 cells");
    expect(&g, "consistent", 15, "30 of 30 rows agree");
    expect(&g, "own", 5, "30 of 30 rows are measurements of their own");
    expect(&g, "claims", 0, "0 of 5 claims count");
    grading_end(&g);
}

static void test_a_matrix_of_this_machine_agrees_with_itself(void **state)
{
    struct grading g;
    char command[512];
    snprintf(
        command, sizeof command,
        "rm -f %s/matrix*.csv && %s/commlab bench --matrix --backend shm --num-processes 2 --data-sizes 8B 64KiB 1 "
        "--num-iters 8 --budget 10s --output %s/matrix.csv >%s/log 2>&1",
        folder, getenv("CLAB_BUILD") ? getenv("CLAB_BUILD") : "build", folder, folder);
    assert_int_equal(system(command), 0);
    grade(&g, "ada");
    expect(&g, "complete", 2, "shm has 2 of 15 cells; shm, 2 ranks, 10 MB is missing");
    expect(&g, "consistent", 15, "3 of 3 rows agree");
    expect(&g, "own", 0, "another seed than yours");
    assert_non_null(strstr(grading_text(&g, "own"), "3 of 3 rows are no copies"));
    grading_end(&g);
}

// Each is a change of a file, the test that it costs, what is left of its points, and what is said.
static const struct {
    const char *file, *program, *key;
    double points;
    const char *words;
} faults[] = {
    {"matrix.csv", "$5 == 1000000000 && $4 == 6 { next } 1", "complete", 14, "gloo, 6 ranks, 1 GB is missing"},
    {"matrix.csv", "$5 == 1000000000 { $6 = $7 = $8 = $9 = $10 = \"\"; $15 = \"skipped\"; $16 = \"needs memory\" } 1",
     "complete", 15, "all 15 cells"},
    {"matrix.csv", "$5 == 1000000000 { $15 = \"skipped\"; $16 = \"it did not fit the budget of 9 s\" } 1", "complete",
     12, "was skipped since the time was over"},
    {"matrix.csv", "$5 == 1000000000 { $15 = \"skipped\" } 1", "complete", 12, "its reason is empty"},
    {"matrix_samples.csv", "$5 == 8 && $4 == 2 { next } 1", "complete", 14, "has no samples"},
    {"matrix.csv", "$3 == \"gloo\" && $5 == 1000000 && $4 == 2 { $6 = $6 / 2 } 1", "consistent", 14.5,
     "usec is 558.118, but the median of its samples gives 1116.24"},
    {"matrix.csv", "$3 == \"gloo\" && $5 == 1000000 && $4 == 2 { $7 = $6 } 1", "consistent", 14.5, "usec_low is"},
    {"matrix.csv", "$3 == \"gloo\" && $5 == 1000000 && $4 == 2 { $9 = 1.5 } 1", "consistent", 14.5,
     "algbw_GBps is 1.5, but bytes / time"},
    {"matrix.csv", "$3 == \"gloo\" && $5 == 1000000 && $4 == 4 { $10 = $9 } 1", "consistent", 14.5, "busbw_GBps is"},
    {"matrix.csv", "$3 == \"gloo\" && $5 == 8 && $4 == 2 { $12 = 50 } 1", "consistent", 14.5, "num_iters is 50, but"},
    {"matrix.csv", "$3 == \"gloo\" && $5 == 8 && $4 == 2 { $11 = 7 } 1", "consistent", 14.5,
     "7 elements of the sum are wrong"},
    {"matrix_samples.csv", "$3 == \"shm\" && $5 == 8 && $4 == 2 && $11 == 3 && $14 == 1 { next } 1", "consistent", 14.5,
     "call 3 of rank 1 has no time"},
    {"matrix_samples.csv", "$3 == \"shm\" && $5 == 8 && $4 == 2 && $11 == 3 { $15 = -1 } 1", "consistent", 14.5,
     "call 3 of rank 0 has no time"},
    {"matrix_samples.csv", "$3 == \"shm\" && $5 == 8 && $4 == 2 && $11 == 9 { $15 = 9999 } 1", "consistent", 14.5,
     "usec"},
    {"matrix_samples.csv", "$3 == \"shm\" && $5 == 8 { $15 = 5 } 1", "own", 4.5, "all calls took the same"},
    {"matrix_samples.csv", "$3 == \"shm\" && $5 == 8 && $4 == 2 { if ($14 == 0) t = $15; $15 = t } 1", "own",
     5 * 29 / 30.0, "all ranks took the same"},
    {"matrix.csv", "/^# seed/ { $0 = \"# seed: 5\" } 1", "own", 0, "another seed than yours"},
    {"matrix.csv", "{ sub(/gloo/, \"sim\") } 1", "own", 2.5, "sim's times are virtual"},
    {"matrix.csv", "NR == 3 { print } 1", "complete", 0, "is in line 3 already: a cell has one row"},
    {"matrix.csv", "{ sub(/,status/, \",state\") } 1", "complete", 0, "has no column 'status'"},
    {"matrix.csv", "$5 == 8 { $15 = \"fine\" } 1", "complete", 0, "status is none of"},
    {"matrix.csv", "{ $6 = \"\" } NR < 3 { print \"x\" } NR > 2", "own", 0, "matrix.csv"},
};

static void test_each_fault_of_the_data_is_named(void **state)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct grading g;
        write_data();
        change(faults[i].file, faults[i].program);
        grade(&g, "ada");
        expect(&g, faults[i].key, faults[i].points, faults[i].words);
        grading_end(&g);
    }
}

// The rows of 1 MB of shm are those of gloo, times a factor, and agree with their samples.
static void test_a_copied_row_is_named_even_if_it_is_scaled(void **state)
{
    for (int scaled = 0; scaled < 2; scaled++) {
        struct grading g;
        char program[512];
        const double factor = scaled ? 0.75 : 1;
        write_data();
        snprintf(
            program, sizeof program,
            "$3 == \"gloo\" && $5 == 1000000 { t = $15 } $3 == \"gloo\" { k = $4 \" \" $5 \" \" $11 \" \" $14; v[k] = $15 } "
            "$3 == \"shm\" && $5 == 1000000 { $15 = %g * v[$4 \" \" $5 \" \" $11 \" \" $14] } 1",
            factor);
        change("matrix_samples.csv", program);
        grade(&g, "ada");
        expect(&g, "own", 4.5, scaled ? "times 0.75: a copy" : "times 1: a copy");
        grading_end(&g);
    }
}

static void test_the_seed_is_the_student_s_own(void **state)
{
    struct grading g;
    write_data();
    grade(&g, "bob");
    expect(&g, "own", 0, "another seed than yours");
    grading_end(&g);
}

static void test_odd_times_are_said_and_cost_nothing(void **state)
{
    struct grading g;
    write_data();
    change("matrix.csv", "$13 == 1 { $14 = 3 * $6 } 1");
    grade(&g, "ada");
    expect(&g, "consistent", 15, "to discuss, without points: gloo, 4 ranks, 8 B");
    grading_end(&g);
}

static void test_what_is_missing_is_named(void **state)
{
    static const char *const files[] = {"matrix.csv", "matrix_samples.csv"};
    for (int i = 0; i < 2; i++) {
        struct grading g;
        char path[128];
        write_data();
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
        grade(&g, "ada");
        expect(&g, "complete", 0, files[i]);
        grading_end(&g);
    }
}

static void test_garbage_is_refused(void **state)
{
    static const char *const texts[] = {"", "\xff\xfe\x01", "collective\nallreduce\n", "a,b\n1\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct grading g;
        write_data();
        write_text("matrix.csv", texts[i]);
        grade(&g, "ada");
        assert_true(fabs(grading_sum(&g)) < 1e-9 && *grading_text(&g, "complete"));
        grading_end(&g);
    }
}

// ---- claims --------------------------------------------------------------------------------------------------------------

static double median(int backend, int ranks, size_t bytes)
{
    double times[CALLS] = {0};
    for (int call = 0; call < CALLS; call++)
        for (int rank = 0; rank < ranks; rank++)
            times[call] = fmax(times[call], usec(backend, ranks, bytes, call, rank));
    return clab_quantile(times, CALLS, 0.5);
}

static double mean(int backend, int ranks, size_t bytes)
{
    double sum = 0;
    for (int call = 0; call < CALLS; call++) {
        double most = 0;
        for (int rank = 0; rank < ranks; rank++)
            most = fmax(most, usec(backend, ranks, bytes, call, rank));
        sum += most / CALLS;
    }
    return sum;
}

static void claim(struct grading *g, const char *lines)
{
    char text[1024];
    snprintf(text, sizeof text, "quantity,of,against,value,unit\n%s", lines);
    write_data();
    write_text("claims.csv", text);
    grade(g, "ada");
}

static void test_right_claims_count(void **state)
{
    struct grading g;
    char lines[512];
    const double a = median(0, 4, 10000000), b = median(0, 2, 10000000), c = median(1, 2, 8);
    snprintf(lines, sizeof lines,
             "time,gloo/4/10MB,,%.4g,ms\nbusbw,gloo/4/10MB,,%.4g,MB/s\nratio,gloo/2/8B,shm/2/8,%.4g,1\n"
             "efficiency,gloo/4/10MB,gloo/2/10MB,%.4g,%%\nagainst_sim,gloo/4/10MB,,3,1\n",
             a / 1e3, 1e7 / a * 1.5, median(0, 2, 8) / c, 100 * 1.5 * b / a);
    claim(&g, lines);
    expect(&g, "claims", 25, "5 of 5 claims count");
    grading_end(&g);
    snprintf(lines, sizeof lines,
             "crossover,shm/4,gloo/4,8,B\nhalf_size,gloo/2,,1,MB\nnoise,shm/2/8,,%.4g,%%\nalgbw,shm/2/8,,%.4g,GB/s\n"
             "against_sim,gloo/4/10MB,,3,1\n",
             1.0, 8 / c / 1e3);
    claim(&g, lines);
    assert_non_null(strstr(grading_text(&g, "claims"), "crossover: right"));
    assert_non_null(strstr(grading_text(&g, "claims"), "half_size: right"));
    assert_non_null(strstr(grading_text(&g, "claims"), "algbw: right"));
    grading_end(&g);
}

static void test_each_mistake_of_a_claim_is_named(void **state)
{
    const double gloo = median(0, 4, 1000000), less = median(0, 2, 1000000), small = median(1, 2, 8);
    const struct {
        const char *line;
        double value;
        const char *unit, *words;
    } wrong[] = {
        {"time,gloo/4/1MB,", gloo, "ms", "1000 times what your rows give: is the unit right?"},
        {"time,gloo/4/1MB,", 1.1 * gloo, "us", "+10 % off"},
        {"time,gloo/4/1MB,", 3 * gloo, "us", "3 times what your rows give"},
        {"time,gloo/4/1MB,", gloo, "GB/s", "time is in"},
        {"time,gloo/4/1MB,shm/4/1MB", gloo, "us", "takes nothing in the column 'against'"},
        {"time,gloo/4/2MB,", gloo, "us", "your matrix.csv has no time of gloo, 4 ranks, 2 MB"},
        {"time,gloo/4,", gloo, "us", "has no size"},
        {"time,four ranks,", gloo, "us", "is no place in the matrix"},
        {"tiem,gloo/4/1MB,", gloo, "us", "did you mean 'time'"},
        {"bandwidth,gloo/4/1MB,", 1, "GB/s", "a quantity is time, algbw, busbw"},
        {"busbw,gloo/4/1MB,", 1e3 / gloo, "GB/s", "that is algbw"},
        {"algbw,gloo/4/1MB,", 1.5e3 / gloo, "GB/s", "that is busbw"},
        {"algbw,gloo/2/1MB,", 1e3 / less / 1.048576, "GB/s", "MiB or GiB"},
        {"ratio,gloo/2/8B,shm/2/8B", small / median(0, 2, 8), "1", "that is the inverse"},
        {"ratio,gloo/2/8B,shm/2/8B", 100 * median(0, 2, 8) / small, "1", "is it percent?"},
        {"ratio,gloo/2/8B,", 5, "1", "against = '' is no place"},
        {"efficiency,gloo/4/1MB,gloo/2/1MB", 100 * less / gloo, "%", "that is the ratio of algbw"},
        {"against_sim,gloo/4/1MB,", 1 / 3.0, "1", "that is the inverse"},
        {"crossover,gloo/4,shm/4", 8, "B", "`of` is not faster"},
        {"crossover,gloo/4/8B,shm/4", 8, "B", "is about all sizes"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct grading g;
        char line[256];
        snprintf(line, sizeof line, "%s,%.6g,%s\n", wrong[i].line, wrong[i].value, wrong[i].unit);
        claim(&g, line);
        expect(&g, "claims", 0, wrong[i].words);
        grading_end(&g);
    }
}

// One slow call moves the mean, and not the median.
static void test_a_mean_is_named(void **state)
{
    struct grading g;
    char line[128];
    const double slow = 50000;
    const double slower =
        mean(0, 4, 1000000) + (slow - fmax(fmax(usec(0, 4, 1000000, 10, 0), usec(0, 4, 1000000, 10, 1)),
                                           fmax(usec(0, 4, 1000000, 10, 2), usec(0, 4, 1000000, 10, 3)))) /
                                  CALLS;
    write_data();
    change("matrix_samples.csv",
           "$3 == \"gloo\" && $5 == 1000000 && $4 == 4 && $11 == 10 && $14 == 2 { $15 = 50000 } 1");
    snprintf(line, sizeof line, "quantity,of,against,value,unit\ntime,gloo/4/1MB,,%.6g,us\n", slower);
    write_text("claims.csv", line);
    grade(&g, "ada");
    expect(&g, "claims", 0, "that is the mean of the samples");
    grading_end(&g);
}

static void test_two_of_a_quantity_count_and_sim_is_compared(void **state)
{
    struct grading g;
    char lines[512];
    const double t = median(0, 2, 8);
    snprintf(lines, sizeof lines, "time,gloo/2/8,,%.5g,us\ntime,gloo/2/8,,%.5g,us\ntime,gloo/2/8,,%.5g,us\n", t, t, t);
    claim(&g, lines);
    expect(&g, "claims", 10, "only two claims of one quantity count");
    grading_end(&g);
    snprintf(lines, sizeof lines,
             "time,gloo/2/8,,%.5g,us\ntime,gloo/2/8,,%.5g,us\nalgbw,gloo/2/8,,%.5g,GB/s\nalgbw,gloo/2/8,,%.5g,GB/s\n"
             "busbw,gloo/2/8,,%.5g,GB/s\n",
             t, t, 8e-3 / t, 8e-3 / t, 8e-3 / t);
    claim(&g, lines);
    expect(&g, "claims", 20, "no right claim compares a time with the simulator's");
    grading_end(&g);
}

static void test_the_starter_says_what_to_do(void **state)
{
    struct grading g;
    grading_begin(&g, &homework_h1, "ada", "labs/homework/h1/starter");
    homework_h1.grade(&g);
    expect(&g, "complete", 0, "there is no matrix.csv in what you hand in: work/h1/measure.sh writes it");
    grading_end(&g);
    write_data();
    char command[128];
    snprintf(command, sizeof command, "cp labs/homework/h1/starter/claims.csv %s", folder);
    assert_int_equal(system(command), 0);
    grade(&g, "ada");
    expect(&g, "claims", 0, "claims.csv:5: time: the value is still a blank");
    grading_end(&g);
}

static int make_folder(void **state)
{
    snprintf(folder, sizeof folder, "/tmp/commlab-h1-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_data_have_all_points),
        cmocka_unit_test(test_a_matrix_of_this_machine_agrees_with_itself),
        cmocka_unit_test(test_each_fault_of_the_data_is_named),
        cmocka_unit_test(test_a_copied_row_is_named_even_if_it_is_scaled),
        cmocka_unit_test(test_the_seed_is_the_student_s_own),
        cmocka_unit_test(test_odd_times_are_said_and_cost_nothing),
        cmocka_unit_test(test_what_is_missing_is_named),
        cmocka_unit_test(test_garbage_is_refused),
        cmocka_unit_test(test_right_claims_count),
        cmocka_unit_test(test_each_mistake_of_a_claim_is_named),
        cmocka_unit_test(test_a_mean_is_named),
        cmocka_unit_test(test_two_of_a_quantity_count_and_sim_is_compared),
        cmocka_unit_test(test_the_starter_says_what_to_do),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
