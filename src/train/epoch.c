/* The end of an epoch: what is measured and recorded. */
#include "core/quantile.h"
#include "run/run_folder.h"
#include "train/gallery.h"
#include "train/records.h"
#include "train/sampler_status.h"
#include "train/trainer_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_quantiles(double *values, int64_t count, double *quantiles) {
    static const double SHARES[] = {0, 0.05, 0.25, 0.5, 0.75, 0.95, 1};
    sort_numbers(values, (size_t)count);
    for (int k = 0; k < 7; k++) quantiles[k] = quantile_of_sorted(values, (size_t)count, SHARES[k]);
}

static int64_t count_unseen(const trainer *t) {
    int64_t unseen = 0;
    for (int64_t i = 0; i < t->task->examples; i++) unseen += !t->draws[i];
    return unseen;
}

/* Of the stale losses that there are, and of the chances to be drawn in multiples of 1 / examples. */
static status_code measure_distribution(trainer *t, double *quantiles, failure *failure) {
    const int64_t n = t->task->examples;
    double *values = malloc((size_t)n * sizeof *values);
    if (!values) return fail_memory(failure, "the distribution of the losses");
    hws_status status = hws_sampler_get_losses(t->history, 0, n, t->all);
    int64_t known = 0;
    for (int64_t i = 0; i < n && status == HWS_OK; i++)
        if (!isnan(t->all[i])) values[known++] = (double)t->all[i];
    if (status == HWS_OK) write_quantiles(values, known, quantiles);
    if (status == HWS_OK) status = hws_sampler_probabilities(t->history, 0, n, values);
    for (int64_t i = 0; i < n && status == HWS_OK; i++) values[i] *= (double)n;
    if (status == HWS_OK) write_quantiles(values, n, quantiles + 7);
    free(values);
    return sampler_status(hws_sampler_error(t->history), status, "the distribution", failure);
}

static status_code measure_losses(trainer *t, double *row, failure *failure) {
    hws_statistics s;
    const hws_status status = hws_sampler_statistics(t->history, &s);
    if (status != HWS_OK)
        return sampler_status(hws_sampler_error(t->history), status, "the losses' statistics", failure);
    row[ROW_EPOCH] = (double)t->iteration / (double)t->epoch_iterations;
    row[ROW_ITERATION] = (double)t->iteration;
    row[ROW_LR] = trainer_rate(t, t->iteration - 1);
    row[ROW_LOSS_MEAN] = s.loss_mean;
    row[ROW_LOSS_STD] = s.loss_std;
    row[ROW_ROBUST_LOSS] = s.robust_loss;
    row[ROW_ESS] = s.effective_size;
    row[ROW_P_MAX] = s.largest_p;
    row[ROW_CLIP_RATE] = t->weighed ? (double)t->clipped / (double)t->weighed : 0;
    row[ROW_FIRST + t->task->metrics + ROW_BETA] = hws_sampler_options(t->history).beta;
    return STATUS_OK;
}

/* What is only known for some divergences and betas stays NaN. */
static void measure_tail(trainer *t, double *later) {
    static const double WORST = 0.05;
    hws_sampler_cvar(t->history, WORST, &later[ROW_CVAR]);
    hws_sampler_percentile(t->history, WORST, &later[ROW_PERCENTILE]);
    if (hws_sampler_options(t->history).beta > 0)
        hws_sampler_percentile_bound(t->history, WORST, &later[ROW_PERCENTILE_BOUND]);
    later[ROW_UNSEEN] = (double)count_unseen(t) / (double)t->task->examples;
    later[ROW_WEIGHT_MEAN] = t->weighed ? t->weight_sum / (double)t->weighed : 1;
    if (t->objective == OBJECTIVE_GROUP_DRO) later[ROW_GROUP_WEIGHT_MAX] = group_weights_largest(&t->groups);
}

/* p of the losses in t->all. */
static status_code probabilities_of_all(trainer *t, double *p, failure *failure) {
    const hws_options options = hws_sampler_options(t->history);
    hws_error error;
    const hws_status found =
        hws_divergence_probabilities(&options.divergence, options.beta, t->task->examples, t->all, p, &error);
    return sampler_status(&error, found, "p of all losses", failure);
}

