/* First visits: every example without a loss is seen before any is seen twice. */
#include "every_divergence.h"
#include "hws.h"
#include "opened.h"
#include "sampler/visit_set.h"
#include "statistics.h"

static hws_options options_with(hws_divergence divergence, uint64_t seed) {
    hws_options options = hws_options_default();
    options.beta = 2;
    options.divergence = divergence;
    options.seed = seed;
    return options;
}

/* ---- the set --------------------------------------------------------------------------------------------------- */

static void set_agrees_with_flags(void **state) {
    (void)state;
    const int64_t sizes[] = {1, 63, 64, 65, 1024, 1025, 16385, 300000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        const int64_t n = sizes[s];
        uint64_t seed = s;
        visit_set set;
        assert_true(visit_set_open(&set, n));
        char *flags = calloc((size_t)n, 1);
        for (int64_t t = 0; t < 2 * n + 200; t++) {
            const int64_t example = (int64_t)(test_random(&seed) % (uint64_t)n);
            const int add = test_random(&seed) % 3 != 0;
            if (add) visit_set_add(&set, example);
            else visit_set_remove(&set, example);
            flags[example] = (char)add;
        }
        int64_t rank = 0;
        for (int64_t i = 0; i < n; i++) {
            assert_int_equal(visit_set_has(&set, i), flags[i]);
            if (flags[i] && (n < 20000 || i % 97 == 0)) assert_int_equal(visit_set_select(&set, rank), i);
            rank += flags[i];
        }
        assert_int_equal(set.size, rank);
        free(flags);
        visit_set_close(&set);
    }
}

/* ---- the rule -------------------------------------------------------------------------------------------------- */

/* Losses of any scale, and a look-ahead: the first n examples drawn are all different. */
static void all_are_seen_before_any_is_seen_twice(void **state) {
    (void)state;
    enum { N = 700, BATCH = 32 };
    const double scales[] = {1e-20, 1, 1e6, 1e30};
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int ahead = 0; ahead < 6; ahead += 5)
            for (size_t s = 0; s < 4; s++) {
                hws_options options = options_with(divergence_number(d), s);
                options.uniform_mix = d % 2 ? 0.1 : 0; /* so that a batch is never too large for the divergence */
                options.floor = d % 2 ? 0 : 0.1;
                options.replacement = s == 2;
                hws_sampler *sampler = opened(N, NULL, &options);
                int64_t drawn[40 * BATCH];
                char seen[N] = {0};
                uint64_t seed = 9;
                for (int t = 0; t < 40; t++) {
                    assert_int_equal(hws_sampler_draw(sampler, BATCH, drawn + t * BATCH), HWS_OK);
                    float losses[BATCH], weights[BATCH];
                    for (int k = 0; k < BATCH; k++) losses[k] = (float)(scales[s] * (test_normal(&seed) - 1));
                    if (t < ahead) continue;
                    const int64_t *batch = drawn + (t - ahead) * BATCH;
                    assert_int_equal(hws_sampler_importance(sampler, BATCH, batch, losses, weights), HWS_OK);
                    for (int k = 0; k < BATCH; k++)
                        if (!seen[batch[k]]) assert_true(weights[k] == 1);
                    for (int k = 0; k < BATCH; k++) seen[batch[k]] = 1;
                    assert_int_equal(hws_sampler_update(sampler, BATCH, batch, losses), HWS_OK);
                    int64_t unseen = 0;
                    for (int i = 0; i < N; i++) unseen += !seen[i];
                    assert_int_equal(hws_sampler_unseen(sampler), unseen);
                }
                char first[N] = {0};
                for (int j = 0; j < N; j++) assert_false(first[drawn[j]]++);
                hws_sampler_close(&sampler);
            }
}

/* The first loss is taken as it is, whatever the momentum. */
static void the_first_loss_is_whole(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(divergence_number(d), 1);
        options.momentum = 0.9;
        hws_sampler *sampler = opened(3, NULL, &options);
        const int64_t example = 1;
        const float first = 5, second = 15;
        float found[3];
        assert_int_equal(hws_sampler_update(sampler, 1, &example, &first), HWS_OK);
        assert_int_equal(hws_sampler_get_losses(sampler, 0, 3, found), HWS_OK);
        assert_true(isnan(found[0]) && found[1] == 5 && isnan(found[2]));
        assert_int_equal(hws_sampler_update(sampler, 1, &example, &second), HWS_OK);
        assert_int_equal(hws_sampler_get_losses(sampler, 0, 3, found), HWS_OK);
        assert_close(found[1], 6, 1e-6);
        hws_sampler_close(&sampler);
    }
}

