/* Steps 9 to 11 of Algorithm 1, importance weights and the update of the history, and other changes of the losses. */
#include "core/memory.h"
#include "core/portable_math.h"
#include "options.h"
#include "sampler.h"

#include <math.h>
#include <string.h>

/* ---- importance weights ---------------------------------------------------------------------------------------- */

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

static double approximate_weight(hws_sampler *sampler, int64_t example, float loss) {
    law *law = &sampler->law;
    const hws_options *options = &sampler->options;
    const double stale = law->losses[example];
    if (law_is_kl(law)) return clipped_exp(options, options->beta * (1 - options->momentum) * (loss - stale));
    return clipped(
        options, ratio(law_probability_at(law, sampler_blend(sampler, example, loss)), law_probability(law, example)));
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
    const double fresh = probability_after(sampler, example, sampler_blend(sampler, example, loss));
    if (isnan(fresh))
        return sampler_fail(sampler, HWS_ERROR_DIVERGENCE, position, example,
                            "the custom divergence has no normaliser with this loss; check phi' and its inverse");
    *weight = clipped(&sampler->options, ratio(fresh, old));
    return law_prepare(&sampler->law);
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
    for (int64_t j = 0; j < count; j++) {
        double weight = 1;
        if (sampler->options.importance == HWS_IMPORTANCE_EXACT) {
            status = exact_weight(sampler, j, indices[j], losses[j], &weight);
            if (status != HWS_OK) return status;
        } else {
            weight = approximate_weight(sampler, indices[j], losses[j]);
        }
        sampler->blended[j] = (float)weight;
    }
    if (count > 0) memcpy(weights, sampler->blended, (size_t)count * sizeof *weights);
    return HWS_OK;
}

/* ---- the history ----------------------------------------------------------------------------------------------- */

hws_status hws_sampler_update(hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_batch(sampler, count, indices, losses);
    if (status == HWS_OK) status = sampler_reserve_batch(sampler, count);
    if (status != HWS_OK) return status;
    sampler->updates_made++;
    if (count == 0) return HWS_OK;
    for (int64_t j = 0; j < count; j++) sampler->blended[j] = sampler_blend(sampler, indices[j], losses[j]);
    law_write(&sampler->law, count, indices, sampler->blended);
    for (int64_t j = 0; sampler->last_seen && j < count; j++) sampler->last_seen[indices[j]] = sampler->updates_made;
    sampler_changed(sampler);
    return HWS_OK;
}

hws_status hws_sampler_get_losses(hws_sampler *sampler, int64_t first, int64_t count, float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const hws_status status = check_range(sampler, first, count, losses);
    if (status == HWS_OK && count > 0) memcpy(losses, sampler->law.losses + first, (size_t)count * sizeof *losses);
    return status;
}

hws_status hws_sampler_set_losses(hws_sampler *sampler, int64_t first, int64_t count, const float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_range(sampler, first, count, losses);
    if (status == HWS_OK) status = check_finite(sampler, first, count, losses);
    if (status != HWS_OK || count == 0) return status;
    status = law_write_range(&sampler->law, first, count, losses);
    if (status != HWS_OK)
        return sampler_fail(sampler, status, -1, -1, "no memory to set %lld losses", (long long)count);
    sampler_changed(sampler);
    return HWS_OK;
}

/* What a larger number of examples needs, made before anything is changed. */
typedef struct growth {
    float *initial; /* the new examples' losses, where the caller gives none */
    uint64_t *last_seen, *draw_counts;
} growth;

/* A longer copy, in which the new examples have this value. NULL when out of memory. */
static uint64_t *grown(const uint64_t *counts, int64_t n, int64_t more, uint64_t value) {
    uint64_t *block = memory_open((size_t)(n + more) * sizeof *block);
    if (!block) return NULL;
    memcpy(block, counts, (size_t)n * sizeof *block);
    for (int64_t i = n; i < n + more; i++) block[i] = value;
    return block;
}

/* New examples count as seen just now. */
static int growth_open(growth *growth, const hws_sampler *sampler, int64_t count, int with_losses) {
    const int64_t n = sampler->law.n;
    if (!with_losses) {
        growth->initial = memory_open((size_t)count * sizeof *growth->initial);
        if (!growth->initial) return 0;
        initial_losses(&sampler->options, n, count, growth->initial);
    }
    if (!sampler->last_seen) return 1;
    growth->last_seen = grown(sampler->last_seen, n, count, sampler->updates_made);
    growth->draw_counts = grown(sampler->draw_counts, n, count, 0);
    return growth->last_seen && growth->draw_counts;
}

static void growth_close(growth *growth) {
    memory_close(growth->initial);
    memory_close(growth->last_seen);
    memory_close(growth->draw_counts);
}

static void swap_counts(uint64_t **a, uint64_t **b) {
    uint64_t *kept = *a;
    *a = *b;
    *b = kept;
}

hws_status hws_sampler_grow(hws_sampler *sampler, int64_t count, const float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const int64_t n = sampler->law.n;
    if (count < 0 || count > HWS_MAX_EXAMPLES - n)
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "cannot grow %lld examples by %lld", (long long)n,
                            (long long)count);
    if (count == 0) return HWS_OK;
    hws_status status = losses ? check_finite(sampler, n, count, losses) : HWS_OK;
    if (status == HWS_OK) status = divergence_check(&sampler->options.divergence, n + count, &sampler->error);
    if (status != HWS_OK) return status;

    growth growth = {0};
    status = growth_open(&growth, sampler, count, losses != NULL)
                 ? law_grow(&sampler->law, count, losses ? losses : growth.initial)
                 : HWS_ERROR_MEMORY;
    if (status == HWS_OK) {
        swap_counts(&sampler->last_seen, &growth.last_seen);
        swap_counts(&sampler->draw_counts, &growth.draw_counts);
        sampler_changed(sampler);
    }
    growth_close(&growth);
    return status == HWS_OK
               ? HWS_OK
               : sampler_fail(sampler, status, -1, -1, "no memory for %lld more examples", (long long)count);
}

hws_status hws_sampler_set_beta(hws_sampler *sampler, double beta) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_options options = sampler->options;
    options.beta = beta;
    const hws_status status = options_check(&options, sampler->law.n, &sampler->error);
    if (status != HWS_OK) return status;
    sampler->options.beta = beta;
    law_set_beta(&sampler->law, beta);
    sampler_changed(sampler);
    return HWS_OK;
}
