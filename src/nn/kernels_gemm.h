/* Matrix kernels over ELEMENT; included by kernels_body.c. */

/*
 * Blocks of sums stay in registers: rows by one panel, or by two side by side where there are registers for
 * them. Of two, fewer rows and so fewer loads hide the latency of a multiply-add. A function for each size,
 * so that compilers know it.
 */
#if LANES == 16
enum { MOST_ROWS = 16, MOST_PAIR_ROWS = 14 };
#define EACH_PAIR(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define EACH_BLOCK(X) EACH_PAIR(X) X(15) X(16)
#else
enum { MOST_ROWS = 6 };
#define EACH_BLOCK(X) X(1) X(2) X(3) X(4) X(5) X(6)
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static void store_row(const float *values, int channels, const float *bias, const void *addend, int accumulate,
                      void *image);

/* One row of sums to its place: a panel whose first channel is `first`. */
ALWAYS_INLINE void store_results(const vec sum[PANEL_VECTORS], const kernel_results *to, ptrdiff_t row, int first) {
    const kernel_addends add = to->addends;
    const ptrdiff_t at = row * to->row_stride + first;
    const float *const bias = add.bias ? add.bias + first : 0;
    const ELEMENT *const added = add.addend ? (const ELEMENT *)add.addend + at : 0;
    ELEMENT *const image = (ELEMENT *)to->image + at;
    if (to->channels - first < PANEL) {
        float values[PANEL];
        for (int v = 0; v < PANEL_VECTORS; v++) vec_store(values + v * LANES, sum[v]);
        store_row(values, to->channels - first, bias, added, add.accumulate, image);
        return;
    }
    for (int v = 0; v < PANEL_VECTORS; v++) {
        vec value = sum[v];
        if (bias) value += vec_load(bias + v * LANES);
        if (added) value += LOAD(added + v * LANES);
        if (add.accumulate) value += LOAD(image + v * LANES);
        STORE(image + v * LANES, value);
    }
}

/* The first of the rows and panels of a block. */
typedef struct block_place {
    int row, panel;
} block_place;

typedef vec block_row[2 * PANEL_VECTORS];

ALWAYS_INLINE void store_block(const int rows, const int panels, const block_row *sum, const kernel_results *to,
                               block_place at) {
    const int first = at.panel * PANEL;
    const ptrdiff_t stride = to->row_stride;
    const kernel_addends add = to->addends;
    ELEMENT *const image = (ELEMENT *)to->image + at.row * stride + first;
    if (add.bias || add.addend || add.accumulate || to->channels - first < panels * PANEL) {
        UNROLL for (int r = 0; r < rows; r++) UNROLL for (int k = 0; k < panels; k++)
            store_results(sum[r] + k * PANEL_VECTORS, to, at.row + r, first + k * PANEL);
        return;
    }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++)
        STORE(image + r * stride + v * LANES, sum[r][v]);
}

/* The k-th number of each row, times the row of weights at `b`, whose panels are so far apart. Four rows hang on one
   pointer: addresses are made of it and their distances. */
ALWAYS_INLINE void multiply_step(const int rows, const int panels, const float *const p[4], ptrdiff_t stride,
                                 const float *b, ptrdiff_t apart, block_row *sum) {
    vec right[2 * PANEL_VECTORS];
    UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) right[v] =
        vec_load(b + v / PANEL_VECTORS * apart + v % PANEL_VECTORS * LANES);
    UNROLL for (int r = 0; r < rows; r++) {
        const vec left = vec_all(p[r / 4][r % 4 * stride]);
        UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) sum[r][v] = vec_fma(left, right[v], sum[r][v]);
    }
}

/* Several steps at a time: what moves pointers would take multiply-adds' places in the processor's ports. */
enum { STEPS = 4 };

/* Where rows lie side by side, those of the next block come into the first-level cache meanwhile. */
ALWAYS_INLINE void multiply_block(const int rows, const int panels, const kernel_taps *taps, block_place at,
                                  const kernel_results *to) {
    const ptrdiff_t apart = taps->panel_stride;
    block_row sum[MOST_ROWS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) sum[r][v] =
        vec_all(0);
    for (const kernel_tap *tap = taps->tap, *const last = tap + taps->taps; tap < last; tap++) {
        const ptrdiff_t stride = tap->row_stride;
        const float *const a = tap->a + at.row * stride, *b = tap->b + at.panel * apart;
        const float *p[4] = {a, rows > 4 ? a + 4 * stride : a, rows > 8 ? a + 8 * stride : a,
                             rows > 12 ? a + 12 * stride : a};
        int left = tap->depth;
        const int side_by_side = stride == tap->depth;
        const float *ahead = a + rows * stride;
        for (; left >= STEPS; left -= STEPS) {
            UNROLL for (int k = 0; k < STEPS; k++) {
                const float *const q[4] = {p[0] + k, p[1] + k, p[2] + k, p[3] + k};
                multiply_step(rows, panels, q, stride, b + k * PANEL, apart, sum);
            }
            UNROLL for (int k = 0; k < 4; k++) p[k] += STEPS;
            b += STEPS * PANEL;
            if (panels > 1 && side_by_side) {
                UNROLL for (int k = 0; k < rows; k += 4) __builtin_prefetch(ahead + k * STEPS);
                ahead += rows * STEPS;
            }
        }
        for (; left > 0; left--, b += PANEL) {
            multiply_step(rows, panels, p, stride, b, apart, sum);
            UNROLL for (int k = 0; k < 4; k++) p[k]++;
        }
    }
    store_block(rows, panels, sum, to, at);
}

