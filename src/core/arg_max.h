/* Which of some numbers is the largest. */
#ifndef HWS_CORE_ARG_MAX_H
#define HWS_CORE_ARG_MAX_H

/* The index of the largest of `count` numbers, the first of equal ones; count > 0. */
static inline int arg_max(const float *numbers, int count) {
    int largest = 0;
    for (int k = 1; k < count; k++)
        if (numbers[k] > numbers[largest]) largest = k;
    return largest;
}

#endif
