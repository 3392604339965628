/* Picture files classified: see predict.h. */
#define _POSIX_C_SOURCE 200809L
#include "predict/predict_pictures.h"

#include "core/path.h"
#include "core/replaceable.h"
#include "images/picture_sets.h"
#include "predict/score_table.h"
#include "run/run_folder.h"

#include <stdlib.h>
#include <string.h>

static void name_picture(void *context, int64_t example, text *name) {
    text_add(name, ((const labelled_images *)context)->names[example]);
}

static status_code list_one(const char *input, example_list *list, failure *failure) {
    const size_t length = (size_t)(path_name(input) - input);
    *list = (example_list){.folder = length ? strndup(input, length) : strdup("."),
                           .names = calloc(1, sizeof *list->names),
                           .parts = calloc(1, 1)};
    if (list->names) list->names[0] = strdup(path_name(input));
    list->count = list->names != NULL;
    if (list->parts) list->parts[0] = PART_TEST;
    if (list->folder && list->parts && list->count && list->names[0]) return STATUS_OK;
    example_list_close(list);
    return fail_memory(failure, input);
}

static status_code list_input(const char *input, example_list *list, const listener *listener, failure *failure) {
    const example_options options = {.unlabelled = 1, .is_run = run_is_ours};
    if (path_ends_with(input, ".csv")) return example_list_of_csv(list, input, &options, listener, failure);
    if (!path_is_folder(input)) return list_one(input, list, failure);
    return example_list_of_folder(list, input, &options, listener, failure);
}

/* `left_out` says which pictures cannot be used, and why. */
static status_code open_set(const class_ensemble *e, const predict_request *request, const listener *listener,
                            labelled_images *set, struct failure *left_out, failure *failure) {
    const run_facts *f = &e->models[0].config.facts;
    picture_options options = {.height = f->height,
                               .width = f->width,
                               .channels = f->channels,
                               .memory = -1,
                               .threads = request->threads,
                               .classes = f->class_count,
                               .left_out = left_out};
    example_list list;
    labelled_images sets[DATA_PARTS];
    status_code status = picture_sets_check_trained(f->height, f->width, f->channels, failure);
    if (status == STATUS_OK) status = raster_greys_parse(&options.greys, e->models[0].config.settings.greys, failure);
    if (status == STATUS_OK) status = list_input(request->input, &list, listener, failure);
    if (status != STATUS_OK) return status;
    status = picture_sets_open(sets, &list, &options, listener, failure);
    if (status == STATUS_OK) *set = sets[PART_TEST];
    example_list_close(&list);
    return status;
}

int predict_is_picture(const char *input) {
    char beginning[BEGINNING_SIZE];
    if (example_list_is_picture(input)) return 1;
    if (path_is_folder(input) || !file_beginning(input, beginning)) return 0;
    return strncmp(beginning, "\x89PNG", 4) == 0 || strncmp(beginning, "\xff\xd8\xff", 3) == 0;
}

status_code predict_takes_pictures(const char *input, int *takes, failure *failure) {
    example_list list;
    const example_options options = {.unlabelled = 1, .is_run = run_is_ours};
    *takes = path_ends_with(input, ".csv") || predict_is_picture(input);
    if (*takes || !path_is_folder(input)) return STATUS_OK;
    const status_code status = example_list_of_folder(&list, input, &options, NULL, failure);
    *takes = status == STATUS_OK;
    if (*takes) example_list_close(&list);
    return status == STATUS_OUT_OF_MEMORY || status == STATUS_CANNOT_READ ? status : STATUS_OK;
}

status_code predict_pictures(const predict_request *request, class_ensemble *e, const listener *listener, size_t *done,
                             failure *failure) {
    labelled_images set = {0};
    struct failure left_out = {0};
    status_code status = open_set(e, request, listener, &set, &left_out, failure);
    float *p = status == STATUS_OK ? malloc((size_t)(set.count * set.classes) * sizeof *p + 1) : NULL;
    if (status == STATUS_OK && !p) status = fail_memory(failure, "the probabilities");
    if (status == STATUS_OK) status = class_ensemble_run(e, &set, listener, p, failure);
    const score_table scores = {"file", "picture", set.count, &e->models[0].config.facts, p, &set, name_picture};
    if (status == STATUS_OK) status = score_table_write(&scores, request, failure);
    if (status == STATUS_OK) *done = (size_t)set.count;
    if (status == STATUS_OK && *left_out.message) status = fail(failure, STATUS_FAILED, "%s", left_out.message);
    free(p);
    labelled_images_close(&set);
    return status;
}
