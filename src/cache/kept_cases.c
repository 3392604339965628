#include "cache/kept_cases.h"

#include <math.h>
#include <stdlib.h>

/* The rest is for preprocessing. Where nobody says how much there is, a gigabyte is modest. */
static const double SHARE = 0.25, UNKNOWN = 4e9;

status_code kept_cases_open(kept_cases *kept, size_t count, double available, failure *failure) {
    *kept = (kept_cases){.limit = (size_t)(SHARE * (isfinite(available) ? available : UNKNOWN))};
    kept->cases = calloc(count + 1, sizeof *kept->cases);
    if (!kept->cases) return fail_memory(failure, "the cache");
    kept->count = count;
    return STATUS_OK;
}

void kept_cases_close(kept_cases *kept) {
    for (size_t k = 0; k < kept->count; k++) {
        volume_close(&kept->cases[k].image);
        label_map_close(&kept->cases[k].labels);
    }
    free(kept->cases);
    *kept = (kept_cases){0};
}

void kept_cases_want(kept_cases *kept, const size_t *indices, size_t count) {
    for (size_t k = 0; k < count; k++) kept->cases[indices[k]].wanted = 1;
}

void kept_cases_want_all(kept_cases *kept) {
    for (size_t k = 0; k < kept->count; k++) kept->cases[k].wanted = 1;
}

static size_t bytes_of(const volume *image, const label_map *labels) {
    return volume_grid_voxels(&image->grid) * (size_t)image->channels * sizeof *image->voxels +
           volume_grid_voxels(&labels->grid) * sizeof *labels->labels;
}

void kept_cases_put(kept_cases *kept, size_t index, volume *image, label_map *labels) {
    kept_case *one = &kept->cases[index];
    if (!one->wanted) return;
    const size_t bytes = bytes_of(image, labels);
    if (atomic_fetch_add(&kept->used, bytes) + bytes > kept->limit) {
        atomic_fetch_sub(&kept->used, bytes);
        return;
    }
    one->image = *image;
    one->labels = *labels;
    *image = (volume){0};
    *labels = (label_map){0};
}

int kept_cases_take(kept_cases *kept, size_t index, volume *image, label_map *labels) {
    if (index >= kept->count || !kept->cases[index].image.voxels) return 0;
    *image = kept->cases[index].image;
    *labels = kept->cases[index].labels;
    kept->cases[index] = (kept_case){0};
    return 1;
}
