// SPDX-License-Identifier: MIT
// What the job offers to a backend: exchanges of data among processes, and notices of failures.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLAB_MAX_RANKS = 1024 };       // of a job
enum { CLAB_FLIGHT_BYTES = 8 << 10 }; // of a rank's flight recorder

// The members of an exchange.
struct clab_fence {
    const int *ranks; // (n) of the job, the same list at each of them; NULL: all ranks
    int n;
    uint64_t key; // the same at each of them, and of no other fence of the job (clab_mix)
    bool quiet;   // log nothing: the caller reports failures
};

// What a rank knows of another. From CLAB_LEAVING on, that rank takes part in no exchange, and sends nothing new.
enum clab_presence {
    CLAB_EXPECTED, // has not come yet
    CLAB_PRESENT,
    CLAB_LEAVING, // is closing its job: it starts nothing new, but makes progress on works under way
    CLAB_LEFT,    // has closed it
    CLAB_LOST,    // its process has ended without that, or has failed; or its host is gone
};

enum clab_notice_kind {
    CLAB_NOTICE_LEFT,
    CLAB_NOTICE_LOST,
    CLAB_NOTICE_REVOKED,
    CLAB_NOTICE_EXPELLED, // `culprit` did not answer, and is excluded when `comm` is shrunk (clab_comm_shrink)
};

// A failure, as all ranks of the job are notified of it.
struct clab_notice {
    enum clab_notice_kind kind;
    int reporter;  // the rank that has failed, or has found it
    int culprit;   // the rank that it waited for, or -1
    int err;       // enum clab_err
    uint64_t comm; // REVOKED: the communicator on which `reporter` has failed; EXPELLED
};

// The flight recorders of a host, for a reader.
struct clab_flight_host {
    char *flights;    // (n, CLAB_FLIGHT_BYTES)
    const int *ranks; // (n) of the job
    int n;
    enum clab_presence (*presence)(void *of, int rank);
    void *of;
};

// How a launcher learns what its ranks did last (core/flight).
struct clab_flight_reader {
    // Whether the last operation of the host's rank i has failed; whether it is not over and has waited so many seconds.
    bool (*has_failed)(char *flights, int i);
    bool (*has_waited)(char *flights, int i, double shortest);
    // All ranks of the host have ended, one of them during an operation: report it, unless a rank has done so.
    void (*report_last)(const struct clab_flight_host *host);
};

// Provided by the job (core/job).
struct clab_bootstrap {
    int rank, nranks;
    double timeout;              // seconds any wait may last
    int node, nnodes;            // hosts
    int local_rank, local_ranks; // among the ranks of this host
    const int *locals;           // (local_ranks) job ranks of this host, ascending
    int cores;                   // that the ranks of this host share
    int job_cores;               // that all ranks share, on all machines together
    int machines;                // whose containers may be hosts of their own; each has one monotonic clock
    bool by_hand;                // each rank was started by itself, and has its own user, or terminal
    bool crowded; // more ranks than cores, here or in all containers of this machine: a rank that waits yields

    int segment_fd;                       // a sparse memory file that all ranks of this host have open, or -1
    size_t segment_bytes, segment_offset; // the part of it that is the backend's
    char *flights; // (local_ranks, CLAB_FLIGHT_BYTES), zeroed at first, shared by the ranks of this host

    // While a rank waits in `exchange`, this is called again and again. *busy_p: something is under way, so that the
    // next call should come within 1 ms. Its error ends the exchange, here and at all members that wait for this rank.
    int (*meanwhile)(void *, bool *busy_p);
    void *meanwhile_of;

    // Each member gives `bytes` and gets all members' in the order of the list. Collective over the members.
    //   mine: (bytes); all: (n, bytes)
    //   errors: CLAB_EPEER (a member has ended), CLAB_ETIMEOUT (then `all` holds the blocks that have come; other
    //   blocks are unchanged), CLAB_EMISMATCH (of bytes), those of meanwhile
    int (*exchange)(struct clab_bootstrap *, struct clab_fence, const void *mine, size_t bytes, void *all);
    // Notify all ranks, this one included. Never waits, but for at most 1 s if others have sent thousands of notices.
    void (*notify)(struct clab_bootstrap *, const struct clab_notice *);
    // The next notice that this rank has not read, if there is one. Never waits; a call costs well under 1 us.
    bool (*next_notice)(struct clab_bootstrap *, struct clab_notice *notice_p);
    enum clab_presence (*presence)(struct clab_bootstrap *, int rank);
    // This rank has logged why it can not go on, and will end: its launcher logs no more about that, and to other ranks
    // it has left. (With a store the launcher does not learn that.)
    void (*refuse)(struct clab_bootstrap *);
};

// The members of a communicator: member i of it is rank `ranks[i]` of the job. `exchange` is over the members.
struct clab_group {
    int rank, nranks;
    const int *ranks;
    uint64_t id; // of the communicator: the same at all members, and of no other communicator of the job
    int (*exchange)(struct clab_group *, const void *mine, size_t bytes, void *all);
    size_t board_bytes; // of memory that all members share beside their messages; 0: none
    const int *parties; // (ranks of the job) the communicators that were split at the same time: ranks of one have the
                        // same number, and who is in none has -1; NULL: it was not split
};
