/* Every function of hws.h: what it does, where its ranges end, and what it leaves alone when it refuses. */
#include "every_divergence.h"
#include "hws.h"
#include "opened.h"
#include "testing.h"

#include <float.h>

/* ---- helpers --------------------------------------------------------------------------------------------------- */

static hws_options options_with(double beta, hws_divergence divergence) {
    hws_options options = hws_options_default();
    options.beta = beta;
    options.divergence = divergence;
    options.initial_loss = 1;
    return options;
}

static void fill_normal(float *losses, int64_t n, double mean, double deviation, uint64_t seed) {
    for (int64_t i = 0; i < n; i++) losses[i] = (float)(mean + deviation * test_normal(&seed));
}

static float loss_of(hws_sampler *sampler, int64_t example) {
    float loss = NAN;
    assert_int_equal(hws_sampler_get_losses(sampler, example, 1, &loss), HWS_OK);
    return loss;
}

static void assert_losses(hws_sampler *sampler, const float *expected) {
    for (int64_t i = 0; i < hws_sampler_size(sampler); i++)
        assert_memory_equal(&(float){loss_of(sampler, i)}, &expected[i], sizeof(float));
}

/* The call must have failed like this, and have said so. */
static void assert_error(const hws_sampler *sampler, hws_status status, hws_status expected, int64_t position,
                         int64_t example) {
    const hws_error *error = hws_sampler_error(sampler);
    assert_int_equal(status, expected);
    assert_int_equal(error->status, expected);
    assert_int_equal(error->position, position);
    assert_int_equal(error->example, example);
    assert_true(strlen(error->message) > 0);
    assert_true(strlen(error->message) < sizeof error->message);
}

static void assert_total(hws_sampler *sampler, double tolerance) {
    const int64_t n = hws_sampler_size(sampler);
    double *p = malloc((size_t)n * sizeof *p), sum = 0;
    assert_int_equal(hws_sampler_probabilities(sampler, 0, n, p), HWS_OK);
    for (int64_t i = 0; i < n; i++) {
        assert_true(p[i] >= 0 && p[i] <= 1 + tolerance);
        sum += p[i];
    }
    free(p);
    assert_near(sum, 1, tolerance);
}

static void assert_total_is_one(hws_sampler *sampler) { assert_total(sampler, 1e-11); }

/* p-bar, then floor and mixing, as plain loops. */
static void expected_probabilities(const hws_options *options, int64_t n, const float *losses, double *p) {
    assert_int_equal(hws_divergence_probabilities(&options->divergence, options->beta, n, losses, p, NULL), HWS_OK);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        p[i] = options->floor > 0 ? fmax(p[i], options->floor / (double)n)
                                  : (1 - options->uniform_mix) * p[i] + options->uniform_mix / (double)n;
        total += p[i];
    }
    for (int64_t i = 0; i < n; i++) p[i] /= total;
}

/* ---- status, options, open ------------------------------------------------------------------------------------- */

static void test_status_texts(void **state) {
    (void)state;
    assert_string_equal(hws_version(), HWS_VERSION);
    for (int status = HWS_OK; status <= HWS_ERROR_NO_LOSS; status++)
        assert_true(strlen(hws_status_text((hws_status)status)) > 3);
    assert_string_equal(hws_status_text(HWS_OK), "done");
    assert_non_null(hws_status_text((hws_status)13));
    assert_int_equal(HWS_ERROR_NO_LOSS, 12);
}

static void test_defaults(void **state) {
    (void)state;
    const hws_options options = hws_options_default();
    assert_true(options.beta == 100 && options.divergence.kind == HWS_KL && options.seed == 0);
    assert_true(isnan(options.initial_loss) && options.jitter == 0 && options.momentum == 0 && options.tail == 0);
    assert_true(options.replacement == 0 && options.floor == 0 && options.uniform_mix == 0);
    assert_true(options.importance == HWS_IMPORTANCE_APPROXIMATE && options.keep_counts == 0);
    assert_true(options.weight_min == 0.1 && options.weight_max == 10);

    hws_sampler *sampler = opened(5, NULL, NULL);
    const hws_options kept = hws_sampler_options(sampler);
    assert_true(kept.beta == 100 && kept.divergence.kind == HWS_KL && kept.weight_max == 10);
    for (int64_t i = 0; i < 5; i++) assert_true(isnan(loss_of(sampler, i)));
    assert_int_equal(hws_sampler_unseen(sampler), 5);
    assert_int_equal(hws_sampler_draws_made(sampler), 0);
    assert_int_equal(hws_sampler_updates_made(sampler), 0);
    assert_int_equal(hws_sampler_error(sampler)->status, HWS_OK);
    hws_sampler_close(&sampler);
    assert_null(sampler);
}

static void assert_opens(const hws_options *options, int valid, const char *what, double value) {
    hws_sampler *sampler = (hws_sampler *)1;
    const hws_status status = hws_sampler_open(&sampler, 4, NULL, options, NULL);
    if (valid != (status == HWS_OK) || valid != (sampler != NULL) || (!valid && status != HWS_ERROR_ARGUMENT))
        fail_msg("%s = %g gives \"%s\"", what, value, hws_status_text(status));
    hws_sampler_close(&sampler);
}

static void test_option_ranges(void **state) {
    (void)state;
#define CASE(field, value, valid)                                                                                      \
    { #field, offsetof(hws_options, field), value, valid }
    static const struct {
        const char *name;
        size_t offset;
        double value;
        int valid;
    } cases[] = {
        CASE(beta, 0, 1),
        CASE(beta, 1e15, 1),
        CASE(beta, 5e-324, 1),
        CASE(beta, -1e-9, 0),
        CASE(beta, NAN, 0),
        CASE(beta, INFINITY, 0),
        CASE(initial_loss, 0, 1),
        CASE(initial_loss, -5, 1),
        CASE(initial_loss, FLT_MAX, 1),
        CASE(initial_loss, 1e39, 0),
        CASE(initial_loss, NAN, 1),
        CASE(initial_loss, INFINITY, 0),
        CASE(initial_loss, -INFINITY, 0),
        CASE(tail, 0, 1),
        CASE(tail, 1e-9, 1),
        CASE(tail, 1, 1),
        CASE(tail, 1.01, 0),
        CASE(tail, 2, 0),
        CASE(tail, -0.1, 0),
        CASE(tail, NAN, 0),
        CASE(tail, INFINITY, 0),
        CASE(jitter, 1, 1),
        CASE(jitter, -0.1, 0),
        CASE(jitter, 1.1, 0),
        CASE(jitter, NAN, 0),
        CASE(momentum, 0.999, 1),
        CASE(momentum, 1, 0),
        CASE(momentum, -0.1, 0),
        CASE(momentum, NAN, 0),
        CASE(floor, 1, 1),
        CASE(floor, -1e-9, 0),
        CASE(floor, 1.01, 0),
        CASE(floor, NAN, 0),
        CASE(uniform_mix, 1, 1),
        CASE(uniform_mix, -0.1, 0),
        CASE(uniform_mix, 1.1, 0),
        CASE(uniform_mix, NAN, 0),
        CASE(weight_min, 0, 1),
        CASE(weight_min, 10, 1),
        CASE(weight_min, 10.1, 0),
        CASE(weight_min, -1, 0),
        CASE(weight_min, NAN, 0),
        CASE(weight_min, INFINITY, 0),
        CASE(weight_max, INFINITY, 1),
        CASE(weight_max, 0.1, 1),
        CASE(weight_max, 0.05, 0),
        CASE(weight_max, NAN, 0),
        CASE(weight_max, -1, 0),
    };
#undef CASE
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hws_options options = hws_options_default();
        memcpy((char *)&options + cases[k].offset, &cases[k].value, sizeof(double));
        assert_opens(&options, cases[k].valid, cases[k].name, cases[k].value);
    }
}

