/*
 * Winograd's F(4x4, 3x3) in the planes: a block of tiles is transformed to 36 points each, the points are multiplied
 * as 36 independent matrices [tiles x channels] x [channels x features], and the products are transformed back. Depth
 * taps become further summands of the products, since tiles of neighbouring planes lie one plane's tiles apart.
 *
 * Each thread works on blocks of its own: some lines of tiles in all planes, of which it takes as many at a time as fit its
 * second-level cache, beside the weights if these are small. Transformed planes are kept until no depth tap reads them any
 * more. Of large filters there may be too few blocks for the threads: then all share one and divide the points among them. That
 * costs more where processors have caches of their own, since each reads what the others have transformed.
 */
#include "core/memory.h"
#include "nn/convolution_inside.h"
#include "nn/team.h"

#include <stdint.h>
#include <string.h>

enum {
    OWN_BLOCK_BYTES = 384 << 10,       /* transformed values per thread, when each has blocks of its own */
    LARGE_OWN_BLOCK_BYTES = 512 << 10, /* with large weights, which do not fit beside them anyway */
    SHARED_BLOCK_BYTES = 6 << 20,      /* of all threads, when they share one */
    LARGE_WEIGHTS_BYTES = 400 << 10,   /* transformed weights above which they are large */
    SHARED_WEIGHTS_BYTES = 4 << 20,    /* above which they are too much to be read for each block of each thread */
    PARTIAL_SUMS = 8,                  /* of weight gradients, added in order: their number is not the threads' */
    UNITS_PER_THREAD = 4,              /* so many pieces of work for each, at least */
    LEAST_ROWS = 24,                   /* of a product that is cut for them */
    PRODUCT_PANELS = 2,                /* of a product: as many as kernels take at once */
    DEPTH_TAPS = 3,                    /* at most */
    SKEW = 16                          /* floats between points, so that they do not fall on the same cache lines */
};

/* One direction of a convolution: images of `in` channels to images of `out` channels. */
typedef struct direction {
    const convolution *convolution;
    const kernels *stored, *f32;
    int in, out;                        /* channels */
    int groups, slices;                 /* planes that do (slices) and do not (groups) see each other */
    int tile_lines, tile_columns, taps; /* taps: of the depth */
    int shared;
    int block_slices, block_lines; /* the largest block */
    int step_slices;            /* of a block, so many at a time, which find what the steps before have transformed */
    size_t in_point, out_point; /* floats from one point to the next in a step */
} direction;

/* The tiles of some lines in neighbouring planes; a step of it has some of the planes. */
typedef struct block {
    int group, first_slice, slices, first_line, lines, tiles; /* tiles: of one slice */
    int origin;                                               /* the first plane that taps read, of all steps */
} block;

int winograd_possible(const convolution *c) {
    if (c->kernel[1] != 3 || c->kernel[2] != 3 || c->padding[1] != 1 || c->padding[2] != 1) return 0;
    if (!(c->kernel[0] == 1 && c->padding[0] == 0) && !(c->kernel[0] == 3 && c->padding[0] == 1)) return 0;
    if (c->stride[0] != 1 || c->stride[1] != 1 || c->stride[2] != 1 || c->features % KERNEL_PANEL) return 0;
    for (int i = 0; i < c->inputs; i++)
        if (c->input_channels[i] % KERNEL_PANEL) return 0;
    return 1;
}

static size_t point_weights(const convolution *c) {
    return (size_t)c->kernel[0] * (size_t)c->in.channels * (size_t)c->features;
}

/* So many transformed planes are kept: those that the taps of a step read. The next ones take the place of the oldest. */
static int kept_slices(const direction *d) { return d->step_slices + d->taps - 1; }

static size_t block_floats(const direction *d, int slices, int lines) {
    const size_t tiles = (size_t)lines * (size_t)d->tile_columns;
    return WINOGRAD_POINTS * ((size_t)(slices + d->taps - 1) * tiles * (size_t)d->in + SKEW +
                              (size_t)slices * tiles * (size_t)d->out + SKEW);
}

