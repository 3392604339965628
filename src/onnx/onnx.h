/*
 * Networks as ONNX models, which other programs run (onnxruntime and many more): hws export RUN --onnx FILE as a call.
 *
 * A model has one input, a batch of any size, channels first, and one output, the logits. What must be done to an image
 * before and to the logits after is told in its metadata; docs/onnx.md describes both.
 */
#ifndef HWS_ONNX_ONNX_H
#define HWS_ONNX_ONNX_H

#include "core/failure.h"
#include "run/run_folder.h"

enum { ONNX_SHAPE_SIZE = 96 };

typedef struct onnx_export_request {
    const char *run; /* or an exported model for segmentation (predict/model_folder.h) */
    const char *output;
    run_weights weights;
} onnx_export_request;

typedef struct onnx_export_outcome {
    const char *input;            /* its name */
    char shape[ONNX_SHAPE_SIZE];  /* of the input, such as "batch x 1 x 40 x 56 x 40" */
    char result[ONNX_SHAPE_SIZE]; /* of the logits */
    size_t bytes;
} onnx_export_outcome;

/* The file appears whole or not at all and replaces one that is there. */
status_code onnx_export(const onnx_export_request *request, onnx_export_outcome *outcome, failure *failure);

#endif
