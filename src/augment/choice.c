#include "augment/choice.h"

#include "augment/purposes.h"
#include "core/random.h"

#include <string.h>

#define DEGREE 0.017453292519943295
enum { FLAT_RATIO = 3 };

/* ---- options ---------------------------------------------------------------------------------------------------- */

static int flat_axis_of(const int patch[3]) {
    int shortest = 0, longest = 0;
    for (int k = 1; k < 3; k++) {
        if (patch[k] < patch[shortest]) shortest = k;
        if (patch[k] > patch[longest]) longest = k;
    }
    return patch[longest] > FLAT_RATIO * patch[shortest] ? shortest : -1;
}

augment_options augment_options_plain(const plan *plan, int ignore) {
    augment_options options = {.channels = plan->channels, .ignore = (int16_t)ignore};
    memcpy(options.patch, plan->patch, sizeof options.patch);
    for (int c = 0; c < plan->channels; c++) {
        const channel_rule *rule = &plan->channel[c].rule;
        options.masked[c] = rule->kind == NORMALISE_ZSCORE && rule->masked;
    }
    options.flat_axis = flat_axis_of(plan->patch);
    return options;
}

/* Slices are turned all the way around unless they are long and narrow, volumes are if they are flat. */
static double largest_angle(const int patch[3], int flat_axis) {
    if (flat_axis < 0) return 30;
    const int a = patch[(flat_axis + 1) % 3], b = patch[(flat_axis + 2) % 3];
    return patch[flat_axis] == 1 && (2 * a > 3 * b || 2 * b > 3 * a) ? 15 : 180;
}

augment_options augment_options_for(const plan *plan, int ignore) {
    augment_options options = augment_options_plain(plan, ignore);
    const double angle = largest_angle(plan->patch, options.flat_axis) * DEGREE;
    options.rotation_probability = 0.2;
    options.rotation = (augment_range){-angle, angle};
    options.scaling_probability = 0.2;
    options.scaling = (augment_range){0.7, 1.4};
    options.noise_probability = 0.1;
    options.noise = (augment_range){0, 0.1};
    options.blur_probability = 0.2;
    options.blur_channel = 0.5;
    options.blur = (augment_range){0.5, 1};
    options.brightness_probability = 0.15;
    options.brightness = (augment_range){0.75, 1.25};
    options.contrast_probability = 0.15;
    options.contrast = (augment_range){0.75, 1.25};
    options.coarse_probability = 0.25;
    options.coarse_channel = 0.5;
    options.coarse = (augment_range){0.5, 1};
    options.inverted_gamma_probability = 0.1;
    options.gamma_probability = 0.3;
    options.gamma = (augment_range){0.7, 1.5};
    for (int k = 0; k < 3; k++) options.mirror_probability[k] = plan->patch[k] > 1 && !plan->unmirrored[k] ? 0.5 : 0;
    return options;
}

/* ---- draws ------------------------------------------------------------------------------------------------------ */

static int chance(random_stream *stream, double probability) { return random_unit(stream) < probability; }

static double within(random_stream *stream, augment_range range) {
    return random_between(stream, range.low, range.high);
}

static double around_one(random_stream *stream, augment_range range) {
    if (range.low < 1 && chance(stream, 0.5)) return within(stream, (augment_range){range.low, 1});
    return within(stream, (augment_range){range.low < 1 ? 1 : range.low, range.high});
}

static void choose_space(const augment_options *options, random_stream *stream, augment_choice *choice) {
    const int rotate = chance(stream, options->rotation_probability);
    for (int k = 0; k < 3 && rotate; k++) {
        const double angle = within(stream, options->rotation);
        if (options->flat_axis < 0 || options->flat_axis == k) choice->angle[k] = angle;
    }
    const int scale = chance(stream, options->scaling_probability);
    if (scale) choice->scale = around_one(stream, options->scaling);
    choice->turned = rotate || scale;
}

/* An effect that each channel has a strength of. */
typedef struct channel_effect {
    double probability, channel_probability; /* of the effect, and then of each channel to have it */
    double (*draw)(random_stream *stream, augment_range range);
    augment_range range;
    size_t field; /* where in channel_choice the strength stands */
} channel_effect;

static void choose_effect(const augment_options *options, random_stream *stream, const channel_effect *effect,
                          channel_choice *channels) {
    if (!chance(stream, effect->probability)) return;
    for (int c = 0; c < options->channels; c++)
        if (effect->channel_probability >= 1 || chance(stream, effect->channel_probability)) {
            const double value = effect->draw(stream, effect->range);
            memcpy((char *)&channels[c] + effect->field, &value, sizeof value);
        }
}

/* In the order in which they are drawn. */
static void choose_effects(const augment_options *options, random_stream *stream, channel_choice *channels) {
    const channel_effect effects[] = {
        {options->blur_probability, options->blur_channel, within, options->blur, offsetof(channel_choice, blur)},
        {options->brightness_probability, 1, around_one, options->brightness, offsetof(channel_choice, brightness)},
        {options->contrast_probability, 1, around_one, options->contrast, offsetof(channel_choice, contrast)},
        {options->coarse_probability, options->coarse_channel, within, options->coarse,
         offsetof(channel_choice, coarse)},
        {options->inverted_gamma_probability, 1, around_one, options->gamma, offsetof(channel_choice, inverted_gamma)},
        {options->gamma_probability, 1, around_one, options->gamma, offsetof(channel_choice, gamma)}};
    for (size_t k = 0; k < sizeof effects / sizeof *effects; k++) choose_effect(options, stream, &effects[k], channels);
}

void augment_choose(const augment_options *options, const patch_key *key, augment_choice *choice) {
    random_stream stream;
    random_start(&stream, key->seed, RANDOM_AUGMENT, key->iteration, key->slot);
    channel_choice *channels = choice->channels;
    *choice = (augment_choice){.scale = 1, .channels = channels};
    for (int c = 0; c < options->channels; c++)
        channels[c] =
            (channel_choice){.blur = 0, .brightness = 1, .contrast = 1, .coarse = 1, .inverted_gamma = 1, .gamma = 1};
    choose_space(options, &stream, choice);
    if (chance(&stream, options->noise_probability)) choice->noise = within(&stream, options->noise);
    choose_effects(options, &stream, channels);
    for (int k = 0; k < 3; k++) choice->mirror[k] = chance(&stream, options->mirror_probability[k]);
}
