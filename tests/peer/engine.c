/*
 * The engine, to be compared with PyTorch by test_engine.py. Tensors come and go as safetensors files; settings are
 * their metadata.
 *
 * usage: peer_engine network IN OUT      trains a network for some steps on one batch
 *        peer_engine losses IN OUT       the losses of single examples, and their gradients
 *        peer_engine optimizers IN OUT   steps of one optimiser
 */
#include "model/learner.h"
#include "model/weights.h"
#include "nn/supervision.h"
#include "safetensors/safetensors.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static failure error;

static void check(status_code status) {
    if (status == STATUS_OK) return;
    fprintf(stderr, "peer_engine: %s\n", error.message);
    exit(1);
}

/* ---- in and out -------------------------------------------------------------------------------------------------- */

static safetensors *in;
static safetensors_writer *out;
static void *kept[4096]; /* until the file is written */
static int kept_count;

static void *keep(size_t bytes) {
    void *block = kept_count < 4096 ? aligned_alloc(64, (bytes + 127) / 64 * 64) : NULL;
    if (!block) exit(1);
    return kept[kept_count++] = block;
}

static const char *setting(const char *key) {
    const char *text = safetensors_metadata(in, key);
    if (text) return text;
    fprintf(stderr, "peer_engine: the file has no setting '%s'\n", key);
    exit(1);
}

static double number(const char *key) { return strtod(setting(key), NULL); }
static int is(const char *key, const char *value) { return strcmp(setting(key), value) == 0; }

static const safetensor *tensor_of(const char *name, size_t rank) {
    const safetensor *t = safetensors_find(in, name);
    if (t && t->rank == rank) return t;
    fprintf(stderr, "peer_engine: the file has no '%s' of rank %zu\n", name, rank);
    exit(1);
}

static void *give(const char *name, safetensors_dtype dtype, size_t rank, const size_t *shape) {
    size_t bytes = safetensors_dtype_size(dtype);
    for (size_t k = 0; k < rank; k++) bytes *= shape[k];
    void *data = keep(bytes);
    check(safetensors_add(out, &(safetensors_entry){name, dtype, rank, shape}, data, &error));
    return data;
}

/* ---- network ----------------------------------------------------------------------------------------------------- */

static void read_unet(model_options *m) {
    const safetensor *kernels = tensor_of("hws.kernels", 2), *strides = tensor_of("hws.strides", 2);
    const int32_t *blocks = tensor_of("hws.blocks", 1)->data;
    model_unet_defaults(m, (int)number("dimensions"));
    m->unet_levels = (int)number("levels");
    m->unet_base = (int)number("base");
    m->unet_max_pool = (int)number("max_pool");
    m->unet_bias = (int)number("bias");
    for (int level = 0; level < m->unet_levels; level++) {
        m->unet_blocks[level] = blocks[level];
        memcpy(m->unet_kernel[level], (const int32_t *)kernels->data + 3 * level, 3 * sizeof(int32_t));
        memcpy(m->unet_stride[level], (const int32_t *)strides->data + 3 * level, 3 * sizeof(int32_t));
    }
}

static convolution_algorithm algorithm(void) {
    if (is("convolution", "direct")) return CONVOLUTION_DIRECT;
    return is("convolution", "winograd") ? CONVOLUTION_WINOGRAD : CONVOLUTION_AUTOMATIC;
}

static loss_kind read_loss(void) {
    if (is("loss", "ce")) return LOSS_CROSS_ENTROPY;
    if (is("loss", "dice-ce")) return LOSS_DICE_CE;
    return is("loss", "dice") ? LOSS_DICE : LOSS_REGIONS;
}

static optimizer_options read_optimizer(void) {
    int kind = OPTIMIZER_SGD;
    while (kind < OPTIMIZER_ADAMW && !is("optimizer", optimizer_name((optimizer_kind)kind))) kind++;
    optimizer_options o = optimizer_options_default((optimizer_kind)kind);
    o.momentum = number("momentum");
    o.weight_decay = number("decay");
    o.clip_norm = number("clip");
    return o;
}

