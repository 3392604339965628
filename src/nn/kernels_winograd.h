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

/* Which of the pixels that tiles read lie inside the image. Rows count from a tile's first, the same for all tiles; columns
   count from the first tile's first. */
typedef struct winograd_window {
    const ELEMENT *from;
    ptrdiff_t row, pixel; /* numbers from one to the next */
    int first_row, end_row, first_column, end_column;
} winograd_window;

static inline int within(int place, int end) { return place < 0 ? 0 : place < end ? place : end; }

/* Of tiles that read `edge` rows each. */
static inline winograd_window window_of(const winograd_tiles *tiles, const void *image, int edge) {
    const ptrdiff_t row = (ptrdiff_t)tiles->width * tiles->channels;
    return (winograd_window){(const ELEMENT *)image + tiles->top * row + (ptrdiff_t)tiles->left * tiles->channels,
                             row,
                             tiles->channels,
                             within(-tiles->top, edge),
                             within(tiles->height - tiles->top, edge),
                             -tiles->left,
                             tiles->width - tiles->left};
}

/* Whether all of the columns [first, end) are inside. */
static inline int holds(const winograd_window *w, int edge, int first, int end) {
    return w->first_row == 0 && w->end_row == edge && first >= w->first_column && end <= w->end_column;
}

/* A kernel_scaling of LANES channels. */
typedef struct lanes_scaling {
    int is_there;
    vec scale, shift, slope;
} lanes_scaling;

static inline vec scaled(const lanes_scaling *s, vec x) {
    return s->is_there ? leaky_relu_of(vec_fma(x, s->scale, s->shift), s->slope) : x;
}

/* LANES channels of the `edge` pixels of column x, which may be known to lie inside. */
static inline void load_column(const winograd_window *w, int inside, int edge, const lanes_scaling *s,
                               const ELEMENT *from, int x, vec column[]) {
    const int outside = !inside && (x < w->first_column || x >= w->end_column);
    const int first = outside ? edge : w->first_row, end = w->end_row;
    for (int i = 0; i < edge; i++)
        column[i] = inside || (i >= first && i < end) ? scaled(s, LOAD(from + x * w->pixel + i * w->row)) : vec_all(0);
}

/* Two transformed columns. */
typedef vec column_pair[2][WINOGRAD_EDGE];

static inline void input_pair(const winograd_window *w, int inside, const lanes_scaling *s, const ELEMENT *from, int x,
                              column_pair to) {
    for (int j = 0; j < 2; j++) {
        vec column[6];
        load_column(w, inside, 6, s, from, x + j, column);
        winograd_b(column, to[j]);
    }
}

static inline void input_columns(const winograd_window *w, const lanes_scaling *s, const ELEMENT *from, int x,
                                 column_pair to) {
    if (holds(w, 6, x, x + 2)) input_pair(w, 1, s, from, x, to);
    else input_pair(w, 0, s, from, x, to);
}

/* Asks for the pixels that the tile two lines of tiles further down reads beside those of its neighbours: processors do not
   foresee where lines of four rows go on. Behind the image lies what comes next, or what is never read. */
static inline void expect_tile(const winograd_window *w, const ELEMENT *from, int x) {
    for (int i = 2 * WINOGRAD_TILE + 2; i < 3 * WINOGRAD_TILE + 2; i++)
        for (int j = 0; j < WINOGRAD_TILE; j++) __builtin_prefetch(from + i * w->row + (x + j) * w->pixel);
}

static inline void input_points(vec first[2][6], vec second[2][6], vec third[2][6], float *points,
                                ptrdiff_t point_stride) {
    for (int i = 0; i < 6; i++) {
        const vec row[6] = {first[0][i], first[1][i], second[0][i], second[1][i], third[0][i], third[1][i]};
        vec out[6];
        winograd_b(row, out);
        for (int j = 0; j < 6; j++) vec_store(points + (i * 6 + j) * point_stride, out[j]);
    }
}

/* A panel of channels of all tiles. Neighbours share two columns. */
static inline void input_panel(const winograd_tiles *tiles, const winograd_window *window,
                               const lanes_scaling scaling[PANEL_VECTORS], const ELEMENT *from, float *points) {
    const winograd_window w = *window;
    const ptrdiff_t tile_stride = tiles->tile_stride, point_stride = tiles->point_stride;
    column_pair shared[PANEL_VECTORS][2], own;
    for (int v = 0; v < PANEL_VECTORS; v++) input_columns(&w, &scaling[v], from + v * LANES, 0, shared[v][0]);
    for (int k = 0; k < tiles->count; k++, points += tile_stride) {
        expect_tile(&w, from, k * WINOGRAD_TILE + 2);
        for (int v = 0; v < PANEL_VECTORS; v++) {
            vec(*const first)[6] = shared[v][k & 1], (*const third)[6] = shared[v][~k & 1];
            input_columns(&w, &scaling[v], from + v * LANES, k * WINOGRAD_TILE + 2, own);
            input_columns(&w, &scaling[v], from + v * LANES, k * WINOGRAD_TILE + 4, third);
            input_points(first, own, third, points + v * LANES, point_stride);
        }
    }
}

static void winograd_plain_input(const winograd_tiles *tiles, const winograd_window *window, float *points) {
    const lanes_scaling none[PANEL_VECTORS] = {{0}};
    for (int c = 0; c < tiles->channels; c += PANEL) input_panel(tiles, window, none, window->from + c, points + c);
}

