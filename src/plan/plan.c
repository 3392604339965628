#include "plan/plan.h"

#include "core/crc64.h"
#include "core/quantile.h"
#include "core/utf8.h"
#include "preprocess/resample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST_BATCH = 2, SMALLEST_PATCH_EDGE = 12 };
#define COARSE_PERCENT 10
#define MASKED_BELOW 0.75

/* ---- models ----------------------------------------------------------------------------------------------------- */

void plan_model_name(const plan_model *model, char name[PLAN_MODEL_SIZE]) {
    const char *network = !model->residual ? "unet" : model->large ? "resenc-l" : "resenc-m";
    snprintf(name, PLAN_MODEL_SIZE, "%s%s", network, model->slices ? "-2d" : "");
}

plan_model plan_model_at(int index) {
    return (plan_model){.residual = index % 3 > 0, .large = index % 3 > 1, .slices = index >= 3};
}

status_code plan_model_parse(const char *text, plan_model *model, failure *failure) {
    char name[PLAN_MODEL_SIZE];
    for (int k = 0; k < PLAN_MODELS; k++) {
        *model = plan_model_at(k);
        plan_model_name(model, name);
        if (strcmp(text, name) == 0) return STATUS_OK;
    }
    return fail(failure, STATUS_BAD_INPUT,
                "there is no model '%.100s' for volumes: choose unet, resenc-m or resenc-l, or with -2d behind it the "
                "same for slices",
                text);
}

/* ---- spacing and size ------------------------------------------------------------------------------------------- */

typedef double case_value(const fingerprint_case *one, const double spacing[3], int axis);

static double value_spacing(const fingerprint_case *one, const double spacing[3], int axis) {
    (void)spacing;
    return one->spacing[axis];
}

static double value_size(const fingerprint_case *one, const double spacing[3], int axis) {
    (void)spacing;
    return one->size[axis];
}

static double value_resampled(const fingerprint_case *one, const double spacing[3], int axis) {
    int size[3];
    resample_size(one->size, one->spacing, spacing, size);
    return size[axis];
}

static double value_kept(const fingerprint_case *one, const double spacing[3], int axis) {
    (void)spacing, (void)axis;
    return one->kept;
}

/* `scratch` holds a double per case. */
static double percentile(const fingerprint *fingerprint, double *scratch, case_value *value, const double spacing[3],
                         int axis, double percent) {
    for (size_t k = 0; k < fingerprint->count; k++) scratch[k] = value(&fingerprint->cases[k], spacing, axis);
    sort_numbers(scratch, fingerprint->count);
    return quantile_of_sorted(scratch, fingerprint->count, percent / 100);
}

/* An axis much coarser than the others, with few slices, is taken nearly as fine as it comes,
   but no finer than they. */
static void refine_coarse_axis(const fingerprint *fingerprint, double *scratch, const double size[3],
                               double spacing[3]) {
    int worst = 0;
    for (int k = 1; k < 3; k++)
        if (spacing[k] > spacing[worst]) worst = k;
    const int a = (worst + 1) % 3, b = (worst + 2) % 3;
    const double coarsest_other = fmax(spacing[a], spacing[b]);
    if (!(spacing[worst] > RESAMPLE_COARSE_RATIO * coarsest_other)) return;
    if (!(size[worst] * RESAMPLE_COARSE_RATIO < fmin(size[a], size[b]))) return;
    const double fine = percentile(fingerprint, scratch, value_spacing, NULL, worst, COARSE_PERCENT);
    spacing[worst] = fine < coarsest_other ? coarsest_other + 1e-5 : fine;
}

static double choose_spacing(plan *plan, const fingerprint *fingerprint, double *scratch) {
    double size[3];
    for (int k = 0; k < 3; k++) {
        plan->spacing[k] = percentile(fingerprint, scratch, value_spacing, NULL, k, 50);
        size[k] = percentile(fingerprint, scratch, value_size, NULL, k, 50);
    }
    refine_coarse_axis(fingerprint, scratch, size, plan->spacing);
    for (int k = 0; k < 3; k++)
        plan->median_size[k] = percentile(fingerprint, scratch, value_resampled, plan->spacing, k, 50);
    return percentile(fingerprint, scratch, value_kept, NULL, 0, 50);
}

