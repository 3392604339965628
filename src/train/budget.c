#include "train/budget.h"

#include "core/clock.h"
#include "core/path.h"
#include "train/records.h"
#include "train/trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 4,
    PICTURES = 2,
    PICTURES_AT_END = 64,
    FEW_ITERATIONS = 2000,
    MANY_ITERATIONS = 50000,
    MOST_VALIDATIONS = 20
};
static const double KEPT_BACK = 0.05, FOR_VALIDATION = 0.125, FOR_END = 0.1;

status_code budget_parse(const char *words, double *seconds, failure *failure) {
    const char *at = words;
    *seconds = 0;
    while (*at) {
        char *end;
        const double number = strtod(at, &end);
        const char *unit = end > at && *end ? strchr("smh", *end) : NULL;
        if (!unit || !(number >= 0) || !(*at >= '0' && *at <= '9')) break;
        *seconds += number * (*unit == 's' ? 1 : *unit == 'm' ? 60 : 3600);
        at = end + 1;
    }
    if (!*at && *words && *seconds > 0 && *seconds < 1e9) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "--budget %.40s is not a time such as 90s, 60m, 2h or 1h30m", words);
}

void budget_costs_write(const budget_costs *costs, long long batch, char words[BUDGET_COSTS_SIZE]) {
    snprintf(words, BUDGET_COSTS_SIZE, "%.6g %.6g %.6g", costs->step * (double)batch / (double)costs->batch,
             costs->validation, costs->end);
}

status_code budget_costs_read(budget_costs *costs, const char *words, long long batch, failure *failure) {
    int used = 0;
    *costs = (budget_costs){.batch = batch};
    if (!*words) return STATUS_OK;
    const int count = sscanf(words, "%lf %lf %lf%n", &costs->step, &costs->validation, &costs->end, &used);
    if (count == 3 && !words[used] && costs->step > 0 && costs->validation >= 0 && costs->end >= 0 &&
        isfinite(costs->step + costs->validation + costs->end))
        return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT, "budget_costs '%.60s' is not what hws train --budget records", words);
}

/* ---- measuring ---- */

static status_code measure_steps(budget_costs *costs, trainer *trainer, double seconds, failure *failure) {
    double loss, began = clock_seconds();
    const double limit = began + 0.1 * seconds;
    int made = 0;
    status_code status = trainer_step(trainer, &loss, failure); /* the first also warms up */
    const double first = clock_seconds() - began;
    began = clock_seconds();
    while (status == STATUS_OK && made < STEPS && clock_seconds() + first < limit) {
        status = trainer_step(trainer, &loss, failure);
        made++;
    }
    costs->step = made ? (clock_seconds() - began) / made : first;
    return status;
}

static status_code measure_records(budget_costs *costs, trainer *trainer, double seconds, failure *failure) {
    const double *row;
    double began = clock_seconds();
    trainer->total = trainer->iteration; /* as after the last iteration: pictures are measured by themselves */
    status_code status = trainer_end_epoch(trainer, &row, failure);
    if (status == STATUS_OK) status = checkpoint_write(trainer, failure);
    costs->validation = clock_seconds() - began;
    began = clock_seconds();
    if (status == STATUS_OK) status = write_galleries(trainer, PICTURES, 1, failure);
    const double pictures = fmin(PICTURES_AT_END, (double)trainer->task->examples);
    costs->end = fmin(FOR_END * seconds, (clock_seconds() - began) * pictures / PICTURES);
    return status;
}

status_code budget_measure(budget_costs *costs, const train_settings *settings, const task *task, double seconds,
                           failure *failure) {
    char folder[PATH_SIZE];
    trainer *trainer = NULL;
    *costs = (budget_costs){.batch = settings->batch};
    status_code status = folder_make_temporary(folder, failure);
    if (status != STATUS_OK) return status;
    status = trainer_open(&trainer, settings, task, folder, failure);
    if (status == STATUS_OK) status = trainer_begin(trainer, failure);
    if (status == STATUS_OK) status = measure_steps(costs, trainer, seconds, failure);
    if (status == STATUS_OK) status = measure_records(costs, trainer, seconds, failure);
    trainer_close(&trainer);
    folder_remove(folder);
    return status;
}

/* ---- choosing ---- */

static double iterations_within(const budget_costs *costs, long long batch, double seconds) {
    return floor(seconds * (double)costs->batch / (costs->step * (double)batch));
}

static void choose_rate(train_settings *settings, const budget_fixed *fixed, double iterations) {
    if (!fixed->schedule) settings->schedule = SCHEDULE_POLY;
    if (fixed->optimizer) return;
    if (iterations >= MANY_ITERATIONS) return; /* what the defaults are made for */
    settings->optimizer = OPTIMIZER_ADAM;
    if (!fixed->lr) settings->lr = iterations < FEW_ITERATIONS ? 0.003 : 0.001;
}

status_code budget_choose(train_settings *settings, const budget_costs *costs, const budget_fixed *fixed,
                          double seconds, failure *failure) {
    const double whole = (1 - KEPT_BACK) * seconds - costs->end;
    const double least = costs->validation + costs->step;
    if (whole < least)
        return fail(
            failure, STATUS_BAD_INPUT,
            "--budget: a validation, pictures at the end and one iteration take about %.0f s, and there are %.0f s "
            "left; give it more time",
            (least + costs->end) / (1 - KEPT_BACK), fmax(0, seconds));
    double validations = floor(FOR_VALIDATION * whole / costs->validation);
    validations = fmin(MOST_VALIDATIONS, fmax(1, validations));
    const double training = whole - validations * costs->validation;
    if (!fixed->batch && iterations_within(costs, settings->batch, training) < FEW_ITERATIONS)
        settings->batch = settings->batch < 2 ? settings->batch : 2;
    const double iterations = fmax(1, iterations_within(costs, settings->batch, training));
    settings->iterations = (long long)iterations;
    if (!fixed->epoch_length) { /* whole epochs, so that no validation is added for what is left */
        settings->epoch_length = (long long)ceil(iterations / validations);
        settings->iterations -= settings->iterations % settings->epoch_length;
    }
    choose_rate(settings, fixed, iterations);
    return STATUS_OK;
}
