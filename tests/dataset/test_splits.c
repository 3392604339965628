#include "dataset/folds.h"

#include "dataset/numpy_shuffle.h"
#include "testing.h"

#include <unistd.h>

/* ---- numpy ------------------------------------------------------------------------------------------------------- */

static size_t *shuffled(uint32_t seed, size_t count) {
    size_t *numbers = malloc(count * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t k = 0; k < count; k++) numbers[k] = k;
    numpy_shuffle(seed, numbers, count);
    return numbers;
}

/* FNV-1a over whole numbers; numpy's results went through the same. */
static uint64_t hash_of(const size_t *numbers, size_t count) {
    uint64_t hash = UINT64_C(1469598103934665603);
    for (size_t k = 0; k < count; k++) hash = (hash ^ numbers[k]) * UINT64_C(1099511628211);
    return hash;
}

static void shuffles_are_numpys(void **state) {
    (void)state;
    static const size_t ten[] = {0, 7, 3, 9, 6, 4, 1, 8, 5, 2};
    static const struct {
        size_t count;
        uint64_t hash;
    } numpy[] = {{1, UINT64_C(0x44bd2bd473ccf799)},     {2, UINT64_C(0x9a65ad00c545d5d2)},
                 {5, UINT64_C(0xda56d8e60fbb6faf)},     {7, UINT64_C(0x997ae1bff5b1c550)},
                 {33, UINT64_C(0x62263f4a6dc7af81)},    {199, UINT64_C(0x3d153f1e55de0340)},
                 {256, UINT64_C(0xb52ae8670cbe8603)},   {257, UINT64_C(0xe06d999e6bf5c43d)},
                 {65536, UINT64_C(0x23e8cd1516b74e7d)}, {100000, UINT64_C(0xb129ff1952fd1391)}};
    size_t *numbers = shuffled(12345, 10);
    assert_memory_equal(numbers, ten, sizeof ten);
    free(numbers);
    for (size_t k = 0; k < sizeof numpy / sizeof *numpy; k++) {
        numbers = shuffled(12345, numpy[k].count);
        assert_true(hash_of(numbers, numpy[k].count) == numpy[k].hash);
        free(numbers);
    }
}

/* ---- folds ------------------------------------------------------------------------------------------------------- */

static void assert_partition(const splits *splits, size_t cases) {
    int *seen = calloc(cases, sizeof *seen);
    for (int fold = 0; fold < splits->count; fold++) {
        const split *one = &splits->folds[fold];
        assert_int_equal(one->train_count + one->val_count, cases);
        for (size_t k = 0; k < one->val_count; k++) seen[one->val[k]]++;
        for (size_t k = 1; k < one->val_count; k++) assert_true(one->val[k] > one->val[k - 1]);
        for (size_t k = 1; k < one->train_count; k++) assert_true(one->train[k] > one->train[k - 1]);
        for (size_t k = 0, j = 0; k < one->train_count; k++) {
            while (j < one->val_count && one->val[j] < one->train[k]) j++;
            assert_true(j == one->val_count || one->val[j] != one->train[k]);
        }
    }
    for (size_t i = 0; i < cases; i++) assert_int_equal(seen[i], 1);
    free(seen);
}

static void folds_of_ten_cases_are_nnunets(void **state) {
    (void)state;
    static const size_t val[5][2] = {{0, 7}, {3, 9}, {4, 6}, {1, 8}, {2, 5}};
    splits splits;
    assert_int_equal(splits_make(&splits, &(splits_request){.cases = 10, .folds = SPLITS_FOLDS}, NULL), STATUS_OK);
    for (int fold = 0; fold < 5; fold++) {
        assert_int_equal(splits.folds[fold].val_count, 2);
        assert_memory_equal(splits.folds[fold].val, val[fold], sizeof val[fold]);
    }
    splits_close(&splits);
}

static void every_case_is_validated_once(void **state) {
    (void)state;
    for (size_t cases = 5; cases < 40; cases++) {
        splits splits;
        assert_int_equal(splits_make(&splits, &(splits_request){.cases = cases, .folds = SPLITS_FOLDS}, NULL),
                         STATUS_OK);
        assert_partition(&splits, cases);
        for (size_t fold = 0; fold < 5; fold++)
            assert_int_equal(splits.folds[fold].val_count, cases / 5 + (fold < cases % 5));
        splits_close(&splits);
    }
}

