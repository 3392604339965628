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
        if (kernel_set_find(kernel_set_name(k), &set, NULL) != STATUS_OK) continue;
        if (!kernel_set_begin_products(set)) continue;
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

enum { RUNS = 2, A, B, BIAS = B + RUNS, ADDEND, RESULTS, BLOCKS };

static size_t line_of(const lines *l) { return (size_t)(l->points * l->channels + 3); }

static void open_blocks(const lines *l, guarded blocks[BLOCKS]) {
    uint64_t seed = (uint64_t)(l->depth * 31 + l->points);
    const int panels = l->channels > KERNEL_PANEL ? 2 : 1, rows = (l->lines - 1) * l->pitch + l->points;
    blocks[A] = random_numbers(PRECISION_BF16, (size_t)((rows + 1) * l->stride + 2 * BF16_STEP + l->depth), &seed);
    for (int k = 0; k < RUNS; k++) blocks[B + k] = random_pairs(panels, l->depth, &seed);
    blocks[BIAS] = random_numbers(PRECISION_F32, (size_t)l->channels, &seed);
    blocks[ADDEND] = random_numbers(PRECISION_BF16, (size_t)l->lines * line_of(l), &seed);
    blocks[RESULTS] = random_numbers(PRECISION_BF16, (size_t)l->lines * line_of(l), &seed);
}

/* One result and the sum of the absolute products. */
static double plain_sum(const lines *l, const bf16_runs *runs, const guarded *blocks, int row, int channel,
                        double *magnitude) {
    double sum = 0;
    for (int k = 0; k < runs->count; k++)
        for (int d = 0; d < l->depth; d++) {
            const double product = number_at(PRECISION_BF16, blocks[A].data, (size_t)((row + k) * l->stride + d)) *
                                   paired(&blocks[B + k], (size_t)(channel / KERNEL_PANEL * runs->panel_stride), d,
                                          channel % KERNEL_PANEL);
            sum += product;
            *magnitude += fabs(product);
        }
    return sum;
}

/* What the results should be, from what they begin with. */
static void expect_lines(const lines *l, const bf16_runs *runs, const guarded *blocks, const kernel_addends *addends,
                         double *expected, double *magnitude) {
    for (int y = 0; y < l->lines; y++)
        for (int x = 0; x < l->points; x++)
            for (int c = 0; c < l->channels; c++) {
                const size_t at = (size_t)y * line_of(l) + (size_t)(x * l->channels + c);
                double sum = addends->accumulate ? expected[at] : 0;
                if (addends->bias) sum += number_at(PRECISION_F32, addends->bias, (size_t)c);
                if (addends->addend) sum += number_at(PRECISION_BF16, addends->addend, at);
                magnitude[at] = 8;
                expected[at] = sum + plain_sum(l, runs, blocks, y * l->pitch + x, c, &magnitude[at]);
            }
}

