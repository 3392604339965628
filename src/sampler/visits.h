/*
 * First visits: an example without a loss is drawn before any that has one, in an order that chance decides, and once
 * drawn it waits for its loss. Only when nothing else can be drawn, or when as many others as there are examples have
 * been drawn since and its loss has not come, is it drawn again.
 */
#ifndef HWS_SAMPLER_VISITS_H
#define HWS_SAMPLER_VISITS_H

#include "sampler/visit_set.h"

#include "hws.h"

typedef struct visits {
    visit_set left;  /* examples without a loss that have not been drawn; open while any example lacks a loss */
    uint64_t waited; /* examples with a loss that were drawn since one without was last visited */
} visits;

/* Makes room for visits over n examples, none of them to be visited; nothing to do if there is.
   0 when out of memory. */
int visits_reserve(visits *visits, int64_t n);

/* To be called whenever losses have come or gone: frees what is not needed any more. */
void visits_settle(hws_sampler *sampler);

/* Draws as many of the examples to be visited as there are, up to `count`, and returns how many. */
int64_t visits_draw(hws_sampler *sampler, uint32_t slot, int64_t count, int64_t *indices);

/* All examples without a loss are to be visited again. */
void visits_begin_again(hws_sampler *sampler);

/* Sets those of a batch that have no loss apart while the rest of the batch is drawn, and puts them back. */
void visits_set_apart(hws_sampler *sampler, int64_t count, const int64_t *batch, int apart);

/* So many examples with a loss have been drawn. */
void visits_wait(hws_sampler *sampler, int64_t count);

#endif
