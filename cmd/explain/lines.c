// SPDX-License-Identifier: MIT
// Pieces of a log, made safe to print (lines.h).
// - Source of the sequences: ECMA-48, 5.3 to 5.6; xterm's control sequences.

#include "cmd/explain/lines.h"

#include <string.h>

#include "core/base/text.h"

enum place { PLAIN, ESCAPE, SEQUENCE, STRING, STRING_ESCAPE }; // where a byte stands, for a terminal

struct log_lines log_lines_begin(FILE *file)
{
    return (struct log_lines){.file = file, .is_new = true};
}

// The place behind `byte`. *shown_p: the byte is text.
static enum place step(enum place place, int byte, bool *shown_p)
{
    *shown_p = false;
    switch (place) {
    case ESCAPE:
        return byte == '[' ? SEQUENCE : strchr("]P_^X", byte) && byte ? STRING : byte >= 0x20 && byte < 0x30 ? ESCAPE : PLAIN;
    case SEQUENCE: return byte >= 0x40 && byte <= 0x7e ? PLAIN : SEQUENCE;
    case STRING: return byte == 7 ? PLAIN : byte == 0x1b ? STRING_ESCAPE : STRING;
    case STRING_ESCAPE: return byte == '\\' ? PLAIN : STRING;
    default: break;
    }
    *shown_p = byte != 0x1b;
    return *shown_p ? PLAIN : ESCAPE;
}

// Characters that steer a terminal or the direction of text, in UTF-8: U+0080 to U+009F, U+202A to U+202E, U+2066 to
// U+2069.
static bool steers(const unsigned char *at)
{
    if (at[0] == 0xc2)
        return at[1] < 0xa0;
    return at[0] == 0xe2 &&
           ((at[1] == 0x80 && at[2] >= 0xaa && at[2] <= 0xae) || (at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9));
}

static void clean(char *text)
{
    clab_make_utf8(text);
    for (unsigned char *at = (unsigned char *)text; *at; at++) {
        if (steers(at))
            memset(at, '?', *at == 0xc2 ? 2 : 3);
        else if (*at < ' ' || *at == 0x7f)
            *at = ' ';
    }
}

bool log_lines_next(struct log_lines *lines)
{
    enum place place = PLAIN;
    size_t used = 0;
    bool shown, too_long = false;
    int byte = EOF;
    const bool begins = lines->is_new;
    lines->number += begins;
    lines->is_new = false;
    while (!lines->is_over && (byte = getc_unlocked(lines->file)) != EOF) {
        lines->is_over = ++lines->bytes > LOG_MOST_BYTES;
        if (byte == '\n' || byte == '\r')
            break;
        place = step(place, byte, &shown);
        if (shown && used < LOG_LINE_BYTES)
            lines->text[used++] = (char)(byte ? byte : ' ');
        else if (shown)
            too_long = true;
    }
    lines->text[used] = '\0';
    lines->cut += too_long;
    lines->is_new = byte == '\n';
    clean(lines->text);
    if (byte == EOF && used == 0)
        lines->number -= begins; // there was no such line
    return byte != EOF || used > 0;
}
