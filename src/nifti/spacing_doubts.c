#include "nifti/spacing_doubts.h"

#include <math.h>
#include <stdio.h>

#define TOLERANCE 0.01

int spacing_is_doubtful(const volume_grid *grid, const char *name, char *sentence, size_t capacity) {
    double apart[3];
    int doubtful = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double spacing = grid->spacing[axis];
        apart[axis] = hypot(hypot(grid->affine[0][axis], grid->affine[1][axis]), grid->affine[2][axis]);
        doubtful |= grid->size[axis] > 1 && !(fabs(apart[axis] - spacing) <= TOLERANCE * spacing);
    }
    if (doubtful)
        snprintf(
            sentence, capacity,
            "%.200s: the sform puts voxels %.4g x %.4g x %.4g mm apart, the spacing (pixdim) is %.4g x %.4g x %.4g "
            "mm; the spacing counts",
            name, apart[0], apart[1], apart[2], grid->spacing[0], grid->spacing[1], grid->spacing[2]);
    return doubtful;
}

void spacing_doubts_add(spacing_doubts *doubts, const volume_grid *grid, const char *name) {
    char sentence[sizeof doubts->first];
    if (!doubts || !spacing_is_doubtful(grid, name, sentence, sizeof sentence)) return;
    if (doubts->count++ == 0) snprintf(doubts->first, sizeof doubts->first, "%s", sentence);
}

void spacing_doubts_tell(const spacing_doubts *doubts, const listener *listener) {
    char notice[sizeof doubts->first + 64], more[64] = "";
    if (!doubts->count) return;
    if (doubts->count > 1) snprintf(more, sizeof more, " (and %zu more cases)", doubts->count - 1);
    snprintf(notice, sizeof notice, "%s%s", doubts->first, more);
    listener_notice(listener, notice);
}
