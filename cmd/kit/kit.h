// SPDX-License-Identifier: MIT
// Where the kit lies on this machine, and how it draws. Only for commands that use its folders or draw.
#pragma once

#include <limits.h>

// The kit's folder: one or two above the build's, where plots/style.gp lies. Freed by the caller.
//   errors: CLAB_ENOENT, CLAB_ESYS (others may change its scripts), logged; CLAB_ENOMEM
int kit_root(char **path_p);

// The folder of this build, where make put the labs' programs, too. Freed by the caller.
//   errors: CLAB_ESYS (logged), CLAB_ENOMEM
int kit_build(char **path_p);

// Where a user's own files go, below which are results/ and work/: the kit's folder `root`, or the current folder with a
// kit that `make install` has put where many use it.
//   errors: CLAB_EIO (there is no current folder; logged)
int kit_home(const char *root, char home_p[PATH_MAX]);

// Where figures, pages and logs go: the folder of this build, or with an installed kit the folder build/ of the current
// one. Freed by the caller.
//   errors: CLAB_ESYS (logged), CLAB_EIO (logged), CLAB_ENOMEM
int kit_made(char **path_p);

// `path` as seen from the current folder, if it is below it: shorter to read, and right where the user stands.
const char *kit_relative(const char *path);

// Make the folder `path` and its parents where they are missing.  errors: CLAB_EIO (logged)
int kit_make_folder(const char *path);
// The same of a folder of the student's, whose message says what to do in a kit that others installed.
int kit_make_work_folder(const char *path);

// The whole path of `file` in `folder`, "labs/07-ring-vs-tree", of the kit; or in work/, or in work/UNIT, "07", where the
// student's files lie. "": no file, so the folder itself; no unit.
//   errors: CLAB_EINVAL (longer than a path may be; logged)
int kit_path(const char *root, const char *folder, const char *file, char path_p[PATH_MAX]);
int kit_work_path(const char *root, const char *unit, const char *file, char path_p[PATH_MAX]);

// "./commlab lab 07", or installed "commlab lab 07": the command line for a manifest, without the program's folder. Freed by the caller; NULL: no
// memory.
char *kit_command_line(int argc, char **argv);

// The whole path of the figure FILE without .svg or .png: kit_plot adds them, and runs elsewhere. Freed by the caller.
//   errors: CLAB_ENOMEM
int kit_figure_path(const char *file, char **path_p);

// Draw `csv` with gnuplot's `script` (a path below `root`) as OUT.svg and OUT.png, and describe the figure in OUT.txt.
// Folders are made. The script gets a cleaned copy of the data as `csv` (plot.c), and draws to `out`.
//   errors: CLAB_EUNSUPPORTED (there is no gnuplot; the line names the package), CLAB_ENOENT (script), CLAB_ESYS
//           (others may change the script), CLAB_EPARSE (csv; logged), CLAB_EIO (gnuplot failed), CLAB_EPEER (a signal
//           ended it), CLAB_ENOMEM
int kit_plot(const char *root, const char *script, const char *csv, const char *out);
