#include "train_words.h"
#include "quote.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *train_words_examples(const trainer *t) {
    run_facts facts = {0};
    if (t->task->kind == TASK_SEGMENTATION) return "volumes";
    t->task->describe(t->task->context, &facts);
    return facts.height * facts.width == 1 ? "rows" : "images";
}

static void add_metric(const trainer *t, int metric, text *words) {
    text name = {0};
    t->task->metric(t->task->context, metric, &name);
    for (char *at = name.bytes; at && *at; at++)
        if (*at == '_') *at = ' ';
    char *dice = name.bytes ? strstr(name.bytes, "dice") : NULL;
    if (dice) *dice = 'D'; /* a person's name */
    text_add(words, text_string(&name));
    text_close(&name);
}

void train_words_metric(const trainer *t, text *words) { add_metric(t, t->task->shown, words); }

/* Which epoch it was that had the best value first; of jtt one of the second training. */
static double best_epoch(const trainer *t) {
    for (size_t k = 0; k < t->rows.count; k++) {
        const double *row = rows_at(&t->rows, k);
        if (t->trains_again && row[ROW_ITERATION] <= (double)t->first_training) continue;
        if (row[ROW_FIRST + t->task->best] == t->best) return row[ROW_EPOCH];
    }
    return (double)NAN;
}

void train_words_best(const trainer *t, text *words) {
    const double epoch = best_epoch(t);
    if (t->task->keeps_last || !isfinite(epoch)) return;
    add_metric(t, t->task->best, words);
    if (t->task->best_is_least) text_format(words, " %.4f", t->best); /* a loss */
    else text_format(words, " %.2f%%", 100 * t->best);
    if (train_words_counts_iterations(t)) text_format(words, " (iteration %.0f)", epoch * (double)t->epoch_iterations);
    else text_format(words, " (epoch %.4g)", epoch);
}

