/*
 * Convolutions by products of bf16, forward and backward through the data: a block of results at a time is multiplied
 * by all taps and channels of what it reads, which stands in a copy of its own (convolution_bf16.h).
 */
#include "nn/convolution_bf16.h"
#include "nn/team.h"

#include <string.h>

enum {
    COPY_BYTES =
        384 << 10, /* of what a block of results reads: with two panels of large filters it fits a second-level cache */
    LEAST_COPY_BYTES = 24 << 10,
    PIECES_PER_THREAD = 4,
    MAX_TERMS = 2 * CONVOLUTION_MAX_TAPS
};

/* What one run of taps adds: some taps of a line that lie side by side, of one source. */
typedef struct term {
    int source, z, y, depth;
    tap_group x;
    size_t packed; /* where its weights begin in those of a panel */
} term;

typedef struct terms {
    int count;
    size_t panel_numbers;
    term term[MAX_TERMS];
} terms;

static size_t steps_of(int depth) { return (size_t)((depth + BF16_STEP - 1) / BF16_STEP); }

static void find_terms(const pass *p, terms *t) {
    tap_group groups[CONVOLUTION_MAX_TAPS];
    const int count = tap_groups(p, groups);
    t->count = 0;
    t->panel_numbers = 0;
    for (int source = 0; source < p->sources; source++)
        for (int z = 0; z < p->axis[0].taps; z++)
            for (int y = 0; y < p->axis[1].taps; y++)
                for (int k = 0; k < count; k++) {
                    const int depth = groups[k].count * p->source_channels[source];
                    t->term[t->count++] = (term){source, z, y, depth, groups[k], t->panel_numbers};
                    t->panel_numbers += steps_of(depth) * BF16_PANEL_STEP;
                }
}

/* The number of a tap of the filter. */
static size_t filter_tap(const convolution *c, const pass *p, const term *t, int x) {
    const int z = p->axis[0].tap[t->z], y = p->axis[1].tap[t->y];
    return (size_t)((z * c->kernel[1] + y) * c->kernel[2] + p->axis[2].tap[x]);
}

/* The weights of one number of a run: those of the features from `feature` on. */
static const float *forward_row(const convolution *c, const pass *p, const term *t, const float *weights, int number) {
    const int channels = p->source_channels[t->source], before = t->source ? p->source_channels[0] : 0;
    if (number >= t->depth) return 0;
    const size_t tap = filter_tap(c, p, t, t->x.first + number / channels);
    return weights + (tap * (size_t)c->in.channels + (size_t)(before + number % channels)) * (size_t)c->features;
}

/* Each row of weights is read once, and goes to all panels. */
static void pack_forward(const convolution *c, const pass *p, const terms *t, const term *own, const float *weights,
                         uint16_t *packed) {
    const int numbers = (int)steps_of(own->depth) * BF16_STEP, features = c->features;
    const bf16_kernels *kernels = bf16_kernels_chosen();
    uint16_t *to = packed + own->packed;
    for (int number = 0; number < numbers; number += 2, to += 2 * KERNEL_PANEL) {
        const float *even = forward_row(c, p, own, weights, number), *odd = forward_row(c, p, own, weights, number + 1);
        for (int f = 0; f < features; f += KERNEL_PANEL)
            kernels->pair_weights(even ? even + f : 0, odd ? odd + f : 0, smaller(KERNEL_PANEL, features - f),
                                  to + (size_t)(f / KERNEL_PANEL) * t->panel_numbers);
    }
}

static void pack_backward(const convolution *c, const pass *p, const term *t, const float *weights, int channel,
                          uint16_t *to) {
    const size_t all = steps_of(t->depth) * BF16_PANEL_STEP, features = (size_t)c->features;
    memset(to + all - BF16_PANEL_STEP, 0, BF16_PANEL_STEP * sizeof *to);
    for (int k = 0; k < t->x.count; k++) {
        const size_t tap = filter_tap(c, p, t, t->x.first + k);
        const float *from = weights + (tap * (size_t)c->in.channels + (size_t)(p->first_channel + channel)) * features;
        for (size_t f = 0; f < features; f += BF16_STEP) {
            uint16_t pairs[BF16_PANEL_STEP];
            const size_t at = ((size_t)k * features + f) * KERNEL_PANEL;
            const size_t numbers = all - at < BF16_PANEL_STEP ? all - at : BF16_PANEL_STEP;
            bf16_kernels_chosen()->pair_columns(from + f, c->features, smaller(KERNEL_PANEL, p->channels - channel),
                                                smaller(BF16_STEP, (int)(features - f)), pairs);
            memcpy(to + at, pairs, numbers * sizeof *to);
        }
    }
}

