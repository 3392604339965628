/*
 * The gradient of the weights by products of bf16: of each tap the channels, as rows of neighbouring positions, meet
 * the gradients of all features there.
 *
 * The positions of a part are cut into slots that the shape decides. Each is summed by itself, block after block, and
 * their sums are added in order.
 */
#include "nn/convolution_bf16.h"
#include "nn/team.h"

#include <string.h>

enum {
    COPY_BYTES = 384 << 10, /* of what a block of gradients meets */
    RUN_POSITIONS = 512,    /* that all taps visit before the next: their gradients stay in the first-level cache */
    MAX_SLOTS = 8,
    SLOTS_BYTES = 2 << 20, /* of the sums of all slots, where one is not larger by itself */
    FEATURES = BF16_PANELS * KERNEL_PANEL
};

/* How the gradient is computed: slots of blocks, each for groups of features; the rows of a group's sums are those of
   all taps and panels of channels. */
typedef struct layout {
    pass pass;
    pass_blocks blocks;
    int slots, groups, rows;
    size_t group_floats;                /* sums of one group in one slot */
    ptrdiff_t column;                   /* numbers from channel to channel of the turned copy */
    int plane_positions;                /* of a plane of the largest blocks */
    size_t copy, turned, pairs, staged; /* bytes */
} layout;

static int steps_up(int positions) { return (positions + BF16_STEP - 1) / BF16_STEP * BF16_STEP; }

/* Of a plane of gradients, from its first point to its last in the lines of the copy, with what
   fills up the last step. */
static int plane_positions(const pass *p, int lines) {
    return steps_up((lines - 1) * pass_copy_of(p, 1, lines).pitch + p->axis[2].count);
}

/* Odd counts of cache lines between channels: neighbours do not meet in the same sets of a cache. */
static ptrdiff_t column_of(ptrdiff_t points) {
    return (((points + COPY_SLACK_POINTS + BF16_STEP - 1) / BF16_STEP) | 1) * BF16_STEP;
}

static layout layout_of(const convolution *c) {
    layout l = {.pass = pass_forward(c)};
    const int channels = c->in.channels;
    l.blocks = pass_blocks_within(&l.pass, channels, COPY_BYTES);
    l.groups = (c->features + FEATURES - 1) / FEATURES;
    l.rows = convolution_taps(c) * panels_of(channels);
    l.group_floats = (size_t)l.rows * KERNEL_PANEL * FEATURES;
    const size_t blocks = pass_block_count(&l.pass, &l.blocks), bytes = l.group_floats * sizeof(float);
    const size_t fit = SLOTS_BYTES / (bytes * (size_t)l.groups);
    l.slots =
        larger(1, smaller((int)(fit < MAX_SLOTS ? fit : MAX_SLOTS), blocks < MAX_SLOTS ? (int)blocks : MAX_SLOTS));
    const pass_copy copy = pass_copy_of(&l.pass, l.blocks.planes, l.blocks.lines);
    const int most = larger(c->input_channels[0], c->inputs > 1 ? c->input_channels[1] : 0);
    l.column = column_of(copy.points);
    l.plane_positions = plane_positions(&l.pass, l.blocks.lines);
    l.copy = aligned_bytes(pass_copy_numbers(&copy, most) * sizeof(uint16_t));
    l.turned = aligned_bytes((size_t)channels * (size_t)l.column * sizeof(uint16_t));
    l.staged = (size_t)l.plane_positions * FEATURES * sizeof(uint16_t);
    l.pairs = (size_t)l.blocks.planes * l.staged;
    return l;
}

/* Sums that are there at once: those of all slots, or one for each thread. */
static size_t sum_count(const layout *l, int threads) {
    return l->slots > 1 ? (size_t)l->slots * (size_t)l->groups : (size_t)threads;
}

/* The last part may be smaller than the others, and have other slots. */
convolution_scratch bf16_weights_scratch(const convolution *c) {
    const convolution_piece piece = convolution_piece_at(c, 0, 0, 0),
                            last = convolution_piece_at(c, 0, 0, convolution_parts(c) - 1);
    const layout l = layout_of(&piece.convolution), of_last = layout_of(&last.convolution);
    const size_t sums = sum_count(&l, c->threads), last_sums = sum_count(&of_last, c->threads);
    return (convolution_scratch){(sums > last_sums ? sums : last_sums) * l.group_floats * sizeof(float),
                                 l.copy + l.turned + l.pairs + l.staged +
                                     aligned_bytes((size_t)l.rows * sizeof(bf16_rows))};
}

/* The memory of one thread. */
typedef struct weights_memory {
    uint16_t *copy, *turned, *pairs, *staged;
    bf16_rows *rows;
} weights_memory;

