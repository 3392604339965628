/* The hardest fraction left out of p, and losses in doubt: against their definitions, for every divergence. */
#include "every_divergence.h"
#include "opened.h"
#include "statistics.h"

#include <stdlib.h>
#include <string.h>

enum { N = 60 };

static hws_options options_of(size_t divergence, double trim, double doubt) {
    hws_options options = hws_options_default();
    options.divergence = divergence_number(divergence);
    options.beta = 1.5;
    options.trim = trim;
    options.doubt = doubt;
    options.seed = 4;
    return options;
}

static float random_loss(uint64_t *seed) { return (float)(floor(8 * fabs(test_normal(seed))) / 8); } /* with ties */

/* What is believed of each loss, by the sampler's own records; NaN: none. */
static void believed(hws_sampler *sampler, double doubt, float *losses) {
    hws_record record;
    for (int i = 0; i < N; i++) {
        assert_int_equal(hws_sampler_get_losses(sampler, i, 1, &losses[i]), HWS_OK);
        if (doubt == 0) continue;
        assert_int_equal(hws_sampler_records(sampler, i, 1, &record), HWS_OK);
        losses[i] = (float)((double)losses[i] * (1 - doubt * record.doubt));
    }
}

/* Marks the hardest floor(trim known), ties by rising number, by counting who is harder. */
static int leave_out(const float *losses, double trim, int *out) {
    int known = 0, left = 0;
    for (int i = 0; i < N; i++) known += !isnan(losses[i]);
    for (int i = 0; i < N; i++) {
        int harder = 0;
        for (int j = 0; j < N; j++) harder += losses[j] > losses[i] || (losses[j] == losses[i] && j < i);
        out[i] = isnan(losses[i]) || harder < (int)floor(trim * known + 1e-9);
        left += !out[i];
    }
    return left;
}

/* p by its definition: over those that are left, with beta as it is, mixed with uniform over all that have a loss. */
static void reference(hws_sampler *sampler, const hws_options *options, double *p) {
    float losses[N], left_losses[N];
    double left_p[N];
    int out[N], known = 0, k = 0;
    believed(sampler, options->doubt, losses);
    const int left = leave_out(losses, options->trim, out);
    for (int i = 0; i < N; i++) {
        known += !isnan(losses[i]);
        if (!out[i]) left_losses[k++] = losses[i];
    }
    assert_int_equal(hws_divergence_probabilities(&options->divergence, hws_sampler_options(sampler).beta, left,
                                                  left_losses, left_p, NULL),
                     HWS_OK);
    k = 0;
    for (int i = 0; i < N; i++) {
        p[i] = out[i] ? 0 : (1 - options->uniform_mix) * left_p[k++];
        if (!isnan(losses[i])) p[i] += options->uniform_mix / known;
    }
}

static void assert_p(hws_sampler *sampler, const hws_options *options) {
    double p[N], wanted[N];
    assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
    reference(sampler, options, wanted);
    for (int i = 0; i < N; i++) assert_near(p[i], wanted[i], 1e-10);
}

static void update_some(hws_sampler *sampler, uint64_t *seed, int count) {
    int64_t examples[8];
    float losses[8];
    for (int j = 0; j < count; j++) {
        examples[j] = (int64_t)(test_random(seed) % N);
        losses[j] = random_loss(seed);
    }
    assert_int_equal(hws_sampler_update(sampler, count, examples, losses), HWS_OK);
}

static void p_is_that_of_those_who_are_left(void **state) {
    (void)state;
    static const double CASES[][3] = {{0.2, 0, 0}, {0.05, 0, 0.1}, {0, 1, 0}, {0.2, 0.5, 0.1}, {0.9, 0, 0}};
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (size_t c = 0; c < sizeof CASES / sizeof *CASES; c++) {
            uint64_t seed = 7 * d + c;
            hws_options options = options_of(d, CASES[c][0], CASES[c][1]);
            options.uniform_mix = CASES[c][2];
            float losses[N];
            for (int i = 0; i < N; i++) losses[i] = random_loss(&seed);
            hws_sampler *sampler = opened(N, losses, &options);
            for (int step = 0; step < 40; step++) {
                assert_p(sampler, &options);
                update_some(sampler, &seed, 1 + step % 8);
            }
            for (int i = 0; i < N / 2; i++) losses[i] = random_loss(&seed);
            assert_int_equal(hws_sampler_set_losses(sampler, 10, N / 2, losses), HWS_OK);
            assert_p(sampler, &options);
            hws_sampler_close(&sampler);
        }
}

