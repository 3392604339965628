#include "sampler.h"
#include "purposes.h"

#include "core/memory.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

hws_options hws_options_default(void) {
    return (hws_options){
        .beta = 100,
        .divergence = {.kind = HWS_KL},
        .initial_loss = 1,
        .weight_min = 0.1,
        .weight_max = 10,
    };
}

/* Writes an error down, if there is a place for it, and returns its status. */
static hws_status note(hws_error *error, hws_status status, int64_t position, int64_t example, const char *format,
                       va_list arguments) {
    if (!error) return status;
    error->status = status;
    error->position = position;
    error->example = example;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    return status;
}

/* printf would say "-nan" for some. */
static const char *not_finite_name(float loss) { return isnan(loss) ? "nan" : loss > 0 ? "inf" : "-inf"; }

static hws_status refuse(hws_error *error, hws_status status, int64_t position, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    note(error, status, position, position, format, arguments);
    va_end(arguments);
    return status;
}

static int in_range(double x, double low, double high) { return x >= low && x <= high; }

static hws_status check_divergence(const hws_divergence *divergence, int64_t n, hws_error *error) {
    const hws_status status = divergence_check(divergence, n);
    if (status == HWS_OK) return status;
    if (divergence->kind == HWS_CVAR)
        return refuse(error, status, -1, "the fraction of CVaR is %g; it must be above 0 and at most 1",
                      divergence->parameter);
    if (divergence->kind == HWS_CRESSIE_READ)
        return refuse(error, status, -1, "k of Cressie-Read is %g; it must be from -100 to 100", divergence->parameter);
    if (divergence->kind != HWS_CUSTOM)
        return refuse(error, status, -1, "there is no divergence of kind %d", (int)divergence->kind);
    if (!divergence->slope || !divergence->slope_inverse)
        return refuse(error, status, -1, "the custom divergence lacks slope or slope_inverse");
    return refuse(
        error, status, -1,
        "the custom divergence is inconsistent: phi' must rise from below 0 through 0 at z = 1, slope_inverse "
        "must undo slope, and phi(1) must be 0");
}

static hws_status check_options(const hws_options *options, int64_t n, hws_error *error) {
    const struct {
        const char *name;
        double value;
        int right;
        const char *wanted;
    } ranges[] = {
        {"beta", options->beta, in_range(options->beta, 0, LARGEST_BETA), "from 0 to 1e15"},
        {"initial_loss", options->initial_loss, isfinite((float)options->initial_loss), "finite as a float"},
        {"jitter", options->jitter, in_range(options->jitter, 0, 1), "from 0 to 1"},
        {"momentum", options->momentum, in_range(options->momentum, 0, 1) && options->momentum < 1,
         "at least 0 and below 1"},
        {"floor", options->floor, in_range(options->floor, 0, 1), "from 0 to 1"},
        {"uniform_mix", options->uniform_mix, in_range(options->uniform_mix, 0, 1), "from 0 to 1"},
        {"weight_min", options->weight_min, options->weight_min >= 0 && options->weight_min < INFINITY,
         "finite and not negative"},
        {"weight_max", options->weight_max, options->weight_max >= options->weight_min,
         "at least as large as weight_min"},
        {"importance", options->importance,
         options->importance == HWS_IMPORTANCE_APPROXIMATE || options->importance == HWS_IMPORTANCE_EXACT,
         "one of hws_importance"},
    };
    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; k++)
        if (!ranges[k].right)
            return refuse(error, HWS_ERROR_ARGUMENT, -1, "%s is %g; it must be %s", ranges[k].name, ranges[k].value,
                          ranges[k].wanted);
    if (options->floor > 0 && options->uniform_mix > 0)
        return refuse(error, HWS_ERROR_ARGUMENT, -1, "floor and uniform_mix exclude each other; set one of them to 0");
    return check_divergence(&options->divergence, n, error);
}

