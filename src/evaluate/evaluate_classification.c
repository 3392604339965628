#define _POSIX_C_SOURCE 200809L
#include "core/arg_max.h"
#include "core/array.h"
#include "core/csv.h"
#include "evaluate/class_gallery.h"
#include "evaluate/classified.h"
#include "evaluate/evaluate_run.h"
#include "evaluate/evaluation_age.h"
#include "evaluate/name_list.h"
#include "evaluate/own_results.h"
#include "predict/classifier.h"
#include "task/classification_source.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    const evaluate_run_request *request;
    const listener *listener;
    const char *out;   /* the folder for files, or NULL */
    double iterations; /* how far the run is: the report has to know whether it was trained on; -1: nobody knows */
    classifier model;
    const char *encoding; /* while they are opened: the run's file about a table, or NULL */
    classification_data data;
    const labelled_images *set; /* one of its sets */
    double *losses;
    float *probabilities;
    int *predictions;
    int is_own; /* 1: the run's own data, wherever they are now */
    size_t stratum_capacity;
    const char *gallery_column; /* the first column of groups that is scored, or NULL */
    class_results *scores;
} job;

/* To be called before the weights are read. A run that is still training may be further by then, which the report tells; if
   it were the other way round, old weights would pass for new ones. And a history that cannot be read fails before any file
   is written. */
static status_code read_iterations(job *j, failure *failure) {
    return evaluation_iteration(j->request->run, &j->iterations, failure);
}

/* The run's own data, divided as for its training; in another place, if one is named. */
static status_code open_own(job *j, const char *place, const listener *listener, failure *failure) {
    classification_source source;
    const run_config *run = &j->model.config;
    status_code status = classification_source_of_run(&source, run, NULL, failure);
    source.encoding = j->encoding;
    if (place) source.data = place;
    if (status == STATUS_OK) status = classification_data_open(&j->data, &source, listener, failure);
    if (status == STATUS_OK) status = classification_divide(&run->settings, &j->data, NULL, failure);
    return status == STATUS_OK ? classification_is_unchanged(run, &j->data, &j->is_own, failure) : status;
}

/* Whether the run's data have been moved or copied to the place that is asked about. What cannot be read as they were is
   something else. */
static status_code open_moved(job *j, const char *place, failure *failure) {
    struct failure reason;
    const struct listener quiet = {j->listener ? j->listener->context : NULL,
                                   j->listener ? j->listener->progress : NULL, NULL,
                                   j->listener ? j->listener->stop : NULL};
    if (!j->model.config.facts.data_fingerprint) return STATUS_OK;
    status_code status = open_own(j, place, &quiet, &reason);
    if (status == STATUS_STOPPED || status == STATUS_OUT_OF_MEMORY) return fail(failure, status, "%s", reason.message);
    if (status != STATUS_OK) j->is_own = 0;
    if (!j->is_own) {
        classification_data_close(&j->data);
        return STATUS_OK;
    }
    listener_notice(j->listener, j->request->on_training
                                     ? "these are the data that the run was trained on, in another place: what it was "
                                       "trained on is scored, as --part train asks"
                                     : "these are the data that the run was trained on, in another place: what it was "
                                       "not trained on is scored");
    return STATUS_OK;
}

static status_code open_other(job *j, int changed, failure *failure) {
    classification_source source;
    status_code status = classification_source_of_run(&source, &j->model.config, j->request->data, failure);
    source.encoding = j->encoding;
    source.examples.whole = changed;
    if (changed) {
        listener_notice(j->listener, "the data have changed since the run was trained on them, and are read as others");
        classification_data_close(&j->data);
    }
    return status == STATUS_OK ? classification_data_open(&j->data, &source, j->listener, failure) : status;
}

/* Nobody knows any more which examples the run has not seen. */
static status_code refuse_changed(const job *j, failure *failure) {
    const char *data = j->model.config.settings.data;
    return fail(failure, STATUS_BAD_INPUT,
                "%.300s: has changed since this run was trained on it, so that its test part may hold what was trained "
                "on; bring the former data back, or evaluate with --data %.300s, which takes them for other data and "
                "scores all of them, or those that they mark as test",
                data, data);
}

