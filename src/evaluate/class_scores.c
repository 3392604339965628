#include "evaluate/class_scores.h"

#include "core/arg_max.h"
#include "core/random.h"
#include "statistics/binomial.h"
#include "statistics/clusters.h"
#include "statistics/purposes.h"
#include "statistics/share_interval.h"
#include "statistics/sign_flip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 1000, RESAMPLES_LEAST = 200, CLASSES_MAX = 256 };
/* Patients: of fewer, resamples repeat the same few, and AUROC looks surer than it is. */
enum { LEAST_OF_CLASS = 5 };
static const double WORK_MAX = 2e8; /* examples x classes x resamples */

const char *class_score_name(class_score score) {
    static const char *const NAMES[] = {"accuracy", "balanced_accuracy", "auroc", "ece"};
    return NAMES[score];
}

/* The examples at work, and for each class their order by its probability. */
typedef struct job {
    const class_predictions *p;
    const int64_t *members;
    int64_t count;
    int *hits, *bins; /* [count] */
    int64_t *orders;  /* [classes][count]; positions among the members */
    double *weights;  /* [count]; how often each is in the resample */
    clusters patients;
    double classes[CLASSES_MAX]; /* how many patients have an example of each class */
} job;

typedef struct placed {
    float probability;
    int64_t at;
} placed;

static int by_probability(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->probability != y->probability) return x->probability < y->probability ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static const float *row_of(const job *j, int64_t k) { return j->p->probabilities + j->members[k] * j->p->classes; }
static int label_of(const job *j, int64_t k) { return j->p->labels[j->members[k]]; }

static int bin_of(float confidence) {
    const int bin = (int)((double)confidence * CLASS_BINS);
    return bin < 0 ? 0 : bin >= CLASS_BINS ? CLASS_BINS - 1 : bin;
}

/* Of two classes one order says all. */
static int first_class(const job *j) { return j->p->classes == 2; }

static void count_classes(job *j) {
    const clusters *c = &j->patients;
    int64_t last[CLASSES_MAX];
    for (int k = 0; k < CLASSES_MAX; k++) last[k] = -1;
    for (int64_t k = 0; k < c->count; k++)
        for (int64_t m = c->starts[k]; m < c->starts[k + 1]; m++) {
            const int label = label_of(j, c->members[m]);
            if (last[label] != k) j->classes[label]++;
            last[label] = k;
        }
}

static status_code prepare(job *j, failure *failure) {
    const size_t n = (size_t)j->count;
    placed *line = malloc((n + 1) * sizeof *line);
    j->hits = malloc((n + 1) * sizeof *j->hits);
    j->bins = malloc((n + 1) * sizeof *j->bins);
    j->weights = malloc((n + 1) * sizeof *j->weights);
    j->orders = malloc((n * (size_t)j->p->classes + 1) * sizeof *j->orders);
    const int good = line && j->hits && j->bins && j->weights && j->orders;
    for (int64_t k = 0; good && k < j->count; k++) {
        const int best = arg_max(row_of(j, k), j->p->classes);
        j->hits[k] = best == label_of(j, k);
        j->bins[k] = bin_of(row_of(j, k)[best]);
        j->weights[k] = 1;
    }
    for (int c = first_class(j); good && c < j->p->classes; c++) {
        for (int64_t k = 0; k < j->count; k++) line[k] = (placed){row_of(j, k)[c], k};
        qsort(line, n, sizeof *line, by_probability);
        for (int64_t k = 0; k < j->count; k++) j->orders[c * j->count + k] = line[k].at;
    }
    free(line);
    if (!good) return fail_memory(failure, "the scores");
    const status_code status = clusters_open(&j->patients, j->p->patients, j->members, j->count, failure);
    if (status == STATUS_OK) count_classes(j);
    return status;
}

static void finish(job *j) {
    free(j->hits);
    free(j->bins);
    free(j->weights);
    free(j->orders);
    clusters_close(&j->patients);
}

/* ---- the scores of weighted examples ----------------------------------------------------------------------------- */

/* The accuracy of each class, NaN without an example, and of all. */
static double accuracies(const job *j, double shares[CLASSES_MAX]) {
    double hits[CLASSES_MAX] = {0}, all[CLASSES_MAX] = {0}, hit = 0, count = 0;
    for (int64_t k = 0; k < j->count; k++) {
        const int label = label_of(j, k);
        all[label] += j->weights[k];
        hits[label] += j->weights[k] * j->hits[k];
    }
    for (int c = 0; c < j->p->classes; c++) {
        hit += hits[c];
        count += all[c];
        shares[c] = hits[c] / all[c];
    }
    return hit / count;
}

/* NaN for a resample that lacks a class: it would be the mean of other classes than those that are there. And of one
   class alone there is nothing to balance: it would be the accuracy once more. */
static double balanced(const job *j, const double *shares) {
    double sum = 0;
    int classes = 0;
    for (int c = 0; c < j->p->classes; c++) {
        if (!(j->classes[c] > 0)) continue;
        sum += shares[c];
        classes++;
    }
    return classes > 1 ? sum / classes : (double)NAN;
}

