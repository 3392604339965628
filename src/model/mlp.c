/* The fully connected network of the paper's Assumption 1, with its initialisation; no biases. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>

void mlp_build(graph *g, const model_options *options, tensor x) {
    const double hidden = sqrt(2.0 / options->mlp_nodes);
    for (int layer = 0; layer <= options->mlp_layers; layer++) {
        char name[32];
        snprintf(name, sizeof name, "layers.%d", layer);
        x = graph_fully_connected(g, name, x, options->mlp_nodes, 0);
        graph_begin_with(g, x, hidden);
        x = graph_dropout(g, graph_activation(g, x, 0), options->dropout);
    }
    x = graph_fully_connected(g, "output", x, options->classes, 0);
    graph_begin_with(g, x, sqrt(1.0 / options->classes));
    graph_output(g, x);
}
