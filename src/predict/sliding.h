/*
 * A window that slides over a volume: what it sees is scored, overlapping windows are averaged with Gaussian weights,
 * and each window may be scored in all its mirror images, too.
 *
 * Finished planes are handed out one after the other, so that memory is needed for the planes of one window only,
 * however large the volume is. Three numbers are depth, height, width.
 */
#ifndef HWS_PREDICT_SLIDING_H
#define HWS_PREDICT_SLIDING_H

#include "core/failure.h"

#include <stddef.h>

typedef struct sliding {
    int size[3], channels;
    const float *image; /* [channel][depth][height][width] */
    int patch[3], classes;
    double step;   /* 0.5: windows are at most this share of the patch apart, or 1; above 0, at most 1 */
    int mirror[3]; /* axes along which windows are mirrored: 1 << (number of them) scores per window */
    int threads;   /* that cut windows and add up scores; 0 is 1. The bits are the same */
} sliding;

/* What is done to each window and to what comes out. All get `context`. */
typedef struct sliding_calls {
    void *context;
    /* Scores [depth][height][width][class] of a patch [depth][height][width][channel]. */
    status_code (*score)(void *context, const float *patch, float *scores, failure *failure);
    /* The averaged scores [height][width][class] of plane `depth`; called in order. */
    status_code (*plane)(void *context, int depth, const float *scores, failure *failure);
    /* After each window; a status other than STATUS_OK stops. May be NULL. */
    status_code (*progress)(void *context, size_t done, size_t all, failure *failure);
} sliding_calls;

status_code sliding_run(const sliding *sliding, const sliding_calls *calls, failure *failure);

/* Where windows begin along an axis: evenly spread from the first position to the last, as nnU-Net does. Returns their
   number; `starts` may be NULL. */
int sliding_starts(int size, int patch, double step, int *starts);

/* The weight of each position of a window along an axis: a Gaussian of an eighth of the patch around its centre. */
void sliding_weights(int patch, float *weights);

#endif
