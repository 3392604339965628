/*
 * Winograd's F(4x4, 3x3) in the planes: a block of tiles is transformed to 36 points each, the points are multiplied
 * as 36 independent matrices [tiles x channels] x [channels x features], and the products are transformed back. Depth
 * taps become further summands of the products, since tiles of neighbouring planes lie one plane's tiles apart.
 *
 * Each thread works on blocks of its own: some lines of tiles in all planes, of which it takes as many at a time as
 * fit its second-level cache, beside the weights if these are small. Transformed planes are kept until no depth tap
 * reads them any more. Of large filters there may be too few blocks for the threads: then all share one and divide
 * the points among them. That costs more where processors have caches of their own, since each reads what the
 * others have transformed.
 */
#include "nn/convolution_winograd.h"
#include "nn/team.h"

enum {
    LARGE_OWN_BLOCK_BYTES = 512 << 10, /* with large weights, which do not fit beside them anyway */
    LEAST_ROWS = 24,                   /* of a product that is cut for many threads */
    DEPTH_TAPS = 3                     /* at most */
};

int winograd_possible(const convolution *c) {
    if (c->kernel[1] != 3 || c->kernel[2] != 3 || c->padding[1] != 1 || c->padding[2] != 1) return 0;
    if (!(c->kernel[0] == 1 && c->padding[0] == 0) && !(c->kernel[0] == 3 && c->padding[0] == 1)) return 0;
    if (c->stride[0] != 1 || c->stride[1] != 1 || c->stride[2] != 1 || c->features % KERNEL_PANEL) return 0;
    for (int i = 0; i < c->inputs; i++)
        if (c->input_channels[i] % KERNEL_PANEL) return 0;
    return 1;
}

/* Makes blocks of several steps as long as there are so many: at the border of two, planes are transformed for both. */
static void join_steps(direction *d, int blocks) {
    if (d->taps == 1) return;
    const int steps = slice_blocks(d), others = d->groups * line_blocks(d);
    const int parts = smaller(steps, (blocks + others - 1) / others);
    d->block_slices = (steps + parts - 1) / parts * d->step_slices;
}

/* Blocks of results, which are the same bits however they are cut. Slices that do not see each
   other cost nothing to cut. */
static direction data_direction(const convolution *c, int in, int out) {
    direction d = winograd_direction(c, in, out);
    const int pieces = UNITS_PER_THREAD * c->threads;
    if (!winograd_has_large_weights(c)) {
        winograd_choose_block(&d, OWN_BLOCK_BYTES, d.slices);
        join_steps(&d, pieces);
        return d;
    }
    winograd_choose_block(&d, LARGE_OWN_BLOCK_BYTES, d.taps == 1 ? larger(1, d.slices / pieces) : d.slices);
    d.shared = block_count(&d) < pieces || weights_bytes(c) > SHARED_WEIGHTS_BYTES;
    if (d.shared) winograd_choose_block(&d, SHARED_BLOCK_BYTES, d.slices);
    else join_steps(&d, pieces);
    return d;
}

/* The step of a block that begins with its k-th slice. */
static block step_at(const direction *d, const block *whole, int k) {
    block step = *whole;
    step.first_slice += k;
    step.slices = smaller(d->step_slices, whole->slices - k);
    return step;
}

/* Products of a point and some neighbouring panels, for some rows: tiles. */
typedef struct point_product {
    size_t point, first_panel, panels, first_row, end_row;
} point_product;

/* Where the transformed plane is kept that tap 0 of a slice reads. */
static size_t kept_place(const direction *d, const block *b, int slice) {
    return (size_t)((slice - d->taps / 2 - b->origin) % kept_slices(d));
}

