#include "task/classification.h"

#include "core/arg_max.h"
#include "core/memory.h"
#include "core/quantile.h"
#include "model/image_classifier.h"
#include "task/class_census.h"
#include "task/classification_source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the network ------------------------------------------------------------------------------------------------- */

static status_code network(void *context, const train_settings *settings, learner_options *options, failure *failure) {
    const classification *c = context;
    const status_code status =
        image_classifier_network(&c->data->train, settings->model, (int)settings->batch, options, failure);
    options->model.dropout = settings->dropout;
    options->smoothing = settings->label_smoothing;
    options->seed = (uint64_t)settings->seed;
    return status;
}

/* ---- examples ---------------------------------------------------------------------------------------------------- */

static status_code fill_augmented(const classification *c, const task_request *request, failure *failure) {
    const labelled_images *train = &c->data->train;
    const size_t stride = labelled_images_stride(train);
    const uint64_t key[2] = {c->seed, request->iteration};
    uint8_t *pixels = memory_open(2 * stride);
    if (!pixels) return fail_memory(failure, "a picture");
    const status_code status = labelled_images_copy(train, request->example, pixels, failure);
    if (status == STATUS_OK) {
        picture_augment_apply(&c->augment, train, key, request->slot, pixels, pixels + stride);
        pixel_scale_apply(&c->pixels, pixels + stride, stride, request->input);
    }
    memory_close(pixels);
    return status;
}

static status_code fill(void *context, const task_request *request, failure *failure) {
    const classification *c = context;
    const labelled_images *train = &c->data->train;
    request->labels[0] = train->labels[request->example];
    if (request->iteration != TASK_PLAIN && picture_augment_is_on(&c->augment))
        return fill_augmented(c, request, failure);
    return pixel_scale_example(&c->pixels, train, request->example, request->input, failure);
}

static void name(void *context, int64_t example, text *name) {
    labelled_images_name(&((const classification *)context)->data->train, example, name);
}

static int label(void *context, int64_t example) {
    return ((const classification *)context)->data->train.labels[example];
}

/* What the column of groups says, if there is one; else the class. */
static int group(void *context, int64_t example) {
    const classification *c = context;
    return c->group ? labelled_images_column(&c->data->train, c->group)->of[example] : label(context, example);
}

static void group_name(void *context, int64_t example, text *name) {
    const classification *c = context;
    const example_column *column = labelled_images_column(&c->data->train, c->group);
    if (column->of[example] >= 0) text_add(name, column->values[column->of[example]]);
}

