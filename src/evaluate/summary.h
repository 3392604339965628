/*
 * nnU-Net's summary.json, version 2: written as nnU-Net writes it, and read.
 *
 *     {"empty": "nan",                                                 (ours, as are the next but one and the last;
 *      "foreground_mean": {"Dice": ..., ...},                          nnU-Net ignores them)
 *      "label_names": {"1": "Anterior", ...},
 *      "mean": {"1": {"Dice": ...}, "(1, 2)": {...}},
 *      "metric_per_case": [{"metrics": {"1": {"Dice", "FN", "FP", "IoU", "TN", "TP", "n_pred", "n_ref"}},
 *                           "prediction_file": "...", "reference_file": "..."}, ...],
 *      "nsd_tolerance": 2}
 *
 * HD95, ASSD and NSD are further metrics where they were measured. Scores that do not exist are NaN: nnU-Net writes the
 * word NaN, which JSON does not have. We write it as well, since nnU-Net's tools expect it, and read both NaN and null.
 * Means over cases leave NaN out; the mean over regions (without label 0) does not, as in nnU-Net.
 */
#ifndef HWS_EVALUATE_SUMMARY_H
#define HWS_EVALUATE_SUMMARY_H

#include "evaluate/scores.h"

/* Written whole or not at all. */
status_code summary_write(const char *path, const scores *scores, failure *failure);

/*
 * Reads the scores of each case; means are not read but follow from them. Metrics that are not ours are ignored. The
 * regions are those of the first case, and every case must have the same. Close the scores, also after a failure.
 */
status_code summary_read(const char *path, scores *scores, failure *failure);

/* The same from memory; `name` is what messages call it. */
status_code summary_parse(const char *name, const char *bytes, size_t size, scores *scores, failure *failure);

#endif
