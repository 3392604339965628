/* Kernels over rows of channels, of any number of channels, over ELEMENT; included by kernels_body.c. */

/* What is left of a row behind the last whole vector, padded with zeros. */
static inline vec load_tail(const ELEMENT *from, int count) {
    ELEMENT padded[LANES] = {0};
    for (int i = 0; i < count; i++) padded[i] = from[i];
    return LOAD(padded);
}

static inline void store_tail(ELEMENT *to, int count, vec value) {
    ELEMENT padded[LANES];
    STORE(padded, value);
    for (int i = 0; i < count; i++) to[i] = padded[i];
}

static inline vec load_tail_f32(const float *from, int count) {
    float padded[LANES] = {0};
    for (int i = 0; i < count; i++) padded[i] = from[i];
    return vec_load(padded);
}

static inline void store_tail_f32(float *to, int count, vec value) {
    float padded[LANES];
    vec_store(padded, value);
    for (int i = 0; i < count; i++) to[i] = padded[i];
}

static inline int lanes_left(int channels, int c) { return channels - c < LANES ? channels - c : LANES; }
static inline vec load_some(const ELEMENT *from, int count) {
    return count == LANES ? LOAD(from) : load_tail(from, count);
}
static inline vec load_some_f32(const float *from, int count) {
    return count == LANES ? vec_load(from) : load_tail_f32(from, count);
}
static inline void store_some(ELEMENT *to, int count, vec value) {
    if (count == LANES) STORE(to, value);
    else store_tail(to, count, value);
}
static inline void store_some_f32(float *to, int count, vec value) {
    if (count == LANES) vec_store(to, value);
    else store_tail_f32(to, count, value);
}

static void store_row(const float *values, int channels, const float *bias, const void *addend, int accumulate,
                      void *image) {
    const ELEMENT *added = addend;
    ELEMENT *to = image;
    for (int c = 0; c < channels; c += LANES) {
        const int count = lanes_left(channels, c);
        vec value = load_some_f32(values + c, count);
        if (bias) value += load_some_f32(bias + c, count);
        if (added) value += load_some(added + c, count);
        if (accumulate) value += load_some(to + c, count);
        store_some(to + c, count, value);
    }
}

