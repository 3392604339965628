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

/* Which of the pixels that tiles read lie inside the image. Rows count from a tile's first, the same for all tiles;
   columns count from the first tile's first. */
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

/* A kernel_scaling of LANES channels. */
typedef struct lanes_scaling {
    vec scale, shift, slope;
} lanes_scaling;

static inline lanes_scaling scaling_of(const kernel_scaling *s, ptrdiff_t channel) {
    if (!s->scale) return (lanes_scaling){0};
    return (lanes_scaling){vec_load(s->scale + channel), vec_load(s->shift + channel), vec_all(s->slope)};
}

/* What is known of tiles when the code for them is compiled: how many rows they read, whether all of these are inside,
   and whether there is a scaling. */
typedef struct tile_kind {
    int edge, has_all_rows, is_scaled;
} tile_kind;

/* LANES channels of a column of pixels, by its first one. Addresses are made of two pointers
   and the distance of rows. */
ALWAYS_INLINE void load_column(const tile_kind kind, const winograd_window *w, const lanes_scaling *s,
                               const ELEMENT *at, vec column[]) {
    const ELEMENT *const half[2] = {at, at + 3 * w->row};
    UNROLL for (int i = 0; i < kind.edge; i++) {
        column[i] = vec_all(0);
        if (!kind.has_all_rows && (i < w->first_row || i >= w->end_row)) continue;
        column[i] = LOAD(half[i / 3] + i % 3 * w->row);
        if (kind.is_scaled) column[i] = leaky_relu_of(vec_fma(column[i], s->scale, s->shift), s->slope);
    }
}

static inline int is_column_inside(const winograd_window *w, int x) {
    return x >= w->first_column && x < w->end_column;
}

/* Two transformed columns. */
typedef vec column_pair[2][WINOGRAD_EDGE];

ALWAYS_INLINE void input_columns(const tile_kind kind, const winograd_window *w, const lanes_scaling *s,
                                 const ELEMENT *at, int x, column_pair to) {
    UNROLL for (int j = 0; j < 2; j++) {
        vec column[WINOGRAD_EDGE];
        if (is_column_inside(w, x + j)) {
            load_column(kind, w, s, at + j * w->pixel, column);
            winograd_b(column, to[j]);
        } else {
            UNROLL for (int i = 0; i < WINOGRAD_EDGE; i++) to[j][i] = vec_all(0);
        }
    }
}

/* Asks for the pixels that the tile two lines of tiles further down reads beside those of its neighbours, by this
   tile's first pixel: processors do not foresee where lines of four rows go on. Behind the image lies what comes
   next, or what is never read. */
ALWAYS_INLINE void expect_tile(const winograd_window *w, const ELEMENT *at) {
    const ELEMENT *row = at + (2 * WINOGRAD_TILE + 2) * w->row + 2 * w->pixel;
    UNROLL for (int i = 0; i < WINOGRAD_TILE; i++, row += w->row) UNROLL for (int j = 0; j < WINOGRAD_TILE; j++)
        __builtin_prefetch(row + j * w->pixel);
}

/* Six neighbouring points, whose addresses are made of two pointers and their distance. */
ALWAYS_INLINE void store_points(const vec values[WINOGRAD_EDGE], float *points, ptrdiff_t point_stride) {
    float *const half[2] = {points, points + 3 * point_stride};
    UNROLL for (int j = 0; j < WINOGRAD_EDGE; j++) vec_store(half[j / 3] + j % 3 * point_stride, values[j]);
}

ALWAYS_INLINE void input_points(vec first[2][6], vec second[2][6], vec third[2][6], float *points,
                                ptrdiff_t point_stride) {
    UNROLL for (int i = 0; i < WINOGRAD_EDGE; i++, points += WINOGRAD_EDGE * point_stride) {
        const vec row[6] = {first[0][i], first[1][i], second[0][i], second[1][i], third[0][i], third[1][i]};
        vec out[6];
        winograd_b(row, out);
        store_points(out, points, point_stride);
    }
}

