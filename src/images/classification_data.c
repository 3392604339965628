#include "images/classification_data.h"

#include "core/path.h"
#include "images/digits.h"
#include "images/idx.h"
#include "images/mnist.h"

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

int classification_data_named(const char *data) { return after(data, "digits") || after(data, "mnist"); }

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

status_code classification_data_open(const char *data, labelled_images *train, labelled_images *test,
                                     failure *failure) {
    *train = *test = (labelled_images){0};
    const char *rest = after(data, "digits");
    if (rest) return open_digits(rest, train, test, failure);
    rest = after(data, "mnist");
    if (rest) return open_mnist(rest, train, test, failure);
    return fail(
        failure, STATUS_BAD_INPUT,
        "there is no data '%.300s' for classification; digits, digits:TRAIN,TEST, mnist and mnist:DIR are known", data);
}
