/* tail: beta follows from the losses. */
#include "every_divergence.h"
#include "hws.h"
#include "opened.h"
#include "statistics.h"

#include <float.h>

static hws_options options_with(hws_divergence divergence, double tail) {
    hws_options options = hws_options_default();
    options.divergence = divergence;
    options.tail = tail;
    return options;
}

static double beta_of(const hws_sampler *sampler) { return hws_sampler_options(sampler).beta; }

/* phi as the table of the divergences has it. */
static double phi(const hws_divergence *divergence, double z) {
    const double k = divergence->parameter;
    switch (divergence->kind) {
    case HWS_KL: return z > 0 ? z * log(z) - z + 1 : 1;
    case HWS_CHI2: return (z - 1) * (z - 1) / 2;
    case HWS_REVERSE_KL: return z - 1 - log(z);
    case HWS_HELLINGER: return (sqrt(z) - 1) * (sqrt(z) - 1);
    case HWS_CRESSIE_READ:
        if (k == 1) return z > 0 ? z * log(z) - z + 1 : 1;
        return (pow(z, k) - k * z + k - 1) / (k * (k - 1));
    case HWS_JENSEN_SHANNON: return (z > 0 ? z * log(z) : 0) - (z + 1) * log((z + 1) / 2);
    case HWS_CUSTOM: return divergence->phi(z, divergence->context);
    case HWS_CVAR: break;
    }
    return NAN;
}

static double radius_of(const hws_divergence *divergence, double a) {
    return a * phi(divergence, 1 / a) + (1 - a) * phi(divergence, 0);
}

static double divergence_of(hws_sampler *sampler, const hws_divergence *divergence, int64_t n) {
    double *p = malloc((size_t)n * sizeof *p), sum = 0;
    assert_int_equal(hws_sampler_probabilities(sampler, 0, n, p), HWS_OK);
    for (int64_t i = 0; i < n; i++) sum += phi(divergence, p[i] * (double)n);
    free(p);
    return sum / (double)n;
}

/* The divergence of p to uniform is that of the uniform distribution on a fraction, for whatever losses. */
static void the_ball_has_its_radius(void **state) {
    (void)state;
    enum { N = 500 };
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (double tail = 0.02; tail < 1; tail *= 3)
            for (double scale = 1e-6; scale < 1e7; scale *= 1e4) {
                const hws_divergence divergence = divergence_number(d);
                if (divergence.kind == HWS_CVAR || divergence.kind == HWS_REVERSE_KL || divergence.parameter < 0)
                    continue;
                float losses[N];
                uint64_t seed = 5;
                for (int i = 0; i < N; i++) losses[i] = (float)(scale * (1 - log(test_unit(&seed))));
                const hws_options options = options_with(divergence, tail);
                hws_sampler *sampler = opened(N, losses, &options);
                const double found = divergence_of(sampler, &divergence, N), wanted = radius_of(&divergence, tail);
                if (!(fabs(found / wanted - 1) < 3e-4))
                    fail_msg("divergence %zu, tail %g, scale %g: %g instead of %g", d, tail, scale, found, wanted);
                hws_sampler_close(&sampler);
            }
    const hws_divergence kl = {.kind = HWS_KL}, chi2 = {.kind = HWS_CHI2};
    assert_close(radius_of(&kl, 0.05), log(20), 1e-12);
    assert_close(radius_of(&chi2, 0.05), (20 - 1) / 2.0, 1e-12);
}

/* The solver agrees with that of hws_sampler_beta_for_kl. */
static void beta_is_that_of_the_kl_radius(void **state) {
    (void)state;
    enum { N = 2000 };
    float losses[N];
    uint64_t seed = 6;
    for (int i = 0; i < N; i++) losses[i] = (float)test_normal(&seed);
    const hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 0.1);
    hws_sampler *sampler = opened(N, losses, &options);
    double beta;
    assert_int_equal(hws_sampler_beta_for_kl(sampler, log(10), &beta), HWS_OK);
    assert_close(beta_of(sampler), beta, 1e-3);
    hws_sampler_close(&sampler);
}

