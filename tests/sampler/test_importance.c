/* Normalised importance weights: the estimate of Z_new / Z_old against the exact one, and what the weights promise. */
#include "hws.h"
#include "opened.h"
#include "statistics.h"

static hws_options normalised(double beta) {
    hws_options options = hws_options_default();
    options.beta = beta;
    options.importance = HWS_IMPORTANCE_NORMALISED;
    options.weight_min = 0;
    options.weight_max = INFINITY;
    return options;
}

static double normaliser(double beta, int n, const float *losses) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += exp(beta * losses[i]);
    return sum;
}

/* What a fresh sampler takes Z_new / Z_old to be after this batch: raw ratio over weight, where
   p_new < 1 is no limit. */
static double estimate(const hws_options *options, int n, const float *stale, const float *fresh, int64_t count,
                       const int64_t *batch) {
    float losses[4], weights[4];
    for (int64_t j = 0; j < count; j++) losses[j] = fresh[batch[j]];
    hws_sampler *sampler = opened(n, stale, options);
    assert_int_equal(hws_sampler_importance(sampler, count, batch, losses, weights), HWS_OK);
    hws_sampler_close(&sampler);
    double least = INFINITY;
    for (int64_t j = 0; j < count; j++)
        least = fmin(least, exp(options->beta * (losses[j] - stale[batch[j]])) / weights[j]);
    return least;
}

/* Over all ordered batches with their chances the estimate is Z_new / Z_old: no bias, however uneven p is. */
static void estimate_is_unbiased(void **state) {
    (void)state;
    enum { N = 5 };
    const float stale[N] = {1, 2.5f, 0.2f, 0.9f, 1.4f}, fresh[N] = {0.8f, 1.9f, 0.3f, 0.4f, 1.2f};
    for (double beta = 0.5; beta <= 2; beta *= 2)
        for (int count = 1; count <= 3; count++)
            for (int replacement = 0; replacement < 2; replacement++) {
                hws_options options = normalised(beta);
                options.replacement = replacement;
                double p[N], mean = 0, total = 0;
                const double old = normaliser(beta, N, stale), exact = normaliser(beta, N, fresh) / old;
                for (int i = 0; i < N; i++) p[i] = exp(beta * stale[i]) / old;
                int tuples = 1;
                for (int k = 0; k < count; k++) tuples *= N;
                for (int code = 0; code < tuples; code++) {
                    int64_t batch[3];
                    double chance = 1, left = 1;
                    for (int k = 0, rest = code; k < count; k++, rest /= N) {
                        batch[k] = rest % N;
                        for (int l = 0; l < k && !replacement; l++) chance *= batch[l] != batch[k];
                        chance *= p[batch[k]] / left;
                        if (!replacement) left -= p[batch[k]];
                    }
                    if (!(chance > 0)) continue;
                    mean += chance * estimate(&options, N, stale, fresh, count, batch);
                    total += chance;
                }
                assert_close(total, 1, 1e-12);
                assert_close(mean, exact, 1e-5); /* the weights are floats */
            }
}

/*
 * A training of its own: losses fall and scatter. What p_new / p_old is with all losses fresh, and what the weights say
 * of it over the last 64 drawn examples.
 */
typedef struct drift {
    double mean_log, spread_log, mean_weight, mean_exact;
} drift;

