#define _POSIX_C_SOURCE 200809L
#include "core/arg_max.h"
#include "core/array.h"
#include "evaluate/class_files.h"
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

/* To be called before the weights are read. A run that is still training may be further by then, which the report
   tells; if it were the other way round, old weights would pass for new ones. And a history that cannot be read fails
   before any file is written. */
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

/* Whether the run's data have been moved or copied to the place that is asked about. What cannot be read as
   they were is something else. */
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
    listener_notice(j->listener, j->request->part == SCORE_TRAINING
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
    const labelled_images *const parts[] = {&j->data.test, &j->data.train, &j->data.validation};
    static const char *const NAMES[] = {"test", "training", "validation"};
    j->set = parts[j->request->part];
    if (status == STATUS_OK && !j->set->count)
        status = fail(failure, STATUS_BAD_INPUT, "the data have nothing in their %s part; see --part%s",
                      NAMES[j->request->part],
                      j->request->part == SCORE_VALIDATION ? "; hws train --validation 0.1 makes one" : "");
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

static const example_column *patients_of(const labelled_images *set) {
    return example_column_patients(set->columns, set->column_count);
}

static class_predictions predictions_on(const job *j, const labelled_images *set, const float *probabilities) {
    const example_column *patients = patients_of(set);
    return (class_predictions){set->count, j->model.classes, set->labels, probabilities,
                               patients ? patients->of : NULL};
}

static class_predictions predictions_of(const job *j) { return predictions_on(j, j->set, j->probabilities); }

/* ---- a threshold ------------------------------------------------------------------------------------------------- */

static status_code find_positive(const job *j, int *positive, failure *failure) {
    const char *asked = j->request->positive;
    const int classes = j->model.classes;
    text known = {0};
    *positive = !asked && classes == 2 ? 1 : -1;
    for (int k = 0; k < classes; k++) {
        text name = {0};
        labelled_images_class_name(j->set, k, &name);
        if (asked && strcmp(asked, text_string(&name)) == 0) *positive = k;
        text_format(&known, "%s%s", k ? ", " : "", text_string(&name));
        text_close(&name);
    }
    const status_code status =
        *positive >= 0
            ? STATUS_OK
            : fail(failure, STATUS_BAD_INPUT, "--positive%s%.100s: name the class that --at is for, one of %.500s",
                   asked ? " " : "", asked ? asked : "", text_string(&known));
    text_close(&known);
    return status;
}

/* Chosen on what was neither trained on nor is scored. */
static status_code check_choice(const job *j, failure *failure) {
    if (!j->is_own)
        return fail(failure, STATUS_BAD_INPUT,
                    "--at chooses a threshold on the run's own validation part, but --data names other data; evaluate "
                    "the run without --data");
    if (j->request->part != SCORE_TEST)
        return fail(failure, STATUS_BAD_INPUT,
                    "--at chooses on the validation part and scores the test part: leave "
                    "--part out");
    if (!j->data.validation.count)
        return fail(failure, STATUS_BAD_INPUT,
                    "--at needs a validation part to choose a threshold on, and this run has none: train it with "
                    "--validation 0.1");
    return STATUS_OK;
}

static status_code choose_on(job *j, const class_predictions *p, failure *failure) {
    operating_result *o = &j->scores->operating;
    status_code status = operating_threshold(p, o->rule.positive, o->goal, &o->rule.threshold, failure);
    if (status != STATUS_OK) return status;
    int64_t *members = malloc(((size_t)p->count + 1) * sizeof *members);
    if (!members) return fail_memory(failure, "the operating point");
    for (int64_t i = 0; i < p->count; i++) members[i] = i;
    status = operating_scores_of(p, members, p->count, o->rule, &o->chosen_on, failure);
    free(members);
    return status;
}

/* What is wrong with --at is told before anything is classified. */
static status_code check_threshold(job *j, failure *failure) {
    operating_result *o = &j->scores->operating;
    o->rule.positive = -1;
    if (!j->request->at && j->request->positive)
        return fail(failure, STATUS_BAD_INPUT, "--positive needs --at, such as --at sensitivity=0.95");
    if (!j->request->at) return STATUS_OK;
    status_code status = operating_goal_parse(j->request->at, &o->goal, failure);
    if (status == STATUS_OK) status = check_choice(j, failure);
    return status == STATUS_OK ? find_positive(j, &o->rule.positive, failure) : status;
}

static status_code choose_threshold(job *j, failure *failure) {
    const labelled_images *set = &j->data.validation;
    if (!j->request->at) return STATUS_OK;
    float *probabilities = malloc((size_t)set->count * (size_t)j->model.classes * sizeof *probabilities);
    status_code status = probabilities ? classifier_run(&j->model, set, NULL, probabilities, failure)
                                       : fail_memory(failure, "the operating point");
    const class_predictions p = predictions_on(j, set, probabilities);
    if (status == STATUS_OK) status = choose_on(j, &p, failure);
    free(probabilities);
    return status;
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
    status_code status = class_scores_of(&p, members, count, &one.scored, failure);
    if (status == STATUS_OK && s->operating.rule.positive >= 0)
        status = operating_scores_of(&p, members, count, s->operating.rule, &one.operating, failure);
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

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code score_patients(job *j, failure *failure) {
    class_results *s = j->scores;
    const class_predictions p = predictions_of(j);
    if (!s->knows_patients || s->strata[0].scored.patients == p.count) return STATUS_OK;
    const status_code status = class_patients_open(&s->patients, &p, failure);
    return status == STATUS_OK ? class_patients_score(&s->patients, p.classes, &s->by_patient, failure) : status;
}

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
    if (status == STATUS_OK) status = choose_threshold(j, failure);
    if (status == STATUS_OK) status = score_groups(j, failure);
    if (status == STATUS_OK) status = score_patients(j, failure);
    if (status == STATUS_OK) find_worst(s);
    return status;
}

static status_code write_files(const job *j, failure *failure) {
    return class_files_write(&(class_files){.out = j->out,
                                            .set = j->set,
                                            .predictions = predictions_of(j),
                                            .predicted = j->predictions,
                                            .losses = j->losses,
                                            .scores = j->scores,
                                            .patients = patients_of(j->set),
                                            .iterations = j->iterations,
                                            .gallery_column = j->gallery_column},
                             failure);
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
    if (!j.out && j.is_own && request->part == SCORE_TEST && request->weights == RUN_WEIGHTS_BEST) j.out = request->run;
    if (status == STATUS_OK) status = name_list_each(request->by, check_column, &j, failure);
    if (status == STATUS_OK) status = check_threshold(&j, failure);
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
