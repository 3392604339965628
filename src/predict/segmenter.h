/*
 * Segmentation of whole images by trained networks: preprocessing, sliding window, ensemble, back to the original grid.
 *
 *     segmenter_open(&segmenter, &options, models, count, &failure);
 *     segmenter_run(segmenter, &image, &output, listener, &failure);          as often as there are images
 *     segmenter_close(&segmenter);
 *
 * A model is a folder with a plan and weights (model_folder.h). Several of them (folds, seeds) are averaged; their
 * plans must agree. Memory is that of one network, one preprocessed image and the planes of one window; class
 * scores of the whole image are kept only where they must be resampled or given out, and in a file without a name
 * where even they are large.
 */
#ifndef HWS_PREDICT_SEGMENTER_H
#define HWS_PREDICT_SEGMENTER_H

#include "core/listener.h"
#include "nifti/volume.h"
#include "plan/plan.h"
#include "run/run_folder.h"

/*
 * What is averaged over models, mirror images and windows, and then resampled. Logits are what nnU-Net v2 averages, and
 * the default: a network that is sure counts for more than several that are not, and label maps of earlier versions
 * stay the same. Probabilities are what nnU-Net v1 and the paper average.
 */
typedef enum average_kind { AVERAGE_LOGITS, AVERAGE_PROBABILITIES } average_kind;

typedef struct segmenter_options {
    run_weights weights;   /* the best */
    int threads;           /* 1 */
    int adapts;            /* 0; 1: fewer of them while others use the processors (nn/team.h). Not for libraries */
    int bf16;              /* 0; 1 stores activations in bf16 */
    double step;           /* 0.5, of the patch */
    int mirror;            /* 1: all mirror images are averaged, too */
    average_kind average;  /* logits */
    const char *temporary; /* the folder for large scores; NULL: kept in memory always */
    double memory;         /* scores of more than half of these bytes are large; 0: of what is available */
} segmenter_options;

segmenter_options segmenter_options_default(void);

typedef struct segmenter segmenter;

status_code segmenter_open(segmenter **opened, const segmenter_options *options, const char *const *models, int count,
                           failure *failure);
void segmenter_close(segmenter **opened);

const plan *segmenter_plan(const segmenter *segmenter);
int segmenter_threads(const segmenter *segmenter);

/*
 * Where the results go: memory of the caller, voxels in the image's order; either may be NULL.
 *
 * Labels are the values (label_scheme.h) of the classes with the highest mean scores, the first of equal ones, or
 * those that the regions write. Probabilities, [output][voxel], are the softmax of the resampled mean logits, of
 * regions the sigmoid of each, or the resampled mean probabilities. Where the image is empty around what it shows,
 * the label is 0 for certain.
 */
typedef struct segmenter_output {
    int16_t *labels;
    float *probabilities;
} segmenter_output;

/* The listener is told of each window; a failure leaves the outputs undefined. */
status_code segmenter_run(segmenter *segmenter, const volume *image, const segmenter_output *output,
                          const listener *listener, failure *failure);

/* Labels alone, opened here on the image's grid; close them when STATUS_OK. */
status_code segmenter_label(segmenter *segmenter, const volume *image, const listener *listener, label_map *labels,
                            failure *failure);

#endif
