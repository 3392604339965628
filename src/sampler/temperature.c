/* Betas: from the spread of the losses, from a target effective size, from a target divergence to uniform. */
#include "core/portable_math.h"
#include "sampler/options.h"
#include "sampler/robust.h"
#include "sampler/root.h"
#include "sampler/sampler.h"

#include <math.h>

typedef enum target_kind { TARGET_EFFECTIVE_SIZE, TARGET_KL } target_kind;

typedef struct search {
    const law *law;
    target_kind kind;
    double target;
} search;

/* ln(n / effective size), or KL to uniform in nats: both rise with beta, from 0. */
static double concentration(const search *search, double beta) {
    const law *law = search->law;
    const loss_list list = law_list(law);
    const double n = (double)list.known;
    const tilted_law tilted = tilted_law_of(&law->divergence, beta, &list);
    wide_sum sum = {0, 0};
    for (size_t i = 0; i < list.n; i++) {
        if (!is_known(list.losses[i])) continue;
        const double z = tilted_probability(&tilted, list.losses[i]) * n;
        if (search->kind == TARGET_EFFECTIVE_SIZE) sum = wide_add_double(sum, z * z);
        else if (z > 0) sum = wide_add_double(sum, z * hws_log(z));
    }
    const double mean = sum.high / n;
    return search->kind == TARGET_EFFECTIVE_SIZE ? hws_log(mean) : mean;
}

static double miss(const void *context, double log_beta) {
    const search *search = context;
    return concentration(search, hws_exp(log_beta)) - search->target;
}

/* The spread, or an error that says why there is no beta to be found. */
static hws_status check_spread(hws_sampler *sampler, const double *beta, double *spread) {
    if (!beta) return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "the place for beta is NULL");
    const law *law = &sampler->law;
    if (law->divergence.kind == HWS_CVAR)
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "CVaR has no beta; choose its fraction instead");
    const hws_status status = check_known(sampler);
    if (status != HWS_OK) return status;
    const loss_list list = law_list(law);
    *spread = deviation_of(&list, mean_of(&list));
    if (*spread > 0) return HWS_OK;
    return sampler_fail(sampler, HWS_ERROR_UNREACHABLE, -1, -1,
                        "all losses are equal, so every beta gives the same draws; train for a while first");
}

static hws_status out_of_reach(hws_sampler *sampler) {
    return sampler_fail(sampler, HWS_ERROR_UNREACHABLE, -1, -1,
                        "no beta up to 1e15 concentrates the draws that much; ties at the largest loss set a limit");
}

hws_status hws_sampler_beta_for_spread(hws_sampler *sampler, double factor, double *beta) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    double spread = 0;
    const hws_status status = check_spread(sampler, beta, &spread);
    if (status != HWS_OK) return status;
    if (!(factor > 0 && factor < INFINITY))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "factor %g is not a positive number", factor);
    if (factor / spread > LARGEST_BETA) return out_of_reach(sampler);
    *beta = factor / spread;
    return HWS_OK;
}

static hws_status solve_beta(hws_sampler *sampler, search search, double *beta) {
    double spread = 0;
    const hws_status status = check_spread(sampler, beta, &spread);
    if (status != HWS_OK) return status;
    if (search.target == 0) {
        *beta = 0;
        return HWS_OK;
    }
    const double limit = hws_log(LARGEST_BETA);
    /* The end of the range, all mass on the hardest, is reached but for rounding. */
    const double rounding = 4e-15 * search.target;
    double low = -hws_log(spread);
    low = low < limit ? low : limit;
    double high = low;
    while (miss(&search, low) > 0 && low > -600) low -= 2;
    while (miss(&search, high) < -rounding) {
        if (high == limit) return out_of_reach(sampler);
        high = high + 1 < limit ? high + 1 : limit;
    }
    const double found = hws_exp(root_between(miss, &search, low, high));
    *beta = found < LARGEST_BETA ? found : LARGEST_BETA;
    return HWS_OK;
}

hws_status hws_sampler_beta_for_effective_size(hws_sampler *sampler, double target, double *beta) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const double n = (double)sampler->law.known;
    if (n > 0 && !(target >= 1 && target <= n))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "an effective size of %g is not within 1 to %.0f",
                            target, n);
    return solve_beta(sampler, (search){&sampler->law, TARGET_EFFECTIVE_SIZE, hws_log(n / target)}, beta);
}

hws_status hws_sampler_beta_for_kl(hws_sampler *sampler, double radius, double *beta) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const double n = (double)sampler->law.known;
    if (n > 0 && !(radius >= 0 && radius <= log(n)))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "a radius of %g nats is not within 0 to ln(n) = %g",
                            radius, log(n));
    return solve_beta(sampler, (search){&sampler->law, TARGET_KL, radius}, beta);
}
