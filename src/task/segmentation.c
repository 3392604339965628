#define _POSIX_C_SOURCE 200809L
#include "task/segmentation.h"

#include "core/arg_max.h"
#include "model/segmentation_model.h"
#include "picture/outlines.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Patches are made by several threads; each takes a maker from the shelf and puts it back. */
typedef struct shelf {
    pthread_mutex_t lock;
    augmenter **makers;
    int count, free;
} shelf;

struct segmentation {
    segmentation_data data;
    uint64_t seed;
    int batch;
    shelf augmenting, plain;
};

/* Iterations of validation patches; those of training stay far below. */
#define VALIDATION_ITERATION (UINT64_C(1) << 55)
#define PLAIN_ITERATION ((UINT64_C(1) << 55) + 1)

/* ---- makers ------------------------------------------------------------------------------------------------------ */

static status_code shelf_open(shelf *s, const augment_options *options, int count, failure *failure) {
    pthread_mutex_init(&s->lock, 0);
    s->makers = calloc((size_t)count, sizeof *s->makers);
    if (!s->makers) return fail_memory(failure, "the makers of patches");
    for (; s->count < count; s->count++) {
        const status_code status = augmenter_open(&s->makers[s->count], options, failure);
        if (status != STATUS_OK) return status;
    }
    s->free = s->count;
    return STATUS_OK;
}

static void shelf_close(shelf *s) {
    for (int k = 0; k < s->count; k++) augmenter_close(&s->makers[k]);
    free(s->makers);
    pthread_mutex_destroy(&s->lock);
}

static augmenter *take(shelf *s) {
    pthread_mutex_lock(&s->lock);
    augmenter *maker = s->free ? s->makers[--s->free] : 0;
    pthread_mutex_unlock(&s->lock);
    return maker;
}

static void put_back(shelf *s, augmenter *maker) {
    pthread_mutex_lock(&s->lock);
    s->makers[s->free++] = maker;
    pthread_mutex_unlock(&s->lock);
}

static status_code make(shelf *s, const segmentation_case *one, const patch_key *key, int forced, float *input,
                        int16_t *labels, failure *failure) {
    augmenter *maker = take(s);
    if (!maker) return fail(failure, STATUS_BAD_INPUT, "more threads make patches than were announced");
    const status_code status =
        augmenter_make(maker, &(patch_request){&one->view, *key, forced}, input, labels, failure);
    put_back(s, maker);
    return status;
}

/* ---- the network and its examples -------------------------------------------------------------------------------- */

static status_code network(void *context, const train_settings *settings, learner_options *options, failure *failure) {
    const segmentation *s = context;
    (void)settings, (void)failure;
    segmentation_model(s->data.plan, &options->model);
    options->loss = LOSS_DICE_CE;
    options->graph.recompute = 1;
    return STATUS_OK;
}

static status_code fill(void *context, int64_t example, uint64_t iteration, uint32_t slot, float *input,
                        int16_t *labels, failure *failure) {
    segmentation *s = context;
    const int plain = iteration == TASK_PLAIN;
    const patch_key key = {s->seed, plain ? PLAIN_ITERATION : iteration, plain ? (uint32_t)example : slot};
    return make(plain ? &s->plain : &s->augmenting, &s->data.train[example], &key,
                plain ? 1 : patch_is_forced((int)slot, s->batch), input, labels, failure);
}

/* Without what would break rows of CSV files and names of files. */
static void plain_name(char *name) {
    for (char *at = name; *at; at++)
        if (*at == ',' || *at == '"' || *at == '\n' || *at == '/') *at = ' ';
}

static void name(void *context, int64_t example, char name[TASK_NAME]) {
    snprintf(name, TASK_NAME, "%s", ((const segmentation *)context)->data.train[example].name);
    plain_name(name);
}

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

/* Metrics: the mean Dice of all classes but the background, that of each, and the loss. */
static void metric(void *context, int index, char name[TASK_NAME]) {
    const segmentation *s = context;
    if (index == 0) snprintf(name, TASK_NAME, "val_dice");
    else if (index == s->data.plan->classes) snprintf(name, TASK_NAME, "val_loss");
    else snprintf(name, TASK_NAME, "val_dice_%s", s->data.label_names[index]);
    plain_name(name);
}

/* nnU-Net's pseudo-Dice: overlaps are added up over one patch of each validation case, every second one forced onto
   foreground. */
