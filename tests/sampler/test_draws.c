/* Draws against the exact distributions, for every divergence, with and without replacement, floor and mixing. */
#include "hws.h"
#include "statistics.h"

static const char *const DIVERGENCES[] = {
    "kl", "chi2", "reverse-kl", "hellinger", "cressie-read:1.5", "cressie-read:-1", "cressie-read:3", "js", "cvar:0.3"};
enum { DIVERGENCE_COUNT = sizeof DIVERGENCES / sizeof *DIVERGENCES };

static hws_options options_for(const char *divergence, double beta, uint64_t seed) {
    hws_options options = hws_options_default();
    assert_int_equal(hws_divergence_parse(divergence, &options.divergence, NULL), HWS_OK);
    options.beta = beta;
    options.seed = seed;
    return options;
}

static hws_sampler *open_with(const float *losses, int64_t n, const hws_options *options) {
    hws_sampler *sampler = NULL;
    assert_int_equal(hws_sampler_open(&sampler, n, losses, options, NULL), HWS_OK);
    return sampler;
}

/* What ought to be drawn from, by the O(n) formulas and the definitions of floor and mixing. */
static void expected_distribution(const float *losses, int64_t n, const hws_options *options, double *p) {
    assert_int_equal(hws_divergence_probabilities(&options->divergence, options->beta, n, losses, p, NULL), HWS_OK);
    double total = 0;
    for (int64_t i = 0; i < n; i++) {
        if (options->floor > 0) p[i] = fmax(p[i], options->floor / (double)n);
        p[i] = (1 - options->uniform_mix) * p[i] + options->uniform_mix / (double)n;
        total += p[i];
    }
    for (int64_t i = 0; i < n; i++) p[i] /= total;
}

/* ---- goodness of fit ------------------------------------------------------------------------------------------- */

static double fit_once(const float *losses, int64_t n, const hws_options *options, long batches, int64_t batch) {
    double *p = malloc((size_t)n * sizeof *p);
    long *counts = calloc((size_t)n, sizeof *counts);
    int64_t *indices = malloc((size_t)batch * sizeof *indices);
    expected_distribution(losses, n, options, p);
    hws_sampler *sampler = open_with(losses, n, options);
    for (long t = 0; t < batches; t++) {
        assert_int_equal(hws_sampler_draw(sampler, batch, indices), HWS_OK);
        for (int64_t j = 0; j < batch; j++) counts[indices[j]]++;
    }
    const long draws = batches * batch;
    for (int64_t i = 0; i < n; i++)
        if (count_tail(counts[i], draws, p[i]) < 1e-6 / (2 * (double)n))
            fail_msg("example %lld: %ld of %ld draws, p = %g", (long long)i, counts[i], draws, p[i]);
    const double result = chi_square_p((size_t)n, counts, p, draws);
    hws_sampler_close(&sampler);
    free(indices);
    free(counts);
    free(p);
    return result;
}

/* p-values of many seeds must themselves be uniform. */
static void fit_many(const char *divergence, double beta, double floor, double mix, int64_t batch) {
    enum { N = 300, MOST_SEEDS = 2000 };
    const long seeds = test_size(60, MOST_SEEDS);
    static float losses[N];
    static double p_values[MOST_SEEDS];
    uint64_t state = 77;
    for (int i = 0; i < N; i++) losses[i] = (float)(1 + 0.3 * test_normal(&state));
    losses[3] = losses[4] = losses[5];
    for (long seed = 0; seed < seeds; seed++) {
        hws_options options = options_for(divergence, beta, (uint64_t)seed);
        options.replacement = 1;
        options.floor = floor;
        options.uniform_mix = mix;
        p_values[seed] = fit_once(losses, N, &options, 6000 / batch, batch);
        if (p_values[seed] < 0) return;
    }
    const double p = uniform_p(p_values, (size_t)seeds);
    if (p < 1e-6) fail_msg("%s, beta %g: p-values are not uniform (p = %g)", divergence, beta, p);
}

static void draws_fit_their_distribution(void **state) {
    (void)state;
    const double betas[] = {0, 0.5, 5, 50};
    for (int d = 0; d < DIVERGENCE_COUNT; d++)
        for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) fit_many(DIVERGENCES[d], betas[b], 0, 0, 20);
}