static drift follow(hws_options options, int batch_size, double fall, double noise, int rounds) {
    enum { N = 400, MOST = 64 };
    static float now[N], losses[MOST], weights[MOST];
    float stale[N];
    int64_t batch[MOST];
    uint64_t seed = (uint64_t)batch_size;
    for (int i = 0; i < N; i++) now[i] = (float)(2 + 0.3 * test_normal(&seed));
    hws_sampler *sampler = opened(N, now, &options);
    drift sums = {0};
    double squares = 0;
    long counted = 0;
    for (int t = 0; t < rounds; t++) {
        for (int i = 0; i < N; i++) now[i] = (float)(now[i] - fall + noise * test_normal(&seed));
        assert_int_equal(hws_sampler_get_losses(sampler, 0, N, stale), HWS_OK);
        assert_int_equal(hws_sampler_draw(sampler, batch_size, batch), HWS_OK);
        for (int j = 0; j < batch_size; j++) losses[j] = now[batch[j]];
        assert_int_equal(hws_sampler_importance(sampler, batch_size, batch, losses, weights), HWS_OK);
        assert_int_equal(hws_sampler_update(sampler, batch_size, batch, losses), HWS_OK);
        if (t < rounds / 2) continue;
        const double ratio = normaliser(options.beta, N, now) / normaliser(options.beta, N, stale);
        for (int j = 0; j < batch_size; j++) {
            const double exact = exp(options.beta * (losses[j] - stale[batch[j]])) / ratio;
            const double miss = log(weights[j] / exact);
            sums.mean_log += miss;
            squares += miss * miss;
            sums.mean_weight += weights[j];
            sums.mean_exact += exact;
            counted++;
        }
    }
    hws_sampler_close(&sampler);
    sums.mean_log /= (double)counted;
    sums.mean_weight /= (double)counted;
    sums.mean_exact /= (double)counted;
    sums.spread_log = sqrt(squares / (double)counted - sums.mean_log * sums.mean_log);
    return sums;
}

/* Against the exact ratio of all losses: bias and spread of the logarithm of the weight. */
static void weights_are_close_to_the_exact_ratio(void **state) {
    (void)state;
    for (int batch = 2; batch <= 64; batch *= 32)
        for (int variant = 0; variant < 2; variant++) {
            hws_options options = normalised(3);
            options.replacement = variant == 1;
            const drift found = follow(options, batch, 0.0005, 0.02, 4000 / batch + 200);
            const double bias = batch == 2 ? 0.06 : 0.01, spread = batch == 2 ? 0.2 : 0.03;
            if (!(fabs(found.mean_log) < bias && found.spread_log < spread))
                fail_msg("batch %d, variant %d: the weights are off by %.3f +- %.3f in the logarithm", batch, variant,
                         found.mean_log, found.spread_log);
            if (!(fabs(found.mean_weight - 1) < 0.05))
                fail_msg("batch %d, variant %d: the mean weight is %.3f", batch, variant, found.mean_weight);
        }
}

/* All losses fall by the same amount: p does not change, and the right weight is 1. The paper's weight is not. */
static void weights_stay_at_one_while_all_losses_fall(void **state) {
    (void)state;
    for (int kind = 0; kind < 2; kind++)
        for (int batch = 1; batch <= 64; batch *= 8) {
            enum { N = 200 };
            hws_options options = normalised(100);
            if (kind == 0) options.importance = HWS_IMPORTANCE_APPROXIMATE;
            options.weight_min = 0.1;
            options.weight_max = 10;
            float losses[N], weights[64], fresh[64];
            int64_t indices[64];
            uint64_t seed = 3;
            for (int i = 0; i < N; i++) losses[i] = (float)(3 + 0.01 * test_normal(&seed));
            hws_sampler *sampler = opened(N, losses, &options);
            double mean = 0, worst = 0;
            for (int t = 0; t < 100; t++) {
                /* every loss is fresh but for one common step down */
                for (int i = 0; i < N; i++) losses[i] -= 0.02f;
                assert_int_equal(hws_sampler_draw(sampler, batch, indices), HWS_OK);
                for (int j = 0; j < batch; j++) fresh[j] = losses[indices[j]];
                assert_int_equal(hws_sampler_importance(sampler, batch, indices, fresh, weights), HWS_OK);
                assert_int_equal(hws_sampler_update(sampler, batch, indices, fresh), HWS_OK);
                assert_int_equal(hws_sampler_set_losses(sampler, 0, N, losses), HWS_OK);
                for (int j = 0; j < batch; j++) {
                    mean += weights[j] / (100.0 * batch);
                    worst = fmax(worst, fabs(weights[j] - 1));
                }
            }
            hws_sampler_close(&sampler);
            if (kind == 1 && !(worst < 1e-3)) fail_msg("batch %d: a weight is off by %g", batch, worst);
            if (kind == 0 && !(mean < 0.2)) fail_msg("the paper's mean weight is %g, which is no fall", mean);
        }
}

