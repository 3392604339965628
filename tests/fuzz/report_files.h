/* The files of a run that hws report reads. */
#ifndef HWS_TESTS_REPORT_FILES_H
#define HWS_TESTS_REPORT_FILES_H

static const char *const REPORT_FILES[] = {
    "config.json", "history.csv", "distribution.csv", "losses.csv",    "hardest.csv",     "triage.csv", "cases.csv",
    "groups.csv",  "worst.csv",   "strata.csv",       "confusion.csv", "reliability.csv", "train.log",  "summary.json"};
enum { REPORT_FILE_COUNT = sizeof REPORT_FILES / sizeof *REPORT_FILES };

#endif