static void test_option_combinations(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.floor = options.uniform_mix = 0.1;
    assert_opens(&options, 0, "floor and uniform_mix", 0.1);
    options = hws_options_default();
    options.importance = (hws_importance)3;
    assert_opens(&options, 0, "importance", 3);
    for (int kind = 8; kind < 1000; kind += 991) {
        options = hws_options_default();
        options.divergence.kind = (hws_divergence_kind)kind;
        assert_opens(&options, 0, "kind", kind);
    }
    static const struct {
        hws_divergence_kind kind;
        double parameter;
        int valid;
    } cases[] = {
        {HWS_CVAR, 1, 1},
        {HWS_CVAR, 1e-300, 1},
        {HWS_CVAR, 0, 0},
        {HWS_CVAR, -0.5, 0},
        {HWS_CVAR, 1.01, 0},
        {HWS_CVAR, NAN, 0},
        {HWS_CRESSIE_READ, 100, 1},
        {HWS_CRESSIE_READ, -100, 1},
        {HWS_CRESSIE_READ, 0, 1},
        {HWS_CRESSIE_READ, 101, 0},
        {HWS_CRESSIE_READ, -101, 0},
        {HWS_CRESSIE_READ, NAN, 0},
        {HWS_CRESSIE_READ, INFINITY, 0},
        {HWS_KL, NAN, 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        options = options_with(1, (hws_divergence){.kind = cases[k].kind, .parameter = cases[k].parameter});
        assert_opens(&options, cases[k].valid, "parameter", cases[k].parameter);
    }
}

static void test_open(void **state) {
    (void)state;
    const float good[3] = {1, -2, 0}, bad[3] = {1, INFINITY, 0}, infinite[3] = {-INFINITY, 1, 0};
    hws_sampler *sampler = (hws_sampler *)1;
    assert_int_equal(hws_sampler_open(NULL, 3, good, NULL, NULL), HWS_ERROR_ARGUMENT);
    for (int k = 0; k < 4; k++) {
        const int64_t sizes[] = {0, -1, INT64_MIN, HWS_MAX_EXAMPLES + 1};
        sampler = (hws_sampler *)1;
        assert_int_equal(hws_sampler_open(&sampler, sizes[k], NULL, NULL, NULL), HWS_ERROR_ARGUMENT);
        assert_null(sampler);
    }
    sampler = (hws_sampler *)1;
    assert_int_equal(hws_sampler_open(&sampler, 3, bad, NULL, NULL), HWS_ERROR_NOT_FINITE);
    assert_null(sampler);
    assert_int_equal(hws_sampler_open(&sampler, 3, infinite, NULL, NULL), HWS_ERROR_NOT_FINITE);
    sampler = opened(3, good, NULL);
    assert_losses(sampler, good);
    hws_sampler_close(&sampler);
    hws_sampler_close(&sampler);
    hws_sampler_close(NULL);
}

static void test_memory_per_example(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    hws_sampler *sampler = opened(1000000, NULL, &options);
    assert_true((double)hws_sampler_memory(sampler) <= 5e6);
    hws_sampler_close(&sampler);
    options.keep_counts = 1;
    sampler = opened(1000000, NULL, &options);
    const size_t before = hws_sampler_memory(sampler);
    assert_true(before > 20000000 && before <= 21000000);
    int64_t batch[1000];
    assert_int_equal(hws_sampler_draw(sampler, 1000, batch), HWS_OK);
    assert_true(hws_sampler_memory(sampler) >= before + 1000 * sizeof *batch);
    hws_sampler_close(&sampler);
}

/* ---- the history ----------------------------------------------------------------------------------------------- */

static void test_losses_ranges(void **state) {
    (void)state;
    const float losses[6] = {0, 1, 2, 3, 4, 5};
    hws_sampler *sampler = opened(6, losses, NULL);
    float out[6] = {9, 9, 9, 9, 9, 9};
    const struct {
        int64_t first, count;
        hws_status status;
    } cases[] = {
        {0, 6, HWS_OK},
        {2, 3, HWS_OK},
        {6, 0, HWS_OK},
        {0, 0, HWS_OK},
        {0, 7, HWS_ERROR_INDEX},
        {6, 1, HWS_ERROR_INDEX},
        {-1, 1, HWS_ERROR_INDEX},
        {7, 0, HWS_ERROR_INDEX},
        {3, INT64_MAX, HWS_ERROR_INDEX},
        {INT64_MAX, INT64_MAX, HWS_ERROR_INDEX},
        {INT64_MIN, 0, HWS_ERROR_INDEX},
        {0, -1, HWS_ERROR_ARGUMENT},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_int_equal(hws_sampler_get_losses(sampler, cases[k].first, cases[k].count, out), cases[k].status);
        if (cases[k].status == HWS_ERROR_INDEX) {
            assert_error(sampler, HWS_ERROR_INDEX, HWS_ERROR_INDEX, -1, cases[k].first);
            assert_int_equal(hws_sampler_set_losses(sampler, cases[k].first, cases[k].count, losses), HWS_ERROR_INDEX);
        }
    }
    assert_int_equal(hws_sampler_get_losses(sampler, 0, 1, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_set_losses(sampler, 0, 1, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_set_losses(sampler, 0, 0, NULL), HWS_OK);
    assert_losses(sampler, losses);
    hws_sampler_close(&sampler);
}

static void test_set_losses(void **state) {
    (void)state;
    enum { N = 300 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(2, divergence_number(d));
        float losses[N], fresh[N];
        fill_normal(losses, N, 0, 1, 1);
        fill_normal(fresh, N, 0, 1, 2);
        hws_sampler *sampler = opened(N, losses, &options);
        int64_t batch[3];
        assert_int_equal(hws_sampler_draw(sampler, 3, batch), HWS_OK);
        fresh[7] = -INFINITY;
        assert_error(sampler, hws_sampler_set_losses(sampler, 100, 10, fresh), HWS_ERROR_NOT_FINITE, 7, 107);
        assert_losses(sampler, losses);
        fresh[7] = 0.5f;
        /* A short range, a long one and all of it take different ways. */
        const struct { int64_t first, count; } ranges[] = {{290, 10}, {10, 200}, {0, N}, {5, 1}};
        for (size_t k = 0; k < 4; k++) {
            fill_normal(fresh, ranges[k].count, 0, 1, 3 + k);
            memcpy(losses + ranges[k].first, fresh, (size_t)ranges[k].count * sizeof *fresh);
            assert_int_equal(hws_sampler_set_losses(sampler, ranges[k].first, ranges[k].count, fresh), HWS_OK);
            assert_losses(sampler, losses);
            double p[N], expected[N];
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
            expected_probabilities(&options, N, losses, expected);
            for (int i = 0; i < N; i++) assert_near(p[i], expected[i], 1e-11);
        }
        assert_int_equal(hws_sampler_updates_made(sampler), 0);
        hws_sampler_close(&sampler);
    }
}

static void test_update_is_all_or_nothing(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(2, divergence_number(d));
        options.keep_counts = 1;
        const float losses[5] = {1, 2, 3, 4, 5};
        hws_sampler *sampler = opened(5, losses, &options);
        const struct {
            int64_t index;
            float loss;
            hws_status status;
        } bad[] = {{3, NAN, HWS_ERROR_NOT_FINITE},
                   {3, INFINITY, HWS_ERROR_NOT_FINITE},
                   {3, -INFINITY, HWS_ERROR_NOT_FINITE},
                   {5, 1, HWS_ERROR_INDEX},
                   {-1, 1, HWS_ERROR_INDEX},
                   {INT64_MAX, 1, HWS_ERROR_INDEX},
                   {INT64_MIN, NAN, HWS_ERROR_INDEX}};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
            for (int position = 0; position < 3; position++) {
                int64_t indices[3] = {0, 1, 2};
                float fresh[3] = {7, 8, 9}, weights[3] = {-1, -1, -1};
                indices[position] = bad[k].index;
                fresh[position] = bad[k].loss;
                assert_error(sampler, hws_sampler_update(sampler, 3, indices, fresh), bad[k].status, position,
                             bad[k].index);
                assert_error(sampler, hws_sampler_importance(sampler, 3, indices, fresh, weights), bad[k].status,
                             position, bad[k].index);
                assert_true(weights[0] == -1 && weights[1] == -1 && weights[2] == -1);
            }
        const int64_t index = 0;
        const float fresh = 1;
        assert_int_equal(hws_sampler_update(sampler, -1, &index, &fresh), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_update(sampler, 1, NULL, &fresh), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_update(sampler, 1, &index, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_importance(sampler, 1, &index, &fresh, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_updates_made(sampler), 0);
        assert_losses(sampler, losses);
        uint64_t age;
        assert_int_equal(hws_sampler_ages(sampler, 3, 1, &age), HWS_OK);
        assert_int_equal(age, 0);
        hws_sampler_close(&sampler);
    }
}

static void test_error_message_names_the_example(void **state) {
    (void)state;
    hws_sampler *sampler = opened(50, NULL, NULL);
    const int64_t indices[2] = {4, 42};
    const float losses[2] = {1, NAN};
    assert_error(sampler, hws_sampler_update(sampler, 2, indices, losses), HWS_ERROR_NOT_FINITE, 1, 42);
    assert_non_null(strstr(hws_sampler_error(sampler)->message, "42"));
    assert_non_null(strstr(hws_sampler_error(sampler)->message, "position 1"));
    hws_sampler_close(&sampler);
}

static void test_update(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int with_momentum = 0; with_momentum < 2; with_momentum++) {
            hws_options options = options_with(2, divergence_number(d));
            options.momentum = with_momentum ? 0.75 : 0;
            float losses[4] = {1, 2, 3, 4};
            hws_sampler *sampler = opened(4, losses, &options);
            assert_int_equal(hws_sampler_update(sampler, 0, NULL, NULL), HWS_OK);
            /* Example 1 stands three times: only the last counts, against the loss from before the call. */
            const int64_t indices[5] = {1, 3, 1, 0, 1};
            const float fresh[5] = {100, 8, -50, 1, 6};
            assert_int_equal(hws_sampler_update(sampler, 5, indices, fresh), HWS_OK);
            losses[1] = with_momentum ? 0.75f * 2 + 0.25f * 6 : 6;
            losses[3] = with_momentum ? 0.75f * 4 + 0.25f * 8 : 8;
            assert_losses(sampler, losses);
            assert_int_equal(hws_sampler_updates_made(sampler), 2);
            double p[4], expected[4];
            assert_int_equal(hws_sampler_probabilities(sampler, 0, 4, p), HWS_OK);
            expected_probabilities(&options, 4, losses, expected);
            for (int i = 0; i < 4; i++) assert_near(p[i], expected[i], 1e-12);
            hws_sampler_close(&sampler);
        }
}

static void test_grow(void **state) {
    (void)state;
    enum { N = 30, MORE = 300 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(3, divergence_number(d));
        options.keep_counts = 1;
        float losses[N + MORE];
        fill_normal(losses, N + MORE, 0, 1, d);
        for (int i = N; i < N + MORE; i++) losses[i] += 20;
        hws_sampler *sampler = opened(N, losses, &options);
        int64_t batch[5];
        for (int t = 0; t < 4; t++) {
            assert_int_equal(hws_sampler_draw(sampler, 3, batch), HWS_OK);
            assert_int_equal(hws_sampler_update(sampler, 1, &(int64_t){t}, &losses[t]), HWS_OK);
        }
        uint64_t draws[N + MORE], drawn_before[N], ages[N + MORE];
        assert_int_equal(hws_sampler_draw_counts(sampler, 0, N, drawn_before), HWS_OK);

        const float infinite[2] = {1, INFINITY};
        assert_error(sampler, hws_sampler_grow(sampler, 2, infinite), HWS_ERROR_NOT_FINITE, 1, N + 1);
        assert_error(sampler, hws_sampler_grow(sampler, -1, NULL), HWS_ERROR_ARGUMENT, -1, -1);
        assert_error(sampler, hws_sampler_grow(sampler, INT64_MAX, NULL), HWS_ERROR_ARGUMENT, -1, -1);
        assert_int_equal(hws_sampler_grow(sampler, 0, NULL), HWS_OK);
        assert_int_equal(hws_sampler_size(sampler), N);
        assert_int_equal(hws_sampler_grow(sampler, MORE, losses + N), HWS_OK);
        assert_int_equal(hws_sampler_size(sampler), N + MORE);
        assert_losses(sampler, losses);
        assert_int_equal(hws_sampler_draw_counts(sampler, 0, N + MORE, draws), HWS_OK);
        assert_memory_equal(draws, drawn_before, sizeof drawn_before);
        assert_int_equal(hws_sampler_ages(sampler, 0, N + MORE, ages), HWS_OK);
        for (int i = 0; i < N + MORE; i++) {
            assert_int_equal(ages[i], i < 4 ? 3 - i : i < N ? 4 : 0);
            if (i >= N) assert_int_equal(draws[i], 0);
        }
        double p[N + MORE], expected[N + MORE];
        assert_int_equal(hws_sampler_probabilities(sampler, 0, N + MORE, p), HWS_OK);
        expected_probabilities(&options, N + MORE, losses, expected);
        for (int i = 0; i < N + MORE; i++) assert_near(p[i], expected[i], 1e-12);
        int64_t fresh = 0;
        for (int t = 0; t < 20; t++) {
            assert_int_equal(hws_sampler_draw(sampler, 5, batch), HWS_OK);
            for (int j = 0; j < 5; j++) fresh += batch[j] >= N;
        }
        assert_true(fresh > 50);
        hws_sampler_close(&sampler);
    }
}

static void test_grown_equals_opened(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.initial_loss = 1;
    options.jitter = 1e-2;
    options.seed = 99;
    hws_sampler *grown = opened(100, NULL, &options), *whole = opened(400, NULL, &options);
    assert_int_equal(hws_sampler_grow(grown, 50, NULL), HWS_OK);
    assert_int_equal(hws_sampler_grow(grown, 250, NULL), HWS_OK);
    int64_t a[8], b[8];
    for (int64_t i = 0; i < 400; i++) assert_true(loss_of(grown, i) == loss_of(whole, i));
    for (int t = 0; t < 50; t++) {
        assert_int_equal(hws_sampler_draw(grown, 8, a), HWS_OK);
        assert_int_equal(hws_sampler_draw(whole, 8, b), HWS_OK);
        assert_memory_equal(a, b, sizeof a);
    }
    hws_sampler_close(&grown);
    hws_sampler_close(&whole);
}

static void test_hardest(void **state) {
    (void)state;
    enum { N = 500 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(2, divergence_number(d));
        float losses[N];
        uint64_t random = d;
        /* Few values, so that most tie; both zeros are one loss. */
        for (int i = 0; i < N; i++) losses[i] = (float)(test_random(&random) % 20) - 10;
        losses[17] = -0.0f;
        hws_sampler *sampler = opened(N, losses, &options);
        int64_t sorted[N], found[N];
        for (int i = 0; i < N; i++) {
            int at = i;
            for (; at > 0 && losses[sorted[at - 1]] < losses[i]; at--) sorted[at] = sorted[at - 1];
            sorted[at] = i;
        }
        for (int k = 0; k <= N; k += k < 5 ? 1 : 45) {
            float values[N];
            memset(found, -1, sizeof found);
            assert_int_equal(hws_sampler_hardest(sampler, k, found, values), HWS_OK);
            assert_memory_equal(found, sorted, (size_t)k * sizeof *found);
            for (int j = 0; j < k; j++) assert_true(values[j] == losses[sorted[j]]);
            if (k < N) assert_int_equal(found[k], -1);
        }
        assert_int_equal(hws_sampler_hardest(sampler, N, found, NULL), HWS_OK);
        assert_memory_equal(found, sorted, sizeof found);
        assert_int_equal(hws_sampler_hardest(sampler, N + 1, found, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_hardest(sampler, -1, found, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_hardest(sampler, 1, NULL, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_hardest(sampler, 0, NULL, NULL), HWS_OK);
        hws_sampler_close(&sampler);
    }
}

/* ---- ages and counts ------------------------------------------------------------------------------------------- */

static void test_counts_are_not_kept_unless_asked(void **state) {
    (void)state;
    hws_sampler *sampler = opened(3, NULL, NULL);
    uint64_t values[3] = {5, 5, 5};
    int64_t cursor = 0, example = 7;
    assert_error(sampler, hws_sampler_ages(sampler, 0, 3, values), HWS_ERROR_NOT_KEPT, -1, -1);
    assert_error(sampler, hws_sampler_draw_counts(sampler, 0, 3, values), HWS_ERROR_NOT_KEPT, -1, -1);
    assert_error(sampler, hws_sampler_next_stale(sampler, 0, &cursor, &example), HWS_ERROR_NOT_KEPT, -1, -1);
    assert_true(values[0] == 5 && values[2] == 5 && cursor == 0 && example == 7);
    hws_statistics statistics;
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_true(statistics.oldest_age == 0 && statistics.never_drawn == 0);
    hws_sampler_close(&sampler);
}

static void test_counts(void **state) {
    (void)state;
    enum { N = 40, ROUNDS = 200 };
    for (int replacement = 0; replacement < 2; replacement++) {
        hws_options options = options_with(1, (hws_divergence){.kind = HWS_KL});
        options.keep_counts = 1;
        options.replacement = replacement;
        float losses[N];
        fill_normal(losses, N, 0, 1, 5);
        losses[33] = -100; /* never drawn */
        hws_sampler *sampler = opened(N, losses, &options);
        uint64_t expected_draws[N] = {0}, last[N] = {0}, values[N];
        for (uint64_t t = 1; t <= ROUNDS; t++) {
            int64_t batch[4];
            assert_int_equal(hws_sampler_draw(sampler, 4, batch), HWS_OK);
            for (int j = 0; j < 4; j++) expected_draws[batch[j]]++;
            assert_int_equal(hws_sampler_update(sampler, 2, batch, losses), HWS_OK);
            last[batch[0]] = last[batch[1]] = t;
        }
        assert_int_equal(hws_sampler_draws_made(sampler), ROUNDS);
        assert_int_equal(hws_sampler_draw_counts(sampler, 0, N, values), HWS_OK);
        assert_memory_equal(values, expected_draws, sizeof values);
        assert_int_equal(hws_sampler_ages(sampler, 0, N, values), HWS_OK);
        uint64_t oldest = 0;
        int64_t never = 0;
        for (int i = 0; i < N; i++) {
            assert_int_equal(values[i], ROUNDS - last[i]);
            oldest = values[i] > oldest ? values[i] : oldest;
            never += expected_draws[i] == 0;
        }
        hws_statistics statistics;
        assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
        assert_int_equal(statistics.oldest_age, oldest);
        assert_int_equal(statistics.never_drawn, never);
        assert_true(never >= 1);

        int64_t cursor = 0, example = 0, expected = 0;
        for (;;) {
            while (expected < N && values[expected] < 20) expected++;
            assert_int_equal(hws_sampler_next_stale(sampler, 20, &cursor, &example), HWS_OK);
            assert_int_equal(example, expected < N ? expected : -1);
            if (example < 0) break;
            assert_int_equal(cursor, ++expected);
        }
        assert_int_equal(hws_sampler_next_stale(sampler, 20, &cursor, &example), HWS_OK);
        assert_int_equal(example, -1);
        cursor = 0;
        assert_int_equal(hws_sampler_next_stale(sampler, UINT64_MAX, &cursor, &example), HWS_OK);
        assert_int_equal(example, -1);
        cursor = INT64_MAX;
        assert_int_equal(hws_sampler_next_stale(sampler, 0, &cursor, &example), HWS_OK);
        assert_int_equal(example, -1);
        cursor = -1;
        assert_int_equal(hws_sampler_next_stale(sampler, 0, &cursor, &example), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_next_stale(sampler, 0, NULL, &example), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_next_stale(sampler, 0, &cursor, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_ages(sampler, 30, 11, values), HWS_ERROR_INDEX);
        assert_int_equal(hws_sampler_draw_counts(sampler, -1, 1, values), HWS_ERROR_INDEX);
        assert_int_equal(hws_sampler_ages(sampler, 0, 1, NULL), HWS_ERROR_ARGUMENT);
        hws_sampler_close(&sampler);
    }
}

/* ---- draws ----------------------------------------------------------------------------------------------------- */

static void assert_refused_draw(hws_sampler *sampler, int64_t count, hws_status expected) {
    int64_t batch[64];
    memset(batch, 0x5a, sizeof batch);
    const uint64_t made = hws_sampler_draws_made(sampler);
    assert_error(sampler, hws_sampler_draw(sampler, count, batch), expected, -1, -1);
    for (int j = 0; j < 64; j++) assert_int_equal(batch[j], INT64_C(0x5a5a5a5a5a5a5a5a));
    assert_int_equal(hws_sampler_draws_made(sampler), made);
}

static void test_draw_arguments(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(0.01, divergence_number(d));
        const float losses[6] = {1, 2, 3, 4, 5, 6};
        hws_sampler *sampler = opened(6, losses, &options);
        assert_int_equal(hws_sampler_draw(sampler, 0, NULL), HWS_OK);
        assert_refused_draw(sampler, -1, HWS_ERROR_ARGUMENT);
        assert_refused_draw(sampler, INT64_MIN, HWS_ERROR_ARGUMENT);
        assert_refused_draw(sampler, INT64_MAX, HWS_ERROR_ARGUMENT);
        assert_refused_draw(sampler, 7, HWS_ERROR_TOO_FEW);
        assert_refused_draw(sampler, HWS_MAX_EXAMPLES, HWS_ERROR_TOO_FEW);
        assert_int_equal(hws_sampler_draw(sampler, 1, NULL), HWS_ERROR_ARGUMENT);
        hws_sampler_close(&sampler);
    }
}

static void assert_drawable(hws_sampler *sampler, int64_t expected) {
    int64_t drawable = -1, batch[64];
    assert_int_equal(hws_sampler_drawable(sampler, &drawable), HWS_OK);
    assert_int_equal(drawable, expected);
    assert_refused_draw(sampler, drawable + 1, HWS_ERROR_TOO_FEW);
    for (int t = 0; t < 5; t++) {
        char seen[64] = {0};
        assert_int_equal(hws_sampler_draw(sampler, drawable, batch), HWS_OK);
        for (int64_t j = 0; j < drawable; j++) {
            assert_in_range(batch[j], 0, 63);
            assert_false(seen[batch[j]]++);
            double p = 0;
            assert_int_equal(hws_sampler_probability(sampler, batch[j], &p), HWS_OK);
            assert_true(p > 0);
        }
    }
    assert_int_equal(hws_sampler_drawable(sampler, NULL), HWS_ERROR_ARGUMENT);
}

static void test_more_than_can_be_drawn(void **state) {
    (void)state;
    float losses[20];
    for (int i = 0; i < 20; i++) losses[i] = (float)i;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_divergence divergence = divergence_number(d);
        hws_options options = options_with(3, divergence);
        double p[20];
        int64_t positive = 0;
        expected_probabilities(&options, 20, losses, p);
        for (int i = 0; i < 20; i++) positive += p[i] > 0;
        if (divergence.kind == HWS_CVAR) assert_int_equal(positive, 6);
        if (divergence.kind == HWS_CHI2) assert_in_range(positive, 1, 10);
        hws_sampler *sampler = opened(20, losses, &options);
        assert_drawable(sampler, positive);
        hws_sampler_close(&sampler);

        options.uniform_mix = 1e-6;
        sampler = opened(20, losses, &options);
        assert_drawable(sampler, 20);
        hws_sampler_close(&sampler);
        options.uniform_mix = 0;
        options.floor = 1e-4;
        sampler = opened(20, losses, &options);
        assert_drawable(sampler, 20);
        hws_sampler_close(&sampler);

        options.floor = 0;
        options.replacement = 1;
        sampler = opened(20, losses, &options);
        int64_t batch[100];
        assert_int_equal(hws_sampler_draw(sampler, 100, batch), HWS_OK);
        for (int j = 0; j < 100; j++) assert_true(batch[j] >= 0 && batch[j] < 20 && p[batch[j]] > 0);
        hws_sampler_close(&sampler);
    }
}

static void test_same_seed_same_draws(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.beta = 1;
    options.initial_loss = 1;
    int64_t a[16], b[16], c[16];
    hws_sampler *one = opened(1000, NULL, &options), *two = opened(1000, NULL, &options);
    options.seed = 1;
    hws_sampler *three = opened(1000, NULL, &options);
    int different = 0;
    for (int t = 0; t < 20; t++) {
        assert_int_equal(hws_sampler_draw(one, 16, a), HWS_OK);
        double ignored;
        assert_int_equal(hws_sampler_robust_loss(two, &ignored), HWS_OK);
        assert_refused_draw(two, -1, HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_draw(two, 16, b), HWS_OK);
        assert_int_equal(hws_sampler_draw(three, 16, c), HWS_OK);
        assert_memory_equal(a, b, sizeof a);
        different += memcmp(a, c, sizeof a) != 0;
    }
    assert_int_equal(different, 20);
    hws_sampler_close(&one);
    hws_sampler_close(&two);
    hws_sampler_close(&three);
}

/* ---- importance weights ---------------------------------------------------------------------------------------- */

static void test_importance_of_kl(void **state) {
    (void)state;
    const struct {
        double beta, momentum, least, most;
        float stale, fresh;
        double expected;
    } cases[] = {
        {2, 0, 0.1, 10, 1, 1.5f, exp(1)},
        {2, 0, 0.1, 10, 1.5f, 1, exp(-1)},
        {2, 0.5, 0.1, 10, 1, 1.5f, exp(0.5)},
        {2, 0, 0.1, 10, 1, 5, 10},
        {2, 0, 0.1, 10, 5, 1, 0.1},
        {0, 0, 0.1, 10, -1e30f, 1e30f, 1},
        {100, 0, 0, INFINITY, 0, 3e38f, INFINITY},
        {100, 0, 0, INFINITY, 3e38f, -3e38f, 0},
        {1e15, 0.9, 0.25, 7, -FLT_MAX, FLT_MAX, 7},
        {1e15, 0.9, 0.25, 7, FLT_MAX, -FLT_MAX, 0.25},
        {1, 0, 0, INFINITY, 0, 80, exp(80)},
        {1, 0, 0, 1e300, 0, 800, INFINITY}, /* beyond float */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        hws_options options = options_with(cases[k].beta, (hws_divergence){.kind = HWS_KL});
        options.momentum = cases[k].momentum;
        options.weight_min = cases[k].least;
        options.weight_max = cases[k].most;
        const float losses[3] = {0, cases[k].stale, 0};
        hws_sampler *sampler = opened(3, losses, &options);
        float weight = -1;
        assert_int_equal(hws_sampler_importance(sampler, 1, &(int64_t){1}, &cases[k].fresh, &weight), HWS_OK);
        if (isinf(cases[k].expected)) assert_true(isinf(weight) && weight > 0);
        else assert_near(weight, cases[k].expected, 1e-6 * fmax(cases[k].expected, 1e-30));
        assert_int_equal(hws_sampler_importance(sampler, 0, NULL, NULL, NULL), HWS_OK);
        assert_losses(sampler, losses);
        hws_sampler_close(&sampler);
    }
}

static double expected_weight(const hws_options *options, double fresh, double old) {
    const double ratio = old > 0 ? fresh / old : fresh > 0 ? INFINITY : 1;
    return fmin(fmax(ratio, options->weight_min), options->weight_max);
}

static void assert_exact_weights(hws_options options, int64_t n) {
    float losses[400], changed[400];
    double before[400], after[400];
    options.importance = HWS_IMPORTANCE_EXACT;
    fill_normal(losses, n, 1, 0.5, 11);
    hws_sampler *sampler = opened(n, losses, &options);
    expected_probabilities(&options, n, losses, before);
    int64_t batch[12];
    float fresh[12], weights[12];
    uint64_t random = 5;
    for (int j = 0; j < 12; j++) {
        batch[j] = (int64_t)(test_random(&random) % (uint64_t)n);
        fresh[j] = losses[batch[j]] + (float)test_normal(&random);
    }
    /* The hardest falls far below the others, the easiest rises far above them. */
    assert_int_equal(hws_sampler_hardest(sampler, 1, &batch[0], NULL), HWS_OK);
    fresh[0] = -10;
    fresh[1] = 10;
    assert_int_equal(hws_sampler_importance(sampler, 12, batch, fresh, weights), HWS_OK);
    for (int j = 0; j < 12; j++) {
        memcpy(changed, losses, sizeof changed);
        changed[batch[j]] = (float)(options.momentum * losses[batch[j]] + (1 - options.momentum) * (double)fresh[j]);
        expected_probabilities(&options, n, changed, after);
        const double expected = expected_weight(&options, after[batch[j]], before[batch[j]]);
        if (isinf(expected)) assert_true(isinf(weights[j]));
        else assert_near(weights[j], expected, 1e-6 * expected + 1e-30);
    }
    assert_losses(sampler, losses);
    double p[400];
    assert_int_equal(hws_sampler_probabilities(sampler, 0, n, p), HWS_OK);
    for (int64_t i = 0; i < n; i++) assert_near(p[i], before[i], 1e-12);
    hws_sampler_close(&sampler);
}

static void test_exact_importance(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int64_t n = 20; n <= 400; n += 380) {
            hws_options options = options_with(3, divergence_number(d));
            assert_exact_weights(options, n);
            options.weight_min = 0;
            options.weight_max = INFINITY;
            assert_exact_weights(options, n);
            options.momentum = 0.5;
            options.uniform_mix = 0.2;
            assert_exact_weights(options, n);
            options.uniform_mix = 0;
            options.floor = 0.3;
            assert_exact_weights(options, n);
        }
}

/* An example that holds all the mass but a part that vanishes beside 1 in double precision, and then loses it. */
static void test_exact_importance_of_a_giant(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(100, divergence_number(d));
        options.importance = HWS_IMPORTANCE_EXACT;
        options.weight_min = 0;
        options.weight_max = INFINITY;
        const float losses[3] = {1, 0.5f, 0.25f};
        hws_sampler *sampler = opened(3, losses, &options);
        const float changes[] = {0.45f, 0, -1, 2};
        for (int k = 0; k < 4; k++) {
            const float after[3] = {changes[k], 0.5f, 0.25f};
            double old[3], fresh[3];
            float weight = -1;
            expected_probabilities(&options, 3, losses, old);
            expected_probabilities(&options, 3, after, fresh);
            assert_int_equal(hws_sampler_importance(sampler, 1, &(int64_t){0}, after, &weight), HWS_OK);
            assert_near(weight, fresh[0] / old[0], 1e-6 * fresh[0] / old[0] + 1e-37);
        }
        assert_total_is_one(sampler);
        hws_sampler_close(&sampler);
    }
}

/* ---- robust losses and telemetry ------------------------------------------------------------------------------- */

static double reference_phi(const hws_divergence *divergence, double z) {
    const double k = divergence->parameter;
    switch (divergence->kind) {
    case HWS_KL: return z > 0 ? z * log(z) - z + 1 : 1;
    case HWS_CHI2: return (z - 1) * (z - 1) / 2;
    case HWS_REVERSE_KL: return z - 1 - log(z);
    case HWS_HELLINGER: return pow(sqrt(z) - 1, 2);
    case HWS_CRESSIE_READ:
        return k == 1 ? (z > 0 ? z * log(z) - z + 1 : 1) : (pow(z, k) - k * z + k - 1) / (k * (k - 1));
    case HWS_JENSEN_SHANNON: return (z > 0 ? z * log(z) : 0) - (z + 1) * log((z + 1) / 2);
    case HWS_CUSTOM: return divergence->phi(z, divergence->context);
    case HWS_CVAR: return 0;
    }
    return NAN;
}

static double reference_robust_loss(const hws_options *options, int64_t n, const float *losses) {
    double p[400], gain = 0, penalty = 0;
    assert_int_equal(hws_divergence_probabilities(&options->divergence, options->beta, n, losses, p, NULL), HWS_OK);
    for (int64_t i = 0; i < n; i++) {
        gain += p[i] * losses[i];
        penalty += reference_phi(&options->divergence, p[i] * (double)n) / (double)n;
    }
    return options->beta > 0 && options->divergence.kind != HWS_CVAR ? gain - penalty / options->beta : gain;
}

static int falling(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void assert_tails(hws_sampler *sampler, double beta, int64_t n, const float *losses) {
    float sorted[400];
    memcpy(sorted, losses, (size_t)n * sizeof *losses);
    qsort(sorted, (size_t)n, sizeof *sorted, falling);
    const double alphas[] = {1, 0.75, 0.5, 0.3, 0.1, 1.0 / 64, 1e-9};
    for (size_t k = 0; k < sizeof alphas / sizeof *alphas; k++) {
        const double alpha = alphas[k], total = alpha * (double)n;
        double percentile, cvar, bound, sum = 0, left = total, exponentials = 0;
        int64_t rank = 0;
        while (rank < n - 1 && (double)(rank + 1) <= total) rank++;
        for (int64_t i = 0; i < n && left > 0; i++, left--) sum += fmin(left, 1) * sorted[i];
        for (int64_t i = 0; i < n; i++) exponentials += exp(beta * ((double)losses[i] - sorted[0]));
        assert_int_equal(hws_sampler_percentile(sampler, alpha, &percentile), HWS_OK);
        assert_int_equal(hws_sampler_cvar(sampler, alpha, &cvar), HWS_OK);
        assert_true(percentile == (double)sorted[rank]);
        assert_near(cvar, sum / total, 1e-12);
        assert_true(cvar >= percentile - 1e-12);
        if (beta == 0) {
            assert_int_equal(hws_sampler_percentile_bound(sampler, alpha, &bound), HWS_ERROR_ARGUMENT);
            continue;
        }
        assert_int_equal(hws_sampler_percentile_bound(sampler, alpha, &bound), HWS_OK);
        assert_near(bound, sorted[0] + log(exponentials / total) / beta, 1e-12 / fmin(beta, 1));
        assert_true(bound >= percentile);
        int64_t above = 0;
        for (int64_t i = 0; i < n; i++) above += (double)losses[i] >= bound + 1e-12;
        assert_true((double)above <= total);
    }
}

static void assert_statistics(hws_sampler *sampler, int64_t n, const float *losses) {
    const hws_options options = hws_sampler_options(sampler);
    double p[400], mean = 0, variance = 0, least = losses[0], most = losses[0];
    double squares = 0, entropy = 0, largest = 0, robust;
    int64_t drawable = 0;
    expected_probabilities(&options, n, losses, p);
    for (int64_t i = 0; i < n; i++) mean += losses[i] / (double)n;
    for (int64_t i = 0; i < n; i++) {
        variance += (losses[i] - mean) * (losses[i] - mean) / (double)n;
        least = fmin(least, losses[i]);
        most = fmax(most, losses[i]);
        squares += p[i] * p[i];
        entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
        largest = fmax(largest, p[i]);
        drawable += p[i] > 0;
    }
    hws_statistics statistics;
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_near(statistics.loss_mean, mean, 1e-12);
    assert_near(statistics.loss_std, sqrt(variance), 1e-12);
    assert_true(statistics.loss_min == least && statistics.loss_max == most);
    assert_close(statistics.effective_size, 1 / squares, 1e-10);
    assert_near(statistics.entropy, entropy, 1e-10);
    assert_near(statistics.kl_to_uniform, log((double)n) - entropy, 1e-10);
    assert_close(statistics.largest_p, largest, 1e-10);
    assert_int_equal(statistics.drawable, drawable);
    const double expected = reference_robust_loss(&options, n, losses);
    assert_int_equal(hws_sampler_robust_loss(sampler, &robust), HWS_OK);
    assert_near(robust, expected, 1e-11 / fmin(fmax(options.beta, 1e-3), 1));
    assert_near(statistics.robust_loss, robust, 1e-13);
    assert_int_equal(hws_divergence_robust_loss(&options.divergence, options.beta, n, losses, &robust, NULL), HWS_OK);
    assert_near(robust, expected, 1e-11 / fmin(fmax(options.beta, 1e-3), 1));
    assert_true(robust >= mean - 1e-9 && robust <= most + 1e-9);
}

static void test_telemetry(void **state) {
    (void)state;
    const double betas[] = {0, 1e-4, 0.01, 1, 30};
    const int64_t sizes[] = {1, 2, 17, 400};
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (size_t b = 0; b < 5; b++)
            for (size_t k = 0; k < 4; k++)
                for (int variant = 0; variant < 3; variant++) {
                    hws_options options = options_with(betas[b], divergence_number(d));
                    options.uniform_mix = variant == 1 ? 0.3 : 0;
                    options.floor = variant == 2 ? 0.5 : 0;
                    float losses[400];
                    fill_normal(losses, sizes[k], 1, 0.4, d + 7 * k);
                    if (sizes[k] > 10) losses[3] = losses[4] = losses[5] = losses[0];
                    hws_sampler *sampler = opened(sizes[k], losses, &options);
                    assert_statistics(sampler, sizes[k], losses);
                    if (variant == 0) assert_tails(sampler, betas[b], sizes[k], losses);
                    hws_sampler_close(&sampler);
                }
}

/* Between a draw and the update nothing may look different from before the draw. */
static void test_draws_leave_no_trace(void **state) {
    (void)state;
    enum { N = 300 };
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int variant = 0; variant < 3; variant++) {
            hws_options options = options_with(20, divergence_number(d));
            options.uniform_mix = variant == 1 ? 0.1 : 0;
            options.floor = variant == 2 ? 0.1 : 0;
            float losses[N];
            fill_normal(losses, N, 1, 0.4, d);
            hws_sampler *sampler = opened(N, losses, &options);
            double robust[2], bound[2], cvar[2], p[2][N];
            int64_t batch[2], top[2][5];
            hws_statistics statistics[2];
            memset(statistics, 0, sizeof statistics);
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p[0]), HWS_OK);
            for (int when = 0; when < 2; when++) {
                assert_int_equal(hws_sampler_robust_loss(sampler, &robust[when]), HWS_OK);
                assert_int_equal(hws_sampler_percentile_bound(sampler, 0.1, &bound[when]), HWS_OK);
                assert_int_equal(hws_sampler_cvar(sampler, 0.1, &cvar[when]), HWS_OK);
                assert_int_equal(hws_sampler_hardest(sampler, 5, top[when], NULL), HWS_OK);
                for (int t = 0; when == 0 && t < 10; t++) {
                    assert_int_equal(hws_sampler_draw(sampler, 2, batch), HWS_OK);
                    assert_int_not_equal(batch[0], batch[1]);
                }
            }
            assert_true(robust[0] == robust[1] && bound[0] == bound[1] && cvar[0] == cvar[1]);
            assert_memory_equal(top[0], top[1], sizeof top[0]);
            assert_int_equal(hws_sampler_draw(sampler, 2, batch), HWS_OK);
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p[1]), HWS_OK);
            assert_memory_equal(p[0], p[1], sizeof p[0]);
            assert_losses(sampler, losses);
            hws_sampler_close(&sampler);
        }
}

