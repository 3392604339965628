/*
 * The level window: keeps the normaliser of a general divergence current in O(1) per changed loss.
 *
 * The level is ln z at a fixed reference loss (see divergence.h). The window holds F = sum(n p) at eight Chebyshev
 * levels around the last exact solution, as sums of 64.64-bit fixed-point numbers: a changed loss takes its old terms
 * out and puts its new ones in, without rounding, so nothing drifts. F is interpolated in between, and F(level) = n
 * is solved there. When the solution leaves the window, O(n) work moves it.
 */
#ifndef HWS_SAMPLER_LEVEL_WINDOW_H
#define HWS_SAMPLER_LEVEL_WINDOW_H

#include "sampler/divergence.h"

enum { WINDOW_NODES = 8, WINDOW_PROBES = 2 };

typedef struct fixed_sum {
    uint64_t whole, fraction;
} fixed_sum;

/* What a state file must keep so that a resumed sampler goes on to the same bits. */
typedef struct window_place {
    double reference, center, half;
    double error; /* of the interpolation, added up */
} window_place;

typedef struct level_window {
    const hws_divergence *divergence;
    double beta;
    size_t n;    /* losses */
    double most; /* the largest n p that the divergence can be asked about */
    int valid;   /* the sums hold for the current losses */
    window_place place;
    tilt tilts[WINDOW_NODES], probes[WINDOW_PROBES];
    fixed_sum sums[WINDOW_NODES];
} level_window;

/* Takes a loss out, puts one in. Marks the window invalid when a term is outside the divergence's domain. */
void level_window_remove(level_window *window, double loss);
void level_window_add(level_window *window, double loss);

/* Puts the window where a state says it was, O(n). 0 if no window can have been there: it would interpolate worse than
   its error says, or than any is allowed to. `list` has all examples, known or not. */
int level_window_restore(level_window *window, const loss_list *list, window_place place);

/* Where the weights sum to n: z at the reference loss. Where they are so steep in z that its last digit shows, `total`
   is what they really sum to. */
typedef struct solved_level {
    double reference, z, total;
} solved_level;

/*
 * The current level. From the window where it holds, else by an exact solution with O(n) steps, after which the window
 * is moved there. `largest` must be the largest loss.
 */
solved_level level_window_solve(level_window *window, const loss_list *list, double largest);

#endif
