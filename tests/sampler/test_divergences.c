/*
 * p-bar and R for every divergence: against the paper's formula solved in long double, against the optimality that
 * defines them, against Theorem 2, and the sampler's amortised or logarithmic ways against the O(n) one.
 */
#include "hws.h"
#include "testing.h"

static const char *const DIVERGENCES[] = {"kl",
                                          "chi2",
                                          "reverse-kl",
                                          "hellinger",
                                          "cressie-read:0.5",
                                          "cressie-read:-1",
                                          "cressie-read:1.5",
                                          "cressie-read:3",
                                          "js",
                                          "cvar:0.37"};
enum { DIVERGENCE_COUNT = sizeof DIVERGENCES / sizeof *DIVERGENCES, MOST = 500 };

static hws_divergence divergence_named(const char *name) {
    hws_divergence divergence;
    assert_int_equal(hws_divergence_parse(name, &divergence, NULL), HWS_OK);
    return divergence;
}

/* (phi*)'(y), as tabulated. */
static long double conjugate_slope(const hws_divergence *divergence, long double y) {
    const long double k = divergence->parameter;
    switch (divergence->kind) {
    case HWS_KL: return expl(y);
    case HWS_CHI2: return fmaxl(0, 1 + y);
    case HWS_REVERSE_KL: return y < 1 ? 1 / (1 - y) : INFINITY;
    case HWS_HELLINGER: return y < 1 ? 1 / ((1 - y) * (1 - y)) : INFINITY;
    case HWS_CRESSIE_READ: {
        const long double base = 1 + (k - 1) * y;
        if (base > 0) return powl(base, 1 / (k - 1));
        return k > 1 ? 0 : INFINITY;
    }
    case HWS_JENSEN_SHANNON: return expl(y) < 2 ? expl(y) / (2 - expl(y)) : INFINITY;
    default: fail_msg("not reached"); return 0;
    }
}

static long double phi(const hws_divergence *divergence, long double z) {
    const long double k = divergence->parameter;
    switch (divergence->kind) {
    case HWS_KL: return z > 0 ? z * logl(z) - z + 1 : 1;
    case HWS_CHI2: return (z - 1) * (z - 1) / 2;
    case HWS_REVERSE_KL: return z - 1 - logl(z);
    case HWS_HELLINGER: return (sqrtl(z) - 1) * (sqrtl(z) - 1);
    case HWS_CRESSIE_READ: return (powl(z, k) - k * z + k - 1) / (k * (k - 1));
    case HWS_JENSEN_SHANNON: return (z > 0 ? z * logl(z) : 0) - (z + 1) * logl((z + 1) / 2);
    default: fail_msg("not reached"); return 0;
    }
}

/* lambda by bisection, then p. */
static void reference_probabilities(const hws_divergence *divergence, double beta, int n, const float *losses,
                                    double *p) {
    long double low = -1e3L / beta - 1e3L, high = 1e3L / beta + 1e3L;
    for (int turn = 0; turn < 300; turn++) {
        const long double middle = (low + high) / 2;
        long double sum = 0;
        for (int i = 0; i < n && sum <= n; i++) sum += conjugate_slope(divergence, beta * (losses[i] + middle));
        if (sum > n) high = middle;
        else low = middle;
    }
    for (int i = 0; i < n; i++) p[i] = (double)(conjugate_slope(divergence, beta * (losses[i] + low)) / n);
}

static void random_losses(uint64_t *seed, int n, float *losses) {
    for (int i = 0; i < n; i++) losses[i] = (float)(1 + 0.5 * test_normal(seed));
    if (n > 3) losses[2] = losses[0]; /* a tie */
}

static void probabilities_are_the_papers(void **state) {
    (void)state;
    uint64_t seed = 1;
    const double betas[] = {0.01, 0.3, 1, 4, 20};
    const int sizes[] = {1, 2, 7, 60, MOST};
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        const hws_divergence divergence = divergence_named(DIVERGENCES[d]);
        if (divergence.kind == HWS_CVAR) continue;
        for (size_t b = 0; b < sizeof betas / sizeof *betas; b++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
                const int n = sizes[s];
                float losses[MOST];
                double p[MOST], expected[MOST], sum = 0;
                random_losses(&seed, n, losses);
                assert_int_equal(hws_divergence_probabilities(&divergence, betas[b], n, losses, p, NULL), HWS_OK);
                reference_probabilities(&divergence, betas[b], n, losses, expected);
                for (int i = 0; i < n; i++) {
                    assert_near(p[i], expected[i], 1e-12);
                    if (expected[i] > 1e-6) assert_close(p[i], expected[i], 1e-9);
                    sum += p[i];
                }
                assert_near(sum, 1, 1e-12);
            }
    }
}

