#include "model/learner.h"
#include "core/memory.h"
#include "model/gradient_join.h"
#include "nn/supervision.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_OUTPUTS = MODEL_MAX_LEVELS, FEWEST_PARTS = 4, LARGEST_PART = 16 };

typedef struct output {
    shape shape;
    double weight;
    size_t stride[3];
    loss loss;
    int16_t *labels; /* of all examples of the micro-batch at this resolution; the finest ones are the caller's */
    char *workspaces;
    size_t workspace_bytes;
} output;

struct learner {
    learner_options options;
    graph *graph;
    int16_t *labels;
    size_t positions; /* of one example */
    output outputs[MAX_OUTPUTS];
    int output_count;
    float *state;
    size_t state_floats;
    int64_t steps;

    /* Several ranks: */
    const ranks *ranks;
    int part, *starts; /* examples of a part; the first part of each rank */
    int batch, whole;  /* examples of a batch; 1: they are worked on at once */
    gradient_join *join;
    int part_done; /* own parts of this batch whose backward pass is over */
};

static status_code open_output(learner *l, int index, failure *failure) {
    output *o = &l->outputs[index];
    const shape full = graph_output_shape(l->graph, 0);
    o->shape = graph_output_shape(l->graph, index);
    for (int axis = 0; axis < 3; axis++) o->stride[axis] = (size_t)(full.size[axis] / o->shape.size[axis]);
    o->loss = (loss){l->options.loss, shape_positions(&o->shape), (size_t)o->shape.channels, l->options.smoothing};
    const status_code status = loss_check(&o->loss, failure);
    if (status != STATUS_OK) return status;
    o->workspace_bytes = (loss_workspace(&o->loss) + 63) / 64 * 64;
    o->workspaces = memory_open((size_t)o->shape.samples * o->workspace_bytes + 64);
    o->labels = index ? memory_open(shape_rows(&o->shape) * sizeof(int16_t) + 64) : l->labels;
    return o->workspaces && o->labels ? STATUS_OK : fail_memory(failure, "the losses");
}

