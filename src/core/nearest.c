#include "core/nearest.h"

#include <limits.h>
#include <string.h>

enum { LONGEST = 48, MOST_APART = 3 };

static int least(int a, int b, int c) {
    const int ab = a < b ? a : b;
    return ab < c ? ab : c;
}

/* How many letters to change: rows of the usual table, of which three are kept for swapped neighbours. */
static int distance(const char *a, const char *b) {
    int rows[3][LONGEST + 1];
    const int m = (int)strlen(a), n = (int)strlen(b);
    if (m > LONGEST || n > LONGEST) return INT_MAX;
    for (int j = 0; j <= n; j++) rows[0][j] = j;
    for (int i = 1; i <= m; i++) {
        int *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= n; j++) {
            row[j] = least(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            const int swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j]) row[j] = before[j - 2] + 1;
        }
    }
    return rows[m % 3][n];
}

nearest nearest_start(const char *typed) {
    const int third = ((int)strlen(typed) + 2) / 3;
    return (nearest){.typed = typed, .apart = (third < MOST_APART ? third : MOST_APART) + 1};
}

void nearest_consider(nearest *n, const char *word) {
    const int apart = distance(n->typed, word);
    if (apart >= n->apart) return;
    n->apart = apart;
    n->meant = word;
}
