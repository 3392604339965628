/* Step 9 of Algorithm 1: importance weights. */
#include "sampler/importance.h"

#include "core/portable_math.h"
#include "sampler/options.h"
#include "sampler/sampler.h"

#include <math.h>
#include <string.h>

static double clipped(const hws_options *options, double weight) {
    return weight < options->weight_min   ? options->weight_min
           : weight > options->weight_max ? options->weight_max
                                          : weight;
}

/* exp(log_weight), clipped before it could overflow. */
static double clipped_exp(const hws_options *options, double log_weight) {
    if (log_weight > 709) return options->weight_max;
    return clipped(options, hws_exp(log_weight));
}

/* p_new / p_old, where an example without mass keeps weight 1 unless it gains some. */
static double ratio(double fresh, double old) { return old > 0 ? fresh / old : fresh > 0 ? INFINITY : 1; }

/* For KL: ln(p_new / p_old) with the normaliser as it was. */
static double log_ratio(const hws_sampler *sampler, int64_t example, float loss) {
    const hws_options *options = &sampler->options;
    return options->beta * (1 - options->momentum) *
           ((double)history_believed(&sampler->history, example, loss) - (double)sampler->law.losses[example]);
}

/* The loss that the law will hold once this one has been written. */
static float loss_after(const hws_sampler *sampler, int64_t example, float loss) {
    return history_believed(&sampler->history, example, sampler_blend(sampler, example, loss));
}

static double approximate_weight(hws_sampler *sampler, int64_t example, float loss) {
    law *law = &sampler->law;
    const hws_options *options = &sampler->options;
    if (law_is_kl(law)) return clipped_exp(options, log_ratio(sampler, example, loss));
    return clipped(options,
                   ratio(law_probability_at(law, loss_after(sampler, example, loss)), law_probability(law, example)));
}

/* What is drawn from after this loss has been written, as sampler_drawn_probability; with a floor this is O(n). */
static double probability_after(hws_sampler *sampler, int64_t example, float loss) {
    law *law = &sampler->law;
    if (sampler->options.floor == 0)
        return sampler_drawn_probability(sampler, law_probability_after(law, example, loss));
    const float old = law->losses[example];
    const level_window window = law->window;
    law_write(law, 1, &example, &loss);
    sampler_changed(sampler);
    const double p =
        law_prepare(law) == HWS_OK ? sampler_drawn_probability(sampler, law_probability(law, example)) : NAN;
    law_write(law, 1, &example, &old);
    law->window = window;
    sampler_changed(sampler);
    return p;
}

static hws_status exact_weight(hws_sampler *sampler, int64_t position, int64_t example, float loss, double *weight) {
    const double old = sampler_drawn_probability(sampler, law_probability(&sampler->law, example));
    const double fresh = probability_after(sampler, example, loss_after(sampler, example, loss));
    if (isnan(fresh))
        return sampler_fail(sampler, HWS_ERROR_DIVERGENCE, position, example,
                            "the custom divergence has no normaliser with this loss; check phi' and its inverse");
    *weight = clipped(&sampler->options, ratio(fresh, old));
    return law_prepare(&sampler->law);
}

/* ---- normalised ------------------------------------------------------------------------------------------------ */

/* So many examples are remembered: the weight of a batch falls by e for each such number that follows. */
static const double REMEMBERED = 64;

/* What is drawn from, but for the total of a floor, which is between 1 and 1 + floor: p-bar with floor and mixing. */
static double drawn_from(const hws_sampler *sampler, double p) {
    const hws_options *options = &sampler->options;
    const double n = (double)history_known(sampler);
    if (options->floor == 0) return (1 - options->uniform_mix) * p + options->uniform_mix / n;
    return p > options->floor / n ? p : options->floor / n;
}

/* A weighted mean of exp(x), its logarithm relative to the largest x so far. */
typedef struct exp_mean {
    double largest, sum, weight;
} exp_mean;

static void exp_mean_add(exp_mean *mean, double x, double weight) {
    if (!(weight > 0)) return;
    if (mean->weight == 0 || x > mean->largest) {
        mean->sum *= mean->weight > 0 ? hws_exp(mean->largest - x) : 0;
        mean->largest = x;
    }
    mean->sum += weight * hws_exp(x - mean->largest);
    mean->weight += weight;
}

static double exp_mean_log(const exp_mean *mean) { return mean->largest + hws_log(mean->sum / mean->weight); }

static int64_t known_in(const hws_sampler *sampler, int64_t count, const int64_t *indices) {
    int64_t known = 0;
    for (int64_t j = 0; j < count; j++) known += law_knows(&sampler->law, indices[j]);
    return known;
}

