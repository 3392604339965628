#include "train/pace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the time that is left: so much is planned for, and a length that takes less than this is made longer. */
static const double PLANNED = 0.97, UNUSED = 0.85;
enum { FIRST_STEPS = 3 };            /* so many are measured before a length is made longer */
static const double RECENT = 0.1;    /* the largest weight of the newest step in their mean */
static const double WINDOW = 0.01;   /* of the time that is left: steps of so long make the mean */
static const double MOST_MOVE = 0.1; /* by this share of it one step can move the mean up */
static const double NEWEST = 0.5;    /* the weight of the newest validation in their mean */
static const double MOST_TIMES = 3;  /* and no more than so many times what was expected is believed of one */

/* ---- recorded changes -------------------------------------------------------------------------------------------- */

static int add_change(pace *p, int64_t at, int64_t total) {
    length_change *grown = realloc(p->changes, (p->count + 1) * sizeof *grown);
    if (!grown) return 0;
    p->changes = grown;
    p->changes[p->count++] = (length_change){at, total};
    return 1;
}

static status_code fail_changes(const char *changes, failure *failure) {
    return fail(
        failure, STATUS_BAD_INPUT,
        "budget_lengths '%.100s' is not what hws train --budget records: I:N,I:N with growing I, each N at least I",
        changes);
}

status_code pace_open(pace *p, int64_t planned, const char *changes, failure *failure) {
    int64_t before = 0;
    *p = (pace){.planned = planned};
    for (const char *at = changes; *at;) {
        long long iteration, total;
        int used = 0;
        if (sscanf(at, "%lld:%lld%n", &iteration, &total, &used) != 2 || !used || iteration <= before ||
            total < iteration)
            return fail_changes(changes, failure);
        if (!add_change(p, iteration, total)) return fail_memory(failure, "the changes of the run's length");
        before = iteration;
        at += used;
        if (*at == ',' && at[1]) at++;
        else if (*at) return fail_changes(changes, failure);
    }
    return STATUS_OK;
}

void pace_close(pace *p) {
    free(p->changes);
    *p = (pace){0};
}

void pace_record(const pace *p, text *changes) {
    for (size_t k = 0; k < p->count; k++)
        text_format(changes, "%s%lld:%lld", k ? "," : "", (long long)p->changes[k].at, (long long)p->changes[k].total);
}

int64_t pace_length(const pace *p, int64_t done) {
    int64_t total = p->planned;
    for (size_t k = 0; k < p->count && p->changes[k].at <= done; k++) total = p->changes[k].total;
    return total;
}

static double moved(const pace *p, const length_change *from, double position, int64_t iteration) {
    if (from->total <= from->at) return position;
    return position +
           ((double)p->planned - position) * (double)(iteration - from->at) / (double)(from->total - from->at);
}

double pace_position(const pace *p, int64_t iteration) {
    length_change last = {0, p->planned};
    double position = 0;
    if (!p->count || iteration <= p->changes[0].at) return (double)iteration; /* to the bit */
    for (size_t k = 0; k < p->count && p->changes[k].at < iteration; k++) {
        position = moved(p, &last, position, p->changes[k].at);
        last = p->changes[k];
    }
    return moved(p, &last, position, iteration);
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

void pace_watch(pace *p, double deadline, double step, double validation, double end, double now) {
    p->deadline = deadline;
    p->step = step;
    p->validation = step > 0 ? validation / step : 0;
    p->end = end;
    p->validated = 0;
    p->measured = 0;
    p->mark = now;
}

/* The first steps count for more than their share of the window: what was measured before was short. */
static double weight_of_newest(const pace *p, double now) {
    const double first = 1 / (1 / RECENT + (double)p->measured), window = WINDOW * fmax(0, p->deadline - now);
    return fmin(RECENT, fmax(first, window > 0 ? p->step / window : RECENT));
}

static double least_of_last(const pace *p) {
    double least = p->measured < PACE_LAST ? 0 : p->last[0];
    for (int k = 1; k < PACE_LAST; k++) least = fmin(least, p->last[k]);
    return least;
}

/* When the first few have all been faster than what was measured before the run, that was wrong. Later ones have a mean
   of their own, with the slow ones among them. */
static double most_of_first(const pace *p) {
    double most = 0;
    if (p->measured < FIRST_STEPS || p->measured > PACE_LAST) return HUGE_VAL;
    for (int64_t k = 0; k < p->measured; k++) most = fmax(most, p->last[k]);
    return most;
}

void pace_measure_step(pace *p, double now) {
    const double seconds = now - p->mark, weight = weight_of_newest(p, now);
    p->last[p->measured++ % PACE_LAST] = seconds;
    const double believed = fmin(seconds, fmax(p->step * (1 + MOST_MOVE / weight), least_of_last(p)));
    p->step = p->step > 0 ? fmin(p->step + weight * (believed - p->step), most_of_first(p)) : seconds;
    p->mark = now;
}

static double validation_of(const pace *p) { return fmax(p->validated, p->step * p->validation); }

void pace_measure_validation(pace *p, double now) {
    const double seconds = now - p->mark, expected = validation_of(p);
    p->validated = expected > 0 ? expected + NEWEST * (fmin(seconds, MOST_TIMES * expected) - expected) : seconds;
    if (p->step > 0) p->validation = p->validated / p->step;
    p->mark = now;
}

void pace_skip(pace *p, double now) { p->mark = now; }

double pace_reserve(const pace *p) { return 0.2 + 2 * p->step; }

static double seconds_of(const pace *p, const pace_moment *m, int64_t total) {
    const double last = ceil((double)total / (double)m->epoch), past = floor((double)(m->done - 1) / (double)m->epoch);
    return p->step * (double)(total - m->done) + (last - past) * validation_of(p) + p->end;
}

/* The largest length that fits. */
static int64_t longest(const pace *p, const pace_moment *m, double seconds) {
    int64_t low = m->done, high = m->done + 1 + (int64_t)fmin(1e12, fmax(0, seconds) / p->step);
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        if (seconds_of(p, m, middle) <= seconds) low = middle;
        else high = middle - 1;
    }
    return low > m->least ? low : m->least;
}

/* On the way of the learning rate, which a cut does not shorten: more iterations near its end would learn nothing. */
static int is_early(const pace *p, int64_t done) { return 3 * pace_position(p, done) < 2 * (double)p->planned; }

int pace_decide(pace *p, const pace_moment *m) {
    const int64_t total = pace_length(p, m->done);
    if (!(p->deadline > 0) || !(p->step > 0) || m->done >= total) return 0;
    if (p->count && m->done <= p->changes[p->count - 1].at) return 0;
    const double left = p->deadline - m->now - pace_reserve(p), needed = seconds_of(p, m, total);
    const int64_t often = m->epoch > 10 ? m->epoch / 10 : 1;
    const int early = m->done % often == 0 && m->done >= FIRST_STEPS && is_early(p, m->done);
    const int too_long = needed > left, too_short = early && needed < UNUSED * left;
    if (!too_long && !too_short) return 0;
    const int64_t fits = longest(p, m, PLANNED * left);
    if (too_long ? fits >= total : fits <= total) return 0;
    return add_change(p, m->done, fits) ? 1 : -1;
}
