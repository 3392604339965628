#define _POSIX_C_SOURCE 200809L
#include "images/example_list.h"

#include "core/random.h"
#include "images/labelled_images.h"
#include "images/purposes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SPLIT_SEED = 1, TEST_SHARE = 5 /* one of five */ };

const char *data_part_name(data_part part) {
    static const char *const NAMES[] = {"training", "validation", "test"};
    return NAMES[part];
}

void example_list_close(example_list *l) {
    words_free(l->names, l->count);
    free(l->folder);
    free(l->lines);
    free(l->parts);
    example_column_close(&l->labels);
    for (int k = 0; k < l->column_count; k++) example_column_close(&l->columns[k]);
    free(l->columns);
    *l = (example_list){0};
}

static const char *name_of(const example_list *l, size_t i, char number[32]) {
    if (l->names) return l->names[i];
    snprintf(number, 32, "%zu", i);
    return number;
}

static size_t count_part(const example_list *l, data_part part) {
    size_t count = 0;
    for (size_t i = 0; i < l->count; i++) count += l->parts[i] == part;
    return count;
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

/* Numbers the classes as the run that is asked did. */
static status_code follow_classes(example_list *l, const char *path, const example_options *o, failure *failure) {
    int32_t *number = malloc(((size_t)l->labels.value_count + 1) * sizeof *number);
    char **names = words_copy((char *const *)(void *)o->class_names, (size_t)o->class_count);
    status_code status = number && names ? STATUS_OK : fail_memory(failure, path);
    for (int k = 0; k < l->labels.value_count && status == STATUS_OK; k++) {
        number[k] = -1;
        for (int c = 0; c < o->class_count; c++)
            if (strcmp(o->class_names[c], l->labels.values[k]) == 0) number[k] = c;
        if (number[k] < 0)
            status = fail(failure, STATUS_BAD_INPUT,
                          "%.500s: the network was not trained on the class '%.100s'; correct the label, or leave such "
                          "examples out",
                          path, l->labels.values[k]);
    }
    if (status == STATUS_OK) {
        for (size_t i = 0; i < l->count; i++)
            if (l->labels.of[i] >= 0) l->labels.of[i] = number[l->labels.of[i]];
        words_free(l->labels.values, (size_t)l->labels.value_count);
        l->labels.values = names;
        l->labels.value_count = o->class_count;
    } else words_free(names, (size_t)o->class_count);
    free(number);
    return status;
}

static status_code check_classes(const example_list *l, const char *path, failure *failure) {
    const int classes = l->labels.value_count;
    if (classes > LABELLED_IMAGES_CLASSES_MAX)
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s: has %d classes; at most %d are possible: is the right column the label?", path, classes,
                    LABELLED_IMAGES_CLASSES_MAX);
    for (int k = 0; k < classes; k++) {
        size_t train = 0, others = 0;
        for (size_t i = 0; i < l->count; i++)
            if (l->labels.of[i] == k) l->parts[i] == PART_TRAIN ? train++ : others++;
        if (!train && others)
            return fail(failure, STATUS_BAD_INPUT,
                        "%.500s: the class '%.100s' has examples to test on and none to train on; correct the "
                        "labels, or add some",
                        path, l->labels.values[k]);
    }
    if (classes >= 2) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.500s: has one class only, '%.100s'; there must be two or more to tell apart", path,
                classes ? l->labels.values[0] : "");
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static const example_column *find_column(const example_list *l, const char *name) {
    for (int k = 0; k < l->column_count; k++)
        if (strcmp(l->columns[k].name, name) == 0) return &l->columns[k];
    return NULL;
}

/* Examples that stay together, with a random number by which units are put into order. */
typedef struct unit {
    uint64_t key;
    int label;
    size_t number, size;
} unit;