/* The share of pairs of an example of the class and another in which the first is more probable; ties count half. */
static double area_of(const job *j, int c) {
    const int64_t *order = j->orders + c * j->count;
    double below = 0, others = 0, own = 0, area = 0;
    for (int64_t k = 0; k < j->count;) {
        const float probability = row_of(j, order[k])[c];
        double tied_own = 0, tied_others = 0;
        do {
            const double weight = j->weights[order[k]];
            if (label_of(j, order[k]) == c) tied_own += weight;
            else tied_others += weight;
            k++;
        } while (k < j->count && row_of(j, order[k])[c] == probability);
        area += tied_own * (below + tied_others / 2);
        below += tied_others;
        own += tied_own;
        others += tied_others;
    }
    return own > 0 && others > 0 ? area / own / others : (double)NAN;
}

static double mean_area(const job *j) {
    double sum = 0;
    int areas = 0;
    for (int c = first_class(j); c < j->p->classes; c++) {
        const double area = area_of(j, c);
        if (isnan(area)) continue;
        sum += area;
        areas++;
    }
    return areas ? sum / areas : (double)NAN;
}

static double calibration_error(const job *j) {
    class_bin bins[CLASS_BINS] = {0};
    double sum = 0, count = 0;
    for (int64_t k = 0; k < j->count; k++) {
        const float *row = row_of(j, k);
        class_bin *bin = &bins[j->bins[k]];
        bin->count += j->weights[k];
        bin->hits += j->weights[k] * j->hits[k];
        bin->confidence += j->weights[k] * (double)row[arg_max(row, j->p->classes)];
    }
    for (int b = 0; b < CLASS_BINS; b++) {
        sum += fabs(bins[b].hits - bins[b].confidence);
        count += bins[b].count;
    }
    return sum / count;
}

