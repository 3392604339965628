#include "evaluate/class_rates.h"

#include "core/arg_max.h"
#include "core/random.h"
#include "statistics/clusters.h"
#include "statistics/purposes.h"
#include "statistics/share_interval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 1000, RESAMPLES_LEAST = 200 };
enum { LEAST_OF_CLASS = 5 };        /* patients: of fewer, resamples repeat the same few */
static const double WORK_MAX = 2e8; /* (examples + cells of the confusion matrix) x resamples */

const char *class_rate_name(class_rate rate) {
    static const char *const NAMES[] = {"sensitivity", "specificity", "precision", "f1"};
    return NAMES[rate];
}

typedef struct job {
    const class_predictions *p;
    int *predicted;    /* [count] */
    double *confusion; /* [label][prediction], of all examples or of a resample */
    double *witnesses; /* [class][rate]: how many patients have examples that it is a share of */
    int *is_there;     /* [class]: in the labels or in the predictions */
    clusters patients;
    class_rates *each; /* [classes + 1] */
} job;

static status_code prepare(job *j, failure *failure) {
    const size_t n = (size_t)j->p->count, classes = (size_t)j->p->classes;
    j->predicted = malloc((n + 1) * sizeof *j->predicted);
    j->confusion = malloc(classes * classes * sizeof *j->confusion);
    j->witnesses = calloc(classes * CLASS_RATES, sizeof *j->witnesses);
    j->is_there = calloc(classes, sizeof *j->is_there);
    if (!j->predicted || !j->confusion || !j->witnesses || !j->is_there) return fail_memory(failure, "the rates");
    for (size_t i = 0; i < n; i++) {
        j->predicted[i] = arg_max(j->p->probabilities + i * classes, j->p->classes);
        j->is_there[j->predicted[i]] = j->is_there[j->p->labels[i]] = 1;
    }
    return clusters_open(&j->patients, j->p->patients, NULL, j->p->count, failure);
}

