#include "sampler/divergence.h"

#include "core/portable_math.h"
#include "sampler/error.h"
#include "sampler/loss_order.h"
#include "sampler/root.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number with a decimal point, whatever the decimal sign of the program's locale; 0 when the text is not one. */
static int parse_number(const char *text, double *number) {
    char local[64];
    if (strlen(text) >= sizeof local || strchr(text, ',') || isspace((unsigned char)*text)) return 0;
    strcpy(local, text);
    char *point = strchr(local, '.');
    if (point) *point = *localeconv()->decimal_point;
    char *end;
    *number = strtod(local, &end);
    return end != local && !*end;
}

static hws_status no_such_divergence(const char *text, hws_error *error) {
    return error_set(
        error, HWS_ERROR_ARGUMENT,
        "there is no divergence '%.40s'; there are kl, chi2, reverse-kl, hellinger, cressie-read:K, js and "
        "cvar:ALPHA, with K from -100 to 100 and ALPHA above 0 and at most 1",
        text);
}

hws_status hws_divergence_parse(const char *text, hws_divergence *divergence, hws_error *error) {
    static const struct {
        const char *name;
        hws_divergence_kind kind;
        int parameter;
    } names[] = {
        {"kl", HWS_KL, 0},
        {"chi2", HWS_CHI2, 0},
        {"reverse-kl", HWS_REVERSE_KL, 0},
        {"hellinger", HWS_HELLINGER, 0},
        {"cressie-read", HWS_CRESSIE_READ, 1},
        {"js", HWS_JENSEN_SHANNON, 0},
        {"cvar", HWS_CVAR, 1},
    };
    error_clear(error);
    if (!text || !divergence) return error_set(error, HWS_ERROR_ARGUMENT, "the text or the divergence is NULL");
    const size_t length = strcspn(text, ":");
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        if (strlen(names[k].name) != length || strncmp(text, names[k].name, length) != 0) continue;
        hws_divergence parsed = {.kind = names[k].kind};
        if (names[k].parameter != (text[length] == ':')) break;
        if (names[k].parameter && !parse_number(text + length + 1, &parsed.parameter)) break;
        if (divergence_check(&parsed, 1, NULL) != HWS_OK) break;
        *divergence = parsed;
        return HWS_OK;
    }
    return no_such_divergence(text, error);
}

/* slope_inverse must undo slope, slope must rise and be 0 at 1. */
static int custom_is_consistent(const hws_divergence *divergence, double n) {
    void *context = divergence->context;
    if (!(fabs(divergence->slope(1, context)) <= 1e-9)) return 0;
    double previous = divergence->slope(0, context);
    if (!(previous < 0)) return 0;
    for (double z = 1.0 / 64; z <= n; z *= 1.5) {
        const double y = divergence->slope(z, context);
        if (!(y > previous)) return 0;
        if (!(fabs(divergence->slope_inverse(y, context) - z) <= 1e-6 * z)) return 0;
        previous = y;
    }
    return !divergence->phi || fabs(divergence->phi(1, context)) <= 1e-9;
}

static hws_status check_custom(const hws_divergence *divergence, int64_t n, hws_error *error) {
    if (!divergence->slope || !divergence->slope_inverse)
        return error_set(error, HWS_ERROR_DIVERGENCE, "the custom divergence lacks slope or slope_inverse");
    if (custom_is_consistent(divergence, (double)n)) return HWS_OK;
    return error_set(error, HWS_ERROR_DIVERGENCE,
                     "the custom divergence is inconsistent: phi' must rise from below 0 through 0 at z = 1, "
                     "slope_inverse must undo slope, and phi(1) must be 0");
}

