/*
 * Distances between the surfaces of two regions.
 *
 * A region's surface are its voxels that have a face neighbour outside the region; outside the image is outside. The
 * distance of a surface voxel is that of its centre to the nearest centre of the other surface, in mm. From the
 * distances of both surfaces to each other:
 *
 *   HD95   the larger of the two 95th percentiles (linear interpolation, as numpy.percentile)
 *   ASSD   the mean over the voxels of both surfaces
 *   NSD    the share of the voxels of both surfaces that are no further than a tolerance from the other (normalised
 *          surface distance, also called surface Dice; each voxel counts the same)
 *
 * All are NaN if both regions are empty. If only one is, the distances are the image's diagonal and NSD is 0: the
 * region was missed or made up, which is the worst that can happen and must not vanish from a mean.
 */
#ifndef HWS_EVALUATE_DISTANCE_H
#define HWS_EVALUATE_DISTANCE_H

#include "core/failure.h"

#include <stdint.h>

typedef struct surface_distance {
    double hd95, assd, nsd;
} surface_distance;

/* Two masks of 0 and 1, x fastest, and the tolerance of NSD in mm. */
typedef struct mask_pair {
    const uint8_t *a, *b;
    const int *size;       /* of 3 */
    const double *spacing; /* of 3 */
    double tolerance;
} mask_pair;

status_code surface_distance_of(const mask_pair *pair, surface_distance *result, failure *failure);

/*
 * The exact Euclidean distance transform (Felzenszwalb and Huttenlocher 2012): the squared distance of each voxel to
 * the nearest one with mask != 0; infinite if there is none.
 */
status_code distance_transform(const uint8_t *mask, const int size[3], const double spacing[3], double *squared,
                               failure *failure);

#endif
