/* The generator against known answers, and the portable functions against long double. */
#include "core/portable_math.h"
#include "core/random.h"
#include "testing.h"

enum { RANDOM_DRAW = 1, RANDOM_JITTER = 2, RANDOM_MIX = 3 };

static void philox_gives_the_published_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
         {UINT32_MAX, UINT32_MAX},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        uint32_t out[4];
        philox4x32(known[k].key, known[k].counter, out);
        assert_memory_equal(out, known[k].out, sizeof out);
    }
}

static void streams_are_decided_by_their_names(void **state) {
    (void)state;
    random_stream a, b;
    random_start(&a, 7, RANDOM_DRAW, 5, 3);
    random_start(&b, 7, RANDOM_DRAW, 5, 3);
    for (int k = 0; k < 10; k++) assert_int_equal(random_word(&a), random_word(&b));
    const uint64_t reference = random_word(&a);
    random_start(&b, 7, RANDOM_DRAW, 5, 4);
    assert_int_not_equal(reference, random_word(&b));
    random_start(&b, 7, RANDOM_MIX, 5, 3);
    assert_int_not_equal(reference, random_word(&b));
}

static void bits_come_in_order_and_number(void **state) {
    (void)state;
    random_stream whole, parts;
    random_start(&whole, 1, RANDOM_DRAW, 0, 0);
    random_start(&parts, 1, RANDOM_DRAW, 0, 0);
    const uint64_t word = random_word(&whole);
    uint64_t joined = 0;
    for (int k = 0; k < 64; k += 16) joined |= random_bits(&parts, 16) << k;
    assert_int_equal(word, joined);
    assert_int_equal(random_bits(&parts, 0), 0);
}

/* Counts of a small uniform variable, by a chi-square of 5 standard deviations. */
static void below_is_uniform(void **state) {
    (void)state;
    const uint64_t bounds[] = {1, 2, 3, 7, 100};
    const long draws = 200000;
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        long counts[100] = {0};
        random_stream random;
        random_start(&random, b, RANDOM_DRAW, 0, 0);
        for (long k = 0; k < draws; k++) {
            const uint64_t value = random_below(&random, bounds[b]);
            assert_true(value < bounds[b]);
            counts[value]++;
        }
        const double expected = (double)draws / (double)bounds[b], freedom = (double)bounds[b] - 1;
        double chi = 0;
        for (uint64_t v = 0; v < bounds[b]; v++) chi += pow((double)counts[v] - expected, 2) / expected;
        assert_true(chi <= freedom + 5 * sqrt(2 * freedom) + 1e-9);
    }
}

/* With a bound just above 2^63, a biased method would favour half of the values. */
static void below_has_no_bias_at_large_bounds(void **state) {
    (void)state;
    const uint64_t bound = (UINT64_C(1) << 63) + (UINT64_C(1) << 62);
    random_stream random;
    random_start(&random, 9, RANDOM_DRAW, 0, 0);
    const long draws = 300000;
    long low = 0;
    for (long k = 0; k < draws; k++) low += random_below(&random, bound) < bound / 3;
    assert_near((double)low / (double)draws, 1.0 / 3, 5 * sqrt(2.0 / 9 / (double)draws));
}

static void portable_multiplication_agrees(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int k = 0; k < 10000; k++) {
        const uint64_t a = test_random(&seed) >> (test_random(&seed) % 64), b = test_random(&seed);
        uint64_t low;
        const uint64_t high = multiply_high(a, b, &low);
        const uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
        const uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh + (uint32_t)middle;
        assert_int_equal(low, a * b);
        assert_int_equal(high, ah * bh + (middle >> 32) + (other >> 32));
    }
}

static void normals_have_their_moments(void **state) {
    (void)state;
    const int n = 200000;
    double sum = 0, squares = 0, fourth = 0;
    random_stream random;
    random_start(&random, 4, RANDOM_JITTER, 0, 0);
    for (int k = 0; k < n; k++) {
        const double x = random_normal(&random);
        sum += x;
        squares += x * x;
        fourth += x * x * x * x;
    }
    assert_near(sum / n, 0, 5 / sqrt(n));
    assert_near(squares / n, 1, 5 * sqrt(2.0 / n));
    assert_near(fourth / n, 3, 5 * sqrt(96.0 / n));
}

static void functions_are_accurate(void **state) {
    (void)state;
    uint64_t seed = 11;
    for (int k = 0; k < 200000; k++) {
        const double x = (test_unit(&seed) - 0.5) * pow(10, 6 * test_unit(&seed) - 3);
        if (fabs(x) < 700) {
            assert_close(hws_exp(x), (double)expl((long double)x), 4 * 0x1p-52);
            assert_close(hws_expm1(x), (double)expm1l((long double)x), 8 * 0x1p-52);
        }
        const double positive = exp((test_unit(&seed) - 0.5) * 1000);
        assert_close(hws_log(positive), (double)logl((long double)positive), 4 * 0x1p-52);
        const double base = 1e-3 + 10 * test_unit(&seed), power = 6 * test_unit(&seed) - 3;
        assert_close(hws_pow(base, power), (double)powl(base, power), 64 * 0x1p-52);
    }
    assert_true(hws_exp(-800) == 0 && isinf(hws_exp(800)) && hws_exp(0) == 1);
    assert_true(isinf(hws_log(0)) && hws_log(0) < 0 && isnan(hws_log(-1)) && hws_log(1) == 0);
    assert_true(hws_expm1(0) == 0 && hws_exp(709.7) < INFINITY);
}

static void wide_sums_keep_what_doubles_lose(void **state) {
    (void)state;
    wide_sum sum = {1e16, 0};
    for (int k = 0; k < 1000; k++) sum = wide_add_double(sum, 0.1);
    sum = wide_add_double(sum, -1e16);
    assert_near(sum.high + sum.low, 100, 1e-12);
    const wide_sum product = wide_product(1 + 0x1p-30, 1 - 0x1p-30);
    assert_true(product.high == 1 && product.low == -0x1p-60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_the_published_answers), cmocka_unit_test(streams_are_decided_by_their_names),
        cmocka_unit_test(bits_come_in_order_and_number),      cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(below_has_no_bias_at_large_bounds),  cmocka_unit_test(portable_multiplication_agrees),
        cmocka_unit_test(normals_have_their_moments),         cmocka_unit_test(functions_are_accurate),
        cmocka_unit_test(wide_sums_keep_what_doubles_lose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
