/* Sets of labelled images: what --keep leaves, and fingerprints that notice every change. */
#include "images/labelled_images.h"

#include "core/memory.h"
#include "failing_memory.h"
#include "testing.h"

enum { SIDE = 3, CLASSES = 10 };

/* Every image says in its pixels which one it is. */
static labelled_images numbered(int64_t count) {
    labelled_images set;
    assert_int_equal(labelled_images_open(&set, &(labelled_images_shape){count, SIDE, SIDE, 1, CLASSES}, NULL),
                     STATUS_OK);
    for (int64_t i = 0; i < count; i++) {
        memset(set.pixels + i * SIDE * SIDE, (int)(i * 7 % 251), SIDE * SIDE);
        set.labels[i] = (uint8_t)(i * i % 7 % CLASSES);
    }
    return set;
}

static void check_examples_are_whole(const labelled_images *set) {
    for (int64_t i = 0; i < set->count; i++) {
        const int64_t origin = set->origins[i];
        assert_int_equal(set->labels[i], origin * origin % 7 % CLASSES);
        assert_int_equal(labelled_images_at(set, i)[0], origin * 7 % 251);
        assert_int_equal(labelled_images_at(set, i)[SIDE * SIDE - 1], origin * 7 % 251);
        assert_true(i == 0 || origin > set->origins[i - 1]);
    }
}

static void keeping_leaves_the_floor_of_the_fraction_and_all_other_classes(void **state) {
    (void)state;
    const double fractions[] = {0, 0.01, 0.1, 0.29, 0.5, 0.999, 1};
    for (size_t k = 0; k < sizeof fractions / sizeof *fractions; k++) {
        labelled_images set = numbered(700);
        const int64_t before = labelled_images_count_class(&set, 2);
        assert_int_equal(before, 200);
        const int64_t expected = (int64_t)llround(floor(200 * fractions[k] + 1e-6));
        assert_int_equal(labelled_images_keep(&set, 2, fractions[k], 5, NULL), STATUS_OK);
        assert_int_equal(labelled_images_count_class(&set, 2), expected);
        assert_int_equal(set.count, 700 - 200 + expected);
        check_examples_are_whole(&set);
        labelled_images_close(&set);
    }
}

static void a_fraction_means_what_it_says_in_decimals(void **state) {
    (void)state;
    for (int percent = 0; percent <= 100; percent++) {
        labelled_images set;
        assert_int_equal(labelled_images_open(&set, &(labelled_images_shape){101, 1, 1, 1, 2}, NULL), STATUS_OK);
        memset(set.pixels, 0, 101);
        memset(set.labels, 1, 100);
        set.labels[100] = 0;
        assert_int_equal(labelled_images_keep(&set, 1, percent / 100.0, 1, NULL), STATUS_OK);
        assert_int_equal(set.count, percent + 1);
        labelled_images_close(&set);
    }
}

static void the_seed_decides_what_is_kept(void **state) {
    (void)state;
    labelled_images a = numbered(700), b = numbered(700), c = numbered(700);
    labelled_images_keep(&a, 2, 0.2, 5, NULL);
    labelled_images_keep(&b, 2, 0.2, 5, NULL);
    labelled_images_keep(&c, 2, 0.2, 6, NULL);
    assert_true(labelled_images_fingerprint(&a) == labelled_images_fingerprint(&b));
    assert_memory_equal(a.origins, b.origins, (size_t)a.count * sizeof *a.origins);
    assert_true(labelled_images_fingerprint(&a) != labelled_images_fingerprint(&c));
    labelled_images_close(&a);
    labelled_images_close(&b);
    labelled_images_close(&c);
}

static int holds(const labelled_images *set, int64_t origin) {
    for (int64_t i = 0; i < set->count; i++)
        if (set->origins[i] == origin) return 1;
    return 0;
}