/* The weights as the products read them: [panel of results][term][pair][KERNEL_PANEL][2]. */
static void pack(const convolution *c, const pass *p, const terms *t, const float *weights, uint16_t *packed) {
    const int panels = p->backward ? panels_of(p->channels) : 1;
#pragma omp parallel for collapse(2) num_threads(team_size(c->threads)) schedule(static)
    for (int panel = 0; panel < panels; panel++)
        for (int k = 0; k < t->count; k++) {
            const term *own = &t->term[k];
            if (p->backward)
                pack_backward(c, p, own, weights, panel * KERNEL_PANEL,
                              packed + (size_t)panel * t->panel_numbers + own->packed);
            else pack_forward(c, p, t, own, weights, packed);
        }
}

/* Whether the source looks like a copy of itself, whose lines have no zeros around them. */
static int is_in_place(const pass *p) {
    for (int axis = 0; axis < 3; axis++) {
        const pass_axis *a = &p->axis[axis];
        if (a->pace != 1 || a->origin || a->reach || a->taps != 1 || a->count != a->size) return 0;
    }
    return p->source_channels[0] % BF16_STEP == 0 && p->source_channels[1] % BF16_STEP == 0;
}

/* How the work of a pass is cut: blocks of results, each for all panels or for groups of pairs of panels. */
typedef struct pieces {
    pass_blocks blocks;
    int in_place, pairs, groups;
} pieces;

static int copied_channels(const pass *p) { return p->source_channels[0] + p->source_channels[1]; }

static pieces pieces_of(const convolution *c, const pass *p) {
    const size_t wanted = c->threads > 1 ? (size_t)c->threads * PIECES_PER_THREAD : 1;
    pieces s = {.in_place = is_in_place(p), .pairs = (panels_of(p->channels) + BF16_PANELS - 1) / BF16_PANELS};
    for (size_t bytes = COPY_BYTES; bytes >= LEAST_COPY_BYTES; bytes /= 2) {
        s.blocks = s.in_place ? (pass_blocks){1, p->axis[1].count, p->axis[0].count, 1}
                              : pass_blocks_within(p, copied_channels(p), bytes);
        if (pass_block_count(p, &s.blocks) * (size_t)s.pairs >= wanted) break;
    }
    const size_t blocks = pass_block_count(p, &s.blocks);
    s.groups = smaller(s.pairs, (int)((wanted + blocks - 1) / blocks));
    return s;
}

static size_t copies_bytes(const pass *p, const pieces *s) {
    const pass_copy copy = pass_copy_of(p, s->blocks.planes, s->blocks.lines);
    size_t bytes = 0;
    for (int i = 0; i < p->sources && !s->in_place; i++)
        bytes += aligned_bytes(pass_copy_numbers(&copy, p->source_channels[i]) * sizeof(uint16_t));
    return bytes;
}

static void widen_scratch(const convolution *c, const pass *p, convolution_scratch *most) {
    terms t;
    find_terms(p, &t);
    const pieces s = pieces_of(c, p);
    const size_t packed = (size_t)panels_of(p->channels) * t.panel_numbers * sizeof(uint16_t);
    if (packed > most->common) most->common = packed;
    if (copies_bytes(p, &s) > most->own) most->own = copies_bytes(p, &s);
}

static convolution_scratch bf16_scratch(const convolution *c) {
    convolution_scratch most = bf16_weights_scratch(c);
    const pass forward = pass_forward(c);
    widen_scratch(c, &forward, &most);
    for (int i = 0; i < c->inputs; i++)
        for (int k = 0; k < passes_backward(c); k++) {
            const pass backward = pass_backward(c, i, k);
            widen_scratch(c, &backward, &most);
        }
    return (convolution_scratch){aligned_bytes(most.common), aligned_bytes(most.own)};
}

/* The images of a pass. */
typedef struct pass_images {
    const uint16_t *source[2];
    int size[3]; /* of the results' image */
    kernel_addends addends;
    uint16_t *results;
} pass_images;

/* Where a block reads: the sources themselves or their copies. */
typedef struct block_sources {
    const uint16_t *source[2];
} block_sources;

static block_sources sources_of(const pass *p, const pieces *s, const pass_block *b, const pass_images *images,
                                char *memory) {
    block_sources from = {{0, 0}};
    const pass_copy copy = pass_copy_of(p, s->blocks.planes, s->blocks.lines);
    for (int i = 0; i < p->sources; i++) {
        const size_t channels = (size_t)p->source_channels[i];
        if (s->in_place) {
            const size_t plane = (size_t)p->axis[1].size * (size_t)p->axis[2].size * channels;
            from.source[i] =
                images->source[i] + ((size_t)b->sample * (size_t)p->axis[0].size + (size_t)b->plane) * plane;
            continue;
        }
        from.source[i] = (uint16_t *)(void *)memory;
        pass_copy_fill(p, b, images->source[i], (int)channels, (uint16_t *)(void *)memory);
        memory += aligned_bytes(pass_copy_numbers(&copy, (int)channels) * sizeof(uint16_t));
    }
    return from;
}

