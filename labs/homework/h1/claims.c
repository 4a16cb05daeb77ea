// SPDX-License-Identifier: MIT
// Claims, recomputed (claims.h).

#include "labs/homework/h1/claims.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/nearest.h"
#include "core/base/units.h"

static const double tolerance = 0.01; // three digits are enough

// A place in the matrix: a cell, or a row of it, bytes 0.
struct place {
    char backend[H1_BACKEND];
    int ranks;
    size_t bytes;
    bool has_bytes;
    const struct h1_row *row; // the measured cell; NULL: none
};

enum { NONE, CELL, SIZES }; // what `of` and `against` are: nothing, a cell, all sizes of a backend on so many ranks

struct quantity {
    const char *name;
    int of, against;
    const char *unit; // of what compute returns
    double (*compute)(const struct h1_data *data, const struct place *of, const struct place *against);
};

// ---- quantities ----------------------------------------------------------------------------------------------------

static double time_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    (void)data, (void)against;
    return of->row->usec;
}

static double algbw_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    (void)data, (void)against;
    return (double)of->row->bytes / of->row->usec / 1e3;
}

static double busbw_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    return algbw_of(data, of, against) * 2 * (of->row->ranks - 1.0) / of->row->ranks;
}

static double noise_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    (void)data, (void)against;
    return 100 * (of->row->high - of->row->low) / 2 / of->row->usec;
}

static double ratio_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    (void)data;
    return of->row->usec / against->row->usec;
}

static double efficiency_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    return 100 * busbw_of(data, of, against) / busbw_of(data, against, of);
}

static double against_sim_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    (void)data, (void)against;
    return of->row->usec / of->row->sim;
}

// The next larger size than `bytes` that is measured there; NULL: there is none.
static const struct h1_row *next_size(const struct h1_data *data, const struct place *place, double bytes)
{
    const struct h1_row *next = NULL;
    for (int i = 0; i < data->nrows; i++) {
        const struct h1_row *row = &data->rows[i];
        if (h1_row_is_measured(row) && row->ranks == place->ranks && !strcmp(row->backend, place->backend) &&
            (double)row->bytes > bytes && (!next || row->bytes < next->bytes))
            next = row;
    }
    return next;
}

// The smallest measured size that reaches half of the largest algbw.
static double half_size_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    double most = 0;
    (void)against;
    for (const struct h1_row *row = next_size(data, of, -1); row; row = next_size(data, of, (double)row->bytes))
        most = fmax(most, (double)row->bytes / row->usec);
    for (const struct h1_row *row = next_size(data, of, -1); row; row = next_size(data, of, (double)row->bytes))
        if ((double)row->bytes / row->usec >= most / 2)
            return (double)row->bytes;
    return NAN;
}

// The smallest measured size from which on `of` is faster than `against` at all sizes that both have.
static double crossover_of(const struct h1_data *data, const struct place *of, const struct place *against)
{
    double from = NAN;
    for (const struct h1_row *row = next_size(data, of, -1); row; row = next_size(data, of, (double)row->bytes)) {
        const struct h1_row *other = h1_data_find(data, against->backend, against->ranks, row->bytes);
        if (!other || !h1_row_is_measured(other))
            continue;
        from = row->usec >= other->usec ? NAN : isnan(from) ? (double)row->bytes : from;
    }
    return from;
}

static const struct quantity quantities[] = {
    {"time", CELL, NONE, "us", time_of},
    {"algbw", CELL, NONE, "GB/s", algbw_of},
    {"busbw", CELL, NONE, "GB/s", busbw_of},
    {"noise", CELL, NONE, "%", noise_of},
    {"ratio", CELL, CELL, "1", ratio_of},
    {"efficiency", CELL, CELL, "%", efficiency_of},
    {"against_sim", CELL, NONE, "1", against_sim_of},
    {"half_size", SIZES, NONE, "B", half_size_of},
    {"crossover", SIZES, SIZES, "B", crossover_of},
};
enum { QUANTITIES = sizeof quantities / sizeof *quantities };

void h1_claims_list(char text[H1_WHY])
{
    size_t length = 0;
    for (int i = 0; i < QUANTITIES; i++)
        length += (size_t)snprintf(text + length, H1_WHY - length, "%s%s",
                                   i == 0                ? ""
                                   : i == QUANTITIES - 1 ? " or "
                                                         : ", ",
                                   quantities[i].name);
}

// ---- a line --------------------------------------------------------------------------------------------------------

// Say what is wrong with the claim. Returns false.
__attribute__((format(printf, 2, 3))) static bool say(struct h1_claim *claim, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(claim->said, sizeof claim->said, format, values);
    va_end(values);
    return false;
}

