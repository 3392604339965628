#include "predict/probabilities.h"

#include <math.h>

static void softmax(float *values, int classes, size_t stride) {
    float largest = values[0];
    double sum = 0;
    for (int k = 1; k < classes; k++) largest = fmaxf(largest, values[(size_t)k * stride]);
    for (int k = 0; k < classes; k++) sum += exp((double)(values[(size_t)k * stride] - largest));
    for (int k = 0; k < classes; k++)
        values[(size_t)k * stride] = (float)(exp((double)(values[(size_t)k * stride] - largest)) / sum);
}

void probabilities_of(const label_scheme *labels, float *values, size_t stride) {
    if (!labels->regions) softmax(values, labels->classes, stride);
    for (int r = 0; r < labels->regions; r++)
        values[(size_t)r * stride] = (float)(1 / (1 + exp(-(double)values[(size_t)r * stride])));
}
