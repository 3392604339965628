/*
 * Cubic B-spline coefficients: the prefilter that makes a spline pass through the samples.
 *
 * The samples go on forever with their first and last value, so that a spline can be looked at just beyond the ends.
 */
#ifndef HWS_PREPROCESS_SPLINE_H
#define HWS_PREPROCESS_SPLINE_H

enum {
    SPLINE_BLOCK = 16, /* lines filtered side by side */
    SPLINE_MARGIN = 2  /* coefficients in front of the first sample and behind the last */
};

/* Turns `count` samples of SPLINE_BLOCK lines into coefficients, in place. `lines` points at the first sample; the
   margin on both sides is memory of the caller's and gets the coefficients there. */
void spline_filter_lines(double (*lines)[SPLINE_BLOCK], int count);

/* The same along one axis of a volume (0: slowest), without a margin. */
void spline_filter_axis(float *voxels, const int size[3], int axis, double (*scratch)[SPLINE_BLOCK]);

#endif
