# SPDX-License-Identifier: MIT
# Mistakes that students make in homework h4, each as a change of reference.c: NAME, a sed command, and what the grader
# says of it. Lines of three, read by test_h4.sh.
h4_mistakes() {
    cat <<'MISTAKES'
asks_too_much
s/return ALL;/return 25;/
your plan has 25 questions, and 24 are allowed
asks_nothing
s/return ALL;/return 0;/
your plan has no question
asks_of_three_ranks
s/2 << k, 8/3, 8/
it may have 2, 4, 8 or 16 ranks
asks_too_large_sizes
s/H4_DOUBLING, 2, H4_ASKED_BYTES/H4_DOUBLING, 2, 2 * H4_ASKED_BYTES/
it may have 4 bytes to 4 MiB
microseconds
s/return \(inside\|(question\)/return 1e6 * \1/
h4_foresee returns seconds
negative_alpha
s/return f;/f.alpha[0] = f.alpha[1] = -1e-4; return f;/
which is no time
falling
s/return \(inside\|(question\)/return 1.0 \/ bytes; return \1/
your beta is negative
one_host
s/const double bytes = (double)question.bytes, /const double bytes = (double)question.bytes; ((struct fit *)\&f)->inside = 20; const double /
as if all ranks were on one host
a_host_per_rank
s/const double bytes = (double)question.bytes, /const double bytes = (double)question.bytes; ((struct fit *)\&f)->inside = 0; const double /
as if each rank had a host of its own
one_alpha
s/return f;/f.handshake = 0; return f;/
as if alpha were the same for all messages
alpha_of_large_messages
s/return f;/f.alpha[1] += f.handshake; f.handshake = 0; return f;/
alpha was fitted from large messages
adding_is_free
s/return f;/f.slope[0] -= f.gamma; f.slope[1] -= f.gamma; f.gamma = 0; return f;/
as if adding were free
no_alpha
s/return f;/f.alpha[0] = f.alpha[1] = f.handshake = 0; return f;/
as if alpha were 0
no_beta
s/return f;/f.slope[0] = f.slope[1] = f.gamma = 0; return f;/
as if beta were 0
whole_messages
s/part = bytes \/ question.ranks/part = bytes/
it has bytes / P
half_a_ring
s/return (question.ranks - 1) \* (2 \* /return (question.ranks - 1) * (/
as if a ring had P - 1 stages
sixteen_ranks
s/^    (void)n;$/    (void)n; question.ranks = question.ranks > 16 ? 16 : question.ranks;/
as if no more than 16 ranks took part
two_ranks
s/^    (void)n;$/    (void)n; question.ranks = 2;/
as if two ranks took part
doubling_like_a_ring
s/stages = log2(question.ranks)/stages = question.ranks - 1/
as if doubling had P - 1 stages
MISTAKES
}
