/* A small checkpoint of every kind of value, written by our writer. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "fuzz_folder.h"
#include "testing.h"
#include "torch_file/torch_writer.h"

static void add_weights(torch_writer *writer, uint64_t *random) {
    float values[24];
    const size_t tensors = 1 + test_random(random) % 3;
    torch_begin_dict(writer, "network_weights");
    for (size_t t = 0; t < tensors; t++) {
        const size_t shape[] = {1 + test_random(random) % 2, 1 + test_random(random) % 3, 1 + test_random(random) % 4};
        const size_t rank = 1 + test_random(random) % 3;
        char name[32];
        for (size_t k = 0; k < 24; k++) values[k] = (float)(test_random(random) % 100) / 8;
        snprintf(name, sizeof name, "conv%zu.weight", t);
        const size_t storage = torch_add_tensor(writer, name, rank, shape, values);
        snprintf(name, sizeof name, "conv%zu.again", t);
        if (test_random(random) % 2) torch_add_tensor_again(writer, name, rank, shape, storage);
    }
    torch_end_dict(writer);
}

/* What our writer does not write, but other programs do: "_best_ema": 0.875 and "done": True. */
static const char NUMBER[] = "X\x09\0\0\0_best_emaG\x3f\xec\0\0\0\0\0\0s", TRUTH[] = "X\x04\0\0\0done\x88s";

size_t fuzz_example(uint64_t *random, uint8_t *bytes, size_t *front) {
    torch_writer writer;
    torch_writer_open(&writer, fuzz_path("made.pth"));
    torch_begin_dict(&writer, NULL);
    torch_add_string(&writer, "trainer_name", "nnUNetTrainer");
    torch_add_whole(&writer, "current_epoch", (long long)(test_random(random) % 100000));
    text_add_bytes(&writer.program, NUMBER, sizeof NUMBER - 1);
    text_add_bytes(&writer.program, TRUTH, sizeof TRUTH - 1);
    torch_add_none(&writer, "optimizer_state");
    torch_add_tuple(&writer, "inference_allowed_mirroring_axes", (int[]){0, 1, 2}, (int)(test_random(random) % 4));
    add_weights(&writer, random);
    torch_end_dict(&writer);
    require(torch_writer_close(&writer, NULL) == STATUS_OK);
    return *front = fuzz_get("made.pth", bytes);
}
