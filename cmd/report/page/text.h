// SPDX-License-Identifier: MIT
// Text within the page. All that is not ours goes through page_text, or through page_url where it is part of an address:
// results files, their names, and the paths to them may come from anyone.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

// At most 4096 bytes of a text, or `most`; what is cut ends in "…".
void page_text(FILE *out, const char *text);
void page_text_most(FILE *out, const char *text, size_t most);
// The bytes of `text`, at most `most`, that end with a whole character.
size_t page_whole_signs(const char *text, size_t most);

// Part of an address, or a section's name: characters with a meaning in addresses, such as ':' and '#', are encoded.
// Of a name: '/', too.
//   source: RFC 3986, section 2.3
void page_url(FILE *out, const char *path);
void page_url_name(FILE *out, const char *name);
// A link from `folder` to `path`: both are below the kit's folder, or the link is the whole path.
void page_link(FILE *out, const char *folder, const char *path, const char *text);

bool page_is_number(const char *text);
// A number to four digits, if it has more; of other text at most 256 bytes.
void page_cell(FILE *out, const char *text);

void page_base64(FILE *out, FILE *in);