/* Where the results of one plane of a block go, from `channel` on. */
static bf16_results results_of(const pass *p, const pass_images *images, const pass_block *b, int plane, int channel) {
    const pass_axis *z = &p->axis[0], *y = &p->axis[1], *x = &p->axis[2];
    const pass_copy copy = pass_copy_of(p, b->planes, b->lines);
    const ptrdiff_t channels = p->channels, line = images->size[2] * channels;
    const ptrdiff_t row =
        ((ptrdiff_t)b->sample * images->size[0] + z->first + (b->plane + plane) * z->step) * images->size[1] +
        y->first + b->line * y->step;
    const ptrdiff_t at = row * line + x->first * channels + channel;
    const kernel_addends all = images->addends;
    return (bf16_results){.addends = {all.bias ? all.bias + channel : 0,
                                      all.addend ? (const uint16_t *)all.addend + at : 0, all.accumulate},
                          .lines = b->lines,
                          .points = x->count,
                          .pitch = copy.pitch,
                          .channels = smaller(BF16_PANELS * KERNEL_PANEL, p->channels - channel),
                          .line_stride = line * y->step,
                          .point_stride = x->step * channels,
                          .image = images->results + at};
}

/* The results of one block for one pair of panels. */
static void multiply_block(const pass *p, const terms *t, const uint16_t *packed, const block_sources *from,
                           const pass_images *images, const pass_block *b, int pair) {
    const int panel = pair * BF16_PANELS;
    const pass_copy copy = pass_copy_of(p, b->planes, b->lines);
    bf16_run run[MAX_TERMS];
    for (int k = 0; k < t->count; k++) {
        const term *own = &t->term[k];
        const int channels = p->source_channels[own->source];
        run[k] = (bf16_run){from->source[own->source] + pass_copy_tap(p, b, own->z, own->y, own->x.first) * channels,
                            packed + (size_t)panel * t->panel_numbers + own->packed, channels, (own->depth + 1) / 2};
    }
    const bf16_runs runs = {run, t->count, smaller(BF16_PANELS, panels_of(p->channels) - panel),
                            (ptrdiff_t)t->panel_numbers};
    for (int plane = 0; plane < b->planes; plane++) {
        const bf16_results results = results_of(p, images, b, plane, panel * KERNEL_PANEL);
        bf16_kernels_chosen()->multiply(&runs, &results);
        for (int k = 0; k < t->count; k++) run[k].a += copy.plane * p->source_channels[t->term[k].source];
    }
}

static void run_pass(const convolution *c, const pass *p, const float *weights, const pass_images *images,
                     char *scratch) {
    terms t;
    find_terms(p, &t);
    uint16_t *packed = (uint16_t *)(void *)scratch;
    pack(c, p, &t, weights, packed);
    const pieces s = pieces_of(c, p);
    const size_t blocks = pass_block_count(p, &s.blocks);
    work all;
    work_divide(&all, blocks * (size_t)s.groups, c->threads);
#pragma omp parallel num_threads(all.threads)
    for (size_t item; work_take(&all, &item);) {
        const pass_block b = pass_block_at(p, &s.blocks, item % blocks);
        const share group = {(int)(item / blocks), s.groups};
        const block_sources from = sources_of(p, &s, &b, images, own_memory(c, scratch));
        for (size_t pair = share_start((size_t)s.pairs, group); pair < share_end((size_t)s.pairs, group); pair++)
            multiply_block(p, &t, packed, &from, images, &b, (int)pair);
    }
}

static void bf16_forward(const convolution *c, convolution_filter filter, const void *const inputs[2],
                         const void *addend, void *output, char *scratch) {
    const pass p = pass_forward(c);
    const pass_images images = {{inputs[0], c->inputs > 1 ? inputs[1] : 0},
                                {c->out.size[0], c->out.size[1], c->out.size[2]},
                                {filter.bias, addend, 0},
                                output};
    run_pass(c, &p, filter.weights, &images, scratch);
}

static void bf16_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                               const int accumulate[2], void *const input_gradients[2], char *scratch) {
    for (int i = 0, channel = 0; i < c->inputs; channel += c->input_channels[i++]) {
        if (!input_gradients[i]) continue;
        const pass_images images = {{gradient, 0},
                                    {c->in.size[0], c->in.size[1], c->in.size[2]},
                                    {filter.bias ? filter.bias + channel : 0, 0, accumulate[i]},
                                    input_gradients[i]};
        for (int k = 0; k < passes_backward(c); k++) {
            const pass p = pass_backward(c, i, k);
            run_pass(c, &p, filter.weights, &images, scratch);
        }
    }
}

const convolution_path bf16_path = {"bf16", bf16_scratch, bf16_forward, bf16_backward_data, bf16_backward_weights};
