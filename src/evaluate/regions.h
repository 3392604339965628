/*
 * What is evaluated: a label, or a region made of several labels such as the whole tumour 1+2+3.
 *
 * nnU-Net's summary.json calls a label "1" and a region "(1, 2, 3)": its key.
 */
#ifndef HWS_EVALUATE_REGIONS_H
#define HWS_EVALUATE_REGIONS_H

#include "core/failure.h"

#include <stddef.h>
#include <stdint.h>

enum {
    REGION_MAX_LABELS = 1000, /* as many as a dataset may have */
    REGION_NAME_BYTES = 64,
    REGION_KEY_BYTES = 8 * REGION_MAX_LABELS + 8,
    REGIONS_MAX = 1000
};

typedef struct region {
    char name[REGION_NAME_BYTES];
    int count;
    int16_t labels[REGION_MAX_LABELS];
} region;

typedef struct region_list {
    size_t count, capacity;
    region *regions;
} region_list;

/* Each adds to a list, which begins zeroed, or fails and leaves it as it is. No two regions have the same labels or
   name. */
status_code regions_add_label(region_list *list, int label, failure *failure);
status_code regions_add_labels(region_list *list, const char *labels, failure *failure); /* "1,2,3" */
status_code regions_add_named(region_list *list, const char *regions, failure *failure); /* "WT=1+2+3,ET=3" */
status_code regions_add_key(region_list *list, const char *key, const char *name, failure *failure); /* "(1, 2)" */

/* Without a name of its own a region is called by its key, of which 63 bytes fit. */
void region_name_by_key(const region *region, char name[REGION_NAME_BYTES]);

/* Whether a region may be called so: tables separate columns by `|`, and lists of regions have `,`, `=` and `+`. */
int region_name_is_good(const char *name);

/* Whether one of them is called so. */
int regions_have_name(const region_list *list, const char *name);

void region_key(const region *region, char key[REGION_KEY_BYTES]);

/* The position of the region with the same labels, in whatever order, or -1. */
long regions_find(const region_list *list, const region *region);

status_code regions_copy(region_list *target, const region_list *source, failure *failure);
void regions_close(region_list *list);

#endif
