/*
 * How losses answered to being drawn: the record of each example that tells rare from wrong,
 * and the doubt that follows.
 *
 * A wrong label is hard while the other examples of the same label are easy, and stays hard although it is drawn; a
 * rare class is hard as a whole until it is learnt, and then falls together. So each loss that comes back is compared
 * with the level of its peers, the geometric mean of the last losses of all examples with the same label, but not with
 * less than half the mean loss of all:
 *
 *     evidence <- evidence + ln(loss / level) - SLACK, each step within [-RELIEF, 1], the sum within [0, MOST]
 *     doubt = (evidence - 1) / (CERTAIN - 1), within [0, 1]
 *
 * Losses are counted from a bound below them: 0, or if any was negative the nearest of -1, -2, -4 .. that none was
 * below (Dice with cross entropy is -1 at best). When the bound moves all are counted anew.
 *
 * A sequential test (CUSUM): some draws that find the example above its peers raise the doubt, one that finds it learnt
 * takes most of it away. While a whole label is hard its level is as high as its losses, and nobody in it is doubted.
 * O(1) for each loss, 16 bytes per example.
 */
#ifndef HWS_SAMPLER_RECORD_H
#define HWS_SAMPLER_RECORD_H

#include "sampler/exact_sum.h"

#include <stddef.h>
#include <stdint.h>

typedef struct record_entry {
    float mean;     /* of the losses that came back, of about the last 16 */
    float evidence; /* that it does not fit its peers */
    uint32_t count; /* of losses that came back; stays at its largest value */
    int32_t label;  /* 0 unless given */
} record_entry;

/* Of the examples with one label that have a loss. Whole numbers: their sums depend on no order. */
typedef struct record_peers {
    int64_t count, logarithms; /* of the last losses, to base 2, in units of 2^-20 */
} record_peers;

typedef struct record {
    int64_t n;
    record_entry *entries; /* NULL: none is kept */
    record_peers *peers;   /* by label */
    int32_t labels;        /* how many there are */
    int64_t count;         /* examples with a loss */
    exact_sum sum;         /* of their last losses */
    int bound;             /* 0: losses are counted from 0; k: from -2^(k - 1) */
} record;

enum { RECORD_LABELS_MAX = 1 << 20, RECORD_BOUND_MAX = 130 };

/* Over n examples without a loss. 0 when out of memory. */
int record_open(record *record, int64_t n);
void record_close(record *record);
size_t record_memory(const record *record);

/* Room for labels 0 to labels - 1. 0 when out of memory. */
int record_reserve_labels(record *record, int32_t labels);

/* How far below 0 losses are counted from. */
double record_reach(const record *record);

/* Moves the bound below a loss, if it is not there already, and counts the last losses of all (-infinity: none) anew.
   To be called before that loss is used. */
void record_reach_for(record *record, float loss, const float *losses);
void record_count_anew(record *record, const float *losses);

/* The example's last loss is another now (NaN: none); to be called before the loss changes in the history. */
void record_exchange(record *record, int64_t example, float old, float loss);

/* The example is one of another label's from now on; `loss` is its last one, or NaN. */
void record_set_label(record *record, int64_t example, int32_t label, float loss);

/* A loss came back. */
void record_add(record *record, int64_t example, float loss);

/* What the peers of an example have for their level; NaN while none has a loss. */
double record_level(const record *record, int64_t example);

/* In [0, 1]. */
double record_doubt(const record *record, int64_t example);

/* The logarithm of its mean loss over its peers' level, both counted from the bound; -infinity without a loss. */
double record_excess(const record *record, int64_t example);

#endif