/* What the taps of a slice's tiles read: the planes in a row of places, which begin anew behind the last one. */
static void plane_taps(const direction *d, const block *b, int slice, const point_product *p, const float *values,
                       const float *weights, kernel_tap tap[DEPTH_TAPS]) {
    const size_t in = (size_t)d->in, panels = (size_t)(d->out / KERNEL_PANEL), tap_floats = in * KERNEL_PANEL;
    const size_t place = kept_place(d, b, slice), kept = (size_t)kept_slices(d);
    for (size_t t = 0; t < (size_t)d->taps; t++)
        tap[t] = (kernel_tap){.a = values + p->point * d->in_point +
                                   ((place + t) % kept * (size_t)b->tiles + p->first_row) * in,
                              .b = weights + ((p->point * panels + p->first_panel) * (size_t)d->taps + t) * tap_floats,
                              .row_stride = d->in,
                              .depth = d->in};
}

/* Whether the planes that the taps of all slices read follow one another. */
static int is_in_a_row(const direction *d, const block *b) {
    return kept_place(d, b, b->first_slice) + (size_t)input_slices(d, b) <= (size_t)kept_slices(d);
}

static void multiply_point(const direction *d, const block *b, const point_product *p, const float *values,
                           const float *weights, float *products) {
    const int together = is_in_a_row(d, b);
    const size_t rows = together ? p->end_row - p->first_row : (size_t)b->tiles;
    float *image = products + p->point * d->out_point + p->first_row * (size_t)d->out + p->first_panel * KERNEL_PANEL;
    for (int k = 0; k < (together ? 1 : b->slices); k++) {
        kernel_tap tap[DEPTH_TAPS];
        plane_taps(d, b, b->first_slice + k, p, values, weights, tap);
        const kernel_taps taps = {(int)rows, d->taps, tap, (ptrdiff_t)d->taps * d->in * KERNEL_PANEL};
        const kernel_results to = {.channels = (int)p->panels * KERNEL_PANEL,
                                   .row_stride = d->out,
                                   .image = image + (size_t)k * rows * (size_t)d->out};
        d->f32->multiply_taps(&taps, &to);
    }
}

static size_t product_pieces(const direction *d, const block *b, const work *shared) {
    const size_t rows = (size_t)b->slices * (size_t)b->tiles;
    return winograd_pieces(WINOGRAD_POINTS * panel_groups(d), rows / LEAST_ROWS + 1, shared);
}

static size_t product_count(const direction *d, const block *b, const work *shared) {
    return WINOGRAD_POINTS * panel_groups(d) * product_pieces(d, b, shared);
}

static void multiply_points(const direction *d, const block *b, const float *values, const float *weights,
                            float *products, work *shared) {
    const size_t groups = panel_groups(d), rows = (size_t)b->slices * (size_t)b->tiles;
    const size_t pieces = product_pieces(d, b, shared), count = product_count(d, b, shared);
    for (size_t piece = ALONE; next_piece(shared, count, &piece);) {
        const share own = {(int)(piece % pieces), (int)pieces};
        const size_t group = piece / pieces % groups;
        const point_product product = {piece / pieces / groups, group * PRODUCT_PANELS, panels_in_group(d, group),
                                       share_start(rows, own), share_end(rows, own)};
        multiply_point(d, b, &product, values, weights, products);
    }
}

/* Where the results go, and what is added to them. */
typedef struct winograd_results {
    int count, channels[2], accumulate[2];
    char *images[2];
    const float *bias;
    const char *addend;
} winograd_results;

static void output_run(const direction *d, const block *b, const tile_run *run, const float *products,
                       const winograd_results *results) {
    const convolution *c = d->convolution;
    const size_t out = (size_t)d->out;
    const float *row = products + (run->slice * (size_t)b->tiles + run->line * (size_t)d->tile_columns) * out;
    winograd_tiles tiles = {.height = c->in.size[1],
                            .width = c->in.size[2],
                            .top = (b->first_line + (int)run->line) * WINOGRAD_TILE,
                            .left = run->first * WINOGRAD_TILE,
                            .count = run->end - run->first,
                            .tile_stride = d->out,
                            .point_stride = (ptrdiff_t)d->out_point};
    for (int i = 0, offset = 0; i < results->count; offset += results->channels[i++]) {
        if (!results->images[i]) continue;
        const size_t plane = winograd_plane_offset(d, b, b->first_slice + (int)run->slice, results->channels[i]);
        const kernel_addends addends = {results->bias ? results->bias + offset : 0,
                                        results->addend ? results->addend + plane : 0, results->accumulate[i]};
        tiles.channels = results->channels[i];
        d->stored->winograd_output(&tiles, row + (size_t)run->first * out + offset, &addends,
                                   results->images[i] + plane);
    }
}