/* <L, q> - D(q || uniform) / beta. */
static double objective(const hws_divergence *divergence, double beta, int n, const float *losses, const double *q) {
    long double mean = 0, distance = 0;
    for (int i = 0; i < n; i++) {
        mean += (long double)q[i] * losses[i];
        if (divergence->kind != HWS_CVAR) distance += phi(divergence, (long double)n * q[i]) / n;
    }
    return (double)(mean - distance / beta);
}

static void random_distribution(uint64_t *seed, const hws_divergence *divergence, int n, const double *near,
                                double *q) {
    double sum = 0;
    const double spread = pow(10, -4 * test_unit(seed));
    for (int i = 0; i < n; i++)
        sum += q[i] = near[i] * exp(spread * test_normal(seed)) + 1e-4 * spread * test_unit(seed) / n;
    for (int i = 0; i < n; i++) q[i] /= sum;
    if (divergence->kind != HWS_CVAR) return;
    for (int i = 0; i < n; i++) /* no example may get more than 1 / (alpha n): mix with uniform until none does */
        while (q[i] > 1 / (divergence->parameter * n))
            for (int j = 0; j < n; j++) q[j] = 0.5 * q[j] + 0.5 / n;
}

static void robust_loss_is_the_maximum(void **state) {
    (void)state;
    uint64_t seed = 2;
    const double betas[] = {0.1, 1, 10};
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        const hws_divergence divergence = divergence_named(DIVERGENCES[d]);
        for (size_t b = 0; b < sizeof betas / sizeof *betas; b++) {
            enum { N = 40 };
            float losses[N];
            double p[N], q[N], robust;
            random_losses(&seed, N, losses);
            assert_int_equal(hws_divergence_probabilities(&divergence, betas[b], N, losses, p, NULL), HWS_OK);
            assert_int_equal(hws_divergence_robust_loss(&divergence, betas[b], N, losses, &robust, NULL), HWS_OK);
            assert_close(robust, objective(&divergence, betas[b], N, losses, p), 1e-11);
            for (int k = 0; k < 200; k++) {
                random_distribution(&seed, &divergence, N, p, q);
                assert_true(objective(&divergence, betas[b], N, losses, q) <= robust + 1e-12);
            }
        }
    }
}

/* Lemma 2: the gradient of R is p. */
static void gradient_of_the_robust_loss_is_p(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        const hws_divergence divergence = divergence_named(DIVERGENCES[d]);
        enum { N = 20 };
        float losses[N];
        double p[N];
        for (int i = 0; i < N; i++) losses[i] = (float)(i % 7) * 0.3f + (float)i * 0.01f;
        (void)seed;
        assert_int_equal(hws_divergence_probabilities(&divergence, 1.5, N, losses, p, NULL), HWS_OK);
        for (int i = 0; i < N; i++) {
            const float own = losses[i], step = 0x1p-10f;
            double above, below;
            losses[i] = own + step;
            assert_int_equal(hws_divergence_robust_loss(&divergence, 1.5, N, losses, &above, NULL), HWS_OK);
            const float up = losses[i];
            losses[i] = own - step;
            assert_int_equal(hws_divergence_robust_loss(&divergence, 1.5, N, losses, &below, NULL), HWS_OK);
            assert_near((above - below) / ((double)up - losses[i]), p[i], 2e-5);
            losses[i] = own;
        }
    }
}

/* Theorem 2: p_i rises with L_i, and all other p_j fall or stay. */
static void hard_examples_are_mined(void **state) {
    (void)state;
    uint64_t seed = 4;
    const long rounds = test_size(300, 20000);
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        const hws_divergence divergence = divergence_named(DIVERGENCES[d]);
        for (long round = 0; round < rounds; round++) {
            float losses[MOST];
            double before[MOST], after[MOST];
            const int n = 1 + (int)(test_random(&seed) % 40), i = (int)(test_random(&seed) % (uint64_t)n);
            const double beta = pow(10, 3 * test_unit(&seed) - 1);
            random_losses(&seed, n, losses);
            assert_int_equal(hws_divergence_probabilities(&divergence, beta, n, losses, before, NULL), HWS_OK);
            losses[i] += (float)pow(10, 3 * test_unit(&seed) - 3);
            assert_int_equal(hws_divergence_probabilities(&divergence, beta, n, losses, after, NULL), HWS_OK);
            /* For k > 2, n p is a root that starts at 0 with infinite slope: there the last
               digit of z shows as 1e-8. */
            const double slack = divergence.kind == HWS_CRESSIE_READ && divergence.parameter > 2 ? 1e-7 / n : 1e-15;
            for (int j = 0; j < n; j++) {
                if (j == i) assert_true(after[j] >= before[j] * (1 - 1e-12) - slack);
                else assert_true(after[j] <= before[j] * (1 + 1e-12) + slack);
            }
        }
    }
}

/* ---- the sampler's ways ---------------------------------------------------------------------------------------- */

