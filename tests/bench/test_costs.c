#include "bench/layer_cost.h"
#include "bench/sampler_cost.h"
#include "bench/training_cost.h"
#include "testing.h"

static void a_sampler_has_a_cost(void **state) {
    (void)state;
    const hws_options options = hws_options_default();
    sampler_cost cost = {.bytes = -1};
    failure failure;
    assert_int_equal(sampler_cost_measure(&(sampler_work){.n = 1000, .batch = 2}, &options, &cost, &failure),
                     STATUS_OK);
    assert_true(cost.iteration.median > 0 && cost.iteration.median < 1);
    assert_true(cost.opening_seconds >= 0);
    assert_true(cost.bytes >= 4 * 1000);
    hws_options tail = hws_options_default();
    tail.tail = 0.1;
    const sampler_work falling = {.n = 1000, .batch = 8, .drift = 0.03};
    assert_int_equal(sampler_cost_measure(&falling, &tail, &cost, &failure), STATUS_OK);
    assert_true(cost.iteration.median > 0 && cost.iteration.median < 1);
}

static void a_batch_that_cannot_be_drawn_is_an_error(void **state) {
    (void)state;
    const hws_options options = hws_options_default();
    sampler_cost cost;
    failure failure = {.message = ""};
    assert_int_equal(sampler_cost_measure(&(sampler_work){.n = 10, .batch = 11}, &options, &cost, &failure),
                     STATUS_FAILED);
    assert_non_null(strstr(failure.message, "n = 10: "));
}

static void training_tasks_get_the_usual_sizes(void **state) {
    (void)state;
    training_task wrn = {.model = "wrn-16-1", .channels = 1},
                  unet = {.model = "unet", .channels = 1, .levels = 3, .base = 8};
    failure failure;
    assert_int_equal(training_task_complete(&wrn, &failure), STATUS_OK);
    assert_true(wrn.batch == 64 && wrn.classes == 10 && wrn.patch[0] == 1 && wrn.patch[2] == 28);
    assert_int_equal(wrn.learner.model.input.samples, 64);
    assert_int_equal(training_task_complete(&unet, &failure), STATUS_OK);
    assert_true(unet.batch == 2 && unet.classes == 3 && unet.patch[1] == 56);
    assert_true(unet.learner.model.unet_levels == 3 && unet.learner.graph.recompute);
    assert_int_equal(unet.learner.loss, LOSS_DICE_CE);
    training_task none = {.model = "no-such"};
    assert_int_equal(training_task_complete(&none, &failure), STATUS_BAD_INPUT);
}

static void a_training_step_has_a_cost(void **state) {
    (void)state;
    training_task task = {.model = "mlp-1-4", .batch = 3, .classes = 2, .patch = {1, 2, 2}, .channels = 1};
    task.graph.threads = 1;
    failure failure;
    learner *l = NULL;
    training_cost cost = {.gflops = -1};
    assert_int_equal(training_task_complete(&task, &failure), STATUS_OK);
    assert_int_equal(learner_open(&task.learner, &l, &failure), STATUS_OK);
    assert_int_equal(training_cost_measure(&task, l, 0, &cost, &failure), STATUS_OK);
    learner_close(&l);
    assert_true(cost.step.median > 0 && cost.gflops > 0 && cost.peak_gflops > 0 && cost.peak_megabytes > 0);
}

static void timings_have_a_middle_and_a_spread(void **state) {
    (void)state;
    timings t = {0};
    timing result;
    for (int k = 100; k >= 0; k--) assert_int_equal(timings_add(&t, k, NULL), STATUS_OK);
    timings_end(&t, &result);
    assert_true(result.median == 50 && result.least == 0 && result.low == 25 && result.high == 75);
    timings_end(&t, &result);
    assert_true(isnan(result.median) && isnan(result.least));
}

/* All passes of all algorithms and precisions, of one and of two inputs. */
static void a_layer_has_a_cost(void **state) {
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        const int second = kind & 1 ? 16 : 0;
        convolution c = {.in = {2, {1, 12, 12}, 16 + second},
                         .inputs = second ? 2 : 1,
                         .input_channels = {16, second},
                         .features = 16,
                         .kernel = {1, 3, 3},
                         .stride = {1, 1, 1},
                         .padding = {0, 1, 1},
                         .precision = kind & 2 ? PRECISION_BF16 : PRECISION_F32,
                         .threads = 2,
                         .algorithm = kind & 4 ? CONVOLUTION_WINOGRAD : CONVOLUTION_DIRECT};
        layer_cost cost;
        assert_int_equal(convolution_plan(&c, NULL), STATUS_OK);
        assert_int_equal(layer_cost_measure(&c, 0, &cost, NULL), STATUS_OK);
        assert_near(cost.gflop, 2.0 * 2 * 144 * 9 * (16 + second) * 16 / 1e9, 1e-12);
        for (int pass = 0; pass < LAYER_PASSES; pass++) assert_true(cost.pass[pass].median > 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timings_have_a_middle_and_a_spread),
        cmocka_unit_test(a_layer_has_a_cost),
        cmocka_unit_test(a_sampler_has_a_cost),
        cmocka_unit_test(a_batch_that_cannot_be_drawn_is_an_error),
        cmocka_unit_test(training_tasks_get_the_usual_sizes),
        cmocka_unit_test(a_training_step_has_a_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
