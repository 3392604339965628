#include "core/random.h"
#include "nn/graph_inside.h"
#include "nn/purposes.h"

#include <math.h>
#include <string.h>

static parameter *weights_behind(graph *g, tensor t) {
    const node *n = node_of(g, t);
    if (!n || n->producer == NOWHERE || g->ops[n->producer].parameters[0] == NOWHERE) return 0;
    return &g->parameters[g->ops[n->producer].parameters[0]];
}

void graph_begin_with(graph *g, tensor t, double deviation) {
    parameter *weights = weights_behind(g, t);
    if (weights) weights->deviation = deviation;
}

void graph_begin_he(graph *g, tensor t, double slope) {
    parameter *weights = weights_behind(g, t);
    if (weights) weights->deviation = sqrt(2 / ((1 + slope * slope) * weights->taps * weights->inputs));
}

void graph_initialise(graph *g, uint64_t seed) {
    for (int i = 0; i < g->parameter_count; i++) {
        const parameter *p = &g->parameters[i];
        float *values = (p->running ? g->running : g->values) + p->offset;
        random_stream stream;
        random_start(&stream, seed, RANDOM_WEIGHTS, 0, (uint32_t)i);
        for (size_t k = 0; k < p->count; k++)
            values[k] = (float)(p->deviation > 0 ? p->start + p->deviation * random_normal(&stream) : p->start);
    }
}

/* Inside, filters lie as [tap][input][output]; in PyTorch as [output][input][tap]. */
void graph_export(const parameter *p, const float *block, float *pytorch) {
    const float *from = block + p->offset;
    if (!p->taps) {
        memcpy(pytorch, from, p->count * sizeof *pytorch);
        return;
    }
    const size_t taps = (size_t)p->taps, inputs = (size_t)p->inputs, outputs = (size_t)p->outputs;
    for (size_t tap = 0; tap < taps; tap++)
        for (size_t i = 0; i < inputs; i++)
            for (size_t o = 0; o < outputs; o++) pytorch[(o * inputs + i) * taps + tap] = *from++;
}

void graph_import(const parameter *p, const float *pytorch, float *block) {
    float *to = block + p->offset;
    if (!p->taps) {
        memcpy(to, pytorch, p->count * sizeof *to);
        return;
    }
    const size_t taps = (size_t)p->taps, inputs = (size_t)p->inputs, outputs = (size_t)p->outputs;
    for (size_t tap = 0; tap < taps; tap++)
        for (size_t i = 0; i < inputs; i++)
            for (size_t o = 0; o < outputs; o++) *to++ = pytorch[(o * inputs + i) * taps + tap];
}
