/* The products of bf16 of all sets that this machine can run, against plain loops in double. */
#include "nn/kernel_set.h"
#include "numbers.h"

/* Relative to the sum of the absolute values of the products. */
#define BOUND 1e-6

enum { PANEL_NUMBERS = 2 * KERNEL_PANEL };

typedef void check_kernels(const bf16_kernels *kernels);

static void for_all_sets(check_kernels *check) {
    int checked = 0;
    for (int k = 0; kernel_set_name(k); k++) {
        const kernel_set *set;
        if (kernel_set_find(kernel_set_name(k), &set, NULL) != STATUS_OK || !set->products) continue;
        check(set->products);
        checked++;
    }
    if (!checked) skip();
}

static int steps_up(int numbers) { return (numbers + BF16_STEP - 1) / BF16_STEP * BF16_STEP; }

/* The weight of a row in a panel that is stored in pairs. */
static double paired(const guarded *b, size_t panel, int row, int column) {
    return number_at(PRECISION_BF16, b->data, panel + (size_t)(row / 2 * PANEL_NUMBERS + 2 * column + row % 2));
}

/* Random pairs: zeros behind the last row. */
static guarded random_pairs(int panels, int depth, uint64_t *seed) {
    const size_t panel = (size_t)steps_up(depth) * KERNEL_PANEL;
    guarded b = random_numbers(PRECISION_BF16, (size_t)panels * panel, seed);
    for (int p = 0; p < panels; p++)
        for (int row = depth; row < steps_up(depth); row++)
            for (int i = 0; i < KERNEL_PANEL; i++)
                store_number(PRECISION_BF16, b.data,
                             (size_t)p * panel + (size_t)(row / 2 * PANEL_NUMBERS + 2 * i + row % 2), 0);
    return b;
}

/* Lines of results from rows that overlap, as those of neighbouring positions do; two runs of taps. */
typedef struct lines {
    int lines, points, pitch, channels, depth, stride, options;
} lines;

static void check_lines(const bf16_kernels *kernels, lines l) {
    uint64_t seed = (uint64_t)(l.depth * 31 + l.points);
    const int panels = l.channels > KERNEL_PANEL ? 2 : 1, rows = (l.lines - 1) * l.pitch + l.points;
    const size_t line = (size_t)(l.points * l.channels + 3), results = (size_t)l.lines * line;
    guarded a = random_numbers(PRECISION_BF16, (size_t)((rows + 1) * l.stride + 2 * BF16_STEP + l.depth), &seed);
    guarded b[2] = {random_pairs(panels, l.depth, &seed), random_pairs(panels, l.depth, &seed)};
    guarded bias = random_numbers(PRECISION_F32, (size_t)l.channels, &seed);
    guarded addend = random_numbers(PRECISION_BF16, results, &seed);
    guarded to = random_numbers(PRECISION_BF16, results, &seed);
    double *expected = exact_numbers(PRECISION_BF16, to.data, results), *magnitude = doubles(results);
    const bf16_run run[2] = {{a.data, b[0].data, l.stride, (l.depth + 1) / 2},
                             {(uint16_t *)a.data + l.stride, b[1].data, l.stride, (l.depth + 1) / 2}};
    const bf16_runs runs = {run, l.options & 8 ? 0 : 2, panels, (ptrdiff_t)steps_up(l.depth) * KERNEL_PANEL};
    const kernel_addends addends = {l.options & 1 ? bias.data : 0, l.options & 2 ? addend.data : 0, l.options >> 2 & 1};
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < l.channels && r % l.pitch < l.points; c++) {
            const size_t at = (size_t)(r / l.pitch) * line + (size_t)(r % l.pitch * l.channels + c);
            double sum = addends.accumulate ? expected[at] : 0;
            if (addends.bias) sum += number_at(PRECISION_F32, bias.data, (size_t)c);
            if (addends.addend) sum += number_at(PRECISION_BF16, addend.data, at);
            magnitude[at] = 8;
            for (int k = 0; k < runs.count; k++)
                for (int d = 0; d < l.depth; d++) {
                    const double product =
                        number_at(PRECISION_BF16, a.data, (size_t)((r + k) * l.stride + d)) *
                        paired(&b[k], (size_t)(c / KERNEL_PANEL * runs.panel_stride), d, c % KERNEL_PANEL);
                    sum += product;
                    magnitude[at] += fabs(product);
                }
            expected[at] = sum;
        }
    const bf16_results where = {addends, l.lines, l.points, l.pitch, l.channels, (ptrdiff_t)line, l.channels, to.data};
    kernels->multiply(&runs, &where);
    check_numbers("lines", PRECISION_BF16, to.data, results, expected, magnitude, BOUND);
    guarded *const blocks[] = {&a, &b[0], &b[1], &bias, &addend, &to};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) guarded_close(blocks[i], "lines");
    free(expected);
    free(magnitude);
}

