// SPDX-License-Identifier: MIT
// Runs a fuzzing target where there is no libFuzzer, with those of its options that tests/fuzz/run.sh uses:
//
//   fuzz_NAME [-seed=N] [-max_total_time=SECONDS] [-timeout=SECONDS] [-artifact_prefix=P] PATH...
//
// - Every file of the PATHs, which are files and folders, is an input. For so many seconds more it makes up others, by
//   changing those that it has: blindly, so what it finds in a second libFuzzer finds sooner, and more besides.
// - The input at hand is in the file P`input`: however the target ends, it is there. A good end removes it.
// - An input may take -timeout seconds (10); then SIGALRM ends the program.

#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mix.h"

enum { MOST_BYTES = 4096, MOST_CHANGES = 6 };

struct input {
    uint8_t *bytes;
    size_t size;
};

struct driver {
    struct input *inputs;
    int ninputs;
    uint64_t seed, drawn;
    double seconds;
    unsigned timeout;
    char kept[4096]; // the path of the input at hand
    int kept_fd;
    long runs;
};

static _Noreturn void give_up(const char *what, const char *path)
{
    fprintf(stderr, "%s %s: %m\n", what, path);
    exit(2);
}

// ---- inputs --------------------------------------------------------------------------------------------------

static void add_input(struct driver *d, const char *path)
{
    struct input input = {.bytes = malloc(MOST_BYTES)};
    struct input *inputs = realloc(d->inputs, ((size_t)d->ninputs + 1) * sizeof *inputs);
    FILE *file = fopen(path, "r");
    if (!file || !input.bytes || !inputs)
        give_up("can not read", path);
    input.size = fread(input.bytes, 1, MOST_BYTES, file);
    fclose(file);
    d->inputs = inputs;
    d->inputs[d->ninputs++] = input;
}

