/* A trained network for inference with what ONNX wants to know about it. */
#ifndef HWS_ONNX_ONNX_NETWORK_H
#define HWS_ONNX_ONNX_NETWORK_H

#include "plan/plan.h"
#include "predict/classifier.h"

typedef struct onnx_network {
    graph *graph;          /* with its weights, for inference */
    classifier classifier; /* classification: whose graph it is */
    plan *plan;            /* segmentation, else NULL; owned, as are its graph and the names of its outputs */
    char **labels;
    int axes[3], axis_count; /* which of depth, height and width the input has: slices have two, a table none */
    int flattens;            /* the network takes all pixels of an image as one row */
    const char *input;       /* what the input is called: "patch", "image" or "features" */
} onnx_network;

/* Close it when STATUS_OK. */
status_code onnx_network_open(onnx_network *network, const char *folder, run_weights weights, failure *failure);
void onnx_network_close(onnx_network *network);

/* How many outputs, and the name of each; `number` is where one that has none is written. */
int onnx_network_outputs(const onnx_network *network);
const char *onnx_network_label(const onnx_network *network, int output, char number[16]);

#endif