/* The ratio of the new p to the old one, for losses in doubt as for others: a loss that is what it was has weight 1. */
static void weights_count_losses_as_p_does(void **state) {
    (void)state;
    static const hws_importance WAYS[] = {HWS_IMPORTANCE_APPROXIMATE, HWS_IMPORTANCE_EXACT};
    int doubted = 0;
    for (size_t d = 0; d < DIVERGENCES; d++)
        for (size_t way = 0; way < 2; way++) {
            hws_options options = options_of(d, 0, 1);
            options.importance = WAYS[way];
            float losses[N];
            double p[N];
            for (int i = 0; i < N; i++) losses[i] = (float)(1 + i % 3 + (i == 7 ? 20 : 0));
            hws_sampler *sampler = opened(N, losses, &options);
            for (int64_t i = 0; i < 12 * N; i++)
                assert_int_equal(hws_sampler_update(sampler, 1, &(int64_t){i % N}, &losses[i % N]), HWS_OK);
            assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
            for (int64_t i = 0; i < N; i++) {
                hws_record record;
                float weight;
                assert_int_equal(hws_sampler_records(sampler, i, 1, &record), HWS_OK);
                assert_int_equal(hws_sampler_importance(sampler, 1, &i, &losses[i], &weight), HWS_OK);
                doubted += record.doubt > 0.9;
                if (p[i] > 1e-9) assert_near((double)weight, 1, 1e-6);
            }
            hws_sampler_close(&sampler);
        }
    assert_true(doubted > 0);
}

static void draws_follow_p(void **state) {
    (void)state;
    static const size_t WHICH[] = {0, 1, 3};
    for (size_t k = 0; k < 6; k++) {
        uint64_t seed = k + 1;
        hws_options options = options_of(WHICH[k % 3], 0.1, 0.8);
        options.replacement = 1;
        options.uniform_mix = k < 3 ? 0 : 0.2;
        float losses[N];
        for (int i = 0; i < N; i++) losses[i] = random_loss(&seed);
        hws_sampler *sampler = opened(N, losses, &options);
        for (int step = 0; step < 60; step++) update_some(sampler, &seed, 8);
        double p[N];
        long counts[N] = {0};
        const long draws = 200000;
        reference(sampler, &options, p);
        for (long done = 0; done < draws; done += 1000) {
            int64_t batch[1000];
            assert_int_equal(hws_sampler_draw(sampler, 1000, batch), HWS_OK);
            for (int j = 0; j < 1000; j++) counts[batch[j]]++;
        }
        for (int i = 0; i < N; i++)
            if (p[i] == 0) assert_int_equal(counts[i], 0);
        assert_true(chi_square_p(N, counts, p, draws) > 1e-6);
        hws_sampler_close(&sampler);
    }
}