/* tail 1 is beta 0 to the bit, and CVaR's fraction is the tail itself. */
static void tails_that_need_no_beta(void **state) {
    (void)state;
    enum { N = 300, BATCH = 10 };
    float losses[N];
    uint64_t seed = 7;
    for (int i = 0; i < N; i++) losses[i] = (float)test_normal(&seed);
    for (int which = 0; which < 2; which++) {
        hws_options tail = options_with((hws_divergence){.kind = HWS_KL}, 1), plain = tail;
        plain.tail = 0;
        plain.beta = 0;
        if (which == 1) {
            tail.divergence = (hws_divergence){.kind = HWS_CVAR, .parameter = 0.9};
            tail.tail = 0.2;
            plain.divergence = (hws_divergence){.kind = HWS_CVAR, .parameter = 0.2};
        }
        hws_sampler *a = opened(N, losses, &tail), *b = opened(N, losses, &plain);
        for (int t = 0; t < 100; t++) {
            int64_t first[BATCH], second[BATCH];
            float fresh[BATCH];
            assert_int_equal(hws_sampler_draw(a, BATCH, first), HWS_OK);
            assert_int_equal(hws_sampler_draw(b, BATCH, second), HWS_OK);
            assert_memory_equal(first, second, sizeof first);
            for (int j = 0; j < BATCH; j++) fresh[j] = (float)test_normal(&seed);
            assert_int_equal(hws_sampler_update(a, BATCH, first, fresh), HWS_OK);
            assert_int_equal(hws_sampler_update(b, BATCH, first, fresh), HWS_OK);
        }
        if (which == 0) assert_true(beta_of(a) == 0);
        if (which == 1) assert_true(hws_sampler_options(a).divergence.parameter == 0.2);
        hws_sampler_close(&a);
        hws_sampler_close(&b);
    }
}

/* A made-up training: losses fall at rates of their own, with a group that falls late. */
static float loss_at(int64_t example, int64_t n, double time, uint64_t *seed) {
    const double rate = example < n / 50 ? 0.3 : 1 + 2 * (double)(example % 97) / 97;
    return (float)(2.3 * exp(-rate * time) * exp(0.3 * test_normal(seed)));
}

/* From the end of the first visits on, KL stays within 5 % of ln(1 / tail) while the losses fall by orders. */
static void the_radius_is_kept_while_losses_fall(void **state) {
    (void)state;
    const struct {
        int64_t n;
        int batch;
        double tail;
    } runs[] = {{40, 2, 0.2}, {1000, 16, 0.05}, {1000, 1, 0.3}, {20000, 64, 0.05}};
    for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
        const int64_t n = runs[r].n;
        const int batch = runs[r].batch;
        const hws_options options = options_with((hws_divergence){.kind = HWS_KL}, runs[r].tail);
        hws_sampler *sampler = opened(n, NULL, &options);
        uint64_t seed = r;
        double worst = 0;
        const int64_t steps = 6 * n / batch;
        for (int64_t t = 0; t < steps; t++) {
            int64_t indices[64];
            float losses[64];
            assert_int_equal(hws_sampler_draw(sampler, batch, indices), HWS_OK);
            for (int j = 0; j < batch; j++) losses[j] = loss_at(indices[j], n, 6.0 * (double)t / (double)steps, &seed);
            assert_int_equal(hws_sampler_update(sampler, batch, indices, losses), HWS_OK);
            if (hws_sampler_unseen(sampler) > 0 || t % (steps / 150 + 1) != 0) continue;
            hws_statistics statistics;
            assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
            worst = fmax(worst, fabs(statistics.kl_to_uniform / log(1 / runs[r].tail) - 1));
        }
        if (!(worst < 0.05)) fail_msg("n %lld: KL was off by %.3f", (long long)n, worst);
        hws_sampler_close(&sampler);
    }
}

/* What the sampler draws from while examples have no loss: each of those that were not drawn alike; then by beta. */
enum { MANY = 60, AT_ONCE = 3 };
static const double MIX = 0.05;

typedef struct model {
    hws_divergence divergence;
    float losses[MANY]; /* NAN: none yet */
    double p[MANY];
} model;

static int unseen_of(const model *m) {
    int unseen = 0;
    for (int i = 0; i < MANY; i++) unseen += isnan(m->losses[i]);
    return unseen;
}

