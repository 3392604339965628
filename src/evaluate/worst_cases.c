#define _POSIX_C_SOURCE 200809L
#include "evaluate/worst_cases.h"

#include "core/csv.h"
#include "evaluate/scoring.h"
#include "nifti/nifti.h"
#include "picture/outlines.h"
#include "run/run_folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- which ---- */

static double dice_of(const scores *scores, size_t which, size_t region) {
    return scores_at(scores, which, region)[METRIC_DICE];
}

double case_mean_dice(const scores *scores, size_t which) {
    double sum = 0;
    size_t count = 0;
    for (size_t region = 0; region < scores->regions.count; region++) {
        const double dice = dice_of(scores, which, region);
        if (isnan(dice)) continue;
        sum += dice;
        count++;
    }
    return count ? sum / (double)count : (double)NAN;
}

size_t worst_cases(const scores *scores, size_t capacity, size_t *positions) {
    size_t count = 0;
    for (size_t which = 0; which < scores->cases; which++) {
        const double dice = case_mean_dice(scores, which);
        size_t place = count;
        if (isnan(dice)) continue;
        while (place > 0 && case_mean_dice(scores, positions[place - 1]) > dice) place--;
        if (place == capacity) continue;
        if (count < capacity) count++;
        memmove(positions + place + 1, positions + place, (count - 1 - place) * sizeof *positions);
        positions[place] = which;
    }
    return count;
}

static size_t worst_region(const scores *scores, size_t which) {
    size_t worst = 0;
    for (size_t region = 1; region < scores->regions.count; region++) {
        const double dice = dice_of(scores, which, region), lowest = dice_of(scores, which, worst);
        if (dice < lowest || isnan(lowest)) worst = region;
    }
    return worst;
}

/* ---- pictures ---- */

typedef struct shown_case {
    volume image;
    label_map reference, prediction;
} shown_case;

/* The planes across one axis of a volume: where their rows and columns lie in it. */
typedef struct plane_axes {
    int axis, across, down; /* of 0, 1, 2 */
    size_t stride[3];
} plane_axes;

static plane_axes widest_axis(const volume_grid *grid) {
    int axis = 2;
    for (int k = 1; k >= 0; k--)
        if (grid->spacing[k] > 1.01 * grid->spacing[axis]) axis = k;
    return (plane_axes){.axis = axis,
                        .across = axis == 0 ? 1 : 0,
                        .down = axis == 2 ? 1 : 2,
                        .stride = {1, (size_t)grid->size[0], (size_t)grid->size[0] * (size_t)grid->size[1]}};
}

/* Rows run downwards on the screen and upwards in the patient. */
static size_t voxel_of(const plane_axes *axes, const volume_grid *grid, int plane, int row, int column) {
    return (size_t)plane * axes->stride[axes->axis] +
           (size_t)(grid->size[axes->down] - 1 - row) * axes->stride[axes->down] +
           (size_t)column * axes->stride[axes->across];
}

/* The plane with the most wrong voxels; if none is wrong, with the most voxels of the reference. */
static int telling_plane(const shown_case *shown, const plane_axes *axes) {
    const volume_grid *grid = &shown->reference.grid;
    size_t most[2] = {0, 0};
    int best[2] = {grid->size[axes->axis] / 2, grid->size[axes->axis] / 2};
    for (int plane = 0; plane < grid->size[axes->axis]; plane++) {
        size_t count[2] = {0, 0};
        for (int row = 0; row < grid->size[axes->down]; row++)
            for (int column = 0; column < grid->size[axes->across]; column++) {
                const size_t at = voxel_of(axes, grid, plane, row, column);
                count[0] += shown->reference.labels[at] != shown->prediction.labels[at];
                count[1] += shown->reference.labels[at] > 0;
            }
        for (int k = 0; k < 2; k++)
            if (count[k] > most[k]) {
                most[k] = count[k];
                best[k] = plane;
            }
    }
    return most[0] ? best[0] : best[1];
}

static status_code draw(const shown_case *shown, const char *path, failure *failure) {
    const volume_grid *grid = &shown->reference.grid;
    const plane_axes axes = widest_axis(grid);
    const int plane = telling_plane(shown, &axes), width = grid->size[axes.across], height = grid->size[axes.down];
    const size_t area = (size_t)width * (size_t)height;
    float *grey = malloc(area * sizeof *grey);
    int16_t *labels = malloc(2 * area * sizeof *labels);
    status_code status = grey && labels ? STATUS_OK : fail_memory(failure, "a picture");
    for (size_t k = 0; k < area && status == STATUS_OK; k++) {
        const size_t at = voxel_of(&axes, grid, plane, (int)(k / (size_t)width), (int)(k % (size_t)width));
        grey[k] = shown->image.voxels[at];
        labels[k] = shown->reference.labels[at];
        labels[area + k] = shown->prediction.labels[at];
    }
    if (status == STATUS_OK)
        status = outlined_plane_save(&(outlined_plane){width, height, grey, labels, labels + area}, path, failure);
    free(grey);
    free(labels);
    return status;
}

