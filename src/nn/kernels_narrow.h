/*
 * Kernels over ELEMENT for products with few columns, and between rows that lie apart and rows that lie side by side;
 * included by kernels_body.c.
 *
 * Where a result has few channels, lanes run over what is summed: each of PANEL lanes sums every PANEL-th product, and the
 * lanes are added at the end, halves to halves, in the same order for all instruction sets.
 */

enum { MOST_DOTS = KERNEL_MOST_DOTS, DOT_ROWS = 16 };

/* How many rows by how many columns of sums stay in registers; the rows divide DOT_ROWS. */
#if LANES == 16
#define EACH_DOT(X) X(16, 1) X(8, 2) X(4, 3) X(4, 4)
#elif LANES == 8
#define EACH_DOT(X) X(4, 1) X(2, 2) X(2, 3) X(1, 4)
#else
#define EACH_DOT(X) X(2, 1) X(1, 2) X(1, 3) X(1, 4)
#endif

/* What DOT_ROWS rows from `first` on are summed from, by `columns` columns whose weights are `column_stride` apart. */
typedef struct dots {
    const kernel_taps *taps;
    ptrdiff_t first, column_stride;
    int columns;
} dots;

/* The lanes of ROWS rows by COLUMNS columns, from `row` and `column` on: PANEL sums of each. */
#define DOT(ROWS, COLUMNS)                                                                                             \
    static inline void dot_##ROWS##_by_##COLUMNS(const dots *d, int row, int column, float *sums) {                    \
        const ptrdiff_t columns = d->column_stride;                                                                    \
        vec sum[ROWS][COLUMNS][PANEL_VECTORS];                                                                         \
        for (int r = 0; r < ROWS; r++)                                                                                 \
            for (int c = 0; c < COLUMNS; c++)                                                                          \
                for (int v = 0; v < PANEL_VECTORS; v++) sum[r][c][v] = vec_all(0);                                     \
        for (int t = 0; t < d->taps->taps; t++) {                                                                      \
            const kernel_tap *const tap = &d->taps->tap[t];                                                            \
            const ptrdiff_t stride = tap->row_stride;                                                                  \
            const float *a = tap->a + (d->first + row) * stride, *b = tap->b + column * columns;                       \
            for (const float *const end = b + tap->depth; b < end; a += PANEL, b += PANEL)                             \
                for (int v = 0; v < PANEL_VECTORS; v++) {                                                              \
                    vec right[COLUMNS];                                                                                \
                    for (int c = 0; c < COLUMNS; c++) right[c] = vec_load(b + c * columns + v * LANES);                \
                    for (int r = 0; r < ROWS; r++) {                                                                   \
                        const vec left = vec_load(a + r * stride + v * LANES);                                         \
                        for (int c = 0; c < COLUMNS; c++) sum[r][c][v] = vec_fma(left, right[c], sum[r][c][v]);        \
                    }                                                                                                  \
                }                                                                                                      \
        }                                                                                                              \
        for (int r = 0; r < ROWS; r++)                                                                                 \
            for (int c = 0; c < COLUMNS; c++)                                                                          \
                for (int v = 0; v < PANEL_VECTORS; v++)                                                                \
                    vec_store(sums + ((row + r) * d->columns + column + c) * PANEL + v * LANES, sum[r][c][v]);         \
    }
EACH_DOT(DOT)
#define DOT_OF_ONE_ROW(ROWS, COLUMNS) DOT(1, COLUMNS)
#if LANES == 16
EACH_DOT(DOT_OF_ONE_ROW)
#elif LANES == 8
DOT(1, 1)
DOT(1, 2)
DOT(1, 3)
#else
DOT(1, 1)
#endif

/* So many columns of all rows. */
#define DOTS(ROWS, COLUMNS)                                                                                            \
    static void dots_by_##COLUMNS(const dots *d, int rows, int column, float *sums) {                                  \
        int row = 0;                                                                                                   \
        for (; row + ROWS <= rows; row += ROWS) dot_##ROWS##_by_##COLUMNS(d, row, column, sums);                       \
        for (; row < rows; row++) dot_1_by_##COLUMNS(d, row, column, sums);                                            \
    }
EACH_DOT(DOTS)

/* The sums of PANEL times PANEL lanes: halves are added to halves, then quarters, numbers that are two apart, neighbours. */
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
static void dot_rows(const dots *d, int rows, float *to) {
    float lanes[DOT_ROWS * MOST_DOTS * PANEL];
    for (int column = 0, some; column < d->columns; column += some) {
        some = d->columns - column < 4 ? d->columns - column : 4;
        switch (some) {
        case 1: dots_by_1(d, rows, column, lanes); break;
        case 2: dots_by_2(d, rows, column, lanes); break;
        case 3: dots_by_3(d, rows, column, lanes); break;
        default: dots_by_4(d, rows, column, lanes); break;
        }
    }
    const int numbers = rows * d->columns, all = (numbers + PANEL - 1) / PANEL * PANEL;
    memset(lanes + numbers * PANEL, 0, (size_t)(all - numbers) * PANEL * sizeof *lanes);
    for (int first = 0; first < all; first += PANEL) add_lanes(lanes + first * PANEL, to + first);
}

