/* The files of an evaluated classifier: examples.csv, classes.csv, strata.csv, confusion.csv, reliability.csv, roc.csv,
   operating_point.csv, patients.csv, worst.csv and its pictures. */
#ifndef HWS_EVALUATE_CLASS_FILES_H
#define HWS_EVALUATE_CLASS_FILES_H

#include "evaluate/evaluate_run.h"

typedef struct class_files {
    const char *out; /* the folder, which is made */
    const labelled_images *set;
    class_predictions predictions;
    const int *predicted; /* [example]: its most probable class */
    const double *losses; /* [example] */
    const class_results *scores;
    const example_column *patients; /* NULL: not known */
    double iterations;              /* how far the run is; -1: nobody knows */
    const char *gallery_column;     /* whose groups have pictures of their own, or NULL */
} class_files;

/* An operating_point.csv or patients.csv of before goes where there is none now. */
status_code class_files_write(const class_files *files, failure *failure);

#endif
