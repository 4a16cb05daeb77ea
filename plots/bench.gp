# SPDX-License-Identifier: MIT
# What figures of a bench share: rows of `commlab bench --csv`, by column.
#
# collective,algorithm,backend,ranks,bytes,count,type,op,root,inplace,mode,usec,usec_low,usec_high,algbw_GBps,busbw_GBps,
# wrong,bytes_sent_per_rank,predicted_usec,residual_pct,calls,line_nsec,fresh_psB,call_nsec
#
# - counts(collective): in a `using`, whether the row is of that collective, out of place, and was measured.
# - best_usec[at(collective, bytes)] and so on: the fastest row of that size; 0: nothing was measured there.
# - is_fastest(collective): in a `using`, whether this row is that one.
load "plots/style.gp"

counts(c) = strcol(10) eq "0" && strcol(12) ne "" && strcol(1) eq c
is_counted(c) = counts(c) && strcol(5) ne "0" # of a size, too

# ---- what there is ---------------------------------------------------------------------------------------------------
# Collectives in the file's order, sizes by number; the number of ranks and the backend are those of the first row.
collectives = sizes = backend = ""
ranks = 0; is_predicted = 0
take_row(c, bytes) = (collectives = add(c, collectives), sizes = add_number(bytes, sizes), backend = backend eq "" ? strcol(3) : backend, \
    ranks = ranks ? ranks : int(strcol(4)), is_predicted = is_predicted || strcol(19) ne "", 0)
stats csv using (counts(strcol(1)) ? take_row(strcol(1), strcol(5)) : 0) nooutput
# Of those, which have a size.
sized = ""
stats csv using (sized = is_counted(strcol(1)) ? add(strcol(1), sized) : sized, 0) nooutput

# ---- the fastest of each collective and size -------------------------------------------------------------------------
nbest = words(collectives) * words(sizes)
array best_usec[nbest]; array best_high[nbest]; array best_rate[nbest]; array best_name[nbest]; array best_backend[nbest]
array best_alike[nbest] # how many rows' intervals reach to that of the fastest, which is one of them
do for [k = 1:nbest] { best_usec[k] = 0; best_alike[k] = 0 }
at(c, bytes) = (place_of(c, collectives) - 1) * words(sizes) + place_of(bytes, sizes)
take_best(k, usec) = best_usec[k] > 0 && best_usec[k] <= usec ? 0 : (best_usec[k] = usec, best_high[k] = number(strcol(14)), \
    best_rate[k] = number(strcol(16)), best_name[k] = strcol(2), best_backend[k] = strcol(3), 0)
stats csv using (counts(strcol(1)) ? take_best(at(strcol(1), strcol(5)), number(strcol(12))) : 0) nooutput
take_alike(k, low) = (best_alike[k] = best_alike[k] + (low <= best_high[k]), 0)
stats csv using (counts(strcol(1)) ? take_alike(at(strcol(1), strcol(5)), number(strcol(13))) : 0) nooutput
is_fastest(c) = counts(c) ? number(strcol(12)) == best_usec[at(c, strcol(5))] : 0
# Of the smallest and of the largest size of a collective.
next_at(k, step) = best_usec[k] > 0 ? k : next_at(k + step, step)
first_at(c) = next_at((place_of(c, collectives) - 1) * words(sizes) + 1, 1)
last_at(c) = next_at(place_of(c, collectives) * words(sizes), -1)
bytes_at(k) = number(word(sizes, 1 + (k - 1) % words(sizes)))

# ---- limits ----------------------------------------------------------------------------------------------------------
# "16.2 GB/s by one core, 19.7 GB/s by all ranks at once, 102 GB/s within a core's cache", in GB/s; 0: not said
copy_memory = number_before(" GB/s by one core", manifest("memory copy"))
copy_cache = number_before(" GB/s within", manifest("memory copy"))
# What no call can beat, in GB/s that a rank takes in: plain TCP where the backend goes over it, else copies in cache.
plain_tcp = number_before(" GB/s each way", manifest("plain TCP"))
limit_rate = plain_tcp > 0 ? plain_tcp : copy_cache
limit_title = plain_tcp > 0 ? "limit: plain TCP" : "limit: copy in cache"

nice(c) = c eq "reduce_scatter" ? "reduce-scatter" : c eq "sendrecv" ? "send and receive" : c