static void dot_taps(const kernel_taps *taps, ptrdiff_t column_stride, const kernel_results *to) {
    float bias[DOT_ROWS * MOST_DOTS], numbers[DOT_ROWS * MOST_DOTS];
    const kernel_addends add = to->addends;
    const int columns = to->channels, together = to->row_stride == columns;
    if (add.bias)
        for (int i = 0; i < DOT_ROWS * columns; i++) bias[i] = add.bias[i % columns];
    for (int first = 0; first < taps->rows; first += DOT_ROWS) {
        const int rows = taps->rows - first < DOT_ROWS ? taps->rows - first : DOT_ROWS;
        dot_rows(&(dots){taps, first, column_stride, columns}, rows, numbers);
        const int step = together ? rows : 1;
        for (int row = 0; row < rows; row += step) {
            const ptrdiff_t at = (first + row) * to->row_stride;
            store_row(numbers + row * columns, step * columns, add.bias ? bias : 0,
                      add.addend ? (const ELEMENT *)add.addend + at : 0, add.accumulate, (ELEMENT *)to->image + at);
        }
    }
}

/* Short runs are worked on together, so that there are enough sums at a time: as many as there are registers for. */
#if LANES == 16
#define EACH_RUN(X) X(3, 1) X(3, 2) X(3, 3) X(3, 4) X(3, 5) X(2, 6) X(2, 7) X(2, 8)
#else
#define EACH_RUN(X) X(3, 1) X(3, 2) X(2, 3)
#endif

#define OUTER_RUNS(RUNS, LENGTH)                                                                                       \
    static void outer_runs_##LENGTH(ptrdiff_t distance, const kernel_field *field, const ELEMENT *a, const ELEMENT *b, \
                                    float *out) {                                                                      \
        vec sum[RUNS * LENGTH][PANEL_VECTORS];                                                                         \
        for (int r = 0; r < RUNS * LENGTH; r++)                                                                        \
            for (int v = 0; v < PANEL_VECTORS; v++) sum[r][v] = vec_load(out + r * PANEL + v * LANES);                 \
        const ELEMENT *const a_start = a, *const b_start = b;                                                          \
        const ptrdiff_t a_point = field->a_point, b_point = field->b_point;                                            \
        for (int plane = 0; plane < field->planes; plane++)                                                            \
            for (int line = 0; line < field->lines; line++) {                                                          \
                a = a_start + plane * field->a_plane + line * field->a_line;                                           \
                b = b_start + plane * field->b_plane + line * field->b_line;                                           \
                for (int p = field->points; p > 0; p--, a += a_point, b += b_point) {                                  \
                    vec right[PANEL_VECTORS];                                                                          \
                    for (int v = 0; v < PANEL_VECTORS; v++) right[v] = LOAD(b + v * LANES);                            \
                    _Pragma("GCC unroll 16") for (int r = 0; r < RUNS * LENGTH; r++) {                                 \
                        const vec left = vec_all(NUMBER(a[r / LENGTH * distance + r % LENGTH]));                       \
                        for (int v = 0; v < PANEL_VECTORS; v++) sum[r][v] = vec_fma(left, right[v], sum[r][v]);        \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        for (int r = 0; r < RUNS * LENGTH; r++)                                                                        \
            for (int v = 0; v < PANEL_VECTORS; v++) vec_store(out + r * PANEL + v * LANES, sum[r][v]);                 \
    }
EACH_RUN(OUTER_RUNS)

static void outer_runs(const kernel_runs *runs, const kernel_field *field, const void *a, const void *b, float *out) {
    const ELEMENT *from = a;
    for (int done = 0, some; done < runs->count; done += some) {
        some = 1;
        switch (runs->length) {
#define CALL(RUNS, LENGTH)                                                                                             \
    case LENGTH:                                                                                                       \
        if (runs->count - done < RUNS) break;                                                                          \
        some = RUNS;                                                                                                   \
        outer_runs_##LENGTH(runs->distance, field, from, b, out);                                                      \
        break;
            EACH_RUN(CALL)
#undef CALL
        default: break;
        }
        if (some == 1) outer(runs->length, field, from, b, out, PANEL);
        from += some * runs->distance;
        out += some * runs->length * PANEL;
    }
}

static void gather_rows(const kernel_copy *copy, size_t rows, const void *from, float *to) {
    const int channels = copy->channels;
    const ptrdiff_t row_stride = copy->row_stride, panel_stride = copy->panel_stride, from_stride = copy->from_stride;
    const ELEMENT *row = from;
    for (; rows > 0; rows--, row += from_stride, to += row_stride) {
        float *panel = to;
        int i = 0;
        for (; i + PANEL <= channels; i += PANEL, panel += panel_stride)
            for (int v = 0; v < PANEL_VECTORS; v++) vec_store(panel + v * LANES, LOAD(row + i + v * LANES));
        if (i == channels) continue;
        for (int k = 0; k < PANEL; k++) panel[k] = i + k < channels ? NUMBER(row[i + k]) : 0;
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
