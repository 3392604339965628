#include "core/portable_math.h"

#include <math.h>

/* ln 2 in two parts; the first has 33 bits, so that its product with an exponent is exact. */
static const double LN_2_HIGH = 0x1.62e42fef00000p-1, LN_2_LOW = 0x1.473de6af278edp-34;

/* x = k ln 2 + remainder, |remainder| <= ln 2 / 2. */
static double reduce_by_ln2(double x, double *k) {
    *k = (x * HWS_LOG2_E + HWS_ROUNDING_MAGIC) - HWS_ROUNDING_MAGIC;
    return (x - *k * LN_2_HIGH) - *k * LN_2_LOW;
}

static double exp2_fraction(double f) {
    static const double c[] = {HWS_EXP2_0, HWS_EXP2_1, HWS_EXP2_2, HWS_EXP2_3, HWS_EXP2_4, HWS_EXP2_5,
                               HWS_EXP2_6, HWS_EXP2_7, HWS_EXP2_8, HWS_EXP2_9, HWS_EXP2_10};
    double sum = c[10];
    for (int k = 9; k >= 0; k--) sum = sum * f + c[k];
    return sum;
}

double hws_exp(double x) {
    if (x != x) return x;
    if (x > 709.79) return INFINITY;
    if (x < -745.2) return 0;
    double k;
    const double r = reduce_by_ln2(x, &k);
    return ldexp(exp2_fraction(r * HWS_LOG2_E), (int)k);
}

double hws_expm1(double x) {
    if (fabs(x) > 0.35) return hws_exp(x) - 1;
    /* The Taylor series; at 0.35 its 14th term is below 2^-56 of the first. */
    double sum = 0;
    for (int k = 14; k >= 1; k--) sum = (1 + sum) * (x / k);
    return sum;
}

double hws_log(double x) {
    if (x != x || x < 0) return NAN;
    if (x == 0) return -INFINITY;
    if (x > DBL_MAX) return INFINITY;
    int exponent;
    double m = frexp(x, &exponent);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        exponent--;
    }
    /* ln m = 2 artanh(s), |s| <= 0.172 */
    const double s = (m - 1) / (m + 1), s2 = s * s;
    double tail = 0;
    for (int k = 25; k >= 3; k -= 2) tail = tail * s2 + 1.0 / k;
    return exponent * LN_2_HIGH + (2 * s + (2 * s * s2 * tail + exponent * LN_2_LOW));
}

double hws_log1p(double x) {
    /* What rounding took from 1 + x comes back to first order. */
    const double u = 1 + x;
    return u == 1 ? x : hws_log(u) - ((u - 1) - x) / u;
}

double hws_pow(double x, double a) {
    if (a == 1) return x;
    if (a == 2) return x * x;
    if (a == -1) return 1 / x;
    if (a == 0.5) return sqrt(x);
    if (a == 0) return 1;
    return hws_exp(a * hws_log(x));
}

wide_sum wide_product(double a, double b) {
    /* Dekker: halves of 26 bits multiply without rounding. */
    const double split = 0x1p27 + 1;
    const double ca = split * a, cb = split * b;
    const double ah = ca - (ca - a), bh = cb - (cb - b);
    const double al = a - ah, bl = b - bh, product = a * b;
    return (wide_sum){product, ((ah * bh - product) + ah * bl + al * bh) + al * bl};
}
