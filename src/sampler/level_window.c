#include "level_window.h"

#include "portable_math.h"
#include "root.h"

#include <math.h>

/* cos((2 j + 1) pi / 16) and the barycentric weights (-1)^j sin((2 j + 1) pi / 16) that belong to it. */
static const double NODE[WINDOW_NODES] = {0.98078528040323043,  0.83146961230254524,  0.55557023301960218,
                                          0.19509032201612825,  -0.19509032201612825, -0.55557023301960218,
                                          -0.83146961230254524, -0.98078528040323043};
static const double WEIGHT[WINDOW_NODES] = {0.19509032201612825,  -0.55557023301960218, 0.83146961230254524,
                                            -0.98078528040323043, 0.98078528040323043,  -0.83146961230254524,
                                            0.55557023301960218,  -0.19509032201612825};

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

static void change(level_window *window, double loss, fixed_sum (*apply)(fixed_sum, fixed_sum)) {
    if (!window->valid) return;
    const double t = window->beta * (window->place.reference - loss);
    for (int j = 0; j < WINDOW_NODES; j++) {
        const double value = tilt_value(&window->tilts[j], t);
        if (!(value < 0x1p40)) {
            window->valid = 0;
            return;
        }
        window->sums[j] = apply(window->sums[j], fixed_of(value));
    }
    window->place.changes++;
}

void level_window_remove(level_window *window, double loss) { change(window, loss, fixed_subtract); }

void level_window_add(level_window *window, double loss) { change(window, loss, fixed_add); }

void level_window_fill(level_window *window, const float *losses, window_place place) {
    window->place = place;
    for (int j = 0; j < WINDOW_NODES; j++) {
        window->tilts[j] =
            tilt_at(window->divergence, hws_exp(place.center + place.half * NODE[j]), (double)window->n);
        window->sums[j] = (fixed_sum){0, 0};
    }
    window->valid = 1;
    for (size_t i = 0; i < window->n && window->valid; i++) level_window_add(window, losses[i]);
    window->place.changes = place.changes;
}

/* F - n at center + half * x. */
static double interpolated_excess(const void *context, double x) {
    const level_window *window = context;
    double numerator = 0, denominator = 0;
    for (int j = 0; j < WINDOW_NODES; j++) {
        const double value = fixed_value(window->sums[j]) - (double)window->n;
        if (x == NODE[j]) return value;
        const double share = WEIGHT[j] / (x - NODE[j]);
        numerator += share * value;
        denominator += share;
    }
    return numerator / denominator;
}

/* Does interpolation agree with F where it is hardest, between the outer nodes? */
static int interpolates(const level_window *window, const float *losses) {
    static const double probes[] = {-0.92, -0.37, 0.37, 0.92};
    for (size_t k = 0; k < sizeof probes / sizeof *probes; k++) {
        const tilt tilt = tilt_at(window->divergence, hws_exp(window->place.center + window->place.half * probes[k]),
                                  (double)window->n);
        const double exact = tilt_excess(&tilt, window->beta, window->place.reference, losses, window->n);
        if (!(fabs(exact - interpolated_excess(window, probes[k])) <= TOLERANCE * (double)window->n)) return 0;
    }
    return 1;
}

/* Puts the widest window around the level that interpolates well, or none. */
static void place_around(level_window *window, const float *losses, double reference, double center) {
    window->valid = 0;
    if (window->n < SMALLEST || window->beta == 0) return;
    for (double half = 0.1; half > 1e-5; half /= 5) {
        level_window_fill(window, losses, (window_place){reference, center, half, 0});
        if (window->valid && interpolates(window, losses)) return;
    }
    window->valid = 0;
}

static int holds(const level_window *window) {
    /* A window that many changes have gone through is renewed: losses may have come to where phi has a kink. */
    return window->valid && window->place.changes < 2 * window->n && interpolated_excess(window, -1) <= 0 &&
           interpolated_excess(window, 1) >= 0;
}

double level_window_solve(level_window *window, const float *losses, double largest, double *reference) {
    if (!holds(window)) {
        const double z = divergence_solve(window->divergence, window->beta, losses, window->n, largest);
        place_around(window, losses, largest, hws_log(z));
        *reference = largest;
        if (!holds(window)) return z;
    }
    /* Also right after a move, so that a resumed sampler, which finds the window in place, gets the same bits. */
    *reference = window->place.reference;
    return hws_exp(window->place.center + window->place.half * root_between(interpolated_excess, window, -1, 1));
}