/* Every order of the first visits has the same chance, over seeds. */
static void every_order_is_as_likely(void **state) {
    (void)state;
    const long seeds = test_size(60000, 3000000);
    for (int batch = 1; batch <= 4; batch += 3) {
        long counts[256] = {0};
        double p[256] = {0};
        for (long seed = 0; seed < seeds; seed++) {
            hws_options options = options_with((hws_divergence){.kind = HWS_KL}, (uint64_t)seed);
            hws_sampler *sampler = opened(4, NULL, &options);
            int code = 0;
            for (int k = 0; k < 4; k += batch) {
                int64_t drawn[4];
                assert_int_equal(hws_sampler_draw(sampler, batch, drawn), HWS_OK);
                for (int j = 0; j < batch; j++) code = 4 * code + (int)drawn[j];
            }
            counts[code]++;
            hws_sampler_close(&sampler);
        }
        for (int code = 0; code < 256; code++) {
            unsigned used = 0;
            for (int k = 0; k < 4; k++) used |= 1u << (code >> 2 * k & 3);
            p[code] = used == 15 ? 1 / 24.0 : 0;
            if (used != 15) assert_int_equal(counts[code], 0);
        }
        const double fit = chi_square_p(256, counts, p, seeds);
        if (!(fit > 1e-6)) fail_msg("batches of %d: p = %g", batch, fit);
    }
}

/* ---- when first visits and losses meet ------------------------------------------------------------------------- */

/*
 * Some examples have a loss, some are to be visited, some wait for their loss. A batch takes all that are to be
 * visited, then from p over those with a loss, and those that wait only when nothing else is left.
 */
static void a_batch_takes_visits_then_losses_then_what_waits(void **state) {
    (void)state;
    const float losses[9] = {1, NAN, 0.5f, NAN, 2, NAN, NAN, NAN, 1.5f};
    for (int replacement = 0; replacement < 2; replacement++)
        for (int variant = 0; variant < 3; variant++)
            for (int seed = 0; seed < 200; seed++) {
                hws_options options =
                    options_with((hws_divergence){.kind = variant == 1 ? HWS_CHI2 : HWS_KL}, (uint64_t)seed);
                options.replacement = replacement;
                options.beta = 0.5;
                options.uniform_mix = variant == 2 ? 0.5 : 0;
                hws_sampler *sampler = opened(9, losses, &options);
                int64_t waiting[2], batch[9], drawable;
                assert_int_equal(hws_sampler_draw(sampler, 2, waiting), HWS_OK);
                assert_int_equal(hws_sampler_drawable(sampler, &drawable), HWS_OK);
                assert_int_equal(drawable, 9);
                assert_int_equal(hws_sampler_draw(sampler, 9, batch), HWS_OK);
                for (int j = 0; j < 3; j++) /* the three that were left */
                    assert_true(isnan(losses[batch[j]]) && batch[j] != waiting[0] && batch[j] != waiting[1]);
                for (int j = 3; j < (replacement ? 9 : 7); j++) assert_true(!isnan(losses[batch[j]]));
                unsigned used = 0;
                for (int j = 0; j < 9; j++) used |= 1u << batch[j];
                if (!replacement) assert_true(used == 511);
                hws_sampler_close(&sampler);
            }
}

/* p over the examples with a loss, by definition. */
static void expected_among_known(const hws_options *options, int n, const float *losses, double *p) {
    float known[8];
    double among[8];
    int count = 0;
    for (int i = 0; i < n; i++)
        if (!isnan(losses[i])) known[count++] = losses[i];
    assert_int_equal(hws_divergence_probabilities(&options->divergence, options->beta, count, known, among, NULL),
                     HWS_OK);
    double total = 0;
    for (int k = 0; k < count; k++) {
        if (options->floor > 0) among[k] = fmax(among[k], options->floor / count);
        among[k] = (1 - options->uniform_mix) * among[k] + options->uniform_mix / count;
        total += among[k];
    }
    for (int i = 0, k = 0; i < n; i++) p[i] = isnan(losses[i]) ? 0 : among[k++] / total;
}

