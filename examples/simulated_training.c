/*
 * Hardness weighted sampling at work, in plain C: a logistic regression is trained twice on the same data, the
 * ordinary way (ERM: every example is equally likely) and with DRO (libhws). One example in a hundred belongs to a
 * rare group for which the usual rule does not hold. Nobody tells the training which ones.
 *
 * This is also how the library is meant to be used: see train().
 */
#include "hws.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRAIN = 5000, TEST = 50000, FEATURES = 5, BATCH = 16, ITERATIONS = 2000, RARE_EVERY = 100 };

typedef struct example {
    float x[FEATURES];
    int label, rare;
} example;

/* ---- data ------------------------------------------------------------------------------------------------------ */

/* A small generator (SplitMix64), so that the table is the same everywhere. */
static double unit(uint64_t *state) {
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static float noise(uint64_t *state) {
    double sum = -6;
    for (int k = 0; k < 12; k++) sum += unit(state);
    return (float)sum;
}

/*
 * Feature 0 tells the label well for most, and the opposite for the rare group. Feature 1 tells it for all, less
 * well. Feature 2 says whether an example looks like the rare group.
 */
static void make_data(example *data, int count, uint64_t seed) {
    for (int i = 0; i < count; i++) {
        example *e = &data[i];
        e->label = unit(&seed) < 0.5;
        e->rare = i % RARE_EVERY == 0;
        const float sign = e->label ? 1.0f : -1.0f;
        e->x[0] = (e->rare ? -1.0f : 1.0f) * sign + 0.5f * noise(&seed);
        e->x[1] = sign + 0.8f * noise(&seed);
        e->x[2] = (e->rare ? 1.5f : 0) + 0.3f * noise(&seed);
        e->x[3] = e->x[0] * e->x[2]; /* with this, a linear model can hold both rules */
        e->x[4] = 1;
    }
}

/* ---- model ----------------------------------------------------------------------------------------------------- */

typedef struct model {
    double w[FEATURES];
} model;

static double margin(const model *m, const example *e) {
    double sum = 0;
    for (int k = 0; k < FEATURES; k++) sum += m->w[k] * e->x[k];
    return e->label ? sum : -sum;
}

static double loss_of(const model *m, const example *e) {
    const double z = margin(m, e);
    return z > 0 ? log1p(exp(-z)) : -z + log1p(exp(z));
}

static void descend(model *m, const example *e, double rate) {
    const double slope = -1 / (1 + exp(margin(m, e))) * (e->label ? 1 : -1);
    for (int k = 0; k < FEATURES; k++) m->w[k] -= rate * slope * e->x[k];
}

/* ---- training: Algorithm 1 ------------------------------------------------------------------------------------- */

static int fail(const char *what) {
    fprintf(stderr, "simulated_training: %s\n", what);
    return 0;
}

/* beta = 0 makes the draws uniform: that is ERM. */
static int train(model *m, const example *data, double beta, hws_statistics *telemetry) {
    hws_options options = hws_options_default();
    options.beta = beta;
    hws_sampler *sampler = NULL;
    hws_error error;
    hws_status status = hws_sampler_open(&sampler, TRAIN, NULL, &options, &error);
    if (status != HWS_OK) return fail(error.message);

    for (int t = 0; t < ITERATIONS && status == HWS_OK; t++) {
        int64_t batch[BATCH];
        float losses[BATCH], weights[BATCH];
        status = hws_sampler_draw(sampler, BATCH, batch);
        for (int j = 0; j < BATCH && status == HWS_OK; j++) losses[j] = (float)loss_of(m, &data[batch[j]]);
        if (status == HWS_OK) status = hws_sampler_importance(sampler, BATCH, batch, losses, weights);
        if (status == HWS_OK) status = hws_sampler_update(sampler, BATCH, batch, losses);
        for (int j = 0; j < BATCH && status == HWS_OK; j++) descend(m, &data[batch[j]], 0.05 * weights[j] / BATCH);
    }
    if (status == HWS_OK) status = hws_sampler_statistics(sampler, telemetry);
    if (status != HWS_OK) fail(hws_sampler_error(sampler)->message);
    hws_sampler_close(&sampler);
    return status == HWS_OK;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

typedef struct result {
    double all, common, rare, worst_loss;
} result;

static int rising(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static result evaluate(const model *m, const example *data) {
    static double losses[TEST];
    int right[2] = {0, 0}, count[2] = {0, 0};
    for (int i = 0; i < TEST; i++) {
        right[data[i].rare] += margin(m, &data[i]) > 0;
        count[data[i].rare]++;
        losses[i] = loss_of(m, &data[i]);
    }
    qsort(losses, TEST, sizeof *losses, rising);
    return (result){
        .all = 100.0 * (right[0] + right[1]) / TEST,
        .common = 100.0 * right[0] / count[0],
        .rare = 100.0 * right[1] / count[1],
        .worst_loss = losses[TEST * 99 / 100],
    };
}

int main(void) {
    static example training[TRAIN], test[TEST];
    make_data(training, TRAIN, 1);
    make_data(test, TEST, 2);
    printf("A logistic regression on %d simulated examples, one in %d from a rare group that breaks the usual rule.\n"
           "ERM draws batches uniformly; DRO draws them with probability softmax(beta * last loss). Both get %d "
           "steps.\n\n",
           TRAIN, RARE_EVERY, ITERATIONS);
    printf("%-16s %10s %10s %10s %14s %14s\n", "", "all (%)", "common (%)", "rare (%)", "99 % loss", "effective n");
    static const double betas[] = {0, 1, 2, 4};
    for (size_t k = 0; k < sizeof betas / sizeof *betas; k++) {
        model m = {{0}};
        hws_statistics telemetry;
        if (!train(&m, training, betas[k], &telemetry)) return EXIT_FAILURE;
        const result r = evaluate(&m, test);
        char name[32] = "ERM";
        if (betas[k] > 0) snprintf(name, sizeof name, "DRO, beta = %g", betas[k]);
        printf("%-16s %10.1f %10.1f %10.1f %14.2f %14.0f\n", name, r.all, r.common, r.rare, r.worst_loss,
               telemetry.effective_size);
    }
    printf("\nAccuracy on %d test examples; the loss that 1 %% of them exceed; how many training examples the draws\n"
           "are effectively spread over at the end. The code is examples/simulated_training.c.\n",
           TEST);
    return EXIT_SUCCESS;
}
