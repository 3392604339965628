#define _POSIX_C_SOURCE 200809L
#include "images/labelled_images.h"

#include "core/memory.h"
#include "core/random.h"
#include "images/example_units.h"
#include "images/purposes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a set like another ------------------------------------------------------------------------------------------ */

/* NULL for NULL; `good` becomes 0 without memory. */
static void *copy_block(const void *from, size_t bytes, int *good) {
    void *block = from ? memory_open(bytes) : NULL;
    if (block) memcpy(block, from, bytes);
    *good = *good && (block || !from);
    return block;
}

static char **copy_words(char *const *words, size_t count, int *good) {
    char **copied = words ? words_copy(words, count) : NULL;
    *good = *good && (copied || !words);
    return copied;
}

static status_code copy_columns(labelled_images *to, const labelled_images *from, failure *failure) {
    status_code status = STATUS_OK;
    size_t *all = malloc(((size_t)from->count + 1) * sizeof *all);
    to->columns = calloc((size_t)from->column_count + 1, sizeof *to->columns);
    if (!all || !to->columns) status = fail_memory(failure, "the validation part");
    for (size_t i = 0; status == STATUS_OK && i < (size_t)from->count; i++) all[i] = i;
    while (status == STATUS_OK && to->column_count < from->column_count) {
        const int k = to->column_count;
        status = example_column_choose(&to->columns[k], &from->columns[k], all, (size_t)from->count, failure);
        if (status == STATUS_OK) to->column_count++;
    }
    free(all);
    return status;
}

static status_code copy_set(labelled_images *to, const labelled_images *from, failure *failure) {
    const size_t count = (size_t)from->count, channels = (size_t)from->channels;
    int good = 1;
    *to = (labelled_images){.count = from->count,
                            .height = from->height,
                            .width = from->width,
                            .channels = from->channels,
                            .classes = from->classes,
                            .greys = from->greys};
    to->pixels = copy_block(from->pixels, count * labelled_images_stride(from), &good);
    to->labels = copy_block(from->labels, count, &good);
    to->origins = copy_block(from->origins, count * sizeof *from->origins, &good);
    to->values = copy_block(from->values, count * channels * sizeof *from->values, &good);
    to->sums = copy_block(from->sums, count * sizeof *from->sums, &good);
    to->names = copy_words(from->names, count, &good);
    to->class_names = copy_words(from->class_names, (size_t)from->classes, &good);
    to->folder = from->folder ? strdup(from->folder) : NULL;
    if (!good || (from->folder && !to->folder)) return fail_memory(failure, "the validation part");
    return copy_columns(to, from, failure);
}

/* ---- which examples ---------------------------------------------------------------------------------------------- */

static int64_t wanted_of(int64_t count, double share) {
    const int64_t nearest = (int64_t)floor((double)count * share + 0.5);
    if (count < 2) return 0;
    return nearest < 1 ? 1 : nearest < count ? nearest : count - 1;
}

/* Marks the chosen ones of a class: each in turn is chosen with the probability that the rest of the choice needs. */
static void mark_class(const labelled_images *set, int class_label, const share_off *share, uint8_t *chosen) {
    random_stream stream;
    int64_t left = labelled_images_count_class(set, class_label), wanted = wanted_of(left, share->share);
    random_start(&stream, share->seed, RANDOM_SPLIT_OFF, (uint64_t)class_label, 0);
    for (int64_t i = 0; i < set->count; i++) {
        if (set->labels[i] != class_label) continue;
        chosen[i] = (int64_t)random_below(&stream, (uint64_t)left) < wanted;
        wanted -= chosen[i];
        left--;
    }
}

/* The images of a patient stay together, as they do where the data are divided. */
static status_code mark_patients(const labelled_images *set, const example_column *patients, const share_off *share,
                                 uint8_t *chosen, failure *failure) {
    const size_t count = (size_t)set->count;
    int32_t *labels = malloc((count + 1) * sizeof *labels);
    if (!labels) return fail_memory(failure, "the validation part");
    for (size_t i = 0; i < count; i++) labels[i] = set->labels[i];
    const unit_choice choice = {.count = count,
                                .labels = labels,
                                .classes = set->classes,
                                .together = patients,
                                .share = share->share,
                                .at_least_one = 1,
                                .seed = share->seed,
                                .purpose = RANDOM_SPLIT_OFF};
    const status_code status = example_units_choose(&choice, chosen, failure);
    free(labels);
    return status;
}

static int64_t count_marks(const labelled_images *set, int class_label, const uint8_t *chosen) {
    int64_t count = 0;
    for (int64_t i = 0; i < set->count; i++) count += set->labels[i] == class_label && chosen[i];
    return count;
}

static void tell_of_class(const labelled_images *set, int class_label, const char *units, const listener *listener) {
    text notice = {0};
    text_add(&notice, "the class '");
    labelled_images_class_name(set, class_label, &notice);
    text_format(&notice, "' has too few %s for some to be validated on", units);
    if (!notice.failed) listener_notice(listener, text_string(&notice));
    text_close(&notice);
}

/* A patient of two classes may take all examples of one of them along. */
static status_code check_marks(const labelled_images *set, const uint8_t *chosen, const char *units, failure *failure) {
    int64_t moved = 0;
    for (int k = 0; k < set->classes; k++) {
        const int64_t marks = count_marks(set, k, chosen);
        if (marks && marks == labelled_images_count_class(set, k))
            return fail(failure, STATUS_BAD_INPUT,
                        "all examples of a class are of %s that would be validated on: mark what to validate on in "
                        "the column split instead",
                        units);
        moved += marks;
    }
    if (moved) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "no class has two %s, of which one could be validated on", units);
}

static status_code divide(labelled_images *set, uint8_t *chosen, labelled_images *part, failure *failure) {
    const status_code status = copy_set(part, set, failure);
    if (status != STATUS_OK) {
        labelled_images_close(part);
        return status;
    }
    const int64_t count = set->count;
    labelled_images_leave_out(set, chosen);
    for (int64_t i = 0; i < count; i++) chosen[i] = !chosen[i];
    labelled_images_leave_out(part, chosen);
    return STATUS_OK;
}

status_code labelled_images_split_off(labelled_images *set, const share_off *share, labelled_images *part,
                                      const listener *listener, failure *failure) {
    *part = (labelled_images){0};
    if (!set->labels || !(share->share > 0 && share->share < 1))
        return fail(failure, STATUS_BAD_INPUT, "a share of %g cannot be split off a set of images %s labels",
                    share->share, set->labels ? "with" : "without");
    uint8_t *chosen = calloc((size_t)set->count + 1, 1);
    if (!chosen) return fail_memory(failure, "the validation part");
    const example_column *patients = example_column_patients(set->columns, set->column_count);
    status_code status = patients ? mark_patients(set, patients, share, chosen, failure) : STATUS_OK;
    for (int k = 0; !patients && k < set->classes; k++) mark_class(set, k, share, chosen);
    const char *units = patients ? "patients" : "images";
    if (status == STATUS_OK) status = check_marks(set, chosen, units, failure);
    for (int k = 0; status == STATUS_OK && k < set->classes; k++)
        if (labelled_images_count_class(set, k) && !count_marks(set, k, chosen)) tell_of_class(set, k, units, listener);
    if (status == STATUS_OK) status = divide(set, chosen, part, failure);
    free(chosen);
    return status;
}
