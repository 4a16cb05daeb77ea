// SPDX-License-Identifier: MIT
// Files whose code we run as this user: plugins, gnuplot's scripts, programs of labs.
//
// - The file and its folder must belong to this user, to root, or to the owner of this program, and nobody else may
//   write to them. Otherwise another user could change the file, or put another in its place.
// - A group may write if only its owner is in it: it has the owner's name, and no other member. Where each user has
//   such a group, umask is 002 (pam_umask), and a clone of the kit is writable for its group.
// - Folders further up are not checked: the program lies below the same ones, and could be replaced as well.
// - The mode decides. Its group bits also bound what an access list allows.
#pragma once

#include <limits.h>
#include <stdbool.h>

// Check the file at `path`. Open *real_p (PATH_MAX), which has no links, and not `path`.
//   errors: CLAB_ENOENT, CLAB_ESYS (others may change it); one line is logged: file, reason, remedy
int clab_trust(const char *path, char *real_p);

// The folder of this build. The program lies in it, or in labs/NAME/, tests/ or tests/NAME/ below.
//   folder_p: (PATH_MAX); false: /proc does not say
bool clab_build_folder(char *folder_p);