hws_status hws_sampler_open_check(int64_t n, const float *losses, const hws_options *options, hws_error *error) {
    const hws_options defaults = hws_options_default();
    if (error) *error = (hws_error){.position = -1, .example = -1};
    if (n < 1 || n > HWS_MAX_EXAMPLES)
        return refuse(error, HWS_ERROR_ARGUMENT, -1, "there are %lld examples; there must be 1 to %lld", (long long)n,
                      (long long)HWS_MAX_EXAMPLES);
    const hws_status status = check_options(options ? options : &defaults, n, error);
    if (status != HWS_OK) return status;
    for (int64_t i = 0; losses && i < n; i++)
        if (!isfinite(losses[i]))
            return refuse(error, HWS_ERROR_NOT_FINITE, i, "the initial loss of example %lld is %s", (long long)i,
                          not_finite_name(losses[i]));
    return HWS_OK;
}

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
    note(&sampler->error, status, position, example, format, arguments);
    va_end(arguments);
    return status;
}

const hws_error *hws_sampler_error(const hws_sampler *sampler) {
    static const hws_error none = {HWS_ERROR_ARGUMENT, -1, -1, "the sampler is NULL: it was not opened, or closed"};
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

hws_status check_finite(hws_sampler *sampler, int64_t first, int64_t count, const float *losses) {
    for (int64_t j = 0; j < count; j++)
        if (!isfinite(losses[j])) return refuse_loss(sampler, j, first + j, losses[j]);
    return HWS_OK;
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

hws_status hws_sampler_open(hws_sampler **out, int64_t n, const float *losses, const hws_options *options) {
    if (!out) return HWS_ERROR_ARGUMENT;
    *out = NULL;
    const hws_options defaults = hws_options_default();
    if (!options) options = &defaults;
    hws_status status = hws_sampler_open_check(n, losses, options, NULL);
    if (status != HWS_OK) return status;

    hws_sampler *sampler = memory_open(sizeof *sampler);
    if (!sampler) return HWS_ERROR_MEMORY;
    memset(sampler, 0, sizeof *sampler);
    sampler->options = *options;
    sampler->error = (hws_error){.position = -1, .example = -1};
    status = open_law(sampler, n, losses);
    if (status == HWS_OK) status = open_counts(sampler);
    if (status == HWS_OK) *out = sampler;
    else hws_sampler_close(&sampler);
    return status;
}

void hws_sampler_close(hws_sampler **sampler) {
    if (!sampler || !*sampler) return;
    law_close(&(*sampler)->law);
    memory_close((*sampler)->last_seen);
    memory_close((*sampler)->draw_counts);
    memory_close((*sampler)->proposals);
    memory_close((*sampler)->blended);
    memory_close((*sampler)->found);
    memory_close(*sampler);
    *sampler = NULL;
}

int64_t hws_sampler_size(const hws_sampler *sampler) { return sampler ? sampler->law.n : 0; }
hws_options hws_sampler_options(const hws_sampler *sampler) {
    return sampler ? sampler->options : hws_options_default();
}

uint64_t hws_sampler_draws_made(const hws_sampler *sampler) { return sampler ? sampler->draws_made : 0; }
uint64_t hws_sampler_updates_made(const hws_sampler *sampler) { return sampler ? sampler->updates_made : 0; }

size_t hws_sampler_memory(const hws_sampler *sampler) {
    if (!sampler) return 0;
    const size_t counts = sampler->last_seen ? 2 * (size_t)sampler->law.n * sizeof *sampler->last_seen : 0;
    const size_t batch = sampler->batch_capacity * (sizeof *sampler->proposals + sizeof *sampler->blended) +
                         sampler->found_size * sizeof *sampler->found;
    return sizeof *sampler + law_memory(&sampler->law) + counts + batch;
}

/* ---- shared steps ---------------------------------------------------------------------------------------------- */

hws_status sampler_prepare(hws_sampler *sampler) {
    const hws_status status = law_prepare(&sampler->law);
    if (status != HWS_OK)
        return sampler_fail(sampler, status, -1, -1,
                            "the custom divergence has no normaliser for these losses; check phi' and its inverse");
    return HWS_OK;
}

void sampler_changed(hws_sampler *sampler) { sampler->floor_current = 0; }

hws_status sampler_reserve_batch(hws_sampler *sampler, int64_t count) {
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
    if (momentum == 0) return loss;
    return (float)(momentum * sampler->law.losses[example] + (1 - momentum) * loss);
}
