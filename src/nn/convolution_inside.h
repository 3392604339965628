/* What the two algorithms and their planner share. */
#ifndef HWS_NN_CONVOLUTION_INSIDE_H
#define HWS_NN_CONVOLUTION_INSIDE_H

#include "nn/convolution.h"

#ifdef _OPENMP
#include <omp.h>
#endif

enum { CONVOLUTION_MAX_TAPS = 343, SCRATCH_ALIGNMENT = 64 };

static inline int convolution_taps(const convolution *c) { return c->kernel[0] * c->kernel[1] * c->kernel[2]; }
static inline int panels_of(int channels) { return (channels + KERNEL_PANEL - 1) / KERNEL_PANEL; }
static inline size_t aligned_bytes(size_t bytes) {
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}
static inline int smaller(int a, int b) { return a < b ? a : b; }
static inline int larger(int a, int b) { return a > b ? a : b; }

/* `count` things in as few groups of at most KERNEL_ROWS as possible, of nearly equal size: the k-th begins at... */
static inline int row_groups(int count) { return (count + KERNEL_ROWS - 1) / KERNEL_ROWS; }
static inline int row_group_start(int count, int k) {
    const int groups = row_groups(count);
    return (int)((long long)count * k / groups);
}

/* Who this thread is in its team. */
static inline void team(int *part, int *parts) {
#ifdef _OPENMP
    *part = omp_get_thread_num();
    *parts = omp_get_num_threads();
#else
    *part = 0;
    *parts = 1;
#endif
}

/* The share of `count` pieces of work that part `part` of `parts` does. */
static inline size_t share_start(size_t count, int part, int parts) { return count * (size_t)part / (size_t)parts; }

int winograd_possible(const convolution *c);
size_t winograd_scratch(const convolution *c);
void winograd_forward(const convolution *c, const float *weights, const float *bias, const void *const inputs[2],
                      const void *addend, void *output, char *scratch);
void winograd_backward_data(const convolution *c, const float *weights, const float *bias, const void *gradient,
                            const int accumulate[2], void *const input_gradients[2], char *scratch);
void winograd_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                               float *weight_gradients, char *scratch);

size_t direct_scratch(const convolution *c);
void direct_forward(const convolution *c, const float *weights, const float *bias, const void *const inputs[2],
                    const void *addend, void *output, char *scratch);
void direct_backward_data(const convolution *c, const float *weights, const float *bias, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch);
void direct_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                             float *weight_gradients, char *scratch);

#endif
