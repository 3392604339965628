#include "evaluate/evaluate_run.h"

#include "core/parallel.h"
#include "ranks/ranks.h"
#include "run/config.h"

#include <stdlib.h>

status_code evaluate_run(run_evaluation *result, const evaluate_run_request *request, const listener *listener,
                         failure *failure) {
    *result = (run_evaluation){0};
    task_kind task = TASK_UNKNOWN;
    const ranks *r = ranks_here();
    status_code status = ranks_agree(r, run_config_task(request->run, &task, failure), failure);
    if (status == STATUS_OK) status = ranks_check_same(r, (uint64_t)task, request->run, failure);
    if (status != STATUS_OK) return status;
    result->is_segmentation = task == TASK_SEGMENTATION;
    evaluate_run_request own = *request;
    if (!own.threads) own.threads = parallel_processors();
    if (!result->is_segmentation && own.other_count)
        return fail(
            failure, STATUS_BAD_INPUT,
            "runs that classify are evaluated one by one; only the folds of a segmentation are scored together");
    if (!result->is_segmentation) /* images are quick: the first rank does them */
        return ranks_agree(
            r, ranks_is_first(r) ? evaluate_classification(&result->classes, &own, listener, failure) : STATUS_OK,
            failure);
    if (own.data || own.part != SCORE_TEST || own.at || own.positive)
        return fail(
            failure, STATUS_BAD_INPUT,
            "--data, --part, --at and --positive are for runs that classify; see hws evaluate --help for folders");
    return evaluate_segmentation(&result->cases, &own, listener, failure);
}

void run_evaluation_close(run_evaluation *result) {
    class_results *c = &result->classes;
    evaluation_close(&result->cases);
    words_free(c->class_names, (size_t)c->classes);
    for (size_t k = 0; k < c->stratum_count; k++) {
        free(c->strata[k].column);
        free(c->strata[k].value);
    }
    free(c->strata);
    free(c->confusion);
    class_patients_close(&c->patients);
    *result = (run_evaluation){0};
}
