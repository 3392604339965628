/* Step 11 of Algorithm 1, the update of the history, and other changes of the losses. */
#include "core/memory.h"
#include "sampler/options.h"
#include "sampler/sampler.h"

#include <math.h>
#include <string.h>

/* ---- the history ----------------------------------------------------------------------------------------------- */

hws_status hws_sampler_update(hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_batch(sampler, count, indices, losses);
    if (status == HWS_OK) status = sampler_reserve_batch(sampler, count);
    if (status != HWS_OK) return status;
    const int normalised = sampler->options.importance == HWS_IMPORTANCE_NORMALISED;
    if (normalised) status = sampler_prepare(sampler);
    if (status != HWS_OK) return status;
    sampler->updates_made += sampler->updates_made < UPDATES_MAX;
    if (count == 0) return HWS_OK;
    if (normalised) sampler->ratios = ratio_mean_with(sampler, count, indices, losses);
    const int64_t known_before = history_known(sampler);
    const tail_part before = tail_part_of(sampler, count, indices);
    for (int64_t j = 0; j < count; j++) sampler->blended[j] = sampler_blend(sampler, indices[j], losses[j]);
    const int alone = history_update(sampler, count, indices, losses, sampler->blended);
    for (int64_t j = 0; sampler->last_seen && j < count; j++) sampler->last_seen[indices[j]] = sampler->updates_made;
    for (int64_t j = 0; sampler->visits.left.bits && j < count; j++)
        visit_set_remove(&sampler->visits.left, indices[j]);
    visits_settle(sampler);
    sampler_changed(sampler);
    const tail_part after = tail_part_of(sampler, count, indices);
    tail_exchange(sampler, &before, alone ? &after : NULL);
    tail_follow(sampler, count, known_before);
    return HWS_OK;
}

hws_status hws_sampler_get_losses(hws_sampler *sampler, int64_t first, int64_t count, float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const hws_status status = check_range(sampler, first, count, losses);
    for (int64_t j = 0; status == HWS_OK && j < count; j++) losses[j] = history_loss(sampler, first + j);
    return status;
}

static int any_missing(int64_t count, const float *losses) {
    for (int64_t j = 0; j < count; j++)
        if (isnan(losses[j])) return 1;
    return 0;
}

/* Examples whose loss was taken away are to be visited, those that were given one are not. */
static void set_visits(hws_sampler *sampler, int64_t first, int64_t count, const float *losses) {
    visit_set *left = &sampler->visits.left;
    for (int64_t j = 0; left->bits && j < count; j++) {
        if (isnan(losses[j])) visit_set_add(left, first + j);
        else visit_set_remove(left, first + j);
    }
}

hws_status hws_sampler_set_losses(hws_sampler *sampler, int64_t first, int64_t count, const float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_range(sampler, first, count, losses);
    if (status == HWS_OK) status = check_losses(sampler, first, count, losses);
    if (status != HWS_OK || count == 0) return status;
    const int64_t known_before = history_known(sampler);
    if (any_missing(count, losses) && !visits_reserve(&sampler->visits, sampler->law.n)) status = HWS_ERROR_MEMORY;
    if (status == HWS_OK) status = history_write_range(sampler, first, count, losses);
    if (status == HWS_OK) set_visits(sampler, first, count, losses);
    visits_settle(sampler);
    if (status != HWS_OK)
        return sampler_fail(sampler, status, -1, -1, "no memory to set %lld losses", (long long)count);
    sampler_changed(sampler);
    tail_lose(sampler);
    tail_follow(sampler, count, known_before);
    return HWS_OK;
}

/* What a larger number of examples needs, made before anything is changed. */
typedef struct growth {
    float *initial; /* the new examples' losses, where the caller gives none */
    visits visits;
    history history;
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

/* New examples without a loss are to be visited, beside those that were. */
static int grow_visits(growth *growth, const hws_sampler *sampler, int64_t count, const float *losses) {
    const int64_t n = sampler->law.n;
    const visit_set *before = &sampler->visits.left;
    growth->visits.waited = sampler->visits.waited;
    if (!before->bits && !any_missing(count, losses)) return 1;
    if (!visits_reserve(&growth->visits, n + count)) return 0;
    for (int64_t i = 0; before->bits && i < n; i++)
        if (visit_set_has(before, i)) visit_set_add(&growth->visits.left, i);
    for (int64_t j = 0; j < count; j++)
        if (isnan(losses[j])) visit_set_add(&growth->visits.left, n + j);
    return 1;
}

/* New examples count as seen just now. */
static int growth_open(growth *growth, const hws_sampler *sampler, int64_t count, const float *losses) {
    const int64_t n = sampler->law.n;
    if (!losses) {
        growth->initial = memory_open((size_t)count * sizeof *growth->initial);
        if (!growth->initial) return 0;
        initial_losses(&sampler->options, n, count, growth->initial);
    }
    if (!grow_visits(growth, sampler, count, losses ? losses : growth->initial)) return 0;
    if (!history_open(&growth->history, n + count, &sampler->options)) return 0;
    if (!sampler->last_seen) return 1;
    growth->last_seen = grown(sampler->last_seen, n, count, sampler->updates_made);
    growth->draw_counts = grown(sampler->draw_counts, n, count, 0);
    return growth->last_seen && growth->draw_counts;
}

static void growth_close(growth *growth) {
    memory_close(growth->initial);
    visit_set_close(&growth->visits.left);
    history_close(&growth->history);
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
    hws_status status = losses ? check_losses(sampler, n, count, losses) : HWS_OK;
    if (status == HWS_OK) status = divergence_check(&sampler->options.divergence, n + count, &sampler->error);
    if (status != HWS_OK) return status;

    growth growth = {0};
    status = growth_open(&growth, sampler, count, losses)
                 ? history_grow(sampler, &growth.history, count, losses ? losses : growth.initial)
                 : HWS_ERROR_MEMORY;
    if (status == HWS_OK) {
        swap_counts(&sampler->last_seen, &growth.last_seen);
        swap_counts(&sampler->draw_counts, &growth.draw_counts);
        const visits before = sampler->visits;
        sampler->visits = growth.visits;
        growth.visits = before;
        sampler_changed(sampler);
        tail_lose(sampler);
        tail_follow(sampler, count, n);
    }
    growth_close(&growth);
    return status == HWS_OK
               ? HWS_OK
               : sampler_fail(sampler, status, -1, -1, "no memory for %lld more examples", (long long)count);
}

void sampler_take_beta(hws_sampler *sampler, double beta) {
    /* The logarithm of a ratio of normalisers is, to first order, proportional to beta. */
    sampler->ratios.log_mean *= beta / sampler->options.beta;
    if (!isfinite(sampler->ratios.log_mean)) sampler->ratios = (ratio_mean){0, 0};
    sampler->options.beta = beta;
    law_set_beta(&sampler->law, beta);
    sampler_changed(sampler);
}

hws_status hws_sampler_set_beta(hws_sampler *sampler, double beta) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_options options = sampler->options;
    options.beta = beta;
    const hws_status status = options_check(&options, sampler->law.n, &sampler->error);
    if (status != HWS_OK) return status;
    sampler_take_beta(sampler, beta);
    sampler->options.tail = 0;
    return HWS_OK;
}
