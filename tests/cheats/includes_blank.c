// SPDX-License-Identifier: MIT
// Includes a solution from a folder whose name has a blank, a '#' and a '$', which lists of includes write otherwise.
// says: includes .*a #name \$\$ of all/reference.c
#include "@SCRATCH@/a #name $$ of all/reference.c"
