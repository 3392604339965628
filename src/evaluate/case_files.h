/* Predictions and references in two folders, matched by name. */
#ifndef HWS_EVALUATE_CASE_FILES_H
#define HWS_EVALUATE_CASE_FILES_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>

typedef struct case_file {
    char *name, *prediction, *reference;
    char *image; /* of which pictures are made; NULL: not known */
} case_file;

typedef struct case_files {
    size_t count;
    case_file *list; /* by name */
} case_files;

/*
 * Finds the .nii and .nii.gz files of both folders. A case that only one of them has is STATUS_BAD_INPUT and named,
 * unless `common`: then it is left out and named in `left_out`. Close the list, also after a failure.
 */
status_code case_files_open(case_files *files, const char *predictions, const char *references, int common,
                            text *left_out, failure *failure);
void case_files_close(case_files *files);

/* Adds a case of files that lie anywhere, to a list that begins zeroed; names must come in ascending order. */
status_code case_files_add(case_files *files, const char *name, const char *prediction, const char *reference,
                           const char *image, failure *failure);

/* Reads all headers: STATUS_BAD_INPUT, with the case's name, unless both files of each case lie on the same grid. */
status_code case_files_check(const case_files *files, failure *failure);

#endif
