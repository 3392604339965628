#define _POSIX_C_SOURCE 200809L
#include "images/idx.h"

#include "core/file_writer.h"
#include "core/memory.h"
#include "core/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

enum { IMAGES = 0x803, LABELS = 0x801, MNIST_CLASSES = 10 };

/* ---- reading one file ------------------------------------------------------------------------------------------- */

typedef struct idx_file {
    const char *path;
    uint32_t magic;
    uint32_t sizes[3]; /* count, height, width; the last two are 1 for labels */
    uint8_t *bytes;    /* from memory_open */
} idx_file;

static const char AGAIN[] = "get the file again (for MNIST: hws fetch mnist)";

static uint32_t big_endian(const uint8_t *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint64_t payload_of(const idx_file *file) { return (uint64_t)file->sizes[0] * file->sizes[1] * file->sizes[2]; }

static status_code fail_reading(const idx_file *file, gzFile in, failure *failure) {
    int code = Z_OK;
    const char *text = gzerror(in, &code);
    if (code == Z_MEM_ERROR) return fail_memory(failure, file->path);
    if (code == Z_ERRNO)
        return fail(failure, STATUS_CANNOT_READ, "%s cannot be read: %s", file->path, strerror(errno ? errno : EIO));
    return fail(failure, STATUS_CORRUPT, "%s is damaged or truncated (gzip: %s); %s", file->path, text, AGAIN);
}

/* Reads up to `size` bytes; `*got` says how many there were before the end. */
static status_code read_some(const idx_file *file, gzFile in, uint8_t *bytes, size_t size, size_t *got,
                             failure *failure) {
    *got = 0;
    while (*got < size) {
        const size_t left = size - *got;
        const int count = gzread(in, bytes + *got, left < 1 << 24 ? (unsigned)left : 1u << 24);
        int code = Z_OK;
        (void)gzerror(in, &code);
        if (count < 0 || code < 0) return fail_reading(file, in, failure);
        if (count == 0) break;
        *got += (size_t)count;
    }
    return STATUS_OK;
}

static const char *kind_of(uint32_t magic) { return magic == IMAGES ? "images" : "labels"; }

static status_code fail_magic(const idx_file *file, const uint8_t *head, size_t got, failure *failure) {
    if (got == 0) return fail(failure, STATUS_CORRUPT, "%s is empty; %s", file->path, AGAIN);
    const uint32_t found = got < 4 ? 0 : big_endian(head);
    if (found == IMAGES || found == LABELS)
        return fail(failure, STATUS_CORRUPT, "%s holds IDX %s where %s belong; are the images and the labels swapped?",
                    file->path, kind_of(found), kind_of(file->magic));
    return fail(failure, STATUS_CORRUPT, "%s is not an IDX file of %s (it must begin with %08x, plain or in gzip); %s",
                file->path, kind_of(file->magic), (unsigned)file->magic, AGAIN);
}

static status_code read_header(idx_file *file, gzFile in, failure *failure) {
    uint8_t head[16];
    size_t got, more;
    status_code status = read_some(file, in, head, 4, &got, failure);
    if (status != STATUS_OK) return status;
    if (got < 4 || big_endian(head) != file->magic) return fail_magic(file, head, got, failure);
    const size_t rest = file->magic == IMAGES ? 12 : 4;
    status = read_some(file, in, head + 4, rest, &more, failure);
    if (status != STATUS_OK) return status;
    if (more < rest)
        return fail(failure, STATUS_CORRUPT, "%s is truncated: it ends within its header; %s", file->path, AGAIN);
    file->sizes[0] = big_endian(head + 4);
    file->sizes[1] = file->magic == IMAGES ? big_endian(head + 8) : 1;
    file->sizes[2] = file->magic == IMAGES ? big_endian(head + 12) : 1;
    return STATUS_OK;
}

static status_code check_sizes(const idx_file *file, failure *failure) {
    if (file->sizes[0] == 0)
        return fail(failure, STATUS_CORRUPT, "%s holds no %s at all; %s", file->path, kind_of(file->magic), AGAIN);
    for (int k = 1; k < 3; k++)
        if (file->sizes[k] < 1 || file->sizes[k] > LABELLED_IMAGES_SIDE_MAX)
            return fail(failure, STATUS_CORRUPT, "%s says that its images have %u x %u pixels; sides are 1 to %d; %s",
                        file->path, (unsigned)file->sizes[1], (unsigned)file->sizes[2], LABELLED_IMAGES_SIDE_MAX,
                        AGAIN);
    return STATUS_OK;
}

static uint8_t *grown(uint8_t *bytes, size_t used, size_t capacity) {
    uint8_t *larger = memory_open(capacity);
    if (larger && used) memcpy(larger, bytes, used);
    memory_close(bytes);
    return larger;
}

/* The buffer doubles as the bytes arrive: a short file that promises much costs little. */
static status_code read_payload(idx_file *file, gzFile in, size_t *got, failure *failure) {
    const uint64_t size = payload_of(file);
    size_t capacity = 0;
    *got = 0;
    if (size > SIZE_MAX / 2) return fail_memory(failure, file->path);
    while (*got == capacity && *got < size) {
        const uint64_t next = capacity ? (uint64_t)capacity * 2 : (uint64_t)1 << 20;
        capacity = (size_t)(next < size ? next : size);
        file->bytes = grown(file->bytes, *got, capacity);
        if (!file->bytes) return fail_memory(failure, file->path);
        size_t more;
        const status_code status = read_some(file, in, file->bytes + *got, capacity - *got, &more, failure);
        if (status != STATUS_OK) return status;
        *got += more;
    }
    return STATUS_OK;
}

static status_code read_exactly(idx_file *file, gzFile in, failure *failure) {
    size_t got, beyond = 0;
    uint8_t byte;
    status_code status = read_payload(file, in, &got, failure);
    if (status == STATUS_OK && got == payload_of(file)) status = read_some(file, in, &byte, 1, &beyond, failure);
    if (status != STATUS_OK) return status;
    if (got == payload_of(file) && beyond == 0) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s is %s: its header promises %llu bytes of %s, there are %s%llu; %s",
                file->path, beyond ? "too long" : "truncated", (unsigned long long)payload_of(file),
                kind_of(file->magic), beyond ? "more than " : "", (unsigned long long)got, AGAIN);
}

