#include "augment/augment.h"

#include "augment/intensity.h"
#include "augment/purposes.h"
#include "augment/spatial.h"
#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

struct augmenter {
    augment_options options;
    augment_choice choice;
    size_t voxels;
    float *image;    /* [channel][depth][height][width] */
    float *scratch;  /* one channel */
    int16_t *labels; /* before mirroring */
    spatial_scratch spatial;
};

status_code augmenter_open(augmenter **opened, const augment_options *options, failure *failure) {
    augmenter *made = *opened = calloc(1, sizeof *made);
    if (!made) return fail_memory(failure, "augmentation");
    made->options = *options;
    made->voxels = (size_t)options->patch[0] * (size_t)options->patch[1] * (size_t)options->patch[2];
    made->choice.channels = calloc((size_t)options->channels, sizeof *made->choice.channels);
    made->image = memory_open(made->voxels * (size_t)options->channels * sizeof *made->image);
    made->scratch = memory_open(made->voxels * sizeof *made->scratch);
    made->labels = memory_open(made->voxels * sizeof *made->labels);
    if (made->choice.channels && made->image && made->scratch && made->labels) return STATUS_OK;
    augmenter_close(opened);
    return fail_memory(failure, "augmentation");
}

void augmenter_close(augmenter **opened) {
    augmenter *made = *opened;
    if (!made) return;
    free(made->choice.channels);
    memory_close(made->image);
    memory_close(made->scratch);
    memory_close(made->labels);
    spatial_scratch_close(&made->spatial);
    free(made);
    *opened = NULL;
}

/* ---- the steps -------------------------------------------------------------------------------------------------- */

static float *channel_of(augmenter *augmenter, int c) { return augmenter->image + (size_t)c * augmenter->voxels; }

static status_code cut_turned(augmenter *augmenter, const case_view *view, const int start[3], failure *failure) {
    const augment_options *options = &augmenter->options;
    const patch_map map = patch_map_of(options, &augmenter->choice, start);
    spatial_labels(&map, view->labels, view->size, augmenter->labels);
    status_code status = STATUS_OK;
    for (int c = 0; c < options->channels && status == STATUS_OK; c++)
        status = spatial_image(&map, view->image + (size_t)c * case_view_voxels(view), view->size,
                               channel_of(augmenter, c), &augmenter->spatial, failure);
    return status;
}

static void cut_straight(augmenter *augmenter, const case_view *view, const int start[3]) {
    const int *patch = augmenter->options.patch;
    box_copy_labels(view->labels, view->size, start, patch, LABEL_OUTSIDE, augmenter->labels);
    for (int c = 0; c < augmenter->options.channels; c++)
        box_copy_image(view->image + (size_t)c * case_view_voxels(view), view->size, start, patch, 0,
                       channel_of(augmenter, c));
}

static status_code change_channel(augmenter *augmenter, random_stream *noise, int c, failure *failure) {
    const channel_choice *choice = &augmenter->choice.channels[c];
    const int *patch = augmenter->options.patch;
    const size_t voxels = augmenter->voxels;
    float *channel = channel_of(augmenter, c);
    status_code status = STATUS_OK;
    if (augmenter->choice.noise > 0) add_noise(channel, voxels, augmenter->choice.noise, noise);
    if (choice->blur > 0) gaussian_blur(channel, patch, choice->blur, augmenter->scratch);
    if (choice->brightness != 1) change_brightness(channel, voxels, choice->brightness);
    if (choice->contrast != 1) change_contrast(channel, voxels, choice->contrast);
    if (choice->coarse != 1)
        status =
            lose_resolution(channel, patch, choice->coarse, augmenter->options.flat_axis, augmenter->scratch, failure);
    if (choice->inverted_gamma != 1) change_gamma(channel, voxels, choice->inverted_gamma, 1);
    if (choice->gamma != 1) change_gamma(channel, voxels, choice->gamma, 0);
    return status;
}

static void clear_emptiness(augmenter *augmenter) {
    for (int c = 0; c < augmenter->options.channels; c++) {
        float *channel = channel_of(augmenter, c);
        for (size_t k = 0; k < augmenter->voxels && augmenter->options.masked[c]; k++)
            if (augmenter->labels[k] == LABEL_OUTSIDE) channel[k] = 0;
    }
}

static int16_t final_label(int16_t label, int16_t ignore) {
    if (label == LABEL_OUTSIDE) return 0;
    return label == ignore ? -1 : label;
}

/* Mirrored, with the channels last. */
static void lay_out(augmenter *augmenter, float *image, int16_t *labels) {
    const augment_options *options = &augmenter->options;
    const int *patch = options->patch, *mirror = augmenter->choice.mirror, channels = options->channels;
    const long step = mirror[2] ? -1 : 1;
    for (int z = 0; z < patch[0]; z++)
        for (int y = 0; y < patch[1]; y++) {
            const int from_z = mirror[0] ? patch[0] - 1 - z : z, from_y = mirror[1] ? patch[1] - 1 - y : y;
            long from = ((long)from_z * patch[1] + from_y) * patch[2] + (mirror[2] ? patch[2] - 1 : 0);
            for (int x = 0; x < patch[2]; x++, from += step) {
                *labels++ = final_label(augmenter->labels[from], options->ignore);
                for (int c = 0; c < channels; c++)
                    *image++ = augmenter->image[(size_t)c * augmenter->voxels + (size_t)from];
            }
        }
}

status_code augmenter_make(augmenter *augmenter, const patch_request *request, float *image, int16_t *labels,
                           failure *failure) {
    const case_view *view = request->view;
    const patch_key *key = &request->key;
    if (view->channels != augmenter->options.channels)
        return fail(failure, STATUS_BAD_INPUT, "the case has %d channels, the plan is for %d", view->channels,
                    augmenter->options.channels);
    int start[3];
    patch_place(view, augmenter->options.patch, key, request->forced, start);
    augment_choose(&augmenter->options, key, &augmenter->choice);
    random_stream noise;
    random_start(&noise, key->seed, RANDOM_NOISE, key->iteration, key->slot);
    status_code status = STATUS_OK;
    if (augmenter->choice.turned) status = cut_turned(augmenter, view, start, failure);
    else cut_straight(augmenter, view, start);
    for (int c = 0; c < augmenter->options.channels && status == STATUS_OK; c++)
        status = change_channel(augmenter, &noise, c, failure);
    if (status != STATUS_OK) return status;
    clear_emptiness(augmenter);
    lay_out(augmenter, image, labels);
    return STATUS_OK;
}