static void transform_output(const direction *d, const block *b, const float *products, const winograd_results *results,
                             work *shared) {
    const size_t pieces = winograd_tile_pieces(d, b, b->slices, shared),
                 count = winograd_tile_runs(d, b, b->slices, shared);
    for (size_t piece = ALONE; next_piece(shared, count, &piece);) {
        const tile_run run = winograd_tile_run(d, b, piece, pieces);
        output_run(d, b, &run, products, results);
    }
}

/* Each thread works on blocks of its own. */
static void run_apart(const direction *d, const image_list *inputs, const float *weights,
                      const winograd_results *results, char *memory) {
    work blocks;
    work_divide_turned(&blocks, (size_t)block_count(d), d->convolution->threads);
#pragma omp parallel num_threads(blocks.threads)
    {
        char *own = own_memory(d->convolution, memory);
        float *values = (float *)own, *products = (float *)(own + block_values(d));
        for (size_t index; work_take(&blocks, &index);) {
            const block whole = winograd_block(d, (int)index);
            for (int slice = 0; slice < whole.slices; slice += d->step_slices) {
                const block b = step_at(d, &whole, slice);
                winograd_transform_input(d, &b, inputs, values, 0);
                multiply_points(d, &b, values, weights, products, 0);
                transform_output(d, &b, products, results, 0);
            }
        }
    }
}

/* All threads work on one block after the other. What comes next is divided while all are busy with something else. */
static void run_together(const direction *d, const image_list *inputs, const float *weights,
                         const winograd_results *results, char *memory) {
    const int threads = d->convolution->threads, blocks = block_count(d);
    char *shared = memory + weights_bytes(d->convolution);
    float *values = (float *)shared, *products = (float *)(shared + block_values(d));
    block b = winograd_block(d, 0);
    work tiles, points, lines;
    work_divide(&tiles, 0, threads);
    work_divide(&points, 0, threads);
    work_divide(&lines, 0, threads);
    work_redivide(&tiles, winograd_tile_runs(d, &b, input_slices(d, &b), &tiles));
#pragma omp parallel num_threads(tiles.threads) firstprivate(b)
    for (int index = 0; index < blocks; index++) {
        winograd_transform_input(d, &b, inputs, values, &tiles);
        work_redivide(&points, product_count(d, &b, &points));
#pragma omp barrier
        multiply_points(d, &b, values, weights, products, &points);
        const block next = winograd_block(d, index + 1 < blocks ? index + 1 : index);
        work_redivide(&lines, winograd_tile_runs(d, &b, b.slices, &lines));
        work_redivide(&tiles, winograd_tile_runs(d, &next, input_slices(d, &next), &tiles));
#pragma omp barrier
        transform_output(d, &b, products, results, &lines);
        b = next;
    }
}

static void run(const direction *d, const image_list *inputs, const float *weights, const winograd_results *results,
                char *memory) {
    (d->shared ? run_together : run_apart)(d, inputs, weights, results, memory);
}

/* [point][panel][depth tap][input channel][PANEL]. Some rows of weights at a time, since they are read whole. */
static void pack_forward(const convolution *c, const float *weights, float *packed) {
    const kernels *f32 = kernels_for(PRECISION_F32);
    const size_t in = (size_t)c->in.channels, out = (size_t)c->features, taps = (size_t)c->kernel[0];
#pragma omp parallel for collapse(3) num_threads(team_size(c->threads)) schedule(static)
    for (size_t tap = 0; tap < taps; tap++)
        for (size_t first = 0; first < in; first += KERNEL_PANEL)
            for (size_t feature = 0; feature < out; feature += KERNEL_PANEL)
                for (size_t channel = first; channel < first + KERNEL_PANEL; channel++)
                    f32->winograd_weights(weights + (tap * 9 * in + channel) * out + feature, (ptrdiff_t)(in * out),
                                          packed + (feature * taps + tap * KERNEL_PANEL) * in + channel * KERNEL_PANEL,
                                          (ptrdiff_t)point_weights(c));
}

