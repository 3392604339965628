/* How losses answered to being drawn: the records against their definition, and what they tell apart. */
#include "every_divergence.h"
#include "opened.h"
#include "sampler/record.h"

#include <stdlib.h>

enum { N = 40, LABELS = 4 };

static double within(double x, double low, double high) { return fmin(fmax(x, low), high); }

/* The definition, from scratch and in double. */
typedef struct plain {
    double last[N], mean[N], evidence[N];
    int count[N], label[N];
} plain;

static double plain_level(const plain *p, int example) {
    double logarithms = 0, sum = 0;
    int peers = 0, all = 0;
    for (int i = 0; i < N; i++) {
        if (isnan(p->last[i])) continue;
        all++, sum += p->last[i];
        if (p->label[i] == p->label[example]) peers++, logarithms += log(p->last[i]);
    }
    return peers ? fmax(exp(logarithms / peers), 0.5 * sum / all) : (double)NAN;
}

static void plain_add(plain *p, int example, double loss) {
    const double level = plain_level(p, example);
    p->count[example]++;
    p->mean[example] += (loss - p->mean[example]) / fmin(p->count[example], 16);
    if (!isnan(level))
        p->evidence[example] = within(p->evidence[example] + within(log(loss / level) - 0.25, -2, 1), 0, 8);
    p->last[example] = loss;
}

static hws_record record_of(hws_sampler *sampler, int64_t example) {
    hws_record record;
    assert_int_equal(hws_sampler_records(sampler, example, 1, &record), HWS_OK);
    return record;
}

static hws_sampler *recording(int64_t n, double doubt) {
    hws_options options = hws_options_default();
    options.beta = 1;
    options.doubt = doubt;
    options.keep_record = 1;
    return opened(n, NULL, &options);
}

static void records_are_as_defined(void **state) {
    (void)state;
    plain p = {.count = {0}};
    uint64_t seed = 9;
    int32_t labels[N];
    hws_sampler *sampler = recording(N, 0);
    for (int i = 0; i < N; i++) {
        p.last[i] = (double)NAN;
        labels[i] = p.label[i] = (int)(test_random(&seed) % LABELS);
    }
    assert_int_equal(hws_sampler_set_labels(sampler, 0, N, labels), HWS_OK);
    for (int step = 0; step < 2000; step++) {
        const int64_t example = (int64_t)(test_random(&seed) % N);
        const float loss = (float)exp(test_normal(&seed) + (example % 7 == 0));
        plain_add(&p, (int)example, (double)loss);
        assert_int_equal(hws_sampler_update(sampler, 1, &example, &loss), HWS_OK);
        const int64_t other = (int64_t)(test_random(&seed) % N);
        const hws_record r = record_of(sampler, other);
        assert_int_equal(r.updates, p.count[other]);
        assert_int_equal(r.label, p.label[other]);
        if (r.updates) assert_close(r.loss_mean, p.mean[other], 1e-4);
        else assert_true(isnan(r.loss_mean));
        if (isnan(r.level)) assert_true(isnan(plain_level(&p, (int)other)));
        else assert_close(r.level, plain_level(&p, (int)other), 1e-5);
        assert_near(r.evidence, p.evidence[other], 1e-3);
        assert_near(r.doubt, within((p.evidence[other] - 1) / 5, 0, 1), 1e-3);
    }
    hws_sampler_close(&sampler);
}

static void see(hws_sampler *sampler, int64_t example, double loss) {
    const float fresh = (float)loss;
    assert_int_equal(hws_sampler_update(sampler, 1, &example, &fresh), HWS_OK);
}

/* 0 to 19 are easy, 20 to 24 a label of their own that is hard as a whole, 25 has the easy ones' label and is hard. */
static hws_sampler *story(int rounds, double rare, double wrong) {
    hws_sampler *sampler = recording(26, 1);
    int32_t labels[26] = {0};
    for (int i = 20; i < 25; i++) labels[i] = 1;
    assert_int_equal(hws_sampler_set_labels(sampler, 0, 26, labels), HWS_OK);
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < 26; i++) see(sampler, i, i < 20 ? 0.05 : i < 25 ? rare : wrong);
    return sampler;
}

static void a_wrong_label_is_doubted_and_a_rare_one_is_not(void **state) {
    (void)state;
    hws_sampler *sampler = story(10, 4, 4);
    for (int i = 0; i < 25; i++) assert_true(record_of(sampler, i).doubt == 0);
    assert_true(record_of(sampler, 25).doubt == 1);
    double p_rare, p_wrong, p_easy;
    hws_sampler_probability(sampler, 20, &p_rare);
    hws_sampler_probability(sampler, 25, &p_wrong);
    hws_sampler_probability(sampler, 0, &p_easy);
    assert_true(p_wrong <= p_easy && p_rare > 10 * p_easy);
    float loss; /* what it is told as is its loss */
    assert_int_equal(hws_sampler_get_losses(sampler, 25, 1, &loss), HWS_OK);
    assert_true(loss == 4);
    hws_statistics statistics;
    assert_int_equal(hws_sampler_statistics(sampler, &statistics), HWS_OK);
    assert_true(statistics.loss_max == 4);
    hws_sampler_close(&sampler);
}