// In the order of their names, so that a seed repeats a run.
static void add_path(struct driver *d, const char *path)
{
    struct dirent **entries;
    struct stat status;
    if (stat(path, &status) != 0)
        give_up("can not read", path);
    if (!S_ISDIR(status.st_mode)) {
        add_input(d, path);
        return;
    }
    const int n = scandir(path, &entries, NULL, alphasort);
    if (n < 0)
        give_up("can not read", path);
    for (int i = 0; i < n; i++) {
        char entry[4096];
        snprintf(entry, sizeof entry, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.')
            add_path(d, entry);
        free(entries[i]);
    }
    free(entries);
}

// ---- made up -------------------------------------------------------------------------------------------------

// A number below `n`, which is above 0.
static size_t draw(struct driver *d, size_t n)
{
    return (size_t)(clab_mix(d->seed, d->drawn++) % n);
}

// Replace `gone` bytes at `at` by `bytes`.
static void put(struct input *in, size_t at, size_t gone, const void *bytes, size_t count)
{
    if (in->size - gone + count > MOST_BYTES)
        return;
    memmove(in->bytes + at + count, in->bytes + at + gone, in->size - at - gone);
    if (count)
        memcpy(in->bytes + at, bytes, count);
    in->size += count - gone;
}

// Where the line that holds `at` begins, and where the next one does.
static void find_line(const struct input *in, size_t at, size_t *begin_p, size_t *end_p)
{
    size_t begin = at, end = at;
    while (begin > 0 && in->bytes[begin - 1] != '\n')
        begin--;
    while (end < in->size && in->bytes[end++] != '\n')
        ;
    *begin_p = begin;
    *end_p = end;
}

// A piece of `from`: one of its lines, or any bytes.
static struct input piece(struct driver *d, const struct input *from)
{
    if (from->size == 0)
        return *from;
    size_t begin = draw(d, from->size), end = begin + 1 + draw(d, from->size - begin);
    if (draw(d, 2))
        find_line(from, begin, &begin, &end);
    return (struct input){from->bytes + begin, end - begin};
}

static void change(struct driver *d, struct input *in)
{
    static const char *const odd[] = {"0",  "-1",   "1e400", "nan", "0x1p3", "2147483648", "18446744073709551616",
                                      "\n", "\r\n", " ",     "\t",  ";",     "#",          "[",
                                      "]",  "=",    ",",     "\"",  "/",     "%n",         "\xff"};
    static uint8_t copy[MOST_BYTES];
    const size_t at = draw(d, in->size + 1);
    const struct input other = piece(d, &d->inputs[draw(d, (size_t)d->ninputs)]);
    const char *word = odd[draw(d, sizeof odd / sizeof *odd)];
    const uint8_t byte = (uint8_t)draw(d, 256);
    struct input own = piece(d, in);
    const size_t begin = (size_t)(own.bytes - in->bytes);
    switch (draw(d, 6)) {
    case 0: put(in, begin, own.size, NULL, 0); break; // leave it out
    case 1:                                           // say it twice
        memcpy(copy, own.bytes, own.size);
        put(in, at, 0, copy, own.size);
        break;
    case 2: put(in, at, 0, other.bytes, other.size); break;
    case 3: put(in, begin, own.size, other.bytes, other.size); break;
    case 4: put(in, at, in->size > at ? draw(d, 2) : 0, word, strlen(word)); break;
    default: put(in, at, in->size > at ? draw(d, 2) : 0, &byte, 1); break;
    }
}

// ---- a run ---------------------------------------------------------------------------------------------------

static void run(struct driver *d, const struct input *in)
{
    // With not a byte of room behind it, so that a sanitizer sees who reads too far.
    uint8_t *exact = malloc(in->size ? in->size : 1);
    if (!exact || ftruncate(d->kept_fd, 0) != 0 || pwrite(d->kept_fd, in->bytes, in->size, 0) != (ssize_t)in->size)
        give_up("can not write", d->kept);
    memcpy(exact, in->bytes, in->size);
    alarm(d->timeout);
    LLVMFuzzerTestOneInput(exact, in->size);
    alarm(0);
    free(exact);
    d->runs++;
}

static void make_up(struct driver *d)
{
    static uint8_t bytes[MOST_BYTES];
    const struct input *from = &d->inputs[draw(d, (size_t)d->ninputs)];
    struct input in = {bytes, from->size};
    memcpy(bytes, from->bytes, from->size);
    for (size_t changes = 1 + draw(d, MOST_CHANGES); changes > 0; changes--)
        change(d, &in);
    run(d, &in);
}

static void take_option(struct driver *d, const char *text)
{
    static const char prefix[] = "-artifact_prefix=";
    sscanf(text, "-seed=%lu", &d->seed);
    sscanf(text, "-max_total_time=%lf", &d->seconds);
    sscanf(text, "-timeout=%u", &d->timeout);
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        snprintf(d->kept, sizeof d->kept, "%sinput", text + sizeof prefix - 1);
}

int main(int argc, char **argv)
{
    struct driver d = {.seed = 1, .timeout = 10, .kept = "input"};
    for (int i = 1; i < argc; i++)
        if (argv[i][0] == '-')
            take_option(&d, argv[i]);
        else
            add_path(&d, argv[i]);
    if (!d.ninputs) {
        fprintf(stderr, "usage: %s [-seed=N] [-max_total_time=SECONDS] [-timeout=SECONDS] PATH...\n", argv[0]);
        return 2;
    }
    d.kept_fd = open(d.kept, O_RDWR | O_CREAT, 0666);
    if (d.kept_fd < 0)
        give_up("can not write", d.kept);
    const double end = clab_now() + d.seconds;
    for (int i = 0; i < d.ninputs; i++)
        run(&d, &d.inputs[i]);
    while (d.seconds > 0 && clab_now() < end)
        make_up(&d);
    unlink(d.kept);
    for (int i = 0; i < d.ninputs; i++)
        free(d.inputs[i].bytes);
    free(d.inputs);
    fprintf(stderr, "%ld inputs, %d of them seeds\n", d.runs, d.ninputs);
    return 0;
}
