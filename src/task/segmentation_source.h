/*
 * Where a segmentation task gets its cases: a dataset folder, its plan and preprocessed cases, the cases of one fold.
 *
 * Folds are the dataset's own or are made (dataset/folds.h).
 */
#ifndef HWS_TASK_SEGMENTATION_SOURCE_H
#define HWS_TASK_SEGMENTATION_SOURCE_H

#include "cache/cache.h"
#include "task/segmentation.h"

typedef struct segmentation_source segmentation_source;

/*
 * Together with the other ranks (ranks/ranks.h), who preprocess and verify the cases with this one.
 *
 * settings: data (the folder), cache, fold (-1: train and validate on all cases), stratify, keep_together, group,
 * split_volumes, threads, loaders. The listener, as for cache_prepare, may be NULL.
 */
status_code segmentation_source_open(segmentation_source **opened, const train_settings *settings,
                                     const listener *listener, failure *failure);
void segmentation_source_close(segmentation_source **opened);

/* Valid until the source is closed. */
const segmentation_data *segmentation_source_data(const segmentation_source *source);

/* The run's fold, as the only one of a splits_final.json. Not for fold -1. */
status_code segmentation_source_write_fold(const segmentation_source *source, const char *path, failure *failure);

/* How many cases of the dataset are neither trained on nor validated on, and the first of them. */
size_t segmentation_source_unused(const segmentation_source *source, const char **first);

#endif
