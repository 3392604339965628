/* Preprocessed cases in files, mapped into memory when they are read; docs/formats.md describes them. */
#ifndef HWS_CACHE_CASE_FILE_H
#define HWS_CACHE_CASE_FILE_H

#include "cache/case_view.h"
#include "preprocess/preprocess.h"

enum { CASE_FILE_PLACES = 10000, CASE_FILE_MAX_CLASSES = 1000 };

/* What decides whether a file is still good: the plan's preprocessing, and the files that the case was made from. */
typedef struct case_prints {
    uint64_t preprocessing, inputs;
} case_prints;

/* Stores the case with some voxels of every foreground class below `classes`, drawn by `seed`. Labels are needed. The
   file appears whole or not at all. */
status_code case_file_write(const char *path, const prepared_case *prepared, int classes, case_prints prints,
                            uint64_t seed, failure *failure);

typedef struct case_file {
    case_view view;
    case_geometry geometry;
    case_prints prints;
    void *map;
    size_t bytes;
} case_file;

typedef enum case_file_mode {
    CASE_FILE_TRUST, /* the header is checked, with the size of the file and the stored voxels */
    CASE_FILE_VERIFY /* and the sum of all bytes, which reads the whole file */
} case_file_mode;

/* The view is good until the file is closed; several threads may read it. Close it when STATUS_OK; otherwise it is zeroed. */
status_code case_file_open(case_file *file, const char *path, case_file_mode mode, failure *failure);
void case_file_close(case_file *file);

/* Only the prints; 0 if there is no such file or it is not sound as far as its header and size tell. */
int case_file_prints(const char *path, case_prints *prints);

#endif
