/* What must be done to an image before the network sees it and to the logits after: the metadata_props of a model, as
   docs/onnx.md describes them. */
#ifndef HWS_ONNX_ONNX_METADATA_H
#define HWS_ONNX_ONNX_METADATA_H

#include "core/text.h"
#include "onnx/onnx_network.h"

/* Adds them as fields of a ModelProto. */
void onnx_metadata_add(text *model, const onnx_network *network);

#endif