static void test_telemetry_arguments(void **state) {
    (void)state;
    hws_sampler *sampler = opened(4, NULL, NULL);
    double out = 77;
    const double alphas[] = {0, -0.1, 1.01, NAN, INFINITY};
    for (size_t k = 0; k < 5; k++) {
        assert_int_equal(hws_sampler_percentile(sampler, alphas[k], &out), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_percentile_bound(sampler, alphas[k], &out), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_cvar(sampler, alphas[k], &out), HWS_ERROR_ARGUMENT);
    }
    assert_int_equal(hws_sampler_probability(sampler, 4, &out), HWS_ERROR_INDEX);
    assert_int_equal(hws_sampler_probability(sampler, -1, &out), HWS_ERROR_INDEX);
    assert_true(out == 77);
    assert_int_equal(hws_sampler_percentile(sampler, 0.5, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_percentile_bound(sampler, 0.5, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_cvar(sampler, 0.5, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_robust_loss(sampler, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_statistics(sampler, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_probability(sampler, 0, NULL), HWS_ERROR_ARGUMENT);
    hws_sampler_close(&sampler);
}

static void test_divergence_functions_arguments(void **state) {
    (void)state;
    const hws_divergence kl = {.kind = HWS_KL}, bad = {.kind = HWS_CVAR, .parameter = 0};
    const float losses[2] = {1, 2}, infinite[2] = {1, INFINITY};
    double p[2] = {5, 5};
    assert_int_equal(hws_divergence_probabilities(NULL, 1, 2, losses, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, 1, 2, NULL, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, 1, 2, losses, NULL, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, 1, 0, losses, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, -1, 2, losses, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, NAN, 2, losses, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, INFINITY, 2, losses, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&bad, 1, 2, losses, p, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_probabilities(&kl, 1, 2, infinite, p, NULL), HWS_ERROR_NOT_FINITE);
    assert_int_equal(hws_divergence_robust_loss(&kl, 1, 2, infinite, p, NULL), HWS_ERROR_NOT_FINITE);
    assert_int_equal(hws_divergence_robust_loss(&kl, 1, 2, losses, NULL, NULL), HWS_ERROR_ARGUMENT);
    assert_true(p[0] == 5 && p[1] == 5);
}

/* ---- beta ------------------------------------------------------------------------------------------------------ */

static void test_set_beta(void **state) {
    (void)state;
    enum { N = 300 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(1, divergence_number(d));
        float losses[N];
        fill_normal(losses, N, 0, 1, 3);
        hws_sampler *sampler = opened(N, losses, &options);
        const double betas[] = {0, 5, 1e4, 1e-6, 1};
        for (size_t k = 0; k < 5; k++) {
            int64_t batch[1];
            assert_int_equal(hws_sampler_draw(sampler, 1, batch), HWS_OK);
            assert_int_equal(hws_sampler_set_beta(sampler, betas[k]), HWS_OK);
            assert_true(hws_sampler_options(sampler).beta == betas[k]);
            options.beta = betas[k];
            double p[N], expected[N];
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
            expected_probabilities(&options, N, losses, expected);
            for (int i = 0; i < N; i++) assert_near(p[i], expected[i], 1e-11);
        }
        const double bad[] = {-1, NAN, INFINITY, -INFINITY};
        for (size_t k = 0; k < 4; k++)
            assert_error(sampler, hws_sampler_set_beta(sampler, bad[k]), HWS_ERROR_ARGUMENT, -1, -1);
        assert_true(hws_sampler_options(sampler).beta == 1);
        hws_sampler_close(&sampler);
    }
}

static void assert_hits(hws_sampler *sampler, double beta, double size, double radius) {
    const double before = hws_sampler_options(sampler).beta;
    assert_int_equal(hws_sampler_set_beta(sampler, beta), HWS_OK);
    hws_statistics statistics;
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    if (size > 0) assert_close(statistics.effective_size, size, 1e-9);
    if (radius > 0) assert_close(statistics.kl_to_uniform, radius, 1e-9);
    assert_int_equal(hws_sampler_set_beta(sampler, before), HWS_OK);
}

static void test_beta_targets(void **state) {
    (void)state;
    enum { N = 200 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(1, divergence_number(d));
        if (options.divergence.kind == HWS_CVAR) continue;
        for (int scale = -8; scale <= 8; scale += 4) {
            float losses[N];
            fill_normal(losses, N, 3 * pow(10, scale), pow(10, scale), 21);
            hws_sampler *sampler = opened(N, losses, &options);
            const double sizes[] = {199, 120, 20, 2}, radii[] = {1e-3, 0.1, 1, 4};
            double beta = -1;
            for (size_t k = 0; k < 4; k++) {
                assert_int_equal(hws_sampler_beta_for_effective_size(sampler, sizes[k], &beta), HWS_OK);
                assert_hits(sampler, beta, sizes[k], 0);
                assert_int_equal(hws_sampler_beta_for_kl(sampler, radii[k], &beta), HWS_OK);
                assert_hits(sampler, beta, 0, radii[k]);
            }
            hws_statistics statistics;
            assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
            assert_int_equal(hws_sampler_beta_for_spread(sampler, 2.5, &beta), HWS_OK);
            assert_close(beta, 2.5 / statistics.loss_std, 1e-14);
            assert_int_equal(hws_sampler_beta_for_effective_size(sampler, N, &beta), HWS_OK);
            assert_true(beta == 0);
            assert_int_equal(hws_sampler_beta_for_kl(sampler, 0, &beta), HWS_OK);
            assert_true(beta == 0 && hws_sampler_options(sampler).beta == 1);
            hws_sampler_close(&sampler);
        }
    }
}

static void assert_unreachable(hws_sampler *sampler, hws_status status, double beta) {
    assert_error(sampler, status, HWS_ERROR_UNREACHABLE, -1, -1);
    assert_true(beta == -7);
}

static void test_unreachable_betas(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(1, divergence_number(d));
        const int is_cvar = options.divergence.kind == HWS_CVAR;
        hws_sampler *sampler = opened(10, NULL, &options);
        double beta = -7;
        if (is_cvar) {
            assert_error(sampler, hws_sampler_beta_for_spread(sampler, 1, &beta), HWS_ERROR_ARGUMENT, -1, -1);
            assert_error(sampler, hws_sampler_beta_for_kl(sampler, 1, &beta), HWS_ERROR_ARGUMENT, -1, -1);
            assert_error(sampler, hws_sampler_beta_for_effective_size(sampler, 2, &beta), HWS_ERROR_ARGUMENT, -1, -1);
        } else {
            assert_unreachable(sampler, hws_sampler_beta_for_spread(sampler, 1, &beta), beta);
            assert_unreachable(sampler, hws_sampler_beta_for_kl(sampler, 1, &beta), beta);
            assert_unreachable(sampler, hws_sampler_beta_for_effective_size(sampler, 2, &beta), beta);
            /* Three tie at the top: no beta parts them. */
            const float losses[10] = {5, 0, 5, 1, 2, 3, 5, 4, 1, 1};
            assert_int_equal(hws_sampler_set_losses(sampler, 0, 10, losses), HWS_OK);
            assert_unreachable(sampler, hws_sampler_beta_for_effective_size(sampler, 2.9, &beta), beta);
            assert_unreachable(sampler, hws_sampler_beta_for_kl(sampler, log(10 / 2.9), &beta), beta);
            assert_int_equal(hws_sampler_beta_for_effective_size(sampler, 3.1, &beta), HWS_OK);
            assert_hits(sampler, beta, 3.1, 0);
        }
        beta = -7;
        const double factors[] = {0, -1, NAN, INFINITY}, sizes[] = {0.99, 10.01, NAN, -INFINITY},
                     radii[] = {-1e-9, 2.31, NAN, INFINITY};
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(hws_sampler_beta_for_spread(sampler, factors[k], &beta), HWS_ERROR_ARGUMENT);
            assert_int_equal(hws_sampler_beta_for_effective_size(sampler, sizes[k], &beta), HWS_ERROR_ARGUMENT);
            assert_int_equal(hws_sampler_beta_for_kl(sampler, radii[k], &beta), HWS_ERROR_ARGUMENT);
        }
        assert_true(beta == -7);
        assert_int_equal(hws_sampler_beta_for_spread(sampler, 1, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_beta_for_kl(sampler, 1, NULL), HWS_ERROR_ARGUMENT);
        assert_int_equal(hws_sampler_beta_for_effective_size(sampler, 5, NULL), HWS_ERROR_ARGUMENT);
        hws_sampler_close(&sampler);
    }
}

/* Chi-square and its kin give all to one example at a finite beta: the end of the range is reached. */
static void test_beta_for_a_single_example(void **state) {
    (void)state;
    const hws_divergence_kind kinds[] = {HWS_KL, HWS_CHI2};
    for (int64_t n = 2; n < 60; n++)
        for (size_t k = 0; k < 2; k++) {
            const hws_options options = options_with(1, (hws_divergence){.kind = kinds[k]});
            float losses[60];
            fill_normal(losses, n, 0, 1, (uint64_t)n);
            hws_sampler *sampler = opened(n, losses, &options);
            double beta = 0;
            assert_int_equal(hws_sampler_beta_for_effective_size(sampler, 1, &beta), HWS_OK);
            assert_hits(sampler, beta, 1, 0);
            assert_int_equal(hws_sampler_beta_for_kl(sampler, log((double)n), &beta), HWS_OK);
            assert_hits(sampler, beta, 0, log((double)n));
            hws_sampler_close(&sampler);
        }
}

/* A beta that was found can be set. */
static void test_betas_stay_in_range(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    const float losses[4] = {1e-30f, 2e-30f, 3e-30f, 5e-30f};
    for (int k = 0; k < 2; k++) {
        options.divergence.kind = k ? HWS_CHI2 : HWS_KL;
        hws_sampler *sampler = opened(4, losses, &options);
        double beta = -7;
        assert_unreachable(sampler, hws_sampler_beta_for_spread(sampler, 1, &beta), beta);
        assert_unreachable(sampler, hws_sampler_beta_for_kl(sampler, 0.5, &beta), beta);
        assert_unreachable(sampler, hws_sampler_beta_for_effective_size(sampler, 2, &beta), beta);
        hws_sampler_close(&sampler);
    }
}

/* ---- divergences ----------------------------------------------------------------------------------------------- */

static void assert_same_law(hws_divergence custom, hws_divergence_kind kind, double beta, int64_t n) {
    const hws_options options = options_with(beta, custom);
    const hws_options reference = options_with(beta, (hws_divergence){.kind = kind});
    float losses[400];
    fill_normal(losses, n, 1, 0.3, 8);
    hws_sampler *a = opened(n, losses, &options), *b = opened(n, losses, &reference);
    uint64_t random = 1;
    for (int t = 0; t < 30; t++) {
        double p[400], q[400], robust[2];
        assert_int_equal(hws_sampler_probabilities(a, 0, n, p), HWS_OK);
        assert_int_equal(hws_sampler_probabilities(b, 0, n, q), HWS_OK);
        for (int64_t i = 0; i < n; i++) assert_near(p[i], q[i], 1e-11);
        assert_int_equal(hws_sampler_robust_loss(a, &robust[0]), HWS_OK);
        assert_int_equal(hws_sampler_robust_loss(b, &robust[1]), HWS_OK);
        assert_near(robust[0], robust[1], 1e-11);
        const int64_t example = (int64_t)(test_random(&random) % (uint64_t)n);
        const float loss = (float)test_normal(&random);
        assert_int_equal(hws_sampler_update(a, 1, &example, &loss), HWS_OK);
        assert_int_equal(hws_sampler_update(b, 1, &example, &loss), HWS_OK);
    }
    hws_sampler_close(&a);
    hws_sampler_close(&b);
}

static void test_custom_divergences(void **state) {
    (void)state;
    const double betas[] = {0, 0.1, 3, 40};
    for (size_t b = 0; b < 4; b++)
        for (int64_t n = 1; n <= 400; n += n < 5 ? 1 : 395) {
            assert_same_law(CUSTOM_KL, HWS_KL, betas[b], n);
            assert_same_law(CUSTOM_HELLINGER, HWS_HELLINGER, betas[b], n);
        }
}

static double falling_slope(double z, void *context) { return (void)context, 1 - z; }
static double shifted_slope(double z, void *context) { return (void)context, log(z) + 0.1; }
static double nan_slope(double z, void *context) { return (void)context, (void)z, NAN; }
static double constant_slope(double z, void *context) { return (void)context, (void)z, 0.0; }

static void test_inconsistent_callbacks(void **state) {
    (void)state;
    hws_divergence bad[8];
    for (int k = 0; k < 8; k++) bad[k] = CUSTOM_KL;
    bad[0].slope = NULL;
    bad[1].slope_inverse = NULL;
    bad[2].slope_inverse = custom_hellinger_inverse;
    bad[3].slope = falling_slope;
    bad[4].slope = shifted_slope;
    bad[5].slope = nan_slope;
    bad[6].slope = constant_slope;
    bad[7].phi = custom_kl_slope; /* is 0 at 1, but is no phi: accepted, only the robust loss uses it */
    for (int k = 0; k < 7; k++) {
        const hws_options options = options_with(1, bad[k]);
        hws_sampler *sampler = (hws_sampler *)1;
        assert_int_equal(hws_sampler_open(&sampler, 10, NULL, &options, NULL), HWS_ERROR_DIVERGENCE);
        assert_null(sampler);
        double p[2];
        assert_int_equal(hws_divergence_probabilities(&bad[k], 1, 2, (float[2]){0, 1}, p, NULL), HWS_ERROR_DIVERGENCE);
    }
    hws_options options = options_with(1, CUSTOM_KL);
    options.divergence.phi = NULL;
    hws_sampler *sampler = opened(3, (float[3]){0, 1, 2}, &options);
    double robust = 7;
    hws_statistics statistics;
    assert_error(sampler, hws_sampler_robust_loss(sampler, &robust), HWS_ERROR_DIVERGENCE, -1, -1);
    assert_true(robust == 7);
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_true(isnan(statistics.robust_loss) && statistics.largest_p > 0.5);
    assert_int_equal(hws_divergence_robust_loss(&options.divergence, 1, 2, (float[2]){0, 1}, &robust, NULL),
                     HWS_ERROR_DIVERGENCE);
    hws_sampler_close(&sampler);
}

static double count_calls(double z, void *context) { return ++*(int *)context, log(z); }

static void test_context_is_handed_through(void **state) {
    (void)state;
    int calls = 0;
    hws_options options = options_with(1, CUSTOM_KL);
    options.divergence.slope = count_calls;
    options.divergence.context = &calls;
    hws_sampler *sampler = opened(3, NULL, &options);
    assert_true(calls > 0);
    hws_sampler_close(&sampler);
}

static void test_parse(void **state) {
    (void)state;
    static const struct {
        const char *text;
        hws_divergence_kind kind;
        double parameter;
    } good[] = {
        {"kl", HWS_KL, 0},
        {"chi2", HWS_CHI2, 0},
        {"reverse-kl", HWS_REVERSE_KL, 0},
        {"hellinger", HWS_HELLINGER, 0},
        {"js", HWS_JENSEN_SHANNON, 0},
        {"cressie-read:0.5", HWS_CRESSIE_READ, 0.5},
        {"cressie-read:-2", HWS_CRESSIE_READ, -2},
        {"cvar:0.1", HWS_CVAR, 0.1},
        {"cvar:1", HWS_CVAR, 1},
        {"cvar:1e-3", HWS_CVAR, 1e-3},
    };
    for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
        hws_divergence divergence = CUSTOM_KL;
        assert_int_equal(hws_divergence_parse(good[k].text, &divergence, NULL), HWS_OK);
        assert_int_equal(divergence.kind, good[k].kind);
        assert_true(divergence.parameter == good[k].parameter);
        assert_true(!divergence.slope && !divergence.slope_inverse && !divergence.phi && !divergence.context);
    }
    static const char *const bad[] = {
        "",
        "KL",
        "kl ",
        " kl",
        "kl:",
        "kl:1",
        "k",
        "kl2",
        "cvar",
        "cvar:",
        "cvar:0",
        "cvar:1.5",
        "cvar:-1",
        "cvar:nan",
        "cvar:0.5x",
        "cvar:0.5 ",
        "cvar: 0.5",
        "custom",
        "cressie-read",
        "cressie-read:",
        "cressie-read:inf",
        "cressie-read:101",
        "cressie-read:two",
        "chi2:",
        "js:0",
        ":",
        ":0.5",
        "cvar:0.5:1",
        "cvar:0,5",
    };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        hws_divergence divergence = {.kind = HWS_CUSTOM, .parameter = 17};
        if (hws_divergence_parse(bad[k], &divergence, NULL) != HWS_ERROR_ARGUMENT)
            fail_msg("\"%s\" is accepted", bad[k]);
        assert_true(divergence.kind == HWS_CUSTOM && divergence.parameter == 17);
    }
    hws_divergence divergence;
    assert_int_equal(hws_divergence_parse(NULL, &divergence, NULL), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_divergence_parse("kl", NULL, NULL), HWS_ERROR_ARGUMENT);
}

/* ---- jitter ---------------------------------------------------------------------------------------------------- */

static void test_jitter(void **state) {
    (void)state;
    enum { N = 20000 };
    hws_options options = hws_options_default();
    options.initial_loss = -4;
    options.jitter = 0.1;
    options.seed = 3;
    hws_sampler *sampler = opened(N, NULL, &options), *again = opened(N, NULL, &options);
    options.seed = 4;
    hws_sampler *other = opened(N, NULL, &options);
    double mean = 0, variance = 0, fourth = 0;
    int same = 0;
    for (int64_t i = 0; i < N; i++) {
        const double x = (loss_of(sampler, i) + 4.0) / 0.4;
        mean += x / N;
        variance += x * x / N;
        fourth += x * x * x * x / N;
        assert_true(loss_of(sampler, i) == loss_of(again, i));
        same += loss_of(sampler, i) == loss_of(other, i);
    }
    assert_near(mean, 0, 5 / sqrt(N));
    assert_near(variance, 1, 5 * sqrt(2.0 / N));
    assert_near(fourth, 3, 5 * sqrt(96.0 / N));
    assert_true(same < 10);
    hws_sampler_close(&sampler);
    hws_sampler_close(&again);
    hws_sampler_close(&other);
}

static void test_jitter_stays_finite(void **state) {
    (void)state;
    hws_options options = hws_options_default();
    options.jitter = 1;
    for (int sign = -1; sign <= 1; sign += 2) {
        options.initial_loss = sign * (double)FLT_MAX;
        hws_sampler *sampler = opened(100, NULL, &options);
        assert_int_equal(hws_sampler_grow(sampler, 100, NULL), HWS_OK);
        for (int64_t i = 0; i < 200; i++) assert_true(isfinite(loss_of(sampler, i)));
        assert_total_is_one(sampler);
        hws_sampler_close(&sampler);
    }
}

/* ---- extremes -------------------------------------------------------------------------------------------------- */

static void test_single_example(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int variant = 0; variant < 3; variant++) {
            hws_options options = options_with(5, divergence_number(d));
            options.uniform_mix = variant == 1 ? 0.5 : 0;
            options.floor = variant == 2 ? 0.5 : 0;
            options.importance = HWS_IMPORTANCE_EXACT;
            hws_sampler *sampler = opened(1, NULL, &options);
            int64_t batch = -1;
            double p = 0, robust = 0;
            float weight = 0;
            assert_int_equal(hws_sampler_draw(sampler, 1, &batch), HWS_OK);
            assert_int_equal(batch, 0);
            assert_refused_draw(sampler, 2, HWS_ERROR_TOO_FEW);
            assert_int_equal(hws_sampler_importance(sampler, 1, &batch, &(float){9}, &weight), HWS_OK);
            assert_near(weight, 1, 1e-6);
            assert_int_equal(hws_sampler_update(sampler, 1, &batch, &(float){-3}), HWS_OK);
            assert_int_equal(hws_sampler_probability(sampler, 0, &p), HWS_OK);
            assert_near(p, 1, 1e-12);
            assert_int_equal(hws_sampler_robust_loss(sampler, &robust), HWS_OK);
            assert_near(robust, -3, 1e-12);
            hws_sampler_close(&sampler);
        }
}

static void assert_extremes(hws_options options, const float *losses, int64_t n) {
    hws_sampler *sampler = opened(n, losses, &options);
    assert_total_is_one(sampler);
    double *p = malloc((size_t)n * sizeof *p);
    assert_int_equal(hws_sampler_probabilities(sampler, 0, n, p), HWS_OK);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j += 7)
            if (losses[i] > losses[j]) assert_true(p[i] >= p[j]);
    hws_statistics statistics;
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_true(isfinite(statistics.robust_loss) && isfinite(statistics.effective_size) &&
                isfinite(statistics.entropy) && isfinite(statistics.loss_std));
    /* KL's comes from the tree's total, for free but with an absolute error. */
    const double slack = 1e-9 * (statistics.loss_max - statistics.loss_min) + 1e-13 / fmax(options.beta, 1e-3);
    assert_true(statistics.robust_loss <= statistics.loss_max + slack);
    assert_true(statistics.robust_loss >= statistics.loss_mean - slack);
    int64_t drawable, batch[400];
    for (int t = 0; t < 3; t++) {
        char seen[400] = {0};
        assert_int_equal(hws_sampler_drawable(sampler, &drawable), HWS_OK);
        assert_int_equal(hws_sampler_draw(sampler, drawable, batch), HWS_OK);
        for (int64_t j = 0; j < drawable; j++) assert_false(seen[batch[j]]++);
        assert_int_equal(hws_sampler_update(sampler, drawable < 3 ? drawable : 3, batch, losses), HWS_OK);
        assert_total_is_one(sampler);
    }
    free(p);
    hws_sampler_close(&sampler);
}

static void test_extremes(void **state) {
    (void)state;
    const int64_t sizes[] = {2, 40, 300};
    const double betas[] = {0, 5e-324, 1e-300, 1e-30, 1, 1e4, 1e15}, offsets[] = {0, 1e30, -1e30, 3e38, -3e38, 1e-38};
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (size_t b = 0; b < 7; b++)
            for (size_t o = 0; o < 6; o++)
                for (size_t k = 0; k < 3; k++) {
                    float losses[400];
                    const double spread = offsets[o] == 0 ? 1 : 1e-5 * offsets[o];
                    fill_normal(losses, sizes[k], offsets[o], spread, o + 10 * k);
                    assert_extremes(options_with(betas[b], divergence_number(d)), losses, sizes[k]);
                }
}

/* z^(k - 1) leaves the range of doubles at both ends of the parameter's range. */
static void test_extreme_cressie_read(void **state) {
    (void)state;
    const double parameters[] = {100, 60, -60, -100, 1e-6, 1 + 1e-6, 1 - 1e-6, 2 + 1e-9};
    for (size_t k = 0; k < sizeof parameters / sizeof *parameters; k++)
        for (double beta = 1e-3; beta < 1e9; beta *= 1e3) {
            enum { N = 3000 };
            static float losses[N];
            fill_normal(losses, N, 1, 1, k);
            const hws_divergence divergence = {.kind = HWS_CRESSIE_READ, .parameter = parameters[k]};
            const hws_options options = options_with(beta, divergence);
            hws_sampler *sampler = opened(N, losses, &options);
            /* The root of a large order rises so steeply from 0 that a double cannot say where it starts. */
            assert_total(sampler, 1e-11);
            int64_t batch[1];
            assert_int_equal(hws_sampler_draw(sampler, 1, batch), HWS_OK);
            double robust;
            assert_int_equal(hws_sampler_robust_loss(sampler, &robust), HWS_OK);
            hws_statistics statistics;
            assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
            assert_true(robust >= statistics.loss_mean - 1e-9 && robust <= statistics.loss_max);
            hws_sampler_close(&sampler);
        }
}

/* floor / n may be 0 in double precision; the draw must end all the same. */
static void test_tiny_floor_and_mixing(void **state) {
    (void)state;
    const float losses[4] = {100, 0, -50, -100};
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int mixing = 0; mixing < 2; mixing++) {
            hws_options options = options_with(100, divergence_number(d));
            *(mixing ? &options.uniform_mix : &options.floor) = 5e-324;
            hws_sampler *sampler = opened(4, losses, &options);
            int64_t batch[4];
            for (int t = 0; t < 10; t++) assert_int_equal(hws_sampler_draw(sampler, 4, batch), HWS_OK);
            assert_int_equal(batch[0] + batch[1] + batch[2] + batch[3], 6);
            hws_sampler_close(&sampler);
        }
}