hws_status divergence_check(const hws_divergence *divergence, int64_t n, hws_error *error) {
    for (size_t k = 0; k < sizeof divergence->reserved / sizeof *divergence->reserved; k++)
        if (divergence->reserved[k] != 0)
            return error_set(error, HWS_ERROR_ARGUMENT,
                             "the divergence's reserved room is not 0: begin with {0}; or the program was built for a "
                             "newer libhws than %s",
                             HWS_VERSION);
    switch (divergence->kind) {
    case HWS_KL:
    case HWS_CHI2:
    case HWS_REVERSE_KL:
    case HWS_HELLINGER:
    case HWS_JENSEN_SHANNON: return HWS_OK;
    case HWS_CRESSIE_READ:
        if (fabs(divergence->parameter) <= 100) return HWS_OK;
        return error_set(error, HWS_ERROR_ARGUMENT, "k of Cressie-Read is %g; it must be from -100 to 100",
                         divergence->parameter);
    case HWS_CVAR:
        if (divergence->parameter > 0 && divergence->parameter <= 1) return HWS_OK;
        return error_set(error, HWS_ERROR_ARGUMENT, "the fraction of CVaR is %g; it must be above 0 and at most 1",
                         divergence->parameter);
    case HWS_CUSTOM: return check_custom(divergence, n, error);
    }
    return error_set(error, HWS_ERROR_ARGUMENT, "there is no divergence of kind %d", (int)divergence->kind);
}

hws_divergence divergence_canonical(const hws_divergence *divergence) {
    hws_divergence canonical = *divergence;
    if (divergence->kind != HWS_CRESSIE_READ) return canonical;
    if (divergence->parameter == 0) canonical.kind = HWS_REVERSE_KL;
    if (divergence->parameter == 1) canonical.kind = HWS_KL;
    if (divergence->parameter == 2) canonical.kind = HWS_CHI2;
    return canonical;
}

double divergence_phi(const hws_divergence *divergence, double z) {
    const double k = divergence->parameter;
    switch (divergence->kind) {
    case HWS_KL: return z > 0 ? z * hws_log(z) - z + 1 : 1;
    case HWS_CHI2: return (z - 1) * (z - 1) / 2;
    case HWS_REVERSE_KL: return z - 1 - hws_log(z);
    case HWS_HELLINGER: return (sqrt(z) - 1) * (sqrt(z) - 1);
    case HWS_CRESSIE_READ: return (hws_pow(z, k) - k * z + k - 1) / (k * (k - 1));
    case HWS_JENSEN_SHANNON: return (z > 0 ? z * hws_log(z) : 0) - (z + 1) * hws_log((z + 1) / 2);
    case HWS_CVAR: return 0;
    case HWS_CUSTOM: return divergence->phi ? divergence->phi(z, divergence->context) : NAN;
    }
    return NAN;
}

tilt tilt_at(const hws_divergence *divergence, double z, double most) {
    tilt tilt = {.divergence = divergence, .z = z};
    switch (divergence->kind) {
    case HWS_REVERSE_KL: tilt.base = 1 / z; break;
    case HWS_HELLINGER: tilt.base = 1 / sqrt(z); break;
    case HWS_CRESSIE_READ:
        tilt.base = hws_pow(z, divergence->parameter - 1);
        tilt.power = 1 / (divergence->parameter - 1);
        break;
    case HWS_CUSTOM:
        tilt.base = divergence->slope(z, divergence->context);
        tilt.slope_zero = divergence->slope(0, divergence->context);
        tilt.slope_most = divergence->slope(most, divergence->context);
        break;
    default: break;
    }
    return tilt;
}

static double custom_value(const tilt *tilt, double t) {
    const double y = tilt->base - t;
    if (y <= tilt->slope_zero) return 0;
    if (!(y <= tilt->slope_most)) return INFINITY;
    const double value = tilt->divergence->slope_inverse(y, tilt->divergence->context);
    return value >= 0 ? value : value < 0 ? 0 : INFINITY;
}

static double cressie_read_value(const tilt *tilt, double t) {
    const double change = (tilt->divergence->parameter - 1) * t;
    if (change == 0) return tilt->z;
    /* Relative to z where possible: z^(k - 1) may be beyond doubles, and for k near 1 its last digit counts. */
    if (fabs(change) <= 0.5 * tilt->base) return tilt->z * hws_exp(tilt->power * hws_log1p(-change / tilt->base));
    const double rest = tilt->base - change;
    if (rest > 0) return hws_pow(rest, tilt->power);
    return tilt->power > 0 ? 0 : INFINITY;
}

