#include "nn/supervision.h"

#include <math.h>
#include <string.h>

void supervision_weights(size_t outputs, double *weights) {
    double sum = 0;
    for (size_t i = 0; i < outputs; i++) {
        weights[i] = i > 0 && i + 1 == outputs ? 0 : ldexp(1, -(int)i);
        sum += weights[i];
    }
    for (size_t i = 0; i < outputs; i++) weights[i] /= sum;
}

void supervision_labels(const size_t size[3], const size_t stride[3], const int16_t *labels, int16_t *coarse) {
    for (size_t z = 0; z < size[0]; z += stride[0])
        for (size_t y = 0; y < size[1]; y += stride[1]) {
            const int16_t *row = labels + (z * size[1] + y) * size[2];
            for (size_t x = 0; x < size[2]; x += stride[2]) *coarse++ = row[x];
        }
}

status_code supervised_forward(loss_kind kind, size_t classes, size_t count, const supervised_output *outputs,
                               double *value, failure *failure) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        const supervised_output *output = &outputs[i];
        if (output->weight == 0) continue;
        const loss loss = {kind, output->positions, classes, output->smoothing};
        double one = 0;
        const status_code status =
            loss_forward(&loss, output->logits, output->labels, output->workspace, &one, failure);
        if (status != STATUS_OK) return status;
        sum += output->weight * one;
    }
    *value = sum;
    return STATUS_OK;
}

void supervised_backward(loss_kind kind, size_t classes, size_t count, const supervised_output *outputs,
                         double weight) {
    for (size_t i = 0; i < count; i++) {
        const supervised_output *output = &outputs[i];
        const loss loss = {kind, output->positions, classes, output->smoothing};
        if (output->weight != 0)
            loss_backward(&loss, output->labels, output->workspace, weight * output->weight, output->gradient);
        else if (output->gradient) memset(output->gradient, 0, output->positions * classes * sizeof(float));
    }
}
