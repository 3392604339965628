/* Matrix kernels over ELEMENT; included by kernels_body.c. */

/* One function per number of rows, so that the sums stay in registers: as many as there are registers for. */
#if LANES == 16
enum { MOST_ROWS = 16 };
#define EACH_ROW_COUNT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)
#else
enum { MOST_ROWS = 6 };
#define EACH_ROW_COUNT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

/* Declares the sums of ROWS rows by a panel, each beginning as START, which may use r and v. */
#define SUMS(ROWS, START)                                                                                              \
    vec sum[ROWS][PANEL_VECTORS];                                                                                      \
    for (int r = 0; r < ROWS; r++)                                                                                     \
        for (int v = 0; v < PANEL_VECTORS; v++) sum[r][v] = START;

/* Writes them to the rows of `out`. */
#define STORE_SUMS(ROWS)                                                                                               \
    for (int r = 0; r < ROWS; r++)                                                                                     \
        for (int v = 0; v < PANEL_VECTORS; v++) vec_store(out + r * out_stride + v * LANES, sum[r][v]);

/* Adds to each row r of sums the number LEFT, which may use r, times the panel at `b`. */
#define ADD_PRODUCTS(ROWS, LEFT, LOAD_RIGHT)                                                                           \
    vec right[PANEL_VECTORS];                                                                                          \
    for (int v = 0; v < PANEL_VECTORS; v++) right[v] = LOAD_RIGHT(b + v * LANES);                                      \
    _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++) {                                                          \
        const vec left = vec_all(LEFT);                                                                                \
        for (int v = 0; v < PANEL_VECTORS; v++) sum[r][v] = vec_fma(left, right[v], sum[r][v]);                        \
    }

static void store_row(const float *values, int channels, const float *bias, const void *addend, int accumulate,
                      void *image);

/* One row of sums to its place. */
static inline void store_results(const vec sum[PANEL_VECTORS], const kernel_results *to, ptrdiff_t at) {
    const kernel_addends add = to->addends;
    const ELEMENT *const added = add.addend ? (const ELEMENT *)add.addend + at : 0;
    ELEMENT *const image = (ELEMENT *)to->image + at;
    if (to->channels < PANEL) {
        float values[PANEL];
        for (int v = 0; v < PANEL_VECTORS; v++) vec_store(values + v * LANES, sum[v]);
        store_row(values, to->channels, add.bias, added, add.accumulate, image);
        return;
    }
    for (int v = 0; v < PANEL_VECTORS; v++) {
        vec value = sum[v];
        if (add.bias) value += vec_load(add.bias + v * LANES);
        if (added) value += LOAD(added + v * LANES);
        if (add.accumulate) value += LOAD(image + v * LANES);
        STORE(image + v * LANES, value);
    }
}

/* The rows from `first` on. Four rows hang on one pointer: their distances are what an address can be made of. */
#define FOURTH(ROWS, k) (ROWS > 4 * k ? start + 4 * k * stride : start)
#define ROW_POINTER(r) (r < 4 ? p0 : r < 8 ? p1 : r < 12 ? p2 : p3)
#define MULTIPLY(ROWS)                                                                                                 \
    static void multiply_##ROWS(const kernel_taps *taps, ptrdiff_t first, ptrdiff_t b_offset,                          \
                                const kernel_results *to) {                                                            \
        const kernel_tap *tap = taps->tap, *const last = tap + taps->taps;                                             \
        SUMS(ROWS, vec_all(0))                                                                                         \
        for (; tap < last; tap++) {                                                                                    \
            const ptrdiff_t stride = tap->row_stride;                                                                  \
            const float *const start = tap->a + first * stride;                                                        \
            const float *p0 = start, *p1 = FOURTH(ROWS, 1), *p2 = FOURTH(ROWS, 2), *p3 = FOURTH(ROWS, 3);              \
            const float *b = tap->b + b_offset, *const end = b + (ptrdiff_t)tap->depth * PANEL;                        \
            for (; b < end; b += PANEL, p0++, p1++, p2++, p3++) {                                                      \
                ADD_PRODUCTS(ROWS, ROW_POINTER(r)[(r & 3) * stride], vec_load)                                         \
            }                                                                                                          \
        }                                                                                                              \
        _Pragma("GCC unroll 16") for (int r = 0; r < ROWS; r++)                                                        \
            store_results(sum[r], to, (first + r) * to->row_stride);                                                   \
    }