static void sampler_agrees_while_losses_change(void **state) {
    (void)state;
    const int sizes[] = {50, 1500};
    for (int d = 0; d < DIVERGENCE_COUNT; d++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (double beta = 0.2; beta < 100; beta *= 20) {
                const int n = sizes[s];
                uint64_t seed = (uint64_t)d;
                hws_options options = hws_options_default();
                options.divergence = divergence_named(DIVERGENCES[d]);
                options.beta = beta;
                options.initial_loss = 1;
                options.jitter = 0.3;
                hws_sampler *sampler = NULL;
                assert_int_equal(hws_sampler_open(&sampler, n, NULL, &options, NULL), HWS_OK);
                float *losses = malloc((size_t)n * sizeof *losses);
                double *p = malloc((size_t)n * sizeof *p), *expected = malloc((size_t)n * sizeof *expected);
                for (int round = 0; round < 60; round++) {
                    int64_t changed[8];
                    float fresh[8];
                    for (int k = 0; k < 8; k++) {
                        changed[k] = (int64_t)(test_random(&seed) % (uint64_t)n);
                        fresh[k] = (float)(1 + (round % 10 == 9 ? 3 : 0.2) * test_normal(&seed));
                    }
                    assert_int_equal(hws_sampler_update(sampler, 8, changed, fresh), HWS_OK);
                    assert_int_equal(hws_sampler_get_losses(sampler, 0, n, losses), HWS_OK);
                    assert_int_equal(hws_sampler_probabilities(sampler, 0, n, p), HWS_OK);
                    assert_int_equal(hws_divergence_probabilities(&options.divergence, beta, n, losses, expected, NULL),
                                     HWS_OK);
                    double sum = 0;
                    for (int i = 0; i < n; i++) {
                        assert_near(p[i], expected[i], 1e-12);
                        if (expected[i] > 1e-7) assert_close(p[i], expected[i], 1e-9);
                        sum += p[i];
                    }
                    assert_near(sum, 1, 1e-12);
                }
                free(expected);
                free(p);
                free(losses);
                hws_sampler_close(&sampler);
            }
}

static int falling(const void *a, const void *b) {
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* The threshold of chi-square by sorting: p = (beta / n) max(0, L - tau). */
static double sorted_threshold(const float *losses, int n, double beta) {
    float sorted[MOST];
    memcpy(sorted, losses, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, falling);
    long double sum = 0, tau = 0;
    for (int count = 1; count <= n; count++) {
        sum += sorted[count - 1];
        const long double next = (sum - n / (long double)beta) / count;
        if (count > 1 && sorted[count - 1] <= tau) break;
        tau = next;
    }
    return (double)tau;
}

/* CVaR by sorting: who is above the boundary, who shares what is left. */
static double sorted_cvar_p(const float *losses, int n, double alpha, int example) {
    int above = 0, ties = 0;
    for (int i = 0; i < n; i++) {
        above += losses[i] > losses[example];
        ties += losses[i] == losses[example];
    }
    const double left = (alpha * n - above) / ties;
    return fmax(0, fmin(1, left)) / (alpha * n);
}

/* After every single update; losses from a coarse grid, so that ties are everywhere. */
static void thresholds_agree_with_sorting(void **state) {
    (void)state;
    enum { N = 60 };
    const long updates = test_size(20000, 1000000);
    const double alpha = 0.23, beta = 3;
    hws_options options = hws_options_default();
    options.beta = beta;
    hws_sampler *chi2 = NULL, *cvar = NULL;
    float losses[N];
    uint64_t seed = 6;
    for (int i = 0; i < N; i++) losses[i] = (float)(test_random(&seed) % 20) / 8;
    options.divergence = (hws_divergence){.kind = HWS_CHI2};
    assert_int_equal(hws_sampler_open(&chi2, N, losses, &options, NULL), HWS_OK);
    options.divergence = (hws_divergence){.kind = HWS_CVAR, .parameter = alpha};
    assert_int_equal(hws_sampler_open(&cvar, N, losses, &options, NULL), HWS_OK);
    for (long t = 0; t < updates; t++) {
        const int64_t example = (int64_t)(test_random(&seed) % N);
        losses[example] = t % 100 ? (float)(test_random(&seed) % 20) / 8 : (float)test_normal(&seed) * 100;
        assert_int_equal(hws_sampler_update(chi2, 1, &example, &losses[example]), HWS_OK);
        assert_int_equal(hws_sampler_update(cvar, 1, &example, &losses[example]), HWS_OK);
        double p[N], q[N], sum = 0, sum_cvar = 0;
        assert_int_equal(hws_sampler_probabilities(chi2, 0, N, p), HWS_OK);
        assert_int_equal(hws_sampler_probabilities(cvar, 0, N, q), HWS_OK);
        const double tau = sorted_threshold(losses, N, beta);
        for (int i = 0; i < N; i++) {
            assert_near(p[i], fmax(0, beta / N * (losses[i] - tau)), 1e-13);
            assert_near(q[i], sorted_cvar_p(losses, N, alpha, i), 1e-13);
            sum += p[i];
            sum_cvar += q[i];
        }
        assert_near(sum, 1, 1e-12);
        assert_near(sum_cvar, 1, 1e-12);
    }
    hws_sampler_close(&chi2);
    hws_sampler_close(&cvar);
}

/* Nothing changes when all losses move by a constant, however large (as far as floats can say so). */
static void offsets_do_not_matter(void **state) {
    (void)state;
    enum { N = 64 };
    for (int d = 0; d < DIVERGENCE_COUNT; d++) {
        const hws_divergence divergence = divergence_named(DIVERGENCES[d]);
        float near[N], far[N];
        double p[N], q[N];
        for (int i = 0; i < N; i++) {
            near[i] = (float)i;
            far[i] = near[i] + 4194304; /* 2^22: still whole numbers */
        }
        assert_int_equal(hws_divergence_probabilities(&divergence, 0.1, N, near, p, NULL), HWS_OK);
        assert_int_equal(hws_divergence_probabilities(&divergence, 0.1, N, far, q, NULL), HWS_OK);
        assert_memory_equal(p, q, sizeof p);
    }
}

/* ---- Lemma 1 ----------------------------------------------------------------------------------------------------- */

/* The least second derivative of phi on [0, n]: rho of the paper's Definition 2. */
static double curvature(hws_divergence_kind kind, double n) {
    switch (kind) {
    case HWS_KL: return 1 / n;
    case HWS_CHI2: return 1;
    case HWS_REVERSE_KL: return 1 / (n * n);
    case HWS_HELLINGER: return 0.5 / pow(n, 1.5);
    default: return 1 / (n * (n + 1)); /* Jensen-Shannon */
    }
}

/* |p(L) - p(L')| / |L - L'|; p is the gradient of R. */
static double steepness(const hws_divergence *d, double beta, int n, const float *one, const float *other) {
    double p[16], q[16], moved = 0, change = 0;
    assert_int_equal(hws_divergence_probabilities(d, beta, n, one, p, NULL), HWS_OK);
    assert_int_equal(hws_divergence_probabilities(d, beta, n, other, q, NULL), HWS_OK);
    for (int i = 0; i < n; i++) {
        moved += ((double)one[i] - (double)other[i]) * ((double)one[i] - (double)other[i]);
        change += (p[i] - q[i]) * (p[i] - q[i]);
    }
    return sqrt(change / moved);
}

/* The gradient of R is Lipschitz continuous with the constant beta / (n rho); chi-square reaches it. */
static void the_gradient_of_r_changes_no_faster_than_lemma_1_says(void **state) {
    (void)state;
    static const hws_divergence_kind KINDS[] = {HWS_KL, HWS_CHI2, HWS_REVERSE_KL, HWS_HELLINGER, HWS_JENSEN_SHANNON};
    static const double BETAS[] = {0.1, 1, 10};
    uint64_t random = 11;
    for (int trial = 0; trial < 3000; trial++) {
        const hws_divergence d = {.kind = KINDS[trial % 5]};
        const double beta = BETAS[trial / 5 % 3], scale = pow(10, -(trial / 15 % 4));
        const int n = 2 + trial % 15;
        float one[16], other[16];
        for (int i = 0; i < n; i++) {
            one[i] = (float)test_normal(&random);
            other[i] = one[i] + (float)(scale * test_normal(&random));
        }
        const double bound = beta / (n * curvature(d.kind, n));
        if (steepness(&d, beta, n, one, other) > bound * (1 + 1e-3))
            fail_msg("divergence %d, beta %g, n %d: the gradient changes faster than %g", (int)d.kind, beta, n, bound);
    }
    const float equal[2] = {1, 1}, moved[2] = {1.125f, 0.875f};
    assert_close(steepness(&(hws_divergence){.kind = HWS_CHI2}, 2, 2, equal, moved), 2 / 2., 1e-6);
    assert_close(steepness(&(hws_divergence){.kind = HWS_KL}, 0.1, 2, equal, moved), 0.1 / 2, 1e-3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probabilities_are_the_papers),
        cmocka_unit_test(robust_loss_is_the_maximum),
        cmocka_unit_test(gradient_of_the_robust_loss_is_p),
        cmocka_unit_test(hard_examples_are_mined),
        cmocka_unit_test(sampler_agrees_while_losses_change),
        cmocka_unit_test(thresholds_agree_with_sorting),
        cmocka_unit_test(offsets_do_not_matter),
        cmocka_unit_test(the_gradient_of_r_changes_no_faster_than_lemma_1_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
