#include "plain_graph.h"
#include "core/random.h"
#include "nn/graph_inside.h"
#include "nn/purposes.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

plain_graph plain_graph_open(graph *g) {
    plain_graph plain = {g, calloc((size_t)g->node_count, sizeof *plain.values), 0};
    for (int i = 0; i < g->node_count; i++)
        plain.values[i] = calloc(shape_count(&g->nodes[i].shape), sizeof **plain.values);
    for (size_t i = 0; i < shape_count(&g->nodes[0].shape); i++) plain.values[0][i] = (double)graph_input_values(g)[i];
    plain.parameters = calloc(graph_trained_floats(g), sizeof *plain.parameters);
    for (size_t i = 0; i < graph_trained_floats(g); i++) plain.parameters[i] = (double)graph_values(g)[i];
    return plain;
}

void plain_graph_close(plain_graph *plain) {
    for (int i = 0; i < plain->graph->node_count; i++) free(plain->values[i]);
    free(plain->values);
    free(plain->parameters);
}

static const double *parameter_of(const plain_graph *plain, const op *o, int k) {
    const int index = o->parameters[k];
    return index == NOWHERE ? 0 : plain->parameters + plain->graph->parameters[index].offset;
}

/* The tensors a and b with their channels side by side. */
static double *join(const plain_graph *plain, int a, int b) {
    const shape *left = &plain->graph->nodes[a].shape, *right = &plain->graph->nodes[b].shape;
    const size_t rows = shape_rows(left), first = (size_t)left->channels, second = (size_t)right->channels;
    double *all = malloc(rows * (first + second) * sizeof *all);
    for (size_t r = 0; r < rows; r++) {
        memcpy(all + r * (first + second), plain->values[a] + r * first, first * sizeof *all);
        memcpy(all + r * (first + second) + first, plain->values[b] + r * second, second * sizeof *all);
    }
    return all;
}

static window window_of(const convolution *c) {
    window w = {.in = c->in, .features = c->features};
    memcpy(w.kernel, c->kernel, sizeof w.kernel);
    memcpy(w.stride, c->stride, sizeof w.stride);
    memcpy(w.padding, c->padding, sizeof w.padding);
    return w;
}

static void run_convolution(plain_graph *plain, const op *o, double *y) {
    const window w = window_of(&o->convolution);
    double *both = o->convolution.inputs > 1 ? join(plain, o->inputs[0], o->inputs[1]) : 0;
    reference_convolution(&w, parameter_of(plain, o, 0), parameter_of(plain, o, 1),
                          both ? both : plain->values[o->inputs[0]], y);
    free(both);
    if (o->addend == NOWHERE) return;
    for (size_t i = 0; i < shape_count(&o->convolution.out); i++) y[i] += plain->values[o->inputs[o->addend]][i];
}

/* A value is left out if 32 bits of its sample's stream, as a fraction, are below the share. */
static void run_dropout(const plain_graph *plain, const op *o, const shape *in, double *y) {
    const graph *g = plain->graph;
    const double *x = plain->values[o->inputs[0]];
    const size_t each = shape_count(in) / (size_t)in->samples;
    for (int sample = 0; sample < in->samples; sample++) {
        random_stream stream;
        random_start(&stream, g->dropout_seed, RANDOM_DROPOUT, g->dropout_iteration,
                     (uint32_t)o->layer * 1048576 + g->dropout_first + (uint32_t)sample);
        for (size_t i = 0; i < each; i++)
            *y++ = (double)random_bits(&stream, 32) / 4294967296 < o->share ? *x++ * 0 : *x++ / (1 - o->share);
    }
}

static void run_norm(plain_graph *plain, const op *o, const shape *in, double *y) {
    const int groups = o->norm.kind == NORM_INSTANCE ? in->samples : 1;
    reference_norm(groups, shape_rows(in) / (size_t)groups, in->channels, plain->values[o->inputs[0]],
                   parameter_of(plain, o, 0), parameter_of(plain, o, 1), o->norm.epsilon,
                   o->addend == NOWHERE ? (double)o->norm.slope : 1, y, 0, 0);
    for (size_t i = 0; o->addend != NOWHERE && i < shape_count(in); i++) {
        y[i] += plain->values[o->inputs[o->addend]][i];
        if (!(y[i] > 0)) y[i] *= (double)o->norm.slope;
    }
}

static window pool_of(const op *o, const shape *in) {
    window w = {.in = *in, .features = in->channels};
    memcpy(w.kernel, o->window, sizeof w.kernel);
    memcpy(w.stride, o->stride, sizeof w.stride);
    memcpy(w.padding, o->padding, sizeof w.padding);
    return w;
}

static void run_op(plain_graph *plain, const op *o) {
    const shape *in = &plain->graph->nodes[o->inputs[0]].shape, *out = &plain->graph->nodes[o->output].shape;
    const double *x = plain->values[o->inputs[0]];
    const char *kind = o->kind->name;
    double *y = plain->values[o->output];
    const int none[3] = {0, 0, 0};
    const window pool = pool_of(o, in);
    if (strcmp(kind, "convolution") == 0) run_convolution(plain, o, y);
    else if (strcmp(kind, "transposed convolution") == 0)
        reference_transposed(*in, *out, o->convolution.kernel, o->convolution.stride, none, parameter_of(plain, o, 0),
                             parameter_of(plain, o, 1), x, y);
    else if (strcmp(kind, "norm") == 0) run_norm(plain, o, in, y);
    else if (strcmp(kind, "max pool") == 0) reference_max_pool(&pool, x, y, 0);
    else if (strcmp(kind, "average pool") == 0) reference_average_pool(&pool, x, y);
    else if (strcmp(kind, "mean") == 0) reference_global_mean(*in, x, y);
    else if (strcmp(kind, "dropout") == 0) run_dropout(plain, o, in, y);
    else if (strcmp(kind, "activation") == 0)
        for (size_t i = 0; i < shape_count(in); i++) y[i] = x[i] > 0 ? x[i] : (double)o->slope * x[i];
    else {
        fprintf(stderr, "there is no plain '%s'\n", kind);
        abort();
    }
}

void plain_graph_forward(plain_graph *plain) {
    for (int i = 0; i < plain->graph->op_count; i++) run_op(plain, &plain->graph->ops[i]);
}

const double *plain_graph_output(const plain_graph *plain, int index) {
    return plain->values[plain->graph->outputs[index]];
}
