/*
 * The history: the losses as they were last seen, and what the law is told of them.
 *
 * Without trim and doubt the law is told all of it, and its losses are the history. With them the history has losses of
 * its own; the law is told a loss that is in doubt as what is believed of it, and of those left out that there is none.
 */
#ifndef HWS_SAMPLER_HISTORY_H
#define HWS_SAMPLER_HISTORY_H

#include "sampler/law.h"
#include "sampler/record.h"
#include "sampler/trim.h"

typedef struct history {
    int64_t n;
    double doubt;  /* the option */
    float *losses; /* NULL: the law's; -infinity: none */
    int64_t known; /* examples that have one, where the history has losses of its own */
    trim trim;     /* open where some are left out */
    record record; /* open where it is kept */
    int64_t *told; /* scratch: the examples of which the law is told something else */
    float *tellings;
    size_t told_capacity;
} history;

/* Has the example a loss, how many have, and what is it (NaN: none)? Not while members are taken out of the law. */
int history_knows(const hws_sampler *sampler, int64_t example);
int64_t history_known(const hws_sampler *sampler);
float history_loss(const hws_sampler *sampler, int64_t example);

/* All of them. */
loss_list history_list(const hws_sampler *sampler);

/* What is believed of a loss of this example. */
float history_believed(const history *history, int64_t example, float loss);

/* For a sampler over n examples whose law is not open yet: what the options ask for. 0 when out of memory. */
int history_open(history *history, int64_t n, const hws_options *options);
void history_close(history *history);
size_t history_memory(const history *history);

/* Room for a batch. 0 when out of memory. */
int history_reserve(history *history, size_t count);

/* A batch of losses has come back: `losses` as they came, `blended` for the history. Room must have been reserved. 0
   when the bound of the losses has moved and with it what is believed of others. */
int history_update(hws_sampler *sampler, int64_t count, const int64_t *examples, const float *losses,
                   const float *blended);

/* Replaces a range; NaN is no loss. */
hws_status history_write_range(hws_sampler *sampler, int64_t first, int64_t count, const float *losses);

/* Tells the law all of it anew, when what is believed has changed. */
hws_status history_tell_all(hws_sampler *sampler);

/* Adds examples: `larger`, opened for all of them, and what was there change places. Nothing changes on failure. */
hws_status history_grow(hws_sampler *sampler, history *larger, int64_t count, const float *losses);

#endif
