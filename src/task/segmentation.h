/*
 * Volumes with label maps as a task: a U-Net by the plan, Dice and cross entropy with deep supervision as the loss of a
 * volume (of regions, where the plan has them, Dice and binary cross entropy), patches cut and augmented from it, and
 * Dice on patches of the validation cases at the end of an epoch.
 *
 * The loss that is remembered for a volume is that of its last patch, irrespective of place and augmentation (section
 * 4.2.1 of the paper). Volumes much larger than the patch can be divided into subvolumes, each with a loss of its own.
 */
#ifndef HWS_TASK_SEGMENTATION_H
#define HWS_TASK_SEGMENTATION_H

#include "augment/augment.h"
#include "cache/case_view.h"
#include "plan/plan.h"
#include "task/task.h"

typedef struct segmentation_case {
    const char *name;
    case_view view;
    int group; /* from 0 on; -1: none */
} segmentation_case;

typedef struct segmentation_data {
    const plan *plan;
    const char *const *label_names; /* of the network's outputs: the classes, the background first, or the regions */
    int ignore;                     /* the class that counts for nothing; -1: none */
    const segmentation_case *train, *validation;
    int64_t train_count, validation_count;
    int has_groups;
    uint64_t fingerprint;        /* of all cases, and of their groups */
    uint64_t former_fingerprint; /* the same as older versions made it */
    int fill_threads;            /* that may call `fill` at once */
} segmentation_data;

typedef struct segmentation segmentation;

/* Fills `task`. The data stay the caller's and must outlive it. */
status_code task_segmentation_open(task *task, segmentation **opened, const segmentation_data *data,
                                   const train_settings *settings, failure *failure);
/* The cases whose labels --mislabel made wrong, and how: example, label, given. */
void task_segmentation_list_wrong(const segmentation *segmentation, text *csv);
void task_segmentation_close(segmentation **opened);

#endif
