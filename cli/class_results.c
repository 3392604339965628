#include "class_results.h"

#include "cli.h"
#include "core/utf8.h"

#include <math.h>
#include <stdio.h>

static const char *class_name(const class_results *scores, int k, char number[16]) {
    if (scores->class_names) return scores->class_names[k];
    snprintf(number, 16, "%d", k);
    return number;
}

static const char *examples_word(const class_results *scores) { return scores->are_rows ? "rows" : "images"; }

/* A number with its interval, in 25 columns. */
static void print_number(double value, interval ci, double factor, int digits) {
    if (isnan(value)) printf("  %6s%17s", "-", "");
    else if (isnan(ci.low)) printf("  %6.*f%17s", digits, factor * value, "");
    else printf("  %6.*f (%5.*f to %5.*f)", digits, factor * value, digits, factor * ci.low, digits, factor * ci.high);
}

static void print_class(const char *name, int width, const class_result *one, const class_rates *rates) {
    cli_put_word(name, width);
    printf(" %9lld", (long long)one->count);
    for (int r = 0; r < CLASS_RATES; r++) print_number(rates->value[r], rates->ci[r], 100, 1);
    if (one->count) printf(" %9.4f\n", one->loss);
    else printf(" %9s\n", "-");
}

static int widest(int width, const char *word, int most) {
    const int letters = (int)utf8_letters(word);
    return letters > most ? most : letters > width ? letters : width;
}

static int class_width(const class_results *scores) {
    int width = 16;
    char number[16];
    for (int k = 0; k < scores->classes; k++) width = widest(width, class_name(scores, k, number), 40);
    return width;
}

static void print_classes(const class_results *scores) {
    char number[16];
    const int all = scores->classes, width = class_width(scores);
    cli_put_word("class", width);
    printf(" %9s  %-23s  %-23s  %-23s  %-23s %9s\n", examples_word(scores), "sensitivity, % (95% CI)", "specificity, %",
           "precision, %", "F1, %", "loss");
    for (int k = 0; k < all; k++)
        print_class(class_name(scores, k, number), width, &scores->each[k], &scores->rates[k]);
    print_class("all (mean F1)", width, &scores->each[all], &scores->rates[all]);
    if (scores->worst < 0) return;
    const class_rates *worst = &scores->rates[scores->worst];
    const interval ci = worst->ci[RATE_SENSITIVITY];
    printf("worst class: %s, of which %.2f%% are recognised", class_name(scores, scores->worst, number),
           100 * worst->value[RATE_SENSITIVITY]);
    if (!isnan(ci.low)) printf(" (95 %% CI %.1f to %.1f)", 100 * ci.low, 100 * ci.high);
    printf("\n");
}

static void print_score(const class_scored *s, class_score which) {
    print_number(s->value[which], s->ci[which], which == CLASS_AUROC ? 1 : 100, which == CLASS_AUROC ? 3 : 1);
}

/* The group with the lowest accuracy, with the interval that it has in the table above. */
static void print_worst_group(const class_results *scores) {
    if (!scores->worst_group) return;
    const class_stratum *one = &scores->strata[scores->worst_group];
    const interval ci = one->scored.ci[CLASS_ACCURACY];
    printf("worst group: %s %s with %.2f%%", one->column, one->value, 100 * one->scored.value[CLASS_ACCURACY]);
    if (!isnan(ci.low)) printf(" (95 %% CI %.1f to %.1f)", 100 * ci.low, 100 * ci.high);
    printf("\n");
}

static void print_how(const class_results *scores) {
    const class_scored *all = &scores->strata[0].scored;
    const int by_patient = all->patients < all->count;
    if (by_patient)
        printf("95 %% CI: bootstrap, resampling %lld patient%s; Wilson's interval where every resample gives the same "
               "share.",
               (long long)all->patients, all->patients == 1 ? "" : "s");
    else
        printf(
            "95 %% CI: of accuracy, sensitivity, specificity and precision Wilson's, of balanced accuracy those of the "
            "classes\nput together, else bootstrap.");
    printf(" There is none below %d %s.\n", STATISTICS_INTERVAL_CASES, by_patient ? "patients" : examples_word(scores));
}

enum { GROUP_WIDTH = 48, GROUP_NAME = 4 * GROUP_WIDTH + 64 }; /* letters, and more bytes than they can have */

/* Needs no memory: a table whose names are lost would look right. */
static const char *group_name(const class_stratum *one, char name[GROUP_NAME]) {
    snprintf(name, GROUP_NAME, "%s%s%s", one->column ? one->column : "all", one->column ? " " : "",
             one->value ? one->value : "");
    return name;
}