static void strata_are_shared_out_evenly(void **state) {
    (void)state;
    enum { CASES = 63 };
    static const char *const names[3] = {"control", "spina bifida", "other"};
    const char *strata[CASES];
    for (int k = 0; k < CASES; k++) strata[k] = names[k % 9 == 4 ? 1 : k % 13 == 7 ? 2 : 0];
    splits splits;
    assert_int_equal(
        splits_make(&splits, &(splits_request){.cases = CASES, .folds = SPLITS_FOLDS, .strata = strata}, NULL),
        STATUS_OK);
    assert_partition(&splits, CASES);
    for (int name = 0; name < 3; name++) {
        int least = CASES, most = 0;
        for (int fold = 0; fold < 5; fold++) {
            int count = 0;
            for (size_t k = 0; k < splits.folds[fold].val_count; k++)
                count += strcmp(strata[splits.folds[fold].val[k]], names[name]) == 0;
            least = count < least ? count : least;
            most = count > most ? count : most;
        }
        assert_true(most - least <= 1);
    }
    for (int fold = 0; fold < 5; fold++) assert_in_range(splits.folds[fold].val_count, 12, 13);
    splits_close(&splits);
}

/* How many of the cases that fold `fold` validates on have the value. */
static int count_in(const splits *splits, int fold, const char *const *values, const char *value) {
    int count = 0;
    for (size_t k = 0; k < splits->folds[fold].val_count; k++)
        count += strcmp(values[splits->folds[fold].val[k]], value) == 0;
    return count;
}

/* As in ACDC: 70 patients with two cases each, 14 of each diagnosis. */
static void what_belongs_together_stays_together(void **state) {
    (void)state;
    enum { CASES = 140 };
    static const char *const diagnoses[5] = {"DCM", "HCM", "MINF", "NOR", "RV"};
    char names[CASES / 2][16];
    const char *strata[CASES], *patients[CASES];
    for (int k = 0; k < CASES; k++) {
        const int patient = (k * 37 % CASES) / 2; /* the two cases of a patient are no neighbours */
        snprintf(names[patient], sizeof names[patient], "patient%03d", patient);
        patients[k] = names[patient];
        strata[k] = diagnoses[patient % 5];
    }
    for (int stratified = 0; stratified < 2; stratified++) {
        splits splits;
        const splits_request request = {CASES, SPLITS_FOLDS, stratified ? strata : NULL, patients};
        assert_int_equal(splits_make(&splits, &request, NULL), STATUS_OK);
        assert_partition(&splits, CASES);
        for (int fold = 0; fold < SPLITS_FOLDS; fold++) {
            assert_int_equal(splits.folds[fold].val_count, CASES / SPLITS_FOLDS);
            for (size_t k = 0; k < splits.folds[fold].val_count; k++)
                assert_int_equal(count_in(&splits, fold, patients, patients[splits.folds[fold].val[k]]), 2);
            for (int d = 0; d < 5 && stratified; d++)
                assert_in_range(count_in(&splits, fold, strata, diagnoses[d]), 4, 6);
        }
        splits_close(&splits);
    }
}

/* Blocks of every size, one of them larger than a fold would be. */
static void blocks_of_any_size_fill_the_folds(void **state) {
    (void)state;
    enum { CASES = 60 };
    char names[CASES][8];
    const char *blocks[CASES];
    for (int k = 0; k < CASES; k++) {
        snprintf(names[k], sizeof names[k], "b%d", k < 20 ? 0 : k < 30 ? 1 : k);
        blocks[k] = names[k];
    }
    splits splits;
    assert_int_equal(splits_make(&splits, &(splits_request){CASES, SPLITS_FOLDS, NULL, blocks}, NULL), STATUS_OK);
    assert_partition(&splits, CASES);
    for (int fold = 0; fold < SPLITS_FOLDS; fold++) {
        const int large = count_in(&splits, fold, blocks, "b0");
        assert_true(large == 0 || large == 20);
        assert_int_equal(splits.folds[fold].val_count, large ? 20 : 10);
    }
    splits_close(&splits);
}

