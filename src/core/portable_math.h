/*
 * Elementary functions whose results are the same bits on every machine.
 *
 * libm's are not: glibc alone has variants per CPU. Everything that decides a draw goes through these instead, built
 * from IEEE operations only and compiled without contraction. Errors stay below 4 units in the last place.
 */
#ifndef HWS_CORE_PORTABLE_MATH_H
#define HWS_CORE_PORTABLE_MATH_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "hws needs float and double arithmetic without excess precision (on 32-bit x86: -msse2 -mfpmath=sse)"
#endif

/* Adding and subtracting this rounds a double below 2^51 to the nearest integer. */
#define HWS_ROUNDING_MAGIC 0x1.8p52

#define HWS_LOG2_E 0x1.71547652b82fep+0
#define HWS_LOG2_E_TAIL 0x1.777d0ffda0d24p-56
#define HWS_LN_2 0x1.62e42fefa39efp-1

static inline uint64_t hws_bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double hws_double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^f = sum of HWS_EXP2_k f^k for |f| <= 0.51, to 2^-51: Chebyshev interpolation of degree 10. */
#define HWS_EXP2_0 0x1.0000000000000p+0
#define HWS_EXP2_1 0x1.62e42fefa3a23p-1
#define HWS_EXP2_2 0x1.ebfbdff82c59bp-3
#define HWS_EXP2_3 0x1.c6b08d703aa22p-5
#define HWS_EXP2_4 0x1.3b2ab6fba1581p-7
#define HWS_EXP2_5 0x1.5d87fea220a3dp-10
#define HWS_EXP2_6 0x1.4309130b95ac5p-13
#define HWS_EXP2_7 0x1.ffcb4622cb567p-17
#define HWS_EXP2_8 0x1.62bfce0d26d05p-20
#define HWS_EXP2_9 0x1.b68359b80013fp-24
#define HWS_EXP2_10 0x1.e612d312f7f0fp-28

double hws_exp(double x);
double hws_expm1(double x);
double hws_log(double x);
double hws_log1p(double x);
/* x^a for x >= 0. */
double hws_pow(double x, double a);

/* A sum of doubles that is exact to about 2^-104: high + low, |low| <= ulp(high) / 2. */
typedef struct wide_sum {
    double high, low;
} wide_sum;

static inline wide_sum wide_add(wide_sum a, wide_sum b) {
    const double s = a.high + b.high, v = s - a.high;
    const double error = ((a.high - (s - v)) + (b.high - v)) + (a.low + b.low);
    const double high = s + error;
    return (wide_sum){high, error - (high - s)};
}

static inline wide_sum wide_add_double(wide_sum a, double b) { return wide_add(a, (wide_sum){b, 0}); }

/* The exact product of two doubles (barring over- and underflow). */
wide_sum wide_product(double a, double b);

#endif
