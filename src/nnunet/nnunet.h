/*
 * Models of nnU-Net v2, both ways: hws import nnunet and hws export nnunet as calls.
 *
 * A model folder of nnU-Net (nnUNet_results/DATASET/TRAINER__PLANS__CONFIGURATION) has plans.json,
 * dataset.json and for each fold fold_K/checkpoint_final.pth. A .pth is a pickle; it is read without executing
 * anything (torch_file/pickle.h).
 *
 * Served are PlainConvUNet with two convolutions per stage and ResidualEncoderUNet with one convolution per stage of
 * its decoder, in 3d_fullres, 3d_lowres and 2d, with labels or regions, any transposition of axes and any axes to
 * mirror. What would give other labels than nnU-Net's is refused by its name: cascades, networks with other layers,
 * other preprocessors and resampling.
 */
#ifndef HWS_NNUNET_NNUNET_H
#define HWS_NNUNET_NNUNET_H

#include "core/listener.h"
#include "core/path.h"
#include "run/run_folder.h"

enum { NNUNET_MAX_FOLDS = 64 };

typedef struct nnunet_import_request {
    const char *model;      /* nnU-Net's folder */
    const char *output;     /* a new folder; with several folds it gets a folder fold_K for each, and may be there */
    const char *folds;      /* "0,1,2" or "all"; NULL: every fold that has a checkpoint */
    const char *checkpoint; /* "final" or "best" */
} nnunet_import_request;

typedef struct nnunet_import_outcome {
    int count; /* of folds */
    char folders[NNUNET_MAX_FOLDS][PATH_SIZE];
} nnunet_import_outcome;

/* Makes runs that hws predict and libhws_predict take, with a plan, weights (best.safetensors) and the labels' names.
   What was made is removed again unless all folds can be imported. */
status_code nnunet_import(const nnunet_import_request *request, const listener *listener,
                          nnunet_import_outcome *outcome, failure *failure);

typedef struct nnunet_export_request {
    const char *const *runs; /* of one plan: fold_0, fold_1, ... in this order */
    int run_count;
    const char *output; /* a new folder */
    run_weights weights;
} nnunet_export_request;

/* Makes a model folder that nnUNetv2_predict_from_modelfolder takes, from version 2.1 on; also of use for
   nnUNetv2_train -pretrained_weights. Nothing stays behind where it fails or is stopped. */
status_code nnunet_export(const nnunet_export_request *request, const listener *listener, failure *failure);

#endif
