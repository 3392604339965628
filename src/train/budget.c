#include "train/budget.h"

#include "core/clock.h"
#include "core/path.h"
#include "core/quantile.h"
#include "train/records.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = 8,
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

/* The median: while others use the machine, the first steps find out how many threads are the fastest (nn/team.h). */
static status_code measure_steps(budget_costs *costs, trainer *trainer, double seconds, failure *failure) {
    double loss, steps[STEPS] = {0}, began = clock_seconds();
    const double limit = began + 0.1 * seconds;
    int made = 0;
    status_code status = trainer_step(trainer, &loss, failure); /* the first also warms up */
    double last = clock_seconds() - began;
    while (status == STATUS_OK && made < STEPS && clock_seconds() + last < limit) {
        began = clock_seconds();
        status = trainer_step(trainer, &loss, failure);
        steps[made++] = last = clock_seconds() - began;
    }
    sort_numbers(steps, (size_t)made);
    costs->step = made ? quantile_of_sorted(steps, (size_t)made, 0.5) : last;
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
    const int some = gallery_batch(trainer) > PICTURES ? gallery_batch(trainer) : PICTURES;
    if (status == STATUS_OK) status = write_galleries(trainer, some, 1, failure);
    const double pictures = fmin(PICTURES_AT_END, (double)trainer->task->examples);
    costs->end = fmin(FOR_END * seconds, (clock_seconds() - began) * fmax(1, pictures / some));
    return status;
}

status_code budget_measure(budget_costs *costs, const train_settings *settings, const task *task, double seconds,
                           failure *failure) {
    char folder[PATH_SIZE];
    trainer *trainer = NULL;
    train_settings measured = *settings;
    if (measured.objective == OBJECTIVE_JTT) /* what its trainings take of the run is still to be chosen */
        measured.iterations = 0, measured.jtt_epochs = 1, measured.epochs = 2;
    *costs = (budget_costs){.batch = settings->batch};
    status_code status = folder_make_temporary(folder, failure);
    if (status != STATUS_OK) return status;
    status = trainer_open(&trainer, &measured, task, folder, failure);
    if (status == STATUS_OK) status = trainer_begin(trainer, failure);
    if (status == STATUS_OK) status = measure_steps(costs, trainer, seconds, failure);
    if (status == STATUS_OK) status = measure_records(costs, trainer, seconds, failure);
    trainer_close(&trainer);
    folder_remove(folder);
    return status;
}

/* ---- choosing ---- */

long long budget_epoch_length(const train_settings *settings, const budget_fixed *fixed) {
    if (settings->epoch_length) return settings->epoch_length;
    return fixed->examples > settings->batch ? fixed->examples / settings->batch : 1;
}

/* In so many seconds; with an epoch of a given length, whole ones with their validations, and what of the next
   still fits with its own. */
static double iterations_within(const train_settings *settings, const budget_costs *costs, const budget_fixed *fixed,
                                double validations, double seconds) {
    const double step = costs->step * (double)settings->batch / (double)costs->batch, one = costs->validation;
    const double length = (double)budget_epoch_length(settings, fixed);
    if (!fixed->epoch_length) return floor((seconds - validations * one) / step);
    const double epochs = floor(seconds / (length * step + one)), rest = seconds - epochs * (length * step + one);
    return epochs * length + fmax(0, floor((rest - one) / step));
}

static void choose_rate(train_settings *settings, const budget_fixed *fixed, double iterations) {
    if (!fixed->schedule) settings->schedule = SCHEDULE_POLY;
    if (fixed->optimizer) return;
    if (iterations >= MANY_ITERATIONS) return; /* what the defaults are made for */
    settings->optimizer = OPTIMIZER_ADAM;
    if (!fixed->lr) settings->lr = iterations < FEW_ITERATIONS ? 0.003 : 0.001;
}

/* Epochs that there must be: jtt trains twice. */
static double least_epochs(const train_settings *settings, const budget_fixed *fixed) {
    if (settings->objective != OBJECTIVE_JTT || fixed->epoch_length) return 1;
    return fixed->jtt_epochs ? (double)settings->jtt_epochs + 1 : 2;
}

static status_code fail_short(double epochs, const budget_costs *costs, double seconds, failure *failure) {
    char what[40] = "a validation";
    if (epochs > 1) snprintf(what, sizeof what, "%.0f validations", epochs);
    return fail(failure, STATUS_BAD_INPUT,
                "--budget: %s, pictures at the end and one iteration%s take about %.0f s, and there are %.0f s "
                "left; give it more time",
                what, epochs > 1 ? " before each" : "",
                (epochs * (costs->validation + costs->step) + costs->end) / (1 - KEPT_BACK), fmax(0, seconds));
}

/* Whole epochs, so that no validation is added for what is left. */
static void choose_epochs(train_settings *settings, double validations, double least) {
    const long long fewest = (long long)least;
    settings->epoch_length = (long long)ceil((double)settings->iterations / validations);
    if (settings->iterations / settings->epoch_length < fewest)
        settings->epoch_length = settings->iterations < fewest ? 1 : settings->iterations / fewest;
    settings->iterations -= settings->iterations % settings->epoch_length;
}

/* The first training keeps its share of the epochs, and the second has at least one. */
static status_code choose_trainings(train_settings *settings, const budget_fixed *fixed, failure *failure) {
    const long long length = budget_epoch_length(settings, fixed), epochs = settings->iterations / length;
    if (!fixed->jtt_epochs) {
        const long long wanted = llround((double)settings->jtt_epochs / (double)settings->epochs * (double)epochs);
        settings->jtt_epochs = wanted >= epochs ? epochs - 1 : wanted;
        if (settings->jtt_epochs < 1) settings->jtt_epochs = 1;
    }
    if (settings->jtt_epochs * length < settings->iterations) return STATUS_OK;
    return fail(
        failure, STATUS_BAD_INPUT,
        "--budget: there is time for %lld iterations, which the first training of jtt, --jtt-epochs %lld of %lld, "
        "takes alone; choose fewer of them, a shorter --epoch-length or more time",
        settings->iterations, settings->jtt_epochs, length);
}

status_code budget_check(const train_settings *settings, const budget_fixed *fixed, failure *failure) {
    if (least_epochs(settings, fixed) <= MOST_VALIDATIONS) return STATUS_OK;
    return fail(failure, STATUS_BAD_INPUT,
                "--budget makes at most %d epochs, of which --jtt-epochs %lld leave none for the second training; "
                "choose fewer --jtt-epochs, or leave it out",
                MOST_VALIDATIONS, settings->jtt_epochs);
}

status_code budget_choose(train_settings *settings, const budget_costs *costs, const budget_fixed *fixed,
                          double seconds, failure *failure) {
    const double whole = (1 - KEPT_BACK) * seconds - costs->end, least = least_epochs(settings, fixed);
    if (whole < least * (costs->validation + costs->step)) return fail_short(least, costs, seconds, failure);
    double validations = floor(FOR_VALIDATION * whole / costs->validation);
    validations = fmin(MOST_VALIDATIONS, fmax(least, validations));
    if (!fixed->batch && iterations_within(settings, costs, fixed, validations, whole) < FEW_ITERATIONS)
        settings->batch = settings->batch < 2 ? settings->batch : 2;
    const double iterations = fmax(1, iterations_within(settings, costs, fixed, validations, whole));
    settings->iterations = (long long)iterations;
    if (!fixed->epoch_length) choose_epochs(settings, validations, least);
    choose_rate(settings, fixed, iterations);
    return settings->objective == OBJECTIVE_JTT ? choose_trainings(settings, fixed, failure) : STATUS_OK;
}
