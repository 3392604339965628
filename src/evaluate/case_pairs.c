#define _POSIX_C_SOURCE 200809L
#include "evaluate/case_pairs.h"

#include "core/array.h"
#include "core/json_writer.h"
#include "core/path.h"
#include "nifti/case_names.h"
#include "nifti/nifti.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the cases of two folders ---- */

static status_code list_folder(case_listing *listing, const char *folder, failure *failure) {
    const status_code status = case_listing_open(listing, folder, CASE_LABELS, failure);
    if (status != STATUS_OK) return status;
    if (listing->count == 0)
        return fail(failure, STATUS_BAD_INPUT, "%.500s has no .nii or .nii.gz files; name a folder of label maps",
                    folder);
    for (size_t k = 0; k < listing->count; k++)
        if (!json_is_text(listing->files[k].id))
            return fail(failure, STATUS_BAD_INPUT,
                        "%.500s: the name '%.200s' is not UTF-8, as summary.json must be; rename the file", folder,
                        listing->files[k].file);
    for (size_t k = 1; k < listing->count; k++)
        if (strcmp(listing->files[k - 1].id, listing->files[k].id) == 0)
            return fail(failure, STATUS_BAD_INPUT, "%.500s has the case %.300s twice, as .nii and as .nii.gz", folder,
                        listing->files[k].id);
    return STATUS_OK;
}

enum { NAMED_AT_MOST = 8 };

typedef struct unmatched {
    text names;
    size_t count;
} unmatched;

static void add_unmatched(unmatched *unmatched, const char *name) {
    if (unmatched->count++ < NAMED_AT_MOST)
        text_format(&unmatched->names, "%s%s", unmatched->count > 1 ? ", " : "", name);
}

static void tell_unmatched(const unmatched *unmatched, const char *lacking, text *out) {
    if (unmatched->count == 0) return;
    text_format(out, "%s%s lacks ", out->size ? "; " : "", lacking);
    text_add(out, text_string(&unmatched->names));
    if (unmatched->count > NAMED_AT_MOST) text_format(out, " and %zu more", unmatched->count - NAMED_AT_MOST);
}

/* Two folders, predictions first, and what only one of them has. */
typedef struct pairing {
    const char *folders[2];
    case_listing listings[2];
    unmatched only[2];
} pairing;

static status_code add_found(case_pairs *pairs, const pairing *pairing, size_t p, size_t r, failure *failure) {
    const case_listed *found[2] = {&pairing->listings[0].files[p], &pairing->listings[1].files[r]};
    char paths[2][PATH_SIZE];
    for (int k = 0; k < 2; k++) {
        const status_code status = path_join(paths[k], pairing->folders[k], found[k]->file, failure);
        if (status != STATUS_OK) return status;
    }
    return case_pairs_add(pairs, found[0]->id, paths[0], paths[1], NULL, failure);
}

/* Both listings are sorted: one walk pairs them. */
static status_code match(case_pairs *pairs, pairing *pairing, failure *failure) {
    const case_listing *predictions = &pairing->listings[0], *references = &pairing->listings[1];
    status_code status = STATUS_OK;
    for (size_t p = 0, r = 0; status == STATUS_OK && (p < predictions->count || r < references->count);) {
        const int order = p == predictions->count  ? 1
                          : r == references->count ? -1
                                                   : strcmp(predictions->files[p].id, references->files[r].id);
        if (order == 0) status = add_found(pairs, pairing, p, r, failure);
        else add_unmatched(&pairing->only[order > 0], order < 0 ? predictions->files[p].id : references->files[r].id);
        p += order <= 0;
        r += order >= 0;
    }
    return status;
}

static status_code judge(const case_pairs *pairs, const pairing *pairing, int common, text *left_out,
                         failure *failure) {
    text told = {0};
    tell_unmatched(&pairing->only[0], pairing->folders[1], &told);
    tell_unmatched(&pairing->only[1], pairing->folders[0], &told);
    status_code status = STATUS_OK;
    if (told.size > 0 && !common)
        status = fail(failure, STATUS_BAD_INPUT,
                      "%.800s; give the cases that both have with --common, or complete them", text_string(&told));
    else if (pairs->count == 0)
        status = fail(failure, STATUS_BAD_INPUT, "%.400s and %.400s have no case in common", pairing->folders[0],
                      pairing->folders[1]);
    else text_add(left_out, text_string(&told));
    text_close(&told);
    return status;
}

