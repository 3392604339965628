/* A patient's volumes in both parts of a fold, as far as groups.csv or names tell. */
#include "dataset/folds.h"
#include "dataset/patients.h"

#include <string.h>

/* What is told, and how the folds were opened. */
typedef struct telling {
    const split *fold;
    const dataset *set;
    const fold_columns *columns;
    const char *cache;
    const listener *listener;
} telling;

/* That makes folds of whole patients and keeps them where the run looks. */
static void add_command(const telling *t, const char *column, text *words) {
    char usual[PATH_SIZE];
    text_format(words, "hws plan %s --keep-together %s", t->set->folder, column);
    const int known = path_join(usual, t->set->folder, "hws_cache", NULL) == STATUS_OK;
    if (known && strcmp(usual, t->cache) != 0) text_format(words, " --out %s", t->cache);
}

/* ---- by groups.csv ----------------------------------------------------------------------------------------------- */

static size_t count_torn(const split *fold, const patients *p) {
    size_t torn = 0;
    for (size_t k = 0; k < fold->val_count; k++) {
        int there = 0;
        for (size_t i = 0; i < fold->train_count && !there; i++)
            there = strcmp(p->of[fold->val[k]], p->of[fold->train[i]]) == 0;
        torn += (size_t)there;
    }
    return torn;
}

/* How to have folds of whole patients. */
static void add_remedy(const telling *t, const char *column, text *words) {
    char own[PATH_SIZE], path[PATH_SIZE];
    if (*t->columns->stratify || *t->columns->together) {
        text_format(words, "; --keep-together %s makes others", column);
        return;
    }
    if (folds_path(path, t->set, t->cache, NULL) != STATUS_OK || folds_path(own, t->set, "", NULL) != STATUS_OK) return;
    if (strcmp(path, own) == 0) text_format(words, ". %s has these folds. Without this file,", path);
    else text_format(words, ". The folds in %s were made earlier, without the column %s:", path, column);
    text_add(words, " ");
    add_command(t, column, words);
    text_add(words, " makes new ones");
}

static void tell_patients(const telling *t, const patients *p, const char *column) {
    text words = {0};
    const size_t torn = count_torn(t->fold, p);
    if (!torn) return;
    if (p->blocks < SPLITS_FOLDS)
        text_format(&words, "groups.csv names %zu patients, too few for %d folds of whole patients: ", p->named,
                    (int)SPLITS_FOLDS);
    text_format(&words,
                "%zu of %zu validation cases are of patients who are trained on, too, so that scores will flatter",
                torn, t->fold->val_count);
    if (p->blocks >= SPLITS_FOLDS) add_remedy(t, column, &words);
    listener_notice(t->listener, text_string(&words));
    text_close(&words);
}

/* Whether groups.csv knows the patients; then names do not matter. */
static int know_patients(const telling *t) {
    case_groups groups;
    patients p = {0};
    struct failure why;
    if (case_groups_of_dataset(&groups, t->set, &why) != STATUS_OK) return 0;
    const long column = case_groups_patients(&groups);
    const int known = column >= 0 && patients_open(&p, &groups, t->set, &why) == STATUS_OK;
    if (known) tell_patients(t, &p, csv_name(&groups.table, (size_t)column));
    patients_close(&p);
    case_groups_close(&groups);
    return known;
}

/* ---- by names ---------------------------------------------------------------------------------------------------- */

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

static void tell_namesakes(const telling *t) {
    const split *s = t->fold;
    const dataset *set = t->set;
    size_t torn = 0, validated = 0, trained = 0, kin = 0;
    for (size_t k = 0; k < s->val_count; k++) {
        const size_t there = count_kin(set, s->val[k], s->train, s->train_count, &kin);
        const size_t all = there + count_kin(set, s->val[k], s->val, s->val_count, &(size_t){0});
        if (!there || all > VOLUMES_MAX) continue;
        if (!torn++) validated = s->val[k], trained = kin;
    }
    if (4 * torn < s->val_count || !torn) return; /* a few names may be alike by chance */
    text words = {0};
    text_format(&words,
                "%s is trained on and %s validated on, and %zu of %zu validation cases have such a namesake. If these "
                "are of one patient, scores will flatter: name the patients in a column called patient of groups.csv, "
                "then ",
                set->ids[trained], set->ids[validated], torn, s->val_count);
    add_command(t, "patient", &words);
    text_add(&words, " makes folds of whole patients");
    listener_notice(t->listener, text_string(&words));
    text_close(&words);
}

void folds_tell_torn(const splits *folds, const dataset *set, int fold, const fold_columns *columns, const char *cache,
                     const listener *listener) {
    const telling t = {&folds->folds[fold], set, columns, cache, listener};
    if (!know_patients(&t)) tell_namesakes(&t);
}
