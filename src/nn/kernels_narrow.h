/*
 * Kernels over ELEMENT for products with few columns, and between rows that lie apart and rows that lie side by side;
 * included by kernels_body.c.
 *
 * Where a result has few channels, lanes run over what is summed: each of PANEL lanes sums every PANEL-th product, and
 * the lanes are added at the end, halves to halves, in the same order for all instruction sets.
 */

enum { MOST_DOTS = KERNEL_MOST_DOTS, DOT_ROWS = 16, MOST_RUN = 8 };

/* How many rows by how many columns of sums stay in registers; the rows divide DOT_ROWS. */
#if LANES == 16
#define EACH_DOT(X) X(16, 1) X(8, 2) X(4, 3) X(4, 4)
#elif LANES == 8
#define EACH_DOT(X) X(4, 1) X(2, 2) X(2, 3) X(1, 4)
#else
#define EACH_DOT(X) X(2, 1) X(1, 2) X(1, 3) X(1, 4)
#endif

/* What DOT_ROWS rows from `first` on are summed from. */
typedef struct dots {
    const kernel_taps *taps;
    ptrdiff_t first;
} dots;

/* The lanes of ROWS rows by COLUMNS columns, from `row` on: PANEL sums of each. */
ALWAYS_INLINE void dot_block(const int rows, const int columns, const dots *d, int row, float *sums) {
    const ptrdiff_t apart = d->taps->panel_stride;
    vec sum[16][4][PANEL_VECTORS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++)
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++) sum[r][c][v] = vec_all(0);
    for (int t = 0; t < d->taps->taps; t++) {
        const kernel_tap *const tap = &d->taps->tap[t];
        const ptrdiff_t stride = tap->row_stride;
        const float *a = tap->a + (d->first + row) * stride, *b = tap->b;
        for (const float *const end = b + tap->depth; b < end; a += PANEL, b += PANEL)
            UNROLL for (int v = 0; v < PANEL_VECTORS; v++) {
                vec right[4];
                UNROLL for (int c = 0; c < columns; c++) right[c] = vec_load(b + c * apart + v * LANES);
                UNROLL for (int r = 0; r < rows; r++) {
                    const vec left = vec_load(a + r * stride + v * LANES);
                    UNROLL for (int c = 0; c < columns; c++) sum[r][c][v] = vec_fma(left, right[c], sum[r][c][v]);
                }
            }
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int c = 0; c < columns; c++)
        UNROLL for (int v = 0; v < PANEL_VECTORS; v++)
            vec_store(sums + ((row + r) * columns + c) * PANEL + v * LANES, sum[r][c][v]);
}

/* So many columns of all rows. */
#define DOTS(ROWS, COLUMNS)                                                                                            \
    static void dots_##COLUMNS(const dots *d, int rows, float *sums) {                                                 \
        int row = 0;                                                                                                   \
        for (; row + ROWS <= rows; row += ROWS) dot_block(ROWS, COLUMNS, d, row, sums);                                \
        for (; row < rows; row++) dot_block(1, COLUMNS, d, row, sums);                                                 \
    }
#define DOTS_OF(ROWS, COLUMNS) [COLUMNS] = dots_##COLUMNS,
EACH_DOT(DOTS)
static void (*const DOTS_BY_COLUMNS[])(const dots *d, int rows, float *sums) = {EACH_DOT(DOTS_OF)};

/* The sums of PANEL times PANEL lanes: halves are added to halves, then quarters, numbers that
   are two apart, neighbours. */
static inline void add_lanes(const float *lanes, float *to) {
#if LANES == 16
#define HALVES(a, b)                                                                                                   \
    (_mm512_shuffle_f32x4(vec_load(lanes + (a)*PANEL), vec_load(lanes + (b)*PANEL), 0x44) +                            \
     _mm512_shuffle_f32x4(vec_load(lanes + (a)*PANEL), vec_load(lanes + (b)*PANEL), 0xee))
    vec fours[4];
    for (int k = 0; k < 4; k++) {
        const vec a = HALVES(k, k + 4), b = HALVES(k + 8, k + 12);
        fours[k] = _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
    }
    const vec a = _mm512_shuffle_ps(fours[0], fours[1], 0x44) + _mm512_shuffle_ps(fours[0], fours[1], 0xee);
    const vec b = _mm512_shuffle_ps(fours[2], fours[3], 0x44) + _mm512_shuffle_ps(fours[2], fours[3], 0xee);
    vec_store(to, _mm512_shuffle_ps(a, b, 0x88) + _mm512_shuffle_ps(a, b, 0xdd));
#undef HALVES
#elif LANES == 8
#define HALVES(a) (vec_load(lanes + (a)*PANEL) + vec_load(lanes + (a)*PANEL + LANES))
    for (int half = 0; half < 2; half++, lanes += 8 * PANEL, to += LANES) {
        vec fours[4];
        for (int k = 0; k < 4; k++) {
            const vec a = HALVES(k), b = HALVES(k + 4);
            fours[k] = _mm256_permute2f128_ps(a, b, 0x20) + _mm256_permute2f128_ps(a, b, 0x31);
        }
        const vec a = _mm256_shuffle_ps(fours[0], fours[1], 0x44) + _mm256_shuffle_ps(fours[0], fours[1], 0xee);
        const vec b = _mm256_shuffle_ps(fours[2], fours[3], 0x44) + _mm256_shuffle_ps(fours[2], fours[3], 0xee);
        vec_store(to, _mm256_shuffle_ps(a, b, 0x88) + _mm256_shuffle_ps(a, b, 0xdd));
    }
#undef HALVES
#else
    for (int k = 0; k < PANEL; k++, lanes += PANEL) {
        const vec sum = (vec_load(lanes) + vec_load(lanes + 8)) + (vec_load(lanes + 4) + vec_load(lanes + 12));
        to[k] = (sum[0] + sum[2]) + (sum[1] + sum[3]);
    }
#endif
}

