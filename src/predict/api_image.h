/* Conversions between the images and failures of hws_predict.h and those of the program. */
#ifndef HWS_PREDICT_API_IMAGE_H
#define HWS_PREDICT_API_IMAGE_H

#include "hws_predict.h"
#include "nifti/volume.h"

#include <sys/types.h>

/* Fills `error`, which may be NULL, and returns the public status. */
hws_predict_status api_finish(status_code status, const failure *failure, hws_predict_error *error);

/* The image as a volume that refers to the caller's voxels: not to be closed. Refused: impossible sizes, and any other
   number of channels. */
status_code api_volume(const hws_predict_image *image, int channels, volume *volume, failure *failure);

/* Folders of models: not NULL, at least one. */
status_code api_check_models(const char *const *models, int count, failure *failure);

/* Refused: several threads in a child of the process that opened the model, where they would wait
   for each other for ever. */
status_code api_check_process(pid_t opened_by, int threads, failure *failure);

/* Files to read: not NULL, at least one. The file to write: not NULL, a NIfTI file's name. */
status_code api_check_files(const char *const *files, int count, failure *failure);
status_code api_check_name(const char *file, failure *failure);

#endif
