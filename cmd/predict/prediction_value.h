// SPDX-License-Identifier: MIT
// The right side of a prediction, for predictions.c alone: numbers, ranges, orders, yes and no.
#pragma once

#include "cmd/predict/predictions.h"

// Log "WHERE: ..." and return CLAB_EPARSE.
int prediction_refuse(const char *where, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "4096 KiB", or without a unit.  errors: CLAB_EPARSE, not logged
int prediction_number_read(const char *text, double *number_p, char unit[PREDICTION_UNIT]);
