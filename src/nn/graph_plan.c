/*
 * Gives everything its place. Steps: forward of op i is step i, the losses are step n, backward of op i is step 2n - i.
 */
#include "core/memory.h"
#include "nn/graph_inside.h"
#include "nn/kernel_set.h"

#include <stdlib.h>
#include <string.h>

/* Kernels may read, never write, a little behind the end of a tensor. */
enum { SLACK = 256 };

static int backward_step(const graph *g, int op) { return 2 * g->op_count - op; }

static void extend(place *p, int step) {
    if (p->first > p->last) {
        p->first = p->last = step;
        return;
    }
    if (step < p->first) p->first = step;
    if (step > p->last) p->last = step;
}

static size_t node_bytes(const graph *g, const node *n) {
    return aligned_bytes(shape_count(&n->shape) * graph_number(g) + SLACK);
}

static int is_output(const graph *g, int node) {
    for (int i = 0; i < g->output_count; i++)
        if (g->outputs[i] == node) return 1;
    return 0;
}

/*
 * An output that can be computed again for the backward pass is not kept until then; what it is computed from is, so
 * of several in a row every second one.
 */
static int is_recomputed(const graph *g, int index) {
    const node *n = &g->nodes[index];
    return g->options.recompute && n->producer != NOWHERE && g->ops[n->producer].kind->recompute &&
           !is_output(g, index) && !n->scaled_on_reading && !is_recomputed(g, g->ops[n->producer].inputs[0]);
}

/* Whether all that reads a tensor are convolutions that can scale it themselves, as Winograd's transforms of f32 do. */
static int readers_scale(const graph *g, int index) {
    for (int o = 0; o < g->op_count; o++)
        for (int i = 0; i < g->ops[o].input_count; i++) {
            if (g->ops[o].inputs[i] != index) continue;
            if (g->ops[o].kind != &op_convolution || g->ops[o].addend == i) return 0;
            if (g->ops[o].convolution.algorithm != CONVOLUTION_WINOGRAD) return 0;
        }
    return g->options.precision == PRECISION_F32;
}

/* Norms without an addend are left to the convolutions that read them: for the backward pass, what a
   norm reads is kept anyway. */
static void plan_scaling(graph *g) {
    for (int i = 0; i < g->node_count; i++) {
        node *n = &g->nodes[i];
        if (n->producer == NOWHERE || g->ops[n->producer].kind != &op_norm || is_output(g, i)) continue;
        n->scaled_on_reading = !is_recomputed(g, g->ops[n->producer].inputs[0]) && readers_scale(g, i);
    }
}

static void plan_values(graph *g) {
    const int training = !g->options.inference, end = 2 * g->op_count + 1;
    for (int i = 0; i < g->node_count; i++) {
        node *n = &g->nodes[i];
        n->value.bytes = n->recomputed.bytes = n->gradient.bytes = node_bytes(g, n);
        if (!n->scaled_on_reading) extend(&n->value, n->producer == NOWHERE ? 0 : n->producer);
        if (n->producer == NOWHERE) extend(&n->value, training ? end : 0);
        if (is_output(g, i)) extend(&n->value, g->op_count);
        g->recompute_first[i] = NOWHERE;
    }
    for (int o = 0; o < g->op_count; o++) {
        if (training && g->ops[o].kind->backward_reads_output)
            extend(&g->nodes[g->ops[o].output].value, backward_step(g, o));
        for (int i = 0; i < g->ops[o].input_count; i++) {
            const int input = stored_node(g, g->ops[o].inputs[i]);
            node *n = &g->nodes[input];
            extend(&n->value, o);
            if (!training || !g->ops[o].kind->backward_reads_inputs || g->ops[o].addend == i) continue;
            if (!is_recomputed(g, input)) {
                extend(&n->value, backward_step(g, o));
                continue;
            }
            extend(&n->recomputed, backward_step(g, o));
            if (o > g->recompute_first[input]) g->recompute_first[input] = o;
        }
    }
}

static int latest_consumer(const graph *g, int node) {
    for (int o = g->op_count - 1; o >= 0; o--)
        for (int i = 0; i < g->ops[o].input_count; i++)
            if (g->ops[o].inputs[i] == node) return o;
    return NOWHERE;
}

/* Whether the gradient of input i of an op may lie where its output's does: nothing has been added to it before. */
static int may_share(const graph *g, int o, int i) {
    const op *op = &g->ops[o];
    const int input = op->inputs[i];
    if (!g->nodes[input].needs_gradient || is_output(g, input) || latest_consumer(g, input) != o) return 0;
    for (int k = 0; k < op->input_count; k++)
        if (k != i && op->inputs[k] == input) return 0;
    return shape_count(&g->nodes[input].shape) == shape_count(&g->nodes[op->output].shape);
}

