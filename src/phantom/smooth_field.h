/* A smooth random function of three coordinates: values on a lattice, and a smooth way between them. */
#ifndef HWS_PHANTOM_SMOOTH_FIELD_H
#define HWS_PHANTOM_SMOOTH_FIELD_H

#include "core/random.h"

enum { SMOOTH_FIELD_SIDE = 16, SMOOTH_FIELD_POINTS = SMOOTH_FIELD_SIDE * SMOOTH_FIELD_SIDE * SMOOTH_FIELD_SIDE };

/* The lattice repeats itself, so that the function is defined everywhere. */
typedef struct smooth_field {
    double cell; /* between points of the lattice */
    float values[SMOOTH_FIELD_POINTS];
} smooth_field;

/* Values are uniform in [-1, 1] at the lattice's points. */
void smooth_field_draw(smooth_field *field, double cell, random_stream *stream);

double smooth_field_at(const smooth_field *field, const double place[3]);

#endif
