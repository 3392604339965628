#define _POSIX_C_SOURCE 200809L
#include "predict/case_list.h"

#include "core/array.h"
#include "nifti/case_names.h"
#include "nifti/nifti.h"
#include "plan/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static listed_case *last_case(case_list *list) { return list->count ? &list->cases[list->count - 1] : 0; }

static listed_case *begin_case(case_list *list, const case_listed *file) {
    listed_case *grown = array_grow(list->cases, list->count, &list->capacity, sizeof *grown);
    if (!grown) return 0;
    list->cases = grown;
    listed_case *one = &grown[list->count];
    *one = (listed_case){.id = strdup(file->id), .ending = file->name.ending};
    list->count++;
    return one->id ? one : 0;
}

static int add_path(listed_case *one, const char *folder, const char *name) {
    char **grown = array_grow(one->paths, (size_t)one->files, &one->capacity, sizeof *grown);
    if (!grown) return 0;
    one->paths = grown;
    const size_t size = strlen(folder) + strlen(name) + 2;
    grown[one->files] = malloc(size);
    if (!grown[one->files]) return 0;
    snprintf(grown[one->files++], size, "%s/%s", folder, name);
    return 1;
}

/* Files come sorted, so that the channels of a case follow one another. */
static status_code add_file(case_list *list, const char *folder, const case_listed *file, failure *failure) {
    const int channel = file->name.channel;
    listed_case *one = last_case(list);
    if (!one || strcmp(one->id, file->id) != 0) one = begin_case(list, file);
    if (!one || !add_path(one, folder, file->file)) return fail_memory(failure, "the list of images");
    if (one->files > 1 && channel < one->files - 1)
        return fail(failure, STATUS_BAD_INPUT, "case %.200s is in %.300s twice, or under two endings", one->id, folder);
    if (channel >= 0 && channel != one->files - 1)
        return fail(failure, STATUS_BAD_INPUT, "%.300s: channel %04d of case %.200s is missing in %.300s", one->id,
                    one->files - 1, one->id, folder);
    return STATUS_OK;
}

/* The id of a file that is listed, NULL: of no file. */
static const char *id_of(const case_listing *listing, const char *file) {
    for (size_t k = 0; k < listing->count; k++)
        if (strcmp(listing->files[k].file, file) == 0) return listing->files[k].id;
    return 0;
}

static status_code add_files(case_list *list, const case_listing *listing, const char *folder, const char *file,
                             failure *failure) {
    const char *only = file ? id_of(listing, file) : 0;
    if (file && !only)
        return fail(failure, STATUS_CANNOT_READ, "%.300s/%.200s: there is no image (.nii or .nii.gz) of this name",
                    folder, file);
    status_code status = STATUS_OK;
    for (size_t k = 0; k < listing->count && status == STATUS_OK; k++)
        if (!only || strcmp(only, listing->files[k].id) == 0)
            status = add_file(list, folder, &listing->files[k], failure);
    return status;
}

static status_code check(const case_list *list, const char *folder, int channels, failure *failure) {
    if (!list->count)
        return fail(failure, STATUS_BAD_INPUT, "%.500s holds no image: .nii or .nii.gz files are looked for", folder);
    for (size_t k = 0; k < list->count; k++)
        if (list->cases[k].files != channels && list->cases[k].files != 1)
            return fail(failure, STATUS_BAD_INPUT,
                        "case %.300s has %d files in %.300s, but the network needs %d channels", list->cases[k].id,
                        list->cases[k].files, folder, channels);
    return STATUS_OK;
}

/* The channels that a case has, if the first one is among them; else 0. The files of a case follow one another. */
static int count_channels(const case_listing *listing, size_t first) {
    int channels = 0, has_first = 0;
    for (size_t k = first; k < listing->count && strcmp(listing->files[k].id, listing->files[first].id) == 0; k++) {
        const int channel = listing->files[k].name.channel;
        channels += channel >= 0 && channel < PLAN_MAX_CHANNELS;
        has_first |= channel == 0;
    }
    return has_first ? channels : 0;
}

/* For one channel CASE_0001 is a case of its own, as scan_2019 is, but not beside CASE_0000:
   they are channels of a CASE. */
static status_code check_one_channel(const char *folder, const char *file, failure *failure) {
    case_listing listing;
    status_code status = case_listing_open(&listing, folder, CASE_CHANNELS, failure);
    const char *only = file && status == STATUS_OK ? id_of(&listing, file) : 0;
    for (size_t k = 0; k < listing.count && status == STATUS_OK; k++) {
        const char *id = listing.files[k].id;
        if ((k > 0 && strcmp(id, listing.files[k - 1].id) == 0) || (only && strcmp(only, id) != 0)) continue;
        const int channels = count_channels(&listing, k);
        if (channels > 1)
            status = fail(failure, STATUS_BAD_INPUT,
                          "case %.300s has %d channels in %.300s (%.100s_0000 and so on), the network needs 1", id,
                          channels, folder, id);
    }
    case_listing_close(&listing);
    return status;
}

