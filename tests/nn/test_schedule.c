#include "nn/schedule.h"
#include "testing.h"

static void a_constant_schedule_stays(void **state) {
    (void)state;
    const schedule s = schedule_default(SCHEDULE_CONSTANT, 0.01, 1000);
    for (double t = 0; t < 2000; t += 100) assert_true(schedule_rate(&s, t) == 0.01);
}

static void a_poly_schedule_falls_to_zero_as_nnunet_s_does(void **state) {
    (void)state;
    const schedule s = schedule_default(SCHEDULE_POLY, 0.01, 1000);
    assert_true(schedule_rate(&s, 0) == 0.01);
    assert_close(schedule_rate(&s, 500), 0.01 * pow(0.5, 0.9), 1e-14);
    assert_close(schedule_rate(&s, 999), 0.01 * pow(0.001, 0.9), 1e-12);
    assert_true(schedule_rate(&s, 1000) == 0 && schedule_rate(&s, 5000) == 0);
    for (double t = 0; t < 1000; t++) assert_true(schedule_rate(&s, t + 1) < schedule_rate(&s, t));
}

static void a_cosine_schedule_falls_slowly_at_both_ends(void **state) {
    (void)state;
    const schedule s = schedule_default(SCHEDULE_COSINE, 0.2, 100);
    assert_true(schedule_rate(&s, 0) == 0.2);
    assert_close(schedule_rate(&s, 25), 0.1 * (1 + sqrt(0.5)), 1e-14);
    assert_close(schedule_rate(&s, 50), 0.1, 1e-14);
    assert_true(schedule_rate(&s, 100) == 0 && schedule_rate(&s, 200) == 0);
    for (double t = 0; t < 100; t++) assert_true(schedule_rate(&s, t + 1) < schedule_rate(&s, t));
}

static void the_rate_rises_before_the_schedule_begins(void **state) {
    (void)state;
    for (int kind = SCHEDULE_CONSTANT; kind <= SCHEDULE_COSINE; kind++) {
        schedule s = schedule_default((schedule_kind)kind, 0.5, 60),
                 rest = schedule_default((schedule_kind)kind, 0.5, 50);
        s.warm_up = 10;
        assert_int_equal(schedule_check(&s, NULL), STATUS_OK);
        for (int t = 0; t < 10; t++) assert_close(schedule_rate(&s, t), 0.5 * (t + 1) / 11, 1e-15);
        for (int t = 0; t <= 50; t++) assert_true(schedule_rate(&s, 10 + t) == schedule_rate(&rest, t));
    }
    schedule s = schedule_default(SCHEDULE_COSINE, 0.5, 60);
    s.warm_up = 60;
    assert_int_equal(schedule_check(&s, NULL), STATUS_BAD_INPUT);
    s.warm_up = -1;
    assert_int_equal(schedule_check(&s, NULL), STATUS_BAD_INPUT);
}

static void a_poly_schedule_by_epochs_has_one_rate_per_epoch(void **state) {
    (void)state;
    schedule s = schedule_default(SCHEDULE_POLY_EPOCH, 0.01, 1000);
    s.epoch = 250;
    for (double t = 0; t < 1000; t++)
        assert_true(schedule_rate(&s, t) == 0.01 * pow(1 - floor(t / 250) / 4, 0.9)); /* nnU-Net's formula */
    assert_true(schedule_rate(&s, 1000) == 0);
    s.epoch = 0;
    assert_int_equal(schedule_check(&s, NULL), STATUS_BAD_INPUT);
}

static void senseless_schedules_are_refused(void **state) {
    (void)state;
    const schedule bad[] = {schedule_default(SCHEDULE_CONSTANT, -1, 10), schedule_default(SCHEDULE_POLY, NAN, 10),
                            schedule_default(SCHEDULE_POLY, 0.1, 0), schedule_default((schedule_kind)7, 0.1, 10)};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_int_equal(schedule_check(&bad[k], NULL), STATUS_BAD_INPUT);
    const schedule good = schedule_default(SCHEDULE_CONSTANT, 0.1, 0);
    assert_int_equal(schedule_check(&good, NULL), STATUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_constant_schedule_stays),
        cmocka_unit_test(a_poly_schedule_falls_to_zero_as_nnunet_s_does),
        cmocka_unit_test(a_cosine_schedule_falls_slowly_at_both_ends),
        cmocka_unit_test(the_rate_rises_before_the_schedule_begins),
        cmocka_unit_test(a_poly_schedule_by_epochs_has_one_rate_per_epoch),
        cmocka_unit_test(senseless_schedules_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