/* The largest block that fits: whole planes if it can be, else some lines of tiles of as many planes as pay. It is one step. */
static void choose_block(direction *d, size_t bytes, int most_slices) {
    int lines = d->tile_lines, slices = d->taps == 1 ? 1 : smaller(d->slices, 4);
    while (lines > 1 && block_floats(d, slices, lines) * sizeof(float) > bytes) lines--;
    while (slices > 1 && block_floats(d, slices, lines) * sizeof(float) > bytes) slices--;
    while (slices < most_slices && block_floats(d, slices + 1, lines) * sizeof(float) <= bytes) slices++;
    /* Blocks of equal size leave no small rest. */
    const int line_blocks = (d->tile_lines + lines - 1) / lines, slice_blocks = (d->slices + slices - 1) / slices;
    d->block_lines = (d->tile_lines + line_blocks - 1) / line_blocks;
    d->block_slices = (d->slices + slice_blocks - 1) / slice_blocks;
    const size_t tiles = (size_t)d->block_lines * (size_t)d->tile_columns;
    d->step_slices = d->block_slices;
    d->in_point = (size_t)kept_slices(d) * tiles * (size_t)d->in + SKEW;
    d->out_point = (size_t)d->step_slices * tiles * (size_t)d->out + SKEW;
}

static direction direction_of(const convolution *c, int in, int out) {
    const int flat = c->kernel[0] == 1;
    direction d = {.convolution = c,
                   .stored = kernels_for(c->precision),
                   .f32 = kernels_for(PRECISION_F32),
                   .in = in,
                   .out = out,
                   .groups = flat ? 1 : c->in.samples,
                   .slices = flat ? c->in.samples * c->in.size[0] : c->in.size[0],
                   .tile_lines = (c->in.size[1] + WINOGRAD_TILE - 1) / WINOGRAD_TILE,
                   .tile_columns = (c->in.size[2] + WINOGRAD_TILE - 1) / WINOGRAD_TILE,
                   .taps = c->kernel[0]};
    return d;
}

static size_t weights_bytes(const convolution *c) {
    return aligned_bytes(WINOGRAD_POINTS * point_weights(c) * sizeof(float));
}
static int has_large_weights(const convolution *c) { return weights_bytes(c) > LARGE_WEIGHTS_BYTES; }

/* Blocks of sums depend on the shape alone, since the order of the sums does on them. */
static direction gradient_direction(const convolution *c) {
    direction d = direction_of(c, c->in.channels, c->features);
    d.shared = has_large_weights(c);
    choose_block(&d, d.shared ? SHARED_BLOCK_BYTES : OWN_BLOCK_BYTES, d.slices);
    return d;
}

static int line_blocks(const direction *d) { return (d->tile_lines + d->block_lines - 1) / d->block_lines; }
static int slice_blocks(const direction *d) { return (d->slices + d->block_slices - 1) / d->block_slices; }
static int block_count(const direction *d) { return d->groups * slice_blocks(d) * line_blocks(d); }

/* Makes blocks of several steps as long as there are so many: at the border of two, planes are transformed for both. */
static void join_steps(direction *d, int blocks) {
    if (d->taps == 1) return;
    const int steps = slice_blocks(d), others = d->groups * line_blocks(d);
    const int parts = smaller(steps, (blocks + others - 1) / others);
    d->block_slices = (steps + parts - 1) / parts * d->step_slices;
}

/* Blocks of results, which are the same bits however they are cut. Slices that do not see each other cost nothing to cut. */
static direction data_direction(const convolution *c, int in, int out) {
    direction d = direction_of(c, in, out);
    const int pieces = UNITS_PER_THREAD * c->threads;
    if (!has_large_weights(c)) {
        choose_block(&d, OWN_BLOCK_BYTES, d.slices);
        join_steps(&d, pieces);
        return d;
    }
    choose_block(&d, LARGE_OWN_BLOCK_BYTES, d.taps == 1 ? larger(1, d.slices / pieces) : d.slices);
    d.shared = block_count(&d) < pieces || weights_bytes(c) > SHARED_WEIGHTS_BYTES;
    if (d.shared) choose_block(&d, SHARED_BLOCK_BYTES, d.slices);
    else join_steps(&d, pieces);
    return d;
}

static block block_at(const direction *d, int index) {
    block b;
    b.first_line = index % line_blocks(d) * d->block_lines;
    b.first_slice = index / line_blocks(d) % slice_blocks(d) * d->block_slices;
    b.group = index / line_blocks(d) / slice_blocks(d);
    b.lines = smaller(d->block_lines, d->tile_lines - b.first_line);
    b.slices = smaller(d->block_slices, d->slices - b.first_slice);
    b.tiles = b.lines * d->tile_columns;
    b.origin = b.first_slice - d->taps / 2;
    return b;
}

/* The step of a block that begins with its k-th slice. */
static block step_at(const direction *d, const block *whole, int k) {
    block step = *whole;
    step.first_slice += k;
    step.slices = smaller(d->step_slices, whole->slices - k);
    return step;
}

