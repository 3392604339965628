#define _POSIX_C_SOURCE 200809L
#include "hws_predict.h"

#include "core/parallel.h"
#include "hws.h"
#include "predict/api_image.h"
#include "predict/model_folder.h"
#include "predict/segmenter.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct hws_predictor {
    hws_predict_options options;
    char *temporary, **class_names;
    segmenter *segmenter;
    pid_t process; /* that opened it */
};

const char *hws_predict_version(void) { return HWS_VERSION; }

const char *hws_predict_status_text(hws_predict_status status) {
    switch (status) {
#define STATUS_TEXT(name, value, text)                                                                                 \
    case name: return text;
        HWS_PREDICT_STATUS_LIST(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "an unknown status";
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static const hws_predict_options DEFAULTS = {.size = sizeof DEFAULTS, .mirror = 1, .step = 0.5};

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

void hws_predict_options_init(hws_predict_options *options, size_t size) {
    if (!options || size < sizeof options->size) return;
    memset(options, 0, size);
    memcpy(options, &DEFAULTS, smaller(size, sizeof DEFAULTS));
    options->size = size;
}

/* What an older or newer program gave, as this library knows it. */
static status_code take_options(const hws_predict_options *given, hws_predict_options *options, failure *failure) {
    *options = DEFAULTS;
    if (!given) return STATUS_OK;
    if (given->size < sizeof given->size || given->size > 1 << 16)
        return fail(failure, STATUS_BAD_INPUT, "options of %zu bytes: begin with hws_predict_options_default()",
                    given->size);
    for (size_t k = sizeof *options; k < given->size; k++)
        if (((const char *)given)[k])
            return fail(failure, STATUS_BAD_INPUT,
                        "an option is set that this library (" HWS_VERSION ") does not know: use a newer one");
    memcpy(options, given, smaller(given->size, sizeof *options));
    return STATUS_OK;
}

static int is_flag(int value) { return value == 0 || value == 1; }

static status_code check_options(const hws_predict_options *o, failure *failure) {
    if (o->threads < 0 || o->threads > 4096)
        return fail(failure, STATUS_BAD_INPUT, "threads is %d: 0 (all processors) to 4096 is possible", o->threads);
    if (!is_flag(o->bf16) || !is_flag(o->mirror) || !is_flag(o->latest))
        return fail(failure, STATUS_BAD_INPUT, "bf16, mirror and latest are 0 or 1, not %d, %d and %d", o->bf16,
                    o->mirror, o->latest);
    if (!(o->step > 0 && o->step <= 1))
        return fail(failure, STATUS_BAD_INPUT, "step is %g: it must be above 0 and at most 1", o->step);
    return STATUS_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

static status_code open_segmenter(hws_predictor *p, const char *const *models, int count, failure *failure) {
    segmenter_options options = segmenter_options_default();
    options.weights = p->options.latest ? RUN_WEIGHTS_LATEST : RUN_WEIGHTS_BEST;
    options.threads = p->options.threads ? p->options.threads : parallel_processors();
    options.bf16 = p->options.bf16;
    options.step = p->options.step;
    options.mirror = p->options.mirror;
    options.temporary = p->temporary;
    const status_code status = segmenter_open(&p->segmenter, &options, models, count, failure);
    if (status != STATUS_OK) return status;
    return model_folder_labels(models[0], segmenter_plan(p->segmenter), &p->class_names, failure);
}

static status_code open_parts(hws_predictor *p, const char *const *models, int count, const hws_predict_options *given,
                              failure *failure) {
    status_code status = take_options(given, &p->options, failure);
    if (status == STATUS_OK) status = check_options(&p->options, failure);
    if (status == STATUS_OK) status = api_check_models(models, count, failure);
    if (status == STATUS_OK && p->options.temporary) {
        p->temporary = strdup(p->options.temporary);
        if (!p->temporary) status = fail_memory(failure, "the predictor");
    }
    return status == STATUS_OK ? open_segmenter(p, models, count, failure) : status;
}

hws_predict_status hws_predict_open(hws_predictor **opened, const char *const *models, int count,
                                    const hws_predict_options *options, hws_predict_error *error) {
    failure failure = {0};
    if (!opened)
        return api_finish(fail(&failure, STATUS_BAD_INPUT, "there is no place for the predictor"), &failure, error);
    hws_predictor *p = *opened = calloc(1, sizeof *p);
    const status_code status =
        p ? open_parts(p, models, count, options, &failure) : fail_memory(&failure, "the predictor");
    if (status == STATUS_OK) p->process = getpid();
    else hws_predict_close(opened);
    return api_finish(status, &failure, error);
}

void hws_predict_close(hws_predictor **opened) {
    if (!opened || !*opened) return;
    segmenter_close(&(*opened)->segmenter);
    free((*opened)->class_names);
    free((*opened)->temporary);
    free(*opened);
    *opened = NULL;
}

int hws_predict_channels(const hws_predictor *p) { return p ? segmenter_plan(p->segmenter)->channels : 0; }
int hws_predict_classes(const hws_predictor *p) { return p ? segmenter_plan(p->segmenter)->classes : 0; }

int hws_predict_has_regions(const hws_predictor *p) { return p && segmenter_plan(p->segmenter)->labels.regions > 0; }

int hws_predict_class_label(const hws_predictor *p, int which) {
    if (which < 0 || which >= hws_predict_classes(p)) return -1;
    const label_scheme *labels = &segmenter_plan(p->segmenter)->labels;
    return labels->values[labels->regions ? labels->region[which].writes : which];
}

const char *hws_predict_channel_name(const hws_predictor *p, int channel) {
    if (channel < 0 || channel >= hws_predict_channels(p)) return NULL;
    return segmenter_plan(p->segmenter)->channel[channel].name;
}

const char *hws_predict_class_name(const hws_predictor *p, int which) {
    return which < 0 || which >= hws_predict_classes(p) ? NULL : p->class_names[which];
}

/* ---- prediction -------------------------------------------------------------------------------------------------- */

static void tell(void *context, const char *what, size_t done, size_t total) {
    const hws_predict_options *o = context;
    (void)what;
    if (o->progress) o->progress(o->context, done, total);
}

static int stops(void *context) {
    const hws_predict_options *o = context;
    return o->cancel && o->cancel(o->context);
}

static status_code run(hws_predictor *p, const hws_predict_image *image, const segmenter_output *output,
                       failure *failure) {
    volume volume;
    if (!p) return fail(failure, STATUS_BAD_INPUT, "there is no predictor: hws_predict_open makes one");
    status_code status = api_check_process(p->process, segmenter_threads(p->segmenter), failure);
    if (status == STATUS_OK) status = api_volume(image, hws_predict_channels(p), &volume, failure);
    if (status != STATUS_OK) return status;
    const listener listener = {.context = &p->options, .progress = tell, .stop = stops};
    return segmenter_run(p->segmenter, &volume, output, &listener, failure);
}

hws_predict_status hws_predict_labels(hws_predictor *p, const hws_predict_image *image, int16_t *labels,
                                      hws_predict_error *error) {
    failure failure = {0};
    const segmenter_output output = {.labels = labels};
    const status_code status = labels ? run(p, image, &output, &failure)
                                      : fail(&failure, STATUS_BAD_INPUT, "there is no place for the labels");
    return api_finish(status, &failure, error);
}

hws_predict_status hws_predict_probabilities(hws_predictor *p, const hws_predict_image *image, float *probabilities,
                                             int16_t *labels, hws_predict_error *error) {
    failure failure = {0};
    const segmenter_output output = {.labels = labels, .probabilities = probabilities};
    const status_code status = probabilities
                                   ? run(p, image, &output, &failure)
                                   : fail(&failure, STATUS_BAD_INPUT, "there is no place for the probabilities");
    return api_finish(status, &failure, error);
}

static hws_predict_status predict_image(hws_predictor *p, const hws_predict_image *image, const char *labels_file,
                                        hws_predict_error *error) {
    int16_t *labels = malloc((size_t)image->size[0] * (size_t)image->size[1] * (size_t)image->size[2] * sizeof *labels);
    failure failure = {0};
    if (!labels) return api_finish(fail_memory(&failure, "the labels"), &failure, error);
    hws_predict_status status = hws_predict_labels(p, image, labels, error);
    if (status == HWS_PREDICT_OK) status = hws_predict_write_labels(image, labels, labels_file, error);
    free(labels);
    return status;
}

/* What is wrong with the file to be written is told before the work. */
static status_code check_target(const char *const *files, int count, const char *labels_file, failure *failure) {
    const status_code status = api_check_name(labels_file, failure);
    for (int k = 0; k < count && status == STATUS_OK; k++)
        if (path_same(files[k], labels_file))
            return fail(failure, STATUS_BAD_INPUT, "%.500s is the image: name another file for the labels",
                        labels_file);
    return status;
}

hws_predict_status hws_predict_file(hws_predictor *p, const char *const *files, int count, const char *labels_file,
                                    hws_predict_error *error) {
    failure failure = {0};
    status_code wrong = api_check_files(files, count, &failure);
    if (wrong == STATUS_OK) wrong = check_target(files, count, labels_file, &failure);
    if (wrong != STATUS_OK) return api_finish(wrong, &failure, error);
    hws_predict_image image;
    hws_predict_status status = hws_predict_read(&image, files, count, error);
    if (status == HWS_PREDICT_OK) status = predict_image(p, &image, labels_file, error);
    hws_predict_free(&image);
    return status;
}
