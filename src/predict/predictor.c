#define _POSIX_C_SOURCE 200809L
#include "predict/predictor.h"

#include "core/arg_max.h"
#include "core/memory.h"
#include "model/model.h"
#include "model/segmentation_model.h"
#include "model/weights.h"
#include "predict/sliding.h"
#include "preprocess/preprocess.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct predictor {
    predictor_options options;
    plan plan;
    channel_rule rules[PLAN_MAX_CHANNELS];
    graph *graph;
    int runs;
    float *weights; /* of all runs, one after the other; what graph_values holds */
};

predictor_options predictor_options_default(void) {
    return (predictor_options){.weights = RUN_WEIGHTS_BEST, .threads = 1, .step = 0.5, .mirror = 1};
}

const plan *predictor_plan(const predictor *p) { return &p->plan; }

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static status_code read_plan(const char *run, plan *plan, failure *failure) {
    char path[PATH_SIZE];
    const status_code status = run_path(path, run, RUN_PLAN, failure);
    return status == STATUS_OK ? plan_read(plan, path, failure) : status;
}

static status_code open_graph(predictor *p, failure *failure) {
    model_options model;
    segmentation_model(&p->plan, &model);
    model.unet_heads = 0;
    const graph_options options = {
        .precision = p->options.bf16 ? PRECISION_BF16 : PRECISION_F32, .threads = p->options.threads, .inference = 1};
    return model_open(&model, &options, &p->graph, failure);
}

static status_code load_run(predictor *p, const char *run, int index, failure *failure) {
    char path[PATH_SIZE];
    status_code status = run_path(path, run, run_weights_file(p->options.weights), failure);
    if (status == STATUS_OK) status = weights_load(p->graph, path, 0, failure);
    const size_t floats = graph_trained_floats(p->graph);
    if (status == STATUS_OK)
        memcpy(p->weights + (size_t)index * floats, graph_values(p->graph), floats * sizeof(float));
    return status;
}

static status_code open_parts(predictor *p, const char *const *runs, int count, failure *failure) {
    plan *other = malloc(sizeof *other);
    status_code status = other ? read_plan(runs[0], &p->plan, failure) : fail_memory(failure, "the plans");
    if (status == STATUS_OK) status = open_graph(p, failure);
    if (status == STATUS_OK) {
        p->weights = memory_open((size_t)count * graph_trained_floats(p->graph) * sizeof(float) + 64);
        if (!p->weights) status = fail_memory(failure, "the weights");
    }
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        status = read_plan(runs[k], other, failure);
        if (status == STATUS_OK && !plan_agrees(&p->plan, other))
            status = fail(failure, STATUS_BAD_INPUT,
                          "%.300s and %.300s were planned differently: predict with each alone", runs[0], runs[k]);
        if (status == STATUS_OK) status = load_run(p, runs[k], k, failure);
    }
    free(other);
    return status;
}

status_code predictor_open(predictor **opened, const predictor_options *options, const char *const *runs, int count,
                           failure *failure) {
    predictor *p = *opened = calloc(1, sizeof *p);
    if (!p) return fail_memory(failure, "the predictor");
    p->options = *options;
    p->runs = count;
    const status_code status = open_parts(p, runs, count, failure);
    if (status != STATUS_OK) predictor_close(opened);
    return status;
}

void predictor_close(predictor **opened) {
    if (!opened || !*opened) return;
    graph_close(&(*opened)->graph);
    memory_close((*opened)->weights);
    free(*opened);
    *opened = 0;
}

/* ---- one image --------------------------------------------------------------------------------------------------- */

/* What the windows' scores become: labels at once, or scores that wait to be resampled. */
typedef struct collection {
    predictor *predictor;
    const case_geometry *geometry;
    int16_t *labels; /* on the preprocessed grid */
    float *scores;   /* [voxel][class] */
    size_t mapped;   /* bytes, if the scores lie in a file */
} collection;

static status_code score(void *context, const float *patch, float *scores, failure *failure) {
    const predictor *p = ((const collection *)context)->predictor;
    const shape in = graph_input_shape(p->graph), out = graph_output_shape(p->graph, 0);
    const size_t floats = graph_trained_floats(p->graph), count = shape_count(&out);
    (void)failure;
    memcpy(graph_input_values(p->graph), patch, shape_count(&in) * sizeof *patch);
    for (int run = 0; run < p->runs; run++) {
        if (p->runs > 1) memcpy(graph_values(p->graph), p->weights + (size_t)run * floats, floats * sizeof(float));
        graph_forward(p->graph, 0);
        const float *values = graph_output_values(p->graph, 0);
        for (size_t k = 0; k < count; k++) scores[k] = (run ? scores[k] : 0) + values[k] / (float)p->runs;
    }
    return STATUS_OK;
}

