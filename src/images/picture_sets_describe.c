/* Sets of images out of a list, without their pixels: see picture_sets.h. */
#define _POSIX_C_SOURCE 200809L
#include "core/memory.h"
#include "images/picture_sets.h"

#include <stdlib.h>
#include <string.h>

static size_t list_part(const example_list *l, data_part part, size_t *members) {
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->parts[i] == part) members[count++] = i;
    return count;
}

static status_code describe_columns(labelled_images *set, const example_list *l, const size_t *members,
                                    failure *failure) {
    set->columns = calloc((size_t)l->column_count + 1, sizeof *set->columns);
    status_code status = set->columns ? STATUS_OK : fail_memory(failure, "the columns of the data");
    for (int k = 0; k < l->column_count && status == STATUS_OK; k++) {
        status = example_column_choose(&set->columns[k], &l->columns[k], members, (size_t)set->count, failure);
        if (status == STATUS_OK) set->column_count++;
    }
    return status;
}

static status_code describe_words(labelled_images *set, const example_list *l, const size_t *members,
                                  failure *failure) {
    if (l->folder) set->folder = strdup(l->folder);
    if (l->names) set->names = calloc((size_t)set->count + 1, sizeof *set->names);
    if (l->labels.values) set->class_names = words_copy(l->labels.values, (size_t)set->classes);
    if ((l->folder && !set->folder) || (l->names && !set->names) || (l->labels.values && !set->class_names))
        return fail_memory(failure, "the examples' names");
    for (int64_t k = 0; set->names && k < set->count; k++)
        if (!(set->names[k] = strdup(l->names[members[k]]))) return fail_memory(failure, "the examples' names");
    return STATUS_OK;
}

static status_code describe_part(labelled_images *set, const example_list *l, const size_t *members,
                                 const labelled_images_shape *shape, failure *failure) {
    const size_t count = (size_t)shape->count;
    uint8_t *labels = l->labels.values ? memory_open(count) : NULL;
    if (l->labels.values && !labels) return fail_memory(failure, "the labels");
    for (size_t k = 0; labels && k < count; k++) labels[k] = (uint8_t)l->labels.of[members[k]];
    status_code status = labelled_images_adopt(set, shape, NULL, labels, failure);
    for (size_t k = 0; status == STATUS_OK && k < count; k++) set->origins[k] = (int64_t)members[k];
    if (status == STATUS_OK) status = describe_words(set, l, members, failure);
    return status == STATUS_OK ? describe_columns(set, l, members, failure) : status;
}

status_code picture_sets_describe(labelled_images sets[DATA_PARTS], const example_list *l,
                                  const labelled_images_shape *shape, failure *failure) {
    for (int p = 0; p < DATA_PARTS; p++) sets[p] = (labelled_images){0};
    size_t *members = malloc((l->count + 1) * sizeof *members);
    status_code status = members ? STATUS_OK : fail_memory(failure, "the examples");
    for (int p = 0; p < DATA_PARTS && status == STATUS_OK; p++) {
        labelled_images_shape own = *shape;
        own.count = (int64_t)list_part(l, (data_part)p, members);
        if (own.count) status = describe_part(&sets[p], l, members, &own, failure);
    }
    free(members);
    for (int p = 0; p < DATA_PARTS && status != STATUS_OK; p++) labelled_images_close(&sets[p]);
    return status;
}