/* How far p of the losses when each example was last trained on is from p of the losses as they are, in
   total variation: 0 if they are equal, 1 if they have nothing in common. An example that was not
   trained on yet counts as it is. */
static status_code measure_staleness(trainer *t, double *distance, failure *failure) {
    const int64_t n = t->task->examples;
    double *exact = malloc((size_t)n * sizeof *exact), *stale = malloc((size_t)n * sizeof *stale), sum = 0;
    status_code status = exact && stale ? trainer_all_losses(t, failure) : fail_memory(failure, "the exact losses");
    if (status == STATUS_OK) status = probabilities_of_all(t, exact, failure);
    for (int64_t i = 0; i < n && status == STATUS_OK; i++)
        if (!isnan(t->last_seen[i])) t->all[i] = t->last_seen[i];
    if (status == STATUS_OK) status = probabilities_of_all(t, stale, failure);
    for (int64_t i = 0; i < n && status == STATUS_OK; i++) sum += fabs(exact[i] - stale[i]) / 2;
    free(exact);
    free(stale);
    *distance = sum;
    return status;
}

/* The beta at which the losses as they are now have the wanted effective size. Where none has (at first all losses may
   be equal, or fewer examples have one) beta stays. */
static status_code choose_beta(trainer *t, failure *failure) {
    double beta;
    if (t->settings.target_ess <= 0) return STATUS_OK;
    hws_status status = hws_sampler_beta_for_effective_size(t->history, t->settings.target_ess, &beta);
    if (status == HWS_ERROR_UNREACHABLE || status == HWS_ERROR_ARGUMENT) return STATUS_OK;
    if (status == HWS_OK) status = hws_sampler_set_beta(t->history, beta);
    return sampler_status(hws_sampler_error(t->history), status, "--target-ess", failure);
}

/* The first training of jtt has its whole length: its end is where the second begins. */
static int last_training(const trainer *t) { return !t->first_training || t->trains_again; }

static status_code measure(trainer *t, double *row, failure *failure) {
    double *last = row + ROW_FIRST + t->task->metrics;
    status_code status = measure_losses(t, row, failure);
    if (status == STATUS_OK) status = measure_distribution(t, last + ROW_LAST, failure);
    if (status == STATUS_OK) measure_tail(t, row + rows_later(t->task->metrics));
    /* Of what --trim and --doubt make of given losses nobody but the sampler knows. */
    const int leaves_out = t->settings.trim > 0 || t->settings.doubt;
    if (status == STATUS_OK && t->settings.history == HISTORY_EXACT && !leaves_out)
        status = measure_staleness(t, &row[rows_later(t->task->metrics) + ROW_STALE_DISTANCE], failure);
    if (status == STATUS_OK)
        status = t->task->evaluate(t->task->context, t->learner, t->listener, row + ROW_FIRST, failure);
    if (status == STATUS_OK && t->settings.stop_grad_norm >= 0) {
        status = trainer_gradient_norm(t, &last[ROW_GRAD_NORM], failure);
        t->stopped = last_training(t) && last[ROW_GRAD_NORM] < t->settings.stop_grad_norm;
    }
    return status;
}

/* Which examples are still to come is nothing to tell of while the run draws them first and is long enough for all; nor
   is the rest of an epoch that is no whole batch, nor are the batches that wait. */
static void notice_unseen(trainer *t) {
    const int64_t unseen = count_unseen(t), usual = (t->settings.look_ahead + 1) * t->batch;
    const int guessed = t->objective == OBJECTIVE_DRO && isfinite(t->settings.loss_init);
    const int64_t draws = t->iteration * t->batch, all_draws = t->total * t->batch, examples = t->task->examples;
    if (t->told_unseen || unseen < usual || (!guessed && draws < examples && all_draws >= examples)) return;
    t->told_unseen = 1;
    trainer_notice(t, "after %lld iteration%s %lld of %lld examples %s not been trained on; %s",
                   (long long)t->iteration, t->iteration == 1 ? "" : "s", (long long)unseen, (long long)examples,
                   unseen == 1 ? "has" : "have",
                   guessed ? "--loss-init none draws them first" : "train for more iterations to reach them all");
}

