#!/bin/bash
# SPDX-License-Identifier: MIT
# The mpi backend conforms, with 1, 2, 3, 4 and 6 ranks: the suite of test_conformance.c in processes that the MPI has started.
# Usage: test_mpi_conforms.sh [BUILD]. Takes long.

. tests/cases.sh
export XDG_CONFIG_HOME=$scratch # the user's token

conforms_with_ranks() {
    local large=40003
    [ $1 -gt 3 ] || large=$(((1 << 20) / 4 + 3))
    : >"$scratch/entered"
    run 0 run -n $1 --backend mpi -- "$build/tests/test_conformance" --rank "$scratch/entered" $large
}

if grep -q '^✗ mpi: ' "$build/probes.txt"; then
    skip 'built without mpi' all
    exit
fi
if lacks sodium; then
    skip 'built without sodium' all
    exit
fi
subject=("$commlab")
numbers='1 2 3 4 6'
is_full || { numbers='2 3' && leave_out 3; }
for n in $numbers; do
    check conforms_with_$n conforms_with_ranks $n
done
exit $failed
