#include "dataset/splits_inside.h"

#include "core/json_writer.h"
#include "core/text.h"
#include "core/whole_file.h"
#include "json/json_file.h"

#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *path;
    const char *const *names;
    size_t cases;
    int fold;
    unsigned char *places;
    text problems; /* with single cases, of all folds: a line each */
    size_t problem_count;
    failure *failure;
} reader;

enum { PROBLEMS_BYTES = 700 };

/* All of them are told at once, as far as a message can hold them. */
static void add_problem(reader *r, const char *name, const char *what) {
    r->problem_count++;
    if (r->problems.size < PROBLEMS_BYTES)
        text_format(&r->problems, "%sfold %d: %s'%.200s'%s", r->problem_count > 1 ? "\n  " : "", r->fold,
                    *what ? "the case " : "the dataset has no case ", name, what);
}

static status_code fail_problems(const reader *r) {
    const size_t left = r->problems.size > PROBLEMS_BYTES ? PROBLEMS_BYTES : r->problems.size;
    const char *advice = "correct the file, or delete it to make new splits";
    if (!r->problem_count) return STATUS_OK;
    if (r->problem_count == 1)
        return fail(r->failure, STATUS_CORRUPT, "%.200s, %s; %s", r->path, text_string(&r->problems), advice);
    return fail(r->failure, STATUS_CORRUPT, "%.200s has %zu problems; %s%s:\n  %.*s", r->path, r->problem_count, advice,
                r->problems.size > PROBLEMS_BYTES ? ". Among them" : "", (int)left, text_string(&r->problems));
}

static int by_name(const void *key, const void *name) { return strcmp(key, *(const char *const *)name); }

static status_code place_case(reader *r, const json_t *entry, const char *list, int place) {
    const char *name = json_string_value(entry);
    if (!name)
        return fail(r->failure, STATUS_CORRUPT, "%s, fold %d: \"%s\" must be a list of case names", r->path, r->fold,
                    list);
    const char *const *found = bsearch(name, r->names, r->cases, sizeof *r->names, by_name);
    if (!found) return add_problem(r, name, ""), STATUS_OK;
    unsigned char *old = &r->places[found - r->names];
    if (*old != PLACE_NONE) add_problem(r, name, *old == place ? " is named twice" : " is in train and in val");
    else *old = (unsigned char)place;
    return STATUS_OK;
}

static status_code read_list(reader *r, const json_t *fold, const char *key, int place) {
    const json_t *list = json_object_get(fold, key);
    if (!json_is_array(list) || json_array_size(list) == 0)
        return fail(r->failure, STATUS_CORRUPT, "%s, fold %d: \"%s\" must be a list of case names, at least one",
                    r->path, r->fold, key);
    status_code status = STATUS_OK;
    for (size_t k = 0; status == STATUS_OK && k < json_array_size(list); k++)
        status = place_case(r, json_array_get(list, k), key, place);
    return status;
}

static status_code read_fold(reader *r, const json_t *json, split *fold) {
    memset(r->places, PLACE_NONE, r->cases);
    status_code status = read_list(r, json, "train", PLACE_TRAIN);
    if (status == STATUS_OK) status = read_list(r, json, "val", PLACE_VAL);
    if (status == STATUS_OK) status = split_fill(fold, r->places, r->cases, r->failure);
    return status;
}

static status_code read_folds(reader *r, const json_t *root, splits *splits) {
    const size_t count = json_array_size(root);
    if (!json_is_array(root) || count < 1 || count > SPLITS_MAX_FOLDS)
        return fail(r->failure, STATUS_CORRUPT,
                    "%s: must be a list of 1 to %d folds, each {\"train\": [...], \"val\": [...]}", r->path,
                    SPLITS_MAX_FOLDS);
    status_code status = splits_open(splits, (int)count, r->failure);
    for (r->fold = 0; status == STATUS_OK && r->fold < (int)count; r->fold++)
        status = read_fold(r, json_array_get(root, (size_t)r->fold), &splits->folds[r->fold]);
    return status == STATUS_OK ? fail_problems(r) : status;
}

status_code splits_read(splits *splits, const char *path, const char *const *names, size_t cases, failure *failure) {
    *splits = (struct splits){0};
    json_t *root;
    status_code status = json_file_read(path, &root, failure);
    if (status != STATUS_OK) return status;
    reader reader = {.path = path, .names = names, .cases = cases, .failure = failure};
    reader.places = malloc(cases + 1);
    status = reader.places ? read_folds(&reader, root, splits) : fail_memory(failure, path);
    free(reader.places);
    text_close(&reader.problems);
    json_decref(root);
    if (status != STATUS_OK) splits_close(splits);
    return status;
}

static void add_list(json_writer *json, const char *key, const size_t *cases, size_t count, const char *const *names) {
    json_begin_list(json, key);
    for (size_t k = 0; k < count; k++) json_add_string(json, NULL, names[cases[k]]);
    json_end(json);
}

status_code splits_write(const splits *splits, const char *path, const char *const *names, failure *failure) {
    text out = {0};
    json_writer json = json_writer_start(&out);
    json_begin_list(&json, NULL);
    for (int k = 0; k < splits->count; k++) {
        const split *fold = &splits->folds[k];
        json_begin_object(&json, NULL);
        add_list(&json, "train", fold->train, fold->train_count, names);
        add_list(&json, "val", fold->val, fold->val_count, names);
        json_end(&json);
    }
    json_end(&json);
    const status_code status = whole_file_write_text(path, &out, failure);
    text_close(&out);
    return status;
}
