#include "nn/optimizer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const NAMES[] = {"sgd", "momentum", "nesterov", "adam", "adamw"};
enum { KINDS = sizeof NAMES / sizeof *NAMES };

/* Up to so many parameters one thread is faster than waking the others. */
enum { SMALL = 16384 };

optimizer_options optimizer_options_default(optimizer_kind kind) {
    return (optimizer_options){.kind = kind, .momentum = 0.9, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
}

const char *optimizer_name(optimizer_kind kind) { return NAMES[kind]; }

static int in_unit(double value) { return value >= 0 && value < 1; }
static int not_negative(double value) { return value >= 0 && isfinite(value); }

status_code optimizer_check(const optimizer_options *options, failure *failure) {
    const struct {
        const char *name;
        double value;
        int good;
    } fields[] = {
        {"the momentum", options->momentum, in_unit(options->momentum)},
        {"beta1", options->beta1, in_unit(options->beta1)},
        {"beta2", options->beta2, in_unit(options->beta2)},
        {"epsilon", options->epsilon, not_negative(options->epsilon)},
        {"the weight decay", options->weight_decay, not_negative(options->weight_decay)},
        {"the gradient norm to clip at", options->clip_norm, not_negative(options->clip_norm)},
    };
    if ((int)options->kind < 0 || (int)options->kind >= KINDS)
        return fail(failure, STATUS_BAD_INPUT, "there is no optimizer of kind %d", (int)options->kind);
    for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
        if (!fields[k].good)
            return fail(failure, STATUS_BAD_INPUT, "%s is %g, but must be %s", fields[k].name, fields[k].value,
                        k < 3 ? "at least 0 and less than 1" : "finite and at least 0");
    return STATUS_OK;
}

size_t optimizer_state_size(optimizer_kind kind, size_t count) {
    switch (kind) {
    case OPTIMIZER_SGD: return 0;
    case OPTIMIZER_MOMENTUM:
    case OPTIMIZER_NESTEROV: return count;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW: return 2 * count;
    }
    return 0;
}

/* What one pass over the block needs. Single precision, as PyTorch computes on float tensors. */
typedef struct pass {
    float scale, decay, rate, momentum;
    float beta1, beta2, rest1, rest2, root, epsilon, shrink;
} pass;

static pass plan_pass(const optimizer_options *options, double rate, int64_t step, double norm) {
    const double clip = options->clip_norm > 0 ? options->clip_norm / (norm + 1e-6) : 1;
    pass pass = {.scale = clip < 1 ? (float)clip : 1,
                 .decay = (float)options->weight_decay,
                 .rate = (float)rate,
                 .momentum = (float)options->momentum,
                 .shrink = 1};
    if (options->kind < OPTIMIZER_ADAM) return pass;
    pass.beta1 = (float)options->beta1;
    pass.beta2 = (float)options->beta2;
    pass.rest1 = (float)(1 - options->beta1);
    pass.rest2 = (float)(1 - options->beta2);
    pass.rate = (float)(rate / (1 - pow(options->beta1, (double)step)));
    pass.root = (float)(1 / sqrt(1 - pow(options->beta2, (double)step)));
    pass.epsilon = (float)options->epsilon;
    if (options->kind == OPTIMIZER_ADAMW) {
        pass.decay = 0;
        pass.shrink = (float)(1 - rate * options->weight_decay);
    }
    return pass;
}

static void sgd(pass t, size_t count, const float *restrict g, float *restrict p) {
#pragma omp parallel for simd schedule(static) if (count > SMALL)
    for (size_t i = 0; i < count; i++) p[i] -= t.rate * (g[i] * t.scale + t.decay * p[i]);
}

static void momentum(pass t, size_t count, const float *restrict g, float *restrict p, float *restrict v) {
#pragma omp parallel for simd schedule(static) if (count > SMALL)
    for (size_t i = 0; i < count; i++) {
        v[i] = t.momentum * v[i] + (g[i] * t.scale + t.decay * p[i]);
        p[i] -= t.rate * v[i];
    }
}

static void nesterov(pass t, size_t count, const float *restrict g, float *restrict p, float *restrict v) {
#pragma omp parallel for simd schedule(static) if (count > SMALL)
    for (size_t i = 0; i < count; i++) {
        const float gradient = g[i] * t.scale + t.decay * p[i];
        v[i] = t.momentum * v[i] + gradient;
        p[i] -= t.rate * (gradient + t.momentum * v[i]);
    }
}

static void adam(pass t, size_t count, const float *restrict g, float *restrict p, float *restrict m,
                 float *restrict v) {
#pragma omp parallel for simd schedule(static) if (count > SMALL)
    for (size_t i = 0; i < count; i++) {
        const float gradient = g[i] * t.scale + t.decay * p[i];
        m[i] = t.beta1 * m[i] + t.rest1 * gradient;
        v[i] = t.beta2 * v[i] + t.rest2 * (gradient * gradient);
        p[i] = t.shrink * p[i] - t.rate * (m[i] / (sqrtf(v[i]) * t.root + t.epsilon));
    }
}

status_code optimizer_allows(double norm, int64_t step, failure *failure) {
    if (isfinite(norm)) return STATUS_OK;
    return fail(failure, STATUS_NOT_FINITE,
                "the norm of the gradients is %g at step %lld: lower the learning rate or clip the gradients", norm,
                (long long)step);
}

void optimizer_step_some(const optimizer_options *options, double rate, int64_t step, double norm,
                         const optimizer_block *block, size_t first, size_t end) {
    assert(step >= 1 && isfinite(rate));
    const size_t count = end - first;
    const float *gradients = block->gradients + first;
    float *parameters = block->parameters + first, *state = block->state + first;
    const pass pass = plan_pass(options, rate, step, norm);
    switch (options->kind) {
    case OPTIMIZER_SGD: sgd(pass, count, gradients, parameters); break;
    case OPTIMIZER_MOMENTUM: momentum(pass, count, gradients, parameters, state); break;
    case OPTIMIZER_NESTEROV: nesterov(pass, count, gradients, parameters, state); break;
    case OPTIMIZER_ADAM:
    case OPTIMIZER_ADAMW: adam(pass, count, gradients, parameters, state, state + block->count); break;
    }
}