/* ---- channels --------------------------------------------------------------------------------------------------- */

static void choose_rules(plan *plan, const plan_request *request, const fingerprint *fingerprint, double kept) {
    for (int c = 0; c < plan->channels; c++) {
        plan_channel *channel = &plan->channel[c];
        utf8_copy(channel->name, sizeof channel->name, request->channel_names[c]);
        const intensities *seen = &fingerprint->intensities[c];
        channel->rule = (channel_rule){.kind = normalisation_of_channel(request->channel_names[c]),
                                       .mean = seen->mean,
                                       .deviation = seen->deviation,
                                       .low = seen->low,
                                       .high = seen->high};
        channel->rule.masked = channel->rule.kind == NORMALISE_ZSCORE && kept < MASKED_BELOW;
    }
}

/* ---- patch and batch -------------------------------------------------------------------------------------------- */

/* nnU-Net's constants. */
typedef struct budget {
    double feature_maps; /* that a batch of `batch` patches may have, each counting for itself */
    double patch_maps;   /* that a single patch may have */
    double covered;      /* the share of the dataset that a batch may cover */
    int batch;
} budget;

static budget budget_of(const plan_model *model) {
    static const budget PLAIN[2] = {{560e6, 560e6, 0.05, 2}, {85e6, 510e6, 0.05, 12}};
    static const budget RESIDUAL[2][2] = {{{680e6, 680e6, 1, 2}, {135e6, 135e6, 1, 12}},
                                          {{2100e6, 2100e6, 1, 2}, {380e6, 380e6, 1, 12}}};
    return model->residual ? RESIDUAL[model->large][model->slices] : PLAIN[model->slices];
}

static double patch_voxels(const int patch[3]) { return (double)patch[0] * patch[1] * patch[2]; }

static topology_rules rules_of(const plan *plan) {
    topology_rules rules = {.slices = -1, .residual = plan->model.residual};
    for (int k = 0; k < 3 && plan->model.slices; k++)
        if (rules.slices < 0 || plan->spacing[k] > plan->spacing[rules.slices]) rules.slices = k;
    return rules;
}

static topology stages_for(const plan *plan, const double size[3]) {
    const topology_rules rules = rules_of(plan);
    return topology_of(&rules, plan->spacing, size);
}

/* Of the shape that the spacing gives to 256^3 voxels, or 2048^2 in 2D, but no larger than the cases,
   nor than a patch may be. */
static void first_patch(const plan *plan, double size[3]) {
    const double *spacing = plan->spacing, all = spacing[0] * spacing[1] * spacing[2];
    const int slices = rules_of(plan).slices;
    const double edge = slices < 0 ? 256 * cbrt(all) : 2048 * sqrt(all / spacing[slices]);
    for (int k = 0; k < 3; k++) {
        size[k] = k == slices ? 1 : fmin(rint(edge / spacing[k]), plan->median_size[k]);
        size[k] = fmin(size[k], PLAN_MAX_EDGE);
    }
}

static void set_patch(plan *plan, const double size[3]) {
    plan->topology = stages_for(plan, size);
    int multiple[3];
    topology_multiple(&plan->topology, multiple);
    for (int k = 0; k < 3; k++) plan->patch[k] = (int)ceil(size[k] / multiple[k]) * multiple[k];
}

static int too_large(const plan *plan, double memory) {
    const double most = budget_of(&plan->model).patch_maps;
    return topology_feature_maps(&plan->topology, plan->patch, plan->classes) > most ||
           plan_memory(plan, 1, 0) > memory;
}

/* The axis that covers most of the cases, by one multiple: of the halvings that remain when it is made shorter, lest
   valid sizes be left out. Returns 0 if it cannot become smaller. */
