#define _POSIX_C_SOURCE 200809L
#include "task/class_census.h"

#include "core/nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Few: so rare that nothing is learnt of them, and far rarer than the others. */
enum { FEW = 5, FAR_FEWER = 10, ALL_SHOWN = 12, ENDS_SHOWN = 4, NAMED = 5, MEANT_TOLD = 3, NAME_WIDTH = 40 };

typedef struct entry {
    int number;
    int64_t in[DATA_PARTS];
} entry;

typedef struct census {
    const labelled_images *train;
    int count, tallied[DATA_PARTS];
    entry classes[LABELLED_IMAGES_CLASSES_MAX]; /* the rarest first */
} census;

static int by_count(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->in[PART_TRAIN] != y->in[PART_TRAIN]) return x->in[PART_TRAIN] < y->in[PART_TRAIN] ? -1 : 1;
    return x->number - y->number;
}

static void take(census *c, const classification_data *data) {
    const labelled_images *sets[] = {&data->train, &data->validation, &data->test};
    *c = (census){.train = &data->train, .count = data->train.classes};
    for (int k = 0; k < c->count; k++) c->classes[k].number = k;
    for (int p = 0; p < DATA_PARTS; p++) {
        c->tallied[p] = sets[p]->count && sets[p]->labels;
        for (int64_t i = 0; c->tallied[p] && i < sets[p]->count; i++)
            if (sets[p]->labels[i] < c->count) c->classes[sets[p]->labels[i]].in[p]++;
    }
    qsort(c->classes, (size_t)c->count, sizeof *c->classes, by_count);
}

/* Its name, cut where it is long. */
static const char *name_of(const census *c, int k, char words[4 * NAME_WIDTH]) {
    text name = {0};
    labelled_images_class_name(c->train, c->classes[k].number, &name);
    snprintf(words, 4 * NAME_WIDTH, "%.*s", 4 * NAME_WIDTH - 1, text_string(&name));
    text_close(&name);
    return words;
}

/* ---- what is told and refused ------------------------------------------------------------------------------------ */

static int count_empty(const census *c) {
    int empty = 0;
    while (empty < c->count && !c->classes[empty].in[PART_TRAIN]) empty++;
    return empty;
}

static int is_few(const census *c, int k) {
    const int64_t own = c->classes[k].in[PART_TRAIN], usual = c->classes[c->count / 2].in[PART_TRAIN];
    return own > 0 && own < FEW && own * FAR_FEWER <= usual;
}

/* So many classes, from one on. */
static void add_names(const census *c, int from, int count, text *line) {
    char words[4 * NAME_WIDTH];
    for (int k = 0; k < count && k < NAMED; k++)
        text_format(line, "%s'%s'", k ? ", " : "", name_of(c, from + k, words));
    if (count > NAMED) text_add(line, " and others");
}

static void tell(text *line, const listener *listener) {
    if (!line->failed) listener_notice(listener, text_string(line));
    text_close(line);
}

static void tell_of_empty(const census *c, int empty, const listener *listener) {
    text line = {0};
    if (!empty) return;
    text_format(&line, "%d of %d classes %s no training example, so that nothing is learnt of %s: ", empty, c->count,
                empty == 1 ? "has" : "have", empty == 1 ? "it" : "them");
    add_names(c, 0, empty, &line);
    tell(&line, listener);
}

/* Names with digits are numbered rather than mistyped; those that differ by case only are told of elsewhere. */
static const char *meant_by(const census *c, int k) {
    char *const *names = c->train->class_names;
    const char *typed = names[c->classes[k].number];
    nearest n = nearest_start(typed);
    if (strlen(typed) < 4 || strpbrk(typed, "0123456789")) return NULL;
    for (int other = k + 1; other < c->count; other++) {
        const char *name = names[c->classes[other].number];
        if (!is_few(c, other) && strcasecmp(name, typed) != 0) nearest_consider(&n, name);
    }
    return n.apart <= (strlen(typed) < 8 ? 1 : 2) ? n.meant : NULL;
}

static void tell_of_few(const census *c, int first, const listener *listener) {
    text line = {0};
    int few = 0, told = 0;
    while (first + few < c->count && is_few(c, first + few)) few++;
    if (!few) return;
    text_format(&line, "%d of %d classes %s fewer than %d training examples, far fewer than the others: ", few,
                c->count, few == 1 ? "has" : "have", FEW);
    add_names(c, first, few, &line);
    for (int k = first; c->train->class_names && k < first + few && told < MEANT_TOLD; k++) {
        char words[4 * NAME_WIDTH];
        const char *meant = meant_by(c, k);
        if (meant) text_format(&line, "%s is '%s' meant to be '%s'?", told++ ? "" : ";", name_of(c, k, words), meant);
    }
    tell(&line, listener);
}

status_code class_census_check(const classification_data *data, const char *name, const listener *listener,
                               failure *failure) {
    census c;
    char words[4 * NAME_WIDTH];
    if (!data->train.labels || !data->train.count) return STATUS_OK; /* which others refuse */
    take(&c, data);
    const int empty = count_empty(&c);
    if (c.count - empty < 2)
        return fail(failure, STATUS_BAD_INPUT,
                    "%.500s: the training part has one class only, '%.100s'; there must be two or more to tell apart",
                    name, name_of(&c, c.count - 1, words));
    tell_of_empty(&c, empty, listener);
    tell_of_few(&c, empty, listener);
    return STATUS_OK;
}

/* ---- the line ---------------------------------------------------------------------------------------------------- */

static int by_number(const void *a, const void *b) { return ((const entry *)a)->number - ((const entry *)b)->number; }

/* "normal 96/12/24" */
static void add_counts(const census *c, int k, const char *before, text *line) {
    char words[4 * NAME_WIDTH];
    text_format(line, "%s%.*s ", before, NAME_WIDTH, name_of(c, k, words));
    for (int p = 0, any = 0; p < DATA_PARTS; p++)
        if (c->tallied[p]) text_format(line, "%s%lld", any++ ? "/" : "", (long long)c->classes[k].in[p]);
}

static void add_some(const census *c, int from, int end, text *line) {
    for (int k = from; k < end; k++) add_counts(c, k, k > from ? ", " : "", line);
}

void class_census_words(const classification_data *data, text *line) {
    census c;
    take(&c, data);
    text_format(line, "classes (training%s%s): ", c.tallied[PART_VALIDATION] ? ", validation" : "",
                c.tallied[PART_TEST] ? ", test" : "");
    if (c.count <= ALL_SHOWN) {
        qsort(c.classes, (size_t)c.count, sizeof *c.classes, by_number);
        add_some(&c, 0, c.count, line);
        return;
    }
    text_add(line, "the rarest are ");
    add_some(&c, 0, ENDS_SHOWN, line);
    text_add(line, "; the most frequent ");
    add_some(&c, c.count - ENDS_SHOWN, c.count, line);
}
