/* The inside of an hws_sampler, for the files that implement hws.h. */
#ifndef HWS_SAMPLER_SAMPLER_H
#define HWS_SAMPLER_SAMPLER_H

#include "hws.h"
#include "sampler/error.h"
#include "sampler/history.h"
#include "sampler/importance.h"
#include "sampler/law.h"
#include "sampler/tail.h"
#include "sampler/visits.h"

#define UPDATES_MAX (UINT64_C(1) << 63)

struct hws_sampler {
    hws_options options;
    law law;
    history history;
    visits visits;
    tail_watch watch;
    ratio_mean ratios;
    uint64_t draws_made, updates_made; /* the latter goes no further than UPDATES_MAX */
    uint64_t *last_seen, *draw_counts; /* NULL unless options.keep_counts */
    int floor_current;                 /* floor_total = sum(max(p, floor / n)) follows the current losses */
    double floor_total;
    int64_t *proposals; /* scratch of a batch */
    int took_nothing;   /* out of the law, in the last batch: decides how fast the next one is drawn, not which */
    float *blended;
    uint32_t *found; /* hash table of the batch: position + 1 */
    size_t batch_capacity, found_size;
    hws_error error;
};

/* Notes what went wrong and returns the status. `position` and `example` may be -1. */
hws_status sampler_fail(hws_sampler *sampler, hws_status status, int64_t position, int64_t example, const char *format,
                        ...) PRINTF_LIKE(5, 6);

/* Initial losses for examples first .. first + count - 1; NaN where there are first visits instead. */
void initial_losses(const hws_options *options, int64_t first, int64_t count, float *losses);

/* The checks that several functions share; on failure they note the error. */
hws_status check_range(hws_sampler *sampler, int64_t first, int64_t count, const void *array);
hws_status check_batch(hws_sampler *sampler, int64_t count, const int64_t *indices, const float *losses);
hws_status check_losses(hws_sampler *sampler, int64_t first, int64_t count, const float *losses);
/* Has any example a loss? */
hws_status check_known(hws_sampler *sampler);

/* Brings the distribution over the examples with a loss up to date, if there are any. */
hws_status sampler_prepare(hws_sampler *sampler);

/* The losses have changed: what was derived from them is out of date. */
void sampler_changed(hws_sampler *sampler);

/* Puts another beta, which has been checked, in the place of the present one. */
void sampler_take_beta(hws_sampler *sampler, double beta);

/* Room for the scratch of a batch. */
hws_status sampler_reserve_batch(hws_sampler *sampler, int64_t count);

/* The size of the hash table of a batch of so many. */
size_t batch_table_size(int64_t count);

/* From p-bar to what is drawn from among the examples with a loss: floor and mixing. The sampler must be prepared. */
double sampler_drawn_probability(hws_sampler *sampler, double p);

/* The examples that a batch without replacement can hold. The sampler must be prepared. */
int64_t sampler_drawable(hws_sampler *sampler);

/* What momentum makes of a stale and a fresh loss. */
float sampler_blend(const hws_sampler *sampler, int64_t example, float loss);

#endif
