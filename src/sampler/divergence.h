/*
 * phi-divergences seen from the top: how much mass an example gets when the distance of its loss from a reference
 * loss and the mass at the reference are known.
 *
 * The paper has p_i = (1/n) max(0, (phi*)'(beta (L_i + lambda))) with lambda such that the p_i sum to 1. Here lambda
 * is expressed by z, which is n p at a reference loss: with t = beta (reference - L),
 *
 *     n p = max(0, (phi*)'(phi'(z) - t)).
 *
 * z lies in [1, n] when the reference is the largest loss, and the closed forms in z and t lose no digits to
 * cancellation, whatever the losses' range.
 */
#ifndef HWS_SAMPLER_DIVERGENCE_H
#define HWS_SAMPLER_DIVERGENCE_H

#include "hws.h"

#include <float.h>
#include <stddef.h>

/* Is it complete and consistent for n examples? For a custom one its callbacks are tried at some points. */
hws_status divergence_check(const hws_divergence *divergence, int64_t n, hws_error *error);

/* Cressie-Read 0, 1 and 2 are reverse KL, KL and chi-square: the kind that does the work. */
hws_divergence divergence_canonical(const hws_divergence *divergence);

/* phi(z). */
double divergence_phi(const hws_divergence *divergence, double z);

/* A divergence (not CVaR) with z fixed. */
typedef struct tilt {
    const hws_divergence *divergence;
    double z;
    double base;       /* what depends on z alone */
    double power;      /* Cressie-Read: 1 / (k - 1) */
    double slope_zero; /* custom: phi'(0) and phi' at the largest n p, the ends of the domain */
    double slope_most;
} tilt;

/* `most` is the largest n p that a custom divergence can be asked about. */
tilt tilt_at(const hws_divergence *divergence, double z, double most);

/* n p at distance t below the reference (above it when negative); infinite outside the domain of (phi*)'. */
double tilt_value(const tilt *tilt, double t);

/* Losses of n examples, of which `known` have one; the others stand as -infinity and have no part in anything. */
typedef struct loss_list {
    const float *losses;
    size_t n, known;
} loss_list;

static inline int is_known(float loss) { return loss >= -FLT_MAX; }

/* sum(n p) - n over the losses that are known, n being their number. */
double tilt_excess(const tilt *tilt, double beta, double reference, const loss_list *list);

/* z at the largest of the losses, so that the p_i sum to 1. `largest` must be that loss. O(n) per step. */
double divergence_solve(const hws_divergence *divergence, double beta, const loss_list *list, double largest);

/*
 * CVaR: losses above the boundary weigh 1, those at it weigh `fraction`, those below 0; and all weights sum to
 * `total`, alpha n.
 */
typedef struct cvar_boundary {
    double boundary, fraction, total;
} cvar_boundary;

/* A fraction below one example is one example: the hardest, or those that tie for it. */
static inline double cvar_total(double alpha, double n) { return alpha * n > 1 ? alpha * n : 1; }

/* For the counts of losses above and at the boundary, the latter being the loss of rank ceil(alpha n) - 1. */
cvar_boundary cvar_boundary_of(double alpha, double n, double boundary, double above, double ties);
size_t cvar_boundary_rank(double alpha, size_t n);

/* The same from the losses themselves, O(n). */
cvar_boundary cvar_boundary_find(double alpha, const loss_list *list);

static inline double cvar_weight(const cvar_boundary *cvar, double loss) {
    return loss > cvar->boundary ? 1 : loss == cvar->boundary ? cvar->fraction : 0;
}

#endif
