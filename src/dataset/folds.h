/*
 * The folds of a dataset: which cases are trained on and which are validated on.
 *
 * DATASET/splits_final.json decides if it is there. Else the folds are made (dataset/splits.h) and kept in
 * CACHE/splits_final.json: by columns of the dataset's groups.csv if any are named, of whole patients if it has a
 * column of them, or else as nnU-Net's.
 */
#ifndef HWS_DATASET_FOLDS_H
#define HWS_DATASET_FOLDS_H

#include "core/listener.h"
#include "core/path.h"
#include "dataset/dataset.h"
#include "dataset/splits.h"

/* Columns of groups.csv; "" for none. */
typedef struct fold_columns {
    const char *stratify; /* whose groups every fold has the same share of */
    const char *together; /* whose groups stay in one fold each, e.g. the patient */
} fold_columns;

/*
 * Five folds by columns, to be kept in a cache for runs that name none: what hws plan does. Refused when
 * DATASET/splits_final.json is there, since that would decide all the same.
 */
status_code folds_make(splits *folds, const dataset *set, const fold_columns *columns, failure *failure);
status_code folds_keep(const splits *folds, const dataset *set, const char *cache, failure *failure);

/*
 * The folds of a run: made when columns are named; else those of DATASET/splits_final.json; else those kept in the
 * cache, which are made anew when the dataset has other cases than they: the listener is told.
 */
status_code folds_open(splits *folds, const dataset *set, const fold_columns *columns, const char *cache,
                       const listener *listener, failure *failure);

/* The file that the folds of a run without columns are in: the dataset's own, or else that of the cache. */
status_code folds_path(char path[PATH_SIZE], const dataset *set, const char *cache, failure *failure);

/* Whether DATASET/splits_final.json can be trained with, if it is there; all that is wrong with it is told. */
status_code folds_check(const dataset *set, failure *failure);

/*
 * Tells the listener of patients with cases in both parts of a fold, and how other folds are made. groups.csv says
 * whose each case is; without a column of patients the names of the cases may suggest it (patient001_ED,
 * patient001_ES). Columns and cache are those that the folds were opened with.
 */
void folds_tell_torn(const splits *folds, const dataset *set, int fold, const fold_columns *columns, const char *cache,
                     const listener *listener);

#endif
