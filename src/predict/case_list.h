/*
 * The images of a folder, as cases: CASE_0000.nii.gz, CASE_0001.nii.gz and so on are the channels of one case, as in
 * nnU-Net's imagesTs. With a single channel CASE.nii.gz will do, and so will 4D files that hold all channels.
 */
#ifndef HWS_PREDICT_CASE_LIST_H
#define HWS_PREDICT_CASE_LIST_H

#include "nifti/spacing_doubts.h"
#include "nifti/volume.h"

typedef struct listed_case {
    char *id;
    const char *ending; /* ".nii" or ".nii.gz" */
    int files;          /* 1 or the number of channels */
    size_t capacity;
    char **paths;
} listed_case;

typedef struct case_list {
    size_t count, capacity;
    listed_case *cases; /* by id */
} case_list;

/* All images, or only the case that this file of the folder belongs to, unless it is NULL. Refused: a folder without
   images, a file that is not there, and cases with missing or surplus channels, by their names. For one channel
   CASE_2019 is a case of its own, but CASE_0001 beside CASE_0000 is a surplus channel. */
status_code case_list_open(case_list *list, const char *folder, const char *file, int channels, failure *failure);
void case_list_close(case_list *list);

/* One file with all channels, or one for each; refused if their grids differ or a voxel is NaN or infinite. */
status_code case_load(const char *const *paths, int files, volume *image, failure *failure);

/* What the headers of a case tell: STATUS_BAD_INPUT where it has another number of channels, or channels of different
   grids. A file that cannot be read is no failure here: case_list_load tells of it. `doubts` may be NULL. */
status_code case_list_check(const listed_case *one, int channels, spacing_doubts *doubts, failure *failure);

/* case_load of a case, which must have this number of channels. */
status_code case_list_load(const listed_case *one, int channels, volume *image, failure *failure);

#endif
