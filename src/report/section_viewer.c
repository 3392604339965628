/* The worst case of each group, by all methods side by side, as in the paper's Figure 3. */
#include "evaluate/case_colours.h"
#include "evaluate/worst_cases.h"
#include "report/case_viewer.h"
#include "report/html.h"
#include "report/methods.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CASES = 20, MOST_METHODS = CASE_VOLUME_MAPS - 1 };

/* A case that is shown, and the strata of which it is the worst. */
typedef struct chosen_case {
    size_t which;
    size_t strata[32], strata_count;
} chosen_case;

typedef struct choice {
    chosen_case cases[MOST_CASES];
    size_t count, left_out; /* strata whose worst case found no room */
} choice;

/* The case whose mean Dice, averaged over the methods, is lowest; -1: none has a score. */
static long worst_of(const methods *methods, const stratum *stratum) {
    long worst = -1;
    double lowest = HUGE_VAL;
    for (size_t k = 0; k < stratum->count; k++) {
        double sum = 0;
        for (size_t m = 0; m < methods->count; m++) sum += case_mean_dice(&methods->scores[m], stratum->cases[k]);
        if (!(sum < lowest)) continue; /* a NaN is not */
        lowest = sum;
        worst = (long)stratum->cases[k];
    }
    return worst;
}

static void choose(const methods *methods, choice *choice) {
    for (size_t s = 0; s < methods->strata.count; s++) {
        const long worst = worst_of(methods, &methods->strata.list[s]);
        size_t at = 0;
        if (worst < 0) continue;
        while (at < choice->count && choice->cases[at].which != (size_t)worst) at++;
        if (at == MOST_CASES) {
            choice->left_out++;
            continue;
        }
        if (at == choice->count) choice->cases[choice->count++] = (chosen_case){.which = (size_t)worst};
        chosen_case *one = &choice->cases[at];
        if (one->strata_count < sizeof one->strata / sizeof *one->strata) one->strata[one->strata_count++] = s;
    }
}

/* "worst of all, of diagnosis DCM and of phase ES" */
static void add_why(text *page, const methods *methods, const chosen_case *one) {
    text_add(page, "<p>Worst of ");
    for (size_t k = 0; k < one->strata_count; k++) {
        const stratum *stratum = &methods->strata.list[one->strata[k]];
        text_add(page, k == 0 ? "" : k + 1 == one->strata_count ? " and of " : ", of ");
        if (stratum->column) {
            html_escape(page, stratum->column);
            text_add(page, " <b>");
            html_escape(page, stratum->value);
            text_format(page, "</b> (%zu case%s)", stratum->count, stratum->count == 1 ? "" : "s");
        } else {
            text_format(page, "<b>all %zu cases</b>", stratum->count);
        }
    }
    text_add(page, ".</p>\n");
}

static void add_score(text *page, double dice) {
    if (isnan(dice)) text_add(page, "<td>\xE2\x80\x93</td>");
    else text_format(page, "<td>%.1f\xC2\xA0%%</td>", 100 * dice);
}

static void add_scores(text *page, const methods *methods, size_t which) {
    const region_list *regions = &methods->scores[0].regions;
    text_add(page, "<div class=\"scroll whole\" tabindex=\"0\"><table><tr><th scope=\"col\">Dice</th>");
    for (size_t k = 0; k < regions->count; k++) {
        text_add(page, "<th scope=\"col\">");
        html_escape(page, regions->regions[k].name);
        text_add(page, "</th>");
    }
    text_add(page, "<th scope=\"col\">mean</th></tr>\n");
    for (size_t m = 0; m < methods->count; m++) {
        text_add(page, "<tr><th scope=\"row\">");
        html_escape(page, methods->names[m]);
        text_add(page, "</th>");
        for (size_t k = 0; k < regions->count; k++)
            add_score(page, scores_at(&methods->scores[m], which, k)[METRIC_DICE]);
        add_score(page, case_mean_dice(&methods->scores[m], which));
        text_add(page, "</tr>\n");
    }
    text_add(page, "</table></div>\n");
}

/* The paths of a case's files. */
typedef struct found_files {
    char image[PATH_SIZE], reference[PATH_SIZE], predictions[MOST_METHODS][PATH_SIZE];
} found_files;

static const char *find_files(const methods *methods, size_t which, const char *images, found_files *found) {
    const evaluated *first = &methods->files[0];
    if (!evaluated_image(first, &methods->scores[0].list[which], images, found->image)) return "image";
    if (!evaluated_reference(first, &methods->scores[0].list[which], found->reference)) return "reference";
    for (size_t m = 0; m < methods->count && m < MOST_METHODS; m++)
        if (!evaluated_prediction(&methods->files[m], &methods->scores[m].list[which], found->predictions[m]))
            return "prediction";
    return NULL;
}

static void add_viewer(text *page, const methods *methods, size_t which, const case_volume *shown) {
    char words[CASE_VOLUME_LABELS][REGION_NAME_BYTES];
    const char *labels[CASE_VOLUME_LABELS];
    for (int k = 0; k < shown->label_count; k++) {
        case_label_name(&methods->scores[0].regions, shown->values[k], words[k]);
        labels[k] = words[k];
    }
    case_viewer_write(page, &(case_viewer){shown, methods->scores[0].list[which].name, methods->names, labels});
}

/* Returns whether there is a picture. */
static int add_case(text *page, const methods *methods, const chosen_case *one, const char *images) {
    found_files *found = malloc(sizeof *found);
    failure why = {0};
    case_volume shown = {0};
    if (!found) return page->failed = 1, 0;
    const char *missing = find_files(methods, one->which, images, found);
    case_files files = {.image = found->image,
                        .reference = found->reference,
                        .methods = methods->count < MOST_METHODS ? (int)methods->count : MOST_METHODS,
                        .ignored = methods->scores[0].ignored};
    for (int m = 0; m < files.methods; m++) files.predictions[m] = found->predictions[m];
    const int drawn = !missing && case_volume_open(&shown, &files, &why) == STATUS_OK;
    text_add(page, "<article class=\"case\">\n<h3>");
    html_escape(page, methods->scores[0].list[one->which].name);
    text_add(page, "</h3>\n");
    add_why(page, methods, one);
    add_scores(page, methods, one->which);
    if (drawn) add_viewer(page, methods, one->which, &shown);
    else {
        text_add(page, "<p class=\"note\">No picture: ");
        if (missing) text_format(page, "the %s of this case was not found", missing);
        else html_escape(page, why.message);
        text_add(page, ".</p>\n");
    }
    text_add(page, "</article>\n");
    case_volume_close(&shown);
    free(found);
    return drawn;
}

int cases_viewer_section(text *page, const methods *methods, const report_request *request) {
    choice choice = {0};
    int shown = 0;
    if (methods->count) choose(methods, &choice);
    if (choice.count == 0) return 0;
    text_add(page, "<section class=\"cases\">\n<h2>The worst case of each group</h2>\n<p>Where the mean Dice over the "
                   "labels (and methods) is lowest, in three planes, each first in the slice with the most wrong "
                   "voxels. Errors are shown in these colours:</p>\n");
    case_viewer_error_legend(page);
    if (choice.left_out)
        text_format(page, "<p class=\"note\">The worst cases of %zu more groups are left out.</p>\n", choice.left_out);
    for (size_t k = 0; k < choice.count; k++) shown += add_case(page, methods, &choice.cases[k], request->images);
    section_close(page);
    return shown > 0;
}
