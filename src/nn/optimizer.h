/*
 * Optimisers over one flat block of parameters, with the formulas of PyTorch.
 *
 * One step is two passes: the norm of all gradients, then clipping, weight decay, moments and parameters together.
 * Results do not depend on the number of threads: the passes work element by element, and the norm adds up chunks that
 * depend on the number of parameters alone, in their order.
 */
#ifndef HWS_NN_OPTIMIZER_H
#define HWS_NN_OPTIMIZER_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

typedef enum optimizer_kind {
    OPTIMIZER_SGD = 0,      /* p -= rate g */
    OPTIMIZER_MOMENTUM = 1, /* v = momentum v + g; p -= rate v */
    OPTIMIZER_NESTEROV = 2, /* v = momentum v + g; p -= rate (g + momentum v) */
    OPTIMIZER_ADAM = 3,     /* Adam with bias correction; the decay is added to the gradient */
    OPTIMIZER_ADAMW = 4     /* the same, but the decay shrinks the parameters: p *= 1 - rate decay */
} optimizer_kind;

typedef struct optimizer_options {
    optimizer_kind kind;
    double momentum;     /* 0.9, in [0, 1): momentum and Nesterov */
    double beta1, beta2; /* 0.9 and 0.999, in [0, 1): Adam's moments */
    double epsilon;      /* 1e-8, at least 0: added to Adam's denominator */
    double weight_decay; /* 0, at least 0: L2, g += decay p (all kinds but AdamW) */
    double clip_norm;    /* 0 = no clipping; else gradients are scaled by min(1, clip_norm / (norm + 1e-6)) */
} optimizer_options;

optimizer_options optimizer_options_default(optimizer_kind kind);

/* "sgd", "momentum", "nesterov", "adam" and "adamw". */
const char *optimizer_name(optimizer_kind kind);

status_code optimizer_check(const optimizer_options *options, failure *failure);

/* The state, in floats, of an optimiser of `count` parameters. It starts as zeros: momentum is [count]; Adam's are the
   first moments [count], then the second ones [count]. */
size_t optimizer_state_size(optimizer_kind kind, size_t count);

/* The Euclidean norm of a block; NaN or infinite if one of the values is. */
double gradient_norm(size_t count, const float *gradients);

/* Its steps: a block of `count` values is cut into at most GRADIENT_NORM_CHUNKS chunks of gradient_norm_chunk values;
   partials[first] to partials[end - 1] become the sums of squares of these chunks; all of them are joined in order. */
enum { GRADIENT_NORM_CHUNKS = 1024 };
size_t gradient_norm_chunk(size_t count);
void gradient_norm_partials(size_t count, const float *gradients, size_t first, size_t end, double *partials);
double gradient_norm_join(size_t chunks, const double *partials);

/* What a step works on: `count` parameters, their gradients and the optimiser's state. */
typedef struct optimizer_block {
    size_t count;
    const float *gradients;
    float *parameters, *state;
} optimizer_block;

/*
 * A step: whether the norm of all gradients allows it, and the step of the parameters [first, end). STATUS_NOT_FINITE
 * if that norm is NaN or infinite. The options have passed optimizer_check, `step` is 1 at the first step, and the
 * gradients stay as they are.
 */
status_code optimizer_allows(double norm, int64_t step, failure *failure);
void optimizer_step_some(const optimizer_options *options, double rate, int64_t step, double norm,
                         const optimizer_block *block, size_t first, size_t end);

#endif
