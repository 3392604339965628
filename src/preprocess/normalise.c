#include "preprocess/normalise.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Deviations below this are those of a constant image. */
#define SMALLEST_DEVIATION 1e-8

static const char *const NAMES[] = {"z-score", "ct", "rescale", "none", "rgb"};

const char *normalisation_name(normalisation kind) { return NAMES[kind]; }

int normalisation_named(const char *name) {
    for (int k = 0; k < (int)(sizeof NAMES / sizeof *NAMES); k++)
        if (strcmp(name, NAMES[k]) == 0) return k;
    return -1;
}

static int same_letters(const char *a, const char *b) {
    while (*a && tolower((unsigned char)*a) == tolower((unsigned char)*b)) a++, b++;
    return !*a && !*b;
}

normalisation normalisation_of_channel(const char *name) {
    if (same_letters(name, "ct")) return NORMALISE_CT;
    if (same_letters(name, "noNorm")) return NORMALISE_NONE;
    if (same_letters(name, "rescale_0_1") || same_letters(name, "rescale_to_0_1")) return NORMALISE_RESCALE;
    if (same_letters(name, "rgb_to_0_1")) return NORMALISE_RGB;
    return NORMALISE_ZSCORE;
}

typedef struct moments {
    double mean, deviation;
} moments;

/* A NULL mask means everywhere. */
static moments moments_of(const float *voxels, const uint8_t *mask, size_t count) {
    double sum = 0, squares = 0;
    size_t used = 0;
    for (size_t k = 0; k < count; k++)
        if (!mask || mask[k]) sum += (double)voxels[k], used++;
    const double mean = used ? sum / (double)used : 0;
    for (size_t k = 0; k < count; k++)
        if (!mask || mask[k]) squares += ((double)voxels[k] - mean) * ((double)voxels[k] - mean);
    return (moments){.mean = mean, .deviation = used ? sqrt(squares / (double)used) : 0};
}

static void normalise_zscore(const channel_rule *rule, float *voxels, const uint8_t *mask, size_t count) {
    const uint8_t *where = rule->masked ? mask : NULL;
    const moments moments = moments_of(voxels, where, count);
    const double scale = 1 / fmax(moments.deviation, SMALLEST_DEVIATION);
    for (size_t k = 0; k < count; k++)
        voxels[k] = where && !where[k] ? 0 : (float)(((double)voxels[k] - moments.mean) * scale);
}

static void normalise_ct(const channel_rule *rule, float *voxels, size_t count) {
    const double scale = 1 / fmax(rule->deviation, SMALLEST_DEVIATION);
    for (size_t k = 0; k < count; k++)
        voxels[k] = (float)((fmin(fmax((double)voxels[k], rule->low), rule->high) - rule->mean) * scale);
}

static void normalise_range(float *voxels, size_t count) {
    double low = INFINITY, high = -INFINITY;
    for (size_t k = 0; k < count; k++) {
        low = fmin(low, (double)voxels[k]);
        high = fmax(high, (double)voxels[k]);
    }
    const double scale = 1 / fmax(high - low, SMALLEST_DEVIATION);
    for (size_t k = 0; k < count; k++) voxels[k] = (float)(((double)voxels[k] - low) * scale);
}

static void normalise_rgb(float *voxels, size_t count) {
    for (size_t k = 0; k < count; k++) voxels[k] /= NORMALISE_RGB_MOST;
}

void normalise(const channel_rule *rule, float *voxels, const uint8_t *mask, size_t count) {
    switch (rule->kind) {
    case NORMALISE_ZSCORE: normalise_zscore(rule, voxels, mask, count); return;
    case NORMALISE_CT: normalise_ct(rule, voxels, count); return;
    case NORMALISE_RESCALE: normalise_range(voxels, count); return;
    case NORMALISE_NONE: return;
    case NORMALISE_RGB: normalise_rgb(voxels, count); return;
    }
}