/* Enough parts for several processes, each large enough that to sum it by itself costs next to nothing. */
static int part_of(int batch) {
    const int fourth = batch / FEWEST_PARTS;
    return fourth < 1 ? 1 : fourth > LARGEST_PART ? LARGEST_PART : fourth;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

int learner_parts(const learner *l) { return (l->batch + l->part - 1) / l->part; }
const ranks *learner_ranks(const learner *l) { return l->ranks; }
int learner_takes_whole(const learner *l) { return l->whole; }

learner_share learner_of(const learner *l, int rank) {
    const int first = l->starts[rank] * l->part, end = l->starts[rank + 1] * l->part;
    return (learner_share){first < l->batch ? first : l->batch, end < l->batch ? end : l->batch};
}
learner_share learner_own(const learner *l) { return learner_of(l, l->ranks->rank); }

/* For graphs: values are [part][per_part]. */
static void join_parts(void *context, double *values, size_t per_part) {
    const learner *l = context;
    size_t sizes[RANKS_MAX];
    for (int k = 0; k < l->ranks->count; k++)
        sizes[k] = (size_t)(l->starts[k + 1] - l->starts[k]) * per_part * sizeof *values;
    ranks_begin_gather(l->ranks, values, sizes);
}

static void parts_joined(void *context) {
    const learner *l = context;
    ranks_end_gather(l->ranks);
}

static void send_complete(void *context, size_t offset) {
    learner *l = context;
    const int parts = l->whole ? l->starts[l->ranks->rank + 1] - l->starts[l->ranks->rank] : 1;
    gradient_join_ready(l->join, l->part_done, parts, offset);
}

/* Ranks get parts by their threads. */
static status_code divide(learner *l, failure *failure) {
    const ranks *r = l->ranks;
    int threads[RANKS_MAX];
    l->starts = malloc((size_t)(r->count + 1) * sizeof *l->starts);
    if (!l->starts) return fail_memory(failure, "the shares of the ranks");
    threads[r->rank] = l->options.graph.threads > 0 ? l->options.graph.threads : 1;
    ranks_gather_each(r, threads, sizeof *threads);
    ranks_divide(learner_parts(l), r->count, threads, l->starts);
    return STATUS_OK;
}

/* The graph of this rank's share; one that has none gets room for a part, to evaluate with. */
static void share_graph(learner *l) {
    graph_batch *batch = &l->options.graph.batch;
    const learner_share own = learner_own(l);
    batch->context = l;
    batch->ready = send_complete;
    if (!l->whole) return;
    batch->samples = l->batch;
    batch->first_part = l->starts[l->ranks->rank];
    batch->idle = own.first == own.end;
    batch->join = join_parts;
    batch->joined = parts_joined;
    l->options.model.input.samples = batch->idle ? l->part : own.end - own.first;
}

static status_code open_network(learner *l, failure *failure) {
    status_code status = optimizer_check(&l->options.optimizer, failure);
    l->ranks = l->options.ranks ? l->options.ranks : &RANKS_ALONE;
    const int samples = l->options.model.input.samples;
    l->whole = samples >= l->options.batch;
    l->batch = l->whole ? samples : l->options.batch;
    l->part = l->whole ? part_of(l->batch) : samples;
    l->options.graph.batch.part = l->part;
    if (status == STATUS_OK) status = divide(l, failure);
    if (status == STATUS_OK && l->ranks->count > 1) share_graph(l);
    if (status == STATUS_OK) status = model_open(&l->options.model, &l->options.graph, &l->graph, failure);
    if (status == STATUS_OK && l->ranks->count > 1)
        status = gradient_join_open(&l->join, l->ranks, graph_trained_floats(l->graph), l->starts, failure);
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code open_parts(learner *l, failure *failure) {
    status_code status = open_network(l, failure);
    if (status != STATUS_OK) return status;
    const shape first = graph_output_shape(l->graph, 0);
    l->positions = shape_positions(&first);
    l->labels = memory_open(shape_rows(&first) * sizeof *l->labels + 64);
    l->state_floats = optimizer_state_size(l->options.optimizer.kind, graph_trained_floats(l->graph));
    l->state = memory_open(l->state_floats * sizeof *l->state + 64);
    if (!l->labels || !l->state) return fail_memory(failure, "the optimiser");
    memset(l->labels, 0, shape_rows(&first) * sizeof *l->labels);
    memset(l->state, 0, l->state_floats * sizeof *l->state);
    double weights[MAX_OUTPUTS];
    l->output_count = graph_output_count(l->graph);
    supervision_weights((size_t)l->output_count, weights);
    for (int i = 0; i < l->output_count && status == STATUS_OK; i++) {
        l->outputs[i].weight = weights[i];
        status = open_output(l, i, failure);
    }
    return status;
}

status_code learner_open(const learner_options *options, learner **opened, failure *failure) {
    learner *l = *opened = calloc(1, sizeof *l);
    if (!l) return fail_memory(failure, "a learner");
    l->options = *options;
    const status_code status = open_parts(l, failure);
    if (status != STATUS_OK) learner_close(opened);
    return status;
}

void learner_close(learner **opened) {
    if (!opened || !*opened) return;
    learner *l = *opened;
    for (int i = 0; i < l->output_count; i++) {
        memory_close(l->outputs[i].workspaces);
        if (i) memory_close(l->outputs[i].labels);
    }
    memory_close(l->labels);
    memory_close(l->state);
    gradient_join_close(&l->join);
    free(l->starts);
    graph_close(&l->graph);
    free(l);
    *opened = 0;
}

int learner_micro_batch(const learner *l) { return l->options.model.input.samples; }
graph *learner_graph(learner *l) { return l->graph; }
const learner_options *learner_settings(const learner *l) { return &l->options; }
float *learner_input(learner *l) { return graph_input_values(l->graph); }
int16_t *learner_labels(learner *l) { return l->labels; }
size_t learner_state_floats(const learner *l) { return l->state_floats; }
float *learner_state(learner *l) { return l->state; }
int64_t learner_steps(const learner *l) { return l->steps; }
void learner_set_steps(learner *l, int64_t steps) { l->steps = steps; }

/* Of several ranks each keeps its own buckets alone. */
static void clear_gradients(learner *l) {
    size_t first = 0, end = 0;
    if (!l->join) graph_clear_gradients(l->graph);
    while (l->join && gradient_join_next(l->join, &first, &end))
        memset(graph_gradients(l->graph) + first, 0, (end - first) * sizeof(float));
}

void learner_begin(learner *l) {
    clear_gradients(l);
    l->part_done = 0;
    if (l->join) gradient_join_begin(l->join);
}

/* The outputs of one example, as the losses see them. */
static void outputs_of(learner *l, int example, int with_gradients, supervised_output *outputs) {
    for (int i = 0; i < l->output_count; i++) {
        const output *o = &l->outputs[i];
        const size_t positions = o->loss.positions, floats = (size_t)example * positions * o->loss.classes;
        outputs[i] = (supervised_output){.weight = o->weight,
                                         .positions = positions,
                                         .logits = graph_output_values(l->graph, i) + floats,
                                         .labels = o->labels + (size_t)example * positions,
                                         .workspace = o->workspaces + (size_t)example * o->workspace_bytes,
                                         .smoothing = o->loss.smoothing,
                                         .gradient = with_gradients ? graph_output_gradients(l->graph, i) + floats : 0};
    }
}

static void coarsen_labels(learner *l, int example) {
    const shape full = l->outputs[0].shape;
    const size_t size[3] = {(size_t)full.size[0], (size_t)full.size[1], (size_t)full.size[2]};
    for (int i = 1; i < l->output_count; i++)
        supervision_labels(size, l->outputs[i].stride, l->labels + (size_t)example * l->positions,
                           l->outputs[i].labels + (size_t)example * l->outputs[i].loss.positions);
}

static status_code losses_of(learner *l, int count, double *losses, failure *failure) {
    for (int example = 0; example < count; example++) {
        supervised_output outputs[MAX_OUTPUTS];
        coarsen_labels(l, example);
        outputs_of(l, example, 0, outputs);
        const status_code status = supervised_forward(l->options.loss, l->outputs[0].loss.classes,
                                                      (size_t)l->output_count, outputs, &losses[example], failure);
        if (status != STATUS_OK) return status;
    }
    return STATUS_OK;
}

/* Where the micro-batch begins in the batch. */
static int first_example(const learner *l) { return learner_own(l).first + (l->whole ? 0 : l->part_done * l->part); }

status_code learner_losses(learner *l, int count, double *losses, failure *failure) {
    graph_set_dropout(l->graph, l->options.seed, l->steps, first_example(l));
    graph_forward(l->graph, 1);
    return losses_of(l, count, losses, failure);
}

static void backward_losses(learner *l, int count, const double *weights) {
    for (int example = 0; example < learner_micro_batch(l); example++) {
        supervised_output outputs[MAX_OUTPUTS];
        outputs_of(l, example, 1, outputs);
        if (example >= count)
            for (int i = 0; i < l->output_count; i++) outputs[i].weight = 0;
        supervised_backward(l->options.loss, l->outputs[0].loss.classes, (size_t)l->output_count, outputs,
                            example < count ? weights[example] : 0);
    }
}

void learner_backward(learner *l, int count, const double *weights) {
    if (!l->options.graph.batch.idle) backward_losses(l, count, weights);
    if (l->join)
        graph_gradients_by_part(l->graph, gradient_join_part(l->join, l->part_done), graph_trained_floats(l->graph));
    graph_backward(l->graph);
    l->part_done += graph_parts(l->graph);
}

void learner_join(learner *l) {
    if (!l->join) return;
    gradient_join_finish(l->join, graph_gradients(l->graph));
    gradient_join_begin(l->join);
    l->part_done = 0;
}

double learner_gradient_norm(learner *l) {
    return l->join ? gradient_join_norm(l->join, graph_gradients(l->graph))
                   : gradient_norm(graph_trained_floats(l->graph), graph_gradients(l->graph));
}

/* The optimiser works on the buckets that this rank has joined. */
static void step_own(learner *l, double rate, double norm, const optimizer_block *block) {
    size_t first = 0, end = 0;
    while (gradient_join_next(l->join, &first, &end))
        optimizer_step_some(&l->options.optimizer, rate, l->steps + 1, norm, block, first, end);
    gradient_join_spread(l->join, block->parameters);
}

status_code learner_update(learner *l, double rate, double *norm, failure *failure) {
    const optimizer_block block = {graph_trained_floats(l->graph), graph_gradients(l->graph), graph_values(l->graph),
                                   l->state};
    const double measured = learner_gradient_norm(l);
    if (norm) *norm = measured;
    const status_code status = optimizer_allows(measured, l->steps + 1, failure);
    if (status != STATUS_OK) return status;
    if (l->join) step_own(l, rate, measured, &block);
    else optimizer_step_some(&l->options.optimizer, rate, l->steps + 1, measured, &block, 0, block.count);
    l->steps++;
    return STATUS_OK;
}

void learner_gather_state(learner *l) {
    const size_t floats = graph_trained_floats(l->graph);
    for (size_t done = 0; l->join && done < l->state_floats; done += floats)
        gradient_join_spread(l->join, l->state + done);
}

status_code learner_evaluate(learner *l, int count, double *losses, failure *failure) {
    graph_forward(l->graph, 0);
    return losses ? losses_of(l, count, losses, failure) : STATUS_OK;
}
