# SPDX-License-Identifier: MIT
# What figures of a bench share: rows of `commlab bench --csv`, by column.
#
# collective,algorithm,backend,ranks,bytes,count,type,op,root,inplace,mode,usec,usec_low,usec_high,algbw_GBps,busbw_GBps,
# wrong,bytes_sent_per_rank,predicted_usec,residual_pct,calls,line_nsec,fresh_psB,call_nsec
#
# - rows(filter): the out-of-place rows for which the awk expression `filter` holds, sorted by size.
# - fastest(collective): at each size the row of its fastest algorithm.
load "plots/style.gp"

awk(program) = sprintf("< awk -F, '!/^#/ && $1 != \"collective\" && $10 == 0 && $12 != \"\" %s' '%s' | sort -t, -k5,5n", program, csv)
rows(filter) = awk("&& (".filter.")")
fastest(collective) = awk(sprintf( \
    "&& $1 == \"%s\" { if (!($5 in best) || $12 + 0 < best[$5]) { best[$5] = $12; row[$5] = $0 } }" \
    ." END { for (b in row) print row[b] }", collective))
# How many algorithms' intervals at `bytes` reach to that of the row of the fastest, which is one of them.
alike(collective, row) = int(number(system(sprintf("awk -F, '!/^#/ && $1 == \"%s\" && $10 == 0 && $5 == %s && $12 != \"\" && $13 + 0 <= %s { n++ } END { print n + 0 }' '%s'", \
    collective, field(row, 5), field(row, 14), csv))))
field(command, n) = system(sprintf("%s | cut -d, -f%d", substr(command, 3, strlen(command)), n))

ranks = int(field(awk("{ print; exit }"), 4))
backend = field(awk("{ print; exit }"), 3)
is_predicted = field(awk("&& $19 != \"\" { print; exit }"), 19) ne ""
# "16.2 GB/s by one core, 19.7 GB/s by all ranks at once, 102 GB/s within a core's cache", in GB/s; 0: not said
rate(where) = number(system(sprintf("sed -n 's|^# memory copy:.*[ :]\\([0-9.]*\\) GB/s %s.*|\\1|p' '%s'", where, csv)))
copy_memory = rate("by one core")
copy_cache = rate("within")
# What no call can beat, in GB/s that a rank takes in: plain TCP where the backend goes over it, else copies in cache.
plain_tcp = number(system(sprintf("sed -n 's|^# plain TCP:.* \\([0-9.]*\\) GB/s each way.*|\\1|p' '%s'", csv)))
limit_rate = plain_tcp > 0 ? plain_tcp : copy_cache
limit_title = plain_tcp > 0 ? "limit: plain TCP" : "limit: copy in cache"

# Those that were measured, in the order of the file; those with a size.
collectives_of(filter) = system(sprintf("awk -F, '!/^#/ && $1 != \"collective\" && $12 != \"\" && %s && !seen[$1]++ { print $1 }' '%s'", filter, csv))
nice(c) = c eq "reduce_scatter" ? "reduce-scatter" : c eq "sendrecv" ? "send and receive" : c
