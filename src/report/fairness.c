#include "report/fairness.h"

#include "report/class_verdict.h"
#include "report/html.h"
#include "report/scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double run_iterations(const run *run) { return run_last(&run->history, "iteration"); }

/* A budget of time may have changed it: I:N,I:N. */
static double changed_length(const run *run) {
    const char *lengths = run_setting_text(run, "budget_lengths"), *last = lengths ? strrchr(lengths, ':') : NULL;
    return last ? strtod(last + 1, NULL) : (double)NAN;
}

double run_iterations_at_most(const run *run) {
    const double changed = changed_length(run);
    const double iterations = run_setting_number(run, "iterations"), epochs = run_setting_number(run, "epochs");
    if (changed > 0) return changed;
    if (iterations > 0) return iterations;
    return epochs * run_setting_number(run, "epoch_iterations");
}

static int may_end_early(const run *run) { return run_setting_number(run, "stop_grad_norm") > 0; }

static void add_count(text *page, double count) {
    char words[NUMBER_SIZE];
    number_format(count, words);
    text_add(page, words);
}

/* ---- runs that have not ended ---- */

static int tell_unfinished(text *page, const runs *runs) {
    int told = 0;
    for (size_t r = 0; r < runs->count; r++) {
        const run *run = &runs->all[r];
        const double made = run_iterations(run), planned = run_iterations_at_most(run);
        if (may_end_early(run) || !(made < planned)) continue;
        text_add(page, "<p class=\"note\">");
        html_bold(page, run->name);
        text_add(page, " has not ended: ");
        add_count(page, made);
        text_add(page, " of ");
        add_count(page, planned);
        text_add(page, " iterations are done.</p>\n");
        told = 1;
    }
    return told;
}

/* ---- runs of different length ---- */

static double examples_seen(const run *run) {
    const double batch = run_setting_number(run, "batch");
    return run_iterations(run) * (batch > 0 ? batch : 1);
}

static int tell_lengths(text *page, const runs *runs) {
    double least = HUGE_VAL, most = 0;
    for (size_t r = 0; r < runs->count; r++) {
        const double seen = examples_seen(&runs->all[r]);
        if (!isfinite(seen)) continue;
        least = fmin(least, seen);
        most = fmax(most, seen);
    }
    if (!(most > 1.01 * least)) return 0;
    text_add(page, "<p class=\"note\">The runs are of different length: ");
    const char *before = "";
    for (size_t r = 0; r < runs->count; r++) {
        const double made = run_iterations(&runs->all[r]), batch = run_setting_number(&runs->all[r], "batch");
        if (!isfinite(made)) continue;
        text_add(page, before);
        html_bold(page, runs->all[r].name);
        text_add(page, " ");
        add_count(page, made);
        text_add(page, " iterations");
        if (batch > 0) {
            text_add(page, " of ");
            add_count(page, batch);
        }
        before = ", ";
    }
    text_add(page, ". What differs may be due to that.</p>\n");
    return 1;
}

/* ---- other data ---- */

static int differ_in(const runs *runs, const char *key) {
    const char *first = NULL;
    for (size_t r = 0; r < runs->count; r++) {
        const char *value = run_setting_text(&runs->all[r], key);
        if (!value) continue;
        if (first && strcmp(first, value) != 0) return 1;
        first = value;
    }
    return 0;
}

static int tell_data(text *page, const runs *runs) {
    const int data = differ_in(runs, "data_fingerprint");
    if (!data && !differ_in(runs, "fold") && !differ_in(runs, "validation_cases") && !differ_in(runs, "test_examples"))
        return 0;
    text_format(page,
                "<p class=\"note\">The runs were not %s on the same examples: scores of theirs that were measured "
                "during training do not compare.</p>\n",
                data ? "trained and judged" : "judged");
    return 1;
}

/* ---- chance ---- */

/* What a run is judged by on this page, as in its headline. How many were tested during training may not be known. */
static int judged_share(const runs *runs, const run *run, class_share *share, double *tested) {
    class_result found;
    if (class_verdict_applies(runs) && class_result_of(run, &found)) {
        *share = found.all;
        *tested = found.examples;
        return 1;
    }
    const double accuracy = run_last(&run->history, "test_accuracy");
    *tested = run_setting_number(run, "test_examples");
    *share = class_share_of(accuracy * (*tested > 0 ? *tested : 1000), *tested > 0 ? *tested : 1000);
    return isfinite(accuracy) && accuracy >= 0 && accuracy <= 1;
}

static void tell_chance_of(text *page, const runs *runs, const run *run) {
    class_share share;
    double tested;
    char words[NUMBER_SIZE];
    if (run->is_segmentation || run->class_count < 2 || !judged_share(runs, run, &share, &tested)) return;
    const double chance = 1 / (double)run->class_count;
    if (!(share.low <= chance)) return;
    number_percent(chance, words);
    text_add(page, "<p class=\"note\">");
    html_bold(page, run->name);
    text_format(page, " %s chance (%s for %zu classes)", share.high < chance ? "is worse than" : "cannot be told from",
                words, run->class_count);
    if (tested > 0) text_add(page, " on "), add_count(page, tested), text_add(page, " test examples");
    text_add(page, ".</p>\n");
}

static void tell_chance(text *page, const runs *runs) {
    for (size_t r = 0; r < runs->count; r++) tell_chance_of(page, runs, &runs->all[r]);
}

int fairness_write(text *page, const runs *runs) {
    const int unfinished = tell_unfinished(page, runs);
    const int lengths = runs->count > 1 && tell_lengths(page, runs);
    const int data = runs->count > 1 && tell_data(page, runs);
    tell_chance(page, runs);
    return !unfinished && !lengths && !data;
}
