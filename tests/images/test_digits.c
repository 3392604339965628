/* The built-in digits: the same bits everywhere, and something to learn. */
#include "images/digits.h"

#include "failing_memory.h"
#include "memory.h"
#include "testing.h"

static labelled_images opened(uint64_t seed, digits_split split, int64_t count) {
    labelled_images set;
    assert_int_equal(digits_open(&set, seed, split, count, NULL), STATUS_OK);
    return set;
}

static void every_example_can_be_made_alone(void **state) {
    (void)state;
    labelled_images set = opened(7, DIGITS_TRAIN, 300);
    for (int64_t i = 299; i >= 0; i -= 13) {
        uint8_t pixels[DIGITS_PIXELS];
        assert_int_equal(digits_make(7, DIGITS_TRAIN, i, pixels), set.labels[i]);
        assert_memory_equal(pixels, labelled_images_at(&set, i), DIGITS_PIXELS);
    }
    labelled_images_close(&set);
}

static void a_smaller_set_is_the_beginning_of_a_larger_one(void **state) {
    (void)state;
    labelled_images small = opened(1, DIGITS_TEST, 50), large = opened(1, DIGITS_TEST, 80);
    assert_memory_equal(small.pixels, large.pixels, 50 * DIGITS_PIXELS);
    assert_memory_equal(small.labels, large.labels, 50);
    labelled_images_close(&small);
    labelled_images_close(&large);
}

/* Written down, so that another compiler, machine or version that makes other digits is noticed. */
static void the_bits_are_the_same_everywhere(void **state) {
    (void)state;
    labelled_images train = opened(1, DIGITS_TRAIN, 1000), test = opened(1, DIGITS_TEST, 1000);
    assert_int_equal(labelled_images_fingerprint(&train), UINT64_C(0xdaac972dcc95fc2b));
    assert_int_equal(labelled_images_fingerprint(&test), UINT64_C(0x363c94c04e60ae84));
    labelled_images_close(&train);
    labelled_images_close(&test);
}

static void seeds_parts_and_indices_give_different_examples(void **state) {
    (void)state;
    uint8_t base[DIGITS_PIXELS], other[DIGITS_PIXELS];
    digits_make(1, DIGITS_TRAIN, 0, base);
    digits_make(2, DIGITS_TRAIN, 0, other);
    assert_memory_not_equal(base, other, DIGITS_PIXELS);
    digits_make(1, DIGITS_TEST, 0, other);
    assert_memory_not_equal(base, other, DIGITS_PIXELS);
    digits_make(1, DIGITS_TRAIN, 1, other);
    assert_memory_not_equal(base, other, DIGITS_PIXELS);
    digits_make(1, DIGITS_TRAIN, (int64_t)1 << 40, other);
    assert_memory_not_equal(base, other, DIGITS_PIXELS);
}

static void all_digits_are_equally_likely(void **state) {
    (void)state;
    labelled_images set = opened(3, DIGITS_TRAIN, 4000);
    assert_int_equal(set.classes, 10);
    /* 400 expected, with a standard deviation of 19. */
    for (int digit = 0; digit < 10; digit++) assert_near((double)labelled_images_count_class(&set, digit), 400, 95);
    labelled_images_close(&set);
}

static void every_image_has_ink_and_keeps_it_off_the_border(void **state) {
    (void)state;
    labelled_images set = opened(4, DIGITS_TRAIN, 2000);
    double border = 0;
    for (int64_t i = 0; i < set.count; i++) {
        const uint8_t *image = labelled_images_at(&set, i);
        int bright = 0;
        for (int k = 0; k < DIGITS_PIXELS; k++) bright += image[k] > 128;
        assert_in_range(bright, 12, 350);
        for (int k = 0; k < DIGITS_SIDE; k++)
            border += (image[k] > 128) + (image[DIGITS_PIXELS - 1 - k] > 128) + (image[k * DIGITS_SIDE] > 128) +
                      (image[k * DIGITS_SIDE + DIGITS_SIDE - 1] > 128);
    }
    assert_true(border / (double)set.count < 0.5);
    labelled_images_close(&set);
}

/* The nearest class mean: a classifier so simple that it must neither be hopeless nor sufficient. */
static double accuracy_of_means(const labelled_images *train, const labelled_images *test) {
    static double means[10][DIGITS_PIXELS];
    memset(means, 0, sizeof means);
    for (int64_t i = 0; i < train->count; i++)
        for (int k = 0; k < DIGITS_PIXELS; k++) {
            const int label = train->labels[i];
            means[label][k] += labelled_images_at(train, i)[k] / (double)labelled_images_count_class(train, label);
        }
    int right = 0;
    for (int64_t i = 0; i < test->count; i++) {
        double best = INFINITY;
        int guess = -1;
        for (int digit = 0; digit < 10; digit++) {
            double distance = 0;
            for (int k = 0; k < DIGITS_PIXELS; k++) {
                const double d = means[digit][k] - labelled_images_at(test, i)[k];
                distance += d * d;
            }
            if (distance < best) best = distance, guess = digit;
        }
        right += guess == test->labels[i];
    }
    return right / (double)test->count;
}

static void they_can_be_learnt_but_not_by_averages(void **state) {
    (void)state;
    labelled_images train = opened(1, DIGITS_TRAIN, 400), test = opened(1, DIGITS_TEST, 400);
    const double accuracy = accuracy_of_means(&train, &test);
    if (!(accuracy > 0.45 && accuracy < 0.9)) fail_msg("the nearest mean is right in %g of the cases", accuracy);
    labelled_images_close(&train);
    labelled_images_close(&test);
}

static void absurd_counts_and_lack_of_memory_are_refused(void **state) {
    (void)state;
    labelled_images set;
    failure failure = {0};
    assert_int_equal(digits_open(&set, 1, DIGITS_TRAIN, 0, &failure), STATUS_BAD_INPUT);
    assert_int_equal(digits_open(&set, 1, DIGITS_TRAIN, DIGITS_COUNT_MAX + 1LL, &failure), STATUS_BAD_INPUT);
    memory_fail_after(0);
    assert_int_equal(digits_open(&set, 1, DIGITS_TRAIN, 10, &failure), STATUS_OUT_OF_MEMORY);
    memory_fail_after(-1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_can_be_made_alone),
        cmocka_unit_test(a_smaller_set_is_the_beginning_of_a_larger_one),
        cmocka_unit_test(the_bits_are_the_same_everywhere),
        cmocka_unit_test(seeds_parts_and_indices_give_different_examples),
        cmocka_unit_test(all_digits_are_equally_likely),
        cmocka_unit_test(every_image_has_ink_and_keeps_it_off_the_border),
        cmocka_unit_test(they_can_be_learnt_but_not_by_averages),
        cmocka_unit_test(absurd_counts_and_lack_of_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
