/* Compiled once per instruction set, with KERNELS naming the set. Sets may differ in the last bits. */
#include "nn/loss_kernels.h"

#include "nn/fast_exp.h"

#include <math.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)

#if defined(__GNUC__) || defined(__clang__)
#define INLINE inline __attribute__((always_inline))
#else
#define INLINE inline
#endif

/* Classes whose gradients are in flight at the same time. */
enum { GROUP = 4 };

static INLINE size_t lanes_of(size_t count) { return (count + LOSS_LANES - 1) / LOSS_LANES * LOSS_LANES; }

/* Instances for constant numbers of classes, whose transpositions become shuffles of vectors. */
#define FOR_CLASSES(call_, classes)                                                                                    \
    switch (classes) {                                                                                                 \
    case 2: call_(2); break;                                                                                           \
    case 3: call_(3); break;                                                                                           \
    case 4: call_(4); break;                                                                                           \
    default: call_(classes); break;                                                                                    \
    }

static INLINE void gather(size_t count, size_t classes, const float *restrict logits, float *restrict rows) {
    const size_t lanes = lanes_of(count);
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < classes; c++) rows[c * lanes + i] = logits[i * classes + c];
    for (size_t c = 0; c < classes; c++)
        for (size_t i = count; i < lanes; i++) rows[c * lanes + i] = 0;
}

/* What is computed for each lane of a block on the way. */
typedef struct lane_block {
    int32_t
        labels[LOSS_BLOCK];    /* as wide as floats, so that comparisons and selections have the same number of lanes */
    float largest[LOSS_BLOCK]; /* logit */
    float total[LOSS_BLOCK];   /* of the exponentials */
    float below[LOSS_BLOCK];   /* how far the label's logit is below the largest */
} lane_block;

static void widen(size_t count, const int16_t *restrict labels, int32_t *restrict wide) {
    for (size_t i = 0; i < count; i++) wide[i] = labels[i];
    for (size_t i = count; i < LOSS_BLOCK; i++) wide[i] = -1;
}

static void count_labels(size_t lanes, const int32_t *restrict labels, loss_sums *sums) {
    int32_t highest = -1, counted = 0;
#pragma omp simd reduction(max : highest) reduction(+ : counted)
    for (size_t i = 0; i < lanes; i++) {
        highest = labels[i] > highest ? labels[i] : highest;
        counted += labels[i] >= 0;
    }
    sums->counted += counted;
    if (sums->highest < highest) sums->highest = highest;
}

static void find_largest(size_t lanes, size_t classes, const float *restrict rows, float *restrict largest) {
    for (size_t i = 0; i < lanes; i++) largest[i] = rows[i];
    for (size_t c = 1; c < classes; c++)
        for (size_t i = 0; i < lanes; i++) {
            const float x = rows[c * lanes + i];
            largest[i] = x > largest[i] ? x : largest[i];
        }
}

/* Exponentials in place of logits; total and below. */
static void exponentiate(size_t lanes, size_t classes, lane_block *restrict b, float *restrict rows) {
    for (size_t i = 0; i < lanes; i++) b->total[i] = b->below[i] = 0;
    for (size_t c = 0; c < classes; c++) {
        float *restrict row = rows + c * lanes;
        for (size_t i = 0; i < lanes; i++) {
            const float x = row[i] - b->largest[i];
            b->below[i] = b->labels[i] == (int32_t)c ? -x : b->below[i];
            row[i] = fast_exp(x);
            b->total[i] += row[i];
        }
    }
}

/* sum of log(total) + below. Products of totals need one logarithm for 64 positions and lose nothing: a total lies
   between 1 and 2^15, so 64 of them stay within the range of doubles. */
static double entropy(size_t lanes, const float *restrict total, const float *restrict below) {
    double product[LOSS_LANES], sum = 0;
    for (size_t k = 0; k < LOSS_LANES; k++) product[k] = 1;
    for (size_t i = 0; i < lanes; i += LOSS_LANES)
        for (size_t k = 0; k < LOSS_LANES; k++) product[k] *= (double)total[i + k];
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < lanes; i++) sum += (double)below[i];
    for (size_t k = 0; k < LOSS_LANES; k += 2) sum += log(product[k] * product[k + 1]);
    return sum;
}

static void normalise(size_t lanes, size_t classes, const int32_t *restrict labels, const float *restrict total,
                      float *restrict rows) {
    float inverse[LOSS_BLOCK];
    for (size_t i = 0; i < lanes; i++) inverse[i] = 1 / total[i];
    for (size_t c = 0; c < classes; c++)
        for (size_t i = 0; i < lanes; i++) {
            const float p = rows[c * lanes + i] * inverse[i];
            rows[c * lanes + i] = labels[i] < 0 ? 0 : p;
        }
}