static int root_of(const graph *g, int node) {
    while (g->nodes[node].gradient_root != node) node = g->nodes[node].gradient_root;
    return node;
}

static void plan_gradients(graph *g) {
    for (int o = g->op_count - 1; o >= 0; o--) {
        op *op = &g->ops[o];
        for (int i = 0; i < op->input_count; i++) {
            const int input = op->inputs[i];
            op->accumulate[i] = latest_consumer(g, input) != o || is_output(g, input);
            for (int k = 0; k < i; k++)
                if (op->inputs[k] == input) op->accumulate[i] = 1;
            const int taken = op->addend != NOWHERE && may_share(g, o, op->addend);
            const int shares = i == op->addend || (i == 0 && op->kind->gradient_in_place && !taken);
            if (shares && may_share(g, o, i)) g->nodes[input].gradient_root = root_of(g, op->output);
        }
    }
    for (int i = 0; i < g->node_count; i++) g->nodes[i].gradient_root = root_of(g, i);
    for (int i = 0; i < g->node_count; i++) {
        if (!g->nodes[i].needs_gradient) continue;
        place *p = &g->nodes[g->nodes[i].gradient_root].gradient;
        if (is_output(g, i)) extend(p, g->op_count);
        extend(p, backward_step(g, g->nodes[i].producer));
        const int latest = latest_consumer(g, i);
        if (latest != NOWHERE) extend(p, backward_step(g, latest));
    }
}

static int by_size(const void *a, const void *b) {
    const place *left = *(place *const *)a, *right = *(place *const *)b;
    if (left->bytes != right->bytes) return left->bytes < right->bytes ? 1 : -1;
    return left->first != right->first ? (left->first < right->first ? -1 : 1) : 0;
}

/* The lowest place that is free for as long as `p` needs it; `placed` are the ones before it, by offset. */
static void put(place *p, place **placed, int count) {
    size_t offset = 0;
    for (int moved = 1; moved;) {
        moved = 0;
        for (int i = 0; i < count; i++) {
            const place *q = placed[i];
            if (p->last < q->first || q->last < p->first) continue;
            if (offset + p->bytes <= q->offset || q->offset + q->bytes <= offset) continue;
            offset = q->offset + q->bytes;
            moved = 1;
        }
    }
    p->offset = offset;
}

static status_code plan_arena(graph *g, failure *failure) {
    place **places = malloc(3 * (size_t)g->node_count * sizeof *places);
    if (!places) return fail_memory(failure, "planning a network");
    int count = 0;
    for (int i = 0; i < g->node_count; i++) {
        node *n = &g->nodes[i];
        place *each[3] = {&n->value, &n->recomputed, &n->gradient};
        for (int k = 0; k < 3; k++)
            if (each[k]->first <= each[k]->last && (k < 2 || !g->options.inference)) places[count++] = each[k];
    }
    qsort(places, (size_t)count, sizeof *places, by_size);
    g->arena_bytes = SLACK;
    for (int i = 0; i < count; i++) {
        put(places[i], places, i);
        const size_t end = places[i]->offset + places[i]->bytes + SLACK;
        if (end > g->arena_bytes) g->arena_bytes = end;
    }
    free(places);
    return STATUS_OK;
}

/* Each thread's scratch memory is at the same place in all convolutions. */
static void plan_convolution_scratch(graph *g) {
    convolution_scratch most = {0, 0};
    for (int o = 0; o < g->op_count; o++) {
        const convolution_scratch s = g->ops[o].convolution.scratch;
        if (s.common > most.common) most.common = s.common;
        if (s.own > most.own) most.own = s.own;
    }
    for (int o = 0; o < g->op_count; o++) {
        if (!g->ops[o].convolution.weight_count) continue;
        g->ops[o].convolution.scratch = most;
        g->ops[o].scratch_bytes = convolution_scratch_bytes(&g->ops[o].convolution);
    }
}

static void plan_parameters(graph *g) {
    for (int i = 0; i < g->parameter_count; i++) {
        parameter *p = &g->parameters[i];
        size_t *total = p->running ? &g->running_floats : &g->trained_floats;
        p->offset = *total;
        *total += (p->count + 15) / 16 * 16;
    }
    for (int o = 0; o < g->op_count; o++) {
        g->ops[o].state_offset = g->state_floats;
        g->state_floats += (g->ops[o].state_floats + 15) / 16 * 16;
        if (g->ops[o].scratch_bytes > g->scratch_bytes) g->scratch_bytes = g->ops[o].scratch_bytes;
        if (g->ops[o].joined_doubles > g->joined_doubles) g->joined_doubles = g->ops[o].joined_doubles;
    }
}

