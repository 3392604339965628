#include "report/class_verdict.h"

#include "report/html.h"
#include "statistics/share_interval.h"

#include <math.h>
#include <string.h>

enum { LEAST_IN_GROUP = 3 }; /* the worst of smaller groups is a matter of luck */

static const class_share UNKNOWN = {(double)NAN, (double)NAN, (double)NAN};

/* ---- what was found ---------------------------------------------------------------------------------------------- */

/* Earlier versions had the bootstrap's in strata.csv, which has no width where all are right, and
   there is none for a few. */
class_share class_share_of(double right, double all) {
    const interval ci = share_interval(right / all, all);
    if (!(all > 0)) return UNKNOWN;
    return all < STATISTICS_INTERVAL_CASES ? (class_share){right / all, (double)NAN, (double)NAN}
                                           : (class_share){right / all, ci.low, ci.high};
}

double class_size(const csv *confusion, size_t row) {
    double sum = 0;
    for (size_t k = 1; k < confusion->columns; k++) sum += fmax(0, csv_number(confusion, row, k));
    return sum;
}

/* How many patients an example stands for: 1 where they are not known, or have one each. */
static double patients_per_example(const run *run, size_t row) {
    const double share = run_number(&run->strata, row, "patients") / run_number(&run->strata, row, "examples");
    return share > 0 && share < 1 ? share : 1;
}

/* The last row of classes.csv is that of all. */
static class_share share_of_rates(const run *run, const char *name) {
    for (size_t row = 0; row + 1 < run->rates.data.rows; row++)
        if (strcmp(run_cell(&run->rates, row, "class"), name) == 0)
            return (class_share){run_number(&run->rates, row, "sensitivity"),
                                 run_number(&run->rates, row, "sensitivity_low"),
                                 run_number(&run->rates, row, "sensitivity_high")};
    return UNKNOWN;
}

/* classes.csv has the interval; that of earlier versions had none, and then a patient counts as one example. */
static class_share share_of_class(const run *run, size_t row) {
    const csv *confusion = &run->confusion.data;
    const class_share known = share_of_rates(run, csv_cell(confusion, row, 0));
    const double scale = patients_per_example(run, 0);
    if (isfinite(known.share)) return known;
    return row + 1 < confusion->columns
               ? class_share_of(scale * csv_number(confusion, row, row + 1), scale * class_size(confusion, row))
               : UNKNOWN;
}

static class_share share_of_stratum(const run *run, size_t row) {
    const double accuracy = run_number(&run->strata, row, "accuracy"), scale = patients_per_example(run, row);
    const double examples = scale * run_number(&run->strata, row, "examples");
    const class_share found = {accuracy, run_number(&run->strata, row, "accuracy_low"),
                               run_number(&run->strata, row, "accuracy_high")};
    return scale < 1 && found.low < found.high ? found : class_share_of(accuracy * examples, examples);
}

static void take_worst(class_result *result, class_share share, const char *column, const char *name) {
    if (!isfinite(share.share) || (isfinite(result->worst.share) && share.share >= result->worst.share)) return;
    result->worst = share;
    result->column = column;
    result->name = name;
}

/* Whether the run was trained on after it was evaluated. */
static int class_result_is_old(const run *run) {
    return run->strata.data.rows && run_number(&run->strata, 0, "iteration") < run_last(&run->history, "iteration");
}

int class_result_of(const run *run, class_result *result) {
    const csv *classes = &run->confusion.data;
    *result = (class_result){.worst = UNKNOWN};
    if (!run->strata.data.rows || class_result_is_old(run)) return 0;
    result->examples = run_number(&run->strata, 0, "examples");
    result->all = share_of_stratum(run, 0);
    for (size_t row = 1; row < run->strata.data.rows; row++)
        if (run_number(&run->strata, row, "examples") >= LEAST_IN_GROUP)
            take_worst(result, share_of_stratum(run, row), run_cell(&run->strata, row, "column"),
                       run_cell(&run->strata, row, "value"));
    for (size_t row = 0; row < classes->rows && run->strata.data.rows == 1; row++)
        take_worst(result, share_of_class(run, row), NULL, csv_cell(classes, row, 0));
    return isfinite(result->all.share);
}

static int is_group(const run *run, size_t row, const char *key) {
    const char *column = run_cell(&run->strata, row, "column");
    const size_t length = strlen(column);
    return length && strncmp(key, column, length) == 0 && key[length] == ':' &&
           strcmp(key + length + 1, run_cell(&run->strata, row, "value")) == 0;
}

