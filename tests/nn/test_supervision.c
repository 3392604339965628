#include "core/memory.h"
#include "nn/supervision.h"
#include "testing.h"

static void weights_halve_leave_out_the_coarsest_and_sum_to_one(void **state) {
    (void)state;
    double w[5];
    supervision_weights(1, w);
    assert_true(w[0] == 1);
    supervision_weights(2, w);
    assert_true(w[0] == 1 && w[1] == 0);
    supervision_weights(3, w);
    assert_close(w[0], 2 / 3.0, 1e-15);
    assert_close(w[1], 1 / 3.0, 1e-15);
    assert_true(w[2] == 0);
    supervision_weights(5, w);
    assert_close(w[0], 8 / 15.0, 1e-15);
    assert_close(w[3], 1 / 15.0, 1e-15);
    assert_true(w[4] == 0);
}

static void coarse_labels_are_every_stride_th_label(void **state) {
    (void)state;
    const size_t size[3] = {5, 6, 7}, strides[][3] = {{1, 1, 1}, {2, 2, 2}, {1, 2, 4}, {5, 3, 9}};
    int16_t labels[5 * 6 * 7], coarse[5 * 6 * 7 + 1];
    for (size_t i = 0; i < 210; i++) labels[i] = (int16_t)i;
    for (size_t s = 0; s < 4; s++) {
        const size_t *stride = strides[s];
        size_t small[3];
        for (int a = 0; a < 3; a++) small[a] = (size[a] + stride[a] - 1) / stride[a];
        const size_t count = small[0] * small[1] * small[2];
        coarse[count] = -7;
        supervision_labels(size, stride, labels, coarse);
        for (size_t z = 0; z < small[0]; z++)
            for (size_t y = 0; y < small[1]; y++)
                for (size_t x = 0; x < small[2]; x++)
                    assert_int_equal(coarse[(z * small[1] + y) * small[2] + x],
                                     (z * stride[0] * 6 + y * stride[1]) * 7 + x * stride[2]);
        assert_int_equal(coarse[count], -7);
    }
}

static void the_total_and_its_gradient_are_weighted_sums(void **state) {
    (void)state;
    enum { LEVELS = 3, CLASSES = 3, LARGEST = 8 * 8 * 6 };
    static float logits[LEVELS][LARGEST * CLASSES], gradients[LEVELS][LARGEST * CLASSES], one[LARGEST * CLASSES];
    static int16_t labels[LEVELS][LARGEST];
    uint64_t random = 3;
    double weights[LEVELS], expected = 0, value = 0;
    supervised_output outputs[LEVELS];
    supervision_weights(LEVELS, weights);
    for (size_t i = 0; i < LARGEST; i++) labels[0][i] = (int16_t)(test_random(&random) % 3);
    size_t size[3] = {8, 8, 6};
    for (size_t l = 0; l < LEVELS; l++) {
        const size_t positions = size[0] * size[1] * size[2], stride[3] = {2, 2, 2};
        for (size_t i = 0; i < positions * CLASSES; i++) logits[l][i] = (float)test_normal(&random);
        const loss loss = {LOSS_DICE_CE, positions, CLASSES, 0};
        outputs[l] = (supervised_output){
            weights[l], positions, logits[l], labels[l], memory_open(loss_workspace(&loss)), 0, gradients[l]};
        if (l + 1 < LEVELS) supervision_labels(size, stride, labels[l], labels[l + 1]);
        for (int a = 0; a < 3; a++) size[a] = (size[a] + 1) / 2;
    }
    assert_int_equal(supervised_forward(LOSS_DICE_CE, CLASSES, LEVELS, outputs, &value, NULL), STATUS_OK);
    supervised_backward(LOSS_DICE_CE, CLASSES, LEVELS, outputs, 1.7);
    for (size_t l = 0; l < LEVELS; l++) {
        const loss loss = {LOSS_DICE_CE, outputs[l].positions, CLASSES, 0};
        double level = 0;
        assert_int_equal(loss_forward(&loss, logits[l], labels[l], outputs[l].workspace, &level, NULL), STATUS_OK);
        loss_backward(&loss, labels[l], outputs[l].workspace, 1.7, one);
        expected += weights[l] * level;
        for (size_t i = 0; i < outputs[l].positions * CLASSES; i++)
            assert_near(gradients[l][i], weights[l] * one[i], 1e-8);
        memory_close(outputs[l].workspace);
    }
    assert_close(value, expected, 1e-15);
}

static void outputs_without_weight_are_not_looked_at(void **state) {
    (void)state;
    const supervised_output nothing = {.weight = 0, .positions = 5};
    double value = 1;
    assert_int_equal(supervised_forward(LOSS_DICE_CE, 3, 1, &nothing, &value, NULL), STATUS_OK);
    assert_true(value == 0);
    supervised_backward(LOSS_DICE_CE, 3, 1, &nothing, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_halve_leave_out_the_coarsest_and_sum_to_one),
        cmocka_unit_test(coarse_labels_are_every_stride_th_label),
        cmocka_unit_test(the_total_and_its_gradient_are_weighted_sums),
        cmocka_unit_test(outputs_without_weight_are_not_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
