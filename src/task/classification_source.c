#include "task/classification_source.h"

#include "run/run_folder.h"

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
    return read_size(s->size, o, failure);
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

status_code classification_group(const train_settings *s, const labelled_images *set, const char **column,
                                 failure *failure) {
    const example_column *found = labelled_images_column(set, *s->group ? s->group : "group");
    *column = found ? found->name : NULL;
    if (found || !*s->group) return STATUS_OK;
    text known = {0};
    for (int k = 0; k < set->column_count; k++) text_format(&known, "%s%s", k ? ", " : "", set->columns[k].name);
    const status_code status =
        fail(failure, STATUS_BAD_INPUT, "--group %.100s: the data have no such column; they have %.500s", s->group,
             set->column_count ? text_string(&known) : "none");
    text_close(&known);
    return status;
}
