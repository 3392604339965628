#include "images/labelled_images.h"

#include "core/crc64.h"
#include "core/csv.h"
#include "core/memory.h"
#include "core/path.h"
#include "core/random.h"
#include "images/purposes.h"
#include "picture/resize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    memory_close(set->values);
    memory_close(set->sums);
    words_free(set->names, (size_t)set->count);
    words_free(set->class_names, (size_t)set->classes);
    for (int k = 0; k < set->column_count; k++) example_column_close(&set->columns[k]);
    free(set->columns);
    free(set->folder);
    *set = (labelled_images){0};
}

int64_t labelled_images_count_class(const labelled_images *set, int class_label) {
    int64_t count = 0;
    for (int64_t i = 0; i < set->count; i++) count += set->labels[i] == class_label;
    return count;
}

/* ---- what is known of examples ----------------------------------------------------------------------------------- */

status_code labelled_images_path(char path[PATH_SIZE], const char *folder, const char *name, failure *failure) {
    return *name == '/' ? path_format(path, failure, "%s", name) : path_join(path, folder, name, failure);
}

status_code labelled_images_decode(const labelled_images *set, int64_t index, uint8_t *pixels, raster_facts *facts,
                                   failure *failure) {
    char path[PATH_SIZE];
    raster picture = {0};
    status_code status = labelled_images_path(path, set->folder, set->names[index], failure);
    if (status == STATUS_OK) status = raster_read_greys(&picture, path, set->greys, facts, failure);
    if (status == STATUS_OK) status = raster_convert(&picture, set->channels, failure);
    if (status == STATUS_OK) status = raster_fit(&picture, set->height, set->width, pixels, failure);
    raster_close(&picture);
    return status;
}

status_code labelled_images_copy(const labelled_images *set, int64_t index, uint8_t *pixels, failure *failure) {
    if (!set->pixels) return labelled_images_decode(set, index, pixels, NULL, failure);
    memcpy(pixels, labelled_images_at(set, index), labelled_images_stride(set));
    return STATUS_OK;
}

const example_column *labelled_images_column(const labelled_images *set, const char *name) {
    for (int k = 0; k < set->column_count; k++)
        if (strcmp(set->columns[k].name, name) == 0) return &set->columns[k];
    return NULL;
}

void labelled_images_column_names(const labelled_images *set, text *names) {
    for (int k = 0; k < set->column_count; k++) text_format(names, "%s%s", k ? ", " : "", set->columns[k].name);
    if (!set->column_count) text_add(names, "none");
}

void labelled_images_name(const labelled_images *set, int64_t index, text *name) {
    if (set->names) text_add(name, set->names[index]);
    else text_format(name, "%lld", (long long)set->origins[index]);
}

void labelled_images_class_name(const labelled_images *set, int class_label, text *name) {
    if (set->class_names) text_add(name, set->class_names[class_label]);
    else text_format(name, "%d", class_label);
}

void labelled_images_name_field(const labelled_images *set, int64_t index, text *csv) {
    text name = {0};
    labelled_images_name(set, index, &name);
    csv_add_text(csv, &name);
}

void labelled_images_class_field(const labelled_images *set, int class_label, text *csv) {
    text name = {0};
    labelled_images_class_name(set, class_label, &name);
    csv_add_text(csv, &name);
}

/* ---- keeping a part of a class ---------------------------------------------------------------------------------- */

/* 0.29 x 100 is 28.999999999999996 in floating point; whoever asks for 29 % of 100 means 29. */
static int64_t share_of(int64_t count, double fraction) {
    const double share = (double)count * fraction;
    return (int64_t)floor(share + 1e-9 * fmax(1, share));
}

/* Some examples of a set, of which a part is kept. */
typedef struct part {
    const int32_t *of; /* the value of each example in a column; NULL: the class counts */
    int value;
    const char *name; /* for messages */
} part;

static int belongs(const labelled_images *set, const part *p, int64_t i) {
    return (p->of ? p->of[i] : set->labels[i]) == p->value;
}

static int64_t list_part(const labelled_images *set, const part *p, int64_t *members) {
    int64_t count = 0;
    for (int64_t i = 0; i < set->count; i++)
        if (belongs(set, p, i)) members[count++] = i;
    return count;
}

/* The first `wanted` steps of a shuffle decide the first `wanted` places, so that smaller choices are nested. */
static void choose(int64_t *members, int64_t count, int64_t wanted, uint64_t seed, const part *p) {
    random_stream stream;
    random_start(&stream, seed, p->of ? RANDOM_KEEP_GROUP : RANDOM_KEEP, (uint64_t)p->value, 0);
    for (int64_t k = 0; k < wanted; k++) {
        const int64_t other = k + (int64_t)random_below(&stream, (uint64_t)(count - k));
        const int64_t swap = members[k];
        members[k] = members[other];
        members[other] = swap;
    }
}

static void move_example(labelled_images *set, int64_t to, int64_t from) {
    const size_t stride = labelled_images_stride(set), channels = (size_t)set->channels;
    if (set->pixels) memcpy(set->pixels + (size_t)to * stride, set->pixels + (size_t)from * stride, stride);
    if (set->values)
        memcpy(set->values + (size_t)to * channels, set->values + (size_t)from * channels, channels * sizeof(float));
    if (set->labels) set->labels[to] = set->labels[from];
    if (set->sums) set->sums[to] = set->sums[from];
    if (set->names) set->names[to] = set->names[from];
    for (int k = 0; k < set->column_count; k++) set->columns[k].of[to] = set->columns[k].of[from];
    set->origins[to] = set->origins[from];
}

