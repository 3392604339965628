/*
 * What hws predict does: it labels the images of a file or folder with trained networks.
 *
 * Networks that classify take a folder or CSV file of pictures (PNG, JPEG), or a table, and write a CSV file of
 * probabilities. Or they take an IDX file of images, or all files of a folder whose names hold "images", and write
 * the labels as IDX and, with the probabilities, as CSV. Networks that segment take a folder of NIfTI images, or one
 * of its files, and write a label map for each case; cases that are there already are left alone, so that
 * interrupted work goes on.
 *
 * Several runs are an ensemble: classifiers are averaged in their probabilities, segmenters as
 * predict_request.average says.
 */
#ifndef HWS_PREDICT_PREDICT_H
#define HWS_PREDICT_PREDICT_H

#include "core/listener.h"
#include "predict/segmenter.h"
#include "run/run_folder.h"

/* Progress of volumes is told in so many steps for each case, so that the time left can be estimated. */
enum { PREDICT_STEPS = 1000 };

typedef struct predict_request {
    const char *const *runs; /* all of one task; for volumes exported models, too (model_folder.h) */
    int run_count;
    const char *input, *output; /* must not be the same folder: labels would take the place of images */
    run_weights weights;
    int threads;
    /* For volumes. */
    int bf16, mirror, overwrite;
    double step;
    const char *postprocessing; /* a postprocessing.json or a folder with one, for the label maps; NULL: none */
    average_kind average;       /* segmenter.h */
    int save_probabilities;     /* 1: beside CASE.nii.gz also CASE.npz (probability_file.h) */
    /* For images that are classified. */
    const char *threshold; /* "CLASS=P" (class_threshold.h); NULL: what is most probable */
    /* Told the path of each file of labels, and how many of what it is about; may be NULL. */
    void (*wrote)(void *context, const char *path, size_t count, const char *what);
    void *context;
} predict_request;

typedef struct predict_outcome {
    int volumes; /* 1: label maps were made; 0: images were classified */
    /* Label maps that are in the output folder now, made or found there; or pictures, or files of images. */
    size_t done;
    size_t found; /* label maps among these that were there before and were left alone */
} predict_outcome;

/* Together with the other ranks (ranks/ranks.h), to whom the volumes are dealt; images are the first one's.
   STATUS_STOPPED when the listener says so: what was written stays, and is whole. Volumes with the wrong number of
   channels are refused before any is predicted. Where one of several, or of several pictures, cannot be read or holds
   NaN the others are predicted all the same, and STATUS_FAILED tells which it was and why. */
status_code predict(const predict_request *request, const listener *listener, predict_outcome *outcome,
                    failure *failure);

/* What it is made of. */
status_code predict_images(const predict_request *request, const listener *listener, size_t *done, failure *failure);
status_code predict_volumes(const predict_request *request, const listener *listener, predict_outcome *outcome,
                            failure *failure);

/* Refuses an output folder that holds the images, or is a folder of a dataset. */
status_code predict_check_apart(const char *images, const char *output, failure *failure);

#endif