void train_words_duration(double seconds, char words[32]) {
    const long whole = (long)(seconds + 0.5);
    if (whole >= 3600) snprintf(words, 32, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
    else snprintf(words, 32, "%ld:%02ld", whole / 60, whole % 60);
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

/* ---- the summary ------------------------------------------------------------------------------------------------- */

static void add_data(const trainer *t, text *lines) {
    const train_settings *s = &t->settings;
    run_facts facts = {0};
    t->task->describe(t->task->context, &facts);
    text_format(lines, "%s: %lld %s", s->data, (long long)t->task->examples, train_words_examples(t));
    if (t->task->kind == TASK_CLASSIFICATION) {
        text_format(lines, " of %d classes to train on, %lld to test on", facts.class_count, facts.test_examples);
        return;
    }
    if (s->fold >= 0)
        text_format(lines, " to train on, %lld to validate on (fold %lld)", facts.validation_cases, s->fold);
    else text_add(lines, " to train on, which are validated on, too (fold -1: all)");
    text_format(lines, ", patches of %dx%dx%d", facts.patch[0], facts.patch[1], facts.patch[2]);
}

static void add_weights(const train_settings *s, text *lines) {
    static const char *const KINDS[] = {"", "the paper's", "normalised", "exact"};
    if (s->importance == IMPORTANCE_OFF) text_add(lines, "no importance weights");
    else if (isinf(s->weight_max))
        text_format(lines, "%s importance weights from %g on", KINDS[s->importance], s->weight_min);
    else text_format(lines, "%s importance weights in [%g, %g]", KINDS[s->importance], s->weight_min, s->weight_max);
}

static void add_robustness(const train_settings *s, text *lines) {
    if (s->target_ess > 0) text_format(lines, "beta for an effective size of %g", s->target_ess);
    else if (isfinite(s->tail)) text_format(lines, "the hardest %g %% (tail %g)", 100 * s->tail, s->tail);
    else text_format(lines, "beta %g", s->beta);
}

static void add_objective(const trainer *t, text *lines) {
    const train_settings *s = &t->settings;
    text_format(lines, "objective %s", settings_find("objective")->choice((int)s->objective));
    if (t->objective == OBJECTIVE_CVAR_BATCH) text_format(lines, ": the hardest %g %% of each batch", 100 * s->tail);
    if (t->objective == OBJECTIVE_DRO) {
        text_add(lines, ": ");
        add_robustness(s, lines);
        text_add(lines, ", ");
        add_weights(s, lines);
        if (t->warm_up > 0)
            text_format(lines, ", after a warm-up of %lld iteration%s", (long long)t->warm_up, plural(t->warm_up));
    }
    if (*s->from) text_format(lines, "; begins with the weights of %s", s->from);
}

int train_words_counts_iterations(const trainer *t) { return t->settings.iterations > 0; }

static void add_length(const trainer *t, text *lines) {
    const train_settings *s = &t->settings;
    const char *examples = train_words_examples(t);
    const long long epoch = (long long)t->epoch_iterations, batch = (long long)t->batch, total = (long long)t->total;
    const int letters = (int)strlen(examples) - (batch == 1); /* "1 image" */
    text_format(lines, "%s, %zu parameters; ", s->model, graph_trained_floats(learner_graph(t->learner)));
    if (train_words_counts_iterations(t))
        text_format(lines, "%lld iteration%s of %lld %.*s, validated every %lld; ", total, plural(total), batch,
                    letters, examples, epoch);
    else
        text_format(lines, "%lld epoch%s of %lld iteration%s of %lld %.*s; ", total / epoch, plural(total / epoch),
                    epoch, plural(epoch), batch, letters, examples);
    text_format(lines, "%lld thread%s", s->threads, plural(s->threads));
}

void train_words_summary(const trainer *t, text *lines) {
    add_data(t, lines);
    text_add(lines, "\n");
    if (t->task->tell) {
        t->task->tell(t->task->context, lines);
        text_add(lines, "\n");
    }
    add_objective(t, lines);
    text_add(lines, "\n");
    add_length(t, lines);
}

/* ---- the length -------------------------------------------------------------------------------------------------- */

/* wrn-16-1 on 400 digits: 11 % are right after 24 iterations, 32 % after 96, 72 % after 384. */
enum { FEW_ITERATIONS = 100, ENOUGH_ITERATIONS = 1000, SMALL_BATCH = 16 };

void train_words_short(const trainer *t, text *words) {
    const train_settings *s = &t->settings;
    const int smaller = !s->epoch_length && t->batch > SMALL_BATCH;
    const int64_t epoch = smaller ? t->task->examples / SMALL_BATCH : t->epoch_iterations;
    const int64_t epochs = (ENOUGH_ITERATIONS + epoch - 1) / epoch;
    if (t->task->kind != TASK_CLASSIFICATION || train_words_counts_iterations(t) || *s->from) return;
    if (t->total >= FEW_ITERATIONS) return;
    text_format(words, "%lld iteration%s in all %s too few to learn much;", (long long)t->total, plural(t->total),
                t->total == 1 ? "is" : "are");
    if (smaller) text_format(words, " --batch %d", SMALL_BATCH);
    text_format(words, " --epochs %lld would make %lld", (long long)epochs, (long long)(epochs * epoch));
}

void train_words_longer(const trainer *t, text *words) {
    const int longer = settings_may_be_longer(&t->settings) && !t->stopped;
    text_add(words, longer ? "hws train --resume --out " : "hws train DATA --from ");
    cli_quote(t->folder, words);
    text_add(words, longer ? " --epochs MORE goes on" : " --out NEW begins a new run with its weights");
}

/* ---- what comes next --------------------------------------------------------------------------------------------- */

/* Cases that were trained on say nothing: of --fold -1 there is only what new images show. */
void train_words_next(const trainer *t, text *command) {
    const int all = t->task->kind == TASK_SEGMENTATION && t->settings.fold < 0;
    text_add(command, all ? "hws predict " : "hws evaluate ");
    cli_quote(t->folder, command);
    if (all) text_add(command, " --input IMAGES --output LABELS");
}