double tilt_value(const tilt *tilt, double t) {
    double rest;
    switch (tilt->divergence->kind) {
    case HWS_KL: return tilt->z * hws_exp(-t);
    case HWS_CHI2: return t < tilt->z ? tilt->z - t : 0;
    case HWS_REVERSE_KL: rest = tilt->base + t; return rest > 0 ? 1 / rest : INFINITY;
    case HWS_HELLINGER: rest = tilt->base + t; return rest > 0 ? 1 / (rest * rest) : INFINITY;
    case HWS_CRESSIE_READ: return cressie_read_value(tilt, t);
    case HWS_JENSEN_SHANNON:
        rest = 1 - tilt->z * hws_expm1(-t);
        return rest > 0 ? tilt->z * hws_exp(-t) / rest : INFINITY;
    case HWS_CUSTOM: return custom_value(tilt, t);
    case HWS_CVAR: break;
    }
    return NAN;
}

typedef struct losses_view {
    const hws_divergence *divergence;
    double beta, largest;
    const loss_list *list;
} losses_view;

double tilt_excess(const tilt *tilt, double beta, double reference, const loss_list *list) {
    /* Plain sums of short blocks, added up with care: as good as all with care, and much faster. */
    enum { BLOCK = 64 };
    const float *losses = list->losses;
    wide_sum sum = {-(double)list->known, 0};
    for (size_t first = 0; first < list->n; first += BLOCK) {
        const size_t end = list->n - first < BLOCK ? list->n : first + BLOCK;
        double block = 0;
        for (size_t i = first; i < end; i++)
            if (is_known(losses[i])) block += tilt_value(tilt, beta * (reference - losses[i]));
        if (!(block < INFINITY)) return INFINITY;
        sum = wide_add_double(sum, block);
    }
    return sum.high;
}

/* sum(n p) - n as a function of ln z. */
static double excess(const void *context, double log_z) {
    const losses_view *view = context;
    const tilt tilt = tilt_at(view->divergence, hws_exp(log_z), (double)view->list->n);
    return tilt_excess(&tilt, view->beta, view->largest, view->list);
}

static double solve_kl(const losses_view *view) {
    const loss_list *list = view->list;
    wide_sum sum = {0, 0};
    for (size_t i = 0; i < list->n; i++)
        if (is_known(list->losses[i]))
            sum = wide_add_double(sum, hws_exp(-view->beta * (view->largest - list->losses[i])));
    return (double)list->known / sum.high;
}

/* sum(max(0, z - t)) = n: Newton from the right goes down and stops at the exact set of positive terms. */
static double solve_chi2(const losses_view *view) {
    const loss_list *list = view->list;
    double z = (double)list->known;
    for (;;) {
        wide_sum sum = {(double)list->known, 0};
        size_t count = 0;
        for (size_t i = 0; i < list->n; i++) {
            if (!is_known(list->losses[i])) continue;
            const double t = view->beta * (view->largest - list->losses[i]);
            if (t >= z) continue;
            sum = wide_add_double(sum, t);
            count++;
        }
        const double next = sum.high / (double)count;
        if (!(next < z)) return z;
        z = next;
    }
}

double divergence_solve(const hws_divergence *divergence, double beta, const loss_list *list, double largest) {
    const losses_view view = {divergence, beta, largest, list};
    if (divergence->kind == HWS_KL) return solve_kl(&view);
    if (divergence->kind == HWS_CHI2) return solve_chi2(&view);
    return hws_exp(root_between(excess, &view, 0, hws_log((double)list->known)));
}

cvar_boundary cvar_boundary_of(double alpha, double n, double boundary, double above, double ties) {
    const double total = cvar_total(alpha, n), left = total - above;
    const double fraction = left < 0 ? 0 : left > ties ? 1 : left / ties;
    return (cvar_boundary){boundary, fraction, total};
}

size_t cvar_boundary_rank(double alpha, size_t n) {
    const double rank = ceil(alpha * (double)n) - 1;
    return rank < 0 ? 0 : rank > (double)(n - 1) ? n - 1 : (size_t)rank;
}

cvar_boundary cvar_boundary_find(double alpha, const loss_list *list) {
    const float boundary = loss_of_rank(list->losses, list->n, cvar_boundary_rank(alpha, list->known));
    size_t above = 0, ties = 0;
    for (size_t i = 0; i < list->n; i++) {
        above += list->losses[i] > boundary;
        ties += list->losses[i] == boundary;
    }
    return cvar_boundary_of(alpha, (double)list->known, boundary, (double)above, (double)ties);
}
