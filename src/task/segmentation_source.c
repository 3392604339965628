#define _POSIX_C_SOURCE 200809L
#include "task/segmentation_source.h"

#include "core/array.h"
#include "core/available.h"
#include "core/crc64.h"
#include "core/memory.h"
#include "core/path.h"
#include "dataset/case_groups.h"
#include "dataset/folds.h"
#include "dataset/value_numbers.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct segmentation_source {
    dataset set;
    plan plan;
    char *cache;
    splits splits;
    long long fold;     /* -1: all cases */
    size_t *group_of;   /* of all training cases of the dataset; NULL: there are no groups */
    cached_case *files; /* of all training cases of the dataset; closed where they are not used */
    const char **label_names;
    segmentation_case *train, *validation;
    size_t train_count, validation_count;
    void **blocks; /* names, voxels, labels and places of subvolumes */
    size_t block_count, block_capacity;
    segmentation_data data;
};

/* ---- folds ------------------------------------------------------------------------------------------------------- */

status_code segmentation_source_write_fold(const segmentation_source *s, const char *path, failure *failure) {
    const splits one = {1, &s->splits.folds[s->fold]};
    return splits_write(&one, path, s->set.ids, failure);
}

size_t segmentation_source_unused(const segmentation_source *s, const char **first) {
    if (s->fold < 0) return 0;
    const split *fold = &s->splits.folds[s->fold];
    size_t train = 0, val = 0, unused = 0;
    for (size_t k = 0; k < s->set.train_count; k++) { /* both lists ascend */
        if (train < fold->train_count && fold->train[train] == k) train++;
        else if (val < fold->val_count && fold->val[val] == k) val++;
        else if (unused++ == 0) *first = s->set.ids[k];
    }
    return unused;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static status_code open_groups(segmentation_source *s, const char *column, failure *failure) {
    case_groups groups;
    const char **values = 0;
    size_t different;
    if (!*column) return STATUS_OK;
    status_code status = case_groups_of_dataset(&groups, &s->set, failure);
    if (status != STATUS_OK) return status;
    status = case_groups_column(&groups, &s->set, column, &values, failure);
    if (status == STATUS_OK && !(s->group_of = calloc(s->set.train_count, sizeof *s->group_of)))
        status = fail_memory(failure, "the groups");
    if (status == STATUS_OK) status = value_numbers(values, s->set.train_count, s->group_of, &different, failure);
    free(values);
    case_groups_close(&groups);
    return status;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/* Each rank reads all of its share of the cases, and of the others what it will need. */
static status_code open_case(segmentation_source *s, size_t index, segmentation_case *to, failure *failure) {
    if (!s->files[index].mapped.bytes) {
        const status_code status =
            cache_open_case(&s->files[index], s->cache, s->set.ids[index],
                            ranks_has(ranks_here(), index) ? CACHED_CASE_VERIFY : CACHED_CASE_TRUST, failure);
        if (status != STATUS_OK) return status;
    }
    *to = (segmentation_case){s->set.ids[index], s->files[index].view, s->group_of ? (int)s->group_of[index] : -1};
    return STATUS_OK;
}

static status_code open_cases(segmentation_source *s, const size_t *which, size_t count, segmentation_case **cases,
                              size_t *case_count, failure *failure) {
    *cases = calloc(count ? count : 1, sizeof **cases);
    if (!*cases) return fail_memory(failure, "the cases");
    status_code status = STATUS_OK;
    for (size_t k = 0; k < count && status == STATUS_OK; k++)
        status = open_case(s, which ? which[k] : k, &(*cases)[k], failure);
    *case_count = count;
    return status;
}

static void close_fold(segmentation_source *s) {
    for (size_t k = 0; s->files && k < s->set.train_count; k++) cached_case_close(&s->files[k]);
    free(s->files);
    free(s->train);
    free(s->validation);
    s->files = NULL;
    s->train = s->validation = NULL;
}

static status_code open_fold(segmentation_source *s, long long fold, failure *failure) {
    s->fold = fold;
    s->files = calloc(s->set.train_count, sizeof *s->files);
    if (!s->files) return fail_memory(failure, "the cases");
    if (fold < 0) {
        const status_code status = open_cases(s, 0, s->set.train_count, &s->train, &s->train_count, failure);
        return status == STATUS_OK ? open_cases(s, 0, s->set.train_count, &s->validation, &s->validation_count, failure)
                                   : status;
    }
    if (fold >= s->splits.count)
        return fail(failure, STATUS_BAD_INPUT, "there is no fold %lld: the %d folds are 0 to %d", fold, s->splits.count,
                    s->splits.count - 1);
    const split *one = &s->splits.folds[fold];
    const status_code status = open_cases(s, one->train, one->train_count, &s->train, &s->train_count, failure);
    return status == STATUS_OK ? open_cases(s, one->val, one->val_count, &s->validation, &s->validation_count, failure)
                               : status;
}

/* What makes a case the same as before. */
typedef enum same_case {
    SAME_CONTENTS, /* wherever it was copied to */
    SAME_FILES     /* by their sizes and times, as checkpoints of version 0.1 have it */
} same_case;

/* The same cases, preprocessed alike, in the same fold, with the same groups. */
static status_code take_fingerprint(const segmentation_source *s, same_case same, uint64_t *fingerprint,
                                    failure *failure) {
    crc64 *crc = malloc(sizeof *crc); /* large */
    if (!crc) return fail_memory(failure, "the cases");
    crc64_start(crc);
    for (size_t k = 0; k < s->set.train_count; k++) {
        const cached_case *file = &s->files[k];
        if (!file->mapped.bytes) continue;
        const uint64_t checksums[2] = {file->checksums.preprocessing,
                                       same == SAME_FILES ? file->checksums.inputs : file->contents};
        crc64_add(crc, checksums, sizeof checksums);
        crc64_add(crc, s->set.ids[k], strlen(s->set.ids[k]));
    }
    for (size_t k = 0; k < s->train_count; k++) crc64_add(crc, s->train[k].name, strlen(s->train[k].name) + 1);
    crc64_add(crc, "|", 1);
    for (size_t k = 0; k < s->validation_count; k++)
        crc64_add(crc, s->validation[k].name, strlen(s->validation[k].name) + 1);
    for (size_t k = 0; s->group_of && k < s->train_count; k++)
        crc64_add(crc, &s->train[k].group, sizeof s->train[k].group);
    *fingerprint = crc64_value(crc);
    free(crc);
    return STATUS_OK;
}

/* ---- subvolumes -------------------------------------------------------------------------------------------------- */

/* How many subvolumes of about the wanted size there are along an axis. */
static int count_along(int size, int wanted) { return wanted >= size ? 1 : (size + wanted / 2) / wanted; }

static void *keep_block(segmentation_source *s, size_t bytes) {
    void **grown = array_grow(s->blocks, s->block_count, &s->block_capacity, sizeof *grown);
    if (!grown) return 0;
    s->blocks = grown;
    void *block = memory_open(bytes + 64);
    if (block) s->blocks[s->block_count++] = block;
    return block;
}

/* The stored places of a case that lie in the box, by class. */
static void copy_places(const case_view *from, const int first[3], const int size[3], uint64_t *starts,
                        uint32_t *places) {
    uint64_t count = 0;
    for (int class = 0; class < from->classes; class ++) {
        starts[class] = count;
        for (uint64_t k = from->first[class]; k < from->first[class + 1]; k++) {
            const uint32_t at = from->places[k];
            const int x = (int)(at % (uint32_t)from->size[2]), y = (int)(at / (uint32_t)from->size[2]) % from->size[1];
            const int z = (int)(at / (uint32_t)from->size[2] / (uint32_t)from->size[1]);
            const int local[3] = {z - first[0], y - first[1], x - first[2]};
            int inside = 1;
            for (int axis = 0; axis < 3; axis++) inside &= local[axis] >= 0 && local[axis] < size[axis];
            if (inside) places[count++] = (uint32_t)((local[0] * size[1] + local[1]) * size[2] + local[2]);
        }
    }
    starts[from->classes] = count;
}

typedef struct box {
    int first[3], size[3];
} box;

/* Subvolume `index` of counts[0] x counts[1] x counts[2]. */
static box subvolume(const int size[3], const int counts[3], int index) {
    const int at[3] = {index / (counts[1] * counts[2]), index / counts[2] % counts[1], index % counts[2]};
    box b;
    for (int axis = 0; axis < 3; axis++) {
        b.first[axis] = (int)((long long)size[axis] * at[axis] / counts[axis]);
        b.size[axis] = (int)((long long)size[axis] * (at[axis] + 1) / counts[axis]) - b.first[axis];
    }
    return b;
}

/* "CASE@0-48-0" */
static const char *name_subvolume(segmentation_source *s, const char *name, const int first[3]) {
    const size_t size = strlen(name) + 48;
    char *block = keep_block(s, size);
    if (block) snprintf(block, size, "%s@%d-%d-%d", name, first[0], first[1], first[2]);
    return block;
}

static status_code cut_out(segmentation_source *s, const segmentation_case *from, const box *b, segmentation_case *to,
                           failure *failure) {
    const size_t voxels = (size_t)b->size[0] * (size_t)b->size[1] * (size_t)b->size[2],
                 all = case_view_voxels(&from->view);
    const int classes = from->view.classes;
    float *image = keep_block(s, (size_t)from->view.channels * voxels * sizeof *image);
    int16_t *labels = keep_block(s, voxels * sizeof *labels);
    uint64_t *starts = keep_block(s, ((size_t)classes + 1) * sizeof *starts);
    uint32_t *places = keep_block(s, from->view.first[classes] * sizeof *places);
    const char *name = name_subvolume(s, from->name, b->first);
    if (!image || !labels || !starts || !places || !name) return fail_memory(failure, "the subvolumes");
    for (int c = 0; c < from->view.channels; c++)
        box_copy_image(from->view.image + (size_t)c * all, from->view.size, b->first, b->size, 0,
                       image + (size_t)c * voxels);
    box_copy_labels(from->view.labels, from->view.size, b->first, b->size, -1, labels);
    copy_places(&from->view, b->first, b->size, starts, places);
    *to = (segmentation_case){
        name,
        {from->view.channels, {b->size[0], b->size[1], b->size[2]}, image, labels, classes, starts, places},
        from->group};
    return STATUS_OK;
}

/* Along each axis; returns how many there are together. */
static int count_subvolumes(const segmentation_case *one, const int wanted[3], int counts[3]) {
    int all = 1;
    for (int axis = 0; axis < 3; axis++) all *= counts[axis] = count_along(one->view.size[axis], wanted[axis]);
    return all;
}

/* Adds the subvolumes of a case, or the case itself where it is no larger. */
static status_code divide_case(segmentation_source *s, const segmentation_case *from, const int wanted[3],
                               segmentation_case **to, failure *failure) {
    int counts[3];
    const int all = count_subvolumes(from, wanted, counts);
    status_code status = STATUS_OK;
    if (all == 1) *(*to)++ = *from;
    for (int k = 0; k < all && all > 1 && status == STATUS_OK; k++) {
        const box b = subvolume(from->view.size, counts, k);
        status = cut_out(s, from, &b, (*to)++, failure);
    }
    return status;
}

/* Each training case becomes several, of about the wanted size; validation stays whole. */
static status_code divide(segmentation_source *s, const int wanted[3], failure *failure) {
    size_t total = 0;
    for (size_t k = 0; k < s->train_count; k++) {
        int counts[3];
        total += (size_t)count_subvolumes(&s->train[k], wanted, counts);
    }
    segmentation_case *subvolumes = calloc(total, sizeof *subvolumes), *to = subvolumes;
    status_code status = subvolumes ? STATUS_OK : fail_memory(failure, "the subvolumes");
    for (size_t k = 0; k < s->train_count && status == STATUS_OK; k++)
        status = divide_case(s, &s->train[k], wanted, &to, failure);
    if (status != STATUS_OK) {
        free(subvolumes);
        return status;
    }
    free(s->train);
    s->train = subvolumes;
    s->train_count = total;
    return STATUS_OK;
}

static status_code divide_if_asked(segmentation_source *s, const char *text, failure *failure) {
    int wanted[3], end = -1;
    if (!*text) return STATUS_OK;
    if (sscanf(text, "%9d,%9d,%9d%n", &wanted[0], &wanted[1], &wanted[2], &end) != 3 || text[end] || wanted[0] < 1 ||
        wanted[1] < 1 || wanted[2] < 1)
        return fail(failure, STATUS_BAD_INPUT, "--split-volumes %.100s is not three sizes such as 96,112,96", text);
    for (int axis = 0; axis < 3; axis++)
        if (wanted[axis] < s->plan.patch[axis] / 2)
            return fail(
                failure, STATUS_BAD_INPUT,
                "--split-volumes %.100s: subvolumes of less than half the patch (%d x %d x %d) are not worth a loss of "
                "their own",
                text, s->plan.patch[0], s->plan.patch[1], s->plan.patch[2]);
    return divide(s, wanted, failure);
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code name_labels(segmentation_source *s, failure *failure) {
    s->label_names = calloc((size_t)s->plan.classes, sizeof *s->label_names);
    if (!s->label_names) return fail_memory(failure, "the labels");
    const label_scheme *labels = &s->plan.labels;
    for (int r = 0; r < labels->regions; r++) s->label_names[r] = labels->region[r].name;
    for (int k = 0; k < s->set.label_count && !labels->regions; k++)
        s->label_names[label_scheme_class(labels, s->set.labels[k].values[0])] = s->set.labels[k].name;
    return STATUS_OK;
}

static status_code prepare(segmentation_source *s, const train_settings *settings, int verify, const listener *listener,
                           failure *failure) {
    cache_options options = {.folder = *settings->cache ? settings->cache : 0,
                             .verify = verify,
                             .threads = (int)settings->threads,
                             .memory = MEMORY_SHARE_PLANNED * memory_available(),
                             .listener = listener};
    cache_outcome outcome = {0};
    status_code status = plan_model_parse(settings->model, &options.model, failure);
    if (status == STATUS_OK) status = cache_prepare(&s->set, &options, &s->plan, &outcome, failure);
    free(s->cache);
    s->cache = outcome.folder;
    return status;
}

/* A file of the cache whose bytes have changed is made anew. */
static status_code open_whole_fold(segmentation_source *s, const train_settings *settings, const listener *listener,
                                   failure *failure) {
    status_code status = ranks_agree(ranks_here(), open_fold(s, settings->fold, failure), failure);
    if (status != STATUS_CORRUPT) return status;
    close_fold(s);
    status = prepare(s, settings, 1, listener, failure);
    return status == STATUS_OK ? open_fold(s, settings->fold, failure) : status;
}

/* Before the cases are preprocessed, which may take long. */
static status_code open_dataset(segmentation_source *s, const train_settings *settings, failure *failure) {
    const status_code status = dataset_open(&s->set, settings->data, failure);
    return status == STATUS_OK ? open_groups(s, settings->group, failure) : status;
}

static status_code open_parts(segmentation_source *s, const train_settings *settings, const listener *listener,
                              failure *failure) {
    const fold_columns columns = {settings->stratify, settings->keep_together};
    status_code status = ranks_agree(ranks_here(), open_dataset(s, settings, failure), failure);
    if (status == STATUS_OK) status = prepare(s, settings, 0, listener, failure);
    if (status == STATUS_OK) status = name_labels(s, failure);
    if (status == STATUS_OK && settings->fold >= 0)
        status = folds_open(&s->splits, &s->set, &columns, s->cache, listener, failure);
    status = ranks_agree(ranks_here(), status, failure);
    if (status == STATUS_OK) status = open_whole_fold(s, settings, listener, failure);
    if (status == STATUS_OK && settings->fold >= 0)
        folds_tell_torn(&s->splits, &s->set, (int)settings->fold, &columns, s->cache, listener);
    uint64_t fingerprint = 0, former = 0;
    if (status == STATUS_OK) status = take_fingerprint(s, SAME_CONTENTS, &fingerprint, failure);
    if (status == STATUS_OK) status = take_fingerprint(s, SAME_FILES, &former, failure);
    status = ranks_agree(ranks_here(), status, failure);
    if (status == STATUS_OK) status = ranks_check_same(ranks_here(), fingerprint, s->cache, failure);
    if (status == STATUS_OK) status = divide_if_asked(s, settings->split_volumes, failure);
    s->data = (segmentation_data){.plan = &s->plan,
                                  .label_names = s->label_names,
                                  .ignore = s->set.ignore < 0 ? -1 : s->set.values,
                                  .train = s->train,
                                  .validation = s->validation,
                                  .train_count = (int64_t)s->train_count,
                                  .validation_count = (int64_t)s->validation_count,
                                  .has_groups = s->group_of != 0,
                                  .fingerprint = fingerprint,
                                  .former_fingerprint = former,
                                  .fill_threads = (int)settings->loaders + 1};
    return status;
}

status_code segmentation_source_open(segmentation_source **opened, const train_settings *settings,
                                     const listener *listener, failure *failure) {
    segmentation_source *s = *opened = calloc(1, sizeof *s);
    if (!s) return fail_memory(failure, "the cases");
    const status_code status = open_parts(s, settings, listener, failure);
    if (status != STATUS_OK) segmentation_source_close(opened);
    return status;
}

void segmentation_source_close(segmentation_source **opened) {
    if (!opened || !*opened) return;
    segmentation_source *s = *opened;
    close_fold(s);
    for (size_t k = 0; k < s->block_count; k++) memory_close(s->blocks[k]);
    free(s->blocks);
    free(s->group_of);
    free(s->label_names);
    free(s->cache);
    splits_close(&s->splits);
    dataset_close(&s->set);
    free(s);
    *opened = 0;
}

const segmentation_data *segmentation_source_data(const segmentation_source *s) { return &s->data; }
