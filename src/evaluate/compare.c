#include "evaluate/compare.h"

#include "core/path.h"
#include "evaluate/summary.h"
#include "run/run_folder.h"

#include <stdio.h>
#include <string.h>

/* "runs/dro/summary.json" is called dro; a file of another name is called by that. */
static void name_after(const char *path, char name[COMPARED_NAME_BYTES]) {
    const char *file = path_name(path), *end = path + strlen(path), *dot = strrchr(file, '.');
    if (file > path && strcmp(file, run_file_name(RUN_SUMMARY)) == 0)
        for (end = file - 1; end > path && end[-1] == '/';) end--;
    else if (dot && dot > file) end = dot;
    const char *start = end;
    while (start > path && start[-1] != '/') start--;
    snprintf(name, COMPARED_NAME_BYTES, "%.*s", (int)(end - start), start);
}

static status_code choose_names(const compare_request *request, char names[2][COMPARED_NAME_BYTES], failure *failure) {
    for (int k = 0; k < 2; k++) name_after(request->paths[k], names[k]);
    if (strcmp(names[0], names[1]) == 0 || !*names[0] || !*names[1]) {
        strcpy(names[0], "A");
        strcpy(names[1], "B");
    }
    if (!request->names) return STATUS_OK;
    const size_t first = strcspn(request->names, ","), length = strlen(request->names);
    if (first == 0 || first >= COMPARED_NAME_BYTES || length < first + 2 || length - first > COMPARED_NAME_BYTES ||
        strchr(request->names + first + 1, ','))
        return fail(failure, STATUS_BAD_INPUT, "--names %.200s is not two names such as ERM,DRO", request->names);
    snprintf(names[0], COMPARED_NAME_BYTES, "%.*s", (int)first, request->names);
    snprintf(names[1], COMPARED_NAME_BYTES, "%s", request->names + first + 1);
    return STATUS_OK;
}

static status_code read_one(const char *path, scores *scores, failure *failure) {
    if (!path_is_folder(path)) return summary_read(path, scores, failure);
    return fail(failure, STATUS_BAD_INPUT, "%.500s is a folder; name a file in it, such as %.400s/%s", path, path,
                run_file_name(RUN_SUMMARY));
}

static status_code read_scores(compared *compared, const compare_request *request, failure *failure) {
    status_code status = read_one(request->paths[0], &compared->scores[0], failure);
    if (status == STATUS_OK) status = read_one(request->paths[1], &compared->scores[1], failure);
    if (status != STATUS_OK) return status;
    return scores_align(&compared->scores[0], &compared->scores[1], request->common, failure);
}

static status_code stratify(compared *compared, const compare_request *request, const listener *listener,
                            failure *failure) {
    text lacking = {0}, notice = {0};
    const case_groups *groups = request->groups ? &compared->groups : NULL;
    status_code status = groups ? case_groups_read(&compared->groups, request->groups, failure) : STATUS_OK;
    if (status == STATUS_OK)
        status = strata_open(&compared->strata, groups, request->by, &compared->scores[0], &lacking, failure);
    text_format(&notice, "these cases are in no row of the groups and count in 'all' only: %.600s",
                text_string(&lacking));
    if (status == STATUS_OK && lacking.size > 0 && !notice.failed) listener_notice(listener, notice.bytes);
    text_close(&lacking);
    text_close(&notice);
    return status;
}

status_code compare_summaries(compared *compared, const compare_request *request, const listener *listener,
                              failure *failure) {
    *compared = (struct compared){0};
    if (request->by && !request->groups) return fail(failure, STATUS_BAD_INPUT, "--by needs --groups");
    status_code status = choose_names(request, compared->names, failure);
    if (status == STATUS_OK) status = read_scores(compared, request, failure);
    if (status == STATUS_OK) status = stratify(compared, request, listener, failure);
    if (status != STATUS_OK) return status;
    const compared_methods methods = {{&compared->scores[0], &compared->scores[1]},
                                      {compared->names[0], compared->names[1]}};
    return comparison_open(&compared->comparison, &methods, &compared->strata, request->metric, failure);
}

void compared_close(compared *compared) {
    comparison_close(&compared->comparison);
    strata_close(&compared->strata);
    case_groups_close(&compared->groups);
    scores_close(&compared->scores[0]);
    scores_close(&compared->scores[1]);
}