/* All pairs of a batch of two without replacement, those left out being drawn by the mixing alone. */
static void batches_without_replacement_follow_p(void **state) {
    (void)state;
    enum { FEW = 4, DRAWS = 60000 };
    const float losses[FEW] = {0.5f, 1, 3, 0.25f};
    for (size_t d = 0; d < 2; d++) {
        hws_options options = options_of(d, 0.25, 0);
        options.uniform_mix = 0.3;
        hws_sampler *sampler = opened(FEW, losses, &options);
        double p[FEW], pairs[FEW * FEW] = {0};
        long counts[FEW * FEW] = {0};
        assert_int_equal(hws_sampler_probabilities(sampler, 0, FEW, p), HWS_OK);
        assert_near(p[2], 0.3 / FEW, 1e-12);
        for (int a = 0; a < FEW; a++)
            for (int b = 0; b < FEW; b++)
                if (a != b) pairs[a * FEW + b] = p[a] * p[b] / (1 - p[a]);
        for (int k = 0; k < DRAWS; k++) {
            int64_t batch[2];
            assert_int_equal(hws_sampler_draw(sampler, 2, batch), HWS_OK);
            counts[batch[0] * FEW + batch[1]]++;
        }
        assert_true(chi_square_p(FEW * FEW, counts, pairs, DRAWS) > 1e-6);
        hws_sampler_close(&sampler);
    }
}

enum { FEW = 6, LONG_BATCH = 4, ORDERED = FEW * FEW * FEW * FEW };

/* The chance of each ordered batch by the definition of a successive draw: p restricted to
   those not yet in the batch. */
static void enumerate(const double *p, int depth, unsigned in_batch, int cell, double chance, double *chances) {
    double left = 0;
    for (int i = 0; i < FEW; i++) left += in_batch >> i & 1 ? 0 : p[i];
    for (int i = 0; i < FEW; i++) {
        if (in_batch >> i & 1) continue;
        const double here = chance * p[i] / left;
        if (depth + 1 == LONG_BATCH) chances[cell * FEW + i] = here;
        else enumerate(p, depth + 1, in_batch | 1u << i, cell * FEW + i, here, chances);
    }
}

static void assert_batches_follow_p(const hws_options *options) {
    enum { DRAWS = 100000 };
    static const float losses[FEW] = {0, 0.1f, 2, 3, 4, 5};
    double p[FEW], chances[ORDERED] = {0};
    long counts[ORDERED] = {0};
    hws_sampler *sampler = opened(FEW, losses, options);
    assert_int_equal(hws_sampler_probabilities(sampler, 0, FEW, p), HWS_OK);
    enumerate(p, 0, 0, 0, 1, chances);
    for (int k = 0; k < DRAWS; k++) {
        int64_t batch[LONG_BATCH];
        assert_int_equal(hws_sampler_draw(sampler, LONG_BATCH, batch), HWS_OK);
        counts[((batch[0] * FEW + batch[1]) * FEW + batch[2]) * FEW + batch[3]]++;
    }
    assert_true(chi_square_p(ORDERED, counts, chances, DRAWS) > 1e-6);
    hws_sampler_close(&sampler);
}

/* Batches of four where two are left in p: those left out fill the batch, and do not count as taken out of p. */
static void batches_larger_than_what_is_left_follow_p(void **state) {
    (void)state;
    for (size_t d = 0; d < 4; d++)
        for (int floored = 0; floored < 2; floored++) {
            hws_options options = options_of(d, 0.7, 0);
            options.floor = floored ? 0.2 : 0;
            options.uniform_mix = floored ? 0 : 0.2;
            assert_batches_follow_p(&options);
        }
}

/* However much is left out, the easiest example is not. */
static void somebody_is_always_left(void **state) {
    (void)state;
    const float losses[4] = {2, 1, 3, 4};
    for (size_t d = 0; d < 4; d++)
        for (int64_t n = 1; n <= 4; n++) {
            hws_options options = options_of(d, 1 - 1e-12, 0);
            hws_sampler *sampler = opened(n, losses, &options);
            int64_t drawable, example;
            assert_int_equal(hws_sampler_drawable(sampler, &drawable), HWS_OK);
            assert_int_equal(drawable, 1);
            assert_int_equal(hws_sampler_draw(sampler, 1, &example), HWS_OK);
            assert_int_equal(example, n > 1);
            hws_sampler_close(&sampler);
            options.replacement = 1;
            options.uniform_mix = 0.5;
            sampler = opened(n, losses, &options);
            assert_int_equal(hws_sampler_drawable(sampler, &drawable), HWS_OK);
            assert_int_equal(drawable, n);
            assert_int_equal(hws_sampler_draw(sampler, 1, &example), HWS_OK);
            hws_sampler_close(&sampler);
        }
}

