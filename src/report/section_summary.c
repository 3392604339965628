/* What came out, in words and in one table. */
#include "report/class_metric.h"
#include "report/class_verdict.h"
#include "report/fairness.h"
#include "report/html.h"
#include "report/methods.h"
#include "report/scale.h"
#include "report/style.h"

#include <math.h>

static void bold_percent(text *page, double share) {
    char label[NUMBER_SIZE];
    number_percent(share, label);
    html_bold(page, label);
}

static void add_worst(text *page, const runs *runs, const class_metric *metric, const run *run, const char *link) {
    double worst = 0;
    const char *class_key = class_metric_worst(metric, run, &worst);
    if (!class_key) return;
    text_add(page, link);
    bold_percent(page, worst);
    text_format(page, " on its worst %s, \xE2\x80\x9C", class_metric_word(metric, class_key));
    html_escape(page, class_metric_class_name(metric, runs, class_key));
    text_add(page, "\xE2\x80\x9D");
}

/* "ERM reaches a test accuracy of 89.0 % overall, but 0.0 % on its worst class, “3”" */
static void add_result(text *page, const runs *runs, const class_metric *metric, const run *run) {
    html_bold(page, run->name);
    text_format(page, " reaches a %s of ", metric->name);
    bold_percent(page, run_last(&run->history, metric->column));
    add_worst(page, runs, metric, run, " overall, but ");
}

/* What runs are judged by: the worst class, or without classes the overall value. */
static double merit(const class_metric *metric, const run *run) {
    double worst;
    return class_metric_worst(metric, run, &worst) ? worst : run_last(&run->history, metric->column);
}

static const run *best_run(const runs *runs, const class_metric *metric) {
    const run *best = NULL;
    for (size_t r = 0; r < runs->count; r++) {
        const double value = merit(metric, &runs->all[r]);
        if (isfinite(value) && (!best || value > merit(metric, best))) best = &runs->all[r];
    }
    return best;
}

/* What the best run is held against: ordinary training, or else the run that does worst. */
static const run *baseline_run(const runs *runs, const class_metric *metric, const run *best) {
    const run *baseline = NULL;
    for (size_t r = 0; r < runs->count; r++) {
        const run *run = &runs->all[r];
        const double value = merit(metric, run);
        if (run == best || !isfinite(value)) continue;
        if (run_has_objective(run, "erm")) return run;
        if (!baseline || value < merit(metric, baseline)) baseline = run;
    }
    return baseline;
}

/* Whether two results look the same. */
static int are_level(const class_metric *metric, const run *a, const run *b) {
    return lround(1000 * merit(metric, a)) == lround(1000 * merit(metric, b));
}

/* What was measured while training. The best is named only where that is fair. */
static void add_outcome(text *page, const runs *runs, const class_metric *metric, int fair) {
    const run *best = best_run(runs, metric), *baseline = best ? baseline_run(runs, metric, best) : NULL;
    if (!best) return text_add(page, "No result on held-out examples has been recorded yet. ");
    if (!baseline) {
        add_result(page, runs, metric, best);
        return text_add(page, ". ");
    }
    add_result(page, runs, metric, baseline);
    const int level = are_level(metric, best, baseline);
    const char *where = metric->count ? "where it is hardest" : "of all";
    if (level) text_add(page, ". Level with it is ");
    else if (fair) text_format(page, ". Best %s is ", where);
    else text_format(page, ". Highest %s, though the comparison is not fair, is ", where);
    html_bold(page, best->name);
    text_add(page, ", with ");
    bold_percent(page, run_last(&best->history, metric->column));
    add_worst(page, runs, metric, best, " overall and ");
    text_add(page, ". ");
}

