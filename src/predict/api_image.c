#include "predict/api_image.h"

#include "core/path.h"
#include "nifti/case_names.h"
#include "nifti/nifti.h"
#include "predict/case_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static hws_predict_status public_status(status_code status) {
    switch (status) {
    case STATUS_OK: return HWS_PREDICT_OK;
    case STATUS_BAD_INPUT: return HWS_PREDICT_ERROR_ARGUMENT;
    case STATUS_CORRUPT: return HWS_PREDICT_ERROR_CORRUPT;
    case STATUS_CANNOT_READ: return HWS_PREDICT_ERROR_READ;
    case STATUS_CANNOT_WRITE: return HWS_PREDICT_ERROR_WRITE;
    case STATUS_OUT_OF_MEMORY: return HWS_PREDICT_ERROR_MEMORY;
    case STATUS_NOT_FINITE: return HWS_PREDICT_ERROR_NOT_FINITE;
    case STATUS_STOPPED: return HWS_PREDICT_CANCELLED;
    case STATUS_FAILED: break;
    }
    return HWS_PREDICT_ERROR_FAILED;
}

hws_predict_status api_finish(status_code status, const failure *failure, hws_predict_error *error) {
    const hws_predict_status told = public_status(status);
    if (!error) return told;
    memset(error, 0, sizeof *error);
    error->status = told;
    if (status != STATUS_OK) snprintf(error->message, sizeof error->message, "%s", failure->message);
    return told;
}

status_code api_check_process(pid_t opened_by, int threads, failure *failure) {
    if (threads == 1 || getpid() == opened_by) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "the model was opened with %d threads before this process was forked, and threads do not survive that: "
                "fork first and open it in the child, or open it with one thread",
                threads);
}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

static int all_zero(const double *numbers, int count) {
    for (int k = 0; k < count; k++)
        if (numbers[k] != 0) return 0;
    return 1;
}

static double column_length(const double affine[16], int column) {
    return hypot(hypot(affine[column], affine[4 + column]), affine[8 + column]);
}

static status_code check_affine(const double affine[16], failure *failure) {
    for (int k = 0; k < 12; k++)
        if (!isfinite(affine[k]))
            return fail(failure, STATUS_BAD_INPUT, "row %d, column %d of the affine is NaN or infinite", k / 4, k % 4);
    if (!all_zero(affine + 12, 3) || affine[15] != 1)
        return fail(failure, STATUS_BAD_INPUT, "the last row of the affine must be 0 0 0 1: it is given row by row");
    return STATUS_OK;
}

static status_code take_spacing(const hws_predict_image *image, int has_affine, double spacing[3], failure *failure) {
    const int from_affine = has_affine && all_zero(image->spacing, 3);
    for (int axis = 0; axis < 3; axis++) {
        const double length = column_length(image->affine, axis);
        spacing[axis] = from_affine ? length : image->spacing[axis];
        if (!(spacing[axis] > 0 && isfinite(spacing[axis])))
            return fail(failure, STATUS_BAD_INPUT, "the spacing along %c is %g: it must be in millimetres, above 0",
                        "xyz"[axis], spacing[axis]);
        if (has_affine && !(fabs(length - spacing[axis]) <= 1e-3 * spacing[axis]))
            return fail(failure, STATUS_BAD_INPUT,
                        "the spacing along %c is %g, but the affine says %g: correct one, or leave one out (0)",
                        "xyz"[axis], spacing[axis], length);
    }
    return STATUS_OK;
}

static status_code check_size(const hws_predict_image *image, failure *failure) {
    size_t bytes = sizeof(float);
    const int sizes[4] = {image->size[0], image->size[1], image->size[2], image->channels};
    for (int k = 0; k < 4; k++) {
        if (sizes[k] < 1 || bytes > SIZE_MAX / 2 / (size_t)sizes[k])
            return fail(failure, STATUS_BAD_INPUT, "there is no image of %d x %d x %d voxels and %d channels",
                        image->size[0], image->size[1], image->size[2], image->channels);
        bytes *= (size_t)sizes[k];
    }
    for (int k = 0; k < 4; k++)
        if (image->reserved[k])
            return fail(failure, STATUS_BAD_INPUT, "the image's reserved members are not 0: begin with {0}");
    return STATUS_OK;
}

static void tell_grid(hws_predict_image *image, const volume_grid *grid) {
    memcpy(image->size, grid->size, sizeof image->size);
    memcpy(image->spacing, grid->spacing, sizeof image->spacing);
    memcpy(image->affine, grid->affine, sizeof grid->affine);
    image->affine[15] = 1;
}

/* Whether the image still lies where its file said. */
static int is_as_read(const hws_predict_image *image) {
    if (!image->header) return 0;
    hws_predict_image told = {0};
    tell_grid(&told, image->header);
    /* To the bit. NOLINTBEGIN(bugprone-suspicious-memory-comparison) */
    return memcmp(told.size, image->size, sizeof told.size) == 0 &&
           memcmp(told.spacing, image->spacing, sizeof told.spacing) == 0 &&
           memcmp(told.affine, image->affine, sizeof told.affine) == 0;
    /* NOLINTEND(bugprone-suspicious-memory-comparison) */
}

