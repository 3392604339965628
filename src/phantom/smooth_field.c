#include "phantom/smooth_field.h"

void smooth_field_draw(smooth_field *field, double cell, random_stream *stream) {
    field->cell = cell;
    for (int k = 0; k < SMOOTH_FIELD_POINTS; k++) field->values[k] = (float)(2 * random_unit(stream) - 1);
}

/* The point of the lattice below, within one period, and how far behind it: flat at both ends. */
static int locate(double coordinate, double *fraction) {
    const double scaled = coordinate + 1024 * SMOOTH_FIELD_SIDE; /* not negative for anything near */
    const int below = scaled > 0 ? (int)scaled : 0;
    const double rest = scaled - below;
    *fraction = rest * rest * (3 - 2 * rest);
    return below % SMOOTH_FIELD_SIDE;
}

static double between(double a, double b, double fraction) { return a + (b - a) * fraction; }

static double along_x(const smooth_field *field, int x, int y, int z, double fraction) {
    const float *row = field->values + (z * SMOOTH_FIELD_SIDE + y) * SMOOTH_FIELD_SIDE;
    return between((double)row[x], (double)row[(x + 1) % SMOOTH_FIELD_SIDE], fraction);
}

double smooth_field_at(const smooth_field *field, const double place[3]) {
    double fraction[3];
    int low[3], high[3];
    for (int axis = 0; axis < 3; axis++) {
        low[axis] = locate(place[axis] / field->cell, &fraction[axis]);
        high[axis] = (low[axis] + 1) % SMOOTH_FIELD_SIDE;
    }
    const double a = between(along_x(field, low[0], low[1], low[2], fraction[0]),
                             along_x(field, low[0], high[1], low[2], fraction[0]), fraction[1]);
    const double b = between(along_x(field, low[0], low[1], high[2], fraction[0]),
                             along_x(field, low[0], high[1], high[2], fraction[0]), fraction[1]);
    return between(a, b, fraction[2]);
}