/* `folder` may be NULL. */
static int find_image(const char *folder, const char *name, char path[PATH_SIZE]) {
    static const char *const ENDINGS[] = {"_0000.nii.gz", "_0000.nii", ".nii.gz", ".nii"};
    for (size_t k = 0; folder && k < sizeof ENDINGS / sizeof *ENDINGS; k++)
        if (path_format(path, NULL, "%s/%s%s", folder, name, ENDINGS[k]) == STATUS_OK && path_exists(path)) return 1;
    return 0;
}

static status_code read_case(shown_case *shown, const scored_case *one, int ignored, const char *images,
                             failure *failure) {
    char found[PATH_SIZE];
    const char *path = one->image ? one->image : found;
    if (!one->image && !find_image(images, one->name, found))
        return fail(failure, STATUS_CANNOT_READ, "there is no image of %.200s in %.300s", one->name,
                    images ? images : "the dataset");
    status_code status = nifti_read_volume(path, 0, &shown->image, failure);
    if (status == STATUS_OK) status = nifti_read_labels(one->reference, &shown->reference, failure);
    if (status == STATUS_OK) status = nifti_read_labels(one->prediction, &shown->prediction, failure);
    for (int k = 0; k < 3 && status == STATUS_OK; k++)
        if (shown->image.grid.size[k] != shown->reference.grid.size[k] ||
            shown->prediction.grid.size[k] != shown->reference.grid.size[k])
            status = fail(failure, STATUS_BAD_INPUT, "%.300s is not of the size of its label map", path);
    if (status == STATUS_OK) label_maps_ignore(&shown->prediction, &shown->reference, ignored);
    return status;
}

/* A picture that cannot be made is told; one that cannot be written is a failure. */
static status_code show(const scores *scores, size_t which, const char *images, const char *folder, text *notes,
                        failure *failure) {
    const scored_case *one = &scores->list[which];
    shown_case shown = {0};
    char path[PATH_SIZE];
    struct failure why = {0};
    status_code status = read_case(&shown, one, scores->ignored, images, &why);
    if (status != STATUS_OK) {
        text_format(notes, "%sno picture: %s", notes->size ? "; " : "", why.message);
        status = STATUS_OK;
    } else {
        status = run_picture_path(path, folder, RUN_WORST_PICTURES, one->name, failure);
        if (status == STATUS_OK) status = draw(&shown, path, failure);
    }
    volume_close(&shown.image);
    label_map_close(&shown.reference);
    label_map_close(&shown.prediction);
    return status;
}

/* ---- files ---- */

static status_code write_list(const scores *scores, const size_t *worst, size_t count, const char *folder,
                              failure *failure) {
    text csv = {0};
    text_add(&csv, "rank,example,dice,label,label_dice\n");
    for (size_t k = 0; k < count; k++) {
        const size_t region = worst_region(scores, worst[k]);
        text_format(&csv, "%zu,", k + 1);
        csv_add_field(&csv, scores->list[worst[k]].name);
        text_format(&csv, ",%.9g,", case_mean_dice(scores, worst[k]));
        csv_add_field(&csv, scores->regions.regions[region].name);
        text_format(&csv, ",%.9g\n", dice_of(scores, worst[k], region));
    }
    const status_code status = run_write(folder, RUN_WORST, &csv, failure);
    text_close(&csv);
    return status;
}

/* Other files in the folder may be the user's. */
static void remove_pictures(const scores *scores, const char *folder) {
    char path[PATH_SIZE];
    for (size_t k = 0; k < scores->cases; k++)
        if (run_picture_path(path, folder, RUN_WORST_PICTURES, scores->list[k].name, NULL) == STATUS_OK) unlink(path);
}

static int has_images(const scores *scores) {
    for (size_t k = 0; k < scores->cases; k++)
        if (scores->list[k].image) return 1;
    return 0;
}

status_code worst_write(const scores *scores, const char *images, const char *folder, text *notes, failure *failure) {
    size_t worst[WORST_LISTED];
    char pictures[PATH_SIZE];
    const size_t count = worst_cases(scores, WORST_LISTED, worst);
    const int drawn = images || has_images(scores);
    status_code status = run_path(pictures, folder, RUN_WORST_PICTURES, failure);
    if (status != STATUS_OK) return status;
    remove_pictures(scores, folder);
    if (drawn) status = folder_make(pictures, failure);
    if (status == STATUS_OK) status = write_list(scores, worst, count, folder, failure);
    for (size_t k = 0; k < count && drawn && status == STATUS_OK; k++)
        status = show(scores, worst[k], images, folder, notes, failure);
    return status;
}
