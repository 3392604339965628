#define _POSIX_C_SOURCE 200809L
#include "train/records.h"
#include "core/csv.h"
#include "core/path.h"
#include "train/gallery.h"
#include "train/sampler_status.h"
#include "train/trainer_inside.h"

#include "run/run_folder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double WHILE_TRAINING = 0.01; /* of what is left of a --budget, for the pictures after an epoch */

status_code write_config(const trainer *t, failure *failure) {
    graph *g = learner_graph(t->learner);
    const size_t size = graph_describe(g, 0, 0) + 1;
    char *convolutions = calloc(size, 1);
    if (!convolutions) return fail_memory(failure, "the description of the network");
    graph_describe(g, convolutions, size);
    run_facts facts = {.version = hws_version(),
                       .task = t->task->kind,
                       .examples = t->task->examples,
                       .data_fingerprint = t->task->fingerprint,
                       .epoch_iterations = t->epoch_iterations,
                       .parameters = graph_trained_floats(g),
                       .convolutions = convolutions};
    t->task->describe(t->task->context, &facts);
    const status_code status = run_config_write(t->folder, &t->settings, &facts, failure);
    free(convolutions);
    return status;
}

status_code write_history(const trainer *t, failure *failure) {
    text csv = {0};
    rows_history(&t->rows, t->task, &csv);
    status_code status = run_write(t->folder, RUN_HISTORY, &csv, failure);
    text_close(&csv);
    if (status != STATUS_OK) return status;
    rows_distribution(&t->rows, &csv);
    status = run_write(t->folder, RUN_DISTRIBUTION, &csv, failure);
    text_close(&csv);
    return status;
}

void add_example_name(const trainer *t, int64_t example, text *csv) {
    text name = {0};
    t->task->name(t->task->context, example, &name);
    csv_add_text(csv, &name);
}

void add_group_name(const trainer *t, int64_t example, text *csv) {
    text name = {0};
    if (!t->task->group_name) return;
    t->task->group_name(t->task->context, example, &name);
    text_add(csv, ",");
    csv_add_text(csv, &name);
}

/* Nothing for an example that has none yet. */
static void add_loss_field(text *csv, float loss) {
    if (isnan(loss)) text_add(csv, ",");
    else text_format(csv, ",%.9g", (double)loss);
}

static void add_loss(const trainer *t, int64_t example, uint64_t age, text *csv) {
    add_example_name(t, example, csv);
    add_loss_field(csv, t->all[example]);
    text_format(csv, ",%llu,%llu", (unsigned long long)age, (unsigned long long)t->draws[example]);
    if (t->task->label) text_format(csv, ",%d", t->task->label(t->task->context, example));
    add_group_name(t, example, csv);
    text_add(csv, "\n");
}

status_code write_losses(trainer *t, failure *failure) {
    const int64_t n = t->task->examples;
    text csv = {0};
    uint64_t *ages = malloc((size_t)n * sizeof *ages);
    if (!ages) return fail_memory(failure, "the losses");
    hws_status read = hws_sampler_ages(t->history, 0, n, ages);
    if (read == HWS_OK) read = hws_sampler_get_losses(t->history, 0, n, t->all);
    status_code status = sampler_status(hws_sampler_error(t->history), read, "the losses", failure);
    if (status == STATUS_OK) {
        text_format(&csv, "example,stale_loss,age,draws%s%s\n", t->task->label ? ",label" : "",
                    t->task->group_name ? ",group" : "");
        for (int64_t i = 0; i < n; i++) add_loss(t, i, ages[i], &csv);
        status = run_write(t->folder, RUN_LOSSES, &csv, failure);
    }
    text_close(&csv);
    free(ages);
    return status;
}

typedef struct hard_example {
    int64_t rank, example;
    float loss;
    const task_verdict *verdict;
} hard_example;

static void add_hard_example(const trainer *t, text *csv, const hard_example *hard) {
    uint64_t age = 0;
    hws_sampler_ages(t->history, hard->example, 1, &age);
    text_format(csv, "%lld,", (long long)hard->rank);
    add_example_name(t, hard->example, csv);
    text_add(csv, ",");
    csv_add_field(csv, hard->verdict->label);
    text_add(csv, ",");
    csv_add_field(csv, hard->verdict->prediction);
    add_loss_field(csv, hard->loss);
    text_format(csv, ",%llu,%llu\n", (unsigned long long)t->draws[hard->example], (unsigned long long)age);
}

static status_code fill_hardest(trainer *t, gallery *g, failure *failure) {
    const int64_t k = g->count < t->task->examples ? g->count : t->task->examples;
    int64_t *examples = malloc((size_t)k * sizeof *examples);
    task_verdict *verdicts = calloc((size_t)k, sizeof *verdicts);
    status_code status = examples && verdicts ? STATUS_OK : fail_memory(failure, "the hardest examples");
    if (status == STATUS_OK)
        status = sampler_status(hws_sampler_error(t->history), hws_sampler_hardest(t->history, k, examples, t->all),
                                "the hardest examples", failure);
    if (status == STATUS_OK) status = gallery_show(t, g, examples, k, verdicts, failure);
    text_add(&g->csv, "rank,example,label,prediction,loss,draws,age\n");
    for (int64_t i = 0; i < k && status == STATUS_OK; i++)
        add_hard_example(t, &g->csv, &(hard_example){i + 1, examples[i], t->all[i], &verdicts[i]});
    free(verdicts);
    free(examples);
    return status;
}

static gallery hardest_gallery(int count) {
    return (gallery){RUN_HARDEST, RUN_HARDEST_PICTURES, "drawing the hardest examples", .count = count};
}

status_code write_hardest(trainer *t, int count, failure *failure) {
    gallery hardest = hardest_gallery(count);
    hardest.until = trainer_time_share(t, WHILE_TRAINING);
    return gallery_write(t, hardest, fill_hardest, failure);
}

status_code write_galleries(trainer *t, int count, int anew, failure *failure) {
    status_code (*const make)(trainer *, gallery, gallery_fill *, struct failure *) =
        anew ? gallery_write : gallery_complete;
    gallery hardest = hardest_gallery(count);
    gallery triage = {RUN_TRIAGE, RUN_TRIAGE_PICTURES, "drawing labels in doubt", .count = count};
    hardest.until = trainer_time_share(t, 0.5);
    const status_code status = make(t, hardest, fill_hardest, failure);
    if (status != STATUS_OK || !hws_sampler_options(t->history).keep_record) return status; /* begun without records */
    triage.until = trainer_time_share(t, 1);
    return make(t, triage, fill_triage, failure);
}