static status_code refuse_missing(const job *j, failure *failure) {
    return fail(failure, STATUS_CANNOT_READ,
                "%.300s: the data that this run was trained on are not there any more; if they have moved, name where "
                "they are: hws evaluate %.200s --data PLACE",
                j->model.config.settings.data, j->request->run);
}

static status_code open_either(job *j, failure *failure) {
    const char *asked = j->request->data, *trained = j->model.config.settings.data;
    const int path = !classification_data_is_word(trained);
    int own = !asked;
    if (!asked && path && !path_exists(trained)) return refuse_missing(j, failure);
    status_code status = asked ? classification_data_same(trained, asked, &own, failure) : STATUS_OK;
    if (status == STATUS_OK && own) status = open_own(j, NULL, j->listener, failure);
    else if (status == STATUS_OK && path && path_exists(asked)) status = open_moved(j, asked, failure);
    if (status != STATUS_OK || j->is_own) return status;
    return asked ? open_other(j, own, failure) : refuse_changed(j, failure);
}

static status_code open_images(job *j, failure *failure) {
    const int encoded = run_has(j->request->run, RUN_FEATURES);
    char encoding[PATH_SIZE];
    status_code status = encoded ? run_path(encoding, j->request->run, RUN_FEATURES, failure) : STATUS_OK;
    j->encoding = encoded ? encoding : NULL;
    if (status == STATUS_OK) status = open_either(j, failure);
    j->encoding = NULL;
    j->set = j->request->on_training ? &j->data.train : &j->data.test;
    if (status == STATUS_OK && !j->set->count)
        status = fail(failure, STATUS_BAD_INPUT, "the data have nothing in their %s part; see --part",
                      j->request->on_training ? "training" : "test");
    return status;
}

static status_code classify(job *j, failure *failure) {
    const size_t count = (size_t)j->set->count, classes = (size_t)j->model.classes;
    j->probabilities = malloc(count * classes * sizeof *j->probabilities);
    j->losses = malloc(count * sizeof *j->losses);
    j->predictions = malloc(count * sizeof *j->predictions);
    status_code status =
        j->probabilities && j->losses && j->predictions ? STATUS_OK : fail_memory(failure, "the evaluation");
    j->model.listener = j->listener;
    if (status == STATUS_OK) status = classifier_run(&j->model, j->set, j->losses, j->probabilities, failure);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        j->predictions[i] = arg_max(j->probabilities + i * classes, (int)classes);
    return status;
}

/* ---- by class ---------------------------------------------------------------------------------------------------- */