double class_result_share(const run *run, const char *key) {
    const csv *classes = &run->confusion.data;
    for (size_t row = 0; row < run->strata.data.rows; row++)
        if (is_group(run, row, key)) return share_of_stratum(run, row).share;
    for (size_t row = 0; row < classes->rows; row++)
        if (strcmp(csv_cell(classes, row, 0), run_class_name(run, key)) == 0) return share_of_class(run, row).share;
    return (double)NAN;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

int class_verdict_applies(const runs *runs) {
    class_result result;
    for (size_t r = 0; r < runs->count; r++)
        if (!class_result_of(&runs->all[r], &result)) return 0;
    return runs->count > 0;
}

static void add_share(text *page, const class_share *share, const char *interval) {
    text_format(page, "<b>%.1f\xC2\xA0%%</b>", 100 * share->share);
    if (isfinite(share->low)) text_format(page, " (%s%.1f to %.1f)", interval, 100 * share->low, 100 * share->high);
}

/* "ERM is right on 81.0 % of them (95 % interval 77.1 to 85.2), and on 56.9 % (48.3 to 66.4) of its worst group, “group
   normal”." */
static void add_result(text *page, const run *run, const class_result *result, int is_first) {
    html_bold(page, run->name);
    text_add(page, " is right on ");
    add_share(page, &result->all, is_first ? "95\xC2\xA0% interval " : "");
    text_add(page, " of them");
    if (result->name) {
        text_add(page, ", and on ");
        add_share(page, &result->worst, "");
        text_format(page, " of its worst %s, \xE2\x80\x9C", result->column ? "group" : "class");
        if (result->column) html_escape(page, result->column), text_add(page, " ");
        html_escape(page, result->name);
        text_add(page, "\xE2\x80\x9D");
    }
    text_add(page, ". ");
}

/* What runs are judged by. */
static class_share merit(const run *run) {
    class_result result;
    return class_result_of(run, &result) && result.name ? result.worst : result.all;
}

/* What the others are held against: ordinary training, or else the first. */
static const run *baseline_of(const runs *runs) {
    for (size_t r = 0; r < runs->count; r++)
        if (run_has_objective(&runs->all[r], "erm")) return &runs->all[r];
    return &runs->all[0];
}

static const run *best_other(const runs *runs, const run *baseline) {
    const run *best = NULL;
    for (size_t r = 0; r < runs->count; r++)
        if (&runs->all[r] != baseline && (!best || merit(&runs->all[r]).share > merit(best).share))
            best = &runs->all[r];
    return best;
}

/* The row of the same group in another run's strata.csv; that many rows: it is not there. */
static size_t same_group(const run *a, size_t row, const run *b) {
    size_t k = 0;
    while (k < b->strata.data.rows &&
           (strcmp(run_cell(&a->strata, row, "column"), run_cell(&b->strata, k, "column")) != 0 ||
            strcmp(run_cell(&a->strata, row, "value"), run_cell(&b->strata, k, "value")) != 0))
        k++;
    return k;
}

/* Whether two were evaluated on as many examples of each class, and of each group that both know:
   others are no comparison. */
static int saw_the_same(const run *a, const run *b) {
    const csv *of_a = &a->confusion.data, *of_b = &b->confusion.data;
    int same = of_a->rows == of_b->rows;
    for (size_t row = 0; same && row < a->strata.data.rows; row++) {
        const size_t other = same_group(a, row, b);
        same = other == b->strata.data.rows ||
               run_number(&a->strata, row, "examples") == run_number(&b->strata, other, "examples");
    }
    for (size_t row = 0; same && row < of_a->rows; row++) same = class_size(of_a, row) == class_size(of_b, row);
    return same;
}

/* Whether the worst of both is the worst of the same groups, or of the same classes. */
static int have_the_same_groups(const run *a, const run *b) {
    int same = a->strata.data.rows == b->strata.data.rows;
    for (size_t row = 0; same && row < a->strata.data.rows; row++) same = same_group(a, row, b) < b->strata.data.rows;
    return same;
}

static int all_are_alike(const runs *runs, int (*alike)(const run *a, const run *b)) {
    for (size_t r = 1; r < runs->count; r++)
        if (!alike(&runs->all[0], &runs->all[r])) return 0;
    return 1;
}

static void add_judgement(text *page, const runs *runs) {
    const run *baseline = baseline_of(runs), *other = best_other(runs, baseline);
    if (!other) return;
    const class_share a = merit(baseline), b = merit(other);
    const int above = b.low > a.high, below = a.low > b.high;
    text_add(page, "Where it is hardest, ");
    if (above) html_bold(page, other->name), text_add(page, " is better than "), html_escape(page, baseline->name);
    else if (below) text_add(page, "none is as good as "), html_bold(page, baseline->name);
    const int known = isfinite(a.low) && isfinite(b.low);
    text_add(page, above || below ? ", by more than chance. "
                   : known        ? "these examples do not tell them apart: the intervals overlap. "
                                  : "there are too few examples to tell them apart. ");
}

void class_verdict_write(text *page, const runs *runs, int fair) {
    const int same = all_are_alike(runs, saw_the_same);
    class_result result;
    for (size_t r = 0; r < runs->count; r++) {
        if (!class_result_of(&runs->all[r], &result)) continue;
        if (r == 0 || !same)
            text_format(page, "Evaluated on %.0f test example%s: ", result.examples, result.examples == 1 ? "" : "s");
        add_result(page, &runs->all[r], &result, r == 0);
    }
    if (!same) text_add(page, "They were evaluated on different examples, so that this is no comparison. ");
    else if (!all_are_alike(runs, have_the_same_groups))
        text_add(page,
                 "They were scored by different groups: <code>hws evaluate --by COLUMN</code> of each, with the same "
                 "column, makes them a comparison. ");
    else if (fair) add_judgement(page, runs);
}

void class_verdict_tell_old(text *page, const runs *runs) {
    for (size_t r = 0; r < runs->count; r++) {
        if (!class_result_is_old(&runs->all[r])) continue;
        text_add(page, "<p class=\"note\">");
        html_bold(page, runs->all[r].name);
        text_add(page,
                 " was trained further after it was evaluated: what the evaluation found may be of older weights. "
                 "Run <code>hws evaluate</code> again.</p>\n");
    }
}
