/*
 * What Winograd's passes share: how images are cut into blocks of tiles, and the transforms of what is read.
 *
 * A block is some lines of tiles in neighbouring planes. A thread works on a block of its own in steps of some
 * planes, which fit its second-level cache, or all threads share one block. Transformed planes are kept until no
 * depth tap reads them any more.
 *
 * Included by convolution_winograd*.c.
 */
#ifndef HWS_NN_CONVOLUTION_WINOGRAD_H
#define HWS_NN_CONVOLUTION_WINOGRAD_H

#include "nn/convolution_inside.h"

#include <stdint.h>

enum {
    OWN_BLOCK_BYTES = 384 << 10,    /* transformed values per thread, when each has blocks of its own */
    SHARED_BLOCK_BYTES = 6 << 20,   /* of all threads, when they share one */
    SHARED_WEIGHTS_BYTES = 4 << 20, /* above which they are too much to be read for each block of each thread */
    UNITS_PER_THREAD = 4,           /* so many pieces of work for each, at least */
    PRODUCT_PANELS = 2              /* of a product: as many as kernels take at once */
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

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

direction winograd_direction(const convolution *c, int in, int out);

/* Gives blocks of one step the largest size that fits: whole planes if it can be, else some lines of tiles
   of as many planes as pay. */
void winograd_choose_block(direction *d, size_t bytes, int most_slices);

static inline int line_blocks(const direction *d) { return (d->tile_lines + d->block_lines - 1) / d->block_lines; }
static inline int slice_blocks(const direction *d) { return (d->slices + d->block_slices - 1) / d->block_slices; }
static inline int block_count(const direction *d) { return d->groups * slice_blocks(d) * line_blocks(d); }

block winograd_block(const direction *d, int index);

/* The planes that the depth taps of a block read. */
static inline int input_slices(const direction *d, const block *b) { return b->slices + d->taps - 1; }

/* So many transformed planes are kept: those that the taps of a step read. The next ones take
   the place of the oldest. */
static inline int kept_slices(const direction *d) { return d->step_slices + d->taps - 1; }

/* Bytes of a step's transformed values, and of its products. */
static inline size_t block_values(const direction *d) {
    return aligned_bytes(WINOGRAD_POINTS * d->in_point * sizeof(float));
}
static inline size_t block_products(const direction *d) {
    return aligned_bytes(WINOGRAD_POINTS * d->out_point * sizeof(float));
}

/* Floats of one point of the transformed weights, and bytes of all. */
static inline size_t point_weights(const convolution *c) {
    return (size_t)c->kernel[0] * (size_t)c->in.channels * (size_t)c->features;
}

static inline size_t weights_bytes(const convolution *c) {
    return aligned_bytes(WINOGRAD_POINTS * point_weights(c) * sizeof(float));
}
/* Whether they do not fit beside a thread's block. */
int winograd_has_large_weights(const convolution *c);

/* How many such groups of panels the results of a point have, and the panels of one. */
static inline size_t panel_groups(const direction *d) {
    return ((size_t)(d->out / KERNEL_PANEL) + PRODUCT_PANELS - 1) / PRODUCT_PANELS;
}
static inline size_t panels_in_group(const direction *d, size_t group) {
    const size_t left = (size_t)(d->out / KERNEL_PANEL) - group * PRODUCT_PANELS;
    return left < PRODUCT_PANELS ? left : PRODUCT_PANELS;
}

/* ---- the gradient of the weights --------------------------------------------------------------------------------- */

convolution_scratch winograd_weights_scratch(const convolution *c);
void winograd_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                               part_gradients weight_gradients, char *scratch);

/* ---- pieces of work ---------------------------------------------------------------------------------------------- */

/* Into how many pieces each of some units of work is cut, at most `most`: enough for many threads to have about as much
   to do each. Work that a thread does alone (NULL) is not cut. */
size_t winograd_pieces(size_t units, size_t most, const work *shared);

/* The next of `count` pieces, which threads share, or which a thread does alone (NULL) from `*piece` = ALONE on. */
#define ALONE SIZE_MAX
static inline int next_piece(work *shared, size_t count, size_t *piece) {
    return shared ? work_take(shared, piece) : ++*piece < count;
}

/* Neighbouring tiles of a line in one of the block's planes. */
typedef struct tile_run {
    size_t slice, line;
    int first, end;
} tile_run;

/* How many runs of tiles there are in so many planes of a block, and run number `unit` where
   lines are cut into pieces. */
size_t winograd_tile_pieces(const direction *d, const block *b, int slices, const work *shared);
size_t winograd_tile_runs(const direction *d, const block *b, int slices, const work *shared);
tile_run winograd_tile_run(const direction *d, const block *b, size_t unit, size_t pieces);

/* ---- transforms of what is read ---------------------------------------------------------------------------------- */

typedef struct image_list {
    int count, channels[2];
    const char *images[2];
    const convolution_scaling *scaling; /* of each; NULL: none */
} image_list;

/* The images that a convolution reads. */
image_list winograd_inputs(const convolution *c, const void *const inputs[2]);

/* The byte at which a plane of an image of `channels` begins. */
size_t winograd_plane_offset(const direction *d, const block *b, int slice, int channels);

/* What a block's tiles are transformed from: the planes [first_slice, first_slice + slices) of the images, of
   `channels` together. Tiles begin `shift` pixels before those of the outputs: 1 for inputs, 0 for gradients. The first
   plane comes to `place`, of `kept` places that planes take in turn. */
typedef struct tile_source {
    void (*transform)(const winograd_tiles *tiles, const void *image, float *points);
    const image_list *images;
    int shift, first_slice, slices, channels;
    size_t place, kept;
    size_t point_stride;
} tile_source;

/* The block's tiles. Planes outside the volume are zeros. */
void winograd_transform_tiles(const direction *d, const block *b, const tile_source *from, float *points, work *shared);

/* The planes that a step reads, without those that the steps before it have transformed. */
void winograd_transform_input(const direction *d, const block *b, const image_list *list, float *values, work *shared);

#endif
