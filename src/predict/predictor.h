/*
 * Segmentation of whole images by trained networks: preprocessing, sliding window, ensemble, back to the original grid.
 *
 *     predictor_open(&predictor, &options, runs, count, &failure);
 *     predictor_run(predictor, &image, &labels, &failure);          as often as there are images
 *     predictor_close(&predictor);
 *
 * A run is a folder with plans.json and weights. Several of them (folds, seeds) are averaged in their logits; their
 * plans must agree. Memory is that of one network, one preprocessed image and the planes of one window; class scores of
 * the whole image are kept only where they must be resampled, and in a file without a name where even they are large.
 */
#ifndef HWS_PREDICT_PREDICTOR_H
#define HWS_PREDICT_PREDICTOR_H

#include "nifti/volume.h"
#include "plan/plan.h"
#include "run/run_folder.h"

typedef struct predictor_options {
    run_weights weights;   /* the best */
    int threads;           /* 1 */
    int bf16;              /* 0; 1 stores activations in bf16 */
    double step;           /* 0.5, of the patch */
    int mirror;            /* 1: all mirror images are averaged, too */
    const char *temporary; /* the folder for large scores; NULL: kept in memory always */
    double memory;         /* scores of more than half of these bytes are large; 0: of what is available */
    /* After each window of an image; a status other than STATUS_OK stops. May be NULL. */
    status_code (*progress)(void *context, size_t done, size_t all, failure *failure);
    void *context;
} predictor_options;

predictor_options predictor_options_default(void);

typedef struct predictor predictor;

status_code predictor_open(predictor **opened, const predictor_options *options, const char *const *runs, int count,
                           failure *failure);
void predictor_close(predictor **opened);

const plan *predictor_plan(const predictor *predictor);

/* The labels are opened here, on the image's grid; close them when STATUS_OK. */
status_code predictor_run(predictor *predictor, const volume *image, label_map *labels, failure *failure);

#endif