static int group_width(const class_results *scores) {
    int width = 24;
    for (size_t k = 0; k < scores->stratum_count; k++) {
        char name[GROUP_NAME];
        if (scores->strata[k].scored.count) width = widest(width, group_name(&scores->strata[k], name), GROUP_WIDTH);
    }
    return width;
}

static void print_groups(const class_results *scores) {
    const int width = group_width(scores);
    printf("\n");
    cli_put_word("group", width);
    printf(" %9s  %-23s  %-23s  %-23s  %s\n", examples_word(scores), "accuracy, % (95 % CI)", "balanced accuracy, %",
           "AUROC", "calibration error, %");
    size_t empty = 0;
    for (size_t k = 0; k < scores->stratum_count; k++) {
        const class_stratum *one = &scores->strata[k];
        char name[GROUP_NAME];
        if (k && !one->scored.count) {
            empty++;
            continue;
        }
        cli_put_word(group_name(one, name), width);
        printf(" %9lld", (long long)one->scored.count);
        for (int s = 0; s < CLASS_SCORES; s++) print_score(&one->scored, (class_score)s);
        printf("\n");
    }
    if (empty) printf("groups of the data with none of these %s: %zu\n", examples_word(scores), empty);
    print_worst_group(scores);
    print_how(scores);
}

static void print_confusion(const class_results *scores) {
    char number[16];
    if (!scores->class_names || scores->classes > 12) return;
    printf("\n");
    cli_put_word("label, predicted", class_width(scores));
    for (int k = 0; k < scores->classes; k++) printf(" "), cli_put_word(class_name(scores, k, number), -12);
    printf("\n");
    for (int k = 0; k < scores->classes; k++) {
        cli_put_word(class_name(scores, k, number), class_width(scores));
        for (int p = 0; p < scores->classes; p++)
            printf(" %12lld", (long long)scores->confusion[k * scores->classes + p]);
        printf("\n");
    }
}

/* What is said of each patient, from the mean of its examples. */
static void print_patients(const class_results *scores) {
    const class_patients *patients = &scores->patients;
    if (!patients->labels) return;
    printf("\nby patient, with the mean probability of its %s:\n", examples_word(scores));
    cli_put_word("", group_width(scores));
    printf(" %9s  %-23s  %-23s  %-23s  %s\n", "patients", "accuracy, % (95 % CI)", "balanced accuracy, %", "AUROC",
           "calibration error, %");
    cli_put_word("all", group_width(scores));
    printf(" %9lld", (long long)scores->by_patient.count);
    for (int s = 0; s < CLASS_SCORES; s++) print_score(&scores->by_patient, (class_score)s);
    printf("\n");
    if (patients->mixed)
        printf("left out, since their %s are of several classes: %lld\n", examples_word(scores),
               (long long)patients->mixed);
}

static void print_operating_row(const char *name, int width, const operating_scores *s) {
    cli_put_word(name, width);
    printf(" %9lld", (long long)s->positives);
    print_number(s->sensitivity, s->sensitivity_ci, 100, 1);
    printf(" %9lld", (long long)s->negatives);
    print_number(s->specificity, s->specificity_ci, 100, 1);
    printf("\n");
}

/* The threshold, what it gives where it was chosen, and what it gives elsewhere. */
static void print_operating(const class_results *scores) {
    const operating_result *o = &scores->operating;
    char number[16];
    if (o->rule.positive < 0) return;
    const int width = group_width(scores);
    printf("\noperating point: %s where its probability is at least %.6g, chosen on the validation part for a %s of %g "
           "%%\n",
           class_name(scores, o->rule.positive, number), o->rule.threshold,
           o->goal.is_sensitivity ? "sensitivity" : "specificity", 100 * o->goal.share);
    cli_put_word("", width);
    printf(" %9s  %-23s %9s  %s\n", "positive", "sensitivity, % (95% CI)", "negative", "specificity, %");
    print_operating_row("validation part", width, &o->chosen_on);
    for (size_t k = 0; k < scores->stratum_count; k++) {
        char name[GROUP_NAME];
        const char *shown = k ? group_name(&scores->strata[k], name) : "test part";
        if (!k || scores->strata[k].scored.count) print_operating_row(shown, width, &scores->strata[k].operating);
    }
}

void print_class_results(const class_results *scores) {
    if (!scores->stratum_count) return;
    print_classes(scores);
    print_groups(scores);
    print_patients(scores);
    print_operating(scores);
    print_confusion(scores);
}
