#include "statistics/wilcoxon.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Ranks are doubled: the mean of several can end in a half. */
typedef struct ranking {
    size_t positive, negative; /* sums of doubled ranks */
    double ties;               /* sum of t^3 - t over groups of t equal differences */
    size_t ranks[WILCOXON_EXACT_PAIRS];
} ranking;

static int compare_sizes(const void *a, const void *b) {
    const double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

/* Keeps the differences that are not zero and counts all kinds. */
static size_t gather(const double *a, const double *b, size_t count, double *differences, wilcoxon *result) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = b[i] - a[i];
        if (isnan(difference)) {
            result->missing++;
        } else if (difference == 0) {
            result->equal++;
        } else {
            differences[kept++] = difference;
            *(difference > 0 ? &result->better : &result->worse) += 1;
        }
    }
    return kept;
}

/* Equal differences share the mean of their ranks. */
static ranking rank(double *differences, size_t n) {
    qsort(differences, n, sizeof *differences, compare_sizes);
    ranking r = {0};
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && fabs(differences[end]) == fabs(differences[first]);) end++;
        const size_t doubled = first + 1 + end;
        const double tied = (double)(end - first);
        r.ties += tied * tied * tied - tied;
        for (size_t i = first; i < end; i++) {
            *(differences[i] > 0 ? &r.positive : &r.negative) += doubled;
            if (i < WILCOXON_EXACT_PAIRS) r.ranks[i] = doubled;
        }
    }
    return r;
}

/* Of the 2^n ways to give the ranks signs, the share whose positive ranks sum to at most `smaller`, doubled. The counts
   stay below 2^53, so they are exact. */
static double exact_p(const ranking *r, size_t n, size_t smaller) {
    enum { LARGEST = WILCOXON_EXACT_PAIRS * (WILCOXON_EXACT_PAIRS + 1) };
    double ways[LARGEST + 1] = {1};
    size_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest += r->ranks[i];
        for (size_t sum = largest; sum >= r->ranks[i]; sum--) ways[sum] += ways[sum - r->ranks[i]];
    }
    double below = 0;
    for (size_t sum = 0; sum <= smaller; sum++) below += ways[sum];
    return fmin(1, 2 * below / pow(2, (double)n));
}

static double normal_p(size_t n, double statistic, double ties) {
    const double m = (double)n;
    const double mean = m * (m + 1) / 4, variance = (m * (m + 1) * (2 * m + 1) - ties / 2) / 24;
    return erfc(fabs(statistic - mean) / sqrt(2 * variance));
}

status_code wilcoxon_test(const double *a, const double *b, size_t count, wilcoxon *result, failure *failure) {
    *result = (wilcoxon){0};
    double *differences = malloc((count ? count : 1) * sizeof *differences);
    if (!differences) return fail_memory(failure, "Wilcoxon's test");
    const size_t n = gather(a, b, count, differences, result);
    const ranking r = rank(differences, n);
    const size_t smaller = r.positive < r.negative ? r.positive : r.negative;
    free(differences);
    result->statistic = (double)smaller / 2;
    result->exact = n <= WILCOXON_EXACT_PAIRS;
    if (n == 0) result->p = result->equal > 0 ? 1 : (double)NAN;
    else result->p = result->exact ? exact_p(&r, n, smaller) : normal_p(n, result->statistic, r.ties);
    return STATUS_OK;
}
