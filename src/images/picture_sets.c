#define _POSIX_C_SOURCE 200809L
#include "images/picture_sets.h"

#include "core/available.h"
#include "core/crc64.h"
#include "core/memory.h"
#include "core/parallel.h"
#include "core/path.h"
#include "images/broken_pictures.h"
#include "picture/raster.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_SIDE = 224 };

typedef struct job {
    const example_list *list;
    const picture_options *options;
    const listener *listener;
    labelled_images *sets;
    raster_facts *facts; /* [count] */
    char **complaints;   /* [count]; NULL: the picture is all right */
    int64_t *places;     /* [count]; where an example is in the set of its part */
} job;

static int threads_of(const job *j) { return j->options->threads ? j->options->threads : parallel_processors(); }

/* ---- looking at all files ---------------------------------------------------------------------------------------- */

/* Kept, so that all broken files can be told of at once; nothing but a lack of memory ends the search. */
static status_code keep_complaint(job *j, size_t i, status_code status, const failure *why, failure *failure) {
    if (status == STATUS_OK) return STATUS_OK;
    if (status == STATUS_OUT_OF_MEMORY) return fail_memory(failure, "a picture");
    free(j->complaints[i]);
    j->complaints[i] = strdup(why->message);
    return j->complaints[i] ? STATUS_OK : fail_memory(failure, "the pictures");
}

static status_code look_at(void *context, size_t i, failure *failure) {
    job *j = context;
    char path[PATH_SIZE];
    struct failure why = {0};
    status_code status = labelled_images_path(path, j->list->folder, j->list->names[i], &why);
    if (status == STATUS_OK) status = raster_look_file(&j->facts[i], path, &why);
    return keep_complaint(j, i, status, &why, failure);
}

/* Those that are left out, if the options say so, leave something. */
static status_code refuse_broken(const job *j, failure *failure) {
    const size_t broken = broken_pictures_count(j->list, j->complaints);
    if (j->options->left_out && broken < j->list->count) return STATUS_OK;
    return broken_pictures_fail(j->list, j->complaints, "", j->listener, failure);
}

static status_code run_all(job *j, status_code (*run)(void *, size_t, failure *), const char *what, failure *failure) {
    const parallel_work work = {.run = run, .context = j, .listener = j->listener, .what = what};
    return parallel_run(&work, j->list->count, threads_of(j), failure);
}

/* For those that looked well while others did not: nothing is kept of them. */
static status_code try_to_decode(void *context, size_t i, failure *failure) {
    job *j = context;
    char path[PATH_SIZE];
    raster picture = {0};
    struct failure why = {0};
    if (j->complaints[i]) return STATUS_OK;
    status_code status = labelled_images_path(path, j->list->folder, j->list->names[i], &why);
    if (status == STATUS_OK) status = raster_read_greys(&picture, path, j->options->greys, NULL, &why);
    raster_close(&picture);
    return keep_complaint(j, i, status, &why, failure);
}

/* All kinds of damage are told at once, those that only decoding finds, too. */
static status_code look_at_all(job *j, failure *failure) {
    status_code status = run_all(j, look_at, "looking at pictures", failure);
    if (status != STATUS_OK || !broken_pictures_count(j->list, j->complaints)) return status;
    if (j->options->left_out) return refuse_broken(j, failure); /* decoding the others finds the rest */
    status = run_all(j, try_to_decode, "looking for more damage", failure);
    return status == STATUS_OK ? refuse_broken(j, failure) : status;
}

static void tell_of_animations(const job *j) {
    size_t animated = 0, first = 0;
    char notice[512];
    for (size_t i = j->list->count; i-- > 0;)
        if (j->facts[i].animated) animated++, first = i;
    if (!animated) return;
    snprintf(notice, sizeof notice, "%zu of the pictures %s, such as %.200s: the first picture is used", animated,
             animated == 1 ? "is an animation" : "are animations", j->list->names[first]);
    listener_notice(j->listener, notice);
}

/* Samples of 12 bits, say, fill a sixteenth of the range. To be called when all are decoded. */
static void tell_of_depth(const job *j) {
    size_t deep = 0;
    int least = 0, most = 0;
    char notice[512];
    for (size_t i = 0; i < j->list->count; i++) {
        const raster_facts *f = &j->facts[i];
        if (f->bits <= 8 || j->complaints[i]) continue;
        if (!deep++ || f->least < least) least = f->least;
        if (f->most > most) most = f->most;
    }
    if (!deep || j->options->greys.high) return;
    const int spread = least < most && 2 * (most - least) < RASTER_GREY_MOST;
    const int length = snprintf(notice, sizeof notice, "%zu of the pictures %s 16 bits and %s divided by 257, to 8",
                                deep, deep == 1 ? "has" : "have", deep == 1 ? "is" : "are");
    if (spread)
        snprintf(notice + length, sizeof notice - (size_t)length,
                 "; the values are %d to %d: hws train --greys %d,%d spreads them over all 8 bits", least, most, least,
                 most);
    listener_notice(j->listener, notice);
}