static void test_tiny_fractions(void **state) {
    (void)state;
    const float losses[5] = {0.3f, 0.7f, 0.7f, -1, 0};
    const double alphas[] = {5e-324, 1e-310, 1e-300, 1e-20, 0.1};
    for (size_t k = 0; k < 5; k++) {
        const hws_options options = options_with(1, (hws_divergence){.kind = HWS_CVAR, .parameter = alphas[k]});
        hws_sampler *sampler = opened(5, losses, &options), *kl = opened(5, losses, NULL);
        double p[5], cvar[2], robust;
        assert_int_equal(hws_sampler_probabilities(sampler, 0, 5, p), HWS_OK);
        assert_near(p[1], 0.5, 1e-15);
        assert_near(p[2], 0.5, 1e-15);
        assert_int_equal(hws_sampler_cvar(sampler, alphas[k], &cvar[0]), HWS_OK);
        assert_int_equal(hws_sampler_cvar(kl, alphas[k], &cvar[1]), HWS_OK);
        assert_int_equal(hws_sampler_robust_loss(sampler, &robust), HWS_OK);
        assert_near(cvar[0], (double)0.7f, 1e-15);
        assert_near(cvar[1], (double)0.7f, 1e-15);
        assert_near(robust, (double)0.7f, 1e-15);
        hws_sampler_close(&sampler);
        hws_sampler_close(&kl);
    }
}

