#include "sampler/history.h"

#include "core/memory.h"
#include "sampler/sampler.h"

#include <math.h>
#include <string.h>

int history_knows(const hws_sampler *s, int64_t example) {
    return s->history.losses ? is_known(s->history.losses[example]) : law_knows(&s->law, example);
}

int64_t history_known(const hws_sampler *s) { return s->history.losses ? s->history.known : s->law.known; }

float history_loss(const hws_sampler *s, int64_t example) {
    const float loss = s->history.losses ? s->history.losses[example] : s->law.losses[example];
    return is_known(loss) ? loss : NAN;
}

loss_list history_list(const hws_sampler *s) {
    if (!s->history.losses) return law_list(&s->law);
    return (loss_list){s->history.losses, (size_t)s->law.n, (size_t)s->history.known};
}

float history_believed(const history *h, int64_t example, float loss) {
    if (h->doubt == 0) return loss;
    const double reach = record_reach(&h->record);
    return (float)(((double)loss + reach) * (1 - h->doubt * record_doubt(&h->record, example)) - reach);
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

int history_open(history *h, int64_t n, const hws_options *options) {
    *h = (history){.n = n, .doubt = options->doubt};
    const int records = options->keep_record || options->doubt > 0, own = records || options->trim > 0;
    if (!own) return 1;
    h->losses = memory_open((size_t)n * sizeof *h->losses);
    for (int64_t i = 0; h->losses && i < n; i++) h->losses[i] = -INFINITY;
    if (h->losses && (!records || record_open(&h->record, n)) &&
        (options->trim == 0 || trim_open(&h->trim, n, options->trim)))
        return 1;
    history_close(h);
    return 0;
}

void history_close(history *h) {
    memory_close(h->losses);
    memory_close(h->told);
    memory_close(h->tellings);
    if (h->trim.heap) trim_close(&h->trim);
    if (h->record.entries) record_close(&h->record);
    *h = (history){0};
}

size_t history_memory(const history *h) {
    return (h->losses ? (size_t)h->n * sizeof *h->losses : 0) + trim_memory(&h->trim) + record_memory(&h->record) +
           h->told_capacity * (sizeof *h->told + sizeof *h->tellings);
}

int history_reserve(history *h, size_t count) {
    const size_t needed = h->trim.heap ? TRIM_MOVES * count : count;
    if (!h->losses || needed <= h->told_capacity) return 1;
    int64_t *told = memory_open(needed * sizeof *told);
    float *tellings = memory_open(needed * sizeof *tellings);
    if (!told || !tellings) {
        memory_close(told);
        memory_close(tellings);
        return 0;
    }
    memory_close(h->told);
    memory_close(h->tellings);
    h->told = told;
    h->tellings = tellings;
    h->told_capacity = needed;
    return 1;
}

/* ---- losses ---------------------------------------------------------------------------------------------------- */

/* NaN, or what is known to be none: no loss. */
static void write_loss(history *h, int64_t example, float given) {
    const float old = h->losses[example], loss = is_known(given) ? given : -INFINITY;
    h->known += is_known(loss) - is_known(old);
    if (h->record.entries && is_known(loss)) record_reach_for(&h->record, loss, h->losses);
    if (h->record.entries) record_exchange(&h->record, example, is_known(old) ? old : NAN, is_known(loss) ? loss : NAN);
    h->losses[example] = loss;
}

/* Puts it in its place among those left out and the others; lists who else has changed sides. */
static size_t place(history *h, int64_t example, int64_t *moved) {
    const float loss = h->losses[example];
    if (!h->trim.heap) return 0;
    return trim_write(&h->trim, example, is_known(loss) ? history_believed(h, example, loss) : NAN, moved);
}

/* What the law is to be told: NaN, nothing. */
static float telling(const history *h, int64_t example) {
    const float loss = h->losses[example];
    if (!is_known(loss) || (h->trim.heap && trim_leaves_out(&h->trim, example))) return NAN;
    return history_believed(h, example, loss);
}

static void place_all(history *h) {
    int64_t moved[TRIM_MOVES];
    for (int64_t i = 0; h->trim.heap && i < h->n; i++) place(h, i, moved);
}

/* Tells the law all of it anew, in portions of what room there is: for this no memory can be lacking. */
static void tell_in_portions(hws_sampler *s) {
    history *h = &s->history;
    place_all(h);
    for (int64_t i = 0; i < h->n;) {
        size_t told = 0;
        for (; told < h->told_capacity && i < h->n; told++, i++) {
            h->told[told] = i;
            h->tellings[told] = telling(h, i);
        }
        law_write(&s->law, (int64_t)told, h->told, h->tellings);
    }
}

int history_update(hws_sampler *s, int64_t count, const int64_t *examples, const float *losses, const float *blended) {
    history *h = &s->history;
    size_t told = (size_t)count;
    if (!h->losses) {
        law_write(&s->law, count, examples, blended);
        return 1;
    }
    const int bound = h->record.bound;
    for (int64_t j = 0; j < count; j++) {
        const int64_t i = h->told[j] = examples[j];
        if (h->record.entries) record_reach_for(&h->record, losses[j], h->losses);
        if (h->record.entries) record_add(&h->record, i, losses[j]);
        write_loss(h, i, blended[j]);
        told += place(h, i, h->told + told);
    }
    if (h->doubt > 0 && h->record.bound != bound) {
        tell_in_portions(s);
        return 0;
    }
    for (size_t k = 0; k < told; k++) h->tellings[k] = telling(h, h->told[k]);
    law_write(&s->law, (int64_t)told, h->told, h->tellings);
    return 1;
}

static void write_range(history *h, int64_t first, int64_t count, const float *losses) {
    int64_t moved[TRIM_MOVES];
    for (int64_t j = 0; j < count; j++) {
        write_loss(h, first + j, losses[j]);
        place(h, first + j, moved);
    }
}

/* All that the law is to be told; the caller frees it. NULL when out of memory. */
static float *tellings_of(const history *h) {
    float *all = memory_open((size_t)h->n * sizeof *all);
    for (int64_t i = 0; all && i < h->n; i++) all[i] = telling(h, i);
    return all;
}

hws_status history_tell_all(hws_sampler *s) {
    history *h = &s->history;
    if (!h->losses) return HWS_OK;
    place_all(h);
    float *all = tellings_of(h);
    const hws_status status = all ? law_write_range(&s->law, 0, h->n, all) : HWS_ERROR_MEMORY;
    memory_close(all);
    return status;
}

hws_status history_write_range(hws_sampler *s, int64_t first, int64_t count, const float *losses) {
    history *h = &s->history;
    if (!h->losses) return law_write_range(&s->law, first, count, losses);
    float *before = memory_open((size_t)count * sizeof *before);
    if (!before) return HWS_ERROR_MEMORY;
    memcpy(before, h->losses + first, (size_t)count * sizeof *before);
    const record was = h->record;
    write_range(h, first, count, losses);
    const hws_status status = history_tell_all(s);
    if (status != HWS_OK) write_range(h, first, count, before);
    if (status != HWS_OK && h->record.entries) {
        h->record.sum = was.sum; /* to the last bit */
        h->record.bound = was.bound;
        record_count_anew(&h->record, h->losses);
        place_all(h);
    }
    memory_close(before);
    return status;
}

hws_status history_grow(hws_sampler *s, history *larger, int64_t count, const float *losses) {
    const history *h = &s->history;
    if (!h->losses) return law_grow(&s->law, count, losses);
    const size_t entries = (size_t)h->n * sizeof *h->record.entries;
    if (h->record.entries && !record_reserve_labels(&larger->record, h->record.labels)) return HWS_ERROR_MEMORY;
    if (h->record.entries) memcpy(larger->record.entries, h->record.entries, entries);
    larger->record.bound = h->record.bound;
    write_range(larger, 0, h->n, h->losses);
    write_range(larger, h->n, count, losses);
    if (larger->record.bound != h->record.bound) place_all(larger);
    float *all = tellings_of(larger);
    const hws_status status = all ? law_replace(&s->law, larger->n, all) : HWS_ERROR_MEMORY;
    memory_close(all);
    if (status != HWS_OK) return status;
    const history before = s->history;
    s->history = *larger;
    *larger = before;
    return HWS_OK;
}