static void check_multiply(const bf16_kernels *kernels) {
    static const int points[] = {1, 2, 7, 15, 16, 17, 31, 33}, channels[] = {1, 3, 16, 17, 32},
                     depths[] = {1, 2, 16, 31, 32, 48, 96};
    for (size_t p = 0; p < sizeof points / sizeof *points; p++)
        for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
            for (size_t d = 0; d < sizeof depths / sizeof *depths; d++) {
                const int kind = (int)(p + c + d);
                check_lines(kernels, (lines){1 + kind % 5, points[p], points[p] + kind % 3, channels[c], depths[d],
                                             1 + depths[d] / (1 + kind % 2), kind});
            }
}

static void multiplied_lines_are_the_plain_sums(void **state) {
    (void)state;
    for_all_sets(check_multiply);
}

static void check_rows(const bf16_kernels *kernels, int sets, int panels, int depth, int fresh) {
    uint64_t seed = (uint64_t)(sets * 100 + depth);
    enum { MOST = 9, STRIDE = 2 * KERNEL_PANEL };
    const ptrdiff_t row_stride = depth + 5;
    guarded a = random_numbers(PRECISION_BF16, (size_t)((KERNEL_PANEL + MOST) * row_stride + depth), &seed);
    guarded b = random_pairs(panels, depth, &seed);
    const size_t floats = (size_t)sets * KERNEL_PANEL * STRIDE;
    guarded sums = random_numbers(PRECISION_F32, floats, &seed);
    double *expected = exact_numbers(PRECISION_F32, sums.data, floats), *magnitude = doubles(floats);
    bf16_rows rows[MOST];
    for (int k = 0; k < sets; k++) rows[k] = (bf16_rows){k * row_stride + k % 3, k % 2 ? 5 : KERNEL_PANEL};
    for (int k = 0; k < sets; k++)
        for (int r = 0; r < rows[k].count; r++)
            for (int c = 0; c < panels * KERNEL_PANEL; c++) {
                const size_t at = (size_t)((k * KERNEL_PANEL + r) * STRIDE + c);
                double sum = fresh ? 0 : expected[at];
                magnitude[at] = fabs(sum);
                for (int d = 0; d < depth; d++) {
                    const double product =
                        number_at(PRECISION_BF16, a.data, (size_t)(rows[k].offset + r * row_stride + d)) *
                        paired(&b, (size_t)(c / KERNEL_PANEL * depth * KERNEL_PANEL), d, c % KERNEL_PANEL);
                    sum += product;
                    magnitude[at] += fabs(product);
                }
                expected[at] = sum;
            }
    const bf16_products products = {{a.data, b.data, row_stride, depth / 2}, rows,   sets,     panels,
                                    (ptrdiff_t)depth * KERNEL_PANEL,         STRIDE, sums.data};
    kernels->outer(&products, fresh);
    for (int k = 0; k < sets; k++)
        for (int r = 0; r < rows[k].count; r++)
            check_numbers("outer", PRECISION_F32, (float *)sums.data + (k * KERNEL_PANEL + r) * STRIDE,
                          (size_t)panels * KERNEL_PANEL, expected + (k * KERNEL_PANEL + r) * STRIDE,
                          magnitude + (k * KERNEL_PANEL + r) * STRIDE, BOUND);
    guarded_close(&a, "a");
    guarded_close(&b, "b");
    guarded_close(&sums, "sums");
    free(expected);
    free(magnitude);
}

