/* Networks that classify images: what training, evaluation and prediction do alike. */
#ifndef HWS_MODEL_IMAGE_CLASSIFIER_H
#define HWS_MODEL_IMAGE_CLASSIFIER_H

#include "core/listener.h"
#include "images/pixel_scale.h"
#include "model/learner.h"

/* The network for images of this shape, `batch` of them at a time (batch normalisation wants them together); sets model
   and loss. */
status_code image_classifier_network(const labelled_images *like, const char *model, int batch,
                                     learner_options *options, failure *failure);

/* What an evaluation of a set gives; each may be NULL. */
typedef struct image_scores {
    double *losses;           /* [count]; sets without labels have none */
    float *probabilities;     /* [count][classes]: softmax of the logits */
    const listener *listener; /* who is asked whether to stop, which is STATUS_STOPPED */
} image_scores;

/* Of all images of a set. Done by the learner's ranks together. */
status_code image_classifier_evaluate(learner *learner, const pixel_scale *scale, const labelled_images *set,
                                      const image_scores *scores, failure *failure);

#endif
