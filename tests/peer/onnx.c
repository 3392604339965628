/*
 * Logits of a run's network for inputs that are laid out as ONNX has them, channels first.
 *
 *     peer_onnx RUN SAMPLES < floats > floats
 */
#include "onnx/onnx_network.h"

#include <stdio.h>
#include <stdlib.h>

/* Between [channel][position] and [position][channel]. */
static void turn(const float *from, size_t rows, size_t columns, float *to) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++) to[c * rows + r] = from[r * columns + c];
}

static int predict(onnx_network *n, float *sample, float *result) {
    const shape in = graph_input_shape(n->graph), out = graph_output_shape(n->graph, 0);
    const size_t channels = (size_t)(n->plan ? n->plan->channels : n->classifier.config.facts.channels);
    const size_t count = shape_count(&in) / (size_t)in.samples, outputs = shape_positions(&out);
    if (fread(sample, sizeof *sample, count, stdin) != count) return 0;
    turn(sample, channels, count / channels, graph_input_values(n->graph));
    graph_forward(n->graph, 0);
    turn(graph_output_values(n->graph, 0), outputs, (size_t)out.channels, result);
    return fwrite(result, sizeof *result, outputs * (size_t)out.channels, stdout) == outputs * (size_t)out.channels;
}

int main(int count, char **arguments) {
    onnx_network n;
    failure failure = {0};
    if (count != 3) return 2;
    if (onnx_network_open(&n, arguments[1], RUN_WEIGHTS_BEST, &failure) != STATUS_OK)
        return fprintf(stderr, "%s\n", failure.message), 1;
    const shape in = graph_input_shape(n.graph), out = graph_output_shape(n.graph, 0);
    float *sample = malloc(shape_count(&in) * sizeof *sample), *result = malloc(shape_count(&out) * sizeof *result);
    int good = sample && result;
    for (int k = 0; k < atoi(arguments[2]) && good; k++) good = predict(&n, sample, result);
    free(sample);
    free(result);
    onnx_network_close(&n);
    return good ? 0 : 1;
}
