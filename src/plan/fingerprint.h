/*
 * What a dataset looks like, as far as planning needs it: sizes after cropping, spacings, and the intensities of the
 * foreground.
 *
 *     fingerprint_open(&fingerprint, cases, channels, &failure);
 *     for every case, on any thread:  fingerprint_add(&fingerprint, index, &image, &labels, &failure);
 *     fingerprint_share(&fingerprint, &failure);
 *     fingerprint_finish(&fingerprint);
 */
#ifndef HWS_PLAN_FINGERPRINT_H
#define HWS_PLAN_FINGERPRINT_H

#include "nifti/volume.h"

/* Three numbers are depth, height, width. */
typedef struct fingerprint_case {
    int size[3]; /* after cropping to what is not zero */
    double spacing[3];
    double kept; /* share of the voxels that cropping keeps */
} fingerprint_case;

/* Of the foreground voxels of all cases, every case counting the same. */
typedef struct intensities {
    double mean, deviation, low, high; /* low and high: the percentiles 0.5 and 99.5 */
} intensities;

typedef struct fingerprint {
    size_t count;
    int channels;
    fingerprint_case *cases;
    intensities *intensities; /* one per channel, once finished */
    int samples_per_case;
    float *samples; /* [channel][case][sample], until finished */
    int *sampled;   /* per case: samples_per_case, or 0 for a case without foreground */
} fingerprint;

/* At least one case and one channel. Close it when STATUS_OK; otherwise it is zeroed. */
status_code fingerprint_open(fingerprint *fingerprint, size_t count, int channels, failure *failure);
void fingerprint_close(fingerprint *fingerprint);

/* Adds the case with this index; foreground is every label above 0. The samples follow from the index alone. */
status_code fingerprint_add(fingerprint *fingerprint, size_t index, const volume *image, const label_map *labels,
                            failure *failure);

/* Together: each rank has added the cases that ranks_run gave it; afterwards all have all. */
status_code fingerprint_share(fingerprint *fingerprint, failure *failure);

/* Computes the intensities: 0 without any foreground. */
void fingerprint_finish(fingerprint *fingerprint);

#endif