/* A panel of channels of all tiles. Neighbours share two columns. */
ALWAYS_INLINE void input_panel(const tile_kind kind, const winograd_tiles *tiles, const winograd_window *window,
                               int channel, float *points) {
    const winograd_window w = *window;
    const ptrdiff_t tile_stride = tiles->tile_stride, point_stride = tiles->point_stride;
    const ELEMENT *at = w.from + channel;
    lanes_scaling scaling[PANEL_VECTORS];
    column_pair shared[PANEL_VECTORS][2], own;
    for (int v = 0; v < PANEL_VECTORS; v++) {
        scaling[v] = scaling_of(&tiles->scaling, channel + v * LANES);
        input_columns(kind, &w, &scaling[v], at + v * LANES, 0, shared[v][0]);
    }
    for (int k = 0; k < tiles->count; k++, points += tile_stride, at += WINOGRAD_TILE * w.pixel) {
        const int x = k * WINOGRAD_TILE;
        expect_tile(&w, at);
        for (int v = 0; v < PANEL_VECTORS; v++) {
            vec(*const first)[6] = shared[v][k & 1], (*const third)[6] = shared[v][~k & 1];
            input_columns(kind, &w, &scaling[v], at + v * LANES + 2 * w.pixel, x + 2, own);
            input_columns(kind, &w, &scaling[v], at + v * LANES + 4 * w.pixel, x + 4, third);
            input_points(first, own, third, points + v * LANES, point_stride);
        }
    }
}

typedef void panel_function(const winograd_tiles *tiles, const winograd_window *window, int channel, float *points);

#define INPUT_PANEL(NAME, HAS_ALL_ROWS, IS_SCALED)                                                                     \
    static void NAME(const winograd_tiles *tiles, const winograd_window *window, int channel, float *points) {         \
        input_panel((tile_kind){WINOGRAD_EDGE, HAS_ALL_ROWS, IS_SCALED}, tiles, window, channel, points);              \
    }
INPUT_PANEL(input_inside, 1, 0)
INPUT_PANEL(input_border, 0, 0)
#ifdef ELEMENT_IS_F32
INPUT_PANEL(scaled_inside, 1, 1)
INPUT_PANEL(scaled_border, 0, 1)
#else
#define scaled_inside input_inside
#define scaled_border input_border
#endif

static void winograd_input(const winograd_tiles *tiles, const void *image, float *points) {
    const winograd_window w = window_of(tiles, image, WINOGRAD_EDGE);
    const int has_all_rows = w.first_row == 0 && w.end_row == WINOGRAD_EDGE;
    panel_function *const plain = has_all_rows ? input_inside : input_border;
    panel_function *const panel = !tiles->scaling.scale ? plain : has_all_rows ? scaled_inside : scaled_border;
    for (int c = 0; c < tiles->channels; c += PANEL) panel(tiles, &w, c, points + c);
}

ALWAYS_INLINE void gradient_tile(const tile_kind kind, const winograd_window *w, const ELEMENT *at, int x,
                                 float *points, ptrdiff_t point_stride) {
    vec columns[WINOGRAD_EDGE][WINOGRAD_TILE];
    UNROLL for (int j = 0; j < WINOGRAD_TILE; j++) {
        vec column[WINOGRAD_TILE], out[WINOGRAD_EDGE] = {vec_all(0)};
        if (is_column_inside(w, x + j)) {
            load_column(kind, w, 0, at + j * w->pixel, column);
            winograd_a_transposed(column, out);
        }
        UNROLL for (int i = 0; i < WINOGRAD_EDGE; i++) columns[i][j] = out[i];
    }
    UNROLL for (int i = 0; i < WINOGRAD_EDGE; i++, points += WINOGRAD_EDGE * point_stride) {
        vec out[WINOGRAD_EDGE];
        winograd_a_transposed(columns[i], out);
        store_points(out, points, point_stride);
    }
}

ALWAYS_INLINE void gradient_panel(const int has_all_rows, const winograd_tiles *tiles, const winograd_window *window,
                                  int channel, float *points) {
    const tile_kind kind = {WINOGRAD_TILE, has_all_rows, 0};
    const winograd_window w = *window;
    const ptrdiff_t tile_stride = tiles->tile_stride, point_stride = tiles->point_stride;
    const ELEMENT *at = w.from + channel;
    for (int k = 0; k < tiles->count; k++, points += tile_stride, at += WINOGRAD_TILE * w.pixel)
        for (int v = 0; v < PANEL_VECTORS; v++)
            gradient_tile(kind, &w, at + v * LANES, k * WINOGRAD_TILE, points + v * LANES, point_stride);
}

