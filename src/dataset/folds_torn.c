/* A patient's volumes in both parts of a fold, as far as names tell. */
#include "dataset/folds.h"

#include <stdio.h>
#include <string.h>

/* Volumes of a patient, at most; names that more cases share (hippocampus_001) are the dataset's. */
enum { VOLUMES_MAX = 4 };

/* Bytes before the last underscore or hyphen: "patient001" of patient001_ED. */
static size_t stem_size(const char *id) {
    size_t size = strlen(id);
    while (size > 0 && id[size - 1] != '_' && id[size - 1] != '-') size--;
    return size ? size - 1 : 0;
}

static int share_stem(const char *a, const char *b) {
    const size_t size = stem_size(a);
    return size && size == stem_size(b) && strncmp(a, b, size) == 0;
}

/* The first of some cases that has the stem of another one, and how many have. */
static size_t count_kin(const dataset *set, size_t one, const size_t *cases, size_t count, size_t *first) {
    size_t found = 0;
    for (size_t k = 0; k < count; k++)
        if (share_stem(set->ids[one], set->ids[cases[k]]) && !found++) *first = cases[k];
    return found;
}

void folds_tell_torn(const splits *folds, const dataset *set, int fold, const listener *listener) {
    const split *s = &folds->folds[fold];
    size_t torn = 0, validated = 0, trained = 0, kin = 0;
    for (size_t k = 0; k < s->val_count; k++) {
        const size_t there = count_kin(set, s->val[k], s->train, s->train_count, &kin);
        const size_t all = there + count_kin(set, s->val[k], s->val, s->val_count, &(size_t){0});
        if (!there || all > VOLUMES_MAX) continue;
        if (!torn++) validated = s->val[k], trained = kin;
    }
    if (4 * torn < s->val_count || !torn) return; /* a few names may be alike by chance */
    char notice[1024];
    snprintf(notice, sizeof notice,
             "%.200s is trained on and %.200s validated on, and %zu of %zu validation cases have such a namesake: if "
             "these are "
             "of one patient, scores will flatter; name the patients in a column of groups.csv and use --keep-together "
             "COLUMN",
             set->ids[trained], set->ids[validated], torn, s->val_count);
    listener_notice(listener, notice);
}
