// SPDX-License-Identifier: MIT
// The five claims of homework h1, each computed anew from the student's own rows.
//
// A line of claims.csv is a claim: quantity, of, against, value, unit. `of` and `against` are cells, BACKEND/RANKS/SIZE, as
// in gloo/4/10MB; or a row of the matrix, BACKEND/RANKS.
#pragma once

#include "labs/homework/h1/rows.h"

enum { H1_CLAIMS = 5, H1_MOST_CLAIMS = 20, H1_QUANTITY = 24 };

struct h1_claim {
    char quantity[H1_QUANTITY];
    int line;
    bool is_right;
    char said[H1_WHY]; // what is right or wrong about it, in words
};

// Read claims.csv, and compute each claim by the rows.  out: claims_p has room for H1_MOST_CLAIMS
//   errors: CLAB_EPARSE (`why` says it), CLAB_ENOMEM
int h1_claims_judge(const char *text, size_t bytes, const struct h1_data *data, struct h1_claim *claims_p, int *n_p,
                    char why[H1_WHY]);
// How many of them count: right, two of a quantity at most, five in all; only four if none compares with sim.
//   why: the first rule that costs one; "": none
int h1_claims_count(const struct h1_claim *claims, int n, char why[H1_WHY]);
// The quantities that there are, with words between them.
void h1_claims_list(char text[H1_WHY]);
