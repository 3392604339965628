/* The sizes and places of a head's parts: a common plan, what age does to it, what a diagnosis does, and chance. */
#include "phantom/anatomy.h"

#include <string.h>

static const double YOUNGEST = 21, OLDEST = 36; /* weeks */

/* Normal, but cut off, so that nobody gets an impossible head. */
static double normal(random_stream *stream, double deviation) {
    const double value = random_normal(stream);
    return deviation * (value < -2 ? -2 : value > 2 ? 2 : value);
}

/* ---- pose -------------------------------------------------------------------------------------------------------- */

/* Cayley's map: a rotation from the vector of half the angle's tangent, without trigonometry, whose bits differ. */
static void turn_by(double turn[3][3], const double t[3]) {
    const double cross[3][3] = {{0, -t[2], t[1]}, {t[2], 0, -t[0]}, {-t[1], t[0], 0}};
    const double factor = 2 / (1 + t[0] * t[0] + t[1] * t[1] + t[2] * t[2]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double square = 0;
            for (int k = 0; k < 3; k++) square += cross[i][k] * cross[k][j];
            turn[i][j] = (i == j) + factor * (cross[i][j] + square);
        }
}

static void draw_pose(anatomy *a, random_stream *stream) {
    double tangents[3];
    for (int axis = 0; axis < 3; axis++) tangents[axis] = normal(stream, 0.1);
    turn_by(a->turn, tangents);
    for (int axis = 0; axis < 3; axis++) a->shift[axis] = normal(stream, 2);
    a->shift[2] += 0.03 * a->length;
    a->bend = random_between(stream, 0.02, 0.05);
    for (int axis = 0; axis < 3; axis++) smooth_field_draw(&a->bending[axis], 0.8, stream);
}

/* ---- the common plan --------------------------------------------------------------------------------------------- */

static void plan_cerebrum(anatomy *a, random_stream *stream) {
    a->gap = 0.075 - 0.04 * a->growth + random_between(stream, 0, 0.03);
    a->cortex = 0.075;
    a->fold_depth = 0.02 + 0.16 * a->growth * a->growth;
    a->fissure = 0.03 - 0.012 * a->growth;
    a->fissure_floor = 0.36;
    a->cerebrum = (ellipsoid){{0, 0, 0.08}, {0.8 + normal(stream, 0.03), 1, 0.74 + normal(stream, 0.03)}};
    a->base = 0.52;
    const double open = 0.1 - 0.06 * a->growth; /* the insula is covered later */
    a->insula = (ellipsoid){{0.78, 0.15, -0.02}, {0.08 + open, 0.26, 0.06 + open}};
    smooth_field_draw(&a->folds, 0.24, stream);
    smooth_field_draw(&a->around, 30, stream);
}

static void plan_ventricles(anatomy *a, random_stream *stream) {
    static const ball plan[VENTRICLE_BALLS] = {{{0.12, 0.46, 0.2}, 0.08},
                                               {{0.12, 0.08, 0.3}, 0.06},
                                               {{0.28, -0.4, 0.2}, 0.11},
                                               {{0.25, -0.66, 0.12}, 0.06},
                                               {{0.43, -0.04, -0.16}, 0.045}};
    const double wide = (1.2 - 0.3 * a->growth) * random_between(stream, 0.88, 1.12);
    for (int side = 0; side < 2; side++) {
        memcpy(a->ventricles[side], plan, sizeof plan);
        for (int k = 0; k < VENTRICLE_BALLS; k++)
            a->ventricles[side][k].radius *= wide * random_between(stream, 0.93, 1.07);
    }
    a->has_cavum = 1;
    a->cavum = (ellipsoid){{0, 0.3, 0.18}, {0.055, 0.17, 0.09}};
    a->third = (ellipsoid){{0, 0, 0.02}, {0.035, 0.2, 0.12}};
    a->thalamus = (ellipsoid){{0.17, 0.02, 0.03}, {0.15, 0.28, 0.17}};
}

static void plan_fossa(anatomy *a, random_stream *stream) {
    const double large = (0.88 + 0.17 * a->growth) * random_between(stream, 0.94, 1.06);
    a->tentorium = -0.1;
    a->cerebellum = (ellipsoid){{0.19, -0.52, -0.4}, {0.24 * large, 0.2 * large, 0.2 * large}};
    a->vermis = (ellipsoid){{0, -0.52, -0.38}, {0.1 * large, 0.17 * large, 0.2 * large}};
    a->fourth = (ellipsoid){{0, -0.32, -0.42}, {0.06, 0.05, 0.1}};
    a->fossa = (ellipsoid){{0, -0.46, -0.32}, {0.62, 0.47, 0.4}};
    a->stem[0] = (ball){{0, -0.06, -0.1}, 0.13};
    a->stem[1] = (ball){{0, -0.17, -0.45}, 0.12};
    a->stem[2] = (ball){{0, -0.36, -1.5}, 0.07};
    a->canal[0] = (ball){{0, -0.19, -0.5}, 0.17};
    a->canal[1] = (ball){{0, -0.36, -1.5}, 0.12};
}