static void sum_rows(const void *x, size_t rows, ptrdiff_t stride, int channels, float *sums) {
    for (int c = 0; c < channels; c += LANES) {
        const int count = lanes_left(channels, c);
        const ELEMENT *column = (const ELEMENT *)x + c;
        vec sum[4] = {vec_all(0), vec_all(0), vec_all(0), vec_all(0)};
        for (size_t r = 0; r < rows; r++, column += stride) sum[r & 3] += load_some(column, count);
        store_some_f32(sums + c, count, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static void take_larger(const void *x, int channels, uint8_t tap, float *best, uint8_t *where) {
    const ELEMENT *candidates = x;
    for (int c = 0; c < channels; c++) {
        const float candidate = NUMBER(candidates[c]);
        const int larger = candidate > best[c] || candidate != candidate;
        best[c] = larger ? candidate : best[c];
        if (where) where[c] = larger ? tap : where[c];
    }
}

static void add_where(const void *dy, const uint8_t *where, int channels, uint8_t tap, float *sums) {
    const ELEMENT *gradients = dy;
    for (int c = 0; c < channels; c++) sums[c] += where[c] == tap ? NUMBER(gradients[c]) : 0;
}

static void moments(const void *x, size_t rows, int channels, float *mean, float *deviation) {
    const vec share = vec_all(1.0f / (float)rows);
    for (int c = 0; c < channels; c += LANES) {
        const int count = lanes_left(channels, c);
        const ELEMENT *column = (const ELEMENT *)x + c;
        vec sum[4] = {vec_all(0), vec_all(0), vec_all(0), vec_all(0)};
        size_t r = 0;
        for (; r + 4 <= rows; r += 4)
            for (int k = 0; k < 4; k++) sum[k] += load_some(column + (r + (size_t)k) * (size_t)channels, count);
        for (; r < rows; r++) sum[0] += load_some(column + r * (size_t)channels, count);
        const vec centre = ((sum[0] + sum[1]) + (sum[2] + sum[3])) * share;
        for (int k = 0; k < 4; k++) sum[k] = vec_all(0);
        for (r = 0; r + 4 <= rows; r += 4)
            for (int k = 0; k < 4; k++) {
                const vec off = load_some(column + (r + (size_t)k) * (size_t)channels, count) - centre;
                sum[k] = vec_fma(off, off, sum[k]);
            }
        for (; r < rows; r++) {
            const vec off = load_some(column + r * (size_t)channels, count) - centre;
            sum[0] = vec_fma(off, off, sum[0]);
        }
        store_some_f32(mean + c, count, centre);
        store_some_f32(deviation + c, count, (sum[0] + sum[1]) + (sum[2] + sum[3]));
    }
}

static inline vec leaky_relu_of(vec z, vec slope) { return vec_where_positive(z, z, z * slope); }

/* Vectors run down the rows, a few rows at a time: what lies beside them on their cache lines and pages is still near
   when the next channels come. */
enum { NEAR_ROWS = 32 };

static inline size_t near_rows(size_t rows, size_t first) {
    return rows - first < NEAR_ROWS ? rows - first : NEAR_ROWS;
}

static void scale_near_rows(const kernel_norm *norm, const void *x, void *y) {
    const kernel_norm n = *norm;
    const vec slope = vec_all(n.slope);
    for (int c = 0; c < n.channels; c += LANES) {
        const int count = lanes_left(n.channels, c);
        const vec factor = load_some_f32(n.scale + c, count), offset = load_some_f32(n.shift + c, count);
        const ELEMENT *from = (const ELEMENT *)x + c, *added = n.addend ? (const ELEMENT *)n.addend + c : 0;
        ELEMENT *to = (ELEMENT *)y + c;
        for (size_t r = 0; r < n.rows; r++, from += n.channels, to += n.channels) {
            vec z = vec_fma(load_some(from, count), factor, offset);
            if (added) z += load_some(added + r * (size_t)n.channels, count);
            store_some(to, count, leaky_relu_of(z, slope));
        }
    }
}

static void scale_rows(const kernel_norm *norm, const void *x, void *y) {
    for (size_t r = 0; r < norm->rows; r += NEAR_ROWS) {
        const size_t at = r * (size_t)norm->channels;
        kernel_norm some = *norm;
        some.rows = near_rows(norm->rows, r);
        if (norm->addend) some.addend = (const ELEMENT *)norm->addend + at;
        scale_near_rows(&some, (const ELEMENT *)x + at, (ELEMENT *)y + at);
    }
}

static void scale_sums(const kernel_norm *norm, const void *x, const void *dy, float *sum, float *sum_deviation) {
    const kernel_norm n = *norm;
    const vec slope = vec_all(n.slope);
    for (int c = 0; c < n.channels; c += LANES) {
        const int count = lanes_left(n.channels, c);
        const vec factor = load_some_f32(n.scale + c, count), offset = load_some_f32(n.shift + c, count);
        const vec centre = load_some_f32(n.mean + c, count);
        const ELEMENT *values = (const ELEMENT *)x + c, *gradients = (const ELEMENT *)dy + c;
        const ELEMENT *outputs = n.output ? (const ELEMENT *)n.output + c : 0;
        vec total[2] = {vec_all(0), vec_all(0)}, deviations[2] = {vec_all(0), vec_all(0)};
        for (size_t r = 0; r < n.rows; r++, values += n.channels, gradients += n.channels) {
            const vec value = load_some(values, count);
            const vec dz = load_some(gradients, count);
            const vec z = outputs ? load_some(outputs + r * (size_t)n.channels, count) : vec_fma(value, factor, offset);
            const vec g = vec_where_positive(z, dz, dz * slope);
            total[r & 1] += g;
            deviations[r & 1] = vec_fma(g, value - centre, deviations[r & 1]);
        }
        store_some_f32(sum + c, count, total[0] + total[1]);
        store_some_f32(sum_deviation + c, count, deviations[0] + deviations[1]);
    }
}

static void near_rows_backward(const kernel_norm *norm, const kernel_norm_gradient *gradient, const void *x,
                               const void *dy, int accumulate, void *dx) {
    const kernel_norm n = *norm;
    const kernel_norm_gradient d = *gradient;
    const vec slope = vec_all(n.slope);
    for (int c = 0; c < n.channels; c += LANES) {
        const int count = lanes_left(n.channels, c);
        const vec factor = load_some_f32(n.scale + c, count), offset = load_some_f32(n.shift + c, count);
        const vec centre = load_some_f32(n.mean + c, count), by_gradient = load_some_f32(d.by_gradient + c, count);
        const vec by_value = load_some_f32(d.by_value + c, count), constant = load_some_f32(d.constant + c, count);
        const ELEMENT *values = (const ELEMENT *)x + c, *gradients = (const ELEMENT *)dy + c;
        const ELEMENT *outputs = n.output ? (const ELEMENT *)n.output + c : 0;
        ELEMENT *to = (ELEMENT *)dx + c;
        for (size_t r = 0; r < n.rows; r++, values += n.channels, gradients += n.channels, to += n.channels) {
            const vec value = load_some(values, count);
            const vec dz = load_some(gradients, count);
            const vec z = outputs ? load_some(outputs + r * (size_t)n.channels, count) : vec_fma(value, factor, offset);
            const vec g = vec_where_positive(z, dz, dz * slope);
            vec out = vec_fma(g, by_gradient, vec_fma(value - centre, by_value, constant));
            if (accumulate) out += load_some(to, count);
            store_some(to, count, out);
        }
    }
}

static void scale_backward(const kernel_norm *norm, const kernel_norm_gradient *gradient, const void *x, const void *dy,
                           int accumulate, void *dx) {
    for (size_t r = 0; r < norm->rows; r += NEAR_ROWS) {
        const size_t at = r * (size_t)norm->channels;
        kernel_norm some = *norm;
        some.rows = near_rows(norm->rows, r);
        if (norm->output) some.output = (const ELEMENT *)norm->output + at;
        near_rows_backward(&some, gradient, (const ELEMENT *)x + at, (const ELEMENT *)dy + at, accumulate,
                           (ELEMENT *)dx + at);
    }
}

static inline int numbers_left(size_t count, size_t i) { return count - i < LANES ? (int)(count - i) : LANES; }

static void leaky_relu(const void *x, size_t count, float slope, void *y) {
    for (size_t i = 0; i < count; i += LANES) {
        const int some = numbers_left(count, i);
        store_some((ELEMENT *)y + i, some, leaky_relu_of(load_some((const ELEMENT *)x + i, some), vec_all(slope)));
    }
}

static void leaky_relu_backward(const void *x, const void *dy, size_t count, float slope, int accumulate, void *dx) {
    for (size_t i = 0; i < count; i += LANES) {
        const int some = numbers_left(count, i);
        const vec gradient = load_some((const ELEMENT *)dy + i, some);
        vec out = vec_where_positive(load_some((const ELEMENT *)x + i, some), gradient, gradient * vec_all(slope));
        if (accumulate) out += load_some((const ELEMENT *)dx + i, some);
        store_some((ELEMENT *)dx + i, some, out);
    }
}

static void to_f32(const void *from, size_t count, float *to) {
    const ELEMENT *numbers = from;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) vec_store(to + i, LOAD(numbers + i));
    for (; i < count; i++) to[i] = NUMBER(numbers[i]);
}

static void from_f32(const float *from, size_t count, void *to) {
    ELEMENT *numbers = to;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) STORE(numbers + i, vec_load(from + i));
    if (i < count) store_tail(numbers + i, (int)(count - i), load_tail_f32(from + i, (int)(count - i)));
}

static void add(const void *from, size_t count, int accumulate, void *to) {
    const ELEMENT *numbers = from;
    ELEMENT *sums = to;
    if (!accumulate) {
        memcpy(to, from, count * sizeof *numbers);
        return;
    }
    size_t i = 0;
    for (; i + LANES <= count; i += LANES) STORE(sums + i, LOAD(sums + i) + LOAD(numbers + i));
    const int rest = (int)(count - i);
    if (rest) store_tail(sums + i, rest, load_tail(sums + i, rest) + load_tail(numbers + i, rest));
}
