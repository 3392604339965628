#include "bench/sampler_cost.h"
#include "bench/training_cost.h"
#include "testing.h"

static void a_sampler_has_a_cost(void **state) {
    (void)state;
    const hws_options options = hws_options_default();
    sampler_cost cost = {-1, -1, -1};
    failure failure;
    assert_int_equal(sampler_cost_measure(1000, 2, &options, &cost, &failure), STATUS_OK);
    assert_true(cost.iteration_seconds > 0 && cost.iteration_seconds < 1);
    assert_true(cost.opening_seconds >= 0);
    assert_true(cost.bytes >= 4 * 1000);
}

static void a_batch_that_cannot_be_drawn_is_an_error(void **state) {
    (void)state;
    const hws_options options = hws_options_default();
    sampler_cost cost;
    failure failure = {.message = ""};
    assert_int_equal(sampler_cost_measure(10, 11, &options, &cost, &failure), STATUS_FAILED);
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
    training_cost cost = {-1, -1, -1, -1, -1};
    assert_int_equal(training_task_complete(&task, &failure), STATUS_OK);
    assert_int_equal(learner_open(&task.learner, &l, &failure), STATUS_OK);
    assert_int_equal(training_cost_measure(&task, l, 0, &cost, &failure), STATUS_OK);
    learner_close(&l);
    assert_true(cost.step_seconds > 0 && cost.gflops > 0 && cost.peak_gflops > 0 && cost.peak_megabytes > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sampler_has_a_cost),
        cmocka_unit_test(a_batch_that_cannot_be_drawn_is_an_error),
        cmocka_unit_test(training_tasks_get_the_usual_sizes),
        cmocka_unit_test(a_training_step_has_a_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
