/* The exponential function in single precision, as arithmetic that compilers turn into vectors. */
#ifndef HWS_NN_FAST_EXP_H
#define HWS_NN_FAST_EXP_H

#include <stdint.h>
#include <string.h>

/*
 * exp(x) for x <= 88 within 2 units in the last place; 0 below -87.3, where the result would leave the normal numbers.
 * NaN stays NaN.
 *
 * x = n ln 2 + r with |r| <= ln 2 / 2. Adding and subtracting 1.5 * 2^23 rounds to the integer n, which also stands in
 * the low bits of the sum. ln 2 is split so that n times its upper part is exact. The polynomial is the best one of its
 * degree for the relative error, 3e-9.
 */
static inline float fast_exp(float x) {
    const float round = 0x1.8p23f;
    const float low = x < -87.3f ? -87.3f : x;
    const float shifted = low * 1.44269504f + round, n = shifted - round;
    const float r = (low - n * 0x1.62e8p-1f) - n * -0x1.e8082ep-16f;
    float q = 0.00138145394f;
    q = q * r + 0.00836874545f;
    q = q * r + 0.041668389f;
    q = q * r + 0.166665211f;
    q = q * r + 0.49999994f;
    const float power = (q * r) * r + r + 1;
    uint32_t bits, exponent;
    memcpy(&bits, &power, sizeof bits);
    memcpy(&exponent, &shifted, sizeof exponent);
    bits += exponent << 23;
    float result;
    memcpy(&result, &bits, sizeof result);
    return x < -87.3f ? 0 : result;
}

#endif
