// SPDX-License-Identifier: MIT
// A launcher that speaks PMI-1, or anything: a line's values are what stands behind the key; ranks share what the
// launcher has answered, or fail in time with one line.

#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/job/launchers/launcher.h"

// The value of `key` by another way: the first word "key=...".
static const char *find(const char *line, const char *key)
{
    const size_t length = strlen(key);
    for (const char *at = line; (at = strstr(at, key)); at++)
        if ((at == line || at[-1] == ' ' || at[-1] == '\n') && at[length] == '=')
            return at + length + 1;
    return NULL;
}

static void check_value(const char *line, const char *key, size_t room)
{
    char *out = malloc(room);
    must_hold(out);
    const char *value = find(line, key);
    const size_t bytes = value ? strcspn(value, " \n") : 0;
    const bool found = launcher_pmi_value(line, key, out, room);
    must_hold(found == (value && bytes < room));
    must_hold(!found || (strlen(out) == bytes && memcmp(out, value, bytes) == 0));
    free(out);
}

// Whether `text` is, as hexadecimal digits, in what the launcher has said.
static bool was_said(const char *text, const char *said)
{
    char digits[2 * CLAB_SHARED_BYTES + 1] = "";
    launcher_hex(text, strlen(text), digits);
    return strstr(said, digits);
}

// The launcher says all that the input holds, whatever it is asked, and then hangs up.
static void check_share(const char *said, size_t size, int rank)
{
    int ends[2], err;
    char number[16], text[CLAB_SHARED_BYTES] = "127.0.0.1 29500";
    must_hold(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    must_hold(send(ends[1], said, size, MSG_NOSIGNAL) == (ssize_t)size);
    shutdown(ends[1], SHUT_WR);
    snprintf(number, sizeof number, "%d", ends[0]);
    setenv("PMI_FD", number, 1);
    do { // once connected it stays so, and a job may share again
        fuzz_log_clear();
        err = launcher_share_pmi(rank, 1, text);
        must_hold(fuzz_log_errors == (err != CLAB_OK));
        must_hold(err || (memchr(text, 0, sizeof text) && was_said(text, said)));
    } while (err == CLAB_OK);
    must_hold(err == CLAB_ESYS || err == CLAB_EUNSUPPORTED);
    close(ends[0]);
    close(ends[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_value(text, "cmd", 32);
    check_value(text, "rc", 3);
    check_value(text, "value", 1);
    check_value(text, "value", 1025);
    check_share(text, size, size % 2);
    free(text);
    return 0;
}