static void floor_and_mixing_fit(void **state) {
    (void)state;
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        fit_many(DIVERGENCES[d], 10, 0.2, 0, 20);
        fit_many(DIVERGENCES[d], 10, 0, 0.1, 20);
    }
    fit_many("kl", 100, 1, 0, 20);
    fit_many("chi2", 100, 0, 1, 20);
}

static void large_trees_fit(void **state) {
    (void)state;
    const int64_t n = 100000;
    float *losses = malloc((size_t)n * sizeof *losses);
    uint64_t seed = 8;
    for (int64_t i = 0; i < n; i++) losses[i] = (float)(1 + 0.1 * test_normal(&seed));
    const double betas[] = {1, 10, 30};
    for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
        hws_options options = options_for("kl", betas[b], b);
        options.replacement = 1;
        const double p = fit_once(losses, n, &options, test_size(20000, 2000000), 64);
        assert_true(p >= 0);
        if (p < 1e-6) fail_msg("beta %g: p = %g", betas[b], p);
    }
    free(losses);
}

/* ---- while losses change --------------------------------------------------------------------------------------- */

/*
 * Under the current p of each step, F(i - 1) + V p_i is uniform and independent of the past (the randomised
 * probability integral transform), however the losses are changed in between.
 */
static void follow_changes(hws_options options, int64_t n, long steps) {
    float *losses = malloc((size_t)n * sizeof *losses);
    double *p = malloc((size_t)n * sizeof *p), *values = malloc((size_t)steps * sizeof *values);
    uint64_t seed = options.seed + 1;
    for (int64_t i = 0; i < n; i++) losses[i] = (float)(1 + 0.2 * test_normal(&seed));
    hws_sampler *sampler = open_with(losses, n, &options);
    for (long t = 0; t < steps; t++) {
        expected_distribution(losses, n, &options, p);
        int64_t drawn;
        assert_int_equal(hws_sampler_draw(sampler, 1, &drawn), HWS_OK);
        double below = 0;
        for (int64_t i = 0; i < drawn; i++) below += p[i];
        values[t] = fmin(1, below + test_unit(&seed) * p[drawn]);
        int64_t changed[3];
        float fresh[3];
        for (int k = 0; k < 3; k++) {
            changed[k] = k ? (int64_t)(test_random(&seed) % (uint64_t)n) : drawn;
            fresh[k] = (float)(1 + (test_random(&seed) % 50 ? 0.2 : 2) * test_normal(&seed));
            losses[changed[k]] = fresh[k];
        }
        assert_int_equal(hws_sampler_update(sampler, 3, changed, fresh), HWS_OK);
    }
    const double result = uniform_p(values, (size_t)steps);
    if (result < 1e-6) fail_msg("divergence %d: p = %g", (int)options.divergence.kind, result);
    hws_sampler_close(&sampler);
    free(values);
    free(p);
    free(losses);
}

static void draws_follow_changing_losses(void **state) {
    (void)state;
    const long steps = test_size(3000, 100000);
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        follow_changes(options_for(DIVERGENCES[d], 3, 5), 40, steps);
        hws_options options = options_for(DIVERGENCES[d], 3, 6);
        options.floor = 0.3;
        follow_changes(options, 40, steps);
        /* large enough for the level window, and gentle enough that it lasts */
        follow_changes(options_for(DIVERGENCES[d], 0.3, 7), 400, steps / 2);
    }
}

/* ---- without replacement --------------------------------------------------------------------------------------- */

/* The chance of an ordered batch under successive sampling (Plackett-Luce). */
static double tuple_chance(const double *p, const int64_t *tuple, int length) {
    double chance = 1;
    for (int k = 0; k < length; k++) {
        double left = 0; /* summed, not 1 - taken: what is left may be tiny */
        for (int i = 0; p[i] >= 0; i++) {
            int out = 0;
            for (int earlier = 0; earlier < k; earlier++) out |= tuple[earlier] == i;
            if (!out) left += p[i];
        }
        if (left <= 0) return 0;
        chance *= p[tuple[k]] / left;
    }
    return chance;
}

