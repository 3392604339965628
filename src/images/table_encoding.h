/*
 * How the columns of a table become the numbers that a network sees, and the file that a run keeps it in.
 *
 * The file is a CSV with the columns column, word, mean, std. A column of numbers has one row, with mean and std; a
 * column of words a row for each of its words, in the order of their numbers.
 */
#ifndef HWS_IMAGES_TABLE_ENCODING_H
#define HWS_IMAGES_TABLE_ENCODING_H

#include "core/csv.h"
#include "core/listener.h"

typedef struct table_feature {
    char *name;
    int words; /* how many numbers for its words; 0: it is a number */
    char **values;
    double mean, std;
} table_feature;

typedef struct table_encoding {
    table_feature *features;
    int count, width; /* features, and numbers of a row */
} table_encoding;

void table_encoding_close(table_encoding *encoding);

/* Whether a cell says nothing: empty, ?, NA, nan, NaN, NULL or null. */
int table_cell_is_missing(const char *cell);

/* Fails if the table lacks a column. `path` is what messages call it. */
status_code table_encoding_check(const table_encoding *encoding, const csv *table, const char *path, failure *failure);

/* The `width` numbers of a row of a table that was checked. Refused: in a column of numbers what is neither a number
   nor missing, and a number that would become infinite. */
status_code table_encoding_row(const table_encoding *encoding, const csv *table, const char *path, size_t row,
                               float *numbers, failure *failure);

/* Says of each column in how many rows of a table that was checked it has words that training did not see. */
void table_encoding_tell_unseen(const table_encoding *encoding, const csv *table, const listener *listener);

/* The file. Reading is strict; close the encoding, also after a failure. */
void table_encoding_write(const table_encoding *encoding, text *out);
status_code table_encoding_read(table_encoding *encoding, const char *path, failure *failure);

#endif