static const struct quantity *find_quantity(struct h1_claim *claim)
{
    struct clab_nearest nearest = clab_nearest_to(claim->quantity, strlen(claim->quantity));
    for (int i = 0; i < QUANTITIES; i++) {
        if (!strcmp(quantities[i].name, claim->quantity))
            return &quantities[i];
        clab_nearest_offer(&nearest, quantities[i].name);
    }
    char list[H1_WHY];
    h1_claims_list(list);
    const char *hint = clab_nearest_hint(&nearest);
    say(claim, "there is no quantity '%s'%s%.300s", claim->quantity, *hint ? hint : "; a quantity is ",
        *hint ? "" : list);
    return NULL;
}

// "gloo/4/10MB" or "gloo/4".
static bool parse_place(const char *text, struct place *place_p)
{
    struct place place = {0};
    char size[32] = "";
    int used = 0;
    if (sscanf(text, "%15[a-z_0-9]/%d%n", place.backend, &place.ranks, &used) != 2 || !used)
        return false;
    place.has_bytes = text[used] == '/';
    if (place.has_bytes) {
        if (strlen(text + used + 1) >= sizeof size)
            return false;
        snprintf(size, sizeof size, "%s", text + used + 1);
        const size_t length = strlen(size);
        if (length > 1 && size[length - 1] == 'B' && isdigit((unsigned char)size[length - 2]))
            size[length - 1] = 0; // "8B"
        if (clab_parse_size(size, &place.bytes))
            return false;
    } else if (text[used])
        return false;
    *place_p = place;
    return true;
}

// The words in the column mean a place of the kind that the quantity takes.
static bool take_place(struct h1_claim *claim, const struct h1_data *data, const char *column, const char *text,
                       int kind, struct place *place_p)
{
    if (kind == NONE)
        return !*text || say(claim, "%s takes nothing in the column '%s': leave it empty", claim->quantity, column);
    if (!parse_place(text, place_p))
        return say(claim, "%s = '%.40s' is no place in the matrix: write %s", column, text,
                   kind == CELL ? "BACKEND/RANKS/SIZE, as in gloo/4/10MB" : "BACKEND/RANKS, as in gloo/4");
    if (kind == SIZES && place_p->has_bytes)
        return say(claim, "%s = '%.40s': %s is about all sizes, so write BACKEND/RANKS, as in %s/%d", column, text,
                   claim->quantity, place_p->backend, place_p->ranks);
    if (kind == CELL && !place_p->has_bytes)
        return say(claim, "%s = '%.40s' has no size: write BACKEND/RANKS/SIZE, as in gloo/4/10MB", column, text);
    if (kind == SIZES)
        return true;
    place_p->row = h1_data_find(data, place_p->backend, place_p->ranks, place_p->bytes);
    if (place_p->row && h1_row_is_measured(place_p->row))
        return true;
    char cell[64];
    return say(claim, "%s = '%.40s': your matrix.csv has no time of %s (is it 1 MB = 1,000,000 bytes that you mean?)",
               column, text, h1_row_text(place_p->backend, place_p->ranks, place_p->bytes, cell));
}

// ---- wrong values --------------------------------------------------------------------------------------------------

static double mean_of(const struct h1_row *row)
{
    double sum = 0;
    for (int i = 0; i < row->ntimes; i++)
        sum += row->times[i];
    return sum / row->ntimes;
}

static bool is_about(double a, double b)
{
    return fabs(a - b) <= tolerance * fabs(b);
}

// Which mistake makes `right` to `value`; NULL: none that is known.
static const char *mistake(const struct quantity *q, double value, double right, const struct h1_data *data,
                           const struct place *of, const struct place *against)
{
    static const double thousands[] = {1e3, 1e6, 1e9, 1e-3, 1e-6, 1e-9};
    for (size_t i = 0; i < sizeof thousands / sizeof *thousands; i++)
        if (is_about(value, thousands[i] * right))
            return "is the unit right? us, ms and s are a thousand apart, and so are MB/s and GB/s";
    if (is_about(value, 1 / right) && q->against == CELL)
        return "that is the inverse: `of` is above, `against` below";
    if (q->compute == against_sim_of && is_about(value, 1 / right))
        return "that is the inverse: the measured time by the simulator's";
    if (is_about(value, 100 * right) || is_about(value, right / 100))
        return "is it percent? The column `unit` says % for parts of 100, 1 for a ratio";
    if (q->of != CELL)
        return NULL;
    if (q->compute == busbw_of && is_about(value, algbw_of(data, of, against)))
        return "that is algbw: busbw is 2 (P - 1) / P times that for an allreduce";
    if (q->compute == algbw_of && is_about(value, busbw_of(data, of, against)))
        return "that is busbw: algbw is bytes by time alone";
    if (q->compute == efficiency_of && is_about(value, 100 * algbw_of(data, of, NULL) / algbw_of(data, against, NULL)))
        return "that is the ratio of algbw: an efficiency compares busbw, since more ranks send more";
    if (q->compute == time_of && is_about(value, mean_of(of->row)))
        return "that is the mean of the samples: the time of a cell is their median";
    if ((q->compute == algbw_of || q->compute == busbw_of) &&
        (is_about(value * 1.048576, right) || is_about(value * 1.073741824, right)))
        return "did you divide by MiB or GiB? 1 GB/s is 1e9 bytes per second";
    return NULL;
}

