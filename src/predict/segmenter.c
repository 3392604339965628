#define _POSIX_C_SOURCE 200809L
#include "predict/segmenter.h"

#include "core/available.h"
#include "core/memory.h"
#include "model/model.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "nn/team.h"
#include "predict/model_folder.h"
#include "predict/probabilities.h"
#include "predict/sliding.h"
#include "preprocess/preprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct segmenter {
    segmenter_options options;
    plan plan;
    channel_rule rules[PLAN_MAX_CHANNELS];
    graph *graph;
    int models;
    float *weights; /* of all models, one after the other */
};

segmenter_options segmenter_options_default(void) {
    return (segmenter_options){.weights = RUN_WEIGHTS_BEST, .threads = 1, .step = 0.5, .mirror = 1};
}

const plan *segmenter_plan(const segmenter *p) { return &p->plan; }

int segmenter_threads(const segmenter *p) { return p->options.threads; }

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static status_code open_graph(segmenter *p, failure *failure) {
    const graph_options options = {
        .precision = p->options.bf16 ? PRECISION_BF16 : PRECISION_F32, .threads = p->options.threads, .inference = 1};
    return segmentation_model_open(&p->plan, &options, &p->graph, failure);
}

static status_code load_weights(segmenter *p, const char *model, int index, failure *failure) {
    char path[PATH_SIZE];
    status_code status = model_folder_weights(model, p->options.weights, path, failure);
    if (status == STATUS_OK) status = weights_load(p->graph, path, 0, failure);
    const size_t floats = graph_trained_floats(p->graph);
    if (status == STATUS_OK)
        memcpy(p->weights + (size_t)index * floats, graph_values(p->graph), floats * sizeof(float));
    return status;
}

static status_code open_parts(segmenter *p, const char *const *models, int count, failure *failure) {
    plan *other = malloc(sizeof *other);
    status_code status = other ? model_folder_plan(models[0], &p->plan, failure) : fail_memory(failure, "the plans");
    if (status == STATUS_OK) status = open_graph(p, failure);
    if (status == STATUS_OK) {
        p->weights = memory_open((size_t)count * graph_trained_floats(p->graph) * sizeof(float) + 64);
        if (!p->weights) status = fail_memory(failure, "the weights");
    }
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        status = model_folder_plan(models[k], other, failure);
        if (status == STATUS_OK)
            status =
                plan_check_ensemble((const plan *const[2]){&p->plan, other},
                                    (const char *const[2]){models[0], models[k]}, "predict with each alone", failure);
        if (status == STATUS_OK) status = load_weights(p, models[k], k, failure);
    }
    free(other);
    return status;
}

status_code segmenter_open(segmenter **opened, const segmenter_options *options, const char *const *models, int count,
                           failure *failure) {
    segmenter *p = *opened = calloc(1, sizeof *p);
    if (!p) return fail_memory(failure, "the segmenter");
    p->options = *options;
    p->models = count;
    if (options->adapts) team_open(options->threads);
    const status_code status = open_parts(p, models, count, failure);
    if (status != STATUS_OK) segmenter_close(opened);
    return status;
}

void segmenter_close(segmenter **opened) {
    if (!opened || !*opened) return;
    graph_close(&(*opened)->graph);
    memory_close((*opened)->weights);
    free(*opened);
    *opened = 0;
}

/* ---- one image --------------------------------------------------------------------------------------------------- */

/* What the windows' scores become: labels at once, or scores that wait to be resampled. */
typedef struct collection {
    segmenter *segmenter;
    const case_geometry *geometry;
    const listener *listener;
    int16_t *labels; /* on the preprocessed grid */
    float *scores;   /* [voxel][output] */
    float *scratch;  /* of one patch's outputs, if probabilities are averaged */
    size_t mapped;   /* bytes, if the scores lie in a file */
} collection;

/* What the network says about its input, as what is averaged. */
static const float *outputs_of(const segmenter *p, float *scratch) {
    const shape out = graph_output_shape(p->graph, 0);
    const size_t classes = (size_t)p->plan.classes, count = shape_count(&out);
    const float *logits = graph_output_values(p->graph, 0);
    if (p->options.average == AVERAGE_LOGITS) return logits;
    memcpy(scratch, logits, count * sizeof *scratch);
#pragma omp parallel for schedule(static) num_threads(team_size(p->options.threads))
    for (size_t k = 0; k < count; k += classes) probabilities_of(&p->plan.labels, scratch + k, 1);
    return scratch;
}

/* scores = or += a model's share of the mean. */
static void add_share(const segmenter *p, int model, const float *values, float *scores, size_t count) {
#pragma omp parallel for schedule(static) num_threads(team_size(p->options.threads))
    for (size_t k = 0; k < count; k++) scores[k] = (model ? scores[k] : 0) + values[k] / (float)p->models;
}

