/* What a sampler can tell: probabilities, the hardest and the stalest examples, robust losses, telemetry. */
#include "core/portable_math.h"
#include "sampler/loss_order.h"
#include "sampler/robust.h"
#include "sampler/sampler.h"

#include <math.h>
#include <stdlib.h>

static hws_status null_result(hws_sampler *sampler) {
    return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "the place for the result is NULL");
}

/* ---- probabilities --------------------------------------------------------------------------------------------- */

static double floored(const hws_sampler *sampler, double p) {
    const double least = sampler->options.floor / (double)history_known(sampler);
    return p > least ? p : least;
}

double sampler_drawn_probability(hws_sampler *sampler, double p) {
    const hws_options *options = &sampler->options;
    const double n = (double)history_known(sampler);
    if (options->floor == 0) return (1 - options->uniform_mix) * p + options->uniform_mix / n;
    if (!sampler->floor_current) {
        wide_sum total = {0, 0};
        for (int64_t i = 0; i < sampler->law.n; i++)
            if (history_knows(sampler, i))
                total = wide_add_double(total, floored(sampler, law_probability(&sampler->law, i)));
        sampler->floor_total = total.high;
        sampler->floor_current = 1;
    }
    return floored(sampler, p) / sampler->floor_total;
}

/*
 * What the tree's total, which rounds up, makes the probabilities fall short of 1 (by 1e-13 or so). Single examples
 * are not worth the pass over all that it takes to know this.
 */
static double shortfall(const hws_sampler *sampler) {
    if (!law_is_kl(&sampler->law)) return 1;
    wide_sum total = {0, 0};
    for (int64_t i = 0; i < sampler->law.n; i++)
        if (law_knows(&sampler->law, i)) total = wide_add_double(total, law_probability(&sampler->law, i));
    return total.high;
}

/* That the next single draw is this example; `total` is what the p-bar fall short of. */
static double next_probability(hws_sampler *sampler, int64_t example, double total) {
    const law *law = &sampler->law;
    const visit_set *left = &sampler->visits.left;
    if (left->size > 0) return visit_set_has(left, example) ? 1 / (double)left->size : 0;
    if (law->known == 0) return 1 / (double)law->n; /* all wait for their loss, and are visited again */
    return history_knows(sampler, example) ? sampler_drawn_probability(sampler, law_probability(law, example) / total)
                                           : 0;
}

hws_status hws_sampler_probability(hws_sampler *sampler, int64_t example, double *probability) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    return hws_sampler_probabilities(sampler, example, 1, probability);
}

hws_status hws_sampler_probabilities(hws_sampler *sampler, int64_t first, int64_t count, double *probabilities) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_range(sampler, first, count, probabilities);
    if (status == HWS_OK) status = sampler_prepare(sampler);
    if (status != HWS_OK) return status;
    const double total = count == sampler->law.n ? shortfall(sampler) : 1;
    for (int64_t j = 0; j < count; j++) probabilities[j] = next_probability(sampler, first + j, total);
    return HWS_OK;
}

/* ---- examples -------------------------------------------------------------------------------------------------- */

/* Those without a loss come last. */
static void hardest_ranked(const law *law, int64_t k, int64_t *indices) {
    int64_t found = 0;
    for (; found < k && found < law->known; found++) indices[found] = ranked_set_select(&law->set, (uint32_t)found);
    for (int64_t i = 0; found < k; i++)
        if (!law_knows(law, i)) indices[found++] = i;
}

hws_status hws_sampler_hardest(hws_sampler *sampler, int64_t k, int64_t *indices, float *losses) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const law *law = &sampler->law;
    if (k < 0 || k > law->n || (k > 0 && !indices))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "cannot name the %lld hardest of %lld examples",
                            (long long)k, (long long)law->n);
    const float *own = sampler->history.losses;
    if (own || law_is_kl(law)) hardest_k(own ? own : law->losses, (size_t)law->n, (size_t)k, indices);
    else hardest_ranked(law, k, indices);
    for (int64_t j = 0; losses && j < k; j++) losses[j] = history_loss(sampler, indices[j]);
    return HWS_OK;
}

static hws_status check_counts(hws_sampler *sampler) {
    if (sampler->last_seen) return HWS_OK;
    return sampler_fail(sampler, HWS_ERROR_NOT_KEPT, -1, -1,
                        "ages and draw counts are not kept; open the sampler with keep_counts = 1");
}

hws_status hws_sampler_ages(hws_sampler *sampler, int64_t first, int64_t count, uint64_t *ages) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_counts(sampler);
    if (status == HWS_OK) status = check_range(sampler, first, count, ages);
    if (status != HWS_OK) return status;
    for (int64_t j = 0; j < count; j++) ages[j] = sampler->updates_made - sampler->last_seen[first + j];
    return HWS_OK;
}

hws_status hws_sampler_draw_counts(hws_sampler *sampler, int64_t first, int64_t count, uint64_t *draws) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_counts(sampler);
    if (status == HWS_OK) status = check_range(sampler, first, count, draws);
    if (status != HWS_OK) return status;
    for (int64_t j = 0; j < count; j++) draws[j] = sampler->draw_counts[first + j];
    return HWS_OK;
}

