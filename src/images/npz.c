#include "images/npz.h"

#include "core/memory.h"
#include "core/whole_file.h"
#include "zip/zip_archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t LARGEST_FILE = (size_t)1 << 33;

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* The tuple behind 'shape': "(10, 28, 28)". */
static int read_shape(const char *at, npy *a) {
    if (*at++ != '(') return 0;
    while (a->dimensions < 4) {
        char *end;
        const long long side = strtoll(at, &end, 10);
        if (end == at || side < 0 || side > INT32_MAX) return 0;
        a->shape[a->dimensions++] = side;
        at = end + strspn(end, " ");
        if (*at == ',') at += 1 + strspn(at + 1, " ");
        if (*at == ')') return 1;
    }
    return 0;
}

/* "|u1", "<i8" */
static int read_type(const char *at, npy *a) {
    if (at[0] != '\'' || (at[1] != '|' && at[1] != '<') || (at[2] != 'u' && at[2] != 'i')) return 0;
    a->type = at[2];
    a->item = at[3] - '0';
    return at[4] == '\'' && (a->item == 1 || a->item == 2 || a->item == 4 || a->item == 8);
}

static const char *value_of(const char *header, const char *key) {
    const char *at = strstr(header, key);
    return at ? at + strlen(key) + strspn(at + strlen(key), " ") : "";
}

static int read_header(const char *header, npy *a) {
    return read_type(value_of(header, "'descr':"), a) && read_shape(value_of(header, "'shape':"), a) &&
           strncmp(value_of(header, "'fortran_order':"), "False", 5) == 0;
}

/* What numpy calls a type: "<f4" is float32. */
static void name_type(const char *at, char words[40]) {
    const char kind = strlen(at) > 3 ? at[2] : 0;
    const long bytes = kind ? strtol(at + 3, NULL, 10) : 0;
    const int bits = bytes > 0 && bytes <= 64 ? 8 * (int)bytes : 0;
    const char *known = kind == 'f'   ? "float"
                        : kind == 'i' ? "int"
                        : kind == 'u' ? "uint"
                        : kind == 'c' ? "complex"
                                      : NULL;
    if (known && bits) snprintf(words, 40, "%s%s%d", at[1] == '>' ? "big-endian " : "", known, bits);
    else if (kind == 'U' || kind == 'S') snprintf(words, 40, "strings");
    else if (kind == 'O') snprintf(words, 40, "Python objects");
    else if (kind == 'b') snprintf(words, 40, "bool");
    else snprintf(words, 40, "%.*s", (int)strcspn(at, ","), at);
}

static status_code fail_kind(const char *header, const char *name, failure *failure) {
    char type[40];
    const char *shape = value_of(header, "'shape':");
    const int order = strncmp(value_of(header, "'fortran_order':"), "True", 4) == 0;
    name_type(value_of(header, "'descr':"), type);
    return fail(failure, STATUS_CORRUPT,
                "%.500s: holds %s of the shape %.*s%s; wanted are whole numbers of one to four dimensions in C order: "
                "images as uint8 from 0 to 255, labels as integers",
                name, type, (int)strcspn(shape, ")") + 1, shape, order ? " in Fortran order" : "");
}

status_code npy_parse(npy *a, const uint8_t *bytes, size_t size, const char *name, failure *failure) {
    char header[512] = {0};
    *a = (npy){0};
    const int right = size >= 12 && memcmp(bytes, "\x93NUMPY", 6) == 0 && bytes[6] >= 1 && bytes[6] <= 3;
    const size_t front = right && bytes[6] == 1 ? 10 : 12;
    const size_t length =
        !right          ? 0
        : bytes[6] == 1 ? (size_t)(bytes[8] | bytes[9] << 8)
                        : (size_t)bytes[8] | (size_t)bytes[9] << 8 | (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (!right || length >= sizeof header || length > size - front)
        return fail(failure, STATUS_CORRUPT, "%.500s: is not a .npy array, or its header is too long", name);
    memcpy(header, bytes + front, length);
    if (!read_header(header, a)) return fail_kind(header, name, failure);
    size_t count = (size_t)a->item;
    for (int k = 0; k < a->dimensions; k++)
        if (a->shape[k] && count > SIZE_MAX / 2 / (size_t)a->shape[k])
            return fail(failure, STATUS_CORRUPT, "%.500s: is too large to be true", name);
        else count *= (size_t)a->shape[k];
    a->data = bytes + front + length;
    if (count == size - front - length) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%.500s: has %zu bytes of numbers where its shape asks for %zu", name,
                size - front - length, count);
}

static int64_t number_at(const npy *a, int64_t index) {
    uint64_t number = 0;
    for (int k = 0; k < a->item; k++) number |= (uint64_t)a->data[index * a->item + k] << 8 * k;
    const uint64_t sign = (uint64_t)1 << (8 * a->item - 1);
    if (a->type == 'i' && a->item < 8 && number & sign) number |= ~(sign * 2 - 1);
    return (int64_t)number;
}

/* ---- archives ---------------------------------------------------------------------------------------------------- */

typedef struct entry {
    uint8_t *bytes;
    npy array;
} entry;