#ifdef ELEMENT_IS_F32
static void winograd_scaled_input(const winograd_tiles *tiles, const winograd_window *window, float *points) {
    const kernel_scaling *s = &tiles->scaling;
    for (int c = 0; c < tiles->channels; c += PANEL) {
        lanes_scaling scaling[PANEL_VECTORS];
        for (int v = 0; v < PANEL_VECTORS; v++)
            scaling[v] = (lanes_scaling){1, vec_load(s->scale + c + v * LANES), vec_load(s->shift + c + v * LANES),
                                         vec_all(s->slope)};
        input_panel(tiles, window, scaling, window->from + c, points + c);
    }
}
#endif

static void winograd_input(const winograd_tiles *tiles, const void *image, float *points) {
    const winograd_window window = window_of(tiles, image, 6);
#ifdef ELEMENT_IS_F32
    if (tiles->scaling.scale) {
        winograd_scaled_input(tiles, &window, points);
        return;
    }
#endif
    winograd_plain_input(tiles, &window, points);
}

static inline void gradient_tile(const winograd_window *w, int inside, const ELEMENT *from, int x, float *points,
                                 ptrdiff_t point_stride) {
    const lanes_scaling none = {0};
    vec columns[6][4];
    for (int j = 0; j < 4; j++) {
        vec column[4], out[6];
        load_column(w, inside, 4, &none, from, x + j, column);
        winograd_a_transposed(column, out);
        for (int i = 0; i < 6; i++) columns[i][j] = out[i];
    }
    for (int i = 0; i < 6; i++) {
        vec out[6];
        winograd_a_transposed(columns[i], out);
        for (int j = 0; j < 6; j++) vec_store(points + (i * 6 + j) * point_stride, out[j]);
    }
}

static inline void gradient_panel(const winograd_tiles *tiles, const winograd_window *window, const ELEMENT *from,
                                  float *points) {
    const winograd_window w = *window;
    const ptrdiff_t tile_stride = tiles->tile_stride, point_stride = tiles->point_stride;
    for (int k = 0; k < tiles->count; k++, points += tile_stride) {
        const int x = k * WINOGRAD_TILE;
        for (int v = 0; v < PANEL_VECTORS; v++) {
            const int c = v * LANES;
            if (holds(&w, 4, x, x + 4)) gradient_tile(&w, 1, from + c, x, points + c, point_stride);
            else gradient_tile(&w, 0, from + c, x, points + c, point_stride);
        }
    }
}

static void winograd_gradient(const winograd_tiles *tiles, const void *image, float *points) {
    const winograd_window window = window_of(tiles, image, 4);
    for (int c = 0; c < tiles->channels; c += PANEL) gradient_panel(tiles, &window, window.from + c, points + c);
}

/* What is added to LANES channels of the results, and where these go. */
typedef struct winograd_place {
    vec start;
    const ELEMENT *added;
    int accumulate;
    ELEMENT *pixels;
    ptrdiff_t row, pixel;
} winograd_place;

static inline void output_row(const vec half[6], const winograd_place *to, int i, int columns) {
    vec out[4];
    winograd_a(half, out);
    for (int j = 0; j < 4; j++) {
        const ptrdiff_t at = i * to->row + j * to->pixel;
        if (j >= columns) break;
        vec value = out[j] + to->start;
        if (to->added) value += LOAD(to->added + at);
        if (to->accumulate) value += LOAD(to->pixels + at);
        STORE(to->pixels + at, value);
    }
}

static inline void output_tile(const float *points, ptrdiff_t point_stride, const winograd_place *to, int rows,
                               int columns) {
    vec half[4][6];
    for (int j = 0; j < 6; j++) {
        vec column[6], out[4];
        for (int i = 0; i < 6; i++) column[i] = vec_load(points + (i * 6 + j) * point_stride);
        winograd_a(column, out);
        for (int i = 0; i < 4; i++) half[i][j] = out[i];
    }
    for (int i = 0; i < 4; i++)
        if (i < rows) output_row(half[i], to, i, columns);
}

static void winograd_output(const winograd_tiles *tiles, const float *points, const kernel_addends *addends,
                            void *image) {
    const winograd_tiles t = *tiles;
    const float *const bias = addends->bias;
    const ptrdiff_t row = (ptrdiff_t)t.width * t.channels;
    const int rows = within(t.height - t.top, 4);
    for (int k = 0; k < t.count; k++) {
        const int left = t.left + k * WINOGRAD_TILE, columns = within(t.width - left, 4);
        const ptrdiff_t corner = t.top * row + (ptrdiff_t)left * t.channels;
        for (int c = 0; c < t.channels; c += LANES) {
            const float *from = points + k * t.tile_stride + c;
            const winograd_place to = {bias ? vec_load(bias + c) : vec_all(0),
                                       addends->addend ? (const ELEMENT *)addends->addend + corner + c : 0,
                                       addends->accumulate,
                                       (ELEMENT *)image + corner + c,
                                       row,
                                       t.channels};
            if (rows == 4 && columns == 4) output_tile(from, t.point_stride, &to, 4, 4);
            else output_tile(from, t.point_stride, &to, rows, columns);
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
