/* Blocks of tiles, and the transforms of what Winograd's passes read. */
#include "nn/convolution_winograd.h"

#include <string.h>

enum {
    LARGE_WEIGHTS_BYTES = 400 << 10, /* transformed weights above which they are large */
    SKEW = 16                        /* floats between points, so that they do not fall on the same cache lines */
};

static size_t block_floats(const direction *d, int slices, int lines) {
    const size_t tiles = (size_t)lines * (size_t)d->tile_columns;
    return WINOGRAD_POINTS * ((size_t)(slices + d->taps - 1) * tiles * (size_t)d->in + SKEW +
                              (size_t)slices * tiles * (size_t)d->out + SKEW);
}

void winograd_choose_block(direction *d, size_t bytes, int most_slices) {
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

direction winograd_direction(const convolution *c, int in, int out) {
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

int winograd_has_large_weights(const convolution *c) { return weights_bytes(c) > LARGE_WEIGHTS_BYTES; }

block winograd_block(const direction *d, int index) {
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

image_list winograd_inputs(const convolution *c, const void *const inputs[2]) {
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

size_t winograd_plane_offset(const direction *d, const block *b, int slice, int channels) {
    const convolution *c = d->convolution;
    const size_t pixels = (size_t)c->in.size[1] * (size_t)c->in.size[2];
    return ((size_t)b->group * (size_t)d->slices + (size_t)slice) * pixels * (size_t)channels *
           precision_bytes(c->precision);
}

size_t winograd_pieces(size_t units, size_t most, const work *shared) {
    const size_t threads = shared ? (size_t)shared->shares : 1;
    const size_t wanted = threads > 1 ? (UNITS_PER_THREAD * threads + units - 1) / units : 1;
    return wanted < most ? wanted : most;
}

tile_run winograd_tile_run(const direction *d, const block *b, size_t unit, size_t pieces) {
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
        const char *plane = list->images[i] + winograd_plane_offset(d, b, slice, list->channels[i]);
        tiles.channels = list->channels[i];
        tiles.scaling = scaling_at(d, b, slice, list->scaling ? &list->scaling[i] : 0);
        from->transform(&tiles, plane, row + (size_t)run->first * channels + offset);
    }
}

size_t winograd_tile_pieces(const direction *d, const block *b, int slices, const work *shared) {
    return winograd_pieces((size_t)slices * (size_t)b->lines, (size_t)d->tile_columns, shared);
}

size_t winograd_tile_runs(const direction *d, const block *b, int slices, const work *shared) {
    return (size_t)slices * (size_t)b->lines * winograd_tile_pieces(d, b, slices, shared);
}

void winograd_transform_tiles(const direction *d, const block *b, const tile_source *from, float *points,
                              work *shared) {
    const size_t pieces = winograd_tile_pieces(d, b, from->slices, shared),
                 count = winograd_tile_runs(d, b, from->slices, shared);
    for (size_t piece = ALONE; next_piece(shared, count, &piece);) {
        const tile_run run = winograd_tile_run(d, b, piece, pieces);
        transform_run(d, b, from, &run, points);
    }
}

void winograd_transform_input(const direction *d, const block *b, const image_list *list, float *values, work *shared) {
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
    winograd_transform_tiles(d, b, &inputs, values, shared);
}
