/*
 * The gradient of the weights by Winograd's transforms: those of inputs and gradients are multiplied point by point,
 * summed over all tiles, and the sums transformed back to nine taps. The order of the sums depends on the shape alone.
 */
#include "nn/convolution_winograd.h"
#include "nn/team.h"

#include <string.h>

enum { PARTIAL_SUMS = 8 /* of a part, added in order: their number is not the threads' */ };

/* Blocks of sums depend on the shape alone, since the order of the sums does on them. */
static direction gradient_direction(const convolution *c) {
    direction d = winograd_direction(c, c->in.channels, c->features);
    d.shared = winograd_has_large_weights(c);
    winograd_choose_block(&d, d.shared ? SHARED_BLOCK_BYTES : OWN_BLOCK_BYTES, d.slices);
    return d;
}

static size_t sum_count(const direction *d) { return WINOGRAD_POINTS * (size_t)d->taps * panel_groups(d); }

/* Adds the products of a block: sums[point][tap][input channel][feature]. */
static void add_products(const direction *d, const block *b, const float *values, const float *gradients, float *sums,
                         work *shared) {
    const size_t in = (size_t)d->in, out = (size_t)d->out, taps = (size_t)d->taps, groups = panel_groups(d);
    const kernel_field field = {1, 1, b->slices * b->tiles, 0, 0, d->in, 0, 0, d->out};
    for (size_t piece = ALONE; next_piece(shared, sum_count(d), &piece);) {
        const size_t product = piece / groups, group = piece % groups, feature = group * PRODUCT_PANELS * KERNEL_PANEL;
        const float *from = values + product / taps * d->in_point + product % taps * (size_t)b->tiles * in;
        const float *gradient = gradients + product / taps * d->out_point + feature;
        const kernel_sums to = {sums + product * in * out + feature, d->out, d->in, (int)panels_in_group(d, group)};
        d->f32->outer(&field, from, gradient, &to);
    }
}

/* The partial sums, added in order, back to the nine taps. */
static void finish_gradients(const direction *d, float *sums, int partials, size_t partial_floats,
                             float *weight_gradients) {
    const size_t in = (size_t)d->in, out = (size_t)d->out, taps = (size_t)d->taps, points = taps * in * out;
    const int threads = d->convolution->threads;
#pragma omp parallel for num_threads(team_size(threads)) schedule(static)
    for (size_t start = 0; start < WINOGRAD_POINTS * points; start += KERNEL_PANEL)
        for (int k = 1; k < partials; k++)
            for (size_t i = start; i < start + KERNEL_PANEL; i++) sums[i] += sums[(size_t)k * partial_floats + i];
#pragma omp parallel for collapse(3) num_threads(team_size(threads)) schedule(static)
    for (size_t tap = 0; tap < taps; tap++)
        for (size_t channel = 0; channel < in; channel++)
            for (size_t feature = 0; feature < out; feature += KERNEL_PANEL)
                d->f32->winograd_weights_gradient(sums + (tap * in + channel) * out + feature, (ptrdiff_t)points,
                                                  weight_gradients + (tap * 9 * in + channel) * out + feature,
                                                  (ptrdiff_t)(in * out));
}

/* Partial sums of a part, so that threads can divide them; of the whole batch there are PARTIAL_SUMS, or as many as
   parts. Those of large weights are not cut: there, threads share the part's blocks. */
static int partial_sums(const direction *d) {
    const int each = larger(1, PARTIAL_SUMS / convolution_batch_parts(d->convolution));
    return d->shared ? 1 : smaller(each, block_count(d));
}

/* Whether threads share in the sum of each part: not if each can have as many parts for itself as the others, and the
   sums of all parts at once are not too much memory. */
static int shares_parts(const convolution *c) {
    if (!winograd_has_large_weights(c)) return 0;
    return weights_bytes(c) > SHARED_WEIGHTS_BYTES || c->threads == 1 || convolution_parts(c) % c->threads != 0;
}

/* What a weight gradient is computed from, and the memory of those who work on a block. */
typedef struct gradient_work {
    image_list inputs, gradient;
    float *values, *gradients;
} gradient_work;

static gradient_work gradient_work_of(const direction *d, const convolution_piece *piece, char *memory) {
    const convolution *c = &piece->convolution;
    return (gradient_work){winograd_inputs(c, piece->inputs),
                           {1, {c->features, 0}, {piece->gradient, 0}, 0},
                           (float *)memory,
                           (float *)(memory + block_values(d))};
}

static void transform_gradient(const direction *d, const block *b, const gradient_work *w, work *shared) {
    const tile_source gradient = {.transform = d->stored->winograd_gradient,
                                  .images = &w->gradient,
                                  .first_slice = b->first_slice,
                                  .slices = b->slices,
                                  .channels = d->out,
                                  .kept = (size_t)b->slices,
                                  .point_stride = d->out_point};
    winograd_transform_tiles(d, b, &gradient, w->gradients, shared);
}

static size_t sum_floats(const convolution *c) { return WINOGRAD_POINTS * point_weights(c); }

