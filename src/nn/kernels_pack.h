/* Kernels that lay weights out as the others read them; f32 alone; included by kernels_body.c. */

/* The lanes of two vectors by turns: of their lower and of their upper halves. */
#if LANES == 16
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif LANES == 8
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define UPPER(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#else
#define LOWER(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define UPPER(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#endif

/* LANES x LANES numbers. Each round turns the bits of row and lane, taken as one number, by one place. */
static inline void transpose_lanes(const float *from, ptrdiff_t from_stride, float *to) {
    vec row[LANES], turned[LANES];
    UNROLL for (int r = 0; r < LANES; r++) row[r] = vec_load(from + r * from_stride);
    UNROLL for (int lanes = LANES; lanes > 1; lanes /= 2) {
        UNROLL for (int r = 0; r < LANES / 2; r++) {
            turned[2 * r] = LOWER(row[r], row[r + LANES / 2]);
            turned[2 * r + 1] = UPPER(row[r], row[r + LANES / 2]);
        }
        UNROLL for (int r = 0; r < LANES; r++) row[r] = turned[r];
    }
    UNROLL for (int r = 0; r < LANES; r++) vec_store(to + r * PANEL, row[r]);
}

static void transpose_panel(const float *from, ptrdiff_t from_stride, float *to) {
    for (int r = 0; r < PANEL; r += LANES)
        for (int i = 0; i < PANEL; i += LANES)
            transpose_lanes(from + r * from_stride + i, from_stride, to + i * PANEL + r);
}