static void test_null_samplers_are_refused(void **state) {
    (void)state;
    int64_t index = 0, count;
    float loss = 1;
    double number;
    uint64_t word;
    hws_statistics statistics;
    const hws_status answers[] = {
        hws_sampler_draw(NULL, 1, &index),
        hws_sampler_importance(NULL, 1, &index, &loss, &loss),
        hws_sampler_update(NULL, 1, &index, &loss),
        hws_sampler_get_losses(NULL, 0, 1, &loss),
        hws_sampler_set_losses(NULL, 0, 1, &loss),
        hws_sampler_grow(NULL, 1, NULL),
        hws_sampler_hardest(NULL, 1, &index, NULL),
        hws_sampler_ages(NULL, 0, 1, &word),
        hws_sampler_draw_counts(NULL, 0, 1, &word),
        hws_sampler_next_stale(NULL, 0, &index, &count),
        hws_sampler_probability(NULL, 0, &number),
        hws_sampler_probabilities(NULL, 0, 1, &number),
        hws_sampler_drawable(NULL, &count),
        hws_sampler_robust_loss(NULL, &number),
        hws_sampler_percentile_bound(NULL, 0.1, &number),
        hws_sampler_percentile(NULL, 0.1, &number),
        hws_sampler_cvar(NULL, 0.1, &number),
        hws_sampler_statistics(NULL, &statistics),
        hws_sampler_set_beta(NULL, 1),
        hws_sampler_set_importance(NULL, HWS_IMPORTANCE_EXACT),
        hws_sampler_beta_for_spread(NULL, 1, &number),
        hws_sampler_beta_for_effective_size(NULL, 1, &number),
        hws_sampler_beta_for_kl(NULL, 1, &number),
        hws_sampler_save(NULL, "x"),
        hws_sampler_state_write(NULL, &number, sizeof number),
    };
    for (size_t k = 0; k < sizeof answers / sizeof *answers; k++) assert_int_equal(answers[k], HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_size(NULL), 0);
    assert_int_equal(hws_sampler_unseen(NULL), 0);
    assert_int_equal(hws_sampler_memory(NULL), 0);
    assert_int_equal(hws_sampler_state_size(NULL), 0);
    assert_int_equal(hws_sampler_error(NULL)->status, HWS_ERROR_ARGUMENT);
}