static void model_prepare(model *m, double beta) {
    const int unseen = unseen_of(m);
    if (!unseen)
        assert_int_equal(hws_divergence_probabilities(&m->divergence, beta, MANY, m->losses, m->p, NULL), HWS_OK);
    for (int i = 0; i < MANY; i++) {
        if (unseen) m->p[i] = isnan(m->losses[i]) ? 1.0 / unseen : 0;
        else m->p[i] = (1 - MIX) * m->p[i] + MIX / MANY;
    }
}

/* The place of each example of a batch among those that were left when it was drawn: uniform on [0,
   1] if the draws are p's. */
static void transform_batch(const model *m, const int64_t *drawn, double *values, uint64_t *seed) {
    char taken[MANY] = {0};
    for (int k = 0; k < AT_ONCE; k++) {
        double below = 0, left = 0;
        assert_false(taken[drawn[k]]);
        for (int i = 0; i < MANY; i++) {
            const double p = taken[i] ? 0 : m->p[i];
            left += p;
            if (i < drawn[k]) below += p;
        }
        values[k] = fmin(1, (below + test_unit(seed) * m->p[drawn[k]]) / left);
        taken[drawn[k]] = 1;
    }
}

/* Gives the batch and one more example losses that have fallen; the latter only where all have one. */
static void learn(hws_sampler *sampler, model *m, const int64_t *drawn, double scale, uint64_t *seed) {
    int64_t changed[AT_ONCE + 1];
    float fresh[AT_ONCE + 1];
    int count = unseen_of(m) ? AT_ONCE : AT_ONCE + 1;
    memcpy(changed, drawn, AT_ONCE * sizeof *drawn);
    changed[AT_ONCE] = (int64_t)(test_random(seed) % MANY);
    for (int k = 0; k < AT_ONCE; k++)
        if (changed[k] == changed[AT_ONCE]) count = AT_ONCE;
    for (int k = 0; k < count; k++) m->losses[changed[k]] = fresh[k] = (float)(scale * (1 + 0.2 * test_normal(seed)));
    assert_int_equal(hws_sampler_update(sampler, count, changed, fresh), HWS_OK);
}

/* How far the divergence of p to uniform, without the mixing, is from what the tail asks for, relatively. */
static double off_radius(const model *m, double tail) {
    double sum = 0;
    for (int i = 0; i < MANY; i++) sum += phi(&m->divergence, fmax(0, (m->p[i] - MIX / MANY) / (1 - MIX)) * MANY);
    return fabs(sum / MANY / radius_of(&m->divergence, tail) - 1);
}

/* Where each drawn example gets a random new loss, beta is renewed in nearly every update: to
   within 2 % of the radius. */
static void the_radius_is_kept_under_random_losses(void **state) {
    (void)state;
    enum { N = 20000, BATCH = 64 };
    const hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 0.1);
    float *losses = malloc(N * sizeof *losses);
    uint64_t seed = 8;
    for (int i = 0; i < N; i++) losses[i] = (float)(1 + 0.1 * test_normal(&seed));
    hws_sampler *sampler = opened(N, losses, &options);
    double last = beta_of(sampler);
    long changes = 0;
    for (int t = 0; t < 1000; t++) {
        int64_t indices[BATCH];
        float fresh[BATCH];
        assert_int_equal(hws_sampler_draw(sampler, BATCH, indices), HWS_OK);
        for (int j = 0; j < BATCH; j++) fresh[j] = (float)(1 + 0.1 * test_normal(&seed));
        assert_int_equal(hws_sampler_update(sampler, BATCH, indices, fresh), HWS_OK);
        changes += beta_of(sampler) != last;
        last = beta_of(sampler);
        if (t % 10 != 0) continue;
        hws_statistics statistics;
        assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
        if (!(fabs(statistics.kl_to_uniform / log(10) - 1) < 0.0201))
            fail_msg("update %d: KL is %g", t, statistics.kl_to_uniform);
    }
    assert_true(changes > 500);
    hws_sampler_close(&sampler);
    free(losses);
}

/*
 * Draws stay exact while beta changes: under the p of each step, with the beta that the sampler says it has, the
 * randomised probability integral transform of each draw of a batch, by p of those that are left, is uniform; and beta
 * is the one that holds the radius. It begins without losses.
 */
