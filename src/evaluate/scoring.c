#define _POSIX_C_SOURCE 200809L
#include "evaluate/scoring.h"

#include "evaluate/distance.h"
#include "evaluate/overlap.h"
#include "nifti/nifti.h"
#include "ranks/ranks.h"

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

status_code score_label_maps(const label_map *prediction, const label_map *reference, const region_list *regions,
                             const scoring_options *options, double *values, failure *failure) {
    const volume_grid *grid = &reference->grid;
    const size_t count = volume_grid_voxels(grid);
    uint8_t *masks = malloc(2 * count);
    if (!masks) return fail_memory(failure, "the masks of a region");
    status_code status = STATUS_OK;
    for (size_t k = 0; k < regions->count && status == STATUS_OK; k++, values += METRICS) {
        region_mask(&regions->regions[k], prediction->labels, count, masks);
        region_mask(&regions->regions[k], reference->labels, count, masks + count);
        const overlap overlap = overlap_of(masks, masks + count, count);
        fill_overlap(&overlap, values);
        if (!options->hd95 && !options->assd && !(options->nsd > 0)) continue;
        surface_distance distance;
        const mask_pair pair = {masks, masks + count, grid->size, grid->spacing, options->nsd};
        status = surface_distance_of(&pair, &distance, failure);
        values[METRIC_HD95] = distance.hd95;
        values[METRIC_ASSD] = distance.assd;
        values[METRIC_NSD] = distance.nsd;
    }
    free(masks);
    return status;
}

/* ---- many cases ---- */

typedef struct scoring {
    const case_pairs *pairs;
    const region_list *regions;
    const scoring_options *options;
    const listener *listener;
    scores *scores;
    uint8_t *known;   /* [LABELS]: in some region */
    int *unevaluated; /* per case: a label in no region, 0 for none */
} scoring;

size_t label_maps_ignore(label_map *prediction, label_map *reference, int ignore) {
    size_t count = 0;
    for (size_t i = 0; ignore && i < volume_grid_voxels(&reference->grid); i++) {
        if (reference->labels[i] != ignore) continue;
        prediction->labels[i] = reference->labels[i] = 0;
        count++;
    }
    return count;
}

static int find_unevaluated(const scoring *scoring, const label_map *map) {
    const size_t count = volume_grid_voxels(&map->grid);
    for (size_t i = 0; i < count; i++)
        if (map->labels[i] != 0 && (map->labels[i] < 0 || !scoring->known[map->labels[i]])) return map->labels[i];
    return 0;
}

static status_code score_maps(scoring *scoring, size_t item, label_map *prediction, label_map *reference,
                              failure *failure) {
    status_code status =
        volume_grid_check_same(&prediction->grid, &reference->grid, scoring->pairs->list[item].name, failure);
    if (status != STATUS_OK) return status; /* a file that changed since it was checked */
    if (scoring->options->after)
        status = postprocessing_apply(scoring->options->after, prediction->grid.size, prediction->labels, failure);
    if (status != STATUS_OK) return status;
    const size_t left_out = label_maps_ignore(prediction, reference, scoring->options->ignore);
    scoring->unevaluated[item] = find_unevaluated(scoring, prediction);
    if (!scoring->unevaluated[item]) scoring->unevaluated[item] = find_unevaluated(scoring, reference);
    status = score_label_maps(prediction, reference, scoring->regions, scoring->options,
                              scores_at(scoring->scores, item, 0), failure);
    /* What was left out looks like background that was found. */
    for (size_t k = 0; k < scoring->regions->count && status == STATUS_OK; k++)
        scores_at(scoring->scores, item, k)[METRIC_TN] -= (double)left_out;
    return status;
}

static status_code score_case(void *context, size_t item, failure *failure) {
    scoring *scoring = context;
    label_map prediction, reference = {0};
    status_code status = nifti_read_labels(scoring->pairs->list[item].prediction, &prediction, failure);
    if (status == STATUS_OK) status = nifti_read_labels(scoring->pairs->list[item].reference, &reference, failure);
    if (status == STATUS_OK) status = score_maps(scoring, item, &prediction, &reference, failure);
    label_map_close(&prediction);
    label_map_close(&reference);
    return status;
}

static void mark_known(const region_list *regions, uint8_t *known) {
    for (size_t k = 0; k < regions->count; k++)
        for (int n = 0; n < regions->regions[k].count; n++) known[regions->regions[k].labels[n]] = 1;
}

static status_code name_case(const case_pair *pair, scores *scores, size_t which, failure *failure) {
    const status_code status = scores_name(scores, which, pair->name, pair->prediction, pair->reference, failure);
    if (status != STATUS_OK || !pair->image) return status;
    scores->list[which].image = strdup(pair->image);
    return scores->list[which].image ? STATUS_OK : fail_memory(failure, "the names of cases");
}

static status_code name_cases(const case_pairs *pairs, scores *scores, failure *failure) {
    status_code status = STATUS_OK;
    for (size_t k = 0; k < pairs->count && status == STATUS_OK; k++)
        status = name_case(&pairs->list[k], scores, k, failure);
    return status;
}