static status_code plane(void *context, int depth, const float *scores, failure *failure) {
    const collection *c = context;
    const int *size = c->geometry->size, classes = c->predictor->plan.classes;
    const size_t area = (size_t)size[1] * (size_t)size[2], start = (size_t)depth * area;
    (void)failure;
    if (c->scores) {
        memcpy(c->scores + start * (size_t)classes, scores, area * (size_t)classes * sizeof *scores);
        return STATUS_OK;
    }
    for (size_t k = 0; k < area; k++) {
        const float *of = scores + k * (size_t)classes;
        c->labels[start + k] = (int16_t)arg_max(of, classes);
    }
    return STATUS_OK;
}

static status_code tell(void *context, size_t done, size_t all, failure *failure) {
    const predictor *p = ((const collection *)context)->predictor;
    return p->options.progress ? p->options.progress(p->options.context, done, all, failure) : STATUS_OK;
}

/* Scores in a file that has no name any more: the system writes out what does not fit into memory. */
static float *map_scores(const char *folder, size_t bytes) {
    char path[PATH_SIZE];
    if (path_join(path, folder, "hws-scores-XXXXXX", 0) != STATUS_OK) return 0;
    const int file = mkstemp(path);
    if (file < 0) return 0;
    unlink(path);
    /* Room that is there already: a disk that fills up later would end the program. */
    void *map = posix_fallocate(file, 0, (off_t)bytes) == 0
                    ? mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                    : MAP_FAILED;
    close(file);
    return map == MAP_FAILED ? 0 : map;
}

static status_code open_collection(collection *c, failure *failure) {
    const predictor_options *o = &c->predictor->options;
    const size_t voxels = case_geometry_voxels(c->geometry);
    if (memcmp(c->geometry->size, c->geometry->box.size, sizeof c->geometry->size) == 0) {
        c->labels = memory_open(voxels * sizeof *c->labels);
        return c->labels ? STATUS_OK : fail_memory(failure, "the labels");
    }
    const size_t bytes = voxels * (size_t)c->predictor->plan.classes * sizeof *c->scores;
    if (o->temporary && (double)bytes > (o->memory > 0 ? o->memory : memory_available()) / 2) {
        c->scores = map_scores(o->temporary, bytes);
        c->mapped = c->scores ? bytes : 0;
        if (!c->scores)
            return fail(failure, STATUS_CANNOT_WRITE,
                        "%.500s has no room for %.1f GB of scores: free some, or name another folder", o->temporary,
                        (double)bytes / 1e9);
    } else {
        c->scores = memory_open(bytes);
    }
    return c->scores ? STATUS_OK : fail_memory(failure, "the scores of an image");
}

static void close_collection(collection *c) {
    memory_close(c->labels);
    if (c->mapped) munmap(c->scores, c->mapped);
    else memory_close(c->scores);
}

static status_code restore(const collection *c, int16_t *original, failure *failure) {
    const int threads = c->predictor->options.threads;
    if (c->labels) return restore_labels(c->geometry, c->labels, threads, original, failure);
    const class_scores scores = {c->predictor->plan.classes, c->scores, (size_t)c->predictor->plan.classes, 1};
    return restore_scores(c->geometry, &scores, threads, original, failure);
}

static status_code slide(predictor *p, const prepared_case *prepared, int16_t *original, failure *failure) {
    collection c = {.predictor = p, .geometry = &prepared->geometry};
    sliding s = {
        .channels = prepared->channels, .image = prepared->image, .classes = p->plan.classes, .step = p->options.step};
    for (int axis = 0; axis < 3; axis++) {
        s.size[axis] = prepared->geometry.size[axis];
        s.patch[axis] = p->plan.patch[axis];
        s.mirror[axis] = p->options.mirror;
    }
    const sliding_calls calls = {&c, score, plane, tell};
    status_code status = open_collection(&c, failure);
    if (status == STATUS_OK) status = sliding_run(&s, &calls, failure);
    if (status == STATUS_OK) status = restore(&c, original, failure);
    close_collection(&c);
    return status;
}

status_code predictor_run(predictor *p, const volume *image, label_map *labels, failure *failure) {
    *labels = (label_map){0};
    prepared_case prepared;
    const preprocessing how = plan_preprocessing(&p->plan, p->rules, p->options.threads);
    status_code status = preprocess(&how, image, 0, &prepared, failure);
    if (status != STATUS_OK) return status;
    status = label_map_open(labels, &image->grid, failure);
    if (status == STATUS_OK) status = slide(p, &prepared, labels->labels, failure);
    prepared_case_close(&prepared);
    if (status != STATUS_OK) label_map_close(labels);
    return status;
}