/* Sums over a block in floats round less than the probabilities do; the sums of blocks are doubles. */
static void add_overlap(size_t lanes, size_t classes, const int32_t *restrict labels, const float *restrict rows,
                        loss_sums *sums) {
    for (size_t c = 1; c < classes; c++) {
        const float *restrict row = rows + c * lanes;
        float predicted = 0, hit = 0;
        int32_t present = 0;
#pragma omp simd reduction(+ : predicted, hit, present)
        for (size_t i = 0; i < lanes; i++) {
            const int32_t here = labels[i] == (int32_t)c;
            predicted += row[i];
            hit += here ? row[i] : 0.0f;
            present += here;
        }
        sums->predicted[c] += (double)predicted;
        sums->hit[c] += (double)hit;
        sums->present[c] += present;
    }
}

static INLINE void softmax_of(size_t count, size_t classes, const float *logits, const int16_t *labels,
                              float *probabilities, loss_sums *sums) {
    const size_t lanes = lanes_of(count);
    lane_block b;
    gather(count, classes, logits, probabilities);
    widen(count, labels, b.labels);
    count_labels(lanes, b.labels, sums);
    find_largest(lanes, classes, probabilities, b.largest);
    exponentiate(lanes, classes, &b, probabilities);
    for (size_t i = 0; i < lanes; i++) b.total[i] = b.labels[i] < 0 ? 1 : b.total[i];
    sums->cross_entropy += entropy(lanes, b.total, b.below);
    normalise(lanes, classes, b.labels, b.total, probabilities);
    if (sums->predicted) add_overlap(lanes, classes, b.labels, probabilities, sums);
}

static void softmax(size_t count, size_t classes, const float *logits, const int16_t *labels, float *probabilities,
                    loss_sums *sums) {
#define SOFTMAX(constant) softmax_of(count, constant, logits, labels, probabilities, sums)
    FOR_CLASSES(SOFTMAX, classes)
}

/* The slopes of one class where it is the label and elsewhere, and that of the cross entropy. */
typedef struct slope {
    int32_t class;
    float here, elsewhere, entropy;
} slope;

static INLINE slope slope_of(const loss_slopes *slopes, size_t c) {
    if (!slopes->always) return (slope){(int32_t)c, 0, 0, slopes->entropy};
    return (slope){(int32_t)c, slopes->always[c] + slopes->at_label[c], slopes->always[c], slopes->entropy};
}

/* The mean slope of the Dice loss under each position's probabilities, which the softmax takes off. */
static INLINE void mean_slopes(size_t lanes, size_t classes, const int32_t *restrict labels, const float *restrict rows,
                               const loss_slopes *slopes, float *restrict mean) {
    for (size_t i = 0; i < LOSS_BLOCK; i++) mean[i] = 0;
    for (size_t c = 1; slopes->always && c < classes; c++) {
        const slope slope = slope_of(slopes, c);
        for (size_t i = 0; i < lanes; i++)
            mean[i] += rows[c * lanes + i] * (labels[i] == (int32_t)c ? slope.here : slope.elsewhere);
    }
}

static INLINE void gradient_row(size_t lanes, slope slope, const int32_t *restrict labels, const float *restrict row,
                                const float *restrict mean, float *restrict result) {
    for (size_t i = 0; i < lanes; i++) {
        const float there = labels[i] == slope.class ? slope.here : slope.elsewhere;
        const float off = labels[i] == slope.class ? slope.entropy : 0;
        result[i] = row[i] * (there - mean[i] + slope.entropy) - off;
    }
}

static INLINE void scatter(size_t count, size_t lanes, size_t classes, size_t stride, const float *restrict rows,
                           float *restrict gradient) {
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < classes; c++) gradient[i * stride + c] = rows[c * lanes + i];
}

/* A few classes at a time, computed as rows and then written position by position. */
static INLINE void gradient_of(size_t count, size_t classes, const int16_t *labels, const float *rows,
                               const loss_slopes *slopes, float *gradient) {
    const size_t lanes = lanes_of(count);
    int32_t wide[LOSS_BLOCK];
    float mean[LOSS_BLOCK], results[GROUP * LOSS_BLOCK];
    widen(count, labels, wide);
    mean_slopes(lanes, classes, wide, rows, slopes, mean);
    for (size_t first = 0; first < classes; first += GROUP) {
        const size_t group = classes - first < GROUP ? classes - first : GROUP;
        for (size_t k = 0; k < group; k++)
            gradient_row(lanes, slope_of(slopes, first + k), wide, rows + (first + k) * lanes, mean,
                         results + k * lanes);
        scatter(count, lanes, group, classes, results, gradient + first);
    }
}

