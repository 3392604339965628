#define _POSIX_C_SOURCE 200809L
#include "evaluate/evaluate.h"

#include "core/parallel.h"
#include "evaluate/distance.h"
#include "evaluate/overlap.h"
#include "nifti/nifti.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LABELS = 32768 };

static void fill_overlap(const overlap *overlap, double *values) {
    values[METRIC_DICE] = overlap_dice(overlap);
    values[METRIC_IOU] = overlap_iou(overlap);
    values[METRIC_TP] = (double)overlap->tp;
    values[METRIC_FP] = (double)overlap->fp;
    values[METRIC_FN] = (double)overlap->fn;
    values[METRIC_TN] = (double)overlap->tn;
    values[METRIC_N_PRED] = (double)(overlap->tp + overlap->fp);
    values[METRIC_N_REF] = (double)(overlap->tp + overlap->fn);
}

status_code evaluate_maps(const int16_t *prediction, const int16_t *reference, const int size[3],
                          const double spacing[3], const region_list *regions, int distances, double *values,
                          failure *failure) {
    const size_t count = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    uint8_t *masks = malloc(2 * count);
    if (!masks) return fail_memory(failure, "the masks of a region");
    status_code status = STATUS_OK;
    for (size_t k = 0; k < regions->count && status == STATUS_OK; k++, values += METRICS) {
        region_mask(&regions->regions[k], prediction, count, masks);
        region_mask(&regions->regions[k], reference, count, masks + count);
        const overlap overlap = overlap_of(masks, masks + count, count);
        fill_overlap(&overlap, values);
        if (!distances) continue;
        surface_distance distance;
        status = surface_distance_of(masks, masks + count, size, spacing, &distance, failure);
        values[METRIC_HD95] = distance.hd95;
        values[METRIC_ASSD] = distance.assd;
    }
    free(masks);
    return status;
}

/* ---- many cases ---- */

typedef struct many {
    const case_files *files;
    const region_list *regions;
    const evaluation *evaluation;
    scores *scores;
    uint8_t *known; /* [LABELS]: in some region */
    int *strange;   /* per case: a label in no region, 0 for none */
} many;

size_t label_maps_ignore(label_map *prediction, label_map *reference, int ignore) {
    size_t count = 0;
    for (size_t i = 0; ignore && i < volume_grid_voxels(&reference->grid); i++) {
        if (reference->labels[i] != ignore) continue;
        prediction->labels[i] = reference->labels[i] = 0;
        count++;
    }
    return count;
}

static int find_strange(const many *many, const label_map *map) {
    const size_t count = volume_grid_voxels(&map->grid);
    for (size_t i = 0; i < count; i++)
        if (map->labels[i] != 0 && (map->labels[i] < 0 || !many->known[map->labels[i]])) return map->labels[i];
    return 0;
}

static status_code score_maps(many *many, size_t item, label_map *prediction, label_map *reference, failure *failure) {
    status_code status =
        volume_grid_check_same(&prediction->grid, &reference->grid, many->files->list[item].name, failure);
    if (status != STATUS_OK) return status; /* a file that changed since it was checked */
    const size_t left_out = label_maps_ignore(prediction, reference, many->evaluation->ignore);
    many->strange[item] = find_strange(many, prediction);
    if (!many->strange[item]) many->strange[item] = find_strange(many, reference);
    status = evaluate_maps(prediction->labels, reference->labels, reference->grid.size, reference->grid.spacing,
                           many->regions, many->evaluation->hd95 || many->evaluation->assd,
                           scores_at(many->scores, item, 0), failure);
    /* What was left out looks like background that was found. */
    for (size_t k = 0; k < many->regions->count && status == STATUS_OK; k++)
        scores_at(many->scores, item, k)[METRIC_TN] -= (double)left_out;
    return status;
}

static status_code score_case(void *context, size_t item, failure *failure) {
    many *many = context;
    label_map prediction, reference = {0};
    status_code status = nifti_read_labels(many->files->list[item].prediction, &prediction, failure);
    if (status == STATUS_OK) status = nifti_read_labels(many->files->list[item].reference, &reference, failure);
    if (status == STATUS_OK) status = score_maps(many, item, &prediction, &reference, failure);
    label_map_close(&prediction);
    label_map_close(&reference);
    return status;
}

static void mark_known(const region_list *regions, uint8_t *known) {
    for (size_t k = 0; k < regions->count; k++)
        for (int n = 0; n < regions->regions[k].count; n++) known[regions->regions[k].labels[n]] = 1;
}