static int shrink_patch(plan *plan) {
    const int slices = rules_of(plan).slices;
    int axis = -1, multiple[3];
    topology_multiple(&plan->topology, multiple);
    for (int k = 0; k < 3; k++)
        if (k != slices && plan->patch[k] > multiple[k] &&
            (axis < 0 || plan->patch[k] / plan->median_size[k] >= plan->patch[axis] / plan->median_size[axis]))
            axis = k;
    if (axis < 0) return 0;
    double size[3] = {plan->patch[0], plan->patch[1], plan->patch[2]};
    size[axis] -= multiple[axis];
    const topology shorter = stages_for(plan, size);
    topology_multiple(&shorter, multiple);
    size[axis] = plan->patch[axis] - multiple[axis];
    if (stages_for(plan, size).count < 2) return 0;
    set_patch(plan, size);
    return 1;
}

static status_code choose_patch(plan *plan, double memory, failure *failure) {
    double size[3];
    first_patch(plan, size);
    if (stages_for(plan, size).count < 2) /* cases so small that nothing would be halved: pad them */
        for (int k = 0; k < 3; k++)
            if (k != rules_of(plan).slices) size[k] = fmax(size[k], SMALLEST_PATCH_EDGE);
    set_patch(plan, size);
    while (too_large(plan, memory))
        if (!shrink_patch(plan))
            return fail(
                failure, STATUS_OUT_OF_MEMORY,
                "training needs %.1f GB even for a patch of %d x %d x %d voxels, %.1f GB are available; free some "
                "memory",
                plan_memory(plan, 1, 0) / 1e9, plan->patch[0], plan->patch[1], plan->patch[2], memory / 1e9);
    return STATUS_OK;
}

static int choose_batch(const plan *plan, size_t cases) {
    const budget budget = budget_of(&plan->model);
    const double *median = plan->median_size;
    const double maps = topology_feature_maps(&plan->topology, plan->patch, plan->classes);
    const double fits = rint(budget.feature_maps / maps * budget.batch);
    const double dataset = median[0] * median[1] * median[2] * (double)cases;
    const double covers = rint(dataset * budget.covered / patch_voxels(plan->patch));
    return (int)fmin(fmax(fmin(fits, covers), SMALLEST_BATCH), PLAN_MAX_BATCH);
}

status_code plan_make(plan *plan, const plan_request *request, const fingerprint *fingerprint, failure *failure) {
    memset(plan, 0, sizeof *plan);
    if (fingerprint->channels > PLAN_MAX_CHANNELS)
        return fail(failure, STATUS_BAD_INPUT, "%d channels are too many, at most %d are possible",
                    fingerprint->channels, PLAN_MAX_CHANNELS);
    double *scratch = malloc(fingerprint->count * sizeof *scratch);
    if (!scratch) return fail_memory(failure, "a plan");
    utf8_copy(plan->dataset, sizeof plan->dataset, request->dataset);
    plan->channels = fingerprint->channels;
    plan->labels = *request->labels;
    plan->classes = label_scheme_outputs(&plan->labels);
    plan->model = request->model;
    const double kept = choose_spacing(plan, fingerprint, scratch);
    free(scratch);
    choose_rules(plan, request, fingerprint, kept);
    plan->batch = SMALLEST_BATCH;
    const status_code status = choose_patch(plan, request->memory, failure);
    if (status == STATUS_OK) plan->batch = choose_batch(plan, fingerprint->count);
    while (plan->batch > SMALLEST_BATCH && plan_memory(plan, 1, 0) > request->memory) plan->batch--;
    return status;
}

/* ---- what follows from a plan ----------------------------------------------------------------------------------- */

/* Weights, their gradients, momentum and the copies that convolutions use. */
#define BYTES_PER_PARAMETER 16
/* Activations that stay, and the gradients beside them. */
#define KEPT_SHARE 1.95
enum { LOADED_BATCHES = 3 };