/* Where the transformed plane is kept that tap 0 of a slice reads. */
static size_t kept_place(const direction *d, const block *b, int slice) {
    return (size_t)((slice - d->taps / 2 - b->origin) % kept_slices(d));
}

typedef struct image_list {
    int count, channels[2];
    const char *images[2];
    const convolution_scaling *scaling; /* of each; NULL: none */
} image_list;

/* The images that a convolution reads. */
static image_list input_list(const convolution *c, const void *const inputs[2]) {
    return (image_list){c->inputs,
                        {c->input_channels[0], c->input_channels[1]},
                        {inputs[0], c->inputs > 1 ? inputs[1] : 0},
                        c->scaling};
}

static kernel_scaling scaling_at(const direction *d, const block *b, int slice, const convolution_scaling *s) {
    const size_t sample = (size_t)(b->group * d->slices + slice) / (size_t)d->convolution->in.size[0];
    if (!s || !s->scale) return (kernel_scaling){0};
    return (kernel_scaling){s->scale + sample * s->sample_stride, s->shift + sample * s->sample_stride, s->slope};
}

/* The byte at which a plane of an image of `channels` begins. */
static size_t plane_offset(const direction *d, const block *b, int slice, int channels) {
    const convolution *c = d->convolution;
    const size_t pixels = (size_t)c->in.size[1] * (size_t)c->in.size[2];
    return ((size_t)b->group * (size_t)d->slices + (size_t)slice) * pixels * (size_t)channels *
           precision_bytes(c->precision);
}

/* What a block's tiles are transformed from: the planes [first_slice, first_slice + slices) of the images, of `channels`
   together. Tiles begin `shift` pixels before those of the outputs: 1 for inputs, 0 for gradients. The first plane comes to
   `place`, of `kept` places that planes take in turn. */
typedef struct tile_source {
    void (*transform)(const winograd_tiles *tiles, const void *image, float *points);
    const image_list *images;
    int shift, first_slice, slices, channels;
    size_t place, kept;
    size_t point_stride;
} tile_source;

/* Into how many pieces each of some units of work is cut, at most `most`: enough for many threads to have about as much to do
   each. Work that a thread does alone (NULL) is not cut. */
static size_t pieces_of(size_t units, size_t most, const work *shared) {
    const size_t threads = shared ? (size_t)shared->shares : 1;
    const size_t wanted = threads > 1 ? (UNITS_PER_THREAD * threads + units - 1) / units : 1;
    return wanted < most ? wanted : most;
}

/* The next of `count` pieces, which threads share, or which a thread does alone (NULL) from `*piece` = ALONE on. */
#define ALONE SIZE_MAX
static int next_piece(work *shared, size_t count, size_t *piece) {
    return shared ? work_take(shared, piece) : ++*piece < count;
}

/* Neighbouring tiles of a line in one of the block's planes. */
typedef struct tile_run {
    size_t slice, line;
    int first, end;
} tile_run;

static tile_run tile_run_at(const direction *d, const block *b, size_t unit, size_t pieces) {
    const share piece = {(int)(unit % pieces), (int)pieces};
    const size_t columns = (size_t)d->tile_columns, lines = (size_t)b->lines;
    return (tile_run){unit / pieces / lines, unit / pieces % lines, (int)share_start(columns, piece),
                      (int)share_end(columns, piece)};
}

static void transform_run(const direction *d, const block *b, const tile_source *from, const tile_run *run,
                          float *points) {
    const convolution *c = d->convolution;
    const size_t channels = (size_t)from->channels;
    const int slice = from->first_slice + (int)run->slice;
    const size_t place = (from->place + run->slice) % from->kept;
    float *row = points + (place * (size_t)b->tiles + run->line * (size_t)d->tile_columns) * channels;
    if (slice < 0 || slice >= d->slices) {
        for (size_t point = 0; point < WINOGRAD_POINTS; point++)
            memset(row + point * from->point_stride + (size_t)run->first * channels, 0,
                   (size_t)(run->end - run->first) * channels * sizeof(float));
        return;
    }
    winograd_tiles tiles = {.height = c->in.size[1],
                            .width = c->in.size[2],
                            .top = (b->first_line + (int)run->line) * WINOGRAD_TILE - from->shift,
                            .left = run->first * WINOGRAD_TILE - from->shift,
                            .count = run->end - run->first,
                            .tile_stride = (ptrdiff_t)channels,
                            .point_stride = (ptrdiff_t)from->point_stride};
    const image_list *list = from->images;
    for (int i = 0, offset = 0; i < list->count; offset += list->channels[i++]) {
        const char *plane = list->images[i] + plane_offset(d, b, slice, list->channels[i]);
        tiles.channels = list->channels[i];
        tiles.scaling = scaling_at(d, b, slice, list->scaling ? &list->scaling[i] : 0);
        from->transform(&tiles, plane, row + (size_t)run->first * channels + offset);
    }
}

