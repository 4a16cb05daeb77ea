// SPDX-License-Identifier: MIT
// Check the value of a variable (variables.h).
// - NCCL reads numbers by strtoll, and checks errno alone (src/misc/param.cc of 2.28.9): it reads 4M as 4, and yes as 0.
//   Only an empty value, and one too large for 64 bits, give its default.

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/text.h"
#include "core/job/job.h"
#include "cmd/doctor/doctor.h"
#include "cmd/doctor/variables.h"

enum { WRONG = DOCTOR_WRONG, SHOWN = 48 };
static const char collectives[] =
    "broadcast reduce allgather reducescatter allreduce sendrecv send recv alltoall scatter gather";

// ---- words ---------------------------------------------------------------------------------------------------

static bool is_word(const char *text, size_t length, const char *words)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        const size_t bytes = strcspn(at, " ");
        if (bytes == length && strncasecmp(at, text, length) == 0)
            return true;
        at += bytes;
    }
    return false;
}

// "a,b" or "^a,b", of `length` bytes, which may end amid a longer text, as clab_list_next's lists can not. *bad_p, of
// *bad_length_p bytes: the first that is no word.
static bool are_words(const char *text, size_t length, const char *words, const char **bad_p, size_t *bad_length_p)
{
    const char *end = text + length;
    text += length > 0 && *text == '^';
    do {
        const char *comma = memchr(text, ',', (size_t)(end - text)), *stop = comma ? comma : end;
        if (!is_word(text, (size_t)(stop - text), words)) {
            *bad_p = text;
            *bad_length_p = (size_t)(stop - text);
            return false;
        }
        text = stop + 1;
    } while (text <= end);
    return true;
}

// "LIST;FUNCTION:LIST;...": NCCL from 2.24 on.
static bool are_words_by_call(const char *text, const char *words, const char **bad_p, size_t *bad_length_p)
{
    for (;; text++) {
        const size_t length = strcspn(text, ";");
        const char *colon = memchr(text, ':', length), *list = colon ? colon + 1 : text;
        *bad_p = text;
        *bad_length_p = colon ? (size_t)(colon - text) : 0;
        if (colon && !is_word(text, (size_t)(colon - text), collectives))
            return false;
        if (!are_words(list, length - (size_t)(list - text), words, bad_p, bad_length_p))
            return false;
        text += length;
        if (!*text)
            return true;
    }
}

// The error of a word at `bad` of a list.
static void refuse_word(const char *bad, size_t length, const char *words, char wrong[WRONG])
{
    snprintf(wrong, WRONG, "'%.*s' is not one of: %s", length < SHOWN ? (int)length : SHOWN, bad, words);
}

// ---- numbers -------------------------------------------------------------------------------------------------

static bool is_integer(const char *text, long long *value_p)
{
    char *end;
    *value_p = strtoll(text, &end, 0);
    return end != text && !*end && !isspace((unsigned char)*text);
}

// `wanted`, and the number that NCCL reads instead.
static void refuse_number(const char *name, const char *text, const char *wanted, char wrong[WRONG])
{
    errno = 0;
    const long long taken = strtoll(text, NULL, 0);
    if (strncmp(name, "NCCL_", 5) != 0)
        snprintf(wrong, WRONG, "%s", wanted);
    else if (!*text || errno)
        snprintf(wrong, WRONG, "%s: NCCL ignores it", wanted);
    else
        snprintf(wrong, WRONG, "%s: NCCL reads only its digits, as %lld", wanted, taken);
}

static void judge_integer(const struct doctor_variable *variable, const char *text, char wrong[WRONG])
{
    long long number;
    if (!is_integer(text, &number))
        refuse_number(variable->name, text, "not a number", wrong);
    else if (number < variable->least || number > variable->most)
        snprintf(wrong, WRONG, "it must be %lld to %lld", variable->least, variable->most);
}

static void judge_multiple(const struct doctor_variable *variable, const char *text, char wrong[WRONG])
{
    long long number;
    const long long unit = atoll(variable->words);
    if (!is_integer(text, &number))
        refuse_number(variable->name, text, "not a number", wrong);
    else if (number < variable->least || number > variable->most || number % unit)
        snprintf(wrong, WRONG, "it must be a multiple of %lld, from %lld to %lld", unit, variable->least, variable->most);
}

static void judge_switch(const struct doctor_variable *variable, const char *text, char wrong[WRONG])
{
    long long number;
    if (!is_integer(text, &number))
        refuse_number(variable->name, text, "it must be 0 or 1", wrong);
    else if (number < 0 || number > 1)
        snprintf(wrong, WRONG, "it must be 0 or 1");
}