static status_code take_grid(const hws_predict_image *image, volume_grid *grid, failure *failure) {
    if (!image) return fail(failure, STATUS_BAD_INPUT, "there is no image");
    status_code status = check_size(image, failure);
    if (status == STATUS_OK && is_as_read(image)) {
        *grid = *(const volume_grid *)image->header;
        return STATUS_OK;
    }
    double spacing[3];
    const int has_affine = !all_zero(image->affine, 16);
    if (status == STATUS_OK && has_affine) status = check_affine(image->affine, failure);
    if (status == STATUS_OK) status = take_spacing(image, has_affine, spacing, failure);
    if (status != STATUS_OK) return status;
    *grid = volume_grid_plain(image->size, spacing);
    if (!has_affine) return STATUS_OK;
    memcpy(grid->affine, image->affine, sizeof grid->affine);
    memcpy(grid->sform, grid->affine, sizeof grid->sform);
    grid->qform_code = 0;
    return STATUS_OK;
}

static status_code check_finite(const hws_predict_image *image, failure *failure) {
    const size_t x = (size_t)image->size[0], y = (size_t)image->size[1], z = (size_t)image->size[2];
    for (size_t k = 0; k < x * y * z * (size_t)image->channels; k++)
        if (!isfinite(image->voxels[k]))
            return fail(failure, STATUS_NOT_FINITE,
                        "voxel (%zu, %zu, %zu) of channel %zu is NaN or infinite: replace it by a number", k % x,
                        k / x % y, k / (x * y) % z, k / (x * y * z));
    return STATUS_OK;
}

status_code api_volume(const hws_predict_image *image, int channels, volume *volume, failure *failure) {
    volume_grid grid;
    const status_code status = take_grid(image, &grid, failure);
    if (status != STATUS_OK) return status;
    if (!image->voxels) return fail(failure, STATUS_BAD_INPUT, "the image has no voxels");
    if (image->channels != channels)
        return fail(failure, STATUS_BAD_INPUT, "the image has %d channels, but the network needs %d", image->channels,
                    channels);
    *volume = (struct volume){.grid = grid, .channels = image->channels, .voxels = (float *)image->voxels};
    return check_finite(image, failure);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

status_code api_check_models(const char *const *models, int count, failure *failure) {
    if (!models || count < 1) return fail(failure, STATUS_BAD_INPUT, "no model is named: at least one is needed");
    for (int k = 0; k < count; k++)
        if (!models[k]) return fail(failure, STATUS_BAD_INPUT, "model %d is NULL", k);
    return STATUS_OK;
}

status_code api_check_files(const char *const *files, int count, failure *failure) {
    if (!files || count < 1) return fail(failure, STATUS_BAD_INPUT, "no file is named: an image has at least one");
    for (int k = 0; k < count; k++)
        if (!files[k]) return fail(failure, STATUS_BAD_INPUT, "the name of file %d is NULL", k);
    return STATUS_OK;
}

static status_code read_image(hws_predict_image *image, const char *const *files, int count, failure *failure) {
    volume volume;
    status_code status = api_check_files(files, count, failure);
    if (status == STATUS_OK) status = case_load(files, count, &volume, failure);
    if (status != STATUS_OK) return status;
    volume_grid *header = malloc(sizeof *header);
    if (!header) {
        volume_close(&volume);
        return fail_memory(failure, "an image");
    }
    *header = volume.grid;
    tell_grid(image, header);
    image->voxels = volume.voxels;
    image->channels = volume.channels;
    image->header = header;
    return STATUS_OK;
}

hws_predict_status hws_predict_read(hws_predict_image *image, const char *const *files, int count,
                                    hws_predict_error *error) {
    failure failure = {0};
    if (!image) return api_finish(fail(&failure, STATUS_BAD_INPUT, "there is no place for the image"), &failure, error);
    memset(image, 0, sizeof *image);
    return api_finish(read_image(image, files, count, &failure), &failure, error);
}

void hws_predict_free(hws_predict_image *image) {
    if (!image) return;
    volume_close(&(volume){.voxels = (float *)image->voxels});
    free((void *)image->header);
    memset(image, 0, sizeof *image);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

status_code api_check_name(const char *file, failure *failure) {
    if (!file) return fail(failure, STATUS_BAD_INPUT, "the name of the file to write is NULL");
    if (!case_ending(path_name(file)))
        return fail(failure, STATUS_BAD_INPUT, "%.500s: the name of a NIfTI file ends in .nii or .nii.gz", file);
    return STATUS_OK;
}

static status_code check_writing(const hws_predict_image *image, const void *numbers, const char *file,
                                 volume_grid *grid, failure *failure) {
    const status_code status = api_check_name(file, failure);
    if (status != STATUS_OK) return status;
    if (!numbers) return fail(failure, STATUS_BAD_INPUT, "%.500s: there is nothing to write", file);
    return take_grid(image, grid, failure);
}

hws_predict_status hws_predict_write_labels(const hws_predict_image *image, const int16_t *labels, const char *file,
                                            hws_predict_error *error) {
    failure failure = {0};
    label_map map = {.labels = (int16_t *)labels};
    status_code status = check_writing(image, labels, file, &map.grid, &failure);
    if (status == STATUS_OK) status = nifti_write_labels(file, &map, &failure);
    return api_finish(status, &failure, error);
}

hws_predict_status hws_predict_write_probabilities(const hws_predict_image *image, int classes,
                                                   const float *probabilities, const char *file,
                                                   hws_predict_error *error) {
    failure failure = {0};
    volume volume = {.channels = classes, .voxels = (float *)probabilities};
    status_code status = check_writing(image, probabilities, file, &volume.grid, &failure);
    if (status == STATUS_OK && (classes < 1 || classes > INT16_MAX))
        status = fail(&failure, STATUS_BAD_INPUT, "%.500s: there are no %d classes", file, classes);
    if (status == STATUS_OK) status = nifti_write_volume(file, &volume, &failure);
    return api_finish(status, &failure, error);
}
