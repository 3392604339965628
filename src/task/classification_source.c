#include "task/classification_source.h"

#include "run/run_folder.h"
#include "task/mislabel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_side(const char **at, int *side) {
    char *end;
    const long number = strtol(*at, &end, 10);
    if (end == *at || number < 1 || number > LABELLED_IMAGES_SIDE_MAX) return 0;
    *side = (int)number;
    *at = end;
    return 1;
}

/* "", "S" or "H,W". */
static status_code read_size(const char *size, picture_options *o, failure *failure) {
    const char *at = size;
    if (!*size) return STATUS_OK;
    int good = read_side(&at, &o->height);
    o->width = o->height;
    if (good && *at == ',') good = (at++, read_side(&at, &o->width));
    if (good && !*at) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--size %.100s is neither a side such as 64 nor HEIGHT,WIDTH, up to %d",
                size, LABELLED_IMAGES_SIDE_MAX);
}

status_code classification_source_of_settings(classification_source *source, const train_settings *s,
                                              failure *failure) {
    *source = classification_source_of(s->data);
    source->examples.label = s->label;
    source->examples.is_run = run_is_ours;
    picture_options *o = &source->pictures;
    o->channels = s->colour == COLOUR_GREY ? 1 : s->colour == COLOUR_RGB ? 3 : 0;
    o->memory = s->picture_memory < 0 ? -1 : s->picture_memory * 1e6;
    o->threads = (int)s->threads;
    const status_code status = raster_greys_parse(&o->greys, s->greys, failure);
    return status == STATUS_OK ? read_size(s->size, o, failure) : status;
}

status_code classification_source_of_run(classification_source *source, const run_config *run, const char *data,
                                         failure *failure) {
    const status_code status = classification_source_of_settings(source, &run->settings, failure);
    source->pictures.height = run->facts.height;
    source->pictures.width = run->facts.width;
    source->pictures.channels = run->facts.channels;
    source->pictures.threads = 0;
    if (!data) return status;
    source->trained_on = source->data;
    source->data = data;
    source->examples.class_names = run->facts.class_names;
    source->examples.class_count = run->facts.class_count;
    return status;
}

status_code classification_keep(const train_settings *s, labelled_images *train, failure *failure) {
    status_code status = STATUS_OK;
    for (int k = 0; k < s->keep_count && status == STATUS_OK; k++)
        status = labelled_images_keep_named(train, s->keep[k].part, s->keep[k].fraction, (uint64_t)s->seed, failure);
    return status;
}

status_code classification_divide(const train_settings *s, classification_data *data, const listener *listener,
                                  failure *failure) {
    const status_code status = classification_keep(s, &data->train, failure);
    if (status != STATUS_OK || !(s->validation > 0)) return status;
    if (data->validation.count)
        return fail(failure, STATUS_BAD_INPUT,
                    "--validation %g: the data say themselves which images are validated on; leave the option out",
                    s->validation);
    const share_off share = {s->validation, (uint64_t)s->seed};
    return labelled_images_split_off(&data->train, &share, &data->validation, listener, failure);
}

uint64_t classification_fingerprint(const classification_data *data) {
    uint64_t print = labelled_images_fingerprint(&data->train) * 3 + labelled_images_fingerprint(&data->test);
    if (data->validation.count) print = print * 5 + labelled_images_fingerprint(&data->validation);
    return print;
}

/* A run is trained on the labels that --mislabel made wrong, and asked about the right ones: these are put back. */
static status_code mislabelled_fingerprint(const train_settings *s, classification_data *data, uint64_t *print,
                                           failure *failure) {
    const size_t count = (size_t)data->train.count;
    uint8_t *labels = malloc(count + 1);
    text wrong = {0};
    if (!labels) return fail_memory(failure, "the labels");
    memcpy(labels, data->train.labels, count);
    const status_code status = mislabel_images(&data->train, s->mislabel, (uint64_t)s->seed, &wrong, failure);
    *print = classification_fingerprint(data);
    memcpy(data->train.labels, labels, count);
    free(labels);
    text_close(&wrong);
    return status;
}

static int has_class_names(const labelled_images *set, const run_facts *facts) {
    int alike = set->classes == facts->class_count;
    for (int k = 0; k < facts->class_count && alike; k++) {
        char number[16];
        snprintf(number, sizeof number, "%d", k);
        alike = strcmp(set->class_names ? set->class_names[k] : number, facts->class_names[k]) == 0;
    }
    return alike;
}

status_code classification_is_unchanged(const run_config *run, classification_data *data, int *is, failure *failure) {
    const uint64_t trained = run->facts.data_fingerprint;
    uint64_t now = trained;
    status_code status = STATUS_OK;
    *is = has_class_names(&data->train, &run->facts);
    if (!*is || !trained) return status;
    if (run->settings.mislabel > 0) status = mislabelled_fingerprint(&run->settings, data, &now, failure);
    else now = classification_fingerprint(data);
    *is = now == trained;
    return status;
}

status_code classification_group(const train_settings *s, const labelled_images *set, const char **column,
                                 failure *failure) {
    const example_column *found = labelled_images_column(set, *s->group ? s->group : "group");
    *column = found ? found->name : NULL;
    if (found || !*s->group) return STATUS_OK;
    text known = {0};
    labelled_images_column_names(set, &known);
    const status_code status =
        fail(failure, STATUS_BAD_INPUT, "--group %.100s: the data have no such column; they have %.500s", s->group,
             text_string(&known));
    text_close(&known);
    return status;
}
