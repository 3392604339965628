/* What --budget makes of the time one has. */
#include "train/budget.h"

#include "testing.h"

static void times_are_read(void **state) {
    (void)state;
    static const struct {
        const char *words;
        double seconds;
    } GOOD[] = {{"90s", 90}, {"60m", 3600}, {"2h", 7200}, {"1h30m", 5400}, {"0.5h", 1800}};
    static const char *const WRONG[] = {"", "60", "m", "60x", "-5m", "0s", "nan", "infh", "1h m", "60m5", "+3m"};
    double seconds;
    failure why;
    for (size_t k = 0; k < sizeof GOOD / sizeof *GOOD; k++) {
        assert_int_equal(budget_parse(GOOD[k].words, &seconds, NULL), STATUS_OK);
        assert_true(seconds == GOOD[k].seconds);
    }
    for (size_t k = 0; k < sizeof WRONG / sizeof *WRONG; k++)
        assert_int_equal(budget_parse(WRONG[k], &seconds, &why), STATUS_BAD_INPUT);
}

static double duration(const train_settings *s, const budget_costs *costs) {
    const double validations = ceil((double)s->iterations / (double)s->epoch_length);
    return (double)s->iterations * costs->step * (double)s->batch / (double)costs->batch +
           validations * costs->validation + costs->end;
}

/* Costs of all sizes: the run keeps a twentieth of the time back, and fills them unless a step
   is longer than the rest. */
static void what_is_chosen_fits_into_the_time(void **state) {
    (void)state;
    static const double STEPS[] = {0.001, 0.1, 2, 20}, VALIDATIONS[] = {0.01, 3, 40},
                        TIMES[] = {600, 1800, 3600, 86400};
    for (int k = 0; k < 4 * 3 * 4; k++) {
        train_settings s = settings_default_volumes();
        s.batch = 9;
        const budget_costs costs = {2, STEPS[k % 4], VALIDATIONS[k / 4 % 3], 5};
        const double seconds = TIMES[k / 12];
        assert_int_equal(budget_choose(&s, &costs, &(budget_fixed){0}, seconds, NULL), STATUS_OK);
        assert_true(duration(&s, &costs) <= 0.95 * seconds + 1e-6);
        assert_true(duration(&s, &costs) >= 0.7 * seconds);
        assert_true(s.batch == 9 || s.batch == 2);
        assert_true(s.iterations % s.epoch_length == 0 && s.iterations / s.epoch_length <= 20);
    }
}

static void few_iterations_are_adams_and_many_nnunets(void **state) {
    (void)state;
    train_settings s = settings_default_volumes();
    s.batch = 6;
    assert_int_equal(budget_choose(&s, &(budget_costs){2, 1, 10, 5}, &(budget_fixed){0}, 600, NULL), STATUS_OK);
    assert_true(s.optimizer == OPTIMIZER_ADAM && s.lr == 0.003 && s.batch == 2);
    s = settings_default_volumes();
    s.batch = 6;
    assert_int_equal(budget_choose(&s, &(budget_costs){2, 1, 10, 5}, &(budget_fixed){0}, 1e6, NULL), STATUS_OK);
    assert_true(s.optimizer == OPTIMIZER_NESTEROV && s.lr == 0.01 && s.batch == 6);
}

static void what_was_given_stays(void **state) {
    (void)state;
    train_settings s = settings_default_volumes();
    const budget_fixed fixed = {.optimizer = 1, .lr = 1, .schedule = 1, .batch = 1, .epoch_length = 1};
    s.batch = 6;
    s.epoch_length = 7;
    s.schedule = SCHEDULE_CONSTANT;
    assert_int_equal(budget_choose(&s, &(budget_costs){6, 1, 1, 5}, &fixed, 600, NULL), STATUS_OK);
    assert_true(s.optimizer == OPTIMIZER_NESTEROV && s.lr == 0.01 && s.batch == 6 && s.epoch_length == 7);
    assert_int_equal(s.schedule, SCHEDULE_CONSTANT);
}

