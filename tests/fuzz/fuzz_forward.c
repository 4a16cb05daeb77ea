// SPDX-License-Identifier: MIT
// The forwarder of ranks' output: whatever ranks write, in whatever pieces and order, each line comes out whole, with
// its rank's prefix, in its rank's order. The input is pieces: a byte for the rank and the length, then the text.

#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/job/launch/forward.h"

enum { RANKS = 3, LONG = 200 };

struct text {
    char *at;
    size_t n, size;
    FILE *file;
};

// stdout, into which the forwarder writes, is a file of ours.
static int output(void)
{
    static int file = -1;
    if (file < 0) {
        file = memfd_create("output", 0);
        must_hold(file >= 0 && dup2(file, STDOUT_FILENO) >= 0 && fcntl(STDOUT_FILENO, F_SETFL, O_APPEND) == 0);
    }
    must_hold(ftruncate(file, 0) == 0);
    return file;
}

static void look(struct forwarder *forwarder, int seconds)
{
    struct pollfd fds[FORWARDER_FDS(RANKS)];
    const int n = forwarder_fds(forwarder, fds);
    if (poll(fds, (nfds_t)n, 1000 * seconds) > 0)
        forwarder_pass(forwarder, fds);
}

// A rank writes; while its pipe is full, the forwarder goes on. Now and then a piece is a long one.
static void write_piece(struct forwarder *forwarder, int to, struct text *expected, const uint8_t *bytes, size_t n)
{
    for (int times = n == LONG ? 500 : 1; times > 0; times--) {
        fwrite(bytes, 1, n, expected->file);
        ssize_t written;
        while ((written = write(to, bytes, n)) < 0 && errno == EAGAIN) // of at most PIPE_BUF: all or nothing
            look(forwarder, 10);
        must_hold(written == (ssize_t)n);
    }
}

static void finish(struct forwarder *forwarder)
{
    struct pollfd fds[FORWARDER_FDS(RANKS)];
    for (int n; (n = forwarder_finish(forwarder, fds)) > 0;)
        must_hold(poll(fds, (nfds_t)n, 10000) > 0);
    for (int n; (n = forwarder_finish_log(forwarder, fds)) > 0;)
        must_hold(poll(fds, (nfds_t)n, 10000) > 0);
}

// What comes out of the lines that a rank has written.
static void expect(const struct text *written, int rank, struct text *out)
{
    out->file = open_memstream(&out->at, &out->size);
    must_hold(out->file);
    for (size_t at = 0, end; at < written->size; at = end) {
        end = at;
        while (end < written->size && end - at < FORWARDER_LINE_BYTES && written->at[end] != '\n')
            end++;
        fprintf(out->file, "[%d] ", rank);
        fwrite(written->at + at, 1, end - at, out->file);
        fputc('\n', out->file);
        // A line that is as long as can be is cut there, also if its end comes next.
        end += end < written->size && end - at < FORWARDER_LINE_BYTES;
    }
    fclose(out->file);
}

// Take what is expected of each rank out of what there is, line by line.
static void check_output(int file, struct text expected[RANKS])
{
    const off_t size = lseek(file, 0, SEEK_END);
    char *text = malloc((size_t)size + 1);
    must_hold(text && pread(file, text, (size_t)size, 0) == size);
    for (const char *line = text, *end; line < text + size; line = end) {
        const int rank = line[1] - '0';
        end = memchr(line, '\n', (size_t)(text + size - line));
        must_hold(end && line[0] == '[' && rank >= 0 && rank < RANKS);
        end++;
        struct text *e = &expected[rank];
        const size_t n = (size_t)(end - line);
        must_hold(e->n + n <= e->size && memcmp(e->at + e->n, line, n) == 0);
        e->n += n;
    }
    for (int rank = 0; rank < RANKS; rank++)
        must_hold(expected[rank].n == expected[rank].size);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text written[RANKS] = {0}, expected[RANKS] = {0};
    int out[RANKS], err[RANKS];
    const int file = output();
    struct forwarder *forwarder = forwarder_create(0, RANKS, true);
    must_hold(forwarder);
    for (int rank = 0; rank < RANKS; rank++) {
        must_hold(forwarder_add(forwarder, rank, &out[rank], &err[rank]) == CLAB_OK);
        must_hold(fcntl(out[rank], F_SETFL, O_NONBLOCK) == 0);
        written[rank].file = open_memstream(&written[rank].at, &written[rank].size);
        must_hold(written[rank].file);
    }
    must_hold(forwarder_start(forwarder) == CLAB_OK);
    for (const uint8_t *at = data, *end = data + size; end - at > 2;) {
        const int rank = at[0] % RANKS;
        const size_t wish = at[1] % (LONG + 1), rest = (size_t)(end - at - 2), n = wish < rest ? wish : rest;
        const bool passes = at[0] & 128;
        write_piece(forwarder, out[rank], &written[rank], at + 2, n);
        if (passes)
            look(forwarder, 0);
        at += 2 + n;
    }
    for (int rank = 0; rank < RANKS; rank++) {
        close(out[rank]);
        close(err[rank]);
        fclose(written[rank].file);
        expect(&written[rank], rank, &expected[rank]);
    }
    finish(forwarder);
    check_output(file, expected);
    for (int rank = 0; rank < RANKS; rank++) {
        free(written[rank].at);
        free(expected[rank].at);
    }
    forwarder_destroy(forwarder);
    return 0;
}