static void a_smaller_fraction_keeps_a_subset_of_a_larger_one(void **state) {
    (void)state;
    labelled_images small = numbered(700), large = numbered(700);
    labelled_images_keep(&small, 4, 0.1, 9, NULL);
    labelled_images_keep(&large, 4, 0.3, 9, NULL);
    for (int64_t i = 0; i < small.count; i++) assert_true(holds(&large, small.origins[i]));
    labelled_images_close(&small);
    labelled_images_close(&large);
}

static void every_example_of_the_class_is_equally_likely_to_stay(void **state) {
    (void)state;
    int kept[20] = {0};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        labelled_images set;
        labelled_images_open(&set, &(labelled_images_shape){20, 1, 1, 1, 1}, NULL);
        memset(set.pixels, 0, 20);
        memset(set.labels, 0, 20);
        labelled_images_keep(&set, 0, 0.25, seed, NULL);
        for (int64_t i = 0; i < set.count; i++) kept[set.origins[i]]++;
        labelled_images_close(&set);
    }
    /* 1000 expected, with a standard deviation of 27. */
    for (int i = 0; i < 20; i++) assert_near(kept[i], 1000, 5 * 27.4);
}

static void refuse(labelled_images *set, int class_label, double fraction, const char *words) {
    failure failure = {0};
    const uint64_t before = labelled_images_fingerprint(set);
    assert_int_equal(labelled_images_keep(set, class_label, fraction, 1, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, words));
    assert_true(labelled_images_fingerprint(set) == before);
}

static void nonsense_is_refused_and_changes_nothing(void **state) {
    (void)state;
    labelled_images set = numbered(50), single;
    refuse(&set, -1, 0.5, "no class -1");
    refuse(&set, 10, 0.5, "0 to 9");
    refuse(&set, 1, -0.1, "from 0 to 1");
    refuse(&set, 1, 1.5, "from 0 to 1");
    refuse(&set, 1, NAN, "from 0 to 1");
    refuse(&set, 2, 0.01, " examples: "); /* none of the class would be left */
    labelled_images_close(&set);
    labelled_images_open(&single, &(labelled_images_shape){3, 1, 1, 1, 2}, NULL);
    memset(single.pixels, 0, 3);
    memset(single.labels, 1, 3);
    refuse(&single, 1, 0.1, "no examples");
    labelled_images_close(&single);
    assert_int_equal(labelled_images_open(&single, &(labelled_images_shape){0, 1, 1, 1, 2}, NULL), STATUS_BAD_INPUT);
    assert_int_equal(labelled_images_open(&single, &(labelled_images_shape){INT64_MAX / 2, 16384, 16384, 1, 2}, NULL),
                     STATUS_BAD_INPUT);
    assert_int_equal(labelled_images_open(&single, &(labelled_images_shape){1, 1, 1, 1, 257}, NULL), STATUS_BAD_INPUT);
}

static void the_fingerprint_notices_every_kind_of_change(void **state) {
    (void)state;
    labelled_images set = numbered(20);
    const uint64_t before = labelled_images_fingerprint(&set);
    set.pixels[100] ^= 1;
    assert_true(labelled_images_fingerprint(&set) != before);
    set.pixels[100] ^= 1;
    set.labels[7] ^= 1;
    assert_true(labelled_images_fingerprint(&set) != before);
    set.labels[7] ^= 1;
    set.origins[3]++;
    assert_true(labelled_images_fingerprint(&set) != before);
    set.origins[3]--;
    set.classes++;
    assert_true(labelled_images_fingerprint(&set) != before);
    set.classes--;
    assert_true(labelled_images_fingerprint(&set) == before);
    labelled_images_close(&set);
}

static void running_out_of_memory_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    failure failure;
    for (long k = 0; k < 3; k++) {
        labelled_images set;
        memory_fail_after(k);
        assert_int_equal(labelled_images_open(&set, &(labelled_images_shape){5, 2, 2, 1, 2}, &failure),
                         STATUS_OUT_OF_MEMORY);
        memory_fail_after(-1);
        assert_null(set.pixels);
    }
    for (long k = 0; k < 2; k++) {
        labelled_images set = numbered(50);
        memory_fail_after(k);
        assert_int_equal(labelled_images_keep(&set, 1, 0.5, 1, &failure), STATUS_OUT_OF_MEMORY);
        memory_fail_after(-1);
        assert_int_equal(set.count, 50);
        labelled_images_close(&set);
    }
}