static void gradient(size_t count, size_t classes, const int16_t *labels, const float *probabilities,
                     const loss_slopes *slopes, float *gradient) {
#define GRADIENT(constant) gradient_of(count, constant, labels, probabilities, slopes, gradient)
    FOR_CLASSES(GRADIENT, classes)
}

/* ---- regions ----------------------------------------------------------------------------------------------------- */

static INLINE int32_t lies_in(int32_t label, size_t region) { return label >= 0 ? label >> region & 1 : 0; }

/* Sigmoids in place of logits. Cross entropy is log(1 + exp(-|x|)) + max(x, 0) - x y, y being 1
   inside of the region. */
static INLINE double sigmoid_row(size_t lanes, size_t region, lane_block *restrict b, float *restrict row) {
    for (size_t i = 0; i < lanes; i++) {
        const float x = row[i], small = fast_exp(x > 0 ? -x : x), total = 1 + small;
        const float inside = (float)lies_in(b->labels[i], region);
        const int counts = b->labels[i] >= 0;
        b->total[i] = counts ? total : 1;
        b->below[i] = counts ? (x > 0 ? x : 0) - x * inside : 0;
        row[i] = counts ? (x > 0 ? 1 : small) / total : 0;
    }
    return entropy(lanes, b->total, b->below);
}

static INLINE void add_region_overlap(size_t lanes, size_t region, const int32_t *restrict labels,
                                      const float *restrict row, loss_sums *sums) {
    float predicted = 0, hit = 0;
    int32_t present = 0;
#pragma omp simd reduction(+ : predicted, hit, present)
    for (size_t i = 0; i < lanes; i++) {
        const int32_t here = lies_in(labels[i], region);
        predicted += row[i];
        hit += here ? row[i] : 0.0f;
        present += here;
    }
    sums->predicted[region] += (double)predicted;
    sums->hit[region] += (double)hit;
    sums->present[region] += present;
}

static INLINE void sigmoid_of(size_t count, size_t classes, const float *logits, const int16_t *labels,
                              float *probabilities, loss_sums *sums) {
    const size_t lanes = lanes_of(count);
    lane_block b;
    gather(count, classes, logits, probabilities);
    widen(count, labels, b.labels);
    count_labels(lanes, b.labels, sums);
    for (size_t c = 0; c < classes; c++) {
        sums->cross_entropy += sigmoid_row(lanes, c, &b, probabilities + c * lanes);
        add_region_overlap(lanes, c, b.labels, probabilities + c * lanes, sums);
    }
}

static void sigmoid(size_t count, size_t classes, const float *logits, const int16_t *labels, float *probabilities,
                    loss_sums *sums) {
#define SIGMOID(constant) sigmoid_of(count, constant, logits, labels, probabilities, sums)
    FOR_CLASSES(SIGMOID, classes)
}

/* Where a position is ignored p is 0, and so is all of it. */
static INLINE void region_gradient_of(size_t count, size_t classes, const int16_t *labels, const float *rows,
                                      const loss_slopes *slopes, float *gradient) {
    const size_t lanes = lanes_of(count);
    int32_t wide[LOSS_BLOCK];
    float result[LOSS_BLOCK];
    widen(count, labels, wide);
    for (size_t c = 0; c < classes; c++) {
        const slope slope = slope_of(slopes, c);
        for (size_t i = 0; i < lanes; i++) {
            const int32_t here = lies_in(wide[i], c);
            const float p = rows[c * lanes + i], dice = here ? slope.here : slope.elsewhere;
            result[i] = dice * p * (1 - p) + slope.entropy * (p - (float)here);
        }
        for (size_t i = 0; i < count; i++) gradient[i * classes + c] = result[i];
    }
}

static void region_gradient(size_t count, size_t classes, const int16_t *labels, const float *probabilities,
                            const loss_slopes *slopes, float *gradient) {
#define REGION_GRADIENT(constant) region_gradient_of(count, constant, labels, probabilities, slopes, gradient)
    FOR_CLASSES(REGION_GRADIENT, classes)
}

extern const loss_kernels JOIN(loss_kernels_, KERNELS);
const loss_kernels JOIN(loss_kernels_, KERNELS) = {
    .name = TEXT(KERNELS),
    .softmax = softmax,
    .gradient = gradient,
    .sigmoid = sigmoid,
    .region_gradient = region_gradient,
};