static void draws_are_exact_under_changing_beta(void **state) {
    (void)state;
    const long steps = test_size(4000, 100000);
    for (size_t d = 0; d < DIVERGENCES; d++) {
        model m = {.divergence = divergence_number(d)};
        if (m.divergence.kind == HWS_CVAR || m.divergence.kind == HWS_REVERSE_KL || m.divergence.parameter < 0)
            continue;
        hws_options options = options_with(m.divergence, 0.3);
        options.uniform_mix = MIX;
        double *values = malloc((size_t)steps * AT_ONCE * sizeof *values), worst = 0;
        uint64_t seed = d;
        for (int i = 0; i < MANY; i++) m.losses[i] = NAN;
        hws_sampler *sampler = opened(MANY, NULL, &options);
        long changes = 0, known = 0;
        double last = beta_of(sampler);
        for (long t = 0; t < steps; t++) {
            const double beta = beta_of(sampler);
            int64_t drawn[AT_ONCE];
            changes += beta != last;
            last = beta;
            model_prepare(&m, beta);
            if (!unseen_of(&m)) {
                worst = fmax(worst, off_radius(&m, 0.3));
                known++;
            } else assert_true(t < MANY / AT_ONCE); /* first visits: none twice */
            assert_int_equal(hws_sampler_draw(sampler, AT_ONCE, drawn), HWS_OK);
            transform_batch(&m, drawn, values + t * AT_ONCE, &seed);
            learn(sampler, &m, drawn, exp(-3.0 * (double)t / (double)steps), &seed);
        }
        const double result = uniform_p(values, (size_t)steps * AT_ONCE);
        if (result < 1e-6) fail_msg("divergence %zu: p = %g", d, result);
        if (changes < steps / 50) fail_msg("divergence %zu: beta changed only %ld times", d, changes);
        if (!(worst < 0.021))
            fail_msg("divergence %zu: the radius was off by %g", d, worst); /* solved anew from 2 % on */
        assert_int_equal(known, steps - MANY / AT_ONCE);
        hws_sampler_close(&sampler);
        free(values);
    }
}

/* Whatever is asked in between, and however the updates are cut, does not move beta by a bit; nor does a resume. */
static void beta_depends_on_updates_alone(void **state) {
    (void)state;
    enum { N = 500, BATCH = 8 };
    hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 0.1);
    options.importance = HWS_IMPORTANCE_NORMALISED;
    hws_sampler *plain = opened(N, NULL, &options), *asked = opened(N, NULL, &options);
    uint64_t seed = 1;
    for (int t = 0; t < 400; t++) {
        int64_t a[BATCH], b[BATCH];
        float losses[BATCH], weights[2][BATCH];
        double value;
        hws_statistics statistics;
        assert_int_equal(hws_sampler_statistics(asked, &statistics), HWS_OK);
        if (t > 0) assert_int_equal(hws_sampler_robust_loss(asked, &value), HWS_OK);
        assert_int_equal(hws_sampler_draw(plain, BATCH, a), HWS_OK);
        assert_int_equal(hws_sampler_draw(asked, BATCH, b), HWS_OK);
        assert_memory_equal(a, b, sizeof a);
        for (int j = 0; j < BATCH; j++) losses[j] = loss_at(a[j], N, t / 100.0, &seed);
        assert_int_equal(hws_sampler_importance(plain, BATCH, a, losses, weights[0]), HWS_OK);
        assert_int_equal(hws_sampler_importance(asked, BATCH, a, losses, weights[1]), HWS_OK);
        assert_memory_equal(weights[0], weights[1], sizeof weights[0]);
        assert_int_equal(hws_sampler_update(plain, BATCH, a, losses), HWS_OK);
        assert_int_equal(hws_sampler_update(asked, BATCH, a, losses), HWS_OK);
        assert_true(beta_of(plain) == beta_of(asked));
        if (t % 37 != 0) continue;
        const size_t size = hws_sampler_state_size(asked);
        void *bytes = malloc(size);
        assert_int_equal(hws_sampler_state_write(asked, bytes, size), HWS_OK);
        hws_sampler_close(&asked);
        assert_int_equal(hws_sampler_state_read(&asked, bytes, size, NULL, NULL), HWS_OK);
        free(bytes);
    }
    hws_sampler_close(&plain);
    hws_sampler_close(&asked);
}

