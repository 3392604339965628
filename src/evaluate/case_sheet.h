/*
 * A case in one picture: a row per plane, each in its most telling slice, with the image as it is, the reference and
 * the prediction filled in one colour per label, and where the prediction is wrong; above them its name and scores,
 * below them what the colours mean. What the report shows with a slider, for a folder.
 */
#ifndef HWS_EVALUATE_CASE_SHEET_H
#define HWS_EVALUATE_CASE_SHEET_H

#include "evaluate/case_volume.h"
#include "evaluate/regions.h"

typedef struct case_sheet {
    const case_volume *shown; /* of one method */
    const char *name;
    const region_list *regions;
    const double *dice; /* of each region; NaN: not known */
} case_sheet;

/* The file appears whole or not at all. */
status_code case_sheet_save(const case_sheet *sheet, const char *path, failure *failure);

#endif
