#include "sampler/level_window.h"

#include "core/portable_math.h"
#include "sampler/root.h"

#include <math.h>

/* cos((2 j + 1) pi / 16) and the barycentric weights (-1)^j sin((2 j + 1) pi / 16) that belong to it. */
static const double NODE[WINDOW_NODES] = {0.98078528040323043,  0.83146961230254524,  0.55557023301960218,
                                          0.19509032201612825,  -0.19509032201612825, -0.55557023301960218,
                                          -0.83146961230254524, -0.98078528040323043};
static const double WEIGHT[WINDOW_NODES] = {0.19509032201612825,  -0.55557023301960218, 0.83146961230254524,
                                            -0.98078528040323043, 0.98078528040323043,  -0.83146961230254524,
                                            0.55557023301960218,  -0.19509032201612825};

/* Places between the outer nodes, where interpolation is at its worst. */
static const double PROBE[WINDOW_PROBES] = {-0.92, 0.92};

/* Below this size solving outright is as cheap. */
static const size_t SMALLEST = 256;

/* How far interpolation may miss F, as a share of n. */
static const double TOLERANCE = 1e-13;

static fixed_sum fixed_of(double value) {
    const double whole = floor(value);
    return (fixed_sum){(uint64_t)whole, (uint64_t)((value - whole) * 0x1p64)};
}

static fixed_sum fixed_add(fixed_sum a, fixed_sum b) {
    const uint64_t fraction = a.fraction + b.fraction;
    return (fixed_sum){a.whole + b.whole + (fraction < a.fraction), fraction};
}

static fixed_sum fixed_subtract(fixed_sum a, fixed_sum b) {
    return (fixed_sum){a.whole - b.whole - (a.fraction < b.fraction), a.fraction - b.fraction};
}

static double fixed_value(fixed_sum a) { return (double)a.whole + (double)a.fraction * 0x1p-64; }

/* The interpolating polynomial through the values at the nodes (barycentric formula). */
static double interpolate(const double values[WINDOW_NODES], double x) {
    double numerator = 0, denominator = 0;
    for (int j = 0; j < WINDOW_NODES; j++) {
        if (x == NODE[j]) return values[j];
        const double share = WEIGHT[j] / (x - NODE[j]);
        numerator += share * values[j];
        denominator += share;
    }
    return numerator / denominator;
}

/* One loss's terms at the nodes; 0 when one is outside the domain. */
static int terms_of(const level_window *window, double t, double terms[WINDOW_NODES]) {
    for (int j = 0; j < WINDOW_NODES; j++) {
        terms[j] = tilt_value(&window->tilts[j], t);
        if (!(terms[j] < 0x1p40)) return 0;
    }
    return 1;
}

void level_window_remove(level_window *window, double loss) {
    if (!window->valid) return;
    double terms[WINDOW_NODES];
    window->valid = terms_of(window, window->beta * (window->place.reference - loss), terms);
    for (int j = 0; j < WINDOW_NODES && window->valid; j++)
        window->sums[j] = fixed_subtract(window->sums[j], fixed_of(terms[j]));
}

/* Puts a loss in; returns how far interpolation may miss its terms. */
static double add_terms(level_window *window, double loss) {
    double terms[WINDOW_NODES], error = 0;
    const double t = window->beta * (window->place.reference - loss);
    window->valid = terms_of(window, t, terms);
    for (int j = 0; j < WINDOW_NODES && window->valid; j++)
        window->sums[j] = fixed_add(window->sums[j], fixed_of(terms[j]));
    for (int k = 0; k < WINDOW_PROBES && window->valid; k++)
        error = fmax(error, fabs(interpolate(terms, PROBE[k]) - tilt_value(&window->probes[k], t)));
    return error;
}

void level_window_add(level_window *window, double loss) {
    if (!window->valid) return;
    window->place.error += add_terms(window, loss);
    if (!(window->place.error <= TOLERANCE * (double)window->n)) window->valid = 0;
}

static tilt tilt_in(const level_window *window, double x) {
    return tilt_at(window->divergence, hws_exp(window->place.center + window->place.half * x), window->most);
}

/* Computes the sums for a place; returns how far interpolation may miss F, as soon as that is more than `most`. */
static double fill(level_window *window, const loss_list *list, window_place place, double most) {
    double error = 0;
    window->place = place;
    for (int j = 0; j < WINDOW_NODES; j++) {
        window->tilts[j] = tilt_in(window, NODE[j]);
        window->sums[j] = (fixed_sum){0, 0};
    }
    for (int k = 0; k < WINDOW_PROBES; k++) window->probes[k] = tilt_in(window, PROBE[k]);
    window->valid = 1;
    for (size_t i = 0; i < list->n && window->valid && error <= most; i++)
        if (is_known(list->losses[i])) error += add_terms(window, list->losses[i]);
    return error;
}

/* The error that was kept counts losses that have been replaced meanwhile, too, and adds up in another order. */
int level_window_restore(level_window *window, const loss_list *list, window_place place) {
    const double most = TOLERANCE * (double)list->n;
    if (list->n < SMALLEST || window->beta == 0 || !(place.error <= most)) return 0;
    const double error = fill(window, list, place, most);
    return window->valid && error <= place.error * (1 + 1e-6);
}

/* F - n at center + half * x. */
static double interpolated_excess(const void *context, double x) {
    const level_window *window = context;
    double values[WINDOW_NODES];
    for (int j = 0; j < WINDOW_NODES; j++) values[j] = fixed_value(window->sums[j]) - (double)window->n;
    return interpolate(values, x);
}

/* Puts the widest window around the level that interpolates well, or none. */
static void place_around(level_window *window, const loss_list *list, double reference, double center) {
    window->valid = 0;
    if (window->n < SMALLEST || window->beta == 0) return;
    for (double half = 0.1; half > 1e-5; half /= 5) {
        const double most = TOLERANCE * (double)window->n;
        window->place.error = fill(window, list, (window_place){reference, center, half, 0}, most);
        if (!(window->place.error <= most)) window->valid = 0;
        if (window->valid) return;
    }
}

static int holds(const level_window *window) {
    return window->valid && interpolated_excess(window, -1) <= 0 && interpolated_excess(window, 1) >= 0;
}

solved_level level_window_solve(level_window *window, const loss_list *list, double largest) {
    const double n = (double)window->n;
    if (!holds(window)) {
        const double z = divergence_solve(window->divergence, window->beta, list, largest);
        place_around(window, list, largest, hws_log(z));
        if (!holds(window)) {
            const tilt tilt = tilt_at(window->divergence, z, window->most);
            return (solved_level){largest, z, n + tilt_excess(&tilt, window->beta, largest, list)};
        }
    }
    /* Also right after a move, so that a resumed sampler, which finds the window in place, gets the same bits. */
    const double x = root_between(interpolated_excess, window, -1, 1);
    return (solved_level){window->place.reference, hws_exp(window->place.center + window->place.half * x), n};
}