EACH_ROW_COUNT(MULTIPLY)

#define OUTER(ROWS)                                                                                                    \
    static void outer_##ROWS(const kernel_field *field, const ELEMENT *a, const ELEMENT *b, float *out,                \
                             ptrdiff_t out_stride) {                                                                   \
        SUMS(ROWS, vec_load(out + r * out_stride + v * LANES))                                                         \
        const ELEMENT *const a_start = a, *const b_start = b;                                                          \
        const ptrdiff_t a_point = field->a_point, b_point = field->b_point;                                            \
        for (int plane = 0; plane < field->planes; plane++)                                                            \
            for (int line = 0; line < field->lines; line++) {                                                          \
                a = a_start + plane * field->a_plane + line * field->a_line;                                           \
                b = b_start + plane * field->b_plane + line * field->b_line;                                           \
                for (int p = field->points; p > 0; p--, a += a_point, b += b_point) {                                  \
                    ADD_PRODUCTS(ROWS, NUMBER(a[r]), LOAD)                                                             \
                }                                                                                                      \
            }                                                                                                          \
        STORE_SUMS(ROWS)                                                                                               \
    }
EACH_ROW_COUNT(OUTER)

#define ROWS_CASE(ROWS, CALL)                                                                                          \
    case ROWS: CALL; break;

/* Rows in as few groups as possible, of nearly equal size: how many the next one has. */
static inline int next_group(int rows) { return rows / ((rows + MOST_ROWS - 1) / MOST_ROWS); }

static void multiply_taps(const kernel_taps *taps, ptrdiff_t b_offset, const kernel_results *to) {
    for (int first = 0, rows; first < taps->rows; first += rows) {
        rows = next_group(taps->rows - first);
        switch (rows) {
#define CALL(ROWS) ROWS_CASE(ROWS, multiply_##ROWS(taps, first, b_offset, to))
            EACH_ROW_COUNT(CALL)
#undef CALL
        default: break;
        }
    }
}

static void outer(int rows, const kernel_field *field, const void *a, const void *b, float *out, ptrdiff_t out_stride) {
    const ELEMENT *from = a;
    for (int some; rows > 0; rows -= some, from += some, out += some * out_stride) {
        some = next_group(rows);
        switch (some) {
#define CALL(ROWS) ROWS_CASE(ROWS, outer_##ROWS(field, from, b, out, out_stride))
            EACH_ROW_COUNT(CALL)
#undef CALL
        default: break;
        }
    }
}

/* Twelve chains: enough to hide the latency of a fused multiply-add on all processors of these years. */
static double multiply_adds(long rounds) {
    vec a0 = vec_all(0), a1 = vec_all(1), a2 = vec_all(2), a3 = vec_all(3), a4 = vec_all(4), a5 = vec_all(5);
    vec a6 = vec_all(6), a7 = vec_all(7), a8 = vec_all(8), a9 = vec_all(9), a10 = vec_all(10), a11 = vec_all(11);
    const vec factor = vec_all(0.999f), addend = vec_all(1e-3f);
#define CHAIN(a) a = vec_fma(a, factor, addend);
    for (long k = 0; k < rounds; k++) {
        CHAIN(a0)
        CHAIN(a1)
        CHAIN(a2)
        CHAIN(a3)
        CHAIN(a4)
        CHAIN(a5)
        CHAIN(a6)
        CHAIN(a7)
        CHAIN(a8)
        CHAIN(a9)
        CHAIN(a10)
        CHAIN(a11)
    }
#undef CHAIN
    const vec all = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11;
    /* The sum is never negative; saying so keeps the chains from being left out. */
    return all[0] >= 0 ? (double)rounds * 12 * LANES * 2 : 0;
}
