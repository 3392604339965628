/* A graph run by plain loops in double: the same operations in the same order, from the references. */
#ifndef HWS_TESTS_PLAIN_GRAPH_H
#define HWS_TESTS_PLAIN_GRAPH_H

#include "nn/graph.h"

typedef struct plain_graph {
    const graph *graph;
    double **values; /* of each tensor; [0] is the input, which the caller fills */
    double *parameters;
} plain_graph;

/* With the parameters and the input that `graph` has now. */
plain_graph plain_graph_open(graph *graph);
void plain_graph_close(plain_graph *plain);

/* Batch normalisation uses the batch's statistics. */
void plain_graph_forward(plain_graph *plain);
const double *plain_graph_output(const plain_graph *plain, int index);

#endif
