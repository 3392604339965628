/* The worst cases of an evaluation, to be looked at: a list, and a picture of each. */
#ifndef HWS_EVALUATE_WORST_CASES_H
#define HWS_EVALUATE_WORST_CASES_H

#include "core/text.h"
#include "evaluate/scores.h"

enum { WORST_LISTED = 12 };

/* The mean Dice over the regions of a case, of those that have one; NaN: none has. */
double case_mean_dice(const scores *scores, size_t which);

/* The positions of at most `capacity` cases with the lowest mean Dice over their regions, the worst first, equal ones
   in their order; returns how many. Cases without any score are left out. */
size_t worst_cases(const scores *scores, size_t capacity, size_t *positions);

/*
 * Writes FOLDER/worst.csv (rank, example, dice, label, label_dice: the mean over the regions, and the worst of them)
 * and, if the scores name their images or `images` names the folder of CASE_0000.nii.gz (or .nii, or without _0000),
 * FOLDER/worst/CASE.png: three planes with image, reference, prediction and errors (case_sheet.h). Earlier pictures
 * are removed once the new ones and the list are there. A case whose image is not there or does not fit has no
 * picture; `notes` then tells why.
 */
status_code worst_write(const scores *scores, const char *images, const char *folder, text *notes, failure *failure);

#endif
