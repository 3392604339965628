/*
 * How a dataset is preprocessed and what network is trained on it, by nnU-Net v2's rules for 3d_fullres and 2d, for its
 * plain U-Net and for its U-Nets with residual encoders (its presets M and L).
 *
 * Three numbers are depth, height, width, depth being the slowest axis of the NIfTI files (their third). Unlike nnU-Net
 * no axis is moved to the front: strides and kernels are chosen per axis, so that its place does not matter. A network
 * for slices (2D) has patches of size 1 along the axis with the largest spacing.
 *
 * A plan is written to plans.json, which people may read and change; docs/formats.md describes it.
 */
#ifndef HWS_PLAN_PLAN_H
#define HWS_PLAN_PLAN_H

#include "plan/fingerprint.h"
#include "plan/label_scheme.h"
#include "plan/topology.h"
#include "preprocess/preprocess.h"

enum { PLAN_MAX_CHANNELS = 256, PLAN_NAME_SIZE = 128, PLAN_MAX_EDGE = 4096, PLAN_MAX_BATCH = 4096 };

typedef struct plan_channel {
    char name[PLAN_NAME_SIZE];
    channel_rule rule;
} plan_channel;

/* A network and the budget that its patch and batch are made for, by name: "unet", "resenc-m", "resenc-l", and with
   "-2d" behind it the same for slices. */
typedef struct plan_model {
    int residual; /* a residual encoder */
    int large;    /* nnU-Net's preset L, else M; of residual encoders */
    int slices;   /* in 2D */
} plan_model;

enum { PLAN_MODEL_SIZE = 16, PLAN_MODELS = 6 };
/* All of them, the plain U-Net in 3D first. */
plan_model plan_model_at(int index);
status_code plan_model_parse(const char *text, plan_model *model, failure *failure);
void plan_model_name(const plan_model *model, char name[PLAN_MODEL_SIZE]);

typedef struct plan {
    char dataset[PLAN_NAME_SIZE];
    plan_model model;
    int channels;
    int classes;         /* outputs of the network: one per class, background included, or one per region */
    label_scheme labels; /* what they stand for */
    plan_channel channel[PLAN_MAX_CHANNELS];
    double spacing[3];
    double median_size[3]; /* of the cases at that spacing, after cropping */
    int patch[3], batch;
    int bias;          /* 1: transposed convolutions and heads have biases, as nnU-Net has them since version 2 */
    int unmirrored[3]; /* 1: the axis is mirrored neither in training nor in prediction; left and right may differ */
    int unresampled
        [3]; /* 1: images keep their own spacing along the axis, as across the slices of nnU-Net's 2D networks */
    topology topology;
} plan;

/* Of what is available (core/available.h), the share that a plan is made for: the system needs memory, too, and
   plan_memory only estimates. */
#define MEMORY_SHARE_PLANNED 0.85

/* What a plan is made from. */
typedef struct plan_request {
    const char *dataset;
    const char *const *channel_names; /* as many as the fingerprint has channels */
    const label_scheme *labels;
    plan_model model; /* all 0: the plain U-Net in 3D */
    double memory;    /* bytes that training may use; the patch shrinks until it fits */
} plan_request;

/* Fails if even the smallest patch needs more memory. */
status_code plan_make(plan *plan, const plan_request *request, const fingerprint *fingerprint, failure *failure);

/* Bytes that training takes for the network, `samples` patches at once through it, and the loader's patches. Numbers
   are 4 bytes, or 2 for activations in bf16. An estimate: a tenth off is usual. */
double plan_memory(const plan *plan, int samples, int bf16);

/* STATUS_OUT_OF_MEMORY if training, one patch at a time, needs more than `available` bytes. Plans are made for less
   than all of them (MEMORY_SHARE_PLANNED): what was planned on a machine can be trained there. */
status_code plan_fits(const plan *plan, int bf16, double available, failure *failure);

/* What preprocess wants; `rules` has PLAN_MAX_CHANNELS places and lives as long. */
preprocessing plan_preprocessing(const plan *plan, channel_rule *rules, int threads);

/* Whether the plan says that it is for the dataset of this name. */
int plan_is_for(const plan *plan, const char *dataset);

/* Whether networks and preprocessing of two plans are the same. Names do not count: those of a dataset may change. */
int plan_agrees(const plan *a, const plan *b);

/* For networks that are to get the same images: STATUS_BAD_INPUT, with both names, unless the plans agree and call
   every channel the same. `alone` says what to do instead. */
status_code plan_check_ensemble(const plan *const plans[2], const char *const names[2], const char *alone,
                                failure *failure);

/* A number that changes with everything that changes preprocessed cases, and with nothing else. */
uint64_t plan_preprocessing_checksum(const plan *plan);

/* Whether plans.json can say it: STATUS_CORRUPT with the key that it would be refused for. `name`
   is what messages call it. */
status_code plan_check(const plan *plan, const char *name, failure *failure);

/* ---- plans.json ------------------------------------------------------------------------------------------------- */

status_code plan_write(const plan *plan, const char *path, failure *failure);

/* Strict: unknown, missing and doubled keys are refused, so are impossible numbers; the message names the key. */
status_code plan_read(plan *plan, const char *path, failure *failure);

/* The same from memory; `name` is what messages call it. */
status_code plan_parse(plan *plan, const char *name, const char *text, size_t size, failure *failure);

#endif
