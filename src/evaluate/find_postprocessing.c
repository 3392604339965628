#include "evaluate/find_postprocessing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct trial {
    const case_pairs *pairs;
    const region_list *regions;
    scoring_options options;
    const listener *listener;
    postprocessing *found;
    size_t done, all; /* trials */
    double *best;     /* [regions]: the mean Dice with what was accepted so far */
} trial;

/* ---- what a postprocessing scores -------------------------------------------------------------------------------- */

/* The mean Dice of each region, NaN where no case has one. */
static void take_means(const scores *scores, double *means) {
    for (size_t r = 0; r < scores->regions.count; r++) {
        double sum = 0, count = 0;
        for (size_t k = 0; k < scores->cases; k++) {
            const double dice = scores_at(scores, k, r)[METRIC_DICE];
            if (isnan(dice)) continue;
            sum += dice;
            count++;
        }
        means[r] = count > 0 ? sum / count : (double)NAN;
    }
}

static double mean_of(const double *means, size_t count) {
    double sum = 0, known = 0;
    for (size_t r = 0; r < count; r++) {
        if (isnan(means[r])) continue;
        sum += means[r];
        known++;
    }
    return known > 0 ? sum / known : (double)NAN;
}

static void tell_progress(void *context, const char *what, size_t done, size_t total) {
    const trial *t = context;
    (void)what;
    listener_progress(t->listener, "postprocessing", t->done * total + done, t->all * total);
}

static int is_to_stop(void *context) { return listener_stops(((const trial *)context)->listener); }

/* Labels that are in no region were told of before. */
static status_code score(trial *t, double *means, failure *failure) {
    const listener listener = {.context = t, .progress = tell_progress, .stop = is_to_stop};
    scores scores;
    t->options.after = t->found;
    const status_code status = scoring_run(t->pairs, t->regions, &t->options, &listener, &scores, failure);
    if (status == STATUS_OK) take_means(&scores, means);
    scores_close(&scores);
    t->done++;
    if (status == STATUS_STOPPED) fail(failure, status, "stopped; the scores are written, a postprocessing is not");
    return status;
}

/* ---- the rules --------------------------------------------------------------------------------------------------- */

/* `which`: a region, or -1 for all together. */
static int is_better(const double *before, const double *after, size_t count, long which) {
    if (which >= 0) return after[which] > before[which];
    for (size_t r = 0; r < count; r++)
        if (after[r] < before[r]) return 0;
    return mean_of(after, count) > mean_of(before, count);
}

static int has_value(const postprocessing_step *step, int value) {
    for (int k = 0; k < step->count; k++)
        if (step->values[k] == value) return 1;
    return 0;
}

/* 0: there are too many. */
static int add_values(postprocessing_step *step, const region *region) {
    for (int k = 0; k < region->count; k++) {
        if (has_value(step, region->labels[k])) continue;
        if (step->count == POSTPROCESSING_VALUES) return 0;
        step->values[step->count++] = (int16_t)region->labels[k];
    }
    return 1;
}

status_code find_postprocessing_check(const region_list *regions, failure *failure) {
    if (regions->count >= POSTPROCESSING_STEPS)
        return fail(failure, STATUS_BAD_INPUT,
                    "--find-postprocessing: at most %d labels and regions are possible, not %zu",
                    POSTPROCESSING_STEPS - 1, regions->count);
    postprocessing_step all = {0};
    for (size_t r = 0; r < regions->count; r++)
        if (!add_values(&all, &regions->regions[r]))
            return fail(failure, STATUS_BAD_INPUT, "--find-postprocessing: at most %d different labels are possible",
                        POSTPROCESSING_VALUES);
    return STATUS_OK;
}

static void tell(const listener *listener, const char *name, double before, double after) {
    text notice = {0};
    text_format(&notice,
                "postprocessing: keeping the largest component of %.100s raises the mean Dice from %.2f %% to %.2f %%",
                name, 100 * before, 100 * after);
    if (!notice.failed) listener_notice(listener, notice.bytes);
    text_close(&notice);
}

static void accept(trial *t, long which, const double *means) {
    const size_t count = t->regions->count;
    tell(t->listener, which < 0 ? "all labels together" : t->regions->regions[which].name,
         which < 0 ? mean_of(t->best, count) : t->best[which], which < 0 ? mean_of(means, count) : means[which]);
    memcpy(t->best, means, count * sizeof *means);
}

/* Tries one more step; accepted, it stays, and its means are what others must exceed. */
static status_code attempt(trial *t, long which, failure *failure) {
    const size_t count = t->regions->count;
    double *means = malloc(count * sizeof *means);
    if (!means) return fail_memory(failure, "the scores");
    postprocessing_step *step = &t->found->steps[t->found->count++];
    *step = (postprocessing_step){0};
    for (size_t r = 0; r < count; r++)
        if (which < 0 || (size_t)which == r) add_values(step, &t->regions->regions[r]);
    const status_code status = score(t, means, failure);
    if (status == STATUS_OK && is_better(t->best, means, count, which)) accept(t, which, means);
    else *step = (postprocessing_step){0}, t->found->count--;
    free(means);
    return status;
}

static status_code try_all(trial *t, failure *failure) {
    const size_t count = t->regions->count;
    status_code status = attempt(t, -1, failure);
    for (size_t r = 0; r < count && count > 1 && status == STATUS_OK; r++) status = attempt(t, (long)r, failure);
    if (status == STATUS_OK && !t->found->count)
        listener_notice(t->listener,
                        "postprocessing: keeping only largest components raises no score, so nothing will be done");
    return status;
}

status_code find_postprocessing(const case_pairs *pairs, const scores *before, const scoring_options *options,
                                const listener *listener, postprocessing *found, failure *failure) {
    const size_t count = before->regions.count;
    memset(found, 0, sizeof *found);
    status_code status = find_postprocessing_check(&before->regions, failure);
    if (status != STATUS_OK) return status;
    trial t = {.pairs = pairs,
               .regions = &before->regions,
               .options = {.empty = options->empty, .ignore = options->ignore, .threads = options->threads},
               .listener = listener,
               .found = found,
               .all = count > 1 ? count + 1 : 1,
               .best = malloc(count * sizeof(double))};
    if (!t.best) return fail_memory(failure, "the scores");
    take_means(before, t.best);
    status = try_all(&t, failure);
    free(t.best);
    return status;
}
