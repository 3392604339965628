#include "images/example_units.h"

#include "core/random.h"

#include <math.h>
#include <stdlib.h>

/* Units are put into the order of their keys, which are random. */
typedef struct unit {
    uint64_t key;
    int label;
    size_t number, size;
} unit;

static int by_key(const void *a, const void *b) {
    const unit *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static size_t unit_of(const unit_choice *c, size_t i) {
    const size_t own = c->together ? (size_t)c->together->value_count : 0;
    return c->together && c->together->of[i] >= 0 ? (size_t)c->together->of[i] : own + i;
}

static void count_units(const unit_choice *c, unit *units, size_t count) {
    random_stream stream;
    for (size_t k = 0; k < count; k++) {
        random_start(&stream, c->seed, c->purpose, k, 0);
        units[k] = (unit){.key = random_word(&stream), .number = k};
    }
    for (size_t i = c->count; i-- > 0;) { /* the first example is the last to say the class */
        unit *u = &units[unit_of(c, i)];
        u->label = c->labels[i];
        u->size++;
    }
}

/* Whole units, as long as they fit. */
static void choose_of_class(const unit_choice *c, const unit *units, size_t count, int label, uint8_t *chosen) {
    size_t all = 0, members = 0, taken = 0;
    const unit *least = NULL;
    for (size_t k = 0; k < count; k++) {
        if (units[k].label != label || !units[k].size) continue;
        all += units[k].size;
        members++;
        if (!least || units[k].size < least->size) least = &units[k];
    }
    const size_t nearest = (size_t)floor((double)all * c->share + 0.5),
                 most = nearest < all ? nearest : all - (all > 0);
    for (size_t k = 0; k < count; k++) {
        if (units[k].label != label || !units[k].size || taken + units[k].size > most) continue;
        chosen[units[k].number] = 1;
        taken += units[k].size;
    }
    if (c->at_least_one && !taken && members > 1) chosen[least->number] = 1;
}

status_code example_units_choose(const unit_choice *c, uint8_t *chosen, failure *failure) {
    const size_t count = c->count + (c->together ? (size_t)c->together->value_count : 0);
    unit *units = malloc((count + 1) * sizeof *units);
    uint8_t *whole = calloc(count + 1, 1);
    const int fits = units && whole;
    if (fits) {
        count_units(c, units, count);
        qsort(units, count, sizeof *units, by_key);
        for (int k = 0; k < c->classes; k++) choose_of_class(c, units, count, k, whole);
        for (size_t i = 0; i < c->count; i++) chosen[i] = whole[unit_of(c, i)];
    }
    free(units);
    free(whole);
    return fits ? STATUS_OK : fail_memory(failure, "the choice of examples");
}
