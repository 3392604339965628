/* What stands against calling one run better than another: said on the page, and nobody is crowned then. */
#ifndef HWS_REPORT_FAIRNESS_H
#define HWS_REPORT_FAIRNESS_H

#include "report/section.h"

/* Iterations that a run makes if it does not stop by itself; NaN: not known. */
double run_iterations_at_most(const run *run);

/*
 * Adds a note for each reason why these runs cannot be compared, or their results be trusted yet: runs that have not
 * ended, runs of different length, other data or other validation cases, classifiers at the level of chance. Returns
 * whether there is no reason against comparing them.
 */
int fairness_write(text *page, const runs *runs);

#endif
