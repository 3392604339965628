#include "core/random.h"

#include "core/portable_math.h"

#include <math.h>

double random_normal(random_stream *stream) {
    /* Marsaglia's polar method: logarithm and square root only, no trigonometry that differs between machines. */
    for (;;) {
        const double a = 2 * random_unit(stream) - 1, b = 2 * random_unit(stream) - 1;
        const double square = a * a + b * b;
        if (square > 0 && square < 1) return a * sqrt(-2 * hws_log(square) / square);
    }
}