static void check_lines(const bf16_kernels *kernels, lines l) {
    guarded blocks[BLOCKS] = {{0}};
    open_blocks(&l, blocks);
    const size_t results = (size_t)l.lines * line_of(&l);
    double *expected = exact_numbers(PRECISION_BF16, blocks[RESULTS].data, results), *magnitude = doubles(results);
    bf16_run run[RUNS];
    for (int k = 0; k < RUNS; k++)
        run[k] = (bf16_run){(uint16_t *)blocks[A].data + k * l.stride, blocks[B + k].data, l.stride, (l.depth + 1) / 2};
    const bf16_runs runs = {run, l.options & 8 ? 0 : RUNS, l.channels > KERNEL_PANEL ? 2 : 1,
                            (ptrdiff_t)steps_up(l.depth) * KERNEL_PANEL};
    const kernel_addends addends = {l.options & 1 ? blocks[BIAS].data : 0, l.options & 2 ? blocks[ADDEND].data : 0,
                                    l.options >> 2 & 1};
    expect_lines(&l, &runs, blocks, &addends, expected, magnitude);
    const bf16_results where = {.addends = addends,
                                .lines = l.lines,
                                .points = l.points,
                                .pitch = l.pitch,
                                .channels = l.channels,
                                .line_stride = (ptrdiff_t)line_of(&l),
                                .point_stride = l.channels,
                                .image = blocks[RESULTS].data};
    kernels->multiply(&runs, &where);
    check_numbers("lines", PRECISION_BF16, blocks[RESULTS].data, results, expected, magnitude, BOUND);
    for (int k = A; k < BLOCKS; k++) guarded_close(&blocks[k], "lines");
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

enum { MOST_SETS = 9, SUM_STRIDE = 2 * KERNEL_PANEL };

/* What the sums of all sets of rows become. */
static void expect_sums(const bf16_products *p, const guarded *a, const guarded *b, double *expected,
                        double *magnitude) {
    for (int k = 0; k < p->count; k++)
        for (int r = 0; r < p->rows[k].count; r++)
            for (int c = 0; c < p->panels * KERNEL_PANEL; c++) {
                const size_t at = (size_t)((k * KERNEL_PANEL + r) * SUM_STRIDE + c);
                magnitude[at] = fabs(expected[at]);
                for (int d = 0; d < 2 * p->run.pairs; d++) {
                    const double product =
                        number_at(PRECISION_BF16, a->data, (size_t)(p->rows[k].offset + r * p->run.row_stride + d)) *
                        paired(b, (size_t)(c / KERNEL_PANEL * p->panel_stride), d, c % KERNEL_PANEL);
                    expected[at] += product;
                    magnitude[at] += fabs(product);
                }
            }
}

static void check_rows(const bf16_kernels *kernels, int sets, int panels, int depth, int fresh) {
    uint64_t seed = (uint64_t)(sets * 100 + depth);
    const ptrdiff_t row_stride = depth + 5;
    guarded a = random_numbers(PRECISION_BF16, (size_t)((KERNEL_PANEL + MOST_SETS) * row_stride + depth), &seed);
    guarded b = random_pairs(panels, depth, &seed);
    const size_t floats = (size_t)sets * KERNEL_PANEL * SUM_STRIDE;
    guarded sums = random_numbers(PRECISION_F32, floats, &seed);
    double *expected = exact_numbers(PRECISION_F32, sums.data, floats), *magnitude = doubles(floats);
    for (size_t i = 0; i < floats && fresh; i++) expected[i] = 0;
    bf16_rows rows[MOST_SETS];
    for (int k = 0; k < sets; k++) rows[k] = (bf16_rows){k * row_stride + k % 3, k % 2 ? 5 : KERNEL_PANEL};
    const bf16_products products = {.run = {a.data, b.data, row_stride, depth / 2},
                                    .rows = rows,
                                    .count = sets,
                                    .panels = panels,
                                    .panel_stride = (ptrdiff_t)depth * KERNEL_PANEL,
                                    .sum_stride = SUM_STRIDE,
                                    .sums = sums.data};
    expect_sums(&products, &a, &b, expected, magnitude);
    kernels->outer(&products, fresh);
    for (int row = 0; row < sets * KERNEL_PANEL; row++)
        if (row % KERNEL_PANEL < rows[row / KERNEL_PANEL].count)
            check_numbers("outer", PRECISION_F32, products.sums + row * SUM_STRIDE, (size_t)panels * KERNEL_PANEL,
                          expected + row * SUM_STRIDE, magnitude + row * SUM_STRIDE, BOUND);
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

enum { STRIDE = 40 };

/* A panel's numbers: `value` of row and column. */
#define CHECK_PANEL(pairs, rows_there, columns_there, value)                                                           \
    for (int i = 0; i < BF16_PANEL_STEP; i++) {                                                                        \
        const int row = i / PANEL_NUMBERS * 2 + i % 2, column = i / 2 % KERNEL_PANEL;                                  \
        assert_int_equal(((uint16_t *)(pairs).data)[i], column < columns_there && row < rows_there ? value : 0);       \
    }

static void check_pair(const bf16_kernels *kernels, const float *weights, int count) {
    for (int kind = 1; kind < 4; kind++) {
        guarded pair = guarded_open(PANEL_NUMBERS * sizeof(uint16_t));
        kernels->pair_weights(kind & 1 ? weights : 0, kind & 2 ? weights + STRIDE : 0, count, pair.data);
        for (int i = 0; i < PANEL_NUMBERS; i++) {
            const int there = i / 2 < count && kind >> i % 2 & 1;
            assert_int_equal(((uint16_t *)pair.data)[i], there ? float_to_bf16(weights[i % 2 * STRIDE + i / 2]) : 0);
        }
        guarded_close(&pair, "a pair");
    }
}

static void check_pairs(const bf16_kernels *kernels) {
    uint64_t seed = 3;
    guarded weights = random_numbers(PRECISION_F32, STRIDE * KERNEL_PANEL, &seed);
    guarded rows = random_numbers(PRECISION_BF16, STRIDE * BF16_STEP, &seed);
    guarded pairs = guarded_open(BF16_PANEL_STEP * sizeof(uint16_t));
    const float *w = weights.data;
    for (int count = 1; count <= KERNEL_PANEL; count++) {
        check_pair(kernels, w, count);
        kernels->pair_rows(rows.data, STRIDE, BF16_STEP / 2, count, pairs.data);
        CHECK_PANEL(pairs, BF16_STEP, count, ((uint16_t *)rows.data)[row * STRIDE + column])
        for (int depth = 1; depth <= BF16_STEP; depth++) {
            kernels->pair_columns(w, STRIDE, count, depth, pairs.data);
            CHECK_PANEL(pairs, depth, count, float_to_bf16(w[column * STRIDE + row]))
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
    enum { ROWS = 3 * BF16_STEP, COLUMN = ROWS + 7 };
    for (int channels = 1; channels < 70; channels += channels < 34 ? 1 : 7) {
        uint64_t seed = (uint64_t)channels;
        guarded from = random_numbers(PRECISION_BF16, (size_t)(ROWS * channels), &seed);
        guarded to = guarded_open(((size_t)(channels - 1) * COLUMN + ROWS) * sizeof(uint16_t));
        kernels->transpose(from.data, ROWS, channels, to.data, COLUMN);
        for (int c = 0; c < channels; c++)
            for (int r = 0; r < ROWS; r++)
                assert_int_equal(((uint16_t *)to.data)[c * COLUMN + r], ((uint16_t *)from.data)[r * channels + c]);
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
