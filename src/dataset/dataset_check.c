#define _POSIX_C_SOURCE 200809L
#include "dataset/dataset_inside.h"
#include "dataset/findings.h"

#include "core/path.h"
#include "nifti/nifti.h"
#include "nifti/spacing_doubts.h"
#include "ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

/* Adds the failure if there is one, and tells whether all went well. */
static int judge(findings *found, const char *id, status_code status, const failure *failure) {
    if (status == STATUS_OUT_OF_MEMORY) found->out_of_memory = 1;
    else if (status != STATUS_OK) findings_add(found, id, 1, failure->message);
    return status == STATUS_OK;
}

/* ---- one case ---------------------------------------------------------------------------------------------------- */

typedef struct examined {
    const dataset *set;
    const dataset_case *one;
    findings *found;
    volume_grid grid;  /* that all files must have: the label map's, else the first image's */
    volume_grid first; /* the first image's */
    int has_grid, has_first;
    int wanted; /* the voxels are to be given away */
    volume image;
    label_map labels;
} examined;

static void examine_labels(examined *e) {
    struct failure failure, inner;
    status_code status = nifti_read_labels(e->one->labels, &e->labels, &inner);
    if (status != STATUS_OK) {
        const int missing = !path_exists(e->one->labels);
        fail(&failure, status, "%s: the label map %s%s", e->one->id,
             missing ? "is missing: there is no " : "is broken: ", missing ? e->one->labels : inner.message);
        judge(e->found, e->one->id, status, &failure);
        return;
    }
    e->grid = e->labels.grid;
    e->has_grid = 1;
    int foreground = 1;
    status = dataset_check_values(e->set, e->one, &e->labels, &foreground, &failure);
    if (judge(e->found, e->one->id, status, &failure) && !foreground) {
        fail(&failure, STATUS_OK, "%s: the label map is empty: %s has background only", e->one->id, e->one->labels);
        findings_add(e->found, e->one->id, 0, failure.message);
    }
    if (!e->wanted) label_map_close(&e->labels);
    else if (status == STATUS_OK) dataset_to_classes(e->set, &e->labels);
}

/* Voxels that nobody wants, or that do not fit the first file's, are read one channel at a time
   into the same memory. */
static status_code examine_voxels(examined *e, int file, const image_file *opened, failure *failure) {
    volume passing = {0};
    const int kept = e->image.voxels && memcmp(opened->grid.size, e->image.grid.size, sizeof opened->grid.size) == 0;
    status_code status = kept ? STATUS_OK : volume_open(&passing, &opened->grid, 1, failure);
    for (int c = 0; status == STATUS_OK && c < dataset_file_channels(e->set, e->one); c++)
        status =
            dataset_read_channel(e->one, opened, kept ? volume_channel(&e->image, file + c) : passing.voxels, failure);
    volume_close(&passing);
    return status;
}

/* Also with the first image: all may be near the label map, but not near each other. */
static void examine_grid(examined *e, int file, const image_file *opened) {
    failure failure;
    if (!e->has_grid) {
        e->grid = opened->grid;
        e->has_grid = 1;
    }
    status_code status = dataset_check_grids(e->one, opened->path, &opened->grid, &e->grid, &failure);
    if (status == STATUS_OK && e->has_first)
        status = dataset_check_channels_fit(e->one, opened->path, &e->first, &opened->grid, &failure);
    judge(e->found, e->one->id, status, &failure);
    if (file > 0) return;
    e->first = opened->grid;
    e->has_first = 1;
    if (spacing_is_doubtful(&opened->grid, e->one->id, failure.message, sizeof failure.message))
        findings_add(e->found, e->one->id, 0, failure.message);
}

static void examine_image(examined *e, int file, volume_grid *first) {
    image_file opened;
    failure failure;
    status_code status = dataset_open_image(e->set, e->one, file, &opened, &failure);
    if (!judge(e->found, e->one->id, status, &failure)) return;
    if (file == 0 && first) *first = opened.grid;
    examine_grid(e, file, &opened);
    if (e->wanted && file == 0) status = volume_open(&e->image, &opened.grid, e->set->channels, &failure);
    if (status == STATUS_OK) status = examine_voxels(e, file, &opened, &failure);
    judge(e->found, e->one->id, status, &failure);
    nifti_reader_close(&opened.reader);
}