static int all_finite(const segmenter *p, const float *scores, size_t count) {
    int finite = 1;
    /* No reduction: clang's needs a lock that the library would export. */
#pragma omp parallel for schedule(static) num_threads(team_size(p->options.threads))
    for (size_t k = 0; k < count; k++) {
        if (isfinite(scores[k])) continue;
#pragma omp atomic write
        finite = 0;
    }
    return finite;
}

static status_code score(void *context, const float *patch, float *scores, failure *failure) {
    const collection *c = context;
    const segmenter *p = c->segmenter;
    const shape in = graph_input_shape(p->graph), out = graph_output_shape(p->graph, 0);
    const size_t floats = graph_trained_floats(p->graph), count = shape_count(&out);
    memcpy(graph_input_values(p->graph), patch, shape_count(&in) * sizeof *patch);
    for (int model = 0; model < p->models; model++) {
        if (p->models > 1) graph_use_values(p->graph, p->weights + (size_t)model * floats);
        team_step_begin();
        graph_forward(p->graph, 0);
        team_step_end();
        add_share(p, model, outputs_of(p, c->scratch), scores, count);
    }
    if (all_finite(p, scores, count)) return STATUS_OK;
    return fail(failure, STATUS_FAILED,
                "the network gives no number: its training diverged, so train it anew, with a smaller rate");
}

/* Above which a region is there. */
static float threshold_of(const segmenter *p) { return p->options.average == AVERAGE_LOGITS ? 0 : 0.5f; }

static status_code plane(void *context, int depth, const float *scores, failure *failure) {
    const collection *c = context;
    const int *size = c->geometry->size, classes = c->segmenter->plan.classes;
    const size_t area = (size_t)size[1] * (size_t)size[2], start = (size_t)depth * area;
    (void)failure;
    if (c->scores) {
        memcpy(c->scores + start * (size_t)classes, scores, area * (size_t)classes * sizeof *scores);
        return STATUS_OK;
    }
    for (size_t k = 0; k < area; k++) {
        const float *of = scores + k * (size_t)classes;
        c->labels[start + k] = label_scheme_decode(&c->segmenter->plan.labels, of, threshold_of(c->segmenter));
    }
    return STATUS_OK;
}

static status_code tell(void *context, size_t done, size_t all, failure *failure) {
    const collection *c = context;
    listener_progress(c->listener, "predicting", done, all);
    return listener_stops(c->listener) ? fail(failure, STATUS_STOPPED, "stopped after %zu of %zu windows", done, all)
                                       : STATUS_OK;
}

/* A file without a name, as memory; 0 and errno tell of a failure. */
static void *map_nameless(char *path, size_t bytes) {
    const int file = mkstemp(path);
    if (file < 0) return 0;
    unlink(path);
    /* Space that is reserved now: a disk that fills up later would kill the program. */
    const int full = posix_fallocate(file, 0, (off_t)bytes);
    void *map = full ? MAP_FAILED : mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = full ? full : errno;
    close(file);
    errno = error;
    return map == MAP_FAILED ? 0 : map;
}

/* Scores in a file: the system writes out what does not fit into memory. */
static float *map_scores(const char *folder, size_t bytes, failure *failure) {
    char path[PATH_SIZE];
    if (path_join(path, folder, "hws-scores-XXXXXX", failure) != STATUS_OK) return 0;
    float *scores = map_nameless(path, bytes);
    if (!scores)
        (void)fail(failure, STATUS_CANNOT_WRITE,
                   "%.500s: %.1f GB of scores cannot be put there (%s): free some space, or name another folder",
                   folder, (double)bytes / 1e9, strerror(errno));
    return scores;
}

static status_code open_collection(collection *c, int want_scores, failure *failure) {
    const segmenter_options *o = &c->segmenter->options;
    const size_t voxels = case_geometry_voxels(c->geometry);
    const shape out = graph_output_shape(c->segmenter->graph, 0);
    if (o->average != AVERAGE_LOGITS && !(c->scratch = memory_open(shape_count(&out) * sizeof *c->scratch)))
        return fail_memory(failure, "the probabilities of a patch");
    if (!want_scores && memcmp(c->geometry->size, c->geometry->box.size, sizeof c->geometry->size) == 0) {
        c->labels = memory_open(voxels * sizeof *c->labels);
        return c->labels ? STATUS_OK : fail_memory(failure, "the labels");
    }
    const size_t bytes = voxels * (size_t)c->segmenter->plan.classes * sizeof *c->scores;
    if (o->temporary && (double)bytes > (o->memory > 0 ? o->memory : memory_available()) / 2) {
        c->scores = map_scores(o->temporary, bytes, failure);
        c->mapped = c->scores ? bytes : 0;
        return c->scores ? STATUS_OK : STATUS_CANNOT_WRITE;
    }
    c->scores = memory_open(bytes);
    return c->scores ? STATUS_OK : fail_memory(failure, "the scores of an image");
}

static void close_collection(collection *c) {
    memory_close(c->labels);
    memory_close(c->scratch);
    if (c->mapped) munmap(c->scores, c->mapped);
    else memory_close(c->scores);
}