static size_t tile_pieces(const direction *d, const block *b, int slices, const work *shared) {
    return pieces_of((size_t)slices * (size_t)b->lines, (size_t)d->tile_columns, shared);
}

/* How many runs of tiles there are in so many planes of a block. */
static size_t tile_runs(const direction *d, const block *b, int slices, const work *shared) {
    return (size_t)slices * (size_t)b->lines * tile_pieces(d, b, slices, shared);
}

/* The block's tiles. Planes outside the volume are zeros. */
static void transform_tiles(const direction *d, const block *b, const tile_source *from, float *points, work *shared) {
    const size_t pieces = tile_pieces(d, b, from->slices, shared), count = tile_runs(d, b, from->slices, shared);
    for (size_t piece = ALONE; next_piece(shared, count, &piece);) {
        const tile_run run = tile_run_at(d, b, piece, pieces);
        transform_run(d, b, from, &run, points);
    }
}

/* The planes that the depth taps of a block read. */
static int input_slices(const direction *d, const block *b) { return b->slices + d->taps - 1; }

/* Those of a step that the steps before it have not transformed. */
static void transform_input(const direction *d, const block *b, const image_list *list, float *values, work *shared) {
    const int first = b->first_slice - d->taps / 2, known = first == b->origin ? 0 : d->taps - 1;
    const tile_source inputs = {.transform = d->stored->winograd_input,
                                .images = list,
                                .shift = 1,
                                .first_slice = first + known,
                                .slices = input_slices(d, b) - known,
                                .channels = d->in,
                                .place = (size_t)(first + known - b->origin) % (size_t)kept_slices(d),
                                .kept = (size_t)kept_slices(d),
                                .point_stride = d->in_point};
    transform_tiles(d, b, &inputs, values, shared);
}

/* Products of a point and some neighbouring panels, for some rows: tiles. */
typedef struct point_product {
    size_t point, first_panel, panels, first_row, end_row;
} point_product;

/* How many such groups of panels the results of a point have, and the panels of one. */
static size_t panel_groups(const direction *d) {
    return ((size_t)(d->out / KERNEL_PANEL) + PRODUCT_PANELS - 1) / PRODUCT_PANELS;
}
static size_t panels_in_group(const direction *d, size_t group) {
    const size_t left = (size_t)(d->out / KERNEL_PANEL) - group * PRODUCT_PANELS;
    return left < PRODUCT_PANELS ? left : PRODUCT_PANELS;
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
    return pieces_of(WINOGRAD_POINTS * panel_groups(d), rows / LEAST_ROWS + 1, shared);
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
        const size_t plane = plane_offset(d, b, b->first_slice + (int)run->slice, results->channels[i]);
        const kernel_addends addends = {results->bias ? results->bias + offset : 0,
                                        results->addend ? results->addend + plane : 0, results->accumulate[i]};
        tiles.channels = results->channels[i];
        d->stored->winograd_output(&tiles, row + (size_t)run->first * out + offset, &addends,
                                   results->images[i] + plane);
    }
}

static void transform_output(const direction *d, const block *b, const float *products, const winograd_results *results,
                             work *shared) {
    const size_t pieces = tile_pieces(d, b, b->slices, shared), count = tile_runs(d, b, b->slices, shared);
    for (size_t piece = ALONE; next_piece(shared, count, &piece);) {
        const tile_run run = tile_run_at(d, b, piece, pieces);
        output_run(d, b, &run, products, results);
    }
}

