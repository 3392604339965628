/* One of each divergence, custom ones included, for the tests that go through all of them. */
#ifndef HWS_TESTS_EVERY_DIVERGENCE_H
#define HWS_TESTS_EVERY_DIVERGENCE_H

#include "hws.h"

#include <math.h>
#include <stddef.h>

/* Kullback-Leibler and squared Hellinger as a caller would write them. */
static inline double custom_kl_slope(double z, void *context) { return (void)context, z > 0 ? log(z) : -INFINITY; }
static inline double custom_kl_inverse(double y, void *context) { return (void)context, exp(y); }
static inline double custom_kl_phi(double z, void *context) { return (void)context, z > 0 ? z * log(z) - z + 1 : 1; }

static inline double custom_hellinger_slope(double z, void *context) {
    return (void)context, z > 0 ? 1 - 1 / sqrt(z) : -INFINITY;
}
static inline double custom_hellinger_inverse(double y, void *context) {
    return (void)context, 1 / ((1 - y) * (1 - y));
}
static inline double custom_hellinger_phi(double z, void *context) {
    return (void)context, (sqrt(z) - 1) * (sqrt(z) - 1);
}

static const hws_divergence CUSTOM_KL = {
    .kind = HWS_CUSTOM, .slope = custom_kl_slope, .slope_inverse = custom_kl_inverse, .phi = custom_kl_phi};
static const hws_divergence CUSTOM_HELLINGER = {.kind = HWS_CUSTOM,
                                                .slope = custom_hellinger_slope,
                                                .slope_inverse = custom_hellinger_inverse,
                                                .phi = custom_hellinger_phi};

enum { DIVERGENCES = 13 };

static inline hws_divergence divergence_number(size_t which) {
    static const struct {
        hws_divergence_kind kind;
        double parameter;
    } built_in[DIVERGENCES - 2] = {
        {HWS_KL, 0},           {HWS_CHI2, 0},           {HWS_REVERSE_KL, 0},     {HWS_HELLINGER, 0},
        {HWS_CRESSIE_READ, 3}, {HWS_CRESSIE_READ, 1.5}, {HWS_CRESSIE_READ, 0.3}, {HWS_CRESSIE_READ, -1},
        {HWS_CRESSIE_READ, 1}, {HWS_JENSEN_SHANNON, 0}, {HWS_CVAR, 0.3},
    };
    if (which == DIVERGENCES - 2) return CUSTOM_KL;
    if (which == DIVERGENCES - 1) return CUSTOM_HELLINGER;
    return (hws_divergence){.kind = built_in[which].kind, .parameter = built_in[which].parameter};
}

#endif
