/*
 * Transforms of Winograd's F(4x4, 3x3) with the points 0, 1, -1, 2, -2 and infinity, over ELEMENT; included by
 * kernels_body.c. A 6x6 patch d, 3x3 weights g and the 4x4 output y satisfy y = A^T [(G g G^T) . (B^T d B)] A.
 */

/* One row of B^T. */
static inline void winograd_b(const vec d[6], vec out[6]) {
    const vec four = vec_all(4), five = vec_all(5), two = vec_all(2);
    const vec even = vec_fma(-four, d[2], d[4]), odd = vec_fma(-four, d[1], d[3]);
    const vec low_even = d[4] - d[2], low_odd = two * (d[3] - d[1]);
    out[0] = vec_fma(four, d[0], vec_fma(-five, d[2], d[4]));
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = low_even + low_odd;
    out[4] = low_even - low_odd;
    out[5] = vec_fma(four, d[1], vec_fma(-five, d[3], d[5]));
}

/* One row of A, for gradients of outputs. */
static inline void winograd_a_transposed(const vec d[4], vec out[6]) {
    const vec two = vec_all(2), four = vec_all(4);
    const vec even = d[0] + d[2], odd = d[1] + d[3];
    const vec wide_even = vec_fma(four, d[2], d[0]), wide_odd = two * vec_fma(four, d[3], d[1]);
    out[0] = d[0];
    out[1] = even + odd;
    out[2] = even - odd;
    out[3] = wide_even + wide_odd;
    out[4] = wide_even - wide_odd;
    out[5] = d[3];
}

/* One row of A^T. */
static inline void winograd_a(const vec m[6], vec out[4]) {
    const vec two = vec_all(2), four = vec_all(4), eight = vec_all(8);
    const vec near_sum = m[1] + m[2], near_difference = m[1] - m[2];
    const vec far_sum = m[3] + m[4], far_difference = m[3] - m[4];
    out[0] = m[0] + near_sum + far_sum;
    out[1] = vec_fma(two, far_difference, near_difference);
    out[2] = vec_fma(four, far_sum, near_sum);
    out[3] = vec_fma(eight, far_difference, near_difference) + m[5];
}

/* The second half of a transform: rows of columns[i][j] that were transformed along i. */
static inline void winograd_rows(const vec columns[6][6], float *points, ptrdiff_t point_stride) {
    for (int i = 0; i < 6; i++) {
        vec out[6];
        winograd_b(columns[i], out);
        for (int j = 0; j < 6; j++) vec_store(points + (i * 6 + j) * point_stride, out[j]);
    }
}

/* LANES channels of a patch that lies inside the image, whose rows are `row` numbers apart. */
static inline void winograd_inner_tile(const ELEMENT *corner, ptrdiff_t row, int channels, float *points,
                                       ptrdiff_t point_stride) {
    vec columns[6][6];
    for (int j = 0; j < 6; j++) {
        vec column[6], out[6];
        for (int i = 0; i < 6; i++) column[i] = LOAD(corner + i * row + j * channels);
        winograd_b(column, out);
        for (int i = 0; i < 6; i++) columns[i][j] = out[i];
    }
    winograd_rows(columns, points, point_stride);
}

/* The same of one that reaches over the border. */
static inline void winograd_border_tile(const winograd_tile *tile, const ELEMENT *corner, float *points) {
    const int top = tile->top, left = tile->left, below = tile->height - top, beside = tile->width - left;
    const int first_row = top < 0 ? -top : 0, end_row = below < 6 ? below : 6;
    const int first_column = left < 0 ? -left : 0, end_column = beside < 6 ? beside : 6;
    const int channels = tile->channels;
    const ptrdiff_t row = (ptrdiff_t)tile->width * channels;
    vec columns[6][6];
    for (int j = 0; j < 6; j++) {
        vec column[6], out[6];
        for (int i = 0; i < 6; i++) column[i] = vec_all(0);
        if (j >= first_column && j < end_column)
            for (int i = first_row; i < end_row; i++) column[i] = LOAD(corner + i * row + j * channels);
        winograd_b(column, out);
        for (int i = 0; i < 6; i++) columns[i][j] = out[i];
    }
    winograd_rows(columns, points, tile->point_stride);
}

static void winograd_input(const winograd_tile *tile, const void *image, float *points) {
    const int channels = tile->channels, top = tile->top, left = tile->left;
    const ptrdiff_t row = (ptrdiff_t)tile->width * channels, point_stride = tile->point_stride;
    const ELEMENT *corner = (const ELEMENT *)image + top * row + (ptrdiff_t)left * channels;
    const int inside = top >= 0 && left >= 0 && tile->height - top >= 6 && tile->width - left >= 6;
    for (int c = 0; c < channels; c += LANES)
        if (inside) winograd_inner_tile(corner + c, row, channels, points + c, point_stride);
        else winograd_border_tile(tile, corner + c, points + c);
}

