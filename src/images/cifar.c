#include "images/cifar.h"

#include "core/path.h"
#include "core/whole_file.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 32, PLANE = SIDE * SIDE, RECORD = 1 + 3 * PLANE, CLASSES = 10, BATCHES = 5 };
static const size_t LARGEST_FILE = (size_t)1 << 28;

int cifar_is_there(const char *folder) {
    char path[PATH_SIZE];
    return path_join(path, folder, "data_batch_1.bin", NULL) == STATUS_OK && path_exists(path);
}

static status_code read_records(const char *folder, const char *name, char **bytes, size_t *count, failure *failure) {
    char path[PATH_SIZE];
    size_t size;
    *bytes = NULL;
    status_code status = path_join(path, folder, name, failure);
    if (status == STATUS_OK) status = whole_file_read(path, LARGEST_FILE, bytes, &size, failure);
    if (status != STATUS_OK) return status;
    *count = size / RECORD;
    if (size && size % RECORD == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%.500s: has %zu bytes, which are no whole images of %d; fetch it again", path,
                size, RECORD);
}

static status_code take(labelled_images *set, int64_t at, const uint8_t *record, const char *name, failure *failure) {
    uint8_t *to = set->pixels + (size_t)at * labelled_images_stride(set);
    if (record[0] >= CLASSES)
        return fail(failure, STATUS_CORRUPT, "%.500s: an image has the class %d; 0 to 9 are possible", name, record[0]);
    set->labels[at] = record[0];
    for (int k = 0; k < PLANE; k++)
        for (int c = 0; c < 3; c++) *to++ = record[1 + c * PLANE + k];
    return STATUS_OK;
}

static status_code open_files(labelled_images *set, const char *folder, const char names[][32], int files,
                              failure *failure) {
    char *bytes[BATCHES] = {0};
    size_t counts[BATCHES] = {0}, all = 0;
    int64_t at = 0;
    status_code status = STATUS_OK;
    for (int f = 0; f < files && status == STATUS_OK; f++) {
        status = read_records(folder, names[f], &bytes[f], &counts[f], failure);
        all += counts[f];
    }
    const labelled_images_shape shape = {(int64_t)all, SIDE, SIDE, 3, CLASSES};
    if (status == STATUS_OK) status = labelled_images_open(set, &shape, failure);
    for (int f = 0; f < files; f++) {
        for (size_t k = 0; k < counts[f] && status == STATUS_OK; k++)
            status = take(set, at++, (const uint8_t *)bytes[f] + k * RECORD, names[f], failure);
        free(bytes[f]);
    }
    if (status != STATUS_OK) labelled_images_close(set);
    return status;
}

status_code cifar_open(labelled_images *train, labelled_images *test, const char *folder, failure *failure) {
    char names[BATCHES][32];
    const char test_name[1][32] = {"test_batch.bin"};
    *train = *test = (labelled_images){0};
    for (int k = 0; k < BATCHES; k++) snprintf(names[k], sizeof names[k], "data_batch_%d.bin", k + 1);
    status_code status = open_files(train, folder, names, BATCHES, failure);
    if (status == STATUS_OK) status = open_files(test, folder, test_name, 1, failure);
    if (status != STATUS_OK) labelled_images_close(train);
    return status;
}
