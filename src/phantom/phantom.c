#include "phantom/phantom.h"

#include "core/memory.h"
#include "phantom/anatomy.h"
#include "phantom/purposes.h"

#include <string.h>

enum { LARGEST_SIDE = 1024 };

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *phantom_condition_name(phantom_condition condition) {
    static const char *const names[PHANTOM_CONDITIONS] = {"control", "spina_bifida", "other"};
    return names[condition];
}

static const char *diagnosis_name(diagnosis diagnosis) {
    static const char *const names[] = {"none", "spina_bifida", "no_callosum", "one_sided_ventriculomegaly",
                                        "fossa_cyst"};
    return names[diagnosis];
}

static diagnosis draw_diagnosis(phantom_condition condition, random_stream *stream) {
    static const diagnosis others[] = {DIAGNOSIS_NO_CALLOSUM, DIAGNOSIS_ONE_SIDED, DIAGNOSIS_FOSSA_CYST};
    const diagnosis other = others[random_below(stream, 3)];
    return condition == PHANTOM_CONTROL        ? DIAGNOSIS_NONE
           : condition == PHANTOM_SPINA_BIFIDA ? DIAGNOSIS_SPINA_BIFIDA
                                               : other;
}

/* ---- how the scanner sees it ------------------------------------------------------------------------------------- */

typedef struct scanner {
    double grey[TISSUE_COUNT]; /* CSF is 1 */
    double grain[TISSUE_COUNT];
    smooth_field texture, coil;
    double bias, curve, blur, noise, gain;
} scanner;

static int label_of(tissue tissue) {
    return tissue == TISSUE_WHITE ? 1 : tissue == TISSUE_VENTRICLE ? 2 : tissue == TISSUE_CEREBELLUM ? 3 : 0;
}

/* T2: water is brightest; white matter, not yet myelinated, is brighter than grey matter, less so later. */
static void draw_greys(scanner *scanner, double growth, random_stream *stream) {
    static const double greys[TISSUE_COUNT] = {
        [TISSUE_FLUID] = 0.93,     [TISSUE_MOTHER] = 0.36, [TISSUE_BODY] = 0.5,  [TISSUE_EYE] = 0.98,
        [TISSUE_SCALP] = 0.56,     [TISSUE_SKULL] = 0.12,  [TISSUE_CSF] = 1,     [TISSUE_CORTEX] = 0.46,
        [TISSUE_WHITE] = 0.76,     [TISSUE_DEEP] = 0.55,   [TISSUE_STEM] = 0.54, [TISSUE_VENTRICLE] = 1,
        [TISSUE_CEREBELLUM] = 0.56};
    for (int k = 0; k < TISSUE_COUNT; k++) {
        scanner->grey[k] = greys[k] * random_between(stream, 0.92, 1.08);
        scanner->grain[k] = k == TISSUE_MOTHER ? 0.35 : k == TISSUE_BODY ? 0.2 : 0.05;
    }
    scanner->grey[TISSUE_WHITE] -= 0.08 * growth;
    scanner->grey[TISSUE_CEREBELLUM] -= 0.06 * growth;
    scanner->grey[TISSUE_CSF] = scanner->grey[TISSUE_VENTRICLE] = 1;
    scanner->grain[TISSUE_CSF] = scanner->grain[TISSUE_VENTRICLE] = 0.03;
}

static void draw_scanner(scanner *scanner, double growth, random_stream *stream) {
    draw_greys(scanner, growth, stream);
    smooth_field_draw(&scanner->texture, 6, stream);
    smooth_field_draw(&scanner->coil, 90, stream);
    scanner->bias = random_between(stream, 0.05, 0.25);
    scanner->curve = random_between(stream, -0.2, 0.4);
    scanner->blur = random_between(stream, 0.08, 0.18);
    scanner->noise = random_between(stream, 0.015, 0.055);
    scanner->gain = random_between(stream, 300, 900);
}

/* ---- voxels ------------------------------------------------------------------------------------------------------ */

static void place_of(const volume_grid *grid, const double index[3], double world[3]) {
    for (int axis = 0; axis < 3; axis++) world[axis] = grid->affine[axis][axis] * index[axis] + grid->affine[axis][3];
}

/* Eight points stand for a voxel: its grey is their mean, its label that of the most. */
static float see_voxel(const anatomy *anatomy, const scanner *scanner, const volume_grid *grid, const int at[3],
                       int16_t *label) {
    int votes[PHANTOM_LABELS] = {0};
    double sum = 0, middle[3];
    place_of(grid, (const double[3]){at[0], at[1], at[2]}, middle);
    const double texture = smooth_field_at(&scanner->texture, middle);
    for (int corner = 0; corner < 8; corner++) {
        double index[3], world[3];
        for (int axis = 0; axis < 3; axis++) index[axis] = at[axis] + (corner >> axis & 1 ? 0.25 : -0.25);
        place_of(grid, index, world);
        const tissue tissue = anatomy_at(anatomy, world);
        votes[label_of(tissue)]++;
        sum += scanner->grey[tissue] * (1 + scanner->grain[tissue] * texture);
    }
    *label = 0;
    for (int k = 1; k < PHANTOM_LABELS; k++)
        if (votes[k] > votes[*label]) *label = (int16_t)k;
    return (float)(sum / 8);
}