/* ---- all cases --------------------------------------------------------------------------------------------------- */

typedef struct check {
    const dataset *set;
    const dataset_check_options *options;
    findings *found; /* of each case */
    volume_grid *grids;
} check;

static status_code give(const check *check, size_t index, examined *e, failure *failure) {
    struct failure inner, named;
    const status_code status = check->options->take(check->options->context, index, &e->image, &e->labels, &inner);
    if (status == STATUS_STOPPED) return fail(failure, status, "%s", inner.message);
    if (status != STATUS_OK) fail(&named, status, "%s: %.900s", e->one->id, inner.message);
    judge(e->found, e->one->id, status, &named);
    return STATUS_OK;
}

static status_code examine(void *context, size_t item, failure *failure) {
    const check *check = context;
    const dataset *set = check->set;
    const int training = item < set->train_count;
    examined e = {.set = set,
                  .one = training ? &set->train[item] : &set->test[item - set->train_count],
                  .found = &check->found[item],
                  .wanted = training && check->options->take};
    if (e.one->labels) examine_labels(&e);
    for (int file = 0; file < e.one->files; file++) examine_image(&e, file, training ? &check->grids[item] : NULL);
    status_code status = STATUS_OK;
    if (e.wanted && e.found->problems == 0 && !e.found->out_of_memory) status = give(check, item, &e, failure);
    if (!training) findings_allow(e.found); /* nothing is learnt from test cases */
    volume_close(&e.image);
    label_map_close(&e.labels);
    return status;
}

static status_code examine_all(const check *check, failure *failure) {
    const parallel_work work = {.run = examine,
                                .context = (void *)(uintptr_t)check,
                                .listener = check->options->listener,
                                .what = "checking the dataset"};
    const size_t count = check->set->train_count + check->set->test_count;
    status_code status = ranks_run(ranks_here(), &work, count, check->options->threads, failure);
    if (status == STATUS_OK) status = findings_share(check->found, check->set, failure);
    if (status == STATUS_OK)
        status = ranks_gather_items(ranks_here(), check->grids, check->set->train_count, sizeof *check->grids, failure);
    return status;
}

static void check_count(const dataset *set, findings *found) {
    if (set->promised < 0 || (size_t)set->promised == set->train_count) return;
    failure failure;
    fail(&failure, STATUS_CORRUPT,
         "dataset.json says numTraining %ld, but there are %zu training cases; correct it, or find what is missing",
         set->promised, set->train_count);
    findings_add(found, NULL, 1, failure.message);
}

static status_code verdict(const dataset *set, const dataset_report *report, failure *failure) {
    if (report->problems == 0) return STATUS_OK;
    size_t first = 0;
    while (!report->findings[first].fatal) first++;
    return fail(failure, STATUS_CORRUPT, "%s has %zu problem%s; %s%s", set->folder, report->problems,
                report->problems == 1 ? "" : "s",
                report->problems == 1 ? "" : "the first: ", report->findings[first].sentence);
}

status_code dataset_check(const dataset *set, const dataset_check_options *options, dataset_report *report,
                          failure *failure) {
    *report = (dataset_report){0};
    const size_t total = set->train_count + set->test_count;
    findings *found = calloc(total + 1, sizeof *found);
    report->grids = calloc(set->train_count + 1, sizeof *report->grids);
    const check check = {.set = set, .options = options, .found = found, .grids = report->grids};
    status_code status = found && report->grids ? STATUS_OK : fail_memory(failure, "checking a dataset");
    status = ranks_agree(ranks_here(), status, failure);
    if (status == STATUS_OK) status = examine_all(&check, failure);
    if (status == STATUS_OK) {
        check_count(set, &found[total]);
        status = findings_gather(found, total + 1, report, failure);
    }
    findings_close(found, total + 1);
    status = ranks_agree(ranks_here(), status, failure);
    return status == STATUS_OK ? verdict(set, report, failure) : status;
}

void dataset_report_close(dataset_report *report) {
    for (size_t k = 0; k < report->count; k++) free(report->findings[k].sentence);
    free(report->findings);
    free(report->grids);
    *report = (dataset_report){0};
}