/* The message of a call of open that must fail with this status. */
static const char *refusal(hws_status status, int64_t n, const float *losses, const hws_options *options) {
    static hws_error error;
    memset(&error, 0x55, sizeof error);
    hws_sampler *sampler = (hws_sampler *)1;
    assert_int_equal(hws_sampler_open(&sampler, n, losses, options, &error), status);
    assert_null(sampler);
    assert_int_equal(error.status, status);
    assert_int_equal(error.system_error, 0);
    for (size_t k = 0; k < sizeof error.reserved / sizeof *error.reserved; k++) assert_true(error.reserved[k] == 0);
    if (status != HWS_ERROR_NOT_FINITE) assert_true(error.position == -1 && error.example == -1);
    else assert_true(error.position == 2 && error.example == 2);
    return error.message;
}

/* Opening has no sampler to ask: the error says which option or which loss it was. */
static void test_open_names_the_fault(void **state) {
    (void)state;
    const hws_options good = hws_options_default();
    hws_error error;
    hws_sampler *sampler = NULL;
    memset(&error, 0x55, sizeof error);
    assert_int_equal(hws_sampler_open(&sampler, 3, NULL, &good, &error), HWS_OK);
    assert_int_equal(error.status, HWS_OK);
    assert_int_equal(error.position, -1);
    assert_string_equal(error.message, "");
    hws_sampler_close(&sampler);
    assert_non_null(strstr(refusal(HWS_ERROR_ARGUMENT, 0, NULL, &good), "0 examples"));

    hws_options bad = good;
    bad.momentum = 1;
    assert_string_equal(refusal(HWS_ERROR_ARGUMENT, 3, NULL, &bad), "momentum is 1; it must be at least 0 and below 1");
    bad = good;
    bad.tail = 20; /* other languages call no tail otherwise than 0 */
    assert_string_equal(refusal(HWS_ERROR_ARGUMENT, 3, NULL, &bad), "tail is 20; it must be above 0 and at most 1");
    bad = good;
    bad.floor = bad.uniform_mix = 0.5;
    assert_non_null(strstr(refusal(HWS_ERROR_ARGUMENT, 3, NULL, &bad), "exclude each other"));
    bad = good;
    bad.divergence = (hws_divergence){.kind = HWS_CVAR, .parameter = 2};
    assert_string_equal(refusal(HWS_ERROR_ARGUMENT, 3, NULL, &bad),
                        "the fraction of CVaR is 2; it must be above 0 and at most 1");
    bad.divergence = (hws_divergence){.kind = (hws_divergence_kind)99};
    assert_non_null(strstr(refusal(HWS_ERROR_ARGUMENT, 3, NULL, &bad), "kind 99"));
    bad.divergence = (hws_divergence){.kind = HWS_CUSTOM};
    assert_non_null(strstr(refusal(HWS_ERROR_DIVERGENCE, 3, NULL, &bad), "lacks slope"));

    const float losses[] = {1, 2, -INFINITY};
    assert_non_null(strstr(refusal(HWS_ERROR_NOT_FINITE, 3, losses, &good), "example 2 is -inf"));
    assert_int_equal(hws_sampler_open(NULL, 3, NULL, NULL, &error), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "the place for the sampler is NULL"));
}

