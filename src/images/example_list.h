/*
 * Which examples a folder or CSV file has, before any picture is opened: names, classes, parts and columns.
 *
 * A folder has a folder per class, DIR/CLASS/..., or those within DIR/train, DIR/val and DIR/test (also training,
 * valid, validation, testing). Pictures are the files that end in .png, .jpg or .jpeg, also in folders below; hidden
 * ones are left out, and so are the folders of runs. Or it has a labels.csv, and then that counts.
 *
 * A CSV file has a line per picture: `file` (also filename, image, path: absolute, or relative to the CSV file's
 * folder), `label`, optionally `split` (train, val, test, in any case) and any others, such as group or patient
 * (core/patient_column.h); behind the 256th those with more than 256 different values are left out, but for `patient`
 * and those with at most EXAMPLE_GROUPS_MAX values that come twice on average. Where the label stands in another
 * column, options.label names it. The case of these names does not matter.
 *
 * Data that do not say what to test on get a fifth of the examples of each class as their test part, always the same
 * ones, unless options.whole is set; a patient's stay together if a column says whose each is.
 */
#ifndef HWS_IMAGES_EXAMPLE_LIST_H
#define HWS_IMAGES_EXAMPLE_LIST_H

#include "core/csv.h"
#include "core/listener.h"
#include "images/example_column.h"

typedef enum data_part { PART_TRAIN, PART_VALIDATION, PART_TEST, DATA_PARTS } data_part;

typedef struct example_options {
    const char *label;              /* the column of classes; NULL or "": label */
    const char *const *class_names; /* classes to go by, those of a run; NULL: the data's own */
    int class_count;
    int whole; /* 1: data that do not say what to test on are all tested on, as they are not the run's own */
    /* Whether a folder below the one of pictures holds a run or its evaluation: its pictures are copies and no
       examples. NULL: none does. */
    int (*is_run)(const char *folder);
    int unlabelled; /* 1: for prediction: labels and parts are not asked for, all are PART_TEST */
} example_options;

typedef struct example_list {
    char *folder; /* what the names are relative to; NULL: the rows of a table */
    size_t count;
    char **names;  /* NULL: the rows of a table without a column `id` that tells them apart, called by their number */
    size_t *lines; /* of the CSV file, for messages; NULL: there is none */
    example_column labels; /* its values are the classes; not open without labels */
    uint8_t *parts;        /* data_part of each example */
    example_column *columns;
    int column_count;
} example_list;

/* Each is closed on failure; close it in any case. The listener, which may be NULL, gets notices. */
status_code example_list_of_folder(example_list *list, const char *folder, const example_options *options,
                                   const listener *listener, failure *failure);
status_code example_list_of_csv(example_list *list, const char *path, const example_options *options,
                                const listener *listener, failure *failure);
void example_list_close(example_list *list);

/* The same of the rows of a table that is read already: no files are named in it. `path` is what messages call it. */
status_code example_list_of_table(example_list *list, const csv *table, const char *path,
                                  const example_options *options, const listener *listener, failure *failure);

/* The position of the column with the files' names; -1: it is a table of numbers and words. */
long example_list_file_column(const csv *table);

/* The position of the column with the classes; -1: there is none. */
long example_list_label_column(const csv *table, const example_options *options);

/* Whether a file's name ends like a picture's. */
int example_list_is_picture(const char *name);

/* What the two readers share: checks classes, gives examples their parts where `given` says they have none, and tells
   of patients in two parts. */
status_code example_list_complete(example_list *list, const char *path, int given, const example_options *options,
                                  const listener *listener, failure *failure);

#endif