/* While others wait for their loss, batches of two are exact successive draws from p over those that have one. */
static void draws_among_known_are_exact(void **state) {
    (void)state;
    enum { N = 7, KNOWN = 4 };
    const float losses[N] = {NAN, 1, 1.3f, NAN, 0.2f, NAN, 0.9f};
    const long draws = test_size(6000, 600000);
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (int variant = 0; variant < 3; variant++) {
            hws_options options = options_with(divergence_number(d), 3);
            options.beta = 1;
            if (options.divergence.kind == HWS_CVAR) options.divergence.parameter = 0.6;
            options.floor = variant == 1 ? 0.4 : 0;
            options.uniform_mix = variant == 2 ? 0.3 : 0;
            double p[N], found[N], chances[N * N];
            long counts[N * N] = {0}, made = 0;
            expected_among_known(&options, N, losses, p);
            hws_sampler *sampler = opened(N, losses, &options);
            int64_t batch[3];
            for (long t = 0; t < draws; t++) {
                /* those without a loss are visited again now and then, as if theirs had got lost */
                double next = 0;
                assert_int_equal(hws_sampler_probability(sampler, 0, &next), HWS_OK);
                if (next > 0) {
                    assert_close(next, 1 / 3.0, 1e-12);
                    assert_int_equal(hws_sampler_draw(sampler, 3, batch), HWS_OK);
                    for (int j = 0; j < 3; j++) assert_true(isnan(losses[batch[j]]));
                    continue;
                }
                assert_int_equal(hws_sampler_probabilities(sampler, 0, N, found), HWS_OK);
                for (int i = 0; i < N; i++) assert_true(fabs(found[i] - p[i]) < 1e-12);
                assert_int_equal(hws_sampler_draw(sampler, 2, batch), HWS_OK);
                counts[batch[0] * N + batch[1]]++;
                made++;
            }
            assert_true(made > draws / 2);
            for (int a = 0; a < N; a++)
                for (int b = 0; b < N; b++) {
                    chances[a * N + b] = a != b && p[a] > 0 ? p[a] * p[b] / (1 - p[a]) : 0;
                    if (count_tail(counts[a * N + b], made, chances[a * N + b]) < 1e-7)
                        fail_msg("divergence %zu, variant %d: %d, %d: %ld of %ld, chance %g", d, variant, a, b,
                                 counts[a * N + b], made, chances[a * N + b]);
                }
            hws_sampler_close(&sampler);
        }
}

/* An example whose loss never comes is drawn again, but only after as many others as there are examples. */
static void a_lost_loss_is_asked_for_again(void **state) {
    (void)state;
    enum { N = 50 };
    hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 4);
    hws_sampler *sampler = opened(N, NULL, &options);
    int64_t lost = -1, batch;
    for (int t = 0; t < N; t++) {
        assert_int_equal(hws_sampler_draw(sampler, 1, &batch), HWS_OK);
        const float loss = (float)t;
        if (t == 20) lost = batch;
        else assert_int_equal(hws_sampler_update(sampler, 1, &batch, &loss), HWS_OK);
    }
    for (int round = 0; round < 3; round++) {
        for (int t = 0; t < N; t++) {
            assert_int_equal(hws_sampler_unseen(sampler), 1);
            assert_int_equal(hws_sampler_draw(sampler, 1, &batch), HWS_OK);
            assert_true(batch != lost);
        }
        assert_int_equal(hws_sampler_draw(sampler, 1, &batch), HWS_OK);
        assert_int_equal(batch, lost);
    }
    const float loss = 1;
    assert_int_equal(hws_sampler_update(sampler, 1, &lost, &loss), HWS_OK);
    assert_int_equal(hws_sampler_unseen(sampler), 0);
    hws_sampler_close(&sampler);
}

