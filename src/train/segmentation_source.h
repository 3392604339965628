/*
 * Where a segmentation task gets its cases: a dataset folder, its plan and preprocessed cases, the cases of one fold.
 *
 * Folds come from DATASET/splits_final.json or CACHE/splits_final.json, the first that is there; else they are made as
 * nnU-Net makes them (or stratified by a column of groups.csv) and written to the cache.
 */
#ifndef HWS_TRAIN_SEGMENTATION_SOURCE_H
#define HWS_TRAIN_SEGMENTATION_SOURCE_H

#include "plan/cache.h"
#include "train/task_segmentation.h"

typedef struct segmentation_source segmentation_source;

/*
 * settings: data (the folder), cache, fold (-1: train and validate on all cases), stratify, split_volumes, threads,
 * loaders. `listener` and `stop` as for cache_prepare; both may be NULL.
 */
hws_status segmentation_source_open(segmentation_source **opened, const train_settings *settings,
                                    const cache_listener *listener, volatile sig_atomic_t *stop, failure *failure);
void segmentation_source_close(segmentation_source **opened);

/* Valid until the source is closed. */
const segmentation_data *segmentation_source_data(const segmentation_source *source);

const dataset *segmentation_source_dataset(const segmentation_source *source);

/* The folder of the preprocessed cases. */
const char *segmentation_source_cache(const segmentation_source *source);

#endif
