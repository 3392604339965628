#include "predict/predict.h"

#include "ranks/ranks.h"
#include "run/config.h"
#include "run/run_folder.h"

status_code predict_check_apart(const char *images, const char *output, failure *failure) {
    if (!path_same(images, output)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.500s holds the images: name another folder for the labels", output);
}

/* A folder with a plan and without a config.json is an exported model. */
static status_code are_volumes(const char *run, int *volumes, failure *failure) {
    *volumes = !run_exists(run) && run_has(run, RUN_PLAN);
    if (*volumes) return STATUS_OK;
    task_kind task;
    const status_code status = run_config_task(run, &task, failure);
    if (status == STATUS_OK) *volumes = task == TASK_SEGMENTATION;
    return status;
}

status_code predict(const predict_request *request, const listener *listener, predict_outcome *outcome,
                    failure *failure) {
    *outcome = (predict_outcome){0};
    const status_code status = are_volumes(request->runs[0], &outcome->volumes, failure);
    if (status != STATUS_OK) return status;
    if (outcome->volumes) return predict_volumes(request, listener, &outcome->done, failure);
    const ranks *r = ranks_here(); /* images are quick: the first rank does them */
    return ranks_agree(r, ranks_is_first(r) ? predict_images(request, listener, &outcome->done, failure) : STATUS_OK,
                       failure);
}