static void notice_effective_size(trainer *t, double size) {
    if (t->told_effective_size || !(size < (double)t->batch)) return;
    const int follows = t->settings.tail > 0;
    t->told_effective_size = 1;
    trainer_notice(
        t,
        "after %lld iteration%s the draws are worth %.1f examples, fewer than a batch of %lld: the same few are "
        "drawn again and again; %s than %g spreads them",
        (long long)t->iteration, t->iteration == 1 ? "" : "s", size, (long long)t->batch,
        follows ? "a larger --tail" : "a smaller --beta", follows ? t->settings.tail : t->settings.beta);
}

static double least_loss(const rows *rows) {
    double least = rows_at(rows, 0)[ROW_LOSS_MEAN];
    for (size_t k = 1; k < rows->count; k++) least = fmin(least, rows_at(rows, k)[ROW_LOSS_MEAN]);
    return least;
}

/* A network that knows nothing has a loss of about log(classes), and Dice adds at most 1. At the end no run that has
   learnt anything has a hundred times as much on average, nor ten times as much and ten times its own least. What was
   guessed for examples that were never drawn says nothing. */
static void notice_divergence(trainer *t, double loss) {
    run_facts facts = {0};
    if (t->iteration < t->total || isfinite(t->settings.loss_init)) return;
    t->task->describe(t->task->context, &facts);
    const double untrained = fmax(1, log(fmax(facts.class_count, 2)));
    const int has_grown = loss > 10 * fmax(least_loss(&t->rows), untrained);
    if (!has_grown && !(loss > 100 * untrained)) return;
    trainer_notice(
        t,
        "the mean training loss is %.4g at the end, where a network that knows nothing has about %.2g: training has "
        "diverged; choose a smaller --lr, or --clip-norm",
        loss, untrained);
}

/* For those who watch: as many of the hardest as cost about a hundredth of the epoch to draw, counted in passes of the
   network. The end draws them all. */
static status_code show_hardest(trainer *t, failure *failure) {
    enum { MOST = 12, ITERATIONS_PER_PASS = 50 };
    const int64_t count = t->epoch_iterations / ITERATIONS_PER_PASS * gallery_batch(t);
    if (!count || t->iteration >= t->total) return STATUS_OK;
    return write_hardest(t, (int)(count < MOST ? count : MOST), failure);
}

/* history.csv comes before the checkpoint: then each row of a checkpoint has its seconds there. */
status_code trainer_end_epoch(trainer *t, const double **recorded, failure *failure) {
    double *row = rows_add(&t->rows, trainer_seconds(t));
    if (!row) return fail_memory(failure, "the history");
    status_code status = measure(t, row, failure);
    if (status == STATUS_STOPPED) {
        t->rows.count--;
        return status;
    }
    if (status == STATUS_OK) status = choose_beta(t, failure);
    if (t->objective == OBJECTIVE_DRO) notice_unseen(t);
    if (t->objective == OBJECTIVE_DRO && t->iteration > t->warm_up) notice_effective_size(t, row[ROW_ESS]);
    notice_divergence(t, row[ROW_LOSS_MEAN]);
    t->clipped = t->weighed = 0;
    t->weight_sum = 0;
    *recorded = row;
    const double value = row[ROW_FIRST + t->task->best];
    /* Until the metric is a number the newest weights are the best there are: a run always ends with some. */
    const int is_better = t->task->best_is_least ? value < t->best : value > t->best;
    const int is_best = is_better || !isfinite(t->best) || t->task->keeps_last;
    if (is_best) t->best = value;
    const int writes = ranks_is_first(t->ranks);
    if (status == STATUS_OK && writes) status = write_history(t, failure);
    if (status == STATUS_OK && writes) status = write_losses(t, failure);
    if (status == STATUS_OK && is_best) status = checkpoint_write_best(t, failure);
    status = ranks_agree(t->ranks, status, failure);
    if (status == STATUS_OK) status = checkpoint_write(t, failure);
    if (status == STATUS_OK && writes) status = show_hardest(t, failure);
    if (status == STATUS_OK && writes) status = write_events(t, failure);
    return ranks_agree(t->ranks, status, failure);
}