/* ---- the shape of the sets --------------------------------------------------------------------------------------- */

status_code picture_sets_check_trained(int height, int width, int channels, failure *failure) {
    if ((height > 1 || width > 1) && (channels == 1 || channels == 3)) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "the network was trained on a table or on something else that is no picture (%d x %d x %d numbers): it "
                "cannot classify pictures",
                height, width, channels);
}

/* Why they are resized, where nobody has asked for it. */
static void tell_of_size(const job *j, size_t other) {
    char notice[1024];
    const raster_facts *one = &j->facts[0], *two = &j->facts[other];
    if (other)
        snprintf(notice, sizeof notice,
                 "the pictures differ in size, such as %.200s with %d x %d and %.200s with %d x %d (height x width), "
                 "so all become %d x %d; --size chooses another",
                 j->list->names[0], one->height, one->width, j->list->names[other], two->height, two->width, USUAL_SIDE,
                 USUAL_SIDE);
    else
        snprintf(notice, sizeof notice, "the pictures are larger than %d pixels, so all become %d x %d; see --size",
                 LABELLED_IMAGES_SIDE_MAX, USUAL_SIDE, USUAL_SIDE);
    listener_notice(j->listener, notice);
}

static void tell_of_colour(const job *j, size_t coloured, size_t first) {
    char notice[512];
    snprintf(notice, sizeof notice,
             "%zu of %zu pictures are in colour, such as %.200s, so all are read as RGB; --colour grey reads them all "
             "as grey",
             coloured, j->list->count, j->list->names[first]);
    listener_notice(j->listener, notice);
}

