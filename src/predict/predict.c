#include "predict/predict.h"

#include "ranks/ranks.h"
#include "run/config.h"
#include "run/run_folder.h"

/* Whether the folder is the `name` of a dataset. */
static int is_of_dataset(const char *folder, const char *name) {
    char description[PATH_SIZE], own[PATH_SIZE];
    return path_format(description, NULL, "%s/../dataset.json", folder) == STATUS_OK && path_exists(description) &&
           path_format(own, NULL, "%s/../%s", folder, name) == STATUS_OK && path_same(own, folder);
}

status_code predict_check_apart(const char *images, const char *output, failure *failure) {
    static const char *const OTHERS[] = {"imagesTr", "labelsTr", "imagesTs", "labelsTs"};
    if (path_same(images, output))
        return fail(failure, STATUS_BAD_INPUT, "%.500s holds the images: name another folder for the labels", output);
    for (size_t k = 0; k < sizeof OTHERS / sizeof *OTHERS; k++)
        if (is_of_dataset(output, OTHERS[k]))
            return fail(failure, STATUS_BAD_INPUT, "%.500s is the %s of a dataset: name another folder for the labels",
                        output, OTHERS[k]);
    return STATUS_OK;
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
    const ranks *r = ranks_here();
    status_code status = ranks_agree(r, are_volumes(request->runs[0], &outcome->volumes, failure), failure);
    if (status == STATUS_OK) status = ranks_check_same(r, (uint64_t)outcome->volumes, request->runs[0], failure);
    if (status != STATUS_OK) return status;
    if (outcome->volumes && request->threshold)
        return fail(failure, STATUS_BAD_INPUT, "--threshold is for runs that classify; this one segments volumes");
    if (outcome->volumes) return predict_volumes(request, listener, outcome, failure);
    /* Images are quick: the first rank does them. */
    return ranks_agree(r, ranks_is_first(r) ? predict_images(request, listener, &outcome->done, failure) : STATUS_OK,
                       failure);
}