/* Examples without a loss are visited first, whoever is left out, and a tail is that of those who are left. */
static void visits_and_tails_work_with_it(void **state) {
    (void)state;
    uint64_t seed = 3;
    hws_options options = options_of(0, 0.05, 1);
    options.tail = 0.3;
    options.uniform_mix = 0.1;
    hws_sampler *sampler = opened(N, NULL, &options);
    int seen[N] = {0};
    for (int step = 0; step < N / 6; step++) {
        int64_t batch[6];
        float losses[6];
        assert_int_equal(hws_sampler_draw(sampler, 6, batch), HWS_OK);
        for (int j = 0; j < 6; j++) {
            assert_int_equal(seen[batch[j]]++, 0);
            losses[j] = (float)(0.1 + fabs(test_normal(&seed)));
        }
        assert_int_equal(hws_sampler_update(sampler, 6, batch, losses), HWS_OK);
        assert_int_equal(hws_sampler_unseen(sampler), N - 6 * (step + 1));
    }
    double p[N], kl = 0;
    options.uniform_mix = 0;
    reference(sampler, &options, p);
    for (int i = 0; i < N; i++) kl += p[i] > 0 ? p[i] * log(p[i] * 57) : 0; /* three are left out */
    assert_near(kl, log(1 / 0.3), 0.05 * log(1 / 0.3));
    hws_sampler_close(&sampler);
}

static void assert_same_future(hws_sampler *a, hws_sampler *b) {
    uint64_t one = 5, other = 5;
    for (int step = 0; step < 50; step++) {
        int64_t x[4], y[4];
        assert_int_equal(hws_sampler_draw(a, 4, x), HWS_OK);
        assert_int_equal(hws_sampler_draw(b, 4, y), HWS_OK);
        assert_memory_equal(x, y, sizeof x);
        update_some(a, &one, 8);
        update_some(b, &other, 8);
    }
}

static void a_state_goes_on_to_the_same_bits(void **state) {
    (void)state;
    for (size_t d = 0; d < DIVERGENCES; d++) {
        uint64_t seed = d;
        hws_options options = options_of(d, 0.1, d % 2 ? 0.7 : 0);
        options.keep_record = d % 3 == 0;
        options.uniform_mix = 0.1;
        if (divergence_number(d).kind == HWS_KL) options.tail = 0.3;
        int32_t labels[N];
        for (int i = 0; i < N; i++) labels[i] = i % 5;
        hws_sampler *sampler = opened(N, NULL, &options), *back = NULL;
        if (options.keep_record || options.doubt > 0)
            assert_int_equal(hws_sampler_set_labels(sampler, 0, N, labels), HWS_OK);
        for (int step = 0; step < 30; step++) update_some(sampler, &seed, 7);
        const size_t size = hws_sampler_state_size(sampler);
        unsigned char *bytes = malloc(size), *again = malloc(size);
        assert_int_equal(hws_sampler_state_write(sampler, bytes, size), HWS_OK);
        assert_int_equal(hws_sampler_state_read(&back, bytes, size, &options.divergence, NULL), HWS_OK);
        assert_int_equal(hws_sampler_state_size(back), size);
        assert_int_equal(hws_sampler_state_write(back, again, size), HWS_OK);
        assert_memory_equal(bytes, again, size);
        assert_same_future(sampler, back);
        bytes[size - 20] ^= 1;
        hws_sampler_close(&back);
        assert_int_equal(hws_sampler_state_read(&back, bytes, size, &options.divergence, NULL), HWS_ERROR_CORRUPT);
        free(bytes);
        free(again);
        hws_sampler_close(&sampler);
    }
}

