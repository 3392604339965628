/*
 * What a classifier said about each example, read back: the examples.csv that hws evaluate writes.
 *
 *     classified c;
 *     status = classified_open(&c, "scores/erm", &failure);    the file, or a folder that has one: an evaluation, a run
 *     classified_close(&c);
 */
#ifndef HWS_EVALUATE_CLASSIFIED_H
#define HWS_EVALUATE_CLASSIFIED_H

#include "core/csv.h"
#include "core/path.h"
#include "evaluate/class_scores.h"

typedef struct classified {
    char path[PATH_SIZE]; /* of the file */
    csv table;            /* example, label, prediction, loss, p_CLASS..., columns of groups */
    int64_t count;
    int classes;
    size_t first_group_column; /* of the table; those behind it are groups, too, whatever they are called */
    uint8_t *labels;           /* [count] */
    float *probabilities;      /* [count][classes] */
    double *losses;            /* [count] */
} classified;

/* Whether a name is one of these. */
int classified_is_there(const char *name);

/* Strict: every label is a class, every probability from 0 to 1. Close it, also after a failure. */
status_code classified_open(classified *classified, const char *name, failure *failure);
void classified_close(classified *classified);

const char *classified_example(const classified *classified, int64_t example);
const char *classified_class(const classified *classified, int class_label);
class_predictions classified_predictions(const classified *classified);

/*
 * The file has columns of its own: example, label, prediction, loss and p_CLASS. A column of the data that is called
 * like one of them has data_ before its name in the file, and so has one that is called data_example, so that all names
 * differ. This tells whether it is so; `class_names` may be NULL, and then classes are called by their numbers.
 */
#define CLASSIFIED_DATA "data_"
int classified_is_renamed(const char *column, char *const *class_names, int classes);

/* The name that a column of groups has in the data, and the position of one by this name; -1: there is none. */
const char *classified_group_name(const classified *classified, size_t column);
long classified_group_column(const classified *classified, const char *name);

/* The position of the column of patients, whose examples are resampled together
   (core/patient_column.h); -1: there is none. */
long classified_patient_column(const classified *classified);

/* Brings the examples into another order, or leaves some out: example k becomes the old from[k]. */
status_code classified_choose(classified *classified, const int64_t *from, int64_t count, failure *failure);

/* The values of a column of groups in natural order, without the empty one, and which of them each example has, -1:
   none. Values belong to the table; free both arrays. */
typedef struct classified_groups {
    const char **values;
    int count;
    int *of; /* [example] */
} classified_groups;

status_code classified_groups_of(const classified *classified, size_t column, classified_groups *groups,
                                 failure *failure);
void classified_groups_close(classified_groups *groups);

#endif