static void score(const job *j, double *value) {
    double shares[CLASSES_MAX];
    value[CLASS_ACCURACY] = accuracies(j, shares);
    value[CLASS_BALANCED] = balanced(j, shares);
    value[CLASS_AUROC] = isnan(value[CLASS_BALANCED]) ? (double)NAN : mean_area(j);
    value[CLASS_ECE] = calibration_error(j);
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static void resample(job *j, uint64_t number) {
    random_stream stream;
    random_start(&stream, 0, RANDOM_BOOTSTRAP, number, 1);
    memset(j->weights, 0, (size_t)j->count * sizeof *j->weights);
    const clusters *c = &j->patients;
    for (int64_t k = 0; k < c->count; k++) {
        const uint64_t drawn = random_below(&stream, (uint64_t)c->count);
        for (int64_t m = c->starts[drawn]; m < c->starts[drawn + 1]; m++) j->weights[c->members[m]]++;
    }
}

static size_t resamples_of(const job *j) {
    const double most = WORK_MAX / ((double)j->count * j->p->classes);
    return most >= RESAMPLES ? RESAMPLES : most > RESAMPLES_LEAST ? (size_t)most : RESAMPLES_LEAST;
}

/* Of the scores of j, or with `other` of those of other minus those of j: a resample is the same for both. */
static status_code bootstrap(job *j, job *other, interval *ci, failure *failure) {
    const size_t count = resamples_of(j);
    double *values = malloc(CLASS_SCORES * count * sizeof *values);
    if (!values) return fail_memory(failure, "the intervals");
    for (size_t r = 0; r < count; r++) {
        double value[CLASS_SCORES], theirs[CLASS_SCORES];
        resample(j, r);
        score(j, value);
        if (other) memcpy(other->weights, j->weights, (size_t)j->count * sizeof *j->weights);
        if (other) score(other, theirs);
        for (int s = 0; s < CLASS_SCORES; s++) values[(size_t)s * count + r] = other ? theirs[s] - value[s] : value[s];
    }
    for (int s = 0; s < CLASS_SCORES; s++) ci[s] = bootstrap_interval(values + (size_t)s * count, count);
    free(values);
    return STATUS_OK;
}

static int has_few_of_a_class(const job *j) {
    for (int c = 0; c < j->p->classes; c++)
        if (j->classes[c] > 0 && j->classes[c] < LEAST_OF_CLASS) return 1;
    return 0;
}

/* The bootstrap of shares is a detour where examples are independent, and says nothing where each
   resample has the same value. */
static void mend_intervals(job *j, const double *value, interval *ci) {
    const interval none = {(double)NAN, (double)NAN};
    const int independent = j->patients.count == j->count, few = has_few_of_a_class(j);
    double shares[CLASSES_MAX];
    for (int64_t k = 0; k < j->count; k++) j->weights[k] = 1;
    accuracies(j, shares);
    ci[CLASS_ACCURACY] =
        share_interval_or(ci[CLASS_ACCURACY], independent, value[CLASS_ACCURACY], (double)j->patients.count);
    if (independent || few || interval_is_flat(ci[CLASS_BALANCED]))
        ci[CLASS_BALANCED] = share_interval_of_mean(shares, j->classes, j->p->classes);
    if (isnan(value[CLASS_BALANCED])) ci[CLASS_BALANCED] = none;
    if (few || interval_is_flat(ci[CLASS_AUROC])) ci[CLASS_AUROC] = none;
    if (interval_is_flat(ci[CLASS_ECE])) ci[CLASS_ECE] = none;
}

static int has_interval(const job *j) { return j->patients.count >= STATISTICS_INTERVAL_CASES; }

status_code class_scores_of(const class_predictions *p, const int64_t *members, int64_t count, class_scored *result,
                            failure *failure) {
    *result = (class_scored){.count = count, .patients = count};
    for (int s = 0; s < CLASS_SCORES; s++) {
        result->value[s] = (double)NAN;
        result->ci[s] = (interval){(double)NAN, (double)NAN};
    }
    if (!count) return STATUS_OK;
    job j = {.p = p, .members = members, .count = count};
    status_code status = prepare(&j, failure);
    if (status == STATUS_OK) {
        result->patients = j.patients.count;
        score(&j, result->value);
    }
    if (status == STATUS_OK && has_interval(&j)) {
        status = bootstrap(&j, NULL, result->ci, failure);
        if (status == STATUS_OK) mend_intervals(&j, result->value, result->ci);
    }
    finish(&j);
    return status;
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

double class_scores_mcnemar(int64_t a, int64_t b) {
    const int64_t fewer = a < b ? a : b;
    double p = 0;
    for (int64_t k = 0; k <= fewer; k++) p += binomial_probability((size_t)(a + b), (size_t)k, 0.5);
    return fmin(1, 2 * p);
}

static int64_t difference_of(const job *first, const job *second, int64_t patient) {
    const clusters *c = &first->patients;
    int64_t sum = 0;
    for (int64_t m = c->starts[patient]; m < c->starts[patient + 1]; m++)
        sum += second->hits[c->members[m]] - first->hits[c->members[m]];
    return sum;
}

static status_code test_patients(const job *first, const job *second, double *p, failure *failure) {
    const int64_t count = first->patients.count;
    int64_t *differences = malloc((size_t)(count + 1) * sizeof *differences);
    if (!differences) return fail_memory(failure, "a test");
    for (int64_t k = 0; k < count; k++) differences[k] = difference_of(first, second, k);
    const status_code status = sign_flip_test(differences, count, p, failure);
    free(differences);
    return status;
}

static status_code test(const job *first, const job *second, class_difference *result, failure *failure) {
    for (int64_t k = 0; k < first->count; k++) {
        result->only_first += first->hits[k] && !second->hits[k];
        result->only_second += second->hits[k] && !first->hits[k];
    }
    if (first->patients.count < first->count) return test_patients(first, second, &result->p, failure);
    result->p = class_scores_mcnemar(result->only_first, result->only_second);
    return STATUS_OK;
}

status_code class_scores_difference(const class_predictions *first, const class_predictions *second,
                                    const int64_t *members, int64_t count, class_difference *result, failure *failure) {
    double values[2][CLASS_SCORES];
    const interval none = {(double)NAN, (double)NAN};
    *result = (class_difference){.p = (double)NAN};
    for (int s = 0; s < CLASS_SCORES; s++) {
        result->value[s] = (double)NAN;
        result->ci[s] = none;
    }
    if (!count) return STATUS_OK;
    job a = {.p = first, .members = members, .count = count}, b = {.p = second, .members = members, .count = count};
    status_code status = prepare(&a, failure);
    if (status == STATUS_OK) status = prepare(&b, failure);
    if (status == STATUS_OK) status = test(&a, &b, result, failure);
    if (status == STATUS_OK) {
        score(&a, values[0]);
        score(&b, values[1]);
        for (int s = 0; s < CLASS_SCORES; s++) result->value[s] = values[1][s] - values[0][s];
    }
    if (status == STATUS_OK && has_interval(&a)) status = bootstrap(&a, &b, result->ci, failure);
    for (int s = 0; s < CLASS_SCORES; s++)
        if (interval_is_flat(result->ci[s])) result->ci[s] = none;
    if (has_few_of_a_class(&a)) result->ci[CLASS_BALANCED] = result->ci[CLASS_AUROC] = none;
    finish(&a);
    finish(&b);
    return status;
}

/* ---- calibration ------------------------------------------------------------------------------------------------- */

void class_scores_bins(const class_predictions *p, class_bin bins[CLASS_BINS]) {
    for (int b = 0; b < CLASS_BINS; b++) bins[b] = (class_bin){0};
    for (int64_t i = 0; i < p->count; i++) {
        const float *row = p->probabilities + i * p->classes;
        const int best = arg_max(row, p->classes);
        class_bin *bin = &bins[bin_of(row[best])];
        bin->count++;
        bin->hits += best == p->labels[i];
        bin->confidence += (double)row[best];
    }
}
