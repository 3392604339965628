/*
 * The NIfTI files of a folder, and the cases that their names refer to.
 *
 * Label maps are called CASE.nii.gz or CASE.nii; images CASE_0000.nii.gz, CASE_0001.nii.gz and so on, one file for each
 * channel, as nnU-Net calls them.
 */
#ifndef HWS_NIFTI_CASE_NAMES_H
#define HWS_NIFTI_CASE_NAMES_H

#include "core/failure.h"

#include <stddef.h>

/* What four digits at the end of a name mean. */
typedef enum case_naming {
    CASE_LABELS,     /* nothing: they belong to the case's name */
    CASE_CHANNELS,   /* a channel */
    CASE_ONE_CHANNEL /* 0000 is a channel; others belong to the name, as in scan_2019.nii.gz */
} case_naming;

typedef struct case_name {
    size_t id_length;   /* the case's id is the file's name up to here */
    int channel;        /* -1: the name tells of none */
    const char *ending; /* ".nii" or ".nii.gz" */
} case_name;

/* The NIfTI ending of a name, behind at least one other character; NULL if it has none. */
const char *case_ending(const char *file);

/* Whether the name is that of a NIfTI file, and what it tells. Hidden files are ignored. */
int case_name_read(const char *file, case_naming naming, case_name *name);

typedef struct case_listed {
    char *file; /* its name in the folder */
    char *id;
    case_name name;
} case_listed;

typedef struct case_listing {
    size_t count;
    case_listed *files; /* by id, then channel, then name */
} case_listing;

/* The NIfTI files of a folder, of which there may be none. Close the listing when STATUS_OK; otherwise it is empty. */
status_code case_listing_open(case_listing *listing, const char *folder, case_naming naming, failure *failure);
void case_listing_close(case_listing *listing);

#endif