/* The input and, in bf16, the outputs and their gradients, in f32 for the caller. */
static void plan_io(graph *g) {
    g->io_floats = (shape_count(&g->nodes[0].shape) + 15) / 16 * 16;
    for (int i = 0; i < g->output_count; i++) {
        const size_t count = (shape_count(&g->nodes[g->outputs[i]].shape) + 15) / 16 * 16;
        g->output_values[i] = g->io_floats;
        g->output_gradients[i] = g->io_floats + count;
        if (g->options.precision != PRECISION_F32) g->io_floats += 2 * count;
    }
}

static void *open_zeroed(size_t bytes) {
    void *block = memory_open(bytes + SLACK);
    if (block) memset(block, 0, bytes + SLACK);
    return block;
}

static status_code open_blocks(graph *g, failure *failure) {
    const int training = !g->options.inference;
    g->values = g->own_values = open_zeroed(g->trained_floats * sizeof(float));
    g->gradients = training ? open_zeroed(g->trained_floats * sizeof(float)) : 0;
    g->part_gradients = g->gradients;
    g->running = open_zeroed(g->running_floats * sizeof(float));
    g->states = open_zeroed(g->state_floats * sizeof(float));
    g->arena = open_zeroed(g->arena_bytes);
    g->scratch = open_zeroed(g->scratch_bytes);
    g->joined = open_zeroed(g->joined_doubles * sizeof(double));
    g->io = open_zeroed(g->io_floats * sizeof(float));
    if (!g->values || (training && !g->gradients) || !g->running || !g->states || !g->arena || !g->scratch ||
        !g->joined || !g->io)
        return fail(failure, STATUS_OUT_OF_MEMORY,
                    "out of memory for a network that needs %.1f GiB: take a smaller batch, patch or model",
                    (double)graph_memory(g) / (1 << 30));
    return STATUS_OK;
}

/* An instance norm subtracts the mean of each channel, so what a bias before it adds comes off again. */
static void drop_cancelled_biases(graph *g) {
    for (int o = 0; o < g->op_count; o++) {
        const op *norm = &g->ops[o];
        if ((norm->kind != &op_norm && norm->kind != &op_residual_norm) || norm->norm.kind != NORM_INSTANCE) continue;
        const node *input = &g->nodes[norm->inputs[0]];
        if (input->producer != NOWHERE && input->consumers == 1 && !is_output(g, norm->inputs[0]) &&
            g->ops[input->producer].kind == &op_convolution)
            g->ops[input->producer].bias_cancels = 1;
    }
}

/* Each tensor must be used, or nothing would set its gradient; outputs must have one of their own. */
static void check_uses(graph *g) {
    if (!g->node_count || !g->output_count) {
        graph_fails(g, "a graph needs an input and an output");
        return;
    }
    for (int i = 0; i < g->node_count; i++) {
        int named = 0;
        for (int k = 0; k < g->output_count; k++) named += g->outputs[k] == i;
        if (named && g->nodes[i].producer == NOWHERE) graph_fails(g, "the input cannot be an output");
        if (named > 1) graph_fails(g, "the output of '%s' is named twice", g->ops[g->nodes[i].producer].name);
        if (!named && !g->nodes[i].consumers)
            graph_fails(g, "nothing uses the output of '%s'", i ? g->ops[g->nodes[i].producer].name : "input");
    }
}

status_code graph_plan(graph *g, failure *failure) {
    const status_code kernels = kernel_set_check(failure);
    if (kernels != STATUS_OK) return kernels;
    if (g->failure.status == STATUS_OK) check_uses(g);
    if (g->failure.status == STATUS_OK && g->planned) graph_fails(g, "this graph is planned already");
    if (g->failure.status != STATUS_OK) return fail(failure, g->failure.status, "%s", g->failure.message);
    g->planned = 1;
    g->recompute_first = malloc((size_t)g->node_count * sizeof *g->recompute_first);
    if (!g->recompute_first) return fail_memory(failure, "planning a network");
    drop_cancelled_biases(g);
    plan_scaling(g);
    plan_values(g);
    if (!g->options.inference) plan_gradients(g);
    plan_convolution_scratch(g);
    plan_parameters(g);
    plan_io(g);
    const status_code status = plan_arena(g, failure);
    return status == STATUS_OK ? open_blocks(g, failure) : status;
}

size_t graph_memory(const graph *g) {
    return g->arena_bytes + g->scratch_bytes + g->joined_doubles * sizeof(double) +
           ((g->options.inference ? 1 : 2) * g->trained_floats + g->running_floats + g->state_floats + g->io_floats) *
               sizeof(float);
}