// ---- things of this machine ------------------------------------------------------------------------------------

// Whether a word of "eth,ens1" (prefixes) or "=eth0,ens1f0" (whole names) matches one of the names. A port may
// follow a name.
static bool fits_one(const char *list, char *const names[], int n)
{
    const bool whole = *list == '=';
    size_t length;
    list += whole;
    for (const char *word; (word = clab_list_next(&list, &length));) {
        const char *port = memchr(word, ':', length);
        const size_t bytes = port ? (size_t)(port - word) : length;
        for (int i = 0; i < n; i++)
            if (strncmp(names[i], word, bytes) == 0 && (!whole || !names[i][bytes]))
                return true;
    }
    return false;
}

static void judge_interfaces(const struct doctor *doctor, const char *text, char wrong[WRONG])
{
    char **names;
    const int n = doctor_names(doctor, "/sys/class/net", &names);
    if (n > 0 && *text != '^' && !fits_one(text, names, n)) {
        snprintf(wrong, WRONG, "no interface matches; this machine has:");
        for (int i = 0; i < n; i++)
            snprintf(wrong + strlen(wrong), WRONG - strlen(wrong), " %s", names[i]);
    }
    doctor_names_free(names, n);
}

// Whether text[0, length) also stands before `text` in the list.
static bool is_again(const char *list, const char *text, size_t length)
{
    size_t bytes;
    for (const char *word; (word = clab_list_next(&list, &bytes)) && word < text;)
        if (bytes == length && strncmp(word, text, length) == 0)
            return true;
    return false;
}

// "0,2" or "GPU-8932f937-...,MIG-...". Values that hide all GPUs on purpose are ok.
static void judge_devices(const char *text, char wrong[WRONG])
{
    if (!*text || !strcmp(text, "-1") || !strcmp(text, "NoDevFiles"))
        return;
    size_t length;
    for (const char *at, *rest = text; (at = clab_list_next(&rest, &length));) {
        const int shown = length < SHOWN ? (int)length : SHOWN;
        if ((!length || strspn(at, "0123456789") != length) && strncmp(at, "GPU-", 4) && strncmp(at, "MIG-", 4)) {
            snprintf(wrong, WRONG, "'%.*s' is not a number, GPU-... or MIG-...: CUDA sees only the GPUs before it", shown,
                     at);
            return;
        }
        if (is_again(text, at, length)) {
            snprintf(wrong, WRONG, "'%.*s' comes twice: name each GPU once", shown, at);
            return;
        }
    }
}

static void judge_file(const char *text, char wrong[WRONG])
{
    if (access(text, R_OK) != 0)
        snprintf(wrong, WRONG, "no readable file");
}

// ---- any value -----------------------------------------------------------------------------------------------

void doctor_judge(const struct doctor *doctor, const struct doctor_variable *variable, const char *text,
                  char wrong[WRONG])
{
    double seconds;
    const char *bad = text;
    size_t length = strlen(text);
    *wrong = '\0';
    switch (variable->value) {
    case VALUE_TEXT: break;
    case VALUE_SWITCH: judge_switch(variable, text, wrong); break;
    case VALUE_ABSENT: break;
    case VALUE_MULTIPLE: judge_multiple(variable, text, wrong); break;
    case VALUE_INTEGER: judge_integer(variable, text, wrong); break;
    case VALUE_WORD:
        if (!is_word(text, length, variable->words))
            snprintf(wrong, WRONG, "it must be one of: %s", variable->words);
        break;
    case VALUE_WORDS:
        if (!are_words(text, length, variable->words, &bad, &length))
            refuse_word(bad, length, variable->words, wrong);
        break;
    case VALUE_BY_CALL:
        if (!are_words_by_call(text, variable->words, &bad, &length))
            refuse_word(bad, length, variable->words, wrong);
        break;
    case VALUE_FILE: judge_file(text, wrong); break;
    case VALUE_LIBRARY: // a name without a folder is the loader's to find
        if (strchr(text, '/') && !strchr(text, ','))
            judge_file(text, wrong);
        break;
    case VALUE_INTERFACES: judge_interfaces(doctor, text, wrong); break;
    case VALUE_DEVICES: judge_devices(text, wrong); break;
    case VALUE_DURATION:
        if (clab_timeout_parse(text, &seconds) != CLAB_OK)
            snprintf(wrong, WRONG, "not " CLAB_TIMEOUT_RANGE);
        break;
    }
}