static void fewer_blocks_than_folds_are_refused(void **state) {
    (void)state;
    static const char *const blocks[8] = {"a", "b", "c", "d", "a", "b", "c", "d"};
    splits splits;
    failure failure;
    assert_int_equal(splits_make(&splits, &(splits_request){8, 5, NULL, blocks}, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "8 cases that stay together in 4 groups"));
    assert_null(splits.folds);
}

static void too_few_cases_or_folds_are_refused(void **state) {
    (void)state;
    splits splits;
    failure failure;
    assert_int_equal(splits_make(&splits, &(splits_request){.cases = 4, .folds = 5}, &failure), STATUS_BAD_INPUT);
    assert_non_null(strstr(failure.message, "4 cases cannot be split into 5 folds"));
    assert_non_null(strstr(failure.message, "--fold -1"));
    assert_non_null(strstr(failure.message, "splits_final.json"));
    assert_int_equal(splits_make(&splits, &(splits_request){.cases = 4, .folds = 1}, &failure), STATUS_BAD_INPUT);
    assert_null(splits.folds);
}

/* ---- splits_final.json ------------------------------------------------------------------------------------------- */

static const char *const NAMES[] = {"a", "b", "c", "d", "e", "f"};

static const char *scratch(void) {
    static char path[64];
    snprintf(path, sizeof path, "splits_test_%ld.json", (long)getpid());
    return path;
}

static status_code read_text(splits *splits, const char *text, failure *failure) {
    FILE *file = fopen(scratch(), "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    const status_code status = splits_read(splits, scratch(), NAMES, 6, failure);
    remove(scratch());
    return status;
}

static void what_is_written_is_read_back(void **state) {
    (void)state;
    splits made, read;
    assert_int_equal(splits_make(&made, &(splits_request){.cases = 6, .folds = 3}, NULL), STATUS_OK);
    assert_int_equal(splits_write(&made, scratch(), NAMES, NULL), STATUS_OK);
    assert_int_equal(splits_read(&read, scratch(), NAMES, 6, NULL), STATUS_OK);
    assert_int_equal(read.count, 3);
    for (int k = 0; k < 3; k++) {
        assert_int_equal(read.folds[k].train_count, 4);
        assert_memory_equal(read.folds[k].train, made.folds[k].train, 4 * sizeof(size_t));
        assert_memory_equal(read.folds[k].val, made.folds[k].val, 2 * sizeof(size_t));
    }
    remove(scratch());
    splits_close(&made);
    splits_close(&read);
}

static void a_fold_need_not_name_every_case(void **state) {
    (void)state;
    splits splits;
    assert_int_equal(read_text(&splits, "[{\"train\": [\"f\", \"b\"], \"val\": [\"c\"]}]", NULL), STATUS_OK);
    assert_int_equal(splits.count, 1);
    assert_int_equal(splits.folds[0].train[0], 1);
    assert_int_equal(splits.folds[0].train[1], 5);
    assert_int_equal(splits.folds[0].val[0], 2);
    splits_close(&splits);
}

static void wrong_splits_are_refused_by_name(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"[{\"train\": [\"a\"], \"val\": [\"x\"]}]", "fold 0: the dataset has no case 'x'"},
        {"[{\"train\": [\"a\"], \"val\": [\"b\"]}, {\"train\": [\"a\", \"c\"], \"val\": [\"c\"]}]",
         "fold 1: the case 'c' is in train and in val"},
        {"[{\"train\": [\"a\", \"a\"], \"val\": [\"c\"]}]", "the case 'a' is named twice"},
        {"[{\"train\": [\"a\", \"b\"], \"val\": [\"b\", \"x\"]}, {\"train\": [\"y\"], \"val\": [\"c\"]}]",
         "3 problems; correct the file, or delete it to make new splits:\n  fold 0: the case 'b' is in train and in "
         "val\n  fold 0: the dataset has no case 'x'\n  fold 1: the dataset has no case 'y'"},
        {"[{\"train\": [\"a\"], \"val\": []}]", "\"val\" must be a list of case names, at least one"},
        {"[{\"train\": [\"a\"]}]", "\"val\""},
        {"[{\"train\": [1], \"val\": [\"c\"]}]", "\"train\" must be a list of case names"},
        {"[{\"train\": [\"a\"], \"val\": [\"c\"], \"val\": [\"d\"]}]", "duplicate"},
        {"[]", "must be a list of 1 to"},
        {"{}", "must be a list of 1 to"},
        {"[1]", "\"train\""},
        {"", "line 1: this is not JSON"},
        {"[\n{\"train\": [\"a\"], \"val\": [\"c\"]}\n] x", "line 3: this is not JSON"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        splits splits;
        failure failure;
        assert_int_equal(read_text(&splits, wrong[k][0], &failure), STATUS_CORRUPT);
        if (!strstr(failure.message, wrong[k][1])) fail_msg("'%s' lacks '%s'", failure.message, wrong[k][1]);
        assert_non_null(strstr(failure.message, scratch()));
        assert_null(splits.folds);
    }
}

