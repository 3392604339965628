#define _POSIX_C_SOURCE 200809L
#include "hws_predict.h"

#include "core/arg_max.h"
#include "core/parallel.h"
#include "core/path.h"
#include "images/picture_sets.h"
#include "picture/resize.h"
#include "predict/api_image.h"
#include "predict/class_ensemble.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hws_predict_classifier {
    class_ensemble ensemble;
    int threads;
    pid_t process; /* that opened it */
};

static const run_facts *facts_of(const hws_predict_classifier *c) { return &c->ensemble.models[0].config.facts; }

static status_code check_folders(const char *const *models, int count, failure *failure) {
    const status_code status = api_check_models(models, count, failure);
    for (int k = 0; k < count && status == STATUS_OK; k++)
        if (!path_is_folder(models[k]))
            return fail(failure, STATUS_CANNOT_READ, "%.500s is not a folder: name a run's", models[k]);
    return status;
}

static status_code open_ensemble(hws_predict_classifier **opened, const char *const *models, int count, int threads,
                                 failure *failure) {
    if (!opened) return fail(failure, STATUS_BAD_INPUT, "there is no place for the classifier");
    *opened = NULL;
    if (threads < 0 || threads > 4096)
        return fail(failure, STATUS_BAD_INPUT, "threads is %d: 0 (all processors) to 4096 is possible", threads);
    status_code status = check_folders(models, count, failure);
    if (status != STATUS_OK) return status;
    hws_predict_classifier *c = calloc(1, sizeof *c);
    if (!c) return fail_memory(failure, "the classifier");
    const classifier_options options = {
        .weights = RUN_WEIGHTS_BEST, .threads = threads ? threads : parallel_processors(), .one_by_one = 1};
    c->threads = options.threads;
    c->process = getpid();
    status = class_ensemble_open(&c->ensemble, models, count, &options, failure);
    if (status == STATUS_OK) *opened = c;
    else free(c);
    return status;
}

hws_predict_status hws_predict_classifier_open(hws_predict_classifier **opened, const char *const *models, int count,
                                               int threads, hws_predict_error *error) {
    failure failure = {0};
    return api_finish(open_ensemble(opened, models, count, threads, &failure), &failure, error);
}

void hws_predict_classifier_close(hws_predict_classifier **opened) {
    if (!opened || !*opened) return;
    class_ensemble_close(&(*opened)->ensemble);
    free(*opened);
    *opened = NULL;
}

int hws_predict_classifier_classes(const hws_predict_classifier *c) { return c ? facts_of(c)->class_count : 0; }

const char *hws_predict_classifier_class_name(const hws_predict_classifier *c, int which) {
    return c && which >= 0 && which < facts_of(c)->class_count ? facts_of(c)->class_names[which] : NULL;
}

/* The picture as the networks, which are for one size, want it. */
static status_code classify(hws_predict_classifier *c, const raster *picture, float *probabilities, failure *failure) {
    const run_facts *f = facts_of(c);
    labelled_images set = {.count = 1, .height = f->height, .width = f->width, .channels = f->channels};
    set.classes = f->class_count;
    raster own = {0};
    if (!probabilities) return fail(failure, STATUS_BAD_INPUT, "there is no place for the probabilities");
    status_code status = api_check_process(c->process, c->threads, failure);
    if (status == STATUS_OK) status = picture_sets_check_trained(f->height, f->width, f->channels, failure);
    if (status == STATUS_OK) status = raster_resize(picture, picture->height, picture->width, &own, failure);
    if (status == STATUS_OK) status = raster_convert(&own, f->channels, failure);
    set.pixels = status == STATUS_OK ? malloc(labelled_images_stride(&set)) : NULL;
    if (status == STATUS_OK && !set.pixels) status = fail_memory(failure, "the picture");
    if (status == STATUS_OK) status = raster_fit(&own, f->height, f->width, set.pixels, failure);
    if (status == STATUS_OK) status = class_ensemble_run(&c->ensemble, &set, NULL, probabilities, failure);
    free(set.pixels);
    raster_close(&own);
    return status;
}

hws_predict_status hws_predict_classify_file(hws_predict_classifier *c, const char *file, float *probabilities,
                                             hws_predict_error *error) {
    failure failure = {0};
    raster picture = {0};
    status_code status = c && file ? STATUS_OK : fail(&failure, STATUS_BAD_INPUT, "the classifier or the file is NULL");
    raster_greys greys = {0};
    if (status == STATUS_OK) status = raster_greys_parse(&greys, c->ensemble.models[0].config.settings.greys, &failure);
    if (status == STATUS_OK) status = raster_read_greys(&picture, file, greys, NULL, &failure);
    if (status == STATUS_OK) status = classify(c, &picture, probabilities, &failure);
    raster_close(&picture);
    return api_finish(status, &failure, error);
}

hws_predict_status hws_predict_classify_pixels(hws_predict_classifier *c, const uint8_t *pixels, const int size[3],
                                               float *probabilities, hws_predict_error *error) {
    failure failure = {0};
    const int right = c && pixels && size && size[0] > 0 && size[1] > 0 && (size[2] == 1 || size[2] == 3) &&
                      (int64_t)size[0] * size[1] <= RASTER_PIXELS_MAX;
    if (!right)
        return api_finish(
            fail(&failure, STATUS_BAD_INPUT, "pixels need a classifier, a height, a width, and 1 or 3 channels"),
            &failure, error);
    const raster picture = {size[0], size[1], size[2], (uint8_t *)pixels};
    return api_finish(classify(c, &picture, probabilities, &failure), &failure, error);
}
