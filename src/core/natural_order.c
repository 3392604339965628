#include "core/natural_order.h"

#include <string.h>

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int folded(char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c; }

/* Compares the numbers that both begin with, without their leading zeros, and moves behind them. */
static int compare_numbers(const char **a, const char **b) {
    while (**a == '0') ++*a;
    while (**b == '0') ++*b;
    const char *from_a = *a, *from_b = *b;
    while (is_digit(**a)) ++*a;
    while (is_digit(**b)) ++*b;
    const size_t digits_a = (size_t)(*a - from_a), digits_b = (size_t)(*b - from_b);
    if (digits_a != digits_b) return digits_a < digits_b ? -1 : 1;
    return memcmp(from_a, from_b, digits_a);
}

int natural_compare(const char *a, const char *b) {
    const char *x = a, *y = b;
    while (*x && *y) {
        int order;
        if (is_digit(*x) && is_digit(*y)) order = compare_numbers(&x, &y);
        else order = folded(*x++) - folded(*y++);
        if (order) return order;
    }
    if (*x || *y) return *x ? 1 : -1;
    return strcmp(a, b);
}
