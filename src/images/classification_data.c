#include "images/classification_data.h"

#include "core/path.h"
#include "images/cifar.h"
#include "images/digits.h"
#include "images/idx.h"
#include "images/mnist.h"
#include "images/npz.h"
#include "images/table_sets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_SEED = 1, DIGITS_TRAIN_COUNT = 60000, DIGITS_TEST_COUNT = 10000 };

/* What follows the name: "" or ":..."; NULL if the name is another. */
static const char *after(const char *data, const char *name) {
    const size_t length = strlen(name);
    if (strncmp(data, name, length) != 0) return NULL;
    return data[length] == 0 || data[length] == ':' ? data + length : NULL;
}

static int has_file(const char *folder, const char *name) {
    char path[PATH_SIZE];
    return path_join(path, folder, name, NULL) == STATUS_OK && path_exists(path);
}

int classification_data_is_word(const char *data) { return after(data, "digits") || after(data, "mnist"); }

int classification_data_named(const char *data) {
    if (classification_data_is_word(data) || path_ends_with(data, ".csv") || path_ends_with(data, ".npz")) return 1;
    return path_is_folder(data) && !has_file(data, "dataset.json") && !has_file(data, "imagesTr");
}

int classification_data_is_classes(const char *data) {
    return path_is_folder(data) && classification_data_named(data) && !has_file(data, "labels.csv") &&
           !cifar_is_there(data);
}

/* A positive number at `*at`, which moves behind it; 0 if there is none. */
static int64_t take_count(const char **at) {
    char *end;
    if (**at < '0' || **at > '9') return 0;
    errno = 0;
    const long long count = strtoll(*at, &end, 10);
    *at = end;
    return errno || count > DIGITS_COUNT_MAX ? 0 : (int64_t)count;
}

static status_code open_digits(const char *sizes, labelled_images *train, labelled_images *test, failure *failure) {
    int64_t train_count = DIGITS_TRAIN_COUNT, test_count = DIGITS_TEST_COUNT;
    if (*sizes) {
        const char *at = sizes + 1;
        train_count = take_count(&at);
        const int comma = *at == ',';
        at += comma;
        test_count = take_count(&at);
        if (!comma || *at || train_count < 1 || test_count < 1)
            return fail(failure, STATUS_BAD_INPUT,
                        "the data 'digits%.100s' cannot be made; write digits or digits:TRAIN,TEST with numbers of "
                        "examples from 1 to %d",
                        sizes, DIGITS_COUNT_MAX);
    }
    status_code status = digits_open(train, DIGITS_SEED, DIGITS_TRAIN, train_count, failure);
    if (status == STATUS_OK) status = digits_open(test, DIGITS_SEED, DIGITS_TEST, test_count, failure);
    if (status != STATUS_OK) labelled_images_close(train);
    return status;
}