/* What an output says where the image was empty: certainly background. */
static float outside(const segmenter *p, int output) {
    const int background = !p->plan.labels.regions && output == 0;
    if (p->options.average != AVERAGE_LOGITS) return background ? 1 : 0;
    return background ? 0 : -INFINITY;
}

static status_code restore_probabilities(const collection *c, const class_scores *scores, float *probabilities,
                                         failure *failure) {
    const size_t voxels = case_geometry_original_voxels(c->geometry);
    const int threads = c->segmenter->options.threads;
    status_code status = STATUS_OK;
    for (int k = 0; k < scores->classes && status == STATUS_OK; k++) {
        const score_map map = class_score_map(scores, k, outside(c->segmenter, k));
        status = restore_score_map(c->geometry, &map, threads, probabilities + (size_t)k * voxels, failure);
    }
    if (status != STATUS_OK || c->segmenter->options.average != AVERAGE_LOGITS) return status;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (size_t v = 0; v < voxels; v++) probabilities_of(&c->segmenter->plan.labels, probabilities + v, voxels);
    return STATUS_OK;
}

/* Each region by itself, later ones over earlier ones. */
static status_code restore_regions(const collection *c, const class_scores *scores, int16_t *labels, failure *failure) {
    const segmenter *p = c->segmenter;
    const size_t voxels = case_geometry_original_voxels(c->geometry);
    float *map = memory_open(voxels * sizeof *map);
    status_code status = map ? STATUS_OK : fail_memory(failure, "a region");
    memset(labels, 0, voxels * sizeof *labels);
    for (int r = 0; r < scores->classes && status == STATUS_OK; r++) {
        const score_map region = class_score_map(scores, r, outside(p, r));
        status = restore_score_map(c->geometry, &region, p->options.threads, map, failure);
        for (size_t v = 0; v < voxels && status == STATUS_OK; v++)
            if (map[v] > threshold_of(p)) labels[v] = p->plan.labels.region[r].writes;
    }
    memory_close(map);
    return status;
}

static status_code restore_classes(const collection *c, const class_scores *scores, int16_t *labels, failure *failure) {
    const int threads = c->segmenter->options.threads;
    if (c->labels) return restore_labels(c->geometry, c->labels, threads, labels, failure);
    if (c->segmenter->plan.labels.regions) return restore_regions(c, scores, labels, failure);
    return restore_scores(c->geometry, scores, threads, labels, failure);
}

static status_code restore(const collection *c, const segmenter_output *output, failure *failure) {
    const plan *plan = &c->segmenter->plan;
    const class_scores scores = {plan->classes, c->scores, (size_t)plan->classes, 1};
    status_code status = STATUS_OK;
    if (output->labels) status = restore_classes(c, &scores, output->labels, failure);
    if (output->labels && status == STATUS_OK)
        label_scheme_to_values(&plan->labels, output->labels, case_geometry_original_voxels(c->geometry));
    if (output->probabilities && status == STATUS_OK)
        status = restore_probabilities(c, &scores, output->probabilities, failure);
    return status;
}

static status_code slide(segmenter *p, const prepared_case *prepared, const segmenter_output *output,
                         const listener *listener, failure *failure) {
    collection c = {.segmenter = p, .geometry = &prepared->geometry, .listener = listener};
    sliding s = {.channels = prepared->channels,
                 .image = prepared->image,
                 .classes = p->plan.classes,
                 .step = p->options.step,
                 .threads = p->options.threads};
    for (int axis = 0; axis < 3; axis++) {
        s.size[axis] = prepared->geometry.size[axis];
        s.patch[axis] = p->plan.patch[axis];
        /* A slice is its own mirror image. */
        s.mirror[axis] = p->options.mirror && s.patch[axis] > 1 && !p->plan.unmirrored[axis];
    }
    const sliding_calls calls = {&c, score, plane, tell};
    status_code status = open_collection(&c, output->probabilities != 0, failure);
    if (status == STATUS_OK) status = sliding_run(&s, &calls, failure);
    if (status == STATUS_OK) status = restore(&c, output, failure);
    close_collection(&c);
    return status;
}

status_code segmenter_run(segmenter *p, const volume *image, const segmenter_output *output, const listener *listener,
                          failure *failure) {
    prepared_case prepared;
    const preprocessing how = plan_preprocessing(&p->plan, p->rules, p->options.threads);
    status_code status = preprocess(&how, image, 0, &prepared, failure);
    if (status != STATUS_OK) return status;
    status = slide(p, &prepared, output, listener, failure);
    prepared_case_close(&prepared);
    return status;
}

status_code segmenter_label(segmenter *p, const volume *image, const listener *listener, label_map *labels,
                            failure *failure) {
    *labels = (label_map){0};
    status_code status = label_map_open(labels, &image->grid, failure);
    if (status == STATUS_OK)
        status = segmenter_run(p, image, &(segmenter_output){.labels = labels->labels}, listener, failure);
    if (status != STATUS_OK) label_map_close(labels);
    return status;
}
