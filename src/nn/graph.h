/*
 * A network as a static graph: built once for fixed shapes, planned once, then run without allocating anything.
 *
 *     graph *g = graph_open(&options);
 *     tensor x = graph_input(g, (shape){64, {1, 28, 28}, 1});
 *     x = graph_convolution(g, "conv", x, &(convolution_options){.features = 16, .kernel = {1, 3, 3}});
 *     x = graph_norm(g, "norm", x, &(norm_options){.kind = NORM_BATCH, .slope = 0});
 *     x = graph_fully_connected(g, "classifier", graph_mean(g, x), 10, 1);
 *     graph_output(g, x);
 *     status = graph_plan(g, &failure);     reports the first mistake made while building, too
 *     graph_initialise(g, seed);
 *     loop: fill graph_input_values, graph_forward, read graph_output_values, fill graph_output_gradients,
 *           graph_backward (adds to the gradients)
 *
 * Activations are channels-last, [sample][depth][height][width][channel]; pictures have depth 1. The planner gives
 * every activation and gradient a place in one arena for as long as it is needed, and lets those that are never
 * needed together share it.
 *
 * With the same shapes and options, results are the same to the bit for any number of threads.
 */
#ifndef HWS_NN_GRAPH_H
#define HWS_NN_GRAPH_H

#include "core/failure.h"
#include "nn/convolution.h"
#include "nn/shape.h"

#include <stdint.h>

typedef struct graph graph;
typedef int tensor; /* NO_TENSOR after a mistake, which graph_plan reports */
enum { NO_TENSOR = -1 };

/*
 * The batch of which a graph works on some samples, the others being worked on by other processes. All zeros: it
 * works on the whole batch.
 *
 * Sums over samples (gradients of parameters, statistics of batch normalisation) are taken for each part of the batch
 * by itself, and those of the parts are joined in order. Parts are `part` neighbouring samples, the last one perhaps
 * fewer: so that the sums do not depend on who computes which parts.
 */
typedef struct graph_batch {
    int samples;    /* of the whole batch; 0: those of the graph */
    int part;       /* 0: all of the graph's are one part */
    int first_part; /* of those that this graph works on: its first sample begins this part */
    int idle;       /* 1: it has none of the batch and only takes part in the joins of training passes */
    void *context;
    /* Begins to fill in what the others know: values are [part of the batch][per_part], and this graph's
       are there. NULL: there are no others. Called by graph_forward in training and by graph_backward, in
       the same order everywhere. */
    void (*join)(void *context, double *values, size_t per_part);
    /* Returns when all of that is there; the backward pass does other work before it asks. NULL: `join` has waited. */
    void (*joined)(void *context);
    /* Tells in graph_backward that the gradients of parameters from this offset on are complete. May be NULL. */
    void (*ready)(void *context, size_t offset);
} graph_batch;

typedef struct graph_options {
    precision precision;               /* PRECISION_F32; of activations and their gradients */
    int threads;                       /* 1 */
    convolution_algorithm convolution; /* CONVOLUTION_AUTOMATIC, or DIRECT for no Winograd rounding */
    int inference;                     /* 0; 1 plans for graph_forward alone, in much less memory */
    int recompute;                     /* 0; 1 computes normalised activations a second time for the backward pass
                                          instead of keeping them: less memory, much less where they are stored
                                          (without Winograd, in bf16), for a few percent of time */
    graph_batch batch;                 /* all zeros */
} graph_options;

/* NULL if there is no memory. */
graph *graph_open(const graph_options *options);
void graph_close(graph **graph);

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* The input; a graph has one. */
tensor graph_input(graph *graph, shape shape);

typedef struct convolution_options {
    int features;
    int kernel[3];
    int stride[3]; /* 0 stands for 1 */
    int bias;
    tensor second; /* a second input, concatenated behind the first; used if has_second */
    int has_second;
    tensor addend; /* added to the result; used if has_addend */
    int has_addend;
} convolution_options;

/* Padding keeps the size at stride 1: kernel / 2 on each side. */
tensor graph_convolution(graph *graph, const char *name, tensor input, const convolution_options *options);

/* Kernel = stride, no padding: each input position becomes a block of outputs. */
tensor graph_transposed_convolution(graph *graph, const char *name, tensor input, int features, const int stride[3],
                                    int bias);

/* Over inputs of size 1x1x1. */
tensor graph_fully_connected(graph *graph, const char *name, tensor input, int features, int bias);

typedef enum norm_kind { NORM_BATCH, NORM_INSTANCE } norm_kind;

typedef struct norm_options {
    norm_kind kind;
    float slope;     /* of the leaky ReLU that follows: z above zero, slope * z below; 1 for none, 0 for ReLU */
    double epsilon;  /* 0 stands for 1e-5 */
    double momentum; /* 0 stands for 0.1; of the running statistics of batch normalisation */
    tensor addend;   /* added to the result before the activation: a residual; used if has_addend */
    int has_addend;
    int begins_at_zero; /* its weights begin at 0 instead of 1, so that a residual block begins as its addend alone */
} norm_options;

