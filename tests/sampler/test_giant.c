/* As many examples as a sampler can hold. Takes 10 GB and a minute or two: with HWS_TEST_LONG,
   where there is the memory. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "testing.h"

#include "core/available.h"
#include "hws.h"

#include <stdlib.h>
#include <sys/mman.h>

static const double NEEDED = 15e9; /* bytes */

static void skip_unless_possible(void) {
    if (!getenv("HWS_TEST_LONG") || memory_available() < NEEDED) skip();
}

/* Losses that are all zero and take no memory, as nobody writes to them. */
static float *zeros(void) {
    float *losses = mmap(NULL, (size_t)HWS_MAX_EXAMPLES * sizeof *losses, PROT_READ,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(losses != MAP_FAILED);
    return losses;
}

/* All examples are drawn alike, up to the last; then one of the last alone. */
static void assert_draws(hws_sampler *sampler) {
    const int64_t n = HWS_MAX_EXAMPLES, last = n - 3;
    const float large = 30000;
    int64_t drawn[64], upper = 0;
    assert_int_equal(hws_sampler_size(sampler), n);
    assert_int_equal(hws_sampler_draw(sampler, 64, drawn), HWS_OK);
    for (int k = 0; k < 64; k++) {
        assert_true(drawn[k] >= 0 && drawn[k] < n);
        upper += drawn[k] >= n / 2;
    }
    assert_true(upper > 10 && upper < 54); /* 32 on average; further away once in 10^8 times, and the seed is fixed */
    assert_int_equal(hws_sampler_update(sampler, 1, &last, &large), HWS_OK);
    assert_int_equal(hws_sampler_draw(sampler, 1, drawn), HWS_OK);
    assert_int_equal(drawn[0], last);
    double p;
    assert_int_equal(hws_sampler_probabilities(sampler, last, 1, &p), HWS_OK);
    assert_true(p > 0.999999);
}

static void the_largest_sampler_can_be_opened(void **state) {
    (void)state;
    skip_unless_possible();
    float *losses = zeros();
    hws_sampler *sampler;
    hws_options options = hws_options_default();
    options.beta = 1;
    assert_int_equal(hws_sampler_open(&sampler, HWS_MAX_EXAMPLES, losses, &options, NULL), HWS_OK);
    assert_draws(sampler);
    hws_sampler_close(&sampler);
    munmap(losses, (size_t)HWS_MAX_EXAMPLES * sizeof *losses);
}

static void a_sampler_grows_to_the_largest(void **state) {
    (void)state;
    skip_unless_possible();
    float *losses = zeros();
    hws_sampler *sampler;
    hws_options options = hws_options_default();
    options.beta = 1;
    assert_int_equal(hws_sampler_open(&sampler, 1000, losses, &options, NULL), HWS_OK);
    assert_int_equal(hws_sampler_grow(sampler, HWS_MAX_EXAMPLES - 999, losses), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_grow(sampler, HWS_MAX_EXAMPLES - 1000, losses), HWS_OK);
    assert_draws(sampler);
    assert_int_equal(hws_sampler_grow(sampler, 1, losses), HWS_ERROR_ARGUMENT);
    hws_sampler_close(&sampler);
    munmap(losses, (size_t)HWS_MAX_EXAMPLES * sizeof *losses);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_sampler_can_be_opened),
        cmocka_unit_test(a_sampler_grows_to_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