/* So do the functions of a divergence. */
static void test_divergence_functions_name_the_fault(void **state) {
    (void)state;
    hws_error error;
    hws_divergence divergence;
    assert_int_equal(hws_divergence_parse("euclid", &divergence, &error), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "no divergence 'euclid'"));
    assert_int_equal(hws_divergence_parse("cvar:7", &divergence, &error), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "no divergence 'cvar:7'"));
    assert_int_equal(hws_divergence_parse("kl", &divergence, &error), HWS_OK);
    assert_string_equal(error.message, "");

    const float losses[] = {1, -INFINITY};
    double p[2], robust_loss;
    assert_int_equal(hws_divergence_probabilities(&divergence, 1, 2, losses, p, &error), HWS_ERROR_NOT_FINITE);
    assert_true(error.status == HWS_ERROR_NOT_FINITE && error.position == 1 && error.example == 1);
    assert_non_null(strstr(error.message, "example 1 is -inf"));
    assert_int_equal(hws_divergence_probabilities(&divergence, -2, 1, losses, p, &error), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "beta is -2"));
    assert_int_equal(hws_divergence_robust_loss(&divergence, 1, 0, losses, &robust_loss, &error), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "there are no losses"));
    divergence = CUSTOM_KL;
    divergence.phi = NULL;
    assert_int_equal(hws_divergence_robust_loss(&divergence, 1, 1, losses, &robust_loss, &error), HWS_ERROR_DIVERGENCE);
    assert_non_null(strstr(error.message, "lacks phi"));
    assert_int_equal(hws_divergence_robust_loss(&CUSTOM_KL, 1, 1, losses, &robust_loss, &error), HWS_OK);
    assert_true(error.status == HWS_OK && error.position == -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_names_the_fault),
        cmocka_unit_test(test_divergence_functions_name_the_fault),
        cmocka_unit_test(test_null_samplers_are_refused),
        cmocka_unit_test(test_status_texts),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_option_ranges),
        cmocka_unit_test(test_option_combinations),
        cmocka_unit_test(test_open),
        cmocka_unit_test(test_memory_per_example),
        cmocka_unit_test(test_losses_ranges),
        cmocka_unit_test(test_set_losses),
        cmocka_unit_test(test_update_is_all_or_nothing),
        cmocka_unit_test(test_error_message_names_the_example),
        cmocka_unit_test(test_update),
        cmocka_unit_test(test_grow),
        cmocka_unit_test(test_grown_equals_opened),
        cmocka_unit_test(test_hardest),
        cmocka_unit_test(test_counts_are_not_kept_unless_asked),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_draw_arguments),
        cmocka_unit_test(test_more_than_can_be_drawn),
        cmocka_unit_test(test_same_seed_same_draws),
        cmocka_unit_test(test_importance_of_kl),
        cmocka_unit_test(test_exact_importance),
        cmocka_unit_test(test_exact_importance_of_a_giant),
        cmocka_unit_test(test_telemetry),
        cmocka_unit_test(test_draws_leave_no_trace),
        cmocka_unit_test(test_telemetry_arguments),
        cmocka_unit_test(test_divergence_functions_arguments),
        cmocka_unit_test(test_set_beta),
        cmocka_unit_test(test_beta_targets),
        cmocka_unit_test(test_unreachable_betas),
        cmocka_unit_test(test_beta_for_a_single_example),
        cmocka_unit_test(test_betas_stay_in_range),
        cmocka_unit_test(test_custom_divergences),
        cmocka_unit_test(test_inconsistent_callbacks),
        cmocka_unit_test(test_context_is_handed_through),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_jitter),
        cmocka_unit_test(test_jitter_stays_finite),
        cmocka_unit_test(test_single_example),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_extreme_cressie_read),
        cmocka_unit_test(test_tiny_floor_and_mixing),
        cmocka_unit_test(test_tiny_fractions),
    };
    return cmocka_run_group_tests_name("api", tests, NULL, NULL);
}