static void see(const anatomy *anatomy, const scanner *scanner, volume *image, label_map *labels) {
    const volume_grid *grid = &image->grid;
    size_t next = 0;
    int at[3];
    for (at[2] = 0; at[2] < grid->size[2]; at[2]++)
        for (at[1] = 0; at[1] < grid->size[1]; at[1]++)
            for (at[0] = 0; at[0] < grid->size[0]; at[0]++, next++)
                image->voxels[next] = see_voxel(anatomy, scanner, grid, at, &labels->labels[next]);
}

static void blur_line(float *line, int size, size_t step, float weight) {
    float before = line[0];
    for (int k = 0; k < size; k++) {
        float *here = &line[(size_t)k * step];
        const float now = *here, after = k + 1 < size ? here[step] : now;
        *here = weight * before + (1 - 2 * weight) * now + weight * after;
        before = now;
    }
}

static void blur(volume *image, float weight) {
    const size_t x = (size_t)image->grid.size[0], y = (size_t)image->grid.size[1], z = (size_t)image->grid.size[2];
    for (size_t k = 0; k < y * z; k++) blur_line(image->voxels + k * x, (int)x, 1, weight);
    for (size_t k = 0; k < x * z; k++) blur_line(image->voxels + k / x * x * y + k % x, (int)y, x, weight);
    for (size_t k = 0; k < x * y; k++) blur_line(image->voxels + k, (int)z, x * y, weight);
}

/* What a receiver makes of it: uneven sensitivity, a curve, the magnitude of a signal with noise in both parts. */
static double receive(const scanner *scanner, double grey, const double world[3], random_stream *stream) {
    const double even = grey * (1 + scanner->curve) / (1 + scanner->curve * grey);
    const double signal = even * (1 + scanner->bias * smooth_field_at(&scanner->coil, world));
    const double real = signal + scanner->noise * random_normal(stream);
    const double imaginary = scanner->noise * random_normal(stream);
    return scanner->gain * sqrt(real * real + imaginary * imaginary);
}

/* Whole numbers, as scanners store them. */
static void record(const scanner *scanner, volume *image, random_stream *stream) {
    const volume_grid *grid = &image->grid;
    float *voxel = image->voxels;
    for (int z = 0; z < grid->size[2]; z++)
        for (int y = 0; y < grid->size[1]; y++)
            for (int x = 0; x < grid->size[0]; x++, voxel++) {
                double world[3];
                place_of(grid, (const double[3]){x, y, z}, world);
                *voxel = (float)(int)(receive(scanner, (double)*voxel, world, stream) + 0.5);
            }
}

/* ---- a case ------------------------------------------------------------------------------------------------------ */

volume_grid phantom_grid(const int size[3], double spacing) {
    const double spacings[3] = {spacing, spacing, spacing};
    volume_grid grid = volume_grid_plain(size, spacings);
    for (int axis = 0; axis < 3; axis++) {
        const double first = -0.5 * spacing * (size[axis] - 1);
        grid.affine[axis][3] = grid.sform[axis][3] = grid.offset[axis] = first;
    }
    return grid;
}

static status_code open_both(const volume_grid *grid, volume *image, label_map *labels, failure *failure) {
    memset(image, 0, sizeof *image);
    memset(labels, 0, sizeof *labels);
    for (int axis = 0; axis < 3; axis++)
        if (grid->size[axis] < 1 || grid->size[axis] > LARGEST_SIDE)
            return fail(failure, STATUS_BAD_INPUT, "a phantom of %d x %d x %d voxels cannot be made; sides are 1 to %d",
                        grid->size[0], grid->size[1], grid->size[2], LARGEST_SIDE);
    status_code status = volume_open(image, grid, 1, failure);
    if (status == STATUS_OK) status = label_map_open(labels, grid, failure);
    if (status != STATUS_OK) volume_close(image);
    return status;
}

/* The drawn head and scanner are too large for a small stack. */
typedef struct drawing {
    anatomy anatomy;
    scanner scanner;
} drawing;

status_code phantom_make(const phantom_key *key, const volume_grid *grid, volume *image, label_map *labels,
                         phantom_facts *facts, failure *failure) {
    status_code status = open_both(grid, image, labels, failure);
    if (status != STATUS_OK) return status;
    drawing *drawing = memory_open(sizeof *drawing);
    if (!drawing) {
        volume_close(image);
        label_map_close(labels);
        return fail_memory(failure, "a phantom");
    }
    random_stream stream;
    random_start(&stream, key->seed, RANDOM_PHANTOM, key->index, (uint32_t)key->split);
    anatomy_draw(&drawing->anatomy, draw_diagnosis(key->condition, &stream), &stream);
    draw_scanner(&drawing->scanner, drawing->anatomy.growth, &stream);
    see(&drawing->anatomy, &drawing->scanner, image, labels);
    blur(image, (float)drawing->scanner.blur);
    record(&drawing->scanner, image, &stream);
    *facts = (phantom_facts){key->condition, diagnosis_name(drawing->anatomy.diagnosis), drawing->anatomy.weeks};
    memory_close(drawing);
    return STATUS_OK;
}
