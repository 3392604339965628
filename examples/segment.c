/*
 * Segmentation in a C program of your own: a model's folder (a run, or plans.json and weights) and NIfTI images in, a
 * label map out. An image has one file, or one for each channel.
 *
 *     segment MODEL IMAGE.nii.gz... LABELS.nii.gz
 */
#include <hws_predict.h>

#include <stdio.h>

static void show(void *context, size_t done, size_t total) {
    (void)context;
    fprintf(stderr, "\r%zu of %zu windows%s", done, total, done == total ? "\n" : "");
}

int main(int count, char **arguments) {
    if (count < 4) {
        fputs("usage: segment MODEL IMAGE.nii.gz... LABELS.nii.gz\n", stderr);
        return 2;
    }
    const char *model = arguments[1], *labels = arguments[count - 1];
    const char *const *images = (const char *const *)(arguments + 2);
    hws_predict_options options = hws_predict_options_default();
    options.progress = show;
    hws_predictor *predictor = NULL;
    hws_predict_error error;
    hws_predict_status status = hws_predict_open(&predictor, &model, 1, &options, &error);
    if (status == HWS_PREDICT_OK) status = hws_predict_file(predictor, images, count - 3, labels, &error);
    if (status != HWS_PREDICT_OK) fprintf(stderr, "segment: %s\n", error.message);
    const int first = hws_predict_has_regions(predictor) ? 0 : 1; /* of classes the first is the background */
    for (int k = first; status == HWS_PREDICT_OK && k < hws_predict_classes(predictor); k++)
        printf("%d is %s\n", hws_predict_class_label(predictor, k), hws_predict_class_name(predictor, k));
    hws_predict_close(&predictor);
    return status != HWS_PREDICT_OK;
}
