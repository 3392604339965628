/* The headline of a page whose runs were evaluated in full: who is better, and whether these cases can tell. */
#include "report/html.h"
#include "report/methods.h"
#include "report/scale.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_IN_GROUP = 3 }; /* the worst of smaller groups is a matter of luck */
static const double LEVEL = 0.05;

/* The mean over the cases of a stratum of their mean Dice. */
static double mean_of(const methods *methods, size_t method, const stratum *stratum) {
    double *values = malloc((stratum->count + 1) * sizeof *values), sum = 0;
    size_t count = 0;
    if (!values) return (double)NAN;
    methods_case_means(methods, method, stratum, values);
    for (size_t k = 0; k < stratum->count; k++) {
        if (isnan(values[k])) continue;
        sum += values[k];
        count++;
    }
    free(values);
    return count ? sum / (double)count : (double)NAN;
}

static const stratum *worst_group(const methods *methods, size_t method, double *dice) {
    const stratum *worst = NULL;
    for (size_t s = 1; s < methods->strata.count; s++) {
        const stratum *stratum = &methods->strata.list[s];
        const double mean = mean_of(methods, method, stratum);
        if (stratum->count < LEAST_IN_GROUP || isnan(mean) || (worst && mean >= *dice)) continue;
        worst = stratum;
        *dice = mean;
    }
    return worst;
}

static void add_method(text *page, const methods *methods, size_t method) {
    double lowest = 0;
    const stratum *group = worst_group(methods, method, &lowest);
    html_bold(page, methods->names[method]);
    const double mean = mean_of(methods, method, &methods->strata.list[0]);
    if (isnan(mean)) return text_add(page, " has no Dice in any of them");
    text_format(page, " has a mean Dice of <b>%.1f\xC2\xA0%%</b>", 100 * mean);
    if (group) {
        text_format(page, ", and <b>%.1f\xC2\xA0%%</b> in its worst group, \xE2\x80\x9C", 100 * lowest);
        html_escape(page, group->column);
        text_add(page, " ");
        html_escape(page, group->value);
        text_add(page, "\xE2\x80\x9D");
    }
}

/* What the others are held against: ordinary training, or else the first. */
static size_t baseline_of(const methods *methods) {
    for (size_t m = 0; m < methods->count; m++)
        if (run_has_objective(methods->runs[m], "erm")) return m;
    return 0;
}

/* How each differs from the baseline, case by case and patient by patient, corrected for how many there are. */
static status_code differences(const methods *methods, size_t baseline, paired *results) {
    const stratum *all = &methods->strata.list[0];
    statistics_options options = statistics_options_default();
    options.patients = all->whose;
    double *values = malloc((2 * all->count + methods->count + 1) * sizeof *values);
    if (!values) return STATUS_OUT_OF_MEMORY;
    double *other = values + all->count, *p = other + all->count;
    status_code status = STATUS_OK;
    methods_case_means(methods, baseline, all, values);
    for (size_t m = 0; m < methods->count && status == STATUS_OK; m++) {
        methods_case_means(methods, m, all, other);
        status = paired_of(values, other, all->count, &options, &results[m], NULL);
        p[m] = m == baseline ? (double)NAN : results[m].test.p;
    }
    if (status == STATUS_OK) status = holm_correct(p, methods->count, NULL);
    for (size_t m = 0; m < methods->count && status == STATUS_OK; m++) results[m].holm = p[m];
    free(values);
    return status;
}

static const char *judgement(const paired *difference, int fair) {
    if (isnan(difference->ci.low))
        return difference->patients < difference->count ? "too few patients to tell whether that is chance"
                                                        : "too few cases to tell whether that is chance";
    const int clear = difference->holm < LEVEL && (difference->ci.low > 0 || difference->ci.high < 0);
    if (!clear) return "these cases do not tell the two apart";
    if (!fair) return "more than chance, but the runs differ in more than their method";
    return difference->mean > 0 ? "better, by more than chance" : "worse, by more than chance";
}

static void add_difference(text *page, const methods *methods, size_t method, size_t baseline, const paired *difference,
                           int fair) {
    char p[NUMBER_SIZE];
    add_method(page, methods, method);
    if (isnan(difference->mean)) return text_add(page, ": no case has a Dice by both. ");
    number_p(difference->holm, p);
    text_format(page, ": %+.1f points to ", 100 * difference->mean);
    html_escape(page, methods->names[baseline]);
    if (!isnan(difference->ci.low))
        text_format(page, " (95\xC2\xA0%% interval %+.1f to %+.1f", 100 * difference->ci.low,
                    100 * difference->ci.high);
    if (!isnan(difference->holm))
        text_format(page, "%sp %s%s", isnan(difference->ci.low) ? " (" : ", ", *p == '&' ? "" : "= ", p);
    if (!isnan(difference->ci.low) || !isnan(difference->holm)) text_add(page, ")");
    text_format(page, "; %s. ", judgement(difference, fair));
}

void verdict_write(text *page, const methods *methods, int fair) {
    const size_t baseline = baseline_of(methods);
    paired *results = calloc(methods->count, sizeof *results);
    if (!results || differences(methods, baseline, results) != STATUS_OK) {
        page->failed = 1;
        free(results);
        return;
    }
    const stratum *all = &methods->strata.list[0];
    text_format(page, "Evaluated in full on %zu case%s", all->count, all->count == 1 ? "" : "s");
    if (strata_share_patients(&methods->strata)) text_format(page, " of %zu patients", all->patients);
    text_add(page, ", with the mean over the labels of each: ");
    add_method(page, methods, baseline);
    text_add(page, ". ");
    for (size_t m = 0; m < methods->count; m++)
        if (m != baseline) add_difference(page, methods, m, baseline, &results[m], fair);
    free(results);
}
