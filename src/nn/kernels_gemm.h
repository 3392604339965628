/* Matrix kernels over ELEMENT; included by kernels_body.c. */

/* One function per number of rows, so that the sums stay in registers. */
#define EACH_ROW_COUNT(X) X(1) X(2) X(3) X(4) X(5) X(6)

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
    _Pragma("GCC unroll 8") for (int r = 0; r < ROWS; r++) {                                                           \
        const vec left = vec_all(NUMBER(LEFT));                                                                        \
        for (int v = 0; v < PANEL_VECTORS; v++) sum[r][v] = vec_fma(left, right[v], sum[r][v]);                        \
    }

#define MULTIPLY_ROWS(ROWS)                                                                                            \
    static void multiply_rows_##ROWS(const kernel_rows *rows, ptrdiff_t b_offset, float *out, ptrdiff_t out_stride) {  \
        const int taps = rows->taps;                                                                                   \
        const kernel_tap *const tap = rows->tap;                                                                       \
        const ELEMENT *const *const a = (const ELEMENT *const *)rows->a;                                               \
        SUMS(ROWS, vec_all(0))                                                                                         \
        for (int t = 0; t < taps; t++) {                                                                               \
            const ELEMENT *row[ROWS];                                                                                  \
            for (int r = 0; r < ROWS; r++) row[r] = a[t * ROWS + r];                                                   \
            const float *b = tap[t].b + b_offset;                                                                      \
            const int depth = tap[t].depth;                                                                            \
            for (int k = 0; k < depth; k++, b += PANEL) {                                                              \
                ADD_PRODUCTS(ROWS, row[r][k], vec_load)                                                                \
            }                                                                                                          \
        }                                                                                                              \
        STORE_SUMS(ROWS)                                                                                               \
    }
EACH_ROW_COUNT(MULTIPLY_ROWS)

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
                    ADD_PRODUCTS(ROWS, a[r], LOAD)                                                                     \
                }                                                                                                      \
            }                                                                                                          \
        STORE_SUMS(ROWS)                                                                                               \
    }
EACH_ROW_COUNT(OUTER)

#define ROWS_CASE(ROWS, CALL)                                                                                          \
    case ROWS: CALL; break;

static void multiply_rows(const kernel_rows *rows, ptrdiff_t b_offset, float *out, ptrdiff_t out_stride) {
    switch (rows->rows) {
#define CALL(ROWS) ROWS_CASE(ROWS, multiply_rows_##ROWS(rows, b_offset, out, out_stride))
        EACH_ROW_COUNT(CALL)
#undef CALL
    default: break;
    }
}

static void outer(int rows, const kernel_field *field, const void *a, const void *b, float *out, ptrdiff_t out_stride) {
    switch (rows) {
#define CALL(ROWS) ROWS_CASE(ROWS, outer_##ROWS(field, a, b, out, out_stride))
        EACH_ROW_COUNT(CALL)
#undef CALL
    default: break;
    }
}

#ifdef ELEMENT_IS_F32
#define MULTIPLY_MATRIX(ROWS)                                                                                          \
    static void multiply_matrix_##ROWS(const kernel_matrix *matrix, const float *a, float *out,                        \
                                       ptrdiff_t out_stride) {                                                         \
        const int taps = matrix->taps, depth = matrix->depth;                                                          \
        const ptrdiff_t row_stride = matrix->row_stride, tap_stride = matrix->tap_stride;                              \
        const float *b = matrix->b;                                                                                    \
        SUMS(ROWS, vec_all(0))                                                                                         \
        for (int t = 0; t < taps; t++) {                                                                               \
            const float *row[ROWS];                                                                                    \
            for (int r = 0; r < ROWS; r++) row[r] = a + t * tap_stride + r * row_stride;                               \
            for (int k = 0; k < depth; k++, b += PANEL) {                                                              \
                ADD_PRODUCTS(ROWS, row[r][k], vec_load)                                                                \
            }                                                                                                          \
        }                                                                                                              \
        STORE_SUMS(ROWS)                                                                                               \
    }
EACH_ROW_COUNT(MULTIPLY_MATRIX)

/* All rows in groups of nearly equal size. */
static void multiply_matrix(const kernel_matrix *matrix, float *out, ptrdiff_t out_stride) {
    const ptrdiff_t row_stride = matrix->row_stride;
    const float *a = matrix->a;
    int rows = matrix->rows;
    for (int groups = (rows + KERNEL_ROWS - 1) / KERNEL_ROWS; groups > 0; groups--) {
        const int some = rows / groups;
        switch (some) {
#define CALL(ROWS) ROWS_CASE(ROWS, multiply_matrix_##ROWS(matrix, a, out, out_stride))
            EACH_ROW_COUNT(CALL)
#undef CALL
        default: break;
        }
        a += some * row_stride;
        out += some * out_stride;
        rows -= some;
    }
}
#endif

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