static void add_subject(text *page, const runs *runs, const class_metric *metric) {
    const run *first = &runs->all[0];
    const double examples = run_setting_number(first, "examples");
    char label[NUMBER_SIZE];
    if (runs->count == 1) text_add(page, "This page shows one run");
    else text_format(page, "This page compares %zu runs", runs->count);
    if (examples > 0) {
        number_format(examples, label);
        text_format(page, " on %s training %s", label, first->is_segmentation ? "cases" : "examples");
    }
    double kept;
    const char *focus = class_metric_focus(metric, runs, &kept);
    if (focus && kept < 1) {
        number_share(kept, label);
        text_format(page, ", with only %s of the %s \xE2\x80\x9C", label, class_metric_word(metric, focus));
        html_escape(page, class_metric_class_name(metric, runs, focus));
        text_add(page, "\xE2\x80\x9D kept");
    }
    text_add(page, ". ");
}

static void explain_objectives(text *page, const runs *runs) {
    int erm = 0, dro = 0;
    for (size_t r = 0; r < runs->count; r++) {
        erm |= run_has_objective(&runs->all[r], "erm");
        dro |= run_has_objective(&runs->all[r], "dro");
    }
    if (!dro) return;
    text_add(page, "<p class=\"aside\">");
    if (erm) text_add(page, "<b>ERM</b> is ordinary training: every example counts the same. ");
    text_add(page, "<b>DRO</b> (distributionally robust) training draws hard examples more often: the larger \xCE\xB2, "
                   "the more so. It gives up a little on easy examples so that rare ones are not forgotten.</p>\n");
}

/* What is measured on training cases must not be taken for what new ones will get. */
static void warn_of_training_cases(text *page, const runs *runs) {
    const size_t count = runs_without_held_out(runs);
    if (!count) return;
    text_add(page, "<p class=\"note\">");
    const char *before = "";
    for (size_t r = 0; r < runs->count && count < runs->count; r++) {
        if (!run_trains_on_all(&runs->all[r])) continue;
        text_add(page, before);
        html_bold(page, runs->all[r].name);
        before = ", ";
    }
    text_format(page,
                "%s trained on all cases (fold -1), the validation cases among them: %s scores tell how well the "
                "training cases were learned, not how well new ones will be segmented.</p>\n",
                count < runs->count ? (count > 1 ? " were" : " was")
                : count > 1         ? "These runs were"
                                    : "This run was",
                count > 1 ? "their" : "its");
}

static void add_number_cell(text *page, const char *label, int best) {
    text_format(page, best ? "<td><b>%s</b></td>" : "<td>%s</td>", label);
}

/* What the table tells of a run. */
typedef struct outcome {
    double overall, worst, focus;
    const char *column, *name; /* of the worst, the former NULL for a class; both NULL: there is none */
} outcome;

/* The evaluation where all runs have one, else the end of training. */
static outcome outcome_of(const runs *runs, const class_metric *metric, const run *run, const char *focus) {
    class_result found;
    outcome o = {.worst = (double)NAN};
    if (class_verdict_applies(runs) && class_result_of(run, &found))
        return (outcome){found.all.share, found.worst.share, focus ? class_result_share(run, focus) : 0, found.column,
                         found.name};
    const char *worst = class_metric_worst(metric, run, &o.worst);
    o.overall = run_last(&run->history, metric->column);
    o.name = worst ? class_metric_class_name(metric, runs, worst) : NULL;
    if (focus) o.focus = class_metric_last(metric, run, focus);
    return o;
}

static void add_worst_cell(text *page, const outcome *o, int best) {
    char label[NUMBER_SIZE];
    number_percent(o->worst, label);
    text_format(page, "<td>%s%s%s", best ? "<b>" : "", label, best ? "</b>" : "");
    if (o->name) {
        text_add(page, " <span class=\"faint\">");
        if (o->column) html_escape(page, o->column), text_add(page, " ");
        html_escape(page, o->name);
        text_add(page, "</span>");
    }
    text_add(page, "</td>");
}

