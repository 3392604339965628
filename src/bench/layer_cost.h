/*
 * What each pass of one convolution costs: forward, backward data and backward weights, on random data, with everything
 * that a training step pays for it (packed or transformed weights included).
 */
#ifndef HWS_BENCH_LAYER_COST_H
#define HWS_BENCH_LAYER_COST_H

#include "bench/timings.h"
#include "nn/convolution.h"

enum { LAYER_PASSES = 3 };

typedef enum layer_pass { LAYER_FORWARD, LAYER_BACKWARD_DATA, LAYER_BACKWARD_WEIGHTS } layer_pass;

typedef struct layer_cost {
    timing pass[LAYER_PASSES];
    double gflop; /* of one pass, as the direct algorithm does it */
} layer_cost;

/* Of a planned convolution; `seconds` for each pass. */
status_code layer_cost_measure(const convolution *layer, double seconds, layer_cost *cost, failure *failure);

/* Multiply-adds that wait for nothing but each other, on all threads, in billions per second: the limit of this machine
   in f32. */
double peak_gflops(int threads);

#endif
