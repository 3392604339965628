/*
 * Segmentation in a C program of your own: a run's folder (weights and plans.json) and a NIfTI image in, a label map out.
 *
 *     segment RUN image_0000.nii.gz labels.nii.gz
 */
#include "nifti/nifti.h"
#include "predict/predictor.h"

#include <stdio.h>

static status_code segment(const char *run, const char *image_path, const char *labels_path, failure *failure) {
    predictor_options options = predictor_options_default();
    options.threads = 2;
    predictor *predictor = NULL;
    volume image = {0};
    label_map labels = {0};
    status_code status = predictor_open(&predictor, &options, &run, 1, failure);
    if (status == STATUS_OK) status = nifti_read_volume(image_path, NIFTI_ALL_CHANNELS, &image, failure);
    if (status == STATUS_OK) status = predictor_run(predictor, &image, &labels, failure);
    if (status == STATUS_OK) status = nifti_write_labels(labels_path, &labels, failure);
    label_map_close(&labels);
    volume_close(&image);
    predictor_close(&predictor);
    return status;
}

int main(int count, char **arguments) {
    failure failure = {0};
    if (count != 4) {
        fputs("usage: segment RUN IMAGE.nii.gz LABELS.nii.gz\n", stderr);
        return 2;
    }
    if (segment(arguments[1], arguments[2], arguments[3], &failure) == STATUS_OK) return 0;
    fprintf(stderr, "segment: %s\n", failure.message);
    return 1;
}
