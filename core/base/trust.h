// SPDX-License-Identifier: MIT
// Files that hold code, which is run as this user: plugins, gnuplot's scripts, programs of labs.
//
// - The file and its folder must belong to this user, to root, or to the owner of this program, and nobody else may
//   write to them. So nobody gains anything who can change the file, or put another in its place.
// - A group may, if it is the owner's own: it has the owner's name, and no other member. Where each user has such a
//   group, umask is 002 (pam_umask), and a clone of the kit is open to its group.
// - Folders further above are not looked at: the program lies below the same ones, and could be replaced as well.
// - It judges by the mode, whose group bits bound an access list's, too.
#pragma once

#include <limits.h>
#include <stdbool.h>

// The file at `path`, without links: *real_p (PATH_MAX) is to be opened, not `path`.
//   errors: CLAB_ENOENT, CLAB_ESYS (others may change it), with one line: file, reason, remedy
int clab_trust(const char *path, char *real_p);

// The folder that make has built this program into: it lies there, or in labs/NAME/, tests/ or tests/NAME/ below.
//   folder_p: (PATH_MAX); false: /proc does not say
bool clab_build_folder(char *folder_p);