static int by_key(const void *a, const void *b) {
    const unit *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static size_t unit_of(const example_column *patients, size_t i) {
    const size_t own = patients ? (size_t)patients->value_count : 0;
    return patients && patients->of[i] >= 0 ? (size_t)patients->of[i] : own + i;
}

static void count_units(const example_list *l, const example_column *patients, unit *units, size_t count) {
    random_stream stream;
    for (size_t k = 0; k < count; k++) {
        random_start(&stream, SPLIT_SEED, RANDOM_SPLIT, k, 0);
        units[k] = (unit){.key = random_word(&stream), .number = k};
    }
    for (size_t i = l->count; i-- > 0;) { /* a unit's class is that of its first example */
        unit *u = &units[unit_of(patients, i)];
        u->label = l->labels.of[i];
        u->size++;
    }
}

/* Of each class whole units, in random order, until a fifth of its examples is reached. */
static void choose_units(const example_list *l, const unit *units, size_t count, uint8_t *chosen) {
    for (int c = 0; c < l->labels.value_count; c++) {
        size_t all = 0, taken = 0;
        for (size_t k = 0; k < count; k++) all += units[k].label == c ? units[k].size : 0;
        for (size_t k = 0; k < count; k++) {
            if (units[k].label != c || !units[k].size || (taken + units[k].size) * TEST_SHARE > all + TEST_SHARE / 2)
                continue;
            chosen[units[k].number] = 1;
            taken += units[k].size;
        }
    }
}

static status_code divide(example_list *l, const char *path, failure *failure) {
    const example_column *patients = find_column(l, "patient");
    const size_t count = l->count + (patients ? (size_t)patients->value_count : 0);
    unit *units = malloc((count + 1) * sizeof *units);
    uint8_t *chosen = calloc(count + 1, 1);
    if (units && chosen) {
        count_units(l, patients, units, count);
        qsort(units, count, sizeof *units, by_key);
        choose_units(l, units, count, chosen);
        for (size_t i = 0; i < l->count; i++) l->parts[i] = chosen[unit_of(patients, i)] ? PART_TEST : PART_TRAIN;
    }
    free(units);
    free(chosen);
    return units && chosen ? STATUS_OK : fail_memory(failure, path);
}

static void tell_of_parts(const example_list *l, const char *why, const listener *listener) {
    char notice[512];
    snprintf(notice, sizeof notice, "%s: %zu to train on, %zu to test on", why, count_part(l, PART_TRAIN),
             count_part(l, PART_TEST));
    listener_notice(listener, notice);
}

static void test_on_all(example_list *l, const listener *listener) {
    char notice[512];
    memset(l->parts, PART_TEST, l->count);
    snprintf(notice, sizeof notice,
             "the data do not say what to test on, so all %zu are tested on; results mean nothing if the network was "
             "trained on some of them",
             l->count);
    listener_notice(listener, notice);
}

/* Where the data say nothing about it. */
static status_code give_parts(example_list *l, const char *path, const example_options *o, const listener *listener,
                              failure *failure) {
    if (o->whole) return test_on_all(l, listener), STATUS_OK;
    const status_code status = divide(l, path, failure);
    if (status == STATUS_OK)
        tell_of_parts(l, "the data do not say what to test on, so a fifth of each class is kept for it", listener);
    return status;
}

static status_code check_divided(const example_list *l, const char *path, failure *failure) {
    if (count_part(l, PART_TEST)) return STATUS_OK;
    return fail(
        failure, STATUS_BAD_INPUT,
        "%.500s: has nothing to test on: no class has enough examples, or patients, to keep a fifth for it; add "
        "some, or mark some as test",
        path);
}

static status_code check_parts(example_list *l, const char *path, const listener *listener, failure *failure) {
    if (!count_part(l, PART_TRAIN)) return fail(failure, STATUS_BAD_INPUT, "%.500s: has nothing to train on", path);
    if (count_part(l, PART_TEST)) return STATUS_OK;
    for (size_t i = 0; i < l->count; i++)
        if (l->parts[i] == PART_VALIDATION) l->parts[i] = PART_TEST;
    if (!count_part(l, PART_TEST))
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s: has nothing to test on; mark some examples as test, or leave all marks out and a fifth is "
                    "taken",
                    path);
    tell_of_parts(l, "the data have no test part, so the validation part is tested on", listener);
    return STATUS_OK;
}

