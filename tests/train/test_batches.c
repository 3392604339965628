#include "testing.h"
#include "train/batches.h"

enum { N = 23 };

static int group_of(void *context, int64_t example) {
    (void)context;
    return example < 2 ? 7 : example < 5 ? 0 : 3;
}

static status_code open_batches(batches *b, objective_kind kind, int64_t examples, int64_t size, uint64_t seed,
                                failure *failure) {
    const batches_options options = {.kind = kind,
                                     .examples = examples,
                                     .size = size,
                                     .seed = seed,
                                     .group = kind == OBJECTIVE_REWEIGHT && examples == N ? group_of : NULL};
    return batches_open(b, &options, failure);
}

static void erm_visits_each_example_once_per_epoch(void **state) {
    (void)state;
    batches b;
    int64_t drawn[5], again[5], order[4][20];
    assert_int_equal(open_batches(&b, OBJECTIVE_ERM, N, 5, 3, NULL), STATUS_OK);
    for (int pass = 0; pass < 4; pass++) {
        int seen[N] = {0};
        for (int t = 0; t < 4; t++) {
            assert_int_equal(batches_draw(&b, pass * 4 + t, drawn, NULL), STATUS_OK);
            for (int k = 0; k < 5; k++) {
                assert_int_equal(++seen[drawn[k]], 1);
                order[pass][t * 5 + k] = drawn[k];
            }
        }
    }
    assert_memory_not_equal(order[0], order[1], sizeof order[0]);
    assert_int_equal(batches_draw(&b, 2, again, NULL), STATUS_OK); /* an iteration alone decides */
    assert_memory_equal(again, order[0] + 10, sizeof again);
    batches_close(&b);
}

static void permutations_are_uniform(void **state) {
    (void)state;
    batches b;
    const int passes = 40000;
    int counts[4][4] = {{0}};
    int64_t drawn[4];
    assert_int_equal(open_batches(&b, OBJECTIVE_ERM, 4, 4, 9, NULL), STATUS_OK);
    for (int pass = 0; pass < passes; pass++) {
        batches_draw(&b, pass, drawn, NULL);
        for (int k = 0; k < 4; k++) counts[k][drawn[k]]++;
    }
    for (int k = 0; k < 16; k++) assert_near(counts[k / 4][k % 4], passes / 4.0, 5 * sqrt(passes * 3.0 / 16));
    batches_close(&b);
}

/* As nnU-Net's np.random.choice(cases, batch, True): uniform, and each draw for itself. */
static void independent_draws_are_uniform_and_may_repeat_an_example(void **state) {
    (void)state;
    enum { EXAMPLES = 5, ITERATIONS = 20000 };
    const batches_options options = {
        .kind = OBJECTIVE_ERM, .examples = EXAMPLES, .size = 2, .seed = 4, .independent = 1};
    batches b;
    int64_t drawn[2], again[2];
    double pairs[EXAMPLES][EXAMPLES] = {{0}};
    assert_int_equal(batches_open(&b, &options, NULL), STATUS_OK);
    for (int t = 0; t < ITERATIONS; t++) {
        assert_int_equal(batches_draw(&b, t, drawn, NULL), STATUS_OK);
        pairs[drawn[0]][drawn[1]]++;
    }
    const double expected = ITERATIONS / (double)(EXAMPLES * EXAMPLES);
    for (int i = 0; i < EXAMPLES; i++)
        for (int k = 0; k < EXAMPLES; k++) assert_near(pairs[i][k], expected, 5 * sqrt(expected));
    assert_int_equal(batches_draw(&b, ITERATIONS - 1, again, NULL), STATUS_OK); /* an iteration alone decides */
    assert_memory_equal(again, drawn, sizeof again);
    batches_close(&b);
}

static void reweighting_draws_classes_equally_often_and_their_examples_too(void **state) {
    (void)state;
    batches b;
    const int iterations = 4000;
    int64_t drawn[10];
    double counts[N] = {0};
    assert_int_equal(open_batches(&b, OBJECTIVE_REWEIGHT, N, 10, 1, NULL), STATUS_OK);
    for (int t = 0; t < iterations; t++) {
        assert_int_equal(batches_draw(&b, t, drawn, NULL), STATUS_OK);
        for (int k = 0; k < 10; k++) counts[drawn[k]]++;
    }
    for (int i = 0; i < N; i++) {
        const double size = i < 2 ? 2 : i < 5 ? 3 : N - 5, expected = iterations * 10 / (3 * size);
        assert_near(counts[i], expected, 5 * sqrt(expected));
    }
    batches_close(&b);
}

static void a_warm_up_draws_as_erm_does(void **state) {
    (void)state;
    batches erm, dro;
    int64_t one[5], other[5];
    hws_sampler *sampler = NULL;
    hws_options options = hws_options_default();
    options.seed = 3;
    assert_int_equal(hws_sampler_open(&sampler, N, NULL, &options, NULL), HWS_OK);
    assert_int_equal(open_batches(&erm, OBJECTIVE_ERM, N, 5, 3, NULL), STATUS_OK);
    const batches_options warming = {
        .kind = OBJECTIVE_DRO, .examples = N, .size = 5, .seed = 3, .warm_up = 6, .history = sampler};
    assert_int_equal(batches_open(&dro, &warming, NULL), STATUS_OK);
    for (int t = 0; t < 9; t++) {
        assert_int_equal(batches_draw(&erm, t, one, NULL), STATUS_OK);
        assert_int_equal(batches_draw(&dro, t, other, NULL), STATUS_OK);
        if (t < 6) assert_memory_equal(one, other, sizeof one);
    }
    assert_int_equal(hws_sampler_draws_made(sampler), 3);
    batches_close(&erm);
    batches_close(&dro);
    hws_sampler_close(&sampler);
}

static void what_cannot_be_drawn_is_refused(void **state) {
    (void)state;
    batches b;
    failure why;
    assert_int_equal(open_batches(&b, OBJECTIVE_ERM, 4, 5, 0, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "smaller --batch"));
    assert_int_equal(open_batches(&b, OBJECTIVE_REWEIGHT, 4, 2, 0, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "class"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(erm_visits_each_example_once_per_epoch),
        cmocka_unit_test(permutations_are_uniform),
        cmocka_unit_test(independent_draws_are_uniform_and_may_repeat_an_example),
        cmocka_unit_test(reweighting_draws_classes_equally_often_and_their_examples_too),
        cmocka_unit_test(a_warm_up_draws_as_erm_does),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
