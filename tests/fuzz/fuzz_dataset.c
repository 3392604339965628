/* Bytes as a dataset.json, in a folder with two cases and a test case. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "dataset/dataset.h"
#include "fuzz_folder.h"

#include <sys/stat.h>

static void make_cases(void) {
    static const char *const PARTS[] = {"imagesTr", "labelsTr", "imagesTs"};
    static const char *const FILES[] = {"imagesTr/a_0000.nii.gz", "imagesTr/b_0000.nii.gz", "labelsTr/a.nii.gz",
                                        "labelsTr/b.nii.gz", "imagesTs/t_0000.nii.gz"};
    if (access(fuzz_path(FILES[0]), F_OK) == 0) return;
    for (int k = 0; k < 3; k++) require(mkdir(fuzz_path(PARTS[k]), 0700) == 0);
    for (int k = 0; k < 5; k++) fuzz_put(FILES[k], "", 0);
}

static int is_value(const dataset *set, int value) {
    for (int c = 0; c < set->values; c++)
        if (set->value[c] == value) return 1;
    return 0;
}

static void check_labels(const dataset *set) {
    require(set->values >= 2 && set->label_count >= 2 && set->value[0] == 0);
    for (int c = 1; c < set->values; c++) require(set->value[c] > set->value[c - 1]);
    require(set->value[set->values - 1] <= DATASET_MAX_LABELS);
    require(set->ignore == -1 || (set->ignore > set->value[set->values - 1] && set->ignore <= DATASET_MAX_LABELS));
    for (int k = 0; k < set->label_count; k++) {
        require(set->labels[k].name && set->labels[k].count >= 1);
        for (int j = 0; j < set->labels[k].count; j++) require(is_value(set, set->labels[k].values[j]));
    }
    for (int k = 0; k < set->order_count; k++) require(is_value(set, set->class_order[k]));
}

static void check_cases(const dataset *set, const dataset_case *cases, size_t count) {
    for (size_t k = 0; k < count; k++) {
        require(cases[k].id[0] && cases[k].id[0] != '.' && !strchr(cases[k].id, '/'));
        require(cases[k].files == 1 || cases[k].files == set->channels);
        for (int file = 0; file < cases[k].files; file++) require(cases[k].images[file]);
        if (k > 0) require(strcmp(cases[k - 1].id, cases[k].id) < 0);
    }
}

static void check(const dataset *set) {
    require(set->folder && set->name && set->file_ending && set->channels >= 1 && set->train_count >= 1);
    for (int k = 0; k < set->channels; k++) require(set->channel_names[k]);
    check_labels(set);
    check_cases(set, set->train, set->train_count);
    check_cases(set, set->test, set->test_count);
    for (size_t k = 0; k < set->train_count; k++) require(set->ids[k] == set->train[k].id && set->train[k].labels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    make_cases();
    fuzz_put("dataset.json", data, size);
    dataset set;
    failure failure = {0};
    const status_code status = dataset_open(&set, fuzz_folder(), &failure);
    if (status == STATUS_OK) check(&set);
    require(status == STATUS_OK || (failure.message[0] && !set.folder));
    dataset_close(&set);
    return 0;
}
