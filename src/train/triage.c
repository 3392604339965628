/* Hard or mislabelled: the examples by how much speaks against their labels. */
#include "core/csv.h"
#include "train/records.h"
#include "train/sampler_status.h"

#include <math.h>
#include <stdlib.h>

typedef struct suspect {
    int64_t example;
    hws_record record;
    double loss, score;
} suspect;

/* Evidence, and how far above its peers it was on the whole: the former does not tell those apart that reached
   its end. Doubt follows from the evidence alone, so that in this order it falls on the whole, but not from
   each example to the next. */
static double score_of(const hws_record *r) { return r->evidence + r->excess; }

static int by_score(const void *a, const void *b) {
    const suspect *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->example < y->example ? -1 : x->example > y->example;
}

static status_code rank(trainer *t, suspect *suspects, failure *failure) {
    const int64_t n = t->task->examples;
    hws_status status = hws_sampler_get_losses(t->history, 0, n, t->all);
    for (int64_t i = 0; i < n && status == HWS_OK; i++) {
        suspect *s = &suspects[i];
        s->example = i;
        s->loss = (double)t->all[i];
        status = hws_sampler_records(t->history, i, 1, &s->record);
        s->score = score_of(&s->record);
    }
    if (status == HWS_OK) qsort(suspects, (size_t)n, sizeof *suspects, by_score);
    return sampler_status(hws_sampler_error(t->history), status, "the records", failure);
}

static void add_number(text *csv, double number) {
    text_add(csv, ",");
    if (isfinite(number)) text_format(csv, "%.6g", number);
}

static void add_suspect(trainer *t, text *csv, const suspect *s, const task_verdict *verdict) {
    add_example_name(t, s->example, csv);
    add_number(csv, s->record.doubt);
    add_number(csv, s->loss);
    add_number(csv, s->record.loss_mean);
    add_number(csv, s->record.level);
    add_number(csv, s->loss - s->record.loss_mean);
    add_number(csv, s->record.evidence);
    text_format(csv, ",%llu,", (unsigned long long)t->draws[s->example]);
    csv_add_field(csv, verdict->label);
    text_add(csv, ",");
    csv_add_field(csv, verdict->prediction);
    add_number(csv, verdict->margin);
    add_group_name(t, s->example, csv);
    text_add(csv, "\n");
}

static const task_verdict NOT_SHOWN = {.margin = (double)NAN};

/* Pictures of those alone that are worth a look: with more against their label than for it. They stand first. */
static int64_t count_shown(const suspect *suspects, int64_t most) {
    int64_t count = 0;
    while (count < most && suspects[count].score > 0) count++;
    return count;
}

static status_code show_first(trainer *t, gallery *g, const suspect *suspects, int64_t count, task_verdict *verdicts,
                              failure *failure) {
    int64_t *examples = malloc(((size_t)count + 1) * sizeof *examples);
    if (!examples) return fail_memory(failure, "the labels in doubt");
    for (int64_t k = 0; k < count; k++) {
        examples[k] = suspects[k].example;
        verdicts[k] = NOT_SHOWN;
    }
    const status_code status = gallery_show(t, g, examples, count, verdicts, failure);
    free(examples);
    return status;
}

static status_code add_suspects(trainer *t, gallery *g, const suspect *suspects, failure *failure) {
    const int64_t n = t->task->examples, shown = count_shown(suspects, g->count < n ? g->count : n);
    task_verdict *verdicts = malloc(((size_t)shown + 1) * sizeof *verdicts);
    if (!verdicts) return fail_memory(failure, "the labels in doubt");
    const status_code status = show_first(t, g, suspects, shown, verdicts, failure);
    for (int64_t k = 0; k < n && status == STATUS_OK; k++) {
        text_format(&g->csv, "%lld,", (long long)k + 1);
        add_suspect(t, &g->csv, &suspects[k], k < shown ? &verdicts[k] : &NOT_SHOWN);
    }
    free(verdicts);
    return status;
}

status_code fill_triage(trainer *t, gallery *g, failure *failure) {
    suspect *suspects = malloc((size_t)t->task->examples * sizeof *suspects);
    if (!suspects) return fail_memory(failure, "the labels in doubt");
    status_code status = rank(t, suspects, failure);
    text_format(&g->csv, "rank,example,doubt,loss,loss_mean,peers,trend,evidence,draws,label,prediction,margin%s\n",
                t->task->group_name ? ",group" : "");
    if (status == STATUS_OK) status = add_suspects(t, g, suspects, failure);
    free(suspects);
    return status;
}