static size_t block_values(const direction *d) { return aligned_bytes(WINOGRAD_POINTS * d->in_point * sizeof(float)); }
static size_t block_products(const direction *d) {
    return aligned_bytes(WINOGRAD_POINTS * d->out_point * sizeof(float));
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
            const block whole = block_at(d, (int)index);
            for (int slice = 0; slice < whole.slices; slice += d->step_slices) {
                const block b = step_at(d, &whole, slice);
                transform_input(d, &b, inputs, values, 0);
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
    block b = block_at(d, 0);
    work tiles, points, lines;
    work_divide(&tiles, 0, threads);
    work_divide(&points, 0, threads);
    work_divide(&lines, 0, threads);
    work_redivide(&tiles, tile_runs(d, &b, input_slices(d, &b), &tiles));
#pragma omp parallel num_threads(tiles.threads) firstprivate(b)
    for (int index = 0; index < blocks; index++) {
        transform_input(d, &b, inputs, values, &tiles);
        work_redivide(&points, product_count(d, &b, &points));
#pragma omp barrier
        multiply_points(d, &b, values, weights, products, &points);
        const block next = block_at(d, index + 1 < blocks ? index + 1 : index);
        work_redivide(&lines, tile_runs(d, &b, b.slices, &lines));
        work_redivide(&tiles, tile_runs(d, &next, input_slices(d, &next), &tiles));
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

void winograd_forward(const convolution *c, convolution_filter filter, const void *const inputs[2], const void *addend,
                      void *output, char *scratch) {
    const direction d = data_direction(c, c->in.channels, c->features);
    float *packed = (float *)scratch;
    pack_forward(c, filter.weights, packed);
    const image_list list = input_list(c, inputs);
    const winograd_results results = {1, {c->features, 0}, {0, 0}, {output, 0}, filter.bias, addend};
    run(&d, &list, packed, &results, scratch);
}

void winograd_backward_data(const convolution *c, convolution_filter filter, const void *gradient,
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

/* Partial sums of a part, so that threads can divide them; of the whole batch there are PARTIAL_SUMS, or as many as parts. Those
   of large weights are not cut: there, threads share the part's blocks. */
static int partial_sums(const direction *d) {
    const int each = larger(1, PARTIAL_SUMS / convolution_batch_parts(d->convolution));
    return d->shared ? 1 : smaller(each, block_count(d));
}

/* Whether threads share in the sum of each part: not if each can have as many parts for itself as the others, and the sums of all
   parts at once are not too much memory. */
static int shares_parts(const convolution *c) {
    if (!has_large_weights(c)) return 0;
    return weights_bytes(c) > SHARED_WEIGHTS_BYTES || c->threads == 1 || convolution_parts(c) % c->threads != 0;
}

/* What a weight gradient is computed from, and the memory of those who work on a block. */
typedef struct gradient_work {
    image_list inputs, gradient;
    float *values, *gradients;
} gradient_work;

static gradient_work gradient_work_of(const direction *d, const convolution_piece *piece, char *memory) {
    const convolution *c = &piece->convolution;
    return (gradient_work){input_list(c, piece->inputs),
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
    transform_tiles(d, b, &gradient, w->gradients, shared);
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
        const block b = block_at(&d, (int)index);
        transform_input(&d, &b, &w.inputs, w.values, 0);
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
    block b = block_at(&d, 0);
    work tiles, gradients, points;
    work_divide(&tiles, 0, threads);
    work_divide(&gradients, 0, threads);
    work_divide(&points, 0, threads);
    work_redivide(&tiles, tile_runs(&d, &b, input_slices(&d, &b), &tiles));
    work_redivide(&gradients, tile_runs(&d, &b, b.slices, &gradients));
#pragma omp parallel num_threads(tiles.threads) firstprivate(b)
    {
        const share own = thread_share();
        const size_t first = share_start(sum_floats(c), own);
        memset(sums + first, 0, (share_end(sum_floats(c), own) - first) * sizeof *sums);
        for (int index = 0; index < blocks; index++) {
            transform_input(&d, &b, &w.inputs, w.values, &tiles);
            transform_gradient(&d, &b, &w, &gradients);
            work_redivide(&points, sum_count(&d));
#pragma omp barrier
            add_products(&d, &b, w.values, w.gradients, sums, &points);
            b = block_at(&d, index + 1 < blocks ? index + 1 : index);
            work_redivide(&tiles, tile_runs(&d, &b, input_slices(&d, &b), &tiles));
            work_redivide(&gradients, tile_runs(&d, &b, b.slices, &gradients));
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

static void need(size_t *bytes, size_t needed) {
    if (needed > *bytes) *bytes = needed;
}

convolution_scratch winograd_scratch(const convolution *c) {
    convolution_scratch s = {0, 0};
    for (int back = 0; back < 2; back++) {
        const direction d = data_direction(c, back ? c->features : c->in.channels, back ? c->in.channels : c->features);
        const size_t blocks = block_values(&d) + block_products(&d);
        need(&s.common, weights_bytes(c) + (d.shared ? blocks : 0));
        if (!d.shared) need(&s.own, blocks);
    }
    const gradient_memory gradients = gradient_memory_of(c);
    const int shared = shares_parts(c), sums = shared ? 1 : convolution_parts(c) * gradients.partials;
    need(&s.common, (size_t)sums * gradients.sums + (shared ? gradients.blocks : 0));
    if (!shared) need(&s.own, gradients.blocks);
    return s;
}
