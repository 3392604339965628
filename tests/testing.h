/* What all tests share: cmocka, the sizes of long and short runs, and a few statistics. */
#ifndef HWS_TESTING_H
#define HWS_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka's fail() would hide ours (core/failure.h): fail_msg does without it. */
#undef fail
#undef fail_msg
#define fail_msg(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The short size, or with HWS_TEST_LONG in the environment (make test-long) the long one. */
static inline long test_size(long usual, long full) { return getenv("HWS_TEST_LONG") ? full : usual; }

/* A generator for test data, apart from the one under test (SplitMix64). */
static inline uint64_t test_random(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

static inline double test_unit(uint64_t *state) { return ((double)(test_random(state) >> 11) + 0.5) * 0x1p-53; }

static inline double test_normal(uint64_t *state) {
    return sqrt(-2 * log(test_unit(state))) * cos(6.283185307179586 * test_unit(state));
}

#define assert_close(value, expected, relative)                                                                        \
    do {                                                                                                               \
        const double value_ = (value), expected_ = (expected);                                                         \
        if (!(fabs(value_ - expected_) <= (relative)*fmax(fabs(expected_), 1e-300)))                                   \
            fail_msg("%s is %.17g, expected %.17g within %g", #value, value_, expected_, (double)(relative));          \
    } while (0)

#define assert_near(value, expected, absolute)                                                                         \
    do {                                                                                                               \
        const double value_ = (value), expected_ = (expected);                                                         \
        if (!(fabs(value_ - expected_) <= (absolute)))                                                                 \
            fail_msg("%s is %.17g, expected %.17g within %g", #value, value_, expected_, (double)(absolute));          \
    } while (0)

#endif
