#include "core/text.h"
#include "evaluate/comparison.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED = 8 }; /* so many missing cases are named, the others counted */

typedef struct selection {
    const compared_methods *methods;
    size_t cases, regions;
    size_t *case_of, *region_of; /* positions in the first method's scores */
} selection;

static int all_have_case(const compared_methods *methods, const char *name) {
    for (size_t m = 1; m < methods->count; m++)
        if (scores_find(&methods->scores[m], name) < 0) return 0;
    return 1;
}

static int all_have_region(const compared_methods *methods, const region *region) {
    for (size_t m = 1; m < methods->count; m++)
        if (regions_find(&methods->scores[m].regions, region) < 0) return 0;
    return 1;
}

static status_code select_common(selection *selection, failure *failure) {
    const scores *first = &selection->methods->scores[0];
    selection->case_of = malloc((first->cases ? first->cases : 1) * sizeof(size_t));
    selection->region_of = malloc((first->regions.count ? first->regions.count : 1) * sizeof(size_t));
    if (!selection->case_of || !selection->region_of) return fail_memory(failure, "a comparison");
    for (size_t k = 0; k < first->cases; k++)
        if (all_have_case(selection->methods, first->list[k].name)) selection->case_of[selection->cases++] = k;
    for (size_t k = 0; k < first->regions.count; k++)
        if (all_have_region(selection->methods, &first->regions.regions[k]))
            selection->region_of[selection->regions++] = k;
    if (selection->cases && selection->regions) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "the evaluations have no %s in common",
                selection->cases == 0 ? "case" : "label");
}

/* Whether a method before `before` has told of this case already. */
static int is_told(const compared_methods *methods, size_t before, const char *name) {
    for (size_t m = 0; m < before; m++)
        if (scores_find(&methods->scores[m], name) >= 0) return 1;
    return 0;
}

static void tell_lacking_cases(const compared_methods *methods, size_t lacks, text *told) {
    size_t count = 0;
    for (size_t m = 0; m < methods->count; m++)
        for (size_t k = 0; k < methods->scores[m].cases; k++) {
            const char *name = methods->scores[m].list[k].name;
            if (scores_find(&methods->scores[lacks], name) >= 0 || is_told(methods, m, name)) continue;
            if (count++ >= NAMED) continue;
            if (count == 1) text_format(told, "%s%s lacks", told->size ? "; " : "", methods->names[lacks]);
            text_format(told, "%s %s", count > 1 ? "," : "", name);
        }
    if (count > NAMED) text_format(told, " and %zu more", count - NAMED);
}

static void tell_lacking_regions(const compared_methods *methods, size_t lacks, text *told) {
    for (size_t m = 0; m < methods->count; m++) {
        const region_list *list = &methods->scores[m].regions;
        for (size_t k = 0; k < list->count; k++) {
            if (regions_find(&methods->scores[lacks].regions, &list->regions[k]) >= 0) continue;
            text_format(told, "%s%s lacks the label %s", told->size ? "; " : "", methods->names[lacks],
                        list->regions[k].name);
            return;
        }
    }
}

static status_code judge(const selection *selection, int common, text *dropped, failure *failure) {
    for (size_t m = 0; m < selection->methods->count; m++) {
        tell_lacking_cases(selection->methods, m, dropped);
        tell_lacking_regions(selection->methods, m, dropped);
    }
    if (dropped->size == 0 || common) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%.800s; --common compares the %zu cases that all have",
                text_string(dropped), selection->cases);
}

/* The selected part of a method's scores, in the first method's order and with its names of labels. */
static status_code take(const selection *selection, size_t method, const region_list *regions, scores *result,
                        failure *failure) {
    const scores *from = &selection->methods->scores[method], *first = &selection->methods->scores[0];
    status_code status = scores_open(result, selection->cases, regions, failure);
    memcpy(result->measured, from->measured, sizeof result->measured);
    scores_copy_rules(result, from);
    for (size_t k = 0; k < selection->cases && status == STATUS_OK; k++) {
        const size_t old = (size_t)scores_find(from, first->list[selection->case_of[k]].name);
        const scored_case *named = &from->list[old];
        status = scores_name(result, k, named->name, named->prediction, named->reference, failure);
        for (size_t region = 0; region < selection->regions; region++) {
            const long at = regions_find(&from->regions, &regions->regions[region]);
            memcpy(scores_at(result, k, region), scores_at(from, old, (size_t)at), METRICS * sizeof(double));
        }
    }
    return status;
}

static status_code take_all(const selection *selection, const region_list *regions, failure *failure) {
    const size_t count = selection->methods->count;
    scores *taken = calloc(count, sizeof *taken);
    status_code status = taken ? STATUS_OK : fail_memory(failure, "a comparison");
    for (size_t m = 0; m < count && status == STATUS_OK; m++) status = take(selection, m, regions, &taken[m], failure);
    for (size_t m = 0; m < count && taken; m++) {
        scores_close(status == STATUS_OK ? &selection->methods->scores[m] : &taken[m]);
        if (status == STATUS_OK) selection->methods->scores[m] = taken[m];
    }
    free(taken);
    return status;
}

status_code scores_align(const compared_methods *methods, int common, text *dropped, failure *failure) {
    selection selection = {.methods = methods};
    region_list regions = {0};
    status_code status = select_common(&selection, failure);
    if (status == STATUS_OK) status = judge(&selection, common, dropped, failure);
    if (status == STATUS_OK) status = regions_copy(&regions, &methods->scores[0].regions, failure);
    if (status == STATUS_OK) {
        for (size_t k = 0; k < selection.regions; k++)
            regions.regions[k] = methods->scores[0].regions.regions[selection.region_of[k]];
        regions.count = selection.regions;
        status = take_all(&selection, &regions, failure);
    }
    regions_close(&regions);
    free(selection.case_of);
    free(selection.region_of);
    return status;
}
