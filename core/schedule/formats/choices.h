// SPDX-License-Identifier: MIT
// Tables of choices: which algorithm a collective of so many bytes shall take. A line is a choice:
//
//   # collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff,gain
//   allreduce,0,65535,tree,ll,-1,1,8,-1,-1,1.21       NCCL's: an algorithm and a protocol (sim/nccl/rows.h)
//   allreduce,65536,-1,hierarchical,-1,-1,-1,16       ours: the protocol is -1, channels are lanes (core/comm/table.h)
//
// - The layout is that of NCCL's example tuner. What stands behind the tenth field is for people. -1 is any, or the
//   library's own. The first line that fits is taken. One file may hold lines of both kinds.
// - Lines that begin with # are none, nor is a heading: the columns' names above the first line.
// - Lines of eight or nine fields leave out the last ones. Lines of six say nothing of nodes and ranks: they are taken
//   for any, and counted, since NCCL's example drops them without a word.
// - A file is read whole or not at all: half a table would hide the mistake.
// - This knows the layout and no names: who reads the table says which collectives, algorithms and protocols there are.
//
// Source: NCCL 2.28.9, ext-tuner/example/README.md.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CLAB_CHOICE_ANY = -1, CLAB_CHOICE_MOST_CHANNELS = 64, CLAB_CHOICE_WHY = 512 };

struct clab_choice {
    const char *collective, *algorithm, *protocol; // as they are written; gone when the next line is read
    size_t first, last;                            // bytes of the whole buffer, both included
    int channels;                                  // 1 to 64; 0 or any: the library's own
    int nodes, ranks;                              // or any
    int ops;                                       // collectives of a group; or any
    int registered;                                // buffers registered: 0, 1; or any
    int line;                                      // of the file
    bool is_short;                                 // of six fields
};

// Who reads: it is given each choice. It refuses one by clab_choices_refuse, and returns what that does.
struct clab_choices_reader {
    const char *path; // what messages call the file
    int (*take)(const struct clab_choices_reader *reader, const struct clab_choice *choice);
    void *into;           // take's own
    char *why;            // (CLAB_CHOICE_WHY) one line that says what is wrong and where; nothing is logged
    int line;             // that is being read
    uint32_t fingerprint; // of the file's bytes: ranks must have read the same
};

// Read a file that is open, and stays so.
//   out:    reader->fingerprint; reader->why if it fails
//   errors: CLAB_EPARSE; CLAB_ENOMEM, those of take
int clab_choices_read(FILE *file, struct clab_choices_reader *reader);
// The same of the file reader->path.  errors: CLAB_ENOENT (no such regular file), and those above
int clab_choices_load(struct clab_choices_reader *reader);

// Say why the line is refused.  returns: CLAB_EPARSE
int clab_choices_refuse(const struct clab_choices_reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Whether two names are one: case and underscores do not count, so that "AllReduce" is "all_reduce".
bool clab_choice_is_named(const char *a, const char *b);
