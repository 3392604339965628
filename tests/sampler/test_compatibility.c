/* Programs that were built for an older or a newer hws.h than the library's. */
#include "hws.h"
#include "testing.h"

#include <stddef.h>

/* hws_options as a program knows it that was built when half of the options did not exist yet. */
typedef struct older_options {
    size_t size;
    double beta;
    hws_divergence divergence;
    uint64_t seed;
    double initial_loss;
} older_options;

/* And as one knows it that was built for a version to come. */
typedef struct newer_options {
    hws_options known;
    double trim;
    int weights[2];
} newer_options;

/* What lies behind a smaller struct is the program's own, and is neither read nor written. */
typedef struct older_place {
    older_options options;
    unsigned char after[sizeof(hws_options)];
} older_place;

static void assert_untouched(const older_place *place) {
    for (size_t k = 0; k < sizeof place->after; k++) assert_int_equal(place->after[k], 0xab);
}

static void test_an_older_program(void **state) {
    (void)state;
    older_place place;
    memset(&place, 0xab, sizeof place);
    hws_options *options = (hws_options *)&place.options;
    hws_options_init(options, sizeof place.options);
    assert_true(place.options.size == sizeof place.options && place.options.beta == 100);
    assert_true(place.options.divergence.kind == HWS_KL && isnan(place.options.initial_loss));
    assert_untouched(&place);

    place.options.beta = 3;
    place.options.divergence = (hws_divergence){.kind = HWS_CVAR, .parameter = 0.5};
    place.options.seed = 7;
    hws_sampler *sampler = NULL;
    hws_error error;
    assert_int_equal(hws_sampler_open(&sampler, 4, NULL, options, &error), HWS_OK);
    const hws_options found = hws_sampler_options(sampler);
    const hws_options defaults = hws_options_default();
    assert_true(found.size == sizeof found && found.beta == 3 && found.seed == 7 && isnan(found.initial_loss));
    assert_true(found.divergence.kind == HWS_CVAR && found.divergence.parameter == 0.5);
    assert_memory_equal(&found.jitter, &defaults.jitter, sizeof found - offsetof(hws_options, jitter));

    memset(&place, 0xab, sizeof place);
    hws_sampler_get_options(sampler, options, sizeof place.options);
    assert_true(place.options.size == sizeof place.options && place.options.beta == 3 && place.options.seed == 7);
    assert_untouched(&place);
    hws_sampler_close(&sampler);
}

/* The same program draws the same batches whether its struct is small or whole. */
static void test_an_older_program_draws_the_same(void **state) {
    (void)state;
    older_options older;
    hws_options_init((hws_options *)&older, sizeof older);
    hws_options whole = hws_options_default();
    older.seed = whole.seed = 11;
    hws_sampler *a = NULL, *b = NULL;
    assert_int_equal(hws_sampler_open(&a, 100, NULL, (const hws_options *)&older, NULL), HWS_OK);
    assert_int_equal(hws_sampler_open(&b, 100, NULL, &whole, NULL), HWS_OK);
    int64_t first[10], second[10];
    for (int t = 0; t < 10; t++) {
        float losses[10];
        assert_int_equal(hws_sampler_draw(a, 10, first), HWS_OK);
        assert_int_equal(hws_sampler_draw(b, 10, second), HWS_OK);
        assert_memory_equal(first, second, sizeof first);
        for (int j = 0; j < 10; j++) losses[j] = (float)(first[j] % 7);
        assert_int_equal(hws_sampler_update(a, 10, first, losses), HWS_OK);
        assert_int_equal(hws_sampler_update(b, 10, second, losses), HWS_OK);
    }
    hws_sampler_close(&a);
    hws_sampler_close(&b);
}

