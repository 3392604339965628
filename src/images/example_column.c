#define _POSIX_C_SOURCE 200809L
#include "images/example_column.h"

#include "core/patient_column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void words_free(char **words, size_t count) {
    for (size_t k = 0; words && k < count; k++) free(words[k]);
    free(words);
}

int word_is_in_spaces(const char *word, const char *spaced) {
    const char *first = spaced + strspn(spaced, " \t");
    const size_t length = strlen(word);
    return strncmp(first, word, length) == 0 && !first[length + strspn(first + length, " \t")];
}

char **words_copy(char *const *words, size_t count) {
    char **copies = calloc(count + 1, sizeof *copies);
    for (size_t k = 0; copies && k < count; k++)
        if (!(copies[k] = strdup(words[k]))) {
            words_free(copies, count);
            return NULL;
        }
    return copies;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static int is_number(const char *word) {
    char *end;
    const double number = strtod(word, &end);
    return end != word && !*end && isfinite(number);
}

/* Different words may be one number; then their bytes decide. */
static int by_number(const void *a, const void *b) {
    const double x = strtod(*(const char *const *)a, NULL), y = strtod(*(const char *const *)b, NULL);
    return x < y ? -1 : x > y ? 1 : by_bytes(a, b);
}

/* Sorts the words and leaves each once; returns how many are left. */
static size_t unique_words(const char **words, size_t count) {
    size_t kept = 0;
    qsort(words, count, sizeof *words, by_bytes);
    for (size_t k = 0; k < count; k++)
        if (!kept || strcmp(words[kept - 1], words[k]) != 0) words[kept++] = words[k];
    int numbers = 1;
    for (size_t k = 0; k < kept; k++) numbers = numbers && is_number(words[k]);
    if (numbers) qsort(words, kept, sizeof *words, by_number);
    return kept;
}

/* ------------------------------------------------------------------------------------------------------------------ */

typedef struct ranked_word {
    const char *word;
    int32_t rank;
} ranked_word;

static int by_word(const void *a, const void *b) {
    return strcmp(((const ranked_word *)a)->word, ((const ranked_word *)b)->word);
}

static int number_words(example_column *c, const char *const *words, size_t count) {
    const size_t values = (size_t)c->value_count;
    ranked_word *ranks = malloc((values + 1) * sizeof *ranks);
    for (size_t k = 0; ranks && k < values; k++) ranks[k] = (ranked_word){c->values[k], (int32_t)k};
    if (ranks) qsort(ranks, values, sizeof *ranks, by_word);
    for (size_t i = 0; ranks && i < count; i++) {
        const ranked_word wanted = {words[i], 0};
        const ranked_word *found = bsearch(&wanted, ranks, values, sizeof wanted, by_word);
        c->of[i] = found ? found->rank : -1;
    }
    free(ranks);
    return ranks != NULL;
}

static int list_values(example_column *c, const char *const *words, size_t count) {
    const char **some = malloc((count + 1) * sizeof *some);
    size_t used = 0;
    for (size_t i = 0; some && i < count; i++)
        if (*words[i]) some[used++] = words[i];
    if (some) used = unique_words(some, used);
    c->values = some ? words_copy((char *const *)(void *)some, used) : NULL;
    c->value_count = c->values ? (int)used : 0;
    free(some);
    return c->values != NULL;
}

status_code example_column_open(example_column *c, const char *name, const char *const *words, size_t count,
                                failure *failure) {
    *c = (example_column){.name = strdup(name), .of = malloc((count + 1) * sizeof *c->of)};
    if (c->name && c->of && list_values(c, words, count) && number_words(c, words, count)) return STATUS_OK;
    example_column_close(c);
    return fail_memory(failure, "a column of the data");
}

status_code example_column_choose(example_column *c, const example_column *from, const size_t *chosen, size_t count,
                                  failure *failure) {
    *c = (example_column){.name = strdup(from->name),
                          .of = malloc((count + 1) * sizeof *c->of),
                          .values = words_copy(from->values, (size_t)from->value_count)};
    c->value_count = c->values ? from->value_count : 0;
    for (size_t k = 0; c->of && k < count; k++) c->of[k] = from->of[chosen[k]];
    if (c->name && c->of && c->values) return STATUS_OK;
    example_column_close(c);
    return fail_memory(failure, "a column of the data");
}

void example_column_close(example_column *c) {
    words_free(c->values, (size_t)c->value_count);
    free(c->name);
    free(c->of);
    *c = (example_column){0};
}

static const char *name_of(const void *columns, size_t k) { return ((const example_column *)columns)[k].name; }

const example_column *example_column_patients(const example_column *columns, int count) {
    const long found = patient_column(columns, (size_t)count, name_of);
    return found < 0 ? NULL : &columns[found];
}

int example_column_find(const example_column *c, const char *value) {
    for (int k = 0; k < c->value_count; k++)
        if (strcmp(c->values[k], value) == 0) return k;
    return -1;
}
