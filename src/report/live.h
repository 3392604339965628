/*
 * The page of hws watch: runs while they train, by the same sections and assets as the report.
 *
 * A page is asked for once. Its script (live.js) then asks for the part that changes whenever live_version does.
 */
#ifndef HWS_REPORT_LIVE_H
#define HWS_REPORT_LIVE_H

#include "core/failure.h"
#include "core/text.h"

#include <stddef.h>
#include <stdint.h>

typedef struct live_runs {
    const char *const *folders; /* that need not hold a run yet */
    size_t count;               /* at most REPORT_MAX_RUNS */
} live_runs;

/* A number that changes with the files that the part shows. */
uint64_t live_version(const live_runs *runs);

/* What changes: how far each run is, curves, what the sampler does, the hardest examples, the end of each log. A run
   that cannot be read is a note among the others. */
status_code live_part(text *part, const live_runs *runs, failure *failure);

/* The whole page, which refers to /page.css, /page.js and /live.js. */
status_code live_page(text *page, const live_runs *runs, failure *failure);

#endif
