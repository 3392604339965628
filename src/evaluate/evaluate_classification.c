#include "core/arg_max.h"
#include "evaluate/evaluate_run.h"
#include "predict/classifier.h"
#include "task/classification_source.h"

#include <math.h>
#include <stdlib.h>

typedef struct job {
    const evaluate_run_request *request;
    classifier model;
    const listener *listener;
    classification_data data;
    const labelled_images *set; /* one of its sets */
    double *losses;
    int *predictions;
} job;

static status_code open_images(job *j, failure *failure) {
    classification_source source;
    const run_config *run = &j->model.config;
    status_code status = classification_source_of_run(&source, run, j->request->data, failure);
    if (status == STATUS_OK) status = classification_data_open(&j->data, &source, j->listener, failure);
    if (status == STATUS_OK && !j->request->data) status = classification_divide(&run->settings, &j->data, failure);
    j->set = j->request->on_training ? &j->data.train : &j->data.test;
    return status;
}

static status_code classify(job *j, failure *failure) {
    const size_t count = (size_t)j->set->count, classes = (size_t)j->model.classes;
    float *probabilities = malloc(count * classes * sizeof *probabilities);
    j->losses = malloc(count * sizeof *j->losses);
    j->predictions = malloc(count * sizeof *j->predictions);
    status_code status =
        probabilities && j->losses && j->predictions ? STATUS_OK : fail_memory(failure, "the evaluation");
    if (status == STATUS_OK) status = classifier_run(&j->model, j->set, j->losses, probabilities, failure);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        j->predictions[i] = arg_max(probabilities + i * classes, (int)classes);
    free(probabilities);
    return status;
}

static void score(const job *j, class_results *scores) {
    const int classes = scores->classes = j->model.classes;
    for (int64_t i = 0; i < j->set->count; i++) {
        const int label = j->set->labels[i], both[2] = {label, classes};
        for (int k = 0; k < 2; k++) {
            class_result *one = &scores->each[both[k]];
            one->count++;
            one->correct += j->predictions[i] == label;
            one->loss += j->losses[i];
        }
    }
    scores->worst = -1;
    for (int k = 0; k <= classes; k++) {
        class_result *one = &scores->each[k];
        one->accuracy = one->count ? (double)one->correct / (double)one->count : (double)NAN;
        one->loss = one->count ? one->loss / (double)one->count : (double)NAN;
        if (k == classes || !one->count) continue;
        if (scores->worst < 0 || one->accuracy < scores->each[scores->worst].accuracy) scores->worst = k;
    }
}

static status_code write_examples(const job *j, failure *failure) {
    text csv = {0};
    text_add(&csv, "example,label,prediction,loss\n");
    for (int64_t i = 0; i < j->set->count; i++)
        text_format(&csv, "%lld,%d,%d,%.9g\n", (long long)j->set->origins[i], j->set->labels[i], j->predictions[i],
                    j->losses[i]);
    const status_code status = run_write(j->request->out, RUN_EXAMPLES, &csv, failure);
    text_close(&csv);
    return status;
}

static status_code write_classes(const job *j, const class_results *scores, failure *failure) {
    text csv = {0};
    text_add(&csv, "class,images,accuracy,loss\n");
    for (int k = 0; k <= scores->classes; k++) {
        const class_result *one = &scores->each[k];
        if (k < scores->classes) text_format(&csv, "%d,%lld,", k, (long long)one->count);
        else text_format(&csv, "all,%lld,", (long long)one->count);
        if (one->count) text_format(&csv, "%.9g,%.9g\n", one->accuracy, one->loss);
        else text_add(&csv, ",\n");
    }
    const status_code status = run_write(j->request->out, RUN_CLASSES, &csv, failure);
    text_close(&csv);
    return status;
}

status_code evaluate_classification(class_results *scores, const evaluate_run_request *request,
                                    const listener *listener, failure *failure) {
    *scores = (class_results){0};
    job j = {.request = request, .listener = listener};
    status_code status = classifier_open(&j.model, request->run, request->weights, request->threads, failure);
    if (status == STATUS_OK) status = open_images(&j, failure);
    if (status == STATUS_OK) status = classify(&j, failure);
    if (status == STATUS_OK) score(&j, scores);
    if (status == STATUS_OK && request->out) status = folder_make(request->out, failure);
    if (status == STATUS_OK && request->out) status = write_examples(&j, failure);
    if (status == STATUS_OK && request->out) status = write_classes(&j, scores, failure);
    classifier_close(&j.model);
    classification_data_close(&j.data);
    free(j.losses);
    free(j.predictions);
    return status;
}
