#include "evaluate/evaluation_kind.h"

#include "evaluate/classified.h"
#include "evaluate/evaluated.h"
#include "run/config.h"
#include "run/run_folder.h"

/* 1: a classifier's, 0: a segmentation's, -1: nobody knows. */
static int is_classified(const char *path) {
    task_kind task;
    if (run_exists(path) && run_config_task(path, &task, NULL) == STATUS_OK) return task != TASK_SEGMENTATION;
    if (classified_is_there(path)) return 1;
    return evaluated_is_there(path) ? 0 : -1;
}

status_code evaluation_kind(const char *const *paths, size_t count, int *are_classified, failure *failure) {
    const char *classifier = NULL, *segmentation = NULL;
    for (size_t k = 0; k < count; k++) {
        const int kind = is_classified(paths[k]);
        if (kind == 1 && !classifier) classifier = paths[k];
        if (kind == 0 && !segmentation) segmentation = paths[k];
    }
    *are_classified = classifier != NULL;
    if (!classifier || !segmentation) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.300s is a classifier and %.300s a segmentation: they cannot be compared",
                classifier, segmentation);
}
