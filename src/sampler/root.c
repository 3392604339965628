#include "sampler/root.h"

#include <math.h>

/* Chandrupatla 1997: inverse quadratic interpolation where it is safe, bisection where it is not. */
double root_between(root_function *function, const void *context, double low, double high) {
    double a = low, b = high, fa = function(context, a), fb = function(context, b);
    if (fa == 0) return a;
    if (fb == 0) return b;
    if ((fa > 0) == (fb > 0)) return fabs(fa) < fabs(fb) ? a : b;
    double step = 0.5;
    for (int turn = 0; turn < 200; turn++) {
        const double x = a + step * (b - a), fx = function(context, x);
        double c, fc;
        if ((fx > 0) == (fa > 0)) {
            c = a, fc = fa;
        } else {
            c = b, fc = fb;
            b = a, fb = fa;
        }
        a = x, fa = fx;
        const double best = fabs(fa) < fabs(fb) ? a : b;
        const double resolution = 0x1p-52 * (1 + fabs(best));
        if (fa == 0 || fabs(b - a) <= resolution) return best;
        const double xi = (a - b) / (c - b), phi = (fa - fb) / (fc - fb);
        if (phi * phi < xi && (1 - phi) * (1 - phi) < 1 - xi)
            step = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb);
        else step = 0.5;
        const double least = 0.5 * resolution / fabs(b - a);
        step = step < least ? least : step > 1 - least ? 1 - least : step;
    }
    return fabs(fa) < fabs(fb) ? a : b;
}
