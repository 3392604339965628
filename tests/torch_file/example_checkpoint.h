/* A small checkpoint, written by our writer. */
#ifndef HWS_TESTS_TORCH_FILE_EXAMPLE_CHECKPOINT_H
#define HWS_TESTS_TORCH_FILE_EXAMPLE_CHECKPOINT_H

#include "torch_file/torch_writer.h"

static const float EXAMPLE_WEIGHT[6] = {0.5f, -1, 2, 3, 4, 0x1p-60f}, EXAMPLE_BIAS[3] = {1, 2, 3};

static inline status_code write_example_checkpoint(const char *path, failure *failure) {
    torch_writer writer;
    torch_writer_open(&writer, path);
    torch_begin_dict(&writer, NULL);
    torch_add_string(&writer, "trainer_name", "nnUNetTrainer");
    torch_add_whole(&writer, "current_epoch", 1000);
    torch_add_none(&writer, "optimizer_state");
    torch_add_tuple(&writer, "inference_allowed_mirroring_axes", (int[]){0, 1, 2}, 3);
    torch_begin_dict(&writer, "network_weights");
    torch_add_tensor(&writer, "conv.weight", 2, (size_t[]){2, 3}, EXAMPLE_WEIGHT);
    torch_add_tensor(&writer, "conv.bias", 1, (size_t[]){3}, EXAMPLE_BIAS);
    torch_end_dict(&writer);
    torch_end_dict(&writer);
    return torch_writer_close(&writer, failure);
}

#endif
