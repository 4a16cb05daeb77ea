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

# ---- your prediction -------------------------------------------------------------------------------------------------
# The file `yours` has a student's predictions in the same columns, where there are any: a value with its low and high.
# They are drawn on top, as large open diamonds in the colour of what they are about:
#
#   plot ..., for [once = 1:has_yours("after", "time/")] yours using (mine("after", "time/", x("after", "time/"))):8:9:10 \
#                 with yerrorbars linestyle 30 linecolor rgb colours[1] notitle, \
#             for [once = 1:has_yours("after", "time/")] 1/0 with points linestyle 30 title your_title
#
# - has_yours(program, prefix): 1 if one of them is of that program and has a quantity that is `prefix` or begins so, among
#   `ranks` ranks; else 0.
# - any_yours(program, prefix): the same among any number of ranks, for legends.
# - yours_of(program, quantity, n): column n (8 to 10) of one of them, 1 if there is none. gnuplot reads the data of a loop
#   of no turns, too, and complains if no point is defined. So mine(program, prefix, v) is 1 then, else v.
your_title = "your prediction"
nyours = 0
if (!exists("yours")) { yours = "" }
if (yours ne "") { stats yours using (0) every ::1 nooutput; nyours = int(STATS_records) }
array your_keys[nyours + 1]
array your_numbers[3 * nyours + 3]
do for [i = 1:nyours + 1] { your_keys[i] = "" }
take_yours(i) = (nyours = i, your_keys[i] = strcol(2)." ".strcol(5)." ".strcol(6), your_numbers[3 * i - 2] = number(strcol(8)), \
    your_numbers[3 * i - 1] = number(strcol(9)), your_numbers[3 * i] = number(strcol(10)), 0)
if (nyours) { nyours = 0; stats yours using (take_yours(nyours + 1)) every ::1 nooutput }
if (yours eq "") { yours = csv }
your_key(program, quantity) = sprintf("%s %d %s", program, ranks, quantity)
has_yours(program, prefix) = nyours == 0 ? 0 : (sum [k = 1:nyours] (your_keys[k] eq your_key(program, prefix) \
    || starts_with(your_keys[k], your_key(program, prefix)) ? 1 : 0)) > 0 ? 1 : 0
mine(program, prefix, v) = has_yours(program, prefix) ? v : 1
your_row(program, quantity) = nyours == 0 ? 0 : int(sum [k = 1:nyours] (your_keys[k] eq your_key(program, quantity) ? k : 0))
yours_of(program, quantity, n) = your_row(program, quantity) ? your_numbers[3 * your_row(program, quantity) + n - 10] : 1
# A range of an axis that has them all: min or max of v and the ends of those of that program and prefix, of any ranks. For
# axes that may be logarithmic: 0 counts as nothing.
is_yours(k, program, prefix) = head_of(your_keys[k], " ") eq program && \
    (starts_with(tail_of(tail_of(your_keys[k], " "), " "), prefix) || tail_of(tail_of(your_keys[k], " "), " ") eq prefix)
any_yours(program, prefix) = nyours == 0 ? 0 : (sum [k = 1:nyours] (is_yours(k, program, prefix) ? 1 : 0)) > 0 ? 1 : 0
lesser(a, b) = b > 0 && b < a ? b : a
larger(a, b) = b > a ? b : a
down_to(v, program, prefix, k) = k == 0 ? v \
    : down_to(is_yours(k, program, prefix) ? lesser(v, your_numbers[3 * k - 1]) : v, program, prefix, k - 1)
up_to(v, program, prefix, k) = k == 0 ? v \
    : up_to(is_yours(k, program, prefix) ? larger(v, your_numbers[3 * k]) : v, program, prefix, k - 1)
least_with(v, program, prefix) = down_to(v, program, prefix, nyours)
most_with(v, program, prefix) = up_to(v, program, prefix, nyours)