/* The numbers of up to DOT_ROWS rows, one row behind the other. */
static void dot_rows(const dots *d, int rows, int columns, float *to) {
    float lanes[DOT_ROWS * MOST_DOTS * PANEL];
    DOTS_BY_COLUMNS[columns](d, rows, lanes);
    const int numbers = rows * columns, all = (numbers + PANEL - 1) / PANEL * PANEL;
    memset(lanes + numbers * PANEL, 0, (size_t)(all - numbers) * PANEL * sizeof *lanes);
    for (int first = 0; first < all; first += PANEL) add_lanes(lanes + first * PANEL, to + first);
}

static void dot_taps(const kernel_taps *taps, const kernel_results *to) {
    float bias[DOT_ROWS * MOST_DOTS], numbers[DOT_ROWS * MOST_DOTS];
    const kernel_addends add = to->addends;
    const int columns = to->channels, together = to->row_stride == columns;
    if (add.bias)
        for (int i = 0; i < DOT_ROWS * columns; i++) bias[i] = add.bias[i % columns];
    for (int first = 0; first < taps->rows; first += DOT_ROWS) {
        const int rows = taps->rows - first < DOT_ROWS ? taps->rows - first : DOT_ROWS;
        dot_rows(&(dots){taps, first}, rows, columns, numbers);
        const int step = together ? rows : 1;
        for (int row = 0; row < rows; row += step) {
            const ptrdiff_t at = (first + row) * to->row_stride;
            store_row(numbers + row * columns, step * columns, add.bias ? bias : 0,
                      add.addend ? (const ELEMENT *)add.addend + at : 0, add.accumulate, (ELEMENT *)to->image + at);
        }
    }
}

/* Short runs are worked on together, so that there are enough sums at a time: RUNS of some LENGTH, as many as there are
   registers for, which are more rows of one panel than of two. */
#if LANES == 16
#define EACH_RUN(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4) X(3, 5) X(2, 6) X(2, 7) X(2, 8)
#define EACH_RUN_PAIR(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4) X(2, 5) X(2, 6) X(2, 7)
#else
#define EACH_RUN(X) X(3, 1) X(3, 2) X(2, 3)
#endif

ALWAYS_INLINE void outer_runs_block(const int runs, const int length, const int panels, ptrdiff_t distance,
                                    const kernel_field *field, const ELEMENT *a_start, const ELEMENT *b_start,
                                    const kernel_sums *to) {
    const ptrdiff_t a_point = field->a_point, b_point = field->b_point, stride = to->row_stride;
    float *const sums = to->sums;
    block_row sum[16];
    UNROLL for (int r = 0; r < runs * length; r++) UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) sum[r][v] =
        vec_load(sums + r * stride + v * LANES);
    for (int plane = 0; plane < field->planes; plane++)
        for (int line = 0; line < field->lines; line++) {
            const ELEMENT *a = a_start + plane * field->a_plane + line * field->a_line;
            const ELEMENT *b = b_start + plane * field->b_plane + line * field->b_line;
            for (int p = field->points; p > 0; p--, a += a_point, b += b_point) {
                vec right[2 * PANEL_VECTORS];
                UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) right[v] = LOAD(b + v * LANES);
                UNROLL for (int r = 0; r < runs * length; r++) {
                    const vec left = vec_all(NUMBER(a[r / length * distance + r % length]));
                    UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) sum[r][v] =
                        vec_fma(left, right[v], sum[r][v]);
                }
            }
        }
    UNROLL for (int r = 0; r < runs * length; r++) UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++)
        vec_store(sums + r * stride + v * LANES, sum[r][v]);
}

typedef void outer_runs_function(ptrdiff_t distance, const kernel_field *field, const ELEMENT *a, const ELEMENT *b,
                                 const kernel_sums *to);

/* Runs of one length that are worked on together, and by what. */
typedef struct run_block {
    int runs;
    outer_runs_function *function;
} run_block;