static void winograd_gradient(const winograd_tile *tile, const void *image, float *points) {
    const winograd_tile t = *tile;
    const ELEMENT *pixels = image;
    const ptrdiff_t row = (ptrdiff_t)t.width * t.channels;
    for (int c = 0; c < t.channels; c += LANES) {
        vec columns[6][4];
        for (int j = 0; j < 4; j++) {
            vec column[4], out[6];
            for (int i = 0; i < 4; i++) {
                const int y = t.top + i, x = t.left + j;
                column[i] = vec_all(0);
                if (y < t.height && x < t.width) column[i] = LOAD(pixels + y * row + (ptrdiff_t)x * t.channels + c);
            }
            winograd_a_transposed(column, out);
            for (int i = 0; i < 6; i++) columns[i][j] = out[i];
        }
        for (int i = 0; i < 6; i++) {
            vec out[6];
            winograd_a_transposed(columns[i], out);
            for (int j = 0; j < 6; j++) vec_store(points + c + (i * 6 + j) * t.point_stride, out[j]);
        }
    }
}

static void winograd_output(const winograd_tile *tile, const float *points, const kernel_addends *addends,
                            void *image) {
    const winograd_tile t = *tile;
    const float *const bias = addends->bias;
    const ELEMENT *const added = addends->addend;
    const int accumulate = addends->accumulate;
    ELEMENT *pixels = image;
    const ptrdiff_t row = (ptrdiff_t)t.width * t.channels;
    const int rows = t.height - t.top < 4 ? t.height - t.top : 4, columns = t.width - t.left < 4 ? t.width - t.left : 4;
    for (int c = 0; c < t.channels; c += LANES) {
        vec half[4][6];
        for (int j = 0; j < 6; j++) {
            vec column[6], out[4];
            for (int i = 0; i < 6; i++) column[i] = vec_load(points + c + (i * 6 + j) * t.point_stride);
            winograd_a(column, out);
            for (int i = 0; i < 4; i++) half[i][j] = out[i];
        }
        const vec start = bias ? vec_load(bias + c) : vec_all(0);
        for (int i = 0; i < rows; i++) {
            vec out[4];
            winograd_a(half[i], out);
            const ptrdiff_t at = (t.top + i) * row + (ptrdiff_t)t.left * t.channels + c;
            for (int j = 0; j < columns; j++) {
                vec value = out[j] + start;
                if (added) value += LOAD(added + at + j * t.channels);
                if (accumulate) value += LOAD(pixels + at + j * t.channels);
                STORE(pixels + at + j * t.channels, value);
            }
        }
    }
}

#ifdef ELEMENT_IS_F32
/* One row of G. */
static inline void winograd_g(const vec g[3], vec out[6]) {
    const vec outer_sum = g[0] + g[2], wide = vec_fma(vec_all(4), g[2], g[0]), twice = g[1] + g[1];
    out[0] = g[0] * vec_all(0.25f);
    out[1] = (outer_sum + g[1]) * vec_all(-1.0f / 6);
    out[2] = (outer_sum - g[1]) * vec_all(-1.0f / 6);
    out[3] = (wide + twice) * vec_all(1.0f / 24);
    out[4] = (wide - twice) * vec_all(1.0f / 24);
    out[5] = g[2];
}

/* One row of G^T. */
static inline void winograd_g_transposed(const vec u[6], vec out[3]) {
    const vec sixth = vec_all(-1.0f / 6), twentyfourth = vec_all(1.0f / 24);
    const vec near_sum = sixth * (u[1] + u[2]), near_difference = sixth * (u[1] - u[2]);
    const vec far_sum = twentyfourth * (u[3] + u[4]), far_difference = twentyfourth * (u[3] - u[4]);
    out[0] = vec_fma(vec_all(0.25f), u[0], near_sum + far_sum);
    out[1] = vec_fma(vec_all(2), far_difference, near_difference);
    out[2] = vec_fma(vec_all(4), far_sum, near_sum) + u[5];
}

static void winograd_weights(const float *taps, ptrdiff_t tap_stride, float *points, ptrdiff_t point_stride) {
    for (int c = 0; c < PANEL; c += LANES) {
        vec columns[6][3];
        for (int j = 0; j < 3; j++) {
            vec column[3], out[6];
            for (int i = 0; i < 3; i++) column[i] = vec_load(taps + c + (i * 3 + j) * tap_stride);
            winograd_g(column, out);
            for (int i = 0; i < 6; i++) columns[i][j] = out[i];
        }
        for (int i = 0; i < 6; i++) {
            vec out[6];
            winograd_g(columns[i], out);
            for (int j = 0; j < 6; j++) vec_store(points + c + (i * 6 + j) * point_stride, out[j]);
        }
    }
}

static void winograd_weights_gradient(const float *points, ptrdiff_t point_stride, float *taps, ptrdiff_t tap_stride) {
    for (int c = 0; c < PANEL; c += LANES) {
        vec half[3][6];
        for (int j = 0; j < 6; j++) {
            vec column[6], out[3];
            for (int i = 0; i < 6; i++) column[i] = vec_load(points + c + (i * 6 + j) * point_stride);
            winograd_g_transposed(column, out);
            for (int i = 0; i < 3; i++) half[i][j] = out[i];
        }
        for (int i = 0; i < 3; i++) {
            vec out[3];
            winograd_g_transposed(half[i], out);
            for (int j = 0; j < 3; j++) {
                float *tap = taps + c + (i * 3 + j) * tap_stride;
                vec_store(tap, vec_load(tap) + out[j]);
            }
        }
    }
}
#endif