/* The nine taps of PANEL input by PANEL output channels, mirrored and transposed: [tap][output channel][PANEL]. */
static void turn_weights(const convolution *c, const float *weights, size_t depth_tap, size_t channel, size_t feature,
                         float turned[9][KERNEL_PANEL][KERNEL_PANEL]) {
    const size_t in = (size_t)c->in.channels, out = (size_t)c->features;
    for (size_t tap = 0; tap < 9; tap++)
        kernels_for(PRECISION_F32)
            ->transpose_panel(weights + ((depth_tap * 9 + 8 - tap) * in + channel) * out + feature, (ptrdiff_t)out,
                              turned[tap][0]);
}

/* The same for the way back: outputs and inputs change places, all taps are mirrored. */
static void pack_backward(const convolution *c, const float *weights, float *packed) {
    const kernels *f32 = kernels_for(PRECISION_F32);
    const int panels = c->in.channels / KERNEL_PANEL;
    const size_t out = (size_t)c->features, taps = (size_t)c->kernel[0];
#pragma omp parallel for collapse(3) num_threads(team_size(c->threads)) schedule(static)
    for (int panel = 0; panel < panels; panel++)
        for (size_t tap = 0; tap < taps; tap++)
            for (size_t feature = 0; feature < out; feature += KERNEL_PANEL) {
                float turned[9][KERNEL_PANEL][KERNEL_PANEL];
                turn_weights(c, weights, taps - 1 - tap, (size_t)panel * KERNEL_PANEL, feature, turned);
                for (size_t k = 0; k < KERNEL_PANEL; k++)
                    f32->winograd_weights(turned[0][k], KERNEL_PANEL * KERNEL_PANEL,
                                          packed + (((size_t)panel * taps + tap) * out + feature + k) * KERNEL_PANEL,
                                          (ptrdiff_t)point_weights(c));
            }
}

static void winograd_forward(const convolution *c, convolution_filter filter, const void *const inputs[2],
                             const void *addend, void *output, char *scratch) {
    const direction d = data_direction(c, c->in.channels, c->features);
    float *packed = (float *)scratch;
    pack_forward(c, filter.weights, packed);
    const image_list list = winograd_inputs(c, inputs);
    const winograd_results results = {1, {c->features, 0}, {0, 0}, {output, 0}, filter.bias, addend};
    run(&d, &list, packed, &results, scratch);
}

static void winograd_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
                                   const int accumulate[2], void *const input_gradients[2], char *scratch) {
    const direction d = data_direction(c, c->features, c->in.channels);
    float *packed = (float *)scratch;
    pack_backward(c, filter.weights, packed);
    const image_list list = {1, {c->features, 0}, {gradient, 0}, 0};
    const int second = c->inputs > 1;
    const winograd_results results = {c->inputs,
                                      {c->input_channels[0], c->input_channels[1]},
                                      {accumulate[0], second ? accumulate[1] : 0},
                                      {input_gradients[0], second ? input_gradients[1] : 0},
                                      filter.bias,
                                      0};
    run(&d, &list, packed, &results, scratch);
}

static void need(size_t *bytes, size_t needed) {
    if (needed > *bytes) *bytes = needed;
}

static convolution_scratch winograd_scratch(const convolution *c) {
    convolution_scratch s = {0, 0};
    for (int back = 0; back < 2; back++) {
        const direction d = data_direction(c, back ? c->features : c->in.channels, back ? c->in.channels : c->features);
        const size_t blocks = block_values(&d) + block_products(&d);
        need(&s.common, weights_bytes(c) + (d.shared ? blocks : 0));
        if (!d.shared) need(&s.own, blocks);
    }
    const convolution_scratch gradients = winograd_weights_scratch(c);
    need(&s.common, gradients.common);
    need(&s.own, gradients.own);
    return s;
}

const convolution_path winograd_path = {"winograd", winograd_scratch, winograd_forward, winograd_backward_data,
                                        winograd_backward_weights};
