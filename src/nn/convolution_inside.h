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

/* Number `index` of `count` nearly equal shares of some pieces of work: the pieces [share_start, share_end). */
typedef struct share {
    int index, count;
} share;

static inline size_t share_start(size_t pieces, share s) { return pieces * (size_t)s.index / (size_t)s.count; }
static inline size_t share_end(size_t pieces, share s) { return pieces * (size_t)(s.index + 1) / (size_t)s.count; }

/* The share of this thread among those of its parallel region. */
static inline share thread_share(void) {
#ifdef _OPENMP
    return (share){omp_get_thread_num(), omp_get_num_threads()};
#else
    return (share){0, 1};
#endif
}

int winograd_possible(const convolution *c);
size_t winograd_scratch(const convolution *c);
void winograd_forward(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                      void *output, char *scratch);
void winograd_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                            const int accumulate[2], void *const input_gradients[2], char *scratch);
void winograd_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                               float *weight_gradients, char *scratch);

size_t direct_scratch(const convolution *c);
void direct_forward(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                    void *output, char *scratch);
void direct_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                          const int accumulate[2], void *const input_gradients[2], char *scratch);
void direct_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                             float *weight_gradients, char *scratch);

#endif