/* Nobody hands losses back: every example is drawn as often as every other, up to one. */
static void without_losses_draws_go_round(void **state) {
    (void)state;
    enum { N = 23, BATCH = 6 };
    for (int replacement = 0; replacement < 2; replacement++) {
        hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 4);
        options.replacement = replacement;
        options.keep_counts = 1;
        hws_sampler *sampler = opened(N, NULL, &options);
        uint64_t counts[N];
        for (int t = 0; t < 100; t++) {
            int64_t batch[BATCH];
            assert_int_equal(hws_sampler_draw(sampler, BATCH, batch), HWS_OK);
            assert_int_equal(hws_sampler_draw_counts(sampler, 0, N, counts), HWS_OK);
            for (int i = 0; i < N; i++)
                for (int k = 0; k < N; k++) assert_true(counts[i] <= counts[k] + 2);
            double p[N], total = 0;
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
            for (int i = 0; i < N; i++) total += p[i];
            assert_close(total, 1, 1e-12);
        }
        hws_sampler_close(&sampler);
    }
}

/* ---- what comes and goes --------------------------------------------------------------------------------------- */

/* Growing, setting and taking away against flags of one's own, for all divergences. */
static void visits_follow_every_change(void **state) {
    (void)state;
    enum { MOST = 400 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(divergence_number(d), d);
        options.beta = 0.5;
        hws_sampler *sampler = opened(40, NULL, &options);
        float model[MOST], found[MOST], fresh[MOST];
        for (int i = 0; i < MOST; i++) model[i] = NAN;
        uint64_t seed = d;
        int64_t n = 40, batch[8];
        for (int t = 0; t < 300; t++) {
            const uint64_t what = test_random(&seed) % 8;
            const int64_t count = 1 + (int64_t)(test_random(&seed) % (what == 1 ? 300 : 8));
            const int64_t first = (int64_t)(test_random(&seed) % (uint64_t)n);
            for (int64_t j = 0; j < count; j++)
                fresh[j] = test_random(&seed) % 3 ? (float)(1 + test_normal(&seed)) : NAN;
            if (what == 0 && n + count <= MOST) {
                assert_int_equal(hws_sampler_grow(sampler, count, fresh), HWS_OK);
                memcpy(model + n, fresh, (size_t)count * sizeof *fresh);
                n += count;
            } else if (what <= 2) {
                const int64_t some = first + count > n ? n - first : count;
                assert_int_equal(hws_sampler_set_losses(sampler, first, some, fresh), HWS_OK);
                memcpy(model + first, fresh, (size_t)some * sizeof *fresh);
            } else {
                const int64_t size = count < n ? count : n;
                int64_t drawable;
                assert_int_equal(hws_sampler_drawable(sampler, &drawable), HWS_OK);
                if (size > drawable || size > 8) continue;
                assert_int_equal(hws_sampler_draw(sampler, size, batch), HWS_OK);
                for (int64_t j = 0; j < size; j++) model[batch[j]] = fresh[j] = (float)test_unit(&seed);
                assert_int_equal(hws_sampler_update(sampler, size, batch, fresh), HWS_OK);
            }
            assert_int_equal(hws_sampler_get_losses(sampler, 0, n, found), HWS_OK);
            int64_t unseen = 0;
            for (int64_t i = 0; i < n; i++) {
                assert_true(found[i] == model[i] || (isnan(found[i]) && isnan(model[i])));
                unseen += isnan(model[i]);
            }
            assert_int_equal(hws_sampler_unseen(sampler), unseen);
            /* all losses come back at once here, so that what has none is still to be visited */
            double p[MOST];
            assert_int_equal(hws_sampler_probabilities(sampler, 0, n, p), HWS_OK);
            for (int64_t i = 0; unseen > 0 && i < n; i++)
                assert_close(p[i], isnan(model[i]) ? 1 / (double)unseen : 0, 1e-12);
        }
        hws_sampler_close(&sampler);
    }
}

