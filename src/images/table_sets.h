/*
 * Tables as examples: a CSV file whose rows are classified by their columns, numbers and words.
 *
 * Every column is a feature but the label, `split`, the patients' (core/patient_column.h) and `id`. A column of numbers
 * (empty cells are missing) becomes (x - mean) / std with mean and standard deviation of the training rows, 0 where it
 * is missing. A column of words becomes a number for each word of the training rows, 1 where it is this one and else 0;
 * words that training did not see are 0 everywhere, and told. All columns can be groups, too. Rows are called by their
 * `id` if each has its own, else by their number.
 */
#ifndef HWS_IMAGES_TABLE_SETS_H
#define HWS_IMAGES_TABLE_SETS_H

#include "images/example_list.h"
#include "images/labelled_images.h"
#include "images/table_encoding.h"

enum { TABLE_WORDS_MAX = 256 }; /* in a column; more are a name or a number of a person rather than a feature */

/* Whether the file is a CSV table: it can be read as one and has no column of file names. A file that is called .csv
   and cannot be is a failure, whatever it was to be. */
status_code table_sets_is_table(const char *path, int *is, failure *failure);

typedef struct table_source {
    const char *path;
    const char *trained_on; /* the table whose training rows decide how columns become numbers; NULL: `path` itself */
    const char *encoding;   /* instead of that, what a run has kept (images/table_encoding.h); NULL: nothing */
} table_source;

/* The file as a table; spaces around its cells do not count. */
status_code table_sets_read(csv *table, const char *path, failure *failure);

/* As picture_sets_open. */
status_code table_sets_open(labelled_images sets[DATA_PARTS], const table_source *source,
                            const example_options *options, const listener *listener, failure *failure);

/* How the training rows of a table decide. Close the encoding, also after a failure. */
status_code table_sets_learn(table_encoding *encoding, const char *path, const example_options *options,
                             failure *failure);

#endif
