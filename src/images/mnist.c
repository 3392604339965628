#include "images/mnist.h"

#include "core/path.h"
#include "images/sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

const char *const MNIST_NAME[MNIST_FILES] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                             "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

static const char *const SUM[MNIST_FILES] = {"ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                                             "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                                             "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                                             "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"};

status_code mnist_cache_folder(char *path, size_t size, failure *failure) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    /* The standard asks to ignore what is not an absolute path. */
    const int own = cache && cache[0] == '/';
    if (!own && !(home && home[0]))
        return fail(failure, STATUS_BAD_INPUT,
                    "neither XDG_CACHE_HOME nor HOME says where the cache is; name a folder");
    const int length = snprintf(path, size, "%s%s/hws/mnist", own ? cache : home, own ? "" : "/.cache");
    if (length > 0 && (size_t)length < size) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "the name of the cache folder is too long");
}

size_t mnist_read(int k, const char *folder, char bytes[MNIST_CAPACITY]) {
    char path[PATH_SIZE], text[SHA256_TEXT];
    sha256 sum;
    status_code status = path_join(path, folder, MNIST_NAME[k], NULL);
    if (!path_exists(path)) status = path_format(path, NULL, "%s/%s.gz", folder, MNIST_NAME[k]);
    gzFile in = status == STATUS_OK ? gzopen(path, "rb") : NULL;
    if (!in) return 0;
    const int size = gzread(in, bytes, MNIST_CAPACITY);
    gzclose_r(in);
    sha256_start(&sum);
    sha256_add(&sum, bytes, size > 0 ? (size_t)size : 0);
    sha256_text(&sum, text);
    return strcmp(text, SUM[k]) == 0 ? (size_t)size : 0;
}
