/* What the algorithms and their planner share. */
#ifndef HWS_NN_CONVOLUTION_INSIDE_H
#define HWS_NN_CONVOLUTION_INSIDE_H

#include "nn/convolution.h"
#include "nn/work.h"

enum { CONVOLUTION_MAX_TAPS = 343, SCRATCH_ALIGNMENT = 64 };

static inline int convolution_taps(const convolution *c) { return c->kernel[0] * c->kernel[1] * c->kernel[2]; }
static inline int panels_of(int channels) { return (channels + KERNEL_PANEL - 1) / KERNEL_PANEL; }
static inline size_t aligned_bytes(size_t bytes) {
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}
static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline int larger(int a, int b) { return a > b ? a : b; }

/* The parts of the samples that are there, and how many the whole batch has. */
static inline int convolution_part(const convolution *c) { return c->part ? c->part : c->in.samples; }
static inline int convolution_parts(const convolution *c) {
    return (c->in.samples + convolution_part(c) - 1) / convolution_part(c);
}
static inline int convolution_batch_parts(const convolution *c) {
    return ((c->batch ? c->batch : c->in.samples) + convolution_part(c) - 1) / convolution_part(c);
}

/* Gradients of weights are sums over positions in f32. So many are added up one after the other, or a few more;
   then their sum is added to that of those before. Rounding grows with the length of a chain, up to 1e-3 of
   sums over whole volumes. */
enum { LONGEST_CHAIN = 2048 };

/* Whether the sums of a part need more than one chain. */
static inline int convolution_has_chains(const convolution *c) {
    return (size_t)convolution_part(c) * shape_positions(&c->out) > LONGEST_CHAIN;
}

/* A line of an image by its coordinates. */
typedef struct line_place {
    int sample, depth, height;
} line_place;

/* One part: the convolution of its samples, and where they are. */
typedef struct convolution_piece {
    convolution convolution;
    const void *inputs[2];
    const void *gradient;
} convolution_piece;

static inline convolution_piece convolution_piece_at(const convolution *c, const void *const inputs[2],
                                                     const void *gradient, int part) {
    const size_t first = (size_t)part * (size_t)convolution_part(c), number = precision_bytes(c->precision);
    convolution_piece piece = {.convolution = *c};
    convolution *own = &piece.convolution;
    own->in.samples = own->out.samples = smaller(convolution_part(c), c->in.samples - (int)first);
    own->batch = c->batch ? c->batch : c->in.samples;
    for (int i = 0; i < c->inputs; i++)
        if (c->scaling[i].scale) {
            own->scaling[i].scale += first * c->scaling[i].sample_stride;
            own->scaling[i].shift += first * c->scaling[i].sample_stride;
        }
    for (int i = 0; i < c->inputs && inputs; i++)
        piece.inputs[i] =
            (const char *)inputs[i] + first * shape_positions(&c->in) * (size_t)c->input_channels[i] * number;
    if (gradient)
        piece.gradient = (const char *)gradient + first * shape_positions(&c->out) * (size_t)c->features * number;
    return piece;
}

/* The memory of the calling thread within the scratch memory of a convolution. */
static inline char *own_memory(const convolution *c, char *scratch) {
    return scratch + c->scratch.common + (size_t)thread_share().index * c->scratch.own;
}

/* ---- the algorithms ---------------------------------------------------------------------------------------------- */

/* One of them: what convolution.h calls, with memory of `scratch` bytes. */
typedef struct convolution_path {
    const char *name;
    convolution_scratch (*scratch)(const convolution *c);
    void (*forward)(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                    void *output, char *scratch);
    void (*backward_data)(const convolution *c, convolution_filter filter, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch);
    void (*backward_weights)(const convolution *c, const void *const inputs[2], const void *gradient,
                             part_gradients weight_gradients, char *scratch);
} convolution_path;

/* Winograd's F(4x4, 3x3). */
extern const convolution_path winograd_path;
int winograd_possible(const convolution *c);

/* Direct, of any shape; of a single tap and one input; of one input of few channels and several taps in a line. */
extern const convolution_path direct_path, pointwise_path, few_path;
int pointwise_possible(const convolution *c);
int few_possible(const convolution *c);

/* Products of bf16. */
extern const convolution_path bf16_path;

/* What those of few channels have in common with the direct one: the way back through the data. */
convolution_scratch direct_data_scratch(const convolution *c);
void direct_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch);

/* The gradient of the weights in a file of its own. */
size_t direct_weights_scratch(const convolution *c);
void direct_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                             part_gradients weight_gradients, char *scratch);
void bf16_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                           part_gradients weight_gradients, char *scratch);

#endif