hws_status hws_sampler_next_stale(hws_sampler *sampler, uint64_t min_age, int64_t *cursor, int64_t *example) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const hws_status status = check_counts(sampler);
    if (status != HWS_OK) return status;
    if (!cursor || !example || *cursor < 0)
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "cursor and example must be given, cursor from 0 on");
    int64_t at = *cursor;
    while (at < sampler->law.n && sampler->updates_made - sampler->last_seen[at] < min_age) at++;
    *example = at < sampler->law.n ? at : -1;
    *cursor = at < sampler->law.n ? at + 1 : sampler->law.n;
    return HWS_OK;
}

static hws_status check_record(hws_sampler *sampler) {
    if (sampler->history.record.entries) return HWS_OK;
    return sampler_fail(sampler, HWS_ERROR_NOT_KEPT, -1, -1,
                        "no record is kept; open the sampler with keep_record = 1, or with doubt");
}

hws_status hws_sampler_records(hws_sampler *sampler, int64_t first, int64_t count, hws_record *records) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_record(sampler);
    if (status == HWS_OK) status = check_range(sampler, first, count, records);
    if (status != HWS_OK) return status;
    const record *record = &sampler->history.record;
    for (int64_t j = 0; j < count; j++) {
        const record_entry *entry = &record->entries[first + j];
        records[j] = (hws_record){.loss_mean = entry->count ? (double)entry->mean : (double)NAN,
                                  .level = record_level(record, first + j),
                                  .evidence = (double)entry->evidence,
                                  .doubt = record_doubt(record, first + j),
                                  .updates = entry->count,
                                  .label = entry->label};
    }
    return HWS_OK;
}

hws_status hws_sampler_set_labels(hws_sampler *sampler, int64_t first, int64_t count, const int32_t *labels) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    record *record = &sampler->history.record;
    int32_t most = 0;
    hws_status status = check_record(sampler);
    if (status == HWS_OK) status = check_range(sampler, first, count, labels);
    if (status != HWS_OK) return status;
    for (int64_t j = 0; j < count; j++) {
        if (labels[j] < 0 || labels[j] >= RECORD_LABELS_MAX)
            return sampler_fail(sampler, HWS_ERROR_ARGUMENT, j, first + j,
                                "the label of example %lld (position %lld) is %ld; labels are from 0 to %d",
                                (long long)(first + j), (long long)j, (long)labels[j], RECORD_LABELS_MAX - 1);
        most = labels[j] > most ? labels[j] : most;
    }
    if (!record_reserve_labels(record, most + 1))
        return sampler_fail(sampler, HWS_ERROR_MEMORY, -1, -1, "no memory for %ld labels", (long)most + 1);
    for (int64_t j = 0; j < count; j++)
        record_set_label(record, first + j, labels[j], history_loss(sampler, first + j));
    return HWS_OK;
}

/* ---- robust losses --------------------------------------------------------------------------------------------- */

/* Where the tree's total tells ln(sum(exp(beta L))) well enough: beta is not tiny, no exponent is a giant's. */
static int tree_knows_total(const law *law) {
    return law_is_kl(law) && law->beta >= 1e-3 && llabs(law->tree.root.exponent) < (int64_t)1 << 32;
}

/* ln(sum(exp(beta L))) / beta - shift / beta, from the tree. */
static double total_of_tree(const law *law, double shift) {
    const tree_word root = law->tree.root;
    /* A weight is mass * 2^exponent = 2^52 exp(beta L). */
    const double log_total = HWS_LN_2 * ((double)root.exponent - 52 + log2((double)root.mass));
    return (log_total - shift) / law->beta;
}

static double ranked_cvar_of(const law *law, double alpha) {
    const size_t rank = cvar_boundary_rank(alpha, (size_t)law->known);
    const double boundary = law->losses[ranked_set_select(&law->set, (uint32_t)rank)];
    wide_sum sum;
    const double above = ranked_set_above(&law->set, boundary, &sum), total = cvar_total(alpha, (double)law->known);
    /* Those above count in full, and what is left of the total is at the boundary. */
    return wide_add(sum, wide_product(boundary, total - above)).high / total;
}

static double cvar_of(const law *law, double alpha) {
    if (!law_is_kl(law)) return ranked_cvar_of(law, alpha);
    const hws_divergence cvar = {.kind = HWS_CVAR, .parameter = alpha};
    const loss_list list = law_list(law);
    return robust_loss_of(&cvar, 0, &list);
}

static double robust_loss(const law *law) {
    if (law->divergence.kind == HWS_CVAR) return ranked_cvar_of(law, law->divergence.parameter);
    if (tree_knows_total(law)) return total_of_tree(law, log((double)law->known));
    const loss_list list = law_list(law);
    return robust_loss_of(&law->divergence, law->beta, &list);
}