static void a_share_of_each_class_is_split_off(void **state) {
    (void)state;
    enum { N = 503 };
    static const int COUNTS[4] = {400, 100, 2, 1}; /* 10 %: 40, 10, 1 and none */
    static const int MOVED[4] = {40, 10, 1, 0};
    int64_t first[2][51];
    for (int again = 0; again < 3; again++) { /* the same, then another seed */
        labelled_images set, part;
        uint8_t seen[N] = {0};
        const labelled_images_shape shape = {N, 2, 1, 1, 4};
        assert_int_equal(labelled_images_open(&set, &shape, NULL), STATUS_OK);
        for (int i = 0; i < N; i++) {
            set.labels[i] = i < 400 ? 0 : i < 500 ? 1 : i < 502 ? 2 : 3;
            set.pixels[2 * i] = set.pixels[2 * i + 1] = (uint8_t)(i % 251);
        }
        assert_int_equal(labelled_images_split_off(&set, &(share_off){0.1, again == 2 ? 8 : 7}, &part, NULL, NULL),
                         STATUS_OK);
        assert_int_equal(part.count, 51);
        for (int k = 0; k < 4; k++) {
            assert_int_equal(labelled_images_count_class(&part, k), MOVED[k]);
            assert_int_equal(labelled_images_count_class(&set, k), COUNTS[k] - MOVED[k]);
        }
        for (int which = 0; which < 2; which++) {
            const labelled_images *one = which ? &part : &set;
            for (int64_t i = 0; i < one->count; i++) {
                assert_int_equal(seen[one->origins[i]]++, 0);
                assert_int_equal(labelled_images_at(one, i)[1], one->origins[i] % 251);
            }
        }
        for (int i = 0; i < N; i++) assert_int_equal(seen[i], 1);
        if (again == 0) memcpy(first[0], part.origins, sizeof first[0]);
        memcpy(first[1], part.origins, sizeof first[1]);
        assert_int_equal(memcmp(first[0], first[1], sizeof first[0]) == 0, again < 2);
        labelled_images_close(&set);
        labelled_images_close(&part);
    }
}

enum { KNOWN = 30, KNOWN_CLASSES = 2 };

/* Rows of a table about which everything is known that can be: each says its number in all of it. */
static labelled_images all_known(void) {
    const labelled_images_shape shape = {KNOWN, 1, 1, 2, KNOWN_CLASSES};
    labelled_images set;
    char words[KNOWN][16], *names[KNOWN], *classes[] = {"even", "odd"};
    const char *thirds[KNOWN], *rare[KNOWN];
    assert_int_equal(labelled_images_open(&set, &shape, NULL), STATUS_OK);
    memory_close(set.pixels);
    set.pixels = NULL;
    set.values = memory_open(2 * KNOWN * sizeof *set.values);
    set.sums = memory_open(KNOWN * sizeof *set.sums);
    for (int i = 0; i < KNOWN; i++) {
        snprintf(words[i], sizeof words[i], "row %d", i);
        names[i] = words[i];
        thirds[i] = (const char *[]){"a", "b", "c"}[i % 3];
        rare[i] = i == 7 ? "seven" : "";
        set.labels[i] = (uint8_t)(i % 2);
        set.values[2 * i] = (float)i;
        set.values[2 * i + 1] = (float)-i;
        set.sums[i] = (pixel_sums){.crc = (uint64_t)i};
    }
    set.names = words_copy(names, KNOWN);
    set.class_names = words_copy(classes, KNOWN_CLASSES);
    set.folder = malloc(8);
    strcpy(set.folder, "folder");
    set.columns = calloc(2, sizeof *set.columns);
    set.column_count = 2;
    assert_int_equal(example_column_open(&set.columns[0], "third", thirds, KNOWN, NULL), STATUS_OK);
    assert_int_equal(example_column_open(&set.columns[1], "rare", rare, KNOWN, NULL), STATUS_OK);
    return set;
}

