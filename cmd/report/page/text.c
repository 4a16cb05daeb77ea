// SPDX-License-Identifier: MIT
// Text within the page, escaped (text.h).

#include "cmd/report/page/text.h"

#include <stdlib.h>
#include <string.h>

// At most so many bytes of foreign text: the page stays one that a browser opens, whatever it is of.
enum { MOST_TEXT = 4096, MOST_CELL = 256 };

size_t page_whole_signs(const char *text, size_t most)
{
    size_t bytes = strnlen(text, most + 1);
    if (bytes <= most)
        return bytes;
    for (bytes = most; bytes > most - 4 && ((unsigned char)text[bytes] & 0xc0) == 0x80;)
        bytes--;
    return bytes;
}

void page_text_most(FILE *out, const char *text, size_t most)
{
    const char *end = text + page_whole_signs(text, most);
    const bool is_cut = *end;
    for (; text < end; text++)
        switch (*text) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        case '\t': fputc(' ', out); break;
        default: fputs((unsigned char)*text < ' ' || *text == 0x7f ? "\xef\xbf\xbd" : (char[2]){*text, 0}, out);
        }
    if (is_cut)
        fputs(" …", out);
}

void page_text(FILE *out, const char *text)
{
    page_text_most(out, text, MOST_TEXT);
}

static void put_encoded(FILE *out, const char *path, const char *kept)
{
    for (; *path; path++)
        if ((*path >= 'a' && *path <= 'z') || (*path >= 'A' && *path <= 'Z') || (*path >= '0' && *path <= '9') ||
            strchr(kept, *path))
            fputc(*path, out);
        else
            fprintf(out, "%%%02X", (unsigned char)*path);
}

void page_url(FILE *out, const char *path)
{
    put_encoded(out, path, "-._~/");
}

void page_url_name(FILE *out, const char *name)
{
    put_encoded(out, name, "-._~");
}

bool page_is_number(const char *text)
{
    char *end;
    strtod(text, &end);
    return *text && !*end;
}

void page_cell(FILE *out, const char *text)
{
    if (page_is_number(text) && strpbrk(text, ".e") && strlen(text) > 7)
        fprintf(out, "%.4g", strtod(text, NULL));
    else
        page_text_most(out, text, MOST_CELL);
}

void page_base64(FILE *out, FILE *in)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char b[3];
    for (size_t n; (n = fread(b, 1, 3, in)) > 0;) {
        const unsigned bits = (unsigned)b[0] << 16 | (n > 1 ? (unsigned)b[1] << 8 : 0) | (n > 2 ? b[2] : 0);
        for (size_t i = 0; i < 4; i++)
            fputc(i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=', out);
    }
}

void page_link(FILE *out, const char *folder, const char *path, const char *text)
{
    size_t same = 0;
    for (size_t i = 0; folder[i] && folder[i] == path[i]; i++)
        if (folder[i] == '/')
            same = i + 1;
    fputs("<a href=\"", out);
    for (const char *p = folder + same; same > 1 && *p; p++)
        if (p[1] == '/' || !p[1])
            fputs("../", out);
    page_url(out, same > 1 ? path + same : path);
    fputs("\">", out);
    page_text(out, text);
    fputs("</a>", out);
}
