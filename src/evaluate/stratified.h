/*
 * The stratified table: for all cases and each group, for each region, the mean and its confidence interval, the tail,
 * and the worst case by name.
 */
#ifndef HWS_EVALUATE_STRATIFIED_H
#define HWS_EVALUATE_STRATIFIED_H

#include "evaluate/scores.h"
#include "evaluate/strata.h"
#include "evaluate/table.h"
#include "statistics/statistics.h"

typedef struct stratified {
    const scores *scores; /* not owned, and needed as long as this is */
    const strata *strata;
    size_t metric_count;
    metric metrics[METRICS]; /* Dice, and the distances that were measured */
    statistics *rows;        /* [metric][stratum][region] */
} stratified;

/* Close it, also after a failure. */
status_code stratified_open(stratified *stratified, const scores *scores, const strata *strata,
                            const statistics_options *options, failure *failure);
void stratified_close(stratified *stratified);

const statistics *stratified_at(const stratified *stratified, size_t metric, size_t stratum, size_t region);

/* One number per case. */
typedef struct score_column {
    const scores *scores;
    size_t region;
    metric metric;
} score_column;

/* The statistics of a column over the cases of a stratum; `worst` is a position in the scores. */
status_code stratum_statistics(const score_column *column, const stratum *stratum, const statistics_options *options,
                               statistics *result, failure *failure);

/* The numbers of the cases of a stratum, in their order. */
void stratum_values(const score_column *column, const stratum *stratum, double *values);

/* One table per metric, added to `out`. As CSV it is one table of all metrics, with numbers not rounded. */
status_code stratified_write(const stratified *stratified, table_format format, text *out, failure *failure);

/* Every score of every case and region with the case's groups, as CSV. `groups` may be NULL. */
status_code scores_write_csv(const scores *scores, const case_groups *groups, text *out, failure *failure);

/* How a value of a metric is shown: Dice and IoU in percent with one digit, distances in mm with two. */
void metric_format(metric metric, double value, char *words, size_t capacity);

#endif
