#include "evaluate/comparison.h"

#include <stdlib.h>
#include <string.h>

typedef struct selection {
    size_t cases, regions;
    size_t *case_of[2], *region_of[2]; /* positions in a and in b */
} selection;

static void selection_close(selection *selection) {
    for (int k = 0; k < 2; k++) {
        free(selection->case_of[k]);
        free(selection->region_of[k]);
    }
}

static int selection_open(selection *selection, const scores *a) {
    *selection = (struct selection){0};
    int good = 1;
    for (int k = 0; k < 2; k++) {
        selection->case_of[k] = malloc((a->cases ? a->cases : 1) * sizeof(size_t));
        selection->region_of[k] = malloc((a->regions.count ? a->regions.count : 1) * sizeof(size_t));
        good &= selection->case_of[k] && selection->region_of[k];
    }
    return good;
}

static void select_common(selection *selection, const scores *a, const scores *b) {
    for (size_t k = 0; k < a->cases; k++) {
        const long other = scores_find(b, a->list[k].name);
        if (other < 0) continue;
        selection->case_of[0][selection->cases] = k;
        selection->case_of[1][selection->cases++] = (size_t)other;
    }
    for (size_t k = 0; k < a->regions.count; k++) {
        const long other = regions_find(&b->regions, &a->regions.regions[k]);
        if (other < 0) continue;
        selection->region_of[0][selection->regions] = k;
        selection->region_of[1][selection->regions++] = (size_t)other;
    }
}

static void tell_lacking_cases(const scores *has, const scores *lacks, const char *which, text *told) {
    size_t count = 0;
    for (size_t k = 0; k < has->cases; k++) {
        if (scores_find(lacks, has->list[k].name) >= 0 || count++ >= 8) continue;
        if (count == 1) text_format(told, "%sthe %s summary lacks", told->size ? "; " : "", which);
        text_format(told, "%s %s", count > 1 ? "," : "", has->list[k].name);
    }
    if (count > 8) text_format(told, " and %zu more", count - 8);
}

static void tell_lacking_regions(const scores *has, const scores *lacks, const char *which, text *told) {
    for (size_t k = 0; k < has->regions.count; k++) {
        if (regions_find(&lacks->regions, &has->regions.regions[k]) >= 0) continue;
        text_format(told, "%sthe %s summary lacks the label %s", told->size ? "; " : "", which,
                    has->regions.regions[k].name);
        return;
    }
}

static status_code judge(const scores *a, const scores *b, const selection *selection, int common, failure *failure) {
    if (selection->cases == 0 || selection->regions == 0)
        return fail(failure, STATUS_BAD_INPUT, "the summaries have no %s in common",
                    selection->cases == 0 ? "case" : "label");
    text told = {0};
    tell_lacking_cases(b, a, "first", &told);
    tell_lacking_cases(a, b, "second", &told);
    tell_lacking_regions(b, a, "first", &told);
    tell_lacking_regions(a, b, "second", &told);
    status_code status = STATUS_OK;
    if (told.size > 0 && !common)
        status = fail(failure, STATUS_BAD_INPUT, "%.800s; compare what both have with --common", text_string(&told));
    text_close(&told);
    return status;
}

static status_code take(const scores *from, const selection *selection, int which, const region_list *regions,
                        scores *result, failure *failure) {
    status_code status = scores_open(result, selection->cases, regions, failure);
    memcpy(result->measured, from->measured, sizeof result->measured);
    for (size_t k = 0; k < selection->cases && status == STATUS_OK; k++) {
        const size_t old = selection->case_of[which][k];
        const scored_case *named = &from->list[old];
        status = scores_name(result, k, named->name, named->prediction, named->reference, failure);
        for (size_t region = 0; region < selection->regions; region++)
            memcpy(scores_at(result, k, region), scores_at(from, old, selection->region_of[which][region]),
                   METRICS * sizeof(double));
    }
    return status;
}

static status_code take_both(scores *a, scores *b, const selection *selection, const region_list *regions,
                             failure *failure) {
    scores taken[2];
    status_code status = take(a, selection, 0, regions, &taken[0], failure);
    if (status != STATUS_OK) {
        scores_close(&taken[0]);
        return status;
    }
    status = take(b, selection, 1, regions, &taken[1], failure);
    for (int k = 0; k < 2; k++) {
        scores *target = k ? b : a;
        if (status == STATUS_OK) {
            scores_close(target);
            *target = taken[k];
        } else {
            scores_close(&taken[k]);
        }
    }
    return status;
}

status_code scores_align(scores *a, scores *b, int common, failure *failure) {
    selection selection;
    region_list regions = {0};
    status_code status = selection_open(&selection, a) ? STATUS_OK : fail_memory(failure, "a comparison");
    if (status == STATUS_OK) {
        select_common(&selection, a, b);
        status = judge(a, b, &selection, common, failure);
    }
    if (status == STATUS_OK) status = regions_copy(&regions, &a->regions, failure);
    if (status == STATUS_OK) {
        for (size_t k = 0; k < selection.regions; k++)
            regions.regions[k] = a->regions.regions[selection.region_of[0][k]];
        regions.count = selection.regions;
        status = take_both(a, b, &selection, &regions, failure);
    }
    regions_close(&regions);
    selection_close(&selection);
    return status;
}
