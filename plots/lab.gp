# SPDX-License-Identifier: MIT
# What figures of labs share: rows of `commlab lab`, by column.
#
# lab,program,backend,net,ranks,quantity,unit,value,low,high,predicted,residual_pct
#
# - first(n): column n of the first row. 3 is the backend, 5 the number of ranks.
# - value_of(program, quantity, n): column n (8 to 11) of that row among `ranks` ranks; 0: there is none.
# - To gather a list, name a condition and let stats go over the rows:
#     stats csv using (crowds = add(strcol(5), crowds), 0) every ::1 nooutput
load "plots/style.gp"

array firsts[12]
do for [n = 1:12] { stats csv using (firsts[n] = strcol(n), 0) every ::1::1 nooutput }
first(n) = firsts[n]
ranks = int(first(5))

stats csv using (0) every ::1 nooutput
nrows = int(STATS_records)
array row_keys[nrows]
array row_numbers[4 * nrows]
key_of(program, quantity, ranks) = program." ".quantity." ".ranks
nrows = 0
take_row(i) = (nrows = i, row_keys[i] = key_of(strcol(2), strcol(6), strcol(5)), row_numbers[4 * i - 3] = number(strcol(8)), \
    row_numbers[4 * i - 2] = number(strcol(9)), row_numbers[4 * i - 1] = number(strcol(10)), row_numbers[4 * i] = number(strcol(11)), 0)
stats csv using (take_row(nrows + 1)) every ::1 nooutput
row_of(program, quantity) = int(sum [k = 1:nrows] (row_keys[k] eq key_of(program, quantity, sprintf("%d", ranks)) ? k : 0))
value_of(program, quantity, n) = row_of(program, quantity) ? row_numbers[4 * row_of(program, quantity) + n - 11] : 0
