#include "sampler/exact_sum.h"

#include <math.h>
#include <string.h>

enum { DIGIT = 24, SMALLEST = 149 /* the least float is 2^-149 */ };

void exact_sum_count(exact_sum *sum, float number, int sign) {
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    const uint32_t exponent = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
    const uint32_t place = exponent ? exponent - 1 : 0, digit = place / DIGIT, within = place % DIGIT;
    const uint64_t shifted = (uint64_t)(exponent ? fraction | 0x800000 : fraction) << within;
    const int64_t signs = bits >> 31 ? -sign : sign;
    sum->digits[digit] += signs * (int64_t)(shifted & 0xffffff);
    sum->digits[digit + 1] += signs * (int64_t)(shifted >> DIGIT);
}

double exact_sum_value(const exact_sum *sum) {
    int64_t digits[EXACT_SUM_DIGITS], carry = 0;
    const int64_t base = (int64_t)1 << DIGIT;
    for (int k = 0; k < EXACT_SUM_DIGITS; k++) {
        const int64_t all = sum->digits[k] + carry, rest = (all % base + base) % base;
        carry = (all - rest) / base;
        digits[k] = rest;
    }
    /* From the top, where all sums are exact until digits are added that are too small to matter. */
    double value = (double)carry;
    for (int k = EXACT_SUM_DIGITS - 1; k >= 0; k--) value = value * (double)base + (double)digits[k];
    return ldexp(value, -SMALLEST);
}
