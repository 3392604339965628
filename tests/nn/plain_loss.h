/* The losses as plain loops in double, from their definitions. */
#ifndef HWS_TESTS_PLAIN_LOSS_H
#define HWS_TESTS_PLAIN_LOSS_H

#include "nn/loss.h"
#include "testing.h"

static void plain_softmax(size_t classes, const double *logits, double *p) {
    double largest = logits[0], sum = 0;
    for (size_t c = 1; c < classes; c++) largest = fmax(largest, logits[c]);
    for (size_t c = 0; c < classes; c++) sum += p[c] = exp(logits[c] - largest);
    for (size_t c = 0; c < classes; c++) p[c] /= sum;
}

/* Against the distribution that a smoothed label is: `smoothing` / classes for each class, the rest for its own. */
static double plain_smoothed(const loss *loss, const double *logits, const int16_t *labels) {
    const size_t classes = loss->classes;
    double sum = 0, counted = 0;
    for (size_t i = 0; i < loss->positions; i++) {
        const double *x = logits + i * classes;
        double largest = x[0], total = 0;
        if (labels[i] < 0) continue;
        for (size_t c = 1; c < classes; c++) largest = fmax(largest, x[c]);
        for (size_t c = 0; c < classes; c++) total += exp(x[c] - largest);
        for (size_t c = 0; c < classes; c++) {
            const double target = loss->smoothing / (double)classes + (labels[i] == (int)c ? 1 - loss->smoothing : 0);
            sum -= target * (x[c] - largest - log(total));
        }
        counted++;
    }
    return counted > 0 ? sum / counted : 0;
}

static double plain_cross_entropy(size_t positions, size_t classes, const double *logits, const int16_t *labels) {
    double sum = 0, counted = 0;
    for (size_t i = 0; i < positions; i++) {
        if (labels[i] < 0) continue;
        const double *x = logits + i * classes;
        double largest = x[0], total = 0;
        for (size_t c = 1; c < classes; c++) largest = fmax(largest, x[c]);
        for (size_t c = 0; c < classes; c++) total += exp(x[c] - largest);
        sum += largest + log(total) - x[labels[i]];
        counted++;
    }
    return counted > 0 ? sum / counted : 0;
}

/* True positives, false positives and false negatives, as PyTorch users write it. */
static double plain_dice(size_t positions, size_t classes, const double *logits, const int16_t *labels) {
    double dice = 0, *rows = calloc(4 * classes, sizeof *rows);
    double *p = rows, *tp = rows + classes, *fp = rows + 2 * classes, *fn = rows + 3 * classes;
    for (size_t i = 0; i < positions; i++) {
        if (labels[i] < 0) continue;
        plain_softmax(classes, logits + i * classes, p);
        for (size_t c = 1; c < classes; c++)
            if (labels[i] != (int)c) fp[c] += p[c];
        if (labels[i] == 0) continue;
        tp[labels[i]] += p[labels[i]];
        fn[labels[i]] += 1 - p[labels[i]];
    }
    for (size_t c = 1; c < classes; c++)
        dice += (2 * tp[c] + 1e-5) / (2 * tp[c] + fp[c] + fn[c] + 1e-5) / (double)(classes - 1);
    free(rows);
    return dice;
}

/* Of the sigmoids: binary cross entropy and Dice of every region, whose bits the labels hold. */
static double plain_regions(size_t positions, size_t regions, const double *logits, const int16_t *labels) {
    double entropy = 0, counted = 0, dice = 0;
    for (size_t c = 0; c < regions; c++) {
        double hit = 0, predicted = 0, present = 0;
        for (size_t i = 0; i < positions; i++) {
            if (labels[i] < 0) continue;
            const double x = logits[i * regions + c], p = 1 / (1 + exp(-x));
            const int inside = labels[i] / (1 << c) % 2;
            entropy += inside ? log1p(exp(-fabs(x))) + fmax(-x, 0) : log1p(exp(-fabs(x))) + fmax(x, 0);
            hit += inside ? p : 0;
            predicted += p;
            present += inside;
            counted++;
        }
        dice += (2 * hit + 1e-5) / (predicted + present + 1e-5) / (double)regions;
    }
    return (counted > 0 ? entropy / counted : 0) - dice;
}

static double plain_loss(const loss *loss, const double *logits, const int16_t *labels) {
    const size_t n = loss->positions, k = loss->classes;
    switch (loss->kind) {
    case LOSS_CROSS_ENTROPY: return plain_smoothed(loss, logits, labels);
    case LOSS_DICE_CE: return plain_cross_entropy(n, k, logits, labels) - plain_dice(n, k, logits, labels);
    case LOSS_DICE: return -plain_dice(n, k, logits, labels);
    case LOSS_REGIONS: return plain_regions(n, k, logits, labels);
    }
    return NAN;
}

#endif
