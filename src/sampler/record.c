#include "sampler/record.h"

#include "core/memory.h"
#include "core/portable_math.h"

#include <math.h>
#include <string.h>

static const double SLACK = 0.25, RELIEF = 2, MOST = 8, CERTAIN = 6, LEAST_SHARE = 0.5;
static const double REMEMBERED = 16;

static const double UNIT = 1 << 20;

/* The logarithm of a loss in whole units; no loss is taken to be below 2^-40. */
static int64_t logarithm(double loss) {
    const double least = 0x1p-40, x = loss > least ? loss : least;
    return (int64_t)floor(hws_log(x) * HWS_LOG2_E * UNIT + 0.5);
}

int record_open(record *r, int64_t n) {
    *r = (record){.n = n};
    r->entries = memory_open((size_t)n * sizeof *r->entries);
    if (r->entries) memset(r->entries, 0, (size_t)n * sizeof *r->entries);
    if (r->entries && record_reserve_labels(r, 1)) return 1;
    record_close(r);
    return 0;
}

void record_close(record *r) {
    memory_close(r->entries);
    memory_close(r->peers);
    *r = (record){0};
}

size_t record_memory(const record *r) {
    return (size_t)r->n * sizeof *r->entries + (size_t)r->labels * sizeof *r->peers;
}

int record_reserve_labels(record *r, int32_t labels) {
    if (labels <= r->labels) return 1;
    record_peers *peers = memory_open((size_t)labels * sizeof *peers);
    if (!peers) return 0;
    memset(peers, 0, (size_t)labels * sizeof *peers);
    if (r->labels) memcpy(peers, r->peers, (size_t)r->labels * sizeof *peers);
    memory_close(r->peers);
    r->peers = peers;
    r->labels = labels;
    return 1;
}

/* Adds a loss to those of a label, or with a sign of -1 takes it out. */
static void count_in(record *r, int32_t label, float loss, int sign) {
    if (isnan(loss)) return;
    r->peers[label].count += sign;
    r->peers[label].logarithms += sign * logarithm((double)loss + record_reach(r));
}

double record_reach(const record *r) { return r->bound ? ldexp(1, r->bound - 1) : 0; }

void record_count_anew(record *r, const float *losses) {
    memset(r->peers, 0, (size_t)r->labels * sizeof *r->peers);
    for (int64_t i = 0; i < r->n; i++)
        if (losses[i] > -INFINITY) count_in(r, r->entries[i].label, losses[i], 1);
}

void record_reach_for(record *r, float loss, const float *losses) {
    const int before = r->bound;
    while ((double)loss < -record_reach(r)) r->bound++;
    if (r->bound != before) record_count_anew(r, losses);
}

void record_exchange(record *r, int64_t example, float old, float loss) {
    const int32_t label = r->entries[example].label;
    count_in(r, label, old, -1);
    count_in(r, label, loss, 1);
    r->count += !isnan(loss) - !isnan(old);
    if (!isnan(old)) exact_sum_count(&r->sum, old, -1);
    if (!isnan(loss)) exact_sum_count(&r->sum, loss, 1);
}

void record_set_label(record *r, int64_t example, int32_t label, float loss) {
    count_in(r, r->entries[example].label, loss, -1);
    r->entries[example].label = label;
    count_in(r, label, loss, 1);
}

double record_level(const record *r, int64_t example) {
    const record_peers *peers = &r->peers[r->entries[example].label];
    if (!peers->count) return (double)NAN;
    const double logarithm = (double)peers->logarithms / (double)peers->count / UNIT, reach = record_reach(r);
    const double level = hws_exp(logarithm * HWS_LN_2), mean = exact_sum_value(&r->sum) / (double)r->count;
    const double least = LEAST_SHARE * (mean + reach);
    return (level > least ? level : least) - reach;
}

/* ln of two losses' ratio, counted from the bound. */
static double log_ratio(const record *r, double loss, double level) {
    const double reach = record_reach(r), above = level + reach;
    return loss + reach > 0x1p-40 * above ? hws_log((loss + reach) / above) : -(double)INFINITY;
}

static double within(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

void record_add(record *r, int64_t example, float loss) {
    record_entry *e = &r->entries[example];
    const double level = record_level(r, example);
    e->count += e->count < UINT32_MAX;
    const double share = (double)e->count < REMEMBERED ? (double)e->count : REMEMBERED;
    e->mean =
        (float)((double)e->mean + ((double)loss - (double)e->mean) / share); /* floats might overflow on the way */
    if (!(level + record_reach(r) > 0)) return;
    const double step = within(log_ratio(r, (double)loss, level) - SLACK, -RELIEF, 1);
    e->evidence = (float)within((double)e->evidence + step, 0, MOST);
}

double record_excess(const record *r, int64_t example) {
    const record_entry *e = &r->entries[example];
    const double level = record_level(r, example);
    return e->count && level + record_reach(r) > 0 ? log_ratio(r, (double)e->mean, level) : -(double)INFINITY;
}

double record_doubt(const record *r, int64_t example) {
    return within(((double)r->entries[example].evidence - 1) / (CERTAIN - 1), 0, 1);
}