static learner_options read_settings(const safetensor *input) {
    learner_options o = {.optimizer = read_optimizer()};
    check(model_parse(setting("model"), &o.model, &error));
    o.model.input = (shape){
        (int)number("part"), {(int)input->shape[1], (int)input->shape[2], (int)input->shape[3]}, (int)input->shape[4]};
    o.model.classes = (int)number("classes");
    if (o.model.kind == MODEL_UNET) read_unet(&o.model);
    o.graph = (graph_options){.precision = is("precision", "bf16") ? PRECISION_BF16 : PRECISION_F32,
                              .threads = omp_get_max_threads(),
                              .convolution = algorithm(),
                              .recompute = (int)number("recompute")};
    o.loss = read_loss();
    o.smoothing = number("smoothing");
    return o;
}

typedef struct batch {
    size_t examples, part, input_floats, labels;
    const float *input;
    const int16_t *label;
    const double *weights;
    float *logits[8];
    size_t logit_floats[8];
} batch;

static batch read_batch(learner *l, const safetensor *input) {
    batch b = {.examples = input->shape[0], .part = (size_t)learner_micro_batch(l), .input = input->data};
    const shape in_shape = graph_input_shape(learner_graph(l)), first = graph_output_shape(learner_graph(l), 0);
    b.input_floats = shape_count(&in_shape) / b.part;
    b.labels = shape_positions(&first);
    b.label = tensor_of("hws.labels", 2)->data;
    b.weights = tensor_of("hws.weights", 1)->data;
    for (int i = 0; i < graph_output_count(learner_graph(l)); i++) {
        const shape s = graph_output_shape(learner_graph(l), i);
        char name[32];
        snprintf(name, sizeof name, "hws.logits.%d", i);
        b.logit_floats[i] = shape_positions(&s) * (size_t)s.channels;
        b.logits[i] =
            give(name, SAFETENSORS_F32, 5,
                 (size_t[]){b.examples, (size_t)s.size[0], (size_t)s.size[1], (size_t)s.size[2], (size_t)s.channels});
    }
    return b;
}

/* One part of the batch into the learner; how many examples it is. */
static size_t fill(learner *l, const batch *b, size_t first) {
    const size_t count = b->examples - first < b->part ? b->examples - first : b->part;
    memcpy(learner_input(l), b->input + first * b->input_floats, count * b->input_floats * sizeof(float));
    memcpy(learner_labels(l), b->label + first * b->labels, count * b->labels * sizeof(int16_t));
    return count;
}

static void keep_logits(learner *l, const batch *b, size_t first, size_t count) {
    for (int i = 0; i < graph_output_count(learner_graph(l)); i++)
        memcpy(b->logits[i] + first * b->logit_floats[i], graph_output_values(learner_graph(l), i),
               count * b->logit_floats[i] * sizeof(float));
}

static void keep_gradients(graph *g) {
    for (int i = 0; i < graph_parameter_count(g); i++) {
        const parameter *p = graph_parameter(g, i);
        char name[128];
        size_t shape[5];
        if (p->running) continue;
        for (int k = 0; k < p->rank; k++) shape[k] = (size_t)p->shape[k];
        snprintf(name, sizeof name, "hws.gradient.%s", p->name);
        graph_export(p, graph_gradients(g), give(name, SAFETENSORS_F32, (size_t)p->rank, shape));
    }
}

static void train(learner *l, const batch *b, size_t steps) {
    double *losses = give("hws.losses", SAFETENSORS_F64, 2, (size_t[]){steps, b->examples});
    double *norms = give("hws.norms", SAFETENSORS_F64, 1, (size_t[]){steps});
    for (size_t step = 0; step < steps; step++) {
        learner_begin(l);
        for (size_t first = 0; first < b->examples; first += b->part) {
            const size_t count = fill(l, b, first);
            check(learner_losses(l, (int)count, losses + step * b->examples + first, &error));
            if (step == 0) keep_logits(l, b, first, count);
            learner_backward(l, (int)count, b->weights + first);
        }
        if (step == 0) keep_gradients(learner_graph(l));
        check(learner_update(l, number("rate"), &norms[step], &error));
    }
}

