#include "phantom/anatomy.h"

static double least(double a, double b) { return a < b ? a : b; }
static double most(double a, double b) { return a > b ? a : b; }
static double absolute(double a) { return a < 0 ? -a : a; }

/* ---- from the world into the head -------------------------------------------------------------------------------- */

static void enter_head(const anatomy *a, const double world[3], double p[3]) {
    double still[3];
    for (int axis = 0; axis < 3; axis++) {
        still[axis] = 0;
        for (int k = 0; k < 3; k++) still[axis] += a->turn[axis][k] * (world[k] - a->shift[k]);
        still[axis] /= a->length;
    }
    for (int axis = 0; axis < 3; axis++) p[axis] = still[axis] + a->bend * smooth_field_at(&a->bending[axis], still);
    if (p[1] > 0.25) p[0] *= 1 + a->lemon * (p[1] - 0.25);
}

/* Most parts come in pairs: the same place on the right side. */
static void mirror(const double p[3], double right[3]) {
    right[0] = absolute(p[0]);
    right[1] = p[1];
    right[2] = p[2];
}

/* ---- inside of the skull ----------------------------------------------------------------------------------------- */

static double ventricle_distance(const ball *balls, const double p[3]) {
    double distance = tube_distance(&balls[VENTRICLE_FRONT], &balls[VENTRICLE_BODY], p);
    distance = least(distance, tube_distance(&balls[VENTRICLE_BODY], &balls[VENTRICLE_ATRIUM], p));
    distance = least(distance, tube_distance(&balls[VENTRICLE_ATRIUM], &balls[VENTRICLE_BACK], p));
    return least(distance, tube_distance(&balls[VENTRICLE_ATRIUM], &balls[VENTRICLE_TEMPLE], p));
}

static int in_ventricles(const anatomy *a, const double p[3], const double right[3]) {
    if (ventricle_distance(a->ventricles[p[0] > 0], right) < 0) return 1;
    if (a->has_cavum && ellipsoid_distance(&a->cavum, p) < 0) return 1;
    return ellipsoid_distance(&a->third, p) < 0;
}

/* A flat base: below its middle the brain is less high than above. */
static double brain_distance(const anatomy *a, const double p[3], double wider) {
    ellipsoid shape = a->cerebrum;
    if (p[2] < shape.centre[2]) shape.semi[2] = a->base;
    for (int axis = 0; axis < 3; axis++) shape.semi[axis] += wider;
    return ellipsoid_distance(&shape, p);
}

static int below_tentorium(const anatomy *a, const double p[3], double margin) {
    return p[1] < -0.12 && p[2] < a->tentorium + 0.22 * (p[1] + 0.12) + margin;
}

static int in_fissure(const anatomy *a, const double p[3]) {
    if (absolute(p[0]) > a->fissure) return 0;
    return p[2] > a->fissure_floor || p[1] > 0.6 || p[1] < -0.72;
}

/* How deep in the cerebrum; folds take away from outside, the deeper the older. */
static double cerebrum_depth(const anatomy *a, const double p[3], const double right[3]) {
    double depth = -brain_distance(a, p, 0);
    if (depth < -0.05 || depth > 0.4) return depth;
    const double ridge = 1 - absolute(smooth_field_at(&a->folds, p)) / 0.22;
    depth -= a->fold_depth * most(0, ridge);
    return least(depth, ellipsoid_distance(&a->insula, right));
}

static tissue cerebral_tissue(const anatomy *a, const double p[3], const double right[3]) {
    if (ellipsoid_distance(&a->thalamus, right) < 0) return TISSUE_DEEP;
    const double depth = cerebrum_depth(a, p, right);
    if (depth < 0 || in_fissure(a, p)) return TISSUE_CSF;
    return depth < a->cortex ? TISSUE_CORTEX : TISSUE_WHITE;
}

static int in_stem(const anatomy *a, const double p[3]) {
    return tube_distance(&a->stem[0], &a->stem[1], p) < 0 || tube_distance(&a->stem[1], &a->stem[2], p) < 0;
}

static tissue fossa_tissue(const anatomy *a, const double p[3], const double right[3]) {
    if (in_stem(a, p)) return TISSUE_STEM;
    if (ellipsoid_distance(&a->fourth, p) < 0) return TISSUE_VENTRICLE;
    if (ellipsoid_distance(&a->cerebellum, right) < 0 || ellipsoid_distance(&a->vermis, p) < 0)
        return TISSUE_CEREBELLUM;
    return TISSUE_CSF;
}

static tissue brain_tissue(const anatomy *a, const double p[3]) {
    double right[3];
    mirror(p, right);
    if (below_tentorium(a, p, 0) || brain_distance(a, p, 0) > 0.02) return fossa_tissue(a, p, right);
    if (in_ventricles(a, p, right)) return TISSUE_VENTRICLE;
    if (in_stem(a, p)) return TISSUE_STEM;
    if (below_tentorium(a, p, 0.03)) return TISSUE_CSF;
    return cerebral_tissue(a, p, right);
}

/* ---- from the skull on outwards ---------------------------------------------------------------------------------- */

static tissue outer_tissue(const anatomy *a, const double p[3], const double world[3], double distance) {
    double right[3];
    mirror(p, right);
    if (tube_distance(&a->eye, &(ball){{0.22, 0.8, -0.36}, 0.08}, right) < 0) return TISSUE_EYE;
    if (distance < 0.11) return TISSUE_SCALP;
    if (ellipsoid_distance(&a->face, p) < 0 || tube_distance(&a->trunk[0], &a->trunk[1], p) < 0) return TISSUE_BODY;
    return smooth_field_at(&a->around, world) > 0.28 - 0.5 * (distance - 0.11) ? TISSUE_MOTHER : TISSUE_FLUID;
}

tissue anatomy_at(const anatomy *a, const double world[3]) {
    double p[3];
    enter_head(a, world, p);
    double distance = brain_distance(a, p, a->gap);
    distance = least(distance, ellipsoid_distance(&a->fossa, p));
    distance = least(distance, tube_distance(&a->canal[0], &a->canal[1], p));
    if (distance < 0) return brain_tissue(a, p);
    return distance < 0.05 ? TISSUE_SKULL : outer_tissue(a, p, world, distance);
}
