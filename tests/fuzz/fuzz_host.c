// SPDX-License-Identifier: MIT
// Names of hosts: the first of a list of Slurm's, an address with its port, hexadecimal digits. What is read is of the
// text's own characters, fits, and written down is read again.

#include "tests/fuzz/fuzz.h"

#include <ctype.h>

#include "core/base/err.h"
#include "core/job/store/socket.h"

// A list's first name is what stands before the first comma outside brackets, with each bracket's first number.
static bool first_of(const char *list, char host[CLAB_HOST_BYTES])
{
    size_t n = 0;
    while (*list && *list != ',') {
        size_t taken = 1, skipped = 1;
        if (*list == '[') {
            list++;
            taken = strspn(list, "0123456789");
            skipped = strspn(list, "0123456789-,");
            if (!taken || list[skipped++] != ']')
                return false;
        } else if (!isalnum((unsigned char)*list) && !strchr("-_.", *list)) {
            return false;
        }
        if (n + taken >= CLAB_HOST_BYTES)
            return false;
        memcpy(host + n, list, taken);
        n += taken;
        list += skipped;
    }
    host[n] = '\0';
    return n > 0;
}

static void check_list(const char *text)
{
    char host[CLAB_HOST_BYTES] = "as it was", expected[CLAB_HOST_BYTES] = "as it was";
    const bool good = first_of(text, expected);
    must_hold(launcher_slurm_host(text, host) == (good ? CLAB_OK : CLAB_EPARSE));
    must_hold(strcmp(host, good ? expected : "as it was") == 0);
}

static void check_address(const char *text)
{
    char host[CLAB_HOST_BYTES] = "", again[CLAB_HOST_BYTES], address[CLAB_HOST_BYTES + 16];
    int port = 0, port_again;
    if (store_address_read(text, host, &port) != CLAB_OK) {
        must_hold(!*host && port == 0);
        return;
    }
    must_hold(*host && port >= 1 && port <= 65535);
    snprintf(address, sizeof address, strpbrk(host, ":[") ? "[%s]:%d" : "%s:%d", host, port);
    must_hold(store_address_read(address, again, &port_again) == CLAB_OK);
    must_hold(strcmp(host, again) == 0 && port == port_again);
}

static void check_digits(const uint8_t *data, size_t size, const char *text)
{
    unsigned char bytes[4] = {1, 2, 3, 4};
    const bool good = strlen(text) == 8 && strspn(text, "0123456789abcdef") == 8;
    must_hold(launcher_unhex(text, bytes, 4) == (good ? CLAB_OK : CLAB_EPARSE));
    must_hold(good || memcmp(bytes, "\1\2\3\4", 4) == 0);
    char *digits = malloc(2 * size + 1);
    unsigned char *again = malloc(size + 1);
    must_hold(digits && again);
    launcher_hex(data, size, digits);
    must_hold(launcher_unhex(digits, again, size) == CLAB_OK && memcmp(again, data, size) == 0);
    free(again);
    free(digits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    unsigned numbers[2] = {0};
    memcpy(numbers, data, size < sizeof numbers ? size : sizeof numbers);
    check_list(text);
    check_address(text);
    check_digits(data, size < 512 ? size : 512, text);
    const int port = launcher_slurm_port(numbers[0], numbers[1]);
    must_hold(port >= 1024 && port < 32768);
    free(text);
    return 0;
}
