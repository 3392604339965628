#include "report/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The smallest of 1, 2, 5 times a power of ten that is not below the value. */
static double round_step(double value) {
    const double power = pow(10, floor(log10(value)));
    const double factor = value / power;
    return (factor <= 1.0000001 ? 1 : factor <= 2.0000001 ? 2 : factor <= 5.0000001 ? 5 : 10) * power;
}

scale scale_round(double low, double high) {
    const double most = fmax(fabs(low), fabs(high));
    if (!(high - low > 1e-9 * most)) { /* all values the same: some room on both sides */
        const double margin = most > 0 ? most / 2 : 1;
        low -= margin;
        high += margin;
    }
    const double step = round_step((high - low) / 5);
    return (scale){floor(low / step + 1e-9) * step, ceil(high / step - 1e-9) * step, step, 0};
}

scale scale_whole(double low, double high) {
    if (!(high > low)) return (scale){low - 1, low + 1, 1, 0};
    return (scale){low, high, fmax(1, round_step((high - low) / 6)), 0};
}

scale scale_logarithmic(double low, double high, int decades) {
    const double top = ceil(log10(high) - 1e-9);
    double bottom = low > 0 ? floor(log10(low) + 1e-9) : -HUGE_VAL;
    bottom = fmin(fmax(bottom, top - decades), top - 1);
    return (scale){pow(10, bottom), pow(10, top), ceil((top - bottom) / 6), 1};
}

double scale_place(const scale *scale, double value, double from, double to) {
    double share = (value - scale->low) / (scale->high - scale->low);
    if (scale->logarithmic) share = value > 0 ? log(value / scale->low) / log(scale->high / scale->low) : 0;
    return from + (to - from) * fmin(fmax(share, 0), 1);
}

int scale_ticks(const scale *scale, double ticks[SCALE_MAX_TICKS]) {
    int count = 0;
    const double low = scale->logarithmic ? round(log10(scale->low)) : scale->low;
    const double high = scale->logarithmic ? round(log10(scale->high)) : scale->high;
    const double first = ceil(low / scale->step - 1e-6);
    for (double k = first; k * scale->step <= high + 1e-6 * scale->step && count < SCALE_MAX_TICKS; k++)
        ticks[count++] = scale->logarithmic ? pow(10, k * scale->step) : k * scale->step;
    return count;
}

/* Commas between thousands of a number printed with %f. */
static void add_commas(char label[NUMBER_SIZE]) {
    char digits[NUMBER_SIZE];
    strcpy(digits, label);
    const int sign = digits[0] == '-';
    const int whole = (int)strcspn(digits + sign, ".");
    char *to = label + sign;
    for (int k = 0; k < whole; k++) {
        if (k > 0 && (whole - k) % 3 == 0) *to++ = ',';
        *to++ = digits[sign + k];
    }
    strcpy(to, digits + sign + whole);
}

static void fixed(double value, int digits, char label[NUMBER_SIZE]) {
    if (fabs(value) < 0.5 * pow(10, -digits)) value = 0; /* no minus zero */
    snprintf(label, NUMBER_SIZE / 2, "%.*f", digits, value);
    add_commas(label);
}

/* 10 with its exponent raised. */
static void power_of_ten(double value, char label[NUMBER_SIZE]) {
    static const char *const RAISED[] = {"\xE2\x81\xB0", "\xC2\xB9",     "\xC2\xB2",     "\xC2\xB3",
                                         "\xE2\x81\xB4", "\xE2\x81\xB5", "\xE2\x81\xB6", "\xE2\x81\xB7",
                                         "\xE2\x81\xB8", "\xE2\x81\xB9"};
    const int exponent = (int)lround(log10(value)), size = exponent < 0 ? -exponent : exponent;
    snprintf(label, NUMBER_SIZE, "10%s%s%s", exponent < 0 ? "\xE2\x81\xBB" : "",
             size >= 10 ? RAISED[size / 10 % 10] : "", RAISED[size % 10]);
}

void scale_label(const scale *scale, double tick, char label[NUMBER_SIZE]) {
    const double unit = scale->logarithmic ? tick : scale->step;
    const int digits = (int)fmax(0, -floor(log10(unit) + 1e-6));
    if (fabs(tick) < 1e6 && digits <= 4) fixed(tick, digits, label);
    else if (scale->logarithmic) power_of_ten(tick, label);
    else snprintf(label, NUMBER_SIZE, "%.4g", tick);
}

void number_format(double value, char label[NUMBER_SIZE]) {
    const double size = fabs(value);
    if (!isfinite(value)) strcpy(label, "\xE2\x80\x93");
    else if (size != 0 && (size < 1e-4 || size >= 1e9)) snprintf(label, NUMBER_SIZE, "%.2g", value);
    else if (value == floor(value) || size >= 1000) fixed(value, 0, label);
    else fixed(value, (int)fmax(0, 2 - floor(log10(size))), label);
}

void number_percent(double share, char label[NUMBER_SIZE]) {
    if (!isfinite(share) || fabs(share) > 1e6) {
        strcpy(label, "\xE2\x80\x93");
        return;
    }
    fixed(share * 100, 1, label);
    strcat(label, "\xC2\xA0%");
}

void number_share(double share, char label[NUMBER_SIZE]) {
    if (isfinite(share) && share >= 0 && share <= 1) snprintf(label, NUMBER_SIZE, "%.3g\xC2\xA0%%", share * 100);
    else number_percent(share, label);
}

void number_loss(double loss, char label[NUMBER_SIZE]) {
    if (loss >= 0.1 && loss < 1e6) fixed(loss, 2, label);
    else number_format(loss, label);
}

void number_p(double p, char label[NUMBER_SIZE]) {
    if (p < 0.00001) strcpy(label, "&lt; 0.00001");
    else snprintf(label, NUMBER_SIZE, "%.*f", p < 0.001 ? 5 : 3, p);
}

void number_duration(double seconds, char label[NUMBER_SIZE]) {
    if (!isfinite(seconds) || seconds < 0 || seconds > 1e12) strcpy(label, "\xE2\x80\x93");
    else if (seconds < 90) snprintf(label, NUMBER_SIZE, "%.0f\xC2\xA0s", seconds);
    else if (seconds < 5400) snprintf(label, NUMBER_SIZE, "%.0f\xC2\xA0min", seconds / 60);
    else snprintf(label, NUMBER_SIZE, "%.1f\xC2\xA0h", seconds / 3600);
}
