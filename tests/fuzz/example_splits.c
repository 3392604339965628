/* Folds of six cases. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "dataset/splits.h"
#include "fuzz_folder.h"
#include "testing.h"

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    static const char *const NAMES[] = {"a", "b", "c", "d", "e", "f"};
    static const char *const STRATA[] = {"x", "y", "x", "y", "x", "x"};
    const splits_request request = {
        .cases = 6, .folds = 2 + (int)(test_random(random) % 5), .strata = test_random(random) % 2 ? STRATA : NULL};
    splits folds;
    require(splits_make(&folds, &request, NULL) == STATUS_OK);
    require(splits_write(&folds, fuzz_path("splits_final.json"), NAMES, NULL) == STATUS_OK);
    splits_close(&folds);
    return *front = fuzz_get("splits_final.json", bytes);
}