static void check_known(const labelled_images *set) {
    assert_string_equal(set->folder, "folder");
    assert_string_equal(set->class_names[1], "odd");
    assert_null(set->pixels);
    const example_column *third = labelled_images_column(set, "third"), *rare = labelled_images_column(set, "rare");
    for (int64_t k = 0; k < set->count; k++) {
        const int i = (int)set->origins[k];
        char name[16];
        snprintf(name, sizeof name, "row %d", i);
        assert_string_equal(set->names[k], name);
        assert_int_equal(set->labels[k], i % 2);
        assert_true(set->values[2 * k] == (float)i && set->values[2 * k + 1] == (float)-i);
        assert_int_equal(set->sums[k].crc, i);
        assert_string_equal(third->values[third->of[k]], ((const char *[]){"a", "b", "c"})[i % 3]);
        assert_int_equal(rare->of[k], i == 7 ? 0 : -1);
    }
}

static void all_that_is_known_goes_with_the_examples(void **state) {
    (void)state;
    labelled_images set = all_known(), part;
    assert_int_equal(labelled_images_split_off(&set, &(share_off){0.2, 3}, &part, NULL, NULL), STATUS_OK);
    assert_int_equal(part.count, 6);
    assert_int_equal(set.count, 24);
    check_known(&set);
    check_known(&part);
    labelled_images_close(&part);
    labelled_images_close(&set);
}

static void without_memory_nothing_is_split_off(void **state) {
    (void)state;
    labelled_images set = all_known(), part;
    failure failure = {0};
    status_code status = STATUS_OUT_OF_MEMORY;
    int failures = 0;
    for (; status == STATUS_OUT_OF_MEMORY; failures++) {
        memory_fail_after(failures);
        status = labelled_images_split_off(&set, &(share_off){0.2, 3}, &part, NULL, &failure);
        memory_fail_after(-1);
        if (status == STATUS_OK) break;
        assert_int_equal(set.count, KNOWN);
        assert_int_equal(part.count, 0);
        check_known(&set);
    }
    assert_int_equal(status, STATUS_OK);
    assert_true(failures >= 4); /* labels, origins, values and sums */
    labelled_images_close(&part);
    labelled_images_close(&set);
}

enum { VISITS = 4, PATIENTS = 20 };

/* A set of 80 images of 20 patients, who are ill or well; the first has no name, so that each of
   its images is on its own. */
static labelled_images of_patients(const char *const *patients) {
    labelled_images set;
    const labelled_images_shape shape = {VISITS * PATIENTS, 1, 1, 1, 2};
    assert_int_equal(labelled_images_open(&set, &shape, NULL), STATUS_OK);
    for (int i = 0; i < VISITS * PATIENTS; i++) set.labels[i] = (uint8_t)(i / VISITS % 2), set.pixels[i] = 0;
    set.columns = calloc(1, sizeof *set.columns);
    set.column_count = 1;
    assert_int_equal(example_column_open(&set.columns[0], "patient", patients, VISITS * PATIENTS, NULL), STATUS_OK);
    return set;
}

static void patients_are_validated_on_as_a_whole(void **state) {
    (void)state;
    char words[PATIENTS][8];
    const char *names[VISITS * PATIENTS];
    words[0][0] = 0;
    for (int k = 1; k < PATIENTS; k++) snprintf(words[k], sizeof words[k], "p%d", k);
    for (int i = 0; i < VISITS * PATIENTS; i++) names[i] = words[i / VISITS];
    for (int k = 0; k < 2; k++) { /* 3 % are one image, and the smallest patient is more than that */
        labelled_images set = of_patients(names), part;
        assert_int_equal(labelled_images_split_off(&set, &(share_off){k ? 0.03 : 0.3, 5}, &part, NULL, NULL),
                         STATUS_OK);
        assert_int_equal(labelled_images_count_class(&part, 1), k ? VISITS : 3 * VISITS);
        assert_true(labelled_images_count_class(&part, 0) >= (k ? 1 : 2 * VISITS));
        assert_int_equal(set.count + part.count, VISITS * PATIENTS);
        for (int64_t i = 0; i < set.count; i++)
            for (int64_t j = 0; j < part.count; j++)
                assert_true(set.columns[0].of[i] < 0 || set.columns[0].of[i] != part.columns[0].of[j]);
        labelled_images_close(&set);
        labelled_images_close(&part);
    }
}

