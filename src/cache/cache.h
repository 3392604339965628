/*
 * The preprocessed training cases of a dataset, in a folder:
 *
 *     CACHE/plans.json            the plan, kept when it is there already
 *     CACHE/plans-MODEL.json      the same for a model other than the plain U-Net in 3D
 *     CACHE/cases/CASE.hwscase    one per training case, for all models
 *
 * cache_prepare makes the cases that are missing or out of date: whose image or label files have changed in size or
 * time, or that were made with another spacing or normalisation. Files appear whole or not at all, so that it may be
 * interrupted at any time and goes on from there. A cache in which nothing is missing need not be writable. A cache is
 * for one dataset: a folder that was named is refused if its plan has another dataset's name.
 */
#ifndef HWS_CACHE_CACHE_H
#define HWS_CACHE_CACHE_H

#include "cache/cached_case.h"
#include "dataset/dataset.h"
#include "plan/plan.h"

typedef struct cache_options {
    const char *folder; /* NULL: hws_cache in the dataset's folder */
    int threads;
    plan_model model;
    int verify;    /* read the cases that are there and compare their checksums, and make damaged ones anew */
    int replan;    /* make a new plan even if there is one */
    double memory; /* bytes that training may use, as for plan_request; ignored if there is a plan */
    const listener *listener; /* may be NULL; given notice of what the check finds */
} cache_options;

typedef struct cache_outcome {
    char *folder;             /* the caller frees it */
    char plan[32];            /* the name of the plan's file in it */
    int planned;              /* whether it was made now */
    int shrunk;               /* and its patch is smaller than nnU-Net's, for lack of memory */
    size_t prepared, current; /* cases made now, and those that were there */
} cache_outcome;

/*
 * Together with the other ranks (ranks/ranks.h), to whom the cases are dealt; the first one plans. All get the same.
 *
 * The dataset is checked first unless everything is there already. Planning looks at the cases while they are checked;
 * as far as memory suffices, no file is read twice. STATUS_OK only if all training cases are ready.
 */
status_code cache_prepare(const dataset *set, const cache_options *options, plan *plan, cache_outcome *outcome,
                          failure *failure);

/* Opens a case of a prepared cache. */
status_code cache_open_case(cached_case *one, const char *folder, const char *id, cached_case_mode mode,
                            failure *failure);

#endif