static void choose_shape(const job *j, labelled_images_shape *shape) {
    const picture_options *o = j->options;
    const raster_facts *first = &j->facts[0];
    size_t other = 0, colour = 0, coloured = 0;
    for (size_t i = j->list->count; i-- > 0;) {
        if (j->facts[i].height != first->height || j->facts[i].width != first->width) other = i;
        if (j->facts[i].channels == 3) colour++, coloured = i;
    }
    const int same = !other && first->height <= LABELLED_IMAGES_SIDE_MAX && first->width <= LABELLED_IMAGES_SIDE_MAX;
    if (!o->height && !same) tell_of_size(j, other);
    if (!o->channels && colour && colour < j->list->count) tell_of_colour(j, colour, coloured);
    shape->height = o->height ? o->height : same ? first->height : USUAL_SIDE;
    shape->width = o->width ? o->width : same ? first->width : USUAL_SIDE;
    shape->channels = o->channels ? o->channels : colour ? 3 : 1;
    shape->classes = j->list->labels.value_count ? j->list->labels.value_count : o->classes;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

/* How they are to be read, and memory for them. */
static status_code prepare_pixels(job *j, failure *failure) {
    double wanted = 0;
    const double most =
        j->options->memory < 0 ? ranks_memory(ranks_here(), memory_available()) / 2 : j->options->memory;
    for (int p = 0; p < DATA_PARTS; p++)
        wanted += (double)j->sets[p].count * (double)labelled_images_stride(&j->sets[p]);
    const int fits = wanted <= most;
    for (int p = 0; p < DATA_PARTS; p++) {
        labelled_images *set = &j->sets[p];
        const size_t count = (size_t)set->count;
        if (!count) continue;
        set->greys = j->options->greys;
        set->sums = memory_open(count * sizeof *set->sums);
        set->pixels = fits ? memory_open(count * labelled_images_stride(set)) : NULL;
        if (!set->sums || (fits && !set->pixels)) return fail_memory(failure, "the pictures");
    }
    if (!fits)
        listener_notice(j->listener, "the pictures do not fit into memory: they are decoded again whenever they are "
                                     "wanted; more --loaders or a smaller --size help if training waits for them");
    return STATUS_OK;
}

static pixel_sums sums_of(const uint8_t *pixels, size_t count) {
    pixel_sums sums = {0};
    crc64 crc;
    crc64_start(&crc);
    crc64_add(&crc, pixels, count);
    sums.crc = crc64_value(&crc);
    for (size_t k = 0; k < count; k++) {
        sums.sum += pixels[k];
        sums.squares += (uint64_t)pixels[k] * pixels[k];
    }
    return sums;
}

static status_code decode_one(void *context, size_t i, failure *failure) {
    job *j = context;
    struct failure why = {0};
    labelled_images *set = &j->sets[j->list->parts[i]];
    const int64_t at = j->places[i];
    if (j->complaints[i]) return STATUS_OK;
    const size_t stride = labelled_images_stride(set);
    uint8_t *pixels = set->pixels ? set->pixels + (size_t)at * stride : memory_open(stride);
    if (!pixels) return fail_memory(failure, "a picture");
    const status_code status = labelled_images_decode(set, at, pixels, &j->facts[i], &why);
    if (status == STATUS_OK) set->sums[at] = sums_of(pixels, stride);
    if (!set->pixels) memory_close(pixels);
    return keep_complaint(j, i, status, &why, failure);
}

/* ---- duplicates -------------------------------------------------------------------------------------------------- */

typedef struct twin {
    uint64_t crc;
    size_t at; /* in the list */
} twin;

static int by_crc(const void *a, const void *b) {
    const twin *x = a, *y = b;
    if (x->crc != y->crc) return x->crc < y->crc ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Equal checksums of 64 bits are taken for equal pixels: by chance they are not once in 10^10 sets of 60,000. */
static void tell_of_twins(const job *j, const twin *twins, size_t count) {
    const example_list *l = j->list;
    size_t pairs = 0, across = 0, shown = 0;
    char notice[1024];
    for (size_t k = 1; k < count; k++) {
        if (twins[k].crc != twins[k - 1].crc) continue;
        const int apart = l->parts[twins[k].at] != l->parts[twins[k - 1].at];
        if (!pairs || (apart && !across)) shown = k;
        pairs++;
        across += (size_t)apart;
    }
    if (!pairs) return;
    snprintf(notice, sizeof notice, "%zu of the pictures %s the same as another, such as %.200s and %.200s%s", pairs,
             pairs == 1 ? "is" : "are", l->names[twins[shown - 1].at], l->names[twins[shown].at],
             across ? ", and some of them are both trained and tested on: remove them" : "");
    listener_notice(j->listener, notice);
}

static status_code find_twins(const job *j, failure *failure) {
    twin *twins = malloc((j->list->count + 1) * sizeof *twins);
    if (!twins) return fail_memory(failure, "the pictures");
    size_t count = 0;
    for (size_t i = 0; i < j->list->count; i++)
        if (!j->complaints[i]) twins[count++] = (twin){j->sets[j->list->parts[i]].sums[j->places[i]].crc, i};
    qsort(twins, count, sizeof *twins, by_crc);
    tell_of_twins(j, twins, count);
    free(twins);
    return STATUS_OK;
}

/* ------------------------------------------------------------------------------------------------------------------ */

static void number_places(job *j) {
    int64_t next[DATA_PARTS] = {0};
    for (size_t i = 0; i < j->list->count; i++) j->places[i] = next[j->list->parts[i]]++;
}

/* With what was to be said about them. */
static status_code leave_out_broken(job *j, failure *failure) {
    status_code status = STATUS_OK;
    for (int p = 0; p < DATA_PARTS && status == STATUS_OK; p++) {
        uint8_t *dropped = calloc((size_t)j->sets[p].count + 1, 1);
        if (!dropped) status = fail_memory(failure, "the pictures");
        for (size_t i = 0; dropped && i < j->list->count; i++)
            if (j->list->parts[i] == p) dropped[j->places[i]] = j->complaints[i] != NULL;
        if (dropped) labelled_images_leave_out(&j->sets[p], dropped);
        free(dropped);
    }
    if (status == STATUS_OK)
        broken_pictures_fail(j->list, j->complaints, "; the others are scored", j->listener, j->options->left_out);
    return status;
}

static status_code open_sets(job *j, failure *failure) {
    const size_t count = j->list->count;
    labelled_images_shape shape = {0};
    j->facts = calloc(count + 1, sizeof *j->facts);
    j->complaints = calloc(count + 1, sizeof *j->complaints);
    j->places = calloc(count + 1, sizeof *j->places);
    if (!j->facts || !j->complaints || !j->places) return fail_memory(failure, "the pictures");
    status_code status = look_at_all(j, failure);
    if (status != STATUS_OK) return status;
    tell_of_animations(j);
    choose_shape(j, &shape);
    number_places(j);
    status = picture_sets_describe(j->sets, j->list, &shape, failure);
    if (status == STATUS_OK) status = prepare_pixels(j, failure);
    if (status == STATUS_OK) status = run_all(j, decode_one, "reading pictures", failure);
    if (status == STATUS_OK) status = refuse_broken(j, failure);
    if (status == STATUS_OK) tell_of_depth(j);
    if (status == STATUS_OK) status = find_twins(j, failure);
    return status == STATUS_OK && j->options->left_out ? leave_out_broken(j, failure) : status;
}

static void close_all(labelled_images sets[DATA_PARTS]) {
    for (int p = 0; p < DATA_PARTS; p++) labelled_images_close(&sets[p]);
}

status_code picture_sets_open(labelled_images sets[DATA_PARTS], const example_list *list,
                              const picture_options *options, const listener *listener, failure *failure) {
    for (int p = 0; p < DATA_PARTS; p++) sets[p] = (labelled_images){0};
    job j = {.list = list, .options = options, .listener = listener, .sets = sets};
    const status_code status = open_sets(&j, failure);
    if (status != STATUS_OK) close_all(sets);
    words_free(j.complaints, list->count);
    free(j.facts);
    free(j.places);
    return status;
}
