/* Bytes as a dataset.json, in a folder with two cases and a test case, and as a splits_final.json of the same. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "dataset/dataset.h"
#include "dataset/splits.h"
#include "fuzz_folder.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[FUZZ_FOLDER], json_path[120];
static const char *const PARTS[] = {"imagesTr", "labelsTr", "imagesTs"};
static const char *const FILES[] = {"imagesTr/a_0000.nii.gz", "imagesTr/b_0000.nii.gz", "labelsTr/a.nii.gz",
                                    "labelsTr/b.nii.gz", "imagesTs/t_0000.nii.gz"};

static const char *path_of(const char *name) {
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void remove_folder(void) {
    for (int k = 0; k < 5; k++) unlink(path_of(FILES[k]));
    for (int k = 0; k < 3; k++) rmdir(path_of(PARTS[k]));
    unlink(json_path);
    rmdir(folder);
}

static void put(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    require(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void open_folder(void) {
    if (!fuzz_open_folder(folder, remove_folder)) return;
    snprintf(json_path, sizeof json_path, "%s/dataset.json", folder);
    for (int k = 0; k < 3; k++) require(mkdir(path_of(PARTS[k]), 0700) == 0);
    for (int k = 0; k < 5; k++) put(path_of(FILES[k]), "", 0);
}

static void check_labels(const dataset *set) {
    require(set->values >= 2 && set->label_count >= 2 && (set->ignore == -1 || set->ignore == set->values));
    for (int k = 0; k < set->label_count; k++) {
        require(set->labels[k].name && set->labels[k].count >= 1);
        for (int j = 0; j < set->labels[k].count; j++)
            require(set->labels[k].values[j] >= 0 && set->labels[k].values[j] < set->values);
    }
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

static void try_splits(void) {
    static const char *const names[] = {"a", "b"};
    splits splits;
    failure failure = {0};
    const status_code status = splits_read(&splits, json_path, names, 2, &failure);
    require(status == STATUS_OK || failure.message[0]);
    for (int k = 0; k < splits.count; k++) {
        require(splits.folds[k].train_count == 1 && splits.folds[k].val_count == 1);
        require(splits.folds[k].train[0] != splits.folds[k].val[0]);
    }
    splits_close(&splits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    open_folder();
    put(json_path, data, size);
    dataset set;
    failure failure = {0};
    const status_code status = dataset_open(&set, folder, &failure);
    if (status == STATUS_OK) check(&set);
    require(status == STATUS_OK || (failure.message[0] && !set.folder));
    dataset_close(&set);
    try_splits();
    return 0;
}
