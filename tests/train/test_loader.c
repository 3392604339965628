#include "points.h"

enum { SIZE = 8, BATCHES = 40 };

static status_code open_loader(loader **l, const task *t, int64_t capacity, int threads) {
    const loader_options options = {.task = t,
                                    .size = SIZE,
                                    .end = SIZE,
                                    .capacity = capacity,
                                    .input_floats = FEATURES,
                                    .label_count = 1,
                                    .threads = threads};
    return loader_open(l, &options, NULL);
}

/* All batches through a loader of this capacity with so many threads: the sum of everything as bits. */
static void collect(const task *t, int64_t capacity, int threads, float *inputs, int16_t *labels) {
    loader *l;
    const loaded *batch;
    int64_t examples[SIZE], added = 0;
    assert_int_equal(open_loader(&l, t, capacity, threads), STATUS_OK);
    for (int64_t taken = 0; taken < BATCHES; taken++) {
        for (; added < BATCHES && loader_count(l) < capacity; added++) {
            for (int k = 0; k < SIZE; k++) examples[k] = (added * 7 + k * 3) % POINTS;
            loader_add(l, added, examples);
            assert_memory_equal(loader_examples(l, loader_count(l) - 1), examples, sizeof examples);
        }
        assert_int_equal(loader_take(l, &batch, NULL), STATUS_OK);
        assert_int_equal(batch->iteration, taken);
        memcpy(inputs + taken * SIZE * FEATURES, batch->input, SIZE * FEATURES * sizeof *inputs);
        memcpy(labels + taken * SIZE, batch->labels, SIZE * sizeof *labels);
        loader_release(l);
    }
    loader_close(&l);
    assert_null(l);
}

static void threads_and_capacity_do_not_change_what_is_loaded(void **state) {
    (void)state;
    static float first[BATCHES * SIZE * FEATURES], next[BATCHES * SIZE * FEATURES];
    static int16_t first_labels[BATCHES * SIZE], next_labels[BATCHES * SIZE];
    points p;
    const task t = points_task(&p);
    p.noise = 0.5;
    collect(&t, 1, 0, first, first_labels);
    for (int threads = 0; threads <= 4; threads++)
        for (int64_t capacity = 1; capacity <= 5; capacity += 2) {
            collect(&t, capacity, threads, next, next_labels);
            assert_memory_equal(first, next, sizeof first);
            assert_memory_equal(first_labels, next_labels, sizeof first_labels);
        }
}

static void an_example_that_cannot_be_loaded_fails_its_batch_only(void **state) {
    (void)state;
    points p;
    const task t = points_task(&p);
    p.failing = 20;
    for (int threads = 0; threads < 3; threads++) {
        loader *l;
        const loaded *batch;
        failure why = {0};
        int64_t good[SIZE] = {0}, bad[SIZE] = {1, 20, 3};
        assert_int_equal(open_loader(&l, &t, 2, threads), STATUS_OK);
        loader_add(l, 0, bad);
        loader_add(l, 1, good);
        assert_int_equal(loader_take(l, &batch, &why), STATUS_CANNOT_READ);
        assert_string_equal(why.message, "point 20 is lost");
        loader_release(l);
        assert_int_equal(loader_take(l, &batch, &why), STATUS_OK);
        loader_close(&l);
    }
}

static void a_loader_can_be_closed_while_threads_work(void **state) {
    (void)state;
    points p;
    const task t = points_task(&p);
    int64_t examples[SIZE] = {0};
    for (int run = 0; run < 20; run++) {
        loader *l;
        assert_int_equal(open_loader(&l, &t, 4, 3), STATUS_OK);
        for (int k = 0; k < 4; k++) loader_add(l, k, examples);
        loader_close(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_capacity_do_not_change_what_is_loaded),
        cmocka_unit_test(an_example_that_cannot_be_loaded_fails_its_batch_only),
        cmocka_unit_test(a_loader_can_be_closed_while_threads_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
