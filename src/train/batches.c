#include "train/batches.h"

#include "core/memory.h"
#include "core/random.h"
#include "train/purposes.h"
#include "train/sampler_status.h"

#include <string.h>

enum { GROUPS_MAX = 1 << 20 };

/* Counts the examples of each group. */
static status_code count_groups(const batches_options *o, int64_t *counts, int64_t *most, failure *failure) {
    *most = 0;
    for (int64_t i = 0; i < o->examples; i++) {
        const int g = o->group ? o->group(o->context, i) : -1;
        if (g < 0 || g >= GROUPS_MAX)
            return fail(
                failure, STATUS_BAD_INPUT,
                "--objective %s needs a class or group of each example, and example %lld has none; name a column "
                "of groups with --group",
                objective_name((int)o->kind), (long long)i);
        counts[g]++;
        if (g + 1 > *most) *most = g + 1;
    }
    return STATUS_OK;
}

/* Counting sort by group; groups without examples vanish. */
static status_code sort_by_group(batches *b, failure *failure) {
    const batches_options *o = &b->options;
    int64_t most;
    int64_t *counts = memory_open(((size_t)GROUPS_MAX + 1) * sizeof *counts);
    if (!counts) return fail_memory(failure, "the groups");
    memset(counts, 0, ((size_t)GROUPS_MAX + 1) * sizeof *counts);
    status_code status = count_groups(o, counts, &most, failure);
    if (status == STATUS_OK && !(b->starts = memory_open(((size_t)most + 1) * sizeof *b->starts)))
        status = fail_memory(failure, "the groups");
    if (status == STATUS_OK) {
        int64_t start = 0;
        for (int64_t g = 0; g < most; g++) {
            const int64_t count = counts[g];
            counts[g] = start;
            if (count) b->starts[b->groups++] = start;
            start += count;
        }
        b->starts[b->groups] = start;
        for (int64_t i = 0; i < o->examples; i++) b->order[counts[o->group(o->context, i)]++] = i;
    }
    memory_close(counts);
    return status;
}

status_code batches_open(batches *b, const batches_options *options, failure *failure) {
    *b = (batches){.options = *options, .pass = -1};
    if (options->size > options->examples && !objective_draws_by_group(options->kind))
        return fail(failure, STATUS_BAD_INPUT,
                    "%lld examples are drawn per iteration, but there are only %lld; choose a smaller --batch",
                    (long long)options->size, (long long)options->examples);
    if (options->kind == OBJECTIVE_DRO && !options->warm_up) return STATUS_OK;
    b->order = memory_open((size_t)options->examples * sizeof *b->order);
    if (!b->order) return fail_memory(failure, "the order of the examples");
    const status_code status = objective_draws_by_group(options->kind) ? sort_by_group(b, failure) : STATUS_OK;
    if (status != STATUS_OK) batches_close(b);
    return status;
}

void batches_close(batches *b) {
    memory_close(b->order);
    memory_close(b->starts);
    memory_close(b->pool);
    b->order = b->starts = b->pool = 0;
}

static void shuffle(batches *b, int64_t pass) {
    random_stream stream;
    if (b->pass == pass) return;
    b->pass = pass;
    random_start(&stream, b->options.seed, b->pool ? RANDOM_UPWEIGHTED : RANDOM_SHUFFLE, (uint64_t)pass, 0);
    for (int64_t i = 0; i < (b->pool ? b->pooled : b->options.examples); i++) {
        const int64_t j = (int64_t)random_below(&stream, (uint64_t)i + 1);
        b->order[i] = b->order[j];
        b->order[j] = b->pool ? b->pool[i] : i;
    }
}

status_code batches_upweight(batches *b, const uint8_t *marked, int64_t times, int64_t first, failure *failure) {
    int64_t size = 0;
    for (int64_t i = 0; i < b->options.examples; i++) size += marked[i] ? times : 1;
    int64_t *pool = memory_open((size_t)size * sizeof *pool), *order = memory_open((size_t)size * sizeof *order);
    if (!pool || !order) {
        memory_close(pool);
        memory_close(order);
        return fail_memory(failure, "the order of the examples");
    }
    memory_close(b->pool);
    memory_close(b->order);
    b->pool = pool;
    b->order = order;
    b->pooled = 0;
    b->first = first;
    b->pass = -1;
    for (int64_t i = 0; i < b->options.examples; i++)
        for (int64_t k = 0; k < (marked[i] ? times : 1); k++) pool[b->pooled++] = i;
    return STATUS_OK;
}

static void draw_by_group(const batches *b, int64_t iteration, int64_t *drawn) {
    random_stream stream;
    random_start(&stream, b->options.seed, RANDOM_REWEIGHT, (uint64_t)iteration, 0);
    for (int64_t k = 0; k < b->options.size; k++) {
        const int64_t *start = b->starts + random_below(&stream, (uint64_t)b->groups);
        drawn[k] = b->order[start[0] + (int64_t)random_below(&stream, (uint64_t)(start[1] - start[0]))];
    }
}

static void draw_uniformly(const batches *b, int64_t iteration, int64_t *drawn) {
    random_stream stream;
    random_start(&stream, b->options.seed, RANDOM_UNIFORM, (uint64_t)iteration, 0);
    for (int64_t k = 0; k < b->options.size; k++)
        drawn[k] = (int64_t)random_below(&stream, (uint64_t)b->options.examples);
}

static status_code draw_from_history(const batches *b, int64_t *drawn, failure *failure) {
    const hws_status status = hws_sampler_draw(b->options.history, b->options.size, drawn);
    if (status == HWS_ERROR_TOO_FEW)
        return fail(failure, STATUS_FAILED,
                    "a batch cannot be drawn: %s; the options are --uniform-mix 0.05, --beta and --replacement",
                    hws_sampler_error(b->options.history)->message);
    return sampler_status(hws_sampler_error(b->options.history), status, "a batch cannot be drawn", failure);
}

status_code batches_draw(batches *b, int64_t iteration, int64_t *drawn, failure *failure) {
    if (b->options.kind == OBJECTIVE_DRO && iteration >= b->options.warm_up)
        return draw_from_history(b, drawn, failure);
    if (objective_draws_by_group(b->options.kind)) {
        draw_by_group(b, iteration, drawn);
        return STATUS_OK;
    }
    if (b->options.independent && !b->pool && b->options.kind != OBJECTIVE_OHEM) {
        draw_uniformly(b, iteration, drawn);
        return STATUS_OK;
    }
    const int64_t per_pass = (b->pool ? b->pooled : b->options.examples) / b->options.size;
    const int64_t since = b->pool ? iteration - b->first : iteration;
    shuffle(b, since / per_pass);
    memcpy(drawn, b->order + since % per_pass * b->options.size, (size_t)b->options.size * sizeof *drawn);
    return STATUS_OK;
}