static void note(void *context, const char *message) { snprintf(context, 256, "%s", message); }

static void one_patient_is_not_torn_apart(void **state) {
    (void)state;
    const char *names[VISITS * PATIENTS];
    char told[256] = "";
    const listener listener = {.context = told, .notice = note};
    failure failure = {0};
    labelled_images part;
    for (int i = 0; i < VISITS * PATIENTS; i++) names[i] = i / VISITS % 2 ? "well" : "ill";
    labelled_images set = of_patients(names);
    assert_int_equal(labelled_images_split_off(&set, &(share_off){0.3, 1}, &part, &listener, &failure),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "no class has two patients"));
    assert_int_equal(set.count, VISITS * PATIENTS);
    labelled_images_close(&set);
    for (int i = VISITS; i < 2 * VISITS; i++) names[i] = "also well";
    set = of_patients(names);
    assert_int_equal(labelled_images_split_off(&set, &(share_off){0.3, 1}, &part, &listener, &failure), STATUS_OK);
    assert_int_equal(labelled_images_count_class(&part, 0), 0);
    assert_int_equal(labelled_images_count_class(&part, 1), VISITS);
    assert_string_equal(told, "the class '0' has too few patients for some to be validated on");
    labelled_images_close(&set);
    labelled_images_close(&part);
    /* A patient who was ill and became well is counted among the ill, and would take all that is well along. */
    for (int i = 0; i < VISITS * PATIENTS; i++) names[i] = i < 2 * VISITS ? "cured" : "ill";
    set = of_patients(names);
    for (int i = 2 * VISITS; i < VISITS * PATIENTS; i++) set.labels[i] = 0;
    assert_int_equal(labelled_images_split_off(&set, &(share_off){0.3, 1}, &part, &listener, &failure),
                     STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "all examples of a class"));
    labelled_images_close(&set);
}

static void a_share_that_cannot_be_is_refused(void **state) {
    (void)state;
    labelled_images set, part;
    const labelled_images_shape shape = {2, 1, 1, 1, 2};
    assert_int_equal(labelled_images_open(&set, &shape, NULL), STATUS_OK);
    set.labels[0] = 0, set.labels[1] = 1, set.pixels[0] = set.pixels[1] = 0;
    assert_int_equal(labelled_images_split_off(&set, &(share_off){0.5, 1}, &part, NULL, NULL), STATUS_BAD_INPUT);
    assert_int_equal(labelled_images_split_off(&set, &(share_off){1, 1}, &part, NULL, NULL), STATUS_BAD_INPUT);
    assert_int_equal(set.count, 2);
    assert_null(part.labels);
    labelled_images_close(&set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeping_leaves_the_floor_of_the_fraction_and_all_other_classes),
        cmocka_unit_test(a_fraction_means_what_it_says_in_decimals),
        cmocka_unit_test(the_seed_decides_what_is_kept),
        cmocka_unit_test(a_smaller_fraction_keeps_a_subset_of_a_larger_one),
        cmocka_unit_test(every_example_of_the_class_is_equally_likely_to_stay),
        cmocka_unit_test(nonsense_is_refused_and_changes_nothing),
        cmocka_unit_test(the_fingerprint_notices_every_kind_of_change),
        cmocka_unit_test(running_out_of_memory_is_reported_and_leaks_nothing),
        cmocka_unit_test(a_share_of_each_class_is_split_off),
        cmocka_unit_test(all_that_is_known_goes_with_the_examples),
        cmocka_unit_test(without_memory_nothing_is_split_off),
        cmocka_unit_test(patients_are_validated_on_as_a_whole),
        cmocka_unit_test(one_patient_is_not_torn_apart),
        cmocka_unit_test(a_share_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
