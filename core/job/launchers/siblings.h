// SPDX-License-Identifier: MIT
// Ranks of this host that have ended before they joined the job. Not every launcher ends the others then (srun does not),
// and the store knows only ranks that have joined: the others would wait until their time is up.
//
// - A launcher starts the ranks of a host as children of one process, its daemon. The process of another rank is known by
//   the variable in its environment that holds the rank. A rank that has ended is no longer a child of the daemon.
// - Looking costs nothing where ranks join in time: the first look is after SIBLINGS_FIRST seconds of a wait.
// - A rank that has never been seen counts as ended only where all ranks are on this host, and in two looks at least
//   SIBLINGS_GRACE apart: a daemon may still be starting others. And only where this is the launcher's daemon for sure, by
//   its name or by another rank: a program between them that hides its environment would look like one without children.
// - By hand, nobody knows when a rank is to come. Our own launcher, and a nested job's (nested.h), see it themselves.
// - A launcher that ends the others at once, as Open MPI's does, sends them SIGTERM and may not say which rank it was. So
//   SIGTERM ends a wait only after a look; a second one ends it at once.
// - What is not known is not said: in another namespace of processes, or behind a program of another user.
// Source: proc(5).
#pragma once

#include "core/job/launchers/launcher.h"

#define SIBLINGS_FIRST 0.3 // s
#define SIBLINGS_PAUSE 0.5
#define SIBLINGS_GRACE 1.0

// A new wait for the ranks of this job begins. launched: as of clab_launcher_find
void siblings_begin(const struct clab_launched *launched);
// Look, if it is time.  errors: CLAB_EPEER (a rank has ended: one rank of this host logs which)
int siblings_check(void);
// clab_now() of the next look.
double siblings_next(void);
// Nobody is waited for any more: later checks answer CLAB_OK.
void siblings_end(void);