/* A step of 1 s and a validation of 60 s after each 10 of them: 51 epochs fit into 3600 s less a twentieth. */
static void an_epoch_that_is_a_pass_has_its_validations(void **state) {
    (void)state;
    train_settings s = settings_default_volumes();
    const budget_costs costs = {2, 1, 60, 5};
    const budget_fixed fixed = {.epoch_length = 1, .batch = 1, .examples = 21};
    s.batch = 2;
    s.epoch_length = 0;
    assert_int_equal(budget_choose(&s, &costs, &fixed, 3600, NULL), STATUS_OK);
    assert_true(s.epoch_length == 0 && budget_epoch_length(&s, &fixed) == 10);
    s.epoch_length = 10;
    assert_true(duration(&s, &costs) <= 0.95 * 3600 && duration(&s, &costs) > 0.95 * 3600 - 70);
}

static void an_epoch_that_was_given_has_its_validations(void **state) {
    (void)state;
    train_settings s = settings_default_volumes();
    const budget_costs costs = {2, 1, 60, 5};
    s.batch = 2;
    s.epoch_length = 10;
    assert_int_equal(budget_choose(&s, &costs, &(budget_fixed){.epoch_length = 1}, 3600, NULL), STATUS_OK);
    assert_int_equal(s.epoch_length, 10);
    assert_true(duration(&s, &costs) <= 0.95 * 3600 && duration(&s, &costs) > 0.95 * 3600 - 70);
}

static void jtt_has_time_for_both_trainings(void **state) {
    (void)state;
    static const double TIMES[] = {20, 30, 60, 600, 86400};
    for (int k = 0; k < 5 * 4; k++) {
        train_settings s = k % 2 ? settings_default() : settings_default_volumes();
        const budget_fixed fixed = {.jtt_epochs = k / 2 % 2};
        s.objective = OBJECTIVE_JTT;
        s.batch = 2;
        if (fixed.jtt_epochs) s.jtt_epochs = 2;
        const budget_costs costs = {2, 1, 1.5, 5};
        assert_int_equal(budget_check(&s, &fixed, NULL), STATUS_OK);
        assert_int_equal(budget_choose(&s, &costs, &fixed, TIMES[k / 4], NULL), STATUS_OK);
        assert_true(s.jtt_epochs >= 1 && s.jtt_epochs * s.epoch_length < s.iterations);
        assert_true(duration(&s, &costs) <= 0.95 * TIMES[k / 4]);
        if (fixed.jtt_epochs) assert_int_equal(s.jtt_epochs, 2);
    }
}

static void jtt_without_time_for_both_is_refused_with_what_to_change(void **state) {
    (void)state;
    train_settings s = settings_default_volumes();
    failure why;
    s.objective = OBJECTIVE_JTT;
    s.batch = 2;
    assert_int_equal(budget_check(&s, &(budget_fixed){.jtt_epochs = 1}, &why), STATUS_BAD_INPUT);
    assert_true(strstr(why.message, "--budget") && strstr(why.message, "--jtt-epochs 50"));
    s.jtt_epochs = 3;
    assert_int_equal(budget_choose(&s, &(budget_costs){2, 1, 10, 4}, &(budget_fixed){.jtt_epochs = 1}, 40, &why),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "4 validations"));
    s.epoch_length = 100;
    const budget_fixed fixed = {.epoch_length = 1, .jtt_epochs = 1};
    assert_int_equal(budget_choose(&s, &(budget_costs){2, 1, 10, 4}, &fixed, 300, &why), STATUS_BAD_INPUT);
    assert_true(strstr(why.message, "--jtt-epochs 3") && strstr(why.message, "--epoch-length"));
}

static void too_little_time_is_refused_with_what_is_needed(void **state) {
    (void)state;
    train_settings s = settings_default_volumes();
    failure why;
    s.batch = 2;
    assert_int_equal(budget_choose(&s, &(budget_costs){2, 4, 10, 4}, &(budget_fixed){0}, 15, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "take about 19 s, and there are 15 s left"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_read),
        cmocka_unit_test(what_is_chosen_fits_into_the_time),
        cmocka_unit_test(few_iterations_are_adams_and_many_nnunets),
        cmocka_unit_test(what_was_given_stays),
        cmocka_unit_test(an_epoch_that_is_a_pass_has_its_validations),
        cmocka_unit_test(an_epoch_that_was_given_has_its_validations),
        cmocka_unit_test(jtt_has_time_for_both_trainings),
        cmocka_unit_test(jtt_without_time_for_both_is_refused_with_what_to_change),
        cmocka_unit_test(too_little_time_is_refused_with_what_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