static weights_memory memory_at(const layout *l, char *own) {
    weights_memory m;
    m.copy = (uint16_t *)(void *)own;
    m.turned = (uint16_t *)(void *)(own + l->copy);
    m.pairs = (uint16_t *)(void *)(own + l->copy + l->turned);
    m.staged = (uint16_t *)(void *)(own + l->copy + l->turned + l->pairs);
    m.rows = (bf16_rows *)(void *)(own + l->copy + l->turned + l->pairs + l->staged);
    return m;
}

/* All channels of what a block reads, each as one row. */
static void turn_inputs(const layout *l, const pass_block *b, const void *const inputs[2], const weights_memory *m) {
    const pass_copy copy = pass_copy_of(&l->pass, b->planes, b->lines);
    const int positions = steps_up((int)copy.points) + BF16_STEP;
    uint16_t *to = m->turned;
    for (int i = 0; i < l->pass.sources; i++) {
        const int channels = l->pass.source_channels[i];
        pass_copy_fill(&l->pass, b, inputs[i], channels, m->copy);
        bf16_kernels_chosen()->transpose(m->copy, positions, channels, to, l->column);
        to += channels * l->column;
    }
}

/* The gradients of one plane as the copy has its lines, with zeros where lines meet and behind the last one. */
static void stage_plane(const layout *l, const pass_block *b, const uint16_t *plane, int features, int width,
                        uint16_t *to) {
    const pass_copy copy = pass_copy_of(&l->pass, b->planes, b->lines);
    const size_t points = (size_t)l->pass.axis[2].count, row = (size_t)width, rest = (size_t)copy.pitch - points;
    uint16_t *const end = to + (size_t)plane_positions(&l->pass, b->lines) * row;
    for (int y = 0; y < b->lines; y++, plane += points * (size_t)features, to += (size_t)copy.pitch * row) {
        if (y > 0) memset(to - rest * row, 0, rest * row * sizeof *to);
        if (width == features) memcpy(to, plane, points * row * sizeof *to);
        else
            for (size_t x = 0; x < points; x++) memcpy(to + x * row, plane + x * (size_t)features, row * sizeof *to);
    }
    to -= rest * row;
    memset(to, 0, (size_t)(end - to) * sizeof *to);
}

/* The gradients of a block in pairs of positions: [plane][panel][pair][KERNEL_PANEL][2]. */
static void pair_gradients(const layout *l, const pass_block *b, const uint16_t *gradient, int features, int first,
                           const weights_memory *m) {
    const pass_axis *axis = l->pass.axis;
    const int width = smaller(FEATURES, features - first), positions = plane_positions(&l->pass, b->lines);
    for (int plane = 0; plane < b->planes; plane++) {
        const size_t z = (size_t)b->sample * (size_t)axis[0].count + (size_t)(b->plane + plane);
        const size_t line = z * (size_t)axis[1].count + (size_t)b->line;
        stage_plane(l, b, gradient + line * (size_t)axis[2].count * (size_t)features + first, features, width,
                    m->staged);
        for (int panel = 0; panel < panels_of(width); panel++)
            bf16_kernels_chosen()->pair_rows(m->staged + panel * KERNEL_PANEL, width, positions / 2,
                                             smaller(KERNEL_PANEL, width - panel * KERNEL_PANEL),
                                             m->pairs + (size_t)(plane * BF16_PANELS + panel) *
                                                            (size_t)l->plane_positions * KERNEL_PANEL);
    }
}

/* Where the rows of each tap and panel of channels begin in the turned copy of a block. */
static void find_rows(const layout *l, const pass_block *b, int channels, bf16_rows *rows) {
    const pass_axis *axis = l->pass.axis;
    for (int z = 0; z < axis[0].taps; z++)
        for (int y = 0; y < axis[1].taps; y++)
            for (int x = 0; x < axis[2].taps; x++)
                for (int c = 0; c < channels; c += KERNEL_PANEL)
                    *rows++ = (bf16_rows){pass_copy_tap(&l->pass, b, z, y, x) + c * l->column,
                                          smaller(KERNEL_PANEL, channels - c)};
}

static void add_block(const layout *l, const pass_block *b, const weights_memory *m, int panels, float *sums,
                      int fresh) {
    const pass_copy copy = pass_copy_of(&l->pass, b->planes, b->lines);
    const int positions = plane_positions(&l->pass, b->lines);
    bf16_products p = {.rows = m->rows,
                       .count = l->rows,
                       .panels = panels,
                       .panel_stride = (ptrdiff_t)l->plane_positions * KERNEL_PANEL,
                       .sum_stride = FEATURES,
                       .sums = sums};
    for (int plane = 0; plane < b->planes; plane++)
        for (int first = 0; first < positions; first += RUN_POSITIONS, fresh = 0) {
            p.run = (bf16_run){m->turned + plane * copy.plane + first,
                               m->pairs + (size_t)plane * BF16_PANELS * (size_t)p.panel_stride + first * KERNEL_PANEL,
                               l->column, smaller(RUN_POSITIONS, positions - first) / 2};
            bf16_kernels_chosen()->outer(&p, fresh);
        }
}