static void check_tuples(const float *losses, int n, int batch, hws_options options, long draws) {
    double p[8], chances[343];
    long counts[343] = {0};
    expected_distribution(losses, n, &options, p);
    p[n] = -1;
    int tuples = 1;
    for (int k = 0; k < batch; k++) tuples *= n;
    for (int code = 0; code < tuples; code++) {
        int64_t tuple[3];
        int rest = code, distinct = 1;
        for (int k = 0; k < batch; k++, rest /= n) tuple[k] = rest % n;
        for (int a = 0; a < batch; a++)
            for (int b = 0; b < a; b++) distinct &= tuple[a] != tuple[b];
        chances[code] = distinct ? tuple_chance(p, tuple, batch) : 0;
    }
    hws_sampler *sampler = open_with(losses, n, &options);
    for (long t = 0; t < draws; t++) {
        int64_t indices[3];
        assert_int_equal(hws_sampler_draw(sampler, batch, indices), HWS_OK);
        int code = 0;
        for (int k = batch - 1; k >= 0; k--) code = code * n + (int)indices[k];
        counts[code]++;
    }
    hws_sampler_close(&sampler);
    for (int code = 0; code < tuples; code++)
        if (count_tail(counts[code], draws, chances[code]) < 1e-6 / tuples)
            fail_msg("n %d, batch %d, tuple %d: %ld of %ld, chance %g", n, batch, code, counts[code], draws,
                     chances[code]);
    const double fit = chi_square_p((size_t)tuples, counts, chances, draws);
    if (fit >= 0 && fit < 1e-6) fail_msg("n %d, batch %d: p = %g", n, batch, fit);
}

static void batches_without_replacement_are_successive_draws(void **state) {
    (void)state;
    const long draws = test_size(20000, 2000000);
    static const float usual[] = {1, 1.3f, 0.2f, 0.9f, 1.3f, 0.5f};
    static const float steep[] = {14.8155f, 1, 1.5f, 0.5f, 0.25f, 1}; /* p_1 = 1 - 1e-6 or so at beta 1 */
    static const float cliff[] = {5000, 3000, 1000, 1, 0, -1000};     /* ratios far below the range of doubles */
    for (int n = 2; n <= 6; n++) {
        for (int batch = 1; batch <= 3 && batch <= n; batch++) {
            check_tuples(usual, n, batch, options_for("kl", 2, 1), draws);
            check_tuples(steep, n, batch, options_for("kl", 1, 2), draws);
            check_tuples(cliff, n, batch, options_for("hellinger", 2, 3), draws / 10);
            hws_options mixed = options_for("kl", 2, 4);
            mixed.uniform_mix = 0.05;
            check_tuples(steep, n, batch, mixed, draws);
            mixed = options_for("kl", 2, 5);
            mixed.floor = 0.1;
            check_tuples(usual, n, batch, mixed, draws);
        }
    }
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        if (strncmp(DIVERGENCES[d], "cvar", 4) == 0) continue; /* 0.3 of 5 examples: two can be drawn */
        check_tuples(usual, 5, 2, options_for(DIVERGENCES[d], 1, 7), draws);
    }
    check_tuples(usual, 5, 2, options_for("cvar:0.3", 1, 8), draws);
}

/* At a ratio of e^2000 from each to the next, a batch is the order of the losses, with certainty. */
static void a_cliff_is_drawn_in_order(void **state) {
    (void)state;
    enum { N = 300 };
    float losses[N];
    for (int i = 0; i < N; i++) losses[i] = (float)((i * 7) % N);
    hws_options options = options_for("kl", 2000, 1);
    hws_sampler *sampler = open_with(losses, N, &options);
    int64_t indices[N];
    for (int t = 0; t < 20; t++) {
        assert_int_equal(hws_sampler_draw(sampler, N, indices), HWS_OK);
        for (int k = 0; k < N; k++) assert_true(losses[indices[k]] == (float)(N - 1 - k));
    }
    hws_sampler_close(&sampler);
}

static void a_full_batch_is_a_permutation(void **state) {
    (void)state;
    enum { N = 5000 };
    static int64_t indices[N];
    static char seen[N];
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        hws_options options = options_for(DIVERGENCES[d], 0.5, 1);
        options.jitter = 0.1;
        options.uniform_mix = 0.01;
        hws_sampler *sampler = open_with(NULL, N, &options);
        float before[N], after[N];
        assert_int_equal(hws_sampler_get_losses(sampler, 0, N, before), HWS_OK);
        assert_int_equal(hws_sampler_draw(sampler, N, indices), HWS_OK);
        memset(seen, 0, sizeof seen);
        for (int k = 0; k < N; k++) {
            assert_false(seen[indices[k]]);
            seen[indices[k]] = 1;
        }
        /* what was taken out during the batch is back */
        assert_int_equal(hws_sampler_get_losses(sampler, 0, N, after), HWS_OK);
        assert_memory_equal(before, after, sizeof before);
        hws_sampler_close(&sampler);
    }
}