/*
 * The batch's own estimate of Z_new / Z_old, of the k examples that have a stale loss. Without replacement it is
 * Des Raj's (1956): the l-th draw, with those before it counted in full, is an unbiased estimate by itself, and
 * their mean is taken. What a floor or mixing added to p is taken out by p / q. No ratio counts for more than
 * what it will be clipped to.
 */
static exp_mean batch_mean(const hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses) {
    const hws_options *options = &sampler->options;
    const int limited = sampler->ratios.weight > 0 && options->weight_max > 0;
    const double most = limited ? sampler->ratios.log_mean + hws_log(options->weight_max) : INFINITY;
    double left = (double)known_in(sampler, count, indices), before = 0; /* mass of the draws before this one */
    exp_mean mean = {0};
    for (int64_t j = 0; j < count; j++) {
        if (!law_knows(&sampler->law, indices[j])) continue;
        const double p = law_probability(&sampler->law, indices[j]), q = drawn_from(sampler, p);
        const double x = log_ratio(sampler, indices[j], losses[j]);
        left--;
        const double share = options->replacement ? 1 : left * q + (before < 1 ? 1 - before : 0);
        exp_mean_add(&mean, x < most ? x : most, share * (q > 0 ? p / q : 1));
        before += q;
    }
    return mean;
}

ratio_mean ratio_mean_with(const hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses) {
    const ratio_mean *past = &sampler->ratios;
    const double known = (double)known_in(sampler, count, indices);
    const exp_mean batch = batch_mean(sampler, count, indices, losses);
    if (batch.weight == 0) return *past; /* first visits, and examples that only mixing lets be drawn */
    exp_mean mean = {0};
    exp_mean_add(&mean, past->log_mean, past->weight * hws_exp(-known / REMEMBERED));
    exp_mean_add(&mean, exp_mean_log(&batch), known);
    return (ratio_mean){exp_mean_log(&mean), mean.weight};
}

/* p_new is p_old exp(beta (new - stale)) Z_old / Z_new, and no probability is above 1. */
static double normalised_weight(const hws_sampler *sampler, int64_t example, float loss, double log_mean) {
    const hws_options *options = &sampler->options;
    const double growth = log_ratio(sampler, example, loss) - log_mean;
    const double old = law_probability(&sampler->law, example);
    if (!(old > 0)) return clipped_exp(options, growth);
    const double fresh = growth < -hws_log(old) ? old * hws_exp(growth) : 1;
    return clipped(options, ratio(drawn_from(sampler, fresh), drawn_from(sampler, old)));
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

static hws_status weigh(hws_sampler *sampler, int64_t position, int64_t example, float loss, double *weight) {
    *weight = 1; /* of a first visit, and of who is left out */
    if (!law_knows(&sampler->law, example)) return HWS_OK;
    if (sampler->options.importance == HWS_IMPORTANCE_EXACT)
        return exact_weight(sampler, position, example, loss, weight);
    *weight = approximate_weight(sampler, example, loss);
    return HWS_OK;
}

hws_status hws_sampler_importance(hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses,
                                  float *weights) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_batch(sampler, count, indices, losses);
    if (status == HWS_OK && count > 0 && !weights)
        status = sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "weights is NULL");
    if (status == HWS_OK) status = sampler_prepare(sampler);
    if (status == HWS_OK) status = sampler_reserve_batch(sampler, count);
    if (status != HWS_OK) return status;
    const int normalised = sampler->options.importance == HWS_IMPORTANCE_NORMALISED;
    const double log_mean = normalised ? ratio_mean_with(sampler, count, indices, losses).log_mean : 0;
    for (int64_t j = 0; j < count; j++) {
        double weight = 1;
        if (normalised && law_knows(&sampler->law, indices[j]))
            weight = normalised_weight(sampler, indices[j], losses[j], log_mean);
        if (!normalised) status = weigh(sampler, j, indices[j], losses[j], &weight);
        if (status != HWS_OK) return status;
        sampler->blended[j] = (float)weight;
    }
    if (count > 0) memcpy(weights, sampler->blended, (size_t)count * sizeof *weights);
    return HWS_OK;
}

hws_status hws_sampler_set_importance(hws_sampler *sampler, hws_importance importance) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_options options = sampler->options;
    options.importance = importance;
    const hws_status status = options_check(&options, sampler->law.n, &sampler->error);
    if (status == HWS_OK) sampler->options.importance = importance;
    return status;
}