/* ---- namesakes in both parts ------------------------------------------------------------------------------------- */

static char told[1024];

static void hear(void *context, const char *message) {
    (void)context;
    snprintf(told, sizeof told, "%s", message);
}

/* The first `validated` of `count` cases against the others. */
static void tell(const char *const *ids, size_t count, size_t validated) {
    const listener listener = {.notice = hear};
    size_t cases[16];
    for (size_t k = 0; k < count; k++) cases[k] = k;
    split fold = {.val = cases, .val_count = validated, .train = cases + validated, .train_count = count - validated};
    char nowhere[] = "nowhere";
    const dataset set = {.folder = nowhere, .ids = (const char **)(uintptr_t)ids, .train_count = count};
    told[0] = 0;
    folds_tell_torn(&(splits){1, &fold}, &set, 0, &(fold_columns){"", ""}, "", &listener);
}

static void a_patient_in_both_parts_is_told(void **state) {
    (void)state;
    static const char *const PAIRS[] = {"p1_ED", "p2_ES", "p3_ED", "p3_ES", "p1_ES", "p2_ED", "p4_ED", "p4_ES"};
    static const char *const VISITS[] = {"s-a-1", "s-b-1", "s-a-2", "s-b-2", "s-c-1", "s-c-2"};
    static const char *const ALL_ALIKE[] = {"hippocampus_1", "hippocampus_2", "hippocampus_3",
                                            "hippocampus_4", "hippocampus_5", "hippocampus_6"};
    static const char *const PLAIN[] = {"anna", "berta", "clara", "dora"};
    static const char *const CHANCE[] = {"a_1", "b_1", "c_1", "d_1", "e_1", "a_2", "f_1", "g_1"};
    tell(PAIRS, 8, 4);
    assert_non_null(strstr(told, "p1_ES is trained on and p1_ED validated on, and 2 of 4 validation cases"));
    assert_non_null(strstr(told, "--keep-together"));
    tell(VISITS, 6, 2);
    assert_non_null(strstr(told, "s-a-2 is trained on and s-a-1 validated on"));
    tell(PAIRS + 2, 2, 1);
    assert_non_null(strstr(told, "p3_ES is trained on"));
    tell(ALL_ALIKE, 6, 2);
    assert_string_equal(told, "");
    tell(PLAIN, 4, 2);
    assert_string_equal(told, "");
    tell(CHANCE, 8, 5); /* one of five */
    assert_string_equal(told, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles_are_numpys),
        cmocka_unit_test(folds_of_ten_cases_are_nnunets),
        cmocka_unit_test(every_case_is_validated_once),
        cmocka_unit_test(strata_are_shared_out_evenly),
        cmocka_unit_test(what_belongs_together_stays_together),
        cmocka_unit_test(blocks_of_any_size_fill_the_folds),
        cmocka_unit_test(fewer_blocks_than_folds_are_refused),
        cmocka_unit_test(too_few_cases_or_folds_are_refused),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(a_fold_need_not_name_every_case),
        cmocka_unit_test(wrong_splits_are_refused_by_name),
        cmocka_unit_test(a_patient_in_both_parts_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