/* What one slot gives to the gradients of one group of features. */
static void add_slot(const layout *l, const convolution_piece *piece, share slot, int group, char *own, float *sums) {
    const convolution *c = &piece->convolution;
    const weights_memory m = memory_at(l, own);
    const size_t blocks = pass_block_count(&l->pass, &l->blocks);
    const int first = group * FEATURES, panels = panels_of(smaller(FEATURES, c->features - first));
    for (size_t k = share_start(blocks, slot); k < share_end(blocks, slot); k++) {
        const pass_block b = pass_block_at(&l->pass, &l->blocks, k);
        turn_inputs(l, &b, piece->inputs, &m);
        pair_gradients(l, &b, piece->gradient, c->features, first, &m);
        find_rows(l, &b, c->in.channels, m.rows);
        add_block(l, &b, &m, panels, sums, k == share_start(blocks, slot));
    }
}

/* Number k of the rows, in the order of find_rows: the weights of its first channel. */
static float *weights_of(const layout *l, const convolution *c, int k, float *weight_gradients) {
    const pass_axis *axis = l->pass.axis;
    const int panels = panels_of(c->in.channels), place = k / panels, channel = k % panels * KERNEL_PANEL;
    const int x = axis[2].tap[place % c->kernel[2]], y = axis[1].tap[place / c->kernel[2] % c->kernel[1]];
    const int tap = (axis[0].tap[place / c->kernel[2] / c->kernel[1]] * c->kernel[1] + y) * c->kernel[2] + x;
    return weight_gradients + ((size_t)tap * (size_t)c->in.channels + (size_t)channel) * (size_t)c->features;
}

/* The sums of `slots` slots of some rows and one group of features to the weights. */
static void join_rows(const layout *l, const convolution *c, const float *sums, int k, int group,
                      float *weight_gradients) {
    const int panels = panels_of(c->in.channels), channel = k % panels * KERNEL_PANEL, first = group * FEATURES;
    const int width = smaller(FEATURES, c->features - first);
    const size_t slot = (size_t)l->groups * l->group_floats;
    float *to = weights_of(l, c, k, weight_gradients) + first;
    const float *row = sums + (size_t)k * KERNEL_PANEL * FEATURES;
    for (int r = smaller(KERNEL_PANEL, c->in.channels - channel); r > 0; r--, row += FEATURES, to += c->features) {
        float all[FEATURES];
        memcpy(all, row, (size_t)width * sizeof *all);
        for (int s = 1; s < l->slots; s++)
            for (int f = 0; f < width; f++) all[f] += row[(size_t)s * slot + (size_t)f];
        for (int f = 0; f < width; f++) to[f] += all[f];
    }
}

/* A single slot is joined by the thread that summed it, while its sums are in the cache. */
static void add_item(const layout *l, const convolution_piece *piece, int item, char *own, float *sums,
                     float *weight_gradients) {
    const int group = item % l->groups;
    float *const to = sums + (size_t)(l->slots > 1 ? item : thread_share().index) * l->group_floats;
    add_slot(l, piece, (share){item / l->groups, l->slots}, group, own, to);
    for (int k = 0; k < l->rows && l->slots == 1; k++)
        join_rows(l, &piece->convolution, to, k, group, weight_gradients);
}

void bf16_backward_weights(const convolution *c, const void *const inputs[2], const void *gradient,
                           part_gradients weight_gradients, char *scratch) {
    float *sums = (float *)(void *)scratch;
    work all;
    work_divide(&all, 0, c->threads);
#pragma omp parallel num_threads(all.threads)
    for (int part = 0; part < convolution_parts(c); part++) {
        const convolution_piece piece = convolution_piece_at(c, inputs, gradient, part);
        const layout l = layout_of(&piece.convolution);
        float *const to = weight_gradients.first + (size_t)part * weight_gradients.stride;
        work_redivide(&all, (size_t)l.slots * (size_t)l.groups);
#pragma omp barrier
        for (size_t item; work_take(&all, &item);) add_item(&l, &piece, (int)item, own_memory(c, scratch), sums, to);
#pragma omp barrier
        if (l.slots == 1) continue;
#pragma omp for collapse(2) schedule(static)
        for (int k = 0; k < l.rows; k++)
            for (int group = 0; group < l.groups; group++)
                join_rows(&l, &piece.convolution, sums + (size_t)group * l.group_floats, k, group, to);
    }
}