/* Once its peers are learnt, who stays behind in a rare label is doubted, too. */
static void within_a_rare_label_who_stays_behind_is_doubted(void **state) {
    (void)state;
    hws_sampler *sampler = story(10, 4, 0.05);
    for (int round = 0; round < 10; round++)
        for (int i = 20; i < 25; i++) see(sampler, i, i < 23 ? 0.05 : 4);
    for (int i = 20; i < 23; i++) assert_true(record_of(sampler, i).doubt == 0);
    for (int i = 23; i < 25; i++) assert_true(record_of(sampler, i).doubt > 0.9);
    hws_sampler_close(&sampler);
}

static void doubt_goes_when_the_example_is_learnt(void **state) {
    (void)state;
    hws_sampler *sampler = story(20, 4, 4);
    assert_true(record_of(sampler, 25).doubt == 1);
    for (int round = 0; round < 4; round++) see(sampler, 25, 0.01);
    assert_true(record_of(sampler, 25).doubt == 0);
    hws_sampler_close(&sampler);
}

static hws_sampler *reloaded(hws_sampler *sampler) {
    const size_t size = hws_sampler_state_size(sampler);
    unsigned char *bytes = malloc(size);
    hws_sampler *back = NULL;
    assert_int_equal(hws_sampler_state_write(sampler, bytes, size), HWS_OK);
    assert_int_equal(hws_sampler_state_read(&back, bytes, size, NULL, NULL), HWS_OK);
    free(bytes);
    return back;
}

/* Dice with cross entropy is -1 at best: what counts is how far above that a loss is. */
static void losses_below_0_are_counted_from_their_bound(void **state) {
    (void)state;
    hws_sampler *sampler = recording(21, 1);
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 21; i++) see(sampler, i, i < 20 ? -0.95 : 0.2);
    const hws_record easy = record_of(sampler, 3), wrong = record_of(sampler, 20);
    assert_true(easy.doubt == 0 && wrong.doubt == 1);
    assert_near(wrong.level, exp((20 * log(0.05) + log(1.2)) / 21) - 1, 1e-4);
    assert_near(wrong.excess, log(1.2 / (wrong.level + 1)), 1e-4);
    double p_easy, p_wrong;
    hws_sampler_probability(sampler, 3, &p_easy);
    hws_sampler_probability(sampler, 20, &p_wrong);
    assert_true(p_wrong <= p_easy);
    see(sampler, 5, -1.5); /* the bound is -2 now */
    assert_near(record_of(sampler, 5).level, exp((19 * log(1.05) + log(0.5) + log(2.2)) / 21) - 2, 1e-4);
    hws_sampler *back = reloaded(sampler);
    assert_true(record_of(back, 5).level == record_of(sampler, 5).level);
    hws_sampler_close(&back);
    hws_sampler_close(&sampler);
}

/* What is believed of a loss in doubt depends on the bound: when it moves, p does for all of them and not for the batch
   alone. */
static void a_moved_bound_counts_for_everybody(void **state) {
    (void)state;
    for (size_t k = 0; k < 2 * DIVERGENCES; k++) {
        hws_options options = hws_options_default();
        options.divergence = divergence_number(k / 2);
        if (options.divergence.kind == HWS_CUSTOM) continue;
        options.doubt = options.beta = 1;
        options.trim = k % 2 ? 0.2 : 0;
        options.uniform_mix = 0.1;
        hws_sampler *sampler = opened(N, NULL, &options);
        for (int round = 0; round < 4; round++)
            for (int i = 0; i < N; i++) see(sampler, i, i < 3 ? 8 + i : 1 + 0.01 * i);
        assert_true(record_of(sampler, 0).doubt > 0);
        see(sampler, 5, -0.5);
        hws_sampler *back = reloaded(sampler);
        double p[N], again[N];
        assert_int_equal(hws_sampler_probabilities(sampler, 0, N, p), HWS_OK);
        assert_int_equal(hws_sampler_probabilities(back, 0, N, again), HWS_OK);
        assert_memory_equal(p, again, sizeof p);
        for (int draw = 0; draw < 100; draw++) {
            int64_t batch[4], other[4];
            assert_int_equal(hws_sampler_draw(sampler, 4, batch), HWS_OK);
            assert_int_equal(hws_sampler_draw(back, 4, other), HWS_OK);
            assert_memory_equal(batch, other, sizeof batch);
        }
        hws_sampler_close(&back);
        hws_sampler_close(&sampler);
    }
}

