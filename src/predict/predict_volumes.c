#include "nifti/nifti.h"
#include "predict/case_list.h"
#include "predict/predict.h"
#include "predict/segmenter.h"

enum { STEPS = 1000 }; /* of each image, so that the time left can be told */

typedef struct job {
    const predict_request *request;
    const listener *listener; /* the caller's */
    listener windows;         /* of one image: passes on to the caller's */
    segmenter *segmenter;
    size_t done, cases;
} job;

static void tell(void *context, const char *what, size_t done, size_t total) {
    const job *j = context;
    listener_progress(j->listener, what, j->done * STEPS + done * STEPS / total, j->cases * STEPS);
}

static int stops(void *context) { return listener_stops(((const job *)context)->listener); }

/* A failure that names the image it is about. */
static status_code fail_case(const job *j, const listed_case *one, status_code status, failure *failure) {
    if (status == STATUS_STOPPED)
        return fail(failure, status,
                    "stopped; images that are done are in %.500s, and the same command goes on with the others",
                    j->request->output);
    const struct failure reason = failure ? *failure : (struct failure){0};
    return fail(failure, status, "%.200s: %.700s", one->id, reason.message);
}

static status_code predict_case(job *j, const listed_case *one, failure *failure) {
    char path[PATH_SIZE];
    status_code status = path_format(path, failure, "%s/%s%s", j->request->output, one->id, one->ending);
    if (status != STATUS_OK || (!j->request->overwrite && path_exists(path))) return status;
    volume image;
    label_map labels;
    status = case_list_load(one, segmenter_plan(j->segmenter)->channels, &image, failure);
    if (status != STATUS_OK) return status;
    status = segmenter_label(j->segmenter, &image, &j->windows, &labels, failure);
    volume_close(&image);
    if (status != STATUS_OK) return fail_case(j, one, status, failure);
    status = nifti_write_labels(path, &labels, failure);
    label_map_close(&labels);
    return status;
}

static status_code predict_cases(job *j, const case_list *list, failure *failure) {
    status_code status = STATUS_OK;
    j->cases = list->count;
    for (size_t k = 0; k < list->count; k++) {
        status = predict_case(j, &list->cases[k], failure);
        if (status != STATUS_OK) break;
        listener_progress(j->listener, "predicting", ++j->done * STEPS, j->cases * STEPS);
    }
    return status;
}

static status_code open_segmenter(job *j, failure *failure) {
    const predict_request *r = j->request;
    segmenter_options options = segmenter_options_default();
    options.weights = r->weights;
    options.threads = r->threads;
    options.bf16 = r->bf16;
    options.step = r->step;
    options.mirror = r->mirror;
    options.temporary = r->output;
    return segmenter_open(&j->segmenter, &options, r->runs, r->run_count, failure);
}

status_code predict_volumes(const predict_request *request, const listener *listener, size_t *done, failure *failure) {
    job j = {.request = request, .listener = listener};
    j.windows = (struct listener){.context = &j, .progress = tell, .stop = stops};
    case_list list = {0};
    status_code status = predict_check_apart(request->input, request->output, failure);
    if (status == STATUS_OK) status = open_segmenter(&j, failure);
    if (status == STATUS_OK)
        status = case_list_open(&list, request->input, segmenter_plan(j.segmenter)->channels, failure);
    if (status == STATUS_OK) status = folder_make(request->output, failure);
    if (status == STATUS_OK) status = predict_cases(&j, &list, failure);
    case_list_close(&list);
    segmenter_close(&j.segmenter);
    *done = j.done;
    return status;
}
