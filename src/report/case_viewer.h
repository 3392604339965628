/*
 * A case in three planes with a slider over the slices of each: the image as it is, the reference and the predictions
 * filled in one colour per label, and where each prediction is wrong.
 *
 * All slices of a plane lie below each other in one picture, of which the style sheet shows one. Overlays are
 * pictures of their own, so that the image is in the page once per plane. Without its script the page shows
 * the most telling slices.
 */
#ifndef HWS_REPORT_CASE_VIEWER_H
#define HWS_REPORT_CASE_VIEWER_H

#include "core/text.h"
#include "evaluate/case_volume.h"

typedef struct case_viewer {
    const case_volume *shown;
    const char *name;               /* of the case */
    const char *const *methods;     /* shown->methods names */
    const char *const *label_names; /* shown->label_count of them */
} case_viewer;

void case_viewer_write(text *page, const case_viewer *viewer);

/* What the colours of errors mean; those of labels are told with each case. */
void case_viewer_error_legend(text *page);

#endif