static status_code evaluate(void *context, learner *l, double *values, failure *failure) {
    segmentation *s = context;
    const int classes = s->data.plan->classes;
    const shape out = graph_output_shape(learner_graph(l), 0);
    counts *of = calloc((size_t)classes, sizeof *of);
    if (!of) return fail_memory(failure, "the evaluation");
    double loss_sum = 0;
    status_code status = STATUS_OK;
    for (int64_t k = 0; k < s->data.validation_count && status == STATUS_OK; k++) {
        const patch_key key = {s->seed, VALIDATION_ITERATION, (uint32_t)k};
        double loss = 0;
        status =
            make(&s->plain, &s->data.validation[k], &key, (int)(k & 1), learner_input(l), learner_labels(l), failure);
        if (status == STATUS_OK) status = learner_evaluate(l, 1, &loss, failure);
        if (status != STATUS_OK) break;
        count_patch(graph_output_values(learner_graph(l), 0), learner_labels(l), shape_positions(&out), classes, of);
        loss_sum += loss;
    }
    double sum = 0;
    int known = 0;
    for (int c = 1; c < classes; c++) {
        const double both = of[c].predicted + of[c].present;
        values[c] = both > 0 ? 2 * of[c].hit / both : (double)NAN;
        if (both > 0) {
            sum += values[c];
            known++;
        }
    }
    values[0] = known ? sum / known : (double)NAN;
    values[classes] = s->data.validation_count ? loss_sum / (double)s->data.validation_count : (double)NAN;
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

/* The first channel of a plane, which the labels are drawn over. */
static status_code draw(const float *image, int channels, const int16_t *labels, const int16_t *said, const int size[3],
                        const char *path, failure *failure) {
    const size_t area = (size_t)size[1] * (size_t)size[2];
    float *grey = malloc(area * sizeof *grey);
    if (!grey) return fail_memory(failure, "a picture");
    for (size_t k = 0; k < area; k++) grey[k] = image[k * (size_t)channels];
    const outlined_plane plane = {size[2], size[1], grey, labels, said};
    const status_code status = outlined_plane_save(&plane, path, failure);
    free(grey);
    return status;
}

/* A plain patch around foreground: what the network says about it, as Dice, and a picture. */
static status_code show(void *context, learner *l, int64_t example, const char *path, task_verdict *verdict,
                        failure *failure) {
    segmentation *s = context;
    const int classes = s->data.plan->classes, *size = s->data.plan->patch;
    status_code status = fill(s, example, TASK_PLAIN, 0, learner_input(l), learner_labels(l), failure);
    if (status == STATUS_OK) status = learner_evaluate(l, 1, 0, failure);
    if (status != STATUS_OK) return status;
    const size_t area = (size_t)size[1] * (size_t)size[2];
    const int plane = fullest_plane(learner_labels(l), size);
    const float *scores = graph_output_values(learner_graph(l), 0) + (size_t)plane * area * (size_t)classes;
    const int16_t *labels = learner_labels(l) + (size_t)plane * area;
    int16_t *said = malloc(area * sizeof *said);
    if (!said) return fail_memory(failure, "a picture");
    double hit = 0, both = 0;
    for (size_t k = 0; k < area; k++) {
        said[k] = (int16_t)arg_max(scores + k * (size_t)classes, classes);
        hit += said[k] > 0 && said[k] == labels[k];
        both += (said[k] > 0) + (labels[k] > 0);
    }
    verdict->label[0] = 0;
    snprintf(verdict->prediction, sizeof verdict->prediction, "Dice %.2f in this plane", both > 0 ? 2 * hit / both : 1);
    const int channels = s->data.plan->channels;
    status =
        draw(learner_input(l) + (size_t)plane * area * (size_t)channels, channels, labels, said, size, path, failure);
    free(said);
    return status;
}

static void describe(void *context, text *json) {
    const segmentation *s = context;
    const plan *p = s->data.plan;
    text_format(json, "    \"validation_cases\": %lld,\n    \"patch\": [%d, %d, %d],\n    \"classes\": [",
                (long long)s->data.validation_count, p->patch[0], p->patch[1], p->patch[2]);
    for (int k = 0; k < p->classes; k++) {
        if (k) text_add(json, ", ");
        settings_string(json, s->data.label_names[k]);
    }
    text_add(json, "],\n");
}

/* ------------------------------------------------------------------------------------------------------------------ */

status_code task_segmentation_open(task *t, segmentation **opened, const segmentation_data *data,
                                   const train_settings *settings, failure *failure) {
    segmentation *s = *opened = calloc(1, sizeof *s);
    if (!s) return fail_memory(failure, "the task");
    s->data = *data;
    s->seed = (uint64_t)settings->seed;
    s->batch = (int)(settings->batch * (strcmp(settings->objective, "ohem") == 0 ? settings->ohem_factor : 1));
    const augment_options usual = augment_options_for(data->plan, data->ignore);
    const augment_options plain = augment_options_plain(data->plan, data->ignore);
    status_code status = shelf_open(&s->augmenting, &usual, data->makers, failure);
    if (status == STATUS_OK) status = shelf_open(&s->plain, &plain, data->makers, failure);
    if (status != STATUS_OK) {
        task_segmentation_close(opened);
        return status;
    }
    *t = (task){.context = s,
                .kind = "segmentation",
                .examples = data->train_count,
                .fingerprint = data->fingerprint,
                .metrics = data->plan->classes + 1,
                .best = 0,
                .network = network,
                .fill = fill,
                .name = name,
                .metric = metric,
                .evaluate = evaluate,
                .show = show,
                .describe = describe};
    return STATUS_OK;
}

void task_segmentation_close(segmentation **opened) {
    if (!opened || !*opened) return;
    shelf_close(&(*opened)->augmenting);
    shelf_close(&(*opened)->plain);
    free(*opened);
    *opened = 0;
}
