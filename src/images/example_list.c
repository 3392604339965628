#define _POSIX_C_SOURCE 200809L
#include "images/example_list.h"

#include "core/patient_column.h"
#include "images/example_units.h"
#include "images/labelled_images.h"
#include "images/purposes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SPLIT_SEED = 1 };
static const double TEST_SHARE = 0.2;

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

static int class_of(const char *name, const example_options *o) {
    for (int c = 0; c < o->class_count; c++)
        if (strcmp(o->class_names[c], name) == 0) return c;
    for (int c = 0; c < o->class_count; c++)
        if (word_is_in_spaces(name, o->class_names[c])) return c;
    return -1;
}

/* Numbers the classes as the run that is asked did. */
static status_code follow_classes(example_list *l, const char *path, const example_options *o, failure *failure) {
    int32_t *number = malloc(((size_t)l->labels.value_count + 1) * sizeof *number);
    char **names = words_copy((char *const *)(void *)o->class_names, (size_t)o->class_count);
    status_code status = number && names ? STATUS_OK : fail_memory(failure, path);
    for (int k = 0; k < l->labels.value_count && status == STATUS_OK; k++) {
        number[k] = class_of(l->labels.values[k], o);
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

/* Class names that differ by case only are one class, mistyped, more often than two. */
static void tell_of_case(const example_column *classes, const listener *listener) {
    char notice[512];
    size_t pairs = 0;
    int a = 0, b = 0;
    for (int k = 0; k < classes->value_count; k++)
        for (int other = k + 1; other < classes->value_count; other++)
            if (strcasecmp(classes->values[k], classes->values[other]) == 0 && !pairs++) a = k, b = other;
    if (!pairs) return;
    snprintf(notice, sizeof notice, "the classes '%.100s' and '%.100s' differ by case only%s: are they one?",
             classes->values[a], classes->values[b], pairs > 1 ? ", and so do others" : "");
    listener_notice(listener, notice);
}

/* Of which the results say nothing. */
static void tell_of_untested(const example_list *l, const listener *listener) {
    char notice[512];
    int untested = 0, first = 0;
    for (int k = l->labels.value_count; k-- > 0;) {
        size_t tests = 0;
        for (size_t i = 0; i < l->count; i++) tests += l->labels.of[i] == k && l->parts[i] == PART_TEST;
        if (!tests) untested++, first = k;
    }
    if (untested > 1)
        snprintf(notice, sizeof notice, "%d classes have nothing to test on, such as '%.100s'", untested,
                 l->labels.values[first]);
    else snprintf(notice, sizeof notice, "the class '%.100s' has nothing to test on", l->labels.values[first]);
    if (untested) listener_notice(listener, notice);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

static const example_column *patients_of(const example_list *l) {
    return example_column_patients(l->columns, l->column_count);
}

static status_code divide(example_list *l, failure *failure) {
    const unit_choice choice = {.count = l->count,
                                .labels = l->labels.of,
                                .classes = l->labels.value_count,
                                .together = patients_of(l),
                                .share = TEST_SHARE,
                                .seed = SPLIT_SEED,
                                .purpose = RANDOM_SPLIT};
    const status_code status = example_units_choose(&choice, l->parts, failure);
    for (size_t i = 0; i < l->count && status == STATUS_OK; i++) l->parts[i] = l->parts[i] ? PART_TEST : PART_TRAIN;
    return status;
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
static status_code give_parts(example_list *l, const example_options *o, const listener *listener, failure *failure) {
    if (o->whole) return test_on_all(l, listener), STATUS_OK;
    const status_code status = divide(l, failure);
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

/* A column of another name may mean something else. */
static void tell_of_column(const char *name, const listener *listener) {
    char notice[512];
    if (patient_column_is_plain(name)) return;
    snprintf(notice, sizeof notice, "the column '%.100s' says whose each example is, as one called patient would",
             name);
    listener_notice(listener, notice);
}

/* One message for all patients that are in more than one part. */
static status_code tell_of_patients(const example_list *l, const listener *listener, failure *failure) {
    const example_column *patients = patients_of(l);
    if (!patients) return STATUS_OK;
    tell_of_column(patients->name, listener);
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

enum { TWICE_TOLD = 4 };

/* Examples of the same name: how many come again, and the first of them with those that they repeat. */
typedef struct repeated {
    size_t count, pairs[TWICE_TOLD][2];
} repeated;

static status_code fail_one_twice(const example_list *l, const char *path, const size_t pair[2], failure *failure) {
    const char *label = label_of(l, pair[0]), *second = label_of(l, pair[1]);
    const size_t lines[] = {l->lines ? l->lines[pair[0]] : 0, l->lines ? l->lines[pair[1]] : 0};
    if (strcmp(label, second) == 0)
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s, lines %zu and %zu: the file '%.300s' comes twice; leave one out", path, lines[0], lines[1],
                    l->names[pair[0]]);
    return fail(
        failure, STATUS_BAD_INPUT,
        "%.300s, lines %zu and %zu: the file '%.300s' comes twice, with the labels '%.100s' and '%.100s'; leave "
        "out the wrong one",
        path, lines[0], lines[1], l->names[pair[0]], label, second);
}

static status_code fail_twice(const example_list *l, const char *path, const repeated *again, failure *failure) {
    text some = {0};
    if (again->count == 1) return fail_one_twice(l, path, again->pairs[0], failure);
    for (size_t k = 0; k < again->count && k < TWICE_TOLD; k++) {
        const size_t *pair = again->pairs[k];
        text_format(&some, "%slines %zu and %zu ('%.80s'%s)", k ? ", " : "", l->lines ? l->lines[pair[0]] : 0,
                    l->lines ? l->lines[pair[1]] : 0, l->names[pair[0]],
                    strcmp(label_of(l, pair[0]), label_of(l, pair[1])) ? ", with different labels" : "");
    }
    fail(failure, STATUS_BAD_INPUT, "%.300s: %zu lines name a file that has a line already; leave them out: %.600s%s",
         path, again->count, text_string(&some), again->count > TWICE_TOLD ? " and others" : "");
    text_close(&some);
    return STATUS_BAD_INPUT;
}

static status_code find_twice(const example_list *l, repeated *again, failure *failure) {
    named *sorted = malloc((l->count + 1) * sizeof *sorted);
    *again = (repeated){0};
    if (!sorted) return fail_memory(failure, "the names of the examples");
    for (size_t i = 0; i < l->count; i++) sorted[i] = (named){l->names[i], i};
    qsort(sorted, l->count, sizeof *sorted, by_name);
    for (size_t k = 1; k < l->count; k++) {
        if (strcmp(sorted[k - 1].name, sorted[k].name) != 0) continue;
        if (again->count < TWICE_TOLD) {
            again->pairs[again->count][0] = sorted[k - 1].at;
            again->pairs[again->count][1] = sorted[k].at;
        }
        again->count++;
    }
    free(sorted);
    return STATUS_OK;
}

/* Rows are called by their number where their names would not tell them apart. */
static void forget_names(example_list *l, const char *twice, const listener *listener) {
    char notice[512];
    if (*twice)
        snprintf(notice, sizeof notice, "rows are called by their number, as the id '%.300s' comes twice", twice);
    else snprintf(notice, sizeof notice, "rows are called by their number, as not all have an id");
    listener_notice(listener, notice);
    words_free(l->names, l->count);
    l->names = NULL;
}

static status_code check_names(example_list *l, const char *path, const listener *listener, failure *failure) {
    repeated again = {0};
    const status_code status = l->names ? find_twice(l, &again, failure) : STATUS_OK;
    if (status != STATUS_OK || !l->names) return status;
    if (l->folder) return again.count ? fail_twice(l, path, &again, failure) : STATUS_OK;
    const char *wrong = again.count ? l->names[again.pairs[0][0]] : NULL;
    for (size_t i = 0; !wrong && i < l->count; i++)
        if (!*l->names[i]) wrong = l->names[i];
    if (wrong) forget_names(l, wrong, listener);
    return STATUS_OK;
}

static status_code check_labels(const example_list *l, const char *path, failure *failure) {
    enum { TOLD = 5 };
    size_t lacking = 0;
    char number[32];
    text some = {0};
    for (size_t i = 0; i < l->count; i++) {
        if (l->labels.of[i] >= 0 || lacking++ >= TOLD) continue;
        text_format(&some, "%sline %zu: '%.100s'", lacking > 1 ? ", " : "", l->lines ? l->lines[i] : 0,
                    name_of(l, i, number));
    }
    if (lacking == 1) fail(failure, STATUS_BAD_INPUT, "%.500s, %s has no label", path, text_string(&some));
    else if (lacking)
        fail(failure, STATUS_BAD_INPUT, "%.300s: %zu of %zu examples have no label: %.600s%s", path, lacking, l->count,
             text_string(&some), lacking > TOLD ? " and others" : "");
    text_close(&some);
    return lacking ? STATUS_BAD_INPUT : STATUS_OK;
}

status_code example_list_complete(example_list *l, const char *path, int given, const example_options *o,
                                  const listener *listener, failure *failure) {
    status_code status = check_names(l, path, listener, failure);
    if (status != STATUS_OK || o->unlabelled) return status;
    status = check_labels(l, path, failure);
    if (status == STATUS_OK && o->class_names) status = follow_classes(l, path, o, failure);
    if (status == STATUS_OK && !given) status = give_parts(l, o, listener, failure);
    if (status == STATUS_OK && given && !o->class_names) status = check_parts(l, path, listener, failure);
    if (status == STATUS_OK && !o->class_names) status = check_classes(l, path, failure);
    if (status == STATUS_OK && !given && !o->class_names) status = check_divided(l, path, failure);
    if (status != STATUS_OK) return status;
    if (!o->class_names) tell_of_case(&l->labels, listener);
    if (!o->class_names) tell_of_untested(l, listener);
    return tell_of_patients(l, listener, failure);
}
