/* Preprocessed cases in files, mapped into memory when they are read; docs/formats.md describes them. */
#ifndef HWS_CACHE_CACHED_CASE_H
#define HWS_CACHE_CACHED_CASE_H

#include "cache/case_view.h"
#include "core/mapped_file.h"
#include "preprocess/preprocess.h"

enum { CACHED_CASE_PLACES = 10000, CACHED_CASE_MAX_CLASSES = 1000 };

/* What decides whether a file is still good: the plan's preprocessing, and the files that the case was made from. */
typedef struct case_checksums {
    uint64_t preprocessing, inputs;
} case_checksums;

/* Stores the case with some voxels of every foreground class below `classes`, drawn by `seed`. Labels are needed. The
   file appears whole or not at all. */
status_code cached_case_write(const char *path, const prepared_case *prepared, int classes, case_checksums checksums,
                              uint64_t seed, failure *failure);

typedef struct cached_case {
    case_view view;
    case_geometry geometry;
    case_checksums checksums;
    uint64_t contents; /* a sum of the image, the labels and the stored voxels */
    mapped_file mapped;
} cached_case;

typedef enum cached_case_mode {
    CACHED_CASE_TRUST, /* the header is checked, with the size of the file and the stored voxels */
    CACHED_CASE_VERIFY /* and the sum of all bytes and the labels, which reads the whole file */
} cached_case_mode;

/* The view is good until the file is closed; several threads may read it. Close it when
   STATUS_OK; otherwise it is zeroed. */
status_code cached_case_open(cached_case *file, const char *path, cached_case_mode mode, failure *failure);
void cached_case_close(cached_case *file);

#endif
