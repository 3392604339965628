/* The network mlp-0-6 in doubles, beside a trainer that has it. Needs folders.h and points.h. */
#ifndef HWS_TEST_PLAIN_NETWORK_H
#define HWS_TEST_PLAIN_NETWORK_H

#include "folders.h"
#include "points.h"

enum { HIDDEN = 6, MOST = 64 };

/* In PyTorch's layout. */
typedef struct plain {
    double first[HIDDEN][FEATURES], second[CLASSES][HIDDEN];
} plain;

static inline void take_weights(trainer *t, plain *net) {
    graph *g = learner_graph(t->learner);
    float values[HIDDEN * FEATURES + CLASSES * HIDDEN];
    assert_int_equal(graph_parameter_count(g), 2);
    graph_export(graph_parameter(g, 0), graph_values(g), values);
    for (int k = 0; k < HIDDEN * FEATURES; k++) net->first[k / FEATURES][k % FEATURES] = (double)values[k];
    graph_export(graph_parameter(g, 1), graph_values(g), values);
    for (int k = 0; k < CLASSES * HIDDEN; k++) net->second[k / HIDDEN][k % HIDDEN] = (double)values[k];
}

/* The loss; adds weight times its gradient. */
static inline double loss_and_gradient(const plain *net, const float *x, int label, double weight, plain *gradient) {
    double hidden[HIDDEN], p[CLASSES], back[HIDDEN] = {0}, sum = 0, loss = 0;
    for (int h = 0; h < HIDDEN; h++) {
        double z = 0;
        for (int k = 0; k < FEATURES; k++) z += net->first[h][k] * (double)x[k];
        hidden[h] = z > 0 ? z : 0;
    }
    for (int c = 0; c < CLASSES; c++) {
        double z = 0;
        for (int h = 0; h < HIDDEN; h++) z += net->second[c][h] * hidden[h];
        sum += p[c] = exp(z);
    }
    for (int c = 0; c < CLASSES; c++) {
        p[c] /= sum;
        if (c == label) loss = -log(p[c]);
        for (int h = 0; h < HIDDEN; h++) {
            gradient->second[c][h] += weight * (p[c] - (c == label)) * hidden[h];
            back[h] += weight * (p[c] - (c == label)) * net->second[c][h];
        }
    }
    for (int h = 0; h < HIDDEN; h++)
        for (int k = 0; k < FEATURES; k++) gradient->first[h][k] += hidden[h] > 0 ? back[h] * (double)x[k] : 0;
    return loss;
}

static inline void descend(plain *net, const plain *gradient, double rate) {
    double *w = &net->first[0][0];
    const double *g = &gradient->first[0][0];
    for (size_t k = 0; k < sizeof *net / sizeof *w; k++) w[k] -= rate * g[k];
}

static inline void assert_weights(trainer *t, const plain *net, double tolerance) {
    plain now;
    take_weights(t, &now);
    const double *a = &now.first[0][0], *b = &net->first[0][0];
    for (size_t k = 0; k < sizeof now / sizeof *a; k++) assert_near(a[k], b[k], tolerance);
}

static inline trainer *begin(const train_settings *s, const task *task) {
    trainer *t;
    failure why;
    if (trainer_open(&t, s, task, folders_root, &why) != STATUS_OK || trainer_begin(t, &why) != STATUS_OK)
        fail_msg("%s", why.message);
    return t;
}

static inline void step(trainer *t) {
    double loss;
    failure why;
    if (trainer_step(t, &loss, &why) != STATUS_OK) fail_msg("%s", why.message);
}

#endif