static bool judge_value(struct h1_claim *claim, const struct quantity *q, double value, double right,
                        const struct h1_data *data, const struct place *of, const struct place *against)
{
    const double relative = value / right;
    if (is_about(value, right))
        return snprintf(claim->said, sizeof claim->said, "right") > 0;
    const char *why = mistake(q, value, right, data, of, against);
    if (relative > 0.5 && relative < 2)
        return say(claim, "your value is %+.3g %% off what your rows give%s%s", 100 * (relative - 1), why ? ": " : "",
                   why ? why : "");
    return say(claim, "your value is %.4g times what your rows give%s%s", relative, why ? ": " : "", why ? why : "");
}

// The number in the column `value`, in the quantity's own unit.
static bool take_value(struct h1_claim *claim, const struct quantity *q, const char *text, const char *unit,
                       double *value_p)
{
    char *end;
    const double value = strtod(text, &end);
    const struct clab_unit *own = clab_unit_find(q->unit), *theirs = clab_unit_find(unit);
    if (!*text || text[strspn(text, "_ ")] == 0)
        return say(claim, "the value is still a blank");
    if (*end || end == text || !isfinite(value))
        return say(claim, "value = '%.40s' is no number; its unit goes into the last column", text);
    if (!theirs || !clab_unit_converts(theirs, own))
        return say(claim, "unit = '%.20s': %s is in %s", unit, claim->quantity,
                   own->dimension == CLAB_DIMENSION_COUNT ? "1" : clab_dimension_units(own->dimension));
    *value_p = clab_unit_convert(value, theirs, own);
    return true;
}

static void judge(const struct clab_csv *csv, int i, const struct h1_data *data, struct h1_claim *claim)
{
    struct place of = {0}, against = {0};
    double value = 0;
    snprintf(claim->quantity, sizeof claim->quantity, "%s", clab_csv_cell(csv, i, "quantity"));
    claim->line = csv->lines[i + 1];
    const struct quantity *q = find_quantity(claim);
    if (!q || !take_place(claim, data, "of", clab_csv_cell(csv, i, "of"), q->of, &of) ||
        !take_place(claim, data, "against", clab_csv_cell(csv, i, "against"), q->against, &against) ||
        !take_value(claim, q, clab_csv_cell(csv, i, "value"), clab_csv_cell(csv, i, "unit"), &value))
        return;
    const double right = q->compute(data, &of, &against);
    if (isfinite(right) && right > 0)
        claim->is_right = judge_value(claim, q, value, right, data, &of, &against);
    else if (q->compute == against_sim_of)
        say(claim, "your matrix.csv has no sim_usec there: run commlab fit, then measure.sh again with --fresh");
    else
        say(claim, "your rows have no such size: at the largest size that both have, `of` is not faster");
}

int h1_claims_judge(const char *text, size_t bytes, const struct h1_data *data, struct h1_claim *claims_p, int *n_p,
                    char why[H1_WHY])
{
    struct clab_log_held held;
    struct clab_csv csv;
    char *copy = malloc(bytes + 1);
    if (!copy)
        return CLAB_ENOMEM;
    memcpy(copy, text, bytes);
    copy[bytes] = 0;
    clab_log_hold(&held);
    const int err = clab_csv_parse(copy, bytes, "claims.csv", &csv);
    clab_log_release(&held);
    if (err)
        snprintf(why, H1_WHY, "%.400s", held.text);
    *n_p = err ? 0 : csv.nrows < H1_MOST_CLAIMS ? csv.nrows : H1_MOST_CLAIMS;
    for (int i = 0; i < *n_p; i++) {
        claims_p[i] = (struct h1_claim){0};
        judge(&csv, i, data, &claims_p[i]);
    }
    if (!err)
        clab_csv_free(&csv);
    free(copy);
    return err;
}

// ---- how many count ------------------------------------------------------------------------------------------------

int h1_claims_count(const struct h1_claim *claims, int n, char why[H1_WHY])
{
    int counted = 0;
    bool sim = false;
    *why = 0;
    for (int i = 0; i < n; i++) {
        int before = 0;
        for (int k = 0; k < i; k++)
            before += claims[k].is_right && !strcmp(claims[k].quantity, claims[i].quantity);
        if (claims[i].is_right && before < 2) {
            counted++;
            sim = sim || !strcmp(claims[i].quantity, "against_sim");
        } else if (claims[i].is_right && !*why)
            snprintf(why, H1_WHY, "only two claims of one quantity count, and '%s' is there %d times",
                     claims[i].quantity, before + 1);
    }
    if (!sim && counted >= H1_CLAIMS) {
        snprintf(why, H1_WHY, "no right claim compares a time with the simulator's (against_sim): so four count");
        return H1_CLAIMS - 1;
    }
    return counted < H1_CLAIMS ? counted : H1_CLAIMS;
}
