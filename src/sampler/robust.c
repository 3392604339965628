#include "sampler/robust.h"

#include "core/portable_math.h"
#include "sampler/error.h"

#include <math.h>

double largest_of(const loss_list *list) {
    float largest = list->losses[0];
    for (size_t i = 1; i < list->n; i++) largest = list->losses[i] > largest ? list->losses[i] : largest;
    return largest;
}

double mean_of(const loss_list *list) {
    wide_sum sum = {0, 0};
    for (size_t i = 0; i < list->n; i++)
        if (is_known(list->losses[i])) sum = wide_add_double(sum, list->losses[i]);
    return sum.high / (double)list->known;
}

double deviation_of(const loss_list *list, double mean) {
    wide_sum squares = {0, 0};
    for (size_t i = 0; i < list->n; i++)
        if (is_known(list->losses[i]))
            squares = wide_add_double(squares, (list->losses[i] - mean) * (list->losses[i] - mean));
    return sqrt(squares.high / (double)list->known);
}

tilted_law tilted_law_of(const hws_divergence *divergence, double beta, const loss_list *list) {
    tilted_law law = {.beta = beta, .n = (double)list->known, .largest = largest_of(list)};
    if (divergence->kind == HWS_CVAR) {
        law.cvar = cvar_boundary_find(divergence->parameter, list);
        law.total = law.cvar.total;
    } else {
        law.tilt = tilt_at(divergence, divergence_solve(divergence, beta, list, law.largest), (double)list->n);
        law.total = law.n + tilt_excess(&law.tilt, beta, law.largest, list);
    }
    return law;
}

double tilted_probability(const tilted_law *law, double loss) {
    if (!law->tilt.divergence) return cvar_weight(&law->cvar, loss) / law->total;
    return tilt_value(&law->tilt, law->beta * (law->largest - loss)) / law->total;
}

double log_mean_exp(double beta, const loss_list *list) {
    if (beta == 0) return mean_of(list);
    /* Around the mean where beta (L - mean) is small, so that no digits are lost; around the largest elsewhere. */
    const double mean = mean_of(list), largest = largest_of(list);
    const int small = beta * (largest - mean) < 0.5;
    wide_sum sum = {0, 0};
    for (size_t i = 0; i < list->n; i++) {
        const float loss = list->losses[i];
        if (!is_known(loss)) continue;
        sum = wide_add_double(sum, small ? hws_expm1(beta * (loss - mean)) : hws_exp(beta * (loss - largest)));
    }
    const double average = sum.high / (double)list->known;
    return small ? mean + log1p(average) / beta : largest + log(average) / beta;
}

double divergence_of(const hws_divergence *divergence, const tilted_law *law, const loss_list *list) {
    wide_sum sum = {0, 0};
    for (size_t i = 0; i < list->n; i++)
        if (is_known(list->losses[i]))
            sum = wide_add_double(sum, divergence_phi(divergence, tilted_probability(law, list->losses[i]) * law->n));
    return sum.high / law->n;
}

double robust_loss_of(const hws_divergence *divergence, double beta, const loss_list *list) {
    if (beta == 0 && divergence->kind != HWS_CVAR) return mean_of(list);
    if (divergence->kind == HWS_KL) return log_mean_exp(beta, list);
    const tilted_law law = tilted_law_of(divergence, beta, list);
    /* Losses relative to the largest, so that a large offset costs no digits. */
    wide_sum mean = {0, 0};
    for (size_t i = 0; i < list->n; i++) {
        const double p = is_known(list->losses[i]) ? tilted_probability(&law, list->losses[i]) : 0;
        if (p > 0) mean = wide_add_double(mean, p * (list->losses[i] - law.largest));
    }
    const double divided = divergence->kind == HWS_CVAR ? 0 : divergence_of(divergence, &law, list) / beta;
    return law.largest + mean.high - divided;
}

static hws_status check_vector(const hws_divergence *divergence, double beta, int64_t n, const float *losses,
                               hws_error *error) {
    if (n == 0) return error_set(error, HWS_ERROR_ARGUMENT, "there are no losses");
    if (!divergence || !losses) return error_set(error, HWS_ERROR_ARGUMENT, "the divergence or the losses are NULL");
    if (n < 1 || n > HWS_MAX_EXAMPLES)
        return error_set(error, HWS_ERROR_ARGUMENT, "there are %lld losses; there must be 1 to %lld", (long long)n,
                         (long long)HWS_MAX_EXAMPLES);
    if (!(beta >= 0 && beta < INFINITY))
        return error_set(error, HWS_ERROR_ARGUMENT, "beta is %g; it must be finite and not negative", beta);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(losses[i]))
            return error_at(error, HWS_ERROR_NOT_FINITE, i, i, "the loss of example %lld is %s; it must be finite",
                            (long long)i, not_finite_name(losses[i]));
    return divergence_check(divergence, n, error);
}

hws_status hws_divergence_probabilities(const hws_divergence *divergence, double beta, int64_t n, const float *losses,
                                        double *probabilities, hws_error *error) {
    error_clear(error);
    if (!probabilities) return error_set(error, HWS_ERROR_ARGUMENT, "the place for the probabilities is NULL");
    const hws_status status = check_vector(divergence, beta, n, losses, error);
    if (status != HWS_OK) return status;
    const hws_divergence canonical = divergence_canonical(divergence);
    const loss_list list = {losses, (size_t)n, (size_t)n};
    const tilted_law law = tilted_law_of(&canonical, beta, &list);
    if (!(law.total > 0 && law.total < INFINITY))
        return error_set(error, HWS_ERROR_DIVERGENCE,
                         "the custom divergence has no normaliser for these losses; check phi' and its inverse");
    for (int64_t i = 0; i < n; i++) probabilities[i] = tilted_probability(&law, losses[i]);
    return HWS_OK;
}

hws_status hws_divergence_robust_loss(const hws_divergence *divergence, double beta, int64_t n, const float *losses,
                                      double *robust_loss, hws_error *error) {
    error_clear(error);
    if (!robust_loss) return error_set(error, HWS_ERROR_ARGUMENT, "the place for the robust loss is NULL");
    const hws_status status = check_vector(divergence, beta, n, losses, error);
    if (status != HWS_OK) return status;
    if (divergence->kind == HWS_CUSTOM && !divergence->phi)
        return error_set(error, HWS_ERROR_DIVERGENCE, "the custom divergence lacks phi, which the robust loss needs");
    const hws_divergence canonical = divergence_canonical(divergence);
    const loss_list list = {losses, (size_t)n, (size_t)n};
    *robust_loss = robust_loss_of(&canonical, beta, &list);
    return HWS_OK;
}
