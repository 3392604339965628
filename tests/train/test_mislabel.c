/* Labels that are made wrong for study. */
#include "task/mislabel.h"
#include "testing.h"

enum { COUNT = 200, CLASSES = 4 };

static labelled_images example_set(void) {
    labelled_images set;
    const labelled_images_shape shape = {COUNT, 1, 1, 1, CLASSES};
    assert_int_equal(labelled_images_open(&set, &shape, NULL), STATUS_OK);
    for (int i = 0; i < COUNT; i++) set.labels[i] = (uint8_t)(i % CLASSES);
    return set;
}

static void a_share_of_the_images_gets_another_label(void **state) {
    (void)state;
    int given[CLASSES] = {0};
    labelled_images set = example_set(), again = example_set(), other = example_set();
    text csv = {0}, same = {0}, unlike = {0};
    assert_int_equal(mislabel_images(&set, 0.3, 5, &csv, NULL), STATUS_OK);
    assert_int_equal(mislabel_images(&again, 0.3, 5, &same, NULL), STATUS_OK);
    assert_int_equal(mislabel_images(&other, 0.3, 6, &unlike, NULL), STATUS_OK);
    int wrong = 0, lines = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_true(set.labels[i] < CLASSES);
        wrong += set.labels[i] != i % CLASSES;
        given[(set.labels[i] - i % CLASSES + CLASSES) % CLASSES]++;
    }
    for (const char *at = text_string(&csv); *at; at++) lines += *at == '\n';
    assert_int_equal(wrong, 60);
    assert_int_equal(lines, 61);
    for (int k = 1; k < CLASSES; k++) assert_true(given[k] > 8 && given[k] < 32); /* of 20 +- 3.7 */
    assert_memory_equal(set.labels, again.labels, COUNT);
    assert_string_equal(text_string(&csv), text_string(&same));
    assert_memory_not_equal(set.labels, other.labels, COUNT);
    text_close(&csv), text_close(&same), text_close(&unlike);
    labelled_images_close(&set), labelled_images_close(&again), labelled_images_close(&other);
}

static void nothing_and_everything_can_be_wrong(void **state) {
    (void)state;
    labelled_images set = example_set();
    text csv = {0};
    assert_int_equal(mislabel_images(&set, 0, 5, &csv, NULL), STATUS_OK);
    for (int i = 0; i < COUNT; i++) assert_int_equal(set.labels[i], i % CLASSES);
    assert_int_equal(mislabel_images(&set, 1, 5, &csv, NULL), STATUS_OK);
    for (int i = 0; i < COUNT; i++) assert_int_not_equal(set.labels[i], i % CLASSES);
    set.classes = 1;
    failure why;
    assert_int_equal(mislabel_images(&set, 0.5, 5, &csv, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.message, "only one class"));
    text_close(&csv);
    labelled_images_close(&set);
}

static void label_maps_lose_or_exchange_their_labels(void **state) {
    (void)state;
    mislabel_kind kinds[COUNT];
    int counts[3] = {0};
    mislabel_volumes(kinds, COUNT, 0.25, 3, 4);
    for (int i = 0; i < COUNT; i++) counts[kinds[i]]++;
    assert_int_equal(counts[MISLABEL_NOT], 150);
    assert_true(counts[MISLABEL_MISSING] > 8 && counts[MISLABEL_EXCHANGED] > 8);
    mislabel_volumes(kinds, COUNT, 0.25, 3, 2); /* one foreground class cannot be exchanged */
    for (int i = 0; i < COUNT; i++) assert_int_not_equal(kinds[i], MISLABEL_EXCHANGED);
    static const int16_t LABELS[] = {-1, 0, 1, 2, 3}, EXCHANGED[] = {-1, 0, 2, 3, 1}, MISSING[] = {-1, 0, 0, 0, 0};
    for (int k = 0; k < 5; k++) {
        assert_int_equal(mislabel_voxel(MISLABEL_NOT, LABELS[k], 4), LABELS[k]);
        assert_int_equal(mislabel_voxel(MISLABEL_MISSING, LABELS[k], 4), MISSING[k]);
        assert_int_equal(mislabel_voxel(MISLABEL_EXCHANGED, LABELS[k], 4), EXCHANGED[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_share_of_the_images_gets_another_label),
        cmocka_unit_test(nothing_and_everything_can_be_wrong),
        cmocka_unit_test(label_maps_lose_or_exchange_their_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