static int is_wrong(void *context, learner *l, int slot) {
    const int classes = ((const classification *)context)->data->train.classes;
    const float *scores = graph_output_values(learner_graph(l), 0) + (size_t)slot * (size_t)classes;
    return arg_max(scores, classes) != learner_labels(l)[slot];
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

static const double CVAR_SHARE = 0.1;

static class_metrics lay_out(int classes, int groups, int extended) {
    class_metrics m = {.classes = classes, .groups = groups, .extended = extended, .accuracy = 0, .first_class = 1};
    m.loss = m.first_class + classes;
    m.worst_class = m.loss + 1;
    m.cvar = m.loss + 2;
    m.first_group = m.loss + 3;
    m.worst_group = m.first_group + groups;
    m.count = !extended ? m.loss + 1 : m.worst_group + (groups > 0);
    return m;
}

static void metric(void *context, int index, text *name) {
    const classification *c = context;
    const class_metrics *m = &c->metrics;
    const labelled_images *train = &c->data->train;
    const int which = index % m->count;
    text_add(name, index < m->count ? "test_" : "val_");
    if (which == m->accuracy) text_add(name, "accuracy");
    else if (which < m->loss) {
        text_add(name, "accuracy_");
        labelled_images_class_name(train, which - m->first_class, name);
    } else if (which == m->loss) text_add(name, "loss");
    else if (which == m->worst_class) text_add(name, "worst_class");
    else if (which == m->cvar) text_add(name, "cvar");
    else if (which == m->worst_group) text_add(name, "worst_group");
    else
        text_format(name, "accuracy_%s:%s", c->group,
                    labelled_images_column(train, c->group)->values[which - m->first_group]);
}

/* Hits and examples of each class or group; a value without examples has no accuracy: NaN. Returns the least. */
typedef struct tally {
    int64_t right, all;
} tally;

static double accuracies(const tally *tallies, int count, double *values) {
    double least = (double)NAN;
    for (int k = 0; k < count; k++) {
        values[k] = tallies[k].all ? (double)tallies[k].right / (double)tallies[k].all : (double)NAN;
        if (tallies[k].all && !(values[k] >= least)) least = values[k];
    }
    return least;
}

static void count_hits(const labelled_images *set, const int32_t *groups, const float *probabilities, tally *classes,
                       tally *by_group) {
    for (int64_t i = 0; i < set->count; i++) {
        const int label = set->labels[i];
        const int hit = arg_max(probabilities + (size_t)i * (size_t)set->classes, set->classes) == label;
        classes[label].all++;
        classes[label].right += hit;
        if (!groups || groups[i] < 0) continue;
        by_group[groups[i]].all++;
        by_group[groups[i]].right += hit;
    }
}

/* Sorts the losses. */
static double tail_mean(double *losses, int64_t count) {
    const int64_t worst = (int64_t)ceil(CVAR_SHARE * (double)count);
    double sum = 0;
    sort_numbers(losses, (size_t)count);
    for (int64_t i = count - worst; i < count; i++) sum += losses[i];
    return sum / (double)worst;
}

static void summarise(const classification *c, const labelled_images *set, double *losses, const float *probabilities,
                      tally *tallies, double *values) {
    const class_metrics *m = &c->metrics;
    const example_column *column = c->group ? labelled_images_column(set, c->group) : NULL;
    tally *by_group = tallies + m->classes;
    double loss = 0;
    int64_t right = 0;
    count_hits(set, column ? column->of : NULL, probabilities, tallies, by_group);
    for (int64_t i = 0; i < set->count; i++) loss += losses[i];
    for (int k = 0; k < m->classes; k++) right += tallies[k].right;
    const double worst = accuracies(tallies, m->classes, values + m->first_class);
    values[m->accuracy] = (double)right / (double)set->count;
    values[m->loss] = loss / (double)set->count;
    if (!m->extended) return;
    values[m->worst_class] = worst;
    values[m->cvar] = tail_mean(losses, set->count);
    if (m->groups) values[m->worst_group] = accuracies(by_group, m->groups, values + m->first_group);
}

static status_code evaluate_set(const classification *c, const labelled_images *set, learner *l,
                                const listener *listener, double *values, failure *failure) {
    const size_t count = (size_t)set->count;
    double *losses = malloc(count * sizeof *losses);
    float *probabilities = malloc(count * (size_t)set->classes * sizeof *probabilities);
    tally *tallies = calloc((size_t)c->metrics.classes + (size_t)c->metrics.groups, sizeof *tallies);
    status_code status = losses && probabilities && tallies ? STATUS_OK : fail_memory(failure, "the evaluation");
    const image_scores scores = {losses, probabilities, listener};
    if (status == STATUS_OK) status = image_classifier_evaluate(l, &c->pixels, set, &scores, failure);
    if (status == STATUS_OK) summarise(c, set, losses, probabilities, tallies, values);
    free(losses);
    free(probabilities);
    free(tallies);
    return status;
}

static status_code evaluate(void *context, learner *l, const listener *listener, double *values, failure *failure) {
    const classification *c = context;
    status_code status = STATUS_OK;
    for (int k = 0; k < c->evaluated_count && status == STATUS_OK; k++)
        status = evaluate_set(c, c->evaluated[k], l, listener, values + k * c->metrics.count, failure);
    return status;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static status_code write_class(const labelled_images *set, int class_label, char *words, size_t size,
                               failure *failure) {
    text name = {0};
    labelled_images_class_name(set, class_label, &name);
    snprintf(words, size, "%s", text_string(&name));
    const status_code status = name.failed ? fail_memory(failure, "the name of a class") : STATUS_OK;
    text_close(&name);
    return status;
}

static double margin_of(const float *scores, int classes, int label) {
    double other = -(double)INFINITY;
    for (int k = 0; k < classes; k++)
        if (k != label && (double)scores[k] > other) other = (double)scores[k];
    return (double)scores[label] - other;
}

static status_code show_one(const classification *c, const task_exhibit *e, const float *scores, failure *failure) {
    const labelled_images *set = &c->data->train;
    const int given = set->labels[e->example], predicted = (int)arg_max(scores, set->classes);
    status_code status = write_class(set, given, e->verdict->label, sizeof e->verdict->label, failure);
    if (status == STATUS_OK)
        status = write_class(set, predicted, e->verdict->prediction, sizeof e->verdict->prediction, failure);
    if (status != STATUS_OK) return status;
    e->verdict->margin = margin_of(scores, set->classes, given);
    return labelled_images_save(set, e->example, e->path, failure);
}

static status_code show(void *context, learner *l, const task_exhibit *exhibits, int count, failure *failure) {
    const classification *c = context;
    const labelled_images *set = &c->data->train;
    const size_t stride = labelled_images_stride(set);
    status_code status = STATUS_OK;
    for (int k = 0; k < count && status == STATUS_OK; k++) {
        const task_request request = {exhibits[k].example, TASK_PLAIN, (uint32_t)k,
                                      learner_input(l) + (size_t)k * stride, learner_labels(l) + k};
        status = fill(context, &request, failure);
    }
    if (status == STATUS_OK) status = learner_evaluate(l, count, 0, failure);
    const float *scores = graph_output_values(learner_graph(l), 0);
    for (int k = 0; k < count && status == STATUS_OK; k++)
        status = show_one(c, &exhibits[k], scores + (size_t)k * (size_t)set->classes, failure);
    return status;
}

static void describe(void *context, run_facts *facts) {
    const classification *c = context;
    const labelled_images *train = &c->data->train;
    facts->test_examples = c->data->test.count;
    facts->height = train->height;
    facts->width = train->width;
    facts->channels = train->channels;
    facts->class_count = train->classes;
    facts->class_names = (const char *const *)train->class_names;
    facts->pixel_mean = c->pixels.mean;
    facts->pixel_std = c->pixels.std;
}

/* "32 x 32 pixels, grey; classes ...": of a table only the classes. */
static void tell(void *context, text *line) {
    const classification *c = context;
    const labelled_images *train = &c->data->train;
    if (!train->values) {
        text_format(line, "%d x %d pixels, ", train->height, train->width);
        if (train->channels == 1 || train->channels == 3) text_add(line, train->channels == 1 ? "grey; " : "RGB; ");
        else text_format(line, "%d channels; ", train->channels);
    }
    class_census_words(c->data, line);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code check_alike(const labelled_images *train, const labelled_images *other, const char *name,
                               failure *failure) {
    if (!train->labels || !other->labels)
        return fail(failure, STATUS_BAD_INPUT, "the images have no labels: nothing can be learnt from them");
    if (train->height != other->height || train->width != other->width || train->channels != other->channels ||
        train->classes != other->classes)
        return fail(failure, STATUS_BAD_INPUT,
                    "training and %s images differ in size, channels or classes: %d x %d x %d, %d and %d x %d x %d, %d",
                    name, train->height, train->width, train->channels, train->classes, other->height, other->width,
                    other->channels, other->classes);
    return STATUS_OK;
}

static status_code check_sets(const classification_data *data, failure *failure) {
    const status_code status = check_alike(&data->train, &data->test, "test", failure);
    if (status != STATUS_OK || !data->validation.count) return status;
    return check_alike(&data->train, &data->validation, "validation", failure);
}

/* Which of the sets and numbers decides on the best weights. */
static status_code choose_best(task *t, const classification *c, const train_settings *s, failure *failure) {
    const best_kind best = s->best;
    const class_metrics *m = &c->metrics;
    const int first = (c->evaluated_count - 1) * m->count; /* the validation set is the last, where there is one */
    const int of[] = {m->accuracy, m->worst_class, m->worst_group, m->cvar};
    if (best == BEST_WORST_GROUP && !m->groups)
        return fail(failure, STATUS_BAD_INPUT,
                    "--best worst-group: the data have no groups; name their column with --group, or use cvar");
    t->shown = first + m->accuracy;
    t->best = first + of[best];
    t->best_is_least = best == BEST_CVAR;
    t->keeps_last = c->evaluated_count < 2 && !s->best_by_test;
    return STATUS_OK;
}

static status_code prepare_augmentation(classification *c, const train_settings *s, failure *failure) {
    c->seed = (uint64_t)s->seed;
    c->augment = (picture_augment){
        s->flip, (int)s->crop, s->resized_crop, s->rotate, s->jitter, s->erase, (uint8_t)(255 * c->pixels.mean + 0.5)};
    const int for_pictures = picture_augment_is_on(&c->augment) || *s->size || s->colour != COLOUR_AUTO;
    if (!for_pictures || !c->data->train.values) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--size, --colour, --flip, --crop and the like are for pictures, not for tables");
}

/* Runs on images without names and groups go on having the columns that they always had. */
static status_code prepare(classification *c, const train_settings *settings, failure *failure) {
    const labelled_images *train = &c->data->train;
    status_code status = check_sets(c->data, failure);
    if (status == STATUS_OK) status = classification_group(settings, train, &c->group, failure);
    if (status == STATUS_OK) status = pixel_scale_measure(&c->pixels, train, failure);
    if (status != STATUS_OK) return status;
    c->evaluated[c->evaluated_count++] = &c->data->test;
    if (c->data->validation.count) c->evaluated[c->evaluated_count++] = &c->data->validation;
    const int groups = c->group ? labelled_images_column(train, c->group)->value_count : 0;
    if (groups > EXAMPLE_GROUPS_MAX)
        return fail(failure, STATUS_BAD_INPUT, "--group %.100s: has %d values; at most %d can be told apart", c->group,
                    groups, EXAMPLE_GROUPS_MAX);
    const int extended = train->class_names || groups || c->evaluated_count > 1 || settings->best != BEST_ACCURACY;
    c->metrics = lay_out(train->classes, groups, extended);
    return STATUS_OK;
}

status_code task_classification(task *t, classification *c, const classification_data *data,
                                const train_settings *settings, failure *failure) {
    *c = (classification){.data = data};
    status_code status = prepare(c, settings, failure);
    if (status == STATUS_OK) status = prepare_augmentation(c, settings, failure);
    if (status != STATUS_OK) return status;
    *t = (task){.context = c,
                .kind = TASK_CLASSIFICATION,
                .examples = data->train.count,
                .fingerprint = classification_fingerprint(data),
                .metrics = c->evaluated_count * c->metrics.count,
                .network = network,
                .fill = fill,
                .name = name,
                .label = label,
                .group = group,
                .group_name = c->group ? group_name : NULL,
                .is_wrong = is_wrong,
                .metric = metric,
                .evaluate = evaluate,
                .show = show,
                .tell = tell,
                .describe = describe};
    return choose_best(t, c, settings, failure);
}