static status_code open_stream(const char *path, gzFile *in, failure *failure) {
    struct stat info;
    if (stat(path, &info) != 0)
        return fail(failure, STATUS_CANNOT_READ, "%s cannot be opened: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode)) return fail(failure, STATUS_CANNOT_READ, "%s is not a file; name an IDX file", path);
    errno = 0;
    *in = gzopen(path, "rb");
    if (!*in)
        return errno ? fail(failure, STATUS_CANNOT_READ, "%s cannot be opened: %s", path, strerror(errno))
                     : fail_memory(failure, path);
    (void)gzbuffer(*in, 1 << 17);
    return STATUS_OK;
}

static status_code read_idx(idx_file *file, const char *path, uint32_t magic, failure *failure) {
    *file = (idx_file){.path = path, .magic = magic};
    gzFile in = NULL;
    status_code status = open_stream(path, &in, failure);
    if (status != STATUS_OK) return status;
    status = read_header(file, in, failure);
    if (status == STATUS_OK) status = check_sizes(file, failure);
    if (status == STATUS_OK) status = read_exactly(file, in, failure);
    gzclose_r(in);
    if (status == STATUS_OK) return STATUS_OK;
    memory_close(file->bytes);
    file->bytes = NULL;
    return status;
}

/* ---- a pair of files -------------------------------------------------------------------------------------------- */

static status_code check_labels(const idx_file *labels, int *classes, failure *failure) {
    uint8_t largest = 0;
    for (uint32_t i = 0; i < labels->sizes[0]; i++) {
        if (*classes && labels->bytes[i] >= *classes)
            return fail(failure, STATUS_CORRUPT, "%s: example %u has the label %d, but the classes are 0 to %d",
                        labels->path, (unsigned)i, labels->bytes[i], *classes - 1);
        if (labels->bytes[i] > largest) largest = labels->bytes[i];
    }
    if (!*classes) *classes = largest + 1;
    return STATUS_OK;
}

static status_code read_labels(idx_file *labels, const char *path, const idx_file *images, int *classes,
                               failure *failure) {
    status_code status = read_idx(labels, path, LABELS, failure);
    if (status != STATUS_OK) return status;
    if (labels->sizes[0] != images->sizes[0])
        return fail(failure, STATUS_CORRUPT, "%s has %u images but %s has %u labels; they do not belong together",
                    images->path, (unsigned)images->sizes[0], path, (unsigned)labels->sizes[0]);
    return check_labels(labels, classes, failure);
}

status_code idx_open(labelled_images *set, const char *images_path, const char *labels_path, int classes,
                     failure *failure) {
    *set = (labelled_images){0};
    if (classes < 0 || classes > LABELLED_IMAGES_CLASSES_MAX || (!labels_path && classes == 0))
        return fail(failure, STATUS_BAD_INPUT, "%s cannot have %d classes; 1 to %d are possible", images_path, classes,
                    LABELLED_IMAGES_CLASSES_MAX);
    idx_file images, labels = {0};
    status_code status = read_idx(&images, images_path, IMAGES, failure);
    if (status == STATUS_OK && labels_path) status = read_labels(&labels, labels_path, &images, &classes, failure);
    if (status == STATUS_OK)
        return labelled_images_adopt(
            set, &(labelled_images_shape){images.sizes[0], (int)images.sizes[1], (int)images.sizes[2], 1, classes},
            images.bytes, labels.bytes, failure);
    memory_close(images.bytes);
    memory_close(labels.bytes);
    return status;
}

/* ---- MNIST's folder --------------------------------------------------------------------------------------------- */

static status_code find_file(char path[PATH_SIZE], const char *folder, const char *stem, const char *kind,
                             failure *failure) {
    static const char *const MIDDLES[] = {"-", "."}, *const ENDS[] = {"", ".gz"};
    for (int k = 0; k < 4; k++) {
        const status_code status =
            path_format(path, failure, "%s/%s%s%s%s", folder, stem, MIDDLES[k / 2], kind, ENDS[k % 2]);
        if (status != STATUS_OK || path_exists(path)) return status;
    }
    return fail(failure, STATUS_CANNOT_READ, "%s has no %s-%s (nor %s-%s.gz); hws fetch mnist --out %s puts it there",
                folder, stem, kind, stem, kind, folder);
}

static status_code open_split(labelled_images *set, const char *folder, const char *split, failure *failure) {
    char stem[32], images[PATH_SIZE], labels[PATH_SIZE];
    snprintf(stem, sizeof stem, "%.20s-images", split);
    status_code status = find_file(images, folder, stem, "idx3-ubyte", failure);
    snprintf(stem, sizeof stem, "%.20s-labels", split);
    if (status == STATUS_OK) status = find_file(labels, folder, stem, "idx1-ubyte", failure);
    return status == STATUS_OK ? idx_open(set, images, labels, MNIST_CLASSES, failure) : status;
}

static status_code check_same_size(const labelled_images *train, const labelled_images *test, const char *folder,
                                   failure *failure) {
    if (train->height == test->height && train->width == test->width) return STATUS_OK;
    return fail(failure, STATUS_CORRUPT, "%s: the train images have %d x %d pixels, the test images %d x %d", folder,
                train->height, train->width, test->height, test->width);
}

status_code idx_open_folder(labelled_images *train, labelled_images *test, const char *folder, failure *failure) {
    *train = *test = (labelled_images){0};
    struct stat info;
    if (stat(folder, &info) != 0)
        return fail(failure, STATUS_CANNOT_READ,
                    "the folder %s cannot be opened: %s; hws fetch mnist --out %s makes it", folder, strerror(errno),
                    folder);
    if (!S_ISDIR(info.st_mode))
        return fail(failure, STATUS_CANNOT_READ, "%s is not a folder; name the one with MNIST's four files", folder);
    status_code status = open_split(train, folder, "train", failure);
    if (status == STATUS_OK) status = open_split(test, folder, "t10k", failure);
    if (status == STATUS_OK) status = check_same_size(train, test, folder, failure);
    if (status == STATUS_OK) return STATUS_OK;
    labelled_images_close(train);
    labelled_images_close(test);
    return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void put_big_endian(uint8_t *bytes, uint32_t value) {
    for (int k = 0; k < 4; k++) bytes[k] = (uint8_t)(value >> (24 - 8 * k));
}

status_code idx_write_labels(const uint8_t *labels, int64_t count, const char *path, failure *failure) {
    uint8_t head[8];
    file_writer file;
    if (count < 1 || count > UINT32_MAX)
        return fail(failure, STATUS_BAD_INPUT, "%s: an IDX file cannot hold %lld examples", path, (long long)count);
    put_big_endian(head, LABELS);
    put_big_endian(head + 4, (uint32_t)count);
    file_writer_open(&file, path);
    file_writer_add(&file, head, sizeof head);
    file_writer_add(&file, labels, (size_t)count);
    return file_writer_close(&file, failure);
}
