/* Networks that classify images: what training, evaluation and prediction do alike. */
#ifndef HWS_MODEL_IMAGE_CLASSIFIER_H
#define HWS_MODEL_IMAGE_CLASSIFIER_H

#include "images/pixel_scale.h"
#include "model/learner.h"

/* The network for images of this shape, `batch` of them at a time (batch normalisation wants them together); sets model
   and loss. */
status_code image_classifier_network(const labelled_images *like, const char *model, int batch,
                                     learner_options *options, failure *failure);

/* Puts images and labels (0 where they are not known) into the learner, from the image `first` on. */
status_code image_classifier_load(learner *learner, const pixel_scale *scale, const labelled_images *set, int64_t first,
                                  int count, failure *failure);

/* Losses (may be NULL) and class probabilities [count][classes] (may be NULL) of all images of a set: softmax of the
   logits. Sets without labels have no losses. Done by the learner's ranks together. */
status_code image_classifier_evaluate(learner *learner, const pixel_scale *scale, const labelled_images *set,
                                      double *losses, float *probabilities, failure *failure);

#endif
