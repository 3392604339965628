/*
 * Products of bf16 that the processor multiplies and adds up in f32 by itself: dot products of pairs (AVX512_BF16), or
 * of tiles (AMX). Both stand behind one table; a machine with neither has none.
 *
 * The left operand is rows of bf16 numbers, the right one a panel of KERNEL_PANEL columns whose rows come in pairs:
 * [pair][KERNEL_PANEL][2]. Right operands end with zeros up to a multiple of BF16_STEP numbers, and are aligned to 64
 * bytes. A left row is read BF16_STEP numbers at a time, so that up to BF16_STEP - 1 numbers behind its end are read as
 * well: they must be there and be finite.
 *
 * Numbers below 2^-126 count as zero, in operands and in sums.
 */
#ifndef HWS_NN_KERNELS_BF16_H
#define HWS_NN_KERNELS_BF16_H

#include "nn/kernels.h"

enum { BF16_STEP = 32, BF16_PANELS = 2, BF16_PANEL_STEP = BF16_STEP * KERNEL_PANEL };

/* One term of a product: row r of the left operand is the numbers at a + r * row_stride, as many as there are pairs
   of rows in the right one. */
typedef struct bf16_run {
    const uint16_t *a, *b;
    ptrdiff_t row_stride;
    int pairs;
} bf16_run;

/* The sum of some runs, for up to BF16_PANELS panels, which are `panel_stride` numbers apart in b. */
typedef struct bf16_runs {
    const bf16_run *run;
    int count, panels;
    ptrdiff_t panel_stride;
} bf16_runs;

/* Rows are the points of some lines, `pitch` rows apart: what is behind the last point of a line is not stored. Each
   has the first `channels` of the panels. */
typedef struct bf16_results {
    kernel_addends addends;
    int lines, points, pitch, channels;
    ptrdiff_t line_stride, point_stride;
    void *image;
} bf16_results;

/* Rows of a left operand that begin `offset` numbers behind it: at most KERNEL_PANEL. */
typedef struct bf16_rows {
    ptrdiff_t offset;
    int count;
} bf16_rows;

/* One product for each of several sets of rows; each has KERNEL_PANEL rows among the sums. */
typedef struct bf16_products {
    bf16_run run;
    const bf16_rows *rows;
    int count, panels;
    ptrdiff_t panel_stride, sum_stride;
    float *sums;
} bf16_products;

typedef struct bf16_kernels {
    /* results = the sum of the runs + addends, in bf16. */
    void (*multiply)(const bf16_runs *runs, const bf16_results *results);
    /* sums += or, if `fresh`, = the products. */
    void (*outer)(const bf16_products *products, int fresh);

    /* Two rows of up to KERNEL_PANEL numbers become a pair, with zeros behind; a row may be NULL: zeros. */
    void (*pair_weights)(const float *even, const float *odd, int count, uint16_t *pair);
    /* The same of many pairs of bf16 rows that lie `row_stride` numbers apart. */
    void (*pair_rows)(const uint16_t *rows, ptrdiff_t row_stride, int pairs, int count, uint16_t *to);
    /* `count` columns of up to BF16_STEP weights, `column_stride` apart, become KERNEL_PANEL pairs, with zeros
       where there are no weights. */
    void (*pair_columns)(const float *columns, ptrdiff_t column_stride, int count, int depth, uint16_t *to);
    /* to[c * to_stride + r] = from[r * channels + c]; `rows` is a multiple of BF16_STEP. */
    void (*transpose)(const uint16_t *from, int rows, int channels, uint16_t *to, ptrdiff_t to_stride);
} bf16_kernels;

/* Those of the set that serves (kernel_set.h), or NULL. */
const bf16_kernels *bf16_kernels_chosen(void);

#endif
