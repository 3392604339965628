/*
 * Files whose sform puts voxels further apart, or nearer, than their spacing (pixdim) says: one of the two is wrong.
 *
 * The spacing counts, as in nnU-Net's NibabelIO: images are resampled by it, and distances are measured with it.
 * Whoever reads many files collects doubts about them and tells the user once.
 */
#ifndef HWS_NIFTI_SPACING_DOUBTS_H
#define HWS_NIFTI_SPACING_DOUBTS_H

#include "core/listener.h"
#include "nifti/volume.h"

typedef struct spacing_doubts {
    size_t count;    /* of cases */
    char first[512]; /* the sentence about the first of them */
} spacing_doubts;

/* Whether the sform differs by more than 1 % along an axis of several voxels; `sentence` then
   begins with the case's name. */
int spacing_is_doubtful(const volume_grid *grid, const char *name, char *sentence, size_t capacity);

/* Looks at a case; `doubts`, which begins zeroed, may be NULL. */
void spacing_doubts_add(spacing_doubts *doubts, const volume_grid *grid, const char *name);

/* Gives the listener, who may be NULL, one notice, if there are any. */
void spacing_doubts_tell(const spacing_doubts *doubts, const listener *listener);

#endif
