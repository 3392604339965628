/* Random numbers as the engine stores them, and the same in double for the references. */
#ifndef HWS_TESTS_NUMBERS_H
#define HWS_TESTS_NUMBERS_H

#include "guarded.h"
#include "nn/kernels.h"
#include "nn/vector.h"

/* How far a result that is rounded to its stored form may be off by that alone, relative to itself. */
static inline double rounding_of(precision precision) { return precision == PRECISION_F32 ? 0x1p-24 : 0x1p-8; }

static inline double number_at(precision precision, const void *numbers, size_t i) {
    if (precision == PRECISION_F32) return (double)((const float *)numbers)[i];
    return (double)float_from_bf16(((const uint16_t *)numbers)[i]);
}

static inline void store_number(precision precision, void *numbers, size_t i, double value) {
    if (precision == PRECISION_F32) ((float *)numbers)[i] = (float)value;
    else ((uint16_t *)numbers)[i] = float_to_bf16((float)value);
}

/* Between -2 and 2. */
static inline void store_random(precision precision, void *numbers, size_t count, uint64_t *seed) {
    for (size_t i = 0; i < count; i++) store_number(precision, numbers, i, 4 * test_unit(seed) - 2);
}

static inline guarded random_numbers(precision precision, size_t count, uint64_t *seed) {
    guarded g = guarded_open(count * precision_bytes(precision));
    store_random(precision, g.data, count, seed);
    return g;
}

static inline double *doubles(size_t count) {
    double *values = calloc(count ? count : 1, sizeof *values);
    assert_non_null(values);
    return values;
}

static inline double *exact_numbers(precision precision, const void *numbers, size_t count) {
    double *values = doubles(count);
    for (size_t i = 0; i < count; i++) values[i] = number_at(precision, numbers, i);
    return values;
}

static inline double *absolute(const double *values, size_t count) {
    double *magnitudes = doubles(count);
    for (size_t i = 0; i < count; i++) magnitudes[i] = fabs(values[i]);
    return magnitudes;
}

/* |value - expected| <= bound * magnitude (of what was summed) + the rounding of the stored result. */
static inline void check_numbers(const char *what, precision precision, const void *numbers, size_t count,
                                 const double *expected, const double *magnitude, double bound) {
    for (size_t i = 0; i < count; i++) {
        const double value = number_at(precision, numbers, i), error = fabs(value - expected[i]);
        const double allowed = bound * magnitude[i] + 1.01 * rounding_of(precision) * fabs(expected[i]);
        if (!(error <= allowed))
            fail_msg("%s: number %zu of %zu is %.9g, expected %.9g: %.3g of the sum of absolute products, %.3g allowed",
                     what, i, count, value, expected[i], error / magnitude[i], allowed / magnitude[i]);
    }
}

#endif
