/*
 * What convolutions by products of bf16 (kernels_bf16.h) share: where results and what they read stand.
 *
 * A convolution, and each parity of positions of the way back through its strides, is a pass: results on a grid,
 * each the sum over some taps of what lies `shift` places further in a source. A thread copies what a block of
 * results reads, zeros outside of the image included, so that the planes of the copy are long lines under which
 * every tap lies at one distance. Of strides, the copy holds each phase by itself, so that neighbours in it are read
 * by neighbouring results.
 */
#ifndef HWS_NN_CONVOLUTION_BF16_H
#define HWS_NN_CONVOLUTION_BF16_H

#include "nn/convolution_inside.h"
#include "nn/kernels_bf16.h"

/* One axis: result j, which stands at first + j * step of its image, reads through tap[k] the place
   (j + shift[k]) * pace + phase[k] + origin of the source. Taps are in order of phase, then of shift. */
typedef struct pass_axis {
    int count, first, step;
    int size, pace, origin;
    int phases, reach; /* reach: the largest shift */
    int taps;
    int16_t tap[CONVOLUTION_MAX_TAPS], shift[CONVOLUTION_MAX_TAPS], phase[CONVOLUTION_MAX_TAPS];
} pass_axis;

typedef struct pass {
    pass_axis axis[3];
    int samples, sources, source_channels[2];
    int backward;                /* through the data */
    int channels, first_channel; /* of the results; backward: those of one input */
} pass;

pass pass_forward(const convolution *c);

/* Backward through the data of one input there are as many passes as positions differ in which taps reach them. */
int passes_backward(const convolution *c);
pass pass_backward(const convolution *c, int input, int index);

/* Taps of a line that lie side by side in the copy, and so are one run: the first of them and how many. Returns
   the number of such groups. */
typedef struct tap_group {
    int first, count;
} tap_group;
int tap_groups(const pass *p, tap_group groups[CONVOLUTION_MAX_TAPS]);

/* Results that are computed from one copy: some lines of some planes of one sample. */
typedef struct pass_block {
    int sample, plane, planes, line, lines;
} pass_block;

/* How the results are cut into blocks. */
typedef struct pass_blocks {
    int planes, lines;             /* of a block */
    int plane_blocks, line_blocks; /* of a sample */
} pass_blocks;

/* Blocks of which copies of `channels` channels have at most so many bytes, where that is possible. */
pass_blocks pass_blocks_within(const pass *p, int channels, size_t bytes);
static inline size_t pass_block_count(const pass *p, const pass_blocks *b) {
    return (size_t)p->samples * (size_t)b->plane_blocks * (size_t)b->line_blocks;
}
pass_block pass_block_at(const pass *p, const pass_blocks *b, size_t index);

/* The copy for one block, in points. */
typedef struct pass_copy {
    int pitch;        /* of lines */
    int lines;        /* of a phase of a plane */
    ptrdiff_t plane;  /* of planes */
    ptrdiff_t points; /* of all */
} pass_copy;

pass_copy pass_copy_of(const pass *p, int planes, int lines);
/* Where in the copy the first result of a block reads through taps number z, y and x of their axes. */
ptrdiff_t pass_copy_tap(const pass *p, const pass_block *b, int z, int y, int x);

/* Behind the copy so many points of zeros follow, and at least BF16_STEP numbers. */
enum { COPY_SLACK_POINTS = 2 * BF16_STEP };
size_t pass_copy_numbers(const pass_copy *copy, int channels);
void pass_copy_fill(const pass *p, const pass_block *b, const uint16_t *image, int channels, uint16_t *copy);

/* Points that lie `pace` numbers apart, side by side. A few vectors each: no call of memcpy for each. */
void copy_points(const uint16_t *from, size_t pace, size_t points, size_t channels, uint16_t *to);

convolution_scratch bf16_weights_scratch(const convolution *c);

#endif