/* Logits of the trained network, with running statistics. */
static void evaluate(learner *l, const batch *b) {
    float *logits = give("hws.evaluated", SAFETENSORS_F32, 2, (size_t[]){b->examples, b->logit_floats[0]});
    for (size_t first = 0; first < b->examples; first += b->part) {
        const size_t count = fill(l, b, first);
        check(learner_evaluate(l, (int)count, NULL, &error));
        memcpy(logits + first * b->logit_floats[0], graph_output_values(learner_graph(l), 0),
               count * b->logit_floats[0] * sizeof *logits);
    }
}

static void network(const char *from, const char *to) {
    const safetensor *input = tensor_of("hws.input", 5);
    const learner_options options = read_settings(input);
    const size_t steps = (size_t)number("steps");
    learner *l;
    weights_copy *weights;
    check(learner_open(&options, &l, &error));
    check(weights_take(in, from, learner_graph(l), NULL, &error));
    const batch b = read_batch(l, input);
    train(l, &b, steps);
    evaluate(l, &b);
    check(weights_add(out, learner_graph(l), (int64_t)steps, &weights, &error));
    check(safetensors_write(out, to, &error));
    weights_copy_close(&weights);
    learner_close(&l);
}

/* ---- losses and optimisers --------------------------------------------------------------------------------------- */

static void losses(const char *to) {
    const safetensor *logits = tensor_of("logits", 3); /* [example][position][class] */
    const size_t positions = logits->shape[1], classes = logits->shape[2], floats = positions * classes;
    const double *weights = tensor_of("weights", 1)->data;
    const loss loss = {read_loss(), positions, classes, number("smoothing")};
    check(loss_check(&loss, &error));
    void *workspace = keep(loss_workspace(&loss));
    double *values = give("losses", SAFETENSORS_F64, 1, logits->shape);
    float *gradients = give("gradients", SAFETENSORS_F32, 3, logits->shape), *copy = keep(floats * sizeof *copy);
    for (size_t k = 0; k < logits->shape[0]; k++) {
        const int16_t *labels = (const int16_t *)tensor_of("labels", 2)->data + k * positions;
        memcpy(copy, (const float *)logits->data + k * floats, floats * sizeof *copy);
        check(loss_forward(&loss, copy, labels, workspace, &values[k], &error));
        loss_backward(&loss, labels, workspace, weights[k], gradients + k * floats);
    }
    check(safetensors_write(out, to, &error));
}

static void optimizers(const char *to) {
    const safetensor *gradients = tensor_of("gradients", 2); /* [step][parameter] */
    const size_t steps = gradients->shape[0], count = gradients->shape[1];
    const optimizer_options options = read_optimizer();
    check(optimizer_check(&options, &error));
    const size_t state_bytes = optimizer_state_size(options.kind, count) * sizeof(float);
    float *state = memset(keep(state_bytes), 0, state_bytes), *gradient = keep(count * sizeof *gradient);
    float *values = give("parameters", SAFETENSORS_F32, 1, &count);
    memcpy(values, tensor_of("parameters", 1)->data, count * sizeof *values);
    for (size_t step = 0; step < steps; step++) {
        memcpy(gradient, (const float *)gradients->data + step * count, count * sizeof *gradient);
        const optimizer_block block = {count, gradient, values, state};
        const double norm = gradient_norm(count, gradient);
        check(optimizer_allows(norm, (int64_t)step + 1, &error));
        optimizer_step_some(&options, number("rate"), (int64_t)step + 1, norm, &block, 0, count);
    }
    check(safetensors_write(out, to, &error));
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    check(safetensors_open(&in, arguments[2], &error));
    check(safetensors_writer_open(&out, &error));
    if (strcmp(arguments[1], "network") == 0) network(arguments[2], arguments[3]);
    if (strcmp(arguments[1], "losses") == 0) losses(arguments[3]);
    if (strcmp(arguments[1], "optimizers") == 0) optimizers(arguments[3]);
    safetensors_writer_close(&out);
    safetensors_close(&in);
    while (kept_count) free(kept[--kept_count]);
    return 0;
}
