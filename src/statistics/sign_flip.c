#include "statistics/sign_flip.h"

#include <math.h>
#include <stdlib.h>

static const double WORK_MAX = 1e8; /* patients x the largest sum */

/* share[t] is the share of the ways to choose signs in which the positive differences sum to t. */
static void add_patient(double *share, int64_t reached, int64_t size) {
    for (int64_t t = reached + size; t >= 0; t--)
        share[t] = ((t <= reached ? share[t] : 0) + (t >= size ? share[t - size] : 0)) / 2;
}

static status_code exact(const int64_t *differences, int64_t count, int64_t largest, double *p, failure *failure) {
    double *share = calloc((size_t)largest + 1, sizeof *share);
    if (!share) return fail_memory(failure, "a test");
    int64_t reached = 0, sum = 0;
    share[0] = 1;
    for (int64_t k = 0; k < count; k++) {
        if (!differences[k]) continue;
        add_patient(share, reached, llabs(differences[k]));
        reached += llabs(differences[k]);
        sum += differences[k];
    }
    *p = 0;
    for (int64_t t = 0; t <= largest; t++)
        if (llabs(2 * t - largest) >= llabs(sum)) *p += share[t];
    *p = fmin(1, *p);
    free(share);
    return STATUS_OK;
}

status_code sign_flip_test(const int64_t *differences, int64_t count, double *p, failure *failure) {
    double sum = 0, squares = 0;
    int64_t largest = 0, differ = 0;
    for (int64_t k = 0; k < count; k++) {
        const double d = (double)differences[k];
        sum += d;
        squares += d * d;
        largest += llabs(differences[k]);
        differ += differences[k] != 0;
    }
    if ((double)differ * (double)largest <= WORK_MAX) return exact(differences, count, largest, p, failure);
    *p = erfc(fabs(sum) / sqrt(2 * squares));
    return STATUS_OK;
}
