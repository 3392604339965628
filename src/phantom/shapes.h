/* Ellipsoids and tubes, by how far a point is outside of them (negative: inside). Only + - * / and sqrt. */
#ifndef HWS_PHANTOM_SHAPES_H
#define HWS_PHANTOM_SHAPES_H

#include <math.h>

typedef struct ellipsoid {
    double centre[3], semi[3];
} ellipsoid;

typedef struct ball {
    double centre[3], radius;
} ball;

/* The distance to first order, which is exact at the surface. */
static inline double ellipsoid_distance(const ellipsoid *shape, const double p[3]) {
    double level = 0, slope = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double scaled = (p[axis] - shape->centre[axis]) / shape->semi[axis];
        level += scaled * scaled;
        slope += scaled * scaled / (shape->semi[axis] * shape->semi[axis]);
    }
    if (slope < 1e-12) return -shape->semi[0];
    return (level - sqrt(level)) / sqrt(slope);
}

/* The hull of two balls, nearly. */
static inline double tube_distance(const ball *a, const ball *b, const double p[3]) {
    double along = 0, length = 0, distance = 0;
    for (int axis = 0; axis < 3; axis++) {
        const double way = b->centre[axis] - a->centre[axis];
        along += (p[axis] - a->centre[axis]) * way;
        length += way * way;
    }
    double fraction = along / length;
    fraction = fraction < 0 ? 0 : fraction > 1 ? 1 : fraction;
    for (int axis = 0; axis < 3; axis++) {
        const double off = p[axis] - (a->centre[axis] + fraction * (b->centre[axis] - a->centre[axis]));
        distance += off * off;
    }
    return sqrt(distance) - (a->radius + fraction * (b->radius - a->radius));
}

#endif