hws_status hws_sampler_robust_loss(hws_sampler *sampler, double *result) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (!result) return null_result(sampler);
    if (sampler->options.divergence.kind == HWS_CUSTOM && !sampler->options.divergence.phi)
        return sampler_fail(sampler, HWS_ERROR_DIVERGENCE, -1, -1,
                            "the robust loss of a custom divergence needs its phi callback");
    hws_status status = check_known(sampler);
    if (status == HWS_OK) status = sampler_prepare(sampler); /* a draw may have left the tree behind the losses */
    if (status != HWS_OK) return status;
    *result = robust_loss(&sampler->law);
    return HWS_OK;
}

static hws_status check_alpha(hws_sampler *sampler, double alpha, const double *result) {
    if (!result) return null_result(sampler);
    if (alpha > 0 && alpha <= 1) return check_known(sampler);
    return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "alpha %g is not in (0, 1]", alpha);
}

hws_status hws_sampler_percentile_bound(hws_sampler *sampler, double alpha, double *bound) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    hws_status status = check_alpha(sampler, alpha, bound);
    if (status == HWS_OK && law_is_kl(&sampler->law)) status = sampler_prepare(sampler);
    if (status != HWS_OK) return status;
    const law *law = &sampler->law;
    if (law->beta == 0) return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "there is no bound for beta = 0");
    if (tree_knows_total(law)) *bound = total_of_tree(law, log(alpha * (double)law->known));
    else {
        const loss_list list = law_list(law);
        *bound = log_mean_exp(law->beta, &list) - log(alpha) / law->beta;
    }
    return HWS_OK;
}

hws_status hws_sampler_percentile(hws_sampler *sampler, double alpha, double *percentile) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const hws_status status = check_alpha(sampler, alpha, percentile);
    if (status != HWS_OK) return status;
    const law *law = &sampler->law;
    /* At most floor(alpha n) may lie strictly above. */
    const double allowed = floor(alpha * (double)law->known);
    const int64_t rank = allowed < (double)law->known ? (int64_t)allowed : law->known - 1;
    *percentile = law_is_kl(law) ? loss_of_rank(law->losses, (size_t)law->n, (size_t)rank)
                                 : law->losses[ranked_set_select(&law->set, (uint32_t)rank)];
    return HWS_OK;
}

hws_status hws_sampler_cvar(hws_sampler *sampler, double alpha, double *cvar) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    const hws_status status = check_alpha(sampler, alpha, cvar);
    if (status == HWS_OK) *cvar = cvar_of(&sampler->law, alpha);
    return status;
}

/* ---- telemetry ------------------------------------------------------------------------------------------------- */

static void count_statistics(const hws_sampler *sampler, hws_statistics *statistics) {
    for (int64_t i = 0; sampler->last_seen && i < sampler->law.n; i++) {
        const uint64_t age = sampler->updates_made - sampler->last_seen[i];
        statistics->oldest_age = age > statistics->oldest_age ? age : statistics->oldest_age;
        statistics->never_drawn += sampler->draw_counts[i] == 0;
    }
}

static void loss_statistics(hws_sampler *sampler, hws_statistics *statistics) {
    const law *law = &sampler->law;
    const loss_list list = history_list(sampler);
    statistics->loss_mean = mean_of(&list);
    statistics->loss_std = deviation_of(&list, statistics->loss_mean);
    statistics->loss_max = largest_of(&list);
    statistics->loss_min = statistics->loss_max;
    statistics->robust_loss = robust_loss(law);
    const double total = shortfall(sampler);
    wide_sum squares = {0, 0}, entropy = {0, 0};
    for (int64_t i = 0; i < law->n; i++) {
        if (!history_knows(sampler, i)) continue;
        const double p = sampler_drawn_probability(sampler, law_probability(law, i) / total);
        squares = wide_add_double(squares, p * p);
        if (p > 0) entropy = wide_add_double(entropy, -p * log(p));
        statistics->largest_p = p > statistics->largest_p ? p : statistics->largest_p;
        const double loss = (double)history_loss(sampler, i);
        statistics->loss_min = loss < statistics->loss_min ? loss : statistics->loss_min;
    }
    statistics->effective_size = 1 / squares.high;
    statistics->entropy = entropy.high;
    statistics->kl_to_uniform = log((double)history_known(sampler)) - entropy.high;
}

hws_status hws_sampler_statistics(hws_sampler *sampler, hws_statistics *result) {
    if (!sampler) return HWS_ERROR_ARGUMENT;
    if (!result) return null_result(sampler);
    hws_statistics statistics = {0};
    const hws_status status = hws_sampler_drawable(sampler, &statistics.drawable); /* prepares as well */
    if (status != HWS_OK) return status;
    statistics.unseen = hws_sampler_unseen(sampler);
    statistics.beta = sampler->options.beta;
    if (sampler->law.known > 0) {
        loss_statistics(sampler, &statistics);
    } else {
        statistics.loss_mean = statistics.loss_std = statistics.loss_min = statistics.loss_max = NAN;
        statistics.robust_loss = NAN;
    }
    count_statistics(sampler, &statistics);
    *result = statistics;
    return HWS_OK;
}
