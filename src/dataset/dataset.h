/*
 * Dataset folders of 3D images with label maps.
 *
 * nnU-Net v2's layout:
 *
 *     dataset.json       {"channel_names": {"0": "T2"}, "labels": {"background": 0, "ventricles": 1, ...},
 *                         "numTraining": 60, "file_ending": ".nii.gz"}
 *     imagesTr/CASE_0000.nii.gz   one file per channel: _0000, _0001, ...
 *     labelsTr/CASE.nii.gz
 *     imagesTs/, labelsTs/        the same for test cases, if there are any; their labels may be missing
 *
 * A label may be a region of several values, "whole tumour": [1, 2, 3]; the label called "ignore" marks voxels that
 * count for nothing. Values may have gaps (0, 1, 2, 4). Instead of files by their names, "dataset": {CASE: {"images":
 * [...], "label": ...}} may list them.
 *
 * The older layout of the Medical Segmentation Decathlon:
 *
 *     dataset.json       {"modality": {"0": "MRI"}, "labels": {"0": "background", "1": "ventricles", ...},
 *                         "training": [{"image": "./imagesTr/CASE.nii.gz", "label": "./labelsTr/CASE.nii.gz"}, ...],
 *                         "test": ["./imagesTs/CASE.nii.gz", ...]}
 *
 * with the channels inside of one 4D file, or, as nnU-Net v1 had it, in CASE_0000.nii.gz and so on.
 *
 * Three steps: dataset_open reads dataset.json and finds the files; dataset_check reads them all and names everything
 * that is wrong with them, so that training does not stop in the middle; dataset_load gives the voxels of one case.
 */
#ifndef HWS_DATASET_DATASET_H
#define HWS_DATASET_DATASET_H

#include "core/failure.h"
#include "core/listener.h"
#include "nifti/volume.h"

#include <stddef.h>
#include <stdint.h>

enum { DATASET_MAX_CHANNELS = 256, DATASET_MAX_LABELS = 1000 };

typedef enum dataset_layout { DATASET_NNUNET, DATASET_DECATHLON } dataset_layout;

typedef struct dataset_label {
    char *name;
    int count; /* 1, or more for a region */
    int16_t *values;
} dataset_label;

typedef struct dataset_case {
    char *id;
    int files; /* as many as channels, or 1 with all channels inside */
    char **images;
    char *labels; /* NULL: a test case without labels */
} dataset_case;

typedef struct dataset {
    char *folder, *name; /* the name from dataset.json, else that of the folder */
    dataset_layout layout;
    const char *file_ending; /* ".nii.gz" or ".nii"; for the Decathlon's layout the one of the first case */
    int channels;
    char **channel_names;
    int label_count; /* background and regions included, "ignore" left out */
    dataset_label *labels;
    int values;     /* how many label values there are, the background, 0, included; they are classes 0 to values - 1 */
    int16_t *value; /* of each class, ascending: 0, 1, 2, ..., or with some left out */
    int ignore;     /* the value that marks what counts for nothing, above all others; -1: there is none */
    int has_regions;      /* some label has several values */
    int order_count;      /* regions_class_order: the value to write for each label but the background; 0: not given */
    int16_t *class_order; /* of this many */
    long promised;        /* numTraining; -1: not given */
    size_t train_count, test_count;
    dataset_case *train, *test; /* sorted by id, by bytes */
    const char **ids;           /* of the training cases, as splits.h takes them */
} dataset;

/* Reads dataset.json and finds the files. Close the dataset when done; after a failure it is empty. */
status_code dataset_open(dataset *set, const char *folder, failure *failure);
void dataset_close(dataset *set);

/* The same without the cases, whose files need not be there: channels and labels, as dataset.json tells them. */
status_code dataset_open_description(dataset *set, const char *folder, failure *failure);

/* Whether both have labels and regions of the same names and values, and the same label to ignore. */
int dataset_same_labels(const dataset *a, const dataset *b);

/*
 * The voxels of a case: all channels in one volume, and the label map, whose grid is the image's and which has classes
 * (dataset.value) instead of values, and `values` where nothing counts. `labels` may be NULL
 * if they are not wanted; it is zeroed if the case has none. Everything that dataset_check would call a problem of
 * this case is a failure that begins with its name.
 */
status_code dataset_load(const dataset *set, const dataset_case *one, volume *image, label_map *labels,
                         failure *failure);

/* ---- checking --------------------------------------------------------------------------------------------------- */

typedef struct dataset_finding {
    const char *id; /* of the case, NULL: the dataset as a whole */
    int fatal;      /* 0: worth knowing, but allowed */
    char *sentence; /* begins with the id */
} dataset_finding;

typedef struct dataset_report {
    size_t count, problems; /* findings, and how many of them are fatal */
    dataset_finding *findings;
    volume_grid *grids; /* of the training cases' images; zeroed where the image could not be read */
} dataset_report;

typedef struct dataset_check_options {
    int threads;
    const listener *listener; /* may be NULL */
    /*
     * Gets the voxels of each training case that has no problem, as dataset_load gives them, so that nobody needs to
     * read them again; may be NULL. Called on any thread, in any order. What it wants to keep it takes out of *image
     * and *labels and zeroes; the rest is closed. A failure is one more problem of the case, except that
     * STATUS_STOPPED ends the check.
     */
    status_code (*take)(void *context, size_t index, volume *image, label_map *labels, failure *failure);
    void *context;
} dataset_check_options;

/*
 * Together with the other ranks (ranks/ranks.h): each reads some cases, which `take` gets there, and
 * all have the same report.
 *
 * Reads all files of all cases, training and test, each once. Problems: files that are missing or cannot be read, a
 * number of channels other than dataset.json's, a size or affine other than the label map's or the first image's,
 * voxels that are NaN or infinite, values that are no label, fewer or more cases than numTraining says. Allowed but
 * noted: label maps without any foreground, spacings that the sform contradicts (nifti/spacing_doubts.h), and whatever
 * is wrong with test cases, from which nothing is learnt. The report is the same for any number of threads.
 *
 * STATUS_OK if there are no problems, STATUS_CORRUPT if there are (the message tells how many, and the first); the
 * report is filled in both cases. Close it always.
 */
status_code dataset_check(const dataset *set, const dataset_check_options *options, dataset_report *report,
                          failure *failure);
void dataset_report_close(dataset_report *report);

#endif
