#define _POSIX_C_SOURCE 200809L
#include "task/segmentation.h"

#include "core/arg_max.h"
#include "core/csv.h"
#include "model/segmentation_model.h"
#include "picture/outlines.h"
#include "task/mislabel.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Several threads make patches; each takes an augmenter out of the pool and puts it back. */
typedef struct augmenter_pool {
    pthread_mutex_t lock;
    augmenter **augmenters;
    int count, free;
} augmenter_pool;

struct segmentation {
    segmentation_data data;
    uint64_t seed;
    int batch;
    int64_t validation_patches; /* 0: one of each case */
    augmenter_pool augmenting, plain;
    mislabel_kind *wrong; /* of the training cases; NULL: all are right */
};

/* Iterations of validation patches; those of training stay far below. */
#define VALIDATION_ITERATION (UINT64_C(1) << 55)
#define PLAIN_ITERATION ((UINT64_C(1) << 55) + 1)

/* ---- patches ----------------------------------------------------------------------------------------------------- */

static status_code pool_open(augmenter_pool *pool, const augment_options *options, int count, failure *failure) {
    pthread_mutex_init(&pool->lock, 0);
    pool->augmenters = calloc((size_t)count, sizeof *pool->augmenters);
    if (!pool->augmenters) return fail_memory(failure, "the augmentation of patches");
    for (; pool->count < count; pool->count++) {
        const status_code status = augmenter_open(&pool->augmenters[pool->count], options, failure);
        if (status != STATUS_OK) return status;
    }
    pool->free = pool->count;
    return STATUS_OK;
}

static void pool_close(augmenter_pool *pool) {
    for (int k = 0; k < pool->count; k++) augmenter_close(&pool->augmenters[k]);
    free(pool->augmenters);
    pthread_mutex_destroy(&pool->lock);
}

static augmenter *pool_take(augmenter_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    augmenter *taken = pool->free ? pool->augmenters[--pool->free] : 0;
    pthread_mutex_unlock(&pool->lock);
    return taken;
}

static void pool_put_back(augmenter_pool *pool, augmenter *taken) {
    pthread_mutex_lock(&pool->lock);
    pool->augmenters[pool->free++] = taken;
    pthread_mutex_unlock(&pool->lock);
}

static status_code make_patch(augmenter_pool *pool, const patch_request *request, float *input, int16_t *labels,
                              failure *failure) {
    augmenter *taken = pool_take(pool);
    if (!taken) return fail(failure, STATUS_BAD_INPUT, "more threads make patches than were announced");
    const status_code status = augmenter_make(taken, request, input, labels, failure);
    pool_put_back(pool, taken);
    return status;
}

/* ---- the network and its examples -------------------------------------------------------------------------------- */

static status_code network(void *context, const train_settings *settings, learner_options *options, failure *failure) {
    const segmentation *s = context;
    (void)settings; /* the plan decides; what does not fit volumes was refused before they were read */
    (void)failure;
    segmentation_model(s->data.plan, &options->model);
    options->loss = s->data.plan->labels.regions ? LOSS_REGIONS : LOSS_DICE_CE;
    options->graph.recompute = 1;
    return STATUS_OK;
}

static size_t patch_voxels(const plan *plan) {
    return (size_t)plan->patch[0] * (size_t)plan->patch[1] * (size_t)plan->patch[2];
}

/* What --mislabel does to the labels of a patch. */
static void make_wrong(const segmentation *s, int64_t example, int16_t *labels) {
    const plan *plan = s->data.plan;
    const size_t voxels = patch_voxels(plan);
    if (!s->wrong || s->wrong[example] == MISLABEL_NOT) return;
    for (size_t v = 0; v < voxels; v++) labels[v] = mislabel_voxel(s->wrong[example], labels[v], plan->labels.classes);
}

/* A patch with the classes of its voxels. */
static status_code fill_classes(void *context, const task_request *request, failure *failure) {
    segmentation *s = context;
    const int plain = request->iteration == TASK_PLAIN;
    const patch_request patch = {
        .view = &s->data.train[request->example].view,
        .key = {s->seed, plain ? PLAIN_ITERATION : request->iteration,
                plain ? (uint32_t)request->example : request->slot},
        .forced = plain || patch_is_forced((int)request->slot, s->batch),
    };
    const status_code status =
        make_patch(plain ? &s->plain : &s->augmenting, &patch, request->input, request->labels, failure);
    if (status == STATUS_OK) make_wrong(s, request->example, request->labels);
    return status;
}

