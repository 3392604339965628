/* A column of words, a word for each example: its class, group, patient... kept as numbers into a list of the words. */
#ifndef HWS_IMAGES_EXAMPLE_COLUMN_H
#define HWS_IMAGES_EXAMPLE_COLUMN_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

/* The most values that a column may have for its examples to be trained, scored and compared as groups. */
enum { EXAMPLE_GROUPS_MAX = 1000 };

typedef struct example_column {
    char *name;
    int value_count;
    char **values; /* without repetition, in order: numbers by their size if all are numbers, else by their bytes */
    int32_t *of;   /* for each example its value; -1: none */
} example_column;

/* From a word per example; an empty one is no value. On failure it is closed. */
status_code example_column_open(example_column *column, const char *name, const char *const *words, size_t count,
                                failure *failure);

/* The column of some of the examples: those with the indices `chosen`. It keeps all values. On failure it is closed. */
status_code example_column_choose(example_column *column, const example_column *from, const size_t *chosen,
                                  size_t count, failure *failure);

void example_column_close(example_column *column);

/* The one that says whose each example is (core/patient_column.h); NULL if there is none. */
const example_column *example_column_patients(const example_column *columns, int count);

/* The number of a value, or -1. */
int example_column_find(const example_column *column, const char *value);

/* Whether the second is the word with or without spaces around it, which earlier versions kept. */
int word_is_in_spaces(const char *word, const char *spaced);

/* Copies of words; NULL without memory. words_free accepts NULL. */
char **words_copy(char *const *words, size_t count);
void words_free(char **words, size_t count);

#endif
