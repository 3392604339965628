/* hws bench train --layers: what each convolution of a network costs, beside what the machine can do. */
#ifndef HWS_CLI_BENCH_LAYERS_H
#define HWS_CLI_BENCH_LAYERS_H

#include "nn/graph.h"

/* Each different one once, `seconds` for all together; a table, or a JSON object each. */
int bench_layers(const graph *graph, double seconds, int json);

#endif