static void add_table_row(text *page, const runs *runs, const class_metric *metric, const run *run, const char *focus,
                          int best) {
    char label[NUMBER_SIZE];
    const outcome o = outcome_of(runs, metric, run, focus);
    text_add(page, "<tr><th scope=\"row\">");
    html_escape(page, run->name);
    text_add(page, "</th>");
    number_percent(o.overall, label);
    add_number_cell(page, label, 0);
    if (metric->count) add_worst_cell(page, &o, best);
    if (focus) {
        number_percent(o.focus, label);
        add_number_cell(page, label, 0);
    }
    number_format(run_last(&run->history, "epoch"), label);
    add_number_cell(page, label, 0);
    number_duration(run_last(&run->history, "seconds"), label);
    add_number_cell(page, label, 0);
    text_add(page, "</tr>\n");
}

static const char *word_of_worst(const runs *runs, const class_metric *metric) {
    class_result found;
    if (!class_verdict_applies(runs) || !class_result_of(&runs->all[0], &found)) return metric->class_word;
    return found.column ? "group" : "class";
}

static void add_table(text *page, const runs *runs, const class_metric *metric, int fair) {
    double kept;
    const char *focus = class_metric_focus(metric, runs, &kept);
    if (kept == 1) focus = NULL;
    /* The headline of an evaluation weighs chance: its table crowns nobody. */
    const run *best = runs->count > 1 && fair && !class_verdict_applies(runs) ? best_run(runs, metric) : NULL;
    for (size_t r = 0; r < runs->count && best; r++) /* what is level gets no crown */
        if (&runs->all[r] != best && are_level(metric, best, &runs->all[r])) best = NULL;
    text_format(page,
                "<div class=\"scroll whole\" tabindex=\"0\"><table class=\"key\">\n<tr><th scope=\"col\">run</th>"
                "<th scope=\"col\">%s</th>",
                metric->name);
    if (metric->count) text_format(page, "<th scope=\"col\">worst %s</th>", word_of_worst(runs, metric));
    if (focus) {
        text_format(page, "<th scope=\"col\">rare %s \xE2\x80\x9C", class_metric_word(metric, focus));
        html_escape(page, class_metric_class_name(metric, runs, focus));
        text_add(page, "\xE2\x80\x9D</th>");
    }
    text_add(page, "<th scope=\"col\">epochs</th><th scope=\"col\">time</th></tr>\n");
    for (size_t r = 0; r < runs->count; r++)
        add_table_row(page, runs, metric, &runs->all[r], focus, &runs->all[r] == best);
    text_add(page, "</table></div>\n");
}

/* The headline: the full evaluation where there is one, else what was measured while training. */
static void add_lead(text *page, const runs *runs, const class_metric *metric, const methods *methods, int fair) {
    text_add(page, "<p class=\"lead\">");
    if (runs->count) add_subject(page, runs, metric);
    if (methods->count) verdict_write(page, methods, fair);
    else if (class_verdict_applies(runs)) class_verdict_write(page, runs, fair);
    else if (runs->count) add_outcome(page, runs, metric, fair);
    text_add(page, "</p>\n");
}

static void tell_left_out(text *page, const methods *methods) {
    if (!methods->left_out.size) return;
    text_add(page, "<p class=\"note\">Not the same was evaluated: ");
    html_escape(page, text_string(&methods->left_out));
    text_format(page, ". What is compared are the %zu cases that all have.</p>\n", methods->strata.list[0].count);
}

void summary_section(text *page, const runs *runs, const methods *methods) {
    class_metric metric;
    text notes = {0};
    if (!class_metric_open(&metric, runs)) {
        page->failed = 1;
        return;
    }
    const int fair = fairness_write(&notes, runs);
    text_add(page, "<section class=\"summary\">\n");
    add_lead(page, runs, &metric, methods, fair);
    text_add_bytes(page, text_string(&notes), notes.size);
    page->failed |= notes.failed;
    tell_left_out(page, methods);
    class_verdict_tell_old(page, runs);
    warn_of_training_cases(page, runs);
    explain_objectives(page, runs);
    if (runs->count) add_table(page, runs, &metric, fair);
    section_close(page);
    class_metric_close(&metric);
    text_close(&notes);
}