/* The bound stays below every loss that there ever was, also one that has risen since; and moves for new examples. */
static void growing_keeps_the_bound(void **state) {
    (void)state;
    static const float MORE[2][1] = {{1}, {-20}};
    for (int k = 0; k < 2; k++) {
        hws_options options = hws_options_default();
        options.beta = options.doubt = 1;
        options.trim = 0.2;
        hws_sampler *sampler = opened(8, NULL, &options);
        for (int i = 0; i < 8; i++) see(sampler, i, i == 3 ? -3 : 1 + 0.1 * i);
        see(sampler, 3, 1);
        for (int round = 0; round < 6; round++)
            for (int i = 0; i < 2; i++) see(sampler, i, 30 + i);
        const hws_record before = record_of(sampler, 0);
        assert_int_equal(hws_sampler_grow(sampler, 1, MORE[k]), HWS_OK);
        const hws_record after = record_of(sampler, 0);
        assert_true(before.doubt > 0 && before.doubt == after.doubt);
        if (k == 0) assert_near(after.excess, before.excess, 0.2); /* one more has a loss like the others' */
        hws_sampler *back = reloaded(sampler);
        double p[9], again[9];
        assert_int_equal(hws_sampler_probabilities(sampler, 0, 9, p), HWS_OK);
        assert_int_equal(hws_sampler_probabilities(back, 0, 9, again), HWS_OK);
        assert_memory_equal(p, again, sizeof p);
        hws_sampler_close(&back);
        hws_sampler_close(&sampler);
    }
}

/* A step that blew up and was learnt again: nothing of it stays in the level of the others. */
static void a_giant_loss_leaves_no_trace(void **state) {
    (void)state;
    hws_sampler *sampler = recording(8, 0);
    for (int i = 0; i < 8; i++) see(sampler, i, 1 + 0.125 * i);
    const double before = record_of(sampler, 0).level;
    see(sampler, 3, 1e20);
    assert_true(record_of(sampler, 0).level > 1e18);
    see(sampler, 3, 1 + 0.125 * 3);
    assert_true(record_of(sampler, 0).level == before);
    hws_sampler_close(&sampler);
}

/* In an order in which doubles lose everything: each number is added, then all but the small ones are taken out. */
static void sums_are_exact(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    uint64_t seed = 5;
    exact_sum sum = {.digits = {0}};
    float numbers[COUNT];
    int64_t expected = 0; /* of the small ones, in units of 2^-149 */
    for (int i = 0; i < COUNT; i++) {
        const int small = i % 3 == 0, units = (int)(test_random(&seed) % 2000001) - 1000000;
        numbers[i] = ldexpf((float)units, small ? -149 : (int)(test_random(&seed) % 257) - 149);
        if (small) expected += units;
        exact_sum_count(&sum, numbers[i], 1);
    }
    exact_sum_count(&sum, 3.4e38f, 1);
    for (int i = 0; i < COUNT; i++)
        if (i % 3 != 0) exact_sum_count(&sum, numbers[i], -1);
    exact_sum_count(&sum, 3.4e38f, -1);
    assert_true(exact_sum_value(&sum) == ldexp((double)expected, -149));
}

/* Random sets of both signs whose sums are exact in the 64 bits of a long double. */
static void sums_round_once(void **state) {
    (void)state;
    uint64_t seed = 6;
    for (int round = 0; round < 2000; round++) {
        exact_sum sum = {.digits = {0}};
        long double expected = 0;
        for (int i = 0; i < 60; i++) {
            const float number =
                ldexpf((float)(int)(test_random(&seed) % 4096) - 2048, (int)(test_random(&seed) % 40) - 20);
            expected += (long double)number;
            exact_sum_count(&sum, number, 1);
        }
        assert_true(fabsl((long double)exact_sum_value(&sum) - expected) <= 0x1p-53L * fabsl(expected));
    }
}

/* The mean of the largest losses of both signs is a number, and a state with it can be read. */
static void means_do_not_overflow(void **state) {
    (void)state;
    hws_sampler *sampler = recording(2, 0);
    see(sampler, 0, 3e38);
    see(sampler, 0, -3e38);
    assert_true(fabs(record_of(sampler, 0).loss_mean) < 1e32);
    hws_sampler *back = reloaded(sampler);
    assert_true(record_of(back, 0).loss_mean == record_of(sampler, 0).loss_mean);
    hws_sampler_close(&back);
    hws_sampler_close(&sampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_as_defined),
        cmocka_unit_test(a_wrong_label_is_doubted_and_a_rare_one_is_not),
        cmocka_unit_test(within_a_rare_label_who_stays_behind_is_doubted),
        cmocka_unit_test(losses_below_0_are_counted_from_their_bound),
        cmocka_unit_test(a_moved_bound_counts_for_everybody),
        cmocka_unit_test(growing_keeps_the_bound),
        cmocka_unit_test(means_do_not_overflow),
        cmocka_unit_test(a_giant_loss_leaves_no_trace),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(sums_round_once),
        cmocka_unit_test(doubt_goes_when_the_example_is_learnt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