/* What mixing and a floor add is drawn from, too: the weight is that of what is drawn from. */
static void floor_and_mixing_are_part_of_the_ratio(void **state) {
    (void)state;
    enum { N = 300, BATCH = 64 };
    for (int variant = 0; variant < 2; variant++) {
        hws_options options = normalised(8);
        options.uniform_mix = variant == 0 ? 0.3 : 0;
        options.floor = variant == 1 ? 0.3 : 0;
        float stale[N], now[N], losses[BATCH], weights[BATCH];
        uint64_t seed = 4;
        double bias = 0, counted = 0;
        for (int round = 0; round < 60; round++) {
            for (int i = 0; i < N; i++) {
                stale[i] = (float)(1 + 0.2 * test_normal(&seed));
                now[i] = (float)(stale[i] - 0.2 + 0.05 * test_normal(&seed));
            }
            hws_sampler *sampler = opened(N, stale, &options), *after = opened(N, now, &options);
            int64_t batch[BATCH];
            double p[N], q[N];
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
            assert_int_equal(hws_sampler_probabilities(after, 0, N, q), HWS_OK);
            options.seed++;
            assert_int_equal(hws_sampler_draw(sampler, BATCH, batch), HWS_OK);
            for (int j = 0; j < BATCH; j++) losses[j] = now[batch[j]];
            assert_int_equal(hws_sampler_importance(sampler, BATCH, batch, losses, weights), HWS_OK);
            for (int j = 0; j < BATCH; j++) {
                const double miss = log(weights[j] / (q[batch[j]] / p[batch[j]]));
                if (!(fabs(miss) < 0.4)) fail_msg("variant %d: a weight is off by %g", variant, miss);
                bias += miss;
                counted++;
            }
            hws_sampler_close(&sampler);
            hws_sampler_close(&after);
        }
        if (!(fabs(bias / counted) < 0.03)) fail_msg("variant %d: weights are off by %g", variant, bias / counted);
    }
}

/* One giant among the ratios is forgotten soon: it counts for no more than what its weight is clipped to. */
static void a_giant_is_forgotten(void **state) {
    (void)state;
    enum { N = 100 };
    hws_options options = normalised(100);
    options.weight_min = 0.1;
    options.weight_max = 10;
    float losses[N], weights[2];
    for (int i = 0; i < N; i++) losses[i] = 1;
    hws_sampler *sampler = opened(N, losses, &options);
    int64_t batch[2] = {0, 1};
    const float quiet[2] = {1, 1}, giant[2] = {1, 1.4f};
    for (int t = 0; t < 50; t++) assert_int_equal(hws_sampler_update(sampler, 2, batch, quiet), HWS_OK);
    assert_int_equal(hws_sampler_importance(sampler, 2, batch, giant, weights), HWS_OK);
    assert_true(weights[1] > 5 && weights[0] > 0.7f); /* exp(40) over a mean that it may raise by a third at most */
    assert_int_equal(hws_sampler_update(sampler, 2, batch, giant), HWS_OK);
    batch[1] = 2;
    assert_int_equal(hws_sampler_importance(sampler, 2, batch, quiet, weights), HWS_OK);
    assert_true(weights[0] > 0.7f && weights[1] > 0.7f);
    hws_sampler_close(&sampler);
}

/* No weight makes p_new larger than 1, and beta 0 gives 1 throughout. */
static void weights_have_limits(void **state) {
    (void)state;
    hws_options options = normalised(10);
    const float losses[3] = {2, 1, 1};
    hws_sampler *sampler = opened(3, losses, &options);
    double p;
    assert_int_equal(hws_sampler_probability(sampler, 0, &p), HWS_OK);
    const int64_t batch[2] = {0, 1};
    const float fresh[2] = {9, -9};
    float weights[2];
    for (int t = 0; t < 50; t++) assert_int_equal(hws_sampler_update(sampler, 2, batch, losses), HWS_OK);
    assert_int_equal(hws_sampler_importance(sampler, 2, batch, fresh, weights), HWS_OK);
    assert_close(weights[0], 1 / p, 1e-6);
    assert_true(weights[1] >= 0 && weights[1] < 1e-6);
    hws_sampler_close(&sampler);
    options.beta = 0;
    sampler = opened(3, losses, &options);
    assert_int_equal(hws_sampler_importance(sampler, 2, batch, fresh, weights), HWS_OK);
    assert_true(weights[0] == 1 && weights[1] == 1);
    hws_sampler_close(&sampler);
}

