#include "plan/label_scheme.h"
#include "testing.h"

/* Values 0, 1, 2, 4: whole = 1, 2, 4; core = 1, 4; enhancing = 4, written as 2, 1, 4. */
static label_scheme tumour(void) {
    label_scheme scheme;
    label_scheme_plain(&scheme, 4);
    scheme.values[3] = 4;
    scheme.regions = 3;
    const uint16_t inside[] = {0, 3, 1, 7};
    const int16_t writes[] = {2, 1, 3};
    memcpy(scheme.inside, inside, sizeof inside);
    for (int r = 0; r < 3; r++) scheme.region[r].writes = writes[r];
    return scheme;
}

static void plain_labels_are_their_classes(void **state) {
    (void)state;
    label_scheme scheme;
    label_scheme_plain(&scheme, 3);
    assert_false(label_scheme_has_gaps(&scheme));
    assert_int_equal(label_scheme_outputs(&scheme), 3);
    assert_int_equal(label_scheme_scored(&scheme), 2);
    assert_int_equal(label_scheme_class(&scheme, 2), 2);
    assert_int_equal(label_scheme_class(&scheme, 3), -1);
    assert_int_equal(label_scheme_decode(&scheme, (const float[]){-3, -1, -2}, 0), 1);
    assert_int_equal(label_scheme_decode(&scheme, (const float[]){1, 2, 2}, 0.5f), 1);
    int16_t labels[] = {0, 2, -1, 1};
    label_scheme_targets(&scheme, labels, 4);
    label_scheme_to_values(&scheme, labels, 2);
    assert_memory_equal(labels, ((const int16_t[]){0, 2, -1, 1}), sizeof labels);
}

static void regions_are_bits_of_targets_and_later_ones_win(void **state) {
    (void)state;
    const label_scheme scheme = tumour();
    assert_true(label_scheme_has_gaps(&scheme));
    assert_int_equal(label_scheme_outputs(&scheme), 3);
    assert_int_equal(label_scheme_scored(&scheme), 3);
    assert_int_equal(label_scheme_class(&scheme, 4), 3);
    assert_int_equal(label_scheme_class(&scheme, 3), -1);
    int16_t labels[] = {0, 1, 2, 3, -1};
    label_scheme_targets(&scheme, labels, 5);
    assert_memory_equal(labels, ((const int16_t[]){0, 3, 1, 7, -1}), sizeof labels);
    const float scores[][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {1, 1, 1}, {-1, 0, 1}, {0, 0, 0}};
    const int16_t classes[] = {0, 2, 1, 3, 3, 0};
    for (int k = 0; k < 6; k++) assert_int_equal(label_scheme_decode(&scheme, scores[k], 0), classes[k]);
    assert_int_equal(label_scheme_decode(&scheme, (const float[]){0.6f, 0.5f, 0.4f}, 0.5f), 2);
    int16_t written[] = {0, 1, 2, 3};
    label_scheme_to_values(&scheme, written, 4);
    assert_memory_equal(written, ((const int16_t[]){0, 1, 2, 4}), sizeof written);
}

static void schemes_differ_in_values_regions_and_what_they_write(void **state) {
    (void)state;
    const label_scheme scheme = tumour();
    label_scheme other = tumour();
    assert_true(label_scheme_same(&scheme, &other));
    other.values[3] = 5;
    assert_false(label_scheme_same(&scheme, &other));
    other = tumour();
    other.inside[1] = 1;
    assert_false(label_scheme_same(&scheme, &other));
    other = tumour();
    other.region[1].writes = 2;
    assert_false(label_scheme_same(&scheme, &other));
    other = tumour();
    strcpy(other.region[0].name, "x");
    assert_false(label_scheme_same(&scheme, &other));
    label_scheme_plain(&other, 4);
    assert_false(label_scheme_same(&scheme, &other));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_labels_are_their_classes),
        cmocka_unit_test(regions_are_bits_of_targets_and_later_ones_win),
        cmocka_unit_test(schemes_differ_in_values_regions_and_what_they_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