#define RUN_FUNCTION(NAME, RUNS, LENGTH, PANELS)                                                                       \
    static void outer_##NAME##LENGTH(ptrdiff_t distance, const kernel_field *field, const ELEMENT *a,                  \
                                     const ELEMENT *b, const kernel_sums *to) {                                        \
        outer_runs_block(RUNS, LENGTH, PANELS, distance, field, a, b, to);                                             \
    }
#define RUN(RUNS, LENGTH) RUN_FUNCTION(run_, RUNS, LENGTH, 1)
#define RUN_OF(RUNS, LENGTH) [LENGTH] = {RUNS, outer_run_##LENGTH},
EACH_RUN(RUN)
static const run_block RUN_BLOCKS[MOST_RUN + 1] = {EACH_RUN(RUN_OF)};
#ifdef EACH_RUN_PAIR
#define RUN_PAIR(RUNS, LENGTH) RUN_FUNCTION(run_pair_, RUNS, LENGTH, 2)
#define RUN_PAIR_OF(RUNS, LENGTH) [LENGTH] = {RUNS, outer_run_pair_##LENGTH},
EACH_RUN_PAIR(RUN_PAIR)
static const run_block RUN_PAIR_BLOCKS[MOST_RUN + 1] = {EACH_RUN_PAIR(RUN_PAIR_OF)};
#else
#define RUN_PAIR_BLOCKS RUN_BLOCKS
#endif

/* What serves so many runs; one of them is left to `outer`. */
static inline run_block run_block_of(int count, int length, int panels) {
    const run_block none = {1, 0};
    if (length > MOST_RUN) return none;
    const run_block block = (panels > 1 ? RUN_PAIR_BLOCKS : RUN_BLOCKS)[length];
    return block.function && block.runs <= count ? block : none;
}

static void outer_runs(const kernel_runs *runs, const kernel_field *field, const void *a, const void *b,
                       const kernel_sums *to) {
    for (int panel = 0, panels; panel < to->panels; panel += panels) {
        panels = next_panels(to->panels - panel);
        const ELEMENT *right = (const ELEMENT *)b + panel * PANEL;
        run_block block;
        for (int run = 0; run < runs->count; run += block.runs) {
            block = run_block_of(runs->count - run, runs->length, panels);
            const ELEMENT *left = (const ELEMENT *)a + run * runs->distance;
            const kernel_sums some = {to->sums + run * runs->length * to->row_stride + panel * PANEL, to->row_stride,
                                      runs->length, panels};
            if (block.function) block.function(runs->distance, field, left, right, &some);
            else outer(field, left, right, &some);
        }
    }
}

static void gather_rows(const kernel_copy *copy, size_t rows, const void *from, float *to) {
    const int channels = copy->channels, together = copy->together;
    const ptrdiff_t row_stride = copy->row_stride, group_stride = copy->group_stride, from_stride = copy->from_stride;
    const ELEMENT *row = from;
    for (; rows > 0; rows--, row += from_stride, to += row_stride) {
        float *group = to;
        for (int first = 0; first < channels; first += together, group += group_stride) {
            const int end = channels - first < together ? channels : first + together;
            float *panel = group;
            int i = first;
            for (; i + PANEL <= end; i += PANEL, panel += PANEL)
                for (int v = 0; v < PANEL_VECTORS; v++) vec_store(panel + v * LANES, LOAD(row + i + v * LANES));
            if (i == end) continue;
            for (int k = 0; k < PANEL; k++) panel[k] = i + k < end ? NUMBER(row[i + k]) : 0;
        }
    }
}

/* Rows without bias, to where nothing is yet, and zeros up to the next. */
static inline void spread_whole_rows(const kernel_spread *spread, const float *values, ELEMENT *to) {
    const ptrdiff_t channels = spread->channels, row = spread->stride * channels;
    for (ptrdiff_t left = spread->points * channels; left > 0; left -= row, to += row, values += channels) {
        const ptrdiff_t end = left < row ? left : row;
        ptrdiff_t i = 0;
        for (; i < channels; i += LANES) STORE(to + i, vec_load(values + i));
        for (; i < end; i += LANES) STORE(to + i, vec_all(0));
    }
}

static void spread_rows(const kernel_spread *spread, const float *values, void *image) {
    const int channels = spread->channels, accumulate = spread->accumulate;
    const float *const bias = spread->bias;
    ELEMENT *to = image;
    if (values && !bias && !accumulate && channels % PANEL == 0) {
        spread_whole_rows(spread, values, to);
        return;
    }
    if (!values && !bias) {
        if (!accumulate) memset(to, 0, (size_t)spread->points * (size_t)channels * sizeof *to);
        return;
    }
    for (int p = 0; p < spread->points; p++, to += channels) {
        const int given = values && p % spread->stride == 0;
        if (given || bias) store_row(given ? values : bias, channels, given ? bias : 0, 0, accumulate, to);
        else if (!accumulate) memset(to, 0, (size_t)channels * sizeof *to);
        if (given) values += channels;
    }
}