ALWAYS_INLINE void outer_block(const int rows, const int panels, const kernel_field *field, const ELEMENT *a_start,
                               const ELEMENT *b_start, const kernel_sums *to) {
    const ptrdiff_t a_point = field->a_point, b_point = field->b_point, stride = to->row_stride;
    float *const sums = to->sums;
    block_row sum[MOST_ROWS];
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) sum[r][v] =
        vec_load(sums + r * stride + v * LANES);
    for (int plane = 0; plane < field->planes; plane++)
        for (int line = 0; line < field->lines; line++) {
            const ELEMENT *a = a_start + plane * field->a_plane + line * field->a_line;
            const ELEMENT *b = b_start + plane * field->b_plane + line * field->b_line;
            for (int p = field->points; p > 0; p--, a += a_point, b += b_point) {
                vec right[2 * PANEL_VECTORS];
                UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) right[v] = LOAD(b + v * LANES);
                UNROLL for (int r = 0; r < rows; r++) {
                    const vec left = vec_all(NUMBER(a[r]));
                    UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++) sum[r][v] =
                        vec_fma(left, right[v], sum[r][v]);
                }
            }
        }
    UNROLL for (int r = 0; r < rows; r++) UNROLL for (int v = 0; v < panels * PANEL_VECTORS; v++)
        vec_store(sums + r * stride + v * LANES, sum[r][v]);
}

typedef void multiply_function(const kernel_taps *taps, block_place at, const kernel_results *to);
typedef void outer_function(const kernel_field *field, const ELEMENT *a, const ELEMENT *b, const kernel_sums *to);

#define BLOCK(NAME, ROWS, PANELS)                                                                                      \
    static void multiply_##NAME##ROWS(const kernel_taps *taps, block_place at, const kernel_results *to) {             \
        multiply_block(ROWS, PANELS, taps, at, to);                                                                    \
    }                                                                                                                  \
    static void outer_##NAME##ROWS(const kernel_field *field, const ELEMENT *a, const ELEMENT *b,                      \
                                   const kernel_sums *to) {                                                            \
        outer_block(ROWS, PANELS, field, a, b, to);                                                                    \
    }
#define ROW_BLOCK(ROWS) BLOCK(row_, ROWS, 1)
#define PAIR_BLOCK(ROWS) BLOCK(pair_, ROWS, 2)
#define MULTIPLY_ROWS(ROWS) multiply_row_##ROWS,
#define MULTIPLY_PAIR(ROWS) multiply_pair_##ROWS,
#define OUTER_ROWS(ROWS) outer_row_##ROWS,
#define OUTER_PAIR(ROWS) outer_pair_##ROWS,
EACH_BLOCK(ROW_BLOCK)
static multiply_function *const MULTIPLY[] = {0, EACH_BLOCK(MULTIPLY_ROWS)};
static outer_function *const OUTER[] = {0, EACH_BLOCK(OUTER_ROWS)};
#ifdef EACH_PAIR
EACH_PAIR(PAIR_BLOCK)
static multiply_function *const MULTIPLY_PAIRS[] = {0, EACH_PAIR(MULTIPLY_PAIR)};
static outer_function *const OUTER_PAIRS[] = {0, EACH_PAIR(OUTER_PAIR)};

/* Two panels at once while there are as many. */
static inline int next_panels(int panels) { return panels > 1 ? 2 : 1; }
static inline int most_rows(int panels) { return panels > 1 ? MOST_PAIR_ROWS : MOST_ROWS; }
#else
#define MULTIPLY_PAIRS MULTIPLY
#define OUTER_PAIRS OUTER
static inline int next_panels(int panels) {
    (void)panels;
    return 1;
}
static inline int most_rows(int panels) {
    (void)panels;
    return MOST_ROWS;
}
#endif

/* Rows in as few groups as possible, of nearly equal size: how many the next one has. */
static inline int next_group(int rows, int panels) {
    const int most = most_rows(panels);
    return rows / ((rows + most - 1) / most);
}

static void multiply_taps(const kernel_taps *taps, const kernel_results *to) {
    const int all = (to->channels + PANEL - 1) / PANEL;
    for (int panel = 0, panels; panel < all; panel += panels) {
        panels = next_panels(all - panel);
        for (int row = 0, rows; row < taps->rows; row += rows) {
            rows = next_group(taps->rows - row, panels);
            (panels > 1 ? MULTIPLY_PAIRS : MULTIPLY)[rows](taps, (block_place){row, panel}, to);
        }
    }
}

static void outer(const kernel_field *field, const void *a, const void *b, const kernel_sums *to) {
    for (int panel = 0, panels; panel < to->panels; panel += panels) {
        panels = next_panels(to->panels - panel);
        for (int row = 0, rows; row < to->rows; row += rows) {
            rows = next_group(to->rows - row, panels);
            const kernel_sums block = {to->sums + row * to->row_stride + panel * PANEL, to->row_stride, rows, panels};
            (panels > 1 ? OUTER_PAIRS : OUTER)[rows](field, (const ELEMENT *)a + row,
                                                     (const ELEMENT *)b + panel * PANEL, &block);
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