double plan_memory(const plan *plan, int samples, int bf16) {
    const double maps = topology_feature_maps(&plan->topology, plan->patch, plan->classes);
    const double network = topology_parameters(&plan->topology, plan->channels, plan->classes) * BYTES_PER_PARAMETER;
    const double patch = patch_voxels(plan->patch) * (4.0 * plan->channels + 2);
    return samples * maps * (bf16 ? 2 : 4) * KEPT_SHARE + network + LOADED_BATCHES * plan->batch * patch;
}

status_code plan_fits(const plan *plan, int bf16, double available, failure *failure) {
    const double needed = plan_memory(plan, 1, bf16);
    if (needed <= available) return STATUS_OK;
    return fail(failure, STATUS_OUT_OF_MEMORY,
                "training by the plan needs about %.1f GB, %.1f GB are available; end other programs, make the plan's "
                "patch smaller, let hws plan --replan do it%s",
                needed / 1e9, available / 1e9, bf16 ? "" : ", or try --precision bf16");
}

int plan_is_for(const plan *plan, const char *dataset) {
    char name[PLAN_NAME_SIZE];
    utf8_copy(name, sizeof name, dataset);
    return strcmp(plan->dataset, name) == 0;
}

preprocessing plan_preprocessing(const plan *plan, channel_rule *rules, int threads) {
    preprocessing how = {.channels = plan->channels, .rules = rules, .threads = threads};
    memcpy(how.spacing, plan->spacing, sizeof how.spacing);
    memcpy(how.unresampled, plan->unresampled, sizeof how.unresampled);
    for (int c = 0; c < plan->channels; c++) rules[c] = plan->channel[c].rule;
    return how;
}

uint64_t plan_preprocessing_checksum(const plan *plan) {
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, plan->spacing, sizeof plan->spacing);
    for (int k = 0; k < 3; k++) /* plans without it keep the checksum that they had */
        if (plan->unresampled[k]) crc64_add(&crc, &k, sizeof k);
    for (int c = 0; c < plan->channels; c++) {
        const channel_rule *rule = &plan->channel[c].rule;
        const int32_t kind[2] = {(int32_t)rule->kind, rule->kind == NORMALISE_ZSCORE && rule->masked};
        const double numbers[4] = {rule->mean, rule->deviation, rule->low, rule->high};
        crc64_add(&crc, kind, sizeof kind);
        if (rule->kind == NORMALISE_CT) crc64_add(&crc, numbers, sizeof numbers);
    }
    return crc64_value(&crc);
}

int plan_agrees(const plan *a, const plan *b) {
    int same = a->channels == b->channels && label_scheme_same(&a->labels, &b->labels) && a->bias == b->bias &&
               memcmp(a->unmirrored, b->unmirrored, sizeof a->unmirrored) == 0 &&
               a->topology.count == b->topology.count && memcmp(a->patch, b->patch, sizeof a->patch) == 0 &&
               plan_preprocessing_checksum(a) == plan_preprocessing_checksum(b);
    for (int k = 0; same && k < a->topology.count; k++) {
        const topology_stage *x = &a->topology.stages[k], *y = &b->topology.stages[k];
        same = x->features == y->features && x->blocks == y->blocks &&
               memcmp(x->kernel, y->kernel, sizeof x->kernel) == 0 &&
               memcmp(x->stride, y->stride, sizeof x->stride) == 0;
    }
    return same;
}

status_code plan_check_ensemble(const plan *const plans[2], const char *const names[2], const char *alone,
                                failure *failure) {
    if (!plan_agrees(plans[0], plans[1]))
        return fail(failure, STATUS_BAD_INPUT, "%.300s and %.300s were planned differently: %s", names[0], names[1],
                    alone);
    for (int c = 0; c < plans[0]->channels; c++)
        if (strcmp(plans[0]->channel[c].name, plans[1]->channel[c].name) != 0)
            return fail(failure, STATUS_BAD_INPUT, "channel %d of %.300s is %.100s, that of %.300s is %.100s: %s", c,
                        names[0], plans[0]->channel[c].name, names[1], plans[1]->channel[c].name, alone);
    return STATUS_OK;
}