/* Where no beta reaches the radius there is no error: ties set a limit, equal losses leave beta alone. */
static void what_cannot_be_reached(void **state) {
    (void)state;
    enum { N = 100 };
    float losses[N];
    for (int i = 0; i < N; i++) losses[i] = 3;
    const hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 0.05);
    hws_sampler *sampler = opened(N, losses, &options);
    assert_true(beta_of(sampler) == 0);
    for (int i = 0; i < N / 2; i++) losses[i] = 1; /* half of them tie: KL is at most ln 2 */
    assert_int_equal(hws_sampler_set_losses(sampler, 0, N, losses), HWS_OK);
    hws_statistics statistics;
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_close(statistics.kl_to_uniform, 0.95 * log(2), 3e-4);
    const double beta = beta_of(sampler);
    for (int i = 0; i < N; i++) losses[i] = 2;
    assert_int_equal(hws_sampler_set_losses(sampler, 0, N, losses), HWS_OK);
    assert_true(beta_of(sampler) == beta && beta > 0);
    losses[0] = 2 + 0x1p-22f; /* hardly any spread: beta is large, and finite */
    assert_int_equal(hws_sampler_set_losses(sampler, 0, N, losses), HWS_OK);
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_true(fabs(statistics.kl_to_uniform / log(20) - 1) < 3e-4 && beta_of(sampler) > 1e5);
    losses[0] = 2;
    losses[1] = FLT_MAX;
    assert_int_equal(hws_sampler_set_losses(sampler, 0, N, losses), HWS_OK);
    assert_true(beta_of(sampler) < 1e-30);
    hws_sampler_close(&sampler);
}

static void setting_beta_ends_the_tail(void **state) {
    (void)state;
    const float losses[4] = {1, 2, 3, 4};
    const hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 0.5);
    hws_sampler *sampler = opened(4, losses, &options);
    assert_true(hws_sampler_options(sampler).tail == 0.5 && beta_of(sampler) > 0 && beta_of(sampler) != 100);
    assert_int_equal(hws_sampler_set_beta(sampler, -1), HWS_ERROR_ARGUMENT);
    assert_true(hws_sampler_options(sampler).tail == 0.5);
    assert_int_equal(hws_sampler_set_beta(sampler, 7), HWS_OK);
    const float fresh[4] = {9, 1, 1, 2};
    assert_int_equal(hws_sampler_set_losses(sampler, 0, 4, fresh), HWS_OK);
    assert_true(hws_sampler_options(sampler).tail == 0 && beta_of(sampler) == 7);
    hws_sampler_close(&sampler);
}

static void divergences_without_a_ball_are_refused(void **state) {
    (void)state;
    const char *const names[] = {"reverse-kl", "cressie-read:0", "cressie-read:-1"};
    for (size_t d = 0; d < 3; d++) {
        hws_options options = options_with((hws_divergence){.kind = HWS_KL}, 0.1);
        hws_error error;
        hws_sampler *sampler = NULL;
        assert_int_equal(hws_divergence_parse(names[d], &options.divergence, NULL), HWS_OK);
        assert_int_equal(hws_sampler_open(&sampler, 3, NULL, &options, &error), HWS_ERROR_ARGUMENT);
        assert_non_null(strstr(error.message, "phi(0) is infinite"));
    }
    hws_options options = options_with(CUSTOM_KL, 0.1);
    options.divergence.phi = NULL;
    hws_sampler *sampler = NULL;
    assert_int_equal(hws_sampler_open(&sampler, 3, NULL, &options, NULL), HWS_ERROR_DIVERGENCE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ball_has_its_radius),
        cmocka_unit_test(beta_is_that_of_the_kl_radius),
        cmocka_unit_test(tails_that_need_no_beta),
        cmocka_unit_test(the_radius_is_kept_while_losses_fall),
        cmocka_unit_test(the_radius_is_kept_under_random_losses),
        cmocka_unit_test(draws_are_exact_under_changing_beta),
        cmocka_unit_test(beta_depends_on_updates_alone),
        cmocka_unit_test(what_cannot_be_reached),
        cmocka_unit_test(setting_beta_ends_the_tail),
        cmocka_unit_test(divergences_without_a_ball_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