/* The k-th partial sum of a part from zero, if there are so many: a share of its blocks. */
static void sum_partial(const convolution_piece *piece, int k, float *sums, char *memory) {
    const convolution *c = &piece->convolution;
    const direction d = gradient_direction(c);
    if (k >= partial_sums(&d)) return;
    const gradient_work w = gradient_work_of(&d, piece, memory);
    const share blocks = {k, partial_sums(&d)};
    const size_t count = (size_t)block_count(&d), end = share_end(count, blocks);
    memset(sums, 0, sum_floats(c) * sizeof *sums);
    for (size_t index = share_start(count, blocks); index < end; index++) {
        const block b = winograd_block(&d, (int)index);
        winograd_transform_input(&d, &b, &w.inputs, w.values, 0);
        transform_gradient(&d, &b, &w, 0);
        add_products(&d, &b, w.values, w.gradients, sums, 0);
    }
}

/* The only sum of a part, from zero: all threads work on one block after the other. */
static void sum_together(const convolution_piece *piece, float *sums, char *memory) {
    const convolution *c = &piece->convolution;
    const direction d = gradient_direction(c);
    const gradient_work w = gradient_work_of(&d, piece, memory);
    const int threads = c->threads, blocks = block_count(&d);
    block b = winograd_block(&d, 0);
    work tiles, gradients, points;
    work_divide(&tiles, 0, threads);
    work_divide(&gradients, 0, threads);
    work_divide(&points, 0, threads);
    work_redivide(&tiles, winograd_tile_runs(&d, &b, input_slices(&d, &b), &tiles));
    work_redivide(&gradients, winograd_tile_runs(&d, &b, b.slices, &gradients));
#pragma omp parallel num_threads(tiles.threads) firstprivate(b)
    {
        const share own = thread_share();
        const size_t first = share_start(sum_floats(c), own);
        memset(sums + first, 0, (share_end(sum_floats(c), own) - first) * sizeof *sums);
        for (int index = 0; index < blocks; index++) {
            winograd_transform_input(&d, &b, &w.inputs, w.values, &tiles);
            transform_gradient(&d, &b, &w, &gradients);
            work_redivide(&points, sum_count(&d));
#pragma omp barrier
            add_products(&d, &b, w.values, w.gradients, sums, &points);
            b = winograd_block(&d, index + 1 < blocks ? index + 1 : index);
            work_redivide(&tiles, winograd_tile_runs(&d, &b, input_slices(&d, &b), &tiles));
            work_redivide(&gradients, winograd_tile_runs(&d, &b, b.slices, &gradients));
#pragma omp barrier
        }
    }
}

/* What the first part of a batch, the largest, and its last one need. */
typedef struct gradient_memory {
    int partials;        /* of a part, at most */
    size_t sums, blocks; /* bytes: of one partial sum; of a thread's, or of all threads' shared, blocks */
} gradient_memory;

static gradient_memory gradient_memory_of(const convolution *c) {
    gradient_memory memory = {.sums = weights_bytes(c)};
    for (int k = 0; k < 2; k++) {
        const convolution_piece piece = convolution_piece_at(c, 0, 0, k ? convolution_parts(c) - 1 : 0);
        const direction d = gradient_direction(&piece.convolution);
        const size_t blocks = block_values(&d) + block_products(&d);
        memory.partials = larger(memory.partials, partial_sums(&d));
        if (blocks > memory.blocks) memory.blocks = blocks;
    }
    return memory;
}

/* Each thread makes partial sums of its own, of all parts. */
static void sum_apart(const convolution *c, const void *const inputs[2], const void *gradient,
                      const gradient_memory *memory, char *scratch) {
    const int count = convolution_parts(c) * memory->partials;
    work sums;
    work_divide_turned(&sums, (size_t)count, c->threads);
#pragma omp parallel num_threads(sums.threads)
    for (size_t k; work_take(&sums, &k);) {
        const convolution_piece piece = convolution_piece_at(c, inputs, gradient, (int)k / memory->partials);
        sum_partial(&piece, (int)k % memory->partials, (float *)(scratch + k * memory->sums), own_memory(c, scratch));
    }
}

static void add_part(const convolution *c, int part, float *sums, part_gradients weight_gradients) {
    const convolution_piece piece = convolution_piece_at(c, 0, 0, part);
    const direction d = gradient_direction(&piece.convolution);
    finish_gradients(&d, sums, partial_sums(&d), weights_bytes(c) / sizeof(float),
                     weight_gradients.first + (size_t)part * weight_gradients.stride);
}

void winograd_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                               part_gradients weight_gradients, char *scratch) {
    const gradient_memory memory = gradient_memory_of(c);
    const int shared = shares_parts(c);
    if (!shared) sum_apart(c, inputs, gradient, &memory, scratch);
    for (int part = 0; part < convolution_parts(c); part++) {
        const size_t place = shared ? 0 : (size_t)(part * memory.partials) * memory.sums;
        if (shared) {
            const convolution_piece piece = convolution_piece_at(c, inputs, gradient, part);
            sum_together(&piece, (float *)scratch, scratch + memory.sums);
        }
        add_part(c, part, (float *)(scratch + place), weight_gradients);
    }
}

convolution_scratch winograd_weights_scratch(const convolution *c) {
    const gradient_memory memory = gradient_memory_of(c);
    if (shares_parts(c)) return (convolution_scratch){memory.sums + memory.blocks, 0};
    return (convolution_scratch){(size_t)(convolution_parts(c) * memory.partials) * memory.sums, memory.blocks};
}