static status_code open_mnist(const char *folder, labelled_images *train, labelled_images *test, failure *failure) {
    char cache[PATH_SIZE];
    if (*folder) {
        if (folder[1]) return idx_open_folder(train, test, folder + 1, failure);
        return fail(failure, STATUS_BAD_INPUT, "the data 'mnist:' lacks its folder; write mnist:DIR, or mnist alone");
    }
    const status_code status = mnist_cache_folder(cache, sizeof cache, failure);
    return status == STATUS_OK ? idx_open_folder(train, test, cache, failure) : status;
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* The CSV file of a folder that has one; everything else is itself. */
static status_code list_path(const char *data, char path[PATH_SIZE], failure *failure) {
    const int inside = path_is_folder(data) && has_file(data, "labels.csv");
    return inside ? path_join(path, data, "labels.csv", failure) : path_format(path, failure, "%s", data);
}

status_code classification_data_same(const char *one, const char *other, int *same, failure *failure) {
    char a[PATH_SIZE], b[PATH_SIZE];
    status_code status = list_path(one, a, failure);
    if (status == STATUS_OK) status = list_path(other, b, failure);
    *same = status == STATUS_OK && path_same(a, b);
    return status;
}

/* Others than those that the run was trained on are not divided. */
static status_code examples_of(const classification_source *source, example_options *examples, failure *failure) {
    int own;
    *examples = source->examples;
    if (!source->trained_on || examples->whole) return STATUS_OK;
    const status_code status = classification_data_same(source->trained_on, source->data, &own, failure);
    examples->whole = !own;
    return status;
}

static status_code list_pictures(const classification_source *source, example_list *list, const listener *listener,
                                 failure *failure) {
    char path[PATH_SIZE];
    example_options o;
    status_code status = examples_of(source, &o, failure);
    if (status == STATUS_OK) status = list_path(source->data, path, failure);
    if (status != STATUS_OK) return status;
    return path_is_folder(path) ? example_list_of_folder(list, path, &o, listener, failure)
                                : example_list_of_csv(list, path, &o, listener, failure);
}

static status_code open_table(labelled_images sets[DATA_PARTS], const classification_source *source,
                              const listener *listener, failure *failure) {
    const table_source table = {source->data, source->trained_on, source->encoding};
    example_options o;
    const status_code status = examples_of(source, &o, failure);
    return status == STATUS_OK ? table_sets_open(sets, &table, &o, listener, failure) : status;
}

static status_code open_pictures(labelled_images sets[DATA_PARTS], const classification_source *source,
                                 const listener *listener, failure *failure) {
    example_list list;
    const picture_options *o = &source->pictures;
    status_code status = STATUS_OK;
    if (source->trained_on) status = picture_sets_check_trained(o->height, o->width, o->channels, failure);
    if (status == STATUS_OK) status = list_pictures(source, &list, listener, failure);
    if (status != STATUS_OK) return status;
    status = picture_sets_open(sets, &list, &source->pictures, listener, failure);
    example_list_close(&list);
    return status;
}

static status_code open_files(classification_data *d, const classification_source *source, const listener *listener,
                              failure *failure) {
    labelled_images sets[DATA_PARTS];
    int table = 0;
    if (cifar_is_there(source->data)) return cifar_open(&d->train, &d->test, source->data, failure);
    const int npz = path_ends_with(source->data, ".npz"), file = !npz && !path_is_folder(source->data);
    status_code status = file ? table_sets_is_table(source->data, &table, failure) : STATUS_OK;
    if (status != STATUS_OK) return status;
    if (npz) status = npz_open(sets, source->data, failure);
    else if (table) status = open_table(sets, source, listener, failure);
    else status = open_pictures(sets, source, listener, failure);
    if (status == STATUS_OK) *d = (classification_data){sets[PART_TRAIN], sets[PART_VALIDATION], sets[PART_TEST]};
    return status;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static status_code open_any(classification_data *d, const classification_source *source, const listener *listener,
                            failure *failure) {
    const char *rest = after(source->data, "digits");
    if (rest) return open_digits(rest, &d->train, &d->test, failure);
    rest = after(source->data, "mnist");
    if (rest) return open_mnist(rest, &d->train, &d->test, failure);
    if (path_exists(source->data)) return open_files(d, source, listener, failure);
    return fail(failure, STATUS_BAD_INPUT,
                "there is no data '%.300s' for classification; digits, digits:TRAIN,TEST, mnist, mnist:DIR, a folder "
                "of pictures and a CSV file are known",
                source->data);
}

/* Nothing but picture files may have 16 bits. */
static status_code check_greys(const classification_data *d, const classification_source *source, failure *failure) {
    const raster_greys greys = source->pictures.greys;
    if (!greys.high || d->train.folder || d->validation.folder || d->test.folder) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "%.300s: has no pictures of 16 bits, but greys from %d to %d are asked for (--greys)", source->data,
                greys.low, greys.high);
}

status_code classification_data_open(classification_data *d, const classification_source *source,
                                     const listener *listener, failure *failure) {
    *d = (classification_data){0};
    status_code status = open_any(d, source, listener, failure);
    if (status != STATUS_OK) return status;
    status = check_greys(d, source, failure);
    if (status != STATUS_OK) classification_data_close(d);
    return status;
}

void classification_data_close(classification_data *d) {
    labelled_images_close(&d->train);
    labelled_images_close(&d->validation);
    labelled_images_close(&d->test);
}