status_code case_list_open(case_list *list, const char *folder, const char *file, int channels, failure *failure) {
    *list = (case_list){0};
    case_listing listing;
    status_code status = channels == 1 ? check_one_channel(folder, file, failure) : STATUS_OK;
    if (status != STATUS_OK) return status;
    status = case_listing_open(&listing, folder, channels == 1 ? CASE_ONE_CHANNEL : CASE_CHANNELS, failure);
    if (status == STATUS_OK) status = add_files(list, &listing, folder, file, failure);
    case_listing_close(&listing);
    if (status == STATUS_OK) status = check(list, folder, channels, failure);
    if (status != STATUS_OK) case_list_close(list);
    return status;
}

void case_list_close(case_list *list) {
    for (size_t k = 0; k < list->count; k++) {
        for (int f = 0; f < list->cases[k].files; f++) free(list->cases[k].paths[f]);
        free(list->cases[k].paths);
        free(list->cases[k].id);
    }
    free(list->cases);
    *list = (case_list){0};
}

/* ---- what the headers tell --------------------------------------------------------------------------------------- */

static status_code fail_channels(const listed_case *one, int found, int channels, failure *failure) {
    return fail(failure, STATUS_BAD_INPUT, "%.500s holds %d channel%s, but the network needs %d", one->paths[0], found,
                found == 1 ? "" : "s", channels);
}

static status_code fail_several(const char *path, int channels, failure *failure) {
    return fail(failure, STATUS_BAD_INPUT, "%.500s holds %d channels instead of one", path, channels);
}

status_code case_list_check(const listed_case *one, int channels, spacing_doubts *doubts, failure *failure) {
    nifti_info first, other;
    if (nifti_inspect(one->paths[0], &first, NULL) != STATUS_OK) return STATUS_OK;
    spacing_doubts_add(doubts, &first.grid, one->id);
    if (one->files == 1 && first.channels != channels) return fail_channels(one, first.channels, channels, failure);
    status_code status = STATUS_OK;
    for (int k = 0; k < one->files && one->files > 1 && status == STATUS_OK; k++) {
        if (nifti_inspect(one->paths[k], &other, NULL) != STATUS_OK) return STATUS_OK;
        if (other.channels != 1) status = fail_several(one->paths[k], other.channels, failure);
        else status = volume_grid_check_same(&first.grid, &other.grid, one->paths[k], failure);
    }
    return status;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static status_code add_channel(const char *path, int channel, volume *image, failure *failure) {
    volume more;
    status_code status = nifti_read_volume(path, NIFTI_ALL_CHANNELS, &more, failure);
    if (status != STATUS_OK) return status;
    if (more.channels != 1) status = fail_several(path, more.channels, failure);
    if (status == STATUS_OK) status = volume_grid_check_same(&image->grid, &more.grid, path, failure);
    const size_t voxels = volume_grid_voxels(&image->grid);
    if (status == STATUS_OK) memcpy(image->voxels + (size_t)channel * voxels, more.voxels, voxels * sizeof(float));
    volume_close(&more);
    return status;
}

static status_code load_channels(const char *const *paths, int files, volume *image, failure *failure) {
    nifti_info info;
    status_code status = nifti_inspect(paths[0], &info, failure);
    if (status == STATUS_OK) status = volume_open(image, &info.grid, files, failure);
    for (int k = 0; k < files && status == STATUS_OK; k++) status = add_channel(paths[k], k, image, failure);
    return status;
}

status_code case_load(const char *const *paths, int files, volume *image, failure *failure) {
    *image = (volume){0};
    status_code status = files == 1 ? nifti_read_volume(paths[0], NIFTI_ALL_CHANNELS, image, failure)
                                    : load_channels(paths, files, image, failure);
    const size_t voxels = status == STATUS_OK ? (size_t)image->channels * volume_grid_voxels(&image->grid) : 0;
    for (size_t k = 0; k < voxels && status == STATUS_OK; k++)
        if (!isfinite(image->voxels[k]))
            status = fail(failure, STATUS_NOT_FINITE, "%.500s: voxel %zu is NaN or infinite", paths[0], k);
    if (status != STATUS_OK) volume_close(image);
    return status;
}

status_code case_list_load(const listed_case *one, int channels, volume *image, failure *failure) {
    status_code status = case_load((const char *const *)one->paths, one->files, image, failure);
    if (status == STATUS_OK && image->channels != channels) {
        status = fail_channels(one, image->channels, channels, failure);
        volume_close(image);
    }
    return status;
}
