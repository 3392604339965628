/* The scores of all methods by group and label, with what can be said of them. */
#include "report/html.h"
#include "report/methods.h"
#include "report/scale.h"
#include "statistics/tolerance.h"

#include <math.h>

static void add_value(text *page, double dice, int bold) {
    if (isnan(dice)) text_add(page, "<td>\xE2\x80\x93</td>");
    else text_format(page, bold ? "<td><b>%.1f</b></td>" : "<td>%.1f</td>", 100 * dice);
}

static void add_interval(text *page, interval ci, int is_difference) {
    if (isnan(ci.low)) text_add(page, "<td class=\"faint\">too few</td>");
    else
        text_format(page, is_difference ? "<td>%+.1f to %+.1f</td>" : "<td>%.1f to %.1f</td>", 100 * ci.low,
                    100 * ci.high);
}

/* The best mean, unless another looks the same. */
static int is_best(const methods *methods, size_t stratum, size_t region, size_t method) {
    const double own = comparison_at(&methods->dice, stratum, region, method)->numbers.mean;
    for (size_t m = 0; m < methods->count; m++)
        if (m != method &&
            !(lround(1000 * comparison_at(&methods->dice, stratum, region, m)->numbers.mean) < lround(1000 * own)))
            return 0;
    return methods->count > 1 && !isnan(own);
}

static void add_difference(text *page, const methods *methods, const compared_row *row, size_t method) {
    if (methods->count < 2) return;
    if (method == 0) return text_add(page, "<td></td><td></td><td></td>");
    const paired *difference = &row->difference;
    if (isnan(difference->mean)) text_add(page, "<td>\xE2\x80\x93</td>");
    else text_format(page, "<td>%+.1f</td>", 100 * difference->mean);
    add_interval(page, difference->ci, 1);
    char p[NUMBER_SIZE];
    number_p(difference->holm, p);
    if (isnan(difference->holm)) text_add(page, "<td class=\"faint\">too few</td>");
    else text_format(page, "<td>%s</td>", p);
}

static void add_row(text *page, const methods *methods, size_t stratum, size_t region, size_t method) {
    const compared_row *row = comparison_at(&methods->dice, stratum, region, method);
    char group[256];
    strata_label(&methods->strata, stratum, group, sizeof group);
    text_format(page, "<tr%s><th scope=\"row\">", method == 0 && region == 0 ? " class=\"first\"" : "");
    html_escape(page, method == 0 && region == 0 ? group : "");
    text_add(page, "</th><td class=\"word\">");
    html_escape(page, method == 0 ? methods->scores[0].regions.regions[region].name : "");
    text_add(page, "</td>");
    if (methods->count > 1) {
        text_add(page, "<td class=\"word\">");
        html_escape(page, methods->names[method]);
        text_add(page, "</td>");
    }
    text_format(page, "<td>%zu</td>", row->numbers.count);
    add_value(page, row->numbers.mean, is_best(methods, stratum, region, method));
    add_interval(page, row->numbers.ci, 0);
    add_value(page, row->numbers.median, 0);
    add_value(page, row->numbers.p10, 0);
    add_value(page, row->numbers.worst_value, 0);
    if (isnan(row->numbers.tolerance)) text_add(page, "<td class=\"faint\">too few</td>");
    else add_value(page, row->numbers.tolerance, 0);
    add_difference(page, methods, row, method);
    text_add(page, "</tr>\n");
}

/* Where patients have several cases, they are what counts. */
static void add_words(text *page, const methods *methods) {
    const int share = strata_share_patients(&methods->strata);
    const char *who = share ? "patients" : "cases";
    const size_t cases = methods->strata.list[0].count;
    text_format(page, "<p>Dice in %% of the %zu evaluated case%s", cases, cases == 1 ? "" : "s");
    if (share) text_format(page, " of %zu patients", methods->strata.list[0].patients);
    text_format(
        page,
        ". \xE2\x80\x9C"
        "90 %% reach\xE2\x80\x9D means: with 95 %% confidence at least 90 %% of such %s reach this score%s, whatever "
        "its distribution; that takes %zu %s. Intervals are 95 %% bootstrap intervals of the mean%s, from %d %s on.",
        who, share ? " in each of their cases" : "", tolerance_cases_needed(), who,
        share ? ", resampling patients" : "", STATISTICS_INTERVAL_CASES, who);
    if (methods->count > 1) {
        text_add(page, " Differences are to ");
        html_escape(page, methods->names[0]);
        text_format(
            page,
            ", case by case; p is Wilcoxon's%s, where at least %d %s differ, corrected by Holm for all tests of "
            "this table. The best mean is bold, unless another looks the same.",
            share ? " of the patients' mean differences" : "", PAIRED_TEST_CASES, who);
    }
    text_add(page, " ");
    comparison_add_empty_notes(&methods->dice, page);
    text_add(page, "</p>\n");
}

void scores_section(text *page, const methods *methods) {
    if (methods->problem[0]) {
        text_add(page, "<p class=\"note\">");
        html_escape(page, methods->problem);
        text_add(page, "</p>\n");
    }
    if (methods->count == 0) return;
    text_add(page, "<section>\n<h2>Scores by group</h2>\n");
    add_words(page, methods);
    text_add(page, "<div class=\"scroll whole\" tabindex=\"0\"><table class=\"scores\"><tr><th "
                   "scope=\"col\">group</th><th scope=\"col\" class=\"word\">label</th>");
    if (methods->count > 1) text_add(page, "<th scope=\"col\" class=\"word\">method</th>");
    text_add(page, "<th scope=\"col\">cases</th><th scope=\"col\">mean</th><th scope=\"col\">95 % interval</th><th "
                   "scope=\"col\">median</th><th scope=\"col\">10th percentile</th><th scope=\"col\">worst</th><th "
                   "scope=\"col\">90 % reach</th>");
    if (methods->count > 1)
        text_add(page, "<th scope=\"col\">difference</th><th scope=\"col\">95 % interval</th><th scope=\"col\">p</th>");
    text_add(page, "</tr>\n");
    for (size_t stratum = 0; stratum < methods->strata.count; stratum++)
        for (size_t region = 0; region < comparison_regions(&methods->dice); region++)
            for (size_t method = 0; method < methods->count; method++) add_row(page, methods, stratum, region, method);
    text_add(page, "</table></div>\n");
    section_close(page);
}