/* A sampler in which some examples have got their losses since equals one that was opened with them. */
static void known_losses_decide_alone(void **state) {
    (void)state;
    enum { N = 600 };
    for (size_t d = 0; d < DIVERGENCES; d++) {
        hws_options options = options_with(divergence_number(d), d);
        options.beta = 0.5;
        options.uniform_mix = 0.05;
        float losses[N];
        uint64_t seed = d;
        for (int i = 0; i < N; i++) losses[i] = (float)(1 + 0.3 * test_normal(&seed));
        hws_sampler *late = opened(N, NULL, &options), *whole = opened(N, losses, &options);
        for (int64_t i = 0; i < N; i++)
            assert_int_equal(hws_sampler_update(late, 1, &(int64_t){(i * 7) % N}, &losses[(i * 7) % N]), HWS_OK);
        double p[2][N];
        assert_int_equal(hws_sampler_probabilities(late, 0, N, p[0]), HWS_OK);
        assert_int_equal(hws_sampler_probabilities(whole, 0, N, p[1]), HWS_OK);
        for (int i = 0; i < N; i++) assert_close(p[0][i], p[1][i], 1e-11);
        hws_statistics a, b;
        assert_int_equal(hws_sampler_statistics(late, &a), HWS_OK);
        assert_int_equal(hws_sampler_statistics(whole, &b), HWS_OK);
        assert_close(a.effective_size, b.effective_size, 1e-10);
        assert_true(a.loss_mean == b.loss_mean && a.loss_max == b.loss_max && a.unseen == 0);
        hws_sampler_close(&late);
        hws_sampler_close(&whole);
    }
}

/* ---- what can be asked ----------------------------------------------------------------------------------------- */

static void nothing_is_said_of_losses_that_are_not_there(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(divergence_number(d), 1);
        hws_sampler *sampler = opened(5, NULL, &options);
        double value = 77;
        assert_int_equal(hws_sampler_robust_loss(sampler, &value), HWS_ERROR_NO_LOSS);
        assert_int_equal(hws_sampler_percentile(sampler, 0.5, &value), HWS_ERROR_NO_LOSS);
        assert_int_equal(hws_sampler_percentile_bound(sampler, 0.5, &value), HWS_ERROR_NO_LOSS);
        assert_int_equal(hws_sampler_cvar(sampler, 0.5, &value), HWS_ERROR_NO_LOSS);
        assert_non_null(strstr(hws_sampler_error(sampler)->message, "none of the 5 examples has a loss yet"));
        if (options.divergence.kind != HWS_CVAR) {
            assert_int_equal(hws_sampler_beta_for_spread(sampler, 1, &value), HWS_ERROR_NO_LOSS);
            assert_int_equal(hws_sampler_beta_for_kl(sampler, 0.5, &value), HWS_ERROR_NO_LOSS);
            assert_int_equal(hws_sampler_beta_for_effective_size(sampler, 2, &value), HWS_ERROR_NO_LOSS);
        }
        assert_true(value == 77);
        hws_statistics statistics;
        assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
        assert_true(isnan(statistics.loss_mean) && isnan(statistics.loss_max) && isnan(statistics.robust_loss));
        assert_true(statistics.effective_size == 0 && statistics.unseen == 5 && statistics.drawable == 5);
        assert_int_equal(hws_sampler_set_beta(sampler, 3), HWS_OK);
        hws_sampler_close(&sampler);
    }
}

