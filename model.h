/* Predicts value.
   Written by bgn. A row is an array of doubles, in the order of bgn_columns: a category is its number
   (see bgn_category_...), NAN is a missing value; the score of an infinite number is NAN.
   Scores are the same bits as bgn computes where double arithmetic is IEEE 754, one rounding per operation: compile
   without -ffast-math, and on 32-bit x86 with -msse2 -mfpmath=sse. Contraction to fused multiply-add is switched off
   below for GCC and Clang; for other compilers switch it off (-ffp-contract=off). */
#ifndef BGN_MODEL_H
#define BGN_MODEL_H
#include <float.h>
#include <math.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "compile without -ffast-math: NaN stands for a missing value, and sums are added in order"
#endif
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 2
#error "compile so that doubles are rounded to double: on x86 -msse2 -mfpmath=sse"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize ("fp-contract=off")
#endif

static const char *const bgn_columns[2] = {"income", "city"};
/* The number of a category of bgn_columns[1]. */
static inline double bgn_category_1(const char *text) {
    if (!strcmp(text, "Lille")) return 0.0;
    if (!strcmp(text, "Nice")) return 1.0;
    if (!strcmp(text, "Rome")) return 2.0;
    return NAN;
}
static const double bgn_table_0[4] = {0.0, -6.0, 0.0, 0.0};
/* The raw score. */
static inline double bgn_score(const double *row) {
    double x0 = row[0];
    if (isinf(x0)) return NAN;
    int x1 = row[1] >= 0.0 && row[1] < 3.0 ? (int)row[1] : 3;
    double t0 = 100.0;
    /* income >= 65.5 */
    t0 += 130.0 * (x0 >= 0x1.0600000000000p+6);
    /* city is not Rome or city is missing */
    t0 += 50.0 * (x1 != 2);
    /* income >= 36, or income >= 30 and (city is not Nice or city is missing) */
    t0 += 20.0 * ((x0 != x0 ? 0x1.3400000000000p+5 : x0) + bgn_table_0[x1] >= 30.0);
    return t0 / 100.0;
}

/* The prediction. */
static inline double bgn_predict(const double *row) {
    return bgn_score(row);
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC pop_options
#endif
#endif
