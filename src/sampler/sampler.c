#include "sampler/sampler.h"
#include "sampler/purposes.h"

#include "core/memory.h"
#include "sampler/error.h"
#include "sampler/options.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void initial_losses(const hws_options *options, int64_t first, int64_t count, float *losses) {
    for (int64_t j = 0; j < count; j++) {
        double loss = options->initial_loss;
        if (options->jitter > 0) {
            random_stream random;
            random_start(&random, options->seed, RANDOM_JITTER, (uint64_t)(first + j), 0);
            loss *= 1 + options->jitter * random_normal(&random);
        }
        /* Noise must not lift a loss out of the range of floats. */
        losses[j] = (float)(loss > FLT_MAX ? FLT_MAX : loss < -FLT_MAX ? -FLT_MAX : loss);
    }
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

hws_status sampler_fail(hws_sampler *sampler, hws_status status, int64_t position, int64_t example, const char *format,
                        ...) {
    va_list arguments;
    va_start(arguments, format);
    error_at_list(&sampler->error, status, position, example, format, arguments);
    va_end(arguments);
    return status;
}

const hws_error *hws_sampler_error(const hws_sampler *sampler) {
    static const hws_error none = {.status = HWS_ERROR_ARGUMENT,
                                   .position = -1,
                                   .example = -1,
                                   .message = "the sampler is NULL: it was not opened, or closed"};
    return sampler ? &sampler->error : &none;
}

hws_status check_range(hws_sampler *sampler, int64_t first, int64_t count, const void *array) {
    if (count < 0 || (count > 0 && !array))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "count %lld or array is not valid", (long long)count);
    const int64_t n = sampler->law.n;
    if (count == 1 && (first < 0 || first >= n))
        return sampler_fail(sampler, HWS_ERROR_INDEX, -1, first, "example %lld is not within 0 to %lld",
                            (long long)first, (long long)n - 1);
    if (first < 0 || first > n || count > n - first)
        return sampler_fail(sampler, HWS_ERROR_INDEX, -1, first,
                            "%lld examples from %lld on are not all within 0 to %lld", (long long)count,
                            (long long)first, (long long)n - 1);
    return HWS_OK;
}

static hws_status refuse_loss(hws_sampler *sampler, int64_t position, int64_t example, float loss) {
    return sampler_fail(
        sampler, HWS_ERROR_NOT_FINITE, position, example,
        "the loss of example %lld (position %lld) is %s; look at this example, or lower the learning rate",
        (long long)example, (long long)position, not_finite_name(loss));
}

/* NaN stands for no loss. */
hws_status check_losses(hws_sampler *sampler, int64_t first, int64_t count, const float *losses) {
    for (int64_t j = 0; j < count; j++)
        if (isinf(losses[j])) return refuse_loss(sampler, j, first + j, losses[j]);
    return HWS_OK;
}

hws_status check_known(hws_sampler *sampler) {
    if (sampler->law.known > 0) return HWS_OK;
    return sampler_fail(sampler, HWS_ERROR_NO_LOSS, -1, -1,
                        "none of the %lld examples has a loss yet; draw and update first, or set losses",
                        (long long)sampler->law.n);
}