static void check_outer(const bf16_kernels *kernels) {
    for (int sets = 1; sets <= 9; sets++)
        for (int kind = 0; kind < 8; kind++)
            check_rows(kernels, sets, 1 + kind % 2, BF16_STEP * (1 + kind / 4 * 7), kind >> 1 & 1);
}

static void outer_products_add_to_sums_or_begin_them(void **state) {
    (void)state;
    for_all_sets(check_outer);
}

static void check_pairs(const bf16_kernels *kernels) {
    uint64_t seed = 3;
    enum { STRIDE = 40, COLUMNS = KERNEL_PANEL };
    guarded weights = random_numbers(PRECISION_F32, STRIDE * COLUMNS, &seed);
    guarded rows = random_numbers(PRECISION_BF16, STRIDE * BF16_STEP, &seed);
    guarded pairs = guarded_open(BF16_PANEL_STEP * sizeof(uint16_t));
    const float *w = weights.data;
    for (int count = 1; count <= COLUMNS; count++) {
        for (int kind = 1; kind < 4; kind++) {
            guarded pair = guarded_open(PANEL_NUMBERS * sizeof(uint16_t));
            kernels->pair_weights(kind & 1 ? w : 0, kind & 2 ? w + STRIDE : 0, count, pair.data);
            for (int i = 0; i < PANEL_NUMBERS; i++) {
                const int there = i / 2 < count && kind >> i % 2 & 1;
                assert_int_equal(((uint16_t *)pair.data)[i], there ? float_to_bf16(w[i % 2 * STRIDE + i / 2]) : 0);
            }
            guarded_close(&pair, "a pair");
        }
        kernels->pair_rows(rows.data, STRIDE, BF16_STEP / 2, count, pairs.data);
        for (int i = 0; i < BF16_PANEL_STEP; i++) {
            const int row = i / PANEL_NUMBERS * 2 + i % 2, column = i / 2 % KERNEL_PANEL;
            assert_int_equal(((uint16_t *)pairs.data)[i],
                             column < count ? ((uint16_t *)rows.data)[row * STRIDE + column] : 0);
        }
        for (int depth = 1; depth <= BF16_STEP; depth++) {
            kernels->pair_columns(w, STRIDE, count, depth, pairs.data);
            for (int i = 0; i < BF16_PANEL_STEP; i++) {
                const int row = i / PANEL_NUMBERS * 2 + i % 2, column = i / 2 % KERNEL_PANEL;
                assert_int_equal(((uint16_t *)pairs.data)[i],
                                 column < count && row < depth ? float_to_bf16(w[column * STRIDE + row]) : 0);
            }
        }
    }
    guarded_close(&weights, "weights");
    guarded_close(&rows, "rows");
    guarded_close(&pairs, "pairs");
}

static void pairs_hold_what_they_are_made_of(void **state) {
    (void)state;
    for_all_sets(check_pairs);
}

static void check_transpose(const bf16_kernels *kernels) {
    enum { ROWS = 3 * BF16_STEP, STRIDE = ROWS + 7 };
    for (int channels = 1; channels < 70; channels += channels < 34 ? 1 : 7) {
        uint64_t seed = (uint64_t)channels;
        guarded from = random_numbers(PRECISION_BF16, (size_t)(ROWS * channels), &seed);
        guarded to = guarded_open(((size_t)(channels - 1) * STRIDE + ROWS) * sizeof(uint16_t));
        kernels->transpose(from.data, ROWS, channels, to.data, STRIDE);
        for (int c = 0; c < channels; c++)
            for (int r = 0; r < ROWS; r++)
                assert_int_equal(((uint16_t *)to.data)[c * STRIDE + r], ((uint16_t *)from.data)[r * channels + c]);
        guarded_close(&from, "rows");
        guarded_close(&to, "columns");
    }
}

static void columns_are_the_rows_turned(void **state) {
    (void)state;
    for_all_sets(check_transpose);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiplied_lines_are_the_plain_sums),
        cmocka_unit_test(outer_products_add_to_sums_or_begin_them),
        cmocka_unit_test(pairs_hold_what_they_are_made_of),
        cmocka_unit_test(columns_are_the_rows_turned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
