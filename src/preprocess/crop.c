#include "preprocess/crop.h"

#include "core/memory.h"

#include <string.h>

enum { EMPTY = 0, FILLED = 1, REACHED = 2 };

void grid_size(const volume_grid *grid, int size[3]) {
    for (int k = 0; k < 3; k++) size[k] = grid->size[2 - k];
}

void grid_spacing(const volume_grid *grid, double spacing[3]) {
    for (int k = 0; k < 3; k++) spacing[k] = grid->spacing[2 - k];
}

/* ---- the mask --------------------------------------------------------------------------------------------------- */

static void mark_nonzero(const volume *image, uint8_t *mask) {
    const size_t voxels = volume_grid_voxels(&image->grid);
    memset(mask, EMPTY, voxels);
    for (int c = 0; c < image->channels; c++) {
        const float *channel = image->voxels + (size_t)c * voxels;
        for (size_t k = 0; k < voxels; k++) mask[k] |= channel[k] != 0;
    }
}

typedef struct flood {
    int size[3];
    uint8_t *mask;
    uint32_t *pending; /* every voxel enters at most once */
    size_t count;
} flood;

static void reach(flood *flood, size_t voxel) {
    if (flood->mask[voxel] != EMPTY) return;
    flood->mask[voxel] = REACHED;
    flood->pending[flood->count++] = (uint32_t)voxel;
}

static void reach_border(flood *flood) {
    const size_t d = (size_t)flood->size[0], h = (size_t)flood->size[1], w = (size_t)flood->size[2];
    for (size_t z = 0; z < d; z++)
        for (size_t y = 0; y < h; y++) {
            const size_t row = (z * h + y) * w;
            const int whole = z == 0 || z == d - 1 || y == 0 || y == h - 1;
            if (whole)
                for (size_t x = 0; x < w; x++) reach(flood, row + x);
            reach(flood, row);
            reach(flood, row + w - 1);
        }
}

static void reach_neighbours(flood *flood, size_t voxel) {
    const size_t w = (size_t)flood->size[2], slice = (size_t)flood->size[1] * w;
    const size_t x = voxel % w, y = voxel % slice / w, z = voxel / slice;
    if (x > 0) reach(flood, voxel - 1);
    if (x + 1 < w) reach(flood, voxel + 1);
    if (y > 0) reach(flood, voxel - w);
    if (y + 1 < (size_t)flood->size[1]) reach(flood, voxel + w);
    if (z > 0) reach(flood, voxel - slice);
    if (z + 1 < (size_t)flood->size[0]) reach(flood, voxel + slice);
}

/* What is empty and cannot be reached from the border, over faces, is a hole. */
static status_code fill_holes(const int size[3], uint8_t *mask, failure *failure) {
    const size_t voxels = (size_t)size[0] * (size_t)size[1] * (size_t)size[2];
    flood flood = {.size = {size[0], size[1], size[2]}, .mask = mask};
    flood.pending = memory_open(voxels * sizeof *flood.pending);
    if (!flood.pending) return fail_memory(failure, "filling holes");
    reach_border(&flood);
    while (flood.count > 0) reach_neighbours(&flood, flood.pending[--flood.count]);
    for (size_t k = 0; k < voxels; k++) mask[k] = mask[k] != REACHED;
    memory_close(flood.pending);
    return STATUS_OK;
}

/* ---- the box ---------------------------------------------------------------------------------------------------- */

static void include(int first[3], int last[3], const int place[3]) {
    for (int k = 0; k < 3; k++) {
        if (place[k] < first[k]) first[k] = place[k];
        if (place[k] > last[k]) last[k] = place[k];
    }
}

static crop_box box_of(const uint8_t *mask, const int size[3]) {
    int first[3] = {size[0], size[1], size[2]}, last[3] = {-1, -1, -1};
    for (int z = 0; z < size[0]; z++)
        for (int y = 0; y < size[1]; y++) {
            const uint8_t *row = mask + ((size_t)z * (size_t)size[1] + (size_t)y) * (size_t)size[2];
            const uint8_t *left = memchr(row, FILLED, (size_t)size[2]);
            if (!left) continue;
            int right = size[2] - 1;
            while (!row[right]) right--;
            include(first, last, (const int[3]){z, y, (int)(left - row)});
            include(first, last, (const int[3]){z, y, right});
        }
    crop_box box;
    for (int k = 0; k < 3; k++) {
        box.first[k] = last[k] < 0 ? 0 : first[k];
        box.size[k] = last[k] < 0 ? size[k] : last[k] - first[k] + 1;
    }
    return box;
}

status_code crop_open(crop *crop, const volume *image, failure *failure) {
    *crop = (struct crop){0};
    grid_size(&image->grid, crop->original);
    const size_t voxels = volume_grid_voxels(&image->grid);
    if (voxels > UINT32_MAX)
        return fail(failure, STATUS_BAD_INPUT, "an image of %d x %d x %d voxels is too large to preprocess",
                    image->grid.size[0], image->grid.size[1], image->grid.size[2]);
    crop->mask = memory_open(voxels);
    if (!crop->mask) return fail_memory(failure, "a mask");
    mark_nonzero(image, crop->mask);
    const status_code status = fill_holes(crop->original, crop->mask, failure);
    if (status != STATUS_OK) {
        crop_close(crop);
        return status;
    }
    crop->box = box_of(crop->mask, crop->original);
    return STATUS_OK;
}

void crop_close(crop *crop) {
    memory_close(crop->mask);
    *crop = (struct crop){0};
}

/* ---- copying ---------------------------------------------------------------------------------------------------- */

static size_t row_start(const int original[3], const crop_box *box, int z, int y) {
    return ((size_t)(box->first[0] + z) * (size_t)original[1] + (size_t)(box->first[1] + y)) * (size_t)original[2] +
           (size_t)box->first[2];
}

void crop_copy_out(const int original[3], const crop_box *box, size_t bytes, const void *from, void *to) {
    const size_t row = (size_t)box->size[2] * bytes;
    char *target = to;
    for (int z = 0; z < box->size[0]; z++)
        for (int y = 0; y < box->size[1]; y++, target += row)
            memcpy(target, (const char *)from + row_start(original, box, z, y) * bytes, row);
}

void crop_copy_in(const int original[3], const crop_box *box, size_t bytes, const void *from, void *to) {
    const size_t row = (size_t)box->size[2] * bytes;
    const char *source = from;
    for (int z = 0; z < box->size[0]; z++)
        for (int y = 0; y < box->size[1]; y++, source += row)
            memcpy((char *)to + row_start(original, box, z, y) * bytes, source, row);
}
