/* The part of hws predict that segments volumes. */
#ifndef HWS_CLI_PREDICT_VOLUMES_H
#define HWS_CLI_PREDICT_VOLUMES_H

#include "run/run_folder.h"

typedef struct volumes_prediction {
    const char *const *runs;
    int run_count;
    const char *input, *output;
    run_weights weights;
    int threads, bf16, mirror, overwrite, quiet;
    double step;
} volumes_prediction;

/* Prints and returns an exit code. */
int predict_volumes(const volumes_prediction *asked);

#endif
