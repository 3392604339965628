/* Picture files classified: a part of predict_images. */
#ifndef HWS_PREDICT_PREDICT_PICTURES_H
#define HWS_PREDICT_PREDICT_PICTURES_H

#include "predict/class_ensemble.h"
#include "predict/predict.h"

/* Whether a file is a picture: by its name, or because it begins as a PNG or JPEG file does. */
int predict_is_picture(const char *input);

/* Whether the input is a CSV file, a picture, or a folder with PNG or JPEG files somewhere in it; fails where
   that cannot be found out. */
status_code predict_takes_pictures(const char *input, int *takes, failure *failure);

status_code predict_pictures(const predict_request *request, class_ensemble *ensemble, const listener *listener,
                             size_t *done, failure *failure);

#endif
