#include "images/pen.h"

#include <math.h>

enum { STEPS = 8 }; /* straight pieces between two points */

/* Not fmin and fmax, which are slow calls where NaN has to be cared for. */
static double smaller(double a, double b) { return a < b ? a : b; }
static double larger(double a, double b) { return a > b ? a : b; }
static double clamp(double value, double low, double high) { return value < low ? low : value > high ? high : value; }

/* How much ink a straight piece leaves at (x, y): by the distance to it, and the pen's width at the nearest place. */
static double ink_at(const pen_point *a, const pen_point *b, double x, double y, double softness) {
    const double dx = b->x - a->x, dy = b->y - a->y, square = dx * dx + dy * dy;
    const double along = square > 0 ? clamp(((x - a->x) * dx + (y - a->y) * dy) / square, 0, 1) : 0;
    const double ex = x - a->x - along * dx, ey = y - a->y - along * dy;
    const double radius = a->radius + along * (b->radius - a->radius);
    const double far = radius + 0.5 * softness, distance = ex * ex + ey * ey;
    return distance >= far * far ? 0 : clamp((radius - sqrt(distance)) / softness + 0.5, 0, 1);
}

/* The range of pixels that something from `low` to `high` can touch. */
static void pixels_of(double low, double high, double reach, int size, int *first, int *last) {
    *first = (int)clamp(low - reach, 0, size);
    *last = (int)clamp(high + reach + 1, 0, size) - 1;
}

static void draw_piece(pen_canvas *canvas, const pen_point *a, const pen_point *b) {
    const double reach = larger(a->radius, b->radius) + 0.5 * canvas->softness;
    int left, right, top, bottom;
    pixels_of(smaller(a->x, b->x), larger(a->x, b->x), reach, canvas->width, &left, &right);
    pixels_of(smaller(a->y, b->y), larger(a->y, b->y), reach, canvas->height, &top, &bottom);
    for (int y = top; y <= bottom; y++)
        for (int x = left; x <= right; x++) {
            double *ink = &canvas->ink[y * canvas->width + x];
            *ink = larger(*ink, ink_at(a, b, x, y, canvas->softness));
        }
}

static double spline(double a, double b, double c, double d, double t) {
    return b + 0.5 * t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)));
}

static pen_point between(const pen_point *p, int count, int k, double t) {
    const pen_point *b = &p[k], *c = &p[k + 1];
    const pen_point *a = k > 0 ? b - 1 : b, *d = k + 2 < count ? c + 1 : c;
    return (pen_point){spline(a->x, b->x, c->x, d->x, t), spline(a->y, b->y, c->y, d->y, t),
                       b->radius + t * (c->radius - b->radius)};
}

void pen_draw(pen_canvas *canvas, const pen_point *points, int count) {
    pen_point last = points[0];
    if (count == 1) draw_piece(canvas, &last, &last);
    for (int k = 0; k + 1 < count; k++)
        for (int step = 1; step <= STEPS; step++) {
            const pen_point next = between(points, count, k, (double)step / STEPS);
            draw_piece(canvas, &last, &next);
            last = next;
        }
}