/* Draws do not depend on what else was asked of the sampler, nor on the batches before. */
static void draws_depend_on_seed_batch_and_losses_alone(void **state) {
    (void)state;
    enum { N = 2000, K = 50 };
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        hws_options options = options_for(DIVERGENCES[d], 1, 42);
        options.jitter = 0.2;
        hws_sampler *plain = open_with(NULL, N, &options), *asked = open_with(NULL, N, &options);
        for (int t = 0; t < 30; t++) {
            int64_t a[K], b[K];
            float losses[K];
            hws_statistics statistics;
            double p;
            assert_int_equal(hws_sampler_statistics(asked, &statistics), HWS_OK);
            assert_int_equal(hws_sampler_probability(asked, t, &p), HWS_OK);
            assert_int_equal(hws_sampler_draw(plain, K, a), HWS_OK);
            assert_int_equal(hws_sampler_draw(asked, K, b), HWS_OK);
            assert_memory_equal(a, b, sizeof a);
            for (int k = 0; k < K; k++) losses[k] = (float)((a[k] * 31 + t) % 100) / 100;
            assert_int_equal(hws_sampler_update(plain, K, a, losses), HWS_OK);
            /* in another order and in two calls: the same losses all the same */
            int64_t reversed[K];
            float their_losses[K];
            for (int k = 0; k < K; k++) {
                reversed[k] = a[K - 1 - k];
                their_losses[k] = losses[K - 1 - k];
            }
            assert_int_equal(hws_sampler_update(asked, 20, reversed, their_losses), HWS_OK);
            assert_int_equal(hws_sampler_update(asked, K - 20, reversed + 20, their_losses + 20), HWS_OK);
        }
        hws_sampler_close(&plain);
        hws_sampler_close(&asked);
    }
}

/* A number that stands for 200 batches of 64, in a run that updates what it draws; all operations are exact. */
static uint64_t print_of_batches(double beta) {
    enum { EXAMPLES = 20000, BATCH = 64 };
    static float losses[EXAMPLES];
    for (uint32_t i = 0; i < EXAMPLES; i++) losses[i] = (float)(i * 2654435761u >> 16) / 65536;
    const hws_options options = options_for("kl", beta, 7);
    hws_sampler *sampler = open_with(losses, EXAMPLES, &options);
    uint64_t print = 0;
    for (uint32_t t = 0; t < 200; t++) {
        int64_t drawn[BATCH];
        float fresh[BATCH];
        assert_int_equal(hws_sampler_draw(sampler, BATCH, drawn), HWS_OK);
        for (uint32_t j = 0; j < BATCH; j++) {
            print = (print ^ (uint64_t)drawn[j]) * UINT64_C(0x9E3779B97F4A7C15);
            fresh[j] = (float)((t * BATCH + j) * 2246822519u >> 16) / 65536;
        }
        assert_int_equal(hws_sampler_update(sampler, BATCH, drawn, fresh), HWS_OK);
    }
    hws_sampler_close(&sampler);
    return print;
}

/* Batches without replacement for a given seed, as they were recorded once: with few and with
   many examples taken out. */
static void batches_are_those_on_record(void **state) {
    (void)state;
    assert_int_equal(print_of_batches(10), UINT64_C(0x22ab229ada715b3e));
    assert_int_equal(print_of_batches(100), UINT64_C(0xc3a3c04339f5e4a5));
    assert_int_equal(print_of_batches(1000), UINT64_C(0xab8ab567fd1802e1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draws_fit_their_distribution),
        cmocka_unit_test(floor_and_mixing_fit),
        cmocka_unit_test(large_trees_fit),
        cmocka_unit_test(draws_follow_changing_losses),
        cmocka_unit_test(batches_without_replacement_are_successive_draws),
        cmocka_unit_test(a_cliff_is_drawn_in_order),
        cmocka_unit_test(a_full_batch_is_a_permutation),
        cmocka_unit_test(draws_depend_on_seed_batch_and_losses_alone),
        cmocka_unit_test(batches_are_those_on_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