void labelled_images_leave_out(labelled_images *set, const uint8_t *dropped) {
    int64_t kept = 0;
    for (int64_t i = 0; i < set->count; i++) {
        if (dropped[i] && set->names) free(set->names[i]);
        if (dropped[i]) continue;
        if (kept != i) move_example(set, kept, i);
        kept++;
    }
    set->count = kept;
}

/* A little more than 1 / count, in three digits. */
static double least_fraction(int64_t count) {
    const double scale = pow(10, ceil(log10((double)count)) + 2);
    return ceil(scale / (double)count) / scale;
}

/* Who wants none of them says so, with 0. */
static status_code check_share(const part *p, int64_t count, double fraction, int64_t others, failure *failure) {
    const int64_t wanted = share_of(count, fraction);
    if (wanted + others == 0)
        return fail(failure, STATUS_BAD_INPUT, "keeping %g of %.200s would leave no examples at all", fraction,
                    p->name);
    if (wanted || !count || fraction == 0) return STATUS_OK;
    return fail(
        failure, STATUS_BAD_INPUT,
        "keeping %g of %.200s would leave none of its %lld example%s: %.10g keeps one, 0 leaves all of them out",
        fraction, p->name, (long long)count, count == 1 ? "" : "s", least_fraction(count));
}

static status_code keep(labelled_images *set, const part *p, double fraction, uint64_t seed, failure *failure) {
    if (!(fraction >= 0 && fraction <= 1))
        return fail(failure, STATUS_BAD_INPUT, "the fraction of %.200s to keep is %g; it must be from 0 to 1", p->name,
                    fraction);
    int64_t *members = memory_open((size_t)set->count * sizeof *members + 1);
    uint8_t *dropped = memory_open((size_t)set->count + 1);
    status_code status = members && dropped ? STATUS_OK : fail_memory(failure, "the choice of examples to keep");
    const int64_t count = status == STATUS_OK ? list_part(set, p, members) : 0, wanted = share_of(count, fraction);
    if (status == STATUS_OK) status = check_share(p, count, fraction, set->count - count, failure);
    if (status == STATUS_OK) {
        memset(dropped, 0, (size_t)set->count);
        choose(members, count, wanted, seed, p);
        for (int64_t k = wanted; k < count; k++) dropped[members[k]] = 1;
        labelled_images_leave_out(set, dropped);
    }
    memory_close(members);
    memory_close(dropped);
    return status;
}

status_code labelled_images_keep(labelled_images *set, int class_label, double fraction, uint64_t seed,
                                 failure *failure) {
    char name[32];
    if (!set->labels) return fail(failure, STATUS_BAD_INPUT, "a set without labels has no classes to keep");
    if (class_label < 0 || class_label >= set->classes)
        return fail(failure, STATUS_BAD_INPUT, "there is no class %d to keep a part of; the classes are 0 to %d",
                    class_label, set->classes - 1);
    snprintf(name, sizeof name, "class %d", class_label);
    return keep(set, &(part){.value = class_label, .name = name}, fraction, seed, failure);
}

static status_code keep_group(labelled_images *set, const char *name, const char *colon, double fraction, uint64_t seed,
                              failure *failure) {
    char column_name[128];
    snprintf(column_name, sizeof column_name, "%.*s", (int)(colon - name), name);
    const example_column *column = labelled_images_column(set, column_name);
    if (!column)
        return fail(failure, STATUS_BAD_INPUT, "--keep %.200s: the data have no column '%.100s'", name, column_name);
    const int value = example_column_find(column, colon + 1);
    if (value < 0)
        return fail(failure, STATUS_BAD_INPUT, "--keep %.200s: no example has the value '%.100s' in column '%.100s'",
                    name, colon + 1, column_name);
    return keep(set, &(part){column->of, value, name}, fraction, seed, failure);
}

status_code labelled_images_keep_named(labelled_images *set, const char *name, double fraction, uint64_t seed,
                                       failure *failure) {
    char *end;
    const char *colon = strchr(name, ':');
    if (colon) return keep_group(set, name, colon, fraction, seed, failure);
    for (int k = 0; set->class_names && k < set->classes; k++)
        if (strcmp(set->class_names[k], name) == 0) return labelled_images_keep(set, k, fraction, seed, failure);
    const long number = strtol(name, &end, 10);
    if (end != name && !*end && number >= 0 && number <= LABELLED_IMAGES_CLASSES_MAX)
        return labelled_images_keep(set, (int)number, fraction, seed, failure);
    return fail(failure, STATUS_BAD_INPUT,
                "--keep %.200s: there is no such class; name a class, its number, or a group as COLUMN:VALUE", name);
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
    /* Picture files have sums of their own, so that it does not matter whether their pixels are in memory. */
    for (int64_t i = 0; set->sums && i < set->count; i++) add_number(&crc, set->sums[i].crc);
    if (set->values) crc64_add(&crc, set->values, (size_t)set->count * (size_t)set->channels * sizeof *set->values);
    if (set->pixels && !set->sums) crc64_add(&crc, set->pixels, (size_t)set->count * labelled_images_stride(set));
    return crc64_value(&crc);
}