static void test_a_newer_program(void **state) {
    (void)state;
    newer_options newer;
    memset(&newer, 0xab, sizeof newer);
    hws_options_init(&newer.known, sizeof newer);
    assert_true(newer.known.size == sizeof newer && newer.known.beta == 100);
    assert_true(newer.trim == 0 && newer.weights[0] == 0 && newer.weights[1] == 0);

    hws_sampler *sampler = NULL;
    hws_error error;
    newer.known.beta = 5;
    assert_int_equal(hws_sampler_open(&sampler, 4, NULL, &newer.known, &error), HWS_OK);
    assert_true(hws_sampler_options(sampler).beta == 5);
    memset(&newer, 0xab, sizeof newer);
    hws_sampler_get_options(sampler, &newer.known, sizeof newer);
    assert_true(newer.known.size == sizeof newer && newer.known.beta == 5 && newer.trim == 0);
    hws_sampler_close(&sampler);

    /* An option that this library cannot obey must not be passed over, wherever its bytes are. */
    for (size_t k = sizeof(hws_options); k < sizeof newer; k++) {
        ((unsigned char *)&newer)[k] = 1;
        sampler = (hws_sampler *)1;
        assert_int_equal(hws_sampler_open(&sampler, 4, NULL, &newer.known, &error), HWS_ERROR_ARGUMENT);
        assert_null(sampler);
        assert_non_null(strstr(error.message, "built for a newer one"));
        assert_non_null(strstr(error.message, HWS_VERSION));
        ((unsigned char *)&newer)[k] = 0;
    }
}

static void test_sizes_that_are_none(void **state) {
    (void)state;
    static unsigned char place[65536];
    hws_options *options = (hws_options *)place;
    const size_t sizes[] = {0, 1, sizeof(size_t), sizeof(size_t) + 1, 5000, sizeof place, SIZE_MAX};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        hws_sampler *sampler = (hws_sampler *)1;
        hws_error error;
        options->size = sizes[k];
        assert_int_equal(hws_sampler_open(&sampler, 4, NULL, options, &error), HWS_ERROR_ARGUMENT);
        assert_null(sampler);
        assert_non_null(strstr(error.message, "hws_options_default()"));
    }
    hws_options_init(NULL, sizeof *options);
    hws_sampler_get_options(NULL, NULL, sizeof *options);
    options->size = 99;
    hws_options_init(options, sizeof options->size - 1);
    assert_int_equal(options->size, 99);
    hws_sampler_get_options(NULL, options, sizeof *options);
    assert_true(options->size == sizeof *options && options->beta == 100);
}

static void test_reserved_room(void **state) {
    (void)state;
    hws_error error;
    hws_sampler *sampler = NULL;
    hws_options options = hws_options_default();
    options.reserved = 1;
    assert_int_equal(hws_sampler_open(&sampler, 4, NULL, &options, &error), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "reserved is 1"));

    const float losses[2] = {1, 2};
    double p[2];
    for (size_t k = 0; k < sizeof options.divergence.reserved / sizeof *options.divergence.reserved; k++) {
        options = hws_options_default();
        options.divergence.reserved[k] = 1;
        assert_int_equal(hws_sampler_open(&sampler, 4, NULL, &options, &error), HWS_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "reserved room is not 0"));
        assert_int_equal(hws_divergence_probabilities(&options.divergence, 1, 2, losses, p, &error),
                         HWS_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "reserved room is not 0"));
    }

    hws_divergence parsed;
    memset(&parsed, 0xab, sizeof parsed);
    assert_int_equal(hws_divergence_parse("cvar:0.5", &parsed, NULL), HWS_OK);
    for (size_t k = 0; k < sizeof parsed.reserved / sizeof *parsed.reserved; k++) assert_true(parsed.reserved[k] == 0);

    assert_int_equal(hws_sampler_open(&sampler, 4, NULL, NULL, NULL), HWS_OK);
    hws_statistics statistics;
    memset(&statistics, 0xab, sizeof statistics);
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    for (size_t k = 0; k < sizeof statistics.reserved / sizeof *statistics.reserved; k++)
        assert_true(statistics.reserved[k] == 0);
    hws_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_older_program), cmocka_unit_test(test_an_older_program_draws_the_same),
        cmocka_unit_test(test_a_newer_program),  cmocka_unit_test(test_sizes_that_are_none),
        cmocka_unit_test(test_reserved_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
