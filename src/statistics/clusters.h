/*
 * Examples that are drawn together when they are resampled: those of a patient, which are no independent witnesses.
 * Without patients, and where an example is nobody's, each is a cluster of its own.
 */
#ifndef HWS_STATISTICS_CLUSTERS_H
#define HWS_STATISTICS_CLUSTERS_H

#include "core/failure.h"

#include <stdint.h>

typedef struct clusters {
    int64_t count;
    int64_t *starts;  /* [count + 1] */
    int64_t *members; /* those of cluster k are members[starts[k]] to members[starts[k + 1] - 1]: positions from 0 on */
} clusters;

/* Of `count` examples of which position k is examples[k]; NULL: k itself. `patients` has a number for each
   example, -1: it is nobody's; NULL: all are. Clusters stand in the order of their first member. Close
   them, also after a failure. */
status_code clusters_open(clusters *clusters, const int *patients, const int64_t *examples, int64_t count,
                          failure *failure);
void clusters_close(clusters *clusters);

#endif
