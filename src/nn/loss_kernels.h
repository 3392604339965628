/*
 * The hot loops of the losses, over one block of positions at a time.
 *
 * Inside, a block is [class][lane]: one row of lanes per class, as many lanes as positions, rounded up to a multiple of
 * LOSS_LANES, so that the loops over a row are vectors whatever the number of classes is.
 */
#ifndef HWS_NN_LOSS_KERNELS_H
#define HWS_NN_LOSS_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { LOSS_LANES = 16, LOSS_BLOCK = 512 };

/* What forward adds up; backward needs the totals. The three rows, one number per class, are NULL where no Dice is
   asked for. */
typedef struct loss_sums {
    double cross_entropy; /* over the positions that count */
    double counted;       /* positions that are not ignored */
    double highest;       /* the highest label, which tells labels out of range */
    double *predicted;    /* probability */
    double *hit;          /* probability where the label is this class */
    double *present;      /* positions with this label */
} loss_sums;

/* The gradient with respect to the probability of class c is at_label[c] where c is the label, plus always[c]; that of
   the cross entropy with respect to the logits is entropy * (probability - indicator of the label). Rows are NULL where
   no Dice is asked for. */
typedef struct loss_slopes {
    float entropy;
    const float *at_label, *always;
} loss_slopes;

typedef void loss_forward_kernel(size_t count, size_t classes, const float *logits, const int16_t *labels,
                                 float *probabilities, loss_sums *sums);
typedef void loss_gradient(size_t count, size_t classes, const int16_t *labels, const float *probabilities,
                           const loss_slopes *slopes, float *gradient);

typedef struct loss_kernels {
    const char *name;
    /* Softmax of up to LOSS_BLOCK positions into `probabilities` (a block; 0 where ignored), adding to the sums. */
    loss_forward_kernel *softmax;
    loss_gradient *gradient;
    /* The same for the sigmoid of each class, which is a region: bit c of a label says whether
       the position is in it. */
    loss_forward_kernel *sigmoid;
    loss_gradient *region_gradient;
} loss_kernels;

/* Those of the set that serves (see kernel_set.h). */
const loss_kernels *loss_kernels_chosen(void);

#endif
