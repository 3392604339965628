/* What the operations of a graph and its planner share. */
#ifndef HWS_NN_GRAPH_INSIDE_H
#define HWS_NN_GRAPH_INSIDE_H

#include "core/printf_like.h"
#include "nn/convolution_inside.h"
#include "nn/graph.h"
#include "nn/graph_layers.h"

enum { OP_INPUTS = 3, OP_PARAMETERS = 4, MAX_OUTPUTS = 16, NOWHERE = -1 };

typedef struct op op;

/* An operation: what it computes and what its backward pass reads. One file each. */
typedef struct op_kind {
    const char *name;
    layer_kind layer;
    int joins; /* it takes part in joins (graph_batch), also without samples */
    void (*forward)(graph *graph, op *op, int training);
    /* Writes or adds to the gradients of the inputs (gradient_of, accumulates) and adds to those of the parameters, but
       for those that backward_parameters adds to. */
    void (*backward)(graph *graph, op *op);
    /* Comes later than `backward`, but before the next operation writes anything but sums to be joined. May be NULL. */
    void (*backward_parameters)(graph *graph, op *op);
    int backward_reads_inputs, backward_reads_output;
    int gradient_in_place;                   /* the gradient of input 0 may take the place of the output's */
    void (*recompute)(graph *graph, op *op); /* the output from the inputs, without other effects; NULL if it cannot */
} op_kind;

/* Those that graph_plan.c knows apart. */
extern const op_kind op_convolution, op_norm, op_residual_norm;

struct op {
    const op_kind *kind;
    int inputs[OP_INPUTS], input_count, output;
    int addend; /* which input is merely added to the result, or -1 */
    int accumulate[OP_INPUTS];
    int parameters[OP_PARAMETERS]; /* indices, or NOWHERE */
    size_t scratch_bytes;
    size_t joined_doubles;
    size_t state_floats, state_offset; /* what forward keeps for backward beside activations */
    char name[64];

    convolution convolution; /* of convolutions, transposed ones and fully connected layers */
    int samples_in_line;     /* of fully connected layers: the samples are the positions of one line */
    int bias_cancels;        /* an instance norm follows, which takes the bias away again */
    norm_options norm;
    int window[3], stride[3], padding[3]; /* of pools */
    float slope;
    double share; /* of dropout: how much is left out */
    int layer;    /* of dropout: how many came before */
};

typedef struct place {
    size_t offset, bytes;
    int first, last; /* steps between which it is needed; first > last: never */
} place;

typedef struct node {
    shape shape;
    int producer; /* op, or NOWHERE for the input */
    int needs_gradient;
    int scaled_on_reading; /* its readers compute it from what its producer, a norm, reads; it is stored nowhere */
    int gradient_root;     /* whose place the gradient shares; itself at first */
    place value, recomputed, gradient;
    char *current; /* where the value is at this time */
    int consumers, only_consumer;
} node;

struct graph {
    graph_options options;
    failure failure; /* the first mistake made while building */
    node *nodes;
    int node_count;
    size_t node_capacity;
    op *ops;
    int op_count;
    size_t op_capacity;
    parameter *parameters;
    int parameter_count;
    size_t parameter_capacity;
    int outputs[MAX_OUTPUTS], output_count;
    int planned;
    int dropout_layers;
    uint64_t dropout_seed, dropout_iteration;
    uint32_t dropout_first; /* where the first sample stands in the batch */

    size_t trained_floats, running_floats, state_floats, arena_bytes, scratch_bytes, io_floats, joined_doubles;
    float *values; /* own_values, or those of the caller */
    float *own_values, *gradients, *running, *states;
    float *part_gradients; /* of the graph's first part */
    size_t part_stride;
    int idle; /* in this pass */
    int late; /* the op whose backward_parameters is still to come, or NOWHERE */
    char *arena, *scratch;
    double *joined; /* sums that are joined with those of others, which may take a while */
    float *io;      /* the input and, in bf16, the outputs and their gradients in f32 */
    size_t output_values[MAX_OUTPUTS], output_gradients[MAX_OUTPUTS];
    int *recompute_first; /* per node: the op whose backward pass needs it again first, or NOWHERE */
};

/* Building. Each returns NOWHERE or NULL after a mistake. */
int graph_fails(graph *graph, const char *format, ...) PRINTF_LIKE(2, 3);
node *node_of(graph *graph, tensor tensor);
op *graph_new_op(graph *graph, const op_kind *kind, const char *name, const tensor *inputs, int input_count,
                 shape output);
/* The parameter NAME.SUFFIX with the shape, the beginning and the kind that `like` has; its
   other fields do not matter. */
int graph_new_parameter(graph *graph, const char *name, const char *suffix, const parameter *like);

/* Running. */
/* Does what is left of the backward pass behind: to be called by an operation that joins while others' sums arrive, and
   before it writes gradients. */
void graph_backward_late(graph *graph);
static inline const kernels *graph_kernels(const graph *g) { return kernels_for(g->options.precision); }
static inline size_t graph_number(const graph *g) { return precision_bytes(g->options.precision); }
static inline char *value_of(const graph *g, int n) { return g->nodes[n].current; }
/* NULL if it is not needed. */
static inline char *gradient_of(const graph *g, int n) {
    const node *node = &g->nodes[n];
    return node->needs_gradient ? g->arena + g->nodes[node->gradient_root].gradient.offset : 0;
}
/* The tensor from which the readers of n read its value. */
static inline int stored_node(const graph *g, int n) {
    return g->nodes[n].scaled_on_reading ? g->ops[g->nodes[n].producer].inputs[0] : n;
}
/* What they make of it, if it is not n. */
convolution_scaling norm_scaling(const graph *graph, const op *norm);
static inline float *parameter_values(const graph *g, const op *op, int k) {
    return op->parameters[k] == NOWHERE ? 0 : g->values + g->parameters[op->parameters[k]].offset;
}
static inline int has_parameter(const op *op, int k) { return op->parameters[k] != NOWHERE; }
/* Of one of the graph's parts. */
static inline float *parameter_gradients(const graph *g, const op *op, int k, int part) {
    return g->part_gradients + (size_t)part * g->part_stride + g->parameters[op->parameters[k]].offset;
}

/* The parts of the batch that this graph works on, and how many there are in all. */
static inline int batch_samples(const graph *g) {
    return g->options.batch.samples ? g->options.batch.samples : g->nodes[0].shape.samples;
}
static inline int part_size(const graph *g) {
    return g->options.batch.part ? g->options.batch.part : g->nodes[0].shape.samples;
}
static inline int batch_parts(const graph *g) { return (batch_samples(g) + part_size(g) - 1) / part_size(g); }
static inline int part_first(const graph *g, int part) { return part * part_size(g); }
static inline int part_samples(const graph *g, int part) {
    return smaller(part_size(g), g->nodes[0].shape.samples - part_first(g, part));
}
/* `rows` rows of floats at the front of the scratch memory for each thread alone. */
static inline float *own_rows(const graph *g, int rows, int channels) {
    return (float *)(void *)g->scratch + (size_t)thread_share().index * (size_t)rows * (size_t)channels;
}
static inline float *state_of(const graph *g, const op *op) { return g->states + op->state_offset; }

#endif
