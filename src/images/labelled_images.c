#include "images/labelled_images.h"

#include "core/crc64.h"
#include "core/memory.h"
#include "core/random.h"
#include "images/purposes.h"

#include <math.h>
#include <string.h>

static int shape_is_sane(const labelled_images_shape *s) {
    if (s->count < 1 || s->height < 1 || s->width < 1 || s->channels < 1 || s->classes < 1) return 0;
    if (s->height > LABELLED_IMAGES_SIDE_MAX || s->width > LABELLED_IMAGES_SIDE_MAX) return 0;
    if (s->channels > LABELLED_IMAGES_CHANNELS_MAX || s->classes > LABELLED_IMAGES_CLASSES_MAX) return 0;
    const int64_t stride = (int64_t)s->height * s->width * s->channels;
    return s->count <= INT64_MAX / 16 / stride && (uint64_t)(s->count * stride) <= SIZE_MAX / 16;
}

static status_code check_shape(const labelled_images_shape *s, failure *failure) {
    if (shape_is_sane(s)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "%lld images of %d x %d x %d in %d classes do not fit into memory",
                (long long)s->count, s->height, s->width, s->channels, s->classes);
}

status_code labelled_images_open(labelled_images *set, const labelled_images_shape *shape, failure *failure) {
    *set = (labelled_images){0};
    const status_code status = check_shape(shape, failure);
    if (status != STATUS_OK) return status;
    const size_t stride = (size_t)shape->height * (size_t)shape->width * (size_t)shape->channels;
    uint8_t *pixels = memory_open((size_t)shape->count * stride), *labels = memory_open((size_t)shape->count);
    if (pixels && labels) return labelled_images_adopt(set, shape, pixels, labels, failure);
    memory_close(pixels);
    memory_close(labels);
    return fail_memory(failure, "the images");
}

status_code labelled_images_adopt(labelled_images *set, const labelled_images_shape *shape, uint8_t *pixels,
                                  uint8_t *labels, failure *failure) {
    *set = (labelled_images){.height = shape->height,
                             .width = shape->width,
                             .channels = shape->channels,
                             .classes = shape->classes,
                             .pixels = pixels,
                             .labels = labels};
    status_code status = check_shape(shape, failure);
    if (status == STATUS_OK && !(set->origins = memory_open((size_t)shape->count * sizeof *set->origins)))
        status = fail_memory(failure, "the images");
    if (status != STATUS_OK) {
        labelled_images_close(set);
        return status;
    }
    set->count = shape->count;
    for (int64_t i = 0; i < shape->count; i++) set->origins[i] = i;
    return STATUS_OK;
}

void labelled_images_close(labelled_images *set) {
    memory_close(set->pixels);
    memory_close(set->labels);
    memory_close(set->origins);
    *set = (labelled_images){0};
}

int64_t labelled_images_count_class(const labelled_images *set, int class_label) {
    int64_t count = 0;
    for (int64_t i = 0; i < set->count; i++) count += set->labels[i] == class_label;
    return count;
}

/* ---- keeping a part of a class ---------------------------------------------------------------------------------- */

/* 0.29 x 100 is 28.999999999999996 in floating point; whoever asks for 29 % of 100 means 29. */
static int64_t share_of(int64_t count, double fraction) {
    const double share = (double)count * fraction;
    return (int64_t)floor(share + 1e-9 * fmax(1, share));
}

static void list_class(const labelled_images *set, int class_label, int64_t *members) {
    for (int64_t i = 0; i < set->count; i++)
        if (set->labels[i] == class_label) *members++ = i;
}

/* The first `wanted` steps of a shuffle decide the first `wanted` places, so that smaller choices are nested. */
static void choose(int64_t *members, int64_t count, int64_t wanted, uint64_t seed, int class_label) {
    random_stream stream;
    random_start(&stream, seed, RANDOM_KEEP, (uint64_t)class_label, 0);
    for (int64_t k = 0; k < wanted; k++) {
        const int64_t other = k + (int64_t)random_below(&stream, (uint64_t)(count - k));
        const int64_t swap = members[k];
        members[k] = members[other];
        members[other] = swap;
    }
}

static void move_example(labelled_images *set, int64_t to, int64_t from) {
    const size_t stride = labelled_images_stride(set);
    if (to == from) return;
    memcpy(set->pixels + (size_t)to * stride, set->pixels + (size_t)from * stride, stride);
    set->labels[to] = set->labels[from];
    set->origins[to] = set->origins[from];
}

static void leave_out(labelled_images *set, const uint8_t *dropped) {
    int64_t kept = 0;
    for (int64_t i = 0; i < set->count; i++)
        if (!dropped[i]) move_example(set, kept++, i);
    set->count = kept;
}

status_code labelled_images_keep(labelled_images *set, int class_label, double fraction, uint64_t seed,
                                 failure *failure) {
    if (!set->labels) return fail(failure, STATUS_BAD_INPUT, "a set without labels has no classes to keep");
    if (class_label < 0 || class_label >= set->classes)
        return fail(failure, STATUS_BAD_INPUT, "there is no class %d to keep a part of; the classes are 0 to %d",
                    class_label, set->classes - 1);
    if (!(fraction >= 0 && fraction <= 1))
        return fail(failure, STATUS_BAD_INPUT, "the fraction of class %d to keep is %g; it must be from 0 to 1",
                    class_label, fraction);
    const int64_t count = labelled_images_count_class(set, class_label), wanted = share_of(count, fraction);
    if (set->count - count + wanted == 0)
        return fail(failure, STATUS_BAD_INPUT, "keeping %g of class %d would leave no examples at all", fraction,
                    class_label);
    int64_t *members = memory_open((size_t)count * sizeof *members);
    uint8_t *dropped = memory_open((size_t)set->count);
    if (members && dropped) {
        memset(dropped, 0, (size_t)set->count);
        list_class(set, class_label, members);
        choose(members, count, wanted, seed, class_label);
        for (int64_t k = wanted; k < count; k++) dropped[members[k]] = 1;
        leave_out(set, dropped);
    }
    const int done = members && dropped;
    memory_close(members);
    memory_close(dropped);
    return done ? STATUS_OK : fail_memory(failure, "the choice of examples to keep");
}

/* ---- fingerprint ------------------------------------------------------------------------------------------------ */

static void add_number(crc64 *crc, uint64_t number) {
    uint8_t bytes[8];
    for (int k = 0; k < 8; k++) bytes[k] = (uint8_t)(number >> 8 * k);
    crc64_add(crc, bytes, sizeof bytes);
}

uint64_t labelled_images_fingerprint(const labelled_images *set) {
    crc64 crc;
    crc64_start(&crc);
    const int64_t shape[] = {set->count, set->height, set->width, set->channels, set->classes, set->labels != NULL};
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++) add_number(&crc, (uint64_t)shape[k]);
    if (set->labels) crc64_add(&crc, set->labels, (size_t)set->count);
    for (int64_t i = 0; i < set->count; i++) add_number(&crc, (uint64_t)set->origins[i]);
    crc64_add(&crc, set->pixels, (size_t)set->count * labelled_images_stride(set));
    return crc64_value(&crc);
}
