/* Bytes as a splits_final.json or a fold.json: what is accepted is the same after it was written and read again. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "dataset/splits.h"
#include "fuzz_folder.h"

enum { CASES = 6 };
static const char *const NAMES[CASES] = {"a", "b", "c", "d", "e", "f"};

static void check_fold(const split *fold) {
    int places[CASES] = {0};
    require(fold->train_count >= 1 && fold->val_count >= 1);
    for (size_t k = 0; k < fold->train_count; k++) require(fold->train[k] < CASES && !places[fold->train[k]]++);
    for (size_t k = 0; k < fold->val_count; k++) require(fold->val[k] < CASES && !places[fold->val[k]]++);
}

static void check_again(const splits *folds) {
    splits again;
    require(splits_write(folds, fuzz_path("again.json"), NAMES, NULL) == STATUS_OK);
    require(splits_read(&again, fuzz_path("again.json"), NAMES, CASES, NULL) == STATUS_OK);
    require(again.count == folds->count);
    for (int k = 0; k < folds->count; k++) {
        const split *a = &folds->folds[k], *b = &again.folds[k];
        require(a->train_count == b->train_count && a->val_count == b->val_count);
        require(memcmp(a->train, b->train, a->train_count * sizeof *a->train) == 0);
        require(memcmp(a->val, b->val, a->val_count * sizeof *a->val) == 0);
    }
    splits_close(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    splits folds;
    failure failure = {0};
    fuzz_put("splits.json", data, size);
    const status_code status = splits_read(&folds, fuzz_path("splits.json"), NAMES, CASES, &failure);
    require(status == STATUS_OK || (failure.message[0] && !folds.count));
    for (int k = 0; k < folds.count; k++) check_fold(&folds.folds[k]);
    if (status == STATUS_OK) check_again(&folds);
    splits_close(&folds);
    return 0;
}