static void other_divergences_are_refused(void **state) {
    (void)state;
    const char *const names[] = {"chi2", "reverse-kl", "hellinger", "cressie-read:1.5", "js", "cvar:0.1"};
    for (size_t d = 0; d < sizeof names / sizeof *names; d++) {
        hws_options options = normalised(1);
        hws_error error;
        hws_sampler *sampler = NULL;
        assert_int_equal(hws_divergence_parse(names[d], &options.divergence, NULL), HWS_OK);
        assert_int_equal(hws_sampler_open(&sampler, 3, NULL, &options, &error), HWS_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "normalised importance weights are for KL"));
    }
    hws_options chi2 = hws_options_default();
    chi2.divergence.kind = HWS_CHI2;
    hws_sampler *other = opened(3, NULL, &chi2);
    assert_int_equal(hws_sampler_set_importance(other, HWS_IMPORTANCE_NORMALISED), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_set_importance(other, (hws_importance)3), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_set_importance(other, HWS_IMPORTANCE_EXACT), HWS_OK);
    assert_true(hws_sampler_options(other).importance == HWS_IMPORTANCE_EXACT);
    hws_sampler_close(&other);
    hws_options options = normalised(1); /* KL under another name */
    assert_int_equal(hws_divergence_parse("cressie-read:1", &options.divergence, NULL), HWS_OK);
    hws_sampler *sampler = opened(3, NULL, &options);
    hws_sampler_close(&sampler);
}

/* Without a loss the first weight is 1, and it is no part of the mean; a guess is the first stale
   loss, as the paper's L_init. */
static void the_first_weight_goes_by_the_first_loss_if_there_is_one(void **state) {
    (void)state;
    enum { N = 40, BATCH = 4 };
    static const float FRESH[BATCH] = {1.5f, 1.9f, 2.4f, 1.7f};
    for (int guessed = 0; guessed < 2; guessed++)
        for (int kind = HWS_IMPORTANCE_APPROXIMATE; kind <= HWS_IMPORTANCE_NORMALISED; kind += 2) {
            hws_options options = normalised(1.5);
            options.initial_loss = guessed ? 2 : NAN;
            options.importance = (hws_importance)kind;
            hws_sampler *sampler = opened(N, NULL, &options);
            int64_t batch[BATCH];
            float weights[BATCH];
            double mean = 0; /* by Des Raj, with p = 1 / N of all */
            for (int j = 0; j < BATCH; j++)
                mean += exp(1.5 * (double)(FRESH[j] - 2)) * (1 + (BATCH - 1 - 2.0 * j) / N) / BATCH;
            assert_int_equal(hws_sampler_draw(sampler, BATCH, batch), HWS_OK);
            assert_int_equal(hws_sampler_importance(sampler, BATCH, batch, FRESH, weights), HWS_OK);
            for (int j = 0; j < BATCH; j++) {
                const double ratio = exp(1.5 * (double)(FRESH[j] - 2));
                const double expected = kind == HWS_IMPORTANCE_NORMALISED ? ratio / mean : ratio;
                assert_close((double)weights[j], guessed ? expected : 1, 1e-6);
            }
            hws_sampler_close(&sampler);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_weight_goes_by_the_first_loss_if_there_is_one),
        cmocka_unit_test(estimate_is_unbiased),
        cmocka_unit_test(weights_are_close_to_the_exact_ratio),
        cmocka_unit_test(weights_stay_at_one_while_all_losses_fall),
        cmocka_unit_test(floor_and_mixing_are_part_of_the_ratio),
        cmocka_unit_test(a_giant_is_forgotten),
        cmocka_unit_test(weights_have_limits),
        cmocka_unit_test(other_divergences_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
