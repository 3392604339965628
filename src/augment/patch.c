#include "augment/patch.h"

#include "augment/purposes.h"
#include "core/random.h"

#include <math.h>
#include <string.h>

#define LEFT_TO_CHANCE 0.67

int patch_is_forced(int slot, int batch) { return slot >= (int)rint(batch * LEFT_TO_CHANCE); }

/* ---- placing ---------------------------------------------------------------------------------------------------- */

typedef struct place_range {
    int low, high;
} place_range;

static place_range starts_of(int size, int patch) {
    const int missing = patch > size ? patch - size : 0, half = (missing + 1) / 2;
    return (place_range){.low = -half, .high = size - patch + half};
}

/* A stored voxel of a present class; 0 if there is none. */
static int choose_centre(const case_view *view, random_stream *stream, size_t *voxel) {
    uint64_t present = 0;
    for (int c = 1; c < view->classes; c++) present += view->first[c + 1] > view->first[c];
    if (present == 0) return 0;
    uint64_t left = random_below(stream, present);
    int class = 1;
    for (;; class ++)
        if (view->first[class + 1] > view->first[class] && left-- == 0) break;
    const uint64_t count = view->first[class + 1] - view->first[class];
    *voxel = view->places[view->first[class] + random_below(stream, count)];
    return 1;
}

void patch_place(const case_view *view, const int patch[3], const patch_key *key, int forced, int start[3]) {
    random_stream stream;
    random_start(&stream, key->seed, RANDOM_PATCH, key->iteration, key->slot);
    size_t voxel = 0;
    const int centred = forced && choose_centre(view, &stream, &voxel);
    const size_t w = (size_t)view->size[2], h = (size_t)view->size[1];
    const int centre[3] = {(int)(voxel / (w * h)), (int)(voxel / w % h), (int)(voxel % w)};
    for (int k = 0; k < 3; k++) {
        const place_range range = starts_of(view->size[k], patch[k]);
        const int wish = centred ? centre[k] - patch[k] / 2
                                 : range.low + (int)random_below(&stream, (uint64_t)(range.high - range.low) + 1);
        start[k] = wish < range.low ? range.low : wish > range.high ? range.high : wish;
    }
}

/* ---- cutting ---------------------------------------------------------------------------------------------------- */

typedef struct overlap {
    int first, last; /* in the box, last excluded; nothing if first >= last */
} overlap;

static overlap overlap_of(int size, int start, int box) {
    overlap overlap = {.first = start < 0 ? -start : 0, .last = size - start < box ? size - start : box};
    if (overlap.first > box) overlap.first = box;
    if (overlap.last < overlap.first) overlap.last = overlap.first;
    return overlap;
}

static size_t source_row(const int size[3], const int start[3], int z, int y) {
    return ((size_t)(start[0] + z) * (size_t)size[1] + (size_t)(start[1] + y)) * (size_t)size[2];
}

#define DEFINE_BOX_COPY(NAME, TYPE)                                                                                    \
    void NAME(const TYPE *from, const int size[3], const int start[3], const int box[3], TYPE outside, TYPE *to) {     \
        const overlap d = overlap_of(size[0], start[0], box[0]), h = overlap_of(size[1], start[1], box[1]);            \
        const overlap w = overlap_of(size[2], start[2], box[2]);                                                       \
        for (int z = 0; z < box[0]; z++)                                                                               \
            for (int y = 0; y < box[1]; y++, to += box[2]) {                                                           \
                const int inside = z >= d.first && z < d.last && y >= h.first && y < h.last;                           \
                const int first = inside ? w.first : box[2], last = inside ? w.last : box[2];                          \
                for (int x = 0; x < first; x++) to[x] = outside;                                                       \
                if (last > first)                                                                                      \
                    memcpy(to + first, from + source_row(size, start, z, y) + (size_t)(start[2] + first),              \
                           (size_t)(last - first) * sizeof *to);                                                       \
                for (int x = last; x < box[2]; x++) to[x] = outside;                                                   \
            }                                                                                                          \
    }

DEFINE_BOX_COPY(box_copy_image, float)
DEFINE_BOX_COPY(box_copy_labels, int16_t)