static status_code name_case(const case_file *file, scores *scores, size_t which, failure *failure) {
    const status_code status = scores_name(scores, which, file->name, file->prediction, file->reference, failure);
    if (status != STATUS_OK || !file->image) return status;
    scores->list[which].image = strdup(file->image);
    return scores->list[which].image ? STATUS_OK : fail_memory(failure, "the names of cases");
}

static status_code name_cases(const case_files *files, scores *scores, failure *failure) {
    status_code status = STATUS_OK;
    for (size_t k = 0; k < files->count && status == STATUS_OK; k++)
        status = name_case(&files->list[k], scores, k, failure);
    return status;
}

static void tell_strange(const many *many, text *notes) {
    size_t count = 0, first = 0;
    for (size_t k = many->files->count; k-- > 0;) {
        if (!many->strange[k]) continue;
        first = k;
        count++;
    }
    if (count > 0)
        text_format(notes, "%zu %s labels that are not evaluated, such as %d in %s", count,
                    count == 1 ? "case holds" : "cases hold", many->strange[first], many->files->list[first].name);
}

static status_code run(many *many, failure *failure) {
    const evaluation *evaluation = many->evaluation;
    const parallel_work work = {score_case, evaluation->progress, many, evaluation->progress_context};
    const status_code status = parallel_run(&work, many->files->count, evaluation->threads, failure);
    many->scores->ignored = evaluation->ignore;
    for (int k = 0; k <= METRIC_N_REF; k++) many->scores->measured[k] = 1;
    many->scores->measured[METRIC_HD95] = evaluation->hd95;
    many->scores->measured[METRIC_ASSD] = evaluation->assd;
    return status;
}

status_code evaluate_cases(const case_files *files, const region_list *regions, const evaluation *evaluation,
                           scores *scores, text *notes, failure *failure) {
    status_code status = scores_open(scores, files->count, regions, failure);
    if (status == STATUS_OK) status = name_cases(files, scores, failure);
    if (status != STATUS_OK) return status;
    many many = {files, regions, evaluation, scores, calloc(LABELS, 1), calloc(files->count, sizeof(int))};
    if (many.known && many.strange) {
        mark_known(regions, many.known);
        status = run(&many, failure);
        if (status == STATUS_OK) tell_strange(&many, notes);
    } else {
        status = fail_memory(failure, "an evaluation");
    }
    free(many.known);
    free(many.strange);
    return status;
}

/* ---- which labels there are ---- */

typedef struct search {
    const case_files *files;
    int ignore;
    uint8_t *seen; /* [case][LABELS / 8]: a bit per label, a row per case so that threads do not meet */
} search;

static status_code search_case(void *context, size_t item, failure *failure) {
    const search *search = context;
    uint8_t *seen = search->seen + item * (LABELS / 8);
    label_map map;
    const status_code status = nifti_read_labels(search->files->list[item].reference, &map, failure);
    const size_t count = status == STATUS_OK ? volume_grid_voxels(&map.grid) : 0;
    for (size_t i = 0; i < count; i++)
        if (map.labels[i] > 0 && map.labels[i] != search->ignore)
            seen[map.labels[i] / 8] |= (uint8_t)(1 << map.labels[i] % 8);
    label_map_close(&map);
    return status;
}

static status_code add_seen(const search *search, region_list *regions, failure *failure) {
    for (int label = 1; label < LABELS; label++) {
        int seen = 0;
        for (size_t k = 0; k < search->files->count && !seen; k++)
            seen = search->seen[k * (LABELS / 8) + (size_t)label / 8] >> label % 8 & 1;
        const status_code status = seen ? regions_add_label(regions, label, failure) : STATUS_OK;
        if (status != STATUS_OK) return status;
    }
    if (regions->count > 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "no reference has a label above 0; name the labels with --labels");
}

status_code evaluate_find_labels(const case_files *files, const evaluation *evaluation, region_list *regions,
                                 failure *failure) {
    search search = {files, evaluation->ignore, calloc(files->count, LABELS / 8)};
    if (!search.seen) return fail_memory(failure, "the labels of the references");
    const parallel_work work = {search_case, NULL, &search, NULL};
    status_code status = parallel_run(&work, files->count, evaluation->threads, failure);
    if (status == STATUS_OK) status = add_seen(&search, regions, failure);
    free(search.seen);
    return status;
}
