#include "phantom/tumour.h"

#include "core/memory.h"
#include "phantom/purposes.h"
#include "phantom/shapes.h"
#include "phantom/smooth_field.h"

#include <string.h>

typedef enum part { PART_OUTSIDE, PART_FLUID, PART_GREY, PART_WHITE, PART_NECROSIS, PART_OEDEMA, PART_ENHANCING } part;

/* What is drawn of a case: the shapes, mm from the middle of the image, and how its centre's scanner sees them. */
typedef struct drawing {
    ellipsoid brain, ventricles, tumour;
    double cortex, core, necrosis; /* the cortex's depth in mm; the others in shares of the tumour's radius */
    smooth_field folds, border, coil;
    double contrast, noise, gain[TUMOUR_CHANNELS];
    tumour_facts facts;
} drawing;

/* ---- what is there ----------------------------------------------------------------------------------------------- */

static void draw_facts(drawing *d, random_stream *stream) {
    static const double UP_TO[TUMOUR_CENTRES] = {0.4, 0.7, 0.92, 1};
    const double draw = random_unit(stream);
    d->facts.centre = 1;
    while (d->facts.centre < TUMOUR_CENTRES && draw >= UP_TO[d->facts.centre - 1]) d->facts.centre++;
    d->facts.low_grade = random_unit(stream) < 0.2;
}

/* Somewhere between the middle of the brain and its border. */
static void draw_tumour(drawing *d, random_stream *stream) {
    const double radius = random_between(stream, 15, 26);
    double way[3], length = 1e-9;
    for (int axis = 0; axis < 3; axis++) {
        way[axis] = random_between(stream, -1, 1);
        length += way[axis] * way[axis];
    }
    const double far = random_between(stream, 0.2, 0.6) / sqrt(length);
    for (int axis = 0; axis < 3; axis++) {
        d->tumour.centre[axis] = far * way[axis] * d->brain.semi[axis];
        d->tumour.semi[axis] = radius * random_between(stream, 0.8, 1.2);
    }
    d->core = random_between(stream, 0.6, 0.75);
    d->necrosis = random_between(stream, 0.3, 0.42);
}

static void draw_scanner(drawing *d, random_stream *stream) {
    const int rare = d->facts.centre == TUMOUR_CENTRES;
    d->contrast = rare ? random_between(stream, 0.35, 0.5) : random_between(stream, 0.85, 1.1);
    d->noise = rare ? random_between(stream, 0.05, 0.08) : random_between(stream, 0.02, 0.04);
    for (int c = 0; c < TUMOUR_CHANNELS; c++) d->gain[c] = random_between(stream, 300, 900);
    smooth_field_draw(&d->coil, 90, stream);
}

static void draw_all(drawing *d, random_stream *stream) {
    static const double SEMI[3] = {50, 62, 48};
    draw_facts(d, stream);
    for (int axis = 0; axis < 3; axis++) {
        d->brain.semi[axis] = SEMI[axis] * random_between(stream, 0.9, 1.08);
        d->brain.centre[axis] = random_between(stream, -3, 3);
        d->ventricles.centre[axis] = d->brain.centre[axis];
        d->ventricles.semi[axis] = d->brain.semi[axis] * random_between(stream, 0.15, 0.25);
    }
    d->cortex = random_between(stream, 5, 8);
    smooth_field_draw(&d->folds, 14, stream);
    smooth_field_draw(&d->border, 12, stream);
    draw_tumour(d, stream);
    draw_scanner(d, stream);
}

static part tumour_part(const drawing *d, double share) {
    if (share > d->core) return PART_OEDEMA;
    if (d->facts.low_grade || share < d->necrosis) return PART_NECROSIS;
    return PART_ENHANCING;
}

static part part_at(const drawing *d, const double world[3]) {
    const double inside = -ellipsoid_distance(&d->brain, world);
    if (inside < 0) return PART_OUTSIDE;
    double share = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double scaled = (world[axis] - d->tumour.centre[axis]) / d->tumour.semi[axis];
        share += scaled * scaled;
    }
    share = sqrt(share) * (1 + 0.2 * smooth_field_at(&d->border, world));
    if (share < 1) return tumour_part(d, share);
    if (ellipsoid_distance(&d->ventricles, world) < 0) return PART_FLUID;
    return inside < d->cortex * (1 + 0.6 * smooth_field_at(&d->folds, world)) ? PART_GREY : PART_WHITE;
}

/* ---- how it is seen ---------------------------------------------------------------------------------------------- */

static int16_t label_of(part part) {
    return part == PART_NECROSIS ? 1 : part == PART_OEDEMA ? 2 : part == PART_ENHANCING ? 4 : 0;
}

/* Less contrast: all greys nearer to that of white matter. */
static double grey_of(const drawing *d, part part, int channel) {
    static const double GREYS[][TUMOUR_CHANNELS] = {
        [PART_FLUID] = {0.25, 0.25, 1, 0.15},     [PART_GREY] = {0.55, 0.58, 0.65, 0.6},
        [PART_WHITE] = {0.75, 0.78, 0.5, 0.5},    [PART_NECROSIS] = {0.3, 0.32, 0.9, 0.7},
        [PART_OEDEMA] = {0.55, 0.55, 0.85, 0.95}, [PART_ENHANCING] = {0.55, 1.05, 0.7, 0.8}};
    const double white = GREYS[PART_WHITE][channel];
    return white + d->contrast * (GREYS[part][channel] - white);
}

static float see(const drawing *d, part part, int channel, const double world[3], random_stream *stream) {
    const double noise = d->noise * random_normal(stream);
    if (part == PART_OUTSIDE) return 0;
    const double grey = grey_of(d, part, channel) * (1 + 0.1 * smooth_field_at(&d->coil, world)) + noise;
    return (float)(1 + (int)(d->gain[channel] * (grey > 0 ? grey : 0)));
}

static void fill(const drawing *d, volume *image, label_map *labels, random_stream *stream) {
    const volume_grid *grid = &image->grid;
    const size_t voxels = volume_grid_voxels(grid);
    size_t next = 0;
    for (int z = 0; z < grid->size[2]; z++)
        for (int y = 0; y < grid->size[1]; y++)
            for (int x = 0; x < grid->size[0]; x++, next++) {
                const double world[3] = {grid->affine[0][0] * x + grid->affine[0][3],
                                         grid->affine[1][1] * y + grid->affine[1][3],
                                         grid->affine[2][2] * z + grid->affine[2][3]};
                const part part = part_at(d, world);
                labels->labels[next] = label_of(part);
                for (int c = 0; c < TUMOUR_CHANNELS; c++)
                    image->voxels[(size_t)c * voxels + next] = see(d, part, c, world, stream);
            }
}

status_code tumour_make(const phantom_key *key, const volume_grid *grid, volume *image, label_map *labels,
                        tumour_facts *facts, failure *failure) {
    memset(image, 0, sizeof *image);
    memset(labels, 0, sizeof *labels);
    drawing *d = memory_open(sizeof *d);
    status_code status = d ? volume_open(image, grid, TUMOUR_CHANNELS, failure) : fail_memory(failure, "a phantom");
    if (status == STATUS_OK) status = label_map_open(labels, grid, failure);
    if (status == STATUS_OK) {
        random_stream stream;
        random_start(&stream, key->seed, RANDOM_TUMOUR, key->index, (uint32_t)key->split);
        draw_all(d, &stream);
        fill(d, image, labels, &stream);
        *facts = d->facts;
    } else {
        volume_close(image);
    }
    memory_close(d);
    return status;
}