static void plan_body(anatomy *a) {
    a->face = (ellipsoid){{0, 0.52, -0.62}, {0.52, 0.5, 0.5}};
    a->eye = (ball){{0.32, 0.86, -0.4}, 0.12};
    a->trunk[0] = (ball){{0, -0.25, -1.0}, 0.42};
    a->trunk[1] = (ball){{0, -0.4, -2.4}, 0.9};
}

/* ---- diagnoses --------------------------------------------------------------------------------------------------- */

static void widen(ball *balls, int first, int last, double factor) {
    for (int k = first; k <= last; k++) {
        balls[k].radius *= factor;
        balls[k].centre[0] += 0.06 * (factor - 1);
    }
}

static void scale(ellipsoid *shape, double x, double y, double z) {
    shape->semi[0] *= x;
    shape->semi[1] *= y;
    shape->semi[2] *= z;
}

static void move(ellipsoid *shape, double y, double z) {
    shape->centre[1] += y;
    shape->centre[2] += z;
}

/* A small cerebellum drawn down into the canal, no CSF around it, wide ventricles, a lemon-shaped head. */
static void make_spina_bifida(anatomy *a, random_stream *stream) {
    const double wide = random_between(stream, 1.7, 2.4), small = random_between(stream, 0.55, 0.75);
    const double down = random_between(stream, -0.26, -0.08);
    for (int side = 0; side < 2; side++) widen(a->ventricles[side], 0, VENTRICLE_BALLS - 1, wide);
    scale(&a->third, 1.4, 1, 1.2);
    a->cerebellum.centre[0] *= small;
    scale(&a->cerebellum, small, 0.85 * small, 1.15 * small);
    scale(&a->vermis, small, 0.85 * small, 1.4 * small);
    move(&a->cerebellum, 0.12, down);
    move(&a->vermis, 0.12, down);
    scale(&a->fourth, 0.5, 0.5, 0.6);
    move(&a->fourth, 0.02, 0.5 * down);
    a->fossa = (ellipsoid){{0, -0.4, -0.4 + 0.7 * down}, {0.05 + 0.46 * small, 0.07 + 0.2 * small, 0.1 + 0.25 * small}};
    a->tentorium -= 0.12;
    a->gap *= 0.5;
    a->lemon = random_between(stream, 0.2, 0.4);
}

static void make_no_callosum(anatomy *a, random_stream *stream) {
    const double wide = random_between(stream, 1.6, 2.2);
    for (int side = 0; side < 2; side++) {
        ball *balls = a->ventricles[side];
        widen(balls, VENTRICLE_ATRIUM, VENTRICLE_BACK, wide);
        balls[VENTRICLE_FRONT].centre[0] = 0.24;
        balls[VENTRICLE_BODY].centre[0] = 0.26;
        balls[VENTRICLE_FRONT].radius *= 0.75;
    }
    a->has_cavum = 0;
    a->fissure_floor = 0.14;
    a->fissure *= 1.4;
    a->third = (ellipsoid){{0, 0.02, 0.14}, {0.07, 0.2, 0.22}};
}

static void make_one_sided(anatomy *a, random_stream *stream) {
    widen(a->ventricles[random_below(stream, 2)], 0, VENTRICLE_BALLS - 1, random_between(stream, 1.9, 2.7));
}

static void make_fossa_cyst(anatomy *a, random_stream *stream) {
    const double small = random_between(stream, 0.72, 0.88), up = random_between(stream, 0.04, 0.1);
    scale(&a->cerebellum, small, small, small);
    scale(&a->vermis, small, small, 0.7 * small);
    move(&a->cerebellum, 0.06, up);
    move(&a->vermis, 0.06, up);
    scale(&a->fossa, 1.1, 1.2, 1.2);
    scale(&a->fourth, 1.5, 1.2, 1.2);
}

static void apply(anatomy *a, random_stream *stream) {
    switch (a->diagnosis) {
    case DIAGNOSIS_NONE: return;
    case DIAGNOSIS_SPINA_BIFIDA: make_spina_bifida(a, stream); return;
    case DIAGNOSIS_NO_CALLOSUM: make_no_callosum(a, stream); return;
    case DIAGNOSIS_ONE_SIDED: make_one_sided(a, stream); return;
    case DIAGNOSIS_FOSSA_CYST: make_fossa_cyst(a, stream); return;
    }
}

void anatomy_draw(anatomy *a, diagnosis diagnosis, random_stream *stream) {
    memset(a, 0, sizeof *a);
    a->diagnosis = diagnosis;
    a->weeks = random_between(stream, YOUNGEST, OLDEST);
    a->growth = (a->weeks - YOUNGEST) / (OLDEST - YOUNGEST);
    a->length = (33 + 18 * a->growth) * random_between(stream, 0.95, 1.05);
    draw_pose(a, stream);
    plan_cerebrum(a, stream);
    plan_ventricles(a, stream);
    plan_fossa(a, stream);
    plan_body(a);
    apply(a, stream);
}
