#define _POSIX_C_SOURCE 200809L
#include "dataset/dataset_inside.h"

#include "core/path.h"
#include "nifti/nifti.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* What was found in one case; cases are examined in any order and gathered in theirs. */
typedef struct findings {
    size_t count, room;
    dataset_finding *list;
    int out_of_memory;
} findings;

static void add(findings *found, const char *id, int fatal, const char *sentence) {
    if (found->count == found->room) {
        const size_t larger = found->room ? found->room * 2 : 4;
        dataset_finding *grown = realloc(found->list, larger * sizeof *grown);
        found->out_of_memory |= !grown;
        if (!grown) return;
        found->list = grown;
        found->room = larger;
    }
    char *copy = strdup(sentence);
    found->out_of_memory |= !copy;
    if (copy) found->list[found->count++] = (dataset_finding){id, fatal, copy};
}

/* Adds the failure if there is one, and tells whether all went well. */
static int judge(findings *found, const char *id, status_code status, const failure *failure) {
    if (status == STATUS_OUT_OF_MEMORY) found->out_of_memory = 1;
    else if (status != STATUS_OK) add(found, id, 1, failure->message);
    return status == STATUS_OK;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct examined {
    const dataset *set;
    const dataset_case *one;
    findings *found;
    volume_grid grid; /* that all files must have: the label map's, else the first image's */
    int has_grid;
} examined;

static void examine_labels(examined *e) {
    label_map labels;
    struct failure failure, inner;
    status_code status = nifti_read_labels(e->one->labels, &labels, &inner);
    if (status != STATUS_OK) {
        const int missing = !path_exists(e->one->labels);
        fail(&failure, status, "%s: the label map %s%s", e->one->id,
             missing ? "is missing: there is no " : "is broken: ", missing ? e->one->labels : inner.message);
        judge(e->found, e->one->id, status, &failure);
        return;
    }
    e->grid = labels.grid;
    e->has_grid = 1;
    int foreground = 1;
    status = dataset_check_values(e->set, e->one, &labels, &foreground, &failure);
    if (judge(e->found, e->one->id, status, &failure) && !foreground) {
        fail(&failure, STATUS_OK, "%s: the label map is empty: %s has background only", e->one->id, e->one->labels);
        add(e->found, e->one->id, 0, failure.message);
    }
    label_map_close(&labels);
}

/* One channel at a time: a case with many takes no more memory. */
static void examine_voxels(examined *e, int file, int channels) {
    struct failure failure, inner;
    for (int channel = 0; channel < channels; channel++) {
        volume image;
        status_code status = nifti_read_volume(e->one->images[file], channel, &image, &inner);
        if (status == STATUS_OK)
            status = dataset_check_finite(e->one, e->one->images[file], image.voxels, volume_grid_voxels(&image.grid),
                                          &failure);
        else fail(&failure, status, "%s: %s", e->one->id, inner.message);
        volume_close(&image);
        if (!judge(e->found, e->one->id, status, &failure)) return;
    }
}

static void examine_image(examined *e, int file, volume_grid *first) {
    volume_grid grid;
    failure failure;
    status_code status = dataset_inspect_image(e->set, e->one, file, &grid, &failure);
    if (!judge(e->found, e->one->id, status, &failure)) return;
    if (file == 0 && first) *first = grid;
    if (e->has_grid) {
        status = dataset_check_grids(e->one, e->one->images[file], &grid, &e->grid, &failure);
        judge(e->found, e->one->id, status, &failure);
    } else {
        e->grid = grid;
        e->has_grid = 1;
    }
    examine_voxels(e, file, e->one->files == 1 ? e->set->channels : 1);
}

static void examine(const dataset *set, const dataset_case *one, findings *found, volume_grid *grid) {
    examined e = {.set = set, .one = one, .found = found};
    if (one->labels) examine_labels(&e);
    for (int file = 0; file < one->files; file++) examine_image(&e, file, grid);
}

/* ---- all cases --------------------------------------------------------------------------------------------------- */

static void examine_all(const dataset *set, int threads, findings *found, volume_grid *grids,
                        dataset_listener *listener, void *context) {
    const size_t total = set->train_count + set->test_count;
    size_t done = 0;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (size_t k = 0; k < total; k++) {
        const int training = k < set->train_count;
        examine(set, training ? &set->train[k] : &set->test[k - set->train_count], &found[k],
                training ? &grids[k] : NULL);
#pragma omp critical(hws_dataset_check)
        {
            done++;
            if (listener) listener(context, done, total);
        }
    }
}

static void check_count(const dataset *set, findings *found) {
    if (set->promised < 0 || (size_t)set->promised == set->train_count) return;
    failure failure;
    fail(&failure, STATUS_CORRUPT,
         "dataset.json says numTraining %ld, but there are %zu training cases; correct it, or find what is missing",
         set->promised, set->train_count);
    add(found, NULL, 1, failure.message);
}

static status_code gather(findings *found, size_t count, dataset_report *report, failure *failure) {
    size_t total = 0, next = 0;
    int out_of_memory = 0;
    for (size_t k = 0; k < count; k++) {
        total += found[k].count;
        out_of_memory |= found[k].out_of_memory;
    }
    report->findings = out_of_memory ? NULL : calloc(total + 1, sizeof *report->findings);
    if (!report->findings) return fail_memory(failure, "checking a dataset");
    for (size_t k = 0; k < count; k++) {
        for (size_t j = 0; j < found[k].count; j++) {
            report->findings[next++] = found[k].list[j];
            report->problems += found[k].list[j].fatal != 0;
        }
        found[k].count = 0; /* the report owns them now */
    }
    report->count = total;
    return STATUS_OK;
}

static void findings_close(findings *found, size_t count) {
    for (size_t k = 0; found && k < count; k++) {
        for (size_t j = 0; j < found[k].count; j++) free(found[k].list[j].sentence);
        free(found[k].list);
    }
    free(found);
}

static status_code verdict(const dataset *set, const dataset_report *report, failure *failure) {
    if (report->problems == 0) return STATUS_OK;
    size_t first = 0;
    while (!report->findings[first].fatal) first++;
    return fail(failure, STATUS_CORRUPT, "%s has %zu problem%s; %s%s", set->folder, report->problems,
                report->problems == 1 ? "" : "s",
                report->problems == 1 ? "" : "the first: ", report->findings[first].sentence);
}

status_code dataset_check(const dataset *set, int threads, dataset_listener *listener, void *context,
                          dataset_report *report, failure *failure) {
    *report = (dataset_report){0};
    const size_t total = set->train_count + set->test_count;
    findings *found = calloc(total + 1, sizeof *found);
    report->grids = calloc(set->train_count + 1, sizeof *report->grids);
    status_code status = found && report->grids ? STATUS_OK : fail_memory(failure, "checking a dataset");
    if (status == STATUS_OK) {
        examine_all(set, threads < 1 ? 1 : threads, found, report->grids, listener, context);
        check_count(set, &found[total]);
        status = gather(found, total + 1, report, failure);
    }
    findings_close(found, total + 1);
    return status == STATUS_OK ? verdict(set, report, failure) : status;
}

void dataset_report_close(dataset_report *report) {
    for (size_t k = 0; k < report->count; k++) free(report->findings[k].sentence);
    free(report->findings);
    free(report->grids);
    *report = (dataset_report){0};
}
