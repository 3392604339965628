#include "evaluate/own_results.h"

#include "core/replaceable.h"
#include "run/run_folder.h"

#include <string.h>

/*
 * How our files begin. Tables for people begin in many ways, and a confusion matrix as other tables do: of these
 * `witness`, which is written before them, tells whose they are.
 */
typedef struct result_file {
    results_kind kind;
    run_file file;
    const char *beginnings[2];
    run_file witness; /* counts where there are no beginnings */
} result_file;

static const result_file FILES[] = {
    {RESULTS_OF_CLASSES, RUN_EXAMPLES, {"example,label,prediction,loss,"}, 0},
    {RESULTS_OF_CLASSES, RUN_CLASSES, {"class,images,accuracy,loss"}, 0},
    {RESULTS_OF_CLASSES, RUN_STRATA, {"column,value,examples,accuracy,"}, 0},
    {RESULTS_OF_CLASSES, RUN_CONFUSION, {NULL}, RUN_STRATA},
    {RESULTS_OF_CLASSES, RUN_RELIABILITY, {"confidence_from,confidence_to,"}, 0},
    {RESULTS_OF_CLASSES, RUN_PATIENTS, {"patient,examples,label,prediction,"}, 0},
    {RESULTS_OF_CLASSES, RUN_ROC, {"class,threshold,sensitivity,"}, 0},
    {RESULTS_OF_CLASSES, RUN_OPERATING, {"class,threshold,goal,"}, 0},
    {RESULTS_OF_CLASSES, RUN_WORST, {"kind,column,value,example,", "rank,example,dice,"}, 0},
    {RESULTS_OF_CASES, RUN_SUMMARY, {"{\n    \"empty\": \""}, 0},
    {RESULTS_OF_CASES, RUN_CASES, {"case,label,key,"}, 0},
    {RESULTS_OF_CASES, RUN_TABLE_CSV, {"metric,column,group,label,key,cases,"}, 0},
    {RESULTS_OF_CASES, RUN_TABLE_TEXT, {NULL}, RUN_TABLE_CSV},
    {RESULTS_OF_CASES, RUN_TABLE_MARKDOWN, {NULL}, RUN_TABLE_CSV},
    {RESULTS_OF_CASES, RUN_TABLE_LATEX, {NULL}, RUN_TABLE_CSV},
    {RESULTS_OF_CASES, RUN_WORST, {"rank,example,dice,", "kind,column,value,example,"}, 0},
    {RESULTS_OF_POSTPROCESSING, RUN_POSTPROCESSING, {"{\n    \"hws_postprocessing\": "}, 0},
    {RESULTS_OF_COMPARISON,
     RUN_COMPARISON_CSV,
     {"metric,column,group,label,key,method,", "column,value,examples,method,"},
     0},
    {RESULTS_OF_COMPARISON, RUN_COMPARISON_TEXT, {NULL}, RUN_COMPARISON_CSV},
    {RESULTS_OF_COMPARISON, RUN_COMPARISON_MARKDOWN, {NULL}, RUN_COMPARISON_CSV},
    {RESULTS_OF_COMPARISON, RUN_COMPARISON_LATEX, {NULL}, RUN_COMPARISON_CSV},
    {RESULTS_OF_COMPARISON, RUN_COMPARISON_JSON, {NULL}, RUN_COMPARISON_CSV}};

enum { FILE_COUNT = sizeof FILES / sizeof *FILES };

static int begins_as(const result_file *one, const char *beginning) {
    for (int k = 0; k < 2 && one->beginnings[k]; k++)
        if (strncmp(beginning, one->beginnings[k], strlen(one->beginnings[k])) == 0) return 1;
    return 0;
}

typedef struct asked {
    const char *folder;
    const result_file *one;
} asked;

static int is_ours(const char *beginning, const void *context) {
    const asked *a = context;
    char path[PATH_SIZE], other[BEGINNING_SIZE];
    if (a->one->beginnings[0]) return begins_as(a->one, beginning);
    for (int k = 0; k < FILE_COUNT; k++)
        if (FILES[k].kind == a->one->kind && FILES[k].file == a->one->witness)
            return run_path(path, a->folder, a->one->witness, NULL) == STATUS_OK && file_beginning(path, other) &&
                   begins_as(&FILES[k], other);
    return 0;
}

status_code own_results_check(const char *folder, results_kind kind, failure *failure) {
    char path[PATH_SIZE];
    status_code status = STATUS_OK;
    if (run_exists(folder))
        return STATUS_OK; /* where these names are the run's, also of files that older versions wrote */
    for (int k = 0; k < FILE_COUNT && status == STATUS_OK; k++) {
        if (FILES[k].kind != kind) continue;
        const asked asked = {folder, &FILES[k]};
        status = run_path(path, folder, FILES[k].file, failure);
        if (status == STATUS_OK)
            status = replaceable_check(path, is_ours, &asked,
                                       kind == RESULTS_OF_COMPARISON ? "comparison" : "evaluation", failure);
    }
    return status;
}

status_code own_results_check_cases(const char *folder, int find_postprocessing, failure *failure) {
    const status_code status = own_results_check(folder, RESULTS_OF_CASES, failure);
    return status == STATUS_OK && find_postprocessing ? own_results_check(folder, RESULTS_OF_POSTPROCESSING, failure)
                                                      : status;
}