/* One message for all patients that are in more than one part. */
static status_code tell_of_patients(const example_list *l, const listener *listener, failure *failure) {
    const example_column *patients = find_column(l, "patient");
    if (!patients) return STATUS_OK;
    uint8_t *seen = calloc((size_t)patients->value_count + 1, 1);
    if (!seen) return fail_memory(failure, "the patients");
    for (size_t i = 0; i < l->count; i++)
        if (patients->of[i] >= 0) seen[patients->of[i]] |= (uint8_t)(1 << l->parts[i]);
    int torn = 0, first = -1;
    for (int k = 0; k < patients->value_count; k++)
        if (seen[k] & (seen[k] - 1)) {
            torn++;
            if (first < 0) first = k;
        }
    free(seen);
    if (!torn) return STATUS_OK;
    char notice[512];
    snprintf(notice, sizeof notice,
             "%d of %d patients, such as %.100s, are in more than one of training, validation and test: results will "
             "look better than they are; keep each patient in one part",
             torn, patients->value_count, patients->values[first]);
    listener_notice(listener, notice);
    return STATUS_OK;
}

/* ------------------------------------------------------------------------------------------------------------------ */

typedef struct named {
    const char *name;
    size_t at;
} named;

static int by_name(const void *a, const void *b) {
    const named *x = a, *y = b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->at < y->at ? -1 : x->at > y->at;
}

static const char *label_of(const example_list *l, size_t i) {
    return l->labels.of && l->labels.of[i] >= 0 ? l->labels.values[l->labels.of[i]] : "";
}

static status_code fail_twice(const example_list *l, const char *path, size_t one, size_t other, failure *failure) {
    const char *label = label_of(l, one), *second = label_of(l, other);
    const size_t lines[] = {l->lines ? l->lines[one] : 0, l->lines ? l->lines[other] : 0};
    if (strcmp(label, second) == 0)
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s, lines %zu and %zu: the file '%.300s' comes twice; leave one out", path, lines[0], lines[1],
                    l->names[one]);
    return fail(
        failure, STATUS_BAD_INPUT,
        "%.300s, lines %zu and %zu: the file '%.300s' comes twice, with the labels '%.100s' and '%.100s'; leave "
        "out the wrong one",
        path, lines[0], lines[1], l->names[one], label, second);
}

static status_code check_names(const example_list *l, const char *path, failure *failure) {
    named *sorted = malloc((l->count + 1) * sizeof *sorted);
    if (!sorted) return fail_memory(failure, path);
    for (size_t i = 0; i < l->count; i++) sorted[i] = (named){l->names[i], i};
    qsort(sorted, l->count, sizeof *sorted, by_name);
    status_code status = STATUS_OK;
    for (size_t k = 1; k < l->count && status == STATUS_OK; k++)
        if (strcmp(sorted[k - 1].name, sorted[k].name) == 0)
            status = fail_twice(l, path, sorted[k - 1].at, sorted[k].at, failure);
    free(sorted);
    return status;
}

static status_code check_labels(const example_list *l, const char *path, failure *failure) {
    char number[32];
    for (size_t i = 0; i < l->count; i++)
        if (l->labels.of[i] < 0)
            return fail(failure, STATUS_BAD_INPUT, "%.500s, line %zu: '%.200s' has no label", path,
                        l->lines ? l->lines[i] : 0, name_of(l, i, number));
    return STATUS_OK;
}

status_code example_list_complete(example_list *l, const char *path, int given, const example_options *o,
                                  const listener *listener, failure *failure) {
    status_code status = l->names ? check_names(l, path, failure) : STATUS_OK;
    if (status != STATUS_OK || o->unlabelled) return status;
    status = check_labels(l, path, failure);
    if (status == STATUS_OK && o->class_names) status = follow_classes(l, path, o, failure);
    if (status == STATUS_OK && !given) status = give_parts(l, path, o, listener, failure);
    if (status == STATUS_OK && given && !o->class_names) status = check_parts(l, path, listener, failure);
    if (status == STATUS_OK && !o->class_names) status = check_classes(l, path, failure);
    if (status == STATUS_OK && !given && !o->class_names) status = check_divided(l, path, failure);
    return status == STATUS_OK ? tell_of_patients(l, listener, failure) : status;
}