static status_code fill(void *context, const task_request *request, failure *failure) {
    const plan *plan = ((const segmentation *)context)->data.plan;
    const status_code status = fill_classes(context, request, failure);
    if (status == STATUS_OK) label_scheme_targets(&plan->labels, request->labels, patch_voxels(plan));
    return status;
}

static void name(void *context, int64_t example, text *name) {
    text_add(name, ((const segmentation *)context)->data.train[example].name);
}

static int group(void *context, int64_t example) { return ((const segmentation *)context)->data.train[example].group; }

/* ---- validation -------------------------------------------------------------------------------------------------- */

typedef struct counts {
    double hit, predicted, present;
} counts;

static void count_patch(const float *scores, const int16_t *labels, size_t voxels, int classes, counts *of) {
    for (size_t v = 0; v < voxels; v++) {
        if (labels[v] < 0) continue;
        const int said = arg_max(scores + v * (size_t)classes, classes);
        of[said].predicted++;
        of[labels[v]].present++;
        if (said == labels[v]) of[said].hit++;
    }
}

static void count_regions(const float *scores, const int16_t *labels, size_t voxels, int regions, counts *of) {
    for (size_t v = 0; v < voxels; v++)
        for (int r = 0; r < regions && labels[v] >= 0; r++) {
            const int said = scores[v * (size_t)regions + (size_t)r] > 0, is = labels[v] >> r & 1;
            of[r].predicted += said;
            of[r].present += is;
            of[r].hit += said && is;
        }
}

/* The first output that is scored: the background is not. */
static int first_scored(const segmentation *s) { return s->data.plan->labels.regions ? 0 : 1; }

/* Metrics: the mean Dice of all classes but the background, or of all regions, that of each, and the loss. */
static void metric(void *context, int index, text *name) {
    const segmentation *s = context;
    if (index == 0) text_add(name, "val_dice");
    else if (index == label_scheme_scored(&s->data.plan->labels) + 1) text_add(name, "val_loss");
    else text_format(name, "val_dice_%s", s->data.label_names[index - 1 + first_scored(s)]);
}

static status_code evaluate_case(segmentation *s, learner *l, int64_t index, double *loss, failure *failure) {
    const patch_request patch = {.view = &s->data.validation[index].view,
                                 .key = {s->seed, VALIDATION_ITERATION, (uint32_t)index},
                                 .forced = (int)(index & 1)};
    const status_code status = make_patch(&s->plain, &patch, learner_input(l), learner_labels(l), failure);
    if (status != STATUS_OK) return status;
    label_scheme_targets(&s->data.plan->labels, learner_labels(l), patch_voxels(s->data.plan));
    return learner_evaluate(l, 1, loss, failure);
}

static void count(const segmentation *s, learner *l, counts *of) {
    const float *scores = graph_output_values(learner_graph(l), 0);
    const plan *plan = s->data.plan;
    (plan->labels.regions ? count_regions : count_patch)(scores, learner_labels(l), patch_voxels(plan), plan->classes,
                                                         of);
}

/* The Dice of each that is scored, and before them their mean. */
static void score(const counts *of, int scored, double *values) {
    double sum = 0;
    int known = 0;
    for (int k = 0; k < scored; k++) {
        const double both = of[k].predicted + of[k].present;
        values[k + 1] = both > 0 ? 2 * of[k].hit / both : (double)NAN;
        if (both > 0) {
            sum += values[k + 1];
            known++;
        }
    }
    values[0] = known ? sum / known : (double)NAN;
}

/* How many of the validation cases are looked at. */
static int64_t validated(const segmentation *s) {
    const int64_t all = s->data.validation_count;
    return s->validation_patches && s->validation_patches < all ? s->validation_patches : all;
}

/* What the ranks have counted, which are whole numbers, and the losses in the order of the cases. */
static double join_cases(const ranks *r, const double *losses, int64_t cases, counts *each, int classes) {
    double sum = 0;
    ranks_gather_each(r, each, (size_t)classes * sizeof *each);
    for (int k = 1; k < r->count; k++)
        for (int c = 0; c < classes; c++) {
            each[c].hit += each[k * classes + c].hit;
            each[c].predicted += each[k * classes + c].predicted;
            each[c].present += each[k * classes + c].present;
        }
    for (int64_t k = 0; k < cases; k++) sum += losses[k];
    return sum;
}

/* Each rank takes a share of the validation cases. `of` has room for the counts of each rank;
   the first are the sums. */
