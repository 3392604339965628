#include "train/batch_tail.h"

#include <stdlib.h>

typedef struct scored {
    double loss;
    int64_t position;
} scored;

static int harder_first(const void *a, const void *b) {
    const scored *x = a, *y = b;
    if (x->loss != y->loss) return x->loss < y->loss ? 1 : -1;
    return x->position < y->position ? -1 : x->position > y->position;
}

status_code order_by_loss(const double *losses, int64_t count, int64_t *order, failure *failure) {
    scored *all = malloc((size_t)count * sizeof *all);
    if (!all) return fail_memory(failure, "the losses of a batch");
    for (int64_t k = 0; k < count; k++) all[k] = (scored){losses[k], k};
    qsort(all, (size_t)count, sizeof *all, harder_first);
    for (int64_t k = 0; k < count; k++) order[k] = all[k].position;
    free(all);
    return STATUS_OK;
}

status_code batch_tail_weights(const double *losses, int64_t count, double tail, double *weights, failure *failure) {
    int64_t *order = malloc((size_t)count * sizeof *order);
    if (!order) return fail_memory(failure, "the losses of a batch");
    const status_code status = order_by_loss(losses, count, order, failure);
    const double wanted = tail * (double)count > 1 ? tail * (double)count : 1;
    double left = wanted;
    for (int64_t k = 0; k < count && status == STATUS_OK; k++) {
        const double share = left < 1 ? left : 1;
        weights[order[k]] = share / wanted;
        left = left - share < BATCH_TAIL_LEAST ? 0 : left - share;
    }
    free(order);
    return status;
}