static void score_classes(const job *j, class_results *scores) {
    const int classes = scores->classes;
    for (int64_t i = 0; i < j->set->count; i++) {
        const int label = j->set->labels[i], both[2] = {label, classes};
        scores->confusion[label * classes + j->predictions[i]]++;
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

/* ---- by group ---------------------------------------------------------------------------------------------------- */

static class_predictions predictions_of(const job *j) {
    const example_column *patients = example_column_patients(j->set->columns, j->set->column_count);
    return (class_predictions){j->set->count, j->model.classes, j->set->labels, j->probabilities,
                               patients ? patients->of : NULL};
}

/* The examples with this value in the column; all of them without a column. */
static status_code add_stratum(job *j, const example_column *column, int value, failure *failure) {
    class_results *s = j->scores;
    class_stratum *grown = array_grow(s->strata, s->stratum_count, &j->stratum_capacity, sizeof *grown);
    int64_t *members = malloc(((size_t)j->set->count + 1) * sizeof *members), count = 0;
    if (grown) s->strata = grown;
    if (!grown || !members) return free(members), fail_memory(failure, "the groups");
    for (int64_t i = 0; i < j->set->count; i++)
        if (!column || column->of[i] == value) members[count++] = i;
    class_stratum one = {.column = column ? strdup(column->name) : NULL,
                         .value = column ? strdup(column->values[value]) : NULL};
    const class_predictions p = predictions_of(j);
    const status_code status = class_scores_of(&p, members, count, &one.scored, failure);
    free(members);
    s->strata[s->stratum_count++] = one;
    return status;
}

static status_code refuse_column(const job *j, const char *name, failure *failure) {
    text known = {0};
    labelled_images_column_names(j->set, &known);
    const status_code status =
        fail(failure, STATUS_BAD_INPUT, "--by %.100s: the data have no such column of groups; they have %.500s", name,
             text_string(&known));
    text_close(&known);
    return status;
}

static status_code check_column(void *context, const char *name, failure *failure) {
    const job *j = context;
    const example_column *column = labelled_images_column(j->set, name);
    if (!column) return refuse_column(j, name, failure);
    if (column->value_count > EXAMPLE_GROUPS_MAX)
        return fail(failure, STATUS_BAD_INPUT, "--by %.100s: has %d values; at most %d groups are told apart", name,
                    column->value_count, EXAMPLE_GROUPS_MAX);
    return STATUS_OK;
}

static void tell_groups(const job *j, const example_column *column) {
    group_counts counts = {.examples = j->set->count};
    for (int v = 0; v < column->value_count; v++)
        counts.groups += j->scores->strata[j->scores->stratum_count - 1 - (size_t)v].scored.count > 0;
    for (int64_t i = 0; i < j->set->count; i++) counts.without += column->of[i] < 0;
    class_groups_tell(column->name, counts, j->listener);
}

static status_code add_column(void *context, const char *name, failure *failure) {
    job *j = context;
    status_code status = check_column(context, name, failure);
    if (status != STATUS_OK) return status;
    const example_column *column = labelled_images_column(j->set, name);
    if (!j->gallery_column) j->gallery_column = column->name;
    for (int v = 0; v < column->value_count && status == STATUS_OK; v++) status = add_stratum(j, column, v, failure);
    if (status == STATUS_OK) tell_groups(j, column);
    return status;
}

/* The first of those with the lowest accuracy. */
static void find_worst(class_results *s) {
    for (size_t k = 1; k < s->stratum_count; k++) {
        const class_scored *one = &s->strata[k].scored, *worst = &s->strata[s->worst_group].scored;
        if (one->count && (!s->worst_group || one->value[CLASS_ACCURACY] < worst->value[CLASS_ACCURACY]))
            s->worst_group = k;
    }
}

/* "sex,site" */
static status_code score_groups(job *j, failure *failure) {
    const char *own = NULL;
    status_code status = add_stratum(j, NULL, 0, failure);
    j->scores->knows_patients = predictions_of(j).patients != NULL;
    if (status == STATUS_OK && !j->request->by && j->is_own)
        status = classification_group(&j->model.config.settings, j->set, &own, failure);
    if (!j->request->by && !j->is_own && labelled_images_column(j->set, "group")) own = "group";
    if (status == STATUS_OK && own) status = add_column(j, own, failure);
    return status == STATUS_OK ? name_list_each(j->request->by, add_column, j, failure) : status;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void add_header(const job *j, text *csv) {
    text_add(csv, "example,label,prediction,loss");
    for (int k = 0; k < j->model.classes; k++) {
        text name = {0};
        text_add(&name, "p_");
        labelled_images_class_name(j->set, k, &name);
        text_add(csv, ",");
        csv_add_text(csv, &name);
    }
    for (int k = 0; k < j->set->column_count; k++) {
        const char *column = j->set->columns[k].name;
        const int renamed = classified_is_renamed(column, j->set->class_names, j->model.classes);
        text name = {0};
        text_format(&name, "%s%s", renamed ? CLASSIFIED_DATA : "", column);
        text_add(csv, ",");
        csv_add_text(csv, &name);
    }
    text_add(csv, "\n");
}

static void add_example(const job *j, int64_t i, text *csv) {
    labelled_images_name_field(j->set, i, csv);
    text_add(csv, ",");
    labelled_images_class_field(j->set, j->set->labels[i], csv);
    text_add(csv, ",");
    labelled_images_class_field(j->set, j->predictions[i], csv);
    text_format(csv, ",%.9g", j->losses[i]);
    for (int k = 0; k < j->model.classes; k++)
        text_format(csv, ",%.9g", (double)j->probabilities[i * j->model.classes + k]);
    for (int k = 0; k < j->set->column_count; k++) {
        const example_column *column = &j->set->columns[k];
        text_add(csv, ",");
        if (column->of[i] >= 0) csv_add_field(csv, column->values[column->of[i]]);
    }
    text_add(csv, "\n");
}

static status_code write_out(const job *j, run_file file, text *csv, failure *failure) {
    const status_code status = run_write(j->out, file, csv, failure);
    text_close(csv);
    return status;
}

static status_code write_examples(const job *j, failure *failure) {
    text csv = {0};
    add_header(j, &csv);
    for (int64_t i = 0; i < j->set->count; i++) add_example(j, i, &csv);
    return write_out(j, RUN_EXAMPLES, &csv, failure);
}

static status_code write_classes(const job *j, failure *failure) {
    text csv = {0};
    text_add(&csv, "class,images,accuracy,loss");
    for (int r = 0; r < CLASS_RATES; r++) {
        const char *name = class_rate_name((class_rate)r);
        text_format(&csv, ",%s,%s_low,%s_high", name, name, name);
    }
    text_add(&csv, "\n");
    for (int k = 0; k <= j->scores->classes; k++) {
        const class_rates *rates = &j->scores->rates[k];
        const class_result *one = &j->scores->each[k];
        if (k < j->scores->classes) labelled_images_class_field(j->set, k, &csv);
        else text_add(&csv, "all");
        text_format(&csv, ",%lld,", (long long)one->count);
        if (one->count) text_format(&csv, "%.9g,%.9g", one->accuracy, one->loss);
        else text_add(&csv, ",");
        for (int r = 0; r < CLASS_RATES; r++) {
            csv_add_number(&csv, rates->value[r]);
            csv_add_number(&csv, rates->ci[r].low);
            csv_add_number(&csv, rates->ci[r].high);
        }
        text_add(&csv, "\n");
    }
    return write_out(j, RUN_CLASSES, &csv, failure);
}

static status_code write_strata(const job *j, failure *failure) {
    text csv = {0};
    text_add(&csv, "column,value,examples");
    for (int s = 0; s < CLASS_SCORES; s++) {
        const char *name = class_score_name((class_score)s);
        text_format(&csv, ",%s,%s_low,%s_high", name, name, name);
    }
    text_add(&csv, ",iteration,patients\n");
    for (size_t k = 0; k < j->scores->stratum_count; k++) {
        const class_stratum *one = &j->scores->strata[k];
        csv_add_field(&csv, one->column ? one->column : "");
        text_add(&csv, ",");
        csv_add_field(&csv, one->value ? one->value : "all");
        text_format(&csv, ",%lld", (long long)one->scored.count);
        for (int s = 0; s < CLASS_SCORES; s++) {
            csv_add_number(&csv, one->scored.value[s]);
            csv_add_number(&csv, one->scored.ci[s].low);
            csv_add_number(&csv, one->scored.ci[s].high);
        }
        text_add(&csv, ",");
        if (j->iterations >= 0) text_format(&csv, "%.0f", j->iterations);
        text_add(&csv, ",");
        if (j->scores->knows_patients) text_format(&csv, "%lld", (long long)one->scored.patients);
        text_add(&csv, "\n");
    }
    return write_out(j, RUN_STRATA, &csv, failure);
}

static status_code write_confusion(const job *j, failure *failure) {
    text csv = {0};
    const int classes = j->scores->classes;
    text_add(&csv, "label");
    for (int k = 0; k < classes; k++) {
        text_add(&csv, ",");
        labelled_images_class_field(j->set, k, &csv);
    }
    text_add(&csv, "\n");
    for (int k = 0; k < classes; k++) {
        labelled_images_class_field(j->set, k, &csv);
        for (int p = 0; p < classes; p++) text_format(&csv, ",%lld", (long long)j->scores->confusion[k * classes + p]);
        text_add(&csv, "\n");
    }
    return write_out(j, RUN_CONFUSION, &csv, failure);
}

static status_code write_reliability(const job *j, failure *failure) {
    class_bin bins[CLASS_BINS];
    text csv = {0};
    const class_predictions p = predictions_of(j);
    class_scores_bins(&p, bins);
    text_add(&csv, "confidence_from,confidence_to,examples,confidence,accuracy\n");
    for (int b = 0; b < CLASS_BINS; b++) {
        text_format(&csv, "%.9g,%.9g,%.0f", (double)b / CLASS_BINS, (double)(b + 1) / CLASS_BINS, bins[b].count);
        csv_add_number(&csv, bins[b].confidence / bins[b].count);
        csv_add_number(&csv, bins[b].hits / bins[b].count);
        text_add(&csv, "\n");
    }
    return write_out(j, RUN_RELIABILITY, &csv, failure);
}

static status_code write_files(const job *j, failure *failure) {
    status_code status = folder_make(j->out, failure);
    if (status == STATUS_OK) status = write_examples(j, failure);
    if (status == STATUS_OK) status = write_classes(j, failure);
    if (status == STATUS_OK) status = write_strata(j, failure);
    if (status == STATUS_OK) status = write_confusion(j, failure);
    if (status == STATUS_OK) status = write_reliability(j, failure);
    const class_gallery gallery = {j->set, j->probabilities, j->losses, j->gallery_column, j->out};
    return status == STATUS_OK ? class_gallery_write(&gallery, failure) : status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code score(job *j, failure *failure) {
    class_results *s = j->scores;
    const size_t classes = (size_t)j->model.classes;
    s->classes = j->model.classes;
    s->are_rows = j->set->values != NULL;
    s->confusion = calloc(classes * classes, sizeof *s->confusion);
    s->class_names = j->set->class_names ? words_copy(j->set->class_names, classes) : NULL;
    if (!s->confusion || (j->set->class_names && !s->class_names)) return fail_memory(failure, "the scores");
    score_classes(j, s);
    const class_predictions predictions = predictions_of(j);
    status_code status = class_rates_of(&predictions, s->rates, failure);
    if (status == STATUS_OK) status = score_groups(j, failure);
    if (status == STATUS_OK) find_worst(s);
    return status;
}

status_code evaluate_classification(class_results *scores, const evaluate_run_request *request,
                                    const listener *listener, failure *failure) {
    *scores = (class_results){0};
    job j = {.request = request, .listener = listener, .scores = scores};
    j.out = request->out;
    status_code status = read_iterations(&j, failure);
    if (status == STATUS_OK && j.out) status = own_results_check(j.out, RESULTS_OF_CLASSES, failure);
    if (status == STATUS_OK)
        status =
            classifier_open(&j.model, request->run,
                            &(classifier_options){.weights = request->weights, .threads = request->threads}, failure);
    if (status == STATUS_OK) status = open_images(&j, failure);
    if (!j.out && j.is_own && !request->on_training && request->weights == RUN_WEIGHTS_BEST) j.out = request->run;
    if (status == STATUS_OK) status = name_list_each(request->by, check_column, &j, failure);
    if (status == STATUS_OK) status = classify(&j, failure);
    if (status == STATUS_OK) status = score(&j, failure);
    if (status == STATUS_OK && j.out) status = write_files(&j, failure);
    if (status == STATUS_OK && !j.out)
        listener_notice(listener, "nothing of this evaluation is kept; --out DIR keeps it, for hws compare");
    classifier_close(&j.model);
    classification_data_close(&j.data);
    free(j.losses);
    free(j.probabilities);
    free(j.predictions);
    return status;
}