static status_code evaluate_cases(segmentation *s, learner *l, const listener *listener, counts *of, double *loss_sum,
                                  failure *failure) {
    const ranks *r = learner_ranks(l);
    const int classes = s->data.plan->classes;
    const int64_t all = s->data.validation_count, cases = validated(s), first = ranks_start(r, cases, r->rank),
                  end = ranks_start(r, cases, r->rank + 1);
    status_code status = STATUS_OK;
    size_t sizes[RANKS_MAX];
    double *losses = calloc((size_t)cases + 1, sizeof *losses);
    if (!losses) status = fail_memory(failure, "the evaluation");
    for (int64_t k = first; k < end && status == STATUS_OK; k++) {
        status = listener_stops(listener) ? fail(failure, STATUS_STOPPED, "stopped while it was validated")
                                          : evaluate_case(s, l, k * all / cases, &losses[k], failure);
        if (status == STATUS_OK) count(s, l, of + r->rank * classes);
    }
    status = ranks_agree(r, status, failure);
    for (int k = 0; k < r->count; k++)
        sizes[k] = (size_t)(ranks_start(r, cases, k + 1) - ranks_start(r, cases, k)) * sizeof *losses;
    if (status == STATUS_OK) ranks_gather(r, losses, sizes);
    if (status == STATUS_OK) *loss_sum = join_cases(r, losses, cases, of, classes);
    free(losses);
    return status;
}

/* nnU-Net's pseudo-Dice: overlaps are added up over one patch of each validation case, or of some that are evenly
   spread over them and the same in every epoch; every second case's is forced onto foreground. */
static status_code evaluate(void *context, learner *l, const listener *listener, double *values, failure *failure) {
    segmentation *s = context;
    const int scored = label_scheme_scored(&s->data.plan->labels);
    counts *of = calloc((size_t)s->data.plan->classes * (size_t)learner_ranks(l)->count, sizeof *of);
    if (!of) return fail_memory(failure, "the evaluation");
    double loss_sum = 0;
    const int64_t some = validated(s);
    const status_code status = evaluate_cases(s, l, listener, of, &loss_sum, failure);
    score(of + first_scored(s), scored, values);
    values[scored + 1] = some ? loss_sum / (double)some : (double)NAN;
    free(of);
    return status;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

/* The plane of a patch with the most foreground. */
static int fullest_plane(const int16_t *labels, const int size[3]) {
    const size_t area = (size_t)size[1] * (size_t)size[2];
    int best = size[0] / 2;
    size_t most = 0;
    for (int z = 0; z < size[0]; z++) {
        size_t count = 0;
        for (size_t k = 0; k < area; k++) count += labels[(size_t)z * area + k] > 0;
        if (count > most) {
            most = count;
            best = z;
        }
    }
    return best;
}

/* A plane of a patch with what is and what is said to be there. */
typedef struct patch_plane {
    size_t height, width;
    int channels;
    const float *image; /* [height][width][channels] */
    const int16_t *labels;
    int16_t *said;
} patch_plane;

/* The first channel, which the labels are drawn over. */
static status_code draw_plane(const patch_plane *p, const char *path, failure *failure) {
    const size_t area = p->height * p->width;
    float *grey = malloc(area * sizeof *grey);
    if (!grey) return fail_memory(failure, "a picture");
    for (size_t k = 0; k < area; k++) grey[k] = p->image[k * (size_t)p->channels];
    const outlined_plane plane = {(int)p->width, (int)p->height, grey, p->labels, p->said};
    const status_code status = outlined_plane_save(&plane, path, failure);
    free(grey);
    return status;
}

/* Takes what the network says about a plane; the Dice of all foreground. */
static double predict_plane(patch_plane *p, const float *scores, const plan *plan) {
    double hit = 0, both = 0;
    for (size_t k = 0; k < p->height * p->width; k++) {
        p->said[k] = label_scheme_decode(&plan->labels, scores + k * (size_t)plan->classes, 0);
        hit += p->said[k] > 0 && p->said[k] == p->labels[k];
        both += (p->said[k] > 0) + (p->labels[k] > 0);
    }
    return both > 0 ? 2 * hit / both : 1;
}

/* The fullest plane of a patch in this slot: what the network says about it, as Dice, and a picture. */
static status_code show_one(const segmentation *s, learner *l, int slot, const task_exhibit *e, failure *failure) {
    const plan *plan = s->data.plan;
    const size_t height = (size_t)plan->patch[1], width = (size_t)plan->patch[2], voxels = patch_voxels(plan);
    const int16_t *labels = learner_labels(l) + (size_t)slot * voxels;
    const size_t plane_first = (size_t)fullest_plane(labels, plan->patch) * height * width,
                 first = (size_t)slot * voxels + plane_first;
    patch_plane plane = {.height = height,
                         .width = width,
                         .channels = plan->channels,
                         .image = learner_input(l) + first * (size_t)plan->channels,
                         .labels = labels + plane_first,
                         .said = malloc(height * width * sizeof *plane.said)};
    if (!plane.said) return fail_memory(failure, "a picture");
    const float *scores = graph_output_values(learner_graph(l), 0) + first * (size_t)plan->classes;
    snprintf(e->verdict->prediction, sizeof e->verdict->prediction, "Dice %.2f in this plane",
             predict_plane(&plane, scores, plan));
    const status_code status = draw_plane(&plane, e->path, failure);
    free(plane.said);
    return status;
}

/* Plain patches around foreground, with the classes of their voxels. */
static status_code show(void *context, learner *l, const task_exhibit *exhibits, int count, failure *failure) {
    const plan *plan = ((const segmentation *)context)->data.plan;
    const size_t voxels = patch_voxels(plan);
    status_code status = STATUS_OK;
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        const task_request request = {exhibits[k].example, TASK_PLAIN, (uint32_t)k,
                                      learner_input(l) + (size_t)k * voxels * (size_t)plan->channels,
                                      learner_labels(l) + (size_t)k * voxels};
        status = fill_classes(context, &request, failure);
    }
    if (status == STATUS_OK) status = learner_evaluate(l, count, 0, failure);
    for (int k = 0; k < count && status == STATUS_OK; k++) status = show_one(context, l, k, &exhibits[k], failure);
    return status;
}