hws_status check_batch(hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses) {
    if (count < 0 || (count > 0 && (!indices || !losses)))
        return sampler_fail(sampler, HWS_ERROR_ARGUMENT, -1, -1, "count %lld or an array is not valid",
                            (long long)count);
    for (int64_t j = 0; j < count; j++) {
        if (indices[j] < 0 || indices[j] >= sampler->law.n)
            return sampler_fail(sampler, HWS_ERROR_INDEX, j, indices[j],
                                "index %lld (position %lld) is not within 0 to %lld", (long long)indices[j],
                                (long long)j, (long long)sampler->law.n - 1);
        if (!isfinite(losses[j])) return refuse_loss(sampler, j, indices[j], losses[j]);
    }
    return HWS_OK;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static uint64_t *zeros(size_t count) {
    uint64_t *block = memory_open(count * sizeof *block);
    if (block) memset(block, 0, count * sizeof *block);
    return block;
}

static hws_status open_counts(hws_sampler *sampler) {
    if (!sampler->options.keep_counts) return HWS_OK;
    sampler->last_seen = zeros((size_t)sampler->law.n);
    sampler->draw_counts = zeros((size_t)sampler->law.n);
    return sampler->last_seen && sampler->draw_counts ? HWS_OK : HWS_ERROR_MEMORY;
}

static hws_status open_law(hws_sampler *sampler, int64_t n, const float *losses) {
    const hws_options *options = &sampler->options;
    if (losses) return law_open(&sampler->law, &options->divergence, options->beta, n, losses);
    float *initial = memory_open((size_t)n * sizeof *initial);
    if (!initial) return HWS_ERROR_MEMORY;
    initial_losses(options, 0, n, initial);
    const hws_status status = law_open(&sampler->law, &options->divergence, options->beta, n, initial);
    memory_close(initial);
    return status;
}

/* From the losses that the law was opened with. */
static hws_status open_history(hws_sampler *sampler) {
    const int64_t n = sampler->law.n;
    if (!history_open(&sampler->history, n, &sampler->options)) return HWS_ERROR_MEMORY;
    if (!sampler->history.losses) return HWS_OK;
    float *losses = memory_open((size_t)n * sizeof *losses);
    if (!losses) return HWS_ERROR_MEMORY;
    for (int64_t i = 0; i < n; i++) losses[i] = law_knows(&sampler->law, i) ? sampler->law.losses[i] : NAN;
    const hws_status status = history_write_range(sampler, 0, n, losses);
    memory_close(losses);
    return status;
}

static hws_status check_open(int64_t n, const float *losses, const hws_options *options, hws_error *error) {
    if (n < 1 || n > HWS_MAX_EXAMPLES)
        return error_set(error, HWS_ERROR_ARGUMENT, "there are %lld examples; there must be 1 to %lld", (long long)n,
                         (long long)HWS_MAX_EXAMPLES);
    const hws_status status = options_check(options, n, error);
    if (status != HWS_OK) return status;
    for (int64_t i = 0; losses && i < n; i++)
        if (isinf(losses[i]))
            return error_at(error, HWS_ERROR_NOT_FINITE, i, i,
                            "the initial loss of example %lld is %s; it must be finite, or NaN for none", (long long)i,
                            not_finite_name(losses[i]));
    return HWS_OK;
}

static hws_status open_visits(hws_sampler *sampler) {
    if (history_known(sampler) == sampler->law.n) return HWS_OK;
    if (!visits_reserve(&sampler->visits, sampler->law.n)) return HWS_ERROR_MEMORY;
    visits_begin_again(sampler);
    return HWS_OK;
}

/* A sampler with options that have been checked; NULL when out of memory. */
static hws_sampler *sampler_create(int64_t n, const float *losses, const hws_options *options) {
    hws_sampler *sampler = memory_open(sizeof *sampler);
    if (!sampler) return NULL;
    memset(sampler, 0, sizeof *sampler);
    sampler->options = *options;
    error_clear(&sampler->error);
    if (open_law(sampler, n, losses) != HWS_OK || open_history(sampler) != HWS_OK || open_visits(sampler) != HWS_OK ||
        open_counts(sampler) != HWS_OK)
        hws_sampler_close(&sampler);
    return sampler;
}

hws_status hws_sampler_open(hws_sampler **out, int64_t n, const float *losses, const hws_options *options,
                            hws_error *error) {
    error_clear(error);
    if (!out) return error_set(error, HWS_ERROR_ARGUMENT, "the place for the sampler is NULL");
    *out = NULL;
    hws_options known;
    hws_status status = options_read(options, &known, error);
    if (status == HWS_OK) status = check_open(n, losses, &known, error);
    if (status != HWS_OK) return status;
    options_take_tail(&known);
    options_settle(&known);
    *out = sampler_create(n, losses, &known);
    if (*out) tail_begin(*out);
    return *out ? HWS_OK
                : error_set(error, HWS_ERROR_MEMORY, "no memory for a sampler over %lld examples", (long long)n);
}

void hws_sampler_close(hws_sampler **sampler) {
    if (!sampler || !*sampler) return;
    law_close(&(*sampler)->law);
    history_close(&(*sampler)->history);
    visit_set_close(&(*sampler)->visits.left);
    memory_close((*sampler)->last_seen);
    memory_close((*sampler)->draw_counts);
    memory_close((*sampler)->proposals);
    memory_close((*sampler)->blended);
    memory_close((*sampler)->found);
    memory_close(*sampler);
    *sampler = NULL;
}

int64_t hws_sampler_size(const hws_sampler *sampler) { return sampler ? sampler->law.n : 0; }
int64_t hws_sampler_unseen(const hws_sampler *sampler) { return sampler ? sampler->law.n - history_known(sampler) : 0; }

void hws_sampler_get_options(const hws_sampler *sampler, hws_options *options, size_t size) {
    if (sampler) options_write(&sampler->options, options, size);
    else hws_options_init(options, size);
}

uint64_t hws_sampler_draws_made(const hws_sampler *sampler) { return sampler ? sampler->draws_made : 0; }
uint64_t hws_sampler_updates_made(const hws_sampler *sampler) { return sampler ? sampler->updates_made : 0; }

size_t hws_sampler_memory(const hws_sampler *sampler) {
    if (!sampler) return 0;
    const size_t counts = sampler->last_seen ? 2 * (size_t)sampler->law.n * sizeof *sampler->last_seen : 0;
    const size_t batch = sampler->batch_capacity * (sizeof *sampler->proposals + sizeof *sampler->blended) +
                         sampler->found_size * sizeof *sampler->found;
    return sizeof *sampler + law_memory(&sampler->law) + history_memory(&sampler->history) +
           sampler->visits.left.block_size + counts + batch;
}

/* ---- shared steps ---------------------------------------------------------------------------------------------- */

hws_status sampler_prepare(hws_sampler *sampler) {
    const hws_status status = sampler->law.known > 0 ? law_prepare(&sampler->law) : HWS_OK;
    if (status != HWS_OK)
        return sampler_fail(sampler, status, -1, -1,
                            "the custom divergence has no normaliser for these losses; check phi' and its inverse");
    return HWS_OK;
}

void sampler_changed(hws_sampler *sampler) { sampler->floor_current = 0; }

hws_status sampler_reserve_batch(hws_sampler *sampler, int64_t count) {
    if (!history_reserve(&sampler->history, (size_t)count))
        return sampler_fail(sampler, HWS_ERROR_MEMORY, -1, -1, "no memory for a batch of %lld", (long long)count);
    if ((size_t)count <= sampler->batch_capacity && law_reserve(&sampler->law, (size_t)count) == HWS_OK) return HWS_OK;
    const size_t found_size = batch_table_size(count);
    int64_t *proposals = memory_open((size_t)count * sizeof *proposals);
    float *blended = memory_open((size_t)count * sizeof *blended);
    uint32_t *found = memory_open(found_size * sizeof *found);
    if (!proposals || !blended || !found || law_reserve(&sampler->law, (size_t)count) != HWS_OK) {
        memory_close(proposals);
        memory_close(blended);
        memory_close(found);
        return sampler_fail(sampler, HWS_ERROR_MEMORY, -1, -1, "no memory for a batch of %lld", (long long)count);
    }
    memory_close(sampler->proposals);
    memory_close(sampler->blended);
    memory_close(sampler->found);
    sampler->proposals = proposals;
    sampler->blended = blended;
    sampler->found = found;
    sampler->found_size = found_size;
    sampler->batch_capacity = (size_t)count;
    return HWS_OK;
}

float sampler_blend(const hws_sampler *sampler, int64_t example, float loss) {
    const double momentum = sampler->options.momentum;
    if (momentum == 0 || !history_knows(sampler, example)) return loss;
    return (float)(momentum * (double)history_loss(sampler, example) + (1 - momentum) * (double)loss);
}
