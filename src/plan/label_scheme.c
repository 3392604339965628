#include "plan/label_scheme.h"

#include "core/arg_max.h"

#include <string.h>

void label_scheme_plain(label_scheme *scheme, int classes) {
    memset(scheme, 0, sizeof *scheme);
    scheme->classes = classes;
    for (int c = 0; c < classes; c++) scheme->values[c] = (int16_t)c;
}

/* Values ascend from 0, so that the last one tells. */
int label_scheme_has_gaps(const label_scheme *scheme) {
    return scheme->classes > 0 && scheme->values[scheme->classes - 1] != scheme->classes - 1;
}

int label_scheme_class(const label_scheme *scheme, int value) {
    for (int c = 0; c < scheme->classes; c++)
        if (scheme->values[c] == value) return c;
    return -1;
}

int label_scheme_outputs(const label_scheme *scheme) { return scheme->regions ? scheme->regions : scheme->classes; }
int label_scheme_scored(const label_scheme *scheme) { return scheme->regions ? scheme->regions : scheme->classes - 1; }

int label_scheme_same(const label_scheme *a, const label_scheme *b) {
    if (a->classes != b->classes || a->regions != b->regions) return 0;
    const size_t classes = (size_t)a->classes;
    int same = memcmp(a->values, b->values, classes * sizeof *a->values) == 0 &&
               (!a->regions || memcmp(a->inside, b->inside, classes * sizeof *a->inside) == 0);
    for (int r = 0; r < a->regions; r++)
        same = same && a->region[r].writes == b->region[r].writes && strcmp(a->region[r].name, b->region[r].name) == 0;
    return same;
}

int16_t label_scheme_decode(const label_scheme *scheme, const float *scores, float threshold) {
    if (!scheme->regions) return (int16_t)arg_max(scores, scheme->classes);
    int16_t class = 0;
    for (int r = 0; r < scheme->regions; r++)
        if (scores[r] > threshold) class = scheme->region[r].writes;
    return class;
}

void label_scheme_targets(const label_scheme *scheme, int16_t *labels, size_t count) {
    if (!scheme->regions) return;
    for (size_t k = 0; k < count; k++)
        if (labels[k] >= 0) labels[k] = (int16_t)scheme->inside[labels[k]];
}

void label_scheme_to_values(const label_scheme *scheme, int16_t *labels, size_t count) {
    if (!label_scheme_has_gaps(scheme)) return;
    for (size_t k = 0; k < count; k++) labels[k] = scheme->values[labels[k]];
}
