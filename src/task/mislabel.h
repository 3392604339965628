/*
 * Wrong labels for study (--mislabel): a share of the training examples, chosen by the seed, gets a
 * label that is not its own.
 *
 * An image gets one of the other classes, each as likely. A volume's label map loses all its labels, or has
 * them exchanged: each foreground class becomes the next one, the last the first. What is tested or
 * validated on stays right.
 */
#ifndef HWS_TASK_MISLABEL_H
#define HWS_TASK_MISLABEL_H

#include "core/text.h"
#include "images/labelled_images.h"

typedef enum mislabel_kind { MISLABEL_NOT, MISLABEL_MISSING, MISLABEL_EXCHANGED } mislabel_kind;

/* "missing" and "exchanged". */
const char *mislabel_kind_name(mislabel_kind kind);

/* Gives wrong labels to floor(fraction x count) images, and lists them: example, label, given. */
status_code mislabel_images(labelled_images *set, double fraction, uint64_t seed, text *csv, failure *failure);

/* What becomes of the label maps of `count` volumes; with one foreground class all that is chosen is missing. */
void mislabel_volumes(mislabel_kind *kinds, int64_t count, double fraction, uint64_t seed, int classes);

/* A voxel's label, of `classes` with the background; what is below 0 counts for nothing and stays. */
static inline int16_t mislabel_voxel(mislabel_kind kind, int16_t label, int classes) {
    if (kind == MISLABEL_NOT || label <= 0 || label >= classes) return label;
    return (int16_t)(kind == MISLABEL_MISSING ? 0 : label % (classes - 1) + 1);
}

#endif