tensor graph_norm(graph *graph, const char *name, tensor input, const norm_options *options);

/* Leaky ReLU: z above zero, slope * z below. */
tensor graph_activation(graph *graph, tensor input, float slope);

typedef struct pool_options {
    int window[3], stride[3];
    int padding[3]; /* on each side, at most half of the window; what lies there is never the maximum */
} pool_options;

/* The first of equal maxima gets the gradient. Windows of at most 256 positions. */
tensor graph_max_pool(graph *graph, tensor input, const pool_options *options);
/* The mean over windows that lie side by side; what is left behind the last one counts for nothing. */
tensor graph_average_pool(graph *graph, tensor input, const int window[3]);
/* The mean over all positions. */
tensor graph_mean(graph *graph, tensor input);
/* In training each value is 0 with the chance `share`, and else divided by 1 - share; in evaluation it stays. A share
   of 0, and a graph for inference, need no layer: then it is the input. */
tensor graph_dropout(graph *graph, tensor input, double share);

/* Names an output; its logits are read and its gradients given in f32. */
void graph_output(graph *graph, tensor output);

status_code graph_plan(graph *graph, failure *failure);

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/*
 * One tensor of the flat block. Its name and its shape are those of a PyTorch state_dict; weights of convolutions lie
 * as [taps][input][output] inside, and graph_export and graph_import turn them.
 */
typedef struct parameter {
    char name[96];
    int64_t shape[5];
    int rank;
    size_t offset, count;
    int taps, inputs, outputs; /* of a filter; taps is 0 for a vector */
    double start, deviation;   /* it begins as normal numbers of this mean and standard deviation */
    int running;               /* 1: a running statistic, which is not trained */
} parameter;

int graph_parameter_count(const graph *graph);
const parameter *graph_parameter(const graph *graph, int index);

/* The flat blocks: trained parameters and their gradients; running statistics. */
size_t graph_trained_floats(const graph *graph);
float *graph_values(graph *graph);
/* Another block of trained parameters takes the place of the graph's own, which NULL brings back: for several networks
   of one shape. It is aligned to 64 bytes and stays the caller's. */
void graph_use_values(graph *graph, float *values);
float *graph_gradients(graph *graph);
size_t graph_running_floats(const graph *graph);
float *graph_running(graph *graph);

void graph_clear_gradients(graph *graph);

/* Where the gradients of the graph's parts go from now on: part k's to first + k * stride, like graph_gradients each.
   At first all are added to graph_gradients, in order, which is graph_gradients_by_part(graph,
   graph_gradients(graph), 0). */
void graph_gradients_by_part(graph *graph, float *first, size_t stride);
/* How many parts the graph's samples are; 0 if it is idle. */
int graph_parts(const graph *graph);

/* Replaces the standard deviation with which the weights of the layer that made `tensor` begin; it is He's,
   sqrt(2 / inputs of one output), otherwise. graph_begin_he: He's for the leaky ReLU of this slope. */
void graph_begin_with(graph *graph, tensor tensor, double deviation);
void graph_begin_he(graph *graph, tensor tensor, double slope);

/* Fills all parameters with random numbers that only the seed and the parameter's place decide. */
void graph_initialise(graph *graph, uint64_t seed);

/* The parameter, its gradient or its running statistic between the inner layout and PyTorch's. */
void graph_export(const parameter *parameter, const float *block, float *pytorch);
void graph_import(const parameter *parameter, const float *pytorch, float *block);

/* ---- running ----------------------------------------------------------------------------------------------------- */

shape graph_input_shape(const graph *graph);
/* Where the input is to be written, in f32; graph_forward reads it. */
float *graph_input_values(graph *graph);

int graph_output_count(const graph *graph);
shape graph_output_shape(const graph *graph, int index);
const float *graph_output_values(graph *graph, int index);
/* Where the gradients of the loss are to be written before graph_backward. */
float *graph_output_gradients(graph *graph, int index);

/* training: batch normalisation uses the batch's statistics and updates the running ones. */
void graph_forward(graph *graph, int training);
/* What dropout leaves out in training passes from now on: decided by the seed, the iteration and a sample's place in
   the batch, in which the graph's first one is number `first`; all zeros at first. */
void graph_set_dropout(graph *graph, uint64_t seed, int64_t iteration, int first);
/* After graph_forward with training = 1. Adds to the gradients. */
void graph_backward(graph *graph);

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Multiplications and additions of one forward and backward pass, as the direct algorithm would do them. */
double graph_flops(const graph *graph);
/* What the graph holds, in bytes. */
size_t graph_memory(const graph *graph);
/* One line per convolution: its name, shape and algorithm; for the records of a run. Returns the text's length without
   the final zero, like snprintf. */
size_t graph_describe(const graph *graph, char *text, size_t size);
/* The next convolution from `*place` on, which moves behind it; NULL at the end. Begin with 0. A fully connected layer
   is one, and a transposed convolution is one whose backward pass serves forward. */
const convolution *graph_next_convolution(const graph *graph, int *place);

#endif