status_code case_pairs_open(case_pairs *pairs, const char *predictions, const char *references, int common,
                            text *left_out, failure *failure) {
    *pairs = (case_pairs){0};
    pairing pairing = {.folders = {predictions, references}};
    status_code status = list_folder(&pairing.listings[0], predictions, failure);
    if (status == STATUS_OK) status = list_folder(&pairing.listings[1], references, failure);
    if (status == STATUS_OK) status = match(pairs, &pairing, failure);
    if (status == STATUS_OK) status = judge(pairs, &pairing, common, left_out, failure);
    for (int k = 0; k < 2; k++) {
        case_listing_close(&pairing.listings[k]);
        text_close(&pairing.only[k].names);
    }
    return status;
}

status_code case_pairs_add(case_pairs *pairs, const char *name, const char *prediction, const char *reference,
                           const char *image, failure *failure) {
    case_pair *grown = array_grow(pairs->list, pairs->count, &pairs->capacity, sizeof *grown);
    if (!grown) return fail_memory(failure, "the list of cases");
    pairs->list = grown;
    case_pair *added = &pairs->list[pairs->count++];
    *added = (case_pair){strdup(name), strdup(prediction), strdup(reference), image ? strdup(image) : NULL};
    const int whole = added->name && added->prediction && added->reference && (added->image || !image);
    return whole ? STATUS_OK : fail_memory(failure, "the list of cases");
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const case_pair *)a)->name, ((const case_pair *)b)->name);
}

status_code case_pairs_sort(case_pairs *pairs, failure *failure) {
    if (pairs->count) qsort(pairs->list, pairs->count, sizeof *pairs->list, by_name);
    for (size_t k = 1; k < pairs->count; k++)
        if (strcmp(pairs->list[k].name, pairs->list[k - 1].name) == 0)
            return fail(failure, STATUS_BAD_INPUT,
                        "case %.200s is there twice, in %.300s and %.300s: name runs of different folds",
                        pairs->list[k].name, pairs->list[k - 1].prediction, pairs->list[k].prediction);
    return STATUS_OK;
}

void case_pairs_close(case_pairs *pairs) {
    for (size_t k = 0; k < pairs->count; k++) {
        free(pairs->list[k].name);
        free(pairs->list[k].prediction);
        free(pairs->list[k].reference);
        free(pairs->list[k].image);
    }
    free(pairs->list);
    *pairs = (case_pairs){0};
}

static status_code check_one(const case_pair *pair, spacing_doubts *doubts, failure *failure) {
    nifti_info prediction, reference;
    status_code status = nifti_inspect(pair->prediction, &prediction, failure);
    if (status == STATUS_OK) status = nifti_inspect(pair->reference, &reference, failure);
    if (status != STATUS_OK) return status;
    spacing_doubts_add(doubts, &reference.grid, pair->name);
    if (prediction.channels != 1 || reference.channels != 1)
        return fail(failure, STATUS_BAD_INPUT, "%s: a label map has one channel, not %d", pair->name,
                    prediction.channels > 1 ? prediction.channels : reference.channels);
    return volume_grid_check_same(&prediction.grid, &reference.grid, pair->name, failure);
}

status_code case_pairs_check(const case_pairs *pairs, spacing_doubts *doubts, failure *first) {
    status_code result = STATUS_OK;
    size_t more = 0;
    for (size_t k = 0; k < pairs->count; k++) {
        failure own;
        const status_code status = check_one(&pairs->list[k], doubts, result == STATUS_OK ? first : &own);
        if (result != STATUS_OK && status != STATUS_OK) more++;
        if (result == STATUS_OK) result = status;
    }
    const size_t length = first && result != STATUS_OK ? strlen(first->message) : 0;
    if (more > 0 && first)
        snprintf(first->message + length, sizeof first->message - length, " (and %zu more cases are wrong)", more);
    return result;
}