static void queries_speak_of_those_with_a_loss(void **state) {
    (void)state;
    const float losses[8] = {NAN, 3, NAN, 1, 2, NAN, 2, NAN}, known[4] = {3, 1, 2, 2};
    for (size_t d = 0; d < DIVERGENCES; d++) {
        const hws_options options = options_with(divergence_number(d), 1);
        hws_sampler *some = opened(8, losses, &options), *all = opened(4, known, &options);
        double a, b;
        assert_int_equal(hws_sampler_robust_loss(some, &a), HWS_OK);
        assert_int_equal(hws_sampler_robust_loss(all, &b), HWS_OK);
        assert_close(a, b, 1e-12);
        for (double alpha = 0.25; alpha <= 1; alpha += 0.25) {
            assert_int_equal(hws_sampler_percentile(some, alpha, &a), HWS_OK);
            assert_int_equal(hws_sampler_percentile(all, alpha, &b), HWS_OK);
            assert_true(a == b);
            assert_int_equal(hws_sampler_cvar(some, alpha, &a), HWS_OK);
            assert_int_equal(hws_sampler_cvar(all, alpha, &b), HWS_OK);
            assert_close(a, b, 1e-12);
            assert_int_equal(hws_sampler_percentile_bound(some, alpha, &a), HWS_OK);
            assert_int_equal(hws_sampler_percentile_bound(all, alpha, &b), HWS_OK);
            assert_close(a, b, 1e-12);
        }
        if (options.divergence.kind != HWS_CVAR) {
            assert_int_equal(hws_sampler_beta_for_effective_size(some, 2, &a), HWS_OK);
            assert_int_equal(hws_sampler_beta_for_effective_size(all, 2, &b), HWS_OK);
            assert_close(a, b, 1e-9);
        }
        hws_statistics s, t;
        assert_int_equal(hws_sampler_statistics(some, &s), HWS_OK);
        assert_int_equal(hws_sampler_statistics(all, &t), HWS_OK);
        assert_close(s.effective_size, t.effective_size, 1e-9);
        assert_true(fabs(s.kl_to_uniform - t.kl_to_uniform) < 1e-9);
        assert_true(s.loss_mean == t.loss_mean && s.loss_std == t.loss_std && s.loss_min == t.loss_min);
        assert_true(s.unseen == 4 && s.drawable == 4 + t.drawable);
        const int64_t order[8] = {1, 4, 6, 3, 0, 2, 5, 7};
        int64_t hardest[8];
        float values[8];
        for (int64_t k = 0; k <= 8; k++) {
            assert_int_equal(hws_sampler_hardest(some, k, hardest, values), HWS_OK);
            assert_memory_equal(hardest, order, (size_t)k * sizeof *order);
            for (int64_t j = 0; j < k; j++) assert_true(j < 4 ? values[j] == losses[order[j]] : isnan(values[j]));
        }
        hws_sampler_close(&some);
        hws_sampler_close(&all);
    }
}

/* Memory for the visits is there while it is needed and no longer. */
static void memory_comes_and_goes(void **state) {
    (void)state;
    enum { N = 100000 };
    static float losses[N];
    hws_options options = hws_options_default();
    hws_sampler *sampler = opened(N, NULL, &options);
    const size_t before = hws_sampler_memory(sampler);
    assert_int_equal(hws_sampler_set_losses(sampler, 0, N, losses), HWS_OK);
    const size_t after = hws_sampler_memory(sampler);
    assert_true(before - after > N / 8 && before - after < N / 7);
    losses[5] = NAN;
    assert_int_equal(hws_sampler_set_losses(sampler, 5, 1, losses + 5), HWS_OK);
    assert_int_equal(hws_sampler_memory(sampler), before);
    hws_sampler_close(&sampler);
}

/* Each waits for its own loss: one that is visited later has the whole time, too. */
static void test_a_later_visit_has_its_time(void **state) {
    (void)state;
    const float losses[4] = {NAN, 1, 1, 1}, none = NAN;
    hws_sampler *sampler = opened(4, losses, NULL);
    int64_t example;
    for (int k = 0; k < 4; k++) assert_int_equal(hws_sampler_draw(sampler, 1, &example), HWS_OK);
    assert_int_equal(hws_sampler_set_losses(sampler, 1, 1, &none), HWS_OK);
    assert_int_equal(hws_sampler_draw(sampler, 1, &example), HWS_OK);
    assert_int_equal(example, 1);
    for (int k = 0; k < 4; k++) {
        assert_int_equal(hws_sampler_draw(sampler, 1, &example), HWS_OK);
        assert_true(example > 1);
    }
    hws_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_later_visit_has_its_time),
        cmocka_unit_test(set_agrees_with_flags),
        cmocka_unit_test(all_are_seen_before_any_is_seen_twice),
        cmocka_unit_test(the_first_loss_is_whole),
        cmocka_unit_test(every_order_is_as_likely),
        cmocka_unit_test(a_batch_takes_visits_then_losses_then_what_waits),
        cmocka_unit_test(draws_among_known_are_exact),
        cmocka_unit_test(a_lost_loss_is_asked_for_again),
        cmocka_unit_test(without_losses_draws_go_round),
        cmocka_unit_test(visits_follow_every_change),
        cmocka_unit_test(known_losses_decide_alone),
        cmocka_unit_test(nothing_is_said_of_losses_that_are_not_there),
        cmocka_unit_test(queries_speak_of_those_with_a_loss),
        cmocka_unit_test(memory_comes_and_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
