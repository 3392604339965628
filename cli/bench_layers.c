#include "bench_layers.h"

#include "bench/layer_cost.h"
#include "cli.h"

#include <stdio.h>
#include <string.h>

static int same_layer(const convolution *a, const convolution *b) {
    return memcmp(&a->in, &b->in, sizeof a->in) == 0 && a->inputs == b->inputs && a->features == b->features &&
           memcmp(a->input_channels, b->input_channels, sizeof a->input_channels) == 0 &&
           memcmp(a->kernel, b->kernel, sizeof a->kernel) == 0 && memcmp(a->stride, b->stride, sizeof a->stride) == 0;
}

/* Whether an equal one comes before the place that is given. */
static int came_before(const graph *graph, const convolution *layer) {
    int place = 0;
    for (const convolution *c = graph_next_convolution(graph, &place); c != layer;
         c = graph_next_convolution(graph, &place))
        if (same_layer(c, layer)) return 1;
    return 0;
}

static int count_layers(const graph *graph) {
    int place = 0, count = 0;
    for (const convolution *c; (c = graph_next_convolution(graph, &place));) count += !came_before(graph, c);
    return count;
}

static void print_json(const convolution *c, const layer_cost *cost, double peak) {
    printf("{\"in\": %d, \"out\": %d, \"kernel\": [%d, %d, %d], \"stride\": [%d, %d, %d], \"padding\": [%d, %d, %d], ",
           c->in.channels, c->features, c->kernel[0], c->kernel[1], c->kernel[2], c->stride[0], c->stride[1],
           c->stride[2], c->padding[0], c->padding[1], c->padding[2]);
    printf("\"samples\": %d, \"size\": [%d, %d, %d], \"precision\": \"%s\", \"threads\": %d, \"algorithm\": \"%s\", ",
           c->in.samples, c->in.size[0], c->in.size[1], c->in.size[2], c->precision == PRECISION_F32 ? "f32" : "bf16",
           c->threads, convolution_algorithm_name(c));
    printf("\"gflop\": %.6g, \"peak_gflops\": %.1f", cost->gflop, peak);
    static const char *const KEYS[LAYER_PASSES] = {"forward", "backward_data", "backward_weights"};
    for (int k = 0; k < LAYER_PASSES; k++) {
        const timing *t = &cost->pass[k];
        printf(", \"%s_ms\": %.5g, \"%s_least_ms\": %.5g, \"%s_low_ms\": %.5g, \"%s_high_ms\": %.5g", KEYS[k],
               t->median * 1e3, KEYS[k], t->least * 1e3, KEYS[k], t->low * 1e3, KEYS[k], t->high * 1e3);
    }
    printf("}\n");
}

/* A line for each pass. The fast end of the middle half is that of the short times. */
static void print_rows(const convolution *c, const layer_cost *cost, double peak) {
    static const char *const PASSES[LAYER_PASSES] = {"forward", "backward data", "backward weights"};
    char what[96];
    snprintf(what, sizeof what, "%d to %d, %dx%dx%d / %dx%dx%d, %d of %dx%dx%d", c->in.channels, c->features,
             c->kernel[0], c->kernel[1], c->kernel[2], c->stride[0], c->stride[1], c->stride[2], c->in.samples,
             c->in.size[0], c->in.size[1], c->in.size[2]);
    for (int k = 0; k < LAYER_PASSES; k++) {
        const timing *t = &cost->pass[k];
        printf("%-52s %-9s %-16s %9.1f %8.1f to %-8.1f %5.0f %%\n", k ? "" : what,
               k ? "" : convolution_algorithm_name(c), PASSES[k], cost->gflop / t->median, cost->gflop / t->high,
               cost->gflop / t->low, 100 * cost->gflop / t->median / peak);
    }
}

int bench_layers(const graph *graph, double seconds, int json) {
    const double each = seconds / (LAYER_PASSES * count_layers(graph));
    int place = 0, threads = 1;
    const convolution *first = graph_next_convolution(graph, &place);
    if (first) threads = first->threads;
    const double peak = peak_gflops(threads);
    if (!json)
        printf("GFLOP/s of direct convolution, and their share of the %.1f that this machine multiplies and adds\n"
               "%-52s %-9s %-16s %9s %20s %7s\n",
               peak, "channels, kernel / stride, images", "", "pass", "median", "middle half", "of peak");
    place = 0;
    for (const convolution *c; (c = graph_next_convolution(graph, &place));) {
        layer_cost cost;
        failure failure;
        if (came_before(graph, c)) continue;
        const status_code status = layer_cost_measure(c, each, &cost, &failure);
        if (status != STATUS_OK) return cli_end(status, &failure);
        (json ? print_json : print_rows)(c, &cost, peak);
        fflush(stdout);
    }
    return EXIT_DONE;
}