static void describe(void *context, run_facts *facts) {
    const segmentation *s = context;
    facts->validation_cases = s->data.validation_count;
    for (int axis = 0; axis < 3; axis++) facts->patch[axis] = s->data.plan->patch[axis];
    facts->class_count = s->data.plan->classes;
    facts->class_names = s->data.label_names;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code choose_wrong(segmentation *s, const train_settings *settings, failure *failure) {
    s->wrong = calloc((size_t)s->data.train_count, sizeof *s->wrong);
    if (!s->wrong) return fail_memory(failure, "the wrong labels");
    mislabel_volumes(s->wrong, s->data.train_count, settings->mislabel, s->seed, s->data.plan->labels.classes);
    return STATUS_OK;
}

void task_segmentation_list_wrong(const segmentation *s, text *csv) {
    text_add(csv, "example,label,given\n");
    for (int64_t i = 0; s->wrong && i < s->data.train_count; i++) {
        if (s->wrong[i] == MISLABEL_NOT) continue;
        csv_add_field(csv, s->data.train[i].name);
        text_format(csv, ",right,%s\n", mislabel_kind_name(s->wrong[i]));
    }
}

status_code task_segmentation_open(task *t, segmentation **opened, const segmentation_data *data,
                                   const train_settings *settings, failure *failure) {
    segmentation *s = *opened = calloc(1, sizeof *s);
    if (!s) return fail_memory(failure, "the task");
    s->data = *data;
    s->seed = (uint64_t)settings->seed;
    s->validation_patches = settings->validation_patches;
    s->batch = (int)(settings->batch * (settings->objective == OBJECTIVE_OHEM ? settings->ohem_factor : 1));
    const augment_options usual = augment_options_for(data->plan, data->ignore);
    const augment_options plain = augment_options_plain(data->plan, data->ignore);
    status_code status = pool_open(&s->augmenting, &usual, data->fill_threads, failure);
    if (status == STATUS_OK) status = pool_open(&s->plain, &plain, data->fill_threads, failure);
    if (status == STATUS_OK && settings->mislabel > 0) status = choose_wrong(s, settings, failure);
    if (status != STATUS_OK) {
        task_segmentation_close(opened);
        return status;
    }
    *t = (task){.context = s,
                .kind = TASK_SEGMENTATION,
                .examples = data->train_count,
                .fingerprint = data->fingerprint,
                .former_fingerprint = data->former_fingerprint,
                .metrics = label_scheme_scored(&data->plan->labels) + 2,
                .best = 0,
                .network = network,
                .fill = fill,
                .name = name,
                .group = data->has_groups ? group : 0,
                .metric = metric,
                .evaluate = evaluate,
                .show = show,
                .describe = describe};
    return STATUS_OK;
}

void task_segmentation_close(segmentation **opened) {
    if (!opened || !*opened) return;
    pool_close(&(*opened)->augmenting);
    pool_close(&(*opened)->plain);
    free((*opened)->wrong);
    free(*opened);
    *opened = 0;
}