static void growing_keeps_all_of_it(void **state) {
    (void)state;
    uint64_t seed = 8;
    const float more[2] = {9, NAN};
    hws_options options = options_of(0, 0.1, 1);
    hws_sampler *sampler = opened(N, NULL, &options);
    for (int step = 0; step < 60; step++) update_some(sampler, &seed, 8);
    hws_record before, after;
    assert_int_equal(hws_sampler_records(sampler, 5, 1, &before), HWS_OK);
    assert_int_equal(hws_sampler_grow(sampler, 2, more), HWS_OK);
    assert_int_equal(hws_sampler_records(sampler, 5, 1, &after), HWS_OK);
    assert_true(before.evidence == after.evidence && before.updates == after.updates);
    float loss;
    double p;
    assert_int_equal(hws_sampler_get_losses(sampler, N, 1, &loss), HWS_OK);
    assert_true(loss == 9);
    assert_int_equal(hws_sampler_unseen(sampler), 1);
    assert_int_equal(hws_sampler_set_losses(sampler, N + 1, 1, &loss), HWS_OK);
    assert_int_equal(hws_sampler_probability(sampler, N, &p), HWS_OK); /* among the hardest */
    assert_true(p == 0);
    hws_sampler_close(&sampler);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct {
        double trim, tail, doubt;
        hws_importance importance;
        const char *message;
    } CASES[] = {{1, 0, 0, HWS_IMPORTANCE_APPROXIMATE, "trim is 1"},
                 {-0.1, 0, 0, HWS_IMPORTANCE_APPROXIMATE, "trim is -0.1"},
                 {0.2, 0.1, 0, HWS_IMPORTANCE_APPROXIMATE, "trim must be below tail"},
                 {0.1, 0.1, 0, HWS_IMPORTANCE_APPROXIMATE, "trim must be below tail"},
                 {0, 0, 2, HWS_IMPORTANCE_APPROXIMATE, "doubt is 2"},
                 {0.1, 0, 0, HWS_IMPORTANCE_EXACT, "exact importance weights"}};
    for (size_t k = 0; k < sizeof CASES / sizeof *CASES; k++) {
        hws_sampler *sampler;
        hws_error error;
        hws_options options = options_of(0, CASES[k].trim, CASES[k].doubt);
        options.tail = CASES[k].tail;
        options.importance = CASES[k].importance;
        assert_int_equal(hws_sampler_open(&sampler, N, NULL, &options, &error), HWS_ERROR_ARGUMENT);
        if (!strstr(error.message, CASES[k].message)) fail_msg("'%s' lacks '%s'", error.message, CASES[k].message);
    }
    const hws_options plain = hws_options_default(), recorded = options_of(0, 0, 1);
    hws_sampler *sampler = opened(N, NULL, &plain);
    hws_record record;
    int32_t label = -1;
    assert_int_equal(hws_sampler_records(sampler, 0, 1, &record), HWS_ERROR_NOT_KEPT);
    assert_int_equal(hws_sampler_set_labels(sampler, 0, 1, &label), HWS_ERROR_NOT_KEPT);
    hws_sampler_close(&sampler);
    sampler = opened(N, NULL, &recorded);
    assert_int_equal(hws_sampler_set_labels(sampler, 3, 1, &label), HWS_ERROR_ARGUMENT);
    assert_non_null(strstr(hws_sampler_error(sampler)->message, "the label of example 3"));
    label = 1 << 20;
    assert_int_equal(hws_sampler_set_labels(sampler, 3, 1, &label), HWS_ERROR_ARGUMENT);
    assert_int_equal(hws_sampler_records(sampler, N, 1, &record), HWS_ERROR_INDEX);
    hws_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_count_losses_as_p_does),
        cmocka_unit_test(p_is_that_of_those_who_are_left),
        cmocka_unit_test(draws_follow_p),
        cmocka_unit_test(batches_without_replacement_follow_p),
        cmocka_unit_test(batches_larger_than_what_is_left_follow_p),
        cmocka_unit_test(somebody_is_always_left),
        cmocka_unit_test(visits_and_tails_work_with_it),
        cmocka_unit_test(a_state_goes_on_to_the_same_bits),
        cmocka_unit_test(growing_keeps_all_of_it),
        cmocka_unit_test(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