static status_code read_entry(const zip_archive *archive, const char *path, const char *name, entry *e,
                              failure *failure) {
    char what[1100];
    const zip_entry *found = zip_find(archive, name);
    if (!found) return fail(failure, STATUS_CORRUPT, "%.500s: holds no %s; MedMNIST's files do", path, name);
    if (found->size > LARGEST_FILE) return fail(failure, STATUS_CORRUPT, "%.500s: %s is too large", path, name);
    e->bytes = memory_open(found->size + 1);
    if (!e->bytes) return fail_memory(failure, path);
    const status_code status = zip_read(archive, found, e->bytes, failure);
    snprintf(what, sizeof what, "%.1000s: %s", path, name);
    return status == STATUS_OK ? npy_parse(&e->array, e->bytes, found->size, what, failure) : status;
}

static status_code fail_images(const npy *images, const char *path, const char *part, failure *failure) {
    char shape[128] = "";
    for (int k = 0; k < images->dimensions; k++)
        snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%lld", k ? ", " : "",
                 (long long)images->shape[k]);
    return fail(failure, STATUS_CORRUPT,
                "%.500s: %s_images are %sint%d of the shape (%s); uint8 from 0 to 255 of the shape (n, h, w) or "
                "(n, h, w, 3) are wanted",
                path, part, images->type == 'u' ? "u" : "", 8 * images->item, shape);
}

static status_code check_pair(const npy *images, const npy *labels, const char *path, const char *part,
                              failure *failure) {
    const int channels = images->dimensions == 4 ? (int)images->shape[3] : 1;
    if (images->item != 1 || images->type != 'u' || images->dimensions < 3 || (channels != 1 && channels != 3))
        return fail_images(images, path, part, failure);
    if (labels->dimensions > 2 || (labels->dimensions == 2 && labels->shape[1] != 1))
        return fail(failure, STATUS_CORRUPT,
                    "%.500s: %s_labels are not one number for each image; sets with several "
                    "labels each are not possible",
                    path, part);
    if (labels->shape[0] != images->shape[0])
        return fail(failure, STATUS_CORRUPT,
                    "%.500s: %s_labels has %lld labels for the %lld images of %s_images; each image must have one",
                    path, part, (long long)labels->shape[0], (long long)images->shape[0], part);
    if (!images->shape[0])
        return fail(failure, STATUS_CORRUPT, "%.500s: %s_images holds no images; there must be some in every part",
                    path, part);
    return STATUS_OK;
}

static status_code fill(labelled_images *set, const npy *images, const npy *labels, const char *path,
                        failure *failure) {
    const labelled_images_shape shape = {images->shape[0], (int)images->shape[1], (int)images->shape[2],
                                         images->dimensions == 4 ? (int)images->shape[3] : 1,
                                         LABELLED_IMAGES_CLASSES_MAX};
    const status_code status = labelled_images_open(set, &shape, failure);
    if (status != STATUS_OK) return status;
    memcpy(set->pixels, images->data, (size_t)set->count * labelled_images_stride(set));
    for (int64_t i = 0; i < set->count; i++) {
        const int64_t label = number_at(labels, i);
        if (label < 0 || label >= LABELLED_IMAGES_CLASSES_MAX)
            return fail(failure, STATUS_CORRUPT, "%.500s: image %lld has the label %lld; 0 to %d are possible", path,
                        (long long)i, (long long)label, LABELLED_IMAGES_CLASSES_MAX - 1);
        set->labels[i] = (uint8_t)label;
    }
    return STATUS_OK;
}

static status_code open_part(const zip_archive *archive, const char *path, const char *part, labelled_images *set,
                             failure *failure) {
    char name[64];
    entry images = {0}, labels = {0};
    snprintf(name, sizeof name, "%s_images.npy", part);
    status_code status = read_entry(archive, path, name, &images, failure);
    snprintf(name, sizeof name, "%s_labels.npy", part);
    if (status == STATUS_OK) status = read_entry(archive, path, name, &labels, failure);
    if (status == STATUS_OK) status = check_pair(&images.array, &labels.array, path, part, failure);
    if (status == STATUS_OK) status = fill(set, &images.array, &labels.array, path, failure);
    memory_close(images.bytes);
    memory_close(labels.bytes);
    return status;
}

/* The largest label plus one, for all. */
static void count_classes(labelled_images sets[DATA_PARTS]) {
    int most = 0;
    for (int p = 0; p < DATA_PARTS; p++)
        for (int64_t i = 0; i < sets[p].count; i++)
            if (sets[p].labels[i] >= most) most = sets[p].labels[i] + 1;
    for (int p = 0; p < DATA_PARTS; p++) sets[p].classes = most;
}

status_code npz_open(labelled_images sets[DATA_PARTS], const char *path, failure *failure) {
    static const char *const NAMES[] = {"train", "val", "test"};
    zip_archive *archive = NULL;
    char *bytes = NULL;
    size_t size;
    for (int p = 0; p < DATA_PARTS; p++) sets[p] = (labelled_images){0};
    status_code status = whole_file_read(path, LARGEST_FILE, &bytes, &size, failure);
    if (status != STATUS_OK) return status;
    status = zip_open(&archive, bytes, size, path, failure);
    for (int p = 0; p < DATA_PARTS && status == STATUS_OK; p++)
        if (p != PART_VALIDATION || zip_find(archive, "val_images.npy"))
            status = open_part(archive, path, NAMES[p], &sets[p], failure);
    zip_close(&archive);
    free(bytes);
    if (status == STATUS_OK) count_classes(sets);
    for (int p = 0; p < DATA_PARTS && status != STATUS_OK; p++) labelled_images_close(&sets[p]);
    return status;
}