static void finish(job *j) {
    free(j->predicted);
    free(j->confusion);
    free(j->witnesses);
    free(j->is_there);
    clusters_close(&j->patients);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void clear(job *j) {
    memset(j->confusion, 0, (size_t)j->p->classes * (size_t)j->p->classes * sizeof *j->confusion);
}

static void add_patient(job *j, int64_t patient) {
    const int64_t *starts = j->patients.starts + patient;
    for (int64_t m = starts[0]; m < starts[1]; m++) {
        const int64_t i = j->patients.members[m];
        j->confusion[j->p->labels[i] * j->p->classes + j->predicted[i]]++;
    }
}

/* 0 / 0 is NaN: there is nothing to be right or wrong about. */
static void rate_class(const job *j, int c, double total, double value[CLASS_RATES]) {
    const int classes = j->p->classes;
    const double right = j->confusion[c * classes + c];
    double own = 0, taken = 0;
    for (int k = 0; k < classes; k++) {
        own += j->confusion[c * classes + k];
        taken += j->confusion[k * classes + c];
    }
    value[RATE_SENSITIVITY] = right / own;
    value[RATE_SPECIFICITY] = (total - own - taken + right) / (total - own);
    value[RATE_PRECISION] = right / taken;
    value[RATE_F1] = 2 * right / (own + taken);
}

/* Over the classes that are there, in the labels or in the predictions of all examples: NaN of a
   resample that lacks one. */
static double mean_f1(const job *j, const double (*values)[CLASS_RATES]) {
    double sum = 0, count = 0;
    for (int c = 0; c < j->p->classes; c++) {
        if (!j->is_there[c]) continue;
        sum += values[c][RATE_F1];
        count++;
    }
    return sum / count;
}

/* Of the confusion matrix as it is: those of the classes, then the mean. */
static void rate(const job *j, double (*values)[CLASS_RATES]) {
    const int classes = j->p->classes;
    double total = 0;
    for (int k = 0; k < classes * classes; k++) total += j->confusion[k];
    for (int c = 0; c < classes; c++) rate_class(j, c, total, values[c]);
    for (int r = 0; r < CLASS_RATES; r++) values[classes][r] = (double)NAN;
    values[classes][RATE_F1] = mean_f1(j, (const double(*)[CLASS_RATES])values);
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static int is_counted(const job *j, int64_t i, int c, int r) {
    const int own = j->p->labels[i] == c, taken = j->predicted[i] == c;
    return r == RATE_SPECIFICITY ? !own : r == RATE_PRECISION ? taken : own;
}

static void count_witnesses(job *j) {
    for (int k = 0; k < j->p->classes * CLASS_RATES; k++)
        for (int64_t patient = 0; patient < j->patients.count; patient++) {
            int counted = 0;
            for (int64_t m = j->patients.starts[patient]; m < j->patients.starts[patient + 1] && !counted; m++)
                counted = is_counted(j, j->patients.members[m], k / CLASS_RATES, k % CLASS_RATES);
            j->witnesses[k] += counted;
        }
}

static size_t resamples_of(const job *j) {
    const double cells = (double)j->p->classes * j->p->classes, most = WORK_MAX / ((double)j->p->count + cells);
    return most >= RESAMPLES ? RESAMPLES : most > RESAMPLES_LEAST ? (size_t)most : RESAMPLES_LEAST;
}

static void resample(job *j, uint64_t number) {
    random_stream stream;
    random_start(&stream, 0, RANDOM_BOOTSTRAP, number, 2);
    clear(j);
    for (int64_t k = 0; k < j->patients.count; k++)
        add_patient(j, (int64_t)random_below(&stream, (uint64_t)j->patients.count));
}

static status_code bootstrap(job *j, failure *failure) {
    const size_t count = resamples_of(j), rows = (size_t)j->p->classes + 1;
    double(*rates)[CLASS_RATES] = malloc(rows * sizeof *rates);
    double *values = malloc(rows * CLASS_RATES * count * sizeof *values);
    for (size_t n = 0; rates && values && n < count; n++) {
        resample(j, n);
        rate(j, rates);
        for (size_t k = 0; k < rows * CLASS_RATES; k++) values[k * count + n] = rates[k / CLASS_RATES][k % CLASS_RATES];
    }
    for (size_t k = 0; rates && values && k < rows * CLASS_RATES; k++)
        j->each[k / CLASS_RATES].ci[k % CLASS_RATES] = bootstrap_interval(values + k * count, count);
    const int good = rates && values;
    free(rates);
    free(values);
    return good ? STATUS_OK : fail_memory(failure, "the intervals");
}

static void mend_interval(const job *j, int c, int r) {
    const double witnesses = j->witnesses[c * CLASS_RATES + r];
    const int independent = j->patients.count == j->p->count;
    interval *ci = &j->each[c].ci[r];
    if (witnesses < STATISTICS_INTERVAL_CASES || (r == RATE_F1 && interval_is_flat(*ci)))
        *ci = (interval){(double)NAN, (double)NAN};
    else if (r != RATE_F1) *ci = share_interval_or(*ci, independent, j->each[c].value[r], witnesses);
}

static int has_few_of_a_class(const job *j) {
    for (int c = 0; c < j->p->classes; c++) {
        const double own = j->witnesses[c * CLASS_RATES + RATE_SENSITIVITY];
        if (own > 0 && own < LEAST_OF_CLASS) return 1;
    }
    return 0;
}

static status_code add_intervals(job *j, failure *failure) {
    if (j->patients.count < STATISTICS_INTERVAL_CASES) return STATUS_OK;
    const status_code status = bootstrap(j, failure);
    if (status != STATUS_OK) return status;
    count_witnesses(j);
    for (int k = 0; k < j->p->classes * CLASS_RATES; k++) mend_interval(j, k / CLASS_RATES, k % CLASS_RATES);
    interval *mean = &j->each[j->p->classes].ci[RATE_F1];
    if (has_few_of_a_class(j) || interval_is_flat(*mean)) *mean = (interval){(double)NAN, (double)NAN};
    return STATUS_OK;
}

static status_code fill(job *j, failure *failure) {
    const size_t rows = (size_t)j->p->classes + 1;
    double(*values)[CLASS_RATES] = malloc(rows * sizeof *values);
    if (!values) return fail_memory(failure, "the rates");
    clear(j);
    for (int64_t patient = 0; patient < j->patients.count; patient++) add_patient(j, patient);
    rate(j, values);
    for (size_t c = 0; c < rows; c++) memcpy(j->each[c].value, values[c], sizeof values[c]);
    free(values);
    return add_intervals(j, failure);
}

status_code class_rates_of(const class_predictions *predictions, class_rates *each, failure *failure) {
    const interval none = {(double)NAN, (double)NAN};
    job j = {.p = predictions, .each = each};
    for (int c = 0; c <= predictions->classes; c++)
        for (int r = 0; r < CLASS_RATES; r++) each[c].ci[r] = none;
    status_code status = prepare(&j, failure);
    if (status == STATUS_OK) status = fill(&j, failure);
    finish(&j);
    return status;
}