static void gradient_inside(const winograd_tiles *tiles, const winograd_window *window, int channel, float *points) {
    gradient_panel(1, tiles, window, channel, points);
}

static void gradient_border(const winograd_tiles *tiles, const winograd_window *window, int channel, float *points) {
    gradient_panel(0, tiles, window, channel, points);
}

static void winograd_gradient(const winograd_tiles *tiles, const void *image, float *points) {
    const winograd_window w = window_of(tiles, image, WINOGRAD_TILE);
    const int has_all_rows = w.first_row == 0 && w.end_row == WINOGRAD_TILE;
    panel_function *const panel = has_all_rows ? gradient_inside : gradient_border;
    for (int c = 0; c < tiles->channels; c += PANEL) panel(tiles, &w, c, points + c);
}

/* What is added to LANES channels of the results, and where these go. */
typedef struct winograd_place {
    vec start;
    const ELEMENT *added;
    int accumulate;
    ELEMENT *pixels;
    ptrdiff_t row, pixel;
    int rows, columns; /* that are inside */
} winograd_place;

ALWAYS_INLINE void output_row(const int is_whole, const vec half[WINOGRAD_EDGE], const winograd_place *to,
                              ptrdiff_t row) {
    vec out[WINOGRAD_TILE];
    winograd_a(half, out);
    UNROLL for (int j = 0; j < WINOGRAD_TILE; j++) {
        if (!is_whole && j >= to->columns) break;
        const ptrdiff_t at = row + j * to->pixel;
        vec value = out[j] + to->start;
        if (to->added) value += LOAD(to->added + at);
        if (to->accumulate) value += LOAD(to->pixels + at);
        STORE(to->pixels + at, value);
    }
}

ALWAYS_INLINE void output_tile(const int is_whole, const float *points, ptrdiff_t point_stride,
                               const winograd_place *place) {
    const winograd_place to = *place;
    vec half[WINOGRAD_TILE][WINOGRAD_EDGE];
    UNROLL for (int j = 0; j < WINOGRAD_EDGE; j++, points += point_stride) {
        const ptrdiff_t row = WINOGRAD_EDGE * point_stride;
        const float *const from[2] = {points, points + 3 * row};
        vec column[WINOGRAD_EDGE], out[WINOGRAD_TILE];
        UNROLL for (int i = 0; i < WINOGRAD_EDGE; i++) column[i] = vec_load(from[i / 3] + i % 3 * row);
        winograd_a(column, out);
        UNROLL for (int i = 0; i < WINOGRAD_TILE; i++) half[i][j] = out[i];
    }
    UNROLL for (int i = 0; i < WINOGRAD_TILE; i++) if (is_whole || i < to.rows)
        output_row(is_whole, half[i], &to, i * to.row);
}

static void whole_output_tile(const float *points, ptrdiff_t point_stride, const winograd_place *to) {
    output_tile(1, points, point_stride, to);
}

static void border_output_tile(const float *points, ptrdiff_t point_stride, const winograd_place *to) {
    output_tile(0, points, point_stride, to);
}

static void winograd_output(const winograd_tiles *tiles, const float *points, const kernel_addends *addends,
                            void *image) {
    const winograd_tiles t = *tiles;
    const float *const bias = addends->bias;
    const ptrdiff_t row = (ptrdiff_t)t.width * t.channels;
    const int rows = within(t.height - t.top, WINOGRAD_TILE);
    for (int k = 0; k < t.count; k++) {
        const int left = t.left + k * WINOGRAD_TILE, columns = within(t.width - left, WINOGRAD_TILE);
        const ptrdiff_t corner = t.top * row + (ptrdiff_t)left * t.channels;
        for (int c = 0; c < t.channels; c += LANES) {
            const winograd_place to = {bias ? vec_load(bias + c) : vec_all(0),
                                       addends->addend ? (const ELEMENT *)addends->addend + corner + c : 0,
                                       addends->accumulate,
                                       (ELEMENT *)image + corner + c,
                                       row,
                                       t.channels,
                                       rows,
                                       columns};
            (rows == WINOGRAD_TILE && columns == WINOGRAD_TILE ? whole_output_tile : border_output_tile)(
                points + k * t.tile_stride + c, t.point_stride, &to);
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