static status_code tell_unevaluated(const scoring *scoring, failure *failure) {
    size_t count = 0, first = 0;
    text notice = {0};
    for (size_t k = scoring->pairs->count; k-- > 0;) {
        if (!scoring->unevaluated[k]) continue;
        first = k;
        count++;
    }
    if (count == 0) return STATUS_OK;
    text_format(&notice, "%zu %s labels that are not evaluated, such as %d in %s", count,
                count == 1 ? "case holds" : "cases hold", scoring->unevaluated[first],
                scoring->pairs->list[first].name);
    const status_code status = notice.failed ? fail_memory(failure, "a notice") : STATUS_OK;
    if (status == STATUS_OK) listener_notice(scoring->listener, notice.bytes);
    text_close(&notice);
    return status;
}

static status_code score_cases(scoring *scoring, failure *failure) {
    const parallel_work work = {.run = score_case, .context = scoring, .listener = scoring->listener, .what = "scored"};
    const ranks *r = ranks_here();
    const size_t count = scoring->pairs->count;
    status_code status = ranks_run(r, &work, count, scoring->options->threads, failure);
    if (status == STATUS_STOPPED) fail(failure, status, "stopped; no scores were written");
    if (status == STATUS_OK)
        status = ranks_gather_items(r, scoring->scores->values, count,
                                    scoring->regions->count * METRICS * sizeof *scoring->scores->values, failure);
    if (status == STATUS_OK)
        status = ranks_gather_items(r, scoring->unevaluated, count, sizeof *scoring->unevaluated, failure);
    scoring->scores->ignored = scoring->options->ignore;
    for (int k = 0; k <= METRIC_N_REF; k++) scoring->scores->measured[k] = 1;
    scoring->scores->measured[METRIC_HD95] = scoring->options->hd95;
    scoring->scores->measured[METRIC_ASSD] = scoring->options->assd;
    scoring->scores->measured[METRIC_NSD] = scoring->options->nsd > 0;
    scoring->scores->nsd_tolerance = scoring->options->nsd;
    if (status == STATUS_OK) scores_apply_empty(scoring->scores, scoring->options->empty);
    return status == STATUS_OK ? tell_unevaluated(scoring, failure) : status;
}

status_code scoring_run(const case_pairs *pairs, const region_list *regions, const scoring_options *options,
                        const listener *listener, scores *scores, failure *failure) {
    status_code status = scores_open(scores, pairs->count, regions, failure);
    if (status == STATUS_OK) status = name_cases(pairs, scores, failure);
    scoring scoring = {.pairs = pairs,
                       .regions = regions,
                       .options = options,
                       .listener = listener,
                       .scores = scores,
                       .known = calloc(LABELS, 1),
                       .unevaluated = calloc(pairs->count, sizeof(int))};
    if (!scoring.known || !scoring.unevaluated) status = fail_memory(failure, "an evaluation");
    status = ranks_agree(ranks_here(), status, failure);
    if (status == STATUS_OK) {
        mark_known(regions, scoring.known);
        status = score_cases(&scoring, failure);
    }
    free(scoring.known);
    free(scoring.unevaluated);
    return status;
}

/* ---- which labels there are ---- */

typedef struct search {
    const case_pairs *pairs;
    int ignore;
    uint8_t *seen; /* [case][LABELS / 8]: a bit per label, a row per case so that threads do not meet */
} search;

static status_code search_case(void *context, size_t item, failure *failure) {
    const search *search = context;
    uint8_t *seen = search->seen + item * (LABELS / 8);
    label_map map;
    const status_code status = nifti_read_labels(search->pairs->list[item].reference, &map, failure);
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
        for (size_t k = 0; k < search->pairs->count && !seen; k++)
            seen = search->seen[k * (LABELS / 8) + (size_t)label / 8] >> label % 8 & 1;
        const status_code status = seen ? regions_add_label(regions, label, failure) : STATUS_OK;
        if (status != STATUS_OK) return status;
    }
    if (regions->count > 0) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "no reference has a label above 0; name the labels with --labels");
}

status_code scoring_find_labels(const case_pairs *pairs, const scoring_options *options, region_list *regions,
                                const listener *listener, failure *failure) {
    search search = {pairs, options->ignore, calloc(pairs->count, LABELS / 8)};
    status_code status = search.seen ? STATUS_OK : fail_memory(failure, "the labels of the references");
    status = ranks_agree(ranks_here(), status, failure);
    if (status != STATUS_OK) {
        free(search.seen);
        return status;
    }
    const struct listener silent = listener_stop_only(listener);
    const parallel_work work = {
        .run = search_case, .context = &search, .listener = &silent, .what = "looking for labels"};
    status = ranks_run(ranks_here(), &work, pairs->count, options->threads, failure);
    if (status == STATUS_OK) status = ranks_gather_items(ranks_here(), search.seen, pairs->count, LABELS / 8, failure);
    if (status == STATUS_OK) status = add_seen(&search, regions, failure);
    free(search.seen);
    return status;
}
