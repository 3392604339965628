/*
 * What a network's outputs stand for, and which values its label maps hold.
 *
 * Classes are numbered 0, the background, 1, 2, ... in the order of the values that label files have, which may
 * leave some out: values 0, 1, 2, 4 are the classes 0, 1, 2, 3. Usually the network has one output per class and a
 * voxel belongs to the class with the highest. With regions, which may overlap, it has one output per region
 * instead, each answering for itself whether a voxel lies in it; a label map is made by going through the regions
 * in their order, each writing its class where its probability is above one half, so that later ones win
 * (nnU-Net's regions_class_order).
 */
#ifndef HWS_PLAN_LABEL_SCHEME_H
#define HWS_PLAN_LABEL_SCHEME_H

#include <stddef.h>
#include <stdint.h>

enum { LABELS_MAX_CLASSES = 1000, LABELS_MAX_REGIONS = 15, LABELS_NAME_SIZE = 128 };

typedef struct label_region {
    char name[LABELS_NAME_SIZE];
    int16_t writes; /* the class that a label map gets where this region is, unless a later one is there, too */
} label_region;

typedef struct label_scheme {
    int classes;                         /* background included */
    int16_t values[LABELS_MAX_CLASSES];  /* of each class in label files, ascending; 0 is the background's */
    int regions;                         /* 0: classes exclude each other */
    uint16_t inside[LABELS_MAX_CLASSES]; /* bit r: the class is part of region r */
    label_region region[LABELS_MAX_REGIONS];
} label_scheme;

/* One output per class, whose values are 0, 1, 2, ... */
void label_scheme_plain(label_scheme *scheme, int classes);

/* Whether some values are left out. */
int label_scheme_has_gaps(const label_scheme *scheme);

/* The class of a value; -1 if there is none. */
int label_scheme_class(const label_scheme *scheme, int value);

/* How many outputs the network has. */
int label_scheme_outputs(const label_scheme *scheme);

/* How many of them an evaluation scores: all regions, or all classes but the background. */
int label_scheme_scored(const label_scheme *scheme);

int label_scheme_same(const label_scheme *a, const label_scheme *b);

/* The class of a voxel whose outputs are `scores`; of regions, those above the threshold are there: 0 for logits, one
   half for probabilities. The first of equal classes. */
int16_t label_scheme_decode(const label_scheme *scheme, const float *scores, float threshold);

/* Makes of classes what a loss of regions takes (nn/loss.h): the bits of the regions that hold each class. Negative
   ones stay. Nothing happens without regions. */
void label_scheme_targets(const label_scheme *scheme, int16_t *labels, size_t count);

/* Makes label values of classes. */
void label_scheme_to_values(const label_scheme *scheme, int16_t *labels, size_t count);

#endif
